//! `CREATE TABLE`.

use super::chains::balance_expr;
use super::data_type::parse_type;
use super::refusal::refused;
use super::tokens::{position, syntax_error, unexpected};
use super::words::{parse_name, parse_names, parse_words, word_here};
use crate::position::{At, Position};
use arrow_schema::DataType;
use datafusion_sql::sqlparser::ast::Expr;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::Token;
use headpond_state::{Context, Error, Result};

/// A `CREATE TABLE`.
#[derive(Debug, Clone)]
pub struct CreateTable {
    /// The table's name.
    pub name: String,
    /// Whether a second table of that name is to be ignored.
    pub if_not_exists: bool,
    /// Where the statement begins.
    pub position: Position,
    /// Its columns, in order.
    pub columns: Vec<TableColumn>,
    /// The columns of its primary key.
    pub primary_key: Vec<(String, Position)>,
    /// Its watermark, if it has event time.
    pub watermark: Option<Watermark>,
    /// What stands in `WITH`.
    pub options: Vec<TableOption>,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub position: Position,
    /// Its type; `None` for a computed column, whose type is the expression's.
    pub data_type: Option<DataType>,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// The expression of a computed column.
    pub computed: Option<Expr>,
}

/// A `WATERMARK FOR column AS expression`.
#[derive(Debug, Clone)]
pub struct Watermark {
    /// The column that holds event time.
    pub column: String,
    /// The watermark that follows from a row.
    pub expression: Expr,
    /// Where the clause stands.
    pub position: Position,
}

/// An option of a table.
#[derive(Debug, Clone)]
pub struct TableOption {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// Where it stands.
    pub position: Position,
}

/// Parses what follows `CREATE TABLE`.
pub(super) fn parse_create_table(parser: &mut Parser<'_>, begin: Position) -> Result<CreateTable> {
    let if_not_exists = parse_words(parser, &["IF", "NOT", "EXISTS"]);
    let (name, _) = parse_name(parser)?;
    let mut table = CreateTable {
        name,
        if_not_exists,
        position: begin,
        columns: Vec::new(),
        primary_key: Vec::new(),
        watermark: None,
        options: Vec::new(),
    };
    if parser.parse_keyword(Keyword::AS) {
        return Err(refused("CREATE TABLE … AS SELECT", begin, Some("create the table, then INSERT INTO it")));
    }
    parser.expect_token(&Token::LParen).map_err(syntax_error)?;
    loop {
        parse_element(parser, &mut table)?;
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    parser.expect_token(&Token::RParen).map_err(syntax_error)?;
    parse_comment(parser)?;
    let here = position(parser);
    match word_here(parser).as_str() {
        "PARTITIONED" => return Err(refused("PARTITIONED BY", here, None)),
        "DISTRIBUTED" => return Err(refused("DISTRIBUTED BY", here, None)),
        _ => {}
    }
    if parser.parse_keyword(Keyword::WITH) {
        table.options = parse_options(parser)?;
    }
    let here = position(parser);
    match word_here(parser).as_str() {
        "LIKE" => return Err(refused("CREATE TABLE … LIKE", here, Some("write the table's columns out"))),
        "AS" => return Err(refused("CREATE TABLE … AS SELECT", here, Some("create the table, then INSERT INTO it"))),
        _ => {}
    }
    check_names(&table)?;
    Ok(table)
}

fn parse_element(parser: &mut Parser<'_>, table: &mut CreateTable) -> Result<()> {
    let begin = position(parser);
    if parse_words(parser, &["WATERMARK", "FOR"]) {
        return parse_watermark(parser, table, begin);
    }
    if parser.parse_keyword(Keyword::CONSTRAINT) {
        parse_name(parser)?;
    }
    if parse_words(parser, &["PRIMARY", "KEY"]) {
        let columns = parse_names(parser)?;
        return set_primary_key(parser, table, columns, begin);
    }
    if word_here(parser) == "UNIQUE" {
        return Err(refused("UNIQUE", begin, Some("PRIMARY KEY (…) NOT ENFORCED is supported")));
    }
    parse_column(parser, table)
}

fn parse_watermark(parser: &mut Parser<'_>, table: &mut CreateTable, begin: Position) -> Result<()> {
    let (column, _) = parse_name(parser)?;
    if !parser.parse_keyword(Keyword::AS) {
        return Err(unexpected(parser, "AS"));
    }
    let mut expression = parser.parse_expr().map_err(syntax_error)?;
    balance_expr(&mut expression)?;
    match table.watermark.replace(Watermark { column, expression, position: begin }) {
        None => Ok(()),
        Some(_) => Err(Error::invalid("a table has at most one WATERMARK").at(begin)),
    }
}

fn set_primary_key(
    parser: &mut Parser<'_>,
    table: &mut CreateTable,
    columns: Vec<(String, Position)>,
    begin: Position,
) -> Result<()> {
    if !parse_words(parser, &["NOT", "ENFORCED"]) {
        return Err(Error::unsupported("a PRIMARY KEY that is enforced is not supported")
            .hint("write PRIMARY KEY (…) NOT ENFORCED")
            .at(position(parser)));
    }
    if !table.primary_key.is_empty() {
        return Err(Error::invalid("a table has at most one PRIMARY KEY").at(begin));
    }
    table.primary_key = columns;
    Ok(())
}

fn parse_column(parser: &mut Parser<'_>, table: &mut CreateTable) -> Result<()> {
    let (name, at) = parse_name(parser)?;
    if parser.parse_keyword(Keyword::AS) {
        let mut computed = parser.parse_expr().map_err(syntax_error)?;
        balance_expr(&mut computed)?;
        let computed = Some(computed);
        parse_comment(parser)?;
        table.columns.push(TableColumn { name, position: at, data_type: None, nullable: true, computed });
        return Ok(());
    }
    let data_type = parse_type(parser)?;
    let mut nullable = true;
    loop {
        if parse_words(parser, &["NOT", "NULL"]) {
            nullable = false;
        } else if parse_words(parser, &["NULL"]) {
            nullable = true;
        } else if parse_words(parser, &["PRIMARY", "KEY"]) {
            set_primary_key(parser, table, vec![(name.clone(), at)], at)?;
        } else if word_here(parser) == "METADATA" {
            return Err(refused("a METADATA column", position(parser), None));
        } else if !parse_comment(parser)? {
            break;
        }
    }
    table.columns.push(TableColumn { name, position: at, data_type: Some(data_type), nullable, computed: None });
    Ok(())
}

fn parse_comment(parser: &mut Parser<'_>) -> Result<bool> {
    let found = parser.parse_keyword(Keyword::COMMENT);
    if found {
        parser.parse_literal_string().map_err(syntax_error)?;
    }
    Ok(found)
}

fn parse_options(parser: &mut Parser<'_>) -> Result<Vec<TableOption>> {
    parser.expect_token(&Token::LParen).map_err(syntax_error)?;
    let mut options: Vec<TableOption> = Vec::new();
    loop {
        let at = position(parser);
        let key = parse_text(parser, "an option's key in single quotes")?;
        parser.expect_token(&Token::Eq).map_err(syntax_error)?;
        let value = parse_text(parser, "an option's value in single quotes")?;
        if options.iter().any(|option| option.key == key) {
            return Err(Error::invalid("an option stands twice").with(Context::Option, &key).at(at));
        }
        options.push(TableOption { key, value, position: at });
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    parser.expect_token(&Token::RParen).map_err(syntax_error)?;
    Ok(options)
}

fn parse_text(parser: &mut Parser<'_>, expected: &str) -> Result<String> {
    match &parser.peek_token_ref().token {
        Token::SingleQuotedString(text) => {
            let text = text.clone();
            parser.next_token();
            Ok(text)
        }
        _ => Err(unexpected(parser, expected)),
    }
}

fn check_names(table: &CreateTable) -> Result<()> {
    for (index, column) in table.columns.iter().enumerate() {
        if table.columns[..index].iter().any(|other| other.name == column.name) {
            return Err(Error::invalid(format!("column `{}` stands twice", column.name)).at(column.position));
        }
        if column.name.starts_with('$') {
            return Err(Error::invalid(format!(
                "column `{}` begins with `$`, which Headpond keeps for itself",
                column.name
            ))
            .at(column.position));
        }
    }
    let names = || table.columns.iter().map(|column| column.name.as_str());
    for (key, at) in &table.primary_key {
        if !names().any(|name| name == key) {
            return Err(crate::no_column::no_column(key, &table.name, names()).at(*at));
        }
    }
    match &table.watermark {
        Some(watermark) if !names().any(|name| name == watermark.column) => {
            Err(crate::no_column::no_column(&watermark.column, &table.name, names()).at(watermark.position))
        }
        _ => Ok(()),
    }
}
