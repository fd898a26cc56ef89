//! The cluster around a request.

use std::sync::Arc;

use super::Review;
use crate::request::namespace_of_labels;
use ephor_external::ExternalData;
use ephor_functions::{CelLevel, Context, untracked};
use ephor_kubernetes::admitted::kind_of;
use ephor_kubernetes::{Kinds, Types, convert};
use ephor_value::release::Release;
use ephor_value::{Str, Value};

/// The cluster around a request.
#[derive(Clone)]
pub struct ClusterView<'e> {
    external: &'e dyn ExternalData,
    kinds: Arc<Kinds>,
    types: &'e Types,
    /// The objects that may be parameters, where none are looked up.
    parameters: Option<&'e [Value]>,
    /// The namespace of a request, looked up once.
    namespace: Option<(Str, Option<Value>)>,
}

impl<'e> ClusterView<'e> {
    /// The cluster that external data is of.
    pub fn of(external: &'e dyn ExternalData) -> ClusterView<'e> {
        let types = external.types().unwrap_or_else(|| Types::built_in());
        let known = external.kinds().and_then(Result::ok);
        let kinds = known.unwrap_or_else(|| Kinds::of_release(types.release()).clone());
        ClusterView { external, kinds, types, parameters: None, namespace: None }
    }

    /// The cluster around the request of a command: an API server of a release, with the
    /// parameters that the command was given and what it knows of the namespace.
    pub fn of_command(
        external: &'e dyn ExternalData,
        release: Release,
        parameters: &'e [Value],
        namespace: (Str, Option<Value>),
    ) -> ClusterView<'e> {
        let known = external.types().filter(|types| types.release() == release);
        let kinds = match known {
            Some(_) => external.known_kinds(),
            None => Kinds::of_release(release).clone(),
        };
        let types = known.unwrap_or_else(|| Types::of_release(release));
        let namespace = Some(namespace).filter(|(name, _)| !name.is_empty());
        ClusterView { external, kinds, types, parameters: Some(parameters), namespace }
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
        self.types
    }

    /// The release of its API server.
    pub fn release(&self) -> Release {
        self.types().release()
    }

    /// What functions may know, for a request.
    pub fn functions(&self, review: &Review) -> Context {
        let user = review.request.get("userInfo").cloned().unwrap_or_default();
        let authorizer = self.external.authorizer(&user);
        Context { authorizer, cel_level: CelLevel::of_server(self.release()), ..Context::default() }
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
    pub(super) fn assumed_namespace(&self, name: &Str) -> Option<Value> {
        self.namespace(name).or_else(|| {
            let label = [(Str::from("kubernetes.io/metadata.name"), Value::Str(name.clone()))];
            let assumed = || namespace_of_labels(name, label.into_iter().collect());
            (!self.external.knows_all_namespaces()).then(assumed)
        })
    }

    /// The objects of a kind that may be parameters, in a namespace.
    pub(super) fn parameters(&self, group: &str, kind: &str, namespace: &str) -> Vec<Value> {
        let Some(given) = self.parameters else {
            return self.external.parameters(group, kind, namespace).unwrap_or_default();
        };
        let fits = |object: &&Value| {
            kind_of(object).is_some_and(|[of_group, _, of_kind]| *of_group == *group && *of_kind == *kind)
                && (namespace.is_empty() || in_namespace(object) == namespace)
        };
        given.iter().filter(fits).cloned().collect()
    }
}

/// The namespace of an object of a namespaced kind, as files write it.
fn in_namespace(object: &Value) -> &str {
    match object.text_at(&["metadata", "namespace"]) {
        "" => "default",
        own => own,
    }
}

/// An object as policies for another version of its kind see it.
pub fn converted(object: &Value, to: &[Str; 3]) -> Value {
    let Some(changed) = convert::converted(object, to) else { return object.clone() };
    // Expressions read fields under other names than those that the request has.
    untracked::note();
    changed
}
