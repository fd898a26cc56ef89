//! Addresses that expressions may not call: the machine itself and metadata services.
//!
//! In: a host or an address and a [`Guard`]. Out: the range that it falls in; a resolver that refuses such addresses. Every
//! address that a name resolves to is checked. Semantics: `docs/cel-policies.md`, "http".

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Which addresses may not be called.
#[derive(Clone, Debug)]
pub struct Guard {
    ranges: Vec<(IpAddr, u8)>,
    hosts: Vec<String>,
}

impl Default for Guard {
    /// The machine itself and the usual metadata services.
    fn default() -> Guard {
        let v4 = |a, b, c, d| IpAddr::V4(Ipv4Addr::new(a, b, c, d));
        Guard {
            ranges: vec![
                (v4(169, 254, 169, 254), 32),
                (v4(169, 254, 169, 253), 32),
                (IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)), 128),
                (v4(127, 0, 0, 0), 8),
                (IpAddr::V6(Ipv6Addr::LOCALHOST), 128),
            ],
            hosts: vec!["metadata.google.internal".into()],
        }
    }
}

impl Guard {
    /// A guard that lets everything pass.
    #[cfg(test)]
    pub(super) fn open() -> Guard {
        Guard { ranges: Vec::new(), hosts: Vec::new() }
    }

    /// The range that an address falls in, also the one that is embedded in it.
    fn range_of(&self, ip: IpAddr) -> Option<String> {
        let candidates = [Some(ip), embedded(ip)];
        candidates.into_iter().flatten().find_map(|ip| {
            let hit = self.ranges.iter().find(|(base, bits)| contains(*base, *bits, ip))?;
            Some(format!("{}/{}", hit.0, hit.1))
        })
    }

    /// Whether a host is refused by its name.
    pub(super) fn blocks_host(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_lowercase();
        self.hosts.contains(&host)
    }
}

fn contains(base: IpAddr, bits: u8, ip: IpAddr) -> bool {
    let (base, ip, width) = match (base, ip) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(a.to_bits()), u128::from(b.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits(), b.to_bits(), 128),
        _ => return false,
    };
    let shift = u32::from(width - bits.min(width));
    base.checked_shr(shift).unwrap_or(0) == ip.checked_shr(shift).unwrap_or(0)
}

/// The IPv4 address in an IPv6 one: mapped, compatible, NAT64 or 6to4.
fn embedded(ip: IpAddr) -> Option<IpAddr> {
    let IpAddr::V6(v6) = ip else { return None };
    let low = Ipv4Addr::from_bits((v6.to_bits() & 0xffff_ffff) as u32);
    let s = v6.segments();
    match s {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(IpAddr::V4(low)),
        [0, 0, 0, 0, 0, 0, ..] if v6 != Ipv6Addr::LOCALHOST && !v6.is_unspecified() => Some(IpAddr::V4(low)),
        [0x2002, a, b, ..] => Some(IpAddr::V4(Ipv4Addr::from_bits(u32::from(a) << 16 | u32::from(b)))),
        _ => None,
    }
}

/// A resolver that refuses guarded addresses.
#[derive(Debug)]
pub(super) struct Guarded(pub(super) Guard);

fn refused(text: String) -> ureq::Error {
    ureq::Error::Other(text.into())
}

impl Resolver for Guarded {
    fn resolve(
        &self,
        uri: &ureq::http::Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().unwrap_or_default();
        if self.0.blocks_host(host) {
            return Err(refused(blocked_host(&uri.to_string(), host)));
        }
        let usual = if uri.scheme_str() == Some("https") { "443" } else { "80" };
        // As written: a port may be none.
        let authority = uri.authority().map_or("", |a| a.as_str());
        let written = authority.rsplit(['@', ']']).next().and_then(|rest| rest.rsplit_once(':'));
        let port = written.map_or(usual, |(_, port)| port);
        // Numbers that some resolvers take for addresses are names that nobody has.
        let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
        let is_number = last.starts_with(|c: char| c.is_ascii_digit()) && !host.starts_with('[');
        if is_number && host.parse::<IpAddr>().is_err() {
            return Err(refused(unknown_host(host)));
        }
        let found = match DefaultResolver::default().resolve(uri, config, timeout) {
            Err(ureq::Error::HostNotFound) => return Err(refused(unknown_host(host))),
            Err(ureq::Error::Io(e)) if e.to_string().contains("lookup") => {
                return Err(refused(unknown_host(host)));
            }
            found => found?,
        };
        for address in found.iter() {
            if let Some(range) = self.0.range_of(address.ip()) {
                return Err(refused(blocked_address(host, port, address, &range)));
            }
        }
        Ok(found)
    }
}

/// The text for a host that is refused by its name.
pub(super) fn blocked_host(url: &str, host: &str) -> String {
    format!("URL \"{url}\" is blocked: hostname \"{host}\" is on the blocklist")
}

fn unknown_host(host: &str) -> String {
    format!("failed to resolve {host}: lookup {host}: no such host")
}

fn blocked_address(host: &str, port: &str, address: &SocketAddr, range: &str) -> String {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(ip) => format!(
            "connection to {host}:{port} blocked: IP {} falls in blocked range {range}",
            ip.to_canonical()
        ),
        Err(_) => format!(
            "connection to {host}:{port} blocked: resolved IP {} falls in blocked range {range}",
            address.ip()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(ip: &str) -> Option<String> {
        Guard::default().range_of(ip.parse().expect("an address"))
    }

    #[test]
    fn addresses_of_the_machine_and_of_metadata_services_are_guarded() {
        assert_eq!(range("127.8.9.1").as_deref(), Some("127.0.0.0/8"));
        assert_eq!(range("169.254.169.254").as_deref(), Some("169.254.169.254/32"));
        assert_eq!(range("169.254.169.252"), None);
        assert_eq!(range("::1").as_deref(), Some("::1/128"));
        assert_eq!(range("10.0.0.1"), None);
    }

    #[test]
    fn an_address_hidden_in_another_one_is_guarded() {
        for hidden in ["::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1"] {
            assert_eq!(range(hidden).as_deref(), Some("127.0.0.0/8"), "{hidden}");
        }
    }
}
