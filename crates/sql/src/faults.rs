//! All that is wrong with a script, so that its author need not run it once for each fault.

use crate::position::Position;
use headpond_state::{Error, Result};
use std::collections::BTreeSet;

/// The faults found so far.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    found: Vec<(Option<Position>, Error)>,
    /// Tables and views that the script would have if its faults were mended.
    undefined: BTreeSet<String>,
}

impl Faults {
    /// Adds the fault of a statement; none where it follows from that of an earlier one, whose table it names.
    pub(crate) fn add(&mut self, position: Position, text: &str, error: Error) {
        if !self.follow(text) {
            self.found.push((Some(position), error));
        }
        self.undefined.extend(defined(text));
    }

    /// Adds a fault of the script as a whole.
    pub(crate) fn add_of_script(&mut self, error: Error) {
        if !self.follow(&error.to_string()) {
            self.found.push((None, error));
        }
    }

    /// Nothing, or all faults in the order of the script: the first one, and the [others](Error::further) with it.
    pub(crate) fn into_result(mut self) -> Result<()> {
        self.found.sort_by_key(|(position, _)| (position.is_none(), *position));
        let mut errors = self.found.into_iter().map(|(_, error)| error);
        match errors.next() {
            Some(first) => Err(first.and(errors)),
            None => Ok(()),
        }
    }

    /// Whether a text names a table that an earlier fault has left undefined.
    fn follow(&self, text: &str) -> bool {
        !self.undefined.is_empty() && words(text).any(|word| self.undefined.contains(word))
    }
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The tables and views that a text would create, however wrong it is.
fn defined(text: &str) -> Vec<String> {
    let words: Vec<&str> = words(text).collect();
    let is = |index: usize, word: &str| words.get(index).is_some_and(|found| found.eq_ignore_ascii_case(word));
    let mut names = Vec::new();
    for create in (0..words.len()).filter(|index| is(*index, "CREATE")) {
        let mut next = create + 1;
        next += usize::from(is(next, "TEMPORARY"));
        if !is(next, "TABLE") && !is(next, "VIEW") {
            continue;
        }
        next += 1;
        if is(next, "IF") && is(next + 1, "NOT") && is(next + 2, "EXISTS") {
            next += 3;
        }
        names.extend(words.get(next).map(|name| (*name).to_owned()));
    }
    names
}
