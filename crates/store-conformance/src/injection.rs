//! Jobs over a store that fails at random: nothing committed is lost, nothing unnamed stays.
//!
//! A run has a seed, which decides what fails and when attempts crash. A failing one says its seed;
//! `HEADPOND_SEED=<seed>` runs that one alone.

use crate::StoreFactory;
use crate::faulty::{Chance, Faults, Faulty};
use crate::jobs::{Files, JOB, attempt, manifest, over, restore, upload};
use headpond_checkpoint::{CheckpointStorage, CheckpointStore, Manifest};
use headpond_state::{ErrorKind, Result};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// Attempts of a run, the last of which has a healthy store.
const ATTEMPTS: u64 = 4;
/// Checkpoints that an attempt tries to take.
const CHECKPOINTS: u64 = 8;
/// Names of a job's files, so that checkpoints share some.
const NAMES: u64 = 6;
/// Different contents of a file.
const CONTENTS: u64 = 4;

/// Runs a job for each of these seeds.
///
/// # Panics
/// When something committed is lost, or something unnamed stays: with the seed.
pub fn seeds(place: &dyn Fn() -> StoreFactory, seeds: std::ops::Range<u64>) {
    let only = std::env::var("HEADPOND_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in only.map_or(seeds, |seed: u64| seed..seed + 1) {
        let place = place();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(&place, seed))) {
            eprintln!("the run of seed {seed} failed; HEADPOND_SEED={seed} runs it alone");
            resume_unwind(panic);
        }
    }
}

/// What is known of a run: the progress that the last certain commit had, and each progress's state.
struct Known {
    committed: usize,
    states: Vec<Files>,
}

fn run(place: &StoreFactory, seed: u64) {
    let chance = Chance::new(seed);
    let rate = |most: u64| chance.below(most) as u32;
    let faults = Faults {
        refused: rate(150),
        unanswered: rate(100),
        torn: rate(150),
        repeated: rate(100),
        stale: rate(300),
        late: rate(20),
    };
    let mut known = Known { committed: 0, states: vec![Files::new()] };
    for index in 0..ATTEMPTS {
        let store = Arc::new(Faulty::new(place(), faults, chance.below(u64::MAX)));
        if index + 1 == ATTEMPTS {
            store.recover();
        }
        let storage = over(Arc::clone(&store) as Arc<dyn CheckpointStore>);
        let ended = attempt_of(place, &storage, &format!("attempt {index}"), &chance, &mut known);
        if index + 1 == ATTEMPTS {
            ended.unwrap_or_else(|error| panic!("with a healthy store: {error}"));
        }
    }
    let storage = over(place());
    let last = storage.latest_verified().unwrap().expect("the last attempt took checkpoints").manifest;
    assert_eq!(progress(&last), known.committed);
    assert_eq!(restore(&storage, &last).unwrap(), known.states[known.committed]);
    let mut named: Vec<_> = last.files().map(|file| file.hash).collect();
    named.sort();
    named.dedup();
    let left = place().list(&format!("{JOB}/shared")).unwrap();
    assert_eq!(left.len(), named.len(), "unnamed files stay: {left:?}");
    let directories = place().list(JOB).unwrap().into_iter().filter(|name| name.starts_with("chk-")).count();
    assert_eq!(directories, 1, "only one checkpoint is kept");
}

/// Restores and takes checkpoints, some of which fail, until it crashes.
fn attempt_of(
    place: &StoreFactory,
    storage: &CheckpointStorage,
    name: &str,
    chance: &Chance,
    known: &mut Known,
) -> Result<()> {
    let me = attempt(name);
    storage.own(&me)?;
    let mut base = storage.latest_verified()?.map(|found| found.manifest);
    let done = base.as_ref().map_or(0, progress);
    // A listing from before may hide the newest: then this attempt commits nothing, since that number exists.
    if let Some(base) = &base {
        assert_eq!(restore(&over(place()), base)?, known.states[done], "what is restored is what was written");
    }
    let hidden = done < known.committed;
    let mut state = known.states[done].clone();
    for step in 1..=CHECKPOINTS {
        let id = storage.next_id()?;
        for _ in 0..=chance.below(2) {
            let file = format!("{}.sst", chance.below(NAMES));
            state.insert(file, format!("content {}", chance.below(CONTENTS)).into_bytes());
        }
        let rows = known.states.len();
        let pending = storage.begin(id, &me, base.as_ref(), true)?;
        let committed = upload(&pending, base.as_ref(), &state).and_then(|stored| {
            let mut manifest = manifest(id, &me, stored);
            manifest.sources[0].splits[0].rows = rows as u64;
            // Perhaps committed, as far as anybody knows from here on.
            known.states.push(state.clone());
            storage.commit(pending, manifest)
        });
        match committed {
            Ok(manifest) => {
                assert!(!hidden || done == known.committed, "an attempt that missed a checkpoint committed one");
                known.committed = rows;
                base = Some(manifest);
            }
            Err(error) if error.kind() == ErrorKind::Fenced => return Err(error),
            // The job goes on.
            Err(_) => {}
        }
        // The next collection tries again.
        let collected = storage.collect(1);
        if step == CHECKPOINTS {
            collected?;
        }
    }
    Ok(())
}

/// How many states the job had been through.
fn progress(manifest: &Manifest) -> usize {
    manifest.sources[0].splits[0].rows as usize
}
