//! What a function is, and a call of one whose arguments' types are known.

use crate::bound::{BoundFunction, Kernel, Spelling};
use crate::common_type::{is_integer, is_number, is_text, is_timestamp};
use crate::settings::Settings;
use crate::type_name::type_name;
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use headpond_state::Error;
use std::sync::Arc;

/// A chapter of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// Of numbers.
    Arithmetic,
    /// Of texts.
    Text,
    /// Of regular expressions and patterns.
    Pattern,
    /// Of dates and times.
    Time,
    /// That choose among values.
    Conditional,
    /// That turn values into others' types.
    Conversion,
    /// Of arrays, maps and rows.
    Collection,
    /// Of JSON.
    Json,
    /// Of hashes.
    Hash,
}

/// A function, as the reference has it.
#[derive(Debug)]
pub struct Function {
    /// Its name, and others for the same.
    pub names: &'static [&'static str],
    /// Where it stands in the reference.
    pub category: Category,
    /// How it is called.
    pub syntax: &'static str,
    /// What it gives.
    pub doc: &'static str,
    /// Calls with the values they give, as text.
    pub examples: &'static [(&'static str, &'static str)],
    /// Finds types and kernel of a call.
    pub bind: fn(&Bind<'_>) -> Result<Bound, Error>,
}

/// A call whose arguments' types are known.
#[derive(Debug)]
pub struct Bind<'a> {
    /// What is called, as it is written.
    pub name: &'a str,
    /// How it is called, for those who called it otherwise.
    pub syntax: Option<&'static str>,
    /// The arguments' types.
    pub types: &'a [DataType],
    /// The arguments that are literals.
    pub literals: &'a [Option<ScalarValue>],
    /// What the session decides.
    pub settings: &'a Arc<Settings>,
}

/// A call as it is computed.
#[derive(Debug)]
pub struct Bound {
    /// The function.
    pub function: BoundFunction,
    /// The types that its arguments must be cast to.
    pub arguments: Vec<DataType>,
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// A text.
    Text,
    /// A whole number; kernels read a `BIGINT`.
    Whole,
    /// A number; kernels read a `DOUBLE`.
    Double,
    /// A number of any type.
    Number,
    /// A truth value.
    Boolean,
    /// Bytes.
    Bytes,
    /// A `TIMESTAMP` or a `TIMESTAMP_LTZ`.
    Timestamp,
    /// Anything.
    Any,
}

impl Parameter {
    /// The type that an argument of type `given` is cast to; `None` if it is not taken.
    fn taken(self, given: &DataType) -> Option<DataType> {
        let null = given.is_null();
        Some(match self {
            Parameter::Text if null || is_text(given) => DataType::Utf8,
            Parameter::Whole if null || is_integer(given) => DataType::Int64,
            Parameter::Double if null || is_number(given) => DataType::Float64,
            Parameter::Number if null => DataType::Int32,
            Parameter::Number if is_number(given) => given.clone(),
            Parameter::Boolean if null || *given == DataType::Boolean => DataType::Boolean,
            Parameter::Bytes if null || matches!(given, DataType::Binary) => DataType::Binary,
            Parameter::Timestamp if null => crate::settings::TIMESTAMP,
            Parameter::Timestamp if is_timestamp(given) => given.clone(),
            Parameter::Any => given.clone(),
            _ => return None,
        })
    }
}

impl Bind<'_> {
    /// The types of the arguments for these parameters, of which the last `optional` may be missing.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when the call has more or other arguments.
    pub fn take(&self, parameters: &[Parameter], optional: usize) -> Result<Vec<DataType>, Error> {
        let count = self.types.len();
        if count > parameters.len() || count + optional < parameters.len() {
            return Err(self.wrong());
        }
        let taken = parameters.iter().zip(self.types).map(|(parameter, given)| parameter.taken(given));
        taken.collect::<Option<_>>().ok_or_else(|| self.wrong())
    }

    /// The types of the arguments for one parameter that stands any number of times behind others.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn take_many(&self, first: &[Parameter], rest: Parameter) -> Result<Vec<DataType>, Error> {
        if self.types.len() < first.len() {
            return Err(self.wrong());
        }
        let parameters = first.iter().copied().chain(std::iter::repeat(rest));
        parameters
            .zip(self.types)
            .map(|(parameter, given)| parameter.taken(given))
            .collect::<Option<_>>()
            .ok_or_else(|| self.wrong())
    }

    /// The error for arguments that the function does not take.
    #[cold]
    pub fn wrong(&self) -> Error {
        let types: Vec<String> = self.types.iter().map(type_name).collect();
        let name = self.name.to_uppercase();
        let error = match (&types[..], name.chars().all(|c| c.is_alphanumeric() || c == '_')) {
            ([left, right], false) => Error::unsupported(format!("`{left} {name} {right}` is not supported")),
            ([only], false) => Error::unsupported(format!("`{name} {only}` is not supported")),
            _ => Error::unsupported(format!("{name}({}) is not supported", types.join(", "))),
        };
        match self.syntax {
            Some(syntax) => error.hint(format!("it is called as {syntax}")),
            None => error.hint("cast one side: CAST(… AS …)"),
        }
    }

    /// The argument's value, if it is a literal that is not NULL.
    pub fn literal(&self, index: usize) -> Option<&ScalarValue> {
        self.literals.get(index).and_then(Option::as_ref).filter(|literal| !literal.is_null())
    }

    /// The argument's text, if it is a literal.
    pub fn literal_text(&self, index: usize) -> Option<&str> {
        match self.literal(index) {
            Some(ScalarValue::Utf8(Some(text))) => Some(text),
            _ => None,
        }
    }

    /// The argument's whole number, if it is a literal.
    pub fn literal_whole(&self, index: usize) -> Option<i64> {
        Some(match self.literal(index)? {
            ScalarValue::Int8(Some(value)) => i64::from(*value),
            ScalarValue::Int16(Some(value)) => i64::from(*value),
            ScalarValue::Int32(Some(value)) => i64::from(*value),
            ScalarValue::Int64(Some(value)) => *value,
            _ => return None,
        })
    }

    /// The call as a function of these arguments.
    pub fn bound(&self, arguments: Vec<DataType>, result: DataType, kernel: Kernel) -> Bound {
        let name = self.name.to_lowercase();
        let function = BoundFunction::new(&name, Spelling::Call, arguments.clone(), result, kernel);
        Bound { function: function.variant(&*self.settings.zone_name), arguments }
    }
}
