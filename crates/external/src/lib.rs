//! External data: whatever a policy reads besides the request.
//!
//! One trait for policies of all kinds: context entries, functions of expressions, parameters, the
//! kinds, types and namespaces of the cluster, the rights of users. Its implementations are
//! [`NoData`], files and the mocks of tests (`sources::offline`), objects in place of a cluster
//! (`sources::objects`), and a cluster (`cluster::live`, with watched objects `serve::live`). One
//! that wraps another says so with [`ExternalData::inner`] and answers only what it adds.
//!
//! Kyverno's command line answers context entries and expressions from different data, and in
//! different words; a lookup says who reads ([`Reader`], [`Address`]). Semantics:
//! `docs/semantics/variables.md`, `docs/semantics/cel-policies.md`, `docs/semantics/admission.md`.
//!
//! - [`facts`]: facts about an image: its manifest and its configuration
//! - [`mod@reference`]: names of images as registries read them:
//!   `[registry/]repository[:tag][@digest]`
//! - [`registry`]: what is read of registries of images: manifests, blobs and what refers to an
//!   image
#![forbid(unsafe_code)]

pub mod facts;
pub mod reference;
pub mod registry;

use std::sync::Arc;

use ephor_kubernetes::{Kinds, Types};
use ephor_value::Value;
use ephor_value::object::{Check, Decision};

use registry::Registry;

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader<'a> {
    /// The context entry of a rule, by name.
    Entry(&'a str),
    /// A function of an expression.
    Expression,
}

/// Objects of the Kubernetes API by their parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place<'a> {
    /// Group and version.
    pub api_version: &'a str,
    /// The resource, with its subresource if any: `pods`, `pods/log`.
    pub resource: &'a str,
    /// The namespace; empty for objects without one.
    pub namespace: &'a str,
    /// The name; empty for all.
    pub name: &'a str,
}

/// What a request to the Kubernetes API is about.
#[derive(Clone, Copy, Debug)]
pub enum Address<'a> {
    /// A path, which a context entry of this name gives.
    Path {
        /// The path.
        path: &'a str,
        /// The name of the entry.
        entry: &'a str,
    },
    /// Objects, which a function of an expression names.
    Objects(&'a Place<'a>),
}

/// A request to the Kubernetes API.
#[derive(Clone, Copy, Debug)]
pub struct ApiRequest<'a> {
    /// What it is about.
    pub at: Address<'a>,
    /// What a `POST` sends; `None` = a `GET`.
    pub body: Option<&'a Value>,
}

/// Why a lookup gave nothing: the error of who answers, an API server, a registry, a file or the
/// mocks of a test. Its text is shown as it is, so it is in the words for the [`Reader`].
pub type LookupError = Box<dyn std::error::Error + Send + Sync>;

/// Why the Kubernetes API gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ApiError {
    /// Whether there is no such object.
    pub not_found: bool,
    /// The whole text.
    pub text: String,
}

impl From<String> for ApiError {
    fn from(text: String) -> ApiError {
        ApiError { not_found: false, text }
    }
}

/// How the answer of a service is read, and in whose words it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// JSON with a status of success, for a context entry (`apiCall.service`); or any, for an
    /// expression (`http.Get`).
    Json(Reader<'a>),
    /// The text of a set of keys (`jwks.Fetch`).
    KeySet,
}

/// A request to a service.
#[derive(Clone, Debug)]
pub struct ServiceCall<'a> {
    /// How its answer is read.
    pub answer: Answer<'a>,
    /// Where to.
    pub url: &'a str,
    /// What a `POST` sends; `None` = a `GET`.
    pub body: Option<Value>,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// PEM certificates: only those are trusted; empty = those of the system.
    pub ca_bundle: &'a str,
}

impl ServiceCall<'_> {
    /// The HTTP method.
    pub fn method(&self) -> &'static str {
        if self.body.is_some() { "POST" } else { "GET" }
    }
}

/// Roles as `namespace:name`, and cluster roles; sorted, each once.
pub type Roles = (Vec<String>, Vec<String>);

/// The rights of one user.
pub trait Authorizer: Send + Sync {
    /// Whether a check allows a verb.
    fn decide(&self, check: &Check, verb: &str) -> Decision;
}

/// Which external data this run has, to report what policies lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// Namespaces with their labels.
    pub namespaces: bool,
    /// Role bindings.
    pub roles: bool,
    /// Objects that may be parameters.
    pub params: bool,
    /// ConfigMaps.
    pub config_maps: bool,
    /// Objects that rules may read from the API server.
    pub objects: bool,
    /// Registries of images.
    pub registry: bool,
}

impl Offers {
    /// All that a cluster knows.
    pub const fn all() -> Offers {
        Offers {
            namespaces: true,
            roles: true,
            params: true,
            config_maps: true,
            objects: true,
            registry: true,
        }
    }
}

/// Signatures of images and what is attested about them, for the policies that may read them.
pub trait ImageVerifier: Send + Sync {
    /// How many of the attestors have signed an image.
    ///
    /// # Errors
    /// Whatever failed.
    fn signatures(&self, image: &str, attestors: &[Value]) -> Result<i64, LookupError>;

    /// How many of the attestors have signed a statement about an image.
    ///
    /// # Errors
    /// Whatever failed.
    fn statements(&self, image: &str, statement: &str, attestors: &[Value]) -> Result<i64, LookupError>;

    /// What a registry says about an image.
    ///
    /// # Errors
    /// Whatever failed.
    fn data(&self, image: &str) -> Result<Value, LookupError>;

    /// What is stated about an image.
    ///
    /// # Errors
    /// Whatever failed.
    fn payload(&self, image: &str, statement: &str) -> Result<Value, LookupError>;
}

/// What a lookup gives: `None` = this run has no such data. A context entry then stays without a
/// value, or is an error (`Profile::unanswered_entries_are_dropped`); a function of an expression
/// has the result that Kyverno 1.19.1 gives without a cluster.
pub type Found<E = LookupError> = Option<Result<Value, E>>;

/// Declares the trait: a method with what it gives where neither this nor [`ExternalData::inner`]
/// knows better.
macro_rules! external_data {
    ($($(#[$doc:meta])* fn $name:ident(&self $(, $arg:ident: $type:ty)*) -> $gives:ty = $default:expr;)*) => {
        /// See the module page.
        pub trait ExternalData: Send + Sync {
            /// What this wraps: it answers what this does not.
            fn inner(&self) -> Option<&dyn ExternalData> {
                None
            }

            $($(#[$doc])*
            fn $name(&self $(, $arg: $type)*) -> $gives {
                match self.inner() {
                    Some(inner) => inner.$name($($arg),*),
                    None => $default,
                }
            })*
        }
    };
}

external_data! {
    /// The kinds of the cluster; `None` = nothing is known of its kinds.
    ///
    /// # Errors
    /// The cluster does not say.
    fn kinds(&self) -> Option<Result<Arc<Kinds>, LookupError>> = None;

    /// The types of objects; `None` = those that every cluster has.
    fn types(&self) -> Option<&Types> = None;

    /// A namespace.
    fn namespace(&self, name: &str) -> Option<Value> = None;

    /// Whether there are no namespaces but those that are known.
    fn knows_all_namespaces(&self) -> bool = false;

    /// The roles that a user has in a namespace; `None` = the role bindings of the cluster are not
    /// known.
    fn roles(&self, user: &Value, namespace: &str) -> Option<Roles> = None;

    /// The rights of a user, as `userInfo` describes one; without them nothing is allowed.
    fn authorizer(&self, user: &Value) -> Option<Arc<dyn Authorizer>> = None;

    /// The objects of a kind that may be parameters, in a namespace; `None` = there is no cluster
    /// to look them up in.
    fn parameters(&self, group: &str, kind: &str, namespace: &str) -> Option<Vec<Value>> = None;

    /// What is known at all.
    fn offers(&self) -> Offers = Offers { registry: false, ..Offers::all() };

    /// A ConfigMap.
    ///
    /// # Errors
    /// The lookup failed.
    fn config_map(&self, namespace: &str, name: &str) -> Found = None;

    /// Whether requests to the Kubernetes API by path can be answered; else their paths are not
    /// even filled in.
    fn reaches_api(&self) -> bool = true;

    /// The answer of the Kubernetes API: an object, a list of objects, or what was created.
    ///
    /// # Errors
    /// See [`ApiError`].
    fn api(&self, request: &ApiRequest<'_>) -> Found<ApiError> = None;

    /// Whether labels select the objects of a list; Kyverno's stand-in for a cluster ignores them.
    fn selects_by_labels(&self) -> bool = false;

    /// The answer of a service.
    ///
    /// # Errors
    /// Whatever failed.
    fn service(&self, call: &ServiceCall<'_>) -> Found = None;

    /// A global context entry, or one of its projections.
    ///
    /// # Errors
    /// The lookup failed.
    fn global(&self, entry: &str, projection: &str, by: Reader<'_>) -> Found = None;

    /// The registries of images, if any may be read.
    fn registry(&self) -> Option<&Arc<dyn Registry>> = None;

    /// The data of an image, for functions of expressions.
    ///
    /// # Errors
    /// Whatever failed.
    fn image(&self, reference: &str) -> Found = None;

    /// Signatures of images and what is attested about them.
    fn image_verifier(&self) -> Option<&dyn ImageVerifier> = None;

    /// The objects that exist, for rules that change them.
    fn objects(&self) -> &[Value] = &[];

    /// The objects of a kind, by group and version, kind, namespace and name, for rules that change
    /// them; without a name all of a namespace, without a namespace those of every one. `None` =
    /// [`ExternalData::objects`] has them.
    ///
    /// # Errors
    /// They cannot be read.
    fn targets(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Option<Result<Vec<Value>, LookupError>> = None;

    /// The objects that can be copied.
    fn clone_sources(&self) -> &[Value] = &[];

    /// Takes objects that an expression generates, for a namespace.
    ///
    /// # Errors
    /// Whatever failed.
    fn generate(&self, namespace: &str, objects: Vec<Value>) -> Result<(), LookupError> = Ok(());
}

impl dyn ExternalData + '_ {
    /// The kinds of the cluster; those that every cluster has where nothing is known of them.
    pub fn known_kinds(&self) -> Arc<Kinds> {
        self.kinds().and_then(Result::ok).unwrap_or_else(|| Kinds::built_in().clone())
    }
}

/// No data at all: what a run without cluster and registry has.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoData;

impl ExternalData for NoData {}
