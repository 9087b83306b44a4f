//! How people see a state: names for what its schemas only type.
//!
//! A descriptor's schemas say how bytes are read; that is all a job needs, and all that is compared when it is
//! restored. Someone who looks into a checkpoint wants more: that the second component of the key is `tailnum`, and
//! that the value's third field, divided by its second, is the average that the query calls `mean_delay`. These are
//! *columns*. They change nothing of what is stored, and a state without them can be read as well: its columns then
//! have numbers, and the fields' names.

use crate::schema::{FieldType, RowSchema};
use serde::{Deserialize, Serialize};

/// The columns of a state, part by part of its entries. A part without columns is named by its schema. A column without
/// a name is not shown: another one has the same value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StateColumns {
    /// The components of the key.
    #[serde(skip_serializing_if = "RowSchema::is_empty")]
    pub key: RowSchema,
    /// The components of the namespace: the beginning and the end of a window, in the order of their bytes.
    #[serde(skip_serializing_if = "RowSchema::is_empty")]
    pub namespace: RowSchema,
    /// What follows in an entry's key.
    #[serde(skip_serializing_if = "UserKeyColumns::is_empty")]
    pub user_key: UserKeyColumns,
    /// What is made of the value's fields. Fields that no column mentions are shown too, as hidden ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub value: Vec<ValueColumn>,
    /// The state of the same operator whose entries these are a part of, kept apart for its own reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_of: Option<String>,
}

impl StateColumns {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == StateColumns::default()
    }
}

/// The components of an entry's key behind the key and the namespace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UserKeyColumns {
    /// The components.
    pub components: Vec<UserKeyColumn>,
    /// Whether an entry has only one of the components, behind its number as an `int16`.
    #[serde(skip_serializing_if = "is_false")]
    pub one_of: bool,
}

impl UserKeyColumns {
    /// One component after the other.
    pub fn all(components: Vec<UserKeyColumn>) -> Self {
        UserKeyColumns { components, one_of: false }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.components.is_empty()
    }
}

/// A component of an entry's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserKeyColumn {
    /// The column's name.
    pub name: String,
    /// The component's type.
    #[serde(rename = "type")]
    pub ty: FieldType,
    /// Whether all its bits are flipped, so that greater values come first.
    #[serde(default, skip_serializing_if = "is_false")]
    pub descending: bool,
    /// Whether those of its first byte are (once more), so that NULLs are at the other end.
    #[serde(default, skip_serializing_if = "is_false")]
    pub moved_nulls: bool,
}

impl UserKeyColumn {
    /// A component as the key encoding writes it.
    pub fn new(name: impl Into<String>, ty: FieldType) -> Self {
        UserKeyColumn { name: name.into(), ty, descending: false, moved_nulls: false }
    }
}

/// A column that is made of a value's fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueColumn {
    /// The column's name.
    pub name: String,
    /// The field it shows. Fields that belong together have the name of the first, as those of a sum do.
    pub field: String,
    /// The field that it is divided by, as an average is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub divided_by: Option<String>,
    /// The column's type, where it is not the field's.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub ty: Option<FieldType>,
}

fn is_false(value: &bool) -> bool {
    !value
}
