//! What the queries must give, computed from the events in the plainest way.

use crate::{EVENTS, EVENTS_PER_SECOND, text_of};
use nexmark::EventGenerator;
use nexmark::config::NexmarkConfig;
use nexmark::event::{Auction, Bid, Event, Person};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const BASE_MS: u64 = 1_436_918_400_000;

/// Rows as JSON, each with how often it comes.
pub(crate) type Rows = BTreeMap<String, i64>;

/// The events.
pub(crate) struct Events {
    persons: Vec<Person>,
    auctions: Vec<Auction>,
    bids: Vec<Bid>,
}

/// Figures about bids.
pub(crate) struct Bids;

impl Bids {
    /// The number of bids of each bidder.
    pub(crate) fn by_bidder(events: &Events) -> BTreeMap<u64, u64> {
        let mut bids = BTreeMap::new();
        events.bids.iter().for_each(|bid| *bids.entry(bid.bidder as u64).or_insert(0) += 1);
        bids
    }
}

fn rows(values: impl IntoIterator<Item = Value>) -> Rows {
    let mut rows = Rows::new();
    values.into_iter().for_each(|value| *rows.entry(text_of(value)).or_insert(0) += 1);
    rows
}

/// A time as it is written: the events lie in the first hour of a day.
fn time(ms: u64) -> String {
    let (second, ms) = ((ms - BASE_MS) / 1000, (ms - BASE_MS) % 1000);
    let text = format!("2015-07-15 00:{:02}:{:02}", second / 60, second % 60);
    match ms {
        0 => text,
        _ => format!("{text}.{ms:03}").trim_end_matches('0').to_owned(),
    }
}

/// The beginning of the window of `size` ms in which a time lies.
fn window(ms: u64, size: u64) -> u64 {
    ms / size * size
}

impl Events {
    /// Those of the benchmark's generator.
    pub(crate) fn new() -> Self {
        let config = NexmarkConfig {
            base_time: BASE_MS,
            first_rate: EVENTS_PER_SECOND,
            next_rate: EVENTS_PER_SECOND,
            ..NexmarkConfig::default()
        };
        let mut events = Events { persons: Vec::new(), auctions: Vec::new(), bids: Vec::new() };
        for event in EventGenerator::new(config).take(EVENTS) {
            match event {
                Event::Person(person) => events.persons.push(person),
                Event::Auction(auction) => events.auctions.push(auction),
                Event::Bid(bid) => events.bids.push(bid),
            }
        }
        events
    }

    fn auctions_by_id(&self) -> BTreeMap<usize, &Auction> {
        self.auctions.iter().map(|auction| (auction.id, auction)).collect()
    }

    /// Bids with their auctions, of those that came in time.
    fn bids_in_time(&self) -> impl Iterator<Item = (&Auction, &Bid)> {
        let auctions = self.auctions_by_id();
        self.bids.iter().filter_map(move |bid| {
            let auction = *auctions.get(&bid.auction)?;
            (auction.date_time..=auction.expires).contains(&bid.date_time).then_some((auction, bid))
        })
    }

    pub(crate) fn local_items(&self) -> Rows {
        let persons: BTreeMap<usize, &Person> = self.persons.iter().map(|person| (person.id, person)).collect();
        let of_category = self.auctions.iter().filter(|auction| auction.category == 10);
        rows(of_category.filter_map(|auction| {
            let person = persons.get(&auction.seller)?;
            ["or", "id", "ca"]
                .contains(&person.state.as_str())
                .then(|| json!({ "name": person.name, "city": person.city, "state": person.state, "id": auction.id }))
        }))
    }

    pub(crate) fn average_prices(&self) -> Rows {
        let mut highest: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for (auction, bid) in self.bids_in_time() {
            let (_, price) = highest.entry(auction.id).or_insert((auction.category, 0));
            *price = (*price).max(bid.price);
        }
        let mut of_category: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        highest.values().for_each(|(category, price)| of_category.entry(*category).or_default().push(*price));
        rows(of_category.into_iter().map(|(category, prices)| {
            let mean = prices.iter().sum::<usize>() / prices.len();
            json!({ "id": category, "final": mean })
        }))
    }

    pub(crate) fn hot_items(&self) -> Rows {
        let mut counts: BTreeMap<u64, BTreeMap<usize, u64>> = BTreeMap::new();
        for bid in &self.bids {
            let last = window(bid.date_time, 2_000);
            for ahead in 0..5 {
                *counts.entry(last - ahead * 2_000).or_default().entry(bid.auction).or_default() += 1;
            }
        }
        rows(counts.values().flat_map(|auctions| {
            let most = auctions.values().max().copied().unwrap_or(0);
            let hottest = auctions.iter().filter(move |(_, count)| **count >= most);
            hottest.map(|(auction, count)| json!({ "auction": auction, "num": count }))
        }))
    }

    pub(crate) fn highest_bids(&self) -> Rows {
        let mut highest: BTreeMap<u64, usize> = BTreeMap::new();
        for bid in &self.bids {
            let price = highest.entry(window(bid.date_time, 10_000) + 10_000).or_default();
            *price = (*price).max(bid.price);
        }
        rows(self.bids.iter().flat_map(|bid| {
            let windows = highest
                .iter()
                .filter(|(end, price)| bid.price == **price && (**end - 10_000..=**end).contains(&bid.date_time));
            windows.map(|_| {
                json!({ "auction": bid.auction, "bidder": bid.bidder, "price": bid.price,
                        "dateTime": time(bid.date_time), "extra": bid.extra })
            })
        }))
    }

    pub(crate) fn new_users(&self) -> Rows {
        let sellers: BTreeSet<(usize, u64)> =
            self.auctions.iter().map(|auction| (auction.seller, window(auction.date_time, 10_000))).collect();
        let persons = self.persons.iter().map(|person| (person, window(person.date_time, 10_000)));
        let sold = persons.filter(|(person, start)| sellers.contains(&(person.id, *start)));
        rows(sold.map(|(person, start)| json!({ "id": person.id, "name": person.name, "stime": time(start) })))
    }

    pub(crate) fn winning_bids(&self) -> Rows {
        let mut winners: BTreeMap<usize, (&Auction, &Bid)> = BTreeMap::new();
        for (auction, bid) in self.bids_in_time() {
            let winner = winners.entry(auction.id).or_insert((auction, bid));
            if bid.price > winner.1.price || (bid.price == winner.1.price && bid.date_time < winner.1.date_time) {
                winner.1 = bid;
            }
        }
        rows(winners.values().map(|(auction, bid)| {
            json!({
                "id": auction.id, "itemName": auction.item_name, "description": auction.description,
                "initialBid": auction.initial_bid, "reserve": auction.reserve, "dateTime": time(auction.date_time),
                "expires": time(auction.expires), "seller": auction.seller, "category": auction.category,
                "extra": auction.extra, "auction": bid.auction, "bidder": bid.bidder, "price": bid.price,
                "bid_dateTime": time(bid.date_time), "bid_extra": bid.extra,
            })
        }))
    }

    pub(crate) fn sessions(&self) -> Rows {
        let mut times: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        self.bids.iter().for_each(|bid| times.entry(bid.bidder).or_default().push(bid.date_time));
        let mut sessions = Vec::new();
        for (bidder, mut times) in times {
            times.sort_unstable();
            for session in times.chunk_by(|before, after| after - before <= 10_000) {
                let (first, last) = (session[0], session[session.len() - 1]);
                sessions.push(json!({ "bidder": bidder, "bid_count": session.len(), "starttime": time(first),
                                      "endtime": time(last + 10_000) }));
            }
        }
        rows(sessions)
    }

    pub(crate) fn statistics(&self) -> Rows {
        rows([statistics(json!({ "day": "2015-07-15" }), &self.bids.iter().collect::<Vec<_>>())])
    }

    pub(crate) fn channel_statistics(&self) -> Rows {
        let mut channels: BTreeMap<&str, Vec<&Bid>> = BTreeMap::new();
        self.bids.iter().for_each(|bid| channels.entry(&bid.channel).or_default().push(bid));
        rows(channels.into_iter().map(|(channel, bids)| {
            let minute = bids.iter().map(|bid| (bid.date_time - BASE_MS) / 60_000).max().unwrap_or(0);
            let row = json!({ "channel": channel, "day": "2015-07-15", "minute": format!("00:{minute:02}") });
            statistics(row, &bids)
        }))
    }

    pub(crate) fn auction_statistics(&self) -> Rows {
        let mut auctions: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        self.bids.iter().for_each(|bid| auctions.entry(bid.auction).or_default().push(bid.price));
        rows(auctions.into_iter().map(|(auction, prices)| {
            let ranked = |rank: usize| prices.iter().filter(|price| rank_of(**price) == rank).count();
            let sum = prices.iter().sum::<usize>();
            json!({
                "auction": auction, "day": "2015-07-15", "total_bids": prices.len(), "rank1_bids": ranked(1),
                "rank2_bids": ranked(2), "rank3_bids": ranked(3), "min_price": prices.iter().min(),
                "max_price": prices.iter().max(), "avg_price": sum / prices.len(), "sum_price": sum,
            })
        }))
    }

    pub(crate) fn last_bids(&self) -> Rows {
        let mut last: BTreeMap<(usize, usize), &Bid> = BTreeMap::new();
        for bid in &self.bids {
            let known = last.entry((bid.bidder, bid.auction)).or_insert(bid);
            if bid.date_time > known.date_time {
                *known = bid;
            }
        }
        rows(last.values().map(|bid| {
            json!({ "auction": bid.auction, "bidder": bid.bidder, "price": bid.price, "channel": bid.channel,
                    "url": bid.url, "dateTime": time(bid.date_time), "extra": bid.extra })
        }))
    }

    pub(crate) fn bids_with_auctions(&self) -> Rows {
        let auctions = self.auctions_by_id();
        rows(self.bids.iter().filter_map(|bid| {
            let auction = auctions.get(&bid.auction).filter(|auction| auction.category == 10)?;
            Some(json!({
                "auction": bid.auction, "bidder": bid.bidder, "price": bid.price, "channel": bid.channel,
                "url": bid.url, "bid_dateTime": time(bid.date_time), "bid_extra": bid.extra,
                "itemName": auction.item_name, "description": auction.description,
                "initialBid": auction.initial_bid, "reserve": auction.reserve,
                "auction_dateTime": time(auction.date_time), "expires": time(auction.expires),
                "seller": auction.seller, "category": auction.category, "auction_extra": auction.extra,
            }))
        }))
    }
}

/// 1 for a low price, 2 for a middling one, 3 for a high one.
fn rank_of(price: usize) -> usize {
    match price {
        0..10_000 => 1,
        10_000..1_000_000 => 2,
        _ => 3,
    }
}

/// The row with the counts of bids, bidders and auctions: in all, and at each level of price.
fn statistics(mut row: Value, bids: &[&Bid]) -> Value {
    for (name, rank) in [("total", 0), ("rank1", 1), ("rank2", 2), ("rank3", 3)] {
        let ranked: Vec<&&Bid> = bids.iter().filter(|bid| rank == 0 || rank_of(bid.price) == rank).collect();
        let bidders: BTreeSet<usize> = ranked.iter().map(|bid| bid.bidder).collect();
        let auctions: BTreeSet<usize> = ranked.iter().map(|bid| bid.auction).collect();
        row[format!("{name}_bids")] = ranked.len().into();
        row[format!("{name}_bidders")] = bidders.len().into();
        row[format!("{name}_auctions")] = auctions.len().into();
    }
    row
}
