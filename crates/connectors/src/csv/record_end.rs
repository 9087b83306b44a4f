//! Where a row ends that is longer than what is kept of a file.

use super::Dialect;

/// Looks for the end of a row, piece by piece, by the rules by which [`Scanner`](super::scan::Scanner) finds its
/// fields.
#[derive(Debug)]
pub(super) struct RecordEnd {
    delimiter: u8,
    quote: Option<u8>,
    escape: Option<u8>,
    at: ByteRole,
}

/// What the next byte is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteRole {
    FieldBegin,
    Bare,
    BareEscaped,
    Quoted,
    QuotedEscaped,
    /// Behind a quote in quotes: it closes them, unless another follows.
    BehindQuote,
    End,
}

impl RecordEnd {
    /// At the row's beginning.
    pub(super) fn new(dialect: &Dialect) -> Self {
        let Dialect { delimiter, quote, escape, .. } = *dialect;
        RecordEnd { delimiter, quote, escape, at: ByteRole::FieldBegin }
    }

    /// How many of these bytes, which follow those before, belong to the row; `None` if it goes on behind them.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        for (index, &byte) in bytes.iter().enumerate() {
            self.at = self.next(byte);
            if self.at == ByteRole::End {
                return Some(index + 1);
            }
        }
        None
    }

    /// Whether a quote is open: at the end of the file, that the row has no end.
    pub(super) fn is_in_quotes(&self) -> bool {
        matches!(self.at, ByteRole::Quoted | ByteRole::QuotedEscaped)
    }

    fn next(&self, byte: u8) -> ByteRole {
        let (is_quote, is_escape) = (self.quote == Some(byte), self.escape == Some(byte));
        match self.at {
            ByteRole::FieldBegin if is_quote => ByteRole::Quoted,
            ByteRole::BareEscaped => ByteRole::Bare,
            ByteRole::Quoted if is_quote => ByteRole::BehindQuote,
            ByteRole::Quoted if is_escape => ByteRole::QuotedEscaped,
            ByteRole::Quoted | ByteRole::QuotedEscaped => ByteRole::Quoted,
            ByteRole::BehindQuote if is_quote => ByteRole::Quoted,
            _ if byte == self.delimiter => ByteRole::FieldBegin,
            _ if byte == b'\n' => ByteRole::End,
            _ if is_escape => ByteRole::BareEscaped,
            _ => ByteRole::Bare,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::{Scan, Scanner};
    use super::*;

    /// All texts of up to seven bytes of those that matter end where the scanner ends them.
    #[test]
    fn rows_end_where_the_scanner_ends_them() {
        for escape in [None, Some(b'\\')] {
            let dialect = Dialect {
                header: false,
                delimiter: b',',
                quote: Some(b'"'),
                escape,
                null_literal: None,
                comments: false,
                ignore_errors: true,
            };
            let alphabet = *b"a,\"\\\n\r";
            for length in 1..=7_u32 {
                for number in 0..alphabet.len().pow(length) {
                    let digits = (0..length).map(|place| number / alphabet.len().pow(place) % alphabet.len());
                    let text: Vec<u8> = digits.map(|digit| alphabet[digit]).collect();
                    compare(&dialect, &text);
                }
            }
        }
    }

    fn compare(dialect: &Dialect, text: &[u8]) {
        let mut end = RecordEnd::new(dialect);
        let found = end.find(text);
        match Scanner::new(dialect).scan(text, true) {
            // Those are not long.
            Scan::Nothing(_) | Scan::End => {}
            Scan::Row(extent) | Scan::BehindQuote(extent) => {
                let shown = String::from_utf8_lossy(text);
                assert_eq!(found.unwrap_or(text.len()), extent.bytes, "{shown:?}");
                assert!(found.is_some() || !end.is_in_quotes(), "{shown:?}");
            }
            Scan::Unclosed => assert!(found.is_none() && end.is_in_quotes(), "{:?}", String::from_utf8_lossy(text)),
            Scan::Incomplete => panic!("{:?} is all there is", String::from_utf8_lossy(text)),
        }
    }
}
