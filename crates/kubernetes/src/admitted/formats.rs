//! The forms of texts that `rules.txt` names.

use std::net::{Ipv4Addr, Ipv6Addr};

use ephor_value::names;

/// Whether a text has a form; `None` when there is no form of that name.
pub fn fits(form: &str, text: &str) -> Option<bool> {
    Some(match form {
        "label" => text.len() <= 63 && names::is_lower_label(text),
        "subdomain" => names::subdomain_problems(text).is_empty(),
        "dns1035" => names::old_label_problems(text).is_empty(),
        "key" => names::key_problems(text).is_empty(),
        "annotation-key" => names::key_problems(&text.to_lowercase()).is_empty(),
        "finalizer" => text.contains('/') && names::key_problems(text).is_empty(),
        "label-value" => names::value_problems(text).is_empty(),
        "group-version" => text.matches('/').count() <= 1 && !text.starts_with('/') && !text.ends_with('/'),
        "path-segment" => !matches!(text, "." | "..") && !text.contains(['/', '%']),
        "env-name" => !text.is_empty() && text.chars().all(|c| matches!(c, ' '..='~') && c != '='),
        "header-name" => !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
        "config-key" => {
            let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !text.is_empty()
                && text.len() <= 253
                && !text.starts_with("..")
                && text != "."
                && text.chars().all(known)
        }
        "port-name" => is_port_name(text),
        "ip" => is_address(text),
        "cidr" => is_network(text),
        "relative-path" => !text.is_empty() && !text.starts_with('/') && !has_dots(text),
        "absolute-path" => text.starts_with('/'),
        "no-dots" => !has_dots(text),
        "no-colon" => !text.contains(':'),
        "no-slash" => !text.contains('/'),
        "not-empty" => !text.is_empty(),
        "trimmed" => text.trim() == text,
        "sysctl" => is_sysctl(text),
        "driver-name" => text.len() <= 63 && names::subdomain_problems(&text.to_lowercase()).is_empty(),
        "iqn" => is_iqn(text),
        "host-port" => {
            let port =
                text.split_once(':').map(|(host, port)| (!host.is_empty(), port.parse::<u16>().is_ok()));
            port == Some((true, true))
        }
        "schedule" => is_schedule(text),
        "ingress-host" => {
            let rest = text.strip_prefix("*.").unwrap_or(text);
            !is_address(text) && names::subdomain_problems(rest).is_empty()
        }
        "app-protocol" => names::key_problems(text).is_empty(),
        _ => return None,
    })
}

/// Whether no text of a form has `*` or `?`.
pub fn has_no_wildcards(form: &str) -> bool {
    matches!(
        form,
        "label"
            | "subdomain"
            | "dns1035"
            | "key"
            | "annotation-key"
            | "finalizer"
            | "label-value"
            | "header-name"
            | "config-key"
            | "port-name"
            | "ip"
            | "cidr"
            | "sysctl"
            | "driver-name"
            | "app-protocol"
    )
}

fn is_port_name(text: &str) -> bool {
    let letter = text.bytes().any(|b| b.is_ascii_lowercase());
    text.len() <= 15 && letter && names::is_lower_label(text) && !text.contains("--")
}

/// Only addresses in their usual form: the others are read, with warnings.
fn is_address(text: &str) -> bool {
    let four = text.parse::<Ipv4Addr>().is_ok_and(|a| a.to_string() == text);
    four || text.parse::<Ipv6Addr>().is_ok_and(|a| a.to_ipv4_mapped().is_none() && a.to_string() == text)
}

fn is_network(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let number = bits.parse::<u32>().ok().filter(|n| n.to_string() == bits);
    match (number, address.parse::<Ipv4Addr>(), address.parse::<Ipv6Addr>()) {
        (Some(n @ 0..=32), Ok(a), _) => u64::from(u32::from(a)) & ((1 << (32 - n)) - 1) == 0,
        (Some(n @ 0..=128), _, Ok(a)) => {
            let host = if n == 0 { u128::MAX } else { (1u128 << (128 - n)).wrapping_sub(1) };
            u128::from(a) & host == 0 && a.to_ipv4_mapped().is_none()
        }
        _ => false,
    }
}

fn has_dots(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

fn is_sysctl(text: &str) -> bool {
    let end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let part = |p: &str| {
        p.starts_with(end) && p.ends_with(end) && p.chars().all(|c| end(c) || matches!(c, '-' | '_'))
    };
    text.len() <= 253 && text.split(['.', '/']).all(part)
}

fn is_iqn(text: &str) -> bool {
    let date = |d: &str| {
        d.split_once('-').is_some_and(|(y, m)| {
            y.len() == 4
                && y.bytes().all(|b| b.is_ascii_digit())
                && matches!(m.parse::<u8>(), Ok(1..=12))
                && m.len() == 2
        })
    };
    let mut parts = text.splitn(3, '.');
    let (head, when, rest) = (parts.next(), parts.next(), parts.next());
    head == Some("iqn")
        && when.is_some_and(date)
        && rest.is_some_and(|r| {
            r.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '0'..='9' | '.' | ':' | '-'))
        })
        && rest.is_some_and(|r| {
            r.starts_with(|c: char| c.is_ascii_alphanumeric())
                && r.ends_with(|c: char| c.is_ascii_alphanumeric())
        })
}

/// Five fields of numbers, ranges and steps, or a name; without names of months and days.
fn is_schedule(text: &str) -> bool {
    if matches!(text, "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly") {
        return true;
    }
    let fields: Vec<&str> = text.split(' ').collect();
    let bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
    fields.len() == 5
        && fields.iter().zip(bounds).all(|(f, (low, high))| f.split(',').all(|p| is_part(p, low, high)))
}

fn is_part(part: &str, low: u32, high: u32) -> bool {
    let number = |t: &str| t.parse::<u32>().ok().filter(|n| *n >= low && *n <= high && n.to_string() == t);
    let (range, step) = part.split_once('/').map_or((part, None), |(r, s)| (r, Some(s)));
    if step.is_some_and(|s| !matches!(s.parse::<u32>(), Ok(n) if n > 0 && n <= high)) {
        return false;
    }
    match range.split_once('-') {
        Some((a, b)) => matches!((number(a), number(b)), (Some(a), Some(b)) if a <= b),
        None => range == "*" || number(range).is_some(),
    }
}
