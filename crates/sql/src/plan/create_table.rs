//! From a `CREATE TABLE` to a table: its computed columns and its watermark are planned.

use super::error::planning_error;
use super::session::Session;
use super::sql_forms::SqlForms;
use super::table::{Table, TableWatermark};
use crate::expression::substitute;
use crate::position::At;
use crate::script::{CreateTable, TableColumn, type_name};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use datafusion_common::{Column, DFSchema};
use datafusion_expr::{Expr, ExprSchemable};
use datafusion_sql::planner::{PlannerContext, SqlToRel};
use datafusion_sql::sqlparser::ast::{self, VisitMut};
use headpond_state::{Error, Result};
use std::ops::ControlFlow;
use std::sync::Arc;

impl Table {
    /// Plans a definition.
    pub(crate) fn plan(definition: &CreateTable, session: &Session) -> Result<Self> {
        let physical_columns = || definition.columns.iter().filter(|column| column.data_type.is_some());
        let physical: Vec<Field> = physical_columns().filter_map(physical_field).collect();
        let physical = Arc::new(Schema::new(physical));
        let mut planner = ColumnPlanner::new(session, &physical);
        for column in definition.columns.iter().filter(|column| column.computed.is_some()) {
            planner.add_computed(column)?;
        }
        let watermark = match &definition.watermark {
            None => None,
            Some(watermark) => {
                Some(planner.watermark(&watermark.column, &watermark.expression).at(watermark.position)?)
            }
        };
        let primary_key = definition.primary_key.iter().map(|(name, position)| {
            physical.index_of(name).map_err(|_| {
                Error::unsupported(format!("the primary key has the computed column `{name}`")).at(*position)
            })
        });
        let (fields, expressions) = planner.into_columns(definition)?;
        Ok(Table {
            name: definition.name.clone(),
            position: definition.position,
            primary_key: primary_key.collect::<Result<_>>()?,
            physical,
            schema: Arc::new(Schema::new(fields)),
            expressions,
            watermark,
            options: definition.options.clone(),
        })
    }
}

fn physical_field(column: &TableColumn) -> Option<Field> {
    let data_type = column.data_type.clone()?;
    Some(Field::new(&column.name, data_type, column.nullable))
}

/// Plans expressions over the physical columns and the computed columns so far.
struct ColumnPlanner<'s> {
    session: &'s Session,
    /// The physical columns.
    physical: Fields,
    /// The columns as queries see them.
    fields: Vec<Field>,
    /// Their expressions over the physical columns.
    expressions: Vec<Expr>,
}

impl<'s> ColumnPlanner<'s> {
    fn new(session: &'s Session, physical: &Schema) -> Self {
        let mut planner =
            ColumnPlanner { session, physical: physical.fields().clone(), fields: Vec::new(), expressions: Vec::new() };
        for field in physical.fields() {
            let localized = session.localized(field.data_type());
            let expr = Expr::Column(Column::new_unqualified(field.name()));
            planner.expressions.push(if localized == *field.data_type() {
                expr
            } else {
                datafusion_expr::cast(expr, localized.clone())
            });
            planner.fields.push(Field::new(field.name(), localized, field.is_nullable()));
        }
        planner
    }

    fn add_computed(&mut self, column: &TableColumn) -> Result<()> {
        let Some(computed) = &column.computed else { return Ok(()) };
        let (expr, data_type) = self.expression(computed).at(column.position)?;
        self.fields.push(Field::new(&column.name, data_type, true));
        self.expressions.push(expr);
        Ok(())
    }

    /// The columns in the order of the definition.
    fn into_columns(self, definition: &CreateTable) -> Result<(Vec<Field>, Vec<Expr>)> {
        let mut columns = Vec::with_capacity(self.fields.len());
        for column in &definition.columns {
            let index = self.fields.iter().position(|field| *field.name() == column.name);
            let index = index.ok_or_else(|| Error::internal(format!("column `{}` was not planned", column.name)))?;
            columns.push((self.fields[index].clone(), self.expressions[index].clone()));
        }
        Ok(columns.into_iter().unzip())
    }

    fn watermark(&self, column: &str, expression: &ast::Expr) -> Result<TableWatermark> {
        let index = self.fields.iter().position(|field| field.name() == column);
        let index = index.ok_or_else(|| Error::internal("the column of a watermark is missing"))?;
        let field = &self.fields[index];
        let is_time = |data_type: &DataType| matches!(data_type, DataType::Timestamp(TimeUnit::Millisecond, _));
        if !is_time(field.data_type()) {
            return Err(Error::invalid(format!(
                "the watermark's column `{column}` is {}, not TIMESTAMP(3) or TIMESTAMP_LTZ(3)",
                type_name(field.data_type())
            )));
        }
        let (expr, data_type) = self.expression(expression)?;
        if !matches!(data_type, DataType::Timestamp(_, _)) {
            let found = type_name(&data_type);
            return Err(Error::invalid(format!("the watermark's expression is {found}, not a timestamp"))
                .hint(format!("write WATERMARK FOR {column} AS {column} - INTERVAL '5' SECOND")));
        }
        let expression = if is_time(&data_type) {
            expr
        } else {
            let schema = DFSchema::try_from(Schema::new(self.physical.clone())).map_err(planning_error)?;
            self.session.typing().converted(expr, &schema, field.data_type()).map_err(planning_error)?
        };
        Ok(TableWatermark { time: self.expressions[index].clone(), expression })
    }

    /// Plans an expression over the columns so far: its form over the physical columns, and its type.
    fn expression(&self, expression: &ast::Expr) -> Result<(Expr, DataType)> {
        let schema = Schema::new(self.fields.clone());
        let schema = DFSchema::try_from(schema).map_err(planning_error)?;
        let planner = SqlToRel::new_with_options(self.session, Session::parser_options());
        let mut expression = expression.clone();
        if let ControlFlow::Break(error) = expression.visit(&mut SqlForms) {
            return Err(error);
        }
        let expr = planner.sql_to_expr(expression, &schema, &mut PlannerContext::new()).map_err(planning_error)?;
        let expr = self.session.typing().expression(expr, &schema).map_err(planning_error)?;
        let data_type = expr.get_type(&schema).map_err(planning_error)?;
        let expr = substitute(expr, &|column| {
            let index = self.fields.iter().position(|field| *field.name() == column.name)?;
            Some(self.expressions[index].clone())
        })?;
        Ok((expr, data_type))
    }
}
