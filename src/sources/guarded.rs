//! Calls of services by expressions, kept away from the machine itself and from metadata services.
//!
//! In: a call and a [`Guard`]. Out: the answer as a value, or the reference's text. Every address that a name
//! resolves to is checked, for every redirect again. Size and time are limited. Semantics:
//! `docs/cel-policies.md`, "http".

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use crate::functions::decode_json;
use crate::functions::world::HttpCall;
use crate::value::{Map, Str, Value, print};

/// The largest answer.
const LARGEST: u64 = 10_000_000;
/// How long a call may take.
const LONGEST: Duration = Duration::from_secs(30);

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
    /// The range that an address falls in, also the one that is embedded in it.
    fn range_of(&self, ip: IpAddr) -> Option<String> {
        let candidates = [Some(ip), embedded(ip)];
        candidates.into_iter().flatten().find_map(|ip| {
            let hit = self.ranges.iter().find(|(base, bits)| contains(*base, *bits, ip))?;
            Some(format!("{}/{}", hit.0, hit.1))
        })
    }

    fn blocks_host(&self, host: &str) -> bool {
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
struct Guarded(Guard);

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
        let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        for address in found.iter() {
            if let Some(range) = self.0.range_of(address.ip()) {
                return Err(refused(blocked_address(host, port, address, &range)));
            }
        }
        Ok(found)
    }
}

fn blocked_host(url: &str, host: &str) -> String {
    format!("URL \"{url}\" is blocked: hostname \"{host}\" is on the blocklist")
}

fn blocked_address(host: &str, port: u16, address: &SocketAddr, range: &str) -> String {
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

/// Calls a service. An answer that is a JSON object gets the key `statusCode`; any other is put under
/// `body`, or null there when it is no JSON.
///
/// # Errors
/// The reference's text; no status is an error.
pub fn call(call: &HttpCall<'_>, guard: &Guard) -> Result<Value, String> {
    let verb = if call.method == "POST" { "Post" } else { "Get" };
    let failed = |text: String| format!("request failed: {verb} \"{}\": {text}", call.url);
    let scheme = call.url.split_once("://").map_or("", |(scheme, _)| scheme);
    if !matches!(scheme, "http" | "https") {
        return Err(failed(format!("unsupported protocol scheme \"{scheme}\"")));
    }
    if let Some(escape) = bad_escape(call.url) {
        return Err(format!("invalid URL: parse \"{}\": invalid URL escape \"{escape}\"", call.url));
    }
    let host = host_of(call.url);
    if guard.blocks_host(host) {
        return Err(blocked_host(call.url, host));
    }
    let cause = |e: ureq::Error| match e {
        ureq::Error::Other(text) => failed(text.to_string()),
        ureq::Error::TooManyRedirects => failed("stopped after 10 redirects".into()),
        e => failed(super::download::cause(call.url, &e)),
    };
    let agent = agent(call, guard)?;
    let headers = |mut request: ureq::http::request::Builder| {
        for (k, v) in &call.headers {
            request = request.header(k, v);
        }
        request.uri(call.url)
    };
    let invalid = |e: ureq::http::Error| failed(e.to_string());
    let answer = match &call.body {
        None => agent.run(headers(ureq::http::Request::builder().method("GET")).body(()).map_err(invalid)?),
        Some(body) => {
            let text = format!("{}\n", print::json(body));
            agent.run(headers(ureq::http::Request::builder().method("POST")).body(text).map_err(invalid)?)
        }
    };
    let answer = answer.map_err(cause)?;
    let status = Value::Int(i64::from(answer.status().as_u16()));
    let mut bytes = Vec::new();
    let mut reader = answer.into_body().into_reader().take(LARGEST + 1);
    reader.read_to_end(&mut bytes).map_err(|e| format!("failed to read response: {e}"))?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("response length must be less than max allowed response length of {LARGEST}"));
    }
    let decoded = std::str::from_utf8(&bytes).ok().and_then(|text| decode_json(text).ok());
    let mut m = match decoded {
        Some(Value::Map(m)) => m,
        other => [(Str::from("body"), other.unwrap_or_default())].into_iter().collect::<Map>(),
    };
    m.insert("statusCode", status);
    Ok(Value::Map(m))
}

/// The first escape of a URL that is not two hexadecimal digits.
fn bad_escape(url: &str) -> Option<String> {
    let hex = |c: char| c.is_ascii_hexdigit();
    url.split('%').skip(1).find_map(|rest| {
        let digits: String = rest.chars().take(2).collect();
        let is_good = digits.len() == 2 && digits.chars().all(hex);
        (!is_good).then(|| format!("%{digits}"))
    })
}

/// The host of a URL, without user and port.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.starts_with('[') { host } else { host.split(':').next().unwrap_or_default() }
}

fn agent(call: &HttpCall<'_>, guard: &Guard) -> Result<ureq::Agent, String> {
    let mut config = ureq::Agent::config_builder()
        .timeout_global(Some(LONGEST))
        .http_status_as_error(false)
        .max_redirects(10)
        .proxy(None);
    if !call.ca_bundle.is_empty() {
        let unusable = |_| "failed to parse PEM CA bundle for APICall".to_string();
        let roots = ureq::tls::Certificate::from_pem(call.ca_bundle.as_bytes()).map_err(unusable)?;
        let roots = ureq::tls::RootCerts::new_with_certs(&[roots]);
        config = config.tls_config(ureq::tls::TlsConfig::builder().root_certs(roots).build());
    }
    Ok(ureq::Agent::with_parts(config.build(), DefaultConnector::default(), Guarded(guard.clone())))
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

    #[test]
    fn guarded_calls_fail_with_the_words_of_the_reference() {
        let get = |url| {
            let wanted = HttpCall { method: "GET", url, body: None, headers: Vec::new(), ca_bundle: "" };
            call(&wanted, &Guard::default()).expect_err("guarded")
        };
        assert_eq!(
            get("http://127.0.0.1:1/"),
            "request failed: Get \"http://127.0.0.1:1/\": connection to 127.0.0.1:1 blocked: IP 127.0.0.1 falls in blocked range 127.0.0.0/8"
        );
        assert_eq!(
            get("http://metadata.google.internal/"),
            "URL \"http://metadata.google.internal/\" is blocked: hostname \"metadata.google.internal\" is on the blocklist"
        );
        assert_eq!(get("zzz"), "request failed: Get \"zzz\": unsupported protocol scheme \"\"");
    }
}
