//! Damage to the newest checkpoint of a job: a flipped byte, a missing file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The state files that only the newest of the job's checkpoints names.
pub(crate) fn files_of_newest(job: &Path) -> Vec<PathBuf> {
    let mut checkpoints: Vec<(u64, PathBuf)> = std::fs::read_dir(job)
        .expect("the job's directory")
        .filter_map(|entry| {
            let path = entry.expect("the directory can be listed").path().join("manifest.json");
            let name = path.parent()?.file_name()?.to_str()?.strip_prefix("chk-")?.parse().ok()?;
            path.exists().then_some((name, path))
        })
        .collect();
    checkpoints.sort();
    assert!(checkpoints.len() >= 2, "there is something to fall back to");
    let (_, newest) = checkpoints.pop().expect("two or more");
    let newest = hashes(&newest);
    let older: BTreeSet<String> = checkpoints.iter().flat_map(|(_, path)| hashes(path)).collect();
    let shared = std::fs::read_dir(job.join("shared")).expect("the files").map(|entry| entry.expect("a file").path());
    let mut only: Vec<PathBuf> = shared
        .filter(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            newest.contains(&name) && !older.contains(&name)
        })
        .collect();
    only.sort();
    only
}

/// Every hash a manifest names.
fn hashes(manifest: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(manifest).expect("a manifest");
    text.split('"')
        .filter(|part| part.len() == 64 && part.bytes().all(|b| b.is_ascii_hexdigit()))
        .map(String::from)
        .collect()
}

/// Changes one byte in the middle of a file.
pub(crate) fn flip(file: &Path) {
    let mut bytes = std::fs::read(file).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(file, bytes).expect("a file that can be written");
}

/// What `headpond checkpoint verify` says of a directory, and its exit code.
pub(crate) fn verify(checkpoints: &Path) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_headpond"))
        .args(["checkpoint", "verify"])
        .arg(checkpoints)
        .output()
        .expect("the binary runs");
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&said).into_owned(), output.status.code())
}
