//! `ROW_NUMBER()`, for planning: its rows are numbered by the operators of [`rank`](crate::rank), never by DataFusion.

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::{Result, not_impl_err};
use datafusion_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion_expr::{LimitEffect, PartitionEvaluator, Signature, Volatility, WindowUDF, WindowUDFImpl};
use std::sync::Arc;

/// The function's name.
pub(crate) const ROW_NUMBER: &str = "row_number";

/// The function.
pub(crate) fn row_number() -> Arc<WindowUDF> {
    Arc::new(WindowUDF::new_from_impl(RowNumber { signature: Signature::nullary(Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RowNumber {
    signature: Signature,
}

impl WindowUDFImpl for RowNumber {
    fn name(&self) -> &str {
        ROW_NUMBER
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(&self, _arguments: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        not_impl_err!("ROW_NUMBER() is not computed by an expression")
    }

    fn field(&self, arguments: WindowUDFFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(arguments.name(), DataType::Int64, false)))
    }

    fn limit_effect(&self, _arguments: &[Arc<dyn datafusion_physical_expr::PhysicalExpr>]) -> LimitEffect {
        LimitEffect::Unknown
    }
}
