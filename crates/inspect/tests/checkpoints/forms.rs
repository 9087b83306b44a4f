//! Every shape of state, and every codec, as rows.

use crate::support::{TestEntry, TestJob, TestOperator, entry, key, row, rows, stamped};
use headpond_codecs::{AvroCodec, SerdeCodec};
use headpond_rows::RowFormat;
use headpond_rows::sums::ExactSum;
use headpond_state::codec::{Codec, Utf8};
use headpond_state::columns::{UserKeyColumn, UserKeyColumns, ValueColumn};
use headpond_state::encoding::{put_i16, put_i64, window_namespace};
use headpond_state::schema::{DataKind, Datum};
use headpond_state::ttl::TtlConfig;
use headpond_state::typed::Timers;
use headpond_state::{CodecId, EntryOrder, StateColumns, StateDescriptor, StateKind};

fn table(states: Vec<(StateDescriptor, Vec<TestEntry>)>, query: &str) -> Vec<String> {
    let job = TestJob::new();
    job.checkpoint(&[TestOperator { id: "op", states }], 3);
    rows(&job.open("job").expect("there is a checkpoint"), query)
}

fn state(kind: StateKind, codec: &str, schema: &str) -> StateDescriptor {
    StateDescriptor::new("state", kind, CodecId::new(codec, 1)).with_key_schema("utf8").with_value_schema(schema)
}

fn k(text: &str) -> Vec<u8> {
    key("utf8", &[text.into()])
}

fn times(names: [&str; 2]) -> headpond_state::schema::RowSchema {
    format!("{} timestamp, {} timestamp", names[0], names[1]).parse().expect("a schema")
}

#[test]
fn rows_of_each_format_are_read() {
    let schema = "n int64, price decimal(10,2)?, day date, at timestamp_ltz, tags list<utf8>";
    let fields = [
        7.into(),
        Datum::Decimal(12345),
        Datum::Int64(15_706),
        Datum::Int64(1_357_016_400_123),
        Datum::List(vec!["a".into(), "b".into()]),
    ];
    for format in RowFormat::ALL {
        let value = row(format, schema, &fields);
        let found =
            table(vec![(state(StateKind::Value, format.name(), schema), vec![entry(k("x"), vec![], value)])], "op");
        assert_eq!(
            found,
            ["key_0|n|price|day|at|tags|expires_at", "x|7|123.45|2013-01-01|2013-01-01 05:00:00.123|[a, b]|NULL"],
            "{format}"
        );
    }
}

#[test]
fn what_expires_says_when_also_when_that_has_passed() {
    let expiring = state(StateKind::Value, "utf8", "utf8").with_ttl(Some(TtlConfig::new(60_000)));
    let value = |text: &str| {
        let mut bytes = Vec::new();
        Utf8.encode(&text.to_owned(), &mut bytes).expect("text can be written");
        bytes
    };
    let entries =
        vec![entry(k("x"), vec![], stamped(0, value("old"))), entry(k("y"), vec![], stamped(1_000, value("new")))];
    let expected = ["key_0|value|expires_at", "x|old|1970-01-01 00:01:00", "y|new|1970-01-01 00:01:01"];
    assert_eq!(table(vec![(expiring, entries)], "SELECT * FROM op ORDER BY key_0"), expected);
}

#[test]
fn windows_are_the_beginning_and_the_end_of_their_time() {
    let mut window = Vec::new();
    window_namespace(0, 3_600_000, &mut window);
    let windowed = state(StateKind::Aggregating, "row", "rows int64").with_columns(StateColumns {
        key: "carrier utf8".parse().expect("a schema"),
        namespace: times(["window_start", "window_end"]),
        ..StateColumns::default()
    });
    let value = || row(RowFormat::Row, "rows int64", &[3.into()]);
    let timers =
        |columns: StateColumns| Timers::descriptor("window ends").with_key_schema("utf8").with_columns(columns);
    let timer = || TestEntry { time_ms: Some(3_599_999), key: k("UA"), rest: window.clone(), value: vec![1, 4] };
    let expected = ["window_start|window_end|rows|expires_at", "1970-01-01 00:00:00|1970-01-01 01:00:00|3|NULL"];
    let states = vec![
        (windowed.clone(), vec![entry(k("UA"), window.clone(), value())]),
        (timers(windowed.columns.clone()), vec![timer()]),
    ];
    assert_eq!(table(states, "SELECT window_start, window_end, rows, expires_at FROM op"), expected);
    // Without columns windows are known by their timers.
    let old = || {
        let windowed = state(StateKind::Aggregating, "row", "rows int64");
        vec![
            (windowed, vec![entry(k("UA"), window.clone(), value())]),
            (timers(StateColumns::default()), vec![timer()]),
        ]
    };
    assert_eq!(table(old(), "SELECT window_start, window_end, rows, expires_at FROM op"), expected);
    let expected = [
        "time|key_0|window_start|window_end|expires_at",
        "1970-01-01 00:59:59.999|UA|1970-01-01 00:00:00|1970-01-01 01:00:00|NULL",
    ];
    assert_eq!(table(old(), "op_window_ends"), expected);
}

#[test]
fn all_open_sessions_of_a_key_are_rows_wherever_they_are_kept() {
    let inner = "rows by k int64, sum(x) int64?";
    let session = "start timestamp, end timestamp, `rows by k` int64, `sum(x)` int64?";
    let outer = format!(
        "timer timestamp?, `older until` timestamp?, start timestamp?, end timestamp?, `rows by k` int64, \
         `sum(x)` int64?, more list<struct<{}>>?",
        session.replace(", ", ",")
    );
    let inner = inner.replace("rows by k", "`rows by k`").replace("sum(x)", "`sum(x)`");
    let columns = |namespace: [&str; 2], part_of: Option<&str>| StateColumns {
        key: "k utf8".parse().expect("a schema"),
        namespace: times(namespace),
        value: vec![ValueColumn { name: "total".into(), field: "sum(x)".into(), divided_by: None, ty: None }],
        part_of: part_of.map(str::to_owned),
        ..StateColumns::default()
    };
    let mut accumulators =
        state(StateKind::Aggregating, "row", &outer).with_columns(columns(["window_start", "window_end"], None));
    accumulators.name = "accumulators".into();
    let mut older = state(StateKind::Aggregating, "row", &inner)
        .with_columns(columns(["window_end", "window_start"], Some("accumulators")));
    older.name = "older sessions".into();
    let others = vec![Datum::Struct(vec![Datum::Int64(1_000), Datum::Int64(2_000), 2.into(), Datum::Null])];
    let fields =
        [Datum::Null, Datum::Null, Datum::Int64(5_000), Datum::Int64(6_000), 3.into(), 30.into(), Datum::List(others)];
    let mut times = Vec::new();
    window_namespace(900, 100, &mut times);
    let states = vec![
        (accumulators, vec![entry(k("a"), vec![], row(RowFormat::Row, &outer, &fields))]),
        (older, vec![entry(k("a"), times, row(RowFormat::Row, &inner, &[1.into(), 10.into()]))]),
    ];
    let expected = [
        "k|window_start|window_end|total|_rows|expires_at",
        "a|1970-01-01 00:00:00.100|1970-01-01 00:00:00.900|10|1|NULL",
        "a|1970-01-01 00:00:01|1970-01-01 00:00:02|NULL|2|NULL",
        "a|1970-01-01 00:00:05|1970-01-01 00:00:06|30|3|NULL",
    ];
    assert_eq!(table(states, "SELECT * FROM op ORDER BY window_start"), expected);
}

#[test]
fn sums_that_can_be_taken_back_are_numbers() {
    let schema = "rows int64, `sum(x) is set` bool, `sum(x) parts` list<float64>, `sum(x) huge parts` list<float64>, \
                  `sum(x) of NaN` int64, `sum(x) of Infinity` int64, `sum(x) of -Infinity` int64";
    let value = |is_set: bool, numbers: &[f64]| {
        let mut sum = ExactSum::default();
        numbers.iter().for_each(|number| sum.add(*number, 1));
        let mut fields = vec![3.into(), is_set.into()];
        sum.store(&mut fields);
        row(RowFormat::Row, schema, &fields)
    };
    let entries =
        vec![entry(k("a"), vec![], value(true, &[1e300, 1.5, -1e300])), entry(k("b"), vec![], value(false, &[]))];
    let found = table(
        vec![(state(StateKind::Aggregating, "row", schema), entries)],
        "SELECT key_0, \"sum(x)\" FROM op ORDER BY key_0",
    );
    assert_eq!(found, ["key_0|sum(x)", "a|1.5", "b|NULL"]);
}

#[test]
fn entries_of_lists_and_maps_are_rows() {
    let text = |text: &str| {
        let mut bytes = Vec::new();
        Utf8.encode(&text.to_owned(), &mut bytes).expect("text can be written");
        bytes
    };
    let list = vec![
        entry(k("x"), 0u64.to_be_bytes().to_vec(), text("first")),
        entry(k("x"), 7u64.to_be_bytes().to_vec(), text("second")),
    ];
    let expected = ["key_0|position|value|expires_at", "x|0|first|NULL", "x|7|second|NULL"];
    assert_eq!(
        table(vec![(state(StateKind::List, "utf8", "utf8"), list)], "SELECT * FROM op ORDER BY position"),
        expected
    );

    let map = vec![entry(k("x"), key("int64,utf8?", &[5.into(), Datum::Null]), text("v"))];
    let expected = ["key_0|user_key_0|user_key_1|value|expires_at", "x|5|NULL|v|NULL"];
    assert_eq!(table(vec![(state(StateKind::Map, "utf8", "int64,utf8? -> utf8"), map)], "op"), expected);

    let timed = state(StateKind::List, "utf8", "utf8").with_order(EntryOrder::TimeFirst);
    let mut rest = Vec::new();
    put_i64(1_234, &mut rest);
    rest.extend(9u64.to_be_bytes());
    let entries = vec![TestEntry { time_ms: Some(1_000), key: k("x"), rest, value: text("v") }];
    let expected =
        ["_bucket|key_0|_time|_sequence|value|expires_at", "1970-01-01 00:00:01|x|1970-01-01 00:00:01.234|9|v|NULL"];
    assert_eq!(table(vec![(timed, entries)], "op"), expected);
}

#[test]
fn user_keys_that_are_ordered_otherwise_or_belong_to_sets_are_read_by_their_columns() {
    let column = |name: &str, kind: DataKind| UserKeyColumn::new(name, kind.nullable());
    let ranked = state(StateKind::Map, "counted-rows", "in words").with_columns(StateColumns {
        key: "k utf8".parse().expect("a schema"),
        user_key: UserKeyColumns::all(vec![
            UserKeyColumn { descending: true, moved_nulls: true, ..column("", DataKind::Int64) },
            column("price", DataKind::Int64),
            column("name", DataKind::Utf8),
        ]),
        ..StateColumns::default()
    });
    let place = |price: Datum, name: &str| {
        let mut sort_key = key("int64?", std::slice::from_ref(&price));
        sort_key.iter_mut().for_each(|byte| *byte = !*byte);
        sort_key[0] = !sort_key[0];
        [sort_key, key("int64?,utf8?", &[price, name.into()])].concat()
    };
    let counted = |count: u64| [vec![1], count.to_be_bytes().to_vec(), 9u64.to_be_bytes().to_vec()].concat();
    let entries =
        vec![entry(k("x"), place(5.into(), "b"), counted(2)), entry(k("x"), place(Datum::Null, "a"), counted(1))];
    let expected = ["k|price|name|_rows|expires_at", "x|NULL|a|1|NULL", "x|5|b|2|NULL"];
    assert_eq!(table(vec![(ranked, entries)], "SELECT * FROM op ORDER BY name"), expected);

    let sets = state(StateKind::Map, "counts", "in words").with_columns(StateColumns {
        key: "k utf8".parse().expect("a schema"),
        user_key: UserKeyColumns {
            components: vec![
                column("x", DataKind::Utf8),
                UserKeyColumn { descending: true, ..column("greatest y", DataKind::Int64) },
            ],
            one_of: true,
        },
        ..StateColumns::default()
    });
    let of_set = |number: i16, value: Vec<u8>| {
        let mut rest = Vec::new();
        put_i16(number, &mut rest);
        rest.extend(value);
        rest
    };
    let flipped: Vec<u8> = key("int64?", &[8.into()]).iter().map(|byte| !byte).collect();
    let entries = vec![
        entry(k("x"), of_set(0, key("utf8?", &["v".into()])), vec![1, 0xac, 0x02, 1]),
        entry(k("x"), of_set(1, flipped), vec![1, 4]),
    ];
    let expected = ["k|x|greatest y|_rows|expires_at", "x|v|NULL|[300, 1]|NULL", "x|NULL|8|[4]|NULL"];
    assert_eq!(table(vec![(sets, entries)], "SELECT * FROM op ORDER BY x"), expected);
}

#[test]
fn values_without_fields_are_one_column() {
    let only = |codec: &str, schema: &str, value: Vec<u8>| {
        let found = table(
            vec![(state(StateKind::Value, codec, schema), vec![entry(k("x"), vec![], value)])],
            "SELECT value FROM op",
        );
        found[1].clone()
    };
    let fixed = |bytes: &[u8]| [&[1], bytes].concat();
    assert_eq!(only("i16", "i16", fixed(&(-7i16).to_le_bytes())), "-7");
    assert_eq!(only("u8", "u8", fixed(&[255])), "255");
    assert_eq!(only("u64", "u64", fixed(&u64::MAX.to_le_bytes())), u64::MAX.to_string());
    assert_eq!(only("i128", "i128", fixed(&i128::MIN.to_le_bytes())), i128::MIN.to_string());
    assert_eq!(only("f32", "f32", fixed(&1.5f32.to_le_bytes())), "1.5");
    assert_eq!(only("bool", "bool", fixed(&[1])), "true");
    assert_eq!(only("counter", "i64", 12i64.to_le_bytes().to_vec()), "12");
    assert_eq!(only("bytes", "bytes", fixed(&[0xca, 0xfe])), "cafe");
    assert_eq!(only("of-a-user", "who knows", vec![9, 8]), "0908");

    let mut value = Vec::new();
    let avro = AvroCodec::<(i64, String)>::new(r#""long""#);
    assert!(avro.is_ok());
    let codec = AvroCodec::<i64>::new(r#""long""#).expect("a schema");
    codec.encode(&42, &mut value).expect("a number can be written");
    assert_eq!(only("avro-datum", &codec.schema(), value), "42");

    let mut value = Vec::new();
    SerdeCodec::<(u8, u8)>::new("pair", 3).encode(&(1, 2), &mut value).expect("a pair can be written");
    assert_eq!(only("serde", "pair", value), "0102");
}

#[test]
fn current_lines_are_rows_with_their_counts() {
    let lines = state(StateKind::Value, "line", "id BIGINT as format=csv");
    let mut counted = vec![2];
    for (count, line) in [(1i64, "1,a"), (-1, "1,b")] {
        counted.extend(count.to_be_bytes());
        counted.extend((line.len() as u32).to_be_bytes());
        counted.extend(line.as_bytes());
    }
    let mut described = lines
        .clone()
        .with_columns(StateColumns { key: "id int64".parse().expect("a schema"), ..StateColumns::default() });
    described.key_schema = "id BIGINT".into();
    let entries = || {
        vec![
            entry(key("int64", &[1.into()]), vec![], counted.clone()),
            entry(key("int64", &[2.into()]), vec![], b"\x012,c".to_vec()),
        ]
    };
    let expected = ["id|line|_rows", "1|1,a|1", "1|1,b|-1", "2|2,c|1"];
    assert_eq!(table(vec![(described, entries())], "SELECT id, line, _rows FROM op ORDER BY line"), expected);
    // Keys described in words only are bytes.
    let mut old = lines;
    old.key_schema = "id BIGINT".into();
    let expected = ["key|line", "8000000000000001|1,a", "8000000000000001|1,b", "8000000000000002|2,c"];
    assert_eq!(table(vec![(old, entries())], "SELECT key, line FROM op ORDER BY line"), expected);
}

#[test]
fn an_entry_that_is_not_what_its_state_says_is_named() {
    let job = TestJob::new();
    let entries = vec![entry(k("x"), vec![], vec![77])];
    job.checkpoint(&[TestOperator { id: "op", states: vec![(state(StateKind::Value, "i64", "i64"), entries)] }], 1);
    let catalog = job.open("job").expect("there is a checkpoint");
    let error = crate::support::try_rows(&catalog, "op").expect_err("the value is damaged").to_string();
    assert!(error.contains("version 77") && error.contains("state state") && error.contains("operator op"), "{error}");
    // What is not asked for is not read.
    assert_eq!(rows(&catalog, "SELECT key_0 FROM op"), ["key_0", "x"]);
}
