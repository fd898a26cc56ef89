//! Plain downloads of policy and resource files.
//!
//! In: an `http(s)://` address. Out: its text. Redirects are followed; the status must be 200. Size
//! and time are limited, so that an address cannot fill the memory or hold up a run.

use std::io;
use std::time::Duration;

/// The largest download.
const LARGEST: u64 = 50 * 1024 * 1024;
/// How long a download may take from the first connection to the last byte.
const LONGEST: Duration = Duration::from_secs(60);

/// Whether an argument is an address and not a file.
pub fn is_url(argument: &str) -> bool {
    argument.starts_with("http://") || argument.starts_with("https://")
}

/// The bytes at an address.
///
/// # Errors
/// Why there are none, with the address.
pub fn fetch(url: &str) -> Result<Vec<u8>, String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(LONGEST))
        .http_status_as_error(false)
        .user_agent(concat!("ephor/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    let failed = |error: ureq::Error| format!("Get \"{url}\": {}", cause(url, &error));
    let mut answer = agent.get(url).call().map_err(failed)?;
    if answer.status() != 200 {
        return Err(format!("failed to fetch resource from {url}: HTTP {}", answer.status()));
    }
    answer.body_mut().with_config().limit(LARGEST).read_to_vec().map_err(failed)
}

/// Why nothing came, in the reference's words where it has some.
pub(super) fn cause(url: &str, error: &ureq::Error) -> String {
    let ureq::Error::Io(e) = error else { return error.to_string() };
    if e.kind() != io::ErrorKind::ConnectionRefused {
        return e.to_string();
    }
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let host = rest.split(['/', '?']).next().unwrap_or("");
    let port = match (host.rsplit_once(':'), scheme) {
        (Some((_, port)), _) if port.bytes().all(|b| b.is_ascii_digit()) => "",
        (_, "https") => ":443",
        _ => ":80",
    };
    format!("dial tcp {host}{port}: connect: connection refused")
}
