//! Tests of Java's regular expressions.

use super::*;

#[test]
fn matches_as_java() {
    for (pattern, text, want) in [
        ("a.c", "a\nc", false),
        ("(?s)a.c", "a\nc", true),
        ("a.c", "a\u{85}c", false),
        ("(?d)a.c", "a\rc", true),
        ("c$", "abc\r\n", true),
        ("c$", "abc\n\n", false),
        ("c\r$", "abc\r\n", false),
        ("(?m)^b$", "a\nb\nc", true),
        ("(?m)^$", "a\n", false),
        ("(?i)ABC", "xabc", true),
        ("(?i)ä", "Ä", false),
        ("(?iu)ä", "Ä", true),
        ("(?i)[^k]", "K", false),
        ("(?i)[a-c]+x", "ABCX", true),
        ("(?i:a)b", "AB", false),
        ("a(?i)b|c", "C", true),
        (r"\Qa.b\E+", "a.bb", true),
        (r"\Qa.b", "axb", false),
        (r"[a-z&&[^aeiou]]{2}", "ae xy", true),
        (r"[a-z&&[def]]", "abc", false),
        (r"^[\w&&[^\d]]+$", "ab_c", true),
        (r"^[^a-z&&[aeiou]]$", "b", true),
        (r"^\p{Alpha}+$", "abcé", false),
        (r"^\p{L}+$", "abcé", true),
        (r"^\pL+$", "é", true),
        (r"^\p{IsGreek}+$", "αβ", true),
        (r"^\p{IsAlphabetic}+$", "αb", true),
        (r"^\P{Lu}+$", "ab", true),
        (r"\d", "٣", false),
        (r"\w", "é", false),
        (r"\s", "\u{a0}", false),
        (r"\h", "\u{a0}", true),
        (r"^a\Rb$", "a\r\nb", true),
        (r"^\R\n$", "\r\n", true),
        (r"\x41\u0042\x{43}\0104", "ABCD", true),
        (r"\uD83D\uDE00", "😀", true),
        (r"^.$", "😀", true),
        (r"(a)\1", "aa", true),
        (r"(?<x>a)\k<x>", "ab", false),
        (r"a(?=b)", "ab", true),
        (r"(?<!a)b", "ab", false),
        (r"a*+a", "aaa", false),
        (r"(?>a*)a", "aaa", false),
        (r"a{2,3}?b", "aab", true),
        (r"[]a]+", "]", true),
        (r"[a-]+", "-", true),
        (r"[\d-x]", "-", true),
        (r"[[a-c]x]", "x", true),
        (r"(?x) a b # c", "ab", true),
        (r"\.\*\-\_\ ", ".*-_ ", true),
        (r"x{0}y", "y", true),
        ("", "", true),
        ("a||b", "", true),
        (r"\b{2}a", "a", true),
        ("[[:alpha:]]", "b", false),
        ("(?<!x)[[:alpha:]]", "b", false),
        ("(?<!x)[[:]]", ":", true),
    ] {
        let regex = JavaRegex::new(pattern).unwrap_or_else(|e| panic!("{pattern}: {e}"));
        assert_eq!(regex.is_match(text), Ok(want), "{pattern} {text:?}");
    }
}

#[test]
fn refuses_what_java_refuses() {
    for pattern in [
        "(",
        ")",
        "[",
        "*a",
        "a**",
        "a{",
        "a{2,1}",
        "a{x}",
        r"\",
        r"\y",
        r"\p{Foo}",
        "(?z)",
        "[z-a]",
        r"\x4",
        r"\u12",
        "(?<a>x)(?<a>y)",
        r"\k<x>",
        "[&&]",
        "(?<1>a)",
        r"\08",
    ] {
        assert!(matches!(JavaRegex::new(pattern), Err(RegexError::Invalid(_))), "{pattern}");
    }
    for pattern in ["{", r"\G", r"\X", "(?U)a", r"\p{InGreek}", r"\2(a)", r"(?i)(a)\1", r"\uD83D"] {
        assert!(matches!(JavaRegex::new(pattern), Err(RegexError::Unsupported(_))), "{pattern}");
    }
}

#[test]
fn gives_up_instead_of_hanging() {
    let regex = JavaRegex::new(r"((x+)(?=x)x+)+y").unwrap();
    assert!(regex.is_match(&"x".repeat(60)).is_err());
}

#[test]
fn splits_as_java() {
    let split = |pattern: &str, text: &'static str, limit| JavaRegex::new(pattern).unwrap().split(text, limit).unwrap();
    assert_eq!(split(",", "a,,b,,", 0), ["a", "", "b"]);
    assert_eq!(split("", "abc", 0), ["a", "b", "c"]);
    assert_eq!(split("=", "a=b=c", 2), ["a", "b=c"]);
    assert_eq!(split("x", "abc", 0), ["abc"]);
    assert_eq!(split(",", ",", 0), [""; 0]);
    assert_eq!(split(",", ",a", 0), ["", "a"]);
}
