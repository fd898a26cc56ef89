//! Proxies, as the environment names them.
//!
//! In: `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY` (also in small letters). Out: the proxy of a URL. As
//! for Go's client, requests to the machine itself use no proxy, and none of a CGI program do.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper_util::client::proxy::matcher::Matcher;
use ureq::http::Uri;

use ephor_value::environment::{self, Variable};

pub(super) struct Proxies(Matcher);

/// A proxy that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("proxyconnect tcp: {0}")]
pub(super) struct Unusable(#[source] ureq::Error);

/// A proxy for a request.
pub(super) struct Proxy {
    /// How it is reached.
    pub(super) proxy: ureq::Proxy,
    /// Its host and port.
    pub(super) address: String,
}

impl Proxies {
    pub(super) fn of_environment() -> Proxies {
        let first = |all: [Variable; 2]| {
            all.iter().filter_map(Variable::text).find(|v| !v.is_empty()).unwrap_or_default()
        };
        if environment::REQUEST_METHOD.is_set() {
            return Proxies::of("", "", "");
        }
        Proxies::of(
            &first([environment::HTTP_PROXY, environment::HTTP_PROXY_SMALL]),
            &first([environment::HTTPS_PROXY, environment::HTTPS_PROXY_SMALL]),
            &first([environment::NO_PROXY, environment::NO_PROXY_SMALL]),
        )
    }

    pub(super) fn of(http: &str, https: &str, no: &str) -> Proxies {
        let builder = Matcher::builder().http(http.to_owned()).https(https.to_owned()).no(no.to_owned());
        Proxies(builder.build())
    }

    /// The proxy of a URL.
    ///
    /// # Errors
    /// There is one that cannot be used.
    pub(super) fn of_url(&self, url: &str) -> Result<Option<Proxy>, Unusable> {
        let Ok(uri) = url.parse::<Uri>() else { return Ok(None) };
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let is_own = host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
        if is_own {
            return Ok(None);
        }
        let Some(found) = self.0.intercept(&uri) else { return Ok(None) };
        let at = found.uri();
        let text = match found.raw_auth() {
            None => at.to_string(),
            Some((user, password)) => with_user(at, user, password),
        };
        let text = match found.basic_auth().and_then(|v| basic(v.to_str().ok()?)) {
            None => text,
            Some((user, password)) => with_user(at, &user, &password),
        };
        let proxy = ureq::Proxy::new(&text).map_err(Unusable)?;
        let address = format!("{}:{}", proxy.host(), proxy.port());
        Ok(Some(Proxy { proxy, address }))
    }
}

fn basic(header: &str) -> Option<(String, String)> {
    let bytes = STANDARD.decode(header.strip_prefix("Basic ")?).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.into(), password.into()))
}

fn with_user(at: &Uri, user: &str, password: &str) -> String {
    let escaped = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let authority = at.authority().map_or("", |a| a.as_str());
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{}://{}:{}@{host}", at.scheme_str().unwrap_or("http"), escaped(user), escaped(password))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_proxy_is_chosen_by_scheme_and_host() {
        let all =
            Proxies::of("http://plain:3128", "http://us%40er:pass@safe:3129", "corp.example, 10.0.0.0/8");
        let of = |url: &str| all.of_url(url).unwrap().map(|p| p.address);
        assert_eq!(of("http://a.example/").as_deref(), Some("plain:3128"));
        assert_eq!(of("https://a.example/x").as_deref(), Some("safe:3129"));
        for direct in [
            "http://corp.example/",
            "https://x.corp.example/",
            "http://10.1.2.3/",
            "http://localhost:1/",
            "http://127.0.0.1/",
            "http://[::1]/",
        ] {
            assert_eq!(of(direct), None, "{direct}");
        }
        let with_user = all.of_url("https://a.example/").unwrap().unwrap().proxy;
        assert_eq!((with_user.username(), with_user.password()), (Some("us@er"), Some("pass")));
    }

    #[test]
    fn without_proxies_no_request_uses_one() {
        assert!(Proxies::of("", "", "").of_url("http://a.example/").unwrap().is_none());
    }
}
