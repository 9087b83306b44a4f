//! Files that have an end.

use rustix::fs::{OFlags, fcntl_setfl};
use std::fmt;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// A regular file, open for reading.
///
/// Opening anything else could wait for ever (a pipe without a writer), never end (`/dev/zero`), or do something (a
/// device).
#[derive(Debug)]
pub struct RegularFile {
    /// The file.
    pub file: File,
    /// Its length in bytes when it was opened.
    pub length: u64,
}

impl RegularFile {
    /// Opens the file at a path, through links.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) for anything but a regular file, else as the system's.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        // Not even opened: to open a device may have an effect.
        check(fs::metadata(path)?.file_type())?;
        let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
        Self::of(file)
    }

    /// Takes a file that was opened without waiting.
    pub(crate) fn of(file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        check(metadata.file_type())?;
        fcntl_setfl(&file, OFlags::empty())?;
        Ok(RegularFile { file, length: metadata.len() })
    }

    /// All its bytes.
    ///
    /// # Errors
    /// [`InvalidData`](io::ErrorKind::InvalidData) for a file of more than `bytes_max`, else as the system's.
    pub fn read(mut self, bytes_max: u64) -> io::Result<Vec<u8>> {
        let too_long = || {
            let message = format!("the file has more than {bytes_max} bytes, which it is not supposed to have");
            io::Error::new(io::ErrorKind::InvalidData, message)
        };
        if self.length > bytes_max {
            return Err(too_long());
        }
        let mut bytes = Vec::new();
        // It may grow while it is read; files of /proc have no length.
        self.file.by_ref().take(bytes_max + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > bytes_max { Err(too_long()) } else { Ok(bytes) }
    }
}

/// What is in the place of a regular file.
#[derive(Debug)]
struct NotRegular(&'static str);

fn check(found: FileType) -> io::Result<()> {
    let what = match found {
        found if found.is_file() => return Ok(()),
        found if found.is_dir() => "a directory",
        found if found.is_symlink() => "a symbolic link",
        found if found.is_fifo() => "a pipe",
        found if found.is_socket() => "a socket",
        found if found.is_char_device() || found.is_block_device() => "a device",
        _ => "something else",
    };
    Err(not_regular(what))
}

pub(crate) fn not_regular(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, NotRegular(what))
}

/// Whether an error says that something is not a regular file.
pub fn is_not_regular(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|cause| cause.is::<NotRegular>())
}

impl fmt::Display for NotRegular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a regular file: it is {}", self.0)
    }
}

impl std::error::Error for NotRegular {}
