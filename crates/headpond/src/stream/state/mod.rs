//! The states of a function: by descriptors registered, by key read and written.
//!
//! A descriptor says a state's name, how its values are written ([`codec`](headpond_state::codec)), and when they
//! expire ([`StateTtlConfig`]). [`open`](super::KeyedProcessFunction::open) registers it and gets the state, whose
//! calls take the [`Context`](super::Context) of the record: they are about its key.
//!
//! | descriptor | registered by | state, for each key |
//! |---|---|---|
//! | [`ValueStateDescriptor`] | [`value_state`] | [`ValueState`]: one value |
//! | [`ListStateDescriptor`] | [`list_state`] | [`ListState`]: values in the order of adding |
//! | [`MapStateDescriptor`] | [`map_state`] | [`MapState`]: values by user key |
//! | [`ReducingStateDescriptor`] | [`reducing_state`] | [`ReducingState`]: the fold of values |
//! | [`AggregatingStateDescriptor`] | [`aggregating_state`] | [`AggregatingState`]: an accumulator |
//!
//! [`value_state`]: super::RuntimeContext::value_state
//! [`list_state`]: super::RuntimeContext::list_state
//! [`map_state`]: super::RuntimeContext::map_state
//! [`reducing_state`]: super::RuntimeContext::reducing_state
//! [`aggregating_state`]: super::RuntimeContext::aggregating_state
//!
//! # Errors
//! Calls fail as the backend does, and with what the codec says of a stored value; the error names the state.

mod aggregating;
mod list;
mod map;
mod reducing;
mod ttl;
mod value;

pub use aggregating::{AggregatingState, AggregatingStateDescriptor};
pub use headpond_state::ttl::{StateVisibility, TimeDomain, TtlConfig, UpdateType};
pub use headpond_state::typed::AggregateFunction;
pub use list::{ListState, ListStateDescriptor};
pub use map::{MapState, MapStateDescriptor};
pub use reducing::{ReducingState, ReducingStateDescriptor};
pub use ttl::StateTtlConfig;
pub use value::{ValueState, ValueStateDescriptor};

use super::function::RuntimeContext;
use headpond_state::codec::Codec;
use headpond_state::{Context, Error, Result, StateDescriptor};
use std::fmt;
use std::sync::Arc;

/// What the descriptors of all kinds say.
struct Declaration<T> {
    name: String,
    codec: Arc<dyn Codec<T>>,
    ttl: Option<TtlConfig>,
}

impl<T> fmt::Debug for Declaration<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declaration")
            .field("name", &self.name)
            .field("codec", &self.codec)
            .field("ttl", &self.ttl)
            .finish()
    }
}

impl<T> Declaration<T> {
    fn new(name: impl Into<String>, codec: impl Codec<T> + 'static) -> Self {
        Declaration { name: name.into(), codec: Arc::new(codec), ttl: None }
    }

    /// The state's descriptor, given the one that its kind makes of name and codec.
    fn complete(&self, descriptor: StateDescriptor, ctx: &RuntimeContext<'_>) -> Result<StateDescriptor> {
        if self.ttl.is_some_and(|ttl| ttl.ttl_ms <= 0) {
            return Err(Error::invalid("a state's time to live is not above zero")
                .with(Context::State, &self.name)
                .hint("give it at least a millisecond, or no time to live"));
        }
        Ok(descriptor.with_key_schema(ctx.key_schema.to_string()).with_ttl(self.ttl))
    }
}
