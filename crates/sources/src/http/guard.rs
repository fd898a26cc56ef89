//! What policies may not call: the machine itself, metadata services, and what operators say.
//!
//! In: a URL, a host or an address, and a [`Guard`]. Out: a [`Refusal`]; a resolver that gives only
//! addresses that may be called. The client connects to those addresses and no others, so that a
//! name cannot mean something else a moment later. Every address of a name is checked, also one
//! that is embedded in another. Semantics: `docs/semantics/cel-policies.md`, "http".

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use ephor_value::url::split;

/// What Kyverno 1.19.1 blocks by default.
pub const BLOCKED: [&str; 6] = [
    "169.254.169.254/32",
    "169.254.169.253/32",
    "fd00:ec2::254/128",
    "metadata.google.internal",
    "127.0.0.0/8",
    "::1/128",
];

/// An entry of a list that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// It is no range of addresses.
    #[error("`{0}` is no range of addresses: want ADDRESS/BITS")]
    Range(Box<str>),
    /// It is no URL.
    #[error("`{url}` is no URL: {cause}")]
    Url {
        /// The entry.
        url: Box<str>,
        /// Why not.
        #[source]
        cause: PrefixError,
    },
}

/// Why a text is no beginning of URLs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// It is no URL, in the words of the reader of URLs.
    #[error("{0}")]
    Url(Box<str>),
    /// It has another scheme.
    #[error("want http:// or https://")]
    Scheme,
    /// It has no host.
    #[error("it names no host")]
    NoHost,
}

/// Which hosts and addresses may not be called.
#[derive(Clone, Debug)]
pub struct Guard {
    ranges: Vec<(IpAddr, u8)>,
    hosts: Vec<String>,
    /// Prefixes of URLs; where there are some, only those may be called.
    allowed: Vec<Prefix>,
}

/// The beginning of URLs that may be called.
#[derive(Clone, Debug)]
struct Prefix {
    scheme: String,
    host: String,
    port: String,
    path: String,
}

impl Default for Guard {
    /// A server's: Kyverno's list, and the addresses `0.0.0.0/8` and `::`, which systems take for
    /// the machine itself.
    fn default() -> Guard {
        Guard::of(&BLOCKED, &[]).unwrap_or(Guard {
            ranges: Vec::new(),
            hosts: Vec::new(),
            allowed: Vec::new(),
        })
    }
}

impl Guard {
    /// Metadata services only.
    pub(super) fn metadata() -> Guard {
        let mut guard = Guard::default();
        guard.ranges.retain(|(base, _)| !base.is_loopback() && !base.is_unspecified());
        guard
    }

    /// What Kyverno's command line refuses; it calls `0.0.0.0`.
    pub fn kyverno_cli() -> Guard {
        let mut guard = Guard::default();
        guard.ranges.retain(|(base, _)| !base.is_unspecified());
        guard
    }

    /// A guard of ranges, addresses and names that may not be called, and of prefixes of URLs that
    /// may.
    ///
    /// # Errors
    /// An entry cannot be used.
    pub fn of<T: AsRef<str>>(blocked: &[T], allowed: &[T]) -> Result<Guard, EntryError> {
        let mut guard = Guard { ranges: Vec::new(), hosts: Vec::new(), allowed: Vec::new() };
        for entry in blocked.iter().map(|e| e.as_ref().trim()).filter(|e| !e.is_empty()) {
            match range(entry) {
                Some(Ok(range)) => guard.ranges.push(range),
                Some(Err(e)) => return Err(e),
                None => guard.hosts.push(plain(entry)),
            }
        }
        let machine = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        if machine.iter().any(|ip| guard.range_of(*ip).is_some()) {
            guard.ranges.push((IpAddr::V4(Ipv4Addr::UNSPECIFIED), 8));
            guard.ranges.push((IpAddr::V6(Ipv6Addr::UNSPECIFIED), 128));
        }
        for entry in allowed.iter().map(|e| e.as_ref().trim()).filter(|e| !e.is_empty()) {
            let prefix = Prefix::of(entry).map_err(|cause| EntryError::Url { url: entry.into(), cause })?;
            guard.allowed.push(prefix);
        }
        Ok(guard)
    }

    /// Checks what can be known of a URL before anything is resolved.
    ///
    /// # Errors
    /// Its host is blocked by name, or it has none of the prefixes that may be called.
    pub fn check_url(&self, url: &str) -> Result<(), Refusal> {
        let Ok(parts) = split(url) else { return Ok(()) };
        if self.blocks_host(&parts.host_name) {
            return Err(Refusal::HostName { url: url.into(), host: parts.host_name });
        }
        if !self.allowed.is_empty() && !self.allows(url) {
            return Err(Refusal::NotAllowed { url: url.into() });
        }
        Ok(())
    }

    /// Whether a URL has one of the prefixes that may be called.
    pub(super) fn allows(&self, url: &str) -> bool {
        Prefix::of(url).is_ok_and(|url| self.allowed.iter().any(|prefix| prefix.fits(&url)))
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
    fn blocks_host(&self, host: &str) -> bool {
        self.hosts.contains(&plain(host))
    }
}

/// A host as it is compared: without case and final dots.
fn plain(host: &str) -> String {
    host.trim_end_matches('.').to_lowercase()
}

/// A range of addresses; `None` for what is a name.
fn range(entry: &str) -> Option<Result<(IpAddr, u8), EntryError>> {
    let (base, bits) = match entry.split_once('/') {
        Some((base, bits)) => (base, Some(bits)),
        None => (entry, None),
    };
    let bad = || EntryError::Range(entry.into());
    let Ok(ip) = base.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() else {
        return bits.map(|_| Err(bad()));
    };
    let most = if ip.is_ipv4() { 32 } else { 128 };
    Some(match bits.map(str::parse::<u8>) {
        None => Ok((ip, most)),
        Some(Ok(bits)) if bits <= most => Ok((ip, bits)),
        Some(_) => Err(bad()),
    })
}

impl Prefix {
    fn of(url: &str) -> Result<Prefix, PrefixError> {
        let parts = split(url).map_err(|error| PrefixError::Url(error.to_string().into()))?;
        let scheme = parts.scheme.to_ascii_lowercase();
        let usual = match &*scheme {
            "http" => "80",
            "https" => "443",
            _ => return Err(PrefixError::Scheme),
        };
        if parts.host_name.is_empty() {
            return Err(PrefixError::NoHost);
        }
        let written =
            parts.host.rsplit(']').next().and_then(|rest| rest.rsplit_once(':')).map_or("", |(_, p)| p);
        let port = if written.is_empty() { usual } else { written };
        Ok(Prefix { scheme, host: plain(&parts.host_name), port: port.into(), path: parts.path })
    }

    fn fits(&self, url: &Prefix) -> bool {
        let prefix = self.path.trim_end_matches('/');
        // Servers may resolve `..` after we looked.
        let climbs = url.path.split(['/', '\\']).any(|step| matches!(step, "." | ".."));
        let below =
            url.path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        (&self.scheme, &self.host, &self.port) == (&url.scheme, &url.host, &url.port)
            && (prefix.is_empty() || (below && !climbs))
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

/// Why a policy may not call something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The name of the host is blocked.
    HostName {
        /// The whole URL.
        url: String,
        /// The host.
        host: String,
    },
    /// The URL has none of the prefixes that may be called.
    NotAllowed {
        /// The whole URL.
        url: String,
    },
    /// An address is blocked.
    Address {
        /// The host as it is written.
        host: String,
        /// The port.
        port: String,
        /// The address that is blocked.
        ip: IpAddr,
        /// The range that blocks it.
        range: String,
    },
    /// The name of the host has no address.
    Unknown {
        /// The host.
        host: String,
    },
    /// A proxy would resolve what cannot be resolved here.
    Unchecked {
        /// The host.
        host: String,
        /// The host and port of the proxy.
        proxy: String,
    },
    /// The proxy itself is refused.
    Proxy(Box<Refusal>),
    /// One that a recording holds.
    Recorded {
        /// Its text.
        text: String,
        /// Its text without the address of a name.
        discreet: String,
    },
}

impl std::error::Error for Refusal {}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text(true))
    }
}

impl Refusal {
    /// Kyverno's text; `apiCall.service` does not disclose the address of a name.
    pub fn text(&self, shows_addresses: bool) -> String {
        match self {
            Refusal::HostName { url, host } => {
                format!("URL \"{url}\" is blocked: hostname \"{host}\" is on the blocklist")
            }
            Refusal::NotAllowed { url } => {
                format!("URL \"{url}\" is not permitted: no matching allowlist entry")
            }
            Refusal::Address { host, port, ip, range } => {
                let bare = host.trim_start_matches('[').trim_end_matches(']');
                let why = match bare.parse::<IpAddr>() {
                    Ok(written) => format!("IP {} falls in blocked range {range}", written.to_canonical()),
                    Err(_) if shows_addresses => format!("resolved IP {ip} falls in blocked range {range}"),
                    Err(_) => format!("{bare} resolves into blocked range {range}"),
                };
                format!("connection to {host}:{port} blocked: {why}")
            }
            Refusal::Unknown { host } => format!("failed to resolve {host}: lookup {host}: no such host"),
            Refusal::Unchecked { host, proxy } => format!(
                "connection to {host} via proxy {proxy} blocked: the destination cannot be resolved in-pod, so it cannot be checked against the HTTP blocklist; use an IP address destination, exclude the host via NO_PROXY, or permit it explicitly with --http-allowlist: failed to resolve {host}: lookup {host}: no such host"
            ),
            Refusal::Recorded { text, discreet } => (if shows_addresses { text } else { discreet }).clone(),
            Refusal::Proxy(refusal) => format!("proxyconnect tcp: {}", refusal.text(shows_addresses)),
        }
    }

    /// Whether it is about a host.
    pub(super) fn is_about(&self, address: &str) -> bool {
        matches!(self, Refusal::Address { host, port, .. } if format!("{host}:{port}") == address)
            || matches!(self, Refusal::Unknown { host } if address.starts_with(&format!("{host}:")))
    }
}

/// A resolver that refuses guarded addresses.
#[derive(Debug)]
pub(super) struct GuardedResolver(pub(super) Guard);

fn refused(refusal: Refusal) -> ureq::Error {
    ureq::Error::Other(Box::new(refusal))
}

impl Resolver for GuardedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().unwrap_or_default();
        if self.0.blocks_host(host) {
            return Err(refused(Refusal::HostName { url: uri.to_string(), host: host.into() }));
        }
        let usual = if uri.scheme_str() == Some("https") { "443" } else { "80" };
        // As written: a port may be none.
        let authority = uri.authority().map_or("", |a| a.as_str());
        let written = authority.rsplit(['@', ']']).next().and_then(|rest| rest.rsplit_once(':'));
        let port = written.map_or(usual, |(_, port)| port);
        let unknown = || refused(Refusal::Unknown { host: host.into() });
        // Numbers that some resolvers take for addresses are no valid names.
        let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
        let is_number = last.starts_with(|c: char| c.is_ascii_digit()) && !host.starts_with('[');
        if is_number && host.parse::<IpAddr>().is_err() {
            return Err(unknown());
        }
        let found = match DefaultResolver::default().resolve(uri, config, timeout) {
            Err(ureq::Error::HostNotFound) => return Err(unknown()),
            Err(ureq::Error::Io(e)) if e.to_string().contains("lookup") => return Err(unknown()),
            found => found?,
        };
        for address in found.iter() {
            if let Some(range) = self.0.range_of(address.ip()) {
                let (host, port) = (host.to_owned(), port.to_owned());
                return Err(refused(Refusal::Address { host, port, ip: address.ip(), range }));
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn range(ip: &str) -> Option<String> {
        Guard::default().range_of(ip.parse().unwrap())
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

    #[test]
    fn a_server_takes_unspecified_addresses_for_the_machine_and_the_command_line_does_not() {
        for own in ["0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0"] {
            assert!(range(own).is_some(), "{own}");
            assert_eq!(Guard::kyverno_cli().range_of(own.parse().unwrap()), None, "{own}");
        }
        assert!(Guard::kyverno_cli().range_of("127.0.0.1".parse().unwrap()).is_some());
    }

    #[test]
    fn lists_of_operators_replace_the_usual_one() {
        let guard = Guard::of(&["10.0.0.0/8", "Internal.Example.", "192.0.2.7"], &[]).unwrap();
        let check = |url: &str| guard.check_url(url).map_err(|r| r.to_string());
        assert!(guard.range_of("10.9.9.9".parse().unwrap()).is_some());
        assert!(guard.range_of("192.0.2.7".parse().unwrap()).is_some());
        assert!(guard.range_of("127.0.0.1".parse().unwrap()).is_none());
        assert!(guard.range_of("0.0.0.0".parse().unwrap()).is_none());
        assert_eq!(check("http://metadata.google.internal/"), Ok(()));
        assert_eq!(
            check("http://INTERNAL.example./x"),
            Err("URL \"http://INTERNAL.example./x\" is blocked: hostname \"INTERNAL.example.\" is on the blocklist".into())
        );
        assert!(Guard::of(&["10.0.0.0/33"], &[]).is_err() && Guard::of(&["x/8"], &[]).is_err());
    }

    #[test]
    fn where_prefixes_are_allowed_nothing_else_is() {
        let guard = Guard::of(&[], &["https://api.example/v1/", "http://h:8080"]).unwrap();
        for allowed in [
            "https://api.example/v1",
            "https://API.example.:443/v1/x?y",
            "http://h:8080/any",
            "http://u@h:8080/",
        ] {
            assert_eq!(guard.check_url(allowed), Ok(()), "{allowed}");
        }
        for refused in [
            "https://api.example/v10",
            "https://api.example/",
            "http://api.example/v1/x",
            "https://api.example:444/v1/x",
            "https://api.example/v1/../secret",
            "https://api.example/v1/%2e%2e/secret",
            "http://h/",
            "http://h:8080@evil.example/",
            "ftp://h:8080/",
        ] {
            assert_eq!(
                guard.check_url(refused),
                Err(Refusal::NotAllowed { url: refused.into() }),
                "{refused}"
            );
        }
        assert!(Guard::of(&[], &["api.example/v1"]).is_err());
    }
}
