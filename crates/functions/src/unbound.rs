//! A function as a query calls it, before the types of its arguments are known.
//!
//! DataFusion's planner asks for types while it plans. What it is told is a guess, so that nothing fails before all is
//! planned: [`Typing`](crate::typing::Typing) then finds the types, and says what is wrong.

use crate::bind::Bind;
use crate::settings::Settings;
use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::{Result, ScalarValue, internal_err};
use datafusion_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A function without types.
#[derive(Debug)]
pub struct UnboundFunction {
    name: String,
    settings: Arc<Settings>,
    signature: Signature,
}

impl UnboundFunction {
    /// The function or operator of this name, which need not exist.
    pub fn of(name: &str, settings: &Arc<Settings>) -> Arc<ScalarUDF> {
        let volatile = crate::registry::is_volatile(name);
        let volatility = if volatile { Volatility::Volatile } else { Volatility::Immutable };
        Arc::new(ScalarUDF::new_from_impl(UnboundFunction {
            name: name.to_owned(),
            settings: Arc::clone(settings),
            signature: Signature::user_defined(volatility),
        }))
    }

    /// Its call with these arguments.
    pub fn call(name: &str, settings: &Arc<Settings>, arguments: Vec<Expr>) -> Expr {
        UnboundFunction::of(name, settings).call(arguments)
    }

    /// What is called.
    pub fn called(&self) -> &str {
        &self.name
    }
}

impl PartialEq for UnboundFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for UnboundFunction {}

impl Hash for UnboundFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for UnboundFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let literals = vec![None; types.len()];
        Ok(guess(&self.name, types, &literals, &self.settings))
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = arguments.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let literals: Vec<Option<ScalarValue>> =
            arguments.scalar_arguments.iter().map(|scalar| scalar.cloned()).collect();
        Ok(Arc::new(Field::new(&self.name, guess(&self.name, &types, &literals, &self.settings), true)))
    }

    fn invoke_with_args(&self, _arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{} is computed without types", self.name)
    }
}

fn guess(name: &str, types: &[DataType], literals: &[Option<ScalarValue>], settings: &Arc<Settings>) -> DataType {
    let bind = Bind { name, syntax: None, types, literals, settings };
    crate::registry::bind(&bind).map_or(DataType::Null, |bound| bound.function.result().clone())
}
