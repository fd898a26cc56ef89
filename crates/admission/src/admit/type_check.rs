//! Warnings of expressions that do not fit the types of the kinds that a policy is about.
//!
//! In: a ClusterPolicy with its defaults, what the cluster serves, and its release. Out: a warning
//! for each expression of `validate.cel`, in the words that a ValidatingAdmissionPolicy with the
//! same expressions has in its status. As in Kyverno only policies are checked that can become one.
//! Semantics: `docs/semantics/admission.md`, "Warnings about types".

use crate::native::{Known, native};
use ephor_lower::admission::warnings as of_native;
use ephor_value::Value;
use ephor_value::release::Release;
use ephor_value::time::Time;

use super::policies::Served;

/// Where Kubernetes has the expressions, and where Kyverno has them.
const FIELDS: (&str, &str) = ("spec.validations[", "spec.rules[0].validate.cel.expressions[");

/// The warnings about the expressions of a policy.
pub(super) fn warnings(policy: &Value, served: &Served<'_>, release: Release) -> Vec<String> {
    let rules = policy.at(&["spec", "rules"]).and_then(Value::as_list).unwrap_or_default();
    let [rule] = rules else { return Vec::new() };
    let Some(cel) = rule.at(&["validate", "cel"]).filter(|cel| cel.as_map().is_some()) else {
        return Vec::new();
    };
    // Whether it shall become one makes no difference.
    let wanted = cel.with("generate", true.into());
    let validate = rule.get("validate").cloned().unwrap_or_default().with("cel", wanted);
    let rules = Value::list(vec![rule.with("validate", validate)]);
    let spec = policy.get("spec").cloned().unwrap_or_default().with("rules", rules);
    let now = Time::from_unix_nanos(0);
    let known = Known { exceptions: &[], kinds: served.kinds, now, keeps_variants: true };
    let Ok(converted) = native(&policy.with("spec", spec), &known) else { return Vec::new() };
    let shown = |field: &str| field.replacen(FIELDS.0, FIELDS.1, 1);
    let found = of_native(&converted.policy, &(served.definitions)(), release);
    found.iter().map(|w| format!("{}:{}", shown(&w.field), w.text.replace('\n', ";"))).collect()
}
