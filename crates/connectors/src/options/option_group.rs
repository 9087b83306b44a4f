//! Options that belong together.

use crate::table::TableDescription;
use headpond_config::Definition;

/// What stands in the key of an option about a column, for the column's name.
pub(super) const FIELD: &str = "<field>";

/// Options that belong together: those of a connector or a format.
#[derive(Debug, Clone, Copy)]
pub struct OptionGroup {
    /// The connector's or format's name.
    pub name: &'static str,
    /// What it is, in a sentence or two.
    pub doc: &'static str,
    /// Its options. A `<field>` in a key stands for the name of a column.
    pub options: &'static [&'static Definition],
}

impl OptionGroup {
    /// The option that a key of a table is, if the group has it.
    pub(super) fn find(&self, key: &str, table: &TableDescription) -> Option<&'static Definition> {
        self.options.iter().copied().find(|option| is_key_of(key, option, table))
    }

    /// The keys that the options can have in a table.
    pub(super) fn keys(&self, table: &TableDescription) -> Vec<String> {
        let keys = self.options.iter().flat_map(|option| match option.key().contains(FIELD) {
            true => table.schema.fields().iter().map(|field| key_of(option, field.name())).collect(),
            false => vec![option.key().to_owned()],
        });
        keys.collect()
    }
}

/// The key of an option about a column.
pub(crate) fn key_of(option: &Definition, field: &str) -> String {
    option.key().replace(FIELD, field)
}

/// Whether `key` is this option, for one of the table's columns where it is about a column.
fn is_key_of(key: &str, option: &Definition, table: &TableDescription) -> bool {
    let Some((before, after)) = option.key().split_once(FIELD) else { return option.key() == key };
    let field = key.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    field.is_some_and(|field| table.schema.field_with_name(field).is_ok())
}
