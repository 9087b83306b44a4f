//! Fields of a row that are shown as one column: a sum with what rounding has lost, an average of a sum and a count.

use headpond_rows::sums::{EXACT_PARTS, ExactSum, IS_SET, LOST};
use headpond_state::StateColumns;
use headpond_state::columns::ValueColumn;
use headpond_state::schema::{DataKind, Datum, Field, FieldType};
use headpond_state::{Error, Result};

/// Takes a row of a value: its namespace, where the value tells it, and its columns.
pub(super) type GiveRow<'a> = dyn FnMut(Option<&[Datum]>, &[Datum]) -> Result<()> + 'a;

/// What the columns of a row are made of.
#[derive(Debug)]
pub(super) struct ShownRow {
    columns: Vec<ShownColumn>,
}

#[derive(Debug)]
struct ShownColumn {
    name: String,
    ty: FieldType,
    of: Number,
    divided_by: Option<Number>,
}

/// One or several fields with one meaning.
#[derive(Debug, Clone)]
struct Number {
    name: String,
    ty: FieldType,
    form: NumberForm,
}

#[derive(Debug, Clone, Copy)]
enum NumberForm {
    /// The field of this index.
    Field(usize),
    /// A compensated sum that begins there.
    Compensated(usize),
    /// An exact sum that begins there.
    Exact(usize),
}

impl ShownRow {
    /// The columns of rows with these fields: those that are wished, then what no one of them mentions.
    pub(super) fn new(fields: &[Field], wished: &StateColumns) -> Self {
        let numbers = numbers(fields);
        let find = |field: &str| numbers.iter().find(|number| number.name == field).cloned();
        let mut columns = Vec::new();
        let mut mentioned: Vec<&str> = Vec::new();
        for ValueColumn { name, field, divided_by, ty } in &wished.value {
            let Some(of) = find(field) else { continue };
            let divisor = divided_by.as_deref().and_then(find);
            let average = || DataKind::Float64.nullable();
            let ty = match (ty, divided_by) {
                (Some(ty), _) => ty.clone(),
                (None, Some(_)) => average(),
                (None, None) => of.ty.clone(),
            };
            mentioned.push(field);
            mentioned.extend(divided_by.as_deref());
            columns.push(ShownColumn { name: name.clone(), ty, of, divided_by: divisor });
        }
        let hidden = if columns.is_empty() { "" } else { "_" };
        for number in numbers.iter().filter(|number| !mentioned.contains(&number.name.as_str())) {
            let name = format!("{hidden}{}", short(&number.name));
            columns.push(ShownColumn { name, ty: number.ty.clone(), of: number.clone(), divided_by: None });
        }
        ShownRow { columns }
    }

    /// The columns' names and types.
    pub(super) fn columns(&self) -> impl Iterator<Item = (String, FieldType)> {
        self.columns.iter().map(|column| (column.name.clone(), column.ty.clone()))
    }

    /// Appends the columns of a row with these fields.
    pub(super) fn read(&self, row: &[Datum], out: &mut Vec<Datum>) -> Result<()> {
        for column in &self.columns {
            let value = column.of.value(row)?;
            out.push(match &column.divided_by {
                None => value,
                Some(count) => quotient(column, value, &count.value(row)?)?,
            });
        }
        Ok(())
    }
}

impl Number {
    fn value(&self, row: &[Datum]) -> Result<Datum> {
        let misfit = || Error::corrupt(format!("a value lacks the parts of the sum `{}`", self.name));
        match self.form {
            NumberForm::Field(index) => Ok(row[index].clone()),
            NumberForm::Compensated(index) => match (&row[index], &row[index + 1]) {
                (Datum::Null, _) => Ok(Datum::Null),
                (Datum::Float64(sum), Datum::Float64(lost)) => Ok(Datum::Float64(sum + lost)),
                _ => Err(misfit()),
            },
            NumberForm::Exact(index) => match &row[index] {
                Datum::Bool(false) => Ok(Datum::Null),
                _ => {
                    let sum = ExactSum::restore(&row[index + 1..=index + ExactSum::FIELDS]).ok_or_else(misfit)?;
                    Ok(Datum::Float64(sum.value()))
                }
            },
        }
    }
}

/// The fields, those that belong together as one.
fn numbers(fields: &[Field]) -> Vec<Number> {
    let mut numbers = Vec::new();
    let mut index = 0;
    let is = |index: usize, name: &str| fields.get(index).is_some_and(|field: &Field| field.name == name);
    while let Some(field) = fields.get(index) {
        let exact = field.name.strip_suffix(IS_SET);
        let exact = exact.filter(|name| {
            EXACT_PARTS.iter().enumerate().all(|(part, what)| is(index + 1 + part, &format!("{name}{what}")))
        });
        let float = || DataKind::Float64.nullable();
        let (name, ty, form, taken) = match exact {
            Some(name) => (name, float(), NumberForm::Exact(index), 1 + ExactSum::FIELDS),
            None if is(index + 1, &format!("{}{LOST}", field.name)) => {
                (field.name.as_str(), float(), NumberForm::Compensated(index), 2)
            }
            None => (field.name.as_str(), field.ty.clone(), NumberForm::Field(index), 1),
        };
        numbers.push(Number { name: name.to_owned(), ty, form });
        index += taken;
    }
    numbers
}

/// The count of a group's rows has a name that tells the query's whole grouping; its first word is enough for a column.
fn short(name: &str) -> &str {
    match name.split_once(' ') {
        Some(("rows", _)) => "rows",
        _ => name,
    }
}

/// A sum divided by a count; NULL for none.
fn quotient(column: &ShownColumn, sum: Datum, count: &Datum) -> Result<Datum> {
    let count = match count {
        Datum::Int64(0) | Datum::Null => return Ok(Datum::Null),
        Datum::Int64(count) => *count,
        _ => return Err(Error::corrupt(format!("the count of the average `{}` is no number", column.name))),
    };
    match (sum, &column.of.ty.kind, &column.ty.kind) {
        (Datum::Null, _, _) => Ok(Datum::Null),
        (Datum::Float64(sum), _, _) => Ok(Datum::Float64(sum / count as f64)),
        (Datum::Decimal(sum), DataKind::Decimal { scale: from, .. }, DataKind::Decimal { scale: to, .. }) => {
            let factor = to.checked_sub(*from).and_then(|digits| 10i128.checked_pow(digits.into()));
            let scaled = factor.and_then(|factor| sum.checked_mul(factor));
            Ok(scaled.map_or(Datum::Null, |scaled| Datum::Decimal(rounded(scaled, count.into()))))
        }
        (Datum::Int64(sum), _, _) => Ok(Datum::Float64(sum as f64 / count as f64)),
        _ => Err(Error::corrupt(format!("the sum of the average `{}` is no number", column.name))),
    }
}

/// The quotient, rounded half away from zero.
fn rounded(dividend: i128, divisor: i128) -> i128 {
    let (quotient, remainder) = (dividend / divisor, dividend % divisor);
    match remainder.unsigned_abs().saturating_mul(2) >= divisor.unsigned_abs() {
        true => quotient + dividend.signum() * divisor.signum(),
        false => quotient,
    }
}
