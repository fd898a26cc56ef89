//! Why a ClusterPolicy cannot be handed over: what Kubernetes' policies cannot say.

use crate::api::read::{Body, has_body, is_unwritten, listed, member, texts};
use crate::value::Value;
use crate::value::wildcard::has_wildcard;

/// Where a filter stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Match,
    /// `exclude`, or the `match` of an exception.
    Exclude,
}

type Check = Result<(), &'static str>;

/// Why a policy has no native form, given the exceptions from its rule.
pub fn check(policy: &Value, exceptions: &[&Value]) -> Result<(), String> {
    all(policy, exceptions).map_err(|why| format!("skip generating ValidatingAdmissionPolicy{why}"))
}

fn all(policy: &Value, exceptions: &[&Value]) -> Check {
    let spec = policy.get("spec").unwrap_or(&Value::Null);
    let rule = match listed(spec, "rules") {
        [] => return Err(": no rules found."),
        [rule] => rule,
        _ => return Err(": multiple rules are not applicable."),
    };
    let cel = rule.at(&["validate", "cel"]).filter(|cel| !is_unwritten(cel));
    let Some(cel) = cel.filter(|_| has_body(rule, Body::Validate)) else {
        return Err(" for non CEL rules.");
    };
    if cel.get("generate").and_then(Value::as_bool) != Some(true) {
        return Err(": validate.cel.generate is not set to true.");
    }
    overrides(listed(spec, "validationFailureActionOverrides"))?;
    overrides(rule.get("validate").map_or(&[], |v| listed(v, "failureActionOverrides")))?;
    block(member(rule, "match"), Side::Match)?;
    block(member(rule, "exclude"), Side::Exclude)?;
    exceptions.iter().try_for_each(|e| exception(e))
}

fn overrides(entries: &[Value]) -> Check {
    if entries.len() > 1 {
        return Err(": multiple validationFailureActionOverrides are not applicable.");
    }
    match entries.iter().any(|e| !listed(e, "namespaces").is_empty()) {
        true => Err(": Namespaces in validationFailureActionOverrides is not applicable."),
        false => Ok(()),
    }
}

fn block(block: Option<&Value>, side: Side) -> Check {
    let Some(block) = block else { return Ok(()) };
    filter(block, side)?;
    filters(listed(block, "any"), side)?;
    if listed(block, "all").len() > 1 {
        return Err(match side {
            Side::Match => ": multiple 'all' in the match block is not applicable.",
            Side::Exclude => ": multiple 'all' in the exclude block is not applicable.",
        });
    }
    filters(listed(block, "all"), side)
}

fn filters(all: &[Value], side: Side) -> Check {
    all.iter().try_for_each(|f| filter(f, side))?;
    let selects = |f: &Value| {
        let resources = f.get("resources").unwrap_or(&Value::Null);
        member(resources, "selector").is_some() || member(resources, "namespaceSelector").is_some()
    };
    if !all.iter().any(selects) {
        return Ok(());
    }
    match side {
        Side::Match if all.len() > 1 => Err(
            ": NamespaceSelector / ObjectSelector across multiple resources in the match block are not applicable.",
        ),
        Side::Match => Ok(()),
        Side::Exclude => Err(": NamespaceSelector / ObjectSelector in the exclude block is not applicable."),
    }
}

fn filter(filter: &Value, side: Side) -> Check {
    if ["roles", "clusterRoles", "subjects"].iter().any(|key| !listed(filter, key).is_empty()) {
        return Err(": Roles / ClusterRoles / Subjects in `any/all` is not applicable.");
    }
    let Some(resources) = member(filter, "resources") else { return Ok(()) };
    let has = |key: &str| !listed(resources, key).is_empty();
    if side == Side::Exclude && has("kinds") && has("namespaces") {
        return Err(": excluding a resource within a namespace is not applicable.");
    }
    if resources.get("annotations").and_then(Value::as_map).is_some_and(|m| !m.is_empty()) {
        return Err(": Annotations in resource description is not applicable.");
    }
    if has_wildcard(resources.text_at(&["name"])) || texts(resources, &["names"]).any(has_wildcard) {
        return Err(": wildcards in resource name is not applicable.");
    }
    if texts(resources, &["namespaces"]).any(has_wildcard) {
        return Err(": wildcards in namespace name is not applicable.");
    }
    Ok(())
}

fn exception(exception: &Value) -> Check {
    let spec = exception.get("spec").unwrap_or(&Value::Null);
    if listed(spec, "exceptions").iter().any(|e| listed(e, "ruleNames").len() > 1) {
        return Err(": multiple ruleNames in PolicyException is not applicable.");
    }
    if member(spec, "conditions").is_some() {
        return Err(": Conditions in PolicyException is not applicable.");
    }
    let Some(when) = member(spec, "match") else { return Ok(()) };
    filters(listed(when, "any"), Side::Exclude)?;
    if listed(when, "all").len() > 1 {
        return Err(": multiple 'all' in the PolicyException's match block is not applicable.");
    }
    filters(listed(when, "all"), Side::Exclude)
}
