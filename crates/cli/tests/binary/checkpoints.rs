//! Looking into checkpoints.

use crate::support::{LAST_CHECKPOINT, Place, totals};
use std::fs;
use std::path::PathBuf;

fn place_with_checkpoint() -> Place {
    let place = Place::new();
    place.write("totals.sql", &totals(LAST_CHECKPOINT));
    place.run("run totals.sql -D state.backend.type=rocksdb").exits_with(0);
    place
}

#[test]
fn they_are_listed() {
    let ran = place_with_checkpoint().run("checkpoint list checkpoints").exits_with(0);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.out);
    assert!(lines[0].starts_with("job     checkpoint  taken (UTC)"), "{}", ran.out);
    assert!(lines[1].starts_with("totals  1           20") && lines[1].contains("finished"), "{}", ran.out);
}

#[test]
fn what_is_in_them_is_shown_with_the_positions_of_sources() {
    let place = place_with_checkpoint();
    for path in ["checkpoints", "checkpoints/totals", "checkpoints/totals/chk-1"] {
        let ran = place.run(&format!("checkpoint show {path}")).exits_with(0);
        for part in ["job totals, checkpoint 1", "operator totals/", "state ", "uploaded ", "flights.csv: row 5"] {
            assert!(ran.out.contains(part), "no `{part}` in\n{}", ran.out);
        }
    }
}

#[test]
fn damage_is_found_and_named() {
    let place = place_with_checkpoint();
    place.run("checkpoint verify checkpoints").exits_with(0);
    let shared = fs::read_dir(place.path("checkpoints/totals/shared")).expect("there are state files");
    let mut files: Vec<PathBuf> = shared.flatten().map(|file| file.path()).collect();
    files.sort();
    assert!(files.len() >= 2, "{files:?}");
    fs::remove_file(&files[0]).expect("the file is there");
    let mut bytes = fs::read(&files[1]).expect("the file is there");
    bytes[0] ^= 1;
    fs::write(&files[1], bytes).expect("files can be written");

    let ran = place.run("checkpoint verify checkpoints").exits_with(5).says("1 of 1 checkpoints are damaged");
    for (damage, file) in [("missing file", &files[0]), ("altered file", &files[1])] {
        let named = format!("{damage} {}", file.display());
        assert!(ran.out.contains(&named), "no `{named}` in\n{}", ran.out);
    }
    place.run("run totals.sql").exits_with(5).says("error: ").says("--restore none");
}

#[test]
fn a_path_without_any_is_a_mistake() {
    let place = Place::new();
    for command in ["list", "show", "verify"] {
        place.run(&format!("checkpoint {command} .")).exits_with(2).says("there is no checkpoint at this path");
        place.run(&format!("checkpoint {command} nowhere")).exits_with(2).says("hint: ");
    }
}
