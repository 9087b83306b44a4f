//! Types from the source to the result.

mod common;

use common::{materialized, run_json, run_json_in_batches, tables, with_way_out};

fn run(input: &str, output: &str, lines: &str, query: &str) -> Vec<String> {
    let sql = format!("{} INSERT INTO out {query};", tables(input, output));
    materialized(&run_json(lines, &sql).expect("the query runs"))
}

#[test]
fn sums_of_38_digits_are_exact() {
    let lines = "{\"d\":\"89999999999999999999999999990000000.001\"}\n{\"d\":\"9999999.999\"}\n";
    let rows = run("d DECIMAL(38, 3)", "s DECIMAL(38, 3), m DECIMAL(38, 3)", lines, "SELECT SUM(d), MAX(d) FROM t");
    assert_eq!(rows, ["90000000000000000000000000000000000.000 | 89999999999999999999999999990000000.001"]);
}

#[test]
fn a_sum_beyond_its_type_names_operator_and_key() {
    let sql = format!(
        "{} INSERT INTO out SELECT k, SUM(v) FROM t GROUP BY k;",
        tables("k STRING, v BIGINT", "k STRING, s BIGINT")
    );
    let lines = "{\"k\":\"a\",\"v\":1}\n{\"k\":\"b\",\"v\":9223372036854775807}\n{\"k\":\"b\",\"v\":1}\n";
    let error = run_json(lines, &sql).expect_err("the sum does not fit").to_string();
    assert_eq!(error, "a SUM has grown beyond its type in the group k = 'b' (operator out/group-aggregate/0)");
}

#[test]
fn an_average_of_decimals_has_six_digits_at_least() {
    let lines = "{\"d\":1.00}\n{\"d\":2.00}\n{\"d\":2.00}\n";
    assert_eq!(run("d DECIMAL(10, 2)", "a DECIMAL(38, 6)", lines, "SELECT AVG(d) FROM t"), ["1.666667"]);
}

#[test]
fn nan_and_zero_have_one_group_each() {
    let lines = "{\"d\":0.0}\n{\"d\":-0.0}\n{\"d\":1.0}\n{\"d\":-1.0}\n";
    let count = |key: &str| run("d DOUBLE", "n BIGINT", lines, &format!("SELECT COUNT(*) FROM t GROUP BY {key}"));
    assert_eq!(count("d"), ["1", "1", "2"], "0.0 and -0.0 are one");
    assert_eq!(count("d / d"), ["2", "2"], "0.0 / 0.0 and -0.0 / -0.0 are one NaN");
}

#[test]
fn dates_and_timestamps() {
    let lines = "{\"d\":\"2013-07-01\",\"ts\":\"2013-07-01 23:30:00.5\"}\n{\"d\":\"2013-07-02\",\"ts\":\"2013-07-01 00:00:00\"}\n";
    let rows = run(
        "d DATE, ts TIMESTAMP(3)",
        "day DATE, n BIGINT, first DATE, last TIMESTAMP(3)",
        lines,
        "SELECT CAST(ts AS DATE), COUNT(*), MIN(d), MAX(ts) FROM t GROUP BY CAST(ts AS DATE)",
    );
    assert_eq!(rows, ["2013-07-01 | 2 | 2013-07-01 | 2013-07-01T23:30:00.500"]);
}

#[test]
fn local_time_follows_the_session() {
    let sql = |zone: &str| {
        format!(
            "SET 'table.local-time-zone' = '{zone}'; {} INSERT INTO out SELECT CAST(at AS DATE), CAST(at AS TIMESTAMP(3)), at FROM t;",
            tables("at TIMESTAMP_LTZ(3)", "d DATE, local TIMESTAMP(3), at TIMESTAMP_LTZ(3)")
        )
    };
    let line = "{\"at\":\"2013-07-01T23:30:00Z\"}\n";
    assert_eq!(
        run_json(line, &sql("UTC")).expect("the query runs"),
        ["+I 2013-07-01 | 2013-07-01T23:30:00 | 2013-07-01T23:30:00Z"]
    );
    assert_eq!(
        run_json(line, &sql("Europe/Berlin")).expect("the query runs"),
        ["+I 2013-07-02 | 2013-07-02T01:30:00 | 2013-07-01T23:30:00Z"]
    );
}

#[test]
fn a_timestamp_becomes_an_instant_in_the_session() {
    let sql = format!(
        "SET 'table.local-time-zone' = 'America/New_York'; {} INSERT INTO out SELECT ts FROM t;",
        tables("ts TIMESTAMP(3)", "at TIMESTAMP_LTZ(3)")
    );
    let rows = run_json("{\"ts\":\"2013-01-01 00:00:00\"}\n", &sql).expect("the query runs");
    assert_eq!(rows, ["+I 2013-01-01T05:00:00Z"]);
}

#[test]
fn fields_of_rows_and_elements_of_arrays() {
    let lines = "{\"r\":{\"a\":1,\"b\":{\"c\":\"x\"}},\"l\":[7,8]}\n{\"r\":null,\"l\":null}\n";
    let rows = run(
        "r ROW<a INT, b ROW<c STRING>>, l ARRAY<INT>",
        "a INT, c STRING, first INT, n BIGINT, r ROW<a INT, b ROW<c STRING>>, l ARRAY<INT>",
        lines,
        "SELECT t.r.a, t.r.b.c, l[1], CAST(CARDINALITY(l) AS BIGINT), r, l FROM t",
    );
    assert_eq!(rows, ["1 | x | 7 | 2 | {a: 1, b: {c: x}} | [7, 8]", "NULL | NULL | NULL | NULL | NULL | NULL"]);
}

#[test]
fn fields_of_the_rows_in_an_array_and_values_of_a_map() {
    let lines = "{\"l\":[{\"x\":1,\"y\":{\"z\":\"p\"}}],\"m\":{\"a\":5}}\n{\"l\":[],\"m\":{}}\n";
    let rows = run(
        "l ARRAY<ROW<x INT, y ROW<z STRING>>>, m MAP<STRING, INT>",
        "x INT, z STRING, n BIGINT",
        lines,
        "SELECT l[1].x, t.l[1].y.z, COUNT(*) FROM t GROUP BY l[1].x, t.l[1].y.z",
    );
    assert_eq!(rows, ["1 | p | 1", "NULL | NULL | 1"]);
    let rows = run("m MAP<STRING, INT>", "v INT, n BIGINT", lines, "SELECT m['a'], COUNT(*) FROM t GROUP BY m['a']");
    assert_eq!(rows, ["5 | 1", "NULL | 1"]);
}

#[test]
fn a_value_that_cannot_be_computed_is_named_as_it_was_written() {
    let failed = |output: &str, lines: &str, query: &str| {
        let sql = format!("{} INSERT INTO out {query};", tables("k STRING, v BIGINT", output));
        with_way_out(&run_json(lines, &sql).expect_err("a row has no value"))
    };
    let zero = "{\"k\":\"a\",\"v\":0}\n";
    assert_eq!(
        failed("n BIGINT, w BIGINT", zero, "SELECT COUNT(*), 8 / v FROM t GROUP BY 8 / v"),
        "a value cannot be computed: division by zero (column 8 / v, operator out/calc/0) \
         [make it NULL where the divisor is zero: a / NULLIF(b, 0)]"
    );
    let error = failed("w BIGINT", zero, "SELECT v FROM t WHERE 8 % v = 1");
    assert!(error.starts_with("the condition of WHERE or HAVING cannot be computed: division by zero"), "{error}");
    let error = failed("w BIGINT", "{\"k\":\"x\"}\n", "SELECT CAST(k AS BIGINT) FROM t");
    assert!(error.contains("CAST: 'x' is no BIGINT"), "{error}");
    assert!(error.contains("TRY_CAST"), "{error}");
}

#[test]
fn rows_and_arrays_are_keys() {
    let lines = "{\"r\":{\"a\":1},\"l\":[1,2]}\n{\"r\":{\"a\":1},\"l\":[1,2]}\n{\"r\":{\"a\":2},\"l\":[]}\n";
    let rows = run(
        "r ROW<a INT>, l ARRAY<INT>",
        "r ROW<a INT>, l ARRAY<INT>, n BIGINT",
        lines,
        "SELECT r, l, COUNT(*) FROM t GROUP BY r, l",
    );
    assert_eq!(rows, ["{a: 1} | [1, 2] | 2", "{a: 2} | [] | 1"]);
}

#[test]
fn every_serialization_format_gives_the_same() {
    let input = "k STRING, i INT, f FLOAT, d DOUBLE, m DECIMAL(20, 4), b BOOLEAN, ts TIMESTAMP(3)";
    let output = "k STRING, si BIGINT, mf FLOAT, sd DOUBLE, am DECIMAL(24, 8), hb BOOLEAN, mt TIMESTAMP(3), mk STRING";
    let query = "SELECT k, SUM(i), MIN(f), SUM(d), AVG(m), MAX(b), MAX(ts), MIN(k) FROM t GROUP BY k";
    let lines: String = (0..50)
        .map(|n| {
            format!(
                "{{\"k\":\"k{}\",\"i\":{n},\"f\":{}.5,\"d\":0.1,\"m\":{n}.25,\"b\":{},\"ts\":\"2013-01-01 00:00:{:02}\"}}\n",
                n % 7,
                -n,
                n % 14 == 0,
                n
            )
        })
        .collect();
    let run = |format: &str| {
        let sql = format!(
            "SET 'state.serialization.format' = '{format}'; {} INSERT INTO out {query};",
            tables(input, output)
        );
        materialized(&run_json_in_batches(&lines, &sql, 3).expect("the query runs"))
    };
    let rows = run("row");
    assert_eq!(rows.len(), 7);
    assert_eq!(run("protobuf"), rows);
    assert_eq!(run("avro"), rows);
}

#[test]
fn a_column_declared_not_null_refuses_null() {
    let sql = format!("{} INSERT INTO out SELECT a FROM t;", tables("a INT", "a INT NOT NULL"));
    let error = run_json("{\"a\":1}\n{\"a\":null}\n", &sql).expect_err("NULL does not fit").to_string();
    assert_eq!(error, "a column that is declared NOT NULL would get NULL (column a, operator out/calc/0)");
}

#[test]
fn windows_of_instants_begin_at_local_times() {
    let sql = |zone: &str, from: &str, by: &str| {
        format!(
            "SET 'table.local-time-zone' = '{zone}';
             CREATE TABLE t (at TIMESTAMP_LTZ(3), WATERMARK FOR at AS at)
               WITH ('connector' = 'filesystem', 'path' = '{{path}}', 'format' = 'json');
             CREATE TABLE out (s STRING, e STRING, n BIGINT) WITH ('connector' = 'blackhole');
             INSERT INTO out SELECT CAST({by}start AS STRING), CAST({by}end AS STRING), n FROM ({from}) w;"
        )
    };
    let of_table = |call: &str| {
        format!(
            "SELECT window_start, window_end, COUNT(*) AS n
               FROM TABLE({call}) GROUP BY window_start, window_end"
        )
    };
    let rows = "{\"at\":\"2024-06-01T00:10:00Z\"}\n{\"at\":\"2024-06-01T18:40:00Z\"}\n";
    let run = |zone: &str, from: &str| run_json(rows, &sql(zone, from, "window_"));
    let hours = of_table("TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' HOUR)");
    let days = of_table("TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' DAY)");
    let hops = of_table("HOP(TABLE t, DESCRIPTOR(at), INTERVAL '30' MINUTE, INTERVAL '1' HOUR)");
    let grouped = "SELECT TUMBLE_START(at, INTERVAL '1' HOUR) AS window_start,
                     TUMBLE_END(at, INTERVAL '1' HOUR) AS window_end, COUNT(*) AS n
                   FROM t GROUP BY TUMBLE(at, INTERVAL '1' HOUR)";
    let single = "SELECT window_start, window_end, CAST(1 AS BIGINT) AS n
                   FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' HOUR))";
    let of_hours = [
        "+I 2024-06-01 05:00:00.000 | 2024-06-01 06:00:00.000 | 1",
        "+I 2024-06-02 00:00:00.000 | 2024-06-02 01:00:00.000 | 1",
    ];
    for from in [&hours, grouped, single] {
        assert_eq!(run("Asia/Kolkata", from).expect("the query runs"), of_hours, "{from}");
    }
    assert_eq!(
        run("Asia/Kolkata", &days).expect("the query runs"),
        [
            "+I 2024-06-01 00:00:00.000 | 2024-06-02 00:00:00.000 | 1",
            "+I 2024-06-02 00:00:00.000 | 2024-06-03 00:00:00.000 | 1"
        ]
    );
    assert_eq!(
        run("+05:45", &hops).expect("the query runs")[..2],
        [
            "+I 2024-06-01 05:00:00.000 | 2024-06-01 06:00:00.000 | 1",
            "+I 2024-06-01 05:30:00.000 | 2024-06-01 06:30:00.000 | 1"
        ]
    );
    run("Europe/Berlin", &hours).expect("hours are hours of any season");
    let single_days = single.replace("HOUR", "DAY");
    let grouped_days = grouped.replace("HOUR", "DAY");
    let hops = of_table("HOP(TABLE t, DESCRIPTOR(at), INTERVAL '2' HOUR, INTERVAL '4' HOUR)");
    for from in [&days, &single_days, &grouped_days, &hops] {
        let error = common::refused(&sql("Europe/Berlin", from, "window_").replace("{path}", "none.json"));
        assert!(error.contains("in Europe/Berlin, where a change of the clock moves them"), "{error}");
    }
}
