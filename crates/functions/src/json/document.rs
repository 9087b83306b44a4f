//! Building or checking one whole JSON value: without recursion, so depth costs no stack.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::json::lexer::Lexer;
use crate::json::value::Value;

enum Open<'a> {
    Array(Vec<Value<'a>>),
    Object(Members<'a>, Cow<'a, str>),
}

impl<'a> Lexer<'a> {
    /// Builds the value that begins here; without recursion, so depth costs no stack.
    pub fn value(&mut self) -> Result<Value<'a>, String> {
        let mut open: Vec<Open<'a>> = Vec::new();
        loop {
            self.space();
            let mut done = match self.peek() {
                Some(b'[') => {
                    self.enter()?;
                    self.space();
                    if !self.take(b']') {
                        open.push(Open::Array(Vec::new()));
                        continue;
                    }
                    self.leave();
                    Value::Array(Vec::new())
                }
                Some(b'{') => {
                    self.enter()?;
                    self.space();
                    if !self.take(b'}') {
                        let key = self.key()?;
                        open.push(Open::Object(Members::default(), key));
                        continue;
                    }
                    self.leave();
                    Value::Object(Vec::new())
                }
                _ => self.scalar()?,
            };
            // Closes as many containers as end here.
            loop {
                done = match open.pop() {
                    None => return Ok(done),
                    Some(Open::Array(mut items)) => {
                        items.push(done);
                        if self.more(b']')? {
                            open.push(Open::Array(items));
                            break;
                        }
                        Value::Array(items)
                    }
                    Some(Open::Object(mut members, key)) => {
                        members.put(key, done);
                        if self.more(b'}')? {
                            let key = self.key()?;
                            open.push(Open::Object(members, key));
                            break;
                        }
                        Value::Object(members.list)
                    }
                };
            }
        }
    }

    /// Checks and steps over the value that begins here, building nothing.
    pub fn skip(&mut self) -> Result<(), String> {
        // One entry for each open container: true for an object.
        let mut open: Vec<bool> = Vec::new();
        loop {
            self.space();
            match self.peek() {
                Some(b'[') => {
                    self.enter()?;
                    self.space();
                    if !self.take(b']') {
                        open.push(false);
                        continue;
                    }
                    self.leave();
                }
                Some(b'{') => {
                    self.enter()?;
                    self.space();
                    if !self.take(b'}') {
                        open.push(true);
                        self.skip_key()?;
                        continue;
                    }
                    self.leave();
                }
                Some(b'"') => {
                    self.scan_string()?;
                }
                _ => {
                    self.scalar()?;
                }
            }
            loop {
                let Some(&object) = open.last() else { return Ok(()) };
                if self.more(if object { b'}' } else { b']' })? {
                    if object {
                        self.skip_key()?;
                    }
                    break;
                }
                open.pop();
            }
        }
    }

    fn skip_key(&mut self) -> Result<(), String> {
        self.space();
        if self.peek() != Some(b'"') {
            return Err(self.error("a key in double quotes"));
        }
        self.scan_string()?;
        self.colon()
    }
}

/// Members while an object is read: of equal keys the last value stays, at the first one's place.
#[derive(Default)]
struct Members<'a> {
    list: Vec<(Cow<'a, str>, Value<'a>)>,
    // Filled once there are too many keys to compare one by one.
    index: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Members<'a> {
    fn put(&mut self, key: Cow<'a, str>, value: Value<'a>) {
        const FEW: usize = 16;
        let found = if self.list.len() < FEW {
            self.list.iter().position(|(known, _)| *known == key)
        } else {
            if self.index.is_empty() {
                self.index = self.list.iter().enumerate().map(|(at, (known, _))| (known.clone(), at)).collect();
            }
            self.index.get(&key).copied()
        };
        if let Some(slot) = found.and_then(|at| self.list.get_mut(at)) {
            slot.1 = value;
            return;
        }
        if self.list.len() >= FEW {
            self.index.insert(key.clone(), self.list.len());
        }
        self.list.push((key, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_jackson_takes() {
        for text in [
            "1 2",
            "{} x",
            "\"a\"b",
            " 12 ",
            "true,",
            "null",
            "-0",
            "1.50",
            "1E5",
            "[1,2]x",
            "\"\u{7f}é\"",
            "[]",
            "{\"a\":{}}",
        ] {
            assert!(Lexer::new(text).skip().is_ok(), "{text}");
            assert!(Lexer::new(text).value().is_ok(), "{text}");
        }
    }

    #[test]
    fn refuses_what_jackson_refuses() {
        for text in [
            "",
            " ",
            "not json",
            "NaN",
            "'a'",
            "01",
            "-01",
            "+1",
            ".5",
            "1.",
            "1e",
            "-",
            "12abc",
            "12,",
            "truex",
            "{a:1}",
            "{\"a\" 1}",
            "[1,]",
            "{\"a\":1,}",
            "[1",
            "{\"a\":1",
            "\"a",
            "\"\n\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "/* */1",
            "\u{feff}1",
            "1e99999999999",
            "[1 2]",
            "{,}",
            "]",
            "{\"a\":}",
        ] {
            assert!(Lexer::new(text).skip().is_err(), "{text}");
            assert!(Lexer::new(text).value().is_err(), "{text}");
        }
    }

    #[test]
    fn depth_is_limited() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Lexer::new(&nested(1000)).value().is_ok());
        assert!(Lexer::new(&nested(1001)).value().is_err());
        assert!(Lexer::new(&nested(100_000)).skip().is_err());
    }

    #[test]
    fn duplicate_keys() {
        let Value::Object(members) = Lexer::new(r#"{"a":1,"b":2,"a":3}"#).value().unwrap() else { panic!() };
        assert_eq!(members.len(), 2);
        assert_eq!(members[0].1.to_json(), "3");
        let many: String = (0..40).map(|i| format!("\"k{}\":{i},", i % 20)).collect();
        let text = format!("{{{many}\"k0\":99}}");
        let Value::Object(members) = Lexer::new(&text).value().unwrap() else { panic!() };
        assert_eq!((members.len(), members[0].1.to_json().as_str()), (20, "99"));
    }
}
