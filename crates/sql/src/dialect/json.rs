//! Flink's JSON functions: `JSON_VALUE(doc, path RETURNING INT NULL ON EMPTY)` and its sisters.
//!
//! Their clauses become arguments: texts, in a fixed order, before or behind the others.

use super::syntax::{call as function, is_word, text};
use datafusion_sql::sqlparser::ast::{Expr, Value};
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

/// The call that begins here, if it is one of a JSON function with clauses.
pub(super) fn call(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let parse: fn(&mut Parser) -> Result<Expr, ParserError> = match () {
        () if is_word(parser, 0, "JSON_VALUE") => value,
        () if is_word(parser, 0, "JSON_QUERY") => query,
        () if is_word(parser, 0, "JSON_EXISTS") => exists,
        () if is_word(parser, 0, "JSON_OBJECT") => object,
        () if is_word(parser, 0, "JSON_ARRAY") => array,
        () => return None,
    };
    if parser.peek_nth_token_ref(1).token != Token::LParen {
        return None;
    }
    parser.next_token();
    parser.next_token();
    Some(parse(parser))
}

/// `x IS [NOT] JSON [kind]`, of which `x` has been read.
pub(super) fn test(parser: &mut Parser, expr: Expr) -> Expr {
    parser.next_token();
    let negated = words(parser, &["NOT"]);
    parser.next_token();
    let kind = ["VALUE", "OBJECT", "ARRAY", "SCALAR"].into_iter().find(|kind| words(parser, &[kind]));
    let test = function("IS_JSON", vec![expr, text(kind.unwrap_or("VALUE"))]);
    match negated {
        true => Expr::UnaryOp { op: datafusion_sql::sqlparser::ast::UnaryOperator::Not, expr: Box::new(test) },
        false => test,
    }
}

/// Takes these words, if all of them come next.
fn words(parser: &mut Parser, expected: &[&str]) -> bool {
    let all = expected.iter().enumerate().all(|(ahead, word)| is_word(parser, ahead, word));
    if all {
        expected.iter().for_each(|_| {
            parser.next_token();
        });
    }
    all
}

fn document_and_path(parser: &mut Parser) -> Result<Vec<Expr>, ParserError> {
    let document = parser.parse_expr()?;
    parser.expect_token(&Token::Comma)?;
    Ok(vec![document, parser.parse_expr()?])
}

fn returning(parser: &mut Parser) -> Result<Expr, ParserError> {
    if !words(parser, &["RETURNING"]) {
        return Ok(text("STRING"));
    }
    Ok(text(parser.parse_data_type()?.to_string()))
}

fn end(parser: &mut Parser, name: &str, arguments: Vec<Expr>) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::RParen)?;
    Ok(function(name, arguments))
}

fn null() -> Expr {
    Expr::Value(Value::Null.with_empty_span())
}

/// `JSON_VALUE(document, path, type, on empty, default, on error, default)`.
fn value(parser: &mut Parser) -> Result<Expr, ParserError> {
    let mut arguments = document_and_path(parser)?;
    arguments.push(returning(parser)?);
    let (mut on_empty, mut on_error) = (("NULL", null()), ("NULL", null()));
    loop {
        let behavior = if words(parser, &["NULL"]) {
            ("NULL", null())
        } else if words(parser, &["ERROR"]) {
            ("ERROR", null())
        } else if words(parser, &["DEFAULT"]) {
            ("DEFAULT", parser.parse_expr()?)
        } else {
            break;
        };
        if words(parser, &["ON", "EMPTY"]) {
            on_empty = behavior;
        } else if words(parser, &["ON", "ERROR"]) {
            on_error = behavior;
        } else {
            return parser.expected_ref("ON EMPTY or ON ERROR", parser.peek_token_ref());
        }
    }
    arguments.extend([text(on_empty.0), on_empty.1, text(on_error.0), on_error.1]);
    end(parser, "JSON_VALUE", arguments)
}

/// `JSON_QUERY(document, path, type, wrapper, on empty, on error)`.
fn query(parser: &mut Parser) -> Result<Expr, ParserError> {
    let mut arguments = document_and_path(parser)?;
    arguments.push(returning(parser)?);
    let wrapper = if words(parser, &["WITHOUT"]) {
        "WITHOUT"
    } else if words(parser, &["WITH", "CONDITIONAL"]) {
        "CONDITIONAL"
    } else if words(parser, &["WITH", "UNCONDITIONAL"]) || words(parser, &["WITH"]) {
        "UNCONDITIONAL"
    } else {
        ""
    };
    if !wrapper.is_empty() {
        words(parser, &["ARRAY"]);
        if !words(parser, &["WRAPPER"]) {
            return parser.expected_ref("WRAPPER", parser.peek_token_ref());
        }
    }
    let (mut on_empty, mut on_error) = ("NULL", "NULL");
    loop {
        let behaviors: [&[&str]; 4] = [&["NULL"], &["ERROR"], &["EMPTY", "ARRAY"], &["EMPTY", "OBJECT"]];
        let names = ["NULL", "ERROR", "EMPTY ARRAY", "EMPTY OBJECT"];
        let found = behaviors.iter().zip(names).find(|(behavior, _)| words(parser, behavior));
        let Some((_, behavior)) = found else { break };
        if words(parser, &["ON", "EMPTY"]) {
            on_empty = behavior;
        } else if words(parser, &["ON", "ERROR"]) {
            on_error = behavior;
        } else {
            return parser.expected_ref("ON EMPTY or ON ERROR", parser.peek_token_ref());
        }
    }
    let wrapper = if wrapper.is_empty() { "WITHOUT" } else { wrapper };
    arguments.extend([text(wrapper), text(on_empty), text(on_error)]);
    end(parser, "JSON_QUERY", arguments)
}

/// `JSON_EXISTS(document, path, on error)`.
fn exists(parser: &mut Parser) -> Result<Expr, ParserError> {
    let mut arguments = document_and_path(parser)?;
    let behavior = ["TRUE", "FALSE", "UNKNOWN", "ERROR"].into_iter().find(|behavior| words(parser, &[behavior]));
    if behavior.is_some() && !words(parser, &["ON", "ERROR"]) {
        return parser.expected_ref("ON ERROR", parser.peek_token_ref());
    }
    arguments.push(text(behavior.unwrap_or("FALSE")));
    end(parser, "JSON_EXISTS", arguments)
}

/// What a constructor does with values that are NULL.
fn on_null(parser: &mut Parser, otherwise: &'static str) -> &'static str {
    if words(parser, &["NULL", "ON", "NULL"]) {
        "NULL"
    } else if words(parser, &["ABSENT", "ON", "NULL"]) {
        "ABSENT"
    } else {
        otherwise
    }
}

/// Whether a value is JSON already, which a constructor takes as it is.
fn is_raw(value: &Expr) -> bool {
    let Expr::Function(function) = value else { return false };
    matches!(function.name.to_string().to_uppercase().as_str(), "JSON_OBJECT" | "JSON_ARRAY" | "JSON")
}

/// A constructor's call: what it does with NULL, which values are JSON (`1`) and which are not (`0`), and the values.
fn constructor(parser: &mut Parser, name: &str, on_null: &str, values: Vec<Expr>) -> Result<Expr, ParserError> {
    let raw: String = values.iter().map(|value| if is_raw(value) { '1' } else { '0' }).collect();
    let mut arguments = vec![text(on_null), text(raw)];
    arguments.extend(values);
    end(parser, name, arguments)
}

fn object(parser: &mut Parser) -> Result<Expr, ParserError> {
    let mut values = Vec::new();
    while parser.peek_token_ref().token != Token::RParen {
        if is_word(parser, 0, "NULL") || is_word(parser, 0, "ABSENT") {
            break;
        }
        if is_word(parser, 0, "KEY") {
            parser.next_token();
        }
        values.push(parser.parse_expr()?);
        if !words(parser, &["VALUE"]) {
            return parser.expected_ref("VALUE", parser.peek_token_ref());
        }
        values.push(parser.parse_expr()?);
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    let on_null = on_null(parser, "NULL");
    constructor(parser, "JSON_OBJECT", on_null, values)
}

fn array(parser: &mut Parser) -> Result<Expr, ParserError> {
    let mut values = Vec::new();
    let is_clause =
        |parser: &Parser| (is_word(parser, 0, "NULL") || is_word(parser, 0, "ABSENT")) && is_word(parser, 1, "ON");
    while parser.peek_token_ref().token != Token::RParen && !is_clause(parser) {
        values.push(parser.parse_expr()?);
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    let on_null = on_null(parser, "ABSENT");
    constructor(parser, "JSON_ARRAY", on_null, values)
}
