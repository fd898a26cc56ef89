//! URLs as Go reads and writes them.
//!
//! In: a text. Out: its pieces, or why it is no URL, in the words of Go's `net/url`.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use crate::address;
use crate::quote::quote;

/// Why a text is no URL, without `parse "<url>": ` before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// There is no text.
    #[error("empty url")]
    Empty,
    /// A byte below the blank, or DEL.
    #[error("net/url: invalid control character in URL")]
    ControlCharacter,
    /// A request has neither a scheme nor an absolute path.
    #[error("invalid URI for request")]
    NotOfRequest,
    /// A relative path begins with what could be a scheme.
    #[error("first path segment in URL cannot contain colon")]
    ColonInPath,
    /// A colon stands first.
    #[error("missing protocol scheme")]
    NoScheme,
    /// A character that the user or password cannot have.
    #[error("net/url: invalid userinfo")]
    User,
    /// Brackets in the middle of a host, or an address of version 4 in them.
    #[error("invalid IP-literal")]
    IpLiteral,
    /// A bracket of the host is not closed.
    #[error("missing ']' in host")]
    NoBracket,
    /// What follows the host is no port; with its colon.
    #[error("invalid port {} after host", quote(.0))]
    Port(Box<str>),
    /// A percent sign without two hexadecimal digits, or with some that a host cannot have.
    #[error("invalid URL escape {}", quote(.0))]
    Escape(Box<str>),
    /// A character that a host cannot have.
    #[error("invalid character {} in host name", quote(.0.encode_utf8(&mut [0; 4])))]
    HostCharacter(char),
    /// What stands in the brackets of a host is no address.
    #[error("invalid host: {0}")]
    Address(#[from] address::AddressError),
}

/// The pieces of a URL. Shown: the URL in the way that Go writes it.
#[derive(Default)]
pub struct UrlParts<'a> {
    /// What stands before the first colon.
    pub scheme: &'a str,
    /// What follows the scheme of a URL such as `mailto:x`.
    pub opaque: &'a str,
    /// The user with the password.
    pub user: Option<&'a str>,
    /// Host and port, unescaped.
    pub host: String,
    /// The host alone, unescaped and without brackets.
    pub host_name: String,
    /// Whether the path follows the scheme, as in `file:/a`.
    pub omits_host: bool,
    /// The path, unescaped.
    pub path: String,
    /// The path as written where that is not the usual way to write it.
    pub raw_path: &'a str,
    /// The path as it stands in the URL: as written where that is well-formed.
    pub escaped_path: String,
    /// The query as written.
    pub query: Option<&'a str>,
    /// The fragment, unescaped.
    pub fragment: String,
    /// The fragment as written where that is not the usual way to write it.
    pub raw_fragment: &'a str,
    /// The fragment as it stands in the URL.
    pub escaped_fragment: String,
}

/// Takes a URL apart.
///
/// # Errors
/// The cause as Go's parser names it.
pub fn split(url: &str) -> Result<UrlParts<'_>, UrlError> {
    let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
    let mut parts = split_before_fragment(url, false)?;
    check_escapes(fragment)?;
    (parts.fragment, parts.raw_fragment, parts.escaped_fragment) = part(fragment, FRAGMENT, b"?");
    Ok(parts)
}

/// Takes the URL of a request apart: an absolute one, or an absolute path. It has no fragment, `#`
/// is a character like others.
///
/// # Errors
/// As [`split`].
pub fn split_request(url: &str) -> Result<UrlParts<'_>, UrlError> {
    if url.is_empty() {
        return Err(UrlError::Empty);
    }
    split_before_fragment(url, true)
}

fn split_before_fragment(url: &str, is_request: bool) -> Result<UrlParts<'_>, UrlError> {
    if url.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return Err(UrlError::ControlCharacter);
    }
    let mut parts = UrlParts::default();
    if url == "*" {
        (parts.path, parts.escaped_path) = ("*".into(), "*".into());
        return Ok(parts);
    }
    let (scheme, rest) = split_scheme(url)?;
    parts.scheme = scheme;
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(before, query)| (before, Some(query)));
    parts.query = query;
    let mut path = rest;
    // The path of a request may begin with two slashes.
    let may_have_host = !scheme.is_empty() || !is_request && !rest.starts_with("///");
    if let Some(after) = rest.strip_prefix("//").filter(|_| may_have_host) {
        let (authority, after) = after.split_at(after.find('/').unwrap_or(after.len()));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        (parts.user, (parts.host, parts.host_name)) = (user, split_host(host)?);
        check_user(parts.user.unwrap_or_default())?;
        path = after;
    } else if !rest.starts_with('/') {
        if !scheme.is_empty() {
            parts.opaque = rest;
            return Ok(parts);
        }
        if is_request {
            return Err(UrlError::NotOfRequest);
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err(UrlError::ColonInPath);
        }
    } else {
        parts.omits_host = !scheme.is_empty();
    }
    check_escapes(path)?;
    (parts.path, parts.raw_path, parts.escaped_path) = part(path, PATH, b"");
    Ok(parts)
}

/// A path or fragment: unescaped, as written where that is not the usual way, and as it stands in
/// the URL.
fn part<'a>(written: &'a str, usual: &'static AsciiSet, more: &[u8]) -> (String, &'a str, String) {
    let decoded = percent_decode(written);
    let encoded = percent_encode(&decoded, usual).to_string();
    let is_usual = encoded == written;
    let well_formed =
        |b: u8| b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:@[]%/".contains(&b) || more.contains(&b);
    let escaped = if written.bytes().all(well_formed) { written.into() } else { encoded };
    (crate::bytes::lossy(&decoded), if is_usual { "" } else { written }, escaped)
}

impl fmt::Display for UrlParts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme.to_ascii_lowercase())?;
        }
        let has_host = !self.host.is_empty() || self.user.is_some();
        let has_path = !self.scheme.is_empty() && !self.omits_host && !self.escaped_path.is_empty();
        if has_host || has_path {
            f.write_str("//")?;
        }
        if let Some(user) = self.user {
            for (i, half) in user.splitn(2, ':').enumerate() {
                let colon = if i > 0 { ":" } else { "" };
                write!(f, "{colon}{}", percent_encode(&percent_decode(half), USER))?;
            }
            f.write_str("@")?;
        }
        let first = self.escaped_path.split('/').next().unwrap_or_default();
        if self.scheme.is_empty() && !has_host && first.contains(':') {
            f.write_str("./")?;
        }
        let host = percent_encode(self.host.as_bytes(), HOST);
        write!(f, "{}{host}{}", self.opaque, self.escaped_path)?;
        if let Some(query) = self.query {
            write!(f, "?{query}")?;
        }
        if !self.escaped_fragment.is_empty() {
            write!(f, "#{}", self.escaped_fragment)?;
        }
        Ok(())
    }
}

/// The scheme, if there is one, and what follows it.
fn split_scheme(url: &str) -> Result<(&str, &str), UrlError> {
    for (i, b) in url.bytes().enumerate() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return Err(UrlError::NoScheme),
            b':' => return Ok((url.get(..i).unwrap_or_default(), url.get(i + 1..).unwrap_or_default())),
            _ => break,
        }
    }
    Ok(("", url))
}

fn check_user(user: &str) -> Result<(), UrlError> {
    let valid = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
    if !user.bytes().all(valid) {
        return Err(UrlError::User);
    }
    check_escapes(user)
}

/// Host and port, and the host without port and brackets; both unescaped.
fn split_host(host: &str) -> Result<(String, String), UrlError> {
    if let Some(open) = host.find('[') {
        if open > 0 {
            return Err(UrlError::IpLiteral);
        }
        let close = host.rfind(']').ok_or(UrlError::NoBracket)?;
        let port = host.get(close + 1..).unwrap_or_default();
        check_port(port)?;
        let inner = host.get(1..close).unwrap_or_default();
        let (address, zone) = match inner.split_once("%25") {
            Some((address, zone)) => (address, Some(zone)),
            None => (inner, None),
        };
        check_host_text(address)?;
        let zone = zone.map(unescape_zone).transpose()?;
        let literal = match zone {
            Some(zone) => format!("{address}%{zone}"),
            None => address.to_string(),
        };
        address::check(&literal)?;
        return Ok((format!("[{literal}]{port}"), literal));
    }
    let (name, port) = match host.find(':') {
        // With several colons the reference reports from the first one.
        Some(i) => host.split_at(i),
        None => (host, ""),
    };
    check_port(port)?;
    check_host_text(host)?;
    let name = crate::bytes::lossy(&percent_decode(name));
    Ok((format!("{name}{port}"), name))
}

fn check_port(port: &str) -> Result<(), UrlError> {
    let digits = port.strip_prefix(':');
    let valid = port.is_empty() || digits.is_some_and(|d| d.bytes().all(|b| b.is_ascii_digit()));
    if valid { Ok(()) } else { Err(UrlError::Port(port.into())) }
}

/// Characters and escapes of a host: only bytes beyond ASCII may be escaped.
fn check_host_text(host: &str) -> Result<(), UrlError> {
    for (i, b) in host.bytes().enumerate() {
        if b == b'%' {
            let escape = host.get(i..(i + 3).min(host.len())).unwrap_or("%");
            let high = escape.as_bytes().get(1).copied().and_then(|b| char::from(b).to_digit(16));
            let low = escape.as_bytes().get(2).copied().and_then(|b| char::from(b).to_digit(16));
            if !(high.is_some_and(|h| h >= 8) && low.is_some()) {
                return Err(UrlError::Escape(escape.into()));
            }
        } else if b.is_ascii() && !b.is_ascii_alphanumeric() && !b"-_.~!$&'()*+,;=:[]<>\"".contains(&b) {
            return Err(UrlError::HostCharacter(b.into()));
        }
    }
    Ok(())
}

fn unescape_zone(zone: &str) -> Result<String, UrlError> {
    check_escapes(zone)?;
    Ok(crate::bytes::lossy(&percent_decode(zone)))
}

fn check_escapes(s: &str) -> Result<(), UrlError> {
    for (i, _) in s.match_indices('%') {
        let digits = s.as_bytes().get(i + 1..i + 3);
        if !digits.is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit)) {
            let mut end = (i + 3).min(s.len());
            while !s.is_char_boundary(end) {
                end += 1;
            }
            return Err(UrlError::Escape(s.get(i..end).unwrap_or("%").into()));
        }
    }
    Ok(())
}

/// A key or value of a query, unescaped; `None` when an escape is malformed.
pub fn unescaped_query(text: &str) -> Option<String> {
    check_escapes(text).ok()?;
    Some(crate::bytes::lossy(&percent_decode(&text.replace('+', " "))))
}

fn percent_decode(s: &str) -> Vec<u8> {
    percent_encoding::percent_decode_str(s).collect()
}

/// What is escaped in a path that is written in the usual way.
const PATH: &AsciiSet = &USER.remove(b'/').remove(b':').remove(b'@');

/// What is escaped in a user or password.
const USER: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// What is escaped in a fragment.
const FRAGMENT: &AsciiSet = &PATH.remove(b'?').remove(b'!').remove(b'(').remove(b')').remove(b'*');

/// What is escaped in a host.
const HOST: &AsciiSet = &USER
    .remove(b'!')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b':')
    .remove(b'[')
    .remove(b']')
    .remove(b'<')
    .remove(b'>')
    .remove(b'"');
