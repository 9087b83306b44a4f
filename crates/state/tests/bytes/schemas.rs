//! The text forms of types.

use crate::data::{field_type, row_schema};
use headpond_state::ErrorKind;
use headpond_state::encoding::KeySchema;
use headpond_state::schema::{FieldType, RowSchema};
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_schema_reads_back_from_its_text(row in row_schema(), key in proptest::collection::vec(field_type(), 0..4)) {
        prop_assert_eq!(row.to_string().parse::<RowSchema>()?, row.clone());
        let key = KeySchema::new(key);
        prop_assert_eq!(key.to_string().parse::<KeySchema>()?, key);
        let json = serde_json::to_string(&row)?;
        prop_assert_eq!(serde_json::from_str::<RowSchema>(&json)?, row);
    }

    #[test]
    fn any_text_is_a_schema_or_invalid(text in "[a-z0-9<>(),`? ]{0,24}") {
        if let Err(error) = text.parse::<RowSchema>() {
            prop_assert_eq!(error.kind(), ErrorKind::Invalid);
        }
        let _ = text.parse::<KeySchema>();
    }
}

#[test]
fn the_text_form_is_readable() {
    let text = "carrier utf8?, total decimal(38,2), `odd ``name` list<struct<a int64,b timestamp_ltz?>?>";
    assert_eq!(text.parse::<RowSchema>().expect("a schema").to_string(), text);
    assert_eq!("int64, utf8?".parse::<KeySchema>().expect("a schema").to_string(), "int64,utf8?");
}

#[test]
fn a_wrong_schema_is_refused_with_its_place() {
    let error = "int64,uft8".parse::<KeySchema>().expect_err("not a type");
    assert_eq!(error.to_string(), "`uft8` is not a type, at character 11 of the schema (text `int64,uft8`)");
    for wrong in ["decimal(39,0)", "decimal(5,6)", "list<int64", "struct<>", "int64 int64", "list<>", "int64??"] {
        assert!(wrong.parse::<FieldType>().is_err(), "{wrong}");
    }
}

#[test]
fn types_nested_too_deep_are_refused() {
    let deep = format!("{}int8{}", "list<".repeat(10_000), ">".repeat(10_000));
    assert_eq!(deep.parse::<FieldType>().expect_err("too deep").kind(), ErrorKind::Invalid);
}
