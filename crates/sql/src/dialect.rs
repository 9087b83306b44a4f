//! Our dialect of `sqlparser`: the generic one with `TABLE t` as an argument and `` ` `` around names.

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

    /// Reads `TABLE name`, the argument of a windowing table function, as the name.
    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        let is_name = matches!(parser.peek_nth_token_ref(1).token, Token::Word(_));
        if !is_name || !parser.peek_keyword(Keyword::TABLE) {
            return None;
        }
        parser.next_token();
        Some(parser.parse_identifier().map(Expr::Identifier))
    }
}
