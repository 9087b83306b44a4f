use super::*;

fn entries(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_run_leaves_nothing_behind() {
    let disk = tempfile::tempdir().expect("a temporary directory");
    let state = LocalState::create(&[disk.path().to_owned()], "job").expect("the directory can be written");
    fs::write(state.first().join("file"), "x").expect("the run's directory can be written");
    drop(state);
    assert_eq!(entries(disk.path()), Vec::<String>::new());
}

#[test]
fn the_next_run_removes_what_a_dead_one_left_and_spares_the_living() {
    let disk = tempfile::tempdir().expect("a temporary directory");
    let within = [disk.path().to_owned()];
    let living = LocalState::create(&within, "job").expect("the directory can be written");
    let dead = disk.path().join("job/state-1-dead");
    fs::create_dir(&dead).expect("a dead run's directory");
    fs::write(dead.with_extension("lock"), "").expect("a dead run's lock");

    let next = LocalState::create(&within, "job").expect("the directory can be written");
    assert!(!dead.exists() && !dead.with_extension("lock").exists());
    assert!(living.first().exists() && next.first().exists());
}

#[test]
fn jobs_with_names_like_paths_stay_within_the_directory() {
    let disk = tempfile::tempdir().expect("a temporary directory");
    let state = LocalState::create(&[disk.path().to_owned()], "../a/b").expect("the directory can be written");
    assert_eq!(state.first().parent().and_then(Path::parent), Some(disk.path()));
}

#[test]
fn links_below_the_directory_are_not_followed() {
    let disk = tempfile::tempdir().expect("a temporary directory");
    let (within, elsewhere) = (disk.path().join("within"), disk.path().join("elsewhere"));
    fs::create_dir_all(elsewhere.join("state-1-dead")).expect("a directory");
    fs::write(elsewhere.join("state-1-dead/file"), "x").expect("a file");
    fs::write(elsewhere.join("state-1-dead.lock"), "").expect("a file");
    fs::create_dir(&within).expect("a directory");
    std::os::unix::fs::symlink(&elsewhere, within.join("job")).expect("a link");
    let error = LocalState::create(std::slice::from_ref(&within), "job").expect_err("a link is in the way");
    assert!(error.to_string().contains("symbolic link"), "{error}");
    assert!(elsewhere.join("state-1-dead/file").exists() && elsewhere.join("state-1-dead.lock").exists());

    // Of a dead run's directory that is a link only the link goes.
    fs::create_dir(within.join("other")).expect("a directory");
    fs::write(within.join("other/state-1-dead.lock"), "").expect("a file");
    std::os::unix::fs::symlink(elsewhere.join("state-1-dead"), within.join("other/state-1-dead")).expect("a link");
    let state = LocalState::create(std::slice::from_ref(&within), "other").expect("the directory can be written");
    assert!(elsewhere.join("state-1-dead/file").exists() && !within.join("other/state-1-dead").exists());
    drop(state);

    // The directory itself is the user's choice.
    std::os::unix::fs::symlink(&within, disk.path().join("link")).expect("a link");
    LocalState::create(&[disk.path().join("link")], "third").expect("the directory can be written");
}
