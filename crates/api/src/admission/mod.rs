//! Admission policies, bindings and webhook configurations as the Kubernetes API takes them:
//! defaults and validation.
//!
//! In: objects of the group `admissionregistration.k8s.io` as written. Out: the objects with
//! their defaults, or why the API refuses them, in its words. [`Expressions`] finds what is wrong
//! with an expression. Semantics: `docs/semantics/admission.md`, "What the API refuses".
//!
//! - `binding`: bindings of both kinds
//! - `defaults`: defaults
//! - [`errors`]: what is wrong with an object, field by field, in the API's words
//! - `expressions`: what the checks need of a compiler of expressions
//! - `matching`: `MatchResources` and label selectors
//! - `metadata`: the metadata of objects, as the API server checks it
//! - `policy`: policies of both kinds
//! - `read`: reading parts of documents
//! - `webhook`: webhook configurations of both kinds

mod binding;
mod defaults;
pub mod errors;
mod expressions;
mod matching;
mod metadata;
mod policy;
mod read;
mod webhook;

pub use defaults::defaulted;
pub use errors::Refusal;
pub use expressions::{ExpressionProblem, Expressions, Wanted};

use ephor_kubernetes::decode::problems;
use ephor_kubernetes::release::ServerRules;
use ephor_kubernetes::{Kinds, Types};
use ephor_value::Value;
use ephor_value::names::subdomain_problems;
use errors::{Errors, FieldPath};

/// A policy or binding that does not have the form of its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to validate resource ({kind} {name:?}: {text})")]
pub struct Unreadable {
    /// Its kind.
    pub kind: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// What is wrong, in the words of the API server.
    pub text: Box<str>,
}

/// Checks whether a policy or binding has the form of its kind: known fields, values of their
/// types, a name, no name of an entry twice. The reference's command line checks no more.
///
/// # Errors
/// What is wrong, and with what.
pub fn readable(document: &Value) -> Result<(), Unreadable> {
    let (kind, name) = (document.text_at(&["kind"]), document.text_at(&["metadata", "name"]));
    let mut wrong: Option<String> = None;
    let types = Types::built_in();
    // The versions have the same fields.
    if let Some(def) = types.of_kind(&[GROUP.into(), "v1".into(), kind.into()]) {
        let found = problems(document, def, types);
        let text = found.wrong.map(|error| error.to_string());
        wrong = text.or_else(|| found.unknown.first().map(|path| format!("unknown field \"{path}\"")));
    }
    let mut names = subdomain_problems(name).into_iter();
    let wrong = wrong.or_else(|| names.next().map(|text| format!("metadata.name: {text}"))).or_else(|| {
        let spec = document.get("spec")?;
        ["matchConditions", "variables"].iter().find_map(|key| {
            let mut seen: Vec<&str> = Vec::new();
            let mut entries = read::list(spec, key).iter().map(|e| e.text_at(&["name"]));
            let twice = entries.find(|n| {
                seen.contains(n) || {
                    seen.push(n);
                    false
                }
            })?;
            Some(format!("spec.{key}: duplicate entries for key [name=\"{twice}\"]"))
        })
    });
    match wrong {
        Some(text) => Err(Unreadable { kind: kind.into(), name: name.into(), text: text.into() }),
        None => Ok(()),
    }
}

/// The group of policies, bindings and webhook configurations.
const GROUP: &str = "admissionregistration.k8s.io";

/// How names of objects end that come from files on the server.
pub const STATIC_SUFFIX: &str = ".static.k8s.io";

/// Checks a policy, binding or webhook configuration with its defaults; gives the warnings about
/// fields that are not known.
///
/// # Errors
/// The API refuses it.
pub fn check(document: &Value, expressions: &mut dyn Expressions) -> Result<Vec<String>, Refusal> {
    checked(document, None, Origin::Api, expressions)
}

/// As [`check`] for an object of a static manifest, a file on the server: fields that are not known
/// are mistakes, names that end in [`STATIC_SUFFIX`] are none, and what bindings must have is
/// checked in the words of 1.36.
///
/// # Errors
/// The server does not start with it.
pub fn check_static(document: &Value, expressions: &mut dyn Expressions) -> Result<(), Refusal> {
    checked(document, None, Origin::StaticManifest, expressions).map(drop)
}

/// As [`check`] for an object that takes the place of a stored one: match conditions that stay as
/// they are, with the kind of the parameters, are not checked again.
///
/// # Errors
/// The API refuses the change.
pub fn check_update(
    document: &Value,
    stored: &Value,
    expressions: &mut dyn Expressions,
) -> Result<Vec<String>, Refusal> {
    checked(document, Some(stored), Origin::Api, expressions)
}

/// Where an object comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// A request to the API.
    Api,
    /// A file on the server.
    StaticManifest,
}

fn checked(
    document: &Value,
    stored: Option<&Value>,
    origin: Origin,
    expressions: &mut dyn Expressions,
) -> Result<Vec<String>, Refusal> {
    let kind = document.text_at(&["kind"]);
    let rules = ServerRules::of(expressions.release());
    let types = Types::of_release(expressions.release());
    let api_version = document.text_at(&["apiVersion"]);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kinds = Kinds::of_release(expressions.release());
    if origin == Origin::Api && group == GROUP && kinds.kind(group, version, kind).is_none() {
        let versions = kinds.named(kind).filter(|r| *r.group == *group).map(|r| &*r.version);
        let served: Vec<&str> = versions.collect();
        return Err(Refusal::not_served(kind, api_version, expressions.release(), &served));
    }
    let mut warnings = Vec::new();
    if let Some(def) = types.of_kind(&[group.into(), version.into(), kind.into()]) {
        let found = problems(document, def, types);
        if let Some(error) = found.wrong {
            return Err(Refusal::unreadable(kind, &error.to_string()));
        }
        if let Some(field) = found.unknown.first().filter(|_| origin == Origin::StaticManifest) {
            return Err(Refusal::unknown_field(field));
        }
        warnings = found.unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
    }
    let name = document.text_at(&["metadata", "name"]);
    let mut errors = Errors::default();
    metadata::metadata(document, &mut errors);
    if origin == Origin::Api && rules.reserves_static_names && name.ends_with(STATIC_SUFFIX) {
        let text = format!(
            "names ending with \"{STATIC_SUFFIX}\" are reserved for static manifest-based configurations and cannot be managed via the API"
        );
        errors.invalid(&FieldPath::new("metadata").key("name"), &name.into(), &text);
    }
    match kind {
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => {
            policy::policy(document, stored, expressions, &mut errors);
        }
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            let declares_required = origin == Origin::Api && rules.declares_required;
            binding::binding(document, declares_required, &mut errors);
        }
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            webhook::configuration(document, expressions, &mut errors);
        }
        _ => return Ok(warnings),
    }
    errors.answer(kind, name).map(|()| warnings)
}
