//! What a shell and `man` are given.

use crate::support::Place;
use std::fs;

#[test]
fn every_shell_gets_completions_with_commands_and_flags() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = Place::new().run(&format!("completions {shell}")).exits_with(0).out;
        for part in ["checkpoint", "savepoint", "parallelism", "allow-dropped-state"] {
            assert!(script.contains(part), "{shell}: no `{part}` in\n{script}");
        }
    }
}

#[test]
fn manual_pages_are_written_for_the_binary_and_each_command() {
    let place = Place::new();
    place.run("man-pages share/man").exits_with(0);
    let page = |name: &str| fs::read_to_string(place.path("share/man").join(name)).expect("the page is there");
    assert!(page("headpond.1").contains("Exit codes"), "{}", page("headpond.1"));
    assert!(page("headpond-run.1").contains("restore"), "{}", page("headpond-run.1"));
    assert!(page("headpond-state-diff.1").contains("headpond"), "{}", page("headpond-state-diff.1"));
}
