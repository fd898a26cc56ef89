//! Checks of a PolicyException as a user writes it. Semantics: section 9.5 of the policy object
//! specification; what depends on the configuration of a cluster is left out.

use super::fields::Fields;
use super::structure::{match_block, no_users, pod_security};
use super::subject::{Finding, Findings};
use crate::read::items;
use crate::schema;
use ephor_value::Value;

/// Checks an exception that fits its schema.
pub fn lint(exception: &Value) -> Findings {
    let mut fields = Fields::default();
    let background = exception.at(&["spec", "background"]).and_then(Value::as_bool).unwrap_or(true);
    let matched = exception.at(&["spec", "match"]);
    if background {
        no_users(matched, "spec.match", &mut fields);
    }
    match_block(matched, "spec.match", false, &mut fields);
    for (i, entry) in items(exception.at(&["spec", "exceptions"])).iter().enumerate() {
        if entry.text_at(&["policyName"]).is_empty() {
            let place = format!("spec.exceptions[{i}].policyName");
            fields.required(&place, "An exception requires a policy name");
        }
    }
    for (i, entry) in items(exception.at(&["spec", "podSecurity"])).iter().enumerate() {
        pod_security(entry, "", &format!("spec.podSecurity[{i}]"), &mut fields);
    }
    let notice = schema::deprecation(exception.text_at(&["apiVersion"]), exception.text_at(&["kind"]));
    let warnings = notice.into_iter().map(|text| Finding::at("kind", text)).collect();
    Findings { warnings, error: fields.outcome().err() }
}
