//! Weeks as the United States count them: they begin on Sunday, and the first is that of January 1st.

use chrono::{Datelike, NaiveDate};

pub(super) struct Week {
    pub(super) year: i64,
    pub(super) number: i64,
}

impl Week {
    pub(super) fn of(date: NaiveDate) -> Week {
        let year = i64::from(date.year());
        let from_sunday = i64::from(date.weekday().num_days_from_sunday());
        // The Saturday that ends the week tells its year.
        let to_end = 6 - from_sunday;
        let days_in_year = if date.leap_year() { 366 } else { 365 };
        if i64::from(date.ordinal()) + to_end > days_in_year {
            return Week { year: year + 1, number: 1 };
        }
        Week { year, number: week(i64::from(date.ordinal()), from_sunday) }
    }

    pub(super) fn in_month(date: NaiveDate) -> i64 {
        week(i64::from(date.day()), i64::from(date.weekday().num_days_from_sunday()))
    }
}

/// The week of a day that is the so many-th of its period, where the period's first day is in week 1.
fn week(day: i64, from_sunday: i64) -> i64 {
    let first = (from_sunday - (day - 1)).rem_euclid(7);
    (day - 1 + first) / 7 + 1
}
