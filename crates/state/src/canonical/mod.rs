//! The canonical format: keyed state as any backend can read and write it.
//!
//! A backend's own files are its own business. What must outlive the choice of a backend (savepoints, and the
//! checkpoints of backends without a format of their own) is written canonically: a handle of format [`FORMAT`] names
//! files that hold the entries of its states, sorted, each entry as its whole key and its stored value. The files say
//! nothing about codecs; the handle's descriptors do.
//!
//! Write with [`CanonicalWriter`], or straight into a checkpoint with [`put_canonical`] and [`canonical_handle`]; read
//! with [`CanonicalReader`], or all files of a handle, filtered by key groups, with [`read_canonical`]. Both stream:
//! they hold one block, whatever the size of the file.
//!
//! # Layout, version 1
//!
//! Integers are little-endian; `varint` is LEB128, seven bits a byte, the lowest first; checksums are XXH3-64 with seed
//! 0.
//!
//! ```text
//! file   = header  block*  end
//! header = magic "HPSTATE\n" (8)  version u32  max-parallelism u32  checksum u64 (of the 16 bytes before)
//! block  = 0x01  state u16  entries u32  body-length u32  body  checksum u64 (of everything before it in the block)
//! body   = entry*
//! entry  = shared varint  suffix-length varint  value-length varint  suffix  value
//! end    = 0x00  blocks u64  entries u64  checksum u64 (of the 17 bytes before)
//! ```
//!
//! `state` is an index into the handle's descriptors. An entry's key is the first `shared` bytes of the key before it
//! in its block (0 for the first) and then `suffix`; it begins with its key group, in one byte for up to 128 key groups
//! and else two. Entries ascend strictly by (state, key) through the whole file. A block holds entries of one state and
//! is closed at 64 KiB; an entry beyond that has a block of its own. Nothing follows the end.
//!
//! A handle's `details` may have `file-key-groups`, the range of key groups of each file: a reader skips the files it
//! needs none of.

mod handle;
mod reader;
mod writer;

pub use handle::{canonical_handle, check_format, put_canonical, read_canonical};
pub(crate) use handle::{check_key_groups, files_of};
pub use reader::{CanonicalEntry, CanonicalReader};
pub use writer::CanonicalWriter;

/// The name of the format in a handle.
pub const FORMAT: &str = "canonical";

/// The version of the format that is written, and the newest that is read.
pub const FORMAT_VERSION: u32 = 1;

/// What a file begins with.
const MAGIC: [u8; 8] = *b"HPSTATE\n";

/// Bytes of the header.
const HEADER_LEN: usize = 24;

/// Bytes of a block before its body.
const BLOCK_HEADER_LEN: usize = 11;

/// Bytes of the end marker.
const END_LEN: usize = 25;

/// Bytes of a block's body at which it is closed.
const BLOCK_TARGET: usize = 64 * 1024;

/// Bytes of a checksum.
const CHECKSUM_LEN: usize = 8;

/// What a block begins with.
const BLOCK_TAG: u8 = 1;

/// What the end marker begins with.
const END_TAG: u8 = 0;
