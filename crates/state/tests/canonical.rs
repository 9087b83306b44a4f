//! The canonical format: what is written is read again, and whatever else is read is an error.

use headpond_state::canonical::{CanonicalReader, CanonicalWriter};
use headpond_state::{ErrorKind, MaxParallelism, Result};
use std::io::Read;

type Owned = (u16, Vec<u8>, Vec<u8>);

fn file(entries: &[Owned]) -> Vec<u8> {
    let mut writer = CanonicalWriter::new(Vec::new(), MaxParallelism::DEFAULT).expect("a header");
    entries.iter().for_each(|(state, key, value)| writer.push(*state, key, value).expect("an entry"));
    assert_eq!(writer.entries(), entries.len() as u64);
    writer.finish().expect("an end")
}

fn read(input: impl Read) -> Result<Vec<Owned>> {
    let mut reader = CanonicalReader::new(input, "state")?;
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        entries.push((entry.state, entry.key.to_vec(), entry.value.to_vec()));
    }
    Ok(entries)
}

fn small_entries(count: u32) -> Vec<Owned> {
    let key = |i: u32| [&[(i / 100) as u8][..], &(i * 977).to_be_bytes()].concat();
    (0..count).map(|i| ((i / 5000) as u16, key(i), vec![i as u8; (i % 40) as usize])).collect()
}

#[test]
fn entries_of_several_states_and_blocks_come_back() {
    let mut entries = small_entries(12_000);
    entries.push((7, vec![1], vec![9; 300_000]));
    entries.push((7, vec![1, 0], Vec::new()));
    entries.push((7, vec![2; 70_000], vec![1]));
    assert_eq!(read(file(&entries).as_slice()).expect("a whole file"), entries);
    assert_eq!(read(file(&[]).as_slice()).expect("an empty file"), []);
}

#[test]
fn a_reader_that_gives_single_bytes_is_enough() {
    struct Trickle<'a>(&'a [u8]);
    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let len = buffer.len().min(1);
            self.0.read(&mut buffer[..len])
        }
    }
    let entries = small_entries(300);
    assert_eq!(read(Trickle(&file(&entries))).expect("a whole file"), entries);
}

#[test]
fn small_entries_take_few_bytes_beside_their_own() {
    let entries = small_entries(5000);
    let content: usize = entries.iter().map(|(_, key, value)| key.len() + value.len()).sum();
    let len = file(&entries).len();
    assert!(len < content + 4 * entries.len(), "{len} bytes for {content}");
}

#[test]
fn entries_that_do_not_ascend_are_refused() {
    let mut writer = CanonicalWriter::new(Vec::new(), MaxParallelism::DEFAULT).expect("a header");
    writer.push(1, b"b", b"").expect("the first entry");
    for (state, key) in [(1, b"b"), (1, b"a"), (0, b"c")] {
        let failure = writer.push(state, key, b"").expect_err("it does not ascend");
        assert_eq!(failure.kind(), ErrorKind::Internal);
    }
    writer.push(2, b"a", b"").expect("another state begins anew");
}

#[test]
fn every_flipped_bit_is_found() {
    let mut bytes = file(&small_entries(60));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            let failure = read(bytes.as_slice()).expect_err("a damaged file");
            assert_eq!(failure.kind(), ErrorKind::Corrupt, "bit {bit} of byte {at}: {failure}");
            bytes[at] ^= 1 << bit;
        }
    }
}

#[test]
fn every_truncation_and_anything_appended_is_found() {
    let bytes = file(&small_entries(60));
    for len in 0..bytes.len() {
        let failure = read(&bytes[..len]).expect_err("a torn file");
        assert_eq!(failure.kind(), ErrorKind::Corrupt, "{len} bytes: {failure}");
    }
    let failure = read([bytes.as_slice(), &[0]].concat().as_slice()).expect_err("a longer file");
    assert_eq!(failure.kind(), ErrorKind::Corrupt, "{failure}");
}

/// Blocks with right checksums and wrong content, as no writer makes them.
#[test]
fn a_forged_block_is_an_error_and_no_panic() {
    let whole = file(&[]);
    let header = &whole[..24];
    let bodies: [&[u8]; 9] = [
        &[],
        &[0],
        &[0, 1, 0],
        &[1, 1, 0, b'k'],
        &[0, 1, 200, b'k'],
        &[0, 1, 0, b'k', 0, 1, 0, b'k'],
        &[0, 1, 0, b'k', 9, 1, 0, b'z'],
        &[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0, 1, 0, b'k', 7, 7],
    ];
    for body in bodies {
        for entries in [0u32, 1, 2, u32::MAX] {
            let mut block = vec![1, 0, 0];
            block.extend_from_slice(&entries.to_le_bytes());
            block.extend_from_slice(&(body.len() as u32).to_le_bytes());
            block.extend_from_slice(body);
            let checksum = xxhash_rust::xxh3::xxh3_64(&block);
            block.extend_from_slice(&checksum.to_le_bytes());
            let failure = read([header, &block, &whole[24..]].concat().as_slice()).expect_err("a forged file");
            assert_eq!(failure.kind(), ErrorKind::Corrupt, "{body:?}: {failure}");
        }
    }
}

#[test]
fn a_claimed_length_allocates_nothing() {
    let mut bytes = file(&[])[..24].to_vec();
    bytes.extend_from_slice(&[1, 0, 0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0]);
    assert_eq!(read(bytes.as_slice()).expect_err("a torn file").kind(), ErrorKind::Corrupt);
}

#[test]
fn a_newer_version_is_incompatible_and_says_the_way_out() {
    let mut bytes = file(&small_entries(3));
    bytes[8] = 2;
    let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[..16]);
    bytes[16..24].copy_from_slice(&checksum.to_le_bytes());
    let failure = read(bytes.as_slice()).expect_err("a newer file");
    assert_eq!(failure.kind(), ErrorKind::Incompatible);
    assert!(failure.way_out().is_some());
}
