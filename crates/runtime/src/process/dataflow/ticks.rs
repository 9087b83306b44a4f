//! The ticks an operator has heard of and not yet finished, oldest first.

use crate::control::Control;
use crate::process::message::{Message, Watermark};
use headpond_state::{Error, Result};
use std::collections::{BTreeMap, VecDeque};
use timely::dataflow::operators::{Capability, InputCapability};

/// What has arrived for one tick.
#[derive(Debug, Default)]
pub(crate) struct Tick {
    /// The right to send at this tick, one for each output; held until the tick is finished here.
    pub(crate) capabilities: Vec<Capability<u64>>,
    pub(crate) control: Option<Control>,
    /// Rows with the input they came by.
    pub(crate) rows: VecDeque<(usize, Message)>,
    pub(crate) row_count: usize,
    pub(crate) watermarks: Vec<(usize, Watermark)>,
}

/// The unfinished ticks.
#[derive(Debug)]
pub(crate) struct Ticks {
    ticks: BTreeMap<u64, Tick>,
    outputs: usize,
}

impl Ticks {
    /// No ticks, for an operator that sends at them on its first `outputs` outputs.
    pub(crate) fn new(outputs: usize) -> Self {
        Ticks { ticks: BTreeMap::new(), outputs }
    }

    pub(crate) fn control(&mut self, capability: &InputCapability<u64>, control: Control) -> Result<()> {
        self.at(capability)?.control = Some(control);
        Ok(())
    }

    pub(crate) fn message(&mut self, capability: &InputCapability<u64>, input: usize, message: Message) -> Result<()> {
        let tick = self.at(capability)?;
        match message {
            Message::Watermark(watermark) => tick.watermarks.push((input, watermark)),
            Message::Damaged(text) => return Err(Error::corrupt(text)),
            Message::Rows(batch) => {
                tick.row_count += batch.num_rows();
                tick.rows.push_back((input, Message::Rows(batch)));
            }
            Message::Keyed(batch) => {
                tick.row_count += batch.changes.num_rows();
                tick.rows.push_back((input, Message::Keyed(batch)));
            }
        }
        Ok(())
    }

    fn at(&mut self, capability: &InputCapability<u64>) -> Result<&mut Tick> {
        let time = capability.least().ok_or_else(|| Error::internal("a message has no tick"))?;
        let tick = self.ticks.entry(*time).or_default();
        if tick.capabilities.is_empty() {
            tick.capabilities.extend((0..self.outputs).filter_map(|output| capability.retain_least(output)));
        }
        Ok(tick)
    }

    /// The oldest unfinished tick.
    pub(crate) fn oldest(&mut self) -> Option<(u64, &mut Tick)> {
        self.ticks.first_entry().map(|entry| (*entry.key(), entry.into_mut()))
    }

    /// Finishes the oldest tick, giving up its capability.
    pub(crate) fn finish_oldest(&mut self) {
        self.ticks.pop_first();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ticks.is_empty()
    }
}
