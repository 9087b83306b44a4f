//! INET_ATON and INET_NTOA: IPv4 addresses as numbers and back.

/// INET_ATON: the number of an address of one to four parts; None (NULL) if it is not one.
/// `a` is the number itself, `a.b` is a.0.0.b, `a.b.c` is a.b.0.c; leading zeros are decimal.
pub fn inet_aton(text: &str) -> Option<i64> {
    let mut parts = [0i64; 4];
    let mut count = 0usize;
    for part in text.split('.') {
        let slot = parts.get_mut(count)?;
        if part.is_empty() {
            return None;
        }
        for b in part.bytes() {
            if !b.is_ascii_digit() {
                return None;
            }
            *slot = *slot * 10 + i64::from(b - b'0');
            if *slot > 0xFFFF_FFFF {
                return None;
            }
        }
        count += 1;
    }
    let [a, b, c, d] = parts;
    if count > 1 && parts.iter().any(|p| *p > 255) {
        return None;
    }
    match count {
        1 => Some(a),
        2 => Some(a << 24 | b),
        3 => Some(a << 24 | b << 16 | c),
        _ => Some(a << 24 | b << 16 | c << 8 | d),
    }
}

/// INET_NTOA: the address of a number; None (NULL) outside 0 to 4294967295.
pub fn inet_ntoa(number: i64) -> Option<String> {
    let [a, b, c, d] = u32::try_from(number).ok()?.to_be_bytes();
    Some(format!("{a}.{b}.{c}.{d}"))
}

/// INET_NTOA of an INT, which counts as unsigned.
pub fn inet_ntoa_int(number: i32) -> String {
    let [a, b, c, d] = number.to_be_bytes();
    format!("{a}.{b}.{c}.{d}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, want) in [
            ("127.0.0.1", Some(2_130_706_433)),
            ("127.1", Some(2_130_706_433)),
            ("127.0.1", Some(2_130_706_433)),
            ("1", Some(1)),
            ("4294967296", None),
            ("256.1", None),
            ("1.2.3.4.5", None),
            ("1..2", None),
            ("", None),
            ("010.0.0.1", Some(167_772_161)),
        ] {
            assert_eq!(inet_aton(text), want, "{text}");
        }
        assert_eq!(inet_ntoa(2_130_706_433).as_deref(), Some("127.0.0.1"));
        assert_eq!(inet_ntoa(-1), None);
        assert_eq!(inet_ntoa_int(-1), "255.255.255.255");
    }
}
