//! Changes of generate rules that a policy must not have.
//!
//! In: a policy as it was and as it is to be. Out: why it is refused, or a warning. What a rule
//! generates is found by where it was written to be, so that may not change together with the rest
//! of the rule. Semantics: `docs/semantics/generate.md`, "Changes of rules".

use ephor_api::read::items;
use ephor_value::Value;

/// What a change means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    Allowed,
    /// What was generated may stay as it is.
    Warned(&'static str),
    /// It is refused.
    Refused(&'static str),
}

const STALE: &str = "no synchronization will be performed to the old target resource upon policy updates";
const IMMUTABLE: &str = "changes of immutable fields of a rule spec in a generate rule is disallowed";

/// Parts of a generate block that may change.
const FREE: [&str; 5] =
    ["synchronize", "orphanDownstreamOnPolicyDelete", "data", "foreach", "generateExisting"];

fn without(value: &Value, gone: &[&str]) -> Value {
    let members = value.as_map().into_iter().flat_map(ephor_value::Map::iter);
    let members = members.filter(|(key, _)| !gone.contains(&&***key));
    Value::Map(members.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn generate_rules(policy: &Value) -> Vec<&Value> {
    let rules = items(policy.at(&["spec", "rules"])).iter();
    rules.filter(|rule| rule.get("generate").is_some_and(|g| !g.is_empty())).collect()
}

/// What the change of a policy means.
pub fn change(old: &Value, new: &Value) -> Change {
    let (before, after) = (generate_rules(old), generate_rules(new));
    let blocks = |rules: &[&Value]| -> Vec<Value> {
        rules.iter().map(|rule| without(rule.get("generate").unwrap_or(&Value::Null), &FREE)).collect()
    };
    let is_within =
        |some: &[Value], all: &[Value]| some.iter().all(|one| all.iter().any(|other| other.json_eq(one)));
    if !is_within(&blocks(&before), &blocks(&after)) {
        return Change::Warned(STALE);
    }
    let synchronizes = before
        .iter()
        .any(|rule| rule.at(&["generate", "synchronize"]).and_then(Value::as_bool) == Some(true));
    let gone: &[&str] = if synchronizes { &["generate"] } else { &["generate", "match"] };
    let rest = |rules: &[&Value]| -> Vec<Value> { rules.iter().map(|rule| without(rule, gone)).collect() };
    match is_within(&rest(&before), &rest(&after)) {
        true => Change::Allowed,
        false => Change::Refused(IMMUTABLE),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_document::yaml_value;

    fn policy(name: &str, kinds: &str, generate: &str) -> Value {
        let text = format!(
            "{{spec: {{rules: [{{name: {name}, match: {{any: [{{resources: {{kinds: [{kinds}]}}}}]}}, generate: {generate}}}]}}}}"
        );
        yaml_value(&text).unwrap()
    }

    #[test]
    fn content_and_flags_may_change_place_with_a_warning_and_the_rest_of_the_rule_not() {
        let old = policy("r", "Namespace", "{kind: ConfigMap, name: a, synchronize: true, data: {k: v}}");
        let of = |name, kinds, generate| change(&old, &policy(name, kinds, generate));
        assert_eq!(of("r", "Namespace", "{kind: ConfigMap, name: a, data: {k: w}}"), Change::Allowed);
        assert_eq!(of("r", "Namespace", "{kind: ConfigMap, name: b, data: {k: v}}"), Change::Warned(STALE));
        let same = "{kind: ConfigMap, name: a, synchronize: true, data: {k: v}}";
        assert_eq!(of("s", "Namespace", same), Change::Refused(IMMUTABLE));
        assert_eq!(of("r", "Pod", same), Change::Refused(IMMUTABLE));
        let old = policy("r", "Namespace", "{kind: ConfigMap, name: a, data: {k: v}}");
        let new = policy("r", "Pod", "{kind: ConfigMap, name: a, data: {k: v}}");
        assert_eq!(change(&old, &new), Change::Allowed);
    }
}
