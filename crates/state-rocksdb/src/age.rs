//! How old the entries of a file are: enough to tell how much of it has expired by now.

/// The parts into which a span of time is divided.
const PARTS: usize = 16;

/// When the entries of a file were last accessed, as a histogram of their bytes over time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ages {
    from_ms: i64,
    to_ms: i64,
    /// The share of the bytes in each part of the span.
    shares: [f64; PARTS],
    /// The weight of these ages beside others.
    bytes: f64,
}

impl Ages {
    /// Entries accessed at any time of a span, as many in each part of it.
    pub(crate) fn even(from_ms: i64, to_ms: i64) -> Ages {
        Ages { from_ms, to_ms: to_ms.max(from_ms), shares: [1.0 / PARTS as f64; PARTS], bytes: 1.0 }
    }

    /// The ages of both files' entries.
    pub(crate) fn with(self, other: Ages) -> Ages {
        let (from_ms, to_ms) = (self.from_ms.min(other.from_ms), self.to_ms.max(other.to_ms));
        let bytes = (self.bytes + other.bytes).max(1.0);
        let up_to = |part: usize| {
            let until_ms = from_ms as f64 + (to_ms as f64 - from_ms as f64) * (part + 1) as f64 / PARTS as f64;
            (self.share_until(until_ms) * self.bytes + other.share_until(until_ms) * other.bytes) / bytes
        };
        let mut shares = [0.0; PARTS];
        let mut before = 0.0;
        for (part, share) in shares.iter_mut().enumerate() {
            *share = up_to(part) - before;
            before = up_to(part);
        }
        Ages { from_ms, to_ms, shares, bytes }
    }

    /// The share of the bytes that has expired, at `now_ms`, of entries that live `ttl_ms`.
    pub(crate) fn expired_share(&self, ttl_ms: i64, now_ms: i64) -> f64 {
        self.share_until(now_ms as f64 - ttl_ms as f64)
    }

    /// The share of the bytes whose stamp is not after `until_ms`.
    fn share_until(&self, until_ms: f64) -> f64 {
        let (from, to) = (self.from_ms as f64, self.to_ms as f64);
        if until_ms >= to {
            return 1.0;
        }
        let parts = ((until_ms - from) / (to - from) * PARTS as f64).clamp(0.0, PARTS as f64);
        let whole = parts as usize;
        let part = self.shares.get(whole).map_or(0.0, |share| share * (parts - whole as f64));
        self.shares[..whole].iter().sum::<f64>() + part
    }
}

/// Collects the ages of entries.
#[derive(Debug)]
pub(crate) struct AgesBuilder {
    from_ms: i64,
    part_ms: i64,
    bytes: [u64; PARTS],
    newest_ms: i64,
}

impl AgesBuilder {
    /// For entries accessed within `span_ms` of `from_ms`. Later ones count as of the span's end.
    pub(crate) fn new(from_ms: i64, span_ms: i64) -> AgesBuilder {
        AgesBuilder { from_ms, part_ms: (span_ms / PARTS as i64).max(1), bytes: [0; PARTS], newest_ms: i64::MIN }
    }

    /// Adds an entry. Does not panic.
    #[inline]
    pub(crate) fn add(&mut self, stamp_ms: i64, bytes: u64) {
        let part = (stamp_ms.saturating_sub(self.from_ms) / self.part_ms).clamp(0, PARTS as i64 - 1) as usize;
        if let Some(sum) = self.bytes.get_mut(part) {
            *sum = sum.saturating_add(bytes);
        }
        self.newest_ms = self.newest_ms.max(stamp_ms);
    }

    /// The ages of what was added.
    pub(crate) fn build(&self) -> Ages {
        let all = self.bytes.iter().fold(0.0, |sum, bytes| sum + *bytes as f64);
        let to_ms = self.from_ms.saturating_add(self.part_ms.saturating_mul(PARTS as i64));
        let shares = self.bytes.map(|bytes| if all > 0.0 { bytes as f64 / all } else { 0.0 });
        Ages { from_ms: self.from_ms, to_ms: to_ms.max(self.newest_ms), shares, bytes: all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_even_ages_expire_evenly() {
        let ages = Ages::even(1000, 2000);
        let share = |now_ms| ages.expired_share(500, now_ms);
        assert_eq!((share(1400), share(2500), share(i64::MAX)), (0.0, 1.0, 1.0));
        assert!((share(2000) - 0.5).abs() < 1e-9);
        assert_eq!(Ages::even(1000, 1000).expired_share(500, 1500), 1.0);
        assert_eq!(Ages::even(1000, 1000).expired_share(500, 1499), 0.0);
    }

    #[test]
    fn collected_ages_tell_what_expires_when() {
        let mut builder = AgesBuilder::new(0, 1600);
        (0..1600).for_each(|stamp_ms| builder.add(stamp_ms, if stamp_ms < 800 { 3 } else { 1 }));
        let ages = builder.build();
        assert!((ages.expired_share(1600, 2400) - 0.75).abs() < 1e-9);
        assert_eq!(ages.expired_share(1600, 1600), 0.0);
        builder.add(i64::MAX, u64::MAX);
        builder.add(i64::MIN, u64::MAX);
        assert!(builder.build().expired_share(1600, 2400) <= 1.0);
    }

    #[test]
    fn ages_of_two_files_add_up() {
        let both = Ages::even(0, 100).with(Ages::even(100, 200));
        assert!((both.expired_share(1000, 1100) - 0.5).abs() < 1e-9);
        assert!((both.expired_share(1000, 1150) - 0.75).abs() < 1e-9);
    }
}
