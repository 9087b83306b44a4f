//! A function whose arguments have their types: what a query is computed with.

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use headpond_state::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What computes a function for a batch of rows.
pub(crate) type Kernel = Arc<dyn Fn(&Arguments<'_>) -> Result<ArrayRef, Error> + Send + Sync>;

/// The arguments of a call for a batch.
#[derive(Debug)]
pub struct Arguments<'a> {
    /// The values: a column, or one value for all rows.
    pub values: &'a [ColumnarValue],
    /// How many rows the batch has.
    pub rows: usize,
}

impl Arguments<'_> {
    /// The argument as a column.
    ///
    /// # Errors
    /// [`Internal`](headpond_state::ErrorKind::Internal) when there is no such argument.
    pub fn column(&self, index: usize) -> Result<ArrayRef, Error> {
        match self.values.get(index) {
            Some(ColumnarValue::Array(array)) => Ok(Arc::clone(array)),
            Some(ColumnarValue::Scalar(scalar)) => scalar.to_array_of_size(self.rows).map_err(internal),
            None => Err(Error::internal("a function lacks an argument")),
        }
    }

    /// The argument's value where it is the same for all rows.
    pub fn scalar(&self, index: usize) -> Option<&ScalarValue> {
        match self.values.get(index) {
            Some(ColumnarValue::Scalar(scalar)) => Some(scalar),
            _ => None,
        }
    }
}

/// An error of DataFusion that only a fault of ours explains.
#[cold]
pub(crate) fn internal(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::internal("a function failed").because(error)
}

/// How a call is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spelling {
    /// `NAME(a, b)`.
    Call,
    /// `a + b`; one argument: `-a`.
    Operator,
    /// `CAST(a AS T)`, with the name in front.
    Cast,
}

/// A function with its arguments' types.
pub struct BoundFunction {
    name: String,
    spelling: Spelling,
    arguments: Vec<DataType>,
    result: DataType,
    /// What else the result depends on, so that two calls are equal only if they compute the same.
    variant: String,
    signature: Signature,
    strict: bool,
    kernel: Kernel,
}

impl BoundFunction {
    /// A function that gives the same for the same arguments.
    pub fn new(name: &str, spelling: Spelling, arguments: Vec<DataType>, result: DataType, kernel: Kernel) -> Self {
        BoundFunction {
            name: name.to_owned(),
            spelling,
            arguments,
            result,
            variant: String::new(),
            signature: Signature::user_defined(Volatility::Immutable),
            strict: false,
            kernel,
        }
    }

    /// Says what else the result depends on: two calls are equal only if this is, too.
    #[must_use]
    pub fn variant(mut self, variant: impl Into<String>) -> Self {
        self.variant = variant.into();
        self
    }

    /// Lets the function give another value each time.
    #[must_use]
    pub fn volatile(mut self) -> Self {
        self.signature = Signature::user_defined(Volatility::Volatile);
        self
    }

    /// Says that the result is NULL where any argument is.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// The type of the result.
    pub fn result(&self) -> &DataType {
        &self.result
    }

    /// The call of the function.
    pub fn call(self, arguments: Vec<Expr>) -> Expr {
        Arc::new(ScalarUDF::new_from_impl(self)).call(arguments)
    }

    fn written(&self, arguments: &[String]) -> String {
        match (self.spelling, arguments) {
            (Spelling::Operator, [left, right]) => format!("{left} {} {right}", self.name),
            (Spelling::Operator, [only]) => format!("{} {only}", self.name),
            (Spelling::Cast, [only]) => only.clone(),
            _ => format!("{}({})", self.name, arguments.join(", ")),
        }
    }
}

impl fmt::Debug for BoundFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({:?}) -> {:?}", self.name, self.arguments, self.result)
    }
}

impl PartialEq for BoundFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.arguments == other.arguments
            && self.result == other.result
            && self.variant == other.variant
    }
}

impl Eq for BoundFunction {}

impl Hash for BoundFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.arguments.hash(state);
        self.result.hash(state);
        self.variant.hash(state);
    }
}

impl ScalarUDFImpl for BoundFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(self.result.clone())
    }

    fn is_strict(&self) -> bool {
        self.strict
    }

    fn display_name(&self, arguments: &[Expr]) -> Result<String> {
        let arguments: Vec<String> = arguments.iter().map(|argument| operand(argument, argument.to_string())).collect();
        Ok(match (self.spelling, &arguments[..]) {
            (Spelling::Cast, [only]) => format!("{}({only} AS {})", self.name, self.variant),
            _ => self.written(&arguments),
        })
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let name = |argument: &Expr| operand(argument, argument.schema_name().to_string());
        Ok(self.written(&arguments.iter().map(name).collect::<Vec<_>>()))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = !arguments.args.is_empty()
            && arguments.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)))
            && self.signature.volatility == Volatility::Immutable;
        let rows = if constant { 1 } else { arguments.number_rows };
        let call = Arguments { values: &arguments.args, rows };
        let result = (self.kernel)(&call).map_err(|error| DataFusionError::External(Box::new(error)))?;
        if constant && result.len() == 1 {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?));
        }
        Ok(ColumnarValue::Array(result))
    }
}

/// An argument of an operator: in parentheses if it is one itself.
fn operand(argument: &Expr, text: String) -> String {
    let is_operator = matches!(argument, Expr::ScalarFunction(call)
        if call.func.inner().downcast_ref::<BoundFunction>().is_some_and(|of| of.spelling == Spelling::Operator));
    if is_operator { format!("({text})") } else { text }
}
