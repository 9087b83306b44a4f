//! DataFusion's words in SQL's: `Int64(0)` is `0`, `Utf8("a")` is `'a'`, `Int64` is `BIGINT`.
//!
//! Expressions and messages of DataFusion name Arrow's types. People read them, so they are put into the words of a
//! query.

/// The text in the words of SQL.
pub(crate) fn in_sql(text: &str) -> String {
    let mut sql = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        if !is_part(first) {
            sql.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let replaced = literal(word, behind).or_else(|| data_type(word, behind));
        match replaced {
            Some((written, taken)) => {
                sql.push_str(&written);
                rest = &behind[taken..];
            }
            None => {
                sql.push_str(word);
                rest = behind;
            }
        }
    }
    sql
}

/// A literal of the type `word`, and how many bytes of what follows belong to it.
fn literal(word: &str, behind: &str) -> Option<(String, usize)> {
    let inside = behind.strip_prefix('(')?;
    let name = name_of(word)?;
    if let Some(quoted) = inside.strip_prefix('"') {
        let end = quoted.find("\")")?;
        let (value, taken) = (&quoted[..end], end + 4);
        return Some(match word {
            "Date32" => (format!("DATE '{value}'"), taken),
            _ if name == "INTERVAL" => (interval(value), taken),
            _ => (format!("'{value}'"), taken),
        });
    }
    if let Some(decimal) = inside.strip_prefix("Some(") {
        let end = decimal.find(')')?;
        let (unscaled, behind_value) = (&decimal[..end], &decimal[end + 1..]);
        let close = behind_value.find(')')?;
        let scale = behind_value[..close].rsplit(',').next()?.trim().parse().ok()?;
        return Some((with_point(unscaled, scale), 1 + "Some(".len() + end + 1 + close + 1));
    }
    let end = inside.find(')')?;
    let value = &inside[..end];
    let is_value = matches!(value, "NULL" | "true" | "false") || (!value.contains(',') && value.parse::<f64>().is_ok());
    is_value.then(|| (value.to_owned(), end + 2))
}

/// The name of the type `word`, and how many bytes of what follows belong to it.
fn data_type(word: &str, behind: &str) -> Option<(String, usize)> {
    if word == "Timestamp" && behind.starts_with('(') {
        let end = behind.find(')')?;
        let inside = &behind[1..end];
        let zoned = inside.contains('"') && !inside.contains("None");
        // `Some("UTC")` has a parenthesis of its own.
        let taken = if inside.contains("Some(") { end + 2 } else { end + 1 };
        let name = if zoned { "TIMESTAMP_LTZ(3)" } else { "TIMESTAMP(3)" };
        return Some((name.to_owned(), taken.min(behind.len())));
    }
    name_of(word).map(|name| (name.to_owned(), 0))
}

fn name_of(word: &str) -> Option<&'static str> {
    Some(match word {
        "Boolean" => "BOOLEAN",
        "Int8" => "TINYINT",
        "Int16" | "UInt8" => "SMALLINT",
        "Int32" | "UInt16" => "INT",
        "Int64" | "UInt32" | "UInt64" => "BIGINT",
        "Float16" | "Float32" => "FLOAT",
        "Float64" => "DOUBLE",
        "Decimal32" | "Decimal64" | "Decimal128" | "Decimal256" => "DECIMAL",
        "Utf8" | "Utf8View" | "LargeUtf8" => "STRING",
        "BinaryView" | "LargeBinary" => "BYTES",
        "Date32" | "Date64" => "DATE",
        "IntervalMonthDayNano" | "IntervalDayTime" | "IntervalYearMonth" => "INTERVAL",
        _ => return None,
    })
}

/// `IntervalMonthDayNano { months: 0, days: 1, nanoseconds: 0 }` as `INTERVAL '1 days'`.
fn interval(value: &str) -> String {
    let inside = value.split_once('{').map_or(value, |(_, inside)| inside).trim_end_matches('}');
    let parts = inside.split(',').filter_map(|part| part.trim().split_once(": "));
    let parts: Vec<String> =
        parts.filter(|(_, count)| *count != "0").map(|(unit, count)| format!("{count} {unit}")).collect();
    if parts.is_empty() { "INTERVAL '0'".to_owned() } else { format!("INTERVAL '{}'", parts.join(" ")) }
}

/// The decimal with so many digits behind the point.
fn with_point(unscaled: &str, scale: usize) -> String {
    if scale == 0 {
        return unscaled.to_owned();
    }
    let (sign, digits) = match unscaled.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", unscaled),
    };
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::in_sql;

    #[test]
    fn literals_and_types_are_those_of_sql() {
        for (written, expected) in [
            ("v / Int64(0)", "v / 0"),
            ("k = Utf8(\"a (b)\") AND x", "k = 'a (b)' AND x"),
            ("d > Decimal128(Some(-5),3,2)", "d > -0.05"),
            ("coalesce(v,Int32(NULL)) > Float64(-1.5)", "coalesce(v,NULL) > -1.5"),
            ("day = Date32(\"2013-01-01\")", "day = DATE '2013-01-01'"),
            (
                "ts - IntervalMonthDayNano(\"IntervalMonthDayNano { months: 0, days: 1, nanoseconds: 0 }\")",
                "ts - INTERVAL '1 days'",
            ),
            ("Utf8 + Decimal128(38, 2)", "STRING + DECIMAL(38, 2)"),
            ("Timestamp(ms, \"UTC\") and Timestamp(Millisecond, None)", "TIMESTAMP_LTZ(3) and TIMESTAMP(3)"),
            ("Int640 (Int64", "Int640 (BIGINT"),
        ] {
            assert_eq!(in_sql(written), expected);
        }
    }
}
