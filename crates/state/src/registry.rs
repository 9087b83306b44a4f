//! The states of an operator, by name and by id: the one place that says which declarations a backend takes.

use crate::descriptor::StateDescriptor;
use crate::error::{Context, Error, Result};
use crate::id::StateId;

/// The most states of one operator.
const STATES_MAX: usize = 1 << 16;

/// The states that a job has registered, and those that were only restored.
#[derive(Debug, Clone, Default)]
pub struct StateRegistry {
    registered: Vec<StateDescriptor>,
    restored: Vec<StateDescriptor>,
}

/// What registering a state takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// Nothing: the job has registered it before.
    Known(StateId),
    /// It goes on with what was restored, from now on under the new declaration.
    Restored(StateId),
    /// A place for its entries; then [`StateRegistry::add`].
    New,
}

impl StateRegistry {
    /// A registry of states that were restored and that the job has not registered yet.
    pub fn restored(states: Vec<StateDescriptor>) -> Self {
        StateRegistry { registered: Vec::new(), restored: states }
    }

    /// Adds a state of a handle. Handles of one checkpoint come from one job: they agree on what they have in common.
    ///
    /// # Errors
    /// [`Incompatible`](crate::ErrorKind::Incompatible) when they do not;
    /// [`ResourceExhausted`](crate::ErrorKind::ResourceExhausted) beyond 65,536 states.
    pub fn restore(&mut self, descriptor: &StateDescriptor) -> Result<()> {
        match self.restored.iter().find(|state| state.name == descriptor.name) {
            Some(known) => known.check_restored(descriptor),
            None => {
                self.check_room()?;
                self.restored.push(descriptor.clone());
                Ok(())
            }
        }
    }

    /// Checks a declaration, and takes over the restored state that it goes on with, if there is one. Ids count from 0
    /// in the order of registration.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a declaration that is wrong in itself;
    /// [`Incompatible`](crate::ErrorKind::Incompatible) when a state of that name was registered otherwise before, or
    /// restored with entries that this declaration does not read;
    /// [`ResourceExhausted`](crate::ErrorKind::ResourceExhausted) beyond 65,536 states.
    pub fn register(&mut self, declared: &StateDescriptor) -> Result<Registration> {
        declared.validate()?;
        if let Some(index) = self.registered.iter().position(|state| state.name == declared.name) {
            if !self.registered[index].is_same(declared) {
                // Names what differs where entries would not be read alike.
                declared.check_restored(&self.registered[index])?;
                return Err(Error::incompatible("the state is already registered with another descriptor")
                    .with(Context::State, &declared.name)
                    .hint("declare a state once, or the same each time"));
            }
            return Ok(Registration::Known(StateId(index as u16)));
        }
        let Some(index) = self.restored.iter().position(|state| state.name == declared.name) else {
            self.check_room()?;
            return Ok(Registration::New);
        };
        declared.check_restored(&self.restored[index])?;
        self.restored.remove(index);
        Ok(Registration::Restored(self.add(declared)))
    }

    /// Adds a state for which [`register`](Self::register) said [`New`](Registration::New), once there is a place for
    /// its entries.
    pub fn add(&mut self, declared: &StateDescriptor) -> StateId {
        self.registered.push(declared.clone());
        StateId((self.registered.len() - 1) as u16)
    }

    /// The declaration of a registered state.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for an id that `register` has not returned.
    #[inline]
    pub fn get(&self, id: StateId) -> Result<&StateDescriptor> {
        self.registered.get(id.index()).ok_or_else(|| {
            Error::invalid(format!("there is no state number {}", id.0)).hint("use the ids that `register` returned")
        })
    }

    /// The states restored and not registered.
    pub fn unregistered(&self) -> &[StateDescriptor] {
        &self.restored
    }

    /// All states: those registered in the order of their ids, then the others.
    pub fn all(&self) -> impl Iterator<Item = &StateDescriptor> {
        self.registered.iter().chain(&self.restored)
    }

    /// Forgets a restored state.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when there is none of this name that waits to be registered.
    pub fn drop_restored(&mut self, name: &str) -> Result<StateDescriptor> {
        match self.restored.iter().position(|state| state.name == name) {
            Some(index) => Ok(self.restored.remove(index)),
            None => Err(Error::invalid("there is no restored state of this name to drop").with(Context::State, name)),
        }
    }

    fn check_room(&self) -> Result<()> {
        match self.registered.len() + self.restored.len() < STATES_MAX {
            true => Ok(()),
            false => Err(Error::exhausted(format!("an operator can have {STATES_MAX} states"))),
        }
    }
}
