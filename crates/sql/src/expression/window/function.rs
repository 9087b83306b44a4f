//! The functions that tell a part of a row's window.

use super::call::{WindowCall, WindowShape};
use super::{WindowPart, window_start};
use arrow_array::PrimitiveArray;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use headpond_state::Error;
use std::sync::Arc;

/// The kinds of windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WindowKind {
    /// Windows side by side.
    Tumble,
    /// Windows that overlap.
    Hop,
    /// Windows that end where a key has no rows for a while.
    Session,
}

impl WindowKind {
    /// All of them.
    pub(crate) const ALL: [WindowKind; 3] = [WindowKind::Tumble, WindowKind::Hop, WindowKind::Session];

    /// The table function's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            WindowKind::Tumble => "TUMBLE",
            WindowKind::Hop => "HOP",
            WindowKind::Session => "SESSION",
        }
    }

    /// The kind whose table function has this name, in any case.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// What the functions take, in words.
    pub(crate) fn arguments(self) -> &'static str {
        match self {
            WindowKind::Tumble => "a time, a size and, perhaps, an offset",
            WindowKind::Hop => "a time, a slide, a size and, perhaps, an offset",
            WindowKind::Session => "a time and a gap",
        }
    }

    /// The name of the function that tells a part of these windows.
    pub(crate) fn function(self, part: WindowPart) -> &'static str {
        match (self, part) {
            (WindowKind::Tumble, WindowPart::Start) => "tumble_start",
            (WindowKind::Tumble, WindowPart::End) => "tumble_end",
            (WindowKind::Tumble, WindowPart::Time) => "tumble_rowtime",
            (WindowKind::Hop, WindowPart::Start) => "hop_start",
            (WindowKind::Hop, WindowPart::End) => "hop_end",
            (WindowKind::Hop, WindowPart::Time) => "hop_rowtime",
            (WindowKind::Session, WindowPart::Start) => "session_start",
            (WindowKind::Session, WindowPart::End) => "session_end",
            (WindowKind::Session, WindowPart::Time) => "session_rowtime",
        }
    }

    /// The kind and the part that a function of this name, in any case, tells.
    pub(crate) fn of_function(name: &str) -> Option<(Self, WindowPart)> {
        let parts = |kind: Self| WindowPart::ALL.into_iter().map(move |part| (kind, part));
        let mut all = Self::ALL.into_iter().flat_map(parts);
        all.find(|(kind, part)| kind.function(*part).eq_ignore_ascii_case(name))
    }
}

/// All functions that tell parts of windows.
pub(crate) fn window_functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    let functions = |kind| WindowPart::ALL.into_iter().map(move |part| window_udf(kind, part));
    WindowKind::ALL.into_iter().flat_map(functions)
}

/// The function that tells a part of a row's window.
pub(crate) fn window_udf(kind: WindowKind, part: WindowPart) -> Arc<ScalarUDF> {
    let signature = match kind {
        WindowKind::Tumble => TypeSignature::OneOf(vec![TypeSignature::Any(2), TypeSignature::Any(3)]),
        WindowKind::Hop => TypeSignature::OneOf(vec![TypeSignature::Any(3), TypeSignature::Any(4)]),
        WindowKind::Session => TypeSignature::VariadicAny,
    };
    let signature = Signature::new(signature, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(WindowFunction { kind, part, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct WindowFunction {
    kind: WindowKind,
    part: WindowPart,
    signature: Signature,
}

impl ScalarUDFImpl for WindowFunction {
    fn name(&self) -> &str {
        self.kind.function(self.part)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments.first() {
            Some(time @ DataType::Timestamp(TimeUnit::Millisecond, _)) => Ok(time.clone()),
            _ => Err(DataFusionError::Plan(format!(
                "{} takes a TIMESTAMP(3) or TIMESTAMP_LTZ(3) and an interval",
                self.name().to_uppercase()
            ))),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let literals = arguments.args.iter().skip(1).map(|argument| match argument {
            ColumnarValue::Scalar(scalar) => Ok(Expr::Literal(scalar.clone(), None)),
            ColumnarValue::Array(_) => Err(DataFusionError::Plan("the size of a window must be a literal".to_owned())),
        });
        let mut expressions = vec![Expr::Literal(ScalarValue::Null, None)];
        expressions.extend(literals.collect::<Result<Vec<_>>>()?);
        let external = |error| DataFusionError::External(Box::new(error));
        let call = WindowCall::from_arguments(self.kind, self.part, &expressions).map_err(external)?;
        let WindowShape::Tumble { size_ms, offset_ms } = call.shape else {
            let name = self.kind.name();
            return Err(external(Error::internal(format!("a window of {name} is computed as if it were a value"))));
        };
        let times: ArrayRef = arguments.args[0].to_array(arguments.number_rows)?;
        let times = times.as_primitive::<TimestampMillisecondType>();
        let parts: PrimitiveArray<TimestampMillisecondType> = times.unary(|time| {
            let start = window_start(time, size_ms, offset_ms);
            self.part.of(start, start.saturating_add(size_ms))
        });
        Ok(ColumnarValue::Array(Arc::new(parts.with_data_type(times.data_type().clone()))))
    }
}
