//! What the CEL expressions of a rule share: what they see, conditions, variables, audit
//! annotations and wording.
//!
//! In: `validate.cel` of rules, the policies of `policies.kyverno.io` and those of
//! `admissionregistration.k8s.io`; the bodies of rules hold the expressions that validate, mutate
//! or generate. Semantics: `docs/internals/ir.md`, "Expressions of a rule".

use serde::{Deserialize, Serialize};

use ephor_value::Str;

use super::facts::FailurePolicy;
use super::selector::Selector;
use super::sharing::Sharing;
use super::{Expr, Origin};

/// An expression ready to run, or why it cannot.
pub type Program = Result<Expr, Str>;

/// A composed variable, computed when it is first read; it sees the earlier ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Variable {
    /// Where it is written.
    pub origin: Origin,
    /// The name.
    pub name: Str,
    /// What computes it.
    pub program: Program,
    /// What other policies may share with it.
    #[serde(skip)]
    pub sharing: Sharing,
}

impl Variable {
    /// The expression of a variable, if it has one, and the variables that it sees: those before it
    /// alone.
    pub fn at(variables: &[Variable], at: u32) -> Option<(&Expr, &[Variable])> {
        let (earlier, own) = variables.split_at_checked(at as usize)?;
        Some((own.first()?.program.as_ref().ok()?, earlier))
    }
}

/// An expression with its text, as faults show it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Source {
    /// Where it is written.
    pub origin: Origin,
    /// The text as written.
    pub text: Str,
    /// What runs.
    pub program: Program,
    /// What other policies may share with it.
    #[serde(skip)]
    pub sharing: Sharing,
}

impl Source {
    /// An expression that is not part of a policy's rules.
    pub fn new(text: &str, program: Program) -> Source {
        Source { origin: Origin::default(), text: text.into(), program, sharing: Sharing::default() }
    }

    /// The expression with the path where it is written.
    #[must_use]
    pub fn at(self, path: impl Into<Str>) -> Source {
        Source { origin: Origin::new(path), ..self }
    }
}

/// A validation: an expression that must be true.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Validation {
    /// True admits.
    pub check: Source,
    /// The message as written; empty when there is none.
    pub message: Str,
    /// `messageExpression`.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub message_program: Option<Program>,
    /// The reason in the answer; empty is the usual one.
    pub reason: Str,
}

/// A value for the audit log, or for a property of a result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditAnnotation {
    /// Its key.
    pub key: Str,
    /// Its value.
    pub value: Source,
}

/// A mutation of the object by the value of an expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpressionPatch {
    /// How the value is applied.
    pub patch_type: PatchType,
    /// What computes it.
    pub source: Source,
}

/// How the value of an expression changes an object (`patchType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PatchType {
    /// The value is merged into the object by the schema of the kind.
    ApplyConfiguration,
    /// The value is a list of operations.
    JsonPatch,
    /// A type that does not exist.
    Unknown,
}

/// What the expressions of one rule share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expressions {
    /// What they see.
    pub view: View,
    /// Which objects are the parameters, for rules that have some.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub params: Option<Params>,
    /// `matchConditions`, `celPreconditions`: all must be true, else the rule does not apply.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub conditions: Box<[Source]>,
    /// Composed variables.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub variables: Box<[Variable]>,
    /// Audit annotations.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub annotations: Box<[AuditAnnotation]>,
    /// Whether an error of a condition is an error, or means that the rule does not apply.
    pub failure_policy: FailurePolicy,
    /// How results are worded.
    #[serde(with = "wording")]
    pub wording: &'static Wording,
    /// Whether the rule cannot be evaluated while the namespace of the object is not known.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub reads_namespace: bool,
}

/// Which objects are the parameters of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Params {
    /// API version, as written.
    pub api_version: Str,
    /// Kind.
    pub kind: Str,
    /// The object's name; empty when objects are chosen by labels.
    pub name: Str,
    /// Labels of all objects that count.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub selector: Option<Selector>,
    /// Where they are; empty = where the request is.
    pub namespace: Str,
    /// Whether it is an error when labels choose none.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub must_exist: bool,
}

/// What expressions see; `engine::view` builds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum View {
    /// The request, as rules with `validate.cel` see it.
    Rule,
    /// The request, with the libraries of `policies.kyverno.io`.
    Request,
    /// The object alone.
    Payload,
    /// Each pod template below the object's `spec` in turn, as if it were a pod.
    PodTemplates,
    /// The request, as an API server shows it to its own policies.
    AdmissionRequest,
    /// A check request of a proxy.
    CheckRequest(Proxy),
}

/// Whose check requests expressions are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Proxy {
    /// An HTTP server's.
    Http,
    /// Envoy's.
    Envoy,
}

impl Proxy {
    /// The type of check requests.
    pub fn request(self) -> &'static str {
        match self {
            Proxy::Http => "http.CheckRequest",
            Proxy::Envoy => "envoy.service.auth.v3.CheckRequest",
        }
    }

    /// The type of answers.
    pub fn response(self) -> &'static str {
        match self {
            Proxy::Http => "http.CheckResponse",
            Proxy::Envoy => "envoy.service.auth.v3.CheckResponse",
        }
    }
}

/// How an API words what its expressions came to. What differs between APIs is a row here.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Wording {
    /// The name of the row.
    pub name: &'static str,
    /// Faults are shown with the text of their expression, else alone.
    pub faults_name_expression: bool,
    /// Faults of variables name the variable.
    pub faults_name_variable: bool,
    /// Several faults of conditions: what stands before, between and after them. Equal ones are
    /// shown once where they stand in brackets.
    pub several: [&'static str; 3],
    /// What conditions that do not hold say.
    pub unmet: &'static str,
    /// What a rule says that is satisfied.
    pub passed: &'static str,
    /// What stands before the text of what ends a rule.
    pub broken: &'static str,
    /// What stands before the text of a validation that fails; `None` = a failing validation is a
    /// violation.
    pub error: Option<&'static str>,
    /// A `messageExpression` that gives nothing usable falls back to the message; else its text, or
    /// fault, is shown.
    pub messages_fall_back: bool,
}

/// `validate.cel` of rules.
pub static RULES: Wording = Wording {
    name: "rules",
    faults_name_expression: true,
    faults_name_variable: true,
    several: ["[", ", ", "]"],
    unmet: "cel preconditions not met",
    passed: "",
    broken: "",
    error: None,
    messages_fall_back: true,
};

/// The policies of `policies.kyverno.io` that validate.
pub static VALIDATING: Wording = Wording {
    name: "validating policies",
    faults_name_expression: false,
    faults_name_variable: false,
    several: ["", "; ", ""],
    unmet: "skip",
    passed: "success",
    broken: "failed to load context: ",
    error: Some("error: "),
    messages_fall_back: false,
};

/// The other policies of `policies.kyverno.io`.
pub static POLICIES: Wording =
    Wording { name: "policies", broken: "failed to evaluate policy: ", ..copied(&VALIDATING) };

/// Those that validate the images of data of any form.
pub static IMAGES_OF_PAYLOADS: Wording = Wording {
    name: "images of payloads",
    broken: "failed to evaluate policy for JSON: ",
    ..copied(&POLICIES)
};

/// Those that generate objects.
pub static GENERATING: Wording =
    Wording { name: "generating policies", passed: "policy evaluated successfully", ..copied(&POLICIES) };

/// Those that delete objects; what they are about stands before the texts.
pub static DELETING: Wording =
    Wording { name: "deleting policies", unmet: "did not match", passed: "matched", ..copied(&POLICIES) };

/// Those on check requests of proxies.
pub static CHECK_REQUESTS: Wording = Wording {
    name: "check requests",
    unmet: "request does not match",
    passed: "request allowed",
    ..copied(&VALIDATING)
};

/// Kubernetes' own policies.
pub static API_SERVER: Wording =
    Wording { name: "API server", unmet: "match conditions aren't met", error: Some(""), ..copied(&RULES) };

/// All rows.
static WORDINGS: [&Wording; 8] = [
    &RULES,
    &VALIDATING,
    &POLICIES,
    &IMAGES_OF_PAYLOADS,
    &GENERATING,
    &DELETING,
    &CHECK_REQUESTS,
    &API_SERVER,
];

/// Wordings are written by the names of their rows.
mod wording {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    use super::Wording;

    pub fn serialize<S: Serializer>(wording: &&'static Wording, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(wording.name)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'static Wording, D::Error> {
        let name = ephor_value::Str::deserialize(from)?;
        let found = super::WORDINGS.iter().find(|w| *w.name == *name).copied();
        found.ok_or_else(|| D::Error::custom(format!("no wording is called `{name}`")))
    }
}

const fn copied(of: &Wording) -> Wording {
    Wording { ..*of }
}
