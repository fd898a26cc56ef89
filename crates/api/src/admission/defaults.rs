//! Defaults. Semantics: `docs/semantics/admission.md`, "Defaults".

use ephor_value::{Map, Value};

/// The object with its defaults; objects of other kinds stay as they are.
pub fn defaulted(object: &Value) -> Value {
    if !object.text_at(&["apiVersion"]).starts_with("admissionregistration.k8s.io/") {
        return object.clone();
    }
    let block = match object.text_at(&["kind"]) {
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => "matchConstraints",
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => "matchResources",
        "ValidatingWebhookConfiguration" => return webhooks(object, false),
        "MutatingWebhookConfiguration" => return webhooks(object, true),
        _ => return object.clone(),
    };
    let mut object = object.clone();
    if let Value::Map(m) = &mut object {
        fill(m, "spec", || Value::Map(Map::new()));
    }
    if let Some(spec) = member(&mut object, "spec") {
        if block == "matchConstraints" {
            fill(spec, "failurePolicy", || "Fail".into());
        }
        if let Some(Value::Map(block)) = spec.get_mut(block) {
            match_resources(block);
        }
    }
    object
}

fn member<'v>(object: &'v mut Value, key: &str) -> Option<&'v mut Map> {
    let Value::Map(m) = object else { return None };
    match m.get_mut(key) {
        Some(Value::Map(inner)) => Some(inner),
        _ => None,
    }
}

fn fill(m: &mut Map, key: &str, value: impl FnOnce() -> Value) {
    if m.get(key).is_none_or(Value::is_null) {
        m.insert(key, value());
    }
}

fn match_resources(block: &mut Map) {
    fill(block, "matchPolicy", || "Equivalent".into());
    fill(block, "namespaceSelector", || Value::Map(Map::new()));
    fill(block, "objectSelector", || Value::Map(Map::new()));
    ["resourceRules", "excludeResourceRules"].into_iter().for_each(|key| rules(block, key));
}

fn rules(holder: &mut Map, key: &str) {
    let Some(Value::List(rules)) = holder.get_mut(key) else { return };
    for rule in rules.make_mut() {
        if let Value::Map(rule) = rule {
            fill(rule, "scope", || "*".into());
        }
    }
}

/// A webhook configuration with its defaults.
fn webhooks(object: &Value, mutating: bool) -> Value {
    let mut object = object.clone();
    let Value::Map(m) = &mut object else { return object };
    let Some(Value::List(webhooks)) = m.get_mut("webhooks") else { return object };
    for webhook in webhooks.make_mut() {
        let Value::Map(webhook) = webhook else { continue };
        fill(webhook, "failurePolicy", || "Fail".into());
        fill(webhook, "timeoutSeconds", || Value::Int(10));
        match_resources(webhook);
        rules(webhook, "rules");
        if mutating {
            fill(webhook, "reinvocationPolicy", || "Never".into());
        }
        if let Some(Value::Map(client)) = webhook.get_mut("clientConfig")
            && let Some(Value::Map(service)) = client.get_mut("service")
        {
            fill(service, "port", || Value::Int(443));
        }
    }
    object
}
