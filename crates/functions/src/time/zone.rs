//! Time zones, as Java has them.

use super::{of_millis, to_millis};
use chrono::{FixedOffset, LocalResult, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::Tz;

/// A time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// One with a name, whose clocks may change.
    Region(Tz),
    /// One that is always so far from UTC.
    Fixed(FixedOffset),
}

/// Java's ids of three letters that are no names of regions.
const SHORT: [(&str, &str); 25] = [
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Harare"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "Europe/Paris"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
];

impl Zone {
    /// UTC.
    pub const UTC: Zone = Zone::Region(Tz::UTC);

    /// The zone of this id: a region, `UTC`, `Z`, an offset such as `+02:00` or `GMT+2`; `None` if there is none.
    pub fn parse(id: &str) -> Option<Zone> {
        if matches!(id, "Z" | "UTC" | "GMT" | "UT") {
            return Some(Zone::UTC);
        }
        let bare = ["UTC", "GMT", "UT"].into_iter().find_map(|prefix| id.strip_prefix(prefix)).unwrap_or(id);
        if let Some(offset) = offset(bare) {
            return Some(Zone::Fixed(offset));
        }
        let short = SHORT.iter().find(|(short, _)| *short == id).map(|(_, region)| *region);
        short.unwrap_or(id).parse().ok().map(Zone::Region)
    }

    /// The local time of an instant in milliseconds since 1970; `None` beyond all dates.
    pub fn local(&self, instant_ms: i64) -> Option<NaiveDateTime> {
        let utc = of_millis(instant_ms)?;
        utc.checked_add_offset(self.offset_at(&utc))
    }

    /// The local time of an instant, as milliseconds of a clock that knows no zones.
    pub fn local_millis(&self, instant_ms: i64) -> Option<i64> {
        let utc = of_millis(instant_ms)?;
        instant_ms.checked_add(i64::from(self.offset_at(&utc).local_minus_utc()) * 1000)
    }

    fn offset_at(&self, utc: &NaiveDateTime) -> FixedOffset {
        match self {
            Zone::Region(Tz::UTC) => Tz::UTC.offset_from_utc_datetime(utc).fix(),
            Zone::Region(zone) => zone.offset_from_utc_datetime(utc).fix(),
            Zone::Fixed(offset) => *offset,
        }
    }

    /// The offset from UTC at an instant, in seconds.
    pub fn offset_seconds(&self, utc: &NaiveDateTime) -> i32 {
        self.offset_at(utc).local_minus_utc()
    }

    /// The instant of a local time, in milliseconds since 1970. A time that the clock skips is as much later as it
    /// skips; of one that comes twice it is the first.
    pub fn instant(&self, local: &NaiveDateTime) -> i64 {
        let offset = match self {
            Zone::Fixed(offset) => *offset,
            Zone::Region(zone) => match zone.offset_from_local_datetime(local) {
                LocalResult::Single(offset) | LocalResult::Ambiguous(offset, _) => offset.fix(),
                // The offset before the gap makes the time as much later as the gap is long.
                LocalResult::None => local
                    .checked_sub_signed(TimeDelta::hours(24))
                    .and_then(|before| zone.offset_from_local_datetime(&before).earliest())
                    .map_or_else(|| zone.offset_from_utc_datetime(local).fix(), |offset| offset.fix()),
            },
        };
        to_millis(local).saturating_sub(i64::from(offset.local_minus_utc()) * 1000)
    }
}

/// `+hh`, `+hh:mm`, `+hhmm`, `+h`, with seconds or without.
fn offset(text: &str) -> Option<FixedOffset> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let parts: Vec<&str> = if digits.contains(':') {
        digits.split(':').collect()
    } else {
        match digits.len() {
            1 | 2 => vec![digits],
            4 => vec![digits.get(..2)?, digits.get(2..)?],
            6 => vec![digits.get(..2)?, digits.get(2..4)?, digits.get(4..)?],
            _ => return None,
        }
    };
    if parts.len() > 3 || parts.iter().any(|part| part.is_empty() || part.len() > 2) {
        return None;
    }
    let mut seconds = 0;
    for (part, unit) in parts.iter().zip([3600, 60, 1]) {
        let value: i32 = part.parse().ok().filter(|value| *value < 60)?;
        seconds += value * unit;
    }
    (seconds <= 18 * 3600).then(|| FixedOffset::east_opt(sign * seconds))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::NaiveDate;

    fn at(month: u32, day: u32, hour: u32, minute: u32) -> NaiveDateTime {
        NaiveDate::from_ymd_opt(2024, month, day).unwrap().and_hms_opt(hour, minute, 0).unwrap()
    }

    #[test]
    fn local_times_follow_javas_rules() {
        let new_york = Zone::parse("America/New_York").unwrap();
        let paris = Zone::parse("Europe/Paris").unwrap();
        for (zone, local, utc) in [
            (new_york, at(3, 10, 2, 30), at(3, 10, 7, 30)),
            (new_york, at(11, 3, 1, 30), at(11, 3, 5, 30)),
            (paris, at(3, 31, 2, 30), at(3, 31, 1, 30)),
            (paris, at(10, 27, 2, 30), at(10, 27, 0, 30)),
            (Zone::parse("GMT+08:00").unwrap(), at(1, 1, 8, 0), at(1, 1, 0, 0)),
        ] {
            assert_eq!(zone.instant(&local), to_millis(&utc), "{local}");
        }
        assert_eq!(new_york.local(to_millis(&at(3, 10, 7, 30))), Some(at(3, 10, 3, 30)));
    }

    #[test]
    fn ids_are_those_of_java() {
        for id in ["UTC", "Z", "+02:00", "-0330", "GMT+2", "UTC-05:30", "Asia/Tokyo", "PST", "EST"] {
            assert!(Zone::parse(id).is_some(), "{id}");
        }
        for id in ["", "Nowhere", "+25:00", "+2:3:4:5", "GMT+"] {
            assert!(Zone::parse(id).is_none(), "{id}");
        }
    }
}
