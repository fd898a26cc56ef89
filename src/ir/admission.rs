//! Admission policies as an API server runs them: whom they concern, what they ask, what follows.
//!
//! A policy does nothing by itself: bindings say for which requests, with which parameters and with which
//! consequences it runs.

use std::sync::Arc;

use crate::value::{Str, Value};

use super::constraints::Constraints;
use super::expressions::{AuditAnnotation, ExpressionPatch, Source, Validation, Variable};
use super::facts::FailurePolicy;
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
    pub failure_policy: FailurePolicy,
    /// All must be true, else the policy does not apply.
    pub conditions: Box<[Source]>,
    /// Composed variables.
    pub variables: Box<[Variable]>,
    /// What it validates or mutates.
    pub body: AdmissionBody,
}

impl Admission {
    /// Whether it changes objects.
    pub fn mutates(&self) -> bool {
        matches!(self.body, AdmissionBody::Mutate { .. })
    }
}

/// What a policy validates or mutates.
#[derive(Clone, Debug)]
pub enum AdmissionBody {
    /// It validates the request.
    Validate {
        /// In order.
        validations: Box<[Validation]>,
        /// Values for the audit log.
        annotations: Box<[AuditAnnotation]>,
    },
    /// It changes the object.
    Mutate {
        /// In order.
        patches: Box<[ExpressionPatch]>,
        /// Whether it runs again after others have changed the object (`reinvocationPolicy: IfNeeded`).
        reinvoked: bool,
    },
}

/// A policy with what it runs with outside of a cluster.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The policy.
    pub policy: Arc<Admission>,
    /// Its bindings; none at all lets it run by itself.
    pub bindings: Box<[PolicyBinding]>,
    /// Objects that may be parameters.
    pub params: Arc<[Value]>,
}

/// A binding.
#[derive(Clone, Debug)]
pub struct PolicyBinding {
    /// Whether it binds a policy that changes objects, else one that validates them.
    pub mutates: bool,
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
