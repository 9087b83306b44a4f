//! Published files that were put together from those of several workers or checkpoints.
//!
//! ```text
//! <path>/.staging/part-1-9.json.compacting    being put together, or cut
//! <path>/.staging/part-1-9.json.members       what the published file was put together from, and where each ends
//! <path>/part-1-9.json                        published, under the name of the last member
//! ```
//!
//! The list of members is durable before the file is published, and the members are removed after it: a commit that is
//! repeated finds in the list what was published. Falling back to a checkpoint in between cuts the file behind the last
//! member that the checkpoint has.

use super::directory::{Directory, failed, name_of, staged_name};
use super::file_name::FileName;
use super::staged_file::PreparedFile;
use headpond_files::{EntryKind, RelativeName};
use headpond_runtime::{Error, Result};
use headpond_state::{CheckpointId, Context, Remedy};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{self, Read, Seek, SeekFrom};

const COMPACTING: &str = ".compacting";
const MEMBERS: &str = ".members";

/// What a published file was put together from, in order.
#[derive(Debug, Serialize, Deserialize)]
struct Members {
    version: u32,
    members: Vec<Member>,
}

/// A part of a published file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Member {
    /// Where it was staged: `<attempt>/<name>`.
    staged: String,
    /// Where it ends in the published file, in bytes.
    end: u64,
}

impl Directory {
    /// Puts prepared files together, in their order, and publishes them as one, under the name of the last.
    pub(super) fn compact(&self, files: &[&PreparedFile]) -> Result<()> {
        let Some(last) = files.last() else { return Ok(()) };
        let (_, name) = self.locate(&last.staged, None)?;
        let draft = self.compacting(name)?;
        let path = self.root().locate(&draft);
        let mut members = Vec::new();
        let mut write = || -> io::Result<()> {
            let mut out = self.root().create_new(&draft)?;
            let mut end = 0;
            for (index, file) in files.iter().enumerate() {
                let place = self.parse_staged(&file.staged).ok_or(io::ErrorKind::InvalidInput)?.0;
                let mut from = self.root().open(&place)?.file;
                if index > 0 {
                    from.seek(SeekFrom::Start(file.header))?;
                }
                end += io::copy(&mut from, &mut out)?;
                members.push(Member { staged: file.staged.clone(), end });
            }
            out.sync_all()
        };
        write().map_err(|cause| failed("cannot put files together", &path, cause))?;
        self.publish_compacted(name, members)?;
        files.iter().try_for_each(|file| self.unstage(file))
    }

    /// Publishes a file that has been put together.
    fn publish_compacted(&self, name: FileName, members: Vec<Member>) -> Result<()> {
        let text = serde_json::to_vec(&Members { version: 1, members })
            .map_err(|cause| Error::internal("the members of a file are not JSON").because(cause))?;
        self.replace(&self.members_file(name)?, &text)?;
        self.sync_staging()?;
        let to = name_of(&self.name(name))?;
        self.root()
            .rename(&self.compacting(name)?, &to)
            .map_err(|cause| failed("cannot publish the file", &self.root().locate(&to), cause))?;
        self.sync(None)
    }

    /// Forgets a file whose putting together, or cutting, did not come to an end: what it was made from is there.
    pub(super) fn abort_compaction(&self) -> Result<()> {
        for name in self.names_with(COMPACTING)? {
            // The list first: with the draft gone it would say that the file was published.
            self.remove_named(&self.members_file(name)?)?;
            self.sync_staging()?;
            self.remove_named(&self.compacting(name)?)?;
        }
        Ok(())
    }

    /// Where the files were staged that published files from `from` on were put together from.
    pub(super) fn compacted_since(&self, from: FileName) -> Result<BTreeSet<String>> {
        let mut staged = BTreeSet::new();
        for name in self.names_with(MEMBERS)?.into_iter().filter(|name| *name >= from) {
            staged.extend(self.members(name)?.unwrap_or_default().into_iter().map(|member| member.staged));
        }
        Ok(staged)
    }

    /// Whether what was staged is where readers look, by itself or as a part of another file.
    pub(super) fn is_published(&self, staged: &RelativeName, name: FileName) -> Result<bool> {
        if self.kind(&name_of(&self.name(name))?)?.is_some() {
            return Ok(true);
        }
        let place = staged.as_str().split_once('/').map_or("", |(_, place)| place);
        Ok(self.compacted_since(name)?.contains(place))
    }

    /// Takes the rows behind a checkpoint out of a published file of later checkpoints.
    pub(super) fn cut_behind(&self, checkpoint: Option<CheckpointId>, name: FileName) -> Result<()> {
        let mut members = self.members(name)?.unwrap_or_default();
        let all = members.last().map(|member| member.end);
        let is_kept = |member: &Member| {
            let of = self.parse_staged(&member.staged).map(|(_, name)| name.checkpoint);
            of.is_some() && of <= checkpoint
        };
        members.truncate(members.iter().take_while(|member| is_kept(member)).count());
        if let Some(last) = members.last().cloned() {
            self.copy_beginning(name, &last, all)?;
            self.publish_compacted(self.locate(&last.staged, None)?.1, members)?;
        }
        self.remove(name)?;
        self.remove_named(&self.members_file(name)?)
    }

    /// Drafts what is left of a published file: its beginning, up to a member's end.
    fn copy_beginning(&self, name: FileName, last: &Member, length: Option<u64>) -> Result<()> {
        let from = name_of(&self.name(name))?;
        let path = self.root().locate(&from);
        let cannot = |cause| failed("cannot cut the file", &path, cause);
        let found = self.root().open(&from).map_err(cannot)?;
        if Some(found.length) != length {
            return Err(Error::corrupt("a published file was altered, and rows in it are to be taken back")
                .with(Context::Path, path.display())
                .hint("bring it back as it was; or remove it, with all rows in it")
                .remedy(Remedy::StartAnew));
        }
        let (_, kept) = self.locate(&last.staged, None)?;
        let copy = || {
            let mut draft = self.root().create_new(&self.compacting(kept)?).map_err(cannot)?;
            io::copy(&mut found.file.take(last.end), &mut draft).and_then(|_| draft.sync_all()).map_err(cannot)
        };
        copy()
    }

    /// Removes lists of files that are not there any more.
    pub(super) fn forget_members_of_absent(&self) -> Result<()> {
        for name in self.names_with(MEMBERS)? {
            if self.kind(&name_of(&self.name(name))?)?.is_none() {
                self.remove_named(&self.members_file(name)?)?;
            }
        }
        Ok(())
    }

    /// What a published file was put together from, if it was.
    fn members(&self, name: FileName) -> Result<Option<Vec<Member>>> {
        let file = self.members_file(name)?;
        let Some(text) = self.read(&file)? else { return Ok(None) };
        serde_json::from_slice(&text).map(|Members { members, .. }| Some(members)).map_err(|cause| {
            Error::corrupt("the file does not say what its published file was put together from")
                .with(Context::Path, self.root().locate(&file).display())
                .hint("bring it back from a copy")
                .remedy(Remedy::StartAnew)
                .because(cause)
        })
    }

    /// The files that have one of this ending in the staging directory.
    fn names_with(&self, ending: &str) -> Result<Vec<FileName>> {
        let found = self.staged_entries()?.into_iter().filter(|(_, kind)| *kind != EntryKind::Directory);
        Ok(found.filter_map(|(name, _)| self.parse(name.as_str().strip_suffix(ending)?)).collect())
    }

    fn members_file(&self, name: FileName) -> Result<RelativeName> {
        staged_name(&format!("{}{MEMBERS}", self.name(name)))
    }

    fn compacting(&self, name: FileName) -> Result<RelativeName> {
        staged_name(&format!("{}{COMPACTING}", self.name(name)))
    }
}
