//! The questions, as JSON has them.
//!
//! In: an object with the member `question`. Out: [`Question`]; members that a question does not
//! have are ignored. A file is a text with a name, or a text alone, which has the name of its
//! member.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use ephor_compare::SideError;
use ephor_engine::request::NoObjects;
use ephor_search::Problem;
use ephor_sources::files::SourceText;
use ephor_value::clock::{self, Instant};
use ephor_value::release::{Release, ReleaseError};

use crate::MAX_QUESTION;

/// The longest time that an answer may take, in milliseconds, whatever the question says.
const MAX_MILLISECONDS: u64 = 120_000;

/// A question.
#[derive(Debug, Deserialize)]
#[serde(tag = "question", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Question {
    /// What policies decide about objects.
    Evaluate(Box<Evaluate>),
    /// What is wrong with policies.
    Lint(Lint),
    /// Policies in CEL for ClusterPolicies.
    Migrate(Migrate),
    /// Whether two texts of policies mean the same.
    Diff(Diff),
    /// The value of a CEL expression.
    Cel(Cel),
    /// The value of a JMESPath expression.
    Jmespath(Jmespath),
    /// The version of the engine.
    Version,
}

/// Files: a text, or a list of texts with names.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Files {
    /// One text.
    Text(String),
    /// Texts with names.
    List(Vec<NamedText>),
}

/// A text with the name that places in it have.
#[derive(Clone, Debug, Deserialize)]
pub struct NamedText {
    /// The name.
    pub name: String,
    /// The text.
    pub text: String,
}

impl Default for Files {
    fn default() -> Files {
        Files::List(Vec::new())
    }
}

impl Files {
    /// The files; a text alone is called `name`. Empty texts are left out.
    pub fn sources(&self, name: &str) -> Vec<SourceText> {
        let source = |name: &str, text: &str| SourceText { name: name.into(), text: text.into() };
        let all = match self {
            Files::Text(text) => vec![source(name, text)],
            Files::List(all) => all.iter().map(|one| source(&one.name, &one.text)).collect(),
        };
        all.into_iter().filter(|source| !source.text.trim().is_empty()).collect()
    }
}

/// Whose decisions are wanted where Kyverno's command line and a cluster differ.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum As {
    /// As Kyverno's command line.
    #[default]
    Kyverno,
    /// As a cluster.
    Cluster,
}

/// What policies decide about objects.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Evaluate {
    /// The policies, with their bindings and exceptions.
    pub policies: Files,
    /// The objects; they are also what rules look up.
    pub objects: Files,
    /// The former object of an `UPDATE`.
    pub old_object: String,
    /// Who sends the requests: a file of `--userinfo`.
    pub user: String,
    /// Values of variables, labels of namespaces: a file of `--values-file`.
    pub values: String,
    /// What policies in CEL look up: a file of `--context-path`.
    pub context: String,
    /// CustomResourceDefinitions.
    pub definitions: Files,
    /// The operation; empty = that of the values, or `CREATE`.
    pub operation: String,
    /// Whose decisions are wanted.
    pub r#as: As,
    /// The release of Kubernetes whose API server evaluates its own policies; empty = as Kyverno
    /// does.
    pub kubernetes: String,
    /// Whether the decisions are explained, and the rules printed.
    pub explain: bool,
    /// How long it may take, in milliseconds; 0 = 10 seconds.
    pub milliseconds: u64,
}

/// What is wrong with policies.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Lint {
    /// The policies.
    pub policies: Files,
    /// CustomResourceDefinitions.
    pub definitions: Files,
    /// The release of Kubernetes; empty = the default of `ephor lint`.
    pub kubernetes: String,
    /// Which fixes are applied; the findings are those that are left.
    pub fix: FixLevel,
}

/// Which fixes of findings are applied.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum FixLevel {
    /// None.
    #[default]
    None,
    /// Those that are what was meant as far as the policies show.
    Safe,
    /// Also those that choose one of several meanings.
    Unsafe,
}

/// The kinds of policies that a migration writes.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum MigrationTarget {
    /// Those of `policies.kyverno.io`.
    #[default]
    Vpol,
    /// ValidatingAdmissionPolicies of Kubernetes.
    Vap,
}

/// Policies in CEL for ClusterPolicies.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Migrate {
    /// The policies.
    pub policies: Files,
    /// CustomResourceDefinitions.
    pub definitions: Files,
    /// What is written.
    pub to: MigrationTarget,
    /// The first release of Kubernetes that evaluates what is written; empty = as Kyverno does.
    pub kubernetes: String,
    /// Whether ReplicationControllers are left out, for which policies in CEL generate no rules.
    pub without_replication_controllers: bool,
    /// Whether the answer has the text of each file, too.
    pub by_file: bool,
    /// How long the proof of a policy may take, in milliseconds; 0 = 20 seconds.
    pub milliseconds: u64,
}

/// Whether two texts of policies mean the same.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Diff {
    /// The old policies.
    pub old: Files,
    /// The new ones.
    pub new: Files,
    /// The release of Kubernetes that evaluates its own policies; empty = as Kyverno does.
    pub kubernetes: String,
    /// How long it may take, in milliseconds; 0 = 20 seconds.
    pub milliseconds: u64,
}

/// The value of a CEL expression.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Cel {
    /// The expression.
    pub expression: String,
    /// The document, as YAML or JSON.
    pub document: String,
    /// `kubernetes`, `kyverno` or `bare`; empty = `kubernetes`.
    pub environment: String,
    /// How long it may take, in milliseconds; 0 = 10 seconds.
    pub milliseconds: u64,
}

/// The value of a JMESPath expression.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Jmespath {
    /// The expression.
    pub expression: String,
    /// The document, as YAML or JSON.
    pub document: String,
    /// How long it may take, in milliseconds; 0 = 10 seconds.
    pub milliseconds: u64,
}

/// How long something may take.
pub(crate) fn limit(milliseconds: u64, default: u64) -> Duration {
    let wanted = if milliseconds == 0 { default } else { milliseconds };
    Duration::from_millis(wanted.min(MAX_MILLISECONDS))
}

/// When something must be done that begins now.
pub(crate) fn deadline(milliseconds: u64, default: u64) -> Option<Instant> {
    clock::after(limit(milliseconds, default))
}

/// The release of a version; none of an empty text.
///
/// # Errors
/// The text is no version.
pub(crate) fn release(version: &str) -> Result<Option<Release>, QuestionError> {
    match version {
        "" => Ok(None),
        version => Ok(Some(Release::choose(version)?.release)),
    }
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// It is no question.
    #[error("this is no question: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It is too long.
    #[error("the texts have {bytes} bytes, at most {MAX_QUESTION} can be read")]
    TooLarge {
        /// How long it is.
        bytes: usize,
    },
    /// There is no policy.
    #[error("there is no policy{}", if .side.is_empty() { String::new() } else { format!(" on the {} side", .side) })]
    NoPolicy {
        /// The side of a comparison, `old` or `new`.
        side: &'static str,
        /// What there is, and what is wrong with it.
        causes: Vec<String>,
    },
    /// A part of the input cannot be used.
    #[error("{text}")]
    Input {
        /// The member of the question.
        part: &'static str,
        /// What is wrong.
        text: String,
        /// What to write instead.
        hint: Option<String>,
    },
    /// A policy of a side cannot be compared.
    #[error(transparent)]
    Side(#[from] SideError),
    /// There is no such release.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// No request can be built from an object.
    #[error(transparent)]
    Request(#[from] NoObjects),
    /// An expression has no value.
    #[error("{0}")]
    Expression(Box<Problem>),
}

impl QuestionError {
    /// An input that cannot be used.
    pub(crate) fn input(part: &'static str, text: impl ToString) -> QuestionError {
        QuestionError::Input { part, text: text.to_string(), hint: None }
    }

    /// What is wrong, and where and what to do, if that is known.
    pub fn to_json(&self) -> Json {
        let text = self.to_string();
        match self {
            QuestionError::NoPolicy { causes, .. } => json!({"text": text, "causes": causes}),
            QuestionError::Input { part, hint, .. } => json!({"text": text, "part": part, "hint": hint}),
            QuestionError::Expression(problem) => {
                json!({"text": text, "offset": problem.offset, "hint": problem.hint})
            }
            _ => json!({"text": text}),
        }
    }
}
