//! Uploads: what fits a part is put in the background, what is larger goes up in parts.
//!
//! A key is the hash of the bytes, so all of them are read before the first request. A content that is larger than a
//! part is read twice: from the file it comes from, or from a file it is spooled to, which has no name and goes with
//! its last reader.
//!
//! The bound on transfers is also the bound on memory: whoever stages a content waits for room before he goes on.

use crate::failure::Failure;
use crate::objects::Objects;
use bytes::Bytes;
use futures_util::future::{Either, select};
use headpond_checkpoint::store::{Incoming, Staged};
use headpond_state::{Error, Result};
use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};

/// The most parts that S3 allows.
const PARTS_MAX: u64 = 10_000;
/// How often an upload in parts looks whether anybody wants it.
const LOOK: Duration = Duration::from_millis(100);
/// How long an upload that failed may take to be taken back.
const ABORT: Duration = Duration::from_secs(10);

/// What was staged and not yet taken away.
pub(crate) struct Uploads {
    objects: Arc<Objects>,
    staged: Mutex<HashMap<String, Held>>,
    /// Numbers what is staged.
    next: AtomicU64,
}

enum Held {
    /// On its way to its key.
    Running(JoinHandle<Result<()>>),
    /// Here until it gets a key.
    Content(Bytes),
}

impl Uploads {
    pub(crate) fn new(objects: Arc<Objects>) -> Self {
        Uploads { objects, staged: Mutex::default(), next: AtomicU64::new(0) }
    }

    pub(crate) fn stage(&self, content: &mut dyn Incoming) -> Result<Staged> {
        let part = self.objects.options.part_bytes;
        let known = content.file().and_then(|file| file.metadata().ok()).map_or(0, |file| file.len().min(part) + 1);
        let mut head = Vec::with_capacity(usize::try_from(known).unwrap_or(0));
        Read::take(&mut *content, part + 1).read_to_end(&mut head).map_err(unreadable)?;
        if head.len() as u64 > part {
            return self.stage_large(head, content);
        }
        let length = head.len() as u64;
        // It may be held for a while.
        head.shrink_to_fit();
        let held = match content.key()? {
            None => Held::Content(head.into()),
            Some(key) => Held::Running(self.put(key, head.into())?),
        };
        Ok(self.hold(held, length))
    }

    /// Waits until what was staged has its key, if it is on its way.
    pub(crate) fn finish(&self, staged: &Staged) -> Result<()> {
        let mut waiting = self.waiting();
        match waiting.remove(&staged.token) {
            Some(Held::Running(upload)) => {
                drop(waiting);
                self.objects.wait(upload).unwrap_or_else(|e| Err(Error::internal("an upload was lost").because(e)))
            }
            Some(content) => {
                waiting.insert(staged.token.clone(), content);
                Ok(())
            }
            None if staged.durable => Ok(()),
            None => Err(Error::internal("what was to be stored is not staged any more")),
        }
    }

    /// Takes the content of what has no key yet.
    pub(crate) fn held(&self, staged: &Staged) -> Result<Bytes> {
        match self.waiting().remove(&staged.token) {
            Some(Held::Content(content)) => Ok(content),
            _ => Err(Error::internal("only a content without a key can be created exclusively")),
        }
    }

    pub(crate) fn discard(&self, staged: &Staged) {
        if let Some(Held::Running(upload)) = self.waiting().remove(&staged.token) {
            upload.abort();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, Held>> {
        // Each change is one call.
        self.staged.lock()
    }

    fn hold(&self, held: Held, length: u64) -> Staged {
        let token = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        self.waiting().insert(token.clone(), held);
        Staged { token, length, durable: false }
    }

    /// Begins to put a content under its key, as soon as there is room.
    fn put(&self, key: String, content: Bytes) -> Result<JoinHandle<Result<()>>> {
        let path = self.objects.path(&key)?;
        let room = self.objects.wait(self.objects.room());
        let objects = Arc::clone(&self.objects);
        Ok(self.objects.spawn(async move {
            let put = objects.store.put(&path, PutPayload::from_bytes(content)).await;
            drop(room);
            put.map(drop).map_err(|e| objects.failed("a file cannot be uploaded", &key, &e))
        }))
    }

    fn stage_large(&self, head: Vec<u8>, content: &mut dyn Incoming) -> Result<Staged> {
        let (file, length) = match content.file().map(File::open) {
            Some(opened) => {
                let file = opened.map_err(unreadable)?;
                // Read for its hash only.
                let rest = io::copy(content, &mut io::sink()).map_err(unreadable)?;
                (file, head.len() as u64 + rest)
            }
            None => self.spool(&head, content)?,
        };
        drop(head);
        let Some(key) = content.key()? else {
            let mut bytes = Vec::new();
            rewound(file).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(unreadable)?;
            return Ok(self.hold(Held::Content(bytes.into()), length));
        };
        self.put_parts(key, file, length, content)?;
        let token = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        Ok(Staged { token, length, durable: true })
    }

    /// Writes the whole content to a file without a name.
    fn spool(&self, head: &[u8], content: &mut dyn Incoming) -> Result<(File, u64)> {
        let directory = self.objects.options.spool_dir.clone().unwrap_or_else(std::env::temp_dir);
        let spool = || -> io::Result<File> {
            std::fs::create_dir_all(&directory)?;
            tempfile::tempfile_in(&directory)
        };
        let not_written = |e| {
            Error::io("state on its way to an object store cannot be written to the local disk", &directory, e)
                .hint("set `object-store.spool-dir` to a directory on a local disk with room for the state")
        };
        let mut file = spool().map_err(not_written)?;
        file.write_all(head).map_err(not_written)?;
        let mut buffer = vec![0; 256 << 10];
        let mut length = head.len() as u64;
        loop {
            match content.read(&mut buffer) {
                Ok(0) => return Ok((file, length)),
                Ok(read) => file.write_all(&buffer[..read]).map_err(not_written)?,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(unreadable(e)),
            }
            length = file.stream_position().map_err(not_written)?;
        }
    }

    /// Uploads in parts and waits for it, as long as the content is wanted.
    fn put_parts(&self, key: String, file: File, length: u64, content: &dyn Incoming) -> Result<()> {
        let (cancel, cancelled) = oneshot::channel::<()>();
        let upload = MultipartFile { objects: Arc::clone(&self.objects), key, file: Arc::new(file), length };
        let mut task = self.objects.spawn(upload.run(cancelled));
        loop {
            match self.objects.wait(async { tokio::time::timeout(LOOK, &mut task).await }) {
                Ok(ended) => return ended.unwrap_or_else(|e| Err(Error::internal("an upload was lost").because(e))),
                Err(_) => {
                    if let Err(unwanted) = content.wanted() {
                        // The upload takes itself back; nobody need wait for that.
                        drop(cancel);
                        return Err(unwanted);
                    }
                }
            }
        }
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        for (_, held) in self.waiting().drain() {
            if let Held::Running(upload) = held {
                upload.abort();
            }
        }
    }
}

/// An upload in parts.
struct MultipartFile {
    objects: Arc<Objects>,
    key: String,
    file: Arc<File>,
    length: u64,
}

impl MultipartFile {
    async fn run(self, cancelled: oneshot::Receiver<()>) -> Result<()> {
        let path = self.objects.path(&self.key)?;
        let failed = |e: &object_store::Error| self.objects.failed("a file cannot be uploaded", &self.key, e);
        let mut upload = self.objects.store.put_multipart(&path).await.map_err(|e| failed(&e))?;
        let uploaded = match select(pin!(self.parts(upload.as_mut())), cancelled).await {
            Either::Left((uploaded, _)) => uploaded,
            Either::Right(_) => Err(Error::closed("the upload was cancelled")),
        };
        let completed = match uploaded {
            Ok(()) => match upload.complete().await {
                Ok(_) => Ok(()),
                // The answer to the first of two may be lost: then the second finds no upload any more.
                Err(e) => match self.objects.store.head(&path).await {
                    Ok(meta) if meta.size == self.length && !Failure::of(&e).is_transient() => Ok(()),
                    _ => Err(failed(&e)),
                },
            },
            Err(error) => Err(error),
        };
        if completed.is_err() && tokio::time::timeout(ABORT, upload.abort()).await.is_err() {
            tracing::warn!(path = %self.objects.locate(&self.key), "the parts of an upload that failed may still be there");
        }
        completed
    }

    async fn parts(&self, upload: &mut dyn MultipartUpload) -> Result<()> {
        let failed = |e: &object_store::Error| self.objects.failed("a part cannot be uploaded", &self.key, e);
        let lost = |e: tokio::task::JoinError| Error::internal("a part's upload was lost").because(e);
        let part = self.objects.options.part_bytes.max(self.length.div_ceil(PARTS_MAX));
        let mut running = JoinSet::new();
        let mut begin = 0;
        while begin < self.length {
            let end = self.length.min(begin + part);
            let room = self.objects.room().await;
            let file = Arc::clone(&self.file);
            let bytes = spawn_blocking(move || read_at(&file, begin, end - begin)).await.map_err(lost)?;
            let sent = upload.put_part(PutPayload::from_bytes(bytes.map_err(unreadable)?.into()));
            running.spawn(async move {
                let sent = sent.await;
                drop(room);
                sent
            });
            while let Some(done) = running.try_join_next() {
                done.map_err(lost)?.map_err(|e| failed(&e))?;
            }
            begin = end;
        }
        while let Some(done) = running.join_next().await {
            done.map_err(lost)?.map_err(|e| failed(&e))?;
        }
        Ok(())
    }
}

/// Reads a range. Ranges are read one after the other, so the file's position is nobody else's.
fn read_at(mut file: &File, begin: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(begin))?;
    Read::take(&mut file, length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was uploaded"));
    }
    Ok(bytes)
}

fn rewound(mut file: File) -> io::Result<File> {
    file.rewind()?;
    Ok(file)
}

fn unreadable(cause: io::Error) -> Error {
    Error::unavailable("the state to be stored cannot be read").because(cause)
}
