//! The closing of hopping windows.
//!
//! A row that is not late for any of its windows is added to its slice only, whose namespace is the slice. When a
//! window closes, its slices are merged, and the oldest of them, which belongs to no later window, is removed. A row
//! that is late for some of its windows and not for others is rare; it is added to accumulators of each of the others,
//! whose namespace is the window, and which are merged into it, too. So a row counts in exactly the windows for which
//! it is not late, however rows fall into batches and ticks.
//!
//! There is a timer for the first window that ends with a slice, and a window that closes sets the next one's while it
//! leaves slices behind. A key's windows close in the order of their ends, however many of them are due at once.

use super::fixed::{FixedWindows, without_accumulators};
use super::spec::WINDOWS_PER_PASS;
use crate::aggregate::accumulators::Accumulators;
use crate::aggregate::group::overflow_error;
use crate::aggregate::merge::Merged;
use headpond_state::encoding::{EntryKeys, window_namespace, window_of_namespace};
use headpond_state::typed::{DueTimer, KeyContext, TimerCursor};
use headpond_state::{KeyedStateBackend, Result};
use std::collections::{HashMap, VecDeque};

/// How many slices are read at a time.
const SLICES_PER_PASS: usize = 65_536;

/// The windows of a key that are over, one after the other.
#[derive(Debug)]
struct Chain<'d> {
    timer: &'d DueTimer,
    /// Ends of windows with timers, ascending.
    ends_ms: VecDeque<i64>,
    /// The end of the next window.
    end_ms: i64,
    /// The time that has passed; of a key group whose timers are not all known, the time of the last one known.
    until_ms: i64,
    /// The slices of the window before the next one that belong to the next one, too; empty when none of them is known.
    slices: VecDeque<Option<u32>>,
}

impl FixedWindows {
    /// Takes windows that are over out of the state. Returns whether there may be more.
    pub(super) fn close_hopping(
        &mut self,
        closing_ms: i64,
        slide_ms: i64,
        size_ms: i64,
        state: &mut dyn KeyedStateBackend,
    ) -> Result<bool> {
        self.closed.clear();
        let count = usize::try_from(size_ms / slide_ms).unwrap_or(usize::MAX);
        let limit = (SLICES_PER_PASS / count.saturating_add(1)).clamp(16, WINDOWS_PER_PASS);
        let mut due = Vec::new();
        // From the beginning each time: closing a window sets timers that come before others that are due.
        let more = self.timers.due(state, closing_ms, limit, &mut TimerCursor::default(), &mut due)?;
        let mut chains = self.chains(&due, more, closing_ms)?;
        let mut slices = Accumulators::new(&self.plan.layout);
        let mut merged: Vec<Merged> = Vec::new();
        self.writes.clear();
        let mut active: Vec<usize> = (0..chains.len()).collect();
        while !active.is_empty() && self.closed.len() < WINDOWS_PER_PASS {
            self.read_windows(&mut chains, &active, [slide_ms, size_ms], &mut slices, &mut merged, state)?;
            active.retain(|&chain| self.next_window(&mut chains[chain], slide_ms, size_ms));
        }
        let is_left = !active.is_empty();
        for chain in active {
            self.set_timer(&chains[chain], size_ms);
        }
        let folded = self.closed.accumulators.merge(&slices, &merged);
        folded.map_err(|overflow| overflow_error(&self.plan, self.closed.keys.get(merged[overflow.row].0 as usize)))?;
        state.write(&mut self.writes)?;
        Ok(more || is_left)
    }

    /// The keys that have windows due, each with all its timers that are known.
    fn chains<'d>(&self, due: &'d [DueTimer], more: bool, closing_ms: i64) -> Result<Vec<Chain<'d>>> {
        let mut chains: Vec<Chain<'d>> = Vec::new();
        let mut of_keys: HashMap<&[u8], usize> = HashMap::new();
        let incomplete = due.last().filter(|_| more);
        for timer in due {
            let (_, end_ms) = window_of_namespace(&timer.namespace)?;
            if let Some(chain) = of_keys.get(timer.key.as_slice()) {
                chains[*chain].ends_ms.push_back(end_ms);
                continue;
            }
            of_keys.insert(&timer.key, chains.len());
            let until_ms = match incomplete {
                Some(last) if last.key_group == timer.key_group => last.time_ms,
                _ => closing_ms,
            };
            chains.push(Chain { timer, ends_ms: VecDeque::from([end_ms]), end_ms, until_ms, slices: VecDeque::new() });
        }
        Ok(chains)
    }

    /// Reads what belongs to the next window of each chain, and closes it.
    fn read_windows(
        &mut self,
        chains: &mut [Chain<'_>],
        active: &[usize],
        [slide_ms, size_ms]: [i64; 2],
        slices: &mut Accumulators,
        merged: &mut Vec<Merged>,
        state: &mut dyn KeyedStateBackend,
    ) -> Result<()> {
        let entries = EntryKeys::new(self.max_parallelism);
        let FixedWindows { keys, codec, closed, writes, .. } = self;
        keys.clear();
        // For each key that is read, its chain, and whether it is a slice.
        let mut reads: Vec<(usize, bool)> = Vec::new();
        let mut namespace = Vec::new();
        for &index in active {
            let chain = &chains[index];
            let start_ms = chain.end_ms.saturating_sub(size_ms);
            let mut read = |from_ms: i64, to_ms: i64, is_slice: bool| {
                namespace.clear();
                window_namespace(from_ms, to_ms, &mut namespace);
                keys.push_with(|out| entries.entry(chain.timer.key_group, &chain.timer.key, &namespace, out));
                reads.push((index, is_slice));
            };
            let mut slice_ms = start_ms.saturating_add(chain.slices.len() as i64 * slide_ms);
            while slice_ms < chain.end_ms {
                read(slice_ms, slice_ms.saturating_add(slide_ms), true);
                slice_ms = slice_ms.saturating_add(slide_ms);
            }
            if slide_ms < size_ms {
                read(start_ms, chain.end_ms, false);
            }
        }
        let mut of_windows: Vec<(usize, u32)> = Vec::new();
        codec.read_many(state, (self.state, keys), slices, |read, is_stored, slices| {
            let (index, is_slice) = reads[read];
            let slot = is_stored.then(|| slices.len() as u32 - 1);
            if is_slice {
                chains[index].slices.push_back(slot);
            } else if let Some(slot) = slot {
                of_windows.push((index, slot));
                writes.delete(self.state, keys.get(read));
            }
            Ok(())
        })?;
        let mut of_windows = of_windows.into_iter().peekable();
        for &index in active {
            let chain = &chains[index];
            let mut parts = chain.slices.iter().flatten().copied().collect::<Vec<u32>>();
            parts.extend(of_windows.next_if(|(of, _)| *of == index).map(|(_, slot)| slot));
            if parts.is_empty() {
                return Err(without_accumulators());
            }
            closed.accumulators.push_new();
            closed.keys.push(&chain.timer.key);
            closed.windows.push((chain.end_ms.saturating_sub(size_ms), chain.end_ms));
            let into = closed.windows.len() as u32 - 1;
            merged.extend(parts.into_iter().map(|slot| (into, slot)));
        }
        Ok(())
    }

    /// Removes what only the window needed that has been closed, and moves on to the next one. Returns whether that one
    /// is over.
    fn next_window(&mut self, chain: &mut Chain<'_>, slide_ms: i64, size_ms: i64) -> bool {
        let DueTimer { key_group, key, .. } = chain.timer;
        let start_ms = chain.end_ms.saturating_sub(size_ms);
        let mut window = Vec::new();
        window_namespace(start_ms, chain.end_ms, &mut window);
        let context = KeyContext { key_group: *key_group, key, namespace: &window, row_ms: None };
        self.timers.delete(&mut self.writes, context, chain.end_ms.saturating_sub(1));
        if chain.slices.pop_front().flatten().is_some() {
            let (mut slice, mut entry) = (Vec::new(), Vec::new());
            window_namespace(start_ms, start_ms.saturating_add(slide_ms), &mut slice);
            EntryKeys::new(self.max_parallelism).entry(*key_group, key, &slice, &mut entry);
            self.writes.delete(self.state, &entry);
        }
        if chain.ends_ms.front() == Some(&chain.end_ms) {
            chain.ends_ms.pop_front();
        }
        if chain.slices.iter().any(Option::is_some) {
            chain.end_ms = chain.end_ms.saturating_add(slide_ms);
            if chain.end_ms.saturating_sub(1) > chain.until_ms {
                self.set_timer(chain, size_ms);
                return false;
            }
            return true;
        }
        chain.slices.clear();
        match chain.ends_ms.front() {
            Some(end_ms) => {
                chain.end_ms = *end_ms;
                true
            }
            None => false,
        }
    }

    fn set_timer(&mut self, chain: &Chain<'_>, size_ms: i64) {
        let DueTimer { key_group, key, .. } = chain.timer;
        let mut window = Vec::new();
        window_namespace(chain.end_ms.saturating_sub(size_ms), chain.end_ms, &mut window);
        let context = KeyContext { key_group: *key_group, key, namespace: &window, row_ms: None };
        self.timers.put(&mut self.writes, context, chain.end_ms.saturating_sub(1));
    }
}
