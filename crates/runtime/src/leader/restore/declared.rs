//! Which states an operator declares, without a backend to hold them: it is opened over one that only takes note.

use crate::operator::{KeyedOperatorFactory, OperatorSetup};
use headpond_state::{
    Capabilities, CheckpointId, Error, KeyBatch, KeyGroupRange, KeyedStateBackend, MaxParallelism, OperatorClock,
    ReadManyVisitor, ReadVisitor, Registration, Result, ScanManyVisitor, ScanRange, ScanVisitor, Snapshot,
    SnapshotOptions, StateDescriptor, StateId, StateRegistry, StateUsage, WriteBatch,
};
use std::sync::Arc;

/// The states that an operator registers when it is opened, in their order. `restored` are those that the checkpoint
/// has of it: some operators register states for what is there only.
pub(super) fn declared_states(
    operator: &dyn KeyedOperatorFactory,
    restored: Vec<StateDescriptor>,
    capabilities: Capabilities,
    max_parallelism: MaxParallelism,
) -> Result<Vec<StateDescriptor>> {
    let mut declared = Declared { registry: StateRegistry::default(), unregistered: restored, max_parallelism };
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
    Ok(declared.registry.all().cloned().collect())
}

/// State that holds nothing.
#[derive(Debug)]
struct Declared {
    registry: StateRegistry,
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
        let id = match self.registry.register(descriptor)? {
            Registration::Known(id) | Registration::Restored(id) => id,
            Registration::New => self.registry.add(descriptor),
        };
        self.unregistered.retain(|state| state.name != descriptor.name);
        Ok(id)
    }

    fn unregistered(&self) -> Vec<StateDescriptor> {
        self.unregistered.clone()
    }

    fn drop_restored(&mut self, _name: &str) -> Result<()> {
        Err(Error::invalid("nothing was restored"))
    }

    fn read(&mut self, _state: StateId, _key: &[u8], _visit: &mut ReadVisitor<'_>) -> Result<bool> {
        Ok(false)
    }

    fn read_many(&mut self, _state: StateId, keys: &KeyBatch, visit: &mut ReadManyVisitor<'_>) -> Result<()> {
        (0..keys.len()).try_for_each(|index| visit(index, None))
    }

    fn scan(&mut self, _state: StateId, _range: &ScanRange<'_>, _visit: &mut ScanVisitor<'_>) -> Result<()> {
        Ok(())
    }

    fn scan_many(
        &mut self,
        _state: StateId,
        _ranges: &[ScanRange<'_>],
        _visit: &mut ScanManyVisitor<'_>,
    ) -> Result<()> {
        Ok(())
    }

    fn time_passed(&mut self) -> Result<()> {
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
