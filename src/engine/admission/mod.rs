//! Admission: what an API server does with a request because of its policies.
//!
//! In: policies with their bindings, the `request` of an AdmissionReview, and the [`World`] around it. Out:
//! the object as it was changed, and an [`Answer`]: whether the request passes, what the client and the
//! audit log are told. Policies run in the order of their names, bindings of a policy in the order of
//! theirs. Semantics: `docs/admission.md`.

pub mod cause;
pub mod change;
pub mod convert;
pub mod hooks;
pub mod literal;
mod mutate;
pub mod offline;
mod params;
pub mod rbac;
pub mod review;
mod validate;
pub mod warnings;

use std::collections::HashMap;
use std::sync::Arc;

use crate::functions::{CelLevel, Context};
use crate::kubernetes::{Kinds, Types};
use crate::value::{Map, Str, Value};

pub use cause::Cause;
pub use hooks::{BoundPolicy, Chain};
pub use mutate::{Mutated, Passes, mutate};
pub use rbac::{Authority, Rbac};
pub use review::Review;
pub use validate::{conditions, seen_request, validate};

/// What is known beside the request.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The kinds of the cluster; `None` = those that every cluster has.
    pub kinds: Option<Arc<Kinds>>,
    /// The fields of its kinds; `None` = of those that every cluster has.
    pub types: Option<Arc<Types>>,
    /// The level of CEL's runtime.
    pub level: CelLevel,
    /// Namespaces by name.
    pub namespaces: HashMap<Str, Value>,
    /// Whether there are namespaces that are not among them, of which only the name is known.
    pub more_namespaces: bool,
    /// Objects that may be parameters.
    pub objects: Vec<Value>,
    /// Who knows what users may do; without it nothing is allowed.
    pub rbac: Option<Arc<dyn Authority>>,
}

impl World {
    /// The kinds of the cluster.
    pub fn kinds(&self) -> &Kinds {
        self.kinds.as_ref().unwrap_or_else(|| Kinds::built_in())
    }

    /// The fields of the kinds.
    pub fn types(&self) -> &Types {
        self.types.as_ref().unwrap_or_else(|| Types::built_in())
    }

    /// What functions may know, for a request.
    pub fn functions(&self, review: &Review) -> Context {
        let user = review.request.get("userInfo").cloned().unwrap_or_default();
        Context {
            authorizer: self.rbac.as_ref().map(|r| r.clone().asked_by(&user)),
            cel_level: self.level,
            ..Context::default()
        }
    }
}

/// What follows for a request.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Why it does not pass.
    pub denial: Option<Denial>,
    /// Told to the client, within the limits of [`warnings`].
    pub warnings: Vec<String>,
    /// Told to the audit log, by key.
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
    /// Group, kind and name of what was asked for; null when they are not told.
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
