//! What records cost between the steps of a program on one worker.
//!
//! ```console
//! $ cargo run --release -p headpond --example records_between_steps -- 5000000
//! ```
//!
//! Events go through two steps with a key each, so each is written and read twice between a source, the steps and the
//! end. `perf record -e cpu-clock` tells how much of it that is.

use headpond::prelude::*;

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An event as many jobs have it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Visit {
    user: u64,
    page: String,
    ms: i64,
    visits: u64,
}

fn main() -> Result<()> {
    let count = std::env::args().nth(1).map_or(Ok(5_000_000), |text| text.parse::<u64>());
    let count = count.map_err(|cause| Error::invalid("give a number of events").because(cause))?;
    let env = StreamExecutionEnvironment::new();
    env.set_state_backend(HashMapStateBackend::new());
    let visits = (0..count).map(|number| {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        Visit { user: mixed % 100_000, page: format!("/page/{:05}", mixed % 5_000), ms: number as i64, visits: 1 }
    });
    let total = Arc::new(AtomicU64::new(0));
    let seen = total.clone();
    env.from_iter(visits.collect::<Vec<_>>())
        .key_by(|visit| visit.user)
        .reduce(|before, visit| Visit { visits: before.visits + visit.visits, ..visit })
        .key_by(|visit| visit.page.clone())
        .reduce(|before, visit| Visit { visits: before.visits.max(visit.visits), ..visit })
        .for_each(move |visit| {
            seen.fetch_max(visit.visits, Ordering::Relaxed);
            Ok(())
        });
    env.execute("records")?;
    println!("{count} events, at most {} of a user", total.load(Ordering::Relaxed));
    Ok(())
}
