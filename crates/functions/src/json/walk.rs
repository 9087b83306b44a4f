//! Finding the value of a path in a JSON text: in one pass for simple paths, else over the parsed document.

use crate::json::evaluate::{Context, read};
use crate::json::lexer::Lexer;
use crate::json::path::{Mode, Path, Step};
use crate::json::value::Value;

/// The value a path finds in a text. `None` if it finds nothing or null in lax mode, or the text is no JSON in lax
/// mode; an error in strict mode, and in both modes if the document is the word `null` or the path is none.
pub fn locate<'a>(text: &'a str, path: &Path) -> Result<Option<Value<'a>>, String> {
    let lax = path.mode() == Mode::Lax;
    let found = match (path.steps(), path.is_simple()) {
        (Ok(steps), true) => {
            let mut lexer = Lexer::new(text);
            lexer.space();
            let null = lexer.peek() == Some(b'n');
            walk(&mut lexer, steps).map(|found| if null { Err(NULL_DOCUMENT.into()) } else { Ok(found) })
        }
        (steps, _) => Value::parse(text).map(|root| {
            if root == Value::Null {
                return Err(NULL_DOCUMENT.into());
            }
            let context = Context { root: &root, suppress: lax, require: false };
            match read(steps?, &root, &context) {
                Ok(found) => Ok(found.map(std::borrow::Cow::into_owned)),
                Err(failure) => Err(failure.into_text()),
            }
        }),
    };
    let found = match found {
        Err(_) if lax => return Ok(None),
        Err(invalid) => return Err(invalid),
        Ok(found) => found?,
    };
    match found {
        Some(Value::Null) | None if lax => Ok(None),
        Some(Value::Null) => Err("the JSON path finds null, which strict mode refuses".into()),
        None => Err(format!("the JSON path finds no value: ${}", path.steps().map(describe).unwrap_or_default())),
        found => Ok(found),
    }
}

const NULL_DOCUMENT: &str = "the JSON document is null";

fn describe(steps: &[Step]) -> String {
    let one = |step: &Step| match step {
        Step::Property(names) => names.iter().map(|name| format!("['{name}']")).collect(),
        Step::Index(indexes) => indexes.iter().map(|index| format!("[{index}]")).collect(),
        _ => String::new(),
    };
    steps.iter().map(one).collect()
}

/// Walks to the value of a simple path; the text is checked to the end of its first value. Of equal keys the last
/// counts.
fn walk<'a>(lexer: &mut Lexer<'a>, steps: &[Step]) -> Result<Option<Value<'a>>, String> {
    let Some((step, rest)) = steps.split_first() else { return lexer.value().map(Some) };
    lexer.space();
    let mut found = None;
    match (step, lexer.peek()) {
        (Step::Property(names), Some(b'{')) => {
            lexer.enter()?;
            lexer.space();
            if lexer.take(b'}') {
                lexer.leave();
                return Ok(None);
            }
            loop {
                let key = lexer.key()?;
                if names.first().is_some_and(|name| *name == key) {
                    found = walk(lexer, rest)?;
                } else {
                    lexer.skip()?;
                }
                if !lexer.more(b'}')? {
                    return Ok(found);
                }
            }
        }
        (Step::Index(indexes), Some(b'[')) => {
            lexer.enter()?;
            lexer.space();
            if lexer.take(b']') {
                lexer.leave();
                return Ok(None);
            }
            let mut at = 0;
            loop {
                if indexes.first() == Some(&at) {
                    found = walk(lexer, rest)?;
                } else {
                    lexer.skip()?;
                }
                at += 1;
                if !lexer.more(b']')? {
                    return Ok(found);
                }
            }
        }
        _ => {
            lexer.skip()?;
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, path: &str) -> String {
        match locate(text, &Path::deferred(path)) {
            Ok(Some(value)) => value.to_json(),
            Ok(None) => "-".into(),
            Err(_) => "!".into(),
        }
    }

    #[test]
    fn one_pass_checks_the_whole_document() {
        for (text, path, wanted) in [
            (r#"{"a":{"b":[1,2]},"c":3}"#, "$.a.b[1]", "2"),
            (r#"{"a":1,"c":}"#, "$.a", "!"),
            (r#"{"a":1,"c":}"#, "lax $.a", "-"),
            (r#"{"a":1} x"#, "$.a", "1"),
            (r#"{"a":1,"a":2}"#, "$.a", "2"),
            (r#"{"a":{"b":1},"a":2}"#, "lax $.a.b", "-"),
            (r#"{"\u0061":1}"#, "$.a", "1"),
            ("[]", "$[0]", "!"),
            ("[]", "lax $[0]", "-"),
            ("null", "$", "!"),
            ("null", "lax $", "!"),
            ("null", "lax $.a", "!"),
            ("null", "lax $[*]", "!"),
            (r#"{"a":null}"#, "$.a", "!"),
            (r#"{"a":null}"#, "lax $.a", "-"),
            ("x", "lax $[", "-"),
            ("{}", "lax $[", "!"),
            ("not json", "$", "!"),
        ] {
            assert_eq!(found(text, path), wanted, "{text} {path}");
        }
    }
}
