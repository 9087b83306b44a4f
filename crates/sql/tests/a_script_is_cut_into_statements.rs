//! The front parser: statements and their places.

use headpond_sql::parse;
use headpond_sql::script::StatementKind;
use headpond_state::ErrorKind;

fn settings(text: &str) -> Vec<(String, String)> {
    let script = parse(text, "job.sql").expect("the script is right");
    script
        .statements
        .into_iter()
        .map(|statement| match statement.kind {
            StatementKind::Set { key, value } => (key, value),
            other => panic!("{other:?} is no setting"),
        })
        .collect()
}

fn error(text: &str) -> String {
    let error = parse(text, "job.sql").expect_err("the script is wrong");
    match error.way_out() {
        Some(hint) => format!("{error} [{hint}]"),
        None => error.to_string(),
    }
}

const PROVIDER: &str = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider";

#[test]
fn settings_are_read_as_people_paste_them() {
    let expected = [
        ("spark.sql.streaming.stateStore.providerClass".to_owned(), PROVIDER.to_owned()),
        ("spark.sql.streaming.rocksdb.compactOnCommit.enabled".to_owned(), "true".to_owned()),
    ];
    for text in [
        format!("SET spark.sql.streaming.stateStore.providerClass = \"{PROVIDER}\"\nSET spark.sql.streaming.rocksdb.compactOnCommit.enabled = true"),
        format!("SET spark.sql.streaming.stateStore.providerClass = \"{PROVIDER}\";\nSET spark.sql.streaming.rocksdb.compactOnCommit.enabled = true;"),
        format!("SET\nspark.sql.streaming.stateStore.providerClass =\n  '{PROVIDER}'\n\nSET spark.sql.streaming.rocksdb.compactOnCommit.enabled\n= true\n"),
        format!("set spark.sql.streaming.stateStore.\n    providerClass={PROVIDER}\nset spark.sql.streaming.\nrocksdb.compactOnCommit.enabled=true"),
        "SET spark.sql.streaming.stateStore.providerClass = \"org.apache.spark.sql.execution.streaming.state.\n  RocksDBStateStoreProvider\"\n-- a comment\nSET 'spark.sql.streaming.rocksdb.compactOnCommit.enabled' = 'true' ; -- another".to_owned(),
        format!("SET spark.sql.streaming.stateStore.providerClass = “{PROVIDER}”\r\nSET spark.sql.streaming.rocksdb.compactOnCommit.enabled = /* yes */ true\r\n"),
    ] {
        assert_eq!(settings(&text), expected, "{text}");
    }
}

#[test]
fn a_value_without_quotes_may_have_a_unit() {
    let expected = [("a.b", "10 s"), ("c", "1; 2")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(settings("SET a.b = 10 s;SET c = '1; 2'"), expected);
    assert_eq!(settings("SET a.b = 10 s -- seconds\nSET 'c' = '1; 2';"), expected);
}

#[test]
fn statements_know_their_places() {
    let text = "SET 'a' = 'b';\n\n  /* a; comment */ CREATE TABLE t (a INT) WITH ('x' = 'y;z');\nINSERT INTO t SELECT 'a;b' FROM t";
    let script = parse(text, "job.sql").expect("the script is right");
    let places: Vec<String> = script.statements.iter().map(|statement| statement.position.to_string()).collect();
    assert_eq!(places, ["line 1, column 1", "line 3, column 20", "line 4, column 1"]);
}

#[test]
fn a_table_has_columns_keys_watermark_and_options() {
    let text = "CREATE TABLE IF NOT EXISTS `my table` (
        id BIGINT NOT NULL COMMENT 'it''s an id',
        price DECIMAL(38, 10), tags ARRAY<STRING>, at TIMESTAMP_LTZ(3), ts TIMESTAMP(3) NOT NULL,
        nested ROW<a INT, b ROW<c STRING NOT NULL, d ARRAY<ARRAY<DOUBLE>>>>, pairs MAP<STRING, INT>,
        doubled AS id * 2 COMMENT 'computed',
        PRIMARY KEY (id) NOT ENFORCED,
        WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
      ) COMMENT 'a table' WITH ('connector' = 'print')";
    let script = parse(text, "job.sql").expect("the script is right");
    let StatementKind::CreateTable(table) = &script.statements[0].kind else { panic!("a table") };
    assert_eq!(table.name, "my table");
    assert!(table.if_not_exists);
    let types: Vec<String> = table
        .columns
        .iter()
        .map(|column| column.data_type.as_ref().map_or_else(|| "computed".to_owned(), ToString::to_string))
        .collect();
    assert_eq!(types[1], "Decimal128(38, 10)");
    assert_eq!(types[3], "Timestamp(ms, \"UTC\")");
    assert_eq!(types[7], "computed");
    assert_eq!(table.primary_key[0].0, "id");
    assert_eq!(table.watermark.as_ref().map(|watermark| watermark.column.as_str()), Some("ts"));
    assert_eq!(table.options[0].key, "connector");
    assert!(!table.columns[0].nullable && table.columns[1].nullable);
}

#[test]
fn a_statement_set_is_its_inserts() {
    for text in [
        "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1 FROM t; INSERT INTO b SELECT 2 FROM t; END;",
        "BEGIN STATEMENT SET; INSERT INTO a SELECT 1 FROM t; INSERT INTO b SELECT 2 FROM t; END",
    ] {
        let script = parse(text, "job.sql").expect("the script is right");
        let tables: Vec<&str> = script
            .statements
            .iter()
            .map(|statement| match &statement.kind {
                StatementKind::Insert(insert) => insert.table.as_str(),
                other => panic!("{other:?} is no insert"),
            })
            .collect();
        assert_eq!(tables, ["a", "b"]);
    }
    assert_eq!(
        error("SET a = b;\nEXECUTE STATEMENT SET BEGIN\nINSERT INTO a SELECT 1 FROM t;"),
        "a statement set has no END (line 2, column 1, path job.sql) [close it with END;]"
    );
}

#[test]
fn what_is_not_supported_is_refused_by_name_and_place() {
    for (text, expected) in [
        (
            "\n DROP CATALOG c",
            "DROP CATALOG is not supported (line 2, column 2, statement `DROP CATALOG c`, path job.sql) [DROP TABLE and",
        ),
        ("CREATE FUNCTION f AS 'x'", "CREATE FUNCTION is not supported (line 1, column 1"),
        ("CREATE CATALOG c", "CREATE CATALOG is not supported (line 1, column 1"),
        ("CREATE TABLE t (a TIME)", "type TIME is not supported (line 1, column 19"),
        ("CREATE TABLE t (a TIMESTAMP(6))", "timestamps with 6 digits are not supported (line 1, column 19"),
        ("CREATE TABLE t (a STRNG)", "`STRNG` is not a type (line 1, column 19"),
        ("CREATE TABLE t (a INT METADATA)", "a METADATA column is not supported (line 1, column 23"),
        (
            "CREATE TABLE t (a INT, PRIMARY KEY (a))",
            "a PRIMARY KEY that is enforced is not supported (line 1, column 39",
        ),
        ("CREATE TABLE t (a INT, PRIMARY KEY (b) NOT ENFORCED)", "table `t` has no column `b` (line 1, column 37"),
        ("CREATE TABLE t (a INT, a STRING)", "column `a` stands twice (line 1, column 24"),
        ("CREATE TABLE t (a INT) WITH ('a' = 'b', 'a' = 'c')", "an option stands twice (option a, line 1, column 41"),
        ("CREATE TABLE t (a INT) PARTITIONED BY (a)", "PARTITIONED BY is not supported (line 1, column 24"),
        ("INSERT OVERWRITE t SELECT 1", "INSERT OVERWRITE is not supported (line 1, column 1"),
        ("CREATE TABLE t (a INT) /*+ FOO('x') */ WITH ('a' = 'b')", "a hint here is not supported (line 1, column 24"),
        ("CREATE TABLE db.t (a INT)", "names of catalogs and databases are not supported (line 1, column 14"),
    ] {
        let error = error(text);
        assert!(error.starts_with(expected), "{text}: {error}");
        assert!(!expected.contains("supported") || error.ends_with(']'), "{text} names no way out: {error}");
    }
}

#[test]
fn a_mistyped_statement_is_wrong_and_one_of_flinks_is_not_supported() {
    for (text, expected) in [
        ("INSRT INTO o SELECT 1", "INSRT begins no statement (line 1, column 1"),
        ("CREAT TABLE t (a INT)", "CREAT begins no statement (line 1, column 1"),
        ("FROBNICATE t", "FROBNICATE begins no statement (line 1, column 1"),
        ("CREATE TABEL t (a INT)", "there is no CREATE TABEL (line 1, column 1"),
    ] {
        let invalid = parse(text, "job.sql").expect_err("the script is wrong");
        assert_eq!(invalid.kind(), ErrorKind::Invalid, "{text}");
        let error = error(text);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    assert!(error("INSRT INTO o SELECT 1").ends_with("[did you mean INSERT?]"));
    assert!(error("SLECT 1").ends_with("[did you mean SELECT?]"));
    assert!(error("CREATE TABEL t (a INT)").ends_with("[did you mean CREATE TABLE?]"));
    for text in
        ["USE c", "SHOW CATALOGS", "ALTER TABLE t ADD a INT", "LOAD MODULE m", "BEGIN TRANSACTION", "CREATE MODEL m"]
    {
        let unsupported = parse(text, "job.sql").expect_err("the script is refused");
        assert_eq!(unsupported.kind(), ErrorKind::Unsupported, "{text}");
    }
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (text, expected) in [
        ("SET 'a' = 'b", "a quoted text has no end (line 1, column 11, path job.sql) [close it with ']"),
        ("/* x", "a comment has no end (line 1, column 1"),
        ("SET a = ;", "option 'a' is set to nothing (line 1, column 8"),
        ("CREATE TABLE t (a INT", "expected )"),
        ("INSERT t SELECT 1", "expected INTO, found `t` (line 1, column 8"),
        ("INSERT INTO t SELECT FROM WHERE", "expected"),
        (
            "CREATE TABLE t (a INT) WITH (a = 'b')",
            "expected an option's key in single quotes, found `a` (line 1, column 30",
        ),
        ("INSERT INTO t SELECT 1 FROM x CREATE TABLE u (a INT)", "expected `;`, found"),
        ("INSERT INTO t SELECT id FORM t", "expected `;`, found `t`"),
    ] {
        let error = error(text);
        assert!(error.starts_with(expected), "{text}: {error}");
        assert!(error.contains("line 1, column "), "{text}: {error}");
    }
}

#[test]
fn a_misspelt_word_is_named() {
    for (text, hint) in [
        ("INSERT INTO t SELECT id FORM t", "[did you mean FROM instead of `FORM`?]"),
        ("INSERT INTO t SELECT id FROM t WEHRE id > 1", "[did you mean WHERE instead of `WEHRE`?]"),
        ("INSERT INTO t SELECT id FROM t GRUOP BY id", "[did you mean GROUP instead of `GRUOP`?]"),
        ("INSERT INTO t SELCT id FROM t", "[did you mean SELECT instead of `SELCT`?]"),
    ] {
        let error = error(text);
        assert!(error.ends_with(hint), "{text}: {error}");
    }
    let error = error("INSERT INTO t SELECT id total t");
    assert!(!error.contains("did you mean"), "{error}");
}

#[test]
fn a_setting_may_be_followed_by_any_number_of_lines() {
    let script = parse(&format!("SET{}'a'{} = 'b';", "\n".repeat(200_000), "\n-- x\n".repeat(200_000)), "job.sql");
    let script = script.expect("the script is right");
    assert!(matches!(&script.statements[0].kind, StatementKind::Set { key, .. } if key == "a"), "{script:?}");
}

#[test]
fn an_insert_may_stand_behind_with() {
    let script = parse(
        "WITH a AS (SELECT 1 AS k) INSERT INTO t (k, n) WITH b AS (SELECT k FROM a) SELECT /*+ STATE_UID('x') */ k, 2 FROM b",
        "job.sql",
    )
    .expect("the script is right");
    let StatementKind::Insert(insert) = &script.statements[0].kind else { panic!("{script:?}") };
    assert_eq!((insert.table.as_str(), insert.table_position.column), ("t", 39));
    assert_eq!(insert.columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["k", "n"]);
    assert!(insert.query.query.to_string().starts_with("WITH a AS"), "{}", insert.query.query);
    let refused = error("WITH a AS (SELECT 1) INSERT OVERWRITE t SELECT * FROM a");
    assert!(refused.starts_with("this INSERT behind WITH is not supported (line 1, column 1"), "{refused}");
}
