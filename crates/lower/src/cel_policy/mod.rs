//! The policies of `policies.kyverno.io` → rules with expressions.
//!
//! In: a checked document. Out: a policy whose rules are the one as written and its variants for
//! pod controllers, or the compile error in the reference's words. Semantics:
//! `docs/semantics/cel-policies.md`.
//!
//! - `autogen`: variants of a policy on pods for the controllers of pods
//! - `changing`: rewriting expressions that change pods for the controllers of pods
//! - `draft`: templates of generating policies: YAML documents with places `(( expression ))` to
//!   fill in
//! - `exception`: PolicyExceptions of group `policies.kyverno.io` → `CelException`s
//! - `images`: ImageValidatingPolicies → validations of images
//! - [`issues`]: everything that is wrong with the expressions of a policy, for its author
//! - `sections`: compiling the expressions of one policy, section by section

mod autogen;
mod changing;
mod draft;
mod exception;
mod images;
pub mod issues;
mod sections;

pub use exception::exception;

use std::sync::Arc;

use ephor_cel::library::KyvernoKind;
use ephor_ir::check::Check;
use ephor_ir::expressions::{
    CHECK_REQUESTS, DELETING, Expressions, GENERATING, POLICIES, Proxy, VALIDATING, View, Wording,
};
use ephor_ir::facts::{ActionModel, FailurePolicy, NamespaceScope, Report, Stage};
use ephor_ir::generate::Generation;
use ephor_ir::mutate::{self, ExistingObjects, Mutation};
use ephor_ir::rule::{Body, RuleKind};
use ephor_ir::{Matcher, Policy, Rule};
use ephor_value::{Str, Value};
use sections::Sections;
pub use sections::{Failed, FieldError};

use super::rule::with_expressions;

/// A lowered policy, or why it does not compile.
#[derive(Clone, Debug)]
pub struct LoweredPolicy {
    /// The policy; its rules are empty when it does not compile.
    pub policy: Policy,
    /// The compile error.
    pub error: Option<String>,
    /// What it consists of.
    pub faults: Vec<FieldError>,
}

/// What a kind of policy becomes; `None` for kinds that are no reviews.
pub fn kind_of(kind: &str) -> Option<(KyvernoKind, bool)> {
    let (bare, namespaced) = match kind.strip_prefix("Namespaced") {
        Some(bare) => (bare, true),
        None => (kind, false),
    };
    let kind = match bare {
        "ValidatingPolicy" => KyvernoKind::Validating,
        "MutatingPolicy" => KyvernoKind::Mutating,
        "GeneratingPolicy" => KyvernoKind::Generating,
        "DeletingPolicy" => KyvernoKind::Deleting,
        "ImageValidatingPolicy" => KyvernoKind::Images,
        _ => return None,
    };
    Some((kind, namespaced))
}

/// The short name of a kind's API.
fn short_name(kind: KyvernoKind, namespaced: bool) -> &'static str {
    let [own, of_namespace] = match kind {
        KyvernoKind::Validating => ["vpol", "nvpol"],
        KyvernoKind::Mutating => ["mpol", "nmpol"],
        KyvernoKind::Generating => ["gpol", "ngpol"],
        KyvernoKind::Deleting => ["dpol", "ndpol"],
        KyvernoKind::Images => ["ivpol", "nivpol"],
    };
    if namespaced { of_namespace } else { own }
}

/// Lowers a policy of one of the kinds of [`kind_of`].
pub fn policy(doc: &Value, kind: KyvernoKind, namespaced: bool) -> LoweredPolicy {
    let text = |path: &[&str]| Str::from(doc.text_at(path));
    let flag = |path: &[&str]| doc.at(path).and_then(Value::as_bool).unwrap_or(true);
    let spec = doc.get("spec").cloned().unwrap_or_default();
    let name = text(&["metadata", "name"]);
    let (rules, error, faults) = match rules(&spec, kind, namespaced) {
        Ok(rules) => (rules, None, Vec::new()),
        Err(failed) => {
            let text = failed.message(kind, spec.text_at(&["evaluation", "mode"]));
            (Vec::new(), Some(text), failed.faults())
        }
    };
    let namespace = namespaced.then(|| text(&["metadata", "namespace"]));
    let stage = match (kind, view_of(&spec, kind)) {
        (KyvernoKind::Deleting, _) => Stage::Schedule,
        (_, View::CheckRequest(_)) => Stage::CheckRequests,
        (_, View::Payload) => Stage::Payloads,
        _ => Stage::Expressions,
    };
    let policy = Policy {
        api: super::policy::api(doc),
        short_name: short_name(kind, namespaced).into(),
        namespace: namespace.clone(),
        annotations: super::policy::annotations(doc),
        reported: super::policy::is_reported(doc),
        apply_one: false,
        background: kind != KyvernoKind::Deleting && flag(&["spec", "evaluation", "background", "enabled"]),
        admission: kind != KyvernoKind::Deleting && flag(&["spec", "evaluation", "admission", "enabled"]),
        action: "".into(),
        overrides: Box::default(),
        failure_policy: FailurePolicy::of(spec.text_at(&["failurePolicy"])),
        actions: actions(&spec),
        stage,
        scope: match namespace {
            Some(namespace) if stage != Stage::Payloads => {
                NamespaceScope::Requests(if namespace.is_empty() { "default".into() } else { namespace })
            }
            _ => NamespaceScope::All,
        },
        report: Report { source: source(kind).into(), names_rules: false },
        admit: Box::default(),
        rules: rules.into_iter().map(Arc::new).collect(),
        by_kind: Vec::new(),
        rule_count: 1,
        rule_names: Box::new([Str::from("")]),
        name,
    };
    LoweredPolicy { policy, error, faults }
}

/// The variants of a policy for the controllers of pods: what they are called, and their specs.
pub fn variants_of(spec: &Value, mutating: bool) -> Vec<(&'static str, Value)> {
    let rewriting = if mutating { autogen::changes } else { autogen::all };
    autogen::variants(spec, rewriting).into_iter().map(|v| (v.name, v.spec)).collect()
}

/// `validationActions`; without any, violations refuse the request.
fn actions(spec: &Value) -> ActionModel {
    let actions = spec.get("validationActions").and_then(Value::as_list).unwrap_or_default();
    let has = |wanted: &str| actions.iter().any(|a| a.as_str() == Some(wanted));
    ActionModel::ValidationActions { deny: actions.is_empty() || has("Deny"), warn: has("Warn") }
}

/// Whether a policy has variants for the controllers of pods.
pub fn has_variants(spec: &Value) -> bool {
    !autogen::variants(spec, autogen::changes).is_empty()
}

/// Whether the spec of a policy is about pods alone, so that it can be extended to the controllers
/// of pods.
pub fn is_about_pods(spec: &Value) -> bool {
    autogen::is_about_pods(spec)
}

/// What the expressions of a policy see.
fn view_of(spec: &Value, kind: KyvernoKind) -> View {
    match (kind, spec.text_at(&["evaluation", "mode"])) {
        (KyvernoKind::Validating, "HTTP") => View::CheckRequest(Proxy::Http),
        (KyvernoKind::Validating, "Envoy") => View::CheckRequest(Proxy::Envoy),
        (_, "JSON") => View::Payload,
        _ => View::Request,
    }
}

/// `source` of results in reports.
fn source(kind: KyvernoKind) -> &'static str {
    match kind {
        KyvernoKind::Validating => "KyvernoValidatingPolicy",
        KyvernoKind::Mutating => "KyvernoMutatingPolicy",
        KyvernoKind::Generating => "KyvernoGeneratingPolicy",
        KyvernoKind::Images => "KyvernoImageValidatingPolicy",
        KyvernoKind::Deleting => "kyverno",
    }
}

/// The rule as written, then its variants.
fn rules(spec: &Value, kind: KyvernoKind, namespaced: bool) -> Result<Vec<Rule>, Failed> {
    let view = view_of(spec, kind);
    if matches!(view, View::CheckRequest(_)) {
        return Ok(vec![rule(spec, view, kind, namespaced)?]);
    }
    let payload = view == View::Payload;
    let mut rules = vec![rule(spec, view, kind, namespaced)?];
    if matches!(kind, KyvernoKind::Validating | KyvernoKind::Mutating | KyvernoKind::Images) {
        let rewriting = if kind == KyvernoKind::Mutating { autogen::changes } else { autogen::all };
        for variant in autogen::variants(spec, rewriting) {
            let view = if payload { View::Payload } else { variant.view };
            rules.push(rule(&variant.spec, view, kind, namespaced)?);
        }
    }
    Ok(rules)
}

fn rule(spec: &Value, view: View, kind: KyvernoKind, namespaced: bool) -> Result<Rule, Failed> {
    let constraints = match (view, spec.get("matchConstraints")) {
        (View::Payload | View::CheckRequest(_), _) => Matcher::Constraints(Box::default()),
        (_, Some(constraints)) if !constraints.is_null() => {
            let mut constraints = super::constraints::constraints(constraints);
            if kind == KyvernoKind::Deleting {
                constraints.any_operation();
            }
            Matcher::Constraints(Box::new(constraints))
        }
        _ => Matcher::never(),
    };
    let (rule_kind, (shared, body)) = match kind {
        KyvernoKind::Mutating => (RuleKind::Mutation, mutating(spec, view, kind, namespaced)?),
        KyvernoKind::Deleting => (RuleKind::Validation, deleting(spec, view, kind, namespaced)?),
        KyvernoKind::Images => (RuleKind::Validation, images::parts(spec, view, namespaced)),
        KyvernoKind::Generating => (RuleKind::Generation, generating(spec, view, kind, namespaced)?),
        KyvernoKind::Validating => (RuleKind::Validation, validating(spec, view, kind, namespaced)?),
    };
    Ok(with_expressions("".into(), rule_kind, constraints, shared, body))
}

/// What the expressions of a policy share that has neither conditions nor variables.
fn shared(view: View, wording: &'static Wording) -> Expressions {
    Expressions {
        view,
        params: None,
        conditions: Box::default(),
        variables: Box::default(),
        annotations: Box::default(),
        failure_policy: FailurePolicy::Fail,
        wording,
        reads_namespace: false,
    }
}

/// Whether a policy that changes objects shall become one of the API server.
fn is_handed_over(spec: &Value) -> bool {
    spec.at(&["autogen", "mutatingAdmissionPolicy", "enabled"]).and_then(Value::as_bool) == Some(true)
}

/// Why a policy that changes objects cannot become one of the API server, whatever else is right
/// with it.
///
/// # Errors
/// Its conditions do not compile.
pub fn check_match_conditions(spec: &Value) -> Result<(), Failed> {
    let compiler = Sections::new(KyvernoKind::Mutating, false, View::Request);
    compiler.no_variables(spec.get("matchConditions"), "matchConditions")
}

/// What the expressions of a rule share, and what the rule does.
type RuleLowering = Result<(Expressions, Body), Failed>;

fn mutating(spec: &Value, view: View, kind: KyvernoKind, namespaced: bool) -> RuleLowering {
    let mut sections = Sections::new(kind, namespaced, view);
    if is_handed_over(spec) {
        sections.no_variables(spec.get("matchConditions"), "matchConditions")?;
    }
    let variables = sections.variables(spec.get("variables"))?;
    let conditions = sections.conditions(spec.get("matchConditions"), "matchConditions")?;
    let returned_by = sections.target_expression(spec.at(&["targetMatchConstraints", "expression"]))?;
    let of_targets = sections.conditions(spec.get("targetMatchConditions"), "targetMatchConditions")?;
    let annotations = sections.annotations(spec.get("auditAnnotations"))?;
    let patches = sections.patches(spec.get("mutations"))?;
    let replaces_atomic =
        spec.at(&["evaluation", "useServerSideApply"]).and_then(Value::as_bool).unwrap_or(false);
    let shared = Expressions { conditions, variables, annotations, ..shared(view, &POLICIES) };
    let body = |existing: Option<Box<ExistingObjects>>| {
        let change =
            mutate::Change::Expressions { patches: patches.clone(), replaces_atomic, reinvoked: false };
        Body::Mutate(Box::new(Mutation { change, other_templates: Box::default(), targets: None, existing }))
    };
    let given = spec.get("targetMatchConstraints").unwrap_or(&Value::Null);
    let selects = given.at(&["resourceRules"]).and_then(Value::as_list).is_some_and(|all| !all.is_empty());
    let others = selects || returned_by.is_some();
    let enabled = spec.at(&["evaluation", "mutateExisting", "enabled"]).and_then(Value::as_bool);
    let existing = (others || enabled == Some(true)).then(|| {
        let own = if others { Some(given) } else { spec.get("matchConstraints") };
        let mut constraints = super::constraints::constraints(own.unwrap_or(&Value::Null));
        constraints.any_operation();
        let when = Matcher::Constraints(Box::new(constraints));
        let shared = Expressions { conditions: of_targets, ..shared.clone() };
        let rule = with_expressions("".into(), RuleKind::Mutation, when, shared, body(None));
        Box::new(ExistingObjects { rule: Arc::new(rule), returned_by, others })
    });
    Ok((shared, body(existing)))
}

fn generating(spec: &Value, view: View, kind: KyvernoKind, namespaced: bool) -> RuleLowering {
    let mut sections = Sections::new(kind, namespaced, view);
    let conditions = sections.conditions(spec.get("matchConditions"), "matchConditions")?;
    let variables = sections.variables(spec.get("variables"))?;
    let generators = sections.generators(spec.get("generate"))?;
    let annotations = sections.annotations(spec.get("auditAnnotations"))?;
    let shared = Expressions { conditions, variables, annotations, ..shared(view, &GENERATING) };
    Ok((shared, Body::Generate(Box::new(Generation::Expressions(generators)))))
}

fn deleting(spec: &Value, view: View, kind: KyvernoKind, namespaced: bool) -> RuleLowering {
    let mut sections = Sections::new(kind, namespaced, view);
    let variables = sections.variables(spec.get("variables"))?;
    let conditions = sections.conditions(spec.get("conditions"), "conditions")?;
    Ok((Expressions { conditions, variables, ..shared(view, &DELETING) }, Body::Delete))
}

fn validating(spec: &Value, view: View, kind: KyvernoKind, namespaced: bool) -> RuleLowering {
    let mut sections = Sections::new(kind, namespaced, view);
    let conditions = sections.conditions(spec.get("matchConditions"), "matchConditions")?;
    let variables = sections.variables(spec.get("variables"))?;
    let failure_policy = FailurePolicy::of(spec.text_at(&["failurePolicy"]));
    let wording = if matches!(view, View::CheckRequest(_)) { &CHECK_REQUESTS } else { &VALIDATING };
    let shared = Expressions { conditions, variables, failure_policy, ..shared(view, wording) };
    if let View::CheckRequest(proxy) = view {
        return Ok((shared, Body::Answer(sections.answers(spec.get("validations"), proxy)?)));
    }
    let validations = sections.validations(spec.get("validations"))?;
    let annotations = sections.annotations(spec.get("auditAnnotations"))?;
    let annotations = if view == View::Payload { Box::default() } else { annotations };
    let body = Body::Validate { check: Check::Assert(validations), message: super::rule::no_message() };
    Ok((Expressions { annotations, ..shared }, body))
}
