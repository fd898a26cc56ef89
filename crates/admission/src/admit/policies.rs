//! Reviews of policies themselves, and of what belongs to them.
//!
//! In: an AdmissionReview of a policy, an exception, a global context entry, or an object with a
//! label that says how long it lives; the path it came on. Out: the answer. A policy passes when it
//! passes the checks with which it is loaded, so what is stored can be used. Paths and texts are
//! Kyverno's (`docs/reference/cluster.md`, "Admission of policies").

use std::collections::BTreeSet;

use ephor_api::lint::{self, Findings, cleanup, exception};
use ephor_api::schema::{self, deprecation};
use ephor_kubernetes::Kinds;
use ephor_policies::load::{self, LoadedPolicy, Reader};
use ephor_sources::files::SourceText;
use ephor_value::release::Release;
use ephor_value::time::Time;
use ephor_value::ttl::Ttl;
use ephor_value::{Value, print};

use super::answer::Answer;
use super::generate_changes::{Change, change};
use super::incoming::Incoming;
use super::{online, type_check};

/// What a review is about, by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A policy of any kind.
    Policy,
    /// The same before it is stored: nothing is changed.
    Nothing,
    /// An exception of `kyverno.io`.
    Exception,
    /// An exception of `policies.kyverno.io`.
    CelException,
    /// A global context entry.
    GlobalContext,
    /// A cleanup policy.
    Cleanup,
    /// An object with a label that says how long it lives.
    Ttl,
}

const PATHS: [(&str, About); 8] = [
    ("/policyvalidate", About::Policy),
    ("/policymutate", About::Nothing),
    ("/verifymutate", About::Nothing),
    ("/exceptionvalidate", About::Exception),
    ("/celexception/validate", About::CelException),
    ("/globalcontextvalidate", About::GlobalContext),
    ("/cleanupvalidate", About::Cleanup),
    ("/verifyttl", About::Ttl),
];

/// The label that says how long an object lives.
const LIFETIME: &str = "cleanup.kyverno.io/ttl";

impl About {
    /// What a path is for; `None` = for objects that policies decide on, or nothing.
    pub fn parse(path: &str) -> Option<About> {
        PATHS.iter().find(|(of, _)| *of == path).map(|(_, about)| *about)
    }

    /// The paths.
    pub fn paths() -> impl Iterator<Item = &'static str> {
        PATHS.iter().map(|(path, _)| *path)
    }
}

/// What a cluster serves.
#[derive(Clone, Copy)]
pub struct Served<'c> {
    /// Its kinds.
    pub kinds: &'c Kinds,
    /// Its CustomResourceDefinitions, which only expressions need.
    pub definitions: &'c dyn Fn() -> Vec<Value>,
}

/// Answers a review. `exceptions`: the namespace whose exceptions count, `*` for all; `None` = none
/// do. `served`: what the cluster serves, if there is one. `release`: that of its API server.
pub fn review(
    about: About,
    incoming: &Incoming,
    exceptions: Option<&str>,
    served: Option<Served<'_>>,
    release: Release,
) -> Answer {
    let object = incoming.object("object");
    if object.is_null() || !incoming.text(&["subResource"]).is_empty() {
        return Answer::default();
    }
    match about {
        About::Nothing => Answer::default(),
        About::Policy => of_changed_policy(&incoming.object("oldObject"), &object, served, release),
        About::Cleanup => checked(&object, cleanup::lint),
        About::Exception => {
            let mut answer = checked(&object, exception::lint);
            answer.warnings.extend(exception_warning(&object, exceptions));
            answer
        }
        About::CelException => {
            let mut answer = of_policy(&object, None, release);
            answer.warnings.extend(exceptions.is_none().then(|| UNUSED.to_string()));
            answer
        }
        About::GlobalContext => match global_context(&object) {
            Some(text) => Answer::denied(text),
            None => Answer::default(),
        },
        About::Ttl => of_ttl(&object),
    }
}

/// An object that fits its schema is checked.
fn checked(object: &Value, lint: fn(&Value) -> Findings) -> Answer {
    let document = match schema::check(object) {
        Ok(document) => document,
        Err(refusal) => return Answer::denied(refusal.to_string()),
    };
    match lint(&document).error {
        Some(finding) => Answer::denied(finding.text),
        None => Answer { warnings: warnings(object), ..Answer::default() },
    }
}

/// A policy, and what has changed in it.
fn of_changed_policy(old: &Value, object: &Value, served: Option<Served<'_>>, release: Release) -> Answer {
    let mut answer = of_policy(object, served, release);
    if answer.denial.is_some() || old.is_null() {
        return answer;
    }
    match change(old, object) {
        Change::Allowed => {}
        Change::Warned(text) => answer.warnings.push(text.into()),
        Change::Refused(text) => return Answer::denied(text),
    }
    answer
}

/// A policy is loaded as a server loads it.
fn of_policy(object: &Value, served: Option<Served<'_>>, release: Release) -> Answer {
    if let Some(text) = selects_nothing(object).or_else(|| has_no_evaluation(object)) {
        return Answer { warnings: vec![text.clone()], ..Answer::denied(text) };
    }
    let name = format!("{} {}", object.text_at(&["kind"]), object.text_at(&["metadata", "name"]));
    let source = SourceText { name, text: print::json(object) };
    let reader = Reader::Server(release);
    let loaded = load::argument_for(&[source], reader);
    if let Some(text) = loaded.unusable() {
        // Every single fault is a warning, too.
        let faults = loaded.policies.iter().flat_map(|p| &p.faults);
        return Answer { warnings: faults.map(ToString::to_string).collect(), ..Answer::denied(text) };
    }
    let online = served.map(|served| online::check(object, served.kinds)).unwrap_or_default();
    match online.refusal {
        Some(text) => Answer::denied(text),
        None => {
            let of_check = loaded.policies.iter().flat_map(|policy| checked_warnings(policy, reader));
            let mut all: Vec<String> = of_check.chain(online.warnings).collect();
            let documents = loaded.policies.iter().map(|policy| &policy.document);
            all.extend(served.into_iter().flat_map(|served| {
                documents.clone().flat_map(move |document| type_check::warnings(document, &served, release))
            }));
            all.extend(warnings(object));
            // One for each rule that is generated from a rule says the same as the one before.
            let mut seen = BTreeSet::new();
            all.retain(|text| seen.insert(text.clone()));
            Answer { warnings: all, ..Answer::default() }
        }
    }
}

/// What the policy check warns of in a ClusterPolicy or Policy: deprecated operators, subresources
/// that are not selected.
fn checked_warnings(policy: &LoadedPolicy, reader: Reader) -> Vec<String> {
    match policy.document.text_at(&["kind"]) {
        "ClusterPolicy" | "Policy" => {
            let found = lint::lint(&policy.document, reader.checks());
            found.warnings.into_iter().map(|finding| finding.text).collect()
        }
        _ => Vec::new(),
    }
}

/// Why a policy of `policies.kyverno.io` on objects of a cluster applies to none.
fn selects_nothing(object: &Value) -> Option<String> {
    const OF_OBJECTS: [&str; 4] =
        ["ValidatingPolicy", "MutatingPolicy", "GeneratingPolicy", "DeletingPolicy"];
    let kind = object.text_at(&["kind"]);
    let is_about_objects = object.text_at(&["apiVersion"]).starts_with("policies.kyverno.io/")
        && OF_OBJECTS.contains(&kind.strip_prefix("Namespaced").unwrap_or(kind))
        && matches!(object.text_at(&["spec", "evaluation", "mode"]), "" | "Kubernetes");
    let rules = object.at(&["spec", "matchConstraints", "resourceRules"]).and_then(Value::as_list);
    (is_about_objects && rules.is_none_or(<[Value]>::is_empty)).then(|| {
        "spec.matchConstraints: Required value: a matchConstraints with at least one resource rule is required".into()
    })
}

/// Why a MutatingPolicy without any kind of evaluation is refused.
fn has_no_evaluation(object: &Value) -> Option<String> {
    let kind = object.text_at(&["kind"]);
    let is_enabled = |key: &str| object.at(&["spec", "evaluation", key, "enabled"]).and_then(Value::as_bool);
    let is_off = matches!(kind, "MutatingPolicy" | "NamespacedMutatingPolicy")
        && object.text_at(&["apiVersion"]).starts_with("policies.kyverno.io/")
        && is_enabled("admission") == Some(false)
        && is_enabled("mutateExisting") != Some(true);
    is_off.then(|| {
        "spec.evaluation: Forbidden: disabling both admission and mutateExisting evaluation modes is not allowed".into()
    })
}

/// Deprecated kinds and words.
fn warnings(object: &Value) -> Vec<String> {
    let (api_version, kind) = (object.text_at(&["apiVersion"]), object.text_at(&["kind"]));
    let mut all: Vec<String> = deprecation(api_version, kind).into_iter().collect();
    let mut lower = |field: String, value: &Value| {
        if matches!(value.as_str(), Some("enforce" | "audit")) {
            all.push(format!(
                "{field}: Validation failure actions enforce/audit are deprecated, use Enforce/Audit instead."
            ));
        }
    };
    let spec = object.get("spec").cloned().unwrap_or_default();
    let list = |v: &Value, path: &[&str]| v.at(path).and_then(Value::as_list).unwrap_or_default().to_vec();
    let action = |v: &Value, key: &str| v.get(key).cloned().unwrap_or_default();
    lower("spec.validationFailureAction".into(), &action(&spec, "validationFailureAction"));
    for (i, o) in list(&spec, &["validationFailureActionOverrides"]).iter().enumerate() {
        lower(format!("spec.validationFailureActionOverrides[{i}].action"), &action(o, "action"));
    }
    for (i, rule) in list(&spec, &["rules"]).iter().enumerate() {
        let validate = action(rule, "validate");
        let at = format!("spec.rules[{i}].validate");
        lower(format!("{at}.failureAction"), &action(&validate, "failureAction"));
        for (j, o) in list(&validate, &["failureActionOverrides"]).iter().enumerate() {
            lower(format!("{at}.failureActionOverrides[{j}].action"), &action(o, "action"));
        }
    }
    all
}

const UNUSED: &str = "PolicyException resources would not be processed until it is enabled.";

/// Why an exception has no effect.
fn exception_warning(object: &Value, exceptions: Option<&str>) -> Option<String> {
    match exceptions {
        None => Some(UNUSED.into()),
        Some("") => Some("The exceptionNamespace flag is not set".into()),
        Some(namespace) if namespace == "*" || namespace == object.text_at(&["metadata", "namespace"]) => {
            None
        }
        Some(_) => Some("PolicyException resource namespace must match the defined namespace.".into()),
    }
}

/// Why a global context entry is refused.
fn global_context(object: &Value) -> Option<String> {
    let spec = object.get("spec").cloned().unwrap_or_default();
    let part = |key: &str| spec.get(key).filter(|v| !v.is_empty());
    let forbidden = |path: &str, text: &str| Some(format!("spec.{path}: Forbidden: {text}"));
    let required = |path: &str, text: &str| Some(format!("spec.{path}: Required value: {text}"));
    match (part("kubernetesResource"), part("apiCall")) {
        (Some(resource), None) => {
            let (group, version) = (resource.text_at(&["group"]), resource.text_at(&["version"]));
            if group.is_empty() && version != "v1" {
                return required("resource.group", "A Resource entry requires a group");
            }
            if version.is_empty() {
                return required("resource.version", "A Resource entry requires a version");
            }
            if resource.text_at(&["resource"]).is_empty() {
                return required("resource.resource", "A Resource entry requires a resource");
            }
        }
        (None, Some(call)) => {
            let has = |key: &str| call.get(key).is_some_and(|v| !v.is_empty());
            if has("service") == has("urlPath") {
                let text = "An External API call should either have Service or URLPath";
                return forbidden("apiCall.service", text);
            }
            if has("data") && call.text_at(&["method"]) != "POST" {
                let text = "An External API call with data should have method as POST";
                return forbidden("apiCall.method", text);
            }
        }
        _ => {
            let text = "A global context entry should either have KubernetesResource or APICall";
            return forbidden("kubernetesResource", text);
        }
    }
    let own = object.text_at(&["metadata", "name"]);
    let projections = spec.get("projections").and_then(Value::as_list).unwrap_or_default();
    projections.iter().enumerate().find_map(|(i, projection)| {
        let (name, path) = (projection.text_at(&["name"]), projection.text_at(&["jmesPath"]));
        let at = |key: &str| format!("projections[{i}].{key}");
        if name.is_empty() {
            return required(&at("name"), "A projection entry requires a name");
        }
        if name == own {
            let text = "A projection entry requires a name different from the global context entry name";
            return required(&at("name"), text);
        }
        if path.is_empty() {
            return required(&at("jmesPath"), "A projection entry requires a JMESPath");
        }
        let fault = (load::CHECKS.parse_jmespath)(path).err()?;
        Some(format!("spec.{}: Invalid value: {path:?}: {fault}", at("jmesPath")))
    })
}

/// A label that cannot be read gives a warning alone.
fn of_ttl(object: &Value) -> Answer {
    let label = object.at(&["metadata", "labels", LIFETIME]).and_then(Value::as_str);
    let unreadable = label.filter(|text| Ttl::parse(text).is_none());
    // The fault is that of the last form which is tried.
    let warning = unreadable
        .and_then(|text| Time::parse("2006-01-02", text).err())
        .map(|fault| format!("{LIFETIME} label value cannot be parsed as any recognizable format ({fault})"));
    Answer { warnings: warning.into_iter().collect(), ..Answer::default() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_document::yaml_value;

    fn reviewed(about: About, object: &str) -> Answer {
        reviewed_in(Release::default(), about, object)
    }

    fn reviewed_in(release: Release, about: About, object: &str) -> Answer {
        let mut request = ephor_value::Map::new();
        request.insert("object", yaml_value(object).unwrap());
        let incoming = Incoming {
            api_version: "admission.k8s.io/v1".into(),
            kind: "AdmissionReview".into(),
            uid: "a".into(),
            request,
        };
        let served = Served { kinds: Kinds::of_release(release), definitions: &Vec::new };
        review(about, &incoming, None, Some(served), release)
    }

    fn policy(key: &str, action: &str) -> String {
        format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: a}}, spec: {{rules: [{{name: r, match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, validate: {{failureAction: {action}, message: m, deny: {{conditions: {{all: [{{key: '{key}', operator: Equals, value: b}}]}}}}}}}}]}}}}"
        )
    }

    #[test]
    fn a_policy_that_cannot_be_used_is_refused_with_the_reason() {
        let broken = policy("a", "Enforce").replace("operator: Equals", "operator: Nope");
        let denied = reviewed(About::Policy, &broken);
        assert!(!denied.allowed());
        assert!(reviewed(About::Policy, &policy("{{ request.object.kind }}", "Enforce")).allowed());
    }

    #[test]
    fn a_policy_that_selects_nothing_is_refused_with_the_reason_as_a_warning() {
        let text = |more: &str| {
            format!(
                "{{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {{name: a}}, spec: {{{more}validations: [{{expression: 'true'}}]}}}}"
            )
        };
        let denied = reviewed(About::Policy, &text(""));
        let message = denied.denial.unwrap().message;
        assert!(message.starts_with("spec.matchConstraints: Required value: "), "{message}");
        assert_eq!(denied.warnings, [message]);
        assert!(reviewed(About::Policy, &text("evaluation: {mode: JSON}, ")).allowed());
        let faulty = "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, \
                      matchConditions: [{name: a, expression: 'object.'}, {name: b, expression: '1 +'}], ";
        let denied = reviewed(About::Policy, &text(faulty));
        assert!(!denied.allowed() && denied.warnings.len() == 2, "{:?}", denied.warnings);
    }

    #[test]
    fn a_mutating_policy_that_is_never_evaluated_is_refused() {
        let text = |evaluation: &str| {
            format!(
                "{{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {{name: a}}, spec: {{evaluation: {{{evaluation}}}, \
                 matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}, mutations: [{{patchType: JSONPatch, jsonPatch: {{expression: \"[JSONPatch{{op: 'remove', path: '/spec'}}]\"}}}}]}}}}"
            )
        };
        let denied = reviewed(About::Policy, &text("admission: {enabled: false}"));
        let message = denied.denial.unwrap().message;
        assert!(message.starts_with("spec.evaluation: Forbidden: disabling both admission"), "{message}");
        let existing = "admission: {enabled: false}, mutateExisting: {enabled: true}";
        assert!(reviewed(About::Policy, &text(existing)).allowed());
        assert!(reviewed(About::Policy, &text("background: {enabled: false}")).allowed());
    }

    #[test]
    fn deprecated_kinds_and_words_give_warnings() {
        let lower = policy("a", "Enforce").replace("{rules:", "{validationFailureAction: enforce, rules:");
        let warnings = reviewed(About::Policy, &lower).warnings;
        let [action, kind] = &warnings[..] else { unreachable!("{warnings:?}") };
        assert!(kind.starts_with("kyverno.io/v1 ClusterPolicy is deprecated"), "{kind}");
        assert!(action.starts_with("spec.validationFailureAction: Validation failure actions"));
    }

    #[test]
    fn the_policy_check_warns_of_deprecated_operators_once_for_a_rule_and_the_rules_generated_from_it() {
        let deprecated = |operator: &str| {
            let text = policy("{{ request.object.metadata.name }}", "Enforce");
            let written =
                text.replace("operator: Equals, value: b", &format!("operator: {operator}, value: [b]"));
            let warnings = reviewed(About::Policy, &written).warnings;
            assert!(warnings.last().unwrap().starts_with("kyverno.io/v1 ClusterPolicy is deprecated"));
            warnings.split_last().unwrap().1.to_vec()
        };
        let text = |operator: &str, instead: &str| {
            format!(
                "Operator {operator} has been deprecated and will be removed soon. Use these instead: {instead}"
            )
        };
        assert_eq!(deprecated("In"), [text("In", r#"["AllIn" "AnyIn"]"#)]);
        assert_eq!(deprecated("NotIn"), [text("NotIn", r#"["AllNotIn" "AnyNotIn"]"#)]);
        assert!(deprecated("AnyIn").is_empty());
        let replicas = "pattern: {spec: {replicas: 1}}";
        let scaled = policy("a", "Enforce")
            .replace("deny: {conditions: {all: [{key: 'a', operator: Equals, value: b}]}}", replicas);
        let warnings = reviewed(About::Policy, &scaled.replace("[Pod]", "[Deployment]")).warnings;
        assert!(warnings[0].contains("not including the scale subresource"), "{warnings:?}");
    }

    #[test]
    fn warnings_about_types_know_the_kinds_of_the_release() {
        let policy = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: a}, spec: {rules: [{name: r, \
             match: {any: [{resources: {kinds: [certificates.k8s.io/v1/ClusterTrustBundle], operations: [CREATE]}}]}, \
             validate: {failureAction: Enforce, cel: {expressions: [{expression: object.spec.nothing == ''}]}}}]}}";
        let about = |release| {
            let warnings = reviewed_in(release, About::Policy, policy).warnings;
            warnings.into_iter().filter(|text| text.contains("undefined field 'nothing'")).count()
        };
        assert_eq!([Release::V1_36, Release::V1_37, Release::V1_38].map(about), [0, 1, 1]);
    }

    #[test]
    fn a_global_context_entry_has_one_source_and_projections_that_compile() {
        let entry = |spec: &str| {
            let text = format!("{{kind: GlobalContextEntry, metadata: {{name: e}}, spec: {spec}}}");
            reviewed(About::GlobalContext, &text).denial.map(|denial| denial.message)
        };
        assert_eq!(entry("{kubernetesResource: {version: v1, resource: pods}}"), None);
        assert_eq!(
            entry("{}").unwrap(),
            "spec.kubernetesResource: Forbidden: A global context entry should either have KubernetesResource or APICall"
        );
        let broken = entry(
            "{kubernetesResource: {version: v1, resource: pods}, projections: [{name: p, jmesPath: 'a['}]}",
        );
        assert!(broken.unwrap().starts_with("spec.projections[0].jmesPath: Invalid value: \"a[\": "));
    }

    #[test]
    fn a_lifetime_that_cannot_be_read_is_allowed_with_a_warning() {
        let pod = |ttl: &str| {
            reviewed(About::Ttl, &format!("{{metadata: {{labels: {{cleanup.kyverno.io/ttl: {ttl}}}}}}}"))
        };
        assert!(pod("1h30m").warnings.is_empty() && pod("2031-05-06").warnings.is_empty());
        let odd = pod("soon");
        assert!(odd.allowed() && odd.warnings.len() == 1);
    }
}
