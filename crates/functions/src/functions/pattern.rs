//! Functions of patterns: LIKE, SIMILAR TO, regular expressions, formats.

use super::text_error::failed;
use crate::bind::{Bind, Bound, Category, Function, Parameter};
use crate::bound::Kernel;
use crate::columns::{Texts, build_booleans, build_ints, build_slices, build_texts};
use crate::common_type::{array_type, is_number, is_text};
use crate::text::{self, JavaRegex, LikePattern, SimilarPattern, TextResult};
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_schema::{DataType, Field};
use headpond_state::Error;
use std::sync::Arc;

const CHAPTER: Category = Category::Pattern;

pub(super) const FUNCTIONS: &[Function] = &[
    function!(
        &["LIKE"],
        "text [NOT] LIKE pattern [ESCAPE character]",
        "Whether a text has the form of a pattern: `_` is any character, `%` any text; nothing escapes them unless said.",
        &[("'Hello' LIKE 'He%'", "true")],
        like
    ),
    function!(
        &["ILIKE"],
        "text [NOT] ILIKE pattern [ESCAPE character]",
        "As LIKE, whatever the case of letters. Headpond's own.",
        &[("'Hello' ILIKE 'he%'", "true")],
        ilike
    ),
    function!(
        &["SIMILAR TO"],
        "text [NOT] SIMILAR TO pattern [ESCAPE character]",
        "Whether a text has the form of a regular expression of SQL.",
        &[("'abc' SIMILAR TO '(a|b)%'", "true")],
        similar
    ),
    function!(
        &["REGEXP", "RLIKE"],
        "REGEXP(text, pattern)",
        "Whether a regular expression of Java is found in a text; false for an empty one, and for one that is wrong.",
        &[("REGEXP('abc', '^a')", "true")],
        |call| {
            let arguments = call.take(&[Parameter::Text, Parameter::Text], 0)?;
            let kernel: Kernel = Arc::new(|arguments| {
                let (texts, patterns) = (arguments.texts(0)?, arguments.texts(1)?);
                let mut compiled = Compiled::new(&patterns, JavaRegex::lenient);
                build_booleans(arguments.rows, |row| {
                    let (Some(text), Some(pattern)) = (texts.get(row), compiled.of(&patterns, row)?) else {
                        return Ok(None);
                    };
                    text::regexp(text, pattern.as_ref()).map(Some).map_err(failed)
                })
            });
            Ok(call.bound(arguments, DataType::Boolean, kernel))
        }
    ),
    function!(
        &["REGEXP_EXTRACT"],
        "REGEXP_EXTRACT(text, pattern[, group])",
        "What a group of a regular expression, or all of it, first matches; NULL if nothing does.",
        &[("REGEXP_EXTRACT('foothebar', 'foo(.*?)(bar)', 2)", "bar")],
        extract
    ),
    function!(
        &["REGEXP_EXTRACT_ALL"],
        "REGEXP_EXTRACT_ALL(text, pattern[, group])",
        "What a group, the first unless said, matches wherever a regular expression is found.",
        &[("REGEXP_EXTRACT_ALL('100-200, 300-400', '(\\d+)-(\\d+)', 1)", "[100, 300]")],
        extract_all
    ),
    function!(
        &["REGEXP_REPLACE"],
        "REGEXP_REPLACE(text, pattern, with)",
        "The text with another, taken as it is, wherever a regular expression is found.",
        &[("REGEXP_REPLACE('foobar', 'oo|ar', '')", "fb")],
        replace
    ),
    function!(
        &["REGEXP_COUNT"],
        "REGEXP_COUNT(text, pattern)",
        "How often a regular expression is found.",
        &[("REGEXP_COUNT('aXbX', 'X')", "2")],
        |call| to_int(call, text::regexp_count)
    ),
    function!(
        &["REGEXP_INSTR"],
        "REGEXP_INSTR(text, pattern)",
        "Where a regular expression is first found, counted from 1; 0 if it is not.",
        &[("REGEXP_INSTR('abcXY', 'X')", "4")],
        |call| to_int(call, text::regexp_instr)
    ),
    function!(
        &["REGEXP_SUBSTR"],
        "REGEXP_SUBSTR(text, pattern)",
        "What a regular expression first matches; NULL if nothing does.",
        &[("REGEXP_SUBSTR('abc12', '[0-9]+')", "12")],
        |call| {
            let arguments = call.take(&[Parameter::Text, Parameter::Text], 0)?;
            let kernel: Kernel = Arc::new(|arguments| {
                let (texts, patterns) = (arguments.texts(0)?, arguments.texts(1)?);
                let mut compiled = Compiled::new(&patterns, JavaRegex::lenient);
                build_slices(arguments.rows, |row| {
                    let (Some(text), Some(pattern)) = (texts.get(row), compiled.of(&patterns, row)?) else {
                        return Ok(None);
                    };
                    text::regexp_substr(text, pattern.as_ref()).map_err(failed)
                })
            });
            Ok(call.bound(arguments, DataType::Utf8, kernel))
        }
    ),
    Function {
        names: &["PRINTF"],
        category: Category::Text,
        syntax: "PRINTF(format, value, …)",
        doc: "Values in a format of Java's Formatter.",
        examples: &[("PRINTF('%d %s', 1, 'a')", "1 a")],
        bind: printf,
    },
];

/// The patterns of rows, compiled anew only where they change.
struct Compiled<P> {
    compile: fn(&str) -> TextResult<P>,
    last: Option<(String, P)>,
}

impl<P> Compiled<P> {
    fn new(_patterns: &Texts, compile: fn(&str) -> TextResult<P>) -> Self {
        Compiled { compile, last: None }
    }

    /// The pattern of a row; `None` where it is NULL.
    fn of(&mut self, patterns: &Texts, row: usize) -> Result<Option<&P>, Error> {
        let Some(pattern) = patterns.get(row) else { return Ok(None) };
        if self.last.as_ref().is_none_or(|(last, _)| last != pattern) {
            self.last = Some((pattern.to_owned(), (self.compile)(pattern).map_err(failed)?));
        }
        Ok(self.last.as_ref().map(|(_, compiled)| compiled))
    }
}

/// The text, the pattern and, maybe, the character that escapes.
fn matching<P: 'static>(
    call: &Bind<'_>,
    compile: fn(&str, Option<&str>) -> TextResult<P>,
    is_match: fn(&P, &str) -> TextResult<bool>,
) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text; 3], 1)?;
    // A pattern that is wrong is said before a row comes.
    if let Some(pattern) = call.literal_text(1) {
        compile(pattern, call.literal_text(2)).map_err(failed)?;
    }
    let kernel: Kernel = Arc::new(move |arguments| {
        let (texts, patterns) = (arguments.texts(0)?, arguments.texts(1)?);
        let escapes = if arguments.values.len() > 2 { Some(arguments.texts(2)?) } else { None };
        let mut last: Option<(String, Option<String>, P)> = None;
        build_booleans(arguments.rows, |row| {
            let (Some(text), Some(pattern)) = (texts.get(row), patterns.get(row)) else { return Ok(None) };
            let escape = match &escapes {
                Some(escapes) => match escapes.get(row) {
                    None => return Ok(None),
                    some => some,
                },
                None => None,
            };
            if last.as_ref().is_none_or(|(of, by, _)| of != pattern || by.as_deref() != escape) {
                let compiled = compile(pattern, escape).map_err(failed)?;
                last = Some((pattern.to_owned(), escape.map(str::to_owned), compiled));
            }
            let Some((_, _, compiled)) = &last else { return Ok(None) };
            is_match(compiled, text).map(Some).map_err(failed)
        })
    });
    Ok(call.bound(arguments, DataType::Boolean, kernel))
}

fn like(call: &Bind<'_>) -> Result<Bound, Error> {
    matching(call, LikePattern::new, |pattern, text| Ok(pattern.is_match(text)))
}

fn ilike(call: &Bind<'_>) -> Result<Bound, Error> {
    matching(
        call,
        |pattern, escape| LikePattern::new(&pattern.to_lowercase(), escape),
        |pattern, text| Ok(pattern.is_match(&text.to_lowercase())),
    )
}

fn similar(call: &Bind<'_>) -> Result<Bound, Error> {
    matching(call, SimilarPattern::new, SimilarPattern::is_match)
}

fn extract(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text, Parameter::Whole], 1)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, patterns) = (arguments.texts(0)?, arguments.texts(1)?);
        let groups = if arguments.values.len() > 2 { Some(arguments.longs(2)?) } else { None };
        let mut compiled = Compiled::new(&patterns, JavaRegex::lenient);
        build_slices(arguments.rows, |row| {
            let (Some(text), Some(pattern)) = (texts.get(row), compiled.of(&patterns, row)?) else { return Ok(None) };
            let group = match &groups {
                Some(groups) => groups.get(row),
                None => Some(0),
            };
            let Some(group) = group else { return Ok(None) };
            text::regexp_extract(text, pattern.as_ref(), group).map_err(failed)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn extract_all(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text, Parameter::Whole], 1)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, patterns) = (arguments.texts(0)?, arguments.texts(1)?);
        let groups = if arguments.values.len() > 2 { Some(arguments.longs(2)?) } else { None };
        let mut compiled = Compiled::new(&patterns, JavaRegex::lenient);
        let mut lists = ListBuilder::new(StringBuilder::new()).with_field(Field::new("item", DataType::Utf8, true));
        for row in 0..arguments.rows {
            let group = match &groups {
                Some(groups) => groups.get(row),
                None => Some(1),
            };
            let found = match (texts.get(row), compiled.of(&patterns, row)?, group) {
                (Some(text), Some(pattern), Some(group)) => {
                    text::regexp_extract_all(text, pattern.as_ref(), group).map_err(failed)?
                }
                _ => None,
            };
            found.iter().flatten().for_each(|part| lists.values().append_option(*part));
            lists.append(found.is_some());
        }
        Ok(Arc::new(lists.finish()))
    });
    Ok(call.bound(arguments, array_type(DataType::Utf8), kernel))
}

fn replace(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text; 3], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, patterns, others) = (arguments.texts(0)?, arguments.texts(1)?, arguments.texts(2)?);
        let mut compiled = Compiled::new(&patterns, JavaRegex::lenient);
        build_texts(arguments.rows, |row, out| {
            let (Some(text), Some(other)) = (texts.get(row), others.get(row)) else { return Ok(false) };
            let Some(pattern) = compiled.of(&patterns, row)? else { return Ok(false) };
            let replaced = text::regexp_replace(text, pattern.as_ref(), other).map_err(failed)?;
            Ok(replaced.inspect(|replaced| out.push_str(replaced)).is_some())
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn to_int(call: &Bind<'_>, compute: fn(&str, Option<&JavaRegex>) -> TextResult<Option<i32>>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let (texts, patterns) = (arguments.texts(0)?, arguments.texts(1)?);
        let mut compiled = Compiled::new(&patterns, JavaRegex::lenient);
        build_ints(arguments.rows, |row| {
            let (Some(text), Some(pattern)) = (texts.get(row), compiled.of(&patterns, row)?) else { return Ok(None) };
            compute(text, pattern.as_ref()).map_err(failed)
        })
    });
    Ok(call.bound(arguments, DataType::Int32, kernel))
}

fn printf(call: &Bind<'_>) -> Result<Bound, Error> {
    let (format, values) = call.types.split_first().ok_or_else(|| call.wrong())?;
    let taken = |of: &DataType| is_text(of) || is_number(of) || matches!(of, DataType::Boolean | DataType::Null);
    if !(is_text(format) || format.is_null()) || !values.iter().all(taken) {
        return Err(call.wrong());
    }
    let mut arguments = vec![DataType::Utf8];
    arguments.extend(values.iter().map(|of| if of.is_null() { DataType::Utf8 } else { of.clone() }));
    let settings = Arc::clone(call.settings);
    let kernel: Kernel = Arc::new(move |arguments| super::printf::kernel(arguments, &settings));
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}
