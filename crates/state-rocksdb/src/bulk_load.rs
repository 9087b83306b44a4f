//! Sorted entries into a database, past its memtables: written as files, which the database then takes over.

use crate::database::Database;
use headpond_state::{Error, Result};
use rust_rocksdb::{IngestExternalFileOptions, Options, SstFileWriter};
use std::fs;
use std::path::PathBuf;

/// Loads entries into the column families it was made for. They should ascend within a family; where they do not, a new
/// file is begun.
pub(crate) struct BulkLoad<'a> {
    database: &'a Database,
    families: &'a [Family],
    open: Option<OpenFile<'a>>,
    finished: Vec<Vec<PathBuf>>,
    files: usize,
}

/// A column family to load.
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) options: Options,
}

struct OpenFile<'a> {
    family: usize,
    writer: SstFileWriter<'a>,
    path: PathBuf,
    last_key: Vec<u8>,
}

impl<'a> BulkLoad<'a> {
    pub(crate) fn new(database: &'a Database, families: &'a [Family]) -> Self {
        BulkLoad { database, families, open: None, finished: vec![Vec::new(); families.len()], files: 0 }
    }

    /// Adds an entry to the family of this index.
    pub(crate) fn push(&mut self, family: usize, key: &[u8], value: &[u8]) -> Result<()> {
        let limit = self.database.shared.options.compaction.file_size_max;
        let goes_on = self.open.as_ref().is_some_and(|open| {
            open.family == family && open.last_key.as_slice() < key && open.writer.file_size() < limit
        });
        if !goes_on {
            self.end_file()?;
            self.begin_file(family)?;
        }
        let open = self.open.as_mut().ok_or_else(|| Error::internal("no file is open to load into"))?;
        open.writer.put(key, value).map_err(|cause| self.database.error("cannot write restored state", cause))?;
        open.last_key.clear();
        open.last_key.extend_from_slice(key);
        Ok(())
    }

    /// Whether there are entries for the family of this index.
    pub(crate) fn has_any(&self, family: usize) -> bool {
        !self.finished[family].is_empty() || self.open.as_ref().is_some_and(|open| open.family == family)
    }

    /// Hands the files to the database.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.end_file()?;
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        for (family, files) in self.families.iter().zip(std::mem::take(&mut self.finished)) {
            if files.is_empty() {
                continue;
            }
            let handle = self.database.column_family(&family.name)?;
            self.database
                .rocks
                .ingest_external_file_cf_opts(&handle, &options, files.clone())
                .map_err(|cause| self.database.error("cannot take over restored state", cause))?;
            for file in files.iter().filter(|file| file.exists()) {
                fs::remove_file(file).map_err(|cause| Error::io("cannot remove a restored file", file, cause))?;
            }
        }
        Ok(())
    }

    fn begin_file(&mut self, family: usize) -> Result<()> {
        let options = &self.families.get(family).ok_or_else(|| Error::internal("there is no such family"))?.options;
        let path = self.database.dir.beside(&format!("load-{}.sst", self.files));
        self.files += 1;
        let mut writer = SstFileWriter::create(options);
        writer.open(&path).map_err(|cause| self.database.error("cannot write restored state", cause))?;
        self.open = Some(OpenFile { family, writer, path, last_key: Vec::new() });
        Ok(())
    }

    fn end_file(&mut self) -> Result<()> {
        if let Some(mut open) = self.open.take() {
            open.writer.finish().map_err(|cause| self.database.error("cannot write restored state", cause))?;
            self.finished[open.family].push(open.path);
        }
        Ok(())
    }
}
