//! Kinds of expressions whose values were not Flink's, each by a case that went wrong.

mod common;

use common::{materialized, planned, refused, run_json, tables, with_way_out};

/// The rows of a query over `lines`.
fn rows(input: &str, output: &str, lines: &str, query: &str) -> Vec<String> {
    let sql = format!("{} INSERT INTO out {query};", tables(input, output));
    match run_json(lines, &sql) {
        Ok(rows) => materialized(&rows),
        Err(error) => panic!("{query}: {}", with_way_out(&error)),
    }
}

/// The one value of an expression in a zone.
fn value(zone: &str, data_type: &str, expression: &str) -> String {
    let sql = format!(
        "SET 'table.local-time-zone' = '{zone}'; {} INSERT INTO out SELECT {expression} FROM t;",
        tables("k INT", &format!("v {data_type}"))
    );
    let rows = run_json("{\"k\":1}\n", &sql).unwrap_or_else(|error| panic!("{expression}: {}", with_way_out(&error)));
    rows.concat().trim_start_matches("+I ").to_owned()
}

#[test]
fn decimals_of_many_digits_are_multiplied_and_divided() {
    let lines = "{\"a\": \"12.5\", \"b\": \"8.4\"}\n";
    let of = |expression: &str| {
        let query = format!("SELECT {expression} FROM t");
        rows("a DECIMAL(38, 19), b DECIMAL(38, 19)", "v DECIMAL(38, 6)", lines, &query)
    };
    assert_eq!(of("a * b"), ["105.000000"]);
    assert_eq!(of("a / b"), ["1.488095"]);
}

#[test]
fn literals_with_a_point_are_exact() {
    let lines = "{\"n\": 3}\n{\"n\": 4}\n";
    let count =
        |condition: &str| rows("n INT", "c BIGINT", lines, &format!("SELECT COUNT(*) FROM t WHERE {condition}"));
    assert_eq!(count("0.1 + 0.2 = 0.3"), ["2"]);
    assert_eq!(count("n * 0.1 = 0.3"), ["1"]);
}

#[test]
fn like_escapes_only_by_the_character_that_is_given() {
    let of = |text: &str, pattern: &str| value("UTC", "BOOLEAN", &format!("'{text}' LIKE {pattern}"));
    assert_eq!(of("C:\\temp\\x", "'C:\\temp\\%'"), "true");
    assert_eq!(of("ab%c", "'%b!%%' ESCAPE '!'"), "true");
    assert_eq!(of("abc", "'%b!%%' ESCAPE '!'"), "false");
}

#[test]
fn a_text_that_is_no_time_is_null_and_years_are_any() {
    let of = |expression: &str| value("UTC", "TIMESTAMP(3)", expression);
    assert_eq!(of("TO_TIMESTAMP('never')"), "NULL");
    assert_eq!(of("TO_TIMESTAMP('29/02/2024 13:14', 'dd/MM/yyyy HH:mm')"), "2024-02-29T13:14:00");
    assert_eq!(of("TO_TIMESTAMP('0022-01-01 00:00:00')"), "0022-01-01T00:00:00");
    assert_eq!(of("TO_TIMESTAMP('9999-12-31 23:59:59')"), "9999-12-31T23:59:59");
}

#[test]
fn local_times_that_a_clock_skips_or_has_twice_are_instants_by_javas_rule() {
    let of = |local: &str| {
        value(
            "Europe/Paris",
            "STRING",
            &format!(
                "CAST(UNIX_TIMESTAMP(CAST(CAST(TIMESTAMP '{local}' AS TIMESTAMP_LTZ(3)) AS STRING), 'yyyy-MM-dd HH:mm:ss') AS STRING)"
            ),
        )
    };
    // 01:30Z and 00:30Z.
    assert_eq!(of("2024-03-31 02:30:00"), "1711848600");
    assert_eq!(of("2024-10-27 02:30:00"), "1729989000");
}

#[test]
fn an_int_column_takes_what_flink_calls_an_int() {
    let lines = "{\"n\": 7}\n";
    for (expression, expected) in
        [("n + 1", "8"), ("n % 4", "3"), ("NULLIF(n, 7)", "NULL"), ("n / 2", "3"), ("-n", "-7")]
    {
        assert_eq!(rows("n INT", "v INT", lines, &format!("SELECT {expression} FROM t")), [expected], "{expression}");
    }
    assert_eq!(rows("n INT", "s INT, a INT", lines, "SELECT SUM(n), AVG(n) FROM t"), ["7 | 7"]);
}

#[test]
fn texts_have_a_budget() {
    let of = |expression: &str| value("UTC", "STRING", expression);
    assert_eq!(of("RPAD('a', -5, '.')"), "NULL");
    for expression in ["RPAD('a', 9223372036854775807, '.')", "REPEAT('x', 2147483647)"] {
        let sql = format!("{} INSERT INTO out SELECT {expression} FROM t;", tables("k INT", "v STRING"));
        let error = run_json("{\"k\":1}\n", &sql).expect_err("too long a text").to_string();
        assert!(error.contains("bytes, at most"), "{error}");
    }
}

#[test]
fn what_flink_does_not_compare_is_refused_by_its_types() {
    let error = |condition: &str| {
        refused(&format!(
            "{} INSERT INTO out SELECT k FROM t WHERE {condition};",
            tables("k INT, s STRING, d DOUBLE, dt DATE, ts TIMESTAMP(3)", "k INT").replace("{path}", "/none")
        ))
    };
    for (condition, expected) in [
        ("k BETWEEN TRUE AND 1", "`INT >= BOOLEAN` is not supported"),
        ("d = '2.75'", "`DOUBLE = STRING` is not supported"),
        ("dt = ts", "`DATE = TIMESTAMP(3)` is not supported"),
        ("s ~ '('", "the operator ~ is not supported"),
        ("k + s > 1", "`INT + STRING` is not supported"),
    ] {
        let error = error(condition);
        assert!(error.starts_with(expected), "{condition}: {error}");
    }
}

#[test]
fn a_condition_guards_what_stands_behind_it() {
    let lines = "{\"n\": 0}\n{\"n\": 5}\n";
    let query = "SELECT n FROM t WHERE n <> 0 AND 10 / n > 1";
    assert_eq!(rows("n INT", "n INT", lines, query), ["5"]);
    let query = "SELECT n FROM t WHERE n = 0 OR 10 / n > 1";
    assert_eq!(rows("n INT", "n INT", lines, query), ["0", "5"]);
}

#[test]
fn sums_and_averages_of_ints_are_ints() {
    let lines =
        "{\"k\":1,\"v\":2147483647}\n{\"k\":1,\"v\":2}\n{\"k\":2,\"v\":null}\n{\"k\":3,\"v\":-7}\n{\"k\":3,\"v\":2}\n";
    let query = "SELECT k, SUM(v), AVG(v) FROM t GROUP BY k";
    let sql = |setting: &str, query: &str| {
        format!("{setting} {} INSERT INTO out {query};", tables("k INT, v INT", "k INT, s INT, a INT"))
    };
    let wraps = "SET 'table.exec.integer-overflow' = 'wrap';";
    let rows = run_json(lines, &sql(wraps, query)).expect("the query runs");
    assert_eq!(materialized(&rows), ["1 | -2147483647 | 1073741824", "2 | NULL | NULL", "3 | -5 | -2"]);
    let error = run_json(lines, &sql("", query)).expect_err("the sum is no INT");
    let error = with_way_out(&error);
    assert!(error.contains("of `v` does not fit INT") && error.contains("BIGINT"), "{error}");
    let fitting = "SELECT k, SUM(v), AVG(v) FROM t WHERE k > 1 GROUP BY k";
    let rows = run_json(lines, &sql("", fitting)).expect("the query runs");
    assert_eq!(materialized(&rows), ["2 | NULL | NULL", "3 | -5 | -2"]);
}

#[test]
fn deviations_are_those_of_the_rows_that_are_left() {
    let lines: String = (1..=10).map(|n| format!("{{\"n\": {n}}}\n")).collect();
    let query = "SELECT VAR_POP(d), VAR_SAMP(d), STDDEV_POP(d) FILTER (WHERE d < 3), VAR_POP(n)
                 FROM (SELECT n, CAST(n AS DOUBLE) AS d FROM t)";
    assert_eq!(
        rows("n INT", "a DOUBLE, b DOUBLE, c DOUBLE, v INT", &lines, query),
        ["8.25 | 9.166666666666666 | 0.5 | 8"]
    );
    // Of groups that change: the counts of keys, of which one is taken back whenever another comes.
    let lines: String = [1, 1, 2, 1, 3, 3].iter().map(|n| format!("{{\"n\": {n}}}\n")).collect();
    let query = "SELECT VAR_POP(CAST(c AS DOUBLE)) FROM (SELECT n, COUNT(*) AS c FROM t GROUP BY n)";
    let expected = ((3.0f64 * 3.0 + 1.0 + 4.0) - 6.0 * 6.0 / 3.0) / 3.0;
    assert_eq!(rows("n INT", "a DOUBLE", &lines, query), [format!("{expected:?}")]);
    let error = refused(&format!(
        "{} INSERT INTO out SELECT STDDEV_POP(DISTINCT n) FROM t;",
        tables("n INT", "v INT").replace("{path}", "/none")
    ));
    assert!(error.starts_with("STDDEV_POP(DISTINCT …) is not supported"), "{error}");
}

#[test]
fn rows_may_stand_in_the_query() {
    assert_eq!(
        rows("k INT", "a BIGINT, b STRING", "", "VALUES (1, 'x'), (3000000000, NULL)"),
        ["1 | x", "3000000000 | NULL"]
    );
    assert_eq!(rows("k INT", "a INT, b STRING", "", "SELECT 1 + 1, 'one'"), ["2 | one"]);
    assert_eq!(rows("k INT", "n BIGINT", "", "SELECT COUNT(*) FROM (VALUES (1), (2), (2)) AS v(a) WHERE a = 2"), ["2"]);
}

#[test]
fn plans_of_the_same_query_are_equal() {
    // Names of state come from expressions: two plans of a query must not differ.
    let sql = format!(
        "{} INSERT INTO out SELECT n % 3, SUM(n * 2) FROM t GROUP BY n % 3;",
        tables("n INT", "a INT, b INT").replace("{path}", "/none")
    );
    let explained = || planned(&sql).expect("a plan").explain();
    assert_eq!(explained(), explained());
}
