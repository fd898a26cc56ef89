//! Structural checks: field by field, all findings collected into one error.
//!
//! Semantics: section 5.2 of the policy object specification.

use super::fields::Fields;
use super::subject::{Finding, Outcome, Subject};
use super::{empty_set, generate, selector};
use crate::autogen::ANNOTATION;
use crate::read::{Body, filters, has_body, listed, member, texts};
use crate::schema::common::{FILTER, MATCH, SELECTOR};
use crate::schema::policy::RULE;
use crate::schema::print::typed_json;
use ephor_value::{Value, print};

/// Users in the filters of a block that is evaluated without a request.
pub fn no_users(block: Option<&Value>, place: &str, fields: &mut Fields) {
    let Some(block) = block else { return };
    for name in ["any", "all"] {
        for (i, filter) in listed(block, name).iter().enumerate() {
            for users in ["roles", "clusterRoles", "subjects"] {
                if !listed(filter, users).is_empty() {
                    let place = format!("{place}.{name}[{i}].{users}");
                    fields.forbidden(&place, "Usage of user info is forbidden");
                }
            }
        }
    }
}

/// Runs the structural checks.
pub fn check(subject: &Subject<'_>, warnings: &mut Vec<Finding>) -> Outcome {
    run(subject, warnings).outcome()
}

/// What the structural checks find, one by one.
pub fn each(subject: &Subject<'_>, warnings: &mut Vec<Finding>) -> Vec<Finding> {
    run(subject, warnings).found
}

fn run(subject: &Subject<'_>, warnings: &mut Vec<Finding>) -> Fields {
    let mut fields = Fields::default();
    policy_fields(subject, &mut fields);
    for (index, rule) in subject.written.iter().enumerate() {
        rule_fields(subject, index, rule, &mut fields, warnings);
    }
    let overrides = subject.spec("validationFailureActionOverrides").and_then(Value::as_list);
    if subject.namespace.is_some() && overrides.is_some_and(|list| !list.is_empty()) {
        let detail = "Use of validationFailureActionOverrides is supported only with ClusterPolicy";
        fields.forbidden("spec.validationFailureActionOverrides", detail);
    }
    fields
}

fn policy_fields(subject: &Subject<'_>, fields: &mut Fields) {
    let annotation = subject.policy.at(&["metadata", "annotations", ANNOTATION]);
    if annotation.and_then(Value::as_str) == Some("all") {
        let detail = "Autogen annotation does not support 'all' anymore, remove the annotation or set it to a valid value";
        fields.forbidden("metadata.annotations", detail);
    }
    if subject.policy.text_at(&["metadata", "name"]).len() > 63 {
        fields.too_long("name", 63);
    }
    let webhook = |name| subject.policy.at(&["spec", "webhookConfiguration", name]);
    for (old, new) in [("webhookTimeoutSeconds", "timeoutSeconds"), ("failurePolicy", "failurePolicy")] {
        if subject.spec(old).is_some() && webhook(new).is_some() {
            let detail =
                format!("remove the deprecated field and use spec.webhookConfiguration.{new} instead");
            fields.forbidden(&format!("spec.{old}"), &detail);
        }
    }
    if subject.spec("generateExistingOnPolicyUpdate").is_some() {
        let detail = "remove the deprecated field and use spec.generate[*].generateExisting instead";
        fields.forbidden("spec.generateExistingOnPolicyUpdate", detail);
    }
    for (i, rule) in subject.written.iter().enumerate() {
        let mutate = rule.get("mutate").filter(|_| subject.updates_existing(rule));
        if mutate.is_some_and(|mutate| listed(mutate, "targets").is_empty()) {
            let detail = format!(
                "rules[{i}].mutate.targets has to be specified when mutateExistingOnPolicyUpdate is set"
            );
            fields.forbidden("spec.mutateExistingOnPolicyUpdate", &detail);
        }
    }
    for (place, seconds) in [
        ("spec.webhookTimeoutSeconds", subject.spec("webhookTimeoutSeconds")),
        ("spec.webhookConfiguration.timeoutSeconds", webhook("timeoutSeconds")),
    ] {
        if let Some(Value::Int(seconds)) = seconds
            && !(1..=30).contains(seconds)
        {
            let detail = "the timeout value must be between 1 and 30 seconds";
            fields.invalid(place, &seconds.to_string(), detail);
        }
    }
}

fn rule_fields(
    subject: &Subject<'_>,
    index: usize,
    rule: &Value,
    fields: &mut Fields,
    warnings: &mut Vec<Finding>,
) {
    let place = format!("spec.rules[{index}]");
    let name = rule.text_at(&["name"]);
    let json = || typed_json(&RULE, rule);
    if subject.repeats(index, name) {
        fields.invalid(&format!("{place}.name"), &json(), &format!("Duplicate rule name: '{name}'"));
    }
    let bodies = [Body::Mutate, Body::Validate, Body::Generate, Body::VerifyImages];
    match bodies.iter().filter(|body| has_body(rule, **body)).count() {
        0 => fields.invalid(
            &place,
            &json(),
            &format!(
                "No operation defined in the rule '{name}'.(supported operations: \
                 mutate,validate,generate,verifyImages)"
            ),
        ),
        1 => {}
        _ => fields.invalid(
            &place,
            &json(),
            &format!(
                "Multiple operations defined in the rule '{name}', only one operation \
                 (mutate,validate,generate,verifyImages) is allowed per rule"
            ),
        ),
    }
    if member(rule, "imageExtractors").is_some() && !has_body(rule, Body::VerifyImages) {
        let detail = format!(
            "Invalid rule spec for rule '{name}', imageExtractors can only be defined for verifyImages rule"
        );
        fields.invalid(&format!("{place}.imageExtractors"), &json(), &detail);
    }
    if empty_set::is_empty(rule) {
        fields.invalid(&place, &json(), "Rule is matching an empty set");
    }
    let is_namespaced = subject.namespace.is_some();
    for block in ["match", "exclude"] {
        match_block(rule.get(block), &format!("{place}.{block}"), is_namespaced, fields);
    }
    if let Some(namespace) = subject.namespace {
        let targets = rule.get("mutate").map(|mutate| listed(mutate, "targets")).unwrap_or(&[]);
        for (j, target) in targets.iter().enumerate() {
            let other = target.text_at(&["namespace"]);
            if !other.is_empty() && other != namespace {
                let detail = "This field can be ignored or should have value of the namespace where the policy is \
                              being created";
                fields.invalid(&format!("{place}.targets[{j}].namespace"), &quoted(other), detail);
            }
        }
    }
    if let Some(security) = rule.at(&["validate", "podSecurity"]) {
        let level = security.text_at(&["level"]);
        for (j, exclude) in listed(security, "exclude").iter().enumerate() {
            pod_security(exclude, level, &format!("{place}.podSecurity.exclude[{j}]"), fields);
        }
    }
    generate::fields(subject, index, rule, fields, warnings);
}

/// Checks the filters of a match or exclude block.
pub fn match_block(block: Option<&Value>, place: &str, is_namespaced: bool, fields: &mut Fields) {
    let Some(block) = block else { return };
    if !listed(block, "any").is_empty() && !listed(block, "all").is_empty() {
        fields.invalid(place, &typed_json(&MATCH, block), "Can't specify any and all together");
    }
    for (below, filter) in filters(Some(block)) {
        let place = if below.is_empty() { place.to_owned() } else { format!("{place}.{below}") };
        users(filter, &place, fields);
        resources(filter, &place, is_namespaced, fields);
    }
}

fn users(filter: &Value, place: &str, fields: &mut Fields) {
    for (k, subject) in listed(filter, "subjects").iter().enumerate() {
        let place = format!("{place}.subjects[{k}]");
        let kind = subject.text_at(&["kind"]);
        match kind {
            "" => fields.required(&format!("{place}.kind"), ""),
            "User" | "Group" | "ServiceAccount" => {}
            _ => fields.invalid(
                &format!("{place}.kind"),
                &quoted(kind),
                "kind must be 'User', 'Group', or 'ServiceAccount'",
            ),
        }
        if subject.text_at(&["name"]).is_empty() {
            fields.required(&format!("{place}.name"), "");
        }
        if kind == "ServiceAccount" && subject.text_at(&["namespace"]).is_empty() {
            let detail = "namespace is required when Kind is ServiceAccount";
            fields.required(&format!("{place}.namespace"), detail);
        }
    }
    for (k, role) in texts(filter, &["roles"]).enumerate() {
        if role.matches(':').count() != 1 {
            let detail = "Role is expected to be in namespace:name format";
            fields.invalid(&format!("{place}.roles[{k}]"), &quoted(role), detail);
        }
    }
}

fn resources(filter: &Value, place: &str, is_namespaced: bool, fields: &mut Fields) {
    let Some(resources) = member(filter, "resources") else { return };
    if !resources.text_at(&["name"]).is_empty() && !listed(resources, "names").is_empty() {
        let detail = "Both name and names can not be specified together";
        fields.invalid(place, &typed_json(&FILTER, filter), detail);
    }
    if let Some(selector) = member(resources, "selector")
        && let Some(problem) = selector::problem(selector)
    {
        fields.invalid(&format!("{place}.selector"), &typed_json(&SELECTOR, selector), &problem);
    }
    if is_namespaced && !listed(resources, "namespaces").is_empty() {
        let detail = "Filtering namespaces not allowed in namespaced policies";
        fields.forbidden(&format!("{place}.namespaces"), detail);
    }
}

/// Controls that concern containers, so that images must say which ones.
const CONTAINER_LEVEL: [&str; 5] =
    ["Capabilities", "Privileged Containers", "Host Ports", "/proc Mount Type", "Privilege Escalation"];

/// Controls that concern the pod, so that images make no sense.
const POD_LEVEL: [&str; 4] = ["Host Namespaces", "HostPath Volumes", "Sysctls", "Volume Types"];

/// Controls that the baseline level does not have.
const RESTRICTED_ONLY: [&str; 4] =
    ["Volume Types", "Privilege Escalation", "Running as Non-root", "Running as Non-root user"];

/// Checks one exclusion of a pod security rule or exception; `level` may be empty.
pub fn pod_security(exclude: &Value, level: &str, place: &str, fields: &mut Fields) {
    let control = exclude.text_at(&["controlName"]);
    let has_images = !listed(exclude, "images").is_empty();
    let control_place = format!("{place}.controlName");
    if CONTAINER_LEVEL.contains(&control) && !has_images {
        let detail = "exclude.images must be specified for the container level control";
        fields.invalid(&control_place, &quoted(control), detail);
    }
    if POD_LEVEL.contains(&control) && has_images {
        let detail = "exclude.images must not be specified for the pod level control";
        fields.invalid(&control_place, &quoted(control), detail);
    }
    let has_field = !exclude.text_at(&["restrictedField"]).is_empty();
    let has_values = !listed(exclude, "values").is_empty();
    if has_field && !has_values {
        fields.forbidden(&format!("{place}.values"), "values is required");
    }
    if has_values && !has_field {
        fields.forbidden(&format!("{place}.restrictedField"), "restrictedField is required");
    }
    if level == "baseline" && RESTRICTED_ONLY.contains(&control) {
        let detail = "Invalid control name defined at the given level";
        fields.invalid(&control_place, &quoted(control), detail);
    }
}

fn quoted(text: &str) -> String {
    print::json(&Value::from(text))
}
