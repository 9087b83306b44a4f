//! Names of fields: `SELECT person.id` gives a column `id` where `person` is a column, as in Flink.
//!
//! DataFusion names such a column after the whole expression.

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, ObjectNamePart, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins, VisitorMut,
};
use std::ops::ControlFlow;

/// Gives fields of rows their own names.
pub(super) struct FieldNames;

impl VisitorMut for FieldNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        in_selects(query.body.as_mut());
        ControlFlow::Continue(())
    }
}

fn in_selects(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => name_fields(select),
        SetExpr::SetOperation { left, right, .. } => {
            in_selects(left);
            in_selects(right);
        }
        // What stands in parentheses is visited by itself.
        _ => {}
    }
}

fn name_fields(select: &mut Select) {
    let mut tables = Vec::new();
    select.from.iter().for_each(|table| names_of(table, &mut tables));
    let mut taken: Vec<String> = select.projection.iter().filter_map(name_of).collect();
    for item in &mut select.projection {
        let SelectItem::UnnamedExpr(expr @ Expr::CompoundIdentifier(_)) = &*item else { continue };
        let Expr::CompoundIdentifier(parts) = expr else { continue };
        let [first, .., last] = &parts[..] else { continue };
        let is_column_of_table = parts.len() == 2 && tables.contains(&first.value);
        if is_column_of_table || taken.contains(&last.value) {
            continue;
        }
        taken.push(last.value.clone());
        let alias = Ident::with_quote('`', last.value.clone());
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
}

/// The name that an item has by itself.
fn name_of(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.value.clone()),
        _ => None,
    }
}

/// The names by which columns of tables may be qualified.
fn names_of(table: &TableWithJoins, names: &mut Vec<String>) {
    let relations = std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation));
    for relation in relations {
        match relation {
            TableFactor::NestedJoin { table_with_joins, alias } => match alias {
                Some(alias) => names.push(alias.name.value.clone()),
                None => names_of(table_with_joins, names),
            },
            TableFactor::Table { name, alias, .. } => names.extend(match alias {
                Some(alias) => Some(alias.name.value.clone()),
                None => name.0.last().and_then(ObjectNamePart::as_ident).map(|name| name.value.clone()),
            }),
            TableFactor::Derived { alias, .. } | TableFactor::TableFunction { alias, .. } => {
                names.extend(alias.as_ref().map(|alias| alias.name.value.clone()));
            }
            _ => {}
        }
    }
}
