//! One state: a shard for each key group.

use crate::bounds::Bounds;
use crate::budget::{Account, Growth};
use crate::expired::{Expiry, Swept};
use crate::ordered::{LeafPosition, Leaves, OrderedShard};
use crate::point::{Entries, PointShard, Probe};
use headpond_state::{
    AccessPattern, Entry, Error, KeyBatch, KeyGroupRange, MaxParallelism, MergeOperator, ReadManyVisitor, Result,
    ScanManyVisitor, ScanRange, ScanVisitor,
};
use std::sync::Arc;

/// Keys that are looked up together, step by step, so that their cache misses overlap.
pub(crate) const LOOKUP_LEN: usize = 32;

/// The entries of one state.
#[derive(Debug)]
pub(crate) struct Table {
    key_groups: KeyGroupRange,
    max_parallelism: MaxParallelism,
    shards: Shards,
    /// Shards that may have sparse pages: since time was last said to have passed, and since the time before.
    untidy: [Vec<usize>; 2],
    /// Shards of which more is dead than alive.
    mostly_dead: Vec<usize>,
}

/// In the shape that the state's access pattern wants.
#[derive(Debug)]
enum Shards {
    Point(Vec<PointShard>),
    Ordered(Vec<OrderedShard>),
}

impl Table {
    pub(crate) fn new(access: AccessPattern, key_groups: KeyGroupRange, max_parallelism: MaxParallelism) -> Self {
        let groups = key_groups.iter();
        let shards = match access {
            AccessPattern::Point => Shards::Point(groups.map(|_| PointShard::default()).collect()),
            AccessPattern::Scan => Shards::Ordered(groups.map(|_| OrderedShard::default()).collect()),
        };
        Table { key_groups, max_parallelism, shards, untidy: Default::default(), mostly_dead: Vec::new() }
    }

    /// Moves the entries into the shape that `access` wants.
    pub(crate) fn reshape(&mut self, access: AccessPattern, account: &Arc<Account>) -> Result<()> {
        match (&self.shards, access) {
            (Shards::Point(_), AccessPattern::Point) | (Shards::Ordered(_), AccessPattern::Scan) => return Ok(()),
            _ => {}
        }
        let mut reshaped = Table::new(access, self.key_groups, self.max_parallelism);
        for shard in 0..self.key_groups.len() {
            let frozen = self.freeze_shard(shard);
            for (key, value) in frozen.entries() {
                reshaped.put(reshaped.lookup(key)?, key, value, account)?;
            }
            self.clear_shard(shard, account);
        }
        *self = reshaped;
        Ok(())
    }

    /// The shard of a key, which must belong to the key groups held.
    #[inline]
    fn shard_of(&self, key: &[u8]) -> Result<usize> {
        if key.len() >= self.max_parallelism.prefix_len() {
            let group = self.max_parallelism.key_group_of_entry(key);
            if self.key_groups.contains(group) {
                return Ok(usize::from(group.0 - self.key_groups.start));
            }
        }
        Err(Error::invalid(format!("a key does not belong to the key groups {} of this instance", self.key_groups)))
    }

    pub(crate) fn len(&self) -> usize {
        match &self.shards {
            Shards::Point(shards) => shards.iter().map(PointShard::len).sum(),
            Shards::Ordered(shards) => shards.iter().map(OrderedShard::len).sum(),
        }
    }

    /// Begins to look a key up.
    #[inline]
    pub(crate) fn lookup(&self, key: &[u8]) -> Result<Lookup> {
        let shard = self.shard_of(key)?;
        let hash = match self.shards {
            Shards::Point(_) => PointShard::hash(key),
            Shards::Ordered(_) => 0,
        };
        Ok(Lookup { shard, hash, probe: Probe::default(), place: LeafPosition::default() })
    }

    /// The first of three steps that bring into the cache what a lookup needs. Each is done for many lookups before the
    /// next, so that their misses overlap. This one finds where the entry probably is; of an ordered state near where
    /// the lookup `before` ended.
    #[inline]
    pub(crate) fn probe(&self, lookup: &mut Lookup, before: Lookup, key: &[u8]) {
        match &self.shards {
            Shards::Point(shards) => lookup.probe = shards[lookup.shard].probe(lookup.hash),
            Shards::Ordered(shards) => lookup.place = shards[lookup.shard].probe(before.place, key),
        }
    }

    /// The second step: touches the entry of a point state, or what finds it in the leaf, unless the lookup `before`
    /// has.
    #[inline]
    pub(crate) fn touch(&self, lookup: &Lookup, before: Option<&Lookup>) -> u8 {
        match &self.shards {
            Shards::Point(shards) => shards[lookup.shard].touch(lookup.probe),
            Shards::Ordered(_) if before.is_some_and(|before| before.is_beside(lookup)) => 0,
            Shards::Ordered(shards) => shards[lookup.shard].touch(lookup.place),
        }
    }

    /// The third step: finds the entry in its leaf and touches it.
    #[inline]
    pub(crate) fn touch_entry(&self, lookup: &mut Lookup, key: &[u8]) {
        if let Shards::Ordered(shards) = &self.shards {
            shards[lookup.shard].touch_entry(&mut lookup.place, key);
        }
    }

    /// All three steps for lookups of this table.
    fn prepare<'k>(&self, lookups: &mut [Lookup], key: impl Fn(usize) -> &'k [u8]) {
        let mut before = Lookup::default();
        for (index, lookup) in lookups.iter_mut().enumerate() {
            self.probe(lookup, before, key(index));
            before = *lookup;
        }
        let (mut touched, mut before) = (0, None);
        for lookup in lookups.iter() {
            touched ^= self.touch(lookup, before);
            before = Some(lookup);
        }
        std::hint::black_box(touched);
        lookups.iter_mut().enumerate().for_each(|(index, lookup)| self.touch_entry(lookup, key(index)));
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        let lookup = self.lookup(key)?;
        Ok(match &self.shards {
            Shards::Point(shards) => shards[lookup.shard].get(lookup.hash, key),
            Shards::Ordered(shards) => shards[lookup.shard].get(key),
        })
    }

    pub(crate) fn get_many(&self, keys: &KeyBatch, visit: &mut ReadManyVisitor<'_>) -> Result<()> {
        let mut lookups = [Lookup::default(); LOOKUP_LEN];
        for start in (0..keys.len()).step_by(LOOKUP_LEN) {
            let lookups = &mut lookups[..LOOKUP_LEN.min(keys.len() - start)];
            for (index, lookup) in lookups.iter_mut().enumerate() {
                *lookup = self.lookup(keys.get(start + index))?;
            }
            self.prepare(lookups, |index| keys.get(start + index));
            for (index, lookup) in lookups.iter().enumerate() {
                let key = keys.get(start + index);
                let value = match &self.shards {
                    Shards::Point(shards) => shards[lookup.shard].get_probed(lookup.probe, lookup.hash, key),
                    Shards::Ordered(shards) => shards[lookup.shard].get_probed(lookup.place, key),
                };
                visit(start + index, value)?;
            }
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn put(&mut self, at: Lookup, key: &[u8], value: &[u8], account: &Arc<Account>) -> Result<()> {
        match &mut self.shards {
            Shards::Point(shards) => {
                shards[at.shard].put(at.hash, key, value, account)?;
                self.note(at.shard);
                Ok(())
            }
            Shards::Ordered(shards) => shards[at.shard].put(at.place, key, value, account),
        }
    }

    /// The shard of an ordered state, for puts that are together.
    #[inline]
    pub(crate) fn ordered_shard(&mut self, shard: usize) -> Option<&mut OrderedShard> {
        match &mut self.shards {
            Shards::Point(_) => None,
            Shards::Ordered(shards) => shards.get_mut(shard),
        }
    }

    pub(crate) fn merge(
        &mut self,
        at: Lookup,
        (key, operand): (&[u8], &[u8]),
        operator: MergeOperator,
        scratch: &mut Vec<u8>,
        account: &Arc<Account>,
    ) -> Result<()> {
        match &mut self.shards {
            Shards::Point(shards) => {
                shards[at.shard].merge(at.hash, (key, operand), operator, scratch, account)?;
                self.note(at.shard);
                Ok(())
            }
            Shards::Ordered(shards) => shards[at.shard].merge((key, operand), operator, scratch, account),
        }
    }

    pub(crate) fn delete(&mut self, at: Lookup, key: &[u8], account: &Arc<Account>) {
        match &mut self.shards {
            Shards::Point(shards) => {
                shards[at.shard].delete(at.hash, key, account);
                self.note(at.shard);
            }
            Shards::Ordered(shards) => shards[at.shard].delete(key),
        }
    }

    /// Deletes a range and returns the shards it may have touched.
    pub(crate) fn delete_range(&mut self, start: &[u8], end: &[u8], account: &Arc<Account>) -> std::ops::Range<usize> {
        let bounds = Bounds::between(start, end);
        let within = bounds.shards(self.key_groups, self.max_parallelism);
        match &mut self.shards {
            Shards::Point(shards) => {
                shards[within.clone()].iter_mut().for_each(|shard| shard.delete_range(&bounds, account));
                within.clone().for_each(|shard| self.note(shard));
            }
            Shards::Ordered(shards) => {
                shards[within.clone()].iter_mut().for_each(|shard| shard.delete_range(&bounds));
            }
        }
        within
    }

    /// Remembers a shard that may have sparse pages.
    #[inline]
    fn note(&mut self, shard: usize) {
        let Shards::Point(shards) = &self.shards else { return };
        if !shards[shard].is_untidy() {
            return;
        }
        let noted = if shards[shard].is_mostly_dead() { &mut self.mostly_dead } else { &mut self.untidy[0] };
        if noted.last() != Some(&shard) {
            noted.push(shard);
        }
    }

    /// Gives space back of which there is more than new entries can be expected to take.
    pub(crate) fn tidy_most(&mut self, account: &Arc<Account>) {
        let Table { shards: Shards::Point(shards), mostly_dead, .. } = self else { return };
        mostly_dead.drain(..).for_each(|shard| shards[shard].tidy(account));
    }

    /// Gives space back that entries have left behind before time was last said to have passed, and that new ones have
    /// not taken since.
    pub(crate) fn tidy(&mut self, account: &Arc<Account>) {
        let Table { shards: Shards::Point(shards), untidy: [now, before], .. } = self else { return };
        before.drain(..).for_each(|shard| shards[shard].tidy(account));
        std::mem::swap(now, before);
    }

    /// The number of shards.
    pub(crate) fn shards(&self) -> usize {
        self.key_groups.len()
    }

    /// Looks at a piece of a shard and removes what has expired of it. `None`: the shard has no piece of this number.
    pub(crate) fn sweep(
        &mut self,
        shard: usize,
        piece: usize,
        expiry: &Expiry,
        account: &Arc<Account>,
    ) -> Option<Swept> {
        match &mut self.shards {
            Shards::Point(shards) => {
                let swept = shards.get_mut(shard)?.sweep(piece, expiry, account);
                self.note(shard);
                swept
            }
            Shards::Ordered(shards) => shards.get_mut(shard)?.sweep(piece, expiry),
        }
    }

    /// Removes all entries of a shard.
    pub(crate) fn clear_shard(&mut self, shard: usize, account: &Arc<Account>) {
        match &mut self.shards {
            Shards::Point(shards) => shards[shard].clear(account),
            Shards::Ordered(shards) => shards[shard] = OrderedShard::default(),
        }
    }

    pub(crate) fn scan(&self, range: &ScanRange<'_>, visit: &mut ScanVisitor<'_>) -> Result<()> {
        let bounds = Bounds::of_scan(range);
        let mut left = range.limit;
        for shard in bounds.shards(self.key_groups, self.max_parallelism) {
            if left == 0 {
                return Ok(());
            }
            let flow = match &self.shards {
                Shards::Point(shards) => shards[shard].scan(&bounds, &mut left, visit)?,
                Shards::Ordered(shards) => shards[shard].scan(&bounds, &mut left, visit)?,
            };
            if flow.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Scans many ranges; where they begin is brought into the cache together.
    pub(crate) fn scan_many(&self, ranges: &[ScanRange<'_>], visit: &mut ScanManyVisitor<'_>) -> Result<()> {
        let mut lookups = [Lookup::default(); LOOKUP_LEN];
        let mut bounds = Vec::with_capacity(LOOKUP_LEN);
        for (part, ranges) in ranges.chunks(LOOKUP_LEN).enumerate() {
            bounds.clear();
            bounds.extend(ranges.iter().map(Bounds::of_scan));
            let mut found = 0;
            if matches!(self.shards, Shards::Ordered(_)) {
                // A range may begin outside the key groups held; there is nothing of it to prepare then.
                while let Some(at) = bounds.get(found).and_then(|bounds| self.lookup(bounds.lowest()).ok()) {
                    lookups[found] = at;
                    found += 1;
                }
                self.prepare(&mut lookups[..found], |index| bounds[index].lowest());
            }
            for (index, (range, bounds)) in ranges.iter().zip(&bounds).enumerate() {
                let visit = &mut |entry: Entry<'_>| visit(part * LOOKUP_LEN + index, entry);
                match (&self.shards, lookups[..found].get(index)) {
                    (Shards::Ordered(shards), Some(at)) if self.is_of_one_shard(bounds) => {
                        // Whether the range was left early is nothing to the next one.
                        let _ = shards[at.shard].scan_from(at.place, bounds, &mut { range.limit }, visit)?;
                    }
                    _ => self.scan(range, visit)?,
                }
            }
        }
        Ok(())
    }

    /// Whether nothing is within bounds beyond the shard of their lowest key.
    fn is_of_one_shard(&self, bounds: &Bounds<'_>) -> bool {
        bounds.prefix_of_lowest().is_some_and(|prefix| prefix.len() >= self.max_parallelism.prefix_len())
    }

    /// The length of the value at `key`, in bytes, 0 without one.
    pub(crate) fn value_len(&self, key: &[u8]) -> usize {
        self.get(key).ok().flatten().map_or(0, <[u8]>::len)
    }

    /// What putting `value_len` bytes at `key` adds, and the shard it is added to.
    pub(crate) fn growth(&self, key: &[u8], value_len: usize) -> Result<(usize, Growth)> {
        let Lookup { shard, hash, .. } = self.lookup(key)?;
        let growth = match &self.shards {
            Shards::Point(shards) => shards[shard].growth(hash, key, value_len),
            Shards::Ordered(shards) => shards[shard].growth(key, value_len),
        };
        Ok((shard, growth))
    }

    /// The bytes that come with appending so many bytes of so many new entries to a shard.
    pub(crate) fn append_growth(&self, shard: usize, appended: usize, entries: usize) -> usize {
        match &self.shards {
            Shards::Point(shards) => shards[shard].append_growth(appended, entries),
            Shards::Ordered(_) => 0,
        }
    }

    /// What a snapshot keeps: an `Arc` of each shard.
    pub(crate) fn freeze(&self) -> Vec<FrozenShard> {
        (0..self.key_groups.len()).map(|shard| self.freeze_shard(shard)).collect()
    }

    fn freeze_shard(&self, shard: usize) -> FrozenShard {
        match &self.shards {
            Shards::Point(shards) => FrozenShard::Point(shards[shard].freeze()),
            Shards::Ordered(shards) => FrozenShard::Ordered(shards[shard].freeze()),
        }
    }
}

/// The search for a key's entry, as far as it has come.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lookup {
    pub(crate) shard: usize,
    hash: u64,
    probe: Probe,
    pub(crate) place: LeafPosition,
}

impl Lookup {
    /// Whether both have come to the same leaf.
    fn is_beside(&self, other: &Lookup) -> bool {
        self.shard == other.shard && self.place.leaf == other.place.leaf
    }
}

/// A shard as it was at a cut.
#[derive(Debug)]
pub(crate) enum FrozenShard {
    Point(Arc<Entries>),
    Ordered(Arc<Leaves>),
}

impl FrozenShard {
    /// The entries in ascending order of their keys.
    pub(crate) fn entries(&self) -> Box<dyn Iterator<Item = (&[u8], &[u8])> + '_> {
        match self {
            FrozenShard::Point(entries) => Box::new(entries.sorted().into_iter()),
            FrozenShard::Ordered(leaves) => Box::new(leaves.entries()),
        }
    }
}
