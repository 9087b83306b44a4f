//! The known key that is nearest to one that nobody knows.

/// The option's key most like `wanted`, unless none is like it.
///
/// A key without its beginning is like the whole key: `checkpointing.interval` is like
/// `execution.checkpointing.interval`.
pub fn nearest_key<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const ALIKE: f64 = 0.7;
    let wanted = wanted.to_lowercase();
    let scored = candidates.map(|candidate| (likeness(&wanted, &candidate.to_lowercase()), candidate));
    let (score, best) = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (score >= ALIKE).then_some(best)
}

fn likeness(wanted: &str, candidate: &str) -> f64 {
    let whole = strsim::normalized_damerau_levenshtein(wanted, candidate);
    let parts = wanted.split('.').count();
    let skipped = candidate.split('.').count().saturating_sub(parts);
    let tail: Vec<&str> = candidate.split('.').skip(skipped).collect();
    // A little less than a whole match, so that the whole key wins when both are there.
    let without_beginning = 0.95 * strsim::normalized_damerau_levenshtein(wanted, &tail.join("."));
    whole.max(without_beginning)
}
