//! `verifyImages` bodies → [`ImageChecks`]. The fields of former versions become attestors.

use std::sync::Arc;

use ephor_ir::Origin;
use ephor_ir::images::{Claim, ImageCheck, ImageChecks};
use ephor_value::wildcard::Wildcard;
use ephor_value::{Map, Str, Value};

use super::condition::conditions;
use super::template::document;

/// Lowers the checks of a rule; `names` are the bindings in its scope.
pub fn checks(rule: &Value, names: &Arc<[Str]>) -> ImageChecks {
    let entries = rule.get("verifyImages").and_then(Value::as_list).unwrap_or_default();
    let verifications = Value::list(entries.iter().map(verification).collect());
    let below: Map = [(Str::from("verifyImages"), verifications)].into_iter().collect();
    ImageChecks {
        entries: entries.iter().map(|e| check(e, names)).collect(),
        verification: document(&Value::Map(below), names),
        extractors: rule.get("imageExtractors").cloned().unwrap_or_default(),
    }
}

fn list<'v>(entry: &'v Value, key: &str) -> &'v [Value] {
    entry.get(key).and_then(Value::as_list).unwrap_or_default()
}

fn check(entry: &Value, names: &Arc<[Str]>) -> ImageCheck {
    let origin = Origin::new("verifyImages");
    let patterns = |key: &str| list(entry, key).iter().filter_map(Value::as_str).map(Wildcard::new);
    let former = Some(entry.text_at(&["image"])).filter(|s| !s.is_empty()).map(Wildcard::new);
    let on = |key: &str| entry.get(key).and_then(Value::as_bool).unwrap_or(true);
    let wanted = |key: &str| !list(entry, key).is_empty();
    ImageCheck {
        references: patterns("imageReferences").chain(former).collect(),
        skipped: patterns("skipImageReferences").collect(),
        attested: wanted("attestors") || wanted("attestations") || former_attestor(entry).is_some(),
        mutate_digest: on("mutateDigest"),
        verify_digest: on("verifyDigest"),
        required: on("required"),
        claims: list(entry, "attestations").iter().map(|a| claim(a, names, &origin)).collect(),
        deny: conditions(entry.at(&["validate", "deny", "conditions"]), names, origin),
    }
}

fn claim(attestation: &Value, names: &Arc<[Str]>, origin: &Origin) -> Claim {
    let blocks = list(attestation, "conditions").iter();
    Claim {
        name: attestation.text_at(&["name"]).into(),
        blocks: blocks.filter_map(|b| conditions(Some(b), names, origin.clone())).collect(),
        text: document(attestation.get("conditions").unwrap_or(&Value::Null), names),
    }
}

fn verification(entry: &Value) -> Value {
    let mut attestors = list(entry, "attestors").to_vec();
    let attestations = list(entry, "attestations");
    // Together with attestations the attestor of a former version is lost, as in the reference.
    attestors.extend(former_attestor(entry).filter(|_| attestations.is_empty()));
    let fields = [
        ("type", Value::from(entry.text_at(&["type"]))),
        ("repository", Value::from(entry.text_at(&["repository"]))),
        ("annotations", entry.get("annotations").cloned().unwrap_or_default()),
        ("message", Value::from(entry.text_at(&["validate", "message"]))),
        ("attestors", Value::list(attestors)),
        ("attestations", Value::list(attestations.iter().map(without_conditions).collect())),
    ];
    let credentials = entry.get("imageRegistryCredentials").map(|v| ("credentials", v.clone()));
    Value::Map(fields.into_iter().chain(credentials).map(|(k, v)| (Str::from(k), v)).collect())
}

/// Conditions are filled in with what statements say.
fn without_conditions(attestation: &Value) -> Value {
    let fields = attestation.as_map().into_iter().flat_map(Map::iter);
    Value::Map(fields.filter(|(k, _)| &***k != "conditions").map(|(k, v)| (k.clone(), v.clone())).collect())
}

fn former_attestor(entry: &Value) -> Option<Value> {
    let text = |key: &str| Some(entry.text_at(&[key])).filter(|s| !s.is_empty());
    let object = |fields: &[(&str, Option<&str>)]| {
        let given = fields.iter().filter_map(|(k, v)| Some((Str::from(*k), Value::from((*v)?))));
        Value::Map(given.collect())
    };
    let (kind, by) = match (text("key"), text("issuer")) {
        (Some(key), _) => ("keys", object(&[("publicKeys", Some(key))])),
        (None, Some(issuer)) => (
            "keyless",
            object(&[("issuer", Some(issuer)), ("subject", text("subject")), ("roots", text("roots"))]),
        ),
        (None, None) => return None,
    };
    let one: Map = [(Str::from(kind), by)].into_iter().collect();
    let set: Map = [(Str::from("entries"), Value::list(vec![Value::Map(one)]))].into_iter().collect();
    Some(Value::Map(set))
}
