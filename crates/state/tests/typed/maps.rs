//! Map states.

use crate::sorted_backend::SortedBackend;
use headpond_state::codec::{Codec, Utf8};
use headpond_state::typed::{KeyContext, MapState};
use headpond_state::{ErrorKind, MaxParallelism, OperatorClock, Result};
use std::ops::ControlFlow;
use std::sync::Arc;

type UserKey = (i64, Option<String>);

fn at(key: &[u8]) -> KeyContext<'_> {
    KeyContext::new(MaxParallelism::DEFAULT, key)
}

fn map_state(backend: &mut SortedBackend) -> MapState<UserKey, String> {
    let codec: Arc<dyn Codec<String>> = Arc::new(Utf8);
    let descriptor = MapState::<UserKey, String>::descriptor("map", &*codec);
    assert_eq!(descriptor.value_schema, "int64,utf8? -> utf8");
    MapState::register(backend, &Arc::new(OperatorClock::default()), &descriptor, codec).expect("the state registers")
}

fn user_key(number: i64, text: Option<&str>) -> UserKey {
    (number, text.map(str::to_owned))
}

fn entries(map: &mut MapState<UserKey, String>, backend: &mut SortedBackend, after: Option<&UserKey>) -> Vec<UserKey> {
    let mut seen = Vec::new();
    map.scan(backend, at(b"a"), after, &mut |user_key, value| {
        assert_eq!(value, format!("{user_key:?}"));
        seen.push(user_key);
        ControlFlow::Continue(())
    })
    .expect("the map can be read");
    seen
}

#[test]
fn a_map_is_kept_in_the_order_of_its_user_keys() -> Result<()> {
    let mut backend = SortedBackend::default();
    let mut map = map_state(&mut backend);
    let sorted = [
        user_key(-5, Some("z")),
        user_key(3, None),
        user_key(3, Some("")),
        user_key(3, Some("a\0")),
        user_key(3, Some("ab")),
        user_key(i64::MAX, None),
    ];
    for index in [3, 0, 5, 1, 4, 2] {
        map.put(&mut backend, at(b"a"), &sorted[index], &format!("{:?}", sorted[index]))?;
    }
    map.put(&mut backend, at(b"b"), &sorted[0], &"another key's".to_owned())?;
    assert_eq!(entries(&mut map, &mut backend, None), sorted);
    assert_eq!(entries(&mut map, &mut backend, Some(&sorted[2])), sorted[3..]);
    assert_eq!(map.get(&mut backend, at(b"b"), &sorted[0])?.as_deref(), Some("another key's"));
    assert!(map.contains(&mut backend, at(b"a"), &sorted[4])?);

    map.remove(&mut backend, at(b"a"), &sorted[4])?;
    assert!(!map.contains(&mut backend, at(b"a"), &sorted[4])?);
    map.clear(&mut backend, at(b"a"))?;
    assert_eq!(entries(&mut map, &mut backend, None), []);
    assert!(map.contains(&mut backend, at(b"b"), &sorted[0])?);
    Ok(())
}

#[test]
fn a_scan_ends_where_its_visitor_says() -> Result<()> {
    let mut backend = SortedBackend::default();
    let mut map = map_state(&mut backend);
    for number in 0..10 {
        map.put(&mut backend, at(b"a"), &user_key(number, None), &String::new())?;
    }
    let mut seen = 0;
    map.scan(&mut backend, at(b"a"), None, &mut |_, _| {
        seen += 1;
        if seen == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    assert_eq!(seen, 4);
    backend.overwrite(&[1, 0xff]);
    let error = map.scan(&mut backend, at(b"a"), None, &mut |_, _| ControlFlow::Continue(())).expect_err("not UTF-8");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    Ok(())
}
