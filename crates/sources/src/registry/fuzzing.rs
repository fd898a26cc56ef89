//! Entry points of fuzz targets into what registries answer, with the feature `fuzzing` only.
//! Reading must end, without a panic; no request is sent.

use ephor_document::decode_json;

use super::client::{RegistryResponse, listed};
use super::credentials::{Keys, of_entries};
use super::session::{Actions, of_registry, token};
use super::{Repository, place};

/// A challenge, the answer of a service of tokens, a list of referrers, an error, a pull secret,
/// and a reference.
pub fn answers(text: &str) {
    let at = Repository { registry: "registry.example".into(), path: "a/b".into() };
    // What names no service over TLS is refused before it is called.
    let challenge = text.replace("https://", "ftp://");
    let _ = of_registry(&at, &[challenge], &Keys::anonymous(), ("https", Actions::Pull));
    let body = text.as_bytes().to_vec();
    let _ = (token(&body), listed(&body), place(text));
    let entries = decode_json(text).unwrap_or_default();
    let _ = entries.as_map().and_then(|entries| of_entries(entries, &at));
    for status in [200, 401, 404, 503] {
        let answer = RegistryResponse {
            status,
            media_type: String::new(),
            location: String::new(),
            challenges: Vec::new(),
            body: body.clone(),
        };
        let _ = answer.checked("https://registry.example/v2/");
    }
}
