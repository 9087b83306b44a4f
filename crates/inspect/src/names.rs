//! Names in messages.

/// The candidate most like `wanted`, unless none is like it.
pub(crate) fn nearest<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const ALIKE: f64 = 0.6;
    let wanted = wanted.to_lowercase();
    let scored = candidates
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&wanted, &candidate.to_lowercase()), candidate));
    let (score, best) = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (score >= ALIKE).then_some(best)
}

/// Names separated by commas.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
