//! Restores that must fail, and say why.

use crate::subject::{point_state, register, write};
use crate::{BackendFixture, Subject};
use headpond_state::{ErrorKind, KeyedStateHandle};

fn written(subject: &Subject) -> KeyedStateHandle {
    let mut keyed = subject.open();
    let state = register(&mut *keyed, &point_state("s"));
    write(&mut *keyed, |batch| {
        for i in 0..2000u32 {
            batch.put(state, &subject.key((i % 128) as u16, i.to_be_bytes()), &[i as u8; 40]);
        }
    });
    let handle = subject.checkpoint(&mut *keyed, 1);
    keyed.close().expect("the instance closes");
    assert!(handle.all_files().next().is_some(), "a handle with entries has files");
    handle
}

/// One flipped bit in any file is noticed at restore, not later.
pub fn a_flipped_byte_is_found_at_restore(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let handle = written(&subject);
    for file in handle.all_files() {
        subject.store().damage(file);
        let failure = subject.try_restore(subject.all_groups(), std::slice::from_ref(&handle));
        let failure = failure.expect_err("a file is damaged");
        assert_eq!(failure.kind(), ErrorKind::Corrupt, "{failure}");
        // The same bit again: the file is whole.
        subject.store().damage(file);
    }
    subject.restore(&[handle]);
}

/// So is a file that is gone.
pub fn a_missing_file_is_found_at_restore(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let handle = written(&subject);
    subject.store().remove(handle.all_files().last().expect("a file"));
    let failure = subject.try_restore(subject.all_groups(), &[handle]).expect_err("a file is missing");
    assert_eq!(failure.kind(), ErrorKind::Corrupt, "{failure}");
}

/// A format, or a version of one, that the backend does not know is not guessed at.
pub fn a_handle_of_an_unknown_format_is_refused(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let handle = written(&subject);
    let foreign = KeyedStateHandle { format: "papyrus".to_owned(), ..handle.clone() };
    let newer = KeyedStateHandle { format_version: handle.format_version + 1, ..handle };
    for handle in [foreign, newer] {
        let failure = subject.try_restore(subject.all_groups(), &[handle]).expect_err("an unknown format");
        assert_eq!(failure.kind(), ErrorKind::Incompatible, "{failure}");
        assert!(failure.way_out().is_some(), "`{failure}` names no way out");
    }
}

/// Whatever a failed restore had fetched is removed.
pub fn a_failed_restore_leaves_nothing_behind(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let handle = written(&subject);
    subject.store().damage(handle.all_files().last().expect("a file"));
    subject.try_restore(subject.all_groups(), &[handle]).expect_err("a file is damaged");
    assert!(!subject.has_local_files(), "a failed restore left local files");
}
