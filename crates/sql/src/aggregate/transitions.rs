//! Values that come to sets or leave them.

use arrow_buffer::BooleanBuffer;

/// The values that came and went with a batch, by set and filter: each is a row of the batch with that value and a
/// sign.
#[derive(Debug, Default)]
pub(super) struct Transitions(pub(super) Vec<Transition>);

#[derive(Debug)]
pub(super) struct Transition {
    pub(super) set: usize,
    pub(super) filter: usize,
    pub(super) signs: Vec<i64>,
    pub(super) rows: BooleanBuffer,
}

impl Transitions {
    /// The signs of all rows and which rows stand for a transition.
    pub(super) fn of(&self, set: usize, filter: usize) -> Option<(&[i64], &BooleanBuffer)> {
        let transition = self.0.iter().find(|transition| transition.set == set && transition.filter == filter)?;
        Some((&transition.signs, &transition.rows))
    }
}
