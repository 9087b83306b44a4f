//! PARSE_URL: the parts of a URL as `java.net.URL` divides it.

use std::net::Ipv6Addr;

/// The parts of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlParts<'a> {
    protocol: String,
    authority: Option<&'a str>,
    user_info: Option<&'a str>,
    host: &'a str,
    path: String,
    query: Option<&'a str>,
    reference: Option<&'a str>,
}

const PROTOCOLS: [&str; 6] = ["http", "https", "ftp", "file", "jar", "mailto"];

impl<'a> UrlParts<'a> {
    /// Divides a URL; None if it has no protocol that Java knows, or a host or port that Java refuses.
    pub fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim_matches(|c| c <= ' ');
        let text = match text.get(..4) {
            Some(prefix) if prefix.eq_ignore_ascii_case("url:") => text.get(4..)?,
            _ => text,
        };
        let colon = text.find([':', '/']).filter(|i| text.get(*i..).is_some_and(|t| t.starts_with(':')))?;
        let protocol = text.get(..colon)?.to_ascii_lowercase();
        if !PROTOCOLS.contains(&protocol.as_str()) {
            return None;
        }
        let rest = text.get(colon + 1..)?;
        let (rest, reference) = match rest.split_once('#') {
            Some((rest, reference)) => (rest, Some(reference)),
            None => (rest, None),
        };
        let mut parts =
            Self { protocol, authority: None, user_info: None, host: "", path: String::new(), query: None, reference };
        if parts.protocol == "mailto" && rest.is_empty() {
            return None;
        }
        if parts.protocol == "jar" {
            Self::parse(rest.get(..rest.rfind("!/")?)?)?;
        }
        if matches!(parts.protocol.as_str(), "mailto" | "jar") {
            parts.path = rest.to_owned();
            return Some(parts);
        }
        let (mut rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query)),
            None => (rest, None),
        };
        parts.query = query;
        if let Some(after) = rest.strip_prefix("//").filter(|_| !rest.starts_with("////")) {
            let end = after.find('/').unwrap_or(after.len());
            let (authority, path) = after.split_at(end);
            parts.set_authority(authority)?;
            rest = path;
        }
        let separator = if parts.authority.is_some() && !rest.is_empty() && !rest.starts_with('/') { "/" } else { "" };
        parts.path = format!("{separator}{rest}");
        Some(parts)
    }

    fn set_authority(&mut self, authority: &'a str) -> Option<()> {
        self.authority = Some(authority);
        let mut host = authority;
        if let Some((user, after)) = authority.split_once('@') {
            if after.contains('@') {
                return Some(());
            }
            self.user_info = Some(user);
            host = after;
        }
        let port = if host.starts_with('[') {
            let end = host.find(']').filter(|i| *i > 2)?;
            let address = host.get(1..end)?;
            address.split('%').next()?.parse::<Ipv6Addr>().ok()?;
            let (literal, port) = host.split_at(end + 1);
            host = literal;
            if port.is_empty() { "" } else { port.strip_prefix(':')? }
        } else {
            let (name, port) = host.split_once(':').unwrap_or((host, ""));
            host = name;
            port
        };
        if !port.is_empty() && port.parse::<i32>().ok()? < -1 {
            return None;
        }
        self.host = host;
        Some(())
    }

    /// The value of a part: HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY or USERINFO, in upper case.
    /// None (NULL) if the URL has no such part, or the part's name is another.
    pub fn part(&self, name: &str) -> Option<String> {
        match name {
            "HOST" => Some(self.host.to_owned()),
            "PATH" => Some(self.path.clone()),
            "QUERY" => self.query.map(str::to_owned),
            "REF" => self.reference.map(str::to_owned),
            "PROTOCOL" => Some(self.protocol.clone()),
            "FILE" => Some(match self.query {
                Some(query) => format!("{}?{query}", self.path),
                None => self.path.clone(),
            }),
            "AUTHORITY" => self.authority.map(str::to_owned),
            "USERINFO" => self.user_info.map(str::to_owned),
            _ => None,
        }
    }
}

/// PARSE_URL(url, part): None (NULL) for what is not a URL, and for a part that is not there.
pub fn parse_url(url: &str, part: &str) -> Option<String> {
    UrlParts::parse(url)?.part(part)
}

/// PARSE_URL(url, 'QUERY', key): the value of the first parameter of that name; None (NULL) for another part.
pub fn parse_url_key(url: &str, part: &str, key: &str) -> Option<String> {
    if part != "QUERY" {
        return None;
    }
    let parts = UrlParts::parse(url)?;
    let query = parts.query?;
    // A key with `&` in it can span parameters, so parameters are not split off first.
    let starts = std::iter::once(0).chain(query.match_indices('&').map(|(i, _)| i + 1));
    starts.filter_map(|i| query.get(i..)).find_map(|rest| {
        let value = rest.strip_prefix(key)?.strip_prefix('=')?;
        value.split('&').next().map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        let url = "http://u@example.com:80/p/a.php?k1=v1&k2=v2#Ref1";
        for (part, want) in [
            ("HOST", Some("example.com")),
            ("PATH", Some("/p/a.php")),
            ("QUERY", Some("k1=v1&k2=v2")),
            ("REF", Some("Ref1")),
            ("PROTOCOL", Some("http")),
            ("FILE", Some("/p/a.php?k1=v1&k2=v2")),
            ("AUTHORITY", Some("u@example.com:80")),
            ("USERINFO", Some("u")),
            ("host", None),
        ] {
            assert_eq!(parse_url(url, part).as_deref(), want, "{part}");
        }
        assert_eq!(parse_url_key(url, "QUERY", "k2").as_deref(), Some("v2"));
        assert_eq!(parse_url_key(url, "QUERY", "k"), None);
        assert_eq!(parse_url_key(url, "HOST", "k1"), None);
    }

    #[test]
    fn odd_urls() {
        for (url, part, want) in [
            ("no url", "HOST", None),
            ("foo://x/y", "HOST", None),
            ("http:/a/b", "HOST", Some("")),
            ("http://h", "PATH", Some("")),
            ("http://h", "QUERY", None),
            ("HTTP://h/a/./b/../c", "PATH", Some("/a/./b/../c")),
            ("http://[::1]:8080/x", "HOST", Some("[::1]")),
            ("http://h:x/", "HOST", None),
            ("mailto:a@b.c", "PATH", Some("a@b.c")),
            ("file:///tmp/x", "PATH", Some("/tmp/x")),
            ("", "HOST", None),
        ] {
            assert_eq!(parse_url(url, part).as_deref(), want, "{url}");
        }
    }
}
