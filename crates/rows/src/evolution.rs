//! How rows of one schema become rows of another: fields are known by their names, wherever they stand.
//!
//! A field may come, go, move and get a wider type. What a field that comes holds for the rows there are depends on
//! what rows are: a column is NULL, an accumulator has folded nothing. And some fields must stay, or the rows would
//! mean something else: [`RowEvolution`] says all that, for the owner of a state.

use headpond_state::schema::Datum;
use headpond_state::schema::{DataKind, Field, FieldType, RowSchema};
use headpond_state::{Error, Remedy, Result};

/// What changes of a row's fields mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowEvolution {
    /// Whether fields are accumulators: a required one that comes holds zero, nothing, no elements. Otherwise fields
    /// that come must be nullable.
    pub accumulates: bool,
    /// What the first field's name ends with besides its own name. Rows with another ending are of another key.
    pub first_name_ending: String,
    /// Fields that must be there, before and now: those that tell what the row is of.
    pub fixed: Vec<String>,
    /// Fields that are one thing: all of them come, or none.
    pub field_groups: Vec<FieldGroup>,
    /// Why no field may come; empty: some may.
    pub closed: String,
}

/// Fields that mean something only together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldGroup {
    /// What they are, for people: `AVG(price)`.
    pub what: String,
    /// Their names.
    pub fields: Vec<String>,
}

/// What is done with each row.
#[derive(Debug, Clone, PartialEq)]
pub struct RowConversion(Vec<Step>);

/// Where a field's value comes from.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// A field of the row, converted.
    Take(usize, Widening),
    /// Nowhere: it is new.
    New(Datum),
}

/// From a type to a wider one.
#[derive(Debug, Clone, PartialEq)]
enum Widening {
    /// The datum is the same.
    Same,
    /// A decimal gets more digits behind its point: its unscaled value is multiplied.
    Times(i128),
    /// Each element of a list.
    Elements(Box<Widening>),
    /// A row within the row.
    Fields(RowConversion),
}

impl RowEvolution {
    /// The conversion of rows of schema `from` to rows of schema `to`, and what it changes.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible), naming the field that cannot be converted, and the
    /// way out where there is one.
    pub fn conversion(&self, from: &RowSchema, to: &RowSchema) -> Result<(RowConversion, Vec<String>)> {
        let (from, to) = (self.plain(from.fields()), self.plain(to.fields()));
        let (from, to) = match (from, to) {
            (Some(from), Some(to)) => (from, to),
            _ => {
                return Err(Error::incompatible("the state is of another key than the query's")
                    .hint(ANOTHER_KEY)
                    .remedy(Remedy::AllowDroppedState));
            }
        };
        for fixed in &self.fixed {
            if find(&from, fixed, 0).is_none() || find(&to, fixed, 0).is_none() {
                let was = from.iter().find(|field| !field.ty.nullable).map_or("nothing", |field| &field.name);
                return Err(Error::incompatible(format!("the state is of `{was}`, and the query needs `{fixed}`"))
                    .hint(ANOTHER_KEY)
                    .remedy(Remedy::AllowDroppedState));
            }
        }
        for together in &self.field_groups {
            let is_known = |name: &&String| find(&from, name, 0).is_some();
            if together.fields.iter().any(|name| is_known(&name)) && !together.fields.iter().all(|name| is_known(&name))
            {
                let known: Vec<String> =
                    together.fields.iter().filter(is_known).map(|name| format!("`{name}`")).collect();
                return Err(Error::incompatible(format!(
                    "{} needs more than the {} that is known of the rows so far",
                    together.what,
                    known.join(", ")
                ))
                .hint(
                    "write its argument differently, such as `x + 0` for `x`: the aggregate then begins with the rows to come",
                ));
            }
        }
        let mut changes = Vec::new();
        let conversion = self.fields(&from, &to, &mut changes)?;
        Ok((conversion, changes))
    }

    /// Fields under their own names; `None`: the first one's ending is another.
    fn plain(&self, fields: &[Field]) -> Option<Vec<Field>> {
        let mut fields = fields.to_vec();
        if let Some(first) = fields.first_mut() {
            first.name.truncate(first.name.strip_suffix(&self.first_name_ending)?.len());
        }
        Some(fields)
    }

    fn fields(&self, from: &[Field], to: &[Field], changes: &mut Vec<String>) -> Result<RowConversion> {
        check_ambiguous(from, to)?;
        let mut steps = Vec::with_capacity(to.len());
        for (index, field) in to.iter().enumerate() {
            steps.push(match find(from, &field.name, ordinal(to, index)) {
                Some(at) => Step::Take(at, self.widening(&field.name, &from[at].ty, &field.ty, changes)?),
                None => {
                    let value = self.begins_with(field)?;
                    changes.push(match (&value, self.accumulates) {
                        (_, true) => format!("`{}` is new: it counts from this checkpoint on", field.name),
                        (_, false) => format!("`{}` is new: NULL in the rows there are", field.name),
                    });
                    Step::New(value)
                }
            });
        }
        let is_gone = |index: &usize| find(to, &from[*index].name, ordinal(from, *index)).is_none();
        changes.extend((0..from.len()).filter(is_gone).map(|index| format!("`{}` goes", from[index].name)));
        let moved = steps.iter().filter_map(|step| if let Step::Take(at, _) = step { Some(*at) } else { None });
        if !moved.is_sorted() {
            changes.push("fields move".to_owned());
        }
        Ok(RowConversion(steps))
    }

    fn begins_with(&self, field: &Field) -> Result<Datum> {
        if !self.closed.is_empty() {
            return Err(Error::incompatible(format!("`{}` cannot be added: {}", field.name, self.closed)));
        }
        let FieldType { kind, nullable } = &field.ty;
        if *nullable {
            return Ok(Datum::Null);
        }
        let needed = || {
            Error::incompatible(format!(
                "the field `{}` is new and must have a value, which the rows there are cannot give",
                field.name
            ))
        };
        if !self.accumulates {
            return Err(needed());
        }
        Ok(match kind {
            DataKind::Bool => Datum::Bool(false),
            DataKind::Float32 | DataKind::Float64 => Datum::Float64(0.0),
            DataKind::Decimal { .. } => Datum::Decimal(0),
            DataKind::List(_) => Datum::List(Vec::new()),
            kind if kind.integer_range().is_some() => Datum::Int64(0),
            _ => return Err(needed()),
        })
    }

    fn widening(&self, name: &str, from: &FieldType, to: &FieldType, changes: &mut Vec<String>) -> Result<Widening> {
        let narrower = || {
            Error::incompatible(format!("the field `{name}` was {from} and is now {to}, which does not hold all of it"))
                .hint("types can become wider only: INT to BIGINT, FLOAT to DOUBLE, a DECIMAL of more digits")
        };
        if from.nullable && !to.nullable {
            return Err(narrower());
        }
        if from.kind == to.kind {
            return Ok(Widening::Same);
        }
        let widening = match (&from.kind, &to.kind) {
            (DataKind::List(from), DataKind::List(to)) => {
                return Ok(Widening::Elements(Box::new(self.widening(name, from, to, &mut Vec::new())?)));
            }
            // What changes within is what changes outside: the same fields are there.
            (DataKind::Struct(from), DataKind::Struct(to)) => {
                return self.fields(from, to, &mut Vec::new()).map(Widening::Fields);
            }
            (DataKind::Float32, DataKind::Float64) => Widening::Same,
            (
                DataKind::Decimal { precision: digits, scale: behind },
                DataKind::Decimal { precision: more_digits, scale: more_behind },
            ) => {
                let shift = more_behind.checked_sub(*behind).ok_or_else(narrower)?;
                if digits - behind > more_digits - more_behind {
                    return Err(narrower());
                }
                if shift == 0 { Widening::Same } else { Widening::Times(10i128.pow(u32::from(shift))) }
            }
            (was, is) if is_wider_integer(was, is) => Widening::Same,
            _ => return Err(narrower()),
        };
        changes.push(format!("`{name}` becomes {} instead of {}", to.kind, from.kind));
        Ok(widening)
    }
}

const ANOTHER_KEY: &str = "a changed key begins anew: give the query another sink table or `STATE_UID`";

/// Whether all values of an integer type are values of another. Dates and times are none.
fn is_wider_integer(from: &DataKind, to: &DataKind) -> bool {
    let width = |kind: &DataKind| match kind {
        DataKind::Int8 => Some(1),
        DataKind::Int16 => Some(2),
        DataKind::Int32 => Some(4),
        DataKind::Int64 => Some(8),
        _ => None,
    };
    width(from).zip(width(to)).is_some_and(|(from, to)| from <= to)
}

/// How many fields of the same name come before this one.
fn ordinal(fields: &[Field], index: usize) -> usize {
    fields[..index].iter().filter(|field| field.name == fields[index].name).count()
}

/// The field of this name before which `ordinal` of that name come.
fn find(fields: &[Field], name: &str, ordinal: usize) -> Option<usize> {
    (0..fields.len()).filter(|index| fields[*index].name == name).nth(ordinal)
}

/// Fields of the same name can be told apart by their order only, while there are as many of them.
fn check_ambiguous(from: &[Field], to: &[Field]) -> Result<()> {
    let count = |fields: &[Field], name: &str| fields.iter().filter(|field| field.name == name).count();
    for field in to {
        let (before, now) = (count(from, &field.name), count(to, &field.name));
        if before > 0 && before.max(now) > 1 && before != now {
            return Err(Error::incompatible(format!("which of the fields `{}` is which cannot be told", field.name)));
        }
    }
    Ok(())
}

impl RowConversion {
    /// The row under the new schema.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_state::ErrorKind::Corrupt) for a row that is not of the old schema.
    pub fn apply(&self, mut row: Vec<Datum>) -> Result<Vec<Datum>> {
        let misfit = || Error::corrupt("a row does not have the fields of its schema");
        let mut converted = Vec::with_capacity(self.0.len());
        for step in &self.0 {
            converted.push(match step {
                Step::New(datum) => datum.clone(),
                Step::Take(at, widening) => {
                    widening.apply(std::mem::take(row.get_mut(*at).ok_or_else(misfit)?)).ok_or_else(misfit)??
                }
            });
        }
        Ok(converted)
    }
}

impl Widening {
    /// The datum under the wider type; `None`: it is not of the old one.
    fn apply(&self, datum: Datum) -> Option<Result<Datum>> {
        Some(match (self, datum) {
            (Widening::Same, datum) => Ok(datum),
            (_, Datum::Null) => Ok(Datum::Null),
            (Widening::Times(factor), Datum::Decimal(unscaled)) => Ok(Datum::Decimal(unscaled.checked_mul(*factor)?)),
            (Widening::Elements(widening), Datum::List(elements)) => elements
                .into_iter()
                .map(|element| widening.apply(element))
                .collect::<Option<Result<_>>>()?
                .map(Datum::List),
            (Widening::Fields(conversion), Datum::Struct(fields)) => conversion.apply(fields).map(Datum::Struct),
            _ => return None,
        })
    }
}
