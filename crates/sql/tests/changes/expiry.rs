//! Values of groups live and die with their group, whatever the clock does.

use super::common::tables;
use super::{Run, file, planned};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
struct Step {
    later_ms: i64,
    id: u8,
    key: u8,
    value: Option<u8>,
    gone: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let later_ms = prop_oneof![4 => 0i64..400, 1 => 900i64..1200];
    (later_ms, 0u8..5, 0u8..2, proptest::option::weighted(0.9, 0u8..4), proptest::bool::weighted(0.2))
        .prop_map(|(later_ms, id, key, value, gone)| Step { later_ms, id, key, value, gone })
}

/// A group, as one that counts values one by one has it.
#[derive(Debug, Default)]
struct Group {
    rows: i64,
    values: BTreeMap<u8, i64>,
    touched_ms: i64,
}

impl Group {
    fn take(&mut self, value: Option<u8>, change: i64) {
        self.rows += change;
        if let Some(value) = value {
            let count = self.values.entry(value).or_default();
            *count = (*count + change).max(0);
            self.values.retain(|_, count| *count > 0);
        }
    }

    fn shown(&self, key: u8) -> String {
        let extreme = |value: Option<&u8>| value.map_or_else(|| "NULL".to_owned(), u8::to_string);
        let (least, greatest) = (self.values.keys().next(), self.values.keys().next_back());
        format!("{key} | {} | {} | {}", self.values.len(), extreme(least), extreme(greatest))
    }
}

const TTL_MS: i64 = 1000;

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_group_has_all_values_of_its_life_and_none_of_an_earlier_one(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let (_dir, path) = file("");
        let sql = format!(
            "{} INSERT INTO out SELECT /*+ STATE_TTL('x' = '1 s') */ k, COUNT(DISTINCT v), MIN(v), MAX(v) FROM
                (SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY seq DESC) AS rn FROM t)
                WHERE rn = 1 AND NOT gone) AS x GROUP BY k;",
            tables("seq BIGINT, id BIGINT, gone BOOLEAN, k BIGINT, v BIGINT", "k BIGINT, n BIGINT, a BIGINT, b BIGINT")
        );
        let job = planned(&sql.replace("{path}", &path)).expect("the job is right");
        let mut run = Run::new(&job.graph).expect("the job opens");
        let mut groups: BTreeMap<u8, Group> = BTreeMap::new();
        let mut current: BTreeMap<u8, Step> = BTreeMap::new();
        let mut given: BTreeMap<u8, String> = BTreeMap::new();
        let mut now_ms = 0;
        for (seq, step) in steps.iter().enumerate() {
            now_ms += step.later_ms;
            let value = step.value.map_or_else(|| "null".to_owned(), |value| value.to_string());
            let line = format!(
                "{{\"seq\":{seq},\"id\":{},\"gone\":{},\"k\":{},\"v\":{value}}}\n",
                step.id, step.gone, step.key
            );
            // A file that becomes shorter is refused.
            std::fs::write(&path, format!("{:<120}\n", line.trim_end())).expect("the file is written");
            run.all(8, now_ms).expect("the job runs");

            let old = current.insert(step.id, step.clone()).filter(|old| !old.gone);
            let new = Some(step.clone()).filter(|new| !new.gone);
            groups.retain(|_, group| group.touched_ms + TTL_MS > now_ms);
            let mut touched = Vec::new();
            for (row, change) in old.iter().map(|old| (old, -1)).chain(new.iter().map(|new| (new, 1))) {
                // What is taken back from a group that has expired is not there any more.
                if change > 0 || groups.contains_key(&row.key) {
                    let group = groups.entry(row.key).or_default();
                    group.take(row.value, change);
                    group.touched_ms = now_ms;
                    touched.push(row.key);
                }
            }
            groups.retain(|_, group| group.rows > 0);
            for row in run.output.drain(..) {
                let (kind, row) = row.split_once(' ').expect("a kind before the row");
                let key = row[..1].parse().expect("a key");
                if kind.starts_with('+') {
                    given.insert(key, row.to_owned());
                } else {
                    given.remove(&key);
                }
            }
            for key in touched {
                if let Some(group) = groups.get(&key) {
                    prop_assert_eq!(given.get(&key), Some(&group.shown(key)), "at {} ms, step {}", now_ms, seq);
                }
            }
        }
    }
}
