//! How much memory there is: the container's limit, else the machine's.

use std::fs;
use std::path::{Path, PathBuf};

/// What the state of the `memory` backend may take by default: the rest is for rows in flight, copies that snapshots
/// keep while they are uploaded beyond what is accounted for, and the allocator's own needs.
const STATE_SHARE_PERCENT: u64 = 60;
/// Where nothing says how much memory there is.
const ASSUMED_BYTES: u64 = 4 << 30;
/// Version 1 of control groups writes "no limit" as the greatest multiple of a page.
const NO_LIMIT_BYTES: u64 = 1 << 60;

/// The default limit of the `memory` backend, in bytes.
pub fn default_state_limit() -> u64 {
    available(Path::new("/")).unwrap_or(ASSUMED_BYTES) / 100 * STATE_SHARE_PERCENT
}

/// The least of the limits of this process's control groups and the machine's memory, read below `root`.
fn available(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().flat_map(|line| group_limits(root, line));
    limits.chain(machine(root)).filter(|bytes| (1..NO_LIMIT_BYTES).contains(bytes)).min()
}

/// The limits of a control group and of those around it. A line is `0::<path>` in version 2 and
/// `<n>:<controllers>:<path>` in version 1.
fn group_limits(root: &Path, line: &str) -> Vec<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (mount, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => ("sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        _ => return Vec::new(),
    };
    let mount = root.join(mount);
    let mut group: PathBuf = mount.join(path.trim_start_matches('/'));
    let mut limits = Vec::new();
    // In a container the path may be the host's and not exist here: the walk up ends at the mount, which does.
    while group.starts_with(&mount) {
        let limit = fs::read_to_string(group.join(file)).ok();
        limits.extend(limit.and_then(|text| text.trim().parse::<u64>().ok()));
        group.pop();
    }
    limits
}

fn machine(root: &Path) -> Option<u64> {
    let memory = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests;
