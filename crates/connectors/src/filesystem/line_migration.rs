//! Lines of a table whose columns have changed: what a current row becomes, without its values being known.
//!
//! A line is cut into its columns, which are put together anew: those that stay as they are, NULL for those that come.
//! What is printed is no form to read, so columns can only be added behind such a line.

use crate::csv::Dialect;
use crate::values::sql_type;
use arrow_schema::{DataType, Schema};
use headpond_runtime::{Error, Result};
use std::iter::once;

/// How lines are written.
#[derive(Debug, Clone)]
pub(crate) enum LineForm {
    /// `{"name":value,…}`
    Json,
    /// Fields between delimiters, some in quotes.
    Csv(Dialect),
    /// `+I[value, …]`
    Print,
}

/// What becomes of a line.
#[derive(Debug)]
pub(super) struct LineMigration {
    form: LineForm,
    /// The number of columns before.
    before: usize,
    /// For each column its place before; `None`: it is new.
    columns: Vec<Option<usize>>,
    /// What new columns are, in JSON with their names.
    new: Vec<Vec<u8>>,
    /// What changes, for people.
    pub(super) changes: Vec<String>,
}

impl LineMigration {
    /// From lines of the columns `before`, as a state's schema lists them, to lines of `schema`.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_runtime::ErrorKind::Incompatible) for a change that such lines do not bear.
    pub(super) fn new(form: &LineForm, before: &str, schema: &Schema) -> Result<Self> {
        let before = listed(before);
        let mut changes = Vec::new();
        let mut columns = Vec::with_capacity(schema.fields().len());
        let mut new = Vec::with_capacity(schema.fields().len());
        for field in schema.fields() {
            let (name, is) = (field.name(), sql_type(field.data_type()));
            let of_name = |column: &str| {
                column.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix(' ').map(str::to_owned))
            };
            let found = before.iter().enumerate().find_map(|(index, column)| Some((index, of_name(column)?)));
            columns.push(match found {
                Some((index, was)) if was == is => Some(index),
                Some((index, was)) if is_narrower(&was, field.data_type()) => {
                    changes.push(format!("column `{name}` becomes {is} instead of {was}"));
                    Some(index)
                }
                Some((_, was)) => {
                    return Err(Error::incompatible(format!("the table's column `{name}` was {was} and is now {is}"))
                        .hint(
                            "types can become wider only: INT to BIGINT, FLOAT to DOUBLE, a DECIMAL of more digits",
                        ));
                }
                None => {
                    changes.push(format!("column `{name}` is new: NULL in the rows there are"));
                    None
                }
            });
            new.push(form.null(name));
        }
        let gone = before.iter().enumerate().filter(|(index, _)| !columns.contains(&Some(*index)));
        changes.extend(gone.map(|(_, column)| format!("column `{column}` goes")));
        if !columns.iter().flatten().is_sorted() {
            changes.push("columns move".to_owned());
        }
        let appends = columns.iter().take(before.len()).copied().eq((0..before.len()).map(Some));
        if matches!(form, LineForm::Print) && !appends {
            return Err(Error::incompatible("to rows that are printed, columns can only be added behind the others"));
        }
        Ok(LineMigration { form: form.clone(), before: before.len(), columns, new, changes })
    }

    /// Appends what the line becomes.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_runtime::ErrorKind::Corrupt) for a line that is not of the columns before.
    pub(super) fn convert(&self, line: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let misfit = || Error::corrupt("a stored line does not have the columns of its table");
        let (begin, separator, end) = self.form.frame();
        let inner = line.strip_prefix(begin).and_then(|line| line.strip_suffix(end)).ok_or_else(misfit)?;
        out.extend_from_slice(begin);
        if let LineForm::Print = self.form {
            out.extend_from_slice(inner);
            for null in &self.new[self.before..] {
                out.extend_from_slice(&separator);
                out.extend_from_slice(null);
            }
        } else {
            let fields = self.form.fields(inner);
            if fields.len() != self.before {
                return Err(misfit());
            }
            for (index, (column, null)) in self.columns.iter().zip(&self.new).enumerate() {
                if index > 0 {
                    out.extend_from_slice(&separator);
                }
                out.extend_from_slice(column.map_or(null, |column| fields[column]));
            }
        }
        out.extend_from_slice(end);
        Ok(())
    }
}

impl LineForm {
    /// What a line begins with, what is between its columns, and what it ends with.
    fn frame(&self) -> (&'static [u8], Vec<u8>, &'static [u8]) {
        match self {
            LineForm::Json => (b"{", b",".to_vec(), b"}\n"),
            LineForm::Csv(dialect) => (b"", vec![dialect.delimiter], b"\n"),
            LineForm::Print => (b"+I[", b", ".to_vec(), b"]\n"),
        }
    }

    /// A column that is NULL.
    fn null(&self, name: &str) -> Vec<u8> {
        match self {
            LineForm::Json => {
                let mut member = Vec::new();
                crate::json::writer::write_string(name, &mut member);
                member.extend_from_slice(b":null");
                member
            }
            LineForm::Csv(dialect) => dialect.null_literal.clone().unwrap_or_default(),
            LineForm::Print => b"null".to_vec(),
        }
    }

    /// The columns between the beginning and the end of a line: members of an object, fields.
    fn fields<'l>(&self, inner: &'l [u8]) -> Vec<&'l [u8]> {
        let (delimiter, quote, escape, nests) = match self {
            LineForm::Csv(dialect) => (dialect.delimiter, dialect.quote, dialect.escape, false),
            LineForm::Json | LineForm::Print => (b',', Some(b'"'), Some(b'\\'), true),
        };
        let (mut quoted, mut depth, mut escaped) = (false, 0usize, false);
        let mut ends = Vec::new();
        for (at, &byte) in inner.iter().enumerate() {
            if std::mem::take(&mut escaped) {
                continue;
            }
            match byte {
                _ if quoted && Some(byte) == escape => escaped = true,
                // A doubled quote closes and opens.
                _ if Some(byte) == quote => quoted = !quoted,
                _ if quoted => {}
                b'{' | b'[' if nests => depth += 1,
                b'}' | b']' if nests => depth = depth.saturating_sub(1),
                _ if byte == delimiter && depth == 0 => ends.push(at),
                _ => {}
            }
        }
        let begins = once(0).chain(ends.iter().map(|end| end + 1));
        begins.zip(ends.iter().copied().chain(once(inner.len()))).map(|(begin, end)| &inner[begin..end]).collect()
    }
}

/// Columns with their types, as they are listed; types have commas of their own.
fn listed(columns: &str) -> Vec<String> {
    let mut depth = 0usize;
    let mut listed = vec![String::new()];
    for part in columns.split_inclusive(", ") {
        if let Some(last) = listed.last_mut() {
            last.push_str(part);
        }
        let (opened, closed) = (part.matches(['(', '<']).count(), part.matches([')', '>']).count());
        depth = (depth + opened).saturating_sub(closed);
        if depth == 0 && part.ends_with(", ") {
            listed.push(String::new());
        }
    }
    listed.iter().map(|column| column.strip_suffix(", ").unwrap_or(column).to_owned()).collect()
}

/// Whether lines of a type that was written so are lines of this wider type, too.
fn is_narrower(was: &str, is: &DataType) -> bool {
    match is {
        DataType::Int64 => matches!(was, "INT" | "SMALLINT" | "TINYINT"),
        DataType::Int32 => matches!(was, "SMALLINT" | "TINYINT"),
        DataType::Int16 => was == "TINYINT",
        DataType::Float64 => was == "FLOAT",
        DataType::Decimal128(precision, scale) => {
            let digits = was.strip_prefix("DECIMAL(").and_then(|rest| rest.strip_suffix(')'));
            let digits = digits.and_then(|digits| digits.split_once(", "));
            let digits = digits.and_then(|(all, behind)| Some((all.parse::<u8>().ok()?, behind.parse::<i8>().ok()?)));
            digits.is_some_and(|(all, behind)| all <= *precision && behind == *scale)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::Field;

    fn converted(form: &LineForm, before: &str, columns: &[(&str, DataType)], line: &str) -> Result<String> {
        let fields: Vec<Field> = columns.iter().map(|(name, ty)| Field::new(*name, ty.clone(), true)).collect();
        let mut out = Vec::new();
        LineMigration::new(form, before, &Schema::new(fields))?.convert(line.as_bytes(), &mut out)?;
        Ok(String::from_utf8(out).expect("text"))
    }

    #[test]
    fn members_of_json_go_move_and_come() {
        let before = "k STRING, n INT, price DECIMAL(10, 2)";
        let columns = [("n", DataType::Int64), ("k", DataType::Utf8), ("more, \"or\" less", DataType::Float64)];
        let line = "{\"k\":\"a,\\\"{b\",\"n\":1,\"price\":1.50}\n";
        let expected = "{\"n\":1,\"k\":\"a,\\\"{b\",\"more, \\\"or\\\" less\":null}\n";
        assert_eq!(converted(&LineForm::Json, before, &columns, line).expect("converted"), expected);
    }

    #[test]
    fn columns_are_added_behind_what_is_printed_and_nowhere_else() {
        let columns = [("k", DataType::Utf8), ("n", DataType::Int64)];
        let added = converted(&LineForm::Print, "k STRING", &columns, "+I[a, ]]\n").expect("converted");
        assert_eq!(added, "+I[a, ], null]\n");
        let gone = converted(&LineForm::Print, "n BIGINT, k STRING", &columns, "+I[1, a]\n").unwrap_err();
        assert_eq!(gone.kind(), headpond_runtime::ErrorKind::Incompatible);
    }
}
