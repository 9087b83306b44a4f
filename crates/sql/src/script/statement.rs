//! Statements other than settings.

use super::chains::balance;
use super::create_table::parse_create_table;
use super::hint::{check_no_hint, hints};
use super::refusal::refused;
use super::scan::StatementText;
use super::setting::{parse_reset, parse_set};
use super::statement_kind::{Explained, Insert, SourceQuery, StatementKind};
use super::tokens::{parser, position, syntax_error, tokenize, unexpected};
use super::words::{parse_name, parse_names, parse_words, word_at, word_here};
use crate::position::{At, Position};
use datafusion_sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion_sql::sqlparser::ast::{self, SetExpr};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use headpond_state::names::nearest;
use headpond_state::{Context, Error, ErrorKind, Result};

/// Parses a statement; `None` for the words around a statement set. `set_begun` is where an open statement set began.
pub(super) fn parse_statement_text(
    source: &StatementText<'_>,
    set_begun: &mut Option<Position>,
) -> Result<Option<StatementKind>> {
    match source.first_word().as_str() {
        "SET" => return parse_set(source).map(Some),
        "RESET" => return parse_reset(source).map(Some),
        _ => {}
    }
    let tokens = tokenize(source)?;
    parse_tokens(source, &tokens, set_begun).map_err(|error| misspelt(error, &tokens))
}

fn parse_tokens(
    source: &StatementText<'_>,
    tokens: &[TokenWithSpan],
    set_begun: &mut Option<Position>,
) -> Result<Option<StatementKind>> {
    let mut parser = parser(tokens.to_vec());
    if parse_words(&mut parser, &["EXECUTE", "STATEMENT", "SET"]) {
        if !parse_words(&mut parser, &["BEGIN"]) {
            return Err(unexpected(&parser, "BEGIN"));
        }
        begin_set(source.position, set_begun)?;
    } else if parse_words(&mut parser, &["BEGIN", "STATEMENT", "SET"]) {
        begin_set(source.position, set_begun)?;
    } else if parse_words(&mut parser, &["END"]) {
        if set_begun.take().is_none() {
            return Err(Error::invalid("END closes no statement set").at(source.position));
        }
        return end(&mut parser).map(|()| None);
    }
    if parser.peek_token_ref().token == Token::EOF {
        return Ok(None);
    }
    let kind = parse_statement(&mut parser, tokens)?;
    if !kind.has_query() {
        check_no_hint(tokens)?;
    }
    if set_begun.is_some() && !matches!(kind, StatementKind::Insert(_)) {
        return Err(Error::unsupported("a statement set holds INSERT statements only").at(source.position));
    }
    end(&mut parser).map(|()| Some(kind))
}

fn begin_set(position: Position, set_begun: &mut Option<Position>) -> Result<()> {
    match set_begun.replace(position) {
        None => Ok(()),
        Some(_) => Err(Error::invalid("a statement set is within another one").at(position)),
    }
}

fn parse_statement(parser: &mut Parser<'_>, tokens: &[TokenWithSpan]) -> Result<StatementKind> {
    let begin = position(parser);
    if parser.parse_keyword(Keyword::CREATE) {
        let or_replace = parse_words(parser, &["OR", "REPLACE"]);
        let _is_temporary = parser.parse_keyword(Keyword::TEMPORARY);
        if or_replace && word_here(parser) != "VIEW" {
            return Err(refused(
                &format!("CREATE OR REPLACE {}", word_here(parser)),
                begin,
                Some("CREATE OR REPLACE VIEW is supported"),
            ));
        }
        if parser.parse_keyword(Keyword::TABLE) {
            return Ok(StatementKind::CreateTable(Box::new(parse_create_table(parser, begin)?)));
        }
        if parser.parse_keyword(Keyword::VIEW) {
            return parse_create_view(parser, tokens, or_replace);
        }
        return Err(match word_here(parser).as_str() {
            "" => unexpected(parser, "TABLE or VIEW"),
            word => unknown_creation(word, begin),
        });
    }
    if parser.parse_keyword(Keyword::EXPLAIN) {
        return parse_explain(parser, tokens).map(StatementKind::Explain);
    }
    if parser.parse_keyword(Keyword::INSERT) {
        return parse_insert(parser, tokens, begin).map(|insert| StatementKind::Insert(Box::new(insert)));
    }
    let word = word_here(parser);
    match word.as_str() {
        "DROP" => {
            parser.next_token();
            parse_drop(parser, begin)
        }
        "SHOW" => {
            parser.next_token();
            parse_show(parser, begin)
        }
        "DESCRIBE" | "DESC" => {
            parser.next_token();
            let (name, position) = parse_name(parser)?;
            Ok(StatementKind::Describe { name, position })
        }
        "SELECT" | "WITH" | "VALUES" => {
            let query = parse_query(parser, tokens)?;
            match &*query.query.body {
                SetExpr::Insert(_) => insert_behind_with(query).map(|insert| StatementKind::Insert(Box::new(insert))),
                _ => Ok(StatementKind::Query(query)),
            }
        }
        "" => Err(unexpected(parser, "a statement")),
        word => Err(unknown_statement(word, begin)),
    }
}

/// `DROP [TEMPORARY] TABLE [IF EXISTS] name`, of which `DROP` has been read.
fn parse_drop(parser: &mut Parser<'_>, begin: Position) -> Result<StatementKind> {
    let _is_temporary = parser.parse_keyword(Keyword::TEMPORARY);
    let view = match word_here(parser).as_str() {
        "TABLE" => false,
        "VIEW" => true,
        "" => return Err(unexpected(parser, "TABLE or VIEW")),
        word => return Err(refused(&format!("DROP {word}"), begin, Some("DROP TABLE and DROP VIEW are supported"))),
    };
    parser.next_token();
    let if_exists = parse_words(parser, &["IF", "EXISTS"]);
    let (name, position) = parse_name(parser)?;
    Ok(StatementKind::Drop { view, name, position, if_exists })
}

/// `SHOW TABLES` and `SHOW VIEWS`, of which `SHOW` has been read.
fn parse_show(parser: &mut Parser<'_>, begin: Position) -> Result<StatementKind> {
    let views = match word_here(parser).as_str() {
        "TABLES" => false,
        "VIEWS" => true,
        "" => return Err(unexpected(parser, "TABLES or VIEWS")),
        word => {
            return Err(refused(
                &format!("SHOW {word}"),
                begin,
                Some("SHOW TABLES, SHOW VIEWS and DESCRIBE are supported"),
            ));
        }
    };
    parser.next_token();
    Ok(StatementKind::ShowTables { views })
}

fn parse_create_view(parser: &mut Parser<'_>, tokens: &[TokenWithSpan], or_replace: bool) -> Result<StatementKind> {
    let if_not_exists = parse_words(parser, &["IF", "NOT", "EXISTS"]);
    let (name, _) = parse_name(parser)?;
    let mut columns = Vec::new();
    if parser.peek_token_ref().token == Token::LParen {
        columns = parse_names(parser)?.into_iter().map(|(name, _)| name).collect();
    }
    if parser.parse_keyword(Keyword::COMMENT) {
        parser.parse_literal_string().map_err(syntax_error)?;
    }
    if !parser.parse_keyword(Keyword::AS) {
        return Err(unexpected(parser, "AS"));
    }
    let query = parse_query(parser, tokens)?;
    Ok(StatementKind::CreateView { name, if_not_exists, or_replace, columns, query })
}

fn parse_explain(parser: &mut Parser<'_>, tokens: &[TokenWithSpan]) -> Result<Explained> {
    parse_words(parser, &["PLAN", "FOR"]);
    let begin = position(parser);
    if parser.parse_keyword(Keyword::INSERT) {
        return Ok(Explained::Insert(Box::new(parse_insert(parser, tokens, begin)?)));
    }
    Ok(Explained::Query(parse_query(parser, tokens)?))
}

fn parse_insert(parser: &mut Parser<'_>, tokens: &[TokenWithSpan], begin: Position) -> Result<Insert> {
    if parser.parse_keyword(Keyword::OVERWRITE) {
        return Err(refused("INSERT OVERWRITE", begin, Some("INSERT INTO is supported")));
    }
    if !parser.parse_keyword(Keyword::INTO) {
        return Err(unexpected(parser, "INTO"));
    }
    let (table, table_position) = parse_name(parser)?;
    let mut columns = Vec::new();
    if parser.peek_token_ref().token == Token::LParen && !matches!(word_at(parser, 1).as_str(), "SELECT" | "WITH") {
        columns = parse_names(parser)?;
    }
    Ok(Insert { table, table_position, columns, query: parse_query(parser, tokens)? })
}

/// `WITH … INSERT INTO table SELECT …`: the same as `INSERT INTO table WITH … SELECT …`.
fn insert_behind_with(written: SourceQuery) -> Result<Insert> {
    let SourceQuery { query, position, tokens, hints } = written;
    let ast::Query { with, body, .. } = *query;
    let refused = || refused("this INSERT behind WITH", position, Some("write INSERT INTO table WITH … SELECT …"));
    let SetExpr::Insert(ast::Statement::Insert(insert)) = *body else { return Err(refused()) };
    let name = |name: &ast::ObjectName| match &name.0[..] {
        [ast::ObjectNamePart::Identifier(name)] => Ok((name.value.clone(), Position::from(name.span.start))),
        _ => Err(refused()),
    };
    let ast::Insert { table: ast::TableObject::TableName(table), columns, source: Some(mut query), .. } = insert else {
        return Err(refused());
    };
    if insert.overwrite || !insert.into {
        return Err(refused());
    }
    let (table, table_position) = name(&table)?;
    let columns = columns.iter().map(name).collect::<Result<_>>()?;
    let outer = with.map(|with| with.cte_tables).unwrap_or_default();
    match &mut query.with {
        Some(inner) => drop(inner.cte_tables.splice(0..0, outer)),
        None => {
            query.with = Some(ast::With { with_token: AttachedToken::empty(), recursive: false, cte_tables: outer })
        }
    }
    let query = SourceQuery { query, position, tokens, hints };
    Ok(Insert { table, table_position, columns, query })
}

fn parse_query(parser: &mut Parser<'_>, tokens: &[TokenWithSpan]) -> Result<SourceQuery> {
    let position = position(parser);
    let mut query = parser.parse_query().map_err(|error| match version_of_a_table(tokens) {
        Some(position) => {
            let instead = "join the table as it changes: JOIN b ON a.k = b.k; table.exec.state.ttl bounds the state";
            refused("FOR SYSTEM_TIME AS OF", position, Some(instead))
        }
        None => syntax_error(error),
    })?;
    balance(&mut query).at(position)?;
    Ok(SourceQuery { query, position, tokens: tokens.to_vec(), hints: hints(tokens)? })
}

/// Where a table is asked for as it was at some time, which the parser does not know.
fn version_of_a_table(tokens: &[TokenWithSpan]) -> Option<Position> {
    let is =
        |token: &TokenWithSpan, keyword: Keyword| matches!(&token.token, Token::Word(word) if word.keyword == keyword);
    let words: Vec<&TokenWithSpan> =
        tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let pair = words.windows(2).find(|pair| is(pair[0], Keyword::FOR) && is(pair[1], Keyword::SYSTEM_TIME))?;
    Some(pair[0].span.start.into())
}

fn end(parser: &mut Parser<'_>) -> Result<()> {
    match parser.peek_token_ref().token {
        Token::EOF => Ok(()),
        _ => Err(unexpected(parser, "`;`")),
    }
}

/// Words that begin a part of a query. Misspelt, one is taken for a name, and what follows is not understood.
const CLAUSES: [&str; 12] =
    ["FROM", "WHERE", "GROUP", "HAVING", "ORDER", "UNION", "JOIN", "INNER", "LEFT", "RIGHT", "SELECT", "WINDOW"];

/// A syntax error that names the misspelt word at or before its place, if there seems to be one.
fn misspelt(error: Error, tokens: &[TokenWithSpan]) -> Error {
    let number = |context| error.place(context).and_then(|text| text.parse::<u64>().ok());
    let (Some(line), Some(column)) = (number(Context::Line), number(Context::Column)) else { return error };
    if error.way_out().is_some() || error.kind() != ErrorKind::Invalid {
        return error;
    }
    let begun = tokens.iter().filter(|token| (token.span.start.line, token.span.start.column) <= (line, column));
    let mut last = begun.rev().filter(|token| !matches!(token.token, Token::Whitespace(_))).take(2);
    let near = last.find_map(|token| match &token.token {
        Token::Word(word) if word.quote_style.is_none() && word.keyword == Keyword::NoKeyword => {
            nearest(&word.value, CLAUSES.into_iter()).map(|near| (&word.value, near))
        }
        _ => None,
    });
    match near {
        Some((word, near)) => error.hint(format!("did you mean {near} instead of `{word}`?")),
        None => error,
    }
}

/// The first words of statements that Headpond knows.
const SUPPORTED: [&str; 13] = [
    "BEGIN", "CREATE", "DESCRIBE", "DROP", "EXECUTE", "EXPLAIN", "INSERT", "RESET", "SELECT", "SET", "SHOW", "VALUES",
    "WITH",
];

/// The first words of Flink's other statements, and what to do instead, where there is something.
const UNSUPPORTED: [(&str, Option<&str>); 20] = [
    ("ADD", None),
    ("ALTER", Some("change the CREATE TABLE itself")),
    ("ANALYZE", None),
    ("BEGIN", Some(STATEMENT_SET)),
    ("CALL", None),
    ("COMPILE", None),
    ("DELETE", None),
    ("EXECUTE", Some(STATEMENT_SET)),
    ("HELP", None),
    ("LOAD", None),
    ("QUIT", None),
    ("REMOVE", None),
    ("REPLACE", Some("create the table, then INSERT INTO it")),
    ("STOP", None),
    ("SUMMARIZE", None),
    ("TRUNCATE", None),
    ("UNLOAD", None),
    ("UPDATE", None),
    ("UPSERT", Some("insert into a table with a PRIMARY KEY (…) NOT ENFORCED")),
    ("USE", Some("leave it out, and use the names of tables alone: there are no catalogs and databases")),
];

const STATEMENT_SET: &str = "a statement set is EXECUTE STATEMENT SET BEGIN … END;";

/// The error for a statement that begins with this word: Flink's, a mistyped one, or no statement at all.
fn unknown_statement(word: &str, begin: Position) -> Error {
    if let Some((_, instead)) = UNSUPPORTED.iter().find(|(known, _)| *known == word) {
        return refused(word, begin, *instead);
    }
    let known = SUPPORTED.into_iter().chain(UNSUPPORTED.map(|(known, _)| known));
    let known: Vec<&str> = known.collect();
    let error = Error::invalid(format!("{word} begins no statement")).at(begin);
    match nearest(word, known.iter().copied()) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error
            .hint("statements begin with CREATE, INSERT INTO, SELECT, EXPLAIN, SET, RESET or EXECUTE STATEMENT SET"),
    }
}

/// The error for what stands behind `CREATE`.
fn unknown_creation(word: &str, begin: Position) -> Error {
    const FLINKS: [&str; 7] = ["CATALOG", "CONNECTION", "DATABASE", "FUNCTION", "MATERIALIZED", "MODEL", "SYSTEM"];
    let error = refused(&format!("CREATE {word}"), begin, Some("CREATE TABLE and CREATE VIEW are supported"));
    if FLINKS.contains(&word) {
        return error;
    }
    match nearest(word, ["TABLE", "VIEW"].into_iter()) {
        Some(near) => {
            Error::invalid(format!("there is no CREATE {word}")).hint(format!("did you mean CREATE {near}?")).at(begin)
        }
        None => error,
    }
}
