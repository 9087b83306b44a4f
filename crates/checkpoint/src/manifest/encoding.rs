//! The manifest's bytes.
//!
//! ```text
//! {"format_version":1,"blake3":"<64 digits>","manifest":
//! {
//!   "job": "totals", …
//! }
//! }
//! ```
//!
//! It is one JSON document whose first line has a fixed form, the same in all versions. The hash is the BLAKE3 hash of
//! the whole file without the 64 digits themselves, so a flipped byte anywhere, in the version or the hash too, is
//! found. To check a manifest by hand, cut the digits out and pipe the rest to `b3sum`.

use super::Manifest;
use headpond_state::{ContentHash, Error, Result};

/// The format this Headpond writes. It reads this one and all before it.
pub const FORMAT_VERSION: u32 = 1;

const HEAD: &str = "{\"format_version\":";
const HASH: &str = ",\"blake3\":\"";
const BODY: &str = "\",\"manifest\":\n";
const TAIL: &str = "\n}\n";
const HASH_LEN: usize = 64;

impl Manifest {
    /// The bytes of `manifest.json`.
    ///
    /// # Errors
    /// [`Internal`](headpond_state::ErrorKind::Internal) when a connector's own part cannot be written as JSON.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let before = format!("{HEAD}{FORMAT_VERSION}{HASH}");
        let mut after = BODY.as_bytes().to_vec();
        serde_json::to_writer_pretty(&mut after, self)
            .map_err(|e| Error::internal("the manifest cannot be written as JSON").because(e))?;
        after.extend_from_slice(TAIL.as_bytes());
        let hash = hash_of(before.as_bytes(), &after);
        Ok([before.as_bytes(), hash.to_string().as_bytes(), &after].concat())
    }

    /// The manifest in the bytes of `manifest.json`.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_state::ErrorKind::Corrupt) when a byte differs from what was written, and for names and
    /// numbers that nobody of ours writes, [`Incompatible`](headpond_state::ErrorKind::Incompatible) for a format newer
    /// than [`FORMAT_VERSION`].
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let (version, body) = check(bytes)?;
        if version > FORMAT_VERSION {
            return Err(Error::incompatible(format!(
                "the checkpoint's manifest has format version {version}; this Headpond ({}) reads up to {FORMAT_VERSION}",
                env!("CARGO_PKG_VERSION"),
            ))
            .hint("restore it with the Headpond that wrote it, or a later one"));
        }
        let text = body.strip_prefix(BODY.as_bytes()).and_then(|body| body.strip_suffix(TAIL.as_bytes()));
        let text = text.filter(|_| version > 0).ok_or_else(|| Error::corrupt("the manifest is not of our form"))?;
        let mut manifest: Manifest = serde_json::from_slice(text).map_err(|e| {
            Error::corrupt("the manifest's bytes are what was written, but they do not describe a checkpoint")
                .because(e)
        })?;
        manifest.format_version = version;
        super::sanity::check(&manifest)?;
        Ok(manifest)
    }
}

/// Checks the hash and returns the format version and what follows the hash.
fn check(bytes: &[u8]) -> Result<(u32, &[u8])> {
    let bad_form = || Error::corrupt("the manifest does not begin like one: it is torn, altered or another file");
    let rest = bytes.strip_prefix(HEAD.as_bytes()).ok_or_else(bad_form)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let version = std::str::from_utf8(&rest[..digits]).ok().and_then(|digits| digits.parse().ok());
    let version = version.ok_or_else(bad_form)?;
    let rest = rest[digits..].strip_prefix(HASH.as_bytes()).ok_or_else(bad_form)?;
    let (stated, body) = rest.split_at_checked(HASH_LEN).ok_or_else(bad_form)?;
    let before = &bytes[..bytes.len() - rest.len()];
    let actual = hash_of(before, body).to_string();
    // As text: the same number in other letters is an altered byte too.
    if actual.as_bytes() != stated {
        return Err(Error::corrupt(format!(
            "the manifest was altered or torn: its content has the hash {actual}, its first line says {}",
            String::from_utf8_lossy(stated)
        )));
    }
    Ok((version, body))
}

fn hash_of(before: &[u8], after: &[u8]) -> ContentHash {
    ContentHash(*blake3::Hasher::new().update(before).update(after).finalize().as_bytes())
}
