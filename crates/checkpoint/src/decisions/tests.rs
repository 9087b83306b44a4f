//! The decisions, on facts alone.

use super::fencing::check_no_stranger;
use super::ids::next_id;
use super::lineage::lineage;
use super::output::{CheckpointRef, OutputHistory};
use super::recovery::choose;
use super::references::{Names, References, Retained};
use super::retention::beyond;
use super::{Observed, Record};
use crate::layout::SharedName;
use headpond_state::{AttemptId, CheckpointId, Error, ErrorKind};

fn record(attempt: &str, base: Option<u64>) -> Record {
    Record { attempt: AttemptId(attempt.into()), base: base.map(CheckpointId) }
}

fn seen(id: u64, attempt: &str, base: Option<u64>) -> Observed {
    Observed { id: CheckpointId(id), record: Some(record(attempt, base)) }
}

fn unreadable(id: u64) -> Observed {
    Observed { id: CheckpointId(id), record: None }
}

fn ids(ids: &[CheckpointId]) -> Vec<u64> {
    ids.iter().map(|id| id.0).collect()
}

fn name(digit: char) -> SharedName {
    SharedName::parse(&format!("{}.sst", digit.to_string().repeat(64))).expect("64 digits")
}

fn names(digits: &str) -> Names {
    digits.chars().map(|digit| (name(digit), 10)).collect()
}

/// Checkpoint 1, committed, names the files `a` and `b`.
fn one_committed() -> References {
    let mut references = References::default();
    references.committed(CheckpointId(1), record("a", None), names("ab"));
    references
}

#[test]
fn the_next_number_is_beyond_all_existing_ones() {
    assert_eq!(next_id([]).expect("there are numbers left"), CheckpointId(1));
    assert_eq!(next_id([3, 9, 4].map(CheckpointId)).expect("there are numbers left"), CheckpointId(10));
    let error = next_id([CheckpointId(u64::MAX)]).expect_err("there is none left");
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
}

#[test]
fn a_history_goes_through_attempts_and_over_what_was_skipped() {
    // b fell back from 3 to 2 and went on with 4.
    let observed = [seen(1, "a", None), seen(2, "a", Some(1)), seen(3, "a", Some(2)), seen(4, "b", Some(2))];
    assert_eq!(ids(&lineage(&observed, CheckpointId(4))), [4, 2, 1]);
    assert_eq!(ids(&lineage(&observed, CheckpointId(3))), [3, 2, 1]);
}

#[test]
fn overlapping_checkpoints_of_one_attempt_are_one_history() {
    let observed = [seen(4, "a", None), seen(5, "a", Some(4)), seen(6, "a", Some(4))];
    assert_eq!(ids(&lineage(&observed, CheckpointId(6))), [6, 5, 4]);
}

#[test]
fn a_job_started_anew_has_no_history_before_it() {
    let observed = [seen(1, "a", None), seen(2, "b", None)];
    assert_eq!(ids(&lineage(&observed, CheckpointId(2))), [2]);
}

#[test]
fn unreadable_checkpoints_belong_to_the_history_around_them() {
    let observed = [seen(1, "a", None), unreadable(2), seen(3, "a", Some(2)), unreadable(4)];
    assert_eq!(ids(&lineage(&observed, CheckpointId(4))), [4, 3, 2, 1]);
}

#[test]
fn a_base_that_is_not_older_does_not_lead_in_circles() {
    let observed = [seen(1, "a", Some(2)), seen(2, "b", Some(1))];
    assert_eq!(ids(&lineage(&observed, CheckpointId(2))), [2, 1]);
}

#[test]
fn retention_keeps_the_newest_of_the_history_and_drops_what_was_skipped() {
    let observed = [seen(1, "a", None), seen(2, "a", Some(1)), seen(3, "a", Some(2)), seen(4, "b", Some(2))];
    assert_eq!(ids(&beyond(&observed, CheckpointId(4), 1)), [1, 2, 3]);
    assert_eq!(ids(&beyond(&observed, CheckpointId(4), 2)), [1, 3]);
    assert_eq!(ids(&beyond(&observed, CheckpointId(4), 3)), [3]);
    assert_eq!(ids(&beyond(&observed, CheckpointId(4), 0)), [1, 2, 3], "at least one is kept");
}

#[test]
fn retention_neither_counts_unreadable_checkpoints_nor_judges_newer_ones() {
    let observed = [seen(1, "a", None), unreadable(2), seen(3, "a", Some(1)), seen(4, "a", Some(3))];
    assert_eq!(ids(&beyond(&observed, CheckpointId(3), 2)), [0u64; 0]);
    assert_eq!(ids(&beyond(&observed, CheckpointId(3), 1)), [1, 2]);
}

#[test]
fn recovery_takes_the_newest_that_verifies_and_says_what_it_skipped() {
    let observed = [seen(1, "a", None), seen(2, "a", Some(1)), unreadable(3)];
    let verify = |id: CheckpointId| if id.0 == 1 { Ok(id) } else { Err(Error::corrupt(format!("{id} is damaged"))) };
    let choice = choose(&observed, verify).expect("damage is no error");
    assert_eq!(choice.chosen, Some(CheckpointId(1)));
    assert_eq!(choice.skipped.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [3, 2]);
}

#[test]
fn recovery_never_restores_a_history_that_did_not_happen() {
    let observed = [seen(2, "a", None), seen(3, "a", Some(2)), seen(4, "b", Some(2))];
    let verify = |id: CheckpointId| if id.0 == 4 { Err(Error::corrupt("damaged")) } else { Ok(id) };
    assert_eq!(choose(&observed, verify).expect("damage is no error").chosen, Some(CheckpointId(2)));
}

#[test]
fn recovery_does_not_fall_back_because_the_store_is_away_or_the_format_newer() {
    let observed = [seen(1, "a", None), seen(2, "a", Some(1))];
    for error in [ErrorKind::Unavailable, ErrorKind::Incompatible] {
        let verify = |id: CheckpointId| if id.0 == 2 { Err(Error::new(error, "no")) } else { Ok(id) };
        assert_eq!(choose(&observed, verify).expect_err("it stops").kind(), error);
    }
}

#[test]
fn a_checkpoint_of_somebody_else_fences_whatever_its_number() {
    let known = [1, 2, 5].map(CheckpointId).into();
    assert!(check_no_stranger(&[1, 5].map(CheckpointId), &known).is_ok());
    for stranger in [3, 9] {
        let error = check_no_stranger(&[1, stranger].map(CheckpointId), &known).expect_err("a stranger");
        assert_eq!(error.kind(), ErrorKind::Fenced);
    }
}

#[test]
fn only_what_the_base_names_is_reused() {
    let mut references = one_committed();
    assert!(references.begin(CheckpointId(2), Some((CheckpointId(1), &record("a", None)))));
    assert!(references.may_reuse(CheckpointId(2), &name('a')));
    assert!(!references.may_reuse(CheckpointId(2), &name('c')));
}

#[test]
fn a_base_that_is_another_checkpoint_of_the_same_number_is_none() {
    let mut references = one_committed();
    assert!(!references.begin(CheckpointId(2), Some((CheckpointId(1), &record("b", None)))));
    assert!(!references.begin(CheckpointId(3), Some((CheckpointId(7), &record("a", None)))));
    assert!(!references.may_reuse(CheckpointId(2), &name('a')));
}

#[test]
fn a_base_is_pinned_until_its_checkpoint_is_resolved() {
    let mut references = one_committed();
    references.begin(CheckpointId(2), Some((CheckpointId(1), &record("a", None))));
    references.forget(CheckpointId(1));
    assert!(!references.may_delete(&name('a')));
    assert!(!references.begin(CheckpointId(3), Some((CheckpointId(1), &record("a", None)))), "it is no base any more");
    references.commit(CheckpointId(2), record("a", Some(1)), names("a"));
    references.abort(CheckpointId(3));
    assert!(!references.may_delete(&name('a')));
    assert!(references.may_delete(&name('b')));
}

#[test]
fn a_file_proposed_for_deletion_and_stored_anew_is_spared_in_every_order() {
    // Collection proposes `c`, which nobody names. Meanwhile checkpoint 2 stores the same bytes. The events of each
    // side keep their order; all ways to merge them are tried, but for those in which a claim does not wait for a
    // deletion to end.
    let collector = ["propose", "check", "delete", "deleted"];
    let uploader = ["claim", "write", "commit"];
    let mut tried = 0;
    'orders: for order in merges(&collector, &uploader) {
        let mut references = one_committed();
        references.begin(CheckpointId(2), None);
        let (mut on_store, mut deleting) = (true, Vec::new());
        for event in &order {
            match *event {
                "claim" if references.is_being_deleted(&name('c')) => continue 'orders,
                "claim" => references.claim(CheckpointId(2), name('c')),
                "write" => on_store = true,
                "commit" => references.commit(CheckpointId(2), record("a", Some(1)), names("c")),
                "check" => deleting = references.begin_deletion(&[name('c'), name('a')]),
                "delete" if !deleting.is_empty() => on_store = false,
                "deleted" => references.end_deletion(&deleting),
                _ => {}
            }
        }
        tried += 1;
        assert!(!references.is_being_deleted(&name('c')));
        assert!(on_store, "checkpoint 2 lacks a file after {order:?}");
    }
    assert!(tried > 10);
}

#[test]
fn a_file_that_several_checkpoints_name_is_retained_once() {
    let mut references = one_committed();
    references.committed(CheckpointId(2), record("a", Some(1)), names("bc"));
    assert_eq!(references.retained(), Retained { files: 3, bytes: 30 });
    references.forget(CheckpointId(1));
    assert_eq!(references.retained(), Retained { files: 2, bytes: 20 });
}

#[test]
fn a_held_checkpoint_is_held_until_the_last_lets_go() {
    let mut references = one_committed();
    references.hold(CheckpointId(1));
    references.hold(CheckpointId(1));
    references.let_go(CheckpointId(1));
    assert!(references.is_held(CheckpointId(1)));
    references.let_go(CheckpointId(1));
    assert!(!references.is_held(CheckpointId(1)));
}

#[test]
fn nothing_is_deleted_while_a_kept_manifest_cannot_be_read() {
    let mut references = one_committed();
    references.unreadable(CheckpointId(2));
    assert!(!references.may_delete(&name('c')));
    references.forget(CheckpointId(2));
    assert!(references.may_delete(&name('c')));
}

fn merges<'a>(left: &[&'a str], right: &[&'a str]) -> Vec<Vec<&'a str>> {
    let (Some((&l, more_left)), Some((&r, more_right))) = (left.split_first(), right.split_first()) else {
        return vec![[left, right].concat()];
    };
    let with = |first, rest: Vec<Vec<&'a str>>| rest.into_iter().map(move |rest| [vec![first], rest].concat());
    with(l, merges(more_left, right)).chain(with(r, merges(left, more_right))).collect()
}

fn of(attempt: &str, checkpoint: u64) -> CheckpointRef {
    CheckpointRef { attempt: AttemptId(attempt.into()), checkpoint: CheckpointId(checkpoint) }
}

/// The history of an output after these runs, each with what it went on from.
fn output(runs: &[(&str, Option<CheckpointRef>)]) -> OutputHistory {
    let taken = runs.iter().fold(None, |history, (attempt, restored)| {
        Some(OutputHistory::taken_over(history, AttemptId((*attempt).into()), restored.as_ref()))
    });
    taken.expect("there are runs")
}

#[test]
fn an_output_has_the_checkpoints_of_its_own_line_and_no_others() {
    let line = output(&[("a", None), ("b", Some(of("a", 3))), ("c", Some(of("b", 6)))]);
    for there in [of("a", 1), of("a", 3), of("b", 4), of("b", 6), of("c", 9)] {
        assert!(line.has(&there), "{there:?}");
    }
    for gone in [of("a", 4), of("b", 7), of("d", 1)] {
        assert!(!line.has(&gone), "{gone:?}");
    }
    // Back to a run before the last one, or within the newest one's own checkpoints.
    let back = output(&[("a", None), ("b", Some(of("a", 3))), ("c", Some(of("b", 6))), ("d", Some(of("a", 2)))]);
    assert!(back.has(&of("a", 2)) && back.has(&of("d", 3)));
    assert!(!back.has(&of("a", 3)) && !back.has(&of("b", 4)) && !back.has(&of("c", 7)));
    let anew = output(&[("a", None), ("b", Some(of("a", 3))), ("c", None)]);
    assert!(!anew.has(&of("a", 1)) && anew.has(&of("c", 1)));
}

#[test]
fn a_run_that_published_nothing_leaves_the_output_to_the_one_it_went_on_from() {
    let line = output(&[("a", None), ("killed", Some(of("a", 5))), ("c", Some(of("a", 5)))]);
    assert!(line.has(&of("a", 5)) && !line.has(&of("killed", 6)));
}

#[test]
fn a_history_forgets_its_oldest_runs_and_does_not_refuse_them() {
    let name = |number: u64| format!("run-{number}");
    let mut history = OutputHistory::taken_over(None, AttemptId(name(0)), None);
    for number in 1..=1_500 {
        let restored = of(&name(number - 1), number);
        history = OutputHistory::taken_over(Some(history), AttemptId(name(number)), Some(&restored));
    }
    assert_eq!(history.before.len(), 1_000);
    assert!(history.has(&of(&name(0), 1)) && history.has(&of(&name(1_400), 1_401)));
    assert!(!history.has(&of("another", 1_401)));
}
