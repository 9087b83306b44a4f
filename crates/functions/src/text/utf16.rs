//! Positions counted in UTF-16 units, as a Java string counts them.

/// The number of UTF-16 units of a text.
pub(crate) fn utf16_len(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// Appends UTF-16 units to a text; half of a surrogate pair becomes `?`.
pub(crate) fn push_units(out: &mut String, units: impl IntoIterator<Item = u16>) {
    out.extend(char::decode_utf16(units).map(|c| c.unwrap_or('?')));
}

/// The first `n` UTF-16 units of a text.
pub(crate) fn utf16_prefix(text: &str, n: usize) -> String {
    if text.is_ascii() {
        return text.get(..n).unwrap_or(text).to_owned();
    }
    let mut out = String::new();
    push_units(&mut out, text.encode_utf16().take(n));
    out
}

/// What follows the first `n` UTF-16 units of a text.
pub(crate) fn utf16_suffix(text: &str, n: usize) -> String {
    if text.is_ascii() {
        return text.get(n..).unwrap_or("").to_owned();
    }
    let mut out = String::new();
    push_units(&mut out, text.encode_utf16().skip(n));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_units() {
        assert_eq!(utf16_len("a😀ß"), 4);
        assert_eq!(utf16_prefix("a😀ß", 3), "a😀");
        assert_eq!(utf16_prefix("a😀ß", 2), "a?");
        assert_eq!(utf16_suffix("a😀ß", 3), "ß");
        assert_eq!(utf16_suffix("ab", 9), "");
    }
}
