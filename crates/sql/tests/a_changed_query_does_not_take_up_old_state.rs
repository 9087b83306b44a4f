//! What a restore compares.

mod common;

use common::{planned, tables};
use headpond_runtime::NodeKind;
use headpond_runtime::operator::OperatorSetup;
use headpond_state::backend::{KeyedBackendParams, StateBackend};
use headpond_state::{KeyGroupRange, KeyedStateBackend, MaxParallelism, OperatorClock, Result};
use headpond_state_memory::MemoryStateBackend;
use std::sync::Arc;

/// Opens a query's aggregate over a state; every query here has one of the same id.
fn open(query: &str, state: &mut dyn KeyedStateBackend) -> Result<()> {
    let sql = format!("{} INSERT INTO out {query};", tables("k STRING, j STRING, v BIGINT", "k STRING, s BIGINT"));
    let job = planned(&sql.replace("{path}", "input.json"))?;
    for (_, node) in job.graph.nodes() {
        if let NodeKind::Keyed { operator, .. } = &node.kind {
            assert_eq!(node.id.as_str(), "out/group-aggregate/0");
            operator.open(OperatorSetup {
                state: &mut *state,
                capabilities: MemoryStateBackend::new().capabilities(),
                subtask: 0,
                parallelism: 1,
                max_parallelism: MaxParallelism::DEFAULT,
                restored: &[],
                event_time_ms: i64::MIN,
                clock: &Arc::new(OperatorClock::default()),
            })?;
        }
    }
    Ok(())
}

#[test]
fn another_key_or_aggregate_is_named_and_another_filter_is_not() {
    let params = KeyedBackendParams {
        operator: headpond_state::OperatorId::new("out/group-aggregate/0"),
        subtask: 0,
        key_groups: KeyGroupRange { start: 0, end: 128 },
        max_parallelism: MaxParallelism::DEFAULT,
        clock: Arc::new(OperatorClock::default()),
        local_dir: std::env::temp_dir(),
    };
    let mut state = MemoryStateBackend::new().open_keyed(params, &[]).expect("an empty state");
    open("SELECT k, SUM(v) FROM t GROUP BY k", state.as_mut()).expect("the first query");
    open("SELECT k, SUM(v) FROM t WHERE v > 3 GROUP BY k", state.as_mut()).expect("another filter");
    for (query, differs) in [
        ("SELECT j, SUM(v) FROM t GROUP BY j", "rows by j"),
        ("SELECT k, MAX(v) FROM t GROUP BY k", "max(v)"),
        ("SELECT k, SUM(v + 1) FROM t GROUP BY k", "sum(v + 1)"),
    ] {
        let error = open(query, state.as_mut()).expect_err("another state").to_string();
        assert!(error.contains(differs) && error.contains("rows by k"), "{query}: {error}");
        assert!(error.contains("state accumulators"), "{error}");
    }
}
