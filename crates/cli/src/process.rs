//! What this process takes. Linux tells; where nobody does, the summary leaves it out.

use std::fs;
use std::time::Duration;

/// The unit of times in `/proc/<pid>/stat`: it is this on every machine Headpond runs on, whatever the kernel's own.
const TICKS_PER_SECOND: u64 = 100;
/// The places of user and system time behind the name of the program.
const USER_TIME: usize = 11;
const SYSTEM_TIME: usize = 12;

/// The time that all threads have spent on processors so far.
pub(crate) fn cpu_time() -> Option<Duration> {
    parse_cpu_time(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// The most memory that the process has had at once, in bytes.
pub(crate) fn peak_resident_bytes() -> Option<u64> {
    parse_peak(&fs::read_to_string("/proc/self/status").ok()?)
}

fn parse_cpu_time(stat: &str) -> Option<Duration> {
    // The name stands in parentheses and may have any character in it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks(USER_TIME)? + ticks(SYSTEM_TIME)?) * 1000 / TICKS_PER_SECOND))
}

fn parse_peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_kernel_are_read() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 9 0 0 0 123 45 0 0 20 0 4 0 99";
        assert_eq!(parse_cpu_time(stat), Some(Duration::from_millis(1680)));
        assert_eq!(parse_peak("VmPeak:\t 9 kB\nVmHWM:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!(parse_peak("nothing"), None);
    }
}
