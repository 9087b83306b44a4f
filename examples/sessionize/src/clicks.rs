//! The records that come in, and a source of them.

use headpond::stream::{RecordReader, RecordSource};
use headpond_runtime::Result;
use headpond_runtime::source::{ReaderContext, SourceSplit};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// A user looks at a page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Click {
    /// Who.
    pub user: String,
    /// When, in milliseconds since the epoch.
    pub time_ms: i64,
    /// Where.
    pub page: String,
}

impl fmt::Display for Click {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{}", self.user, self.time_ms, self.page)
    }
}

/// Clicks that are computed, the same each time: ten a second, of users who come and go. They are out of order by up to
/// twenty seconds, but for one in a thousand, which is three hours late.
#[derive(Debug, Clone)]
pub struct Clicks {
    /// How many there are.
    pub count: u64,
}

impl Clicks {
    /// The `n`th click.
    pub fn click(n: u64) -> Click {
        // The beginning of 2026.
        const FIRST_MS: i64 = 1_767_225_600_000;
        let random = scattered(n);
        let user = n / 20_000 * 1000 + random % 1500;
        let behind_ms = if n % 1000 == 999 { 10_800_000 } else { random / 1500 % 20_000 };
        Click {
            user: format!("user-{user}"),
            time_ms: FIRST_MS + n as i64 * 100 - behind_ms as i64,
            page: format!("/page/{}", random % 97),
        }
    }
}

/// Turns consecutive numbers into ones that look random (the finalizer of SplitMix64).
fn scattered(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

impl RecordSource for Clicks {
    type Record = Click;

    fn is_bounded(&self) -> bool {
        true
    }

    fn splits(&self) -> Result<Vec<SourceSplit>> {
        // One split. A topic would have one for each partition.
        Ok(vec![SourceSplit { id: "clicks".to_owned() }])
    }

    fn open(
        &self,
        _: &SourceSplit,
        position: Option<&Value>,
        _: &ReaderContext,
    ) -> Result<Box<dyn RecordReader<Click>>> {
        let next = position.and_then(Value::as_u64).unwrap_or(0);
        Ok(Box::new(ClicksReader { next, end: self.count }))
    }
}

/// Reads clicks. A position is the number of the next.
#[derive(Debug)]
struct ClicksReader {
    next: u64,
    end: u64,
}

impl RecordReader<Click> for ClicksReader {
    fn read(&mut self, max_records: usize, records: &mut Vec<Click>) -> Result<Option<Value>> {
        if self.next == self.end {
            return Ok(None);
        }
        let end = self.end.min(self.next + max_records as u64);
        records.extend((self.next..end).map(Clicks::click));
        self.next = end;
        Ok(Some(end.into()))
    }
}
