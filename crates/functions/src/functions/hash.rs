//! Hashes of texts.

use super::text_error::{failed, int};
use crate::bind::{Bind, Bound, Category, Function, Parameter};
use crate::bound::Kernel;
use crate::columns::build_texts;
use crate::text;
use arrow_schema::DataType;
use headpond_state::Error;
use std::sync::Arc;

macro_rules! hash {
    ($name:expr, $syntax:expr, $doc:expr, $examples:expr, $hash:expr) => {
        function!(&[$name], $syntax, $doc, $examples, |call| of_text(call, $hash))
    };
}

const CHAPTER: Category = Category::Hash;

pub(super) const FUNCTIONS: &[Function] = &[
    hash!(
        "MD5",
        "MD5(text)",
        "The MD5 hash in base 16.",
        &[("MD5('abc')", "900150983cd24fb0d6963f7d28e17f72")],
        text::md5
    ),
    hash!(
        "SHA1",
        "SHA1(text)",
        "The SHA-1 hash in base 16.",
        &[("SHA1('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d")],
        text::sha1
    ),
    hash!("SHA224", "SHA224(text)", "The SHA-224 hash in base 16.", &[], text::sha224),
    hash!("SHA256", "SHA256(text)", "The SHA-256 hash in base 16.", &[], text::sha256),
    hash!("SHA384", "SHA384(text)", "The SHA-384 hash in base 16.", &[], text::sha384),
    hash!("SHA512", "SHA512(text)", "The SHA-512 hash in base 16.", &[], text::sha512),
    Function {
        names: &["SHA2"],
        category: Category::Hash,
        syntax: "SHA2(text, bits)",
        doc: "The SHA-2 hash of 224, 256, 384 or 512 bits in base 16.",
        examples: &[],
        bind: |call| {
            let arguments = call.take(&[Parameter::Text, Parameter::Whole], 0)?;
            let kernel: Kernel = Arc::new(|arguments| {
                let (texts, bits) = (arguments.texts(0)?, arguments.longs(1)?);
                build_texts(arguments.rows, |row, out| {
                    let (Some(text), Some(bits)) = (texts.get(row), bits.get(row)) else { return Ok(false) };
                    out.push_str(&text::sha2(text.as_bytes(), int(bits)).map_err(failed)?);
                    Ok(true)
                })
            });
            Ok(call.bound(arguments, DataType::Utf8, kernel))
        },
    },
];

fn of_text(call: &Bind<'_>, hash: fn(&[u8]) -> String) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = arguments.texts(0)?;
        build_texts(arguments.rows, |row, out| {
            let Some(text) = texts.get(row) else { return Ok(false) };
            out.push_str(&hash(text.as_bytes()));
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}
