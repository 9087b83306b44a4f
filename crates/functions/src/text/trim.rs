//! TRIM, LTRIM, RTRIM, BTRIM: the second argument is a set of characters; the default is the space alone.

/// LTRIM and TRIM(LEADING …): without the leading characters of the set.
pub fn trim_left<'a>(text: &'a str, set: &str) -> &'a str {
    if set == " " { text.trim_start_matches(' ') } else { text.trim_start_matches(|c| set.contains(c)) }
}

/// RTRIM and TRIM(TRAILING …): without the trailing characters of the set.
pub fn trim_right<'a>(text: &'a str, set: &str) -> &'a str {
    if set == " " { text.trim_end_matches(' ') } else { text.trim_end_matches(|c| set.contains(c)) }
}

/// TRIM, BTRIM and TRIM(BOTH …): without the leading and trailing characters of the set.
pub fn trim_both<'a>(text: &'a str, set: &str) -> &'a str {
    trim_right(trim_left(text, set), set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trims_sets() {
        assert_eq!(trim_both("xyaxy", "xy"), "a");
        assert_eq!(trim_both("\ta\t", " "), "\ta\t");
        assert_eq!(trim_left("  padded  ", " "), "padded  ");
        assert_eq!(trim_right("baa", "a"), "b");
        assert_eq!(trim_both("aa", ""), "aa");
        assert_eq!(trim_both("xx", "x"), "");
    }
}
