//! The status of ClusterPolicies and Policies.

use crate::api::autogen::{Selection, computed_rules};
use crate::api::read::{Body, has_body};
use crate::in_use::StoredPolicy;
use crate::native::State;
use crate::value::Value;

use super::written::written;
use super::{Condition, members};

/// The status of a policy.
pub(super) fn status(policy: &StoredPolicy, is_carried: bool, native: Option<&State>, now: &str) -> Value {
    let mut status = members(policy);
    let message = match &policy.problem {
        _ if is_carried => "Ready".to_string(),
        Some(problem) => format!("Not Ready: {problem}"),
        None => "Not Ready".to_string(),
    };
    let ready = Condition { kind: "Ready", holds: is_carried, message };
    let before = status.get("conditions").and_then(Value::as_list).unwrap_or_default().to_vec();
    status.insert("conditions", Value::list(vec![ready.written(&before, now)]));
    status.remove("ready");
    let computed = computed_rules(&policy.document, Selection::All);
    let is_generated = |rule: &&Value| rule.text_at(&["name"]).starts_with("autogen-");
    let generated: Vec<Value> = computed.iter().filter(is_generated).map(written).collect();
    let autogen = match generated.is_empty() {
        true => Value::map([]),
        false => Value::map([("rules", Value::list(generated))]),
    };
    status.insert("autogen", autogen);
    let count = |body: Body| {
        let own = computed.iter().filter(|rule| !is_generated(rule) && has_body(rule, body)).count();
        Value::Int(i64::try_from(own).unwrap_or(i64::MAX))
    };
    let counts = Value::map([
        ("validate", count(Body::Validate)),
        ("generate", count(Body::Generate)),
        ("mutate", count(Body::Mutate)),
        ("verifyimages", count(Body::VerifyImages)),
    ]);
    status.insert("rulecount", counts);
    let state = native.cloned().unwrap_or_default();
    let state = [("generated", Value::Bool(state.generated)), ("message", state.message.into())];
    status.insert("validatingadmissionpolicy", Value::map(state));
    Value::Map(status)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::document::yaml_value;

    const POLICY: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: a}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, pattern: {spec: {hostNetwork: false}}}}]}}";

    #[test]
    fn a_policy_is_ready_when_the_webhooks_carry_it_and_counts_its_own_rules() {
        let policy = StoredPolicy { document: yaml_value(POLICY).unwrap(), problem: None };
        let status = status(&policy, true, None, "2026-01-01T00:00:00Z");
        let [ready] = status.get("conditions").and_then(Value::as_list).unwrap() else { unreachable!() };
        assert_eq!(
            (ready.text_at(&["status"]), ready.text_at(&["reason"]), ready.text_at(&["message"])),
            ("True", "Succeeded", "Ready")
        );
        assert_eq!(status.at(&["rulecount", "validate"]), Some(&Value::Int(1)));
        let generated = status.at(&["autogen", "rules"]).and_then(Value::as_list).unwrap();
        let names: Vec<&str> = generated.iter().map(|rule| rule.text_at(&["name"])).collect();
        assert_eq!(names, ["autogen-r", "autogen-cronjob-r"]);
    }

    #[test]
    fn the_time_of_a_condition_changes_with_its_status_alone() {
        let fresh = StoredPolicy { document: yaml_value(POLICY).unwrap(), problem: None };
        let first = status(&fresh, true, None, "first");
        let later = StoredPolicy { document: fresh.document.with("status", first.clone()), problem: None };
        assert_eq!(status(&later, true, None, "second"), first);
        let broken = StoredPolicy { problem: Some("a rule does not compile".into()), ..later };
        let conditions = status(&broken, false, None, "third");
        let [ready] = conditions.get("conditions").and_then(Value::as_list).unwrap() else { unreachable!() };
        assert_eq!(ready.text_at(&["message"]), "Not Ready: a rule does not compile");
        assert_eq!(ready.text_at(&["lastTransitionTime"]), "third");
    }
}
