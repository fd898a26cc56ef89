//! Image verification entries. Semantics: section 5.7, step 10 of the policy object specification.

use super::fields::Fields;
use super::subject::{ComputedRule, Outcome, Subject};
use crate::read::{listed, member};
use crate::schema::common::ATTESTORS;
use crate::schema::print::typed_json;
use crate::schema::shape::Kind;
use ephor_value::{Value, print};

/// Checks the entries of a computed rule.
pub fn check(subject: &Subject<'_>, rule: &ComputedRule<'_>) -> Outcome {
    let mut fields = Fields::default();
    let spec_action = subject.spec("validationFailureAction").and_then(Value::as_str).unwrap_or("");
    let mut is_audit = !spec_action.eq_ignore_ascii_case("enforce");
    for (j, entry) in listed(rule.value, "verifyImages").iter().enumerate() {
        let place = format!("{}.verifyImages[{j}]", rule.place());
        // An entry's own action holds for the following ones as well; the reference does the same.
        if let Some(action) = member(entry, "failureAction").and_then(Value::as_str) {
            is_audit = !action.eq_ignore_ascii_case("enforce");
        }
        check_entry(entry, is_audit, &place, &mut fields);
    }
    fields.outcome().map_err(|finding| finding.in_written(rule))
}

fn check_entry(entry: &Value, is_audit: bool, place: &str, fields: &mut Fields) {
    let digests = entry.get("mutateDigest").and_then(Value::as_bool).unwrap_or(true);
    if is_audit && digests {
        let detail = "mutateDigest must be set to false for ‘Audit’ failure action";
        fields.invalid(&format!("{place}.mutateDigest"), "true", detail);
    }
    if entry.text_at(&["image"]).is_empty() && listed(entry, "imageReferences").is_empty() {
        fields.invalid(place, &entry_json(entry), "An image reference is required");
    }
    let kind = entry.text_at(&["type"]);
    let mut sets: Vec<(String, &Value)> = Vec::new();
    for (k, set) in listed(entry, "attestors").iter().enumerate() {
        sets.push((format!("{place}.attestors[{k}]"), set));
    }
    for (k, attestation) in listed(entry, "attestations").iter().enumerate() {
        for (l, set) in listed(attestation, "attestors").iter().enumerate() {
            sets.push((format!("{place}.attestations[{k}].attestors[{l}]"), set));
        }
    }
    for (place, set) in &sets {
        attestor_set(set, place, fields);
    }
    former(entry, place, fields);
    if kind == "Notary" {
        for attestor in listed(entry, "attestors").iter().flat_map(|set| listed(set, "entries")) {
            for (name, title) in [("keyless", "Keyless"), ("keys", "Keys")] {
                if member(attestor, name).is_some() {
                    let detail = format!("{title} field is not allowed for type notary");
                    fields.invalid(&format!("{place}.attestors"), &entry_json(entry), &detail);
                }
            }
        }
    }
}

/// The attestor of a former version stands behind the others.
fn former(entry: &Value, place: &str, fields: &mut Fields) {
    let text = |key: &str| entry.text_at(&[key]);
    if text("issuer").is_empty() || !text("key").is_empty() || !listed(entry, "attestations").is_empty() {
        return;
    }
    let names = ["issuer", "subject", "roots"].into_iter().filter(|k| !text(k).is_empty());
    let keyless = Value::Map(names.map(|k| (k.into(), Value::from(text(k)))).collect());
    let place = format!("{place}.attestors[{}].entries[0].keyless", listed(entry, "attestors").len());
    attestor_part("keyless", &keyless, &place, fields);
}

fn entry_json(entry: &Value) -> String {
    use crate::schema::policy::RULE;
    match RULE.field("verifyImages").map(|field| field.kind) {
        Some(Kind::List(Kind::Object(table))) => typed_json(table, entry),
        _ => String::new(),
    }
}

fn part_json(names: &[&str], value: &Value) -> String {
    let mut kind = ATTESTORS;
    for name in names {
        kind = match (kind, *name) {
            (Kind::List(inner), "[]") => *inner,
            (Kind::Object(table), name) => match table.field(name) {
                Some(field) => field.kind,
                None => return String::new(),
            },
            _ => return String::new(),
        };
    }
    match kind {
        Kind::Object(table) => typed_json(table, value),
        _ => String::new(),
    }
}

fn attestor_set(set: &Value, place: &str, fields: &mut Fields) {
    let entries = listed(set, "entries");
    let json = || part_json(&["[]"], set);
    if let Some(Value::Int(count)) = set.get("count")
        && *count > entries.len() as i64
    {
        fields.invalid(place, &json(), "Count cannot exceed length of entries");
    }
    if entries.is_empty() {
        fields.invalid(place, &json(), "An entry is required");
    }
    for (k, entry) in entries.iter().enumerate() {
        attestor(entry, &format!("{place}.entries[{k}]"), fields);
    }
}

fn attestor(entry: &Value, place: &str, fields: &mut Fields) {
    let parts = ["keys", "certificates", "keyless", "attestor"];
    let present: Vec<(&str, &Value)> =
        parts.iter().filter_map(|name| member(entry, name).map(|value| (*name, value))).collect();
    if present.len() != 1 {
        let detail = "keys, certificates, keyless, or a nested attestor is required";
        fields.invalid(place, &part_json(&["[]", "entries", "[]"], entry), detail);
    }
    for (name, value) in present {
        attestor_part(name, value, &format!("{place}.{name}"), fields);
    }
}

fn attestor_part(name: &str, value: &Value, place: &str, fields: &mut Fields) {
    let json = || part_json(&["[]", "entries", "[]", name], value);
    let text = |name| value.text_at(&[name]);
    match name {
        "keys" => {
            if text("publicKeys").is_empty() && text("kms").is_empty() && member(value, "secret").is_none() {
                fields.invalid(place, &json(), "A public key, kms key or secret is required");
            } else if !matches!(text("signatureAlgorithm"), "" | "sha224" | "sha256" | "sha384" | "sha512") {
                fields.invalid(place, &json(), "Invalid signature algorithm provided");
            }
        }
        "certificates" if text("cert").is_empty() && text("certChain").is_empty() => {
            fields.invalid(place, &json(), "cert or certChain required");
        }
        "keyless" => {
            if member(value, "rekor").is_none() && text("roots").is_empty() {
                fields.invalid(place, &json(), "Either Rekor URL or roots are required");
            }
            if value.get("rekor").is_some_and(|rekor| rekor.text_at(&["url"]).is_empty()) {
                fields.invalid(place, &json(), "An URL is required");
            }
        }
        "attestor" => nested(value, place, fields),
        _ => {}
    }
}

/// A nested set is free JSON to the schema: no defaults, unknown fields ignored.
fn nested(value: &Value, place: &str, fields: &mut Fields) {
    match decoding_problem(value) {
        None => attestor_set(value, place, fields),
        Some(cause) => {
            let raw = print::json(value);
            fields.invalid(place, &raw, &format!("failed to unmarshal attestor set {raw}: {cause}"));
        }
    }
}

/// Why a nested attestor set cannot be read.
pub fn decoding_problem(set: &Value) -> Option<String> {
    if !matches!(set, Value::Map(_) | Value::Null) {
        return Some(format!(
            "json: cannot unmarshal {} into Go value of type v1.AttestorSet",
            set.json_type()
        ));
    }
    let wrong = |name: &str, fits: fn(&Value) -> bool| member(set, name).filter(|value| !fits(value));
    let (field, value, wanted) =
        wrong("count", |v| matches!(v, Value::Int(_))).map(|v| ("count", v, "int")).or_else(|| {
            wrong("entries", |v| matches!(v, Value::List(_))).map(|v| ("entries", v, "[]v1.Attestor"))
        })?;
    Some(format!(
        "json: cannot unmarshal {} into Go struct field AttestorSet.{field} of type {wanted}",
        value.json_type()
    ))
}
