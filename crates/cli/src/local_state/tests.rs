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
