//! The `.proto` text of a row's message.

use super::names::identifiers;
use headpond_state::schema::{DataKind, Field, FieldType, RowSchema};
use std::fmt::Write;

/// The text of a `.proto` file whose message `name` is what the format `protobuf` writes after its version byte.
/// Names of fields are adapted where Protobuf allows only letters, digits and `_`.
///
/// ```
/// # use headpond_state::schema::RowSchema;
/// let schema: RowSchema = "flights int64, delay float64?".parse()?;
/// assert_eq!(
///     headpond_rows::proto_schema(&schema, "Total"),
///     "syntax = \"proto3\";\n\nmessage Total {\n  optional sint64 flights = 1;\n  optional double delay = 2;\n}\n"
/// );
/// # Ok::<(), headpond_state::Error>(())
/// ```
pub fn proto_schema(schema: &RowSchema, name: &str) -> String {
    let mut text = String::from("syntax = \"proto3\";\n\n");
    message(name, schema.fields(), 0, &mut text);
    text
}

fn message(name: &str, fields: &[Field], depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    line(text, format_args!("{indent}message {name} {{"));
    let names = identifiers(fields.iter().map(|field| field.name.as_str()));
    let type_names: Vec<String> = names.iter().map(|name| type_name(name)).collect();
    let type_names = identifiers(type_names.iter().map(String::as_str));
    for (field, type_name) in fields.iter().zip(&type_names) {
        nested(type_name, &field.ty, depth + 1, text);
    }
    for (index, ((field, name), type_name)) in fields.iter().zip(&names).zip(&type_names).enumerate() {
        let ty = scalar(&field.ty.kind).unwrap_or(type_name);
        line(text, format_args!("{indent}  optional {ty} {name} = {};{}", index + 1, note(&field.ty.kind)));
    }
    line(text, format_args!("{indent}}}"));
}

/// Writes the messages that a field of this type needs.
fn nested(name: &str, ty: &FieldType, depth: usize, text: &mut String) {
    match &ty.kind {
        DataKind::Struct(fields) => message(name, fields, depth, text),
        DataKind::List(element) => {
            let indent = "  ".repeat(depth);
            line(text, format_args!("{indent}message {name} {{"));
            line(text, format_args!("{indent}  message Element {{"));
            nested("Value", element, depth + 2, text);
            let value = scalar(&element.kind).unwrap_or("Value");
            line(text, format_args!("{indent}    optional {value} value = 1;{}", note(&element.kind)));
            line(text, format_args!("{indent}  }}"));
            line(text, format_args!("{indent}  repeated Element element = 1;"));
            line(text, format_args!("{indent}}}"));
        }
        _ => {}
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a string takes any text");
}

fn type_name(field: &str) -> String {
    let mut name: String = field
        .split('_')
        .flat_map(|word| {
            let mut chars = word.chars();
            chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars)
        })
        .collect();
    name.push_str("Value");
    name
}

fn scalar(kind: &DataKind) -> Option<&'static str> {
    Some(match kind {
        DataKind::Bool => "bool",
        DataKind::Int8 | DataKind::Int16 | DataKind::Int32 | DataKind::Date => "sint32",
        DataKind::Int64 | DataKind::Timestamp | DataKind::TimestampLtz => "sint64",
        DataKind::UInt64 => "uint64",
        DataKind::Float32 => "float",
        DataKind::Float64 => "double",
        DataKind::Decimal { .. } | DataKind::Binary => "bytes",
        DataKind::Utf8 => "string",
        DataKind::List(_) | DataKind::Struct(_) => return None,
    })
}

fn note(kind: &DataKind) -> String {
    match kind {
        DataKind::Int8 | DataKind::Int16 => format!("  // {kind}"),
        DataKind::Date => "  // days since 1970-01-01".to_owned(),
        DataKind::Timestamp | DataKind::TimestampLtz => "  // milliseconds since 1970-01-01".to_owned(),
        DataKind::Decimal { scale, .. } => {
            format!("  // big-endian two's complement, {scale} digits behind the point")
        }
        _ => String::new(),
    }
}
