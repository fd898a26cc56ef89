//! Checks of a CleanupPolicy or ClusterCleanupPolicy as a user writes it. Semantics: section 10 of
//! the policy object specification; what depends on the permissions of accounts is left out.

use super::fields::Fields;
use super::structure::{match_block, no_users};
use super::subject::{Finding, Findings};
use crate::read::{items, listed};
use crate::schema;
use ephor_value::cron::Cron;
use ephor_value::{Value, print};

/// The longest name in bytes.
const MAX_NAME: usize = 63;

/// Checks a policy that fits its schema.
pub fn lint(policy: &Value) -> Findings {
    let mut fields = Fields::default();
    if policy.text_at(&["metadata", "name"]).len() > MAX_NAME {
        fields.too_long("metadata.name", MAX_NAME);
    }
    for (i, entry) in items(policy.at(&["spec", "context"])).iter().enumerate() {
        for (key, what) in [("imageRegistry", "ImageRegistry"), ("configMap", "ConfigMap")] {
            if entry.get(key).is_some_and(|v| !v.is_null()) {
                let detail = format!("{what} is not allowed in CleanUp Policy");
                fields.invalid(&format!("spec.context[{i}]"), &print::json(entry), &detail);
            }
        }
    }
    let schedule = policy.text_at(&["spec", "schedule"]);
    if !is_schedule(schedule) {
        let detail = "schedule spec in the cleanupPolicy is not in proper cron format";
        fields.invalid("spec.schedule", &print::json(&Value::from(schedule)), detail);
    }
    let (matched, excluded) = (policy.at(&["spec", "match"]), policy.at(&["spec", "exclude"]));
    let is_namespaced = policy.text_at(&["kind"]) == "CleanupPolicy";
    for (block, place) in [(matched, "spec.match"), (excluded, "spec.exclude")] {
        no_users(block, place, &mut fields);
        match_block(block, place, is_namespaced, &mut fields);
    }
    if is_empty_set(matched, excluded) {
        let spec = policy.get("spec").map(print::json).unwrap_or_default();
        fields.invalid("spec", &spec, "CleanupPolicy is matching an empty set");
    }
    let notice = schema::deprecation(policy.text_at(&["apiVersion"]), policy.text_at(&["kind"]));
    let warnings = notice.into_iter().map(|text| Finding::at("kind", text)).collect();
    Findings { warnings, error: fields.outcome().err() }
}

/// A schedule of five fields, or a name such as `@daily`.
fn is_schedule(text: &str) -> bool {
    let text = text.trim();
    if let Some(every) = text.strip_prefix("@every ") {
        return ephor_value::duration::parse_ok(every.trim()).is_some();
    }
    (text.starts_with('@') || text.split_whitespace().count() == 5) && Cron::parse(text).is_some()
}

/// Whether an exclusion leaves nothing: the same filter on both sides, or sides of which not both
/// list alternatives.
fn is_empty_set(matched: Option<&Value>, excluded: Option<&Value>) -> bool {
    let Some(excluded) = excluded.filter(|block| !block.is_empty()) else { return false };
    let matched = matched.cloned().unwrap_or_default();
    if !listed(&matched, "all").is_empty() || !listed(excluded, "all").is_empty() {
        return false;
    }
    let (own, out) = (listed(&matched, "any"), listed(excluded, "any"));
    match own.is_empty() || out.is_empty() {
        true => true,
        false => own.iter().any(|filter| out.iter().any(|other| filter.json_eq(other))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::lint;
    use crate::corpus;
    use crate::schema;

    fn problem(spec: &str) -> Option<String> {
        let text = format!(
            r#"{{"apiVersion": "kyverno.io/v2", "kind": "ClusterCleanupPolicy", "metadata": {{"name": "a"}}, "spec": {{{spec}}}}}"#
        );
        let document = schema::check(&corpus::parse(&text)).unwrap();
        lint(&document).error.map(|finding| finding.text)
    }

    const PODS: &str = r#""match": {"any": [{"resources": {"kinds": ["Pod"]}}]}"#;

    #[test]
    fn a_policy_that_deletes_on_schedule_is_accepted() {
        assert_eq!(problem(&format!(r#"{PODS}, "schedule": "*/5 * * * *""#)), None);
        assert_eq!(problem(&format!(r#"{PODS}, "schedule": "@daily""#)), None);
    }

    #[test]
    fn schedules_users_context_and_empty_sets_are_refused() {
        let refused = |spec: &str, text: &str| {
            let found = problem(spec);
            assert!(found.as_ref().is_some_and(|found| found.contains(text)), "{found:?}");
        };
        refused(&format!(r#"{PODS}, "schedule": "soon""#), "is not in proper cron format");
        refused(
            r#""match": {"any": [{"resources": {"kinds": ["Pod"]}, "clusterRoles": ["a"]}]}, "schedule": "@daily""#,
            "spec.match.any[0].clusterRoles: Forbidden: Usage of user info is forbidden",
        );
        refused(
            &format!(
                r#"{PODS}, "schedule": "@daily", "context": [{{"name": "c", "configMap": {{"name": "m", "namespace": "n"}}}}]"#
            ),
            "ConfigMap is not allowed in CleanUp Policy",
        );
        refused(
            &format!(
                r#"{PODS}, "exclude": {{"any": [{{"resources": {{"kinds": ["Pod"]}}}}]}}, "schedule": "@daily""#
            ),
            "CleanupPolicy is matching an empty set",
        );
    }
}
