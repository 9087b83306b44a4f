//! A directory below which no link is followed.

use crate::regular_file::not_regular;
use crate::{RegularFile, RelativeName};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::fs::{linkat, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// A directory that a user chose. What is below it is reached part by part, and a symbolic link in the way is an error:
/// whoever can write to the directory cannot make us write, lock or delete elsewhere.
///
/// Calls open the directory anew: nothing is held.
#[derive(Debug, Clone)]
pub struct Root {
    path: PathBuf,
}

/// Something in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the directory.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// What something in a directory is. Links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, wherever it leads.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

impl Root {
    /// The directory at this path, which need not exist. A relative path begins at the current directory.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Root { path: if path.as_os_str().is_empty() { PathBuf::from(".") } else { path } }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of something below it, for messages and for libraries that take nothing else.
    pub fn locate(&self, name: &RelativeName) -> PathBuf {
        self.path.join(name.as_str())
    }

    /// Creates the directory and those of `name` in it. Returns the directories that have a new entry, for who wants
    /// them to survive a crash.
    ///
    /// # Errors
    /// As the system's.
    pub fn create_directories(&self, name: Option<&RelativeName>) -> io::Result<Vec<PathBuf>> {
        let parent_of = |path: &Path| match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let missing: Vec<&Path> = self.path.ancestors().take_while(|path| !path.exists()).collect();
        let mut changed: Vec<PathBuf> =
            missing.into_iter().filter(|path| !path.as_os_str().is_empty()).map(parent_of).collect();
        fs::create_dir_all(&self.path).map_err(|cause| match cause.kind() {
            io::ErrorKind::AlreadyExists => io::ErrorKind::NotADirectory.into(),
            _ => cause,
        })?;
        let (mut directory, mut path) = (self.directory()?, self.path.clone());
        for part in name.into_iter().flat_map(RelativeName::parts) {
            match mkdirat(&directory, part, Mode::from_raw_mode(0o777)) {
                Ok(()) => changed.push(path.clone()),
                Err(Errno::EXIST) => {}
                Err(cause) => return Err(cause.into()),
            }
            path.push(part);
            directory = enter(&directory, part, &path)?;
        }
        Ok(changed)
    }

    /// Opens a regular file to read it.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) for a link and for what is not a regular file, else as the
    /// system's.
    pub fn open(&self, name: &RelativeName) -> io::Result<RegularFile> {
        let file = self.open_with(name, OFlags::RDONLY | OFlags::NONBLOCK)?;
        RegularFile::of(file)
    }

    /// Creates a file, to write to it. Whatever has the name already stays, and is an error: a link too.
    ///
    /// # Errors
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) when something has the name, else as the system's.
    pub fn create_new(&self, name: &RelativeName) -> io::Result<File> {
        self.open_with(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
    }

    /// Opens a regular file to read and write it, and creates it if there is none. Its content stays.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_or_create(&self, name: &RelativeName) -> io::Result<File> {
        let file = self.open_with(name, OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK)?;
        Ok(RegularFile::of(file)?.file)
    }

    /// Gives a file another name, replacing what has it. A link is replaced, and not what it leads to.
    ///
    /// # Errors
    /// As the system's.
    pub fn rename(&self, from: &RelativeName, to: &RelativeName) -> io::Result<()> {
        let ((from_directory, from), (to_directory, to)) = (self.enter_above(from)?, self.enter_above(to)?);
        Ok(renameat(&from_directory, from, &to_directory, to)?)
    }

    /// Gives a file a second name, unless something has it.
    ///
    /// # Errors
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) when something has the name, else as the system's.
    pub fn hard_link(&self, from: &RelativeName, to: &RelativeName) -> io::Result<()> {
        let ((from_directory, from), (to_directory, to)) = (self.enter_above(from)?, self.enter_above(to)?);
        Ok(linkat(&from_directory, from, &to_directory, to, AtFlags::empty())?)
    }

    /// Removes a file, or a link and not what it leads to.
    ///
    /// # Errors
    /// [`NotFound`](io::ErrorKind::NotFound) when there is none, else as the system's.
    pub fn remove_file(&self, name: &RelativeName) -> io::Result<()> {
        let (directory, name) = self.enter_above(name)?;
        Ok(unlinkat(&directory, name, AtFlags::empty())?)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// As the system's.
    pub fn remove_directory(&self, name: &RelativeName) -> io::Result<()> {
        let (directory, name) = self.enter_above(name)?;
        Ok(unlinkat(&directory, name, AtFlags::REMOVEDIR)?)
    }

    /// What has this name, and its length in bytes; `None` if nothing has.
    ///
    /// # Errors
    /// As the system's.
    pub fn look_at(&self, name: &RelativeName) -> io::Result<Option<(EntryKind, u64)>> {
        let found = self
            .enter_above(name)
            .and_then(|(directory, name)| Ok(statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?));
        match found {
            Ok(found) => Ok(Some((kind_of(FileType::from_raw_mode(found.st_mode)), found.st_size.unsigned_abs()))),
            Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(cause) => Err(cause),
        }
    }

    /// What is in a directory, in no order; names that are not UTF-8 are left out. `None`: in this one.
    ///
    /// # Errors
    /// [`NotFound`](io::ErrorKind::NotFound) when there is no such directory, else as the system's.
    pub fn entries(&self, name: Option<&RelativeName>) -> io::Result<Vec<Entry>> {
        let directory = self.enter_directory(name)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name == "." || name == ".." {
                continue;
            }
            // Some file systems do not say what their entries are.
            let kind = match entry.file_type() {
                FileType::Unknown => match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) => FileType::from_raw_mode(found.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(cause) => return Err(cause.into()),
                },
                known => known,
            };
            entries.push(Entry { name: name.to_owned(), kind: kind_of(kind) });
        }
        Ok(entries)
    }

    /// Makes a file's bytes, or a directory's entries, survive a crash of the machine. `None`: this directory's.
    ///
    /// # Errors
    /// As the system's.
    pub fn sync(&self, name: Option<&RelativeName>) -> io::Result<()> {
        let file: File = match name {
            Some(name) => self.open_with(name, OFlags::RDONLY | OFlags::NONBLOCK)?,
            None => self.directory()?.into(),
        };
        file.sync_all()
    }

    fn directory(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(CWD, &self.path, flags, Mode::empty())?)
    }

    fn enter_directory(&self, name: Option<&RelativeName>) -> io::Result<OwnedFd> {
        let (mut directory, mut path) = (self.directory()?, self.path.clone());
        for part in name.into_iter().flat_map(RelativeName::parts) {
            path.push(part);
            directory = enter(&directory, part, &path)?;
        }
        Ok(directory)
    }

    /// The directory that something is in, and its name there.
    fn enter_above<'n>(&self, name: &'n RelativeName) -> io::Result<(OwnedFd, &'n str)> {
        let (above, last) = name.split();
        Ok((self.enter_directory(above.as_ref())?, last))
    }

    fn open_with(&self, name: &RelativeName, flags: OFlags) -> io::Result<File> {
        let (directory, last) = self.enter_above(name)?;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&directory, last, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => Ok(file.into()),
            Err(cause) => Err(in_the_way(&directory, last, &self.locate(name), cause)),
        }
    }
}

/// Opens a directory in a directory.
fn enter(directory: &OwnedFd, part: &str, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, part, flags, Mode::empty()).map_err(|cause| in_the_way(directory, part, path, cause))
}

/// The error of an open, or what is in the way if it failed because of that.
fn in_the_way(directory: &impl AsFd, part: &str, path: &Path, cause: Errno) -> io::Error {
    if matches!(cause, Errno::LOOP | Errno::NOTDIR | Errno::MLINK)
        && let Ok(found) = statat(directory, part, AtFlags::SYMLINK_NOFOLLOW)
        && FileType::from_raw_mode(found.st_mode) == FileType::Symlink
    {
        return io::Error::new(io::ErrorKind::InvalidInput, LinkInTheWay(path.to_path_buf()));
    }
    match cause {
        Errno::NXIO => not_regular("a socket, or a device that is not there"),
        _ => cause.into(),
    }
}

fn kind_of(found: FileType) -> EntryKind {
    match found {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

/// A link where none may be.
#[derive(Debug)]
struct LinkInTheWay(PathBuf);

/// Whether an error says that a symbolic link is in the way.
pub fn is_link(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|cause| cause.is::<LinkInTheWay>())
}

impl fmt::Display for LinkInTheWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is a symbolic link, which is not followed here", self.0.display())
    }
}

impl std::error::Error for LinkInTheWay {}
