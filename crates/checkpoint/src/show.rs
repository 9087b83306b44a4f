//! A checkpoint for people: what it holds, how large it is, and what of it is new.

use crate::manifest::{Manifest, OperatorState};
use headpond_state::printable::OneLine;
use headpond_state::{ContentHash, KeyedStateHandle, StateDescriptor, StateSize};
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// Prints a manifest; see [`Display`](fmt::Display).
#[derive(Debug)]
pub struct Show<'a> {
    manifest: &'a Manifest,
    uploaded: HashSet<ContentHash>,
}

/// The size of something's files, and how much of it this checkpoint stored itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// The number of files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The files this checkpoint stored itself.
    pub uploaded_files: u64,
    /// Their bytes.
    pub uploaded_bytes: u64,
    /// Entries, as the backends estimate them.
    pub entries: u64,
}

impl<'a> Show<'a> {
    /// Prints `manifest`.
    pub fn new(manifest: &'a Manifest) -> Self {
        Show { manifest, uploaded: manifest.uploaded.iter().copied().collect() }
    }

    /// The size of an operator's state.
    pub fn size(&self, operator: &OperatorState) -> Size {
        let mut size = Size::default();
        for state in operator.subtasks.iter().filter_map(|subtask| subtask.state.as_ref()) {
            size.entries += state.entries;
            for file in state.all_files() {
                let uploaded = self.uploaded.contains(&file.hash);
                size.files += 1;
                size.bytes += file.length;
                size.uploaded_files += u64::from(uploaded);
                size.uploaded_bytes += if uploaded { file.length } else { 0 };
            }
        }
        size
    }

    fn operator(&self, f: &mut fmt::Formatter<'_>, operator: &OperatorState) -> fmt::Result {
        let size = self.size(operator);
        writeln!(f, "operator {} ({})", OneLine(operator.operator.as_str()), OneLine(&operator.kind))?;
        if !operator.description.is_empty() {
            writeln!(f, "  {}", OneLine(&operator.description))?;
        }
        let Size { files, bytes, uploaded_files, uploaded_bytes, entries } = size;
        let mut handles = operator.subtasks.iter().filter_map(|subtask| subtask.state.as_ref());
        let about = if handles.any(KeyedStateHandle::estimates_entries) { "~ " } else { "" };
        writeln!(
            f,
            "  {about}{entries} entries, {bytes} bytes in {files} files; uploaded {uploaded_bytes} in {uploaded_files}"
        )?;
        for (name, (descriptor, size)) in states_of(operator) {
            let (kind, codec) = (descriptor.kind, &descriptor.codec);
            let (name, by) = (OneLine(name), OneLine(&codec.name));
            write!(f, "  state {name}: {kind:?}, {by} version {}", codec.version)?;
            match size {
                Some(StateSize { entries, bytes }) => writeln!(f, ", {about}{entries} entries, {bytes} bytes")?,
                None => writeln!(f)?,
            }
        }
        for subtask in &operator.subtasks {
            let format = OneLine(subtask.state.as_ref().map_or("no state", |state| state.format.as_str()));
            let bytes = subtask.state.as_ref().map_or(0, KeyedStateHandle::byte_len);
            writeln!(f, "  subtask {}: key groups {}, {bytes} bytes, {format}", subtask.subtask, subtask.key_groups)?;
        }
        Ok(())
    }
}

/// The states of an operator by name, with what they take on all workers if each of them has noted it.
fn states_of(operator: &OperatorState) -> BTreeMap<&str, (&StateDescriptor, Option<StateSize>)> {
    let mut states: BTreeMap<&str, (&StateDescriptor, Option<StateSize>)> = BTreeMap::new();
    for handle in operator.subtasks.iter().filter_map(|subtask| subtask.state.as_ref()) {
        let sizes = handle.state_sizes();
        for (index, descriptor) in handle.states.iter().enumerate() {
            let (_, sum) = states.entry(&descriptor.name).or_insert((descriptor, Some(StateSize::default())));
            *sum = sum.zip(sizes.as_ref()).map(|(sum, sizes)| StateSize {
                entries: sum.entries + sizes[index].entries,
                bytes: sum.bytes + sizes[index].bytes,
            });
        }
    }
    states
}

impl fmt::Display for Show<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let m = self.manifest;
        let kind = match (m.incremental, m.base) {
            (false, _) => "full".to_owned(),
            (true, Some(base)) => format!("incremental, on checkpoint {base}"),
            (true, None) => "incremental, without a base: all files are its own".to_owned(),
        };
        match &m.savepoint {
            None => writeln!(f, "job {}, checkpoint {} ({kind})", OneLine(&m.job), m.checkpoint)?,
            Some(origin) => {
                let (name, job) = (OneLine(&m.job), OneLine(&origin.job));
                writeln!(f, "savepoint {name} of job {job}, checkpoint {}", m.checkpoint)?;
            }
        }
        let (attempt, version) = (OneLine(&m.attempt.0), OneLine(&m.headpond_version));
        writeln!(f, "attempt {attempt}, Headpond {version}, format version {}", m.format_version)?;
        let groups = m.max_parallelism.get();
        writeln!(f, "parallelism {} of {groups} key groups ({})", m.parallelism, OneLine(&m.key_group_hash))?;
        if m.finished {
            writeln!(f, "finished: all input has been read")?;
        }
        let s = &m.stats;
        writeln!(f, "uploaded {} bytes in {} files", s.uploaded_bytes, s.uploaded_files)?;
        writeln!(f, "reused {} bytes in {} files", s.reused_bytes, s.reused_files)?;
        writeln!(f, "took {} ms synchronously, {} ms in all, {} requests", s.sync_ms, s.async_ms, s.requests)?;
        for source in &m.sources {
            let rows = source.splits.iter().fold(0_u64, |rows, split| rows.saturating_add(split.rows));
            let finished = source.splits.iter().filter(|split| split.finished).count();
            let splits = source.splits.len();
            let operator = OneLine(source.operator.as_str());
            writeln!(f, "source {operator}: {rows} rows of {splits} splits, {finished} of them finished")?;
        }
        m.operators.iter().try_for_each(|operator| self.operator(f, operator))?;
        for sink in &m.sinks {
            writeln!(f, "sink {}: {} committables", OneLine(sink.operator.as_str()), sink.committables.len())?;
        }
        Ok(())
    }
}
