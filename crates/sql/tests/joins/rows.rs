//! Random rows and what a join of them is.

/// A generator of numbers that look random.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n) as i64
    }
}

/// A row of a table: a key that may be NULL, a value, and a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) k: Option<i64>,
    pub(crate) v: i64,
    pub(crate) ts: i64,
}

/// Which rows a join gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Inner,
    Left,
    Right,
    Full,
    Semi,
    Anti,
}

pub(crate) const KINDS: [Kind; 6] = [Kind::Inner, Kind::Left, Kind::Right, Kind::Full, Kind::Semi, Kind::Anti];

/// The result of a nested loop, as `materialized` shows it. `matches` is asked of rows whose keys are the same or both
/// NULL.
pub(crate) fn nested_loop(
    kind: Kind,
    left: &[Row],
    right: &[Row],
    matches: impl Fn(&Row, &Row) -> bool,
    show: impl Fn(&Row) -> String,
    nulls: &str,
) -> Vec<String> {
    let mut result = Vec::new();
    let is_match = |l: &Row, r: &Row| l.k == r.k && matches(l, r);
    for l in left {
        let partners: Vec<&Row> = right.iter().filter(|r| is_match(l, r)).collect();
        match kind {
            Kind::Semi if !partners.is_empty() => result.push(show(l)),
            Kind::Anti if partners.is_empty() => result.push(show(l)),
            Kind::Semi | Kind::Anti => {}
            Kind::Left | Kind::Full if partners.is_empty() => result.push(format!("{} | {nulls}", show(l))),
            _ => result.extend(partners.iter().map(|r| format!("{} | {}", show(l), show(r)))),
        }
    }
    if matches!(kind, Kind::Right | Kind::Full) {
        let alone = right.iter().filter(|r| !left.iter().any(|l| is_match(l, r)));
        result.extend(alone.map(|r| format!("{nulls} | {}", show(r))));
    }
    result.sort();
    result
}

/// A number as a cell of the result.
pub(crate) fn cell(value: Option<i64>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |value| value.to_string())
}
