//! Labels and annotations in patterns and patches are texts. Semantics: section 5.7, step 12 of the
//! policy object specification.

use super::subject::{ComputedRule, Finding, Outcome};
use crate::read::{listed, member};
use ephor_value::Value;

/// Refuses values of labels and annotations that are no texts. Of a list of loops only the first
/// pattern or patch is read.
pub fn check(rule: &ComputedRule<'_>) -> Outcome {
    let mut parts: Vec<&Value> = Vec::new();
    for (body, name) in [("validate", "pattern"), ("mutate", "patchStrategicMerge")] {
        let Some(body) = member(rule.value, body) else { continue };
        parts.extend(member(body, name));
        parts.extend(listed(body, "anyPattern"));
        parts.extend(listed(body, "foreach").iter().find_map(|entry| member(entry, name)));
    }
    if parts.into_iter().any(has_other_values) {
        let text = "labels and annotations supports only string values, \"use double quotes around the non string values\"";
        return Err(Finding::at(&format!("spec.rules[{}]", rule.written), text));
    }
    Ok(())
}

fn has_other_values(part: &Value) -> bool {
    [part.get("metadata"), part.at(&["spec", "template", "metadata"])].into_iter().flatten().any(|meta| {
        ["labels", "annotations"].iter().any(|name| {
            meta.get(name).and_then(Value::as_map).is_some_and(|m| m.values().any(|v| v.as_str().is_none()))
        })
    })
}
