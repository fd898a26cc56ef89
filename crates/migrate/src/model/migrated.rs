//! The input of a migration, and its result: options, documents, notes.

use std::sync::Arc;

use ephor_kubernetes::{Kinds, Types};

use crate::model::pair::Pair;

/// Which kinds of policies are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetApi {
    /// Those of `policies.kyverno.io`.
    #[default]
    Kyverno,
    /// Kubernetes' own, which have no libraries of Kyverno.
    Kubernetes,
}

/// What a migration may know and write.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which kinds of policies are written.
    pub to: TargetApi,
    /// The kinds that clusters have.
    pub kinds: Arc<Kinds>,
    /// Their schemas.
    pub types: Arc<Types>,
    /// Whether policies on pods get another one for ReplicationControllers, for which policies in
    /// CEL generate no rules; else the new policies leave these out.
    pub replication_controllers: bool,
    /// Whether the policies also have a form in audit mode, [`Migrated::shadows`].
    pub shadows: bool,
    /// Whether each rule is a policy of its own.
    pub apart: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            to: TargetApi::default(),
            kinds: Kinds::built_in().clone(),
            types: Types::built_in().clone(),
            replication_controllers: true,
            shadows: false,
            apart: false,
        }
    }
}

/// A document that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// What a reader should know about a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// `file:line` in the old policy.
    pub place: String,
    /// What it is.
    pub text: String,
}

/// What takes the place of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Migrated {
    /// The documents, in the order of the rules.
    pub documents: Vec<Document>,
    /// What a reader should know.
    pub notes: Vec<Note>,
    /// For each rule its name and the policies that have it now.
    pub rules: Vec<(String, Vec<String>)>,
    /// Whether rules for pod controllers were generated from its rules.
    pub has_generated: bool,
    /// What is not compared with the origin.
    pub not_compared: Vec<String>,
    /// What is assumed of data, where it is compared.
    pub assumed: Vec<String>,
    /// Whether nothing of it is compared but its parts.
    pub is_apart: bool,
    /// The parts that act on other objects than that of a request, as policies about one object.
    pub(crate) pairs: Vec<Pair>,
    /// Where rules act in different ways: old and new policies with those of one kind each, which
    /// are compared instead of the whole.
    pub(crate) apart: Vec<(String, String)>,
    /// The documents in audit mode, with an annotation that names the policy whose decisions they
    /// are compared with; none where an audit mode does not exist, or [`Options::shadows`] is not
    /// set.
    pub shadows: Vec<Document>,
}

/// How pod controllers are covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutogenStrategy {
    /// By the generation of rules that policies in CEL have, which replaces texts.
    Autogen,
    /// By policies of their own, where that generation would not mean the same.
    Expanded,
}

/// The separator of documents.
pub(crate) const SEPARATOR: &str = "---\n";
