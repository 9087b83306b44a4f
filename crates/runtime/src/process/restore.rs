//! How a node's keyed state comes from a checkpoint.

use crate::graph::NodeKind;
use crate::plan::StateRestore;
use headpond_state::{
    EntryConversion, Error, KeyedBackendParams, KeyedStateBackend, RestoredState, Result, StateBackend,
    StateDescriptor, StateId, WriteBatch,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Bytes of converted entries that are written at once.
const BATCH_BYTES: usize = 1 << 20;

/// Opens a node's keyed state on one worker with what the checkpoint has of its key groups.
pub(crate) fn open(
    backend: &dyn StateBackend,
    params: KeyedBackendParams,
    handles: &[RestoredState<'_>],
    restore: &StateRestore,
    node: &NodeKind,
) -> Result<Box<dyn KeyedStateBackend>> {
    match restore {
        StateRestore::AsItIs { dropped } => {
            let mut state = backend.open_keyed(params, handles)?;
            for gone in state.unregistered().iter().filter(|state| dropped.contains(&state.name)) {
                state.drop_restored(&gone.name)?;
            }
            Ok(state)
        }
        StateRestore::Migrated { declared, converted } => {
            let conversions = conversions(node, declared, converted)?;
            MigratedStates { declared, conversions }.open(backend, params, handles)
        }
    }
}

/// The conversions that the owner of these states has, by their names. The leader has found that there are some.
fn conversions(
    node: &NodeKind,
    declared: &[StateDescriptor],
    converted: &[StateDescriptor],
) -> Result<BTreeMap<String, Arc<dyn EntryConversion>>> {
    let conversion = |restored: &StateDescriptor| {
        let declared = declared.iter().find(|state| state.name == restored.name);
        let declared = declared.ok_or_else(|| Error::internal("a state is converted that is not declared"))?;
        let migration = match node {
            NodeKind::Keyed { operator, .. } => operator.migration(restored, declared)?,
            NodeKind::Sink { sink, .. } => sink.migration(restored, declared)?,
            _ => return Err(Error::internal("a step without state has a state that is converted")),
        };
        Ok((restored.name.clone(), migration.conversion))
    };
    converted.iter().map(conversion).collect()
}

/// States that are restored entry by entry into empty ones.
struct MigratedStates<'a> {
    declared: &'a [StateDescriptor],
    conversions: BTreeMap<String, Arc<dyn EntryConversion>>,
}

impl MigratedStates<'_> {
    fn open(
        &self,
        backend: &dyn StateBackend,
        params: KeyedBackendParams,
        handles: &[RestoredState<'_>],
    ) -> Result<Box<dyn KeyedStateBackend>> {
        let (key_groups, max_parallelism) = (params.key_groups, params.max_parallelism);
        let (operator, worker) = (params.operator.clone(), params.subtask);
        let local_dir = params.local_dir.clone();
        let mut state = backend.open_keyed(params, &[])?;
        let mut ids: BTreeMap<&str, StateId> = BTreeMap::new();
        for descriptor in self.declared {
            ids.insert(&descriptor.name, state.register(descriptor)?);
        }
        let (mut writes, mut key, mut value) = (WriteBatch::new(), Vec::new(), Vec::new());
        let mut entries = 0u64;
        for (number, restored) in handles.iter().enumerate() {
            let reader_dir = local_dir.join(format!("restored-{number}"));
            let mut reader = backend.open_reader(*restored, max_parallelism, &reader_dir)?;
            for (index, descriptor) in restored.handle.states.iter().enumerate() {
                let Some(id) = ids.get(descriptor.name.as_str()) else { continue };
                let conversion = self.conversions.get(&descriptor.name);
                reader.read(index, key_groups, &mut |entry| {
                    match conversion {
                        None => writes.put(*id, entry.key, entry.value),
                        Some(conversion) => {
                            key.clear();
                            value.clear();
                            conversion.convert(entry, &mut key, &mut value)?;
                            writes.put(*id, &key, &value);
                        }
                    }
                    entries += 1;
                    if writes.byte_len() >= BATCH_BYTES {
                        state.write(&mut writes)?;
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
            }
        }
        if !writes.is_empty() {
            state.write(&mut writes)?;
        }
        tracing::info!(%operator, worker, entries, "state was converted");
        Ok(state)
    }
}
