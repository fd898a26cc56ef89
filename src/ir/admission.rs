//! Admission policies as an API server runs them: whom they concern, what they ask, what follows.
//!
//! A policy does nothing by itself: bindings say for which requests, with which parameters and with which
//! consequences it runs.

use crate::value::Str;

use super::constraints::Constraints;
use super::expressions::{Lazy, Program, Source};
use super::matcher::Selector;

/// A policy.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Its name.
    pub name: Str,
    /// Requests that it concerns; `None` is a mistake in the policy.
    pub when: Option<Constraints>,
    /// Group, version and kind of its parameters.
    pub params: Option<[Str; 3]>,
    /// What follows from failures of the policy itself.
    pub failure: OnFailure,
    /// All must be true, else the policy does not apply.
    pub admit: Box<[Source]>,
    /// Values under names.
    pub lazies: Box<[Lazy]>,
    /// What it asks or does.
    pub body: AdmissionBody,
}

/// What follows from failures of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The request is denied.
    Deny,
    /// Nothing.
    Ignore,
    /// A word that means nothing.
    Unknown(Str),
}

/// What a policy asks or does.
#[derive(Clone, Debug)]
pub enum AdmissionBody {
    /// It asks.
    Ask {
        /// In order.
        demands: Box<[Demand]>,
        /// Told to the audit log.
        annotations: Box<[Annotation]>,
    },
    /// It changes the object.
    Change {
        /// In order.
        changes: Box<[Change]>,
        /// Whether it runs again after others have changed the object.
        again: bool,
    },
}

/// Something that must hold.
#[derive(Clone, Debug)]
pub struct Demand {
    /// True admits.
    pub check: Source,
    /// The message as written; empty when there is none.
    pub message: Str,
    /// What makes the message instead, when it gives a usable one.
    pub message_program: Option<Program>,
    /// The reason in the answer; empty is the usual one.
    pub reason: Str,
}

/// A value for the audit log.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// Its key, below the name of the policy.
    pub key: Str,
    /// Its value.
    pub value: Source,
}

/// A change of the object.
#[derive(Clone, Debug)]
pub struct Change {
    /// What gives the change.
    pub source: Source,
    /// How it is applied.
    pub kind: ChangeKind,
}

/// How a change is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The value is merged into the object by the object's schema.
    Apply,
    /// The value is a list of operations.
    JsonPatch,
    /// A kind that does not exist.
    Unknown,
}

/// A binding.
#[derive(Clone, Debug)]
pub struct PolicyBinding {
    /// Its name.
    pub name: Str,
    /// The policy.
    pub policy: Str,
    /// Where the parameters are.
    pub params: Option<ParamRef>,
    /// Requests that it concerns; `None` = all of the policy's.
    pub when: Option<Constraints>,
    /// What follows from denials, in order: `Deny`, `Warn`, `Audit`.
    pub actions: Box<[Str]>,
}

/// Where parameters are.
#[derive(Clone, Debug)]
pub struct ParamRef {
    /// The name of the one.
    pub name: Str,
    /// The namespace; empty = that of the request.
    pub namespace: Str,
    /// Labels of all that count.
    pub selector: Option<Selector>,
    /// What follows when there are none.
    pub must_exist: bool,
}
