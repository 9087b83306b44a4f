//! The bytes of a file, decompressed, through a window that slides over them.

use flate2::read::MultiGzDecoder;
use headpond_files::RegularFile;
use headpond_runtime::{Error, Result};
use headpond_state::{Context, Remedy};
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How much is read at once: at first little, for whoever wants to see the first row only.
const FIRST_READ_BYTES: usize = 1 << 16;
const READ_BYTES: usize = 1 << 20;
/// The longest record, its line break included. A longer one is a missing quote or not a text file.
pub(crate) const RECORD_BYTES_MAX: usize = 16 << 20;

/// An open file. The window is what was read and not consumed.
pub(crate) struct Input {
    path: PathBuf,
    stream: Stream,
    /// The same file, to ask for its length.
    file: File,
    /// Its length when it was opened or before, as it is stored: less of it would be rows that are lost.
    length: u64,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    line: u64,
    at_end: bool,
}

enum Stream {
    Plain(File),
    Decoded(Box<dyn Read + Send>),
}

impl Input {
    /// Opens a file at its beginning. Its name's ending says how it is compressed.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let cannot_open = |cause| Error::io("cannot open the file", path, cause);
        let RegularFile { file, length } = RegularFile::open(path).map_err(cannot_open)?;
        let same = file.try_clone().map_err(cannot_open)?;
        let unsupported = |form: &str| {
            Error::unsupported(format!("files compressed with {form} are not supported"))
                .with(Context::Path, path.display())
                .hint("decompress it, or compress it with gzip (.gz) or zstd (.zst)")
        };
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
        let stream = match ending.as_str() {
            "gz" | "gzip" => {
                Stream::Decoded(Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(1 << 17, file))))
            }
            "zst" | "zstd" => {
                let decoder = zstd::stream::read::Decoder::new(file);
                Stream::Decoded(Box::new(
                    decoder.map_err(|cause| Error::io("cannot decompress the file", path, cause))?,
                ))
            }
            "bz2" => return Err(unsupported("bzip2")),
            "xz" => return Err(unsupported("xz")),
            "zip" => return Err(unsupported("zip")),
            "lz4" => return Err(unsupported("lz4")),
            _ => Stream::Plain(file),
        };
        let buffer = vec![0; FIRST_READ_BYTES];
        let path = path.to_owned();
        Ok(Input { path, stream, file: same, length, buffer, start: 0, end: 0, offset: 0, line: 1, at_end: false })
    }

    /// The length that the file must have at its end, as it is stored.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// How many stored bytes of a compressed file were taken so far.
    pub(crate) fn stored_offset(&self) -> Option<u64> {
        // The handles share their place in the file.
        matches!(self.stream, Stream::Decoded(_)).then(|| (&self.file).stream_position().ok())?
    }

    /// Sees to it that the file is as long as it was before it was opened here.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) when it is shorter.
    pub(crate) fn require_length(&mut self, length: u64) -> Result<()> {
        self.length = self.length.max(length);
        self.check_length()
    }

    /// Checks that the file has not become shorter.
    fn check_length(&self) -> Result<()> {
        let cannot_read = |cause| Error::io("cannot read the file", &self.path, cause);
        let mut found = regular_length(&self.file.metadata().map_err(cannot_read)?);
        // Another file may have taken its place.
        if let Ok(in_place) = fs::metadata(&self.path) {
            found = found.min(regular_length(&in_place));
        }
        if found >= self.length {
            return Ok(());
        }
        let was = self.length;
        Err(Error::corrupt(format!("the file has become shorter: {found} bytes of {was} are left"))
            .with(Context::Path, self.path.display())
            .with(Context::Line, self.line)
            .hint("bring it back as it was and run the job again")
            .remedy(Remedy::StartAnew))
    }

    /// What was read and not consumed.
    #[inline]
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Whether the file ends with the window.
    #[inline]
    pub(crate) fn at_end(&self) -> bool {
        self.at_end
    }

    /// Whether the window holds more than a record may have.
    pub(crate) fn is_full(&self) -> bool {
        self.end - self.start > RECORD_BYTES_MAX
    }

    /// The place of the window's first byte in the decompressed file.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The line the window begins in, counted from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Moves the window's beginning behind `bytes` that have `newlines` in them.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize, newlines: u64) {
        self.start = (self.start + bytes).min(self.end);
        self.offset += bytes as u64;
        self.line += newlines;
    }

    /// Makes the window longer, unless the file has no more.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) when it has less than it had, else as the file's.
    pub(crate) fn more(&mut self) -> Result<()> {
        if self.at_end {
            return Ok(());
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < READ_BYTES && self.offset > 0 {
            self.buffer.resize(READ_BYTES, 0);
        } else if self.buffer.len() - self.end < self.buffer.len().min(READ_BYTES) / 2 {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        while self.end < self.buffer.len() {
            match self.stream.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.check_length()?;
                    self.at_end = true;
                    break;
                }
                Ok(read) => self.end += read,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(self.read_error(cause)),
            }
        }
        Ok(())
    }

    /// Leaves out the rest of the line, with its line break, however long it is.
    ///
    /// # Errors
    /// As the file's.
    pub(crate) fn skip_line(&mut self) -> Result<()> {
        loop {
            if let Some(at) = self.window().iter().position(|&byte| byte == b'\n') {
                self.consume(at + 1, 1);
                return Ok(());
            }
            self.consume(self.window().len(), 0);
            if self.at_end {
                return Ok(());
            }
            self.more()?;
        }
    }

    /// Goes back to an earlier place, of which the line is known.
    ///
    /// # Errors
    /// As [`open`](Self::open), [`require_length`](Self::require_length) and [`skip_to`](Self::skip_to).
    pub(crate) fn return_to(&mut self, offset: u64, line: u64) -> Result<()> {
        let mut again = Input::open(&self.path)?;
        again.require_length(self.length)?;
        again.skip_to(offset, line)?;
        *self = again;
        Ok(())
    }

    /// Moves on to a later place, of which the line is known.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) when the file ends before it.
    pub(crate) fn skip_to(&mut self, offset: u64, line: u64) -> Result<()> {
        let mut ahead = offset.saturating_sub(self.offset);
        let in_window = ahead.min(self.window().len() as u64);
        self.consume(in_window as usize, 0);
        ahead -= in_window;
        if ahead > 0 {
            self.skip_unread(ahead, offset)?;
            self.offset = offset;
        }
        self.line = line;
        Ok(())
    }

    /// Leaves out bytes that are not in the window, which is empty.
    fn skip_unread(&mut self, ahead: u64, offset: u64) -> Result<()> {
        let shorter = |path: &Path| {
            Error::corrupt("the file is shorter than it was when the checkpoint was taken")
                .with(Context::Path, path.display())
                .hint(format!("bring back the file of which {offset} bytes (decompressed) were read"))
                .remedy(Remedy::StartAnew)
        };
        let skipped = match &mut self.stream {
            Stream::Plain(file) => {
                let length =
                    file.metadata().map_err(|cause| Error::io("cannot read the file", &self.path, cause))?.len();
                if length < offset {
                    return Err(shorter(&self.path));
                }
                file.seek(SeekFrom::Start(offset)).map(|_| ahead)
            }
            Stream::Decoded(stream) => io::copy(&mut stream.take(ahead), &mut io::sink()),
        };
        match skipped {
            Ok(skipped) if skipped == ahead => Ok(()),
            Ok(_) => Err(shorter(&self.path)),
            Err(cause) => Err(self.read_error(cause)),
        }
    }

    fn read_error(&self, cause: io::Error) -> Error {
        let decoded = matches!(self.stream, Stream::Decoded(_));
        let damaged = decoded && !matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::PermissionDenied);
        if damaged {
            Error::corrupt("the compressed file is damaged or incomplete")
                .with(Context::Path, self.path.display())
                .with(Context::Line, self.line)
                .because(cause)
                .hint("bring the file anew")
        } else {
            Error::io("cannot read the file", &self.path, cause)
        }
    }
}

/// A file's length; 0 for what has none, such as a pipe.
fn regular_length(metadata: &Metadata) -> u64 {
    if metadata.is_file() { metadata.len() } else { 0 }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(file) => file.read(buffer),
            Stream::Decoded(stream) => stream.read(buffer),
        }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("path", &self.path).field("offset", &self.offset).finish_non_exhaustive()
    }
}
