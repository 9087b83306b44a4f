//! Looking inside the state of a job that has ended: every operator of SQL has tables that people can read.

use crate::support::{FLIGHTS, LAST_CHECKPOINT, Place};
use std::fs;

/// A group aggregate with a TTL into a table with a key, counts of distinct values, a join, the last two rows of a key.
fn job(backend: &str, format: &str) -> String {
    let sink = |name: &str, columns: &str| {
        format!(
            "CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', 'path' = 'out/{name}', 'format' = 'json');\n"
        )
    };
    let mut text = format!(
        "{LAST_CHECKPOINT}
         SET 'pipeline.name' = 'flown';
         SET 'state.backend.type' = '{backend}';
         SET 'state.serialization.format' = '{format}';
         CREATE TABLE flights (carrier STRING, dep_delay DOUBLE, time_hour TIMESTAMP(3))
           WITH ('connector' = 'filesystem', 'path' = 'flights.csv', 'format' = 'csv', 'csv.header' = 'true',
                 'csv.null-literal' = 'NA');
         CREATE TABLE airlines (carrier STRING, name STRING)
           WITH ('connector' = 'filesystem', 'path' = 'airlines.csv', 'format' = 'csv', 'csv.header' = 'true');\n"
    );
    text += &sink(
        "totals",
        "carrier STRING, flights BIGINT, delay_sum DOUBLE, delay_avg DOUBLE, PRIMARY KEY (carrier) NOT ENFORCED",
    );
    text +=
        "INSERT INTO totals SELECT /*+ STATE_TTL('flights' = '1d') */ carrier, COUNT(*), SUM(dep_delay), AVG(dep_delay)
               FROM flights GROUP BY carrier;\n";
    text += &sink("kinds", "carrier STRING, delays BIGINT, PRIMARY KEY (carrier) NOT ENFORCED");
    text += "INSERT INTO kinds SELECT carrier, COUNT(DISTINCT dep_delay) FROM flights GROUP BY carrier;\n";
    text += &sink("named", "name STRING, dep_delay DOUBLE");
    text += "INSERT INTO named SELECT a.name, f.dep_delay FROM flights f JOIN airlines a ON f.carrier = a.carrier;\n";
    text += &sink("latest", "carrier STRING, dep_delay DOUBLE, n BIGINT, PRIMARY KEY (carrier, n) NOT ENFORCED");
    text += "INSERT INTO latest SELECT carrier, dep_delay, n FROM (SELECT *, ROW_NUMBER() OVER
               (PARTITION BY carrier ORDER BY time_hour DESC) AS n FROM flights) WHERE n <= 2;\n";
    text
}

fn place(backend: &str, format: &str) -> Place {
    let place = Place::new();
    place.write("airlines.csv", "carrier,name\nUA,United\nWN,Southwest\n");
    place.write("job.sql", &job(backend, format));
    place.run("run job.sql --parallelism 2 --progress none").exits_with(0);
    place
}

fn csv(place: &Place, query: &str) -> String {
    let mut command = place.command("state query checkpoints/flown");
    crate::support::ran(command.args([query, "--format", "csv"]).output().expect("the binary runs")).exits_with(0).out
}

#[test]
fn every_operator_has_tables_with_the_querys_names() {
    assert!(FLIGHTS.contains("UA,NA"), "a delay is missing");
    for (backend, format) in [("memory", "row"), ("rocksdb", "avro")] {
        let place = place(backend, format);
        let is = |query: &str, expected: &str| assert_eq!(csv(&place, query), expected, "`{query}` with {backend}");
        is(
            "SELECT carrier, flights, delay_sum, delay_avg, expires_at > now() AS alive FROM totals_group_aggregate_0 ORDER BY carrier",
            "carrier,flights,delay_sum,delay_avg,alive\nAA,2,7.5,3.75,true\nUA,3,6.0,3.0,true\n",
        );
        is(
            "SELECT carrier, line, _rows FROM totals_sink_0 ORDER BY carrier",
            "carrier,line,_rows\n\
             AA,\"{\"\"carrier\"\":\"\"AA\"\",\"\"flights\"\":2,\"\"delay_sum\"\":7.5,\"\"delay_avg\"\":3.75}\",1\n\
             UA,\"{\"\"carrier\"\":\"\"UA\"\",\"\"flights\"\":3,\"\"delay_sum\"\":6.0,\"\"delay_avg\"\":3.0}\",1\n",
        );
        is(
            "SELECT carrier, delays, _rows FROM kinds_group_aggregate_0 ORDER BY carrier",
            "carrier,delays,_rows\nAA,2,2\nUA,2,3\n",
        );
        is(
            "SELECT carrier, dep_delay, _rows FROM kinds_group_aggregate_0_values ORDER BY carrier, dep_delay",
            "carrier,dep_delay,_rows\nAA,-3.0,[1]\nAA,10.5,[1]\nUA,2.0,[1]\nUA,4.0,[1]\n",
        );
        is(
            "SELECT l.carrier, l.dep_delay, r.name FROM named_join_0_left_rows l JOIN named_join_0_right_rows r \
             ON l.carrier = r.carrier ORDER BY l.dep_delay",
            "carrier,dep_delay,name\nUA,2.0,United\nUA,4.0,United\nUA,,United\n",
        );
        is("SELECT name FROM named_join_0_right_rows ORDER BY name", "name\nSouthwest\nUnited\n");
        is(
            "SELECT carrier, dep_delay, time_hour, _rows FROM latest_rank_0 WHERE carrier = 'AA' ORDER BY time_hour",
            "carrier,dep_delay,time_hour,_rows\nAA,-3.0,2013-01-01 05:00:00,1\nAA,10.5,2013-01-01 07:00:00,1\n",
        );
    }
}

#[test]
fn tables_and_their_columns_are_listed() {
    let place = place("memory", "row");
    let ran = place.run("state tables checkpoints").exits_with(0);
    assert!(ran.out.starts_with("table "), "{}", ran.out);
    for table in
        ["totals_group_aggregate_0", "totals_sink_0", "kinds_group_aggregate_0_values", "named_join_0_left_rows"]
    {
        assert!(ran.out.contains(&format!("\n{table} ")), "no `{table}` in\n{}", ran.out);
    }
    assert!(!ran.out.contains('~'), "what is written entry by entry is counted:\n{}", ran.out);
    let ran = place.run("state schema checkpoints/flown totals_group_aggregate_0").exits_with(0);
    for part in [
        "of operator totals/group-aggregate/0",
        "state `accumulators`: aggregating, values by codec `row`, expires after 86400000 ms",
    ] {
        assert!(ran.out.contains(part), "no `{part}` in\n{}", ran.out);
    }
    let columns = "  carrier     utf8\n  flights     int64\n  delay_sum   float64\n  delay_avg   float64\n";
    assert!(ran.out.ends_with(&format!("{columns}  expires_at  timestamp\n")), "{}", ran.out);
    place
        .run("state schema checkpoints/flown totals_group_agregate_0")
        .exits_with(2)
        .says("did you mean `totals_group_aggregate_0`?");
    place.run("state tables nowhere").exits_with(2).says("there is no checkpoint at this path");
}

#[test]
fn rows_are_printed_and_written() {
    let place = place("rocksdb", "protobuf");
    for estimated in ["state tables checkpoints/flown", "checkpoint show checkpoints/flown"] {
        let ran = place.run(estimated).exits_with(0);
        assert!(ran.out.contains(" ~ "), "{}", ran.out);
    }
    let ran = place.run("state query checkpoints/flown kinds_group_aggregate_0").exits_with(0);
    let mut lines: Vec<&str> = ran.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["AA       2       2      NULL", "UA       2       3      NULL", "carrier  delays  _rows  expires_at"]
    );
    for name in ["rows.csv", "rows.json", "rows.parquet"] {
        place
            .run(&format!("state export checkpoints/flown kinds_group_aggregate_0 -o {name}"))
            .exits_with(0)
            .says("2 rows written");
        assert!(fs::metadata(place.path(name)).is_ok_and(|file| file.len() > 20), "{name}");
        assert!(!place.path(format!("{name}.part")).exists());
    }
    assert_eq!(fs::read(place.path("rows.parquet")).expect("the file is there")[..4], *b"PAR1");
    place
        .run("state export checkpoints/flown kinds_group_aggregate_0 -o rows.xls")
        .exits_with(2)
        .says(".parquet, .csv or .json");
    place.run("state export checkpoints/flown nothing -o rows.csv").exits_with(2).says("there is no table `nothing`");
    assert!(!place.path(".headpond").exists(), "fetched files are removed");
}
