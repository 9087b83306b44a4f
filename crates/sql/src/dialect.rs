//! Our dialect of `sqlparser`: the generic one with `TABLE t [PARTITION BY k, …]` as an argument and `` ` `` around
//! names.

use datafusion_sql::sqlparser::ast::Expr;
use datafusion_sql::sqlparser::dialect::{Dialect, GenericDialect};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;
use std::any::TypeId;

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

    fn supports_named_fn_args_with_rarrow_operator(&self) -> bool {
        true
    }

    fn supports_left_associative_joins_without_parens(&self) -> bool {
        true
    }

    /// Reads `TABLE name`, the argument of a windowing table function, as the name, and `TABLE name PARTITION BY k, …`
    /// as a tuple of the name and the columns.
    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        let is_name = matches!(parser.peek_nth_token_ref(1).token, Token::Word(_));
        if !is_name || !parser.peek_keyword(Keyword::TABLE) {
            return None;
        }
        parser.next_token();
        Some(parse_table(parser))
    }
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
