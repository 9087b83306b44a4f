//! What people see of an aggregate's state (see `headpond_state::columns`).

use super::layout::{AggregateCall, AggregateFunction, AggregatePlan, CallCells, SetOrder};
use arrow_schema::Field as ArrowField;
use headpond_rows::arrow::field_type;
use headpond_state::columns::{UserKeyColumn, UserKeyColumns, ValueColumn};
use headpond_state::schema::{DataKind, Field, RowSchema};
use headpond_state::{Result, StateColumns};

/// The names of the beginning and the end of a window.
pub(super) const WINDOW: [&str; 2] = ["window_start", "window_end"];
/// The names of the beginning and the end of a slice of hopping windows.
pub(super) const SLICE: [&str; 2] = ["slice_start", "slice_end"];

impl AggregatePlan {
    /// The columns of keys and, where there are windows, of namespaces with these names.
    pub(super) fn key_columns_shown(&self, namespace: &[&str]) -> StateColumns {
        let named = self.key_names.iter().zip(self.key_schema.types());
        StateColumns {
            key: RowSchema::new(named.map(|(name, ty)| Field::new(name, ty.clone())).collect()),
            namespace: times(namespace),
            ..StateColumns::default()
        }
    }

    /// The columns of accumulators: the calls' results.
    pub(super) fn accumulators_shown(&self, namespace: &[&str]) -> Result<StateColumns> {
        let calls = self.calls.iter().zip(&self.layout.of_calls);
        let value = calls.map(|(call, cells)| self.result(call, *cells)).collect::<Result<_>>()?;
        Ok(StateColumns { value, ..self.key_columns_shown(namespace) })
    }

    /// The columns of the values of groups.
    pub(super) fn values_shown(&self, namespace: &[&str]) -> Result<StateColumns> {
        let set = |set: &super::layout::SetSpec| {
            let field = self.input.field(set.argument);
            let name = match set.order {
                SetOrder::Any => field.name().clone(),
                SetOrder::Least => format!("least {}", field.name()),
                SetOrder::Greatest => format!("greatest {}", field.name()),
            };
            let descending = set.order == SetOrder::Greatest;
            Ok(UserKeyColumn { descending, ..UserKeyColumn::new(name, field_type(field)?) })
        };
        let components = self.layout.sets.iter().map(set).collect::<Result<_>>()?;
        let user_key = UserKeyColumns { components, one_of: true };
        Ok(StateColumns { user_key, ..self.key_columns_shown(namespace) })
    }

    fn result(&self, call: &AggregateCall, cells: CallCells) -> Result<ValueColumn> {
        let field = |cell: Option<usize>| match cell {
            Some(cell) => self.layout.cells[cell].name.clone(),
            None => self.layout.schema.fields()[0].name.clone(),
        };
        let is_average = call.function == AggregateFunction::Avg;
        Ok(ValueColumn {
            name: call.name.clone(),
            field: field(cells.value),
            divided_by: is_average.then(|| field(cells.count)),
            ty: match is_average {
                true => Some(field_type(&ArrowField::new(&call.name, call.output.clone(), true))?),
                false => None,
            },
        })
    }
}

fn times(names: &[&str]) -> RowSchema {
    RowSchema::new(names.iter().map(|name| Field::new(*name, DataKind::Timestamp.required())).collect())
}
