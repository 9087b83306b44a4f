//! Downloads: ranges of an object, read a little ahead.
//!
//! Each range is a request with its own time-out, so an object may take as long as it needs, and no more than a few
//! ranges are held.

use crate::failure::Failure;
use crate::objects::Objects;
use bytes::{Buf, Bytes};
use headpond_state::Result;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStoreExt};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Ranges that are asked for before they are needed.
const AHEAD: usize = 2;

/// An object that is being read.
pub(crate) struct Download {
    objects: Arc<Objects>,
    key: String,
    path: Path,
    length: u64,
    /// What was read of the object and not yet taken.
    current: Bytes,
    ahead: VecDeque<JoinHandle<Result<Bytes>>>,
    /// Where the next range begins.
    next: u64,
}

impl Download {
    /// Reads an object's first range. `None` if there is no such object.
    pub(crate) fn open(objects: &Arc<Objects>, key: &str) -> Result<Option<Self>> {
        let path = objects.path(key)?;
        let range = GetRange::Bounded(0..objects.options.part_bytes);
        let first = objects.wait(async {
            let _room = objects.room().await;
            let found =
                objects.store.get_opts(&path, GetOptions { range: Some(range), ..GetOptions::default() }).await?;
            Ok::<_, object_store::Error>((found.meta.size, found.bytes().await?))
        });
        let (length, current) = match first {
            Ok(first) => first,
            Err(cause) => {
                // An empty object has no range.
                let is_empty = Failure::of(&cause).may_be_empty_range()
                    && objects.wait(objects.store.head(&path)).is_ok_and(|meta| meta.size == 0);
                if !is_empty {
                    return objects.absent(key, "an object cannot be read", &cause);
                }
                (0, Bytes::new())
            }
        };
        let next = current.len() as u64;
        let objects = Arc::clone(objects);
        Ok(Some(Download { objects, key: key.to_owned(), path, length, current, ahead: VecDeque::new(), next }))
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Asks for the ranges that come next.
    fn look_ahead(&mut self) {
        while self.next < self.length && self.ahead.len() < AHEAD {
            let range = self.next..self.length.min(self.next + self.objects.options.part_bytes);
            self.next = range.end;
            let (objects, key, path) = (Arc::clone(&self.objects), self.key.clone(), self.path.clone());
            self.ahead.push_back(self.objects.spawn(async move {
                let _room = objects.room().await;
                let read = objects.store.get_range(&path, range).await;
                read.map_err(|e| objects.failed("an object cannot be read", &key, &e))
            }));
        }
    }
}

impl Read for Download {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.look_ahead();
        if self.current.is_empty() && !buffer.is_empty() {
            let Some(range) = self.ahead.pop_front() else { return Ok(0) };
            self.current = self.objects.wait(range).map_err(io::Error::other)?.map_err(io::Error::other)?;
            self.look_ahead();
        }
        let read = buffer.len().min(self.current.len());
        self.current.copy_to_slice(&mut buffer[..read]);
        Ok(read)
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.ahead.iter().for_each(JoinHandle::abort);
    }
}
