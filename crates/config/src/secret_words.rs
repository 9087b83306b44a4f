//! The words that make an option a secret's, and what is shown in the place of secrets.

use std::borrow::Cow;

/// What is shown in the place of a secret.
pub const MASK: &str = "******";

/// Words that make a key a secret's, as Flink has them and a few more.
pub(crate) const WORDS: [&str; 17] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "apikey",
    "accesskey",
    "accountkey",
    "privatekey",
    "servicekey",
    "sharedkey",
    "authparams",
    "basicauth",
    "jaasconfig",
    "httpheaders",
    "signature",
];

/// Whether a key of the registry is a secret's.
pub(crate) fn has_word(key: &str) -> bool {
    let plain: String = key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    WORDS.iter().any(|word| plain.contains(word))
}

/// The text without the credentials of URLs in it: `scheme://user:password@host`.
pub fn mask_urls(text: &str) -> Cow<'_, str> {
    let mut masked = String::new();
    let mut behind = 0;
    for (at, separator) in text.match_indices("://") {
        let begin = at + separator.len();
        if begin < behind {
            continue;
        }
        let rest = &text[begin..];
        let rest =
            &rest[..rest.find(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`')).unwrap_or(rest.len())];
        // A password may have any character in it, `/` and `@` too.
        let Some((user, _)) = rest.rsplit_once('@') else { continue };
        let authority = rest.split('/').next().unwrap_or(rest);
        let names_container = ["abfs", "abfss", "wasb", "wasbs"].iter().any(|scheme| text[..at].ends_with(scheme));
        if authority.contains(':') || (authority.contains('@') && !names_container) {
            masked.push_str(&text[behind..begin]);
            masked.push_str(MASK);
            behind = begin + user.len();
        }
    }
    if behind == 0 {
        return Cow::Borrowed(text);
    }
    masked.push_str(&text[behind..]);
    Cow::Owned(masked)
}
