//! Pieces of syntax trees, and of what comes next.

use datafusion_sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName, Value,
};
use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::Token;

/// Whether the token so far ahead is this word, without quotes.
pub(crate) fn is_word(parser: &Parser, ahead: usize, expected: &str) -> bool {
    matches!(&parser.peek_nth_token_ref(ahead).token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected))
}

/// The call of a function of this name.
pub(crate) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let arguments = arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)));
    let list = FunctionArgumentList { duplicate_treatment: None, args: arguments.collect(), clauses: Vec::new() };
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// A text as a literal.
pub(crate) fn text(text: impl Into<String>) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.into()).with_empty_span())
}
