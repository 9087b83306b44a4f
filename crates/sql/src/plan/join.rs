//! From a join of a logical plan to a keyed operator with two inputs.

use super::aggregate::{logical_columns, text_of, unique};
use super::error::planning_error;
use super::flow::{Flow, FlowBuilder, column, over_base};
use super::note::Note;
use super::time_bounds::TimeBounds;
use super::types::canonical;
use crate::expression::{Compiler, WindowPart, substitute};
use crate::join::{
    IntervalJoinFactory, IntervalSpec, JoinCondition, JoinKind, JoinPlan, JoinSide, JoinTime, RegularJoinFactory,
};
use crate::script::not_supported;
use crate::words::in_sql;
use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_common::{JoinType, NullEquality};
use datafusion_expr::utils::{expr_to_columns, split_conjunction};
use datafusion_expr::{Expr, Join, LogicalPlan};
use headpond_runtime::key::KeyEncoder;
use headpond_runtime::operator::KeyedOperatorFactory;
use headpond_runtime::{KeyedInput, Node, NodeKind};
use headpond_state::ttl::TtlConfig;
use headpond_state::{Error, MaxParallelism, OperatorId, Result};
use std::collections::HashSet;
use std::sync::Arc;

impl FlowBuilder<'_> {
    /// The nodes of a join.
    pub(super) fn join(&mut self, join: &Join) -> Result<Flow> {
        self.overwrites = false;
        let kind = checked_kind(join)?;
        let bounds = TimeBounds::of(join);
        let flows = [self.build(&join.left, !bounds.is_empty())?, self.build(&join.right, !bounds.is_empty())?];
        let timed = bounds.into_iter().find_map(|bounds| {
            let times = [JoinedTime::of(&flows[0], bounds.left)?, JoinedTime::of(&flows[1], bounds.right)?];
            Some((bounds, times))
        });
        let bounded = flows.iter().all(|flow| flow.bounded);
        let [left, right] = flows;
        let is_timed = timed.is_some();
        let (left, left_side) = self.join_side(left, join, kind, 0, is_timed)?;
        let (right, right_side) = self.join_side(right, join, kind, 1, is_timed)?;
        let flows = [left, right];
        let sides = [left_side, right_side];

        let combined = combined_schema(join, &sides);
        let rest = match &timed {
            Some((bounds, _)) => bounds.rest.as_ref(),
            None => join.filter.as_ref(),
        };
        let condition = rest.map(|rest| self.condition(rest, join, &sides, &combined)).transpose()?;
        let output: SchemaRef = match kind {
            JoinKind::Semi | JoinKind::Anti => Arc::new(Schema::new(combined.fields()[..sides[0].columns].to_vec())),
            _ => Arc::clone(&combined),
        };
        let key_schema = KeyEncoder::new(&sides[0].schema, &sides[0].key, MaxParallelism::DEFAULT)?.schema();
        let description = describe(kind, &sides, timed.as_ref().map(|(bounds, _)| bounds), rest);
        let inputs = flows.iter().zip(&sides).map(|(flow, side)| KeyedInput::by_key(flow.node, side.key.clone()));
        let inputs = inputs.collect();
        let plan =
            JoinPlan { kind, sides, key_schema, condition, output: Arc::clone(&output), format: self.settings.format };

        let id = self.next_id(match &timed {
            None => "join",
            Some((_, [JoinedTime::Rows, _] | [_, JoinedTime::Rows])) => "interval-join",
            Some(_) => "window-join",
        });
        let changing = !is_timed && plan.is_changing();
        let (mut event_time, mut window) = (None, None);
        let operator: Arc<dyn KeyedOperatorFactory> = match timed {
            Some((bounds, times)) => {
                let row_watermark = |side: usize| {
                    let last = plan.sides[side].schema.fields().len() - 1;
                    flows[side].row_watermark.then_some(last)
                };
                let of_rows = times.contains(&JoinedTime::Rows);
                let [left, right] = times.map(JoinedTime::shift_ms);
                let spec = IntervalSpec {
                    lower_ms: bounds.lower_ms.saturating_add(right - left),
                    upper_ms: bounds.upper_ms.saturating_add(right - left),
                    times: [
                        JoinTime { column: bounds.left, shift_ms: left },
                        JoinTime { column: bounds.right, shift_ms: right },
                    ],
                    grace_ms: i64::from(of_rows),
                    row_watermarks: [row_watermark(0), row_watermark(1)],
                };
                // The left row's columns come first in the result.
                let given = |expr: &Expr| {
                    let index = flows[0].columns.iter().position(|column| column == expr)?;
                    (index < plan.sides[0].columns).then(|| column(output.field(index).name()))
                };
                if times[0] == JoinedTime::Rows {
                    event_time = flows[0].event_time.as_ref().and_then(given);
                }
                window = flows[0].window.as_ref().and_then(|window| window.renamed(given));
                let keep = [0, 1].map(|side| spec.keep_ms(side) - spec.grace_ms);
                let key = plan.key_schema.to_string();
                let factory = IntervalJoinFactory::new(plan, spec);
                self.note_interval(&id, key, [factory.described(0)?, factory.described(1)?], keep);
                Arc::new(factory)
            }
            None => {
                let ttls = [plan.sides[0].ttl, plan.sides[1].ttl];
                let key = plan.key_schema.to_string();
                let factory = RegularJoinFactory::new(plan);
                self.note_join(&id, key, [factory.described(0)?, factory.described(1)?], ttls);
                Arc::new(factory)
            }
        };
        let kind = NodeKind::Keyed { inputs, operator };
        let node = self.graph.add(Node { id, description, schema: Arc::clone(&output), kind });
        let columns = logical_columns(&output, &join.schema);
        Ok(Flow {
            node,
            base: output,
            row_watermark: false,
            columns,
            filter: None,
            changing,
            bounded,
            event_time,
            window,
            windows_to_come: None,
        })
    }

    /// An input with its row's columns and the key's, as a node.
    fn join_side(
        &mut self,
        flow: Flow,
        join: &Join,
        kind: JoinKind,
        side: usize,
        is_timed: bool,
    ) -> Result<(Flow, JoinSide)> {
        let (input, keys): (_, Vec<&Expr>) = match side {
            0 => (&join.left, join.on.iter().map(|(left, _)| left).collect()),
            _ => (&join.right, join.on.iter().map(|(_, right)| right).collect()),
        };
        let compiler = Compiler::new(&flow.base, self.session)?;
        let mut fields: Vec<Field> = Vec::new();
        let mut columns: Vec<Expr> = Vec::new();
        for (expr, field) in flow.columns.iter().zip(input.schema().fields()) {
            let data_type = canonical(&compiler.data_type(expr)?)?;
            fields.push(Field::new(unique(field.name().clone(), &fields), data_type, true));
            columns.push(expr.clone());
        }
        let row_columns = columns.len();
        let null_equals_null = join.null_equality == NullEquality::NullEqualsNull;
        let mut key = Vec::with_capacity(keys.len());
        let mut key_texts = Vec::with_capacity(keys.len());
        let mut filter = flow.filter.clone();
        for expr in &keys {
            let expr = over_base(expr, input.schema(), &flow)?;
            key_texts.push(text_of(&expr));
            let data_type = canonical(&compiler.data_type(&expr)?)?;
            let known =
                (0..columns.len()).find(|index| columns[*index] == expr && *fields[*index].data_type() == data_type);
            key.push(known.unwrap_or_else(|| {
                fields.push(Field::new(unique(text_of(&expr), &fields), data_type, true));
                columns.push(expr.clone());
                columns.len() - 1
            }));
            // A row whose key is NULL has no match.
            if !null_equals_null && kind.needs_key(side) && compiler.is_nullable(&expr)? {
                let is_there = expr.is_not_null();
                filter = Some(match filter {
                    Some(filter) => filter.and(is_there),
                    None => is_there,
                });
            }
        }
        let key_text = key_texts.join(", ");
        let row_watermark = flow.row_watermark && is_timed;
        let changing = flow.changing;
        let flow = self.materialize(Flow { columns, filter, row_watermark, ..flow }, fields)?;
        let schema = Arc::clone(&self.graph.node(flow.node).schema);
        let ttl = if is_timed { None } else { self.state_ttl(input) };
        let key_without_null = if null_equals_null { Vec::new() } else { key.clone() };
        Ok((flow, JoinSide { schema, columns: row_columns, key, key_without_null, key_text, changing, ttl }))
    }

    /// What pairs must fulfil beside equal keys, over the columns of `combined` that it reads.
    fn condition(
        &self,
        rest: &Expr,
        join: &Join,
        sides: &[JoinSide; 2],
        combined: &SchemaRef,
    ) -> Result<JoinCondition> {
        let left_columns = sides[0].columns;
        let place = |reference: &_| match join.left.schema().maybe_index_of_column(reference) {
            Some(index) => Some(index),
            None => join.right.schema().maybe_index_of_column(reference).map(|index| left_columns + index),
        };
        let logical = |index: usize| match index.checked_sub(left_columns) {
            None => join.left.schema().field(index).data_type(),
            Some(index) => join.right.schema().field(index).data_type(),
        };
        let expr = substitute(rest.clone(), &|reference| {
            let index = place(reference)?;
            let expr = column(combined.field(index).name());
            let wanted = logical(index);
            Some(if combined.field(index).data_type() == wanted {
                expr
            } else {
                datafusion_expr::cast(expr, wanted.clone())
            })
        })?;
        let mut needed = HashSet::new();
        expr_to_columns(&expr, &mut needed).map_err(planning_error)?;
        let mut indices = needed.iter().filter_map(|column| combined.index_of(&column.name).ok()).collect::<Vec<_>>();
        indices.sort_unstable();
        let schema = Arc::new(combined.project(&indices).map_err(headpond_runtime::batch::arrow_error)?);
        let compiler = Compiler::new(&schema, self.session)?;
        let columns = indices.iter().map(|index| match index.checked_sub(left_columns) {
            None => (0, *index),
            Some(index) => (1, index),
        });
        Ok(JoinCondition { columns: columns.collect(), expr: compiler.compile(&expr)?, schema })
    }

    /// Remembers what a regular join keeps, for `EXPLAIN`.
    fn note_join(&mut self, id: &OperatorId, key: String, states: [String; 2], ttls: [Option<TtlConfig>; 2]) {
        let mut notes = vec![Note::Line(format!("key: {key}"))];
        for (state, ttl) in states.into_iter().zip(ttls) {
            notes.push(Note::Line(state));
            notes.push(match ttl {
                Some(ttl) => Note::Line(format!("expiry: {} ms after the last write", ttl.ttl_ms)),
                None => Note::Unbounded,
            });
        }
        self.notes.insert(id.clone(), notes);
    }

    /// Remembers what an interval join keeps, for `EXPLAIN`.
    fn note_interval(&mut self, id: &OperatorId, key: String, states: [String; 2], keep_ms: [i64; 2]) {
        let mut lines = vec![format!("key: {key}")];
        for (state, keep_ms) in states.into_iter().zip(keep_ms) {
            lines.push(state);
            lines.push(format!("expiry: when event time is {keep_ms} ms beyond a row's time"));
        }
        self.notes.insert(id.clone(), lines.into_iter().map(Note::Line).collect());
    }
}

/// What kind of join it is, if it is one that we have.
fn checked_kind(join: &Join) -> Result<JoinKind> {
    let kind = match join.join_type {
        JoinType::Inner => JoinKind::Inner,
        JoinType::Left => JoinKind::Left,
        JoinType::Right => JoinKind::Right,
        JoinType::Full => JoinKind::Full,
        JoinType::LeftSemi => JoinKind::Semi,
        JoinType::LeftAnti => JoinKind::Anti,
        JoinType::LeftMark | JoinType::RightMark => {
            return Err(not_supported(
                "IN (SELECT …) or EXISTS within OR",
                Some("write an INSERT INTO of its own for each part of the OR"),
            ));
        }
        JoinType::RightSemi | JoinType::RightAnti => {
            return Err(Error::internal("a semi join gives rows of its right side"));
        }
    };
    let Some((left, right)) = join.on.first() else {
        return Err(not_supported(
            "a join without an equality between a column of one side and a column of the other",
            Some("add one: ON a.k = b.k; other conditions may stand beside it"),
        ));
    };
    let sides = [(&join.left, left), (&join.right, right)];
    if join.null_aware
        && let Some((_, nullable)) = sides.into_iter().find(|(input, expr)| !is_never_null(input, expr))
    {
        let name = match nullable {
            Expr::Column(column) => column.name.clone(),
            other => text_of(other),
        };
        return Err(not_supported(
            &format!("NOT IN (SELECT …) where {name} may be NULL"),
            Some(
                "leave NULL out on both sides: WHERE … IS NOT NULL; or use NOT EXISTS, for which NULL is a value without a match",
            ),
        ));
    }
    Ok(kind)
}

/// Whether a column of a plan is declared or filtered to be no NULL.
fn is_never_null(plan: &LogicalPlan, expr: &Expr) -> bool {
    let Expr::Column(reference) = expr else { return false };
    let excludes = |condition: &Expr| {
        split_conjunction(condition)
            .into_iter()
            .any(|part| matches!(part, Expr::IsNotNull(inner) if matches!(inner.as_ref(), Expr::Column(column) if column.name == reference.name)))
    };
    let Some(index) = plan.schema().maybe_index_of_column(reference) else { return false };
    if !plan.schema().field(index).is_nullable() {
        return true;
    }
    match plan {
        LogicalPlan::Filter(filter) => excludes(&filter.predicate) || is_never_null(&filter.input, expr),
        LogicalPlan::TableScan(scan) => scan.filters.iter().any(excludes),
        LogicalPlan::SubqueryAlias(alias) => {
            is_never_null(&alias.input, &Expr::Column(alias.input.schema().columns().swap_remove(index)))
        }
        LogicalPlan::Projection(projection) => {
            is_never_null(&projection.input, &projection.expr[index].clone().unalias())
        }
        LogicalPlan::Aggregate(aggregate) => match aggregate.group_expr.get(index) {
            Some(group) => is_never_null(&aggregate.input, group),
            None => false,
        },
        _ => false,
    }
}

/// What a column tells of the time of rows that stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JoinedTime {
    /// It is their event time.
    Rows,
    /// It is the last millisecond of their window.
    WindowTime,
    /// It is the end of their window.
    WindowEnd,
}

impl JoinedTime {
    fn of(flow: &Flow, index: usize) -> Option<JoinedTime> {
        let expr = flow.columns.get(index).filter(|_| !flow.changing)?;
        if flow.event_time.as_ref() == Some(expr) {
            return Some(JoinedTime::Rows);
        }
        match flow.window_of_rows()?.part_of(expr)? {
            WindowPart::Time => Some(JoinedTime::WindowTime),
            WindowPart::End => Some(JoinedTime::WindowEnd),
            WindowPart::Start => None,
        }
    }

    /// What is added to the column to get a time that rows have before the watermark passes it.
    fn shift_ms(self) -> i64 {
        if self == JoinedTime::WindowEnd { -1 } else { 0 }
    }
}

/// The columns of both rows, each with a name of its own.
fn combined_schema(join: &Join, sides: &[JoinSide; 2]) -> SchemaRef {
    let mut fields: Vec<Field> = Vec::new();
    for (input, side) in [&join.left, &join.right].into_iter().zip(sides) {
        for (named, typed) in input.schema().fields().iter().zip(side.schema.fields()) {
            fields.push(Field::new(unique(named.name().clone(), &fields), typed.data_type().clone(), true));
        }
    }
    Arc::new(Schema::new(fields))
}

fn describe(kind: JoinKind, sides: &[JoinSide; 2], bounds: Option<&TimeBounds>, rest: Option<&Expr>) -> String {
    let mut text = format!("{kind} join by {} = {}", sides[0].key_text, sides[1].key_text);
    if let Some(TimeBounds { lower_ms, upper_ms, .. }) = bounds {
        text.push_str(&format!(", the right row's time {lower_ms} to {upper_ms} ms after the left row's"));
    }
    if let Some(rest) = rest {
        text.push_str(&format!(", where {}", in_sql(&rest.to_string())));
    }
    text
}
