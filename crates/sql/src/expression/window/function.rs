//! The functions that tell a part of a row's window.

use super::call::{WindowCall, WindowShape};
use super::kind::WindowKind;
use super::{WindowPart, window_start};
use arrow_array::PrimitiveArray;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use headpond_state::Error;
use std::iter;
use std::sync::Arc;

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

impl WindowFunction {
    /// The call with these arguments behind the time.
    fn call(&self, literals: Vec<ScalarValue>) -> Result<WindowCall> {
        let time = Expr::Literal(ScalarValue::Null, None);
        let arguments = iter::once(time).chain(literals.into_iter().map(|literal| Expr::Literal(literal, None)));
        WindowCall::from_arguments(self.kind, self.part, &arguments.collect::<Vec<_>>()).map_err(external)
    }
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
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

    /// Also looks whether the zone has windows of this size: nothing runs otherwise.
    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<DataType> = arguments.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let result = self.return_type(&types)?;
        let literals = arguments.scalar_arguments.iter().skip(1);
        if let Some(literals) = literals.map(|literal| literal.cloned()).collect::<Option<Vec<_>>>() {
            self.call(literals)?.shape.of_type(&result).map_err(external)?;
        }
        Ok(Arc::new(Field::new(self.name(), result, true)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let literals = arguments.args.iter().skip(1).map(|argument| match argument {
            ColumnarValue::Scalar(scalar) => Ok(scalar.clone()),
            ColumnarValue::Array(_) => Err(DataFusionError::Plan("the size of a window must be a literal".to_owned())),
        });
        let call = self.call(literals.collect::<Result<Vec<_>>>()?)?;
        let shape = call.shape.of_type(&arguments.args[0].data_type()).map_err(external)?;
        let WindowShape::Tumble { size_ms, offset_ms } = shape else {
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
