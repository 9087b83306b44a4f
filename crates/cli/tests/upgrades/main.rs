//! Edits of a running job's SQL: what `headpond check` says of each, and what `headpond run` then does.
//!
//! A job of six queries runs once, slowly enough to take many checkpoints; every edit begins at the same one of them,
//! in the middle. What must come out is computed from the input's rows before and behind that checkpoint, without
//! Headpond.

mod edits;
mod expected;
mod job;

use edits::{Edit, edits};
use expected::Input;
use job::{Base, Place};

/// Runs every edit against a checkpoint that was taken with this backend and this form of values.
fn check_edits(backend: &str, format: &str) {
    let base = Base::run(backend, format);
    let input = Input { cut: base.rows() };
    let failed: Vec<String> = edits(format).iter().filter_map(|edit| check_edit(&base, input, edit).err()).collect();
    assert!(failed.is_empty(), "{backend}, {format}, cut at {}:\n{}", input.cut, failed.join("\n"));
}

fn check_edit(base: &Base, input: Input, edit: &Edit) -> Result<(), String> {
    let place = base.copy();
    place.write("job.sql", &edit.job.text(""));
    let arguments = format!("{} -D state.backend.type={}", edit.flags, base.backend);
    let check = place.headpond(&format!("check job.sql --against {} {arguments}", base.checkpoint));
    let run = place.headpond(&format!("run job.sql --restore {} --progress none {arguments}", base.checkpoint));
    let fail = |what: &str| {
        let (check, run) = (check.shown(), run.shown());
        Err(format!("--- {}: {what}\ncheck:\n{check}\nrun:\n{run}", edit.name))
    };
    if check.code != edit.code {
        return fail(&format!("check ends with {}, not {}", check.code, edit.code));
    }
    if run.code != edit.code {
        return fail("check and run disagree");
    }
    let verdicts: Vec<(&str, &str)> = check
        .out
        .lines()
        .skip(1)
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_once(": "))
        .collect();
    for (part, verdict) in &verdicts {
        let said = edit.verdicts.iter().find(|(of, _)| of == part).map_or("restores as is", |(_, verdict)| verdict);
        if said != *verdict {
            return fail(&format!("{part} should be said to be: {said}"));
        }
    }
    if let Some((part, _)) = edit.verdicts.iter().find(|(part, _)| !verdicts.iter().any(|(of, _)| of == part)) {
        return fail(&format!("nothing is said of {part}"));
    }
    if let Some(text) = edit.says.iter().find(|text| !check.out.contains(**text)) {
        return fail(&format!("check should say `{text}`"));
    }
    if edit.code != 0 {
        let why = check.out.lines().find_map(|line| line.trim().strip_prefix("way out: ")).unwrap_or("?");
        if !run.err.contains(why) {
            return fail("run gives another way out than check");
        }
        return Ok(());
    }
    for (table, expected) in &edit.tables {
        let found = place.rows(table);
        // Numbers as they are read.
        let wanted: Vec<String> = expected(input).iter().map(|row| job::parsed(row).to_string()).collect();
        let differing = found.iter().chain(&wanted).find(|row| {
            let count = |rows: &[String]| rows.iter().filter(|other| other == row).count();
            count(&found) != count(&wanted)
        });
        if let Some(row) = differing {
            return fail(&format!("{table}: {} rows, {} expected; differing: {row}", found.len(), wanted.len()));
        }
    }
    Ok(())
}

#[test]
fn memory_with_rows() {
    check_edits("memory", "row");
}

#[test]
fn memory_with_avro() {
    check_edits("memory", "avro");
}

#[test]
fn rocksdb_with_protobuf() {
    check_edits("rocksdb", "protobuf");
}

#[test]
fn after_a_migration_the_next_checkpoint_restores_as_is() {
    let base = Base::run("rocksdb", "row");
    let edits = edits("row");
    let edit = edits.iter().find(|edit| edit.name.contains("aggregates are added")).expect("such an edit");
    let place = base.copy();
    place.write("job.sql", &edit.job.text(""));
    let run = place.headpond(&format!("run job.sql --restore {} -D state.backend.type=rocksdb", base.checkpoint));
    assert_eq!(run.code, 0, "{}", run.shown());
    assert!(run.err.contains("warning: totals/group-aggregate/0 is restored with changes"), "{}", run.shown());
    let check = place.headpond("check job.sql --against checkpoints/job -D state.backend.type=rocksdb");
    assert_eq!(check.code, 0, "{}", check.shown());
    assert!(!check.out.contains("migration"), "{}", check.out);
}

#[test]
fn a_checkpoint_of_another_backend_is_named_with_the_way_out() {
    let base = Base::run("rocksdb", "row");
    let place: Place = base.copy();
    place.write("job.sql", &job::Job::default().text(""));
    let check = place.headpond(&format!("check job.sql --against {} -D state.backend.type=memory", base.checkpoint));
    assert_eq!(check.code, 4, "{}", check.shown());
    assert!(check.out.contains("headpond savepoint export"), "{}", check.out);
    let other = place.headpond(&format!(
        "check job.sql --against {} --parallelism 1000 -D pipeline.max-parallelism=2000",
        base.checkpoint
    ));
    assert_eq!(other.code, 4, "{}", other.shown());
    assert!(other.out.contains("the job: cannot be restored"), "{}", other.out);
}
