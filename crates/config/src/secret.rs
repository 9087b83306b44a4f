//! Secrets: which options hold them, and how they stay out of what is shown.
//!
//! A value is a secret's by the name of its option, also where the name is misspelt or the text around it is not what
//! it should be: that is when texts are quoted. [`mask`] hides the secrets of a text in the text itself, [`Secrets`]
//! those of one text in others, such as the messages about it.

use crate::environment::known_keys;
use crate::secret_words::{MASK, WORDS, has_word, mask_urls};
use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

/// How much like such a word a misspelt one is.
const ALIKE: f64 = 0.8;
/// Shorter texts are hidden only where a message quotes them: anywhere else they are parts of words.
const LENGTH_MIN: usize = 4;

/// Whether the value of `key` is a secret, judged by the key's words (`…password`, `…secret…`, `…access-key…`, …),
/// misspelt ones too.
///
/// It is meant for options of tables and stores as well as for those of the registry.
pub fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    if has_word(&key) {
        return true;
    }
    if known_keys().any(|known| known == key) {
        return false;
    }
    let is_like = |part: &str, word: &str| strsim::normalized_damerau_levenshtein(part, word) >= ALIKE;
    let misspelt = |part: &str| part.len() >= 6 && WORDS.iter().any(|word| is_like(part, word));
    key.split(['.', '-', '_']).any(misspelt)
        || (key.contains(['.', '-', '_']) && known_secrets().iter().any(|known| is_like(&key, known)))
}

/// The secrets of the registry.
fn known_secrets() -> &'static [&'static str] {
    static KEYS: OnceLock<Vec<&'static str>> = OnceLock::new();
    KEYS.get_or_init(|| known_keys().filter(|key| has_word(key)).collect())
}

/// The text without its secrets: values of options that hold some, and credentials in URLs.
///
/// ```
/// # use headpond_config::mask;
/// assert_eq!(mask("SET 's3.secret-key' = 'hush'"), "SET 's3.secret-key' = ******");
/// assert_eq!(mask("https://me:hush@host/x"), "https://******@host/x");
/// ```
pub fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut behind = 0;
    for value in values(text, true) {
        masked.push_str(&text[behind..value.start]);
        masked.push_str(MASK);
        behind = value.end;
    }
    masked.push_str(&text[behind..]);
    mask_urls(&masked).into_owned()
}

/// The secrets of a text, to keep them out of others.
#[derive(Clone, Default)]
pub struct Secrets {
    values: Vec<String>,
}

impl Secrets {
    /// The secrets of a statement, a setting or a file of settings.
    pub fn of(text: &str) -> Self {
        let mut secrets = Secrets::default();
        for value in values(text, true) {
            secrets.add(&text[value]);
        }
        secrets
    }

    /// The secrets of a text that has other things in it too, such as a SQL file. Texts that merely could be secrets
    /// are not among them.
    pub fn certain(text: &str) -> Self {
        let mut secrets = Secrets::default();
        for value in values(text, false) {
            secrets.add(&text[value]);
        }
        secrets
    }

    /// Adds a secret.
    pub fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        let bare = secret.strip_prefix(is_quote).map_or(secret, |rest| rest.strip_suffix(is_quote).unwrap_or(rest));
        let unescaped = bare.replace("''", "'");
        for value in [bare, &unescaped] {
            if !value.is_empty() && !self.values.iter().any(|known| known == value) {
                self.values.push(value.to_owned());
            }
        }
        // The longest first: one may be a part of another.
        self.values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    /// Adds those of another text.
    pub fn extend(&mut self, others: Secrets) {
        others.values.iter().for_each(|value| self.add(value));
    }

    /// The text without them.
    pub fn hide(&self, text: &str) -> String {
        let mut hidden = text.to_owned();
        for value in self.values.iter().filter(|value| value.len() >= LENGTH_MIN) {
            if hidden.contains(value.as_str()) {
                hidden = hidden.replace(value.as_str(), MASK);
            }
        }
        mask_urls(&hidden).into_owned()
    }

    /// A message about the text without them, and without the parts of them that it quotes: as `` `…` `` or behind
    /// `found`.
    pub fn hide_quoted(&self, message: &str) -> String {
        let hidden = self.hide(message);
        if self.values.is_empty() {
            return hidden;
        }
        let is_part = |quoted: &str| {
            let quoted = quoted.trim().trim_matches(is_quote).trim_end_matches('…');
            !quoted.is_empty()
                && self.values.iter().any(|value| value.contains(quoted) || quoted.contains(value.as_str()))
        };
        let mut parts: Vec<Cow<'_, str>> = hidden.split('`').map(Cow::Borrowed).collect();
        let count = parts.len();
        for (index, part) in parts.iter_mut().enumerate() {
            let is_quoted = index % 2 == 1 && index + 1 < count;
            if is_quoted && is_part(part) {
                *part = Cow::Borrowed(MASK);
            } else if !is_quoted
                && let Some((before, found)) = part.rsplit_once("found: ")
                && is_part(found)
            {
                *part = Cow::Owned(format!("{before}found: {MASK}"));
            }
        }
        parts.join("`")
    }
}

/// How many, and not which.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("count", &self.values.len()).finish_non_exhaustive()
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '\'' | '"' | '`' | '“' | '”' | '‘' | '’')
}

fn is_key(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '-' | '_')
}

/// Where the values of secret options are in a text. `all`: also where something else could stand, because a quote or
/// an equals sign is missing.
fn values(text: &str, all: bool) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(is_key).map(|start| at + start) {
        let end = text[start..].find(|c| !is_key(c)).map_or(text.len(), |length| start + length);
        at = end;
        let quoted = text[..start].ends_with(is_quote);
        // A column may have such a name too.
        let is_key = all || quoted || ends_with_set(&text[..start]);
        if !is_key || !is_secret(&text[start..end]) {
            continue;
        }
        if let Some(value) = value_behind(text, end, quoted, all) {
            at = value.end.max(end);
            found.push(value);
        }
    }
    found
}

/// Where the value is of a key that ends at `end`.
fn value_behind(text: &str, end: usize, quoted: bool, all: bool) -> Option<std::ops::Range<usize>> {
    let place = |rest: &str| text.len() - rest.len();
    let behind = &text[end..];
    let closed = behind.strip_prefix(is_quote);
    let rest = closed.unwrap_or(behind).trim_start();
    let value = rest.trim_start_matches(['=', ':', '>']).trim_start();
    let has_separator = value.len() < rest.len() && rest.starts_with(['=', ':']);
    let is_setting = has_separator || (all && quoted && closed.is_some()) || (all && is_set(text));
    if !is_setting || value.is_empty() || value.starts_with([',', ')', ';', ']', '}']) {
        return None;
    }
    let start = place(value);
    let line_end = start + value.find('\n').unwrap_or(value.len());
    let Some(open) = value.chars().next().filter(|c| is_quote(*c)) else {
        // A value without quotes: to the end of the line, or of the word where more may follow.
        let ends = |c: char| c == ';' || c == '\n' || (!all && (c.is_whitespace() || matches!(c, ',' | ')')));
        let length = value.find(ends).unwrap_or(value.len());
        return Some(start..start + value[..length].trim_end().len());
    };
    match closing(value, open) {
        Some(length) => {
            let after = value[length..].trim_start_matches([' ', '\t', '\r']);
            let ends_here =
                after.is_empty() || after.starts_with([',', ')', ';', '\n', ']', '}', '#']) || after.starts_with("--");
            // A quote too many or too few: nobody knows where the value ends.
            Some(start..if ends_here || !all { start + length } else { line_end.max(start + length) })
        }
        None => Some(start..if all { text.len() } else { line_end }),
    }
}

/// How long a quoted text is, its quotes included. A doubled quote stands for one.
fn closing(value: &str, open: char) -> Option<usize> {
    let close = match open {
        '“' => '”',
        '‘' => '’',
        other => other,
    };
    let mut characters = value.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c == close && characters.next_if(|(_, next)| *next == close).is_none() {
            return Some(at + c.len_utf8());
        }
    }
    None
}

fn ends_with_set(text: &str) -> bool {
    let text = text.trim_end();
    text.len() >= 3 && text.is_char_boundary(text.len() - 3) && text[text.len() - 3..].eq_ignore_ascii_case("SET")
}

/// Whether the text is one setting, and so whatever is behind its key a value.
fn is_set(text: &str) -> bool {
    let first = text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).unwrap_or_default();
    first.eq_ignore_ascii_case("SET") || !text.contains(char::is_whitespace)
}
