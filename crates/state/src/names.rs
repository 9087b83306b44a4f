//! Names in messages.

/// The candidate most like `wanted`, whatever their case, unless none is like it.
pub fn nearest<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const ALIKE: f64 = 0.6;
    let wanted = wanted.to_lowercase();
    let likeness = |candidate: &str| strsim::normalized_damerau_levenshtein(&wanted, &candidate.to_lowercase());
    let scored = candidates.map(|candidate| (likeness(candidate), candidate));
    let (score, best) = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (score >= ALIKE).then_some(best)
}

/// Names in backquotes, separated by commas.
pub fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
