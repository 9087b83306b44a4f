//! CONCAT_WS and ELT.

/// CONCAT_WS: the values joined; NULLs are left out, empty texts are kept; empty if all are NULL.
pub fn concat_ws<'a>(out: &mut String, separator: &str, values: impl IntoIterator<Item = Option<&'a str>>) {
    for (i, value) in values.into_iter().flatten().enumerate() {
        if i > 0 {
            out.push_str(separator);
        }
        out.push_str(value);
    }
}

/// ELT: the value at an index counted from 1; None (NULL) if there is none.
pub fn elt<T: Copy>(index: i64, values: &[Option<T>]) -> Option<T> {
    let place = usize::try_from(index.checked_sub(1)?).ok()?;
    values.get(place).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins() {
        let mut out = String::new();
        concat_ws(&mut out, ",", [Some("a"), None, Some(""), Some("c")]);
        assert_eq!(out, "a,,c");
        assert_eq!(elt(2, &[Some("a"), Some("b")]), Some("b"));
        assert_eq!(elt(0, &[Some("a")]), None);
        assert_eq!(elt(i64::MIN, &[Some("a")]), None);
    }
}
