//! Sessions of a million clicks, with state in RocksDB. The first argument is a directory for the results and all
//! the job needs; `headpond-out/sessionize` without one.
//!
//! Kill it and run it again: it goes on from its last checkpoint, and every session is in the results once.

use headpond::stream::StreamExecutionEnvironment;
use headpond_example_sessionize::{Clicks, LineFiles, sessionize};
use headpond_runtime::Result;
use headpond_state_rocksdb::EmbeddedRocksDbStateBackend;
use std::path::PathBuf;
use std::time::Duration;

fn main() -> Result<()> {
    let directory = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("headpond-out/sessionize"), PathBuf::from);
    let (sessions, late) = (LineFiles::new(directory.join("sessions")), LineFiles::new(directory.join("late")));

    let env = StreamExecutionEnvironment::new();
    env.set_parallelism(2);
    env.set_state_backend(EmbeddedRocksDbStateBackend::new(true));
    env.set_local_dir(directory.join("local"));
    env.set_checkpoint_dir(directory.join("checkpoints").display().to_string());
    env.enable_checkpointing(Duration::from_millis(500));

    let results = sessionize(&env.from_source(Clicks { count: 1_000_000 }));
    results.sessions.sink_to(sessions.clone()).uid("sessions");
    results.late.sink_to(late.clone()).uid("late");
    let result = env.execute("sessionize")?;

    if let Some(checkpoint) = result.restored_from {
        println!("went on from checkpoint {checkpoint}");
    }
    println!("read {} clicks", result.metrics.rows_read());
    println!("{} sessions in {}", sessions.lines()?.len(), directory.join("sessions").display());
    println!("{} late clicks in {}", late.lines()?.len(), directory.join("late").display());
    Ok(())
}
