//! Base64 with padding (RFC 4648, section 4): how bytes stand in text.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the base64 form of `bytes`.
pub(crate) fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|index| chunk.get(index).copied().map_or(0, u32::from));
        let group = a << 16 | b << 8 | c;
        for position in 0..4 {
            let digit = (group >> (18 - 6 * position)) & 63;
            out.push(if position <= chunk.len() { ALPHABET[digit as usize] } else { b'=' });
        }
    }
}

/// Appends the bytes that `text` stands for. `None`: it is not base64; `out` may then have some of them.
pub(crate) fn decode(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let padding = text.iter().rev().take_while(|&&byte| byte == b'=').count();
    let digits = &text[..text.len() - padding];
    // Padding may be left out; where it is there, it fills up a group of four.
    if digits.len() % 4 == 1 || padding > 2 || (padding > 0 && !text.len().is_multiple_of(4)) {
        return None;
    }
    for chunk in digits.chunks(4) {
        let mut group = 0_u32;
        for &byte in chunk {
            group = group << 6 | value(byte)?;
        }
        group <<= 6 * (4 - chunk.len());
        out.extend_from_slice(&group.to_be_bytes()[1..chunk.len()]);
    }
    Some(())
}

fn value(digit: u8) -> Option<u32> {
    Some(match digit {
        b'A'..=b'Z' => u32::from(digit - b'A'),
        b'a'..=b'z' => u32::from(digit - b'a') + 26,
        b'0'..=b'9' => u32::from(digit - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}
