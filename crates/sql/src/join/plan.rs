//! What a join does.

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, SchemaRef};
use datafusion_physical_expr::PhysicalExpr;
use headpond_rows::RowFormat;
use headpond_runtime::batch::arrow_error;
use headpond_state::Result;
use headpond_state::encoding::KeySchema;
use headpond_state::ttl::TtlConfig;
use std::fmt;
use std::sync::Arc;

/// Which rows a join gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and left rows without a match.
    Left,
    /// Pairs, and right rows without a match.
    Right,
    /// Pairs, and rows of both sides without a match.
    Full,
    /// Left rows that have a match, each once.
    Semi,
    /// Left rows that have none.
    Anti,
}

/// When a row is given apart from its pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alone {
    /// While it has no match.
    WithoutMatch,
    /// While it has a match.
    WithMatch,
}

impl JoinKind {
    /// Whether pairs are given.
    pub(super) fn gives_pairs(self) -> bool {
        !matches!(self, JoinKind::Semi | JoinKind::Anti)
    }

    /// When rows of a side (0: left, 1: right) are given apart from their pairs; `None`: never, and nothing needs to be
    /// known of them.
    pub(super) fn gives_alone(self, side: usize) -> Option<Alone> {
        match (self, side) {
            (JoinKind::Left | JoinKind::Full | JoinKind::Anti, 0) | (JoinKind::Right | JoinKind::Full, 1) => {
                Some(Alone::WithoutMatch)
            }
            (JoinKind::Semi, 0) => Some(Alone::WithMatch),
            _ => None,
        }
    }

    /// Whether a row of a side whose key matches nothing can never be in the result.
    pub(crate) fn needs_key(self, side: usize) -> bool {
        self.gives_alone(side) != Some(Alone::WithoutMatch)
    }
}

impl fmt::Display for JoinKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JoinKind::Inner => "inner",
            JoinKind::Left => "left",
            JoinKind::Right => "right",
            JoinKind::Full => "full",
            JoinKind::Semi => "semi",
            JoinKind::Anti => "anti",
        })
    }
}

/// An input of a join.
#[derive(Debug, Clone)]
pub(crate) struct JoinSide {
    /// The input's columns: those of the row come first.
    pub(crate) schema: SchemaRef,
    /// How many columns the row has.
    pub(crate) columns: usize,
    /// The columns of the key.
    pub(crate) key: Vec<usize>,
    /// Which of them match nothing where they are NULL: all, or none where NULL equals NULL.
    pub(crate) key_without_null: Vec<usize>,
    /// The key as people write it.
    pub(crate) key_text: String,
    /// Whether rows may be taken back.
    pub(crate) changing: bool,
    /// When rows expire.
    pub(crate) ttl: Option<TtlConfig>,
}

impl JoinSide {
    /// The types of the row's columns.
    pub(super) fn types(&self) -> Vec<DataType> {
        self.schema.fields()[..self.columns].iter().map(|field| field.data_type().clone()).collect()
    }
}

/// What a pair must fulfil beside equal keys.
#[derive(Debug, Clone)]
pub(crate) struct JoinCondition {
    /// The columns it reads: side and column.
    pub(crate) columns: Vec<(usize, usize)>,
    /// These columns' schema.
    pub(crate) schema: SchemaRef,
    /// The condition over them.
    pub(crate) expr: Arc<dyn PhysicalExpr>,
}

impl JoinCondition {
    /// For which of `rows` pairs it is true; `column` gives a side's column of the pairs.
    pub(super) fn holds(
        &self,
        rows: usize,
        column: impl FnMut(&(usize, usize)) -> Result<ArrayRef>,
    ) -> Result<BooleanArray> {
        let columns = self.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let pairs =
            RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(arrow_error)?;
        let holds = self.expr.evaluate(&pairs).and_then(|value| value.into_array(rows));
        let holds = holds.map_err(|error| crate::expression::failed(error, "the condition of a join"))?;
        Ok(holds.as_boolean().clone())
    }
}

/// What the operators are made from.
#[derive(Debug, Clone)]
pub(crate) struct JoinPlan {
    /// Which rows are given.
    pub(crate) kind: JoinKind,
    /// The inputs.
    pub(crate) sides: [JoinSide; 2],
    /// The types of the key.
    pub(crate) key_schema: KeySchema,
    /// What pairs must fulfil beside equal keys.
    pub(crate) condition: Option<JoinCondition>,
    /// The result's columns: those of the left row, then, unless the join is semi or anti, those of the right row.
    pub(crate) output: SchemaRef,
    /// The form in which rows are kept.
    pub(crate) format: RowFormat,
}

impl JoinPlan {
    /// Whether what is given may be taken back.
    pub(crate) fn is_changing(&self) -> bool {
        let gives_and_takes = |side| self.kind.gives_alone(side) == Some(Alone::WithoutMatch);
        self.sides.iter().any(|side| side.changing) || gives_and_takes(0) || gives_and_takes(1)
    }
}
