//! A JSON path, compiled once: its mode and its steps.

use crate::json::filter::Expression;
use crate::json::path_parser::parse_steps;

/// What a path does where the document lacks what it names: nothing (lax) or an error (strict).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Errors of structure give an empty result.
    Lax,
    /// Errors of structure are errors; the mode of a path that names none.
    Strict,
}

/// A function at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// The number of items or members; null for scalars.
    Length,
    /// The keys of an object; null for others.
    Keys,
    /// The sum of an array's numbers as a double.
    Sum,
    /// The mean of an array's numbers as a double.
    Avg,
    /// The least of an array's numbers as a double.
    Min,
    /// The greatest of an array's numbers as a double.
    Max,
    /// The strings of an array, joined.
    Concat,
    /// The first item of an array.
    First,
    /// The last item of an array.
    Last,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Members by name; several at the end of a path give an object of them.
    Property(Vec<String>),
    /// Items by index, counted from the end if negative.
    Index(Vec<i64>),
    /// A range of items.
    Slice(Option<i64>, Option<i64>),
    /// All members or items.
    Wildcard,
    /// All levels below; the next step says what is taken there.
    Scan,
    /// The items (or the object itself) for which the expression holds.
    Filter(Expression),
    /// A function of the value.
    Function(Function),
}

/// A compiled path, or the error to give for each document if its text is no path.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    mode: Mode,
    steps: Result<Vec<Step>, String>,
    simple: bool,
}

impl Path {
    /// Compiles a path; an error names the place that is not understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        let path = Self::deferred(text);
        match path.steps {
            Err(error) => Err(error),
            Ok(_) => Ok(path),
        }
    }

    /// Compiles a path as Flink does: a text that is no path takes the ON ERROR way for each document.
    pub fn deferred(text: &str) -> Self {
        let (mode, spec) = split_mode(text);
        let steps = parse_steps(spec, 0).map_err(|error| format!("invalid JSON path '{text}': {error}"));
        let simple = steps.as_ref().is_ok_and(|steps| {
            steps.iter().all(|step| match step {
                Step::Property(names) => names.len() == 1,
                Step::Index(indexes) => matches!(indexes.as_slice(), [index] if *index >= 0),
                _ => false,
            })
        });
        Self { mode, steps, simple }
    }

    /// Lax or strict.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The steps, or why there are none.
    pub fn steps(&self) -> Result<&[Step], &str> {
        self.steps.as_deref().map_err(String::as_str)
    }

    /// Whether there are only single names and indexes from the start, so that one pass over the text finds the value.
    pub fn is_simple(&self) -> bool {
        self.simple
    }
}

/// Whether a path gives one value, not a list.
pub fn is_definite(steps: &[Step]) -> bool {
    (0..steps.len()).all(|at| step_is_definite(steps, at))
}

/// Whether the step gives one value at most.
pub fn step_is_definite(steps: &[Step], at: usize) -> bool {
    match steps.get(at) {
        Some(Step::Property(names)) => names.len() == 1 || at + 1 == steps.len(),
        Some(Step::Index(indexes)) => indexes.len() == 1,
        Some(Step::Function(_)) | None => true,
        _ => false,
    }
}

fn split_mode(text: &str) -> (Mode, &str) {
    let space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}');
    let trimmed = text.trim_start_matches(space);
    for (word, mode) in [("strict", Mode::Strict), ("lax", Mode::Lax)] {
        let Some(head) = trimmed.get(..word.len()) else { continue };
        let rest = trimmed.get(word.len()..).unwrap_or_default();
        let spec = rest.trim_start_matches(space);
        if head.eq_ignore_ascii_case(word) && spec.len() < rest.len() && !spec.is_empty() {
            return (mode, spec);
        }
    }
    (Mode::Strict, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes() {
        for (text, mode) in
            [("$", Mode::Strict), ("lax $", Mode::Lax), (" STRICT  $.a", Mode::Strict), ("LAX\n$", Mode::Lax)]
        {
            assert_eq!(Path::parse(text).unwrap().mode(), mode, "{text}");
        }
        assert_eq!(Path::parse("lax").unwrap().steps().unwrap(), [Step::Property(vec!["lax".into()])]);
    }

    #[test]
    fn deferred_paths_keep_the_error() {
        assert!(Path::deferred("lax $[").steps().is_err());
        assert_eq!(Path::deferred("lax $[").mode(), Mode::Lax);
        for (text, definite) in
            [("$.a[0]", true), ("$['a','b']", true), ("$['a','b'].c", false), ("$..a", false), ("$.a.length()", true)]
        {
            assert_eq!(is_definite(Path::parse(text).unwrap().steps().unwrap()), definite, "{text}");
        }
    }
}
