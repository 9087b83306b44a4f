//! Files below a directory that a user chose, and nowhere else.
//!
//! Headpond writes, locks and deletes in directories that other programs may write to as well, and it takes names of
//! files from checkpoints that may have been altered. Three types keep it where it belongs:
//!
//! - [`RelativeName`]: a name that stays below the directory it is relative to;
//! - [`Root`]: a directory below which no symbolic link is followed. The directory itself may be a link: its user chose
//!   it;
//! - [`RegularFile`]: a file whose bytes can be read to an end. Pipes, devices, sockets and directories are refused
//!   without waiting for them.
//!
//! Errors are [`std::io::Error`]s. Those of this crate have the kind
//! [`InvalidInput`](std::io::ErrorKind::InvalidInput) and say what is in the way.

mod regular_file;
mod relative_name;
mod root;

pub use regular_file::{RegularFile, is_not_regular};
pub use relative_name::{NotBelow, RelativeName};
pub use root::{Entry, EntryKind, Root, is_link};
