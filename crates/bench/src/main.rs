//! Writes the input of the benchmark jobs: seeded, so that every engine reads the same rows.
//!
//! ```text
//! headpond-workload OUT.csv ROWS KEYS SEED
//! ```
//!
//! Row `i` of `ROWS` is `ts,k,v,name`: event time in milliseconds (300 s in all, out of order by at most 2 s), a key
//! uniform in `0..KEYS`, a value uniform in `0..100`, and 16 hexadecimal digits that follow from the key.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

const FIRST_MS: u64 = 1_700_000_000_000;
const SPAN_MS: u64 = 300_000;
const JITTER_MS: u64 = 2_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            eprintln!("  usage: headpond-workload OUT.csv ROWS KEYS SEED");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<String, String> {
    let [path, rows, keys, seed] = arguments else { return Err("four arguments are needed".to_owned()) };
    let number = |text: &String| text.parse::<u64>().map_err(|error| format!("`{text}` is no count: {error}"));
    let (rows, keys, seed) = (number(rows)?, number(keys)?, number(seed)?);
    let file = File::create(path).map_err(|error| format!("{path}: {error}"))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let mut random = Random(mix(seed));
    let mut sum = 0u64;
    for row in 0..rows {
        let late = random.next() % (JITTER_MS + 1);
        let ts = FIRST_MS + (u128::from(row) * u128::from(SPAN_MS) / u128::from(rows)) as u64 - late;
        let key = (keys as f64 * random.unit()) as u64;
        let value = random.next() % 100;
        sum += value;
        writeln!(out, "{ts},{key},{value},{:016x}", mix(key)).map_err(|error| format!("{path}: {error}"))?;
    }
    out.flush().map_err(|error| format!("{path}: {error}"))?;
    Ok(format!("{path}: {rows} rows, sum of v {sum}"))
}

/// SplitMix64 (Steele, Lea and Flood, 2014): its output function, and as a generator.
fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        let value = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        value
    }

    /// Uniform in `0..1`, 53 bits of it.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
