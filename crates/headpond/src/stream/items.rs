//! An iterator as a source: read in order, and readable again from any item.

use super::record::Record;
use super::source::{RecordReader, RecordSource};
use headpond_runtime::source::{ReaderContext, SourceSplit};
use headpond_state::{Error, Result};
use serde_json::Value;
use std::marker::PhantomData;

/// The items of an iterator. A position is the index of the next one.
#[derive(Debug)]
pub(super) struct Items<I>(pub(super) I);

impl<I: Iterator<Item: Record> + Clone + Send + Sync + 'static> RecordSource for Items<I> {
    type Record = I::Item;

    fn is_bounded(&self) -> bool {
        true
    }

    fn splits(&self) -> Result<Vec<SourceSplit>> {
        Ok(vec![SourceSplit { id: "collection".to_owned() }])
    }

    fn open(
        &self,
        _: &SourceSplit,
        position: Option<&Value>,
        _: &ReaderContext,
    ) -> Result<Box<dyn RecordReader<I::Item>>> {
        let (mut items, mut next) = (self.0.clone(), 0);
        if let Some(position) = position {
            next = position
                .as_u64()
                .ok_or_else(|| Error::incompatible("the checkpoint's position is not one in a program's items"))?;
            let skipped = usize::try_from(next).unwrap_or(usize::MAX);
            if skipped > 0 && items.nth(skipped - 1).is_none() {
                return Err(Error::incompatible(format!(
                    "the checkpoint was taken before item {next} of an iterator that has fewer"
                ))
                .hint("run the job with the items it had, or with `Restore::None`"));
            }
        }
        Ok(Box::new(ItemReader { items, next }))
    }
}

/// No items.
#[derive(Debug)]
pub(super) struct NoItems<T>(pub(super) PhantomData<fn() -> T>);

impl<T> Clone for NoItems<T> {
    fn clone(&self) -> Self {
        NoItems(PhantomData)
    }
}

impl<T> Iterator for NoItems<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        None
    }
}

struct ItemReader<I> {
    items: I,
    next: u64,
}

impl<I: Iterator + Send> RecordReader<I::Item> for ItemReader<I> {
    fn read(&mut self, max_records: usize, records: &mut Vec<I::Item>) -> Result<Option<Value>> {
        let before = records.len();
        records.extend(self.items.by_ref().take(max_records));
        let count = records.len() - before;
        self.next += count as u64;
        Ok((count > 0).then(|| self.next.into()))
    }
}
