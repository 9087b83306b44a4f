//! Savepoints: copies of a checkpoint that stand by themselves and that any backend restores.
//!
//! A savepoint is the user's: nothing but the user deletes it. It lies in a directory of its own that looks like a
//! job's with one checkpoint, so whatever reads checkpoints reads it:
//!
//! ```text
//! <savepoint dir>/<name>/chk-<n>/manifest.json     as in the checkpoint, n too, but for the files of state
//! <savepoint dir>/<name>/shared/<blake3>.state     the state in the canonical format
//! ```

use crate::manifest::{Manifest, SavepointOrigin};
use crate::storage::{CheckpointStorage, StorageOptions};
use crate::store::CheckpointStore;
use headpond_state::canonical::{CanonicalWriter, canonical_handle, put_canonical};
use headpond_state::{
    AttemptId, CheckpointSink, CheckpointSource, Context, Error, KeyGroupRange, KeyedStateHandle, RestoredState,
    Result, StateBackend, StateSize,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Bytes of a checkpoint's files for which a savepoint has a file: few enough to restore in parallel, each by its key
/// groups.
const FILE_BYTES: u64 = 64 << 20;
/// Bytes of entries that are handed over at once.
const BATCH_BYTES: usize = 256 << 10;
/// Batches that wait at most.
const BATCHES_WAITING: usize = 4;

/// A checkpoint to copy.
#[derive(Debug, Clone, Copy)]
pub struct Original<'a> {
    /// Its manifest.
    pub manifest: &'a Manifest,
    /// Where its files are.
    pub source: &'a dyn CheckpointSource,
    /// A backend that reads them.
    pub backend: &'a dyn StateBackend,
    /// A directory on local disk for that backend.
    pub local_dir: &'a Path,
}

/// Copies a checkpoint to a savepoint of this name in `target`. What it returns is the savepoint's manifest.
///
/// The savepoint exists when this returns, and not before: a copy that fails or dies leaves files that the next
/// savepoint of that name removes.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) when there is a savepoint of that name, else as the backend's and
/// the stores'.
pub fn export(original: Original<'_>, target: Arc<dyn CheckpointStore>, name: &str) -> Result<Manifest> {
    let storage = CheckpointStorage::over(target, name, StorageOptions::default())?;
    if let Some(taken) = storage.list()?.first() {
        return Err(Error::invalid("there is a savepoint of this name already")
            .with(Context::Path, &taken.location)
            .hint("choose another name or another directory"));
    }
    let manifest = original.manifest;
    let pending = storage.begin(manifest.checkpoint, &manifest.attempt, None, false)?;
    let mut copy = Manifest { savepoint: Some(SavepointOrigin::of(manifest)), ..manifest.clone() };
    for operator in &mut copy.operators {
        for subtask in &mut operator.subtasks {
            if let Some(handle) = subtask.state.take() {
                let copied = canonical(original, &handle, pending.sink().as_ref());
                subtask.state = Some(copied.map_err(|error| error.with(Context::Operator, &operator.operator))?);
            }
        }
    }
    let copy = storage.commit(pending, copy)?;
    // Left behind by a copy of that name that died.
    storage.collect(1)?;
    Ok(copy)
}

/// A name for a savepoint of this checkpoint that none has had.
pub fn name_of(job: &str, attempt: &AttemptId, checkpoint: headpond_state::CheckpointId) -> String {
    let hash = blake3::hash(format!("{attempt}/{checkpoint}/{:?}", std::time::SystemTime::now()).as_bytes());
    format!("{job}-{checkpoint}-{}", &hash.to_hex()[..8])
}

/// Copies a handle's entries to canonical files.
fn canonical(original: Original<'_>, handle: &KeyedStateHandle, sink: &dyn CheckpointSink) -> Result<KeyedStateHandle> {
    let groups = u64::from(handle.key_groups.end - handle.key_groups.start);
    let files = (handle.byte_len() / FILE_BYTES + 1).min(groups.max(1)) as u16;
    let parts: Vec<KeyGroupRange> = (0..files).map(|index| part(handle.key_groups, index, files)).collect();
    let (sender, batches) = sync_channel(BATCHES_WAITING);
    thread::scope(|scope| {
        let parts = &parts;
        let reader = scope.spawn(move || read(original, handle, parts, &sender));
        let mut stored = Vec::with_capacity(parts.len());
        let mut sizes = Vec::new();
        let mut failed = None;
        for range in parts {
            let mut content = Content { batches: &batches, failed: None };
            let name = format!("{}-{}", range.start, range.end);
            let put = put_canonical(sink, &name, original.manifest.max_parallelism, |writer| content.write(writer));
            match (put, content.failed) {
                (Ok((file, part)), None) => {
                    stored.push((file, *range));
                    StateSize::add(&mut sizes, &part);
                }
                (Err(error), cause) => {
                    failed = Some(cause.unwrap_or(error));
                    break;
                }
                (Ok(_), Some(cause)) => {
                    failed = Some(cause);
                    break;
                }
            }
        }
        // The reader ends when nobody takes its batches.
        drop(batches);
        let read = reader.join().unwrap_or_else(|_| Err(Error::internal("the thread that reads state panicked")));
        match (read, failed) {
            // What the reader met is the cause, unless it is only that nobody listened.
            (Err(error), Some(_)) if error.kind() != headpond_state::ErrorKind::Closed => Err(error),
            (_, Some(error)) | (Err(error), None) => Err(error),
            (Ok(()), None) => canonical_handle(handle.key_groups, handle.states.clone(), stored, &sizes),
        }
    })
}

/// The `index`th of `count` parts of a range.
fn part(range: KeyGroupRange, index: u16, count: u16) -> KeyGroupRange {
    let groups = u32::from(range.end - range.start);
    let border = |index: u16| range.start + (groups * u32::from(index) / u32::from(count.max(1))) as u16;
    KeyGroupRange { start: border(index), end: border(index + 1) }
}

/// Entries on their way from the reader to a file.
enum Message {
    Entries(Batch),
    /// The part has no more.
    End,
}

/// Entries in one allocation.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// State, length of the key, length of the value.
    entries: Vec<(u16, usize, usize)>,
}

/// Reads the parts one after the other.
fn read(
    original: Original<'_>,
    handle: &KeyedStateHandle,
    parts: &[KeyGroupRange],
    sender: &SyncSender<Message>,
) -> Result<()> {
    let restored = RestoredState { handle, source: original.source };
    let max_parallelism = original.manifest.max_parallelism;
    let mut reader = original.backend.open_reader(restored, max_parallelism, original.local_dir)?;
    let send = |message| sender.send(message).map_err(|_| Error::closed("the copy has ended"));
    for range in parts {
        let mut batch = Batch::default();
        for state in 0..handle.states.len() {
            let number =
                u16::try_from(state).map_err(|_| Error::unsupported("an operator has more states than 65,536"))?;
            reader.read(state, *range, &mut |entry| {
                batch.bytes.extend_from_slice(entry.key);
                batch.bytes.extend_from_slice(entry.value);
                batch.entries.push((number, entry.key.len(), entry.value.len()));
                if batch.bytes.len() >= BATCH_BYTES {
                    send(Message::Entries(std::mem::take(&mut batch)))?;
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        send(Message::Entries(batch))?;
        send(Message::End)?;
    }
    Ok(())
}

/// What a file is made of.
struct Content<'a> {
    batches: &'a Receiver<Message>,
    failed: Option<Error>,
}

impl Content<'_> {
    fn write(&mut self, writer: &mut CanonicalWriter<Vec<u8>>) -> Result<ControlFlow<()>> {
        let batch = match self.batches.recv() {
            Ok(Message::Entries(batch)) => batch,
            Ok(Message::End) => return Ok(ControlFlow::Break(())),
            Err(_) => {
                let error = || Error::closed("the state could not be read to its end");
                self.failed = Some(error());
                return Err(error());
            }
        };
        let mut rest = batch.bytes.as_slice();
        for (state, key, value) in batch.entries {
            let (entry, behind) = rest.split_at(key + value);
            writer.push(state, &entry[..key], &entry[key..])?;
            rest = behind;
        }
        Ok(ControlFlow::Continue(()))
    }
}
