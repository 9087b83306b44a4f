//! A history: steps drawn from a seed, and what must hold after each.

use crate::chance::Chance;
use crate::job::{Input, Output, held_back};
use crate::place::{Attempt, Backend, Directory, Place, told};
use crate::server::Server;
use headpond_checkpoint::Manifest;
use headpond_runtime::{Ending, ErrorKind, Restore};
use headpond_store_conformance::Crash;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const BACKENDS: [Backend; 2] = [Backend::Memory, Backend::RocksDb];
const DIRECTORIES: [Directory; 3] = [Directory::One, Directory::Two, Directory::S3];
/// What a run may be told of the files it writes: nothing, to close them early, to put small ones together.
const FILES: [&str; 4] = [
    "",
    ", 'sink.rolling-policy.file-size' = '100 b'",
    ", 'auto-compaction' = 'true', 'compaction.file-size' = '1 kb'",
    ", 'auto-compaction' = 'true', 'sink.rolling-policy.file-size' = '200 b', 'compaction.file-size' = '4 kb'",
];
/// Between a checkpoint's commit and the next one, in the order in which a run passes them.
const CRASHES: [&str; 7] = [
    "before-manifest:2",
    "after-manifest:1",
    "after-manifest:3",
    "before-sink-commit:2",
    "during-sink-commit:1",
    "during-sink-commit:2",
    "after-sink-commit:2",
];
const STEPS_MAX: u64 = 7;

/// What a run left.
#[derive(Debug)]
enum Outcome {
    /// It ended well, behind what it was restored from.
    Ended(Ending, Option<Box<Manifest>>),
    /// It died, or its store did.
    Died,
    /// It was refused before it touched the output.
    Refused(ErrorKind),
    /// It failed while it ran.
    Failed(ErrorKind),
}

/// A history in progress.
pub(crate) struct History {
    place: Place,
    input: Input,
    chance: Chance,
    /// Whose run was the last to take the output over; `None`: nobody knows, or nobody's.
    owner: Option<Directory>,
    savepoints: Vec<String>,
    /// Whether RocksDB has been chosen once.
    rocksdb: bool,
    /// What happened, for the message.
    log: Vec<String>,
}

impl History {
    pub(crate) fn new(server: &Server, seed: u64) -> Self {
        let place = Place::new(server, &format!("history-{seed}"));
        let mut chance = Chance::new(seed);
        let mut input = Input::default();
        for name in ["a.csv", "b.csv"] {
            let rows = 200 + chance.below(600);
            input.grow(place.path(), name, rows);
        }
        History { place, input, chance, owner: None, savepoints: Vec::new(), rocksdb: false, log: Vec::new() }
    }

    /// Runs it to its end.
    pub(crate) fn run(mut self) -> Result<(), String> {
        let steps = 2 + self.chance.below(STEPS_MAX - 1);
        let done = (0..steps).try_for_each(|_| self.step()).and_then(|()| self.finish());
        done.map_err(|wrong| format!("{wrong}\nafter\n  {}", self.log.join("\n  ")))
    }

    fn step(&mut self) -> Result<(), String> {
        match self.chance.below(100) {
            0..50 => self.run_once(),
            50..60 => self.crash(),
            60..64 => self.run_two(),
            64..72 => self.grow(),
            72..78 => self.shorten_between(),
            78..84 => self.shorten_meanwhile(),
            84..92 => self.export(),
            _ => self.prune(),
        }
    }

    /// At the end the owner of the output goes on, and everything is there.
    fn finish(&mut self) -> Result<(), String> {
        let directory = self.owner.filter(|owner| *owner != Directory::None);
        let restore = if directory.is_some() { Restore::Latest } else { Restore::None };
        let directory = directory.unwrap_or(Directory::One);
        let attempt = Attempt { restore, stops_after: None, dies_at: None, ..self.attempt(directory) };
        for again in [false, true] {
            let attempt = if again { Attempt { restore: Restore::Latest, ..attempt.clone() } } else { attempt.clone() };
            match self.try_run(&attempt)? {
                Outcome::Ended(Ending::Finished, _) => {}
                other => return Err(format!("the last run did not finish: {other:?}")),
            }
        }
        Ok(())
    }

    fn run_once(&mut self) -> Result<(), String> {
        let directory = match self.chance.below(10) {
            0 => Directory::None,
            1..7 => self.owner.filter(|owner| *owner != Directory::None).unwrap_or(Directory::One),
            _ => self.chance.one_of(&DIRECTORIES),
        };
        let mut attempt = self.attempt(directory);
        attempt.restore = self.restore(directory);
        self.try_run(&attempt).map(drop)
    }

    /// A run as it may be.
    fn attempt(&mut self, directory: Directory) -> Attempt {
        let chance = &mut self.chance;
        let dies = chance.hits(35) && directory != Directory::None;
        let crash = if chance.hits(50) { Crash::Before } else { Crash::After };
        let call = 1 + chance.below(90) as u32;
        let stops = chance.hits(40);
        let stops_after = Duration::from_millis(5 + chance.below(60));
        // What RocksDB has written only RocksDB reads.
        let backend = if self.rocksdb { Backend::RocksDb } else { self.chance.one_of(&BACKENDS) };
        self.rocksdb |= matches!(backend, Backend::RocksDb);
        let chance = &mut self.chance;
        Attempt {
            directory,
            backend,
            workers: 1 + chance.below(5) as usize,
            restore: Restore::Latest,
            dies_at: dies.then_some((call, crash)),
            stops_after: stops.then_some(stops_after),
            rows_per_second: chance.one_of(&[10_000, 20_000, 1_000_000]),
            files: chance.one_of(&FILES),
        }
    }

    fn restore(&mut self, directory: Directory) -> Restore {
        match self.chance.below(10) {
            0 => Restore::None,
            1..3 => {
                let storage = self.place.checkpoints(directory);
                let all = storage.map(|storage| (storage.list().expect("it can be listed"), storage));
                match all.filter(|(all, _)| !all.is_empty()) {
                    Some((all, storage)) => {
                        let chosen = &all[self.chance.below(all.len() as u64) as usize];
                        Restore::From(storage.locate(chosen.id))
                    }
                    None => Restore::Latest,
                }
            }
            3 if !self.savepoints.is_empty() => {
                let chosen = self.chance.below(self.savepoints.len() as u64) as usize;
                Restore::From(self.savepoints[chosen].clone())
            }
            _ => Restore::Latest,
        }
    }

    /// Runs the job and checks what it leaves.
    fn try_run(&mut self, attempt: &Attempt) -> Result<Outcome, String> {
        self.log.push(format!("{attempt:?}"));
        let outcome = self.outcome(attempt);
        self.log.push(format!("  {outcome:?}"));
        self.check(attempt, &outcome)?;
        Ok(outcome)
    }

    fn outcome(&mut self, attempt: &Attempt) -> Outcome {
        let ready = match self.place.prepare(attempt) {
            Ok(ready) => ready,
            Err(error) => {
                self.log.push(format!("  {}", told(&error)));
                return if attempt.dies_at.is_some() && error.kind() == ErrorKind::Unavailable {
                    Outcome::Died
                } else {
                    Outcome::Refused(error.kind())
                };
            }
        };
        self.owner = Some(attempt.directory);
        let restored = ready.job.restoration().map(|restored| Box::new(restored.manifest.clone()));
        match ready.run() {
            Ok(ending) => Outcome::Ended(ending, restored),
            Err(error) => {
                self.log.push(format!("  {}", told(&error)));
                if attempt.dies_at.is_some() { Outcome::Died } else { Outcome::Failed(error.kind()) }
            }
        }
    }

    fn check(&self, attempt: &Attempt, outcome: &Outcome) -> Result<(), String> {
        match outcome {
            Outcome::Died => Ok(()),
            // Of another line of checkpoints than the one that the output goes on from.
            Outcome::Refused(ErrorKind::Incompatible) => {
                let is_owner = attempt.restore == Restore::Latest && Some(attempt.directory) == self.owner;
                match is_owner || attempt.restore == Restore::None {
                    true => Err("a run is refused that the output belongs to".to_owned()),
                    false => Ok(()),
                }
            }
            Outcome::Refused(kind) | Outcome::Failed(kind) => Err(format!("ended with {kind:?}")),
            Outcome::Ended(ending, restored) => self.check_output(attempt, *ending, restored.as_deref()),
        }
    }

    /// The output is what the run's last checkpoint has read, and at its end that is everything.
    fn check_output(&self, attempt: &Attempt, ending: Ending, restored: Option<&Manifest>) -> Result<(), String> {
        let published = Output::read(self.place.path());
        let held_back = held_back(self.place.path());
        if ending == Ending::Finished && !held_back.is_empty() {
            return Err(format!("the input has ended, and rows are held back: {held_back:?}"));
        }
        let differs = |wanted: &Output| published.difference(wanted).map_or(Ok(()), Err);
        let Some(storage) = self.place.checkpoints(attempt.directory) else {
            // Behind a savepoint nothing tells what it has read.
            let is_all = ending == Ending::Finished && restored.is_none();
            return if is_all { differs(&self.input.all()) } else { Ok(()) };
        };
        let manifest = match storage.latest_verified().map_err(|error| told(&error))? {
            Some(found) => found.manifest,
            // It had nothing left to do.
            None => restored.cloned().ok_or("a run ended without a checkpoint")?,
        };
        differs(&self.input.read_at(&manifest))?;
        if ending == Ending::Stopped || restored.is_some_and(|restored| restored.finished) {
            return Ok(());
        }
        let before = restored.map(|restored| &restored.sources[0].splits);
        for name in self.input.names() {
            let split = manifest.sources[0].splits.iter().find(|split| split.id == name);
            let split = split.ok_or_else(|| format!("{name} was not read"))?;
            // A file that was read to its end is not read again.
            let was_read = before.is_some_and(|before| before.iter().any(|split| split.id == name && split.finished));
            if !was_read && split.rows != self.input.len(&name) {
                return Err(format!("of {} rows of {name} {} were read", self.input.len(&name), split.rows));
            }
        }
        Ok(())
    }

    /// The binary is killed in the middle of a checkpoint or of its publication.
    fn crash(&mut self) -> Result<(), String> {
        let directory = self.owner.filter(|owner| *owner != Directory::None).unwrap_or(Directory::S3);
        let attempt = Attempt { rows_per_second: 10_000, ..self.attempt(directory) };
        let point = self.chance.one_of(&CRASHES);
        self.log.push(format!("binary, {point}: {attempt:?}"));
        let (code, said) = self.place.run_binary(&attempt, point);
        self.log.push(format!("  {code:?}"));
        match code {
            // It may have been restored from elsewhere, or from nothing: whoever aborts had begun.
            None | Some(0) => {
                self.owner = Some(directory);
                Ok(())
            }
            Some(4) if self.owner != Some(directory) => Ok(()),
            code => Err(format!("the binary ended with {code:?}: {said}")),
        }
    }

    /// While one run works, another one begins.
    fn run_two(&mut self) -> Result<(), String> {
        let first = self.owner.filter(|owner| *owner != Directory::None).unwrap_or(Directory::One);
        let first = Attempt { dies_at: None, stops_after: None, rows_per_second: 300, ..self.attempt(first) };
        let second = [Directory::None, Directory::One, Directory::Two, Directory::S3][self.chance.below(4) as usize];
        let second = Attempt { dies_at: None, ..self.attempt(second) };
        self.log.push(format!("at once: {first:?} and {second:?}"));
        let ready = match self.place.prepare(&first) {
            Ok(ready) => ready,
            Err(error) if self.owner != Some(first.directory) && error.kind() == ErrorKind::Incompatible => {
                return Ok(());
            }
            Err(error) => return Err(format!("the owner is refused: {}", told(&error))),
        };
        self.owner = Some(first.directory);
        let restored = ready.job.restoration().map(|restored| restored.manifest.clone());
        if ready.job.is_finished() {
            return Ok(());
        }
        let control = ready.control.clone();
        let ended = std::thread::scope(|scope| {
            let running = scope.spawn(|| ready.run());
            let refused = self.place.prepare(&second).map(drop);
            let still_running = !running.is_finished();
            control.stop();
            (running.join().expect("no panic"), refused, still_running)
        });
        let (first_ended, second_began, still_running) = ended;
        match second_began {
            Err(error) if error.kind() == ErrorKind::Fenced => {
                let who = format!("process {}", std::process::id());
                let names = second.directory == first.directory || error.to_string().contains(&who);
                if !names {
                    return Err(format!("it is not said who holds the output: {error}"));
                }
            }
            // The first one had ended before.
            _ if !still_running => self.owner = None,
            Ok(()) => return Err("two runs have one output".to_owned()),
            Err(error) => return Err(format!("the second run is not told who runs: {}", told(&error))),
        }
        match first_ended {
            Ok(ending) => {
                // Who was let in behind it may have begun anew.
                if self.owner.is_some() { self.check_output(&first, ending, restored.as_ref()) } else { Ok(()) }
            }
            Err(error) => Err(format!("the first run failed: {}", told(&error))),
        }
    }

    fn grow(&mut self) -> Result<(), String> {
        let name = self.chance.one_of(&["a.csv", "b.csv", "c.csv", "d.csv"]);
        let rows = 1 + self.chance.below(400);
        self.log.push(format!("{name} grows by {rows} rows"));
        self.input.grow(self.place.path(), name, rows);
        Ok(())
    }

    /// A file is shorter when a run begins. Whoever had begun to read it says so.
    fn shorten_between(&mut self) -> Result<(), String> {
        let (name, left, replaced) = self.shortened();
        self.log.push(format!("{name} is cut to {left} rows"));
        self.input.shorten(self.place.path(), &name, left as usize, replaced);
        let directory = self.owner.filter(|owner| *owner != Directory::None).unwrap_or(Directory::One);
        let attempt = Attempt { stops_after: None, dies_at: None, ..self.attempt(directory) };
        self.log.push(format!("{attempt:?}"));
        let outcome = self.outcome(&attempt);
        self.log.push(format!("  {outcome:?}"));
        let checked = match &outcome {
            Outcome::Ended(_, restored) => {
                let splits = restored.iter().flat_map(|restored| &restored.sources[0].splits);
                let length = std::fs::metadata(self.place.path().join("in").join(&name)).map_or(0, |file| file.len());
                let is_shorter =
                    |position: &serde_json::Value| position["length"].as_u64().is_some_and(|was| length < was);
                let begun = splits.filter(|split| split.id == name && !split.finished && is_shorter(&split.position));
                match begun.count() {
                    0 => self.published_is_read(&attempt, restored.as_deref()),
                    _ => Err(format!("nobody noticed that {name} was cut")),
                }
            }
            Outcome::Failed(ErrorKind::Corrupt) | Outcome::Refused(ErrorKind::Corrupt) => Ok(()),
            Outcome::Refused(ErrorKind::Incompatible) if self.owner != Some(directory) => Ok(()),
            other => Err(format!("a run over a file that was cut: {other:?}")),
        };
        self.input.restore(self.place.path(), &name);
        checked
    }

    /// A file becomes shorter while a run reads it.
    fn shorten_meanwhile(&mut self) -> Result<(), String> {
        let (name, left, replaced) = self.shortened();
        let directory = self.owner.filter(|owner| *owner != Directory::None).unwrap_or(Directory::One);
        let attempt = self.attempt(directory);
        let attempt = Attempt { stops_after: None, dies_at: None, rows_per_second: 20_000, ..attempt };
        self.log.push(format!("{name} is cut to {left} rows during {attempt:?}"));
        let ready = match self.place.prepare(&attempt) {
            Ok(ready) => ready,
            Err(error) if self.owner != Some(directory) && error.kind() == ErrorKind::Incompatible => return Ok(()),
            Err(error) => return Err(told(&error)),
        };
        self.owner = Some(directory);
        let restored = ready.job.restoration().map(|restored| restored.manifest.clone());
        let after = Duration::from_millis(self.chance.below(30));
        let ended = std::thread::scope(|scope| {
            let running = scope.spawn(|| ready.run());
            std::thread::sleep(after);
            self.input.shorten(self.place.path(), &name, left as usize, replaced);
            running.join().expect("no panic")
        });
        self.input.restore(self.place.path(), &name);
        match ended {
            // It had read the file before.
            Ok(ending) => self.check_output(&attempt, ending, restored.as_ref()),
            Err(error) if error.kind() == ErrorKind::Corrupt && error.to_string().contains(&name) => Ok(()),
            Err(error) => Err(told(&error)),
        }
    }

    fn shortened(&mut self) -> (String, u64, bool) {
        let names = self.input.names();
        let name = names[self.chance.below(names.len() as u64) as usize].clone();
        let left = if self.chance.hits(20) { 0 } else { self.chance.below(self.input.len(&name)) };
        (name, left, self.chance.hits(50))
    }

    fn published_is_read(&self, attempt: &Attempt, restored: Option<&Manifest>) -> Result<(), String> {
        let storage = self.place.checkpoints(attempt.directory).ok_or("no checkpoints")?;
        let manifest = storage.latest_verified().map_err(|error| told(&error))?.map(|found| found.manifest);
        let manifest = manifest.or_else(|| restored.cloned()).ok_or("a run ended without a checkpoint")?;
        Output::read(self.place.path()).difference(&self.input.read_at(&manifest)).map_or(Ok(()), Err)
    }

    fn export(&mut self) -> Result<(), String> {
        let directory = self.chance.one_of(&DIRECTORIES);
        let name = format!("savepoint-{}", self.savepoints.len());
        let exported = self.place.export(directory, &name);
        self.log.push(format!("export from {directory:?}: {exported:?}"));
        self.savepoints.extend(exported);
        Ok(())
    }

    fn prune(&mut self) -> Result<(), String> {
        let directory = self.chance.one_of(&DIRECTORIES);
        let keep = self.chance.hits(70).then_some(1);
        self.log.push(format!("prune {directory:?}, keep {keep:?}"));
        let storage = self.place.checkpoints(directory).ok_or("no checkpoints")?;
        storage.prune(keep, true).map(drop).map_err(|error| told(&error))
    }
}

/// Runs the histories of these seeds, a few at once, and says which went wrong.
pub(crate) fn run_all(server: &Server, seeds: impl Iterator<Item = u64>) -> Vec<String> {
    let (seeds, begun) = (seeds.collect::<BTreeSet<_>>(), Instant::now());
    let next = std::sync::Mutex::new(seeds.iter());
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        // Most of a history is waiting.
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(seed) = { next.lock().expect("no panic").next() } {
                    let ran = std::panic::catch_unwind(|| History::new(server, *seed).run());
                    let ran = ran.unwrap_or_else(|panic| {
                        let text = panic.downcast_ref::<String>().cloned();
                        Err(format!("panic: {}", text.unwrap_or_default()))
                    });
                    if let Err(what) = ran {
                        wrong.lock().expect("no panic").push(format!("HEADPOND_SEED={seed}: {what}"));
                    }
                }
            });
        }
    });
    println!("{} histories in {:.1} s", seeds.len(), begun.elapsed().as_secs_f64());
    wrong.into_inner().expect("no panic")
}
