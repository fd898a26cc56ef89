//! Plain downloads of policy and resource files.
//!
//! In: an `http(s)://` address. Out: its text ([`fetch`]), or its bytes as they come ([`stream`]).
//! Redirects are followed; the status must be 200. Size and time of a text are limited, so that an
//! address cannot fill the memory or hold up a run; a stream has any length, and may only not
//! pause. Without the feature `network` no request is sent, and every address is an error.

#[cfg(feature = "network")]
use super::http::{Request, RequestError, Unread, client};

/// The largest download. A larger one is an error.
#[cfg(feature = "network")]
const MAX_DOWNLOAD: u64 = 50 * 1024 * 1024;
/// How long a download may take from the first connection to the last byte.
#[cfg(feature = "network")]
const MAX_TIME: std::time::Duration = std::time::Duration::from_secs(60);

/// Why there are no bytes at an address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DownloadError {
    /// There is no answer.
    #[cfg(feature = "network")]
    #[error(transparent)]
    Request(#[from] Box<RequestError>),
    /// The answer has another status than 200.
    #[cfg(feature = "network")]
    #[error("failed to fetch resource from {url}: HTTP {status}")]
    Status {
        /// The address.
        url: Box<str>,
        /// The status.
        status: ureq::http::StatusCode,
    },
    /// The answer does not come to its end.
    #[cfg(feature = "network")]
    #[error("Get \"{url}\": {cause}")]
    Body {
        /// The address.
        url: Box<str>,
        /// Why not.
        #[source]
        cause: Unread,
    },
    /// The library is built without a network client.
    #[cfg(not(feature = "network"))]
    #[error("failed to fetch resource from {0}: built without the feature `network`")]
    NoNetwork(Box<str>),
}

/// Whether an argument is an address and not a file.
pub fn is_url(argument: &str) -> bool {
    argument.starts_with("http://") || argument.starts_with("https://")
}

/// The bytes at an address.
///
/// # Errors
/// Why there are none, with the address.
#[cfg(feature = "network")]
pub fn fetch(url: &str) -> Result<Vec<u8>, DownloadError> {
    let answer = client().send(Request::get(url, MAX_TIME)).map_err(Box::new)?;
    if answer.status != 200 {
        return Err(DownloadError::Status { url: url.into(), status: answer.status });
    }
    answer.bytes(MAX_DOWNLOAD).map_err(|cause| DownloadError::Body { url: url.into(), cause })
}

/// The bytes at an address as they come, and how many there are, if the server says so.
///
/// # Errors
/// Why there are none, with the address. What breaks off or pauses is an error of reading.
#[cfg(all(feature = "network", feature = "streams"))]
pub fn stream(url: &str) -> Result<(impl std::io::Read + Send + use<>, Option<u64>), DownloadError> {
    let request = Request { is_stream: true, ..Request::get(url, MAX_TIME) };
    let answer = client().send(request).map_err(Box::new)?;
    if answer.status != 200 {
        return Err(DownloadError::Status { url: url.into(), status: answer.status });
    }
    let size = answer.header("content-length").parse().ok();
    Ok((answer.reader(), size))
}

/// The bytes at an address; this library is built without a network client.
///
/// # Errors
/// Always, with the address.
#[cfg(not(feature = "network"))]
pub fn fetch(url: &str) -> Result<Vec<u8>, DownloadError> {
    Err(DownloadError::NoNetwork(url.into()))
}
