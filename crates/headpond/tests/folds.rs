//! Running folds, state by closures, and keys of all types.

mod support;

use headpond::stream::{KeyComponent, Record};
use std::collections::BTreeMap;
use std::fmt::Debug;
use support::*;

#[test]
fn running_folds_give_a_result_after_each_record() {
    for (parallelism, serialized) in SETUPS {
        let env = environment(parallelism, serialized);
        let numbers = env.from_iter(1..=12_u64).key_by(|n| n % 3);
        let greatest = numbers.reduce(u64::max).collect();
        let counts = numbers.fold(0_u32, |count, _| count + 1).collect();
        let changed = numbers
            .flat_map_with_state(|n, last: &mut Option<u64>| {
                let before = last.replace(n);
                (n == 12).then(|| *last = None);
                before.map(|before| (before, n))
            })
            .collect();
        env.execute("folds").expect("the job runs");
        assert_eq!(sorted(&greatest), (1..=12).collect::<Vec<u64>>());
        let expected: Vec<(u64, u32)> = (0..3).flat_map(|key| (1..=4).map(move |count| (key, count))).collect();
        assert_eq!(sorted(&counts), expected);
        assert_eq!(sorted(&changed), (1..=9).map(|n| (n, n + 3)).collect::<Vec<_>>());
    }
}

fn counted<K>(keys: Vec<K>)
where
    K: KeyComponent + Record + Clone + Ord + Debug + Sync + 'static,
{
    for (parallelism, serialized) in SETUPS {
        let env = environment(parallelism, serialized);
        let counts = env
            .from_iter(keys.clone())
            .key_by(|key| key.clone())
            .fold(0_u64, |count, _| count + 1)
            .execute_and_collect("counts")
            .expect("the job runs");
        let (mut found, mut expected) = (BTreeMap::new(), BTreeMap::new());
        for (key, count) in counts {
            let most = found.entry(key).or_insert(0);
            *most = count.max(*most);
        }
        keys.iter().for_each(|key| *expected.entry(key.clone()).or_insert(0) += 1);
        assert_eq!(found, expected);
    }
}

#[test]
fn all_integers_texts_truth_values_and_tuples_are_keys() {
    counted(vec![0_u8, 255, 7, 255]);
    counted(vec![0_u16, u16::MAX, 7, 7]);
    counted(vec![0_u32, u32::MAX, 7, 7]);
    counted(vec![0_u64, u64::MAX, 7, 7]);
    counted(vec![0_u128, u128::MAX, 1 << 64, 1 << 64]);
    counted(vec![0_usize, usize::MAX, 7, 7]);
    counted(vec![i8::MIN, -1, i8::MAX, -1]);
    counted(vec![i16::MIN, -1, i16::MAX, -1]);
    counted(vec![i32::MIN, -1, i32::MAX, -1]);
    counted(vec![i64::MIN, -1, i64::MAX, -1]);
    counted(vec![i128::MIN, -1, i128::MAX, -1, 1 << 64, -1 << 64]);
    counted(vec![isize::MIN, -1, isize::MAX, -1]);
    counted(vec![true, false, true]);
    counted(["", "a\0b", "ä", ""].map(str::to_owned).to_vec());
    counted(vec![(1_u32, "a".to_owned()), (1, "b".to_owned()), (1, "a".to_owned())]);
    counted(vec![(1_u8, Some(2_i64), true, -3_i128, "x".to_owned(), 4_u16), (1, None, true, -3, "x".to_owned(), 4)]);
    counted(vec![(), (), ()]);
}
