//! A Rust program on RocksDB: what `EmbeddedRocksDbStateBackend::new` chooses shows in `headpond checkpoint show`.

use headpond::stream::state::{ValueState, ValueStateDescriptor};
use headpond::stream::{
    CollectSink, Collector, Context, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment,
};
use headpond_runtime::{Ending, Result};
use headpond_state::codec::FixedWidth;
use headpond_state_rocksdb::EmbeddedRocksDbStateBackend;
use std::path::Path;
use std::process::Command;

struct Sum;

impl KeyedProcessFunction for Sum {
    type Key = i64;
    type In = i64;
    type Out = (i64, i64);
    type States = ValueState<i64>;

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<ValueState<i64>> {
        ctx.value_state(ValueStateDescriptor::new("sum", FixedWidth))
    }

    fn process_element(
        &self,
        sum: &mut ValueState<i64>,
        value: i64,
        ctx: &mut Context<'_, i64>,
        out: &mut Collector<(i64, i64)>,
    ) -> Result<()> {
        let after = sum.value(ctx)?.unwrap_or(0) + value;
        sum.update(ctx, &after)?;
        out.collect((value % 10, after));
        Ok(())
    }
}

fn sums(dir: &Path, incremental: bool) -> String {
    let env = StreamExecutionEnvironment::new();
    env.set_state_backend(EmbeddedRocksDbStateBackend::new(incremental));
    env.set_checkpoint_dir(dir.join("checkpoints").display().to_string());
    env.set_local_dir(dir.join("local"));
    env.set_parallelism(2);
    let sink = CollectSink::new();
    env.from_iter(0..1000i64).key_by(|value| value % 10).process(Sum).sink_to(sink.clone());
    let result = env.execute("sums").expect("the job runs");
    assert_eq!(result.ending, Ending::Finished);
    for key in 0..10i64 {
        let last = sink.records().into_iter().filter(|(of, _)| *of == key).map(|(_, sum)| sum).max();
        assert_eq!(last, Some((0..1000).filter(|value| value % 10 == key).sum()));
    }
    let shown = Command::new(env!("CARGO_BIN_EXE_headpond"))
        .args(["checkpoint", "show"])
        .arg(dir.join("checkpoints"))
        .output()
        .expect("the binary runs");
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    String::from_utf8_lossy(&shown.stdout).into_owned()
}

#[test]
fn true_takes_incremental_checkpoints_and_false_full_ones() {
    for (incremental, word) in [(true, "incremental"), (false, "full")] {
        let dir = tempfile::tempdir().expect("a directory");
        let shown = sums(dir.path(), incremental);
        assert!(shown.contains(word), "{shown}");
    }
}
