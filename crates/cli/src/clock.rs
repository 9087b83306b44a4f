//! The machine's clock.

use headpond_state::{Error, Result};
use std::time::{SystemTime, UNIX_EPOCH};

/// Sees that the clock can be used: libraries that tell the time count from 1970.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) for a clock before 1970.
pub(crate) fn check() -> Result<()> {
    check_at(SystemTime::now())
}

fn check_at(now: SystemTime) -> Result<()> {
    match now.duration_since(UNIX_EPOCH) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::invalid("the machine's clock says that it is before 1970").hint("set the clock")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headpond_state::ErrorKind;
    use std::time::Duration;

    #[test]
    fn a_clock_before_1970_is_an_error() {
        assert!(check().is_ok() && check_at(UNIX_EPOCH).is_ok());
        let error = check_at(UNIX_EPOCH - Duration::from_millis(1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
}
