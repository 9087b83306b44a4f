//! What ever-new keys take over five times to live: 2 M distinct keys by default, each written three times in a short
//! span, which expire or are deleted. The figures of a line are the most of half a time to live. Run with
//!
//! ```text
//! cargo run --release -p headpond-state-memory --example memory_ttl_space [-- KEYS VALUE_BYTES CHECKPOINTS_PER_TTL]
//! ```

use headpond_state::ttl::TimeDomain;
use headpond_state_conformance::Subject;
use headpond_state_conformance::aging::{Aging, Curve, End};
use headpond_state_memory::MemoryStateBackend;
use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().expect("a number"));
    let mut argument = |default: u64| arguments.next().unwrap_or(default);
    let (keys, value_len, checkpoints) = (argument(2_000_000), argument(100), argument(10));
    for end in
        [End::Expiry(TimeDomain::ProcessingTime), End::Expiry(TimeDomain::EventTime), End::Deletion, End::RangeDeletion]
    {
        println!("\n{end:?}\n\n{}", Curve::HEAD);
        let subject = Subject::new(&MemoryStateBackend::new);
        let aging = Aging {
            end,
            ttl_ms: 3_600_000,
            ttls: 5,
            live: keys / 5,
            writes_per_key: 3,
            value_len: value_len as usize,
            checkpoints_per_ttl: checkpoints,
        };
        let (begun, mut curve) = (Instant::now(), Curve::default());
        let keyed = aging.run(&subject, &mut |moment| {
            curve.add(&moment).iter().for_each(|line| println!("{line}"));
        });
        keyed.close().expect("the instance closes");
        println!("\n{:.1} s", begun.elapsed().as_secs_f64());
    }
}
