//! Functions of texts.

use super::text_calls::{
    concat, concat_ws, decode, elt, encode, hex, instr, locate, overlay, pad, parse_url, repeat, replace, side, split,
    split_index, str_to_map, substring, test, to_base64, to_boolean, to_int, to_text, translate, trim,
};
use super::text_error::int;
use crate::bind::{Category, Function, Parameter};
use crate::bound::Kernel;
use crate::columns::{build_bytes, build_ints, build_longs, build_texts};
use crate::text;
use arrow_schema::DataType;
use std::sync::Arc;

const CHAPTER: Category = Category::Text;

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
