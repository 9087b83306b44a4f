use super::*;

const A: (usize, usize) = (0, 0);
const B: (usize, usize) = (1, 0);

fn pace() -> Pace {
    Pace {
        ticks_in_flight: 2,
        tick_interval: Duration::from_millis(5),
        checkpoint_interval: Some(Duration::from_secs(1)),
        checkpoint_min_pause: Duration::ZERO,
        checkpoint_timeout: Duration::from_secs(60),
        persist: true,
    }
}

fn coordinator(pace: Pace, now: Instant) -> Coordinator {
    Coordinator::new(pace, [A, B].into(), [A], 7, now)
}

fn part(coordinator: &mut Coordinator, at: (usize, usize), checkpoint: u64) -> Step {
    coordinator.report(at.0, at.1, ReportBody::Part { checkpoint, json: "1".to_owned() })
}

#[test]
fn opens_no_tick_without_a_reason() {
    let now = Instant::now();
    assert!(coordinator(pace(), now).poll(now, 0, JobRequest::None).is_none());
}

#[test]
fn rows_open_ticks_until_too_many_are_unfinished() {
    let now = Instant::now();
    let mut coordinator = coordinator(Pace { tick_interval: Duration::ZERO, ..pace() }, now);
    coordinator.report(0, 0, ReportBody::Ready(true));
    assert!(coordinator.poll(now, 0, JobRequest::None).is_some());
    assert!(coordinator.poll(now, 0, JobRequest::None).is_some());
    assert!(coordinator.poll(now, 0, JobRequest::None).is_none(), "two ticks are unfinished");
    coordinator.finished_before(1);
    assert!(coordinator.poll(now, 0, JobRequest::None).is_some());
}

#[test]
fn a_checkpoint_is_committed_once_when_all_parts_are_there() {
    let now = Instant::now();
    let mut coordinator = coordinator(pace(), now);
    let due = now + Duration::from_secs(1);
    let cut = coordinator.poll(due, 0, JobRequest::None).and_then(|control| control.cut).expect("a checkpoint is due");
    assert_eq!((cut.checkpoint, cut.last), (7, false));
    assert!(matches!(part(&mut coordinator, A, 7), Step::None));
    assert!(matches!(part(&mut coordinator, A, 7), Step::None), "a repeated part changes nothing");
    assert!(matches!(part(&mut coordinator, B, 7), Step::Commit { .. }));
    assert!(coordinator.poll(due + Duration::from_secs(5), 0, JobRequest::None).is_none(), "one checkpoint at a time");
    coordinator.committed(due);
    let control = coordinator.poll(due, 0, JobRequest::None).expect("the commit is made known");
    assert_eq!(control.completed, [7]);
    assert_eq!(control.cut, None);
}

#[test]
fn a_failed_checkpoint_is_made_known_and_its_number_is_not_used_again() {
    let now = Instant::now();
    let mut coordinator = coordinator(pace(), now);
    let due = now + Duration::from_secs(1);
    coordinator.poll(due, 0, JobRequest::None).expect("a checkpoint is due");
    let failed = ReportBody::Failed { checkpoint: 7, kind: 6, message: "full".to_owned() };
    assert!(matches!(coordinator.report(1, 0, failed.clone()), Step::Abort { .. }));
    coordinator.gave_up(due);
    assert!(matches!(coordinator.report(0, 0, failed), Step::None), "the second failure is no news");
    assert!(matches!(part(&mut coordinator, A, 7), Step::None), "a late part belongs to nothing");
    let control =
        coordinator.poll(due + Duration::from_secs(1), 0, JobRequest::None).expect("the next checkpoint is due");
    assert_eq!(control.aborted, [7]);
    assert_eq!(control.cut.map(|cut| cut.checkpoint), Some(8));
}

#[test]
fn the_end_of_all_sources_is_a_last_cut_and_nothing_follows() {
    let now = Instant::now();
    let mut coordinator = coordinator(pace(), now);
    coordinator.report(0, 0, ReportBody::Ended);
    let cut = coordinator.poll(now, 0, JobRequest::None).and_then(|control| control.cut).expect("the end is a cut");
    assert!(cut.end_of_input && cut.last);
    assert!(coordinator.poll(now, 0, JobRequest::None).is_none());
    part(&mut coordinator, A, 7);
    part(&mut coordinator, B, 7);
    assert!(!coordinator.is_over(), "not before the commit");
    coordinator.committed(now);
    assert!(coordinator.is_over());
}

#[test]
fn aligned_workers_are_told_how_far_all_have_read_and_ticks_open_for_rows_up_to_there() {
    let now = Instant::now();
    let pace = Pace { tick_interval: Duration::ZERO, checkpoint_interval: None, ticks_in_flight: 10, ..pace() };
    let mut coordinator = Coordinator::new(pace, [A].into(), [(0, 0), (0, 1), (0, 2)], 7, now);
    let stands = |coordinator: &mut Coordinator, worker, waiting_ms, read_ms| {
        coordinator.report(0, worker, ReportBody::Aligned(Standing { waiting_ms, read_ms }));
    };
    coordinator.report(0, 2, ReportBody::Ended);
    stands(&mut coordinator, 0, Some(5), 20);
    assert!(coordinator.poll(now, 0, JobRequest::None).is_none(), "worker 1 may have rows before 5");
    stands(&mut coordinator, 1, None, 4);
    assert!(coordinator.poll(now, 0, JobRequest::None).is_none());
    stands(&mut coordinator, 1, Some(4), 10);
    let control = coordinator.poll(now, 0, JobRequest::None).expect("both have rows up to 10");
    assert_eq!((control.read, control.align_ms), (true, [(0, 10)].into()));
    assert!(coordinator.poll(now, 0, JobRequest::None).is_none(), "that tick takes them");
    stands(&mut coordinator, 0, Some(11), 20);
    coordinator.report(0, 1, ReportBody::Ended);
    let control = coordinator.poll(now, 0, JobRequest::None).expect("nobody else is left");
    assert_eq!(control.align_ms, [(0, 20)].into());
}

#[test]
fn a_request_to_stop_is_a_last_cut_that_is_not_the_end_of_input() {
    let now = Instant::now();
    let mut coordinator = coordinator(pace(), now);
    coordinator.report(0, 0, ReportBody::Ready(true));
    let control = coordinator.poll(now, 0, JobRequest::Stop).expect("stopping is a reason");
    let cut = control.cut.expect("stopping takes a checkpoint");
    assert!(cut.last && !cut.end_of_input && !control.read);
}

#[test]
fn a_stop_waits_for_the_checkpoint_under_way() {
    let now = Instant::now();
    let mut coordinator = coordinator(pace(), now);
    let due = now + Duration::from_secs(1);
    coordinator.poll(due, 0, JobRequest::None).expect("a checkpoint is due");
    coordinator.finished_before(1);
    assert!(coordinator.poll(due, 0, JobRequest::Stop).is_none());
    part(&mut coordinator, A, 7);
    part(&mut coordinator, B, 7);
    coordinator.committed(due);
    assert!(coordinator.poll(due, 0, JobRequest::Stop).and_then(|control| control.cut).is_some_and(|cut| cut.last));
}

#[test]
fn a_checkpoint_that_takes_too_long_is_overdue() {
    let now = Instant::now();
    let mut coordinator = coordinator(pace(), now);
    let due = now + Duration::from_secs(1);
    coordinator.poll(due, 0, JobRequest::None).expect("a checkpoint is due");
    assert!(coordinator.overdue(due + Duration::from_secs(59)).is_none());
    assert!(coordinator.overdue(due + Duration::from_secs(60)).is_some());
}

#[test]
fn without_persistence_no_checkpoint_is_due_but_the_end_is_still_a_cut() {
    let now = Instant::now();
    let mut coordinator = coordinator(Pace { persist: false, ..pace() }, now);
    assert!(coordinator.poll(now + Duration::from_secs(100), 0, JobRequest::None).is_none());
    coordinator.report(0, 0, ReportBody::Ended);
    let cut = coordinator.poll(now, 0, JobRequest::None).and_then(|control| control.cut).expect("the end is a cut");
    assert!(cut.last && !cut.persist);
}

fn wakes(coordinator: &mut Coordinator, at_ms: Option<i64>) {
    assert!(matches!(coordinator.report(1, 0, ReportBody::WakeAt(at_ms)), Step::None));
}

#[test]
fn a_processing_time_opens_one_tick_when_it_has_come() {
    let now = Instant::now();
    let mut coordinator = coordinator(Pace { checkpoint_interval: None, ..pace() }, now);
    wakes(&mut coordinator, Some(1050));
    assert!(coordinator.poll(now, 1000, JobRequest::None).is_none());
    assert_eq!(coordinator.wake_at(now, 1000), Some(now + Duration::from_millis(50)));
    let due = now + Duration::from_millis(50);
    assert_eq!(
        coordinator.poll(due, 1050, JobRequest::None).map(|control| (control.now_ms, control.cut)),
        Some((1050, None))
    );
    assert!(coordinator.poll(due + Duration::from_secs(1), 2050, JobRequest::None).is_none(), "it has been woken");
    assert_eq!(coordinator.wake_at(due, 1050), None);
}

#[test]
fn a_processing_time_that_no_one_waits_for_any_more_opens_no_tick() {
    let now = Instant::now();
    let mut coordinator = coordinator(Pace { checkpoint_interval: None, ..pace() }, now);
    wakes(&mut coordinator, Some(1050));
    wakes(&mut coordinator, None);
    assert!(coordinator.poll(now + Duration::from_secs(1), 2000, JobRequest::None).is_none());
    assert_eq!(coordinator.wake_at(now, 1000), None);
}

#[test]
fn processing_times_close_to_each_other_share_a_tick() {
    let now = Instant::now();
    let mut coordinator = coordinator(Pace { checkpoint_interval: None, ..pace() }, now);
    wakes(&mut coordinator, Some(1000));
    coordinator.poll(now, 1000, JobRequest::None).expect("it is due");
    wakes(&mut coordinator, Some(1001));
    let next = now + Duration::from_millis(1);
    assert!(coordinator.poll(next, 1001, JobRequest::None).is_none(), "not so soon");
    assert_eq!(coordinator.wake_at(next, 1001), Some(now + Duration::from_millis(5)));
    assert!(coordinator.poll(now + Duration::from_millis(5), 1005, JobRequest::None).is_some());
}

#[test]
fn no_processing_time_opens_a_tick_before_the_ticks_in_flight_are_done_or_after_a_request_to_stop() {
    let now = Instant::now();
    let mut coordinator = coordinator(Pace { checkpoint_interval: None, tick_interval: Duration::ZERO, ..pace() }, now);
    for at_ms in [1000, 1001] {
        wakes(&mut coordinator, Some(at_ms));
        coordinator.poll(now, at_ms, JobRequest::None).expect("it is due");
    }
    wakes(&mut coordinator, Some(1002));
    assert!(coordinator.poll(now, 1002, JobRequest::None).is_none(), "two ticks are unfinished");
    coordinator.finished_before(2);
    let last = coordinator
        .poll(now, 1002, JobRequest::Stop)
        .and_then(|control| control.cut)
        .expect("stopping takes a checkpoint");
    assert!(last.last && !last.end_of_input);
    wakes(&mut coordinator, Some(1003));
    assert!(coordinator.poll(now, 1003, JobRequest::Stop).is_none());
    assert_eq!(coordinator.wake_at(now, 2000), Some(now + Duration::from_secs(60)), "the last checkpoint's time-out");
}

#[test]
fn after_a_failed_checkpoint_the_next_one_waits_longer_each_time_the_last_one_too() {
    let now = Instant::now();
    let mut coordinator = coordinator(Pace { checkpoint_interval: Some(Duration::from_millis(1)), ..pace() }, now);
    coordinator.report(0, 0, ReportBody::Ended);
    let mut at = now;
    for (failures, pause_ms) in [(1, 100), (2, 200), (3, 400)] {
        let cut = coordinator.poll(at, 0, JobRequest::None).and_then(|control| control.cut).expect("the end is a cut");
        assert!(cut.last);
        coordinator.finished_before(coordinator.next_tick());
        coordinator.gave_up(at);
        assert_eq!((coordinator.failures(), coordinator.failed_ends()), (failures, failures));
        let told = coordinator.poll(at, 0, JobRequest::None).expect("the failure is made known");
        assert_eq!(told.cut, None);
        coordinator.finished_before(coordinator.next_tick());
        at += Duration::from_millis(pause_ms);
        assert!(coordinator.poll(at - Duration::from_millis(1), 0, JobRequest::None).is_none(), "not so soon");
        assert_eq!(coordinator.wake_at(at - Duration::from_millis(1), 0), Some(at));
    }
    for _ in 0..40 {
        at += LONGEST_PAUSE;
        coordinator.poll(at, 0, JobRequest::None).and_then(|control| control.cut).expect("it is tried again, for ever");
        coordinator.gave_up(at);
        coordinator.finished_before(coordinator.next_tick());
    }
    at += LONGEST_PAUSE;
    coordinator.poll(at, 0, JobRequest::None).expect("the end is a cut");
    coordinator.committed(at);
    assert_eq!(coordinator.failures(), 0);
    assert!(coordinator.is_over());
}

#[test]
fn a_checkpoint_that_is_asked_for_is_taken_now_if_checkpoints_are_kept() {
    let now = Instant::now();
    let mut kept = coordinator(pace(), now);
    let cut = kept.poll(now, 0, JobRequest::Checkpoint).and_then(|control| control.cut).expect("it was asked for");
    assert!(!cut.last);
    assert!(kept.poll(now, 0, JobRequest::Checkpoint).is_none(), "one at a time");
    let mut without = coordinator(Pace { persist: false, ..pace() }, now);
    assert!(without.poll(now, 0, JobRequest::Checkpoint).is_none());
}
