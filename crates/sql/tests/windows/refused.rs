//! Windows that are refused before anything starts.

use crate::common::refused;

fn refused_query(query: &str) -> String {
    refused(&format!(
        "CREATE TABLE t (k STRING, v BIGINT, ts TIMESTAMP(3), other TIMESTAMP(3), WATERMARK FOR ts AS ts)
           WITH ('connector' = 'filesystem', 'path' = 'x', 'format' = 'json');
         CREATE TABLE out (k STRING, n BIGINT) WITH ('connector' = 'blackhole');
         INSERT INTO out\n{query};"
    ))
}

fn grouped(from: &str) -> String {
    refused_query(&format!("SELECT k, COUNT(*) FROM {from} GROUP BY k, window_start, window_end"))
}

#[test]
fn a_size_that_is_no_multiple_of_the_slide() {
    let error = grouped("TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '15' SECOND))");
    assert!(
        error.contains("the size of hopping windows, 15000 ms, is no multiple of their slide, 10000 ms"),
        "{error}"
    );
    assert!(error.contains("line 5, column 31"), "{error}");
    let error = refused_query("SELECT k, COUNT(*) FROM t GROUP BY k, HOP(ts, INTERVAL '2' HOUR, INTERVAL '1' HOUR)");
    assert!(error.contains("no multiple of their slide"), "{error}");
}

#[test]
fn a_partition_where_there_is_none() {
    let error = grouped("TABLE(HOP(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '1' SECOND))");
    assert!(error.contains("HOP has no PARTITION BY"), "{error}");
}

#[test]
fn a_column_that_is_not_event_time() {
    let error = grouped("TABLE(HOP(TABLE t, DESCRIPTOR(other), INTERVAL '1' SECOND, INTERVAL '1' SECOND))");
    assert!(error.contains("a window's time must be the table's event time, and other is not"), "{error}");
}

#[test]
fn wrong_arguments() {
    for from in [
        "TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND))",
        "TABLE(TUMBLE(TABLE t, ts, INTERVAL '1' SECOND))",
        "TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts)))",
        "TABLE(HOP(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), GAP => INTERVAL '1' SECOND, SIZE => INTERVAL '1' SECOND))",
    ] {
        let error = grouped(from);
        assert!(error.contains("takes a table and, of it, a time"), "{error}");
        assert!(error.contains("[write TABLE("), "{error}");
    }
    let error = grouped("TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '0' SECOND, INTERVAL '1' SECOND))");
    assert!(error.contains("the slide of a window must be greater than zero"), "{error}");
    let error = grouped("TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '10' SECOND))");
    assert!(error.contains("CUMULATE is not supported"), "{error}");
}
