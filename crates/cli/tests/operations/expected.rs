//! What each table must hold.

use crate::Rows;
use crate::input::{Flight, Input, written};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The tables of the job.
pub(crate) const TABLES: [&str; 13] = [
    "sessions",
    "hops",
    "busiest_hours",
    "observed",
    "makers",
    "of_airways",
    "unknown_planes",
    "airlines_or_not",
    "routes",
    "airports",
    "last_flights",
    "worst_delays",
    "busiest_tails",
];

/// What the tables must hold.
pub(crate) struct Expected {
    pub(crate) tables: BTreeMap<&'static str, Rows>,
}

fn rows(values: impl IntoIterator<Item = Value>) -> Rows {
    let mut rows = Rows::new();
    values.into_iter().for_each(|value| *rows.entry(value.to_string()).or_insert(0) += 1);
    rows
}

fn counted<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, u64> {
    let mut counts = BTreeMap::new();
    keys.for_each(|key| *counts.entry(key).or_insert(0) += 1);
    counts
}

impl Expected {
    pub(crate) fn of(input: &Input) -> Self {
        let tables = [
            sessions(input),
            hops(input),
            busiest_hours(input),
            observed(input),
            makers(input),
            of_airways(input),
            unknown_planes(input),
            airlines_or_not(input),
            rows(routes(input).into_iter().map(|(origin, dest)| json!({ "origin": origin, "dest": dest }))),
            airports(input),
            last_flights(input),
            worst_delays(input),
            busiest_tails(input),
        ];
        Expected { tables: TABLES.into_iter().zip(tables).collect() }
    }
}

fn flown(input: &Input) -> impl Iterator<Item = (&str, &Flight)> {
    input.flights.iter().filter_map(|flight| Some((flight.tailnum.as_deref()?, flight)))
}

fn sessions(input: &Input) -> Rows {
    let mut hours: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    flown(input).for_each(|(tailnum, flight)| hours.entry(tailnum).or_default().push(flight.hour));
    let mut sessions = Vec::new();
    for (tailnum, mut hours) in hours {
        hours.sort_unstable();
        for session in hours.chunk_by(|before, after| after - before <= 6) {
            let (first, last) = (session[0], session[session.len() - 1]);
            sessions.push(json!({ "tailnum": tailnum, "window_start": written(first), "window_end": written(last + 6),
                                  "n": session.len() }));
        }
    }
    rows(sessions)
}

fn hops(input: &Input) -> Rows {
    let mut windows: BTreeMap<(&str, i64), (u64, Option<i64>)> = BTreeMap::new();
    for flight in &input.flights {
        let last = flight.hour.div_euclid(6) * 6;
        for start in [last, last - 6, last - 12, last - 18] {
            let (n, delay) = windows.entry((&flight.origin, start)).or_default();
            *n += 1;
            if let Some(of_flight) = flight.dep_delay {
                *delay = Some(delay.unwrap_or(0) + of_flight);
            }
        }
    }
    rows(windows.into_iter().map(|((origin, start), (n, delay))| {
        json!({ "origin": origin, "window_start": written(start), "n": n, "delay": delay })
    }))
}

fn busiest_hours(input: &Input) -> Rows {
    let hourly = counted(input.flights.iter().map(|flight| (&flight.origin, flight.hour)));
    let mut days: BTreeMap<i64, u64> = BTreeMap::new();
    for ((_, hour), n) in hourly {
        let most = days.entry(hour.div_euclid(24) * 24).or_default();
        *most = (*most).max(n);
    }
    rows(days.into_iter().map(|(day, most)| json!({ "day_start": written(day), "most": most })))
}

fn observed(input: &Input) -> Rows {
    let mut weather: BTreeMap<(&str, i64), u64> = BTreeMap::new();
    input.weather.iter().for_each(|at| *weather.entry((&at.origin, at.hour)).or_default() += 1);
    let mut observed = Vec::new();
    for flight in &input.flights {
        for hour in flight.hour - 2..=flight.hour {
            for _ in 0..weather.get(&(&flight.origin, hour)).copied().unwrap_or(0) {
                observed.push(json!({ "flight": flight.flight, "tailnum": flight.tailnum,
                                      "time_hour": written(flight.hour), "weather_hour": written(hour) }));
            }
        }
    }
    rows(observed)
}

fn makers(input: &Input) -> Rows {
    let planes: BTreeMap<&str, &str> =
        input.planes.iter().map(|(tailnum, maker)| (tailnum.as_str(), maker.as_str())).collect();
    let mut makers: BTreeMap<Option<&str>, (u64, BTreeSet<&str>)> = BTreeMap::new();
    for flight in &input.flights {
        let maker = flight.tailnum.as_deref().and_then(|tailnum| planes.get(tailnum).copied());
        let (n, tails) = makers.entry(maker).or_default();
        *n += 1;
        tails.extend(flight.tailnum.as_deref());
    }
    let row = |(maker, (n, tails)): (Option<&str>, (u64, BTreeSet<&str>))| json!({ "manufacturer": maker, "n": n, "tails": tails.len() });
    rows(makers.into_iter().map(row))
}

fn of_airways(input: &Input) -> Rows {
    let airways: BTreeSet<&str> = input
        .airlines
        .iter()
        .filter(|(_, name)| name.contains("Airways"))
        .map(|(carrier, _)| carrier.as_str())
        .collect();
    let flights = input.flights.iter().map(|flight| flight.carrier.as_str());
    let counts = counted(flights.filter(|carrier| airways.contains(carrier)));
    rows(counts.into_iter().map(|(carrier, n)| json!({ "carrier": carrier, "n": n })))
}

fn unknown_planes(input: &Input) -> Rows {
    let known: BTreeSet<&str> = input.planes.iter().map(|(tailnum, _)| tailnum.as_str()).collect();
    rows(flown(input).filter(|(tailnum, _)| !known.contains(tailnum)).map(
        |(tailnum, flight)| json!({ "tailnum": tailnum, "flight": flight.flight, "time_hour": written(flight.hour) }),
    ))
}

fn airlines_or_not(input: &Input) -> Rows {
    let counts = counted(input.flights.iter().map(|flight| flight.carrier.as_str()));
    let carriers: BTreeSet<&str> =
        input.airlines.iter().map(|(carrier, _)| carrier.as_str()).chain(counts.keys().copied()).collect();
    rows(carriers.into_iter().map(|carrier| json!({ "carrier": carrier, "n": counts.get(carrier) })))
}

fn routes(input: &Input) -> BTreeSet<(&str, &str)> {
    input.flights.iter().map(|flight| (flight.origin.as_str(), flight.dest.as_str())).collect()
}

fn airports(input: &Input) -> Rows {
    let ends = input.flights.iter().flat_map(|flight| [flight.origin.as_str(), flight.dest.as_str()]);
    rows(counted(ends).into_iter().map(|(airport, n)| json!({ "airport": airport, "n": n })))
}

fn last_flights(input: &Input) -> Rows {
    let mut last: BTreeMap<&str, (i64, u64)> = BTreeMap::new();
    for (tailnum, flight) in flown(input) {
        let known = last.entry(tailnum).or_default();
        *known = (*known).max((flight.hour, flight.flight));
    }
    rows(
        last.into_iter().map(
            |(tailnum, (hour, flight))| json!({ "tailnum": tailnum, "flight": flight, "time_hour": written(hour) }),
        ),
    )
}

fn worst_delays(input: &Input) -> Rows {
    let mut delays: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for flight in &input.flights {
        delays.entry(&flight.origin).or_default().extend(flight.dep_delay);
    }
    rows(delays.into_iter().flat_map(|(origin, mut delays)| {
        delays.sort_unstable_by(|a, b| b.cmp(a));
        let placed = delays.into_iter().take(3).zip(1..);
        placed.map(move |(delay, place)| json!({ "origin": origin, "dep_delay": delay, "place": place }))
    }))
}

fn busiest_tails(input: &Input) -> Rows {
    let mut tails: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for (tailnum, n) in counted(flown(input).map(|(tailnum, _)| tailnum)) {
        tails.entry(n).or_default().push(tailnum);
    }
    rows(
        tails
            .into_iter()
            .map(|(n, tails)| json!({ "flights": n, "tails": tails.len(), "greatest": tails.iter().max() })),
    )
}
