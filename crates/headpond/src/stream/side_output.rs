//! Side outputs: records beside a function's results, of types of their own.

use super::record::Record;
use super::stamp::{Stamp, StampedRecords, stamped_schema};
use headpond_runtime::batch::ChangeBatch;
use headpond_runtime::output::{MAIN_PORT, Output};
use headpond_state::{Error, Result};
use parking_lot::Mutex;
use std::any::{TypeId, type_name};
use std::marker::PhantomData;
use std::sync::Arc;

/// Names a side output and the type of its records.
///
/// ```
/// use headpond::stream::OutputTag;
///
/// const LATE: OutputTag<(u64, i64)> = OutputTag::new("late");
/// ```
///
/// A function gives records to it with [`Context::output`](super::Context::output);
/// [`side_output`](super::DataStream::side_output) is the stream of them. What no one reads is dropped.
#[derive(Debug)]
pub struct OutputTag<T> {
    id: &'static str,
    records: PhantomData<fn() -> T>,
}

impl<T> OutputTag<T> {
    /// A tag of this name, unique among those of a function.
    pub const fn new(id: &'static str) -> Self {
        OutputTag { id, records: PhantomData }
    }

    pub(super) fn id(&self) -> &'static str {
        self.id
    }
}

/// The side outputs of a function that are read, in the order of their ports.
#[derive(Debug, Default)]
pub(crate) struct SideTags {
    tags: Mutex<Vec<SideTag>>,
    /// Whether what no one reads yet is kept, for who reads it later.
    keeps_all: bool,
}

#[derive(Debug, Clone, Copy)]
struct SideTag {
    id: &'static str,
    of: TypeId,
    type_name: &'static str,
}

impl SideTags {
    /// Tags that are known once a function uses them, whether or not they are read.
    pub(crate) fn keeping_all() -> Self {
        SideTags { keeps_all: true, ..Self::default() }
    }

    /// The port of a tag that is to be read.
    pub(crate) fn port<T: Record>(&self, tag: &OutputTag<T>) -> Result<usize> {
        let mut tags = self.tags.lock();
        let index = match tags.iter().position(|known| known.id == tag.id) {
            Some(index) => index,
            None => {
                tags.push(SideTag { id: tag.id, of: TypeId::of::<T>(), type_name: type_name::<T>() });
                tags.len() - 1
            }
        };
        tags[index].check::<T>()?;
        Ok(MAIN_PORT + 1 + index)
    }

    pub(super) fn open(self: &Arc<Self>) -> SideOutputs {
        let mut sides = SideOutputs { outputs: Vec::new(), failure: None, tags: Arc::clone(self) };
        sides.take_up_tags();
        sides
    }
}

impl SideTag {
    fn check<T: Record>(&self) -> Result<()> {
        if self.of == TypeId::of::<T>() {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "the side output `{}` has records of type `{}`, not `{}`",
            self.id,
            self.type_name,
            type_name::<T>()
        ))
        .hint("use one `OutputTag` constant wherever the side output is written and read"))
    }
}

/// The records that a function has given to its side outputs on one worker.
#[derive(Debug)]
pub(super) struct SideOutputs {
    outputs: Vec<(SideTag, StampedRecords)>,
    failure: Option<Error>,
    tags: Arc<SideTags>,
}

impl SideOutputs {
    fn take_up_tags(&mut self) {
        let known = self.outputs.len();
        let tags = self.tags.tags.lock();
        self.outputs.extend(tags.iter().skip(known).map(|tag| (*tag, StampedRecords::default())));
    }

    pub(super) fn output<T: Record>(&mut self, tag: &OutputTag<T>, record: &T, timestamp_ms: Option<i64>) {
        if self.tags.keeps_all && !self.outputs.iter().any(|(known, _)| known.id == tag.id) {
            self.failure = self.tags.port(tag).err().or(self.failure.take());
            self.take_up_tags();
        }
        if let Some((known, records)) = self.outputs.iter_mut().find(|(known, _)| known.id == tag.id)
            && self.failure.is_none()
        {
            let given = known.check::<T>().and_then(|()| records.push(record, Stamp::at(timestamp_ms)));
            self.failure = given.err();
        }
    }

    /// The first record that could not be given fails the call it was given in.
    pub(super) fn check(&mut self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    pub(super) fn byte_len(&self) -> usize {
        self.outputs.iter().map(|(_, records)| records.byte_len()).sum()
    }

    pub(super) fn len(&self) -> usize {
        self.outputs.iter().map(|(_, records)| records.len()).sum()
    }

    /// Passes on what was given.
    pub(super) fn flush(&mut self, output: &mut Output) -> Result<()> {
        for (index, (_, records)) in self.outputs.iter_mut().enumerate() {
            if records.len() > 0 {
                let batch = records.finish(&stamped_schema([]), Vec::new())?;
                output.give_to(MAIN_PORT + 1 + index, ChangeBatch::inserts(batch));
            }
        }
        Ok(())
    }
}
