//! `is_external_url(url)`: whether a URL leads outside of private networks.
//!
//! The host must be an address or is looked up. Loopback and private addresses are inside, everything
//! else, link-local included, is outside. Errors are those of Go's URL parser and resolver.

use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};

use super::args::text;
use super::{Arg, Context};
use crate::value::quote::quote;
use crate::value::{Fault, Value};

pub(super) fn is_external_url(_: &Context, args: &[Arg<'_>]) -> Result<Value, Fault> {
    let url = text(args, 0);
    let parts = split(url).map_err(|why| Fault::new(format!("parse {}: {why}", quote(url))))?;
    let addresses = resolve(&parts.host_name)?;
    Ok(Value::Bool(!addresses.into_iter().any(is_inside)))
}

fn is_inside(address: IpAddr) -> bool {
    let v4 = |a: Ipv4Addr| a.is_loopback() || a.is_private();
    match address {
        IpAddr::V4(a) => v4(a),
        IpAddr::V6(a) => match a.to_ipv4_mapped() {
            Some(a) => v4(a),
            None => a.is_loopback() || a.octets()[0] & 0xfe == 0xfc,
        },
    }
}

fn resolve(host: &str) -> Result<Vec<IpAddr>, Fault> {
    super::unforeseen::note();
    let not_found = || Fault::new(format!("lookup {host}: no such host"));
    if host.is_empty() {
        return Err(not_found());
    }
    let address = host.split_once('%').map_or(host, |(address, _)| address);
    if let Ok(address) = address.parse::<IpAddr>() {
        return Ok(vec![address]);
    }
    // Digits and dots that are no address are no name either; the system would read them as one.
    if host.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return Err(not_found());
    }
    let found: Vec<IpAddr> =
        (host, 0).to_socket_addrs().map_err(|_| not_found())?.map(|socket| socket.ip()).collect();
    if found.is_empty() { Err(not_found()) } else { Ok(found) }
}

/// The pieces of a URL.
pub struct Parts<'a> {
    /// What stands before the first colon.
    pub scheme: &'a str,
    /// What follows the scheme of a URL such as `mailto:x`.
    pub opaque: &'a str,
    /// The user with the password.
    pub user: Option<&'a str>,
    /// Host and port as written.
    pub host: &'a str,
    /// The host alone, unescaped and without brackets.
    pub host_name: String,
    /// The path, unescaped.
    pub path: String,
    /// The path as written where that is not the usual way to write it.
    pub raw_path: &'a str,
    /// The query as written.
    pub query: Option<&'a str>,
    /// The fragment, unescaped.
    pub fragment: String,
}

/// Takes a URL apart.
///
/// # Errors
/// The cause as Go's parser names it, without `parse "<url>": ` before.
pub fn split(url: &str) -> Result<Parts<'_>, String> {
    let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
    let mut parts = split_request(url)?;
    check_escapes(fragment)?;
    parts.fragment = super::encode::lossy(&percent_decode(fragment));
    Ok(parts)
}

/// Takes the URL of a request apart: it has no fragment, `#` is a character like others.
///
/// # Errors
/// As [`split`].
pub fn split_request(url: &str) -> Result<Parts<'_>, String> {
    if url.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return Err("net/url: invalid control character in URL".into());
    }
    let mut parts = Parts {
        scheme: "",
        opaque: "",
        user: None,
        host: "",
        host_name: String::new(),
        path: String::new(),
        raw_path: "",
        query: None,
        fragment: String::new(),
    };
    split_before_fragment(url, &mut parts)?;
    Ok(parts)
}

fn split_before_fragment<'a>(url: &'a str, parts: &mut Parts<'a>) -> Result<(), String> {
    if url == "*" {
        parts.path = "*".into();
        return Ok(());
    }
    let (scheme, rest) = split_scheme(url)?;
    parts.scheme = scheme;
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(before, query)| (before, Some(query)));
    parts.query = query;
    let mut path = rest;
    if let Some(after) = rest.strip_prefix("//").filter(|_| !scheme.is_empty() || !rest.starts_with("///")) {
        let (authority, after) = after.split_at(after.find('/').unwrap_or(after.len()));
        (parts.user, parts.host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        parts.host_name = host_name(parts.host)?;
        check_user(parts.user.unwrap_or_default())?;
        path = after;
    } else if !rest.starts_with('/') {
        if !scheme.is_empty() {
            parts.opaque = rest;
            return Ok(());
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("first path segment in URL cannot contain colon".into());
        }
    }
    check_escapes(path)?;
    let decoded = percent_decode(path);
    if percent_encode(&decoded) != path {
        parts.raw_path = path;
    }
    parts.path = super::encode::lossy(&decoded);
    Ok(())
}

/// The scheme, if there is one, and what follows it.
fn split_scheme(url: &str) -> Result<(&str, &str), String> {
    for (i, b) in url.bytes().enumerate() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return Err("missing protocol scheme".into()),
            b':' => return Ok((url.get(..i).unwrap_or_default(), url.get(i + 1..).unwrap_or_default())),
            _ => break,
        }
    }
    Ok(("", url))
}

fn check_user(user: &str) -> Result<(), String> {
    let valid = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
    if !user.bytes().all(valid) {
        return Err("net/url: invalid userinfo".into());
    }
    check_escapes(user)
}

/// The host without port and brackets, unescaped.
fn host_name(host: &str) -> Result<String, String> {
    if let Some(open) = host.find('[') {
        if open > 0 {
            return Err("invalid IP-literal".into());
        }
        let close = host.rfind(']').ok_or("missing ']' in host")?;
        check_port(host.get(close + 1..).unwrap_or_default())?;
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
        super::address::check(&literal)?;
        return Ok(literal);
    }
    let (name, port) = match host.find(':') {
        // With several colons the reference reports from the first one.
        Some(i) => host.split_at(i),
        None => (host, ""),
    };
    check_port(port)?;
    check_host_text(host)?;
    let bytes = percent_decode(name);
    Ok(super::encode::lossy(&bytes))
}

fn check_port(port: &str) -> Result<(), String> {
    let digits = port.strip_prefix(':');
    let valid = port.is_empty() || digits.is_some_and(|d| d.bytes().all(|b| b.is_ascii_digit()));
    if valid { Ok(()) } else { Err(format!("invalid port {} after host", quote(port))) }
}

/// Characters and escapes of a host: only bytes beyond ASCII may be escaped.
fn check_host_text(host: &str) -> Result<(), String> {
    for (i, b) in host.bytes().enumerate() {
        if b == b'%' {
            let escape = host.get(i..(i + 3).min(host.len())).unwrap_or("%");
            let high = escape.as_bytes().get(1).copied().and_then(|b| char::from(b).to_digit(16));
            let low = escape.as_bytes().get(2).copied().and_then(|b| char::from(b).to_digit(16));
            if !(high.is_some_and(|h| h >= 8) && low.is_some()) {
                return Err(format!("invalid URL escape {}", quote(escape)));
            }
        } else if b.is_ascii() && !b.is_ascii_alphanumeric() && !b"-_.~!$&'()*+,;=:[]<>\"".contains(&b) {
            let c = quote(&char::from(b).to_string());
            return Err(format!("invalid character {c} in host name"));
        }
    }
    Ok(())
}

fn unescape_zone(zone: &str) -> Result<String, String> {
    check_escapes(zone)?;
    Ok(super::encode::lossy(&percent_decode(zone)))
}

fn check_escapes(s: &str) -> Result<(), String> {
    for (i, _) in s.match_indices('%') {
        let digits = s.as_bytes().get(i + 1..i + 3);
        if !digits.is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit)) {
            let mut end = (i + 3).min(s.len());
            while !s.is_char_boundary(end) {
                end += 1;
            }
            return Err(format!("invalid URL escape {}", quote(s.get(i..end).unwrap_or("%"))));
        }
    }
    Ok(())
}

/// The path as it stands in the URL: as written where that is well-formed.
pub(super) fn escaped_path(parts: &Parts<'_>) -> String {
    let well_formed = |b: u8| b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:@[]%/".contains(&b);
    if !parts.raw_path.is_empty() && parts.raw_path.bytes().all(well_formed) {
        return parts.raw_path.into();
    }
    if parts.path == "*" {
        return "*".into();
    }
    percent_encode(parts.path.as_bytes())
}

/// A key or value of a query, unescaped; `None` when an escape is malformed.
pub(super) fn unescaped_query(text: &str) -> Option<String> {
    check_escapes(text).ok()?;
    Some(super::encode::lossy(&percent_decode(&text.replace('+', " "))))
}

fn percent_decode(s: &str) -> Vec<u8> {
    percent_encoding::percent_decode_str(s).collect()
}

/// What is escaped in a path that is written in the usual way.
const PATH: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@');

/// A path in the usual way to write it.
fn percent_encode(path: &[u8]) -> String {
    percent_encoding::percent_encode(path, PATH).to_string()
}
