//! A few bytes of a key that stand for it in a search.

/// The length of what two keys both begin with.
pub(super) fn common_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The four bytes of `key` behind `skip`, filled up with zeros. Of keys that agree before, a lower head means a lower
/// key.
#[inline]
pub(super) fn head_u32(key: &[u8], skip: usize) -> u32 {
    let rest = key.get(skip..).unwrap_or_default();
    match rest.first_chunk() {
        Some(head) => u32::from_be_bytes(*head),
        None => {
            let mut head = [0; 4];
            head[..rest.len()].copy_from_slice(rest);
            u32::from_be_bytes(head)
        }
    }
}

/// The highest head of the keys that begin with `prefix`.
#[inline]
pub(super) fn last_head_u32(prefix: &[u8], skip: usize) -> u32 {
    let rest = prefix.get(skip..).unwrap_or_default();
    match rest.len() {
        0 => u32::MAX,
        len @ 1..4 => head_u32(prefix, skip) | u32::MAX >> (8 * len),
        _ => head_u32(prefix, skip),
    }
}

/// As [`head_u32`], with sixteen bytes.
#[inline]
pub(super) fn head_u128(key: &[u8], skip: usize) -> u128 {
    let rest = key.get(skip..).unwrap_or_default();
    match rest.first_chunk() {
        Some(head) => u128::from_be_bytes(*head),
        None => {
            let mut head = [0; 16];
            head[..rest.len()].copy_from_slice(rest);
            u128::from_be_bytes(head)
        }
    }
}
