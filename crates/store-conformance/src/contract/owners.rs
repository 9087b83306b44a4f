//! One owner at a time.

use super::JOB;
use crate::StoreFactory;
use headpond_state::ErrorKind;
use std::time::Duration;

/// Either the second is refused or the first is told.
pub fn there_is_one_owner_and_the_other_is_told_its_name(place: &StoreFactory) {
    let key = format!("{JOB}/owner.lock");
    let first = place().acquire(&key, "the first attempt", Duration::ZERO).unwrap();
    first.check().unwrap();
    match place().acquire(&key, "the second attempt", Duration::ZERO) {
        Err(refused) => {
            assert_eq!(refused.kind(), ErrorKind::Fenced);
            assert!(refused.to_string().contains("the first attempt"), "{refused}");
            first.check().unwrap();
        }
        Ok(second) => {
            let told = first.check().unwrap_err();
            assert_eq!(told.kind(), ErrorKind::Fenced);
            assert!(told.to_string().contains("the second attempt"), "{told}");
            assert!(told.way_out().is_some());
            second.check().unwrap();
        }
    }
}

/// The next run of the job.
pub fn an_owner_that_has_let_go_is_followed_by_another(place: &StoreFactory) {
    let key = format!("{JOB}/owner.lock");
    for run in 0..3 {
        // Two runs may have the same name.
        let owner = place().acquire(&key, "attempt", Duration::ZERO).unwrap_or_else(|e| panic!("run {run}: {e}"));
        owner.check().unwrap();
    }
}
