//! SQL/JSON functions that answer as Apache Flink does.

pub mod decimal;
mod document;
pub mod evaluate;
pub mod filter;
pub mod functions;
pub mod lexer;
mod matching;
pub mod path;
mod path_parser;
pub mod query;
pub mod returning;
pub mod text;
pub mod value;
pub mod walk;

pub use functions::{Behavior, JsonKind, OnErrorExists, Scalar, is_json, json_exists, json_value, normalize_json};
pub use path::{Mode, Path};
pub use query::{OnQuery, Wrapper, json_query, json_query_array};
pub use returning::{returning_boolean, returning_double, returning_integer, returning_text};
pub use text::{
    json_quote, json_unquote, write_decimal, write_double, write_float, write_integer, write_object, write_string,
};
pub use value::{Number, Value};
