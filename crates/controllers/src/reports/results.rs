//! Results as reports hold them.
//!
//! In: what rules of a policy said about an object. Out: an entry of its report for each, and the
//! key by which entries of several programs replace each other. The object is the report's scope,
//! so no entry names it.

use ephor_document::json;
use ephor_engine::RuleOutcome;
use ephor_ir::Policy;
use ephor_report::policy_report::{Entry, PolicyFacts, report_status};
use ephor_value::{Map, Value};

/// What identifies a result of an object: source and policy, and the rule where policies have rules
/// with names.
pub type ResultKey = [String; 3];

/// The source of results of policies whose rules have names.
const WITH_RULES: &str = "kyverno";

/// The key of an entry.
pub fn key_of(entry: &Value) -> ResultKey {
    let [source, policy, rule] = ["source", "policy", "rule"].map(|key| entry.text_at(&[key]).to_string());
    let rule = if source == WITH_RULES { rule } else { String::new() };
    [source, policy, rule]
}

/// The entries of results, made at a moment (seconds since 1970); none for a policy that is left
/// out of reports.
pub fn entries(policy: &Policy, rules: &[RuleOutcome], seconds: u64) -> Vec<Value> {
    if !policy.reported {
        return Vec::new();
    }
    let facts = PolicyFacts::of(policy);
    let entry = |result: &RuleOutcome| {
        let status = report_status(result.status, &facts, false);
        let entry = Entry { facts: &facts, result, status, resource: &Value::Null, seconds };
        let mut written = String::new();
        entry.write_json(&mut written);
        let Ok(Value::Map(mut members)) = json::parse(&written) else { return None };
        members.remove("resources");
        Some(Value::Map(members))
    };
    rules.iter().filter_map(entry).collect()
}

/// The results of a report with new ones: those with the same key are replaced.
pub fn merged(before: Vec<Value>, new: &[Value]) -> Vec<Value> {
    let keys: Vec<ResultKey> = new.iter().map(key_of).collect();
    let mut all: Vec<Value> = before.into_iter().filter(|entry| !keys.contains(&key_of(entry))).collect();
    all.extend(new.iter().cloned());
    all
}

/// The order of entries in a report.
pub(super) fn order(entry: &Value) -> [String; 3] {
    ["policy", "rule", "source"].map(|key| entry.text_at(&[key]).to_string())
}

/// An entry without its time.
pub(super) fn without_time(entry: &Value) -> Value {
    let mut members: Map = entry.as_map().cloned().unwrap_or_default();
    members.remove("timestamp");
    Value::Map(members)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::object;

    fn entry(source: &str, rule: &str, result: &str) -> Value {
        object([
            ("source", source.into()),
            ("policy", "p".into()),
            ("rule", rule.into()),
            ("result", result.into()),
        ])
    }

    #[test]
    fn a_new_result_replaces_that_of_the_same_rule_or_of_a_policy_without_rules() {
        let before =
            vec![entry("kyverno", "a", "fail"), entry("kyverno", "b", "fail"), entry("Cel", "", "pass")];
        let after = merged(before, &[entry("kyverno", "a", "pass"), entry("Cel", "exception", "skip")]);
        let shown: Vec<(&str, &str)> =
            after.iter().map(|e| (e.text_at(&["rule"]), e.text_at(&["result"]))).collect();
        assert_eq!(shown, [("b", "fail"), ("a", "pass"), ("exception", "skip")]);
    }
}
