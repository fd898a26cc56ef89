//! Plain downloads of policy and resource files.
//!
//! In: an `http(s)://` address. Out: its text. Redirects are followed; the status must be 200. Size
//! and time are limited, so that an address cannot fill the memory or hold up a run. Without the feature `network` no
//! request is sent, and every address is an error.

#[cfg(feature = "network")]
use super::http::{Request, client};

/// The largest download.
#[cfg(feature = "network")]
const LARGEST: u64 = 50 * 1024 * 1024;
/// How long a download may take from the first connection to the last byte.
#[cfg(feature = "network")]
const LONGEST: std::time::Duration = std::time::Duration::from_secs(60);

/// Whether an argument is an address and not a file.
pub fn is_url(argument: &str) -> bool {
    argument.starts_with("http://") || argument.starts_with("https://")
}

/// The bytes at an address.
///
/// # Errors
/// Why there are none, with the address.
#[cfg(feature = "network")]
pub fn fetch(url: &str) -> Result<Vec<u8>, String> {
    let answer = client().send(Request::get(url, LONGEST)).map_err(|failed| failed.to_string())?;
    if answer.status != 200 {
        return Err(format!("failed to fetch resource from {url}: HTTP {}", answer.status));
    }
    answer.bytes(LARGEST).map_err(|unread| format!("Get \"{url}\": {unread}"))
}

/// The bytes at an address; this library is built without a network client.
///
/// # Errors
/// Always, with the address.
#[cfg(not(feature = "network"))]
pub fn fetch(url: &str) -> Result<Vec<u8>, String> {
    Err(format!("failed to fetch resource from {url}: built without the feature `network`"))
}
