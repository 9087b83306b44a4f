//! The states of an operator: those the job has registered and those that were only restored.

use crate::column_family::column_family_name;
use headpond_state::{Context, Error, Result, StateDescriptor, StateId};

/// What is known of an operator's states.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    registered: Vec<State>,
    restored: Vec<StateDescriptor>,
}

/// A registered state.
#[derive(Debug)]
pub(crate) struct State {
    /// Its declaration.
    pub(crate) descriptor: StateDescriptor,
    /// Its column family.
    pub(crate) column_family: String,
}

/// What registering a state takes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Registration {
    /// Nothing: it is there.
    Present(StateId),
    /// A column family.
    New,
}

impl Registry {
    /// A registry of states that were restored.
    pub(crate) fn restored(states: Vec<StateDescriptor>) -> Registry {
        Registry { registered: Vec::new(), restored: states }
    }

    /// The state of this id.
    pub(crate) fn get(&self, id: StateId) -> Result<&State> {
        self.registered.get(id.index()).ok_or_else(|| {
            Error::invalid(format!("there is no state number {}", id.0)).hint("use the ids that `register` returned")
        })
    }

    /// The states restored and not registered.
    pub(crate) fn unregistered(&self) -> &[StateDescriptor] {
        &self.restored
    }

    /// All states.
    pub(crate) fn all(&self) -> impl Iterator<Item = &StateDescriptor> {
        self.registered.iter().map(|state| &state.descriptor).chain(&self.restored)
    }

    /// Checks a declaration and takes over the restored state it continues, if there is one.
    pub(crate) fn register(&mut self, wanted: &StateDescriptor) -> Result<Registration> {
        if wanted.ttl.is_some() && wanted.merge.is_some() {
            return Err(Error::invalid("a state with a time to live cannot have a merge operator")
                .with(Context::State, &wanted.name)
                .hint("read, fold and write the state's value instead, or drop its TTL"));
        }
        if wanted.name.contains('\0') {
            return Err(
                Error::invalid("a state's name must not contain a NUL character").with(Context::State, &wanted.name)
            );
        }
        if let Some(index) = self.registered.iter().position(|state| state.descriptor.name == wanted.name) {
            if !self.registered[index].descriptor.is_same(wanted) {
                return Err(Error::incompatible("the state is already registered with another descriptor")
                    .with(Context::State, &wanted.name)
                    .hint("declare a state once, or the same each time"));
            }
            return Ok(Registration::Present(StateId(index as u16)));
        }
        if self.registered.len() > usize::from(u16::MAX) {
            return Err(Error::exhausted("an operator can have 65536 states"));
        }
        let Some(index) = self.restored.iter().position(|state| state.name == wanted.name) else {
            return Ok(Registration::New);
        };
        wanted.check_restored(&self.restored[index])?;
        self.restored.remove(index);
        Ok(Registration::Present(self.add(wanted)))
    }

    /// Adds a state whose column family exists.
    pub(crate) fn add(&mut self, descriptor: &StateDescriptor) -> StateId {
        let column_family = column_family_name(&descriptor.name);
        self.registered.push(State { descriptor: descriptor.clone(), column_family });
        StateId((self.registered.len() - 1) as u16)
    }

    /// Forgets a restored state.
    pub(crate) fn drop_restored(&mut self, name: &str) -> Result<()> {
        let Some(index) = self.restored.iter().position(|state| state.name == name) else {
            return Err(Error::invalid("there is no restored state of this name to drop").with(Context::State, name));
        };
        self.restored.remove(index);
        Ok(())
    }
}
