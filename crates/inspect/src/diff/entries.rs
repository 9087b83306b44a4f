//! The entries of an operator's states as one stream, state by state, in the order of their keys.
//!
//! Key groups are split among parts by ranges, so the parts' entries one after the other are in order, whatever the
//! parallelism. A thread reads, a few batches ahead of the comparison.

use crate::catalog::StateCatalog;
use headpond_checkpoint::OperatorState;
use headpond_state::{Context, Error, KeyedStateHandle, MaxParallelism, RestoredState, Result, StateReader};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// From so many bytes on a batch goes to the comparison.
const BATCH_BYTES: usize = 256 << 10;
/// Batches that reading may be ahead.
const BATCHES_AHEAD: usize = 2;

/// What the thread says.
enum Message {
    Entries(EntryBatch),
    /// There are no more entries of this state.
    EndOfState,
    Failed(Error),
}

/// Entries in one allocation.
#[derive(Debug, Default)]
struct EntryBatch {
    bytes: Vec<u8>,
    /// Where each key and each value ends.
    ends: Vec<(usize, usize)>,
}

impl EntryBatch {
    fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let (key_end, value_end) = *self.ends.get(index)?;
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |(_, end)| *end);
        Some((&self.bytes[start..key_end], &self.bytes[key_end..value_end]))
    }
}

/// The entries of some states of an operator.
#[derive(Debug)]
pub(super) struct Entries {
    /// There until the end.
    messages: Option<Receiver<Message>>,
    thread: Option<JoinHandle<()>>,
    batch: EntryBatch,
    /// The next entry in the batch.
    next: usize,
    is_at_end: bool,
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Message")
    }
}

impl Entries {
    /// Begins to read the states of these names, one after the other. Where there is no operator, or no such state,
    /// there are no entries.
    pub(super) fn read(catalog: &StateCatalog, operator: Option<&OperatorState>, states: &[String]) -> Result<Self> {
        let (sender, messages) = sync_channel(BATCHES_AHEAD);
        let mut handles: Vec<KeyedStateHandle> = operator
            .into_iter()
            .flat_map(|operator| &operator.subtasks)
            .filter_map(|part| part.state.clone())
            .collect();
        handles.sort_by_key(|handle| handle.key_groups.start);
        let place = operator.map(|operator| operator.operator.to_string()).unwrap_or_default();
        let (checkpoint, readers) = (catalog.checkpoint.clone(), std::sync::Arc::clone(&catalog.readers));
        let states = states.to_vec();
        let thread = thread::Builder::new()
            .name("state reader".to_owned())
            .spawn(move || {
                let max_parallelism = checkpoint.manifest().max_parallelism;
                let opened: Result<Vec<_>> = handles
                    .iter()
                    .map(|handle| {
                        let state = RestoredState { handle, source: checkpoint.source().as_ref() };
                        readers.open(state, max_parallelism)
                    })
                    .collect();
                let read = opened.and_then(|mut readers| {
                    states.iter().try_for_each(|state| read_state(state, &handles, &mut readers, &sender))
                });
                if let Err(error) = read {
                    // Nobody listens if the comparison has ended.
                    let _ = sender.send(Message::Failed(checkpoint.explained(error.with(Context::Operator, place))));
                }
            })
            .map_err(|cause| Error::exhausted("a thread cannot be started").because(cause))?;
        Ok(Entries {
            messages: Some(messages),
            thread: Some(thread),
            batch: EntryBatch::default(),
            next: 0,
            is_at_end: true,
        })
    }

    /// Goes on to the next state.
    pub(super) fn begin_state(&mut self) {
        self.is_at_end = false;
        self.batch = EntryBatch::default();
        self.next = 0;
    }

    /// The next entry of the state, if there is one.
    pub(super) fn peek(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        while !self.is_at_end && self.next >= self.batch.ends.len() {
            match self.messages.as_ref().and_then(|messages| messages.recv().ok()) {
                Some(Message::Entries(batch)) => {
                    self.batch = batch;
                    self.next = 0;
                }
                Some(Message::EndOfState) => self.is_at_end = true,
                Some(Message::Failed(error)) => return Err(error),
                None => return Err(Error::internal("the reader of a state has ended without a word")),
            }
        }
        Ok(if self.is_at_end { None } else { self.batch.get(self.next) })
    }

    /// Goes on to the next entry.
    pub(super) fn pass(&mut self) {
        self.next += 1;
    }
}

/// Waits for the thread, which sees at its next batch that nobody listens: what it fetched goes with it.
impl Drop for Entries {
    fn drop(&mut self) {
        self.messages = None;
        if let Some(thread) = self.thread.take() {
            // A panic of it has been told as a missing word.
            let _ = thread.join();
        }
    }
}

fn read_state(
    state: &str,
    handles: &[KeyedStateHandle],
    readers: &mut [Box<dyn StateReader + '_>],
    sender: &SyncSender<Message>,
) -> Result<()> {
    let mut batch = EntryBatch::default();
    for (handle, reader) in handles.iter().zip(readers) {
        let Some(number) = handle.states.iter().position(|known| known.name == state) else { continue };
        let mut is_heard = true;
        let read = reader.read(number, handle.key_groups, &mut |entry| {
            batch.bytes.extend_from_slice(entry.key);
            let key_end = batch.bytes.len();
            batch.bytes.extend_from_slice(entry.value);
            batch.ends.push((key_end, batch.bytes.len()));
            if batch.bytes.len() >= BATCH_BYTES {
                is_heard = sender.send(Message::Entries(std::mem::take(&mut batch))).is_ok();
            }
            Ok(if is_heard { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
        read.map_err(|error| error.with(Context::State, state))?;
        if !is_heard {
            return Ok(());
        }
    }
    let is_heard = batch.ends.is_empty() || sender.send(Message::Entries(batch)).is_ok();
    if is_heard {
        // As above.
        let _ = sender.send(Message::EndOfState);
    }
    Ok(())
}

/// Fails unless entries of both checkpoints have their key groups in the same form.
pub(super) fn check_key_groups(a: MaxParallelism, b: MaxParallelism) -> Result<()> {
    match a == b {
        true => Ok(()),
        false => Err(Error::incompatible(format!(
            "the checkpoints cannot be compared: one has {} key groups, the other {}",
            a.get(),
            b.get()
        ))),
    }
}
