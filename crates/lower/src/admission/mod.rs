//! `ValidatingAdmissionPolicy`, `MutatingAdmissionPolicy` and their bindings → policies of the IR.
//!
//! In: objects with their defaults (`api::admission`). Out: policies with compiled expressions; an
//! expression that does not compile keeps its text and fails when it is evaluated.
//!
//! - `release_changes`: what of a policy means something else on another release of Kubernetes
//! - `judge`: what is wrong with the expressions of a policy, before the API takes it
//! - [`offline`]: admission policies → policies whose one rule runs outside of a cluster
//! - `warnings`: warnings about expressions: what the API server writes into `status.typeChecking`
//!   of a policy
//! - [`webhook`]: `ValidatingWebhookConfiguration` and `MutatingWebhookConfiguration` → webhooks of
//!   the IR

mod judge;
pub mod offline;
mod release_changes;
mod warnings;
pub mod webhook;

use std::sync::Arc;

pub use judge::Judge;
pub use release_changes::{ReleaseChange, release_changes, typed_parts};
pub use warnings::{Warning, warnings};
pub use webhook::webhooks;

use ephor_cel::library::Admission as Choice;
use ephor_cel::types::Type;
use ephor_functions::CelLevel;
use ephor_ir::admission::{Bound, ParamRef, PolicyBinding};
use ephor_ir::binding_index::BindingIndex;
use ephor_ir::check::Check;
use ephor_ir::expressions::{
    API_SERVER, AuditAnnotation, ExpressionPatch, Expressions, PatchType, Validation, Variable, View,
};
use ephor_ir::facts::FailurePolicy;
use ephor_ir::mutate::{Change, Mutation};
use ephor_ir::rule::{Body, RuleKind};
use ephor_ir::{Matcher, Rule};
use ephor_value::release::Release;
use ephor_value::{Str, Value};

use super::compiler::Compiler;
use super::constraints::{constraints, exact};
use super::matcher::selector;
use super::rule::{no_message, with_expressions};

/// Where a policy runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In an API server of a release.
    Server(Release),
    /// In Kyverno, which has a newer runtime and no authorizer.
    Kyverno,
}

/// Lowers a policy of either kind to its rule.
pub fn rule(document: &Value, place: Place) -> Rule {
    let level = match place {
        Place::Server(release) => CelLevel::of_server(release),
        Place::Kyverno => CelLevel::Kyverno,
    };
    let spec = document.get("spec").cloned().unwrap_or_default();
    let mutating = document.text_at(&["kind"]) == "MutatingAdmissionPolicy";
    let params = spec.get("paramKind").filter(|v| !v.is_null()).map(param_kind);
    let choice = Choice {
        params: params.is_some(),
        authorizer: place != Place::Kyverno,
        mutation: mutating,
        // The language of an API server has them from a release on.
        backticks: place == Place::Kyverno,
        is_new: false,
        level,
    };
    let mut compiler = Compiler::new(choice).at(level);
    // Variables know no types of mutations.
    let mut of_variables = Compiler::new(Choice { mutation: false, ..choice }).at(level);
    // Messages are evaluated without an authorizer.
    let mut of_messages = Compiler::new(Choice { authorizer: false, ..choice }).at(level);
    let variables: Box<[Variable]> = list(&spec, "variables")
        .iter()
        .enumerate()
        .map(|(i, v)| {
            let (name, text) = (v.text_at(&["name"]), v.text_at(&["expression"]));
            let variable = of_variables.variable(name, text, format!("spec.variables[{i}].expression"));
            compiler.share(&of_variables);
            of_messages.share(&of_variables);
            variable
        })
        .collect();
    let conditions = list(&spec, "matchConditions")
        .iter()
        .enumerate()
        .map(|(i, c)| {
            let source = compiler.source(c.text_at(&["expression"]), Some(&Type::Bool));
            source.at(format!("spec.matchConditions[{i}].expression"))
        })
        .collect();
    let (annotations, body) = match mutating {
        true => {
            let patches = list(&spec, "mutations").iter().enumerate();
            let patches = patches.map(|(i, m)| patch(m, i, &compiler)).collect();
            let reinvoked = spec.text_at(&["reinvocationPolicy"]) == "IfNeeded";
            let change = Change::Expressions { patches, replaces_atomic: false, reinvoked };
            let mutation =
                Mutation { change, other_templates: Box::default(), targets: None, existing: None };
            (Box::default(), Body::Mutate(Box::new(mutation)))
        }
        false => {
            let validations = list(&spec, "validations");
            let validations = validations.iter().enumerate();
            let validations = validations.map(|(i, v)| validation(v, i, &compiler, &of_messages)).collect();
            let annotations = list(&spec, "auditAnnotations").iter().enumerate();
            let annotations = annotations.map(|(i, a)| AuditAnnotation {
                key: a.text_at(&["key"]).into(),
                value: compiler
                    .source_of(a.text_at(&["valueExpression"]), &[Type::String, Type::Null])
                    .at(format!("spec.auditAnnotations[{i}].valueExpression")),
            });
            let check = Check::Assert(validations);
            (annotations.collect(), Body::Validate { check, message: no_message() })
        }
    };
    let constraints = spec.get("matchConstraints").filter(|v| !v.is_null()).map(constraints);
    let shared = Expressions {
        view: View::AdmissionRequest,
        params: None,
        conditions,
        variables,
        annotations,
        failure_policy: FailurePolicy::of(spec.text_at(&["failurePolicy"])),
        wording: &API_SERVER,
        reads_namespace: false,
    };
    let kind = if mutating { RuleKind::Mutation } else { RuleKind::Validation };
    // Without constraints it is about every object.
    let when = Matcher::Constraints(Box::new(constraints.clone().unwrap_or_default()));
    let name = document.text_at(&["metadata", "name"]).into();
    let bound = Bound {
        constraints,
        param_kind: params,
        bindings: Box::default(),
        index: BindingIndex::default(),
        is_static: false,
        server: match place {
            Place::Server(release) => Some(release),
            Place::Kyverno => None,
        },
        params: Arc::from([]),
    };
    Rule { bound: Some(Arc::new(bound)), ..with_expressions(name, kind, when, shared, body) }
}

/// Lowers a binding of either kind.
pub fn binding(document: &Value) -> PolicyBinding {
    let spec = document.get("spec").cloned().unwrap_or_default();
    PolicyBinding {
        mutates: document.text_at(&["kind"]) == "MutatingAdmissionPolicyBinding",
        name: document.text_at(&["metadata", "name"]).into(),
        policy: spec.text_at(&["policyName"]).into(),
        params: spec.get("paramRef").filter(|v| !v.is_null()).map(param_ref),
        when: spec.get("matchResources").filter(|v| !v.is_null()).map(constraints),
        actions: list(&spec, "validationActions").iter().filter_map(Value::as_str).map(Str::from).collect(),
    }
}

fn list<'v>(v: &'v Value, key: &str) -> &'v [Value] {
    v.get(key).and_then(Value::as_list).unwrap_or_default()
}

fn param_kind(v: &Value) -> [Str; 3] {
    let api_version = v.text_at(&["apiVersion"]);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    [group.into(), version.into(), v.text_at(&["kind"]).into()]
}

fn param_ref(v: &Value) -> ParamRef {
    ParamRef {
        name: v.text_at(&["name"]).into(),
        namespace: v.text_at(&["namespace"]).into(),
        selector: v.get("selector").and_then(selector).map(exact),
        must_exist: v.text_at(&["parameterNotFoundAction"]) == "Deny",
    }
}

fn validation(v: &Value, at: usize, compiler: &Compiler, of_messages: &Compiler) -> Validation {
    let made = v.text_at(&["messageExpression"]);
    Validation {
        check: compiler
            .source(v.text_at(&["expression"]), Some(&Type::Bool))
            .at(format!("spec.validations[{at}].expression")),
        message: v.text_at(&["message"]).into(),
        message_program: (!made.is_empty()).then(|| of_messages.program(made, Some(&Type::String))),
        reason: v.text_at(&["reason"]).into(),
    }
}

fn patch(v: &Value, at: usize, compiler: &Compiler) -> ExpressionPatch {
    let (patch_type, key, wanted) = match v.text_at(&["patchType"]) {
        "ApplyConfiguration" => {
            (PatchType::ApplyConfiguration, "applyConfiguration", Some(Type::Struct("Object".into())))
        }
        "JSONPatch" => {
            (PatchType::JsonPatch, "jsonPatch", Some(Type::list(Type::Struct("JSONPatch".into()))))
        }
        _ => (PatchType::Unknown, "", None),
    };
    let source = compiler.source(v.text_at(&[key, "expression"]), wanted.as_ref());
    ExpressionPatch { patch_type, source: source.at(format!("spec.mutations[{at}].{key}.expression")) }
}
