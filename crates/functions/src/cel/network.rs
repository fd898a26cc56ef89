//! Addresses and networks.

use std::net::IpAddr;

use super::call::{Call, CallResult, fault, success};
use ephor_value::quote::quote;
use ephor_value::{Object, Value};

/// Why a text is no address: Go's error of `netip.ParseAddr`.
#[derive(Debug, thiserror::Error)]
#[error("ParseAddr({}): {problem}{}", quote(.text), .at.as_ref().map(|at| format!(" (at {})", quote(at))).unwrap_or_default())]
struct AddrError {
    /// The text.
    text: Box<str>,
    problem: Problem,
    /// What is left of the text where the problem is, where Go shows it.
    at: Option<Box<str>>,
}

/// What is wrong with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Problem {
    /// A zone without an address before it.
    #[error("missing IPv6 address")]
    NoIpv6,
    /// Nothing that an address has.
    #[error("unable to parse IP")]
    NoIp,
    /// A number that begins with a zero.
    #[error("IPv4 field has octet with leading zero")]
    LeadingZero,
    /// A number above 255.
    #[error("IPv4 field has value >255")]
    LargeOctet,
    /// A dot without a number before it.
    #[error("IPv4 field must have at least one digit")]
    EmptyOctet,
    /// More than four numbers.
    #[error("IPv4 address too long")]
    LongIpv4,
    /// Fewer than four numbers.
    #[error("IPv4 address too short")]
    ShortIpv4,
    /// A character that no number has.
    #[error("unexpected character")]
    Character,
    /// A zone without a name.
    #[error("zone must be a non-empty string")]
    EmptyZone,
    /// A group of more digits.
    #[error("each group must have 4 or less digits")]
    LongGroup,
    /// A group without digits.
    #[error("each colon-separated field must have at least one digit")]
    EmptyGroup,
    /// An IPv4 address in another place than the end.
    #[error("embedded IPv4 address must replace the final 2 fields of the address")]
    EmbeddedPlace,
    /// An IPv4 address behind too many groups.
    #[error("too many hex fields to fit an embedded IPv4 at the end of the address")]
    EmbeddedRoom,
    /// Something else than a colon behind a group.
    #[error("unexpected character, want colon")]
    NoColon,
    /// A colon at the end.
    #[error("colon must be followed by more characters")]
    LastColon,
    /// A second gap.
    #[error("multiple :: in address")]
    SecondEllipsis,
    /// Something behind the address.
    #[error("trailing garbage after address")]
    Trailing,
    /// Fewer than eight groups, and no gap.
    #[error("address string too short")]
    ShortIpv6,
    /// A gap where nothing is left out.
    #[error("the :: must expand to at least one field of zeros")]
    NoGap,
}

/// Why a text is no address that expressions take.
#[derive(Debug, thiserror::Error)]
enum IpError {
    /// It is none.
    #[error("IP Address {} parse error during conversion from string: {cause}", quote(.text))]
    Address {
        text: Box<str>,
        #[source]
        cause: AddrError,
    },
    /// It has a zone.
    #[error("IP address {} with zone value is not allowed", quote(.0))]
    Zone(Box<str>),
    /// It is an address of IPv4 in one of IPv6.
    #[error("IPv4-mapped IPv6 address {} is not allowed", quote(.0))]
    Mapped(Box<str>),
}

/// Why a text is no network that expressions take.
#[derive(Debug, thiserror::Error)]
enum CidrError {
    /// It is none.
    #[error("{what}: {what}: netip.ParsePrefix({}): {cause}", quote(.text), what = WHAT)]
    Prefix {
        text: Box<str>,
        #[source]
        cause: PrefixError,
    },
    /// Its address is one of IPv4 in one of IPv6.
    #[error("{what}: IPv4-mapped IPv6 address {} is not allowed", quote(.0), what = WHAT)]
    Mapped(Box<str>),
}

const WHAT: &str = "network address parse error during conversion from string";

/// Why a text is no network.
#[derive(Debug, thiserror::Error)]
enum PrefixError {
    #[error("no '/'")]
    NoSlash,
    #[error(transparent)]
    Address(#[from] AddrError),
    #[error("IPv6 zones cannot be present in a prefix")]
    Zone,
    #[error("bad bits after slash: {}", quote(.0))]
    Bits(Box<str>),
    #[error("prefix length out of range")]
    Range,
}

/// Reads an address as Go's `netip` does.
fn parse_addr(text: &str) -> Result<(IpAddr, bool), AddrError> {
    let bad = |problem| AddrError { text: text.into(), problem, at: None };
    let with_at = |problem, at: &str| AddrError { text: text.into(), problem, at: Some(at.into()) };
    for c in text.chars() {
        match c {
            '.' => return v4(text, &bad, &with_at).map(|ip| (ip, false)),
            ':' => return v6(text, &bad, &with_at),
            '%' => return Err(bad(Problem::NoIpv6)),
            _ => {}
        }
    }
    Err(bad(Problem::NoIp))
}

fn v4(
    part: &str,
    bad: &dyn Fn(Problem) -> AddrError,
    with_at: &dyn Fn(Problem, &str) -> AddrError,
) -> Result<IpAddr, AddrError> {
    let mut octets = [0u8; 4];
    let (mut value, mut position, mut digits) = (0u32, 0usize, 0usize);
    let bytes = part.as_bytes();
    for (i, b) in bytes.iter().enumerate() {
        match b {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(bad(Problem::LeadingZero));
                }
                value = value * 10 + u32::from(b - b'0');
                digits += 1;
                if value > 255 {
                    return Err(bad(Problem::LargeOctet));
                }
            }
            b'.' => {
                if i == 0 || i == bytes.len() - 1 || bytes.get(i.wrapping_sub(1)) == Some(&b'.') {
                    return Err(with_at(Problem::EmptyOctet, part.get(i..).unwrap_or_default()));
                }
                if position == 3 {
                    return Err(bad(Problem::LongIpv4));
                }
                if let Some(slot) = octets.get_mut(position) {
                    *slot = value as u8;
                }
                position += 1;
                value = 0;
                digits = 0;
            }
            _ => return Err(with_at(Problem::Character, part.get(i..).unwrap_or_default())),
        }
    }
    if position < 3 {
        return Err(bad(Problem::ShortIpv4));
    }
    octets[3] = value as u8;
    Ok(IpAddr::from(octets))
}

fn v6(
    text: &str,
    bad: &dyn Fn(Problem) -> AddrError,
    with_at: &dyn Fn(Problem, &str) -> AddrError,
) -> Result<(IpAddr, bool), AddrError> {
    let (mut rest, zone) = match text.split_once('%') {
        Some((_, "")) => return Err(bad(Problem::EmptyZone)),
        Some((head, _)) => (head, true),
        None => (text, false),
    };
    let mut groups: Vec<u16> = Vec::with_capacity(8);
    let mut ellipsis = None;
    let mut tail: Option<[u8; 4]> = None;
    if let Some(after) = rest.strip_prefix("::") {
        ellipsis = Some(0);
        rest = after;
        if rest.is_empty() {
            return Ok((IpAddr::from([0u16; 8]), zone));
        }
    }
    let count = |groups: &Vec<u16>, tail: &Option<[u8; 4]>| groups.len() + if tail.is_some() { 2 } else { 0 };
    while groups.len() < 8 {
        let len = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if len > 4 {
            return Err(with_at(Problem::LongGroup, rest));
        }
        if len == 0 {
            return Err(with_at(Problem::EmptyGroup, rest));
        }
        let digits = rest.get(..len).unwrap_or_default();
        let after = rest.get(len..).unwrap_or_default();
        if after.starts_with('.') {
            if ellipsis.is_none() && groups.len() != 6 {
                return Err(with_at(Problem::EmbeddedPlace, rest));
            }
            if groups.len() + 2 > 8 {
                return Err(with_at(Problem::EmbeddedRoom, rest));
            }
            match v4(rest, bad, with_at)? {
                IpAddr::V4(ip) => tail = Some(ip.octets()),
                IpAddr::V6(_) => {}
            }
            rest = "";
            break;
        }
        groups.push(u16::from_str_radix(digits, 16).unwrap_or(0));
        rest = after;
        if rest.is_empty() {
            break;
        }
        let Some(next) = rest.strip_prefix(':') else {
            return Err(with_at(Problem::NoColon, rest));
        };
        if next.is_empty() {
            return Err(with_at(Problem::LastColon, rest));
        }
        rest = next;
        if let Some(after) = rest.strip_prefix(':') {
            if ellipsis.is_some() {
                return Err(with_at(Problem::SecondEllipsis, rest));
            }
            ellipsis = Some(groups.len());
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return Err(with_at(Problem::Trailing, rest));
    }
    if let Some([a, b, c, d]) = tail {
        groups.push(u16::from_be_bytes([a, b]));
        groups.push(u16::from_be_bytes([c, d]));
        tail = None;
    }
    let have = count(&groups, &tail);
    match ellipsis {
        None if have < 8 => return Err(bad(Problem::ShortIpv6)),
        None => {}
        Some(_) if have >= 8 => return Err(bad(Problem::NoGap)),
        Some(at) => {
            let zeros = vec![0u16; 8 - have];
            groups.splice(at..at, zeros);
        }
    }
    let mut all = [0u16; 8];
    for (slot, g) in all.iter_mut().zip(groups) {
        *slot = g;
    }
    Ok((IpAddr::from(all), zone))
}

fn is_mapped(ip: &IpAddr) -> bool {
    matches!(ip, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some())
}

/// An address, or why a text is none.
fn read_ip(text: &str) -> Result<IpAddr, IpError> {
    let (ip, zone) = parse_addr(text).map_err(|cause| IpError::Address { text: text.into(), cause })?;
    if zone {
        return Err(IpError::Zone(text.into()));
    }
    if is_mapped(&ip) {
        return Err(IpError::Mapped(text.into()));
    }
    Ok(ip)
}

/// A network, or why a text is none.
fn read_cidr(text: &str) -> Result<(IpAddr, u8), CidrError> {
    let (ip, bits) = read_prefix(text).map_err(|cause| CidrError::Prefix { text: text.into(), cause })?;
    if is_mapped(&ip) {
        return Err(CidrError::Mapped(text.into()));
    }
    Ok((ip, bits))
}

/// Reads a network as Go's `netip` does.
fn read_prefix(text: &str) -> Result<(IpAddr, u8), PrefixError> {
    let Some((head, bits)) = text.rsplit_once('/') else { return Err(PrefixError::NoSlash) };
    let (ip, zone) = parse_addr(head)?;
    if zone {
        return Err(PrefixError::Zone);
    }
    let leading_zero = bits.len() > 1 && !matches!(bits.bytes().next(), Some(b'1'..=b'9'));
    let bits: i64 = match bits.parse() {
        Ok(n) if !leading_zero && !bits.starts_with('+') => n,
        _ => return Err(PrefixError::Bits(bits.into())),
    };
    let most = if ip.is_ipv4() { 32 } else { 128 };
    if !(0..=most).contains(&bits) {
        return Err(PrefixError::Range);
    }
    Ok((ip, u8::try_from(bits).unwrap_or(0)))
}

fn object(o: Object) -> CallResult {
    Some(Ok(Value::object(o)))
}

fn ip_arg(call: &Call<'_>, at: usize) -> Option<IpAddr> {
    match call.arg(at) {
        Value::Object(o) => match &**o {
            Object::Ip(ip) => Some(*ip),
            _ => None,
        },
        _ => None,
    }
}

fn cidr_arg(call: &Call<'_>, at: usize) -> Option<(IpAddr, u8)> {
    match call.arg(at) {
        Value::Object(o) => match &**o {
            Object::Cidr(ip, bits) => Some((*ip, *bits)),
            _ => None,
        },
        _ => None,
    }
}

/// `ip('…')`, and the address of a network.
pub fn ip(call: &Call<'_>) -> CallResult {
    if let Some((ip, _)) = cidr_arg(call, 0) {
        return object(Object::Ip(ip));
    }
    match read_ip(call.text(0)?) {
        Ok(ip) => object(Object::Ip(ip)),
        Err(e) => fault(e.to_string()),
    }
}

pub fn is_ip(call: &Call<'_>) -> CallResult {
    success(read_ip(call.text(0)?).is_ok())
}

pub fn is_canonical(call: &Call<'_>) -> CallResult {
    let text = call.text(0)?;
    match read_ip(text) {
        Ok(ip) => success(ip.to_string() == text),
        Err(e) => fault(e.to_string()),
    }
}

pub fn family(call: &Call<'_>) -> CallResult {
    success(if ip_arg(call, 0)?.is_ipv4() { 4i64 } else { 6 })
}

pub fn is_unspecified(call: &Call<'_>) -> CallResult {
    success(ip_arg(call, 0)?.is_unspecified())
}

pub fn is_loopback(call: &Call<'_>) -> CallResult {
    success(ip_arg(call, 0)?.is_loopback())
}

pub fn is_link_local_multicast(call: &Call<'_>) -> CallResult {
    success(match ip_arg(call, 0)? {
        IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    })
}

fn link_local_unicast(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.segments()[0] & 0xffc0 == 0xfe80,
    }
}

pub fn is_link_local_unicast(call: &Call<'_>) -> CallResult {
    success(link_local_unicast(&ip_arg(call, 0)?))
}

pub fn is_global_unicast(call: &Call<'_>) -> CallResult {
    let ip = ip_arg(call, 0)?;
    let broadcast = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
    success(
        !(ip.is_unspecified()
            || ip.is_loopback()
            || ip.is_multicast()
            || link_local_unicast(&ip)
            || broadcast),
    )
}

pub fn cidr(call: &Call<'_>) -> CallResult {
    match read_cidr(call.text(0)?) {
        Ok((ip, bits)) => object(Object::Cidr(ip, bits)),
        Err(e) => fault(e.to_string()),
    }
}

pub fn is_cidr(call: &Call<'_>) -> CallResult {
    success(read_cidr(call.text(0)?).is_ok())
}

/// The first bits of an address; the others are zero.
fn masked_ip(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::from((u32::from(v4) & mask).to_be_bytes())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::from((u128::from(v6) & mask).to_be_bytes())
        }
    }
}

fn holds((net, bits): (IpAddr, u8), ip: IpAddr) -> bool {
    net.is_ipv4() == ip.is_ipv4() && masked_ip(net, bits) == masked_ip(ip, bits)
}

/// A malformed text fits no form of the function.
pub fn contains_ip(call: &Call<'_>) -> CallResult {
    let net = cidr_arg(call, 0)?;
    let ip = match call.text(1) {
        Some(text) => match read_ip(text) {
            Ok(ip) => ip,
            Err(_) => return fault("no such overload"),
        },
        None => ip_arg(call, 1)?,
    };
    success(holds(net, ip))
}

pub fn contains_cidr(call: &Call<'_>) -> CallResult {
    let net = cidr_arg(call, 0)?;
    let (ip, bits) = match call.text(1) {
        Some(text) => match read_cidr(text) {
            Ok(found) => found,
            Err(error) => return fault(error.to_string()),
        },
        None => cidr_arg(call, 1)?,
    };
    success(net.1 <= bits && holds(net, ip))
}

pub fn masked(call: &Call<'_>) -> CallResult {
    let (ip, bits) = cidr_arg(call, 0)?;
    object(Object::Cidr(masked_ip(ip, bits), bits))
}

/// Whether a network is written with its first address.
pub fn is_mask(call: &Call<'_>) -> CallResult {
    let (ip, bits) = cidr_arg(call, 0)?;
    success(masked_ip(ip, bits) == ip)
}

pub fn prefix_length(call: &Call<'_>) -> CallResult {
    success(i64::from(cidr_arg(call, 0)?.1))
}
