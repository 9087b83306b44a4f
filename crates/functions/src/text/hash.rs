//! MD5, SHA1, SHA2 and its kinds, as lower-case hexadecimal text.

use crate::text::encoding::push_hex;
use crate::text::error::{TextError, TextResult};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

fn hex_of(digest: &[u8]) -> String {
    let mut out = String::with_capacity(digest.len() * 2);
    push_hex(&mut out, digest, false);
    out
}

/// MD5 of bytes.
pub fn md5(bytes: &[u8]) -> String {
    hex_of(&Md5::digest(bytes))
}

/// SHA-1 of bytes.
pub fn sha1(bytes: &[u8]) -> String {
    hex_of(&Sha1::digest(bytes))
}

/// SHA-224 of bytes.
pub fn sha224(bytes: &[u8]) -> String {
    hex_of(&Sha224::digest(bytes))
}

/// SHA-256 of bytes.
pub fn sha256(bytes: &[u8]) -> String {
    hex_of(&Sha256::digest(bytes))
}

/// SHA-384 of bytes.
pub fn sha384(bytes: &[u8]) -> String {
    hex_of(&Sha384::digest(bytes))
}

/// SHA-512 of bytes.
pub fn sha512(bytes: &[u8]) -> String {
    hex_of(&Sha512::digest(bytes))
}

/// SHA2: the kind by its number of bits, an error for other than 224, 256, 384 and 512.
pub fn sha2(bytes: &[u8], bits: i32) -> TextResult<String> {
    match bits {
        224 => Ok(sha224(bytes)),
        256 => Ok(sha256(bytes)),
        384 => Ok(sha384(bytes)),
        512 => Ok(sha512(bytes)),
        _ => Err(TextError::new(format!("SHA2: the length must be 224, 256, 384 or 512, not {bits}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        assert_eq!(md5(b"Hello World"), "b10a8db164e0754105b7a99be72e3fe5");
        assert_eq!(sha1(b"Hello World"), "0a4d55a8d778e5022fab701977c5d840bbc486d0");
        assert_eq!(sha224(b"abc"), "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7");
        assert_eq!(sha2(b"abc", 256), Ok(sha256(b"abc")));
        assert!(sha2(b"abc", 0).is_err());
    }
}
