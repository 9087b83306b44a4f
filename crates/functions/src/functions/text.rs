//! Functions of texts.

use super::text_error::{failed, int};
use crate::bind::{Bind, Bound, Category, Function, Parameter};
use crate::bound::Kernel;
use crate::columns::{build_booleans, build_bytes, build_ints, build_longs, build_slices, build_texts};
use crate::common_type::{array_type, common_type, is_integer, is_text, map_type};
use crate::text::{self, TextResult};
use arrow_array::Array;
use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder};
use arrow_schema::{DataType, Field};
use headpond_state::Error;
use std::sync::Arc;

macro_rules! function {
    ($names:expr, $syntax:expr, $doc:expr, $examples:expr, $bind:expr) => {
        Function {
            names: $names,
            category: Category::Text,
            syntax: $syntax,
            doc: $doc,
            examples: $examples,
            bind: $bind,
        }
    };
}

/// A function from a text to a text, written into a buffer; it says whether there is one.
fn to_text(call: &Bind<'_>, write: fn(&str, &mut String) -> TextResult<bool>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = arguments.texts(0)?;
        build_texts(arguments.rows, |row, out| match texts.get(row) {
            Some(text) => write(text, out).map_err(failed),
            None => Ok(false),
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

/// A function from a text to an `INT`.
fn to_int(call: &Bind<'_>, compute: fn(&str) -> i32) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = arguments.texts(0)?;
        build_ints(arguments.rows, |row| Ok(texts.get(row).map(compute)))
    });
    Ok(call.bound(arguments, DataType::Int32, kernel))
}

/// A function from two texts to a truth value.
fn to_boolean(call: &Bind<'_>, compute: fn(&str, &str) -> bool) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let (left, right) = (arguments.texts(0)?, arguments.texts(1)?);
        build_booleans(arguments.rows, |row| {
            Ok(left.get(row).zip(right.get(row)).map(|(left, right)| compute(left, right)))
        })
    });
    Ok(call.bound(arguments, DataType::Boolean, kernel))
}

/// A test of a text that is false for NULL.
fn test(call: &Bind<'_>, compute: fn(&str) -> bool) -> Result<Bound, Error> {
    let [of] = call.types else { return Err(call.wrong()) };
    if !is_text(of) && !of.is_null() {
        return Err(call.wrong());
    }
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = arguments.texts(0)?;
        build_booleans(arguments.rows, |row| Ok(Some(texts.get(row).is_some_and(compute))))
    });
    Ok(call.bound(vec![DataType::Utf8], DataType::Boolean, kernel))
}

/// A text and a text that may be left out, to a part of the first.
fn trim(call: &Bind<'_>, trimmed: for<'a> fn(&'a str, &str) -> &'a str) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text], 1)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = arguments.texts(0)?;
        let sets = if arguments.values.len() > 1 { Some(arguments.texts(1)?) } else { None };
        build_slices(arguments.rows, |row| {
            let set = match &sets {
                Some(sets) => sets.get(row),
                None => Some(" "),
            };
            Ok(texts.get(row).zip(set).map(|(text, set)| trimmed(text, set)))
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn pad(call: &Bind<'_>, padded: fn(&str, i32, &str) -> TextResult<Option<String>>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Whole, Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let (texts, lengths, pads) = (arguments.texts(0)?, arguments.longs(1)?, arguments.texts(2)?);
        build_texts(arguments.rows, |row, out| {
            let (Some(text), Some(length), Some(pad)) = (texts.get(row), lengths.get(row), pads.get(row)) else {
                return Ok(false);
            };
            let padded = padded(text, int(length), pad).map_err(failed)?;
            Ok(padded.inspect(|padded| out.push_str(padded)).is_some())
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

pub(super) const FUNCTIONS: &[Function] = &[
    function!(
        &["CHAR_LENGTH", "CHARACTER_LENGTH"],
        "CHAR_LENGTH(text)",
        "How many characters a text has.",
        &[("CHAR_LENGTH('Grüße')", "5")],
        |call| to_int(call, |text| text::char_length(text) as i32)
    ),
    function!(&["UPPER"], "UPPER(text)", "The text in capitals.", &[("UPPER('ab')", "AB")], |call| {
        to_text(call, |text, out| {
            out.push_str(&text::upper(text));
            Ok(true)
        })
    }),
    function!(&["LOWER"], "LOWER(text)", "The text in small letters.", &[("LOWER('AB')", "ab")], |call| {
        to_text(call, |text, out| {
            out.push_str(&text::lower(text));
            Ok(true)
        })
    }),
    function!(
        &["INITCAP"],
        "INITCAP(text)",
        "The text with a capital at the beginning of each word, and small letters behind it.",
        &[("INITCAP('hello wORLD')", "Hello World")],
        |call| to_text(call, |text, out| {
            out.push_str(&text::initcap(text));
            Ok(true)
        })
    ),
    function!(
        &["REVERSE"],
        "REVERSE(text)",
        "The text from its end to its beginning.",
        &[("REVERSE('ab')", "ba")],
        |call| {
            to_text(call, |text, out| {
                out.push_str(&text::reverse(text));
                Ok(true)
            })
        }
    ),
    function!(
        &["CONCAT"],
        "CONCAT(text, …)",
        "The texts, one after another; NULL if any is NULL.",
        &[("CONCAT('a', 'b')", "ab")],
        concat
    ),
    function!(
        &["CONCAT_WS"],
        "CONCAT_WS(separator, text, …)",
        "The texts with a separator between them; NULLs are passed over.",
        &[("CONCAT_WS('-', 'a', 'b')", "a-b")],
        concat_ws
    ),
    function!(
        &["SUBSTRING", "SUBSTR"],
        "SUBSTRING(text, from[, length]), SUBSTRING(text FROM from [FOR length])",
        "A part of a text. Characters are counted from 1, and below 0 from the end.",
        &[("SUBSTRING('Hello', 2, 3)", "ell"), ("SUBSTRING('Hello', -3)", "llo")],
        substring
    ),
    function!(&["LEFT"], "LEFT(text, length)", "The first characters.", &[("LEFT('Hello', 2)", "He")], |call| {
        side(call, text::left)
    }),
    function!(&["RIGHT"], "RIGHT(text, length)", "The last characters.", &[("RIGHT('Hello', 2)", "lo")], |call| {
        side(call, text::right)
    }),
    function!(
        &["TRIM", "BTRIM"],
        "TRIM([BOTH | LEADING | TRAILING] [characters] FROM text), BTRIM(text[, characters])",
        "The text without these characters, or spaces, at its ends.",
        &[("TRIM(BOTH 'x' FROM 'xxaxx')", "a")],
        |call| trim(call, text::trim_both)
    ),
    function!(
        &["LTRIM"],
        "LTRIM(text[, characters])",
        "The text without these characters, or spaces, at its beginning.",
        &[("LTRIM('  a')", "a")],
        |call| trim(call, text::trim_left)
    ),
    function!(
        &["RTRIM"],
        "RTRIM(text[, characters])",
        "The text without these characters, or spaces, at its end.",
        &[("RTRIM('baa', 'a')", "b")],
        |call| trim(call, text::trim_right)
    ),
    function!(
        &["LPAD"],
        "LPAD(text, length, with)",
        "The text filled up at its beginning, or cut, to a length; NULL for a length below 0.",
        &[("LPAD('7', 3, '0')", "007")],
        |call| pad(call, text::lpad)
    ),
    function!(
        &["RPAD"],
        "RPAD(text, length, with)",
        "The text filled up at its end, or cut, to a length; NULL for a length below 0.",
        &[("RPAD('a', 3, '.')", "a..")],
        |call| pad(call, text::rpad)
    ),
    function!(
        &["REPLACE"],
        "REPLACE(text, part, with)",
        "The text with another in place of each occurrence of a part.",
        &[("REPLACE('ababab', 'abab', 'z')", "zab")],
        replace
    ),
    function!(&["REPEAT"], "REPEAT(text, count)", "The text so many times.", &[("REPEAT('ab', 2)", "abab")], repeat),
    function!(
        &["OVERLAY"],
        "OVERLAY(text PLACING with FROM from [FOR length])",
        "The text with another in place of a part.",
        &[("OVERLAY('xxxxxtest' PLACING 'xxxx' FROM 6 FOR 2)", "xxxxxxxxxst")],
        overlay
    ),
    function!(
        &["POSITION"],
        "POSITION(part IN text)",
        "Where a part first occurs, counted from 1; 0 if it does not.",
        &[("POSITION('o' IN 'Hello')", "5")],
        |call| {
            let arguments = call.take(&[Parameter::Text, Parameter::Text], 0)?;
            let kernel: Kernel = Arc::new(|arguments| {
                let (parts, texts) = (arguments.texts(0)?, arguments.texts(1)?);
                build_ints(arguments.rows, |row| {
                    Ok(parts.get(row).zip(texts.get(row)).map(|(part, text)| text::position(part, text)))
                })
            });
            Ok(call.bound(arguments, DataType::Int32, kernel))
        }
    ),
    function!(
        &["LOCATE"],
        "LOCATE(part, text[, from])",
        "Where a part first occurs at or behind a position, counted from 1; 0 if it does not.",
        &[("LOCATE('o', 'Hello World', 6)", "8")],
        locate
    ),
    function!(
        &["INSTR"],
        "INSTR(text, part[, from[, occurrence]])",
        "Where an occurrence of a part is, counted from 1; from the end where `from` is below 0; 0 if there is none.",
        &[("INSTR('Corporate Floor', 'or', 3, 2)", "14")],
        instr
    ),
    function!(&["ASCII"], "ASCII(text)", "The code of the first character.", &[("ASCII('a')", "97")], |call| {
        to_int(call, text::ascii)
    }),
    function!(
        &["CHR"],
        "CHR(code)",
        "The character of a code, of which the last 8 bits count.",
        &[("CHR(97)", "a")],
        |call| {
            let arguments = call.take(&[Parameter::Whole], 0)?;
            let kernel: Kernel = Arc::new(|arguments| {
                let codes = arguments.longs(0)?;
                build_texts(arguments.rows, |row, out| {
                    let Some(code) = codes.get(row) else { return Ok(false) };
                    out.push_str(&text::chr(code));
                    Ok(true)
                })
            });
            Ok(call.bound(arguments, DataType::Utf8, kernel))
        }
    ),
    function!(
        &["TRANSLATE", "TRANSLATE3"],
        "TRANSLATE(text, from, to)",
        "The text with each character of one text replaced by that of another at the same place.",
        &[("TRANSLATE('hello', 'lo', 'xy')", "hexxy")],
        translate
    ),
    function!(
        &["SPLIT"],
        "SPLIT(text, delimiter)",
        "The parts of a text between delimiters, as an array.",
        &[("SPLIT('a,b', ',')", "[a, b]")],
        split
    ),
    function!(
        &["SPLIT_INDEX"],
        "SPLIT_INDEX(text, delimiter, index)",
        "A part of a text between delimiters, counted from 0; NULL if there is none.",
        &[("SPLIT_INDEX('a,b', ',', 1)", "b")],
        split_index
    ),
    function!(
        &["STR_TO_MAP"],
        "STR_TO_MAP(text[, between entries, between key and value])",
        "The map that a text lists.",
        &[("STR_TO_MAP('a=1,b=2')", "{a=1, b=2}")],
        str_to_map
    ),
    function!(
        &["ELT"],
        "ELT(index, value, …)",
        "The value at a position, counted from 1; NULL if there is none.",
        &[("ELT(2, 'a', 'b')", "b")],
        elt
    ),
    function!(
        &["STARTSWITH"],
        "STARTSWITH(text, beginning)",
        "Whether a text begins with another.",
        &[("STARTSWITH('Hello', 'He')", "true")],
        |call| to_boolean(call, text::starts_with)
    ),
    function!(
        &["ENDSWITH"],
        "ENDSWITH(text, end)",
        "Whether a text ends with another.",
        &[("ENDSWITH('Hello', 'lo')", "true")],
        |call| to_boolean(call, text::ends_with)
    ),
    function!(
        &["IS_ALPHA"],
        "IS_ALPHA(text)",
        "Whether all characters are letters; false for NULL and an empty text.",
        &[("IS_ALPHA('ab')", "true")],
        |call| test(call, text::is_alpha)
    ),
    function!(
        &["IS_DIGIT"],
        "IS_DIGIT(text)",
        "Whether all characters are digits; false for NULL and an empty text.",
        &[("IS_DIGIT('12')", "true")],
        |call| test(call, text::is_digit)
    ),
    function!(
        &["IS_DECIMAL"],
        "IS_DECIMAL(text)",
        "Whether a text is a number; false for NULL.",
        &[("IS_DECIMAL('1.5')", "true")],
        |call| test(call, text::is_decimal)
    ),
    function!(
        &["HEX"],
        "HEX(whole number), HEX(text)",
        "A number, or the bytes of a text, in base 16.",
        &[("HEX(42)", "2A")],
        hex
    ),
    function!(&["UNHEX"], "UNHEX(text)", "The bytes that a text in base 16 means; NULL if it is none.", &[], |call| {
        let arguments = call.take(&[Parameter::Text], 0)?;
        let kernel: Kernel = Arc::new(|arguments| {
            let texts = arguments.texts(0)?;
            build_bytes(arguments.rows, |row| Ok(texts.get(row).and_then(text::unhex)))
        });
        Ok(call.bound(arguments, DataType::Binary, kernel))
    }),
    function!(
        &["TO_BASE64"],
        "TO_BASE64(text)",
        "The bytes of a text in base 64.",
        &[("TO_BASE64('hi')", "aGk=")],
        to_base64
    ),
    function!(
        &["FROM_BASE64"],
        "FROM_BASE64(text)",
        "The text whose bytes are written in base 64.",
        &[("FROM_BASE64('aGk=')", "hi")],
        |call| to_text(call, |text, out| {
            out.push_str(&String::from_utf8_lossy(&text::from_base64(text)?));
            Ok(true)
        })
    ),
    function!(
        &["ENCODE"],
        "ENCODE(text, charset)",
        "The bytes of a text in US-ASCII, ISO-8859-1, UTF-8, UTF-16BE, UTF-16LE or UTF-16.",
        &[],
        encode
    ),
    function!(
        &["DECODE"],
        "DECODE(bytes, charset)",
        "The text of bytes in a character set.",
        &[("DECODE(x'6869', 'UTF-8')", "hi")],
        decode
    ),
    function!(
        &["URL_ENCODE"],
        "URL_ENCODE(text)",
        "The text as forms of HTML encode it.",
        &[("URL_ENCODE('a b&c')", "a+b%26c")],
        |call| to_text(call, |text, out| {
            out.push_str(&text::url_encode(text));
            Ok(true)
        })
    ),
    function!(
        &["URL_DECODE"],
        "URL_DECODE(text)",
        "The text that forms of HTML have encoded; NULL if they have not.",
        &[("URL_DECODE('a+b%26c')", "a b&c")],
        |call| to_text(call, |text, out| {
            Ok(text::url_decode(text).inspect(|decoded| out.push_str(decoded)).is_some())
        })
    ),
    function!(
        &["PARSE_URL"],
        "PARSE_URL(url, part[, key])",
        "A part of a URL: HOST, PATH, QUERY, REF, PROTOCOL, AUTHORITY, FILE or USERINFO, or the value of a key of its QUERY.",
        &[("PARSE_URL('http://a.org/p?k=v', 'QUERY', 'k')", "v")],
        parse_url
    ),
    function!(
        &["INET_ATON"],
        "INET_ATON(text)",
        "The number of an IPv4 address; NULL if it is none.",
        &[("INET_ATON('127.0.0.1')", "2130706433")],
        |call| {
            let arguments = call.take(&[Parameter::Text], 0)?;
            let kernel: Kernel = Arc::new(|arguments| {
                let texts = arguments.texts(0)?;
                build_longs(arguments.rows, |row| Ok(texts.get(row).and_then(text::inet_aton)))
            });
            Ok(call.bound(arguments, DataType::Int64, kernel))
        }
    ),
    function!(
        &["INET_NTOA"],
        "INET_NTOA(number)",
        "The IPv4 address of a number; NULL beyond them.",
        &[("INET_NTOA(2130706433)", "127.0.0.1")],
        |call| {
            let is_int = matches!(call.types, [DataType::Int8 | DataType::Int16 | DataType::Int32]);
            let arguments = call.take(&[Parameter::Whole], 0)?;
            let kernel: Kernel = Arc::new(move |arguments| {
                let numbers = arguments.longs(0)?;
                build_texts(arguments.rows, |row, out| {
                    let Some(number) = numbers.get(row) else { return Ok(false) };
                    let address = if is_int { Some(text::inet_ntoa_int(int(number))) } else { text::inet_ntoa(number) };
                    Ok(address.inspect(|address| out.push_str(address)).is_some())
                })
            });
            Ok(call.bound(arguments, DataType::Utf8, kernel))
        }
    ),
];

fn concat(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take_many(&[Parameter::Text], Parameter::Text)?;
    let count = arguments.len();
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = (0..count).map(|index| arguments.texts(index)).collect::<Result<Vec<_>, _>>()?;
        build_texts(arguments.rows, |row, out| {
            for text in &texts {
                let Some(text) = text.get(row) else { return Ok(false) };
                out.push_str(text);
            }
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn concat_ws(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take_many(&[Parameter::Text], Parameter::Text)?;
    let count = arguments.len();
    let kernel: Kernel = Arc::new(move |arguments| {
        let texts = (0..count).map(|index| arguments.texts(index)).collect::<Result<Vec<_>, _>>()?;
        build_texts(arguments.rows, |row, out| {
            let Some(separator) = texts[0].get(row) else { return Ok(false) };
            text::concat_ws(out, separator, texts[1..].iter().map(|text| text.get(row)));
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn substring(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Whole, Parameter::Whole], 1)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, starts) = (arguments.texts(0)?, arguments.longs(1)?);
        let lengths = if arguments.values.len() > 2 { Some(arguments.longs(2)?) } else { None };
        build_slices(arguments.rows, |row| {
            let (Some(text), Some(start)) = (texts.get(row), starts.get(row)) else { return Ok(None) };
            let length = match &lengths {
                Some(lengths) => match lengths.get(row) {
                    Some(length) => Some(int(length)),
                    None => return Ok(None),
                },
                None => None,
            };
            Ok(text::substring(text, int(start), length))
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn side(call: &Bind<'_>, part: fn(&str, i32) -> &str) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Whole], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let (texts, lengths) = (arguments.texts(0)?, arguments.longs(1)?);
        build_slices(arguments.rows, |row| {
            Ok(texts.get(row).zip(lengths.get(row)).map(|(text, length)| part(text, int(length))))
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn replace(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text; 3], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, parts, others) = (arguments.texts(0)?, arguments.texts(1)?, arguments.texts(2)?);
        build_texts(arguments.rows, |row, out| {
            let (Some(text), Some(part), Some(other)) = (texts.get(row), parts.get(row), others.get(row)) else {
                return Ok(false);
            };
            out.push_str(&text::replace(text, part, other).map_err(failed)?);
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn repeat(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Whole], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, counts) = (arguments.texts(0)?, arguments.longs(1)?);
        build_texts(arguments.rows, |row, out| {
            let (Some(text), Some(count)) = (texts.get(row), counts.get(row)) else { return Ok(false) };
            out.push_str(&text::repeat(text, int(count)).map_err(failed)?);
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn overlay(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text, Parameter::Whole, Parameter::Whole], 1)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, others, starts) = (arguments.texts(0)?, arguments.texts(1)?, arguments.longs(2)?);
        let lengths = if arguments.values.len() > 3 { Some(arguments.longs(3)?) } else { None };
        build_texts(arguments.rows, |row, out| {
            let (Some(text), Some(other), Some(start)) = (texts.get(row), others.get(row), starts.get(row)) else {
                return Ok(false);
            };
            let length = match &lengths {
                Some(lengths) => match lengths.get(row) {
                    None => return Ok(false),
                    some => some,
                },
                None => None,
            };
            out.push_str(&text::overlay(text, other, start, length));
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn locate(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text, Parameter::Whole], 1)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (parts, texts) = (arguments.texts(0)?, arguments.texts(1)?);
        let starts = if arguments.values.len() > 2 { Some(arguments.longs(2)?) } else { None };
        build_ints(arguments.rows, |row| {
            let (Some(part), Some(text)) = (parts.get(row), texts.get(row)) else { return Ok(None) };
            Ok(match &starts {
                Some(starts) => starts.get(row).map(|start| text::locate(part, text, int(start))),
                None => Some(text::position(part, text)),
            })
        })
    });
    Ok(call.bound(arguments, DataType::Int32, kernel))
}

fn instr(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text, Parameter::Whole, Parameter::Whole], 2)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, parts) = (arguments.texts(0)?, arguments.texts(1)?);
        let whole =
            |index: usize| if arguments.values.len() > index { arguments.longs(index).map(Some) } else { Ok(None) };
        let (starts, nths) = (whole(2)?, whole(3)?);
        build_ints(arguments.rows, |row| {
            let (Some(text), Some(part)) = (texts.get(row), parts.get(row)) else { return Ok(None) };
            let of = |column: &Option<crate::columns::Numbers<arrow_array::types::Int64Type>>| match column {
                Some(column) => column.get(row).map(int),
                None => Some(1),
            };
            match (of(&starts), of(&nths)) {
                (Some(start), Some(nth)) => text::instr(text, part, start, nth).map(Some).map_err(failed),
                _ => Ok(None),
            }
        })
    });
    Ok(call.bound(arguments, DataType::Int32, kernel))
}

fn translate(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text; 3], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, froms, tos) = (arguments.texts(0)?, arguments.texts(1)?, arguments.texts(2)?);
        let translation = |row: usize| froms.get(row).map(|from| text::Translation::new(from, tos.get(row)));
        let fixed = if froms.is_constant() && tos.is_constant() { Some(translation(0)) } else { None };
        build_texts(arguments.rows, |row, out| {
            let Some(text) = texts.get(row) else { return Ok(false) };
            let of_row;
            let translation = match &fixed {
                Some(fixed) => fixed.as_ref(),
                None => {
                    of_row = translation(row);
                    of_row.as_ref()
                }
            };
            match translation {
                Some(translation) => out.push_str(&translation.apply(text)),
                None => out.push_str(text),
            }
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn split(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, delimiters) = (arguments.texts(0)?, arguments.texts(1)?);
        let field = Field::new("item", DataType::Utf8, true);
        let mut lists = ListBuilder::new(StringBuilder::new()).with_field(field);
        for row in 0..arguments.rows {
            let parts = texts.get(row).zip(delimiters.get(row)).map(|(text, delimiter)| text::split(text, delimiter));
            parts.iter().flatten().for_each(|part| lists.values().append_value(part));
            lists.append(parts.is_some());
        }
        Ok(Arc::new(lists.finish()))
    });
    Ok(call.bound(arguments, array_type(DataType::Utf8), kernel))
}

fn split_index(call: &Bind<'_>) -> Result<Bound, Error> {
    let by_code = call.types.get(1).is_some_and(is_integer);
    let delimiter = if by_code { Parameter::Whole } else { Parameter::Text };
    let arguments = call.take(&[Parameter::Text, delimiter, Parameter::Whole], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let (texts, indexes) = (arguments.texts(0)?, arguments.longs(2)?);
        if by_code {
            let codes = arguments.longs(1)?;
            return build_slices(arguments.rows, |row| {
                let (Some(text), Some(code), Some(index)) = (texts.get(row), codes.get(row), indexes.get(row)) else {
                    return Ok(None);
                };
                Ok(text::split_index_code(text, int(code), int(index)))
            });
        }
        let delimiters = arguments.texts(1)?;
        build_slices(arguments.rows, |row| {
            let (Some(text), Some(delimiter), Some(index)) = (texts.get(row), delimiters.get(row), indexes.get(row))
            else {
                return Ok(None);
            };
            Ok(text::split_index(text, delimiter, int(index)))
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn str_to_map(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text; 3], 2)?;
    if arguments.len() == 2 {
        return Err(call.wrong());
    }
    let result = map_type(DataType::Utf8, DataType::Utf8);
    let kernel: Kernel = Arc::new(|arguments| {
        let texts = arguments.texts(0)?;
        let patterns = if arguments.values.len() > 1 { Some((arguments.texts(1)?, arguments.texts(2)?)) } else { None };
        let compiled = |pattern: &str| text::JavaRegex::new(pattern).map_err(|error| failed(error.into()));
        let of_row = |row: usize| match &patterns {
            None => Ok(Some((compiled(",")?, compiled("=")?))),
            Some((entries, values)) => match entries.get(row).zip(values.get(row)) {
                Some((entries, values)) => Ok(Some((compiled(entries)?, compiled(values)?))),
                None => Ok::<_, Error>(None),
            },
        };
        let is_fixed = patterns.as_ref().is_none_or(|(entries, values)| entries.is_constant() && values.is_constant());
        let fixed = if is_fixed { Some(of_row(0)?) } else { None };
        let mut maps = MapBuilder::new(
            Some(arrow_array::builder::MapFieldNames {
                entry: "entries".to_owned(),
                key: "key".to_owned(),
                value: "value".to_owned(),
            }),
            StringBuilder::new(),
            StringBuilder::new(),
        );
        for row in 0..arguments.rows {
            let own;
            let patterns = match &fixed {
                Some(fixed) => fixed.as_ref(),
                None => {
                    own = of_row(row)?;
                    own.as_ref()
                }
            };
            let (Some(text), Some((entries, values))) = (texts.get(row), patterns) else {
                maps.append(false).map_err(crate::bound::internal)?;
                continue;
            };
            for (key, value) in text::str_to_map(text, entries, values).map_err(failed)? {
                maps.keys().append_value(key);
                maps.values().append_option(value);
            }
            maps.append(true).map_err(crate::bound::internal)?;
        }
        Ok(Arc::new(maps.finish()))
    });
    Ok(call.bound(arguments, result, kernel))
}

fn elt(call: &Bind<'_>) -> Result<Bound, Error> {
    let (index, values) = call.types.split_first().ok_or_else(|| call.wrong())?;
    let common = common_type(values).filter(|_| is_integer(index) || index.is_null()).ok_or_else(|| call.wrong())?;
    let common = if common.is_null() { DataType::Utf8 } else { common };
    if !matches!(common, DataType::Utf8 | DataType::Binary) {
        return Err(call.wrong());
    }
    let count = values.len();
    let mut arguments = vec![DataType::Int64];
    arguments.extend(vec![common.clone(); count]);
    let kernel: Kernel = Arc::new(move |arguments| {
        let indexes = arguments.longs(0)?;
        let columns = (1..=count).map(|index| arguments.column(index)).collect::<Result<Vec<_>, _>>()?;
        let none = arrow_array::new_null_array(columns[0].data_type(), 1);
        let mut all: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
        all.push(none.as_ref());
        let place = |row: usize| {
            let index = indexes.get(row).and_then(|index| usize::try_from(index).ok());
            match index.filter(|index| (1..=count).contains(index)) {
                Some(index) => (index - 1, row),
                None => (count, 0),
            }
        };
        let places: Vec<(usize, usize)> = (0..arguments.rows).map(place).collect();
        arrow_select::interleave::interleave(&all, &places).map_err(crate::bound::internal)
    });
    Ok(call.bound(arguments, common, kernel))
}

fn hex(call: &Bind<'_>) -> Result<Bound, Error> {
    if matches!(call.types, [of] if is_text(of)) {
        return to_text(call, |text, out| {
            out.push_str(&text::hex_bytes(text.as_bytes()));
            Ok(true)
        });
    }
    let arguments = call.take(&[Parameter::Whole], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let numbers = arguments.longs(0)?;
        build_texts(arguments.rows, |row, out| {
            let Some(number) = numbers.get(row) else { return Ok(false) };
            out.push_str(&text::hex_number(number));
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn to_base64(call: &Bind<'_>) -> Result<Bound, Error> {
    to_text(call, |text, out| {
        out.push_str(&text::to_base64(text.as_bytes()));
        Ok(true)
    })
}

fn encode(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text, Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (texts, charsets) = (arguments.texts(0)?, arguments.texts(1)?);
        build_bytes(arguments.rows, |row| {
            let (Some(text), Some(charset)) = (texts.get(row), charsets.get(row)) else { return Ok(None) };
            Ok(Some(text::Charset::of(charset).map_err(failed)?.encode(text)))
        })
    });
    Ok(call.bound(arguments, DataType::Binary, kernel))
}

fn decode(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Bytes, Parameter::Text], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (bytes, charsets) = (arguments.bytes(0)?, arguments.texts(1)?);
        build_texts(arguments.rows, |row, out| {
            let (Some(bytes), Some(charset)) = (bytes.get(row), charsets.get(row)) else { return Ok(false) };
            out.push_str(&text::Charset::of(charset).map_err(failed)?.decode(bytes));
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}

fn parse_url(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Text; 3], 1)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (urls, parts) = (arguments.texts(0)?, arguments.texts(1)?);
        let keys = if arguments.values.len() > 2 { Some(arguments.texts(2)?) } else { None };
        build_texts(arguments.rows, |row, out| {
            let (Some(url), Some(part)) = (urls.get(row), parts.get(row)) else { return Ok(false) };
            let value = match &keys {
                Some(keys) => keys.get(row).and_then(|key| text::parse_url_key(url, part, key)),
                None => text::parse_url(url, part),
            };
            Ok(value.inspect(|value| out.push_str(value)).is_some())
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}
