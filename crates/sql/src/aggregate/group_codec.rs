//! A group's accumulators as the value of a state.

use super::accumulators::Accumulators;
use super::layout::AggregatePlan;
use headpond_rows::RowCodec;
use headpond_state::backend::KeyBatch;
use headpond_state::schema::Datum;
use headpond_state::{Context, KeyedStateBackend, Result, StateId};

/// Writes and reads accumulators of one layout. Buffers are kept from group to group.
#[derive(Debug)]
pub(super) struct GroupCodec {
    codec: RowCodec,
    /// The state, for errors.
    state: &'static str,
    /// Whether the accumulators are numbers.
    of_numbers: bool,
    numbers: Vec<Option<i64>>,
    row: Vec<Datum>,
}

impl GroupCodec {
    /// The codec of a plan's accumulators in the state of this name.
    pub(super) fn new(plan: &AggregatePlan, state: &'static str) -> Self {
        let of_numbers = Accumulators::new(&plan.layout).are_numbers();
        GroupCodec { codec: plan.codec(), state, of_numbers, numbers: Vec::new(), row: Vec::new() }
    }

    /// Adds a group from its value.
    #[inline]
    pub(super) fn read(&mut self, stored: &[u8], accumulators: &mut Accumulators) -> Result<()> {
        let GroupCodec { codec, state, of_numbers, numbers, row } = self;
        let read = if *of_numbers && codec.decode_numbers(stored, numbers) {
            accumulators.push_numbers(numbers)
        } else {
            row.clear();
            codec.decode(stored, row).and_then(|()| accumulators.push_stored(row))
        };
        read.map_err(|error| error.with(Context::State, *state))
    }

    /// Appends the value of a group.
    #[inline]
    pub(super) fn write(&mut self, accumulators: &Accumulators, group: usize, out: &mut Vec<u8>) -> Result<()> {
        let GroupCodec { codec, state, of_numbers, numbers, row } = self;
        if *of_numbers {
            numbers.clear();
            accumulators.append_numbers(group, numbers);
            if codec.encode_numbers(numbers, out) {
                return Ok(());
            }
        }
        row.clear();
        accumulators.append(group, row);
        codec.encode(row, out).map_err(|error| error.with(Context::State, *state))
    }

    /// Reads the groups of these keys: adds each that has a value, and tells `take`, key by key, whether it had.
    pub(super) fn read_many(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        (state, keys): (StateId, &KeyBatch),
        accumulators: &mut Accumulators,
        mut take: impl FnMut(usize, bool, &mut Accumulators) -> Result<()>,
    ) -> Result<()> {
        backend.read_many(state, keys, &mut |index, stored| {
            if let Some(stored) = stored {
                self.read(stored, accumulators)?;
            }
            take(index, stored.is_some(), accumulators)
        })
    }
}
