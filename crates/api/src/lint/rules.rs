//! The checks of each computed rule, in their order. Semantics: section 5.7 of the policy object
//! specification.

use super::kinds::{METADATA_ONLY, has_resources, lacks_kinds, touches_more_than_metadata};
use super::subject::{ComputedRule, Finding, Outcome, Subject};
use super::{body, conditions, context, elements, images, patches, targets_metadata, variables};
use crate::autogen::ANNOTATION;
use crate::read::{filters, kinds_of, listed, member};
use ephor_value::{Map, Value, print};

/// Checks all computed rules.
pub fn check(subject: &Subject<'_>, warnings: &mut Vec<Finding>) -> Outcome {
    subject.rules().try_for_each(|rule| steps(subject, &rule, warnings, &mut |outcome| outcome))
}

/// What each step finds in a computed rule.
pub fn check_one(
    subject: &Subject<'_>,
    rule: &ComputedRule<'_>,
    warnings: &mut Vec<Finding>,
) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let _ = steps(subject, rule, warnings, &mut |outcome| {
        outcomes.push(outcome);
        Ok(())
    });
    outcomes
}

/// The checks of a rule in their order; `after` says whether the next one runs.
fn steps(
    subject: &Subject<'_>,
    rule: &ComputedRule<'_>,
    warnings: &mut Vec<Finding>,
    after: &mut dyn FnMut(Outcome) -> Outcome,
) -> Outcome {
    after(patches::check(subject, rule))?;
    warn_of_pod_patches(rule, warnings);
    after(blocks(rule))?;
    after(conditions::check(rule))?;
    after(elements::check(rule))?;
    after(context::check(subject, rule))?;
    after(extractors(rule))?;
    after(kinds(subject, rule))?;
    after(body::check(rule))?;
    after(images::check(subject, rule))?;
    warn_of_partial_autogen(subject, rule, warnings);
    after(targets_metadata::check(rule))?;
    warn_of_subresources(rule, warnings);
    if subject.updates_existing(rule.value) {
        after(variables::check_on_update(subject, rule))?;
    }
    warn_of_predicate_types(rule, warnings);
    conditions::warnings(rule, warnings);
    Ok(())
}

fn warn(warnings: &mut Vec<Finding>, rule: &ComputedRule<'_>, text: impl Into<String>) {
    warnings.push(Finding::at(&format!("spec.rules[{}]", rule.written), text));
}

fn warn_of_pod_patches(rule: &ComputedRule<'_>, warnings: &mut Vec<Finding>) {
    let is_patch = !rule.value.text_at(&["mutate", "patchesJson6902"]).is_empty();
    let legacy = rule.value.get("match");
    if is_patch && legacy.is_some_and(|block| kinds_of(block).eq(["Pod"])) {
        warn(
            warnings,
            rule,
            "Pods managed by workload controllers should not be directly mutated using policies. Use the autogen \
             feature or write policies that match Pod controllers.",
        );
    }
}

/// How `any`, `all` and the legacy form go together.
fn blocks(rule: &ComputedRule<'_>) -> Outcome {
    let refuse = |below: &str, detail: &str| {
        Err(Finding::path(&format!("{}.{below}", rule.place()), detail).in_written(rule))
    };
    let empty = Value::default();
    let block = |name| member(rule.value, name).unwrap_or(&empty);
    let (matched, excluded) = (block("match"), block("exclude"));
    let has = |block: &Value, name: &str| !listed(block, name).is_empty();
    let is_listed = |block: &Value| has(block, "any") || has(block, "all");
    if is_listed(excluded) && has_resources(excluded) {
        return refuse("exclude.", "can't specify any/all together with exclude resources");
    }
    if has(excluded, "any") && has(excluded, "all") {
        return refuse("match.", "can't specify any and all together");
    }
    if is_listed(matched) && has_resources(matched) {
        return refuse("match.", "can't specify any/all together with match resources");
    }
    let mut filters = filters(Some(matched));
    if filters.len() > 1 {
        filters.pop();
    }
    if filters.iter().any(|(_, filter)| !has_resources(filter)) {
        return refuse("match.resources.", "match resources not specified");
    }
    Ok(())
}

fn extractors(rule: &ComputedRule<'_>) -> Outcome {
    let queries = rule.value.get("imageExtractors").and_then(Value::as_map).is_some_and(|kinds| {
        kinds.values().any(|list| {
            list.as_list().unwrap_or(&[]).iter().any(|entry| !entry.text_at(&["jmesPath"]).is_empty())
        })
    });
    let digests = |entry: &Value| entry.get("mutateDigest").and_then(Value::as_bool).unwrap_or(false);
    if queries && listed(rule.value, "verifyImages").iter().any(digests) {
        let detail =
            "jmespath may not be used in an image extractor when mutating digests with verify images";
        return Err(Finding::path(&rule.place(), detail).in_written(rule));
    }
    Ok(())
}

fn kinds(subject: &Subject<'_>, rule: &ComputedRule<'_>) -> Outcome {
    if !lacks_kinds(rule.value) {
        return Ok(());
    }
    let text = if touches_more_than_metadata(subject, rule.value) {
        METADATA_ONLY
    } else {
        "at least one element must be specified in a kind block, the kind attribute is mandatory when working with \
         the resources element"
    };
    Err(Finding::at(&format!("spec.rules[{}].match", rule.written), text))
}

fn warn_of_partial_autogen(subject: &Subject<'_>, rule: &ComputedRule<'_>, warnings: &mut Vec<Finding>) {
    let annotation = subject.policy.at(&["metadata", "annotations", ANNOTATION]).and_then(Value::as_str);
    let Some(annotation) = annotation.filter(|text| !matches!(*text, "" | "none")) else { return };
    let mut selected = filters(rule.value.get("match")).into_iter().flat_map(|(_, f)| kinds_of(f)).peekable();
    if selected.peek().is_none() || selected.any(|kind| kind != "Pod") {
        return;
    }
    let mut controllers: Vec<String> = annotation.split(',').map(str::to_lowercase).collect();
    controllers.sort();
    if controllers != ["cronjob", "daemonset", "deployment", "job", "statefulset"] {
        warn(
            warnings,
            rule,
            "Policies that match Pods apply to all Pods including those created and managed by controllers excluded \
             from autogen. Use preconditions to exclude the Pods managed by controllers which are excluded from \
             autogen. Refer to https://kyverno.io/docs/policy-types/cluster-policy/autogen/ for details.",
        );
    }
}

/// Scale and status are subresources: a rule about them that does not select them sees less than
/// its author thinks. Deny conditions are left out of the search.
fn warn_of_subresources(rule: &ComputedRule<'_>, warnings: &mut Vec<Finding>) {
    let is_telling = |text: &str| text.contains("replicas") || text.contains("status");
    if !rule.value.any_text(&is_telling) {
        return;
    }
    let mut body: Map = ["mutate", "validate"]
        .iter()
        .filter_map(|name| rule.value.get(name).map(|value| ((*name).into(), value.clone())))
        .collect();
    if let Some(Value::Map(validate)) = body.get_mut("validate") {
        validate.remove("deny");
    }
    let text = print::json(&Value::Map(body));
    let selects = |name: &str| {
        let filters = filters(rule.value.get("match"));
        filters.into_iter().any(|(_, f)| kinds_of(f).any(|kind| kind.to_lowercase().contains(name)))
    };
    if text.contains("replicas") && !selects("scale") {
        let text = "You are matching on replicas but not including the scale subresource in the policy.";
        warn(warnings, rule, text);
    }
    if (text.contains(".status") || text.contains("\"status\":")) && !selects("status") {
        let text = "You are matching on status but not including the status subresource in the policy.";
        warn(warnings, rule, text);
    }
}

fn warn_of_predicate_types(rule: &ComputedRule<'_>, warnings: &mut Vec<Finding>) {
    for attestation in listed(rule.value, "verifyImages").iter().flat_map(|e| listed(e, "attestations")) {
        let kind = attestation.text_at(&["predicateType"]);
        if !kind.is_empty() {
            warn(
                warnings,
                rule,
                format!(
                    "predicateType has been deprecated use 'type: {kind}' instead of 'predicateType: {kind}'"
                ),
            );
        }
    }
}
