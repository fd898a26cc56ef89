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
    let host = host_of(url).map_err(|why| Fault::new(format!("parse {}: {why}", quote(url))))?;
    let addresses = resolve(&host)?;
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

/// The host of a URL, without port and brackets.
fn host_of(url: &str) -> Result<String, String> {
    let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
    if url.bytes().chain(fragment.bytes()).any(|b| b < 0x20 || b == 0x7f) {
        return Err("net/url: invalid control character in URL".into());
    }
    let host = host_before_fragment(url)?;
    check_escapes(fragment)?;
    Ok(host)
}

fn host_before_fragment(url: &str) -> Result<String, String> {
    if url == "*" {
        return Ok(String::new());
    }
    let (has_scheme, rest) = split_scheme(url)?;
    let rest = rest.split_once('?').map_or(rest, |(before, _)| before);
    let Some(after) = rest.strip_prefix("//").filter(|_| has_scheme || !rest.starts_with("///")) else {
        if !rest.starts_with('/') {
            if has_scheme {
                // An opaque URL such as `mailto:x`.
                return Ok(String::new());
            }
            let segment = rest.split('/').next().unwrap_or_default();
            if segment.contains(':') {
                return Err("first path segment in URL cannot contain colon".into());
            }
        }
        check_escapes(rest)?;
        return Ok(String::new());
    };
    let (authority, path) = match after.find('/') {
        Some(i) => after.split_at(i),
        None => (after, ""),
    };
    let host = authority_host(authority)?;
    check_escapes(path)?;
    Ok(host)
}

/// Whether there is a scheme, and what follows it.
fn split_scheme(url: &str) -> Result<(bool, &str), String> {
    for (i, b) in url.bytes().enumerate() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return Err("missing protocol scheme".into()),
            b':' => return Ok((true, url.get(i + 1..).unwrap_or_default())),
            _ => break,
        }
    }
    Ok((false, url))
}

fn authority_host(authority: &str) -> Result<String, String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let host = parse_host(host)?;
    if let Some(user) = user {
        let valid = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
        if !user.bytes().all(valid) {
            return Err("net/url: invalid userinfo".into());
        }
        check_escapes(user)?;
    }
    Ok(host)
}

fn parse_host(host: &str) -> Result<String, String> {
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
        if address.parse::<std::net::Ipv6Addr>().is_err() {
            return Err("invalid IP-literal".into());
        }
        return Ok(match zone {
            Some(zone) => format!("{address}%{zone}"),
            None => address.to_string(),
        });
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

fn percent_decode(s: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(s.len());
    let mut rest = s.as_bytes();
    while let Some((b, after)) = rest.split_first() {
        let hex = |i: usize| after.get(i).and_then(|b| char::from(*b).to_digit(16));
        match (b, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                out.push(*b);
                rest = after;
            }
        }
    }
    out
}
