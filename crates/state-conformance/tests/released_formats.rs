//! Files that were released are readable, for ever.

use headpond_state::MaxParallelism;
use headpond_state::canonical::{CanonicalReader, CanonicalWriter};

const CANONICAL_V1: &[u8] = include_bytes!("../fixtures/canonical-v1.state");

/// What `canonical-v1.state` holds: three states (the second is empty), a key that is nothing but its key group, keys
/// that share a prefix, an empty value, and a value that has a block of its own.
fn canonical_v1() -> Vec<(u16, Vec<u8>, Vec<u8>)> {
    vec![
        (0, b"\x00".to_vec(), b"no key".to_vec()),
        (0, b"\x05UA".to_vec(), b"\x01\x00\x00\x12\x1d".to_vec()),
        (0, b"\x05UA\x00".to_vec(), Vec::new()),
        (0, b"\x05UAL".to_vec(), b"4637".to_vec()),
        (0, b"\x7f\xff\xff".to_vec(), b"last".to_vec()),
        (2, b"\x05UA".to_vec(), b"state 2".to_vec()),
        (2, b"\x05WN".to_vec(), b"ab".repeat(40_000)),
        (2, b"\x06".to_vec(), b"after the large one".to_vec()),
    ]
}

#[test]
fn canonical_version_1_is_read() {
    let mut reader = CanonicalReader::new(CANONICAL_V1, "canonical-v1.state").expect("a canonical file");
    assert_eq!(reader.max_parallelism(), MaxParallelism::DEFAULT);
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry().expect("an intact file") {
        entries.push((entry.state, entry.key.to_vec(), entry.value.to_vec()));
    }
    assert_eq!(entries, canonical_v1());
}

#[test]
fn canonical_version_1_is_what_is_written() {
    let mut writer = CanonicalWriter::new(Vec::new(), MaxParallelism::DEFAULT).expect("a header");
    for (state, key, value) in canonical_v1() {
        writer.push(state, &key, &value).expect("an entry");
    }
    assert_eq!(headpond_state::canonical::FORMAT_VERSION, 1, "a new version needs a fixture of its own");
    assert!(writer.finish().expect("an end") == CANONICAL_V1, "the bytes of version 1 have changed");
}
