//! Rules: when they apply, what they read, what they do.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use ephor_value::{Str, Value};

use super::check::Check;
use super::expressions::{Expressions, Program};
use super::generate::Generation;
use super::image_validation::ImageValidation;
use super::mutate::Mutation;
use super::{Conditions, Matcher, Origin, Template};

pub use super::binding::{Binding, BindingSource, INPUTS, QuerySource, hole, hole_of};

/// A rule of any policy, lowered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, remote = "Self")]
pub struct Rule {
    /// Where it is written, or the rule from which it was generated.
    pub origin: Origin,
    /// For what it was generated, if it is not written.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub generated: Option<Str>,
    /// Its name, as results report it.
    pub name: Str,
    /// What kind of result it gives.
    pub kind: RuleKind,
    /// Requests it applies to.
    pub when: Matcher,
    /// Requests it does not apply to.
    pub unless: Matcher,
    /// Data it may read, loaded when first mentioned; a later one may read the earlier ones.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub bindings: Box<[Arc<Binding>]>,
    /// Conditions that must hold, else the rule is skipped.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub admit: Option<Conditions>,
    /// What its CEL expressions share, if it has some.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub expressions: Option<Arc<Expressions>>,
    /// What binds it, for rules of Kubernetes' own policies.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub bound: Option<Arc<super::admission::Bound>>,
    /// Properties for reports.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub properties: Option<Properties>,
    /// What it does.
    pub body: Body,
    /// Why the rule cannot be run at all; evaluated rules give an error result with it.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub broken: Option<Str>,
    /// What its result means for the request.
    pub action: Action,
}

super::nested::node!(Rule, 64);

/// Properties that a rule adds to its results.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Properties {
    /// The properties as written, which count where they cannot be filled in.
    pub written: Value,
    /// What fills them in.
    pub template: Template,
}

/// The kind of result a rule gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RuleKind {
    /// A verdict.
    Validation,
    /// A changed object.
    Mutation,
    /// New objects.
    Generation,
    /// A verdict about images.
    ImageVerification,
}

impl RuleKind {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            RuleKind::Validation => "Validation",
            RuleKind::Mutation => "Mutation",
            RuleKind::Generation => "Generation",
            RuleKind::ImageVerification => "ImageVerify",
        }
    }
}

/// What a rule does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Body {
    /// Checks the object.
    Validate {
        /// The check.
        check: Check,
        /// Reported on failure; filled in only then.
        message: Message,
    },
    /// Changes the object, or others.
    Mutate(Box<Mutation>),
    /// Generates objects.
    Generate(Box<Generation>),
    /// Deletes the object, when all conditions hold.
    Delete,
    /// Answers a proxy: the first answer that is not null counts.
    Answer(Box<[Program]>),
    /// Validates images with expressions, or says why that cannot be: a mistake in the policy is
    /// reported with every request.
    ValidateImages(Arc<Result<ImageValidation, Str>>),
    /// Checks images.
    VerifyImages(Box<super::images::ImageChecks>),
    /// Checks who signed the object's manifest.
    Manifests(Box<super::manifests::Manifests>),
}

/// A message with variables.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Message {
    /// Where it is written.
    pub origin: Origin,
    /// As written.
    pub text: Str,
    /// To be filled in.
    pub template: Template,
    /// Reported when the check passes.
    pub passed: Str,
    /// Names of the rule's bindings.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub names: Arc<[Str]>,
}

/// What a rule's failure means for the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Action {
    /// The rule's own action, as written.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub rule: Option<Str>,
    /// The rule's overrides by namespace.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub overrides: Box<[ActionOverride]>,
    /// On an update, a violation that the old object had too is allowed.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub allow_existing: bool,
}

/// Another action for some namespaces.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionOverride {
    /// The action, as written.
    pub action: Str,
    /// Namespaces by wildcard; `None` = none are given, which is not the same as an empty list
    /// (`ephor_engine::action`).
    #[serde(default, skip_serializing_if = "super::unset")]
    pub namespaces: Option<Box<[ephor_value::wildcard::Wildcard]>>,
    /// Namespaces by label.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub selector: Option<super::selector::Selector>,
}
