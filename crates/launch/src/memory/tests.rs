use super::*;

const MACHINE: &str = "MemTotal:       16777216 kB\nMemFree: 5 kB\n";

fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a temporary directory");
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("directories can be made");
        fs::write(path, text).expect("files can be written");
    }
    root
}

#[test]
fn the_least_limit_of_nested_groups_counts() {
    let root = root(&[
        ("proc/meminfo", MACHINE),
        ("proc/self/cgroup", "0::/a/b\n"),
        ("sys/fs/cgroup/a/memory.max", "1073741824\n"),
        ("sys/fs/cgroup/a/b/memory.max", "max\n"),
    ]);
    assert_eq!(available(root.path()), Some(1 << 30));
}

#[test]
fn a_container_whose_group_is_named_from_outside_has_the_mounts_limit() {
    let root = root(&[
        ("proc/meminfo", MACHINE),
        ("proc/self/cgroup", "0::/docker/0123\n"),
        ("sys/fs/cgroup/memory.max", "536870912\n"),
    ]);
    assert_eq!(available(root.path()), Some(512 << 20));
}

#[test]
fn version_1_is_read_and_its_way_to_say_no_limit() {
    let limited = root(&[
        ("proc/meminfo", MACHINE),
        ("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/x\n"),
        ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "268435456\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
    ]);
    assert_eq!(available(limited.path()), Some(256 << 20));
    let unlimited = root(&[
        ("proc/meminfo", MACHINE),
        ("proc/self/cgroup", "4:memory:/x\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
    ]);
    assert_eq!(available(unlimited.path()), Some(16 << 30));
}

#[test]
fn without_control_groups_the_machine_counts_and_without_that_nothing_is_known() {
    assert_eq!(available(root(&[("proc/meminfo", MACHINE)]).path()), Some(16 << 30));
    assert_eq!(available(root(&[]).path()), None);
}
