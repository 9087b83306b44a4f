mod common;
use arrow_array::*;
use headpond_runtime::key::KeyEncoder;
use headpond_runtime::operator::*;
use headpond_runtime::*;
use headpond_state::backend::*;
use headpond_state::*;
use std::sync::Arc;
#[test]
fn bench() {
    let job = common::planned("CREATE TABLE t (k BIGINT, v BIGINT) WITH ('connector'='datagen','number-of-rows'='1'); CREATE TABLE o (k BIGINT, n BIGINT, s BIGINT) WITH ('connector'='blackhole'); INSERT INTO o SELECT k, COUNT(*), SUM(v) FROM t GROUP BY k;").unwrap();
    let (_, node) = job.graph.nodes().find(|(_, n)| matches!(n.kind, NodeKind::Keyed { .. })).unwrap();
    let NodeKind::Keyed { inputs, operator } = &node.kind else { panic!() };
    let max = MaxParallelism::DEFAULT;
    let backend = headpond_state_memory::MemoryStateBackend::new();
    let params = KeyedBackendParams {
        operator: node.id.clone(),
        subtask: 0,
        key_groups: KeyGroupRange { start: 0, end: 128 },
        max_parallelism: max,
        clock: Arc::new(OperatorClock::default()),
        local_dir: "/tmp/x".into(),
    };
    let mut state = backend.open_keyed(params, &[]).unwrap();
    let schema = job.graph.node(inputs[0].node).schema.clone();
    let enc = KeyEncoder::new(&schema, &inputs[0].key, max).unwrap();
    for sorted in [false, true] {
        let mut caps = backend.capabilities();
        caps.prefers_sorted_batches = sorted;
        let mut op = operator
            .open(OperatorSetup {
                state: state.as_mut(),
                capabilities: caps,
                subtask: 0,
                parallelism: 1,
                max_parallelism: max,
                restored: &[],
                event_time_ms: 0,
            })
            .unwrap();
        let mut counters = Counters::default();
        let mut x = 88172645463325252u64;
        for round in 0..4 {
            let (mut tk, mut to) = (0f64, 0f64);
            let mut n = 0;
            let mut outrows = 0;
            for _ in 0..16 {
                let k: Vec<i64> = (0..65536)
                    .map(|_| {
                        x ^= x << 13;
                        x ^= x >> 7;
                        x ^= x << 17;
                        (x % 1_000_000) as i64
                    })
                    .collect();
                let v: Vec<i64> = (0..65536).collect();
                let b = ChangeBatch::inserts(
                    RecordBatch::try_new(
                        schema.clone(),
                        vec![Arc::new(Int64Array::from(k)), Arc::new(Int64Array::from(v))],
                    )
                    .unwrap(),
                );
                let t = std::time::Instant::now();
                let keys = enc.encode(&b).unwrap();
                tk += t.elapsed().as_secs_f64();
                let kb = KeyedBatch { keys, changes: b };
                let t = std::time::Instant::now();
                let mut first = true;
                loop {
                    let mut out = Output::default();
                    let mut cx = OperatorContext {
                        state: state.as_mut(),
                        output: &mut out,
                        event_time_ms: 0,
                        processing_time_ms: 0,
                        counters: &mut counters,
                    };
                    let p = if first { op.process(0, &kb, &mut cx).unwrap() } else { op.resume(&mut cx).unwrap() };
                    first = false;
                    outrows += out.drain().map(|b| b.num_rows()).sum::<usize>();
                    if p == Progress::Done {
                        break;
                    }
                }
                to += t.elapsed().as_secs_f64();
                n += 65536;
            }
            println!(
                "sorted {sorted} round {round}: encode {:.0} ns/row, operator {:.0} ns/row, out {outrows}",
                tk / n as f64 * 1e9,
                to / n as f64 * 1e9
            );
        }
    }
}
