//! Which keys hold secrets: their values are never shown.

/// What is shown in the place of a secret.
pub const MASK: &str = "******";

/// Words that make a key a secret's, as Flink has them and a few more.
const WORDS: [&str; 8] = ["password", "passwd", "secret", "token", "credential", "apikey", "accesskey", "privatekey"];

/// Whether the value of `key` is a secret, judged by the key's words (`…password`, `…secret…`, `…access-key…`, …).
///
/// It is meant for options of tables and stores as well as for those of the registry.
pub fn is_secret(key: &str) -> bool {
    let plain: String = key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    WORDS.iter().any(|word| plain.contains(word))
}

/// The value as it may be shown.
pub(crate) fn shown<'a>(key: &str, value: &'a str) -> &'a str {
    if is_secret(key) { MASK } else { value }
}
