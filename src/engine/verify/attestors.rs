//! Asking for signatures and statements, as far as that goes without a registry: keys and certificates
//! are read, counts are checked, and then the asking ends.

use crate::engine::outcome::Status;
use crate::functions::pem_holds;
use crate::ir::manifests::public_keys;
use crate::value::Value;

use super::OFFLINE;

/// Why an attestor did not vouch.
struct Refusal {
    text: String,
    /// Whether nobody could be asked.
    network: bool,
}

/// What comes of asking for the evidence of an image.
pub fn ask(evidence: &Value, image: &str) -> (Status, String) {
    let list = |key: &str| evidence.get(key).and_then(Value::as_list).unwrap_or_default();
    let notary = evidence.text_at(&["type"]) == "Notary";
    for (i, set) in list("attestors").iter().enumerate() {
        let refusals = refusals(set, &format!(".attestors[{i}]"), notary);
        if let Some(first) = refusals.first() {
            let status = if first.network { Status::Error } else { Status::Fail };
            let all: Vec<&str> = refusals.iter().map(|r| &*r.text).collect();
            return (status, format!("failed to verify image {image}: {}", all.join("; ")));
        }
    }
    if let Some(attestation) = list("attestations").first() {
        let named = ["type", "predicateType"].map(|k| attestation.text_at(&[k]));
        if named.iter().all(|t| t.is_empty()) {
            return (Status::Fail, ".attestations[0]: missing type".into());
        }
        let sets = attestation.get("attestors").and_then(Value::as_list).unwrap_or_default();
        let entries = sets.first().and_then(|s| s.get("entries")).and_then(Value::as_list);
        let entries = entries.map_or(1, <[Value]>::len);
        let required = match sets.first().and_then(|s| s.get("count")) {
            Some(Value::Int(n)) if *n > 0 => n.to_string(),
            _ => entries.to_string(),
        };
        let errors = vec![OFFLINE; entries].join("; ");
        return (
            Status::Fail,
            format!(
                "image attestations verification failed, verifiedCount: 0, requiredCount: {required}, error: {errors}"
            ),
        );
    }
    (Status::Error, "invalid response: nil".into())
}

/// Why none of the entries of a set vouches. Nobody ever does without a registry.
fn refusals(set: &Value, path: &str, notary: bool) -> Vec<Refusal> {
    let entries = set.get("entries").and_then(Value::as_list).unwrap_or_default();
    let mut all = Vec::new();
    for (j, entry) in entries.iter().flat_map(expanded).enumerate() {
        let path = format!("{path}.entries[{j}]");
        if let Some(nested) = entry.get("attestor").filter(|v| !v.is_null()) {
            all.extend(refusals(nested, &format!("{path}.attestor"), notary));
            continue;
        }
        let kind = ["keys", "certificates", "keyless"].into_iter().find(|k| entry.get(k).is_some());
        let (text, network) = refusal(kind, &entry, notary);
        let suffix = kind.filter(|_| !notary).map_or(String::new(), |k| format!(".{k}"));
        all.push(Refusal { text: format!("{path}{suffix}: {text}"), network });
    }
    all
}

/// An entry with several public keys is one entry a key.
fn expanded(entry: &Value) -> Vec<Value> {
    let blocks = public_keys(entry.text_at(&["keys", "publicKeys"]));
    if blocks.is_empty() {
        return vec![entry.clone()];
    }
    let with_key = |block: &&str| {
        let mut entry = entry.clone();
        if let Value::Map(fields) = &mut entry
            && let Some(Value::Map(keys)) = fields.get_mut("keys")
        {
            keys.insert("publicKeys", Value::from(*block));
        }
        entry
    };
    blocks.iter().map(with_key).collect()
}

fn refusal(kind: Option<&str>, entry: &Value, notary: bool) -> (String, bool) {
    let by = kind.and_then(|k| entry.get(k)).cloned().unwrap_or_default();
    let not_pem = |text: &str| !text.is_empty() && !pem_holds(text.trim_start(), "CERTIFICATE");
    match kind {
        Some("keys") => {
            let key = by.text_at(&["publicKeys"]).trim_start();
            if key.starts_with("-----BEGIN PUBLIC KEY-----") && !pem_holds(key, "PUBLIC KEY") {
                return (
                    "failed to load public key from PEM: pem to public key: PEM decoding failed".into(),
                    false,
                );
            }
        }
        Some("certificates") if notary && not_pem(by.text_at(&["cert"])) => {
            return ("failed to parse certificates: error during PEM decoding".into(), false);
        }
        Some("certificates") if not_pem(by.text_at(&["cert"])) => {
            let cert = by.text_at(&["cert"]);
            let text = format!(
                "failed to load certificate from {cert}: failed to unmarshal certificate from PEM format: error during PEM decoding"
            );
            return (text, false);
        }
        _ => {}
    }
    let log_is_read = by.at(&["rekor", "ignoreTlog"]).and_then(Value::as_bool) != Some(true)
        && by.text_at(&["rekor", "pubkey"]).is_empty();
    if log_is_read && !notary {
        return (format!("failed to load Rekor public keys: {OFFLINE}"), false);
    }
    (OFFLINE.into(), true)
}
