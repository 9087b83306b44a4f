//! The connector `filesystem`: tables as files.
//!
//! **Reading** ([`source`]): [`files`] says which files a path means; each is a split. [`input`] decompresses one and
//! slides a window over it, out of which a [`RowReader`](reader::RowReader) of the format takes row after row. A
//! position is the place in the decompressed file behind a row.
//!
//! **Writing**: a writer writes into a hidden *staging* directory. When a checkpoint is cut its file is made durable
//! there, and its name is the committable; the commit moves it to where readers look ([`directory`]). Rows of a table
//! without primary key are [appended](append), in files that may be [put together](compaction); those of a table with
//! one are [kept current](current).

mod append;
mod committed;
mod compacted_file;
mod compaction;
mod current;
mod current_lines;
mod directory;
mod file_name;
pub(crate) mod files;
pub(crate) mod input;
mod line_migration;
mod output_claim;
mod output_lock;
mod output_owner;
mod prepared_file;
pub(crate) mod reader;
mod rolling;
mod row_writer;
mod sink;
mod source;
mod staged_file;

pub(crate) use current::no_state;
pub(crate) use current_lines::CurrentLines;
pub(crate) use line_migration::LineForm;
pub(crate) use sink::sink;
pub(crate) use source::source;
