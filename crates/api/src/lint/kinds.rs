//! Kinds of match and exclude blocks: where the wildcard `*` is allowed.
//!
//! Semantics: section 5.6, step 10 of the policy object specification. Only the literal entry `*`
//! counts.

use super::patches::patch_operations;
use super::subject::{ComputedRule, Finding, Outcome, Subject};
use crate::read::{Body, entries, filters, kinds_of, listed, member};
use ephor_value::{Value, print};

/// What a rule that selects no kind, or every kind, may not do.
pub const METADATA_ONLY: &str =
    "policy can only deal with the metadata field of the resource if the rule does not match any kind";

/// Checks the kinds of every computed rule.
pub fn check(subject: &Subject<'_>) -> Outcome {
    for rule in subject.rules() {
        for block in ["match", "exclude"] {
            for (below, filter) in filters(rule.value.get(block)) {
                if kinds_of(filter).any(|kind| kind == "*")
                    && let Some(detail) = problem(subject, &rule, kinds_of(filter).count())
                {
                    let below = if below.is_empty() { below } else { format!(".{below}") };
                    let place = format!("{}.{block}{below}.kinds", rule.place());
                    return Err(Finding::path(&place, detail).in_written(&rule));
                }
            }
        }
    }
    Ok(())
}

fn problem(subject: &Subject<'_>, rule: &ComputedRule<'_>, kinds: usize) -> Option<&'static str> {
    if subject.background {
        return Some(
            "wildcard policy not allowed in background mode. Set spec.background=false to disable background mode \
             for this policy rule ",
        );
    }
    if kinds > 1 {
        return Some("wildcard policy can not deal with more than one kind");
    }
    let has_loops = rule.value.at(&["validate", "foreach"]).is_some_and(|v| !v.is_null());
    if has_loops || rule.has(Body::Generate) || rule.has(Body::VerifyImages) {
        return Some("wildcard policy does not support rule type");
    }
    let denies_more = rule.value.at(&["validate", "deny"]);
    let denies_more =
        denies_more.is_some_and(|deny| !listed(deny, "conditions").iter().all(is_about_metadata));
    (denies_more || touches_more_than_metadata(subject, rule.value)).then_some(METADATA_ONLY)
}

/// Whether the patterns and patches of a rule speak of anything but the metadata of the object.
pub fn touches_more_than_metadata(subject: &Subject<'_>, rule: &Value) -> bool {
    let beyond = |pattern: &Value| pattern.as_map().is_some_and(|m| m.keys().any(|key| &**key != "metadata"));
    if let Some(mutate) = member(rule, "mutate") {
        let patches = mutate.text_at(&["patchesJson6902"]);
        if member(mutate, "patchStrategicMerge").is_some_and(beyond)
            || json_patch_leaves_metadata(subject, patches)
        {
            return true;
        }
    }
    let Some(validate) = member(rule, "validate") else { return false };
    member(validate, "pattern").is_some_and(beyond)
        || member(validate, "anyPattern").is_some_and(|any| match any {
            Value::List(patterns) => patterns.iter().any(beyond),
            _ => true,
        })
}

/// Only patches in JSON form are recognised.
fn json_patch_leaves_metadata(subject: &Subject<'_>, patches: &str) -> bool {
    let is_json = patches.trim_start().starts_with('[');
    is_json
        && patch_operations(subject, patches).is_some_and(|operations| {
            operations.iter().any(|operation| !operation.text_at(&["path"]).starts_with("/metadata"))
        })
}

fn is_about_metadata(condition: &Value) -> bool {
    let key = condition.get("key").map(print::display).unwrap_or_default();
    let allowed = ["request.", "serviceAccountName"].iter().any(|name| {
        let mut openings = key.split("{{").skip(1);
        openings.any(|rest| rest.trim_start().starts_with(name))
    });
    key.contains("request.object.metadata.") || allowed && !key.contains("request.object.spec")
}

/// Whether a rule names no kinds where it must: in every filter of `any` or `all`, or in the legacy
/// block when there is neither.
pub fn lacks_kinds(rule: &Value) -> bool {
    let Some(block) = member(rule, "match") else { return true };
    let listed_filters: Vec<&Value> = ["any", "all"].iter().flat_map(|name| listed(block, name)).collect();
    match listed_filters.is_empty() {
        true => kinds_of(block).next().is_none(),
        false => listed_filters.iter().any(|filter| kinds_of(filter).next().is_none()),
    }
}

/// Whether `filter` has resources at all.
pub fn has_resources(filter: &Value) -> bool {
    entries(filter, "resources").any(|(_, value)| !matches!(value, Value::Null) && value.as_str() != Some(""))
}
