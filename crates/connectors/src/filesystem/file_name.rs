//! The names of a sink's files.

use headpond_state::CheckpointId;

/// What the name of a prepared or published file says: `part-<worker>-<checkpoint>.<format>`, or
/// `part-<worker>-<checkpoint>-<sequence>.<format>` for all but the first of a worker and checkpoint.
///
/// Names are in the order of checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileName {
    pub(super) checkpoint: CheckpointId,
    pub(super) subtask: usize,
    pub(super) sequence: u32,
}

impl FileName {
    /// The name as text, between what all names of a directory begin and end with.
    pub(super) fn text(self, kind: &str, ending: &str) -> String {
        let FileName { checkpoint, subtask, sequence } = self;
        match sequence {
            0 => format!("{kind}-{subtask}-{checkpoint}.{ending}"),
            _ => format!("{kind}-{subtask}-{checkpoint}-{sequence}.{ending}"),
        }
    }

    /// What a text says, if it is such a name.
    pub(super) fn parse(text: &str, kind: &str, ending: &str) -> Option<Self> {
        let numbers = text.strip_prefix(kind)?.strip_prefix('-')?.strip_suffix(ending)?.strip_suffix('.')?;
        let mut numbers = numbers.split('-');
        let (subtask, checkpoint) = (numbers.next()?.parse().ok()?, CheckpointId(numbers.next()?.parse().ok()?));
        let sequence = numbers.next().map_or(Some(0), |number| number.parse().ok())?;
        let name = FileName { checkpoint, subtask, sequence };
        // A name that only looks like one of ours ("part-+1-07") is not.
        (name.text(kind, ending) == text).then_some(name)
    }
}
