//! Evaluating policies on a stored object.
//!
//! In: the policies, an object as it is stored. Out: what each policy says, as if the object were
//! created now, by no user. Policies that change objects say whether they would change this one.
//! Semantics: `docs/reference/cluster.md`, "Background scans".

use std::sync::Arc;

use ephor_engine::request::{NoObjects, Parts};
use ephor_engine::{Request, RuleOutcome, Status};
use ephor_ir::Policy;
use ephor_ir::facts::Stage;
use ephor_ir::rule::{Body, RuleKind};
use ephor_policies::Engine;
use ephor_value::{Map, Value};

use super::policies::Policies;
use ephor_admission::redact::Redactor;

/// What image verification has recorded at an object; scans verify again.
const RECORDS: [&str; 2] = ["kyverno.io/verify-images", "kyverno.io/verify-images-scoped"];
/// What a policy says that would change the object.
const NOT_APPLIED: &str = "mutation is not applied";

/// What a policy says.
pub struct Finding {
    /// The policy.
    pub policy: Arc<Policy>,
    /// The results of its rules.
    pub rules: Vec<RuleOutcome>,
}

/// What the policies say about an object; those that do not match it are left out. Values of
/// Secrets are left out of texts.
///
/// # Errors
/// The object gives no request.
pub fn evaluate(policies: &Policies, object: &Value) -> Result<Vec<Finding>, NoObjects> {
    let mut findings = Vec::new();
    let object = without_records(object);
    let request = request(&policies.verdicts, &object)?;
    for of_policy in policies.verdicts.evaluate(&request).policies {
        let policy = of_policy.policy;
        let rules = of_policy.rules.into_iter().filter(|rule| is_verdict(&policy, rule)).collect();
        findings.push(Finding { policy, rules });
    }
    for engine in &policies.changes {
        let outcome = engine.evaluate(&request);
        let is_changed = outcome.object.as_ref().is_some_and(|changed| !changed.json_eq(&object));
        for of_policy in outcome.policies {
            let mut rules = of_policy.rules;
            if changes_others(&of_policy.policy) {
                // The object is a trigger, and stays as it is.
                rules.retain(|rule| rule.status != Status::Pass || !rule.exceptions.is_empty());
            }
            for rule in rules.iter_mut().filter(|rule| is_changed && rule.status == Status::Pass) {
                // An exception passes whatever the object is.
                if rule.exceptions.is_empty() {
                    rule.status = Status::Fail;
                    rule.message = NOT_APPLIED.into();
                }
            }
            findings.push(Finding { policy: of_policy.policy, rules });
        }
    }
    findings.retain(|finding| !finding.rules.is_empty());
    if let Some(redactor) = Redactor::of_object(&object) {
        for rule in findings.iter_mut().flat_map(|finding| &mut finding.rules) {
            *rule = redactor.result(rule);
        }
    }
    Ok(findings)
}

/// Whether a policy changes other objects than those that it matches, which background work does.
pub fn changes_others(policy: &Policy) -> bool {
    policy.rules.iter().any(|rule| match &rule.body {
        Body::Mutate(mutation) => mutation.existing.as_ref().is_some_and(|existing| existing.others),
        _ => false,
    })
}

/// Whether a result is one of a scan: a policy with expressions whose conditions are not met says
/// nothing.
fn is_verdict(policy: &Policy, rule: &RuleOutcome) -> bool {
    let is_unmet = rule.status == Status::Skip && rule.exceptions.is_empty();
    matches!(rule.kind, RuleKind::Validation | RuleKind::ImageVerification)
        && !(is_unmet && policy.stage == Stage::Expressions)
}

/// The request that would create an object.
fn request(engine: &Engine, object: &Value) -> Result<Request, NoObjects> {
    let name = match (object.text_at(&["apiVersion"]), object.text_at(&["kind"])) {
        ("v1", "Namespace") => object.text_at(&["metadata", "name"]),
        _ => object.text_at(&["metadata", "namespace"]),
    };
    let namespace = Some(name).filter(|name| !name.is_empty());
    let namespace = namespace.and_then(|name| engine.external().namespace(name)).unwrap_or_default();
    let parts = Parts { object: object.clone(), namespace, details: true, ..Parts::default() };
    let mut request = Request::new(parts, engine.profile(), engine.functions())?;
    request.target.kinds = Some(engine.external().known_kinds());
    Ok(request)
}

fn without_records(object: &Value) -> Value {
    let annotations = object.at(&["metadata", "annotations"]).and_then(Value::as_map);
    let Some(annotations) = annotations.filter(|a| RECORDS.iter().any(|key| a.get(key).is_some())) else {
        return object.clone();
    };
    let mut annotations: Map = annotations.clone();
    RECORDS.iter().for_each(|key| drop(annotations.remove(key)));
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    object.with("metadata", metadata.with("annotations", Value::Map(annotations)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_document::yaml_value;

    use super::super::policies::tests::Served;
    use super::*;

    /// Policy, status and message of each result about a ConfigMap.
    fn said(policies: &str, object: &str) -> Vec<String> {
        let served = Served::of(policies);
        let object = yaml_value(&format!("{{apiVersion: v1, kind: ConfigMap, {object}}}")).unwrap();
        let found = evaluate(&Policies::of(&served, &[]), &object).unwrap();
        let shown = |finding: &Finding, rule: &RuleOutcome| {
            format!("{} {} {}", finding.policy.name, rule.status.name(), rule.message)
        };
        found.iter().flat_map(|finding| finding.rules.iter().map(|rule| shown(finding, rule))).collect()
    }

    fn with_expressions(kind: &str, name: &str, body: &str) -> String {
        format!(
            "---\napiVersion: policies.kyverno.io/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}]}}\n  matchConditions: [{{name: c, expression: \"object.metadata.name != 'spared'\"}}]\n  {body}\n"
        )
    }

    fn mutating() -> String {
        let patch = "Object{metadata: Object.metadata{labels: Object.metadata.labels{team: 'a'}}}";
        let body = format!(
            "mutations: [{{patchType: ApplyConfiguration, applyConfiguration: {{expression: \"{patch}\"}}}}]"
        );
        with_expressions("MutatingPolicy", "m", &body)
    }

    #[test]
    fn a_policy_that_mutates_fails_where_it_would_change_the_object() {
        let of = |labels: &str| said(&mutating(), &format!("metadata: {{name: a, labels: {labels}}}"));
        assert_eq!(of("{}"), ["m fail mutation is not applied"]);
        assert_eq!(of("{team: a}"), ["m pass success"]);
    }

    #[test]
    fn unmet_conditions_are_a_result_of_policies_that_mutate_alone() {
        let validating =
            with_expressions("ValidatingPolicy", "v", "validations: [{expression: 'false', message: wrong}]");
        let both = mutating() + &validating;
        assert_eq!(said(&both, "metadata: {name: spared}"), ["m skip skip"]);
        assert_eq!(said(&validating, "metadata: {name: a}"), ["v fail wrong"]);
    }

    #[test]
    fn records_of_image_verification_are_not_seen() {
        let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    validate: {message: wrong, pattern: {metadata: {annotations: {X(kyverno.io/verify-images): 'null'}}}}\n";
        let object = "metadata: {name: a, annotations: {kyverno.io/verify-images: '{}', other: x}}";
        assert_eq!(said(policy, object), ["p pass validation rule 'r' passed."]);
    }

    #[test]
    fn values_of_secrets_stay_out_of_messages() {
        let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Secret]}}]}\n    validate: {message: 'it is {{ request.object.data.password }}', deny: {}}\n";
        let secret =
            yaml_value("{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {password: aHVudGVyMg==}}");
        let found = evaluate(&Policies::of(&Served::of(policy), &[]), &secret.unwrap()).unwrap();
        let messages: Vec<&str> = found.iter().flat_map(|f| &f.rules).map(|rule| &*rule.message).collect();
        assert_eq!(messages, ["it is **REDACTED**"]);
    }

    #[test]
    fn a_trigger_of_a_policy_that_changes_others_has_no_result_and_others_are_skipped() {
        let policy = |more: &str| {
            format!(
                "{{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {{name: p}}, spec: {{evaluation: {{mutateExisting: {{enabled: true}}}}, \
                 matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}]}}, {more}\
                 matchConditions: [{{name: c, expression: \"object.metadata.name == 'go'\"}}], \
                 mutations: [{{patchType: ApplyConfiguration, applyConfiguration: {{expression: \"Object{{metadata: Object.metadata{{labels: {{'a': 'b'}}}}}}\"}}}}]}}}}"
            )
        };
        let targets = "targetMatchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]}, ";
        let go = "metadata: {name: go, namespace: shop}";
        assert!(said(&policy(targets), go).is_empty());
        assert_eq!(said(&policy(""), go).len(), 1);
        let skipped = said(&policy(targets), &go.replace("name: go", "name: other"));
        assert_eq!(skipped.len(), 1, "{skipped:?}");
    }
}
