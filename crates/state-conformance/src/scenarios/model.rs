//! Random operations against a sorted map.
//!
//! A job of one to three instances holds four states. A run is a random sequence of writes, reads, scans, snapshots
//! (uploaded at once or later) and restores with another parallelism; after each step that reads, and at the end, the
//! backend must agree with a sorted map that did the same.

use crate::subject::{Entries, contents, get_many, point_state, register, scan, scan_state};
use crate::{BackendFixture, Subject};
use headpond_state::{
    CheckpointId, KeyGroup, KeyGroupRange, KeyedStateBackend, KeyedStateHandle, MergeOperator, ScanRange, Snapshot,
    SnapshotOptions, StateDescriptor, StateId, WriteBatch,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;

const STATES: usize = 4;
const GROUPS: [u16; 5] = [0, 1, 63, 64, 127];
const CASES: u32 = 32;

fn states() -> [StateDescriptor; STATES] {
    [
        point_state("value"),
        scan_state("map"),
        scan_state("log").with_merge(MergeOperator::Append),
        point_state("sum").with_merge(MergeOperator::AddI64),
    ]
}

/// A key: an index into [`GROUPS`] and a short rest.
type Key = (usize, Vec<u8>);

#[derive(Debug, Clone)]
enum Step {
    Write(Vec<(usize, Op)>),
    Read(usize, Vec<Key>),
    Scan {
        state: usize,
        group: usize,
        from: Option<(bool, Vec<u8>)>,
        below: Option<Vec<u8>>,
        limit: usize,
    },
    /// Takes a snapshot of every instance and uploads it later, if ever.
    Cut {
        incremental: bool,
    },
    /// Uploads one of the cuts taken, and checks it.
    Upload(usize),
    /// Takes a checkpoint and restores it with this parallelism.
    Restart(usize),
}

#[derive(Debug, Clone)]
enum Op {
    Put(Key, Vec<u8>),
    Merge(Key, Vec<u8>),
    Delete(Key),
    DeleteRange(usize, Vec<u8>, Option<Vec<u8>>),
}

fn any_rest() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0u8), Just(1), Just(b'k'), Just(0xff)], 0..4)
}

fn any_key() -> impl Strategy<Value = Key> {
    (0..GROUPS.len(), any_rest())
}

fn any_value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![8 => vec(any::<u8>(), 0..20), 1 => vec(any::<u8>(), 500..3000)]
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (any_key(), any_value()).prop_map(|(key, value)| Op::Put(key, value)),
        3 => (any_key(), any_value()).prop_map(|(key, operand)| Op::Merge(key, operand)),
        2 => any_key().prop_map(Op::Delete),
        1 => (0..GROUPS.len(), any_rest(), proptest::option::of(any_rest()))
            .prop_map(|(group, start, end)| Op::DeleteRange(group, start, end)),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let scan_from = proptest::option::of((any::<bool>(), any_rest()));
    prop_oneof![
        8 => vec((0..STATES, any_op()), 0..24).prop_map(Step::Write),
        3 => (0..STATES, vec(any_key(), 0..12)).prop_map(|(state, keys)| Step::Read(state, keys)),
        3 => (0..STATES, 0..GROUPS.len(), scan_from, proptest::option::of(any_rest()), 0..12usize).prop_map(
            |(state, group, from, below, limit)| Step::Scan { state, group, from, below, limit }
        ),
        2 => any::<bool>().prop_map(|incremental| Step::Cut { incremental }),
        2 => (0..4usize).prop_map(Step::Upload),
        1 => (1..4usize).prop_map(Step::Restart),
    ]
}

/// Random runs agree with the model. `PROPTEST_CASES` in the environment sets how many.
pub fn random_operations_agree_with_a_sorted_map(fixture: &dyn BackendFixture) {
    let from_environment = std::env::var_os("PROPTEST_CASES").is_some();
    let cases = if from_environment { Config::default().cases } else { CASES };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let run = |steps: Vec<Step>| {
        let mut job = Job::start(Subject::new(fixture));
        steps.into_iter().for_each(|step| job.take(step));
        job.assert_agrees();
        Ok(())
    };
    if let Err(failure) = TestRunner::new(config).run(&vec(any_step(), 1..40), run) {
        panic!("{failure}");
    }
}

type Model = [BTreeMap<Vec<u8>, Vec<u8>>; STATES];

/// The backend's instances and the model.
struct Job {
    subject: Subject,
    instances: Vec<Instance>,
    model: Model,
    next_checkpoint: u64,
    /// Cuts not yet uploaded, with what they must hold.
    cuts: Vec<(Vec<Box<dyn Snapshot>>, Model)>,
    /// The last checkpoint uploaded: the base of the next.
    base: Vec<KeyedStateHandle>,
}

struct Instance {
    range: KeyGroupRange,
    keyed: Box<dyn KeyedStateBackend>,
    states: [StateId; STATES],
}

impl Job {
    fn start(subject: Subject) -> Self {
        let instances = open(&subject, 1, &[]);
        Job { subject, instances, model: Model::default(), next_checkpoint: 1, cuts: Vec::new(), base: Vec::new() }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Write(ops) => self.write(ops),
            Step::Read(state, keys) => self.read(state, keys),
            Step::Scan { state, group, from, below, limit } => self.scan(state, group, from, below, limit),
            Step::Cut { incremental } => {
                let cut = self.cut(incremental);
                self.cuts.push((cut, self.model.clone()));
            }
            Step::Upload(index) => self.upload(index),
            Step::Restart(parallelism) => self.restart(parallelism),
        }
    }

    fn key(&self, (group, rest): &Key) -> Vec<u8> {
        self.subject.key(GROUPS[*group], rest)
    }

    fn instance_of(&mut self, group: usize) -> &mut Instance {
        let group = KeyGroup(GROUPS[group]);
        self.instances.iter_mut().find(|instance| instance.range.contains(group)).expect("every group has an instance")
    }

    fn write(&mut self, ops: Vec<(usize, Op)>) {
        let mut batches: Vec<_> = self.instances.iter().map(|_| WriteBatch::new()).collect();
        for (state, op) in ops {
            let group = match &op {
                Op::Put((group, _), _) | Op::Merge((group, _), _) | Op::Delete((group, _)) => *group,
                Op::DeleteRange(group, ..) => *group,
            };
            let owner = self.instances.iter().position(|i| i.range.contains(KeyGroup(GROUPS[group])));
            let owner = owner.expect("every group has an instance");
            let id = self.instances[owner].states[state];
            self.apply(&mut batches[owner], state, id, op);
        }
        for (instance, mut batch) in self.instances.iter_mut().zip(batches) {
            instance.keyed.write(&mut batch).expect("the batch is written");
        }
    }

    /// Does `op` in the model and appends it to the batch.
    fn apply(&mut self, batch: &mut WriteBatch, state: usize, id: StateId, op: Op) {
        let merge = states()[state].merge;
        match op {
            Op::Put(key, value) => {
                let key = self.key(&key);
                batch.put(id, &key, &value);
                self.model[state].insert(key, value);
            }
            Op::Merge(key, operand) => {
                let Some(merge) = merge else { return };
                let operand = match merge {
                    MergeOperator::Append => operand,
                    MergeOperator::AddI64 => (operand.len() as i64).to_le_bytes().to_vec(),
                };
                let key = self.key(&key);
                batch.merge(id, &key, &operand);
                merge.fold(self.model[state].entry(key).or_default(), &operand);
            }
            Op::Delete(key) => {
                let key = self.key(&key);
                batch.delete(id, &key);
                self.model[state].remove(&key);
            }
            Op::DeleteRange(group, start, end) => {
                let start = self.subject.key(GROUPS[group], start);
                let end = match end {
                    Some(end) => self.subject.key(GROUPS[group], end),
                    None => self.subject.key(GROUPS[group] + 1, ""),
                };
                batch.delete_range(id, &start, &end);
                self.model[state].retain(|key, _| *key < start || *key >= end);
            }
        }
    }

    fn read(&mut self, state: usize, keys: Vec<Key>) {
        for group in 0..GROUPS.len() {
            let keys: Vec<_> = keys.iter().filter(|key| key.0 == group).map(|key| self.key(key)).collect();
            let expected: Vec<_> = keys.iter().map(|key| self.model[state].get(key).cloned()).collect();
            let instance = self.instance_of(group);
            assert_eq!(get_many(&mut *instance.keyed, instance.states[state], &keys), expected);
        }
    }

    fn scan(
        &mut self,
        state: usize,
        group: usize,
        from: Option<(bool, Vec<u8>)>,
        below: Option<Vec<u8>>,
        limit: usize,
    ) {
        let prefix = self.subject.key(GROUPS[group], "");
        let from = from.map(|(after, rest)| (after, self.subject.key(GROUPS[group], rest)));
        let below = below.map(|rest| self.subject.key(GROUPS[group], rest));
        let mut range = ScanRange::prefix(&prefix).limit(limit);
        match &from {
            Some((true, key)) => range = range.after(key),
            Some((false, key)) => range = range.at(key),
            None => {}
        }
        if let Some(below) = &below {
            range = range.below(below);
        }
        let expected: Entries = self.model[state]
            .iter()
            .filter(|(key, _)| key.starts_with(&prefix))
            .filter(|(key, _)| from.as_ref().is_none_or(|(after, from)| *key > from || (!after && *key == from)))
            .filter(|(key, _)| below.as_ref().is_none_or(|below| *key < below))
            .take(limit)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let instance = self.instance_of(group);
        assert_eq!(scan(&mut *instance.keyed, instance.states[state], &range), expected);
    }

    fn cut(&mut self, incremental: bool) -> Vec<Box<dyn Snapshot>> {
        let id = CheckpointId(self.next_checkpoint);
        self.next_checkpoint += 1;
        let options = SnapshotOptions { incremental, compact: false };
        let cut = self.instances.iter_mut().map(|instance| instance.keyed.snapshot(id, &options));
        cut.map(|snapshot| snapshot.expect("a snapshot")).collect()
    }

    /// Uploads a cut, makes it the base, collects what nothing names any more, and checks what it restores to.
    fn upload(&mut self, index: usize) {
        if index >= self.cuts.len() {
            return;
        }
        let (cut, expected) = self.cuts.remove(index);
        let sink = self.subject.store().sink_on(&self.base);
        let handles = cut.into_iter().map(|snapshot| snapshot.upload(&sink).expect("the snapshot uploads"));
        self.base = handles.collect();
        self.subject.store().retain(&self.base);
        assert_agrees(open(&self.subject, 1, &self.base), &expected);
    }

    fn restart(&mut self, parallelism: usize) {
        let id = CheckpointId(self.next_checkpoint);
        let cut = self.cut(true);
        let sink = self.subject.store().sink_on(&self.base);
        self.base = cut.into_iter().map(|snapshot| snapshot.upload(&sink).expect("the snapshot uploads")).collect();
        self.subject.store().retain(&self.base);
        // A snapshot need not outlive its instance.
        self.cuts.clear();
        for mut instance in self.instances.drain(..) {
            instance.keyed.checkpoint_completed(id).expect("the completion is noted");
            instance.keyed.close().expect("the instance closes");
        }
        self.instances = open(&self.subject, parallelism, &self.base);
    }

    fn assert_agrees(self) {
        assert_agrees(self.instances, &self.model);
    }
}

fn open(subject: &Subject, parallelism: usize, handles: &[KeyedStateHandle]) -> Vec<Instance> {
    let open_one = |subtask| {
        let range = subject.max_parallelism().range_of(subtask, parallelism);
        let mut keyed = subject.restore_range(range, handles);
        let states = states().map(|descriptor| register(&mut *keyed, &descriptor));
        Instance { range, keyed, states }
    };
    (0..parallelism).map(open_one).collect()
}

/// Instances in the order of their ranges hold exactly the model's entries. Closes them.
fn assert_agrees(instances: Vec<Instance>, model: &Model) {
    let mut held: [Entries; STATES] = Default::default();
    for mut instance in instances {
        for (held, state) in held.iter_mut().zip(instance.states) {
            held.extend(contents(&mut *instance.keyed, state));
        }
        instance.keyed.close().expect("the instance closes");
    }
    for ((held, model), descriptor) in held.into_iter().zip(model).zip(states()) {
        let model: Entries = model.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        assert_eq!(held, model, "state `{}` differs from the model", descriptor.name);
    }
}
