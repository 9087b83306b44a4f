//! BIN, HEX, UNHEX, TO_BASE64, FROM_BASE64, URL_ENCODE, URL_DECODE, ENCODE and DECODE.

use crate::text::error::{TextError, TextResult};
use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use std::borrow::Cow;

const LOWER: &[u8; 16] = b"0123456789abcdef";
const UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// Appends bytes as hexadecimal digits.
pub(crate) fn push_hex(out: &mut String, bytes: &[u8], upper: bool) {
    let digits = if upper { UPPER } else { LOWER };
    out.reserve(bytes.len() * 2);
    for b in bytes {
        out.push(char::from(digits[usize::from(b >> 4)]));
        out.push(char::from(digits[usize::from(b & 15)]));
    }
}

/// BIN: the binary digits of the two's complement.
pub fn bin(value: i64) -> String {
    format!("{value:b}")
}

/// HEX of a number: the upper-case digits of the two's complement of 64 bits.
pub fn hex_number(value: i64) -> String {
    format!("{value:X}")
}

/// HEX of a text or bytes: two upper-case digits a byte.
pub fn hex_bytes(bytes: &[u8]) -> String {
    let mut out = String::new();
    push_hex(&mut out, bytes, true);
    out
}

/// UNHEX: the bytes of hexadecimal digits; of an odd number of digits the first one gives a zero byte.
/// None (NULL) for other characters.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: &u8| char::from(*b).to_digit(16).map(|d| d as u8);
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len().div_ceil(2));
    let odd = bytes.len() % 2;
    if let (1, Some(first)) = (odd, bytes.first()) {
        digit(first)?;
        out.push(0);
    }
    for pair in bytes.get(odd..)?.chunks_exact(2) {
        if let [high, low] = pair {
            out.push(digit(high)? << 4 | digit(low)?);
        }
    }
    Some(out)
}

/// TO_BASE64: the standard alphabet with padding.
pub fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// FROM_BASE64: the bytes of standard base64, padding may be left out; an error for other text.
pub fn from_base64(text: &str) -> TextResult<Vec<u8>> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    );
    if text.ends_with('=') && !text.len().is_multiple_of(4) {
        return Err(TextError::new("FROM_BASE64: the padding is not complete"));
    }
    LENIENT.decode(text).map_err(|e| TextError::new(format!("FROM_BASE64: {e}")))
}

/// URL_ENCODE: as of HTML forms, a space becomes `+`.
pub fn url_encode(text: &str) -> Cow<'_, str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'*' | b'_');
    if text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() * 3);
    for b in text.bytes() {
        match b {
            b' ' => out.push('+'),
            b if plain(b) => out.push(char::from(b)),
            b => {
                out.push('%');
                push_hex(&mut out, &[b], true);
            }
        }
    }
    Cow::Owned(out)
}

/// URL_DECODE: as of HTML forms; None (NULL) if a `%` is not followed by two hexadecimal digits.
pub fn url_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['+', '%']) {
        return Some(Cow::Borrowed(text));
    }
    let spaced = text.replace('+', " ");
    let mut parts = spaced.split('%');
    parts.next();
    if parts.any(|part| !matches!(part.as_bytes(), [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())) {
        return None;
    }
    Some(Cow::Owned(percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy().into_owned()))
}

/// URL_DECODE_RECURSIVE: decodes until nothing changes, at most `max_depth` times.
/// None (NULL) if the first time fails; later, the last good text.
pub fn url_decode_recursive(text: &str, max_depth: i32) -> Option<String> {
    let mut current = text.to_owned();
    for i in 0..max_depth {
        match url_decode(&current) {
            Some(next) if next == current => break,
            Some(next) => current = next.into_owned(),
            None if i == 0 => return None,
            None => break,
        }
    }
    Some(current)
}

/// A character set of ENCODE and DECODE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// Seven bits.
    Ascii,
    /// Eight bits.
    Latin1,
    /// UTF-8.
    Utf8,
    /// UTF-16, the high byte first.
    Utf16Be,
    /// UTF-16, the low byte first.
    Utf16Le,
    /// UTF-16 with a byte order mark; without one the high byte comes first.
    Utf16,
}

impl Charset {
    /// The character set of a name, in any case; an error for a name that is not known.
    pub fn of(name: &str) -> TextResult<Self> {
        match name.to_ascii_uppercase().as_str() {
            "US-ASCII" | "ASCII" | "ISO646-US" | "ISO_646.IRV:1991" | "646" | "CP367" | "ANSI_X3.4-1968" => {
                Ok(Self::Ascii)
            }
            "ISO-8859-1" | "ISO8859_1" | "ISO8859-1" | "ISO_8859-1" | "ISO_8859_1" | "LATIN1" | "L1" | "8859_1"
            | "CP819" | "IBM819" | "IBM-819" | "819" => Ok(Self::Latin1),
            "UTF-8" | "UTF8" | "UNICODE-1-1-UTF-8" => Ok(Self::Utf8),
            "UTF-16BE" | "UTF_16BE" | "X-UTF-16BE" | "ISO-10646-UCS-2" | "UNICODEBIGUNMARKED" => Ok(Self::Utf16Be),
            "UTF-16LE" | "UTF_16LE" | "X-UTF-16LE" | "UNICODELITTLEUNMARKED" => Ok(Self::Utf16Le),
            "UTF-16" | "UTF_16" | "UNICODE" | "UNICODEBIG" => Ok(Self::Utf16),
            _ => Err(TextError::new(format!("The character set '{name}' is not known"))),
        }
    }

    /// ENCODE: the bytes of a text; a character that is not in the set becomes `?`.
    pub fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Ascii => text.chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' }).collect(),
            Self::Latin1 => text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect(),
            Self::Utf8 => text.as_bytes().to_vec(),
            Self::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Self::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Utf16 if text.is_empty() => Vec::new(),
            Self::Utf16 => [0xFE, 0xFF].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect(),
        }
    }

    /// DECODE: the text of bytes; what is not of the set becomes U+FFFD.
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Ascii => {
                bytes.iter().map(|b| if b.is_ascii() { char::from(*b) } else { char::REPLACEMENT_CHARACTER }).collect()
            }
            Self::Latin1 => bytes.iter().copied().map(char::from).collect(),
            Self::Utf8 => String::from_utf8_lossy(bytes),
            Self::Utf16Be => decode_units(bytes, u16::from_be_bytes),
            Self::Utf16Le => decode_units(bytes, u16::from_le_bytes),
            Self::Utf16 => match bytes {
                [0xFE, 0xFF, rest @ ..] => decode_units(rest, u16::from_be_bytes),
                [0xFF, 0xFE, rest @ ..] => decode_units(rest, u16::from_le_bytes),
                _ => decode_units(bytes, u16::from_be_bytes),
            },
        }
    }
}

fn decode_units(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Cow<'static, str> {
    let units = bytes.chunks_exact(2).filter_map(|pair| pair.try_into().ok().map(unit));
    let mut out: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    if !bytes.len().is_multiple_of(2) {
        out.push(char::REPLACEMENT_CHARACTER);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits() {
        assert_eq!((bin(12), bin(-1).len()), ("1100".into(), 64));
        assert_eq!((hex_number(42), hex_number(-42)), ("2A".into(), "FFFFFFFFFFFFFFD6".into()));
        assert_eq!(hex_bytes("ÄÖ".as_bytes()), "C384C396");
        assert_eq!(unhex("466C696E6B"), Some(b"Flink".to_vec()));
        assert_eq!(unhex("1"), Some(vec![0]));
        assert_eq!(unhex("146"), Some(vec![0, 0x46]));
        assert_eq!(unhex(""), Some(vec![]));
        assert_eq!((unhex("z"), unhex("1-"), unhex("é")), (None, None, None));
    }

    #[test]
    fn base64() {
        assert_eq!(to_base64(b"Hello World"), "SGVsbG8gV29ybGQ=");
        for text in ["aGVsbG8gd29ybGQ=", "aGVsbG8gd29ybGQ"] {
            assert_eq!(from_base64(text), Ok(b"hello world".to_vec()));
        }
        for text in ["a", "aA=", "?", "aGVs bG8="] {
            assert!(from_base64(text).is_err(), "{text}");
        }
    }

    #[test]
    fn urls() {
        assert_eq!(url_encode("o'neil\t ß*"), "o%27neil%09+%C3%9F*");
        assert_eq!(url_decode("a+b%26c").as_deref(), Some("a b&c"));
        assert_eq!(url_decode("%C3%9F").as_deref(), Some("ß"));
        assert_eq!(url_decode("%FF").as_deref(), Some("\u{FFFD}"));
        assert_eq!((url_decode("%"), url_decode("%2"), url_decode("%zz")), (None, None, None));
        assert_eq!(url_decode_recursive("Hello%252520World", 2).as_deref(), Some("Hello%20World"));
        assert_eq!(url_decode_recursive("100%25", 10).as_deref(), Some("100%"));
    }

    #[test]
    fn charsets() {
        for (name, text, bytes) in [
            ("us-ascii", "hä", &b"h?"[..]),
            ("ISO-8859-1", "hä", &b"h\xE4"[..]),
            ("utf-8", "ä", "ä".as_bytes()),
            ("UTF-16BE", "hi", &b"\0h\0i"[..]),
            ("UTF-16LE", "hi", &b"h\0i\0"[..]),
            ("UTF-16", "h", &b"\xFE\xFF\0h"[..]),
            ("UTF-16", "", &b""[..]),
        ] {
            let charset = Charset::of(name).unwrap();
            assert_eq!(charset.encode(text), bytes);
            if name != "us-ascii" {
                assert_eq!(charset.decode(bytes), text);
            }
        }
        assert!(Charset::of("x").is_err());
        assert_eq!(Charset::Utf16.decode(b"\xFF\xFEh\0"), "h");
        assert_eq!(Charset::Utf16Be.decode(b"\0hx"), "h\u{FFFD}");
    }
}
