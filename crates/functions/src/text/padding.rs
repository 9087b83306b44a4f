//! LPAD, RPAD and REPEAT, none of which builds a text over the size limit.

use crate::text::error::{TextResult, check_size};
use crate::text::utf16::{push_units, utf16_len};

/// LPAD: pads on the left to `len` UTF-16 units, or cuts. None (NULL) for a negative length or an empty pad.
pub fn lpad(text: &str, len: i32, pad: &str) -> TextResult<Option<String>> {
    pad_to("LPAD", text, len, pad, true)
}

/// RPAD: pads on the right to `len` UTF-16 units, or cuts. None (NULL) for a negative length or an empty pad.
pub fn rpad(text: &str, len: i32, pad: &str) -> TextResult<Option<String>> {
    pad_to("RPAD", text, len, pad, false)
}

fn pad_to(function: &str, text: &str, len: i32, pad: &str, left: bool) -> TextResult<Option<String>> {
    let Ok(len) = usize::try_from(len) else { return Ok(None) };
    if pad.is_empty() {
        return Ok(None);
    }
    check_size(function, len as u128)?;
    let missing = len.saturating_sub(utf16_len(text));
    // A unit of UTF-16 takes at most three bytes of UTF-8.
    let bytes = if pad.is_ascii() { missing } else { missing * 3 };
    check_size(function, bytes as u128 + text.len().min(len * 3) as u128)?;
    let mut out = String::with_capacity(if pad.is_ascii() { missing } else { pad.len() } + text.len().min(len * 3));
    if text.is_ascii() && pad.is_ascii() {
        let kept = text.get(..len).unwrap_or(text);
        if !left {
            out.push_str(kept);
        }
        for _ in 0..missing / pad.len() {
            out.push_str(pad);
        }
        out.push_str(pad.get(..missing % pad.len()).unwrap_or(""));
        if left {
            out.push_str(kept);
        }
    } else {
        let padding = pad.encode_utf16().cycle().take(missing);
        let kept = text.encode_utf16().take(len);
        if left {
            push_units(&mut out, padding.chain(kept));
        } else {
            push_units(&mut out, kept.chain(padding));
        }
    }
    Ok(Some(out))
}

/// REPEAT: the text `n` times; empty if `n` is not positive.
pub fn repeat(text: &str, n: i32) -> TextResult<String> {
    let n = usize::try_from(n).unwrap_or(0);
    check_size("REPEAT", text.len() as u128 * n as u128)?;
    Ok(text.repeat(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pads_and_cuts() {
        for (text, len, pad, l, r) in [
            ("hi", 5, "??", Some("???hi"), Some("hi???")),
            ("hi", 5, "xyz", Some("xyzhi"), Some("hixyz")),
            ("hi", 1, "??", Some("h"), Some("h")),
            ("hi", 0, "?", Some(""), Some("")),
            ("hi", -1, "?", None, None),
            ("hi", 5, "", None, None),
            ("", 3, "ab", Some("aba"), Some("aba")),
            ("東", 3, "ä", Some("ää東"), Some("東ää")),
            ("😀", 1, "x", Some("?"), Some("?")),
        ] {
            assert_eq!(lpad(text, len, pad).unwrap().as_deref(), l);
            assert_eq!(rpad(text, len, pad).unwrap().as_deref(), r);
        }
    }

    #[test]
    fn large_results_are_refused() {
        assert!(lpad("a", i32::MAX, "b").is_err());
        assert!(rpad("a", 100_000_000, "ä").is_err());
        assert!(repeat("ab", i32::MAX).is_err());
        assert_eq!(repeat("ab", 2).unwrap(), "abab");
        assert_eq!(repeat("ab", -2).unwrap(), "");
        assert_eq!(repeat("", i32::MAX).unwrap(), "");
    }
}
