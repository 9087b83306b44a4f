//! What travels on the edges of a dataflow, and how rows find the worker that owns their key.
//!
//! Timely counts what is sent and what is received, and both must agree however a container is cut up on its way. So
//! rows count one each, and a watermark, which everyone downstream must get, is sent as one message per worker.

use crate::batch::{ChangeBatch, arrow_error};
use crate::key::{KeyedBatch, Keys};
use crate::process::in_flight::InFlight;
use arrow_array::{RecordBatch, UInt8Array, UInt32Array};
use headpond_state::{Error, MaxParallelism, Result};
use std::cell::OnceCell;
use std::io::Write;
use timely::communication::Push;
use timely::container::Accountable;
use timely::dataflow::channels::pact::DistributorPact;
use timely::dataflow::channels::pushers::exchange::Distributor;
use timely::dataflow::channels::{ContainerBytes, Message as Envelope};
use timely::progress::Stamp;

/// One thing on an edge.
#[derive(Debug, Clone)]
pub(crate) enum Message {
    /// Rows for whichever worker they are on.
    Rows(ChangeBatch),
    /// Rows for the owners of their keys.
    Keyed(KeyedBatch),
    /// The watermark of one worker's part of the edge.
    Watermark(Watermark),
    /// What another process sent and this one could not read.
    Damaged(String),
}

/// A promise by the sender: no more rows before `time_ms`, late ones excepted. With [`MAX`](i64::MAX) it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Watermark {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) time_ms: i64,
    /// Whether the sender has had no rows for so long that event time goes on without it.
    pub(crate) idle: bool,
}

impl Message {
    fn record_count(&self) -> usize {
        match self {
            Message::Rows(batch) => batch.num_rows(),
            Message::Keyed(batch) => batch.changes.num_rows(),
            Message::Watermark(_) | Message::Damaged(_) => 1,
        }
    }
}

/// The container of an edge.
#[derive(Debug, Clone, Default)]
pub(crate) struct Messages {
    messages: Vec<Message>,
    /// The worker that has sent them over an exchange.
    sender: usize,
    /// The serialized form, made once: Timely asks for its length before its bytes.
    encoded: OnceCell<Vec<u8>>,
}

impl Messages {
    pub(crate) fn one(message: Message) -> Self {
        Messages { messages: vec![message], ..Messages::default() }
    }

    /// The watermark of worker `from` for each of the `peers` workers.
    pub(crate) fn watermark(from: usize, peers: usize, time_ms: i64, idle: bool) -> Self {
        let messages = (0..peers).map(|to| Message::Watermark(Watermark { from, to, time_ms, idle }));
        Messages { messages: messages.collect(), ..Messages::default() }
    }

    pub(crate) fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Message> + '_ {
        self.messages.drain(..)
    }

    pub(crate) fn sender(&self) -> usize {
        self.sender
    }

    /// The rows that were exchanged by key.
    pub(crate) fn keyed_rows(&self) -> usize {
        let keyed = self.messages.iter().filter(|message| matches!(message, Message::Keyed(_)));
        keyed.map(Message::record_count).sum()
    }

    fn encoded(&self) -> &[u8] {
        self.encoded.get_or_init(|| {
            let mut bytes = (self.sender as u64).to_le_bytes().to_vec();
            for message in &self.messages {
                encode(message, &mut bytes);
            }
            bytes.resize(bytes.len().next_multiple_of(8), END);
            bytes
        })
    }
}

impl Accountable for Messages {
    fn record_count(&self) -> i64 {
        self.messages.iter().map(Message::record_count).sum::<usize>() as i64
    }
}

/// Exchanges keyed rows by key group and everything addressed by its address.
pub(crate) fn by_key_group(
    max_parallelism: MaxParallelism,
    sender: usize,
    in_flight: Option<InFlight>,
) -> DistributorPact<impl FnOnce(usize) -> KeyGroupDistributor> {
    DistributorPact(move |peers| {
        let rows = vec![Vec::new(); peers];
        KeyGroupDistributor { max_parallelism, sender, in_flight, rows }
    })
}

#[derive(Debug)]
pub(crate) struct KeyGroupDistributor {
    max_parallelism: MaxParallelism,
    sender: usize,
    in_flight: Option<InFlight>,
    rows: Vec<Vec<u32>>,
}

impl KeyGroupDistributor {
    fn split(&mut self, batch: KeyedBatch, mut give: impl FnMut(usize, Message)) {
        let peers = self.rows.len();
        for row in 0..batch.keys.len() {
            self.rows[self.max_parallelism.subtask_of(batch.keys.key_group(row), peers)].push(row as u32);
        }
        if let Some(only) = (0..peers).find(|&peer| self.rows[peer].len() == batch.keys.len()) {
            self.rows[only].clear();
            give(only, Message::Keyed(batch));
            return;
        }
        for (target, rows) in self.rows.iter_mut().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let indices = UInt32Array::from(std::mem::take(rows));
            let message = match batch.changes.take(&indices) {
                Ok(changes) => Message::Keyed(KeyedBatch { changes, keys: batch.keys.take(&indices) }),
                // Cannot happen with indices from the batch itself; the receiver reports it and stops the job.
                Err(error) => Message::Damaged(error.to_string()),
            };
            give(target, message);
        }
    }
}

impl Distributor<Messages> for KeyGroupDistributor {
    fn partition<T: Clone, P: Push<Envelope<T, Messages>>>(
        &mut self,
        container: &mut Messages,
        stamp: &Stamp<T>,
        pushers: &mut [P],
    ) {
        let mut targets: Vec<Messages> =
            pushers.iter().map(|_| Messages { sender: self.sender, ..Messages::default() }).collect();
        for message in container.drain() {
            match message {
                Message::Keyed(batch) => self.split(batch, |target, part| targets[target].push(part)),
                Message::Watermark(watermark) => targets[watermark.to].push(message),
                Message::Rows(_) | Message::Damaged(_) => targets[0].push(message),
            }
        }
        for (index, (target, pusher)) in targets.iter_mut().zip(pushers).enumerate() {
            if !target.messages.is_empty() {
                if let Some(in_flight) = &self.in_flight {
                    in_flight.sent(index, target.keyed_rows());
                }
                Envelope::push_at(target, stamp.clone(), pusher);
            }
        }
    }

    fn flush<T: Clone, P: Push<Envelope<T, Messages>>>(&mut self, _stamp: &Stamp<T>, _pushers: &mut [P]) {}
}

// The form between processes: the sender, then messages one after another, each a tag, then its parts with their
// lengths, padded to 8 bytes.
const END: u8 = 0;
const ROWS: u8 = 1;
const KEYED: u8 = 2;
const WATERMARK: u8 = 3;
const DAMAGED: u8 = 4;

impl ContainerBytes for Messages {
    fn from_bytes(bytes: timely::bytes::arc::Bytes) -> Self {
        let mut rest = &bytes[..];
        let mut messages = Vec::new();
        let sender = match take_array(&mut rest) {
            Ok(sender) => u64::from_le_bytes(sender) as usize,
            Err(error) => {
                messages.push(Message::Damaged(error.to_string()));
                0
            }
        };
        while let Some((&tag, after)) = rest.split_first()
            && tag != END
        {
            rest = after;
            match decode(tag, &mut rest) {
                Ok(message) => messages.push(message),
                Err(error) => {
                    messages.push(Message::Damaged(error.to_string()));
                    break;
                }
            }
        }
        Messages { messages, sender, encoded: OnceCell::new() }
    }

    fn length_in_bytes(&self) -> usize {
        self.encoded().len()
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        writer.write_all(self.encoded()).expect("Timely's buffers have the length that was asked for");
    }
}

fn encode(message: &Message, out: &mut Vec<u8>) {
    let start = out.len();
    let written = match message {
        Message::Rows(batch) => {
            out.push(ROWS);
            encode_changes(batch, out)
        }
        Message::Keyed(batch) => {
            out.push(KEYED);
            out.extend_from_slice(&u32::from(batch.keys.max_parallelism()).to_le_bytes());
            out.extend_from_slice(&(batch.keys.len() as u64).to_le_bytes());
            for row in 0..batch.keys.len() {
                put_part(batch.keys.get(row), out);
            }
            encode_changes(&batch.changes, out)
        }
        Message::Watermark(watermark) => {
            out.push(WATERMARK);
            out.extend_from_slice(&(watermark.from as u64).to_le_bytes());
            out.extend_from_slice(&(watermark.to as u64).to_le_bytes());
            out.extend_from_slice(&watermark.time_ms.to_le_bytes());
            out.push(watermark.idle.into());
            Ok(())
        }
        Message::Damaged(text) => {
            out.push(DAMAGED);
            put_part(text.as_bytes(), out);
            Ok(())
        }
    };
    if let Err(error) = written {
        out.truncate(start);
        out.push(DAMAGED);
        put_part(error.to_string().as_bytes(), out);
    }
}

fn encode_changes(batch: &ChangeBatch, out: &mut Vec<u8>) -> Result<()> {
    let kinds: &[u8] = batch.kinds().map_or(&[], |kinds| kinds.values());
    put_part(kinds, out);
    let mut ipc = Vec::new();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut ipc, &batch.schema()).map_err(arrow_error)?;
    writer.write(batch.rows()).map_err(arrow_error)?;
    writer.finish().map_err(arrow_error)?;
    drop(writer);
    put_part(&ipc, out);
    Ok(())
}

fn put_part(part: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(part.len() as u64).to_le_bytes());
    out.extend_from_slice(part);
}

fn decode(tag: u8, rest: &mut &[u8]) -> Result<Message> {
    Ok(match tag {
        ROWS => Message::Rows(decode_changes(rest)?),
        KEYED => {
            let max = MaxParallelism::new(u32::from_le_bytes(take_array(rest)?))?;
            let count = u64::from_le_bytes(take_array(rest)?);
            let mut keys = Keys::new(max);
            for _ in 0..count {
                keys.push(take_part(rest)?);
            }
            Message::Keyed(KeyedBatch { changes: decode_changes(rest)?, keys })
        }
        WATERMARK => Message::Watermark(Watermark {
            from: u64::from_le_bytes(take_array(rest)?) as usize,
            to: u64::from_le_bytes(take_array(rest)?) as usize,
            time_ms: i64::from_le_bytes(take_array(rest)?),
            idle: u8::from_le_bytes(take_array(rest)?) != 0,
        }),
        DAMAGED => Message::Damaged(String::from_utf8_lossy(take_part(rest)?).into_owned()),
        other => return Err(Error::corrupt(format!("a message from another worker has the unknown tag {other}"))),
    })
}

fn decode_changes(rest: &mut &[u8]) -> Result<ChangeBatch> {
    let kinds = take_part(rest)?.to_vec();
    let mut reader =
        arrow_ipc::reader::StreamReader::try_new(std::io::Cursor::new(take_part(rest)?), None).map_err(arrow_error)?;
    let rows: RecordBatch = match reader.next() {
        Some(batch) => batch.map_err(arrow_error)?,
        None => return Err(Error::corrupt("a message from another worker has no rows")),
    };
    if kinds.is_empty() {
        Ok(ChangeBatch::inserts(rows))
    } else {
        ChangeBatch::with_kinds(rows, UInt8Array::from(kinds))
    }
}

fn take_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (array, after) = rest.split_first_chunk::<N>().ok_or_else(short)?;
    *rest = after;
    Ok(*array)
}

fn take_part<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = usize::try_from(u64::from_le_bytes(take_array(rest)?)).map_err(|_| short())?;
    let (part, after) = rest.split_at_checked(length).ok_or_else(short)?;
    *rest = after;
    Ok(part)
}

fn short() -> Error {
    Error::corrupt("a message from another worker ends too early")
}
