//! The status of ClusterPolicies and Policies.

use ephor_api::autogen::{Selection, computed_rules};
use ephor_api::read::{Body, has_body};
use ephor_value::Value;

use super::written::written;
use crate::in_use::StoredPolicy;
use crate::native::NativeState;
use crate::status::condition::{Condition, Observed, members};

/// The status of a policy.
pub(super) fn status(
    policy: &StoredPolicy,
    is_carried: bool,
    native: Option<&NativeState>,
    at: Observed<'_>,
) -> Value {
    let mut status = members(policy);
    let message = match &policy.problem {
        _ if is_carried => "Ready".to_string(),
        Some(problem) => format!("Not Ready: {problem}"),
        None => "Not Ready".to_string(),
    };
    let ready = Condition { kind: "Ready", holds: is_carried, message };
    let before = status.get("conditions").and_then(Value::as_list).unwrap_or_default().to_vec();
    status.insert("conditions", Value::list(vec![ready.written(&before, at)]));
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

    use ephor_document::yaml_value;

    use super::*;

    const POLICY: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: a}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, pattern: {spec: {hostNetwork: false}}}}]}}";

    fn at(now: &str, generation: i64) -> Observed<'_> {
        Observed { now, generation: Some(generation) }
    }

    #[test]
    fn a_policy_is_ready_when_the_webhooks_carry_it_and_counts_its_own_rules() {
        let policy = StoredPolicy { document: yaml_value(POLICY).unwrap(), problem: None };
        let status = status(&policy, true, None, at("2026-01-01T00:00:00Z", 1));
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
        let first = status(&fresh, true, None, at("first", 1));
        let later = StoredPolicy { document: fresh.document.with("status", first.clone()), problem: None };
        assert_eq!(status(&later, true, None, at("second", 1)), first);
        let broken = StoredPolicy { problem: Some("a rule does not compile".into()), ..later };
        let conditions = status(&broken, false, None, at("third", 1));
        let [ready] = conditions.get("conditions").and_then(Value::as_list).unwrap() else { unreachable!() };
        assert_eq!(ready.text_at(&["message"]), "Not Ready: a rule does not compile");
        assert_eq!(ready.text_at(&["lastTransitionTime"]), "third");
    }

    #[test]
    fn a_condition_says_which_generation_of_the_policy_it_is_about() {
        let fresh = StoredPolicy { document: yaml_value(POLICY).unwrap(), problem: None };
        let of = |status: &Value| {
            let [ready] = status.get("conditions").and_then(Value::as_list).unwrap() else { unreachable!() };
            (ready.get("observedGeneration").cloned(), ready.text_at(&["lastTransitionTime"]).to_string())
        };
        let first = status(&fresh, true, None, at("first", 1));
        assert_eq!(of(&first), (Some(Value::Int(1)), "first".to_string()));
        // A changed policy that is as ready as before has been so since then.
        let later = StoredPolicy { document: fresh.document.with("status", first), problem: None };
        let second = status(&later, true, None, at("second", 2));
        assert_eq!(of(&second), (Some(Value::Int(2)), "first".to_string()));
        let unknown = status(&fresh, true, None, Observed { now: "first", generation: None });
        assert_eq!(of(&unknown).0, None);
    }
}
