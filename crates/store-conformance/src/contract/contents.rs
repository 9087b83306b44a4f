//! What comes in is what comes out.

use super::{JOB, get, names, pattern, put, put_content};
use crate::{Bytes, StoreFactory};
use std::io::Write;
use std::thread;

/// Beyond any buffer, and beyond the least part of a multipart upload.
const LARGE: usize = 12 << 20;

/// Empty, small and large contents.
pub fn contents_of_all_sizes_are_read_back(place: &StoreFactory) {
    let store = place();
    let whole = pattern(LARGE);
    for length in [0, 1, 70_000, (5 << 20) - 1, LARGE] {
        let key = format!("{JOB}/shared/{length}");
        put(store.as_ref(), &key, &whole[..length]);
        assert!(get(place().as_ref(), &key).unwrap() == whole[..length], "{length} bytes");
    }
}

/// A content that has a file.
pub fn a_file_is_read_back_as_a_stream_is(place: &StoreFactory) {
    let store = place();
    for length in [3, LARGE + 17] {
        let bytes = pattern(length);
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&bytes).unwrap();
        let key = format!("{JOB}/shared/{length}");
        put_content(store.as_ref(), &key, Bytes::new(&key, &bytes).in_file(file.path()));
        drop(file);
        assert!(get(store.as_ref(), &key).unwrap() == bytes, "{length} bytes");
    }
}

/// A content that cannot be read to its end.
pub fn a_content_that_fails_leaves_nothing_under_its_key(place: &StoreFactory) {
    let store = place();
    let whole = pattern(LARGE);
    for byte in [0, 100, (LARGE - 1) as u64] {
        let key = format!("{JOB}/shared/{byte}");
        store.stage(JOB, &mut Bytes::new(&key, &whole).failing_at(byte)).unwrap_err();
        assert_eq!(get(store.as_ref(), &key), None, "failed at {byte}");
    }
    assert_eq!(names(store.as_ref(), &format!("{JOB}/shared")), [""; 0]);
}

/// A content that nobody wants any more.
pub fn a_content_whose_key_is_refused_leaves_nothing(place: &StoreFactory) {
    let store = place();
    for length in [10, LARGE] {
        let key = format!("{JOB}/shared/{length}");
        store.stage(JOB, &mut Bytes::new(&key, &pattern(length)).unwanted()).unwrap_err();
        assert_eq!(get(store.as_ref(), &key), None, "{length} bytes");
    }
}

/// Another content for a key that exists.
pub fn a_key_may_be_stored_again(place: &StoreFactory) {
    let store = place();
    let key = format!("{JOB}/shared/again");
    put(store.as_ref(), &key, b"damaged");
    put(store.as_ref(), &key, b"sound and longer");
    assert_eq!(get(store.as_ref(), &key).unwrap(), b"sound and longer");
}

/// A file that was staged a second time and discarded.
pub fn discarding_takes_nothing_away_that_has_its_key(place: &StoreFactory) {
    let store = place();
    let key = format!("{JOB}/shared/kept");
    put(store.as_ref(), &key, b"named by a checkpoint");
    let again = store.stage(JOB, &mut Bytes::new(&key, b"named by a checkpoint")).unwrap();
    store.discard(again);
    let never = store.stage(JOB, &mut Bytes::unnamed(b"a manifest that is not committed")).unwrap();
    store.discard(never);
    assert_eq!(get(store.as_ref(), &key).unwrap(), b"named by a checkpoint");
    assert_eq!(names(store.as_ref(), &format!("{JOB}/shared")), ["kept"]);
}

/// Uploads of several operators.
pub fn contents_may_come_from_many_threads_at_once(place: &StoreFactory) {
    let store = place();
    let key = |thread: usize, file: usize| format!("{JOB}/shared/{thread}-{file}");
    let bytes = |thread: usize, file: usize| pattern(1 + 977 * (thread * 20 + file));
    let staged: Vec<_> = thread::scope(|scope| {
        let stage = |thread| {
            let one = |file| {
                let key = key(thread, file);
                (store.stage(JOB, &mut Bytes::new(&key, &bytes(thread, file))).unwrap(), key)
            };
            (0..20).map(one).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || stage(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    store.sync(&staged.iter().map(|(staged, _)| staged).collect::<Vec<_>>()).unwrap();
    store.publish(staged).unwrap();
    for (thread, file) in (0..4).flat_map(|thread| (0..20).map(move |file| (thread, file))) {
        assert!(get(store.as_ref(), &key(thread, file)).unwrap() == bytes(thread, file), "{}", key(thread, file));
    }
}

/// Jobs' names make such directories.
pub fn keys_may_have_percent_signs_and_spaces(place: &StoreFactory) {
    let store = place();
    for directory in ["a%2Fb", "a%252Fb", "%20", "x_y-z.1"] {
        let key = format!("{directory}/shared/1");
        put(store.as_ref(), &key, directory.as_bytes());
    }
    for directory in ["a%2Fb", "a%252Fb", "%20", "x_y-z.1"] {
        assert_eq!(get(store.as_ref(), &format!("{directory}/shared/1")).unwrap(), directory.as_bytes());
        assert_eq!(names(store.as_ref(), directory), ["shared"], "{directory}");
    }
    assert_eq!(store.list("").unwrap().iter().filter(|name| *name == "a%2Fb").count(), 1);
}
