//! How keys become bytes: memcomparable, self-delimiting, versioned.
//!
//! A state's entries are ordered by the bytes of their keys, found by prefixes of them, and dealt to workers by a hash
//! of them. So equal keys must have equal bytes, bytes must sort as values do, and where a component ends must follow
//! from the bytes. This is version [`VERSION`] of that encoding; files of `tests/fixtures` hold its bytes, and it never
//! changes. Another encoding is another version.
//!
//! # Components
//!
//! | type | bytes |
//! |---|---|
//! | `bool` | 0 or 1 |
//! | `int8` … `int64`, `date`, `timestamp` | big-endian in their width, sign bit flipped |
//! | `uint64` | big-endian |
//! | `float32`, `float64` | IEEE 754 big-endian; positive: sign bit flipped, negative: all bits flipped |
//! | `decimal` | 16 bytes, unscaled value as an integer |
//! | `utf8`, `binary` | the bytes, `00` as `00 FF`, then `00 01` |
//! | `list<T>` | for each element `01` (NULL) or `02` and its component; then `00` |
//! | `struct<…>` | the fields' components |
//!
//! −0.0 is written as 0.0, and every NaN as one, which is greater than all numbers.
//!
//! A nullable component begins with `01` for NULL, which so sorts first and ends there, or `02` before the value.
//! Components that are declared without NULL have no such byte.
//!
//! # Entries
//!
//! An entry's key is `key group | key | namespace | user key` ([`EntryKeys`]): a key group of 1 byte when the max
//! parallelism is at most 128, else 2; the components of the key; those of the namespace (none, or the two of a
//! [window](window_namespace)); those of a map's user key, or the sequence number of a list's element. A timer is `key
//! group | time | key | namespace`.
//!
//! A state whose descriptor says [`TimeFirst`](crate::EntryOrder::TimeFirst) has entries `key group | time | key | user
//! key`, the time as an `int64` component: often the beginning of a span (a bucket) in which the row's own time, part
//! of the user key, lies.
//!
//! ```
//! use headpond_state::encoding::{self, EntryKeys, KeySchema};
//! use headpond_state::{MaxParallelism, schema::Datum};
//!
//! let schema: KeySchema = "utf8?,int64".parse()?;
//! let mut key = Vec::new();
//! schema.encode(&["UA".into(), 7.into()], &mut key)?;
//! assert_eq!(schema.decode(&key)?, [Datum::utf8("UA"), Datum::Int64(7)]);
//!
//! let entries = EntryKeys::new(MaxParallelism::DEFAULT);
//! let mut entry = Vec::new();
//! entries.entry(entries.key_group(&key), &key, encoding::NO_NAMESPACE, &mut entry);
//! assert_eq!(entry[1..], key);
//! # Ok::<(), headpond_state::Error>(())
//! ```

mod component;
mod entry;
mod read;
mod schema;
mod write;

pub use component::KeyComponent;
pub use entry::{EntryKeys, NO_NAMESPACE, TimerEntry, prefix_end, sort_prefix, window_namespace, window_of_namespace};
pub use read::KeyReader;
pub use schema::KeySchema;
pub use write::{
    put_bool, put_bytes, put_datum, put_decimal, put_f32, put_f64, put_i8, put_i16, put_i32, put_i64, put_list_end,
    put_null, put_present, put_str, put_u64,
};

/// The version of the encoding, in every manifest.
pub const VERSION: u8 = 1;

/// Before a NULL component or element.
const NULL: u8 = 0x01;
/// Before a component or element that may be NULL and is not.
const PRESENT: u8 = 0x02;
/// After the last element of a list.
const LIST_END: u8 = 0x00;
/// After a `00` within bytes.
const ESCAPED_ZERO: u8 = 0xff;
/// After the `00` that ends bytes.
const BYTES_END: u8 = 0x01;
