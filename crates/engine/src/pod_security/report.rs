//! What reports say about failing Pod Security checks.
//!
//! In: findings. Out: the value that a result carries, and the report properties built from it. The
//! semantics' source is `docs/semantics/validate.md`, "Bodies" (report properties).

use std::borrow::Cow;

use crate::Request;
use crate::RuleOutcome;
use ephor_ir::check::PodSecurity;
use ephor_value::print::json;
use ephor_value::{Str, Value};

use super::finding::named_containers;
use super::seen::WordedFinding;

/// The findings as a value: `level`, `version`, and `checks` with `id`, `name`, `allowed`,
/// `reason`, `detail` and, where the detail names containers, `images`.
pub fn value(check: &PodSecurity, findings: &[Cow<'_, WordedFinding>], request: &Request) -> Value {
    let checks = findings.iter().map(|f| &f.finding).map(|f| {
        let Value::Map(mut m) = Value::map([
            ("id", Value::from(f.id)),
            ("name", Value::from(f.control)),
            ("allowed", Value::Bool(false)),
            ("reason", Value::from(f.reason)),
            ("detail", Value::from(&*f.detail)),
        ]) else {
            return Value::Null;
        };
        let images: Vec<Value> =
            named_containers(&f.detail).iter().map(|name| image(name, request)).collect();
        if !images.is_empty() {
            m.insert("images", Value::list(images));
        }
        Value::Map(m)
    });
    Value::map([
        ("level", Value::Str(check.level.clone())),
        ("version", Value::Str(check.version.clone())),
        ("checks", checks.collect::<Vec<_>>().into()),
    ])
}

/// The lists in which a container is looked for by its name.
const BY_NAME: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// The normalised image of a container; its name when no image is known, as when one of the
/// object's images is no reference.
fn image(name: &str, request: &Request) -> Value {
    let Ok(Some(images)) = request.images.get() else { return Value::from(name) };
    let found = BY_NAME.iter().find_map(|list| images.at(&[list, name, "reference"]));
    found.cloned().unwrap_or_else(|| Value::from(name))
}

/// The properties that a report entry has for failing checks: `standard`, `version`, `controls` and
/// `controlsJSON`; nothing for a result without failing checks.
pub fn properties(outcome: &RuleOutcome) -> Vec<(Str, Str)> {
    let Some(found) = &outcome.pod_security else { return Vec::new() };
    let checks = found.get("checks").and_then(Value::as_list).unwrap_or_default();
    if checks.is_empty() {
        return Vec::new();
    }
    let ids: Vec<&str> = checks.iter().map(|c| c.text_at(&["id"])).collect();
    let control = |c: &Value| {
        let part = |key: &str| c.get(key).cloned().unwrap_or_default();
        let entries = [("ID", part("id")), ("Name", part("name")), ("Images", part("images"))];
        let shown = entries.map(|(k, v)| format!("\"{k}\":{}", json(&v)));
        format!("{{{}}}", shown.join(","))
    };
    let controls: Vec<String> = checks.iter().map(control).collect();
    vec![
        ("standard".into(), found.text_at(&["level"]).into()),
        ("version".into(), found.text_at(&["version"]).into()),
        ("controls".into(), ids.join(",").into()),
        ("controlsJSON".into(), format!("[{}]", controls.join(",")).into()),
    ]
}
