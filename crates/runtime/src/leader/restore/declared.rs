//! Which states an operator declares, without a backend to hold them: it is opened over one that only takes note.

use crate::operator::{KeyedOperatorFactory, OperatorSetup};
use headpond_state::{
    Capabilities, CheckpointId, Entry, Error, Flow, KeyBatch, KeyGroupRange, KeyedStateBackend, MaxParallelism,
    OperatorClock, Result, ScanRange, Snapshot, SnapshotOptions, StateDescriptor, StateId, StateUsage, WriteBatch,
};
use std::sync::Arc;

/// The states that an operator registers when it is opened, in their order. `restored` are those that the checkpoint has of it: some
/// operators register states for what is there only.
pub(super) fn declared_states(
    operator: &dyn KeyedOperatorFactory,
    restored: Vec<StateDescriptor>,
    capabilities: Capabilities,
    max_parallelism: MaxParallelism,
) -> Result<Vec<StateDescriptor>> {
    let mut declared = Declared { states: Vec::new(), unregistered: restored, max_parallelism };
    operator.open(OperatorSetup {
        state: &mut declared,
        capabilities,
        subtask: 0,
        parallelism: 1,
        max_parallelism,
        restored: &[],
        event_time_ms: i64::MIN,
        clock: &Arc::new(OperatorClock::default()),
    })?;
    Ok(declared.states)
}

/// State that holds nothing.
#[derive(Debug)]
struct Declared {
    states: Vec<StateDescriptor>,
    /// What was restored and is not registered.
    unregistered: Vec<StateDescriptor>,
    max_parallelism: MaxParallelism,
}

impl KeyedStateBackend for Declared {
    fn key_groups(&self) -> KeyGroupRange {
        KeyGroupRange { start: 0, end: self.max_parallelism.get() }
    }

    fn max_parallelism(&self) -> MaxParallelism {
        self.max_parallelism
    }

    fn register(&mut self, descriptor: &StateDescriptor) -> Result<StateId> {
        descriptor.validate()?;
        self.unregistered.retain(|state| state.name != descriptor.name);
        let known = self.states.iter().position(|state| state.name == descriptor.name);
        let index = known.unwrap_or_else(|| {
            self.states.push(descriptor.clone());
            self.states.len() - 1
        });
        u16::try_from(index).map(StateId).map_err(|_| Error::exhausted("an operator can have 65536 states"))
    }

    fn unregistered(&self) -> Vec<StateDescriptor> {
        self.unregistered.clone()
    }

    fn drop_restored(&mut self, _name: &str) -> Result<()> {
        Err(Error::invalid("nothing was restored"))
    }

    fn read(&mut self, _state: StateId, _key: &[u8], _visit: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(false)
    }

    fn read_many(
        &mut self,
        _state: StateId,
        keys: &KeyBatch,
        visit: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        (0..keys.len()).for_each(|index| visit(index, None));
        Ok(())
    }

    fn scan(
        &mut self,
        _state: StateId,
        _range: &ScanRange<'_>,
        _visit: &mut dyn FnMut(Entry<'_>) -> Flow,
    ) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, batch: &mut WriteBatch) -> Result<()> {
        batch.clear();
        Ok(())
    }

    fn snapshot(&mut self, _id: CheckpointId, _options: &SnapshotOptions) -> Result<Box<dyn Snapshot>> {
        Err(Error::closed("state that is only declared has no snapshots"))
    }

    fn checkpoint_completed(&mut self, _id: CheckpointId) -> Result<()> {
        Ok(())
    }

    fn checkpoint_aborted(&mut self, _id: CheckpointId) -> Result<()> {
        Ok(())
    }

    fn usage(&self) -> StateUsage {
        StateUsage::default()
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
