//! The Nexmark queries of `examples/nexmark` on some events, killed and restored in the middle, against a computation
//! of their results that knows nothing of Headpond.

mod expected;
mod run;

use expected::{Bids, Events, Rows};
use run::{Outcome, both_ways};
use serde_json::Value;

/// How many events there are, and how many in a second of event time.
const EVENTS: usize = 20_000;
const EVENTS_PER_SECOND: usize = 500;

/// A row as text that compares: floating-point numbers to six digits behind the point.
fn text_of(mut row: Value) -> String {
    for value in row.as_object_mut().into_iter().flat_map(|row| row.values_mut()) {
        if let Some(number) = value.as_f64().filter(|_| value.is_f64()) {
            *value = Value::from(format!("{number:.6}"));
        }
    }
    row.to_string()
}

fn check(query: &str, expected: impl Fn(&Events) -> Rows) {
    let expected = expected(&Events::new());
    assert!(!expected.is_empty(), "{query} finds something among these events");
    both_ways(query, |backend, Outcome { rows, .. }| {
        let (found, wanted) = (rows.iter().sum_of_counts(), expected.iter().sum_of_counts());
        let differs = expected.iter().chain(&rows).find(|(row, _)| rows.get(*row) != expected.get(*row));
        if let Some((row, _)) = differs {
            panic!(
                "{query} on {backend} gives {found} rows of {wanted}; {:?} times instead of {:?}: {row}",
                rows.get(row),
                expected.get(row)
            );
        }
    });
}

/// The number of rows of a result in which each has a count.
trait SumOfCounts {
    fn sum_of_counts(self) -> i64;
}

impl<'r, I: Iterator<Item = (&'r String, &'r i64)>> SumOfCounts for I {
    fn sum_of_counts(self) -> i64 {
        self.map(|(_, count)| *count).sum()
    }
}

#[test]
fn q3_local_item_suggestion() {
    check("q3", Events::local_items);
}

#[test]
fn q4_average_price_of_a_category() {
    check("q4", Events::average_prices);
}

#[test]
fn q5_hot_items() {
    check("q5", Events::hot_items);
}

#[test]
fn q7_highest_bid() {
    check("q7", Events::highest_bids);
}

#[test]
fn q8_new_users() {
    check("q8", Events::new_users);
}

#[test]
fn q9_winning_bids() {
    check("q9", Events::winning_bids);
}

#[test]
fn q11_user_sessions() {
    check("q11", Events::sessions);
}

#[test]
fn q12_bids_by_processing_time() {
    let bids = Bids::by_bidder(&Events::new());
    both_ways("q12", |backend, outcome| {
        let counted = outcome.values.iter().fold(std::collections::BTreeMap::new(), |mut counted, row| {
            *counted.entry(row["bidder"].as_u64().expect("a bidder")).or_insert(0) +=
                row["bid_count"].as_u64().expect("a count");
            counted
        });
        assert_eq!(counted, bids, "{backend}: every bid is in one window");
    });
}

#[test]
fn q15_bidding_statistics() {
    check("q15", Events::statistics);
}

#[test]
fn q16_channel_statistics() {
    check("q16", Events::channel_statistics);
}

#[test]
fn q17_auction_statistics() {
    check("q17", Events::auction_statistics);
}

#[test]
fn q18_last_bids() {
    check("q18", Events::last_bids);
}

#[test]
fn q20_bids_with_their_auctions() {
    check("q20", Events::bids_with_auctions);
}
