//! Durations and sizes as Flink writes them: `10 s`, `200 ms`, `64 mb`.

use std::fmt;
use std::time::Duration;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MemorySize(u64);

/// Names of a unit, and how many of the smallest unit it has. The first name of each is the one that is shown.
type Units = [(&'static [&'static str], u64)];

const BYTES: &Units = &[
    (&["b", "byte", "bytes"], 1),
    (&["kb", "k", "kib", "kibibytes"], 1 << 10),
    (&["mb", "m", "mib", "mebibytes"], 1 << 20),
    (&["gb", "g", "gib", "gibibytes"], 1 << 30),
    (&["tb", "t", "tib", "tebibytes"], 1 << 40),
];

const NANOSECONDS: &Units = &[
    (&["ns", "nano", "nanos", "nanosecond", "nanoseconds"], 1),
    (&["us", "µs", "micro", "micros", "microsecond", "microseconds"], 1_000),
    (&["ms", "milli", "millis", "millisecond", "milliseconds"], 1_000_000),
    (&["s", "sec", "secs", "second", "seconds"], 1_000_000_000),
    (&["min", "m", "mins", "minute", "minutes"], 60_000_000_000),
    (&["h", "hour", "hours"], 3_600_000_000_000),
    (&["d", "day", "days"], 86_400_000_000_000),
];

impl MemorySize {
    /// A size of this many bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        MemorySize(bytes)
    }

    /// The size in bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// Reads a number with a unit (`b`, `kb`, `mb`, `gb`, `tb`, or their first letters; 1 kb is 1,024 bytes). A bare
    /// number is in bytes.
    ///
    /// # Errors
    ///
    /// A text that says what is wrong with `text`.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse(text, BYTES, "b", "a size such as '64 mb' or '1 gb'").map(MemorySize)
    }
}

impl fmt::Display for MemorySize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        format(self.0, BYTES, f)
    }
}

/// Reads a number with a unit (`ns`, `us`, `ms`, `s`, `min`, `h`, `d`). A bare number is in milliseconds.
///
/// # Errors
///
/// A text that says what is wrong with `text`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    parse(text, NANOSECONDS, "ms", "a duration such as '10 s' or '200 ms'").map(Duration::from_nanos)
}

/// Shows a duration in the largest unit that leaves a whole number: `200 ms`, `7 d`.
pub(crate) struct ShownDuration(pub(crate) Duration);

impl fmt::Display for ShownDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u64::try_from(self.0.as_nanos()) {
            Ok(0) => f.write_str("0 ms"),
            Ok(nanoseconds) => format(nanoseconds, NANOSECONDS, f),
            Err(_) => write!(f, "{} s", self.0.as_secs()),
        }
    }
}

fn parse(text: &str, units: &Units, bare: &str, expected: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(format!("expected {expected}"));
    }
    let written = unit.trim().to_lowercase();
    let unit = if written.is_empty() { bare } else { &written };
    let Some((_, factor)) = units.iter().find(|(names, _)| names.contains(&unit)) else {
        let known: Vec<&str> = units.iter().map(|(names, _)| names[0]).collect();
        return Err(format!("'{written}' is not a unit; expected {expected} (units: {})", known.join(", ")));
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(*factor))
        .ok_or_else(|| format!("the number is too large; expected {expected}"))
}

fn format(amount: u64, units: &Units, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let fits = units.iter().rev().find(|(_, factor)| amount != 0 && amount.is_multiple_of(*factor));
    let (names, factor) = fits.unwrap_or(&units[0]);
    write!(f, "{} {}", amount / factor, names[0])
}
