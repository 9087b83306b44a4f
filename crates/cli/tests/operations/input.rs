//! The flights, weather, airlines and planes, read in the plainest way.

use std::io::Read;
use std::path::{Path, PathBuf};

/// A flight.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    pub(crate) carrier: String,
    pub(crate) flight: u64,
    /// `None` for `NA`.
    pub(crate) tailnum: Option<String>,
    pub(crate) origin: String,
    pub(crate) dest: String,
    pub(crate) dep_delay: Option<i64>,
    /// Hours since the epoch.
    pub(crate) hour: i64,
}

/// An hour's weather at an airport.
#[derive(Debug, Clone)]
pub(crate) struct Weather {
    pub(crate) origin: String,
    pub(crate) hour: i64,
}

/// All input.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) flights: Vec<Flight>,
    pub(crate) weather: Vec<Weather>,
    /// Carriers with their names.
    pub(crate) airlines: Vec<(String, String)>,
    /// Tail numbers with manufacturers.
    pub(crate) planes: Vec<(String, String)>,
}

/// A file of the example.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flights").join(name)
}

impl Input {
    pub(crate) fn read() -> Self {
        let flights = lines("flights-2013-01.csv.gz").into_iter().map(|fields| Flight {
            carrier: fields[9].clone(),
            flight: fields[10].parse().expect("a number"),
            tailnum: present(&fields[11]),
            origin: fields[12].clone(),
            dest: fields[13].clone(),
            dep_delay: present(&fields[5]).map(|delay| delay.parse().expect("a number")),
            hour: hour(&fields[18]),
        });
        let weather = lines("weather-2013-01.csv.gz")
            .into_iter()
            .map(|fields| Weather { origin: fields[0].clone(), hour: hour(&fields[14]) });
        Input {
            flights: flights.collect(),
            weather: weather.collect(),
            airlines: lines("airlines.csv").into_iter().map(|fields| (fields[0].clone(), fields[1].clone())).collect(),
            planes: lines("planes.csv.gz").into_iter().map(|fields| (fields[0].clone(), fields[3].clone())).collect(),
        }
    }
}

fn lines(name: &str) -> Vec<Vec<String>> {
    let bytes = std::fs::read(file(name)).expect("the file is there");
    let mut text = String::new();
    if name.ends_with(".gz") {
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("text");
    } else {
        text = String::from_utf8(bytes).expect("text");
    }
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn present(field: &str) -> Option<String> {
    (field != "NA").then(|| field.to_owned())
}

/// Hours since the epoch of `2013-01-01T10:00:00Z`. The input lies in January and on the first of February 2013.
fn hour(text: &str) -> i64 {
    let number = |range: std::ops::Range<usize>| text[range].parse::<i64>().expect("a number");
    let day = number(8..10) + if number(5..7) == 2 { 31 } else { 0 };
    // 2013-01-01 is day 15,706.
    (15_706 + day - 1) * 24 + number(11..13)
}

/// A time in hours since the epoch as it is written.
pub(crate) fn written(hour: i64) -> String {
    let (day, of_day) = (hour.div_euclid(24) - 15_706 + 1, hour.rem_euclid(24));
    match day {
        ..=0 => format!("2012-12-{:02} {of_day:02}:00:00", 31 + day),
        1..=31 => format!("2013-01-{day:02} {of_day:02}:00:00"),
        _ => format!("2013-02-{:02} {of_day:02}:00:00", day - 31),
    }
}
