//! Asking for signatures and statements, as far as that goes without a registry: counts are checked,
//! keys and certificates read ([`super::options`]), and then the asking ends.

use crate::engine::outcome::Status;
use crate::ir::manifests::public_keys;
use crate::value::Value;

use super::OFFLINE;
use super::options::{self, Refusal};

/// What comes of asking for the evidence of an image.
pub fn ask(evidence: &Value, image: &str) -> (Status, String) {
    let list = |key: &str| evidence.get(key).and_then(Value::as_list).unwrap_or_default();
    let how = How { kind: evidence.text_at(&["type"]), repository: evidence.text_at(&["repository"]), image };
    for (i, set) in list("attestors").iter().enumerate() {
        let refusals = how.refusals(set, &format!(".attestors[{i}]"));
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
        return (Status::Fail, how.statements(attestation));
    }
    (Status::Error, "invalid response: nil".into())
}

/// How an image is asked for.
struct How<'h> {
    kind: &'h str,
    repository: &'h str,
    image: &'h str,
}

impl How<'_> {
    /// Why none of the entries of a set vouches. Nobody ever does without a registry.
    fn refusals(&self, set: &Value, path: &str) -> Vec<Refusal> {
        let entries = set.get("entries").and_then(Value::as_list).unwrap_or_default();
        let mut all = Vec::new();
        for (j, entry) in entries.iter().flat_map(expanded).enumerate() {
            let path = format!("{path}.entries[{j}]");
            if let Some(nested) = entry.get("attestor").filter(|v| !v.is_null()) {
                all.extend(self.refusals(nested, &format!("{path}.attestor")));
                continue;
            }
            let kind = kind_of(&entry);
            let Refusal { text, network } = self.refusal(kind, &entry, false);
            let suffix = kind.filter(|_| self.kind != "Notary").map_or(String::new(), |k| format!(".{k}"));
            all.push(Refusal { text: format!("{path}{suffix}: {text}"), network });
        }
        all
    }

    /// What is said of the statements that an attestation wants.
    fn statements(&self, attestation: &Value) -> String {
        let sets = attestation.get("attestors").and_then(Value::as_list).unwrap_or_default();
        let anybody = [Value::default()];
        let entries = sets.first().map(|s| s.get("entries").and_then(Value::as_list).unwrap_or_default());
        let entries = entries.unwrap_or(&anybody);
        let required = match sets.first().and_then(|s| s.get("count")) {
            Some(Value::Int(n)) if *n > 0 => n.to_string(),
            _ => entries.len().to_string(),
        };
        // Nested attestors are not looked into here, as in the reference.
        let errors = entries.iter().map(|e| self.refusal(kind_of(e), e, true).text);
        format!(
            "image attestations verification failed, verifiedCount: 0, requiredCount: {required}, error: {}",
            errors.collect::<Vec<_>>().join("; ")
        )
    }

    fn refusal(&self, kind: Option<&str>, entry: &Value, stated: bool) -> Refusal {
        match self.kind {
            "Notary" => options::notary(kind, entry, self.image, stated),
            "SigstoreBundle" => {
                Refusal::network(format!("failed to fetch bundles: {}: {OFFLINE}", self.image))
            }
            _ => options::cosign(kind, entry, self.repository, self.image),
        }
    }
}

fn kind_of(entry: &Value) -> Option<&'static str> {
    ["keys", "certificates", "keyless"].into_iter().find(|k| entry.get(k).is_some())
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
