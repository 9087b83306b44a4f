//! What a declaration says of an option.

use crate::table::TableDescription;

/// An option of a table.
#[derive(Debug, Clone, Copy)]
pub struct TableOption {
    /// The key. A `<field>` in it stands for the name of a column.
    pub key: &'static str,
    /// How its text is read.
    pub value_type: ValueType,
    /// The default as a user would write it; `None`: what the text in `doc` says.
    pub default: Option<&'static str>,
    /// What it means.
    pub doc: &'static str,
}

/// How the text of an option is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// `true` or `false`.
    Bool,
    /// A whole number from this one on.
    Int(i64),
    /// A number from zero on.
    Float,
    /// A duration: `10 s`.
    Duration,
    /// One character; `\t` is a tab.
    Char,
    /// One of these words, whatever their case.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
}

/// Options that belong together: those of a connector or a format.
#[derive(Debug, Clone, Copy)]
pub struct OptionGroup {
    /// The connector's or format's name.
    pub name: &'static str,
    /// What it is, in a sentence or two.
    pub doc: &'static str,
    /// Its options.
    pub options: &'static [TableOption],
}

impl TableOption {
    /// Whether `key` is this option, for one of the table's columns where it is about a column.
    pub(super) fn matches(&self, key: &str, table: &TableDescription) -> bool {
        let Some((before, after)) = self.key.split_once("<field>") else { return self.key == key };
        let field = key.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        field.is_some_and(|field| table.schema.field_with_name(field).is_ok())
    }

    /// The keys this option can have in the table.
    pub(super) fn keys(&self, table: &TableDescription) -> Vec<String> {
        if !self.key.contains("<field>") {
            return vec![self.key.to_owned()];
        }
        table.schema.fields().iter().map(|field| self.key.replace("<field>", field.name())).collect()
    }
}
