//! PolicyExceptions of group `policies.kyverno.io` → [`CelException`]s.

use ephor_cel::library::KyvernoKind;
use ephor_ir::cel_exception::CelException;
use ephor_ir::expressions::View;
use ephor_value::time::Time;
use ephor_value::{Str, Value};

use super::sections::{Failed, Sections};

/// Lowers an exception. Its conditions see what those of policies see.
///
/// # Errors
/// The errors of its conditions.
pub fn exception(doc: &Value) -> Result<CelException, Failed> {
    let name = doc.text_at(&["metadata", "name"]);
    let namespace = doc.text_at(&["metadata", "namespace"]);
    let key = if namespace.is_empty() { name.into() } else { format!("{namespace}/{name}") };
    let list = |key: &str| doc.at(&["spec", key]).and_then(Value::as_list).unwrap_or_default();
    let compiler = Sections::new(KyvernoKind::Validating, false, View::Request);
    let admit = compiler.conditions(doc.at(&["spec", "matchConditions"]), "matchConditions")?;
    let label = doc.at(&["metadata", "labels"]).and_then(|l| l.get("polex.kyverno.io/priority"));
    Ok(CelException {
        key: key.into(),
        name: name.into(),
        policies: list("policyRefs")
            .iter()
            .map(|r| (Str::from(r.text_at(&["name"])), Str::from(r.text_at(&["kind"]))))
            .collect(),
        admit,
        images: list("images").into(),
        values: list("allowedValues").into(),
        passes: doc.text_at(&["spec", "reportResult"]) == "pass",
        expires: doc.at(&["spec", "expiresAt"]).filter(|v| !v.is_null()).map(|at| {
            // A moment that cannot be read has passed.
            Time::parse_rfc3339(at.as_str().unwrap_or_default()).map_or(i128::MIN, |t| t.unix_nanos())
        }),
        priority: label.and_then(Value::as_str).and_then(|t| t.parse().ok()).unwrap_or(0),
    })
}
