//! Entry points of fuzz targets into the readers of signatures, with the feature `fuzzing` only:
//! what others sign and send. Reading must end, without a panic.

use crate::message;
use ephor_document::decode_json;
use ephor_value::Value;
use ephor_value::bytes::decode_base64;

use crate::certificates::Certificate;
use crate::chain::{self, Leaf, Link};
use crate::log::{self, LogKey, SignedContent};
use crate::sct;
use crate::timestamp::{TsaRoots, TsaTrust};

/// Timestamp tokens in CMS, judged by a chain in PEM.
pub fn timestamp(chain: &str, root: &str, token: &[u8]) {
    if let Ok(trust) = TsaTrust::read(chain) {
        let _ = trust.moment(token, b"a signature");
    }
    if let Ok(roots) = TsaRoots::read(root) {
        let _ = roots.moments(token, b"a signature");
    }
}

/// Certificates in DER, with the timestamps of logs that they hold; `key` in base64 is that of the
/// issuer and of the log.
pub fn certificate(der: &[u8], key: &str) {
    if let Ok(link) = Link::of_der(der) {
        let own = [link.clone(), link];
        let _ = (chain::fits(&own, Leaf::Signer), chain::fits(&own, Leaf::Tsa));
    }
    if let Ok(one) = Certificate::of_der(der) {
        let roots = std::slice::from_ref(&one);
        let _ = (one.chains_to(roots, roots), one.fact("1.3.6.1.4.1.57264.1.1").len());
    }
    let key = decode_base64(key.as_bytes()).unwrap_or_default();
    let logs: Vec<LogKey> = LogKey::of_der(&key).into_iter().chain(LogKey::of_der(der)).collect();
    let _ = (sct::is_embedded(der), sct::verify(der, &key, &logs));
}

/// Entries of transparency logs in JSON.
pub fn entry(text: &str, key: &str) {
    let bundle = decode_json(text).unwrap_or_default();
    let key = decode_base64(key.as_bytes()).unwrap_or_default();
    let logs: Vec<LogKey> = LogKey::of_der(&key).into_iter().collect();
    let about = SignedContent { payload: b"{}", signature: "" };
    let _ = log::moment(&bundle, &about, &logs);
}

/// Signed manifests: gzip, tar, YAML.
pub fn message(text: &str, packed: &[u8], object: &Value) {
    if let Ok(bytes) = message::blob(text) {
        let _ = message::manifest(&bytes, object);
    }
    let _ = message::manifest(packed, object);
}
