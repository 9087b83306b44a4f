//! Our dialect of `sqlparser`: the generic one with `TABLE t [PARTITION BY k, …]` as an argument, `` ` `` around names,
//! Flink's [JSON functions](json), and `MAP[…]`.

mod json;
mod syntax;

pub(crate) use syntax::{call, text};

use datafusion_sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion_sql::sqlparser::ast::{CaseWhen, CastKind, DataType, Expr, Ident, ObjectName};
use datafusion_sql::sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;
use std::any::TypeId;
use syntax::is_word;

/// The dialect of queries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeadpondDialect;

impl Dialect for HeadpondDialect {
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, c: char) -> bool {
        c == '`' || c == '"'
    }

    fn is_identifier_start(&self, c: char) -> bool {
        c.is_alphabetic() || c == '_'
    }

    fn is_identifier_part(&self, c: char) -> bool {
        c.is_alphanumeric() || c == '_'
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_group_by_expr(&self) -> bool {
        true
    }

    fn supports_match_recognize(&self) -> bool {
        true
    }

    fn supports_unicode_string_literal(&self) -> bool {
        true
    }

    fn supports_named_fn_args_with_rarrow_operator(&self) -> bool {
        true
    }

    fn supports_left_associative_joins_without_parens(&self) -> bool {
        true
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        is_json(parser).then(|| Ok(self.prec_value(Precedence::Is)))
    }

    fn parse_infix(&self, parser: &mut Parser, expr: &Expr, _precedence: u8) -> Option<Result<Expr, ParserError>> {
        is_json(parser).then(|| Ok(json::test(parser, expr.clone())))
    }

    /// Reads `TABLE name`, the argument of a windowing table function, as the name, and `TABLE name PARTITION BY k, …`
    /// as a tuple of the name and the columns.
    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        if let Some(call) = json::call(parser) {
            return Some(call);
        }
        if let Some(map) = map_literal(parser) {
            return Some(map);
        }
        if let Some(case) = case_of_value(parser) {
            return Some(case);
        }
        if let Some(cast) = cast(parser) {
            return Some(cast);
        }
        if let Some(trimmed) = trim_of_spaces(parser) {
            return Some(trimmed);
        }
        let is_name = matches!(parser.peek_nth_token_ref(1).token, Token::Word(_));
        if !is_name || !parser.peek_keyword(Keyword::TABLE) {
            return None;
        }
        parser.next_token();
        Some(parse_table(parser))
    }
}

/// `x IS [NOT] JSON [VALUE | OBJECT | ARRAY | SCALAR]`.
fn is_json(parser: &Parser) -> bool {
    let word = |index: usize, expected: &str| is_word(parser, index, expected);
    word(0, "IS") && (word(1, "JSON") || word(1, "NOT") && word(2, "JSON"))
}

/// `MAP[key, value, …]`.
fn map_literal(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let is_map = is_word(parser, 0, "MAP") && parser.peek_nth_token_ref(1).token == Token::LBracket;
    is_map.then(|| {
        parser.next_token();
        parser.next_token();
        let values = parser.parse_comma_separated0(Parser::parse_expr, Token::RBracket)?;
        parser.expect_token(&Token::RBracket)?;
        Ok(call("MAP", values))
    })
}

/// `CAST(x AS type)` and `TRY_CAST`, with all types that tables have.
fn cast(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let kind = match () {
        () if is_word(parser, 0, "CAST") => CastKind::Cast,
        () if is_word(parser, 0, "TRY_CAST") => CastKind::TryCast,
        () => return None,
    };
    if parser.peek_nth_token_ref(1).token != Token::LParen {
        return None;
    }
    parser.next_token();
    parser.next_token();
    let parse = || {
        let expr = Box::new(parser.parse_expr()?);
        parser.expect_keyword_is(Keyword::AS)?;
        // `sqlparser` does not know the types of rows and maps: they go on as they are written.
        let nested = ["ROW", "MAP", "ARRAY", "STRUCT"].into_iter().any(|name| is_word(parser, 0, name));
        let data_type = match nested {
            true => DataType::Custom(ObjectName::from(vec![Ident::new(type_text(parser))]), Vec::new()),
            false => parser.parse_data_type()?,
        };
        parser.expect_token(&Token::RParen)?;
        Ok(Expr::Cast { kind, expr, data_type, format: None, array: false })
    };
    Some(parse())
}

/// Takes a type up to the parenthesis that ends what it stands in.
fn type_text(parser: &mut Parser) -> String {
    let (mut text, mut depth) = (String::new(), 0);
    loop {
        match &parser.peek_token_ref().token {
            Token::EOF => return text,
            Token::RParen if depth == 0 => return text,
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        text.push_str(&parser.next_token().to_string());
        text.push(' ');
    }
}

/// `TRIM(BOTH FROM x)`, without the characters.
fn trim_of_spaces(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let sides = [("BOTH", "BTRIM"), ("LEADING", "LTRIM"), ("TRAILING", "RTRIM")];
    let (_, name) = sides.into_iter().find(|(side, _)| is_word(parser, 2, side))?;
    let is_trim = is_word(parser, 0, "TRIM") && parser.peek_nth_token_ref(1).token == Token::LParen;
    if !is_trim || !is_word(parser, 3, "FROM") {
        return None;
    }
    (0..4).for_each(|_| {
        parser.next_token();
    });
    let mut parse = || {
        let text = parser.parse_expr()?;
        parser.expect_token(&Token::RParen)?;
        Ok(call(name, vec![text]))
    };
    Some(parse())
}

/// `CASE x WHEN 1 THEN …`; with lists, such as `WHEN 1, 2`, as `CASE WHEN x IN (1, 2) THEN …`.
fn case_of_value(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    if !is_word(parser, 0, "CASE") || is_word(parser, 1, "WHEN") {
        return None;
    }
    parser.next_token();
    let mut parse = || {
        let operand = Box::new(parser.parse_expr()?);
        let mut branches = Vec::new();
        while parser.parse_keyword(Keyword::WHEN) {
            let values = parser.parse_comma_separated(Parser::parse_expr)?;
            parser.expect_keyword_is(Keyword::THEN)?;
            branches.push((values, parser.parse_expr()?));
        }
        let else_result = match parser.parse_keyword(Keyword::ELSE) {
            true => Some(Box::new(parser.parse_expr()?)),
            false => None,
        };
        parser.expect_keyword_is(Keyword::END)?;
        let has_lists = branches.iter().any(|(values, _)| values.len() > 1);
        let condition = |mut values: Vec<Expr>| match values.pop() {
            Some(value) if !has_lists => value,
            last => {
                values.extend(last);
                Expr::InList { expr: operand.clone(), list: values, negated: false }
            }
        };
        let conditions =
            branches.into_iter().map(|(values, result)| CaseWhen { condition: condition(values), result }).collect();
        let token = AttachedToken::empty;
        let operand = (!has_lists).then_some(operand);
        Ok(Expr::Case { case_token: token(), end_token: token(), operand, conditions, else_result })
    };
    Some(parse())
}

fn parse_table(parser: &mut Parser) -> Result<Expr, ParserError> {
    let name = Expr::Identifier(parser.parse_identifier()?);
    if !parser.parse_keywords(&[Keyword::PARTITION, Keyword::BY]) {
        return Ok(name);
    }
    let mut parts = vec![name];
    if parser.consume_token(&Token::LParen) {
        parts.extend(parser.parse_comma_separated(Parser::parse_identifier)?.into_iter().map(Expr::Identifier));
        parser.expect_token(&Token::RParen)?;
        return Ok(Expr::Tuple(parts));
    }
    parts.push(Expr::Identifier(parser.parse_identifier()?));
    // What follows a comma is the next argument, unless it is a name alone.
    let is_column = |parser: &Parser| {
        let ahead = |index: usize| &parser.peek_nth_token_ref(index).token;
        *ahead(0) == Token::Comma
            && matches!(ahead(1), Token::Word(_))
            && matches!(ahead(2), Token::Comma | Token::RParen)
    };
    while is_column(parser) {
        parser.next_token();
        parts.push(Expr::Identifier(parser.parse_identifier()?));
    }
    Ok(Expr::Tuple(parts))
}
