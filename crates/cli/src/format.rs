//! Figures as people read them.

pub(crate) use headpond_launch::figures::{per_second, time};
use headpond_state::printable::OneLine;
use std::fmt;
use std::time::Duration;

/// A count with a comma between each three digits: `12,345`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count(pub(crate) u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// Characters of the longest cell of a table; what is longer is cut.
const CELL_CHARS_MAX: usize = 1000;

/// A text as a cell of a table: on one line, and of a length that a line can have.
pub(crate) fn cell(text: &str) -> String {
    match text.char_indices().nth(CELL_CHARS_MAX) {
        Some((end, _)) => format!("{}…", OneLine(&text[..end])),
        None => OneLine(text).to_string(),
    }
}

/// Rows of cells as lines, each column as wide as its widest cell.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let rows: Vec<[String; N]> = rows.iter().map(|row| std::array::from_fn(|column| cell(&row[column]))).collect();
    let widths: [usize; N] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// A number of bytes: `17 B`, `1.5 MiB`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        match units.into_iter().find(|(_, shift)| self.0 >> shift > 0) {
            Some((unit, shift)) => write!(f, "{:.1} {unit}", self.0 as f64 / (1_u64 << shift) as f64),
            None => write!(f, "{} B", self.0),
        }
    }
}

/// A time span: `3 ms`, `12.3 s`, `4 min 5 s`, `2 h 3 min`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span(pub(crate) Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match seconds {
            0 => write!(f, "{} ms", self.0.as_millis()),
            1..=119 => write!(f, "{:.1} s", self.0.as_secs_f64()),
            120..=7199 => write!(f, "{} min {} s", seconds / 60, seconds % 60),
            _ => write!(f, "{} h {} min", seconds / 3600, seconds / 60 % 60),
        }
    }
}

/// A time that is estimated: whole seconds, and no more of them than matter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Remaining(pub(crate) Duration);

impl fmt::Display for Remaining {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64().ceil() as u64;
        match seconds {
            0..60 => write!(f, "{seconds} s"),
            60..600 => write!(f, "{} min {} s", seconds / 60, seconds % 60),
            600..7200 => write!(f, "{} min", seconds.div_ceil(60)),
            _ => write!(f, "{} h {} min", seconds / 3600, seconds / 60 % 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_one_line_of_a_length_that_a_line_can_have() {
        assert_eq!(cell("a\x1b[2J\nb"), r"a\u001b[2J\nb");
        assert_eq!(cell(&"ä".repeat(70_000)).chars().count(), CELL_CHARS_MAX + 1);
        let rows = [["a".to_owned(), "\x1b".repeat(70_000)], ["b".repeat(70_000), String::new()]];
        assert!(!table(&rows).contains('\x1b'));
    }

    #[test]
    fn figures_are_written_for_people() {
        assert_eq!(Count(0).to_string(), "0");
        assert_eq!(Count(999).to_string(), "999");
        assert_eq!(Count(1_234_567).to_string(), "1,234,567");
        assert_eq!(Bytes(1023).to_string(), "1023 B");
        assert_eq!(Bytes(3 << 19).to_string(), "1.5 MiB");
        assert_eq!(Span(Duration::from_millis(12_340)).to_string(), "12.3 s");
        assert_eq!(Span(Duration::from_secs(245)).to_string(), "4 min 5 s");
        assert_eq!(Remaining(Duration::from_millis(4_200)).to_string(), "5 s");
        assert_eq!(Remaining(Duration::from_secs(84)).to_string(), "1 min 24 s");
        assert_eq!(Remaining(Duration::from_secs(1_201)).to_string(), "21 min");
        assert_eq!(time(1_359_673_200_000), "2013-01-31T23:00:00");
        assert_eq!(time(-1), "1969-12-31T23:59:59.999");
    }
}
