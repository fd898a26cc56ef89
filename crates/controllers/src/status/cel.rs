//! The status of policies whose expressions are CEL.

use ephor_api::read::{items, texts};
use ephor_kubernetes::Kinds;
use ephor_lower::cel_policy::variants_of;
use ephor_value::{Map, Value};

use super::rights::Rights;
use crate::in_use::StoredPolicy;
use crate::native::NativeState;
use crate::status::condition::{Condition, Observed, members};

/// The status of a policy.
pub(super) fn status(
    policy: &StoredPolicy,
    is_carried: bool,
    native: Option<&NativeState>,
    rights: &Rights,
    at: Observed<'_>,
) -> Value {
    let document = &policy.document;
    let spec = document.get("spec").cloned().unwrap_or_default();
    let mut status = members(policy);
    let is_on = |part: &str| {
        document.at(&["spec", "evaluation", part, "enabled"]).and_then(Value::as_bool) != Some(false)
    };
    let mut conditions = Vec::new();
    if is_on("admission") {
        let message = match &policy.problem {
            _ if is_carried => "Webhook configured.".to_string(),
            Some(problem) => format!("Policy is not configured in the webhook: {problem}"),
            None => "Policy is not configured in the webhook.".to_string(),
        };
        conditions.push(Condition { kind: "WebhookConfigured", holds: is_carried, message });
    }
    let generates = document.text_at(&["kind"]).ends_with("GeneratingPolicy");
    let (holds, message) = match is_on("background") || generates {
        true => rights.of_policy(&spec),
        false => (true, "Background scanning disabled; reporting permissions not required.".into()),
    };
    conditions.push(Condition { kind: "RBACPermissionsGranted", holds, message });
    let old = document.at(&["status", "conditionStatus"]).cloned().unwrap_or_default();
    let before = old.get("conditions").and_then(Value::as_list).unwrap_or_default();
    let written = conditions.iter().map(|c| c.written(before, at)).collect();
    let all = Value::map([
        ("conditions", Value::list(written)),
        ("message", message_about_native(document, native).into()),
        ("ready", Value::Bool(conditions.iter().all(|c| c.holds))),
    ]);
    status.insert("conditionStatus", all);
    if !generates {
        status.insert("autogen", autogen(&spec, document.text_at(&["kind"]).ends_with("MutatingPolicy")));
        status.insert("generated", Value::Bool(native.is_some_and(|state| state.generated)));
    }
    Value::Map(status)
}

/// Why the API server does not evaluate a policy that says whether it should.
fn message_about_native(document: &Value, native: Option<&NativeState>) -> String {
    let is_written = ["validatingAdmissionPolicy", "mutatingAdmissionPolicy"]
        .iter()
        .any(|key| document.at(&["spec", "autogen", key]).is_some_and(|part| !part.is_null()));
    native.filter(|_| is_written).map(|state| state.message.clone()).unwrap_or_default()
}

/// The variants for the controllers of pods.
fn autogen(spec: &Value, mutating: bool) -> Value {
    let mut configs = Map::new();
    for (name, variant) in variants_of(spec, mutating) {
        let targets = targets(&variant);
        configs.insert(name, Value::map([("spec", variant), ("targets", Value::list(targets))]));
    }
    match configs.is_empty() {
        true => Value::map([]),
        false => Value::map([("configs", Value::Map(configs))]),
    }
}

/// The kinds that a variant is about.
fn targets(variant: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    for rule in items(variant.at(&["matchConstraints", "resourceRules"])) {
        let first = |key: &'static str| texts(rule, &[key]).next().unwrap_or_default();
        let (group, version) = (first("apiGroups"), first("apiVersions"));
        for resource in texts(rule, &["resources"]) {
            let kind = Kinds::built_in().resource(group, version, resource).map_or("", |r| &*r.kind);
            all.push(Value::map([
                ("group", group.into()),
                ("version", version.into()),
                ("resource", resource.into()),
                ("kind", kind.into()),
            ]));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_document::yaml_value;

    use super::*;

    #[test]
    fn each_condition_says_which_generation_of_the_policy_it_is_about() {
        let written = |at| {
            let condition = Condition { kind: "WebhookConfigured", holds: true, message: String::new() };
            condition.written(&[], at)
        };
        let known = written(Observed { now: "now", generation: Some(3) });
        assert_eq!(known.get("observedGeneration"), Some(&Value::Int(3)));
        assert_eq!(known.get("lastTransitionTime"), Some(&"now".into()));
        assert_eq!(written(Observed { now: "now", generation: None }).get("observedGeneration"), None);
    }

    #[test]
    fn a_policy_that_says_whether_it_becomes_one_of_kubernetes_says_why_it_did_not() {
        let state = NativeState { generated: false, message: "skip generating: not enabled.".into() };
        let message = |spec: &str| {
            let document = yaml_value(&format!("{{kind: MutatingPolicy, spec: {spec}}}")).unwrap();
            message_about_native(&document, Some(&state))
        };
        assert_eq!(message("{autogen: {mutatingAdmissionPolicy: {enabled: false}}}"), state.message);
        assert_eq!(message("{autogen: {podControllers: {controllers: []}}}"), "");
        assert_eq!(message("{}"), "");
    }
}
