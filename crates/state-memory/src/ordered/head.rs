//! A few bytes of a key that stand for it in a search.

/// The length of what two keys both begin with.
pub(super) fn common_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The four bytes of `key` behind `skip`, filled up with zeros. Of keys that agree before, a lower head means a lower key.
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

/// The same with sixteen bytes.
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
