//! The sink of a checkpoint in flight.

use crate::support::*;
use headpond_state::{CheckpointId, ErrorKind};
use std::io::{self, Read};
use std::thread;

fn staged(dir: &std::path::Path) -> usize {
    std::fs::read_dir(dir.join("totals/staging")).map_or(0, Iterator::count)
}

#[test]
fn a_cancelled_checkpoint_takes_nothing_more_and_leaves_nothing() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let pending = storage.begin(CheckpointId(1), &me, None, true).unwrap();
    let sink = pending.sink();
    let file = sink.put_stream("1.sst", &mut &b"one"[..]).unwrap();
    assert_eq!((pending.stats().uploaded_bytes, pending.stats().requests), (3, 1));
    pending.cancel();
    assert_eq!(sink.put_stream("2.sst", &mut &b"two"[..]).unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(sink.reuse(&file).unwrap_err().kind(), ErrorKind::Closed);
    let error = storage.commit(pending, manifest(CheckpointId(1), &me, vec![file])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert_eq!(staged(dir.path()), 0);
    assert!(storage.latest_verified().unwrap().is_none());
}

#[test]
fn an_upload_under_way_ends_when_its_checkpoint_is_cancelled() {
    /// Yields bytes for ever and cancels its own checkpoint after some.
    struct Endless<F: FnMut()>(u32, F);
    impl<F: FnMut()> Read for Endless<F> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0 == 3 {
                (self.1)();
            }
            buffer.fill(1);
            Ok(buffer.len())
        }
    }
    let dir = scratch();
    let storage = open(dir.path());
    let pending = storage.begin(CheckpointId(1), &attempt("a"), None, true).unwrap();
    let sink = pending.sink();
    let error = sink.put_stream("endless", &mut Endless(0, || pending.cancel())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert_eq!(staged(dir.path()), 0);
}

#[test]
fn an_aborted_checkpoint_leaves_nothing_and_its_number_can_be_taken() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let pending = storage.begin(CheckpointId(1), &me, None, true).unwrap();
    pending.sink().put_stream("1.sst", &mut &b"one"[..]).unwrap();
    storage.abort(pending);
    assert_eq!(staged(dir.path()), 0);
    drop(storage.begin(CheckpointId(1), &me, None, true).unwrap());
    assert_eq!(storage.next_id().unwrap(), CheckpointId(2), "this attempt has used it");
}

#[test]
fn uploads_from_many_threads_all_arrive() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let pending = storage.begin(CheckpointId(1), &me, None, true).unwrap();
    let threads: Vec<_> = (0..8)
        .map(|worker| {
            let sink = pending.sink();
            thread::spawn(move || {
                let content = format!("content {}", worker / 2);
                sink.put_stream(&format!("{worker}.sst"), &mut content.as_bytes()).unwrap()
            })
        })
        .collect();
    let stored: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let committed = storage.commit(pending, manifest(CheckpointId(1), &me, stored)).unwrap();
    assert_eq!(committed.stats.uploaded_files, 4, "the same bytes are stored once");
    assert_eq!(restore(&storage, &committed).unwrap().len(), 8);
}

#[test]
fn a_local_file_is_copied_and_fetched_back() {
    let dir = scratch();
    let (storage, me) = (open(dir.path()), attempt("a"));
    let local = dir.path().join("local.sst");
    let content: Vec<u8> = (0..6_000_000u32).map(|i| (i % 251) as u8).collect();
    std::fs::write(&local, &content).unwrap();
    let pending = storage.begin(CheckpointId(1), &me, None, true).unwrap();
    let file = pending.sink().put_file("local.sst", &local).unwrap();
    assert_eq!(file.length, content.len() as u64);
    let missing = pending.sink().put_file("gone.sst", &dir.path().join("gone.sst")).unwrap_err();
    assert!(missing.to_string().contains("gone.sst"), "{missing}");
    storage.commit(pending, manifest(CheckpointId(1), &me, vec![file.clone()])).unwrap();

    let target = dir.path().join("restored.sst");
    storage.source().fetch(&file, &target).unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), content);
    assert_eq!(storage.source().fetch(&file, &target).unwrap_err().kind(), ErrorKind::Unavailable, "it exists");

    flip_byte(&shared_file(dir.path(), &file));
    let other = dir.path().join("other.sst");
    assert_eq!(storage.source().fetch(&file, &other).unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(!other.exists(), "nothing damaged is left");
    let error = storage.source().open(&file).unwrap().read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    std::fs::remove_file(shared_file(dir.path(), &file)).unwrap();
    assert_eq!(storage.source().fetch(&file, &other).unwrap_err().kind(), ErrorKind::Corrupt);
}
