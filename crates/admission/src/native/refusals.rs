//! Why a ClusterPolicy cannot be handed over: what Kubernetes' policies cannot say.

use ephor_api::read::{Body, has_body, is_unwritten, listed, member, texts};
use ephor_value::Value;
use ephor_value::wildcard::has_wildcard;

/// What Kubernetes' policies cannot say; the texts are Kyverno's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NativeRefusal {
    /// The policy has no rule.
    #[error("skip generating ValidatingAdmissionPolicy: no rules found.")]
    NoRules,
    /// It has several rules.
    #[error("skip generating ValidatingAdmissionPolicy: multiple rules are not applicable.")]
    SeveralRules,
    /// Its rule is not in CEL.
    #[error("skip generating ValidatingAdmissionPolicy for non CEL rules.")]
    NoExpressions,
    /// It does not want that.
    #[error("skip generating ValidatingAdmissionPolicy: validate.cel.generate is not set to true.")]
    NotEnabled,
    /// It has several overrides of its action.
    #[error(
        "skip generating ValidatingAdmissionPolicy: multiple validationFailureActionOverrides are not applicable."
    )]
    SeveralOverrides,
    /// An override of its action is for namespaces.
    #[error(
        "skip generating ValidatingAdmissionPolicy: Namespaces in validationFailureActionOverrides is not applicable."
    )]
    NamespacesOfOverrides,
    /// `match` has several filters that must all match.
    #[error(
        "skip generating ValidatingAdmissionPolicy: multiple 'all' in the match block is not applicable."
    )]
    SeveralAllMatched,
    /// `exclude` has several filters that must all match.
    #[error(
        "skip generating ValidatingAdmissionPolicy: multiple 'all' in the exclude block is not applicable."
    )]
    SeveralAllExcluded,
    /// `match` has selectors in one of several filters.
    #[error(
        "skip generating ValidatingAdmissionPolicy: NamespaceSelector / ObjectSelector across multiple resources in the match block are not applicable."
    )]
    SelectorsMatched,
    /// `exclude` has selectors.
    #[error(
        "skip generating ValidatingAdmissionPolicy: NamespaceSelector / ObjectSelector in the exclude block is not applicable."
    )]
    SelectorsExcluded,
    /// A filter is about users.
    #[error(
        "skip generating ValidatingAdmissionPolicy: Roles / ClusterRoles / Subjects in `any/all` is not applicable."
    )]
    Users,
    /// A kind is excluded in a namespace.
    #[error(
        "skip generating ValidatingAdmissionPolicy: excluding a resource within a namespace is not applicable."
    )]
    ExcludedInNamespace,
    /// A filter is about annotations.
    #[error(
        "skip generating ValidatingAdmissionPolicy: Annotations in resource description is not applicable."
    )]
    Annotations,
    /// A name has wildcards.
    #[error("skip generating ValidatingAdmissionPolicy: wildcards in resource name is not applicable.")]
    WildcardsInName,
    /// The name of a namespace has wildcards.
    #[error("skip generating ValidatingAdmissionPolicy: wildcards in namespace name is not applicable.")]
    WildcardsInNamespace,
    /// An exception names several rules.
    #[error(
        "skip generating ValidatingAdmissionPolicy: multiple ruleNames in PolicyException is not applicable."
    )]
    SeveralRulesExcepted,
    /// An exception has conditions.
    #[error("skip generating ValidatingAdmissionPolicy: Conditions in PolicyException is not applicable.")]
    ConditionsOfException,
    /// An exception has several filters that must all match.
    #[error(
        "skip generating ValidatingAdmissionPolicy: multiple 'all' in the PolicyException's match block is not applicable."
    )]
    SeveralAllExcepted,
}

/// Where a filter stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Match,
    /// `exclude`, or the `match` of an exception.
    Exclude,
}

type Check = Result<(), NativeRefusal>;

/// Why a policy has no native form, given the exceptions from its rule.
pub fn check(policy: &Value, exceptions: &[&Value]) -> Check {
    let spec = policy.get("spec").unwrap_or(&Value::Null);
    let rule = match listed(spec, "rules") {
        [] => return Err(NativeRefusal::NoRules),
        [rule] => rule,
        _ => return Err(NativeRefusal::SeveralRules),
    };
    let cel = rule.at(&["validate", "cel"]).filter(|cel| !is_unwritten(cel));
    let Some(cel) = cel.filter(|_| has_body(rule, Body::Validate)) else {
        return Err(NativeRefusal::NoExpressions);
    };
    if cel.get("generate").and_then(Value::as_bool) != Some(true) {
        return Err(NativeRefusal::NotEnabled);
    }
    overrides(listed(spec, "validationFailureActionOverrides"))?;
    overrides(rule.get("validate").map_or(&[], |v| listed(v, "failureActionOverrides")))?;
    block(member(rule, "match"), Side::Match)?;
    block(member(rule, "exclude"), Side::Exclude)?;
    exceptions.iter().try_for_each(|e| exception(e))
}

fn overrides(entries: &[Value]) -> Check {
    if entries.len() > 1 {
        return Err(NativeRefusal::SeveralOverrides);
    }
    match entries.iter().any(|e| !listed(e, "namespaces").is_empty()) {
        true => Err(NativeRefusal::NamespacesOfOverrides),
        false => Ok(()),
    }
}

fn block(block: Option<&Value>, side: Side) -> Check {
    let Some(block) = block else { return Ok(()) };
    filter(block, side)?;
    filters(listed(block, "any"), side)?;
    if listed(block, "all").len() > 1 {
        return Err(match side {
            Side::Match => NativeRefusal::SeveralAllMatched,
            Side::Exclude => NativeRefusal::SeveralAllExcluded,
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
        Side::Match if all.len() > 1 => Err(NativeRefusal::SelectorsMatched),
        Side::Match => Ok(()),
        Side::Exclude => Err(NativeRefusal::SelectorsExcluded),
    }
}

fn filter(filter: &Value, side: Side) -> Check {
    if ["roles", "clusterRoles", "subjects"].iter().any(|key| !listed(filter, key).is_empty()) {
        return Err(NativeRefusal::Users);
    }
    let Some(resources) = member(filter, "resources") else { return Ok(()) };
    let has = |key: &str| !listed(resources, key).is_empty();
    if side == Side::Exclude && has("kinds") && has("namespaces") {
        return Err(NativeRefusal::ExcludedInNamespace);
    }
    if resources.get("annotations").and_then(Value::as_map).is_some_and(|m| !m.is_empty()) {
        return Err(NativeRefusal::Annotations);
    }
    if has_wildcard(resources.text_at(&["name"])) || texts(resources, &["names"]).any(has_wildcard) {
        return Err(NativeRefusal::WildcardsInName);
    }
    if texts(resources, &["namespaces"]).any(has_wildcard) {
        return Err(NativeRefusal::WildcardsInNamespace);
    }
    Ok(())
}

fn exception(exception: &Value) -> Check {
    let spec = exception.get("spec").unwrap_or(&Value::Null);
    if listed(spec, "exceptions").iter().any(|e| listed(e, "ruleNames").len() > 1) {
        return Err(NativeRefusal::SeveralRulesExcepted);
    }
    if member(spec, "conditions").is_some() {
        return Err(NativeRefusal::ConditionsOfException);
    }
    let Some(when) = member(spec, "match") else { return Ok(()) };
    filters(listed(when, "any"), Side::Exclude)?;
    if listed(when, "all").len() > 1 {
        return Err(NativeRefusal::SeveralAllExcepted);
    }
    filters(listed(when, "all"), Side::Exclude)
}
