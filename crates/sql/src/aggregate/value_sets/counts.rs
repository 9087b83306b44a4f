//! An entry's value: the counts of its set's filters.

use headpond_state::ttl::{self, Stamped};
use headpond_state::{Error, Result};

/// The version of an entry's value, its first byte.
pub(super) const VERSION: u8 = 1;

/// Reads an entry's counts. With `since_ms` it has a stamp, and its counts are 0 where that is earlier.
pub(super) fn read_counts(stored: &[u8], since_ms: Option<i64>, counts: &mut [u64]) -> Result<()> {
    let mut rest = stored;
    if let Some(since_ms) = since_ms {
        let Stamped { stamp_ms, value } = ttl::open(stored)?;
        if stamp_ms < since_ms {
            return Ok(());
        }
        rest = value;
    }
    let damaged = || Error::corrupt("a value of a group has no counts that this release knows");
    let Some((&VERSION, mut bytes)) = rest.split_first() else { return Err(damaged()) };
    for count in counts.iter_mut() {
        let (mut number, mut shift) = (0u64, 0u32);
        loop {
            let Some((byte, after)) = bytes.split_first() else { return Err(damaged()) };
            bytes = after;
            number |= u64::from(byte & 0x7f).checked_shl(shift).ok_or_else(damaged)?;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        *count = number;
    }
    if bytes.is_empty() { Ok(()) } else { Err(damaged()) }
}

pub(super) fn write_counts(counts: &[u64], stamp_ms: Option<i64>, out: &mut Vec<u8>) {
    ttl::seal(stamp_ms, out);
    out.push(VERSION);
    for count in counts {
        let mut number = *count;
        while number >= 0x80 {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }
}
