//! What will be written to a table.

/// What will be written to a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkInput {
    /// Which `INSERT` of the job it is: a name that stays when the job is restarted.
    pub insert: String,
    /// Whether rows may be updated or taken back; else all are new.
    pub changelog: bool,
    /// Whether a row replaces the one of its key, and a row taken back is the current one: so it is when all changes of
    /// a key come from one operator, in order. Else rows of a key come and go in any order, each taken back as it came.
    pub upsert: bool,
    /// Whether the input ends.
    pub bounded: bool,
}
