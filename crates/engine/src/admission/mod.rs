//! Admission: what an API server does with a request because of its policies.
//!
//! In: policies with their bindings, the `request` of an AdmissionReview, and the [`ClusterView`]
//! around it. Out: the mutated object, and an [`Answer`]: whether the request is allowed, warnings
//! for the client and audit annotations. Policies run in the order of their names, bindings of a
//! policy in the order of theirs. Semantics: `docs/semantics/admission.md`.

pub mod bound;
pub mod cause;
pub mod change;
mod error;
pub mod literal;
mod mutate;
pub mod offline;
mod params;
pub mod review;
mod validate;
pub mod warnings;

use std::sync::Arc;

use crate::request::namespace_of_labels;
use ephor_external::ExternalData;
use ephor_functions::{CelLevel, Context, untracked};
use ephor_kubernetes::{Kinds, Types, convert};
use ephor_value::{Map, Str, Value};

pub use bound::BoundPolicy;
pub use cause::Cause;
pub use error::{BindingError, JsonError, LiteralError, NoJson, WrongName};
pub use mutate::{Mutated, Passes, mutate};
pub use review::Review;
pub use validate::{BindingResult, answer, conditions, seen_request, validate, verdict};

/// The cluster around a request.
#[derive(Clone)]
pub struct ClusterView<'e> {
    external: &'e dyn ExternalData,
    kinds: Arc<Kinds>,
    /// The namespace of a request, looked up once.
    namespace: Option<(Str, Option<Value>)>,
}

impl<'e> ClusterView<'e> {
    /// The cluster that external data is of.
    pub fn of(external: &'e dyn ExternalData) -> ClusterView<'e> {
        ClusterView { external, kinds: external.known_kinds(), namespace: None }
    }

    /// The cluster around a request, whose namespace is the same as long as it is evaluated.
    pub fn of_request(external: &'e dyn ExternalData, review: &Review) -> ClusterView<'e> {
        let name = &review.attributes.namespace;
        let known = if name.is_empty() { None } else { external.namespace(name) };
        ClusterView { namespace: Some((name.clone(), known)), ..ClusterView::of(external) }
    }

    /// Its kinds; those that every cluster has where nothing is known of them.
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// The fields of the kinds, likewise.
    pub fn types(&self) -> &'e Types {
        self.external.types().unwrap_or_else(|| Types::built_in())
    }

    /// What functions may know, for a request.
    pub fn functions(&self, review: &Review) -> Context {
        let user = review.request.get("userInfo").cloned().unwrap_or_default();
        let authorizer = self.external.authorizer(&user);
        Context { authorizer, cel_level: CelLevel::V26, ..Context::default() }
    }

    /// The kinds, for others to share.
    pub fn shared_kinds(&self) -> &Arc<Kinds> {
        &self.kinds
    }

    /// A namespace, if it is known.
    pub fn namespace(&self, name: &str) -> Option<Value> {
        match &self.namespace {
            Some((own, known)) if **own == *name => known.clone(),
            _ => self.external.namespace(name),
        }
    }

    /// A namespace; of one that may exist without being known the name and its label.
    fn assumed_namespace(&self, name: &Str) -> Option<Value> {
        self.namespace(name).or_else(|| {
            let label = [(Str::from("kubernetes.io/metadata.name"), Value::Str(name.clone()))];
            let assumed = || namespace_of_labels(name, label.into_iter().collect());
            (!self.external.knows_all_namespaces()).then(assumed)
        })
    }

    /// The objects of a kind that may be parameters, in a namespace.
    fn parameters(&self, group: &str, kind: &str, namespace: &str) -> Vec<Value> {
        self.external.parameters(group, kind, namespace).unwrap_or_default()
    }
}

/// An object as policies for another version of its kind see it.
pub fn converted(object: &Value, to: &[Str; 3]) -> Value {
    let Some(changed) = convert::converted(object, to) else { return object.clone() };
    // Expressions read fields under other names than those that the request has.
    untracked::note();
    changed
}

/// What follows for a request.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Why it does not pass.
    pub denial: Option<Denial>,
    /// Warnings for the client, within the limits of [`warnings`].
    pub warnings: Vec<String>,
    /// Audit annotations by key.
    pub annotations: Map,
}

/// Why a request does not pass.
#[derive(Clone, Debug, Default)]
pub struct Denial {
    /// The code of the HTTP answer.
    pub code: u16,
    /// The reason in a word.
    pub reason: Str,
    /// The message.
    pub message: String,
    /// Group, kind and name of the requested object; null when they are not reported.
    pub details: Value,
    /// The causes.
    pub causes: Vec<Cause>,
    /// Whether no policy decided this: something in the server failed.
    pub internal: bool,
}

impl Denial {
    /// There is no namespace of that name.
    pub fn no_namespace(name: &str) -> Denial {
        let details = [("kind", "namespaces"), ("name", name)];
        Denial {
            code: 404,
            reason: "NotFound".into(),
            message: format!("namespaces \"{name}\" not found"),
            details: Value::Map(details.into_iter().map(|(k, v)| (Str::from(k), v.into())).collect()),
            ..Denial::default()
        }
    }

    /// The reason and code of an answer that is not subject to policies.
    pub fn internal(text: &str) -> Denial {
        let message = format!("Internal error occurred: {text}");
        Denial {
            code: 500,
            reason: "InternalError".into(),
            message,
            causes: vec![text.to_string().into()],
            internal: true,
            ..Denial::default()
        }
    }
}
