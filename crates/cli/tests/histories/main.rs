//! Whole jobs through random histories: runs that die at any call of their store, that are stopped, aborted or started
//! twice, savepoints, restores of older checkpoints, pruned directories, both backends, one to five workers, two
//! directories of checkpoints and a bucket in turn and at once, input that grows and becomes shorter. After every step
//! the output equals an independent computation, or the run was refused for a reason.
//!
//! `HEADPOND_SEED=n` runs the history of that seed, `HEADPOND_HISTORIES=n` as many as wanted.

mod chance;
mod history;
mod job;
mod overtaken;
mod place;
mod server;

use server::Server;

/// The fixed seeds.
const SEEDS: u64 = 300;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

#[test]
fn no_order_of_runs_loses_or_doubles_a_row() {
    let server = Server::start();
    let wrong = match (number("HEADPOND_SEED"), number("HEADPOND_HISTORIES")) {
        (Some(seed), _) => history::run_all(&server, seed..seed + 1),
        (None, Some(count)) => history::run_all(&server, SEEDS..SEEDS + count),
        (None, None) => history::run_all(&server, 0..SEEDS),
    };
    assert!(wrong.is_empty(), "{} histories went wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}
