//! Base64 with padding (RFC 4648, section 4): how bytes stand in text.

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, encoded_len};

/// Padding is written, and may be left out of what is read.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Appends the base64 form of `bytes`.
pub(crate) fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    let begin = out.len();
    let length = encoded_len(bytes.len(), true).expect("bytes in memory have a base64 form that fits into memory");
    out.resize(begin + length, 0);
    ENGINE.encode_slice(bytes, &mut out[begin..]).expect("there is room for all of it");
}

/// Appends the bytes that `text` stands for. `None`: it is not base64; `out` may then have some of them.
pub(crate) fn decode(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    // Padding fills up a group of four where it is there.
    if text.ends_with(b"=") && !text.len().is_multiple_of(4) {
        return None;
    }
    ENGINE.decode_vec(text, out).ok()
}
