//! Where windows of instants begin: a `TIMESTAMP_LTZ` has windows of the session's local time.

use super::WindowShape;
use arrow_schema::DataType;
use chrono::{DateTime, Days, NaiveDateTime};
use headpond_functions::time::Zone;
use headpond_state::{Error, Result};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The years in which a clock may change.
const YEARS: u64 = 130;

impl WindowShape {
    /// The windows of rows whose time has this type. Those of a `TIMESTAMP_LTZ` begin at a round local time, as long as
    /// all offsets of the zone from UTC make the same of it.
    ///
    /// # Errors
    /// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for windows that a change of the clock would shift or
    /// make longer or shorter.
    pub(crate) fn of_type(self, time: &DataType) -> Result<WindowShape> {
        let DataType::Timestamp(_, Some(name)) = time else { return Ok(self) };
        let Some(zone) = Zone::parse(name) else { return Ok(self) };
        let offsets = offsets_ms(name, zone);
        let aligned = |offset_ms: i64, step_ms: i64| {
            let mut begins = offsets.iter().map(|local_ms| offset_ms.saturating_sub(*local_ms).rem_euclid(step_ms));
            let first = begins.next().unwrap_or(offset_ms);
            match begins.all(|begin| begin == first) {
                true => Ok(first),
                false => Err(Error::unsupported(format!(
                    "{} over a TIMESTAMP_LTZ in {name}, where a change of the clock moves them, are not supported",
                    self.text()
                ))
                .hint(
                    "give the table a column of local time with the watermark: local AS CAST(ts AS TIMESTAMP(3)); or SET 'table.local-time-zone' = 'UTC'",
                )),
            }
        };
        Ok(match self {
            WindowShape::Tumble { size_ms, offset_ms } => {
                WindowShape::Tumble { size_ms, offset_ms: aligned(offset_ms, size_ms)? }
            }
            WindowShape::Hop { slide_ms, size_ms, offset_ms } => {
                WindowShape::Hop { slide_ms, size_ms, offset_ms: aligned(offset_ms, slide_ms)? }
            }
            WindowShape::Session { .. } => self,
        })
    }
}

/// All offsets from UTC that a zone has from 1970 on, in milliseconds. Its clock does not change twice within a week.
fn offsets_ms(name: &str, zone: Zone) -> Arc<[i64]> {
    static KNOWN: Mutex<BTreeMap<String, Arc<[i64]>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(offsets) = known.get(name) {
        return Arc::clone(offsets);
    }
    let at = |time: &NaiveDateTime| i64::from(zone.offset_seconds(time)) * 1000;
    let epoch = DateTime::UNIX_EPOCH.naive_utc();
    let weeks = (0..YEARS * 53).filter_map(|week| epoch.checked_add_days(Days::new(week * 7)));
    let mut offsets: Vec<i64> = weeks.map(|time| at(&time)).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let offsets: Arc<[i64]> = offsets.into();
    known.insert(name.to_owned(), Arc::clone(&offsets));
    offsets
}
