//! Request contexts that stand for all others: users, roles, namespaces and existing objects.
//!
//! In: what the units read of a request besides its objects. Out: one context of each class.

use std::sync::Arc;

use ephor_analysis::reads::{NAME_OF_NAMESPACE, ReadTree, Reads, Step};
use ephor_engine::request::UserParts;
use ephor_kubernetes::Types;
use ephor_value::{Map, Value};

use crate::model::environment::Environment;
use crate::model::limits::MAX_CONTEXTS;
use crate::model::request::RequestContext;
use crate::objects::domain::Domain;
use crate::objects::users::{ListBound, WantedUsers, users};
use crate::predicates::by_field::Tested;
use crate::predicates::summary::Predicates;
use crate::strings::witnesses::WitnessCache;
use crate::units::deciding::Deciding;

/// The users and namespaces of each class that rules can distinguish, and why they may not be all.
pub(crate) fn request_contexts(
    environment: &Environment,
    reads: &Reads,
    tested: &Predicates,
    words: &WitnessCache,
    needed: ListBound<'_>,
    deciding: &mut Option<Deciding>,
) -> (Vec<Arc<RequestContext>>, Option<String>) {
    let usual = RequestContext::default();
    let of_atoms =
        deciding.as_ref().map(|deciding| [true, false].map(|are_users| deciding.tested(are_users)));
    let [of_users, of_namespaces] = match &of_atoms {
        Some([of_users, of_namespaces]) => [of_users, of_namespaces],
        None => [tested; 2],
    };
    let (mut users, mut open) = match reads.user {
        true => users(&WantedUsers { by_expression: reads.by_expression, tested: of_users, words, needed }),
        false => (vec![usual.user.clone()], None),
    };
    let mut namespaces = match environment.resource.namespaced {
        true => namespaces(reads, of_namespaces, words, &mut open),
        false => vec![usual.namespace.clone()],
    };
    if let Some(deciding) = deciding {
        let of_user = |user: &UserParts| RequestContext { user: user.clone(), ..RequestContext::default() };
        let of_namespace =
            |own: &[Map; 2]| RequestContext { namespace: own.clone(), ..RequestContext::default() };
        users = deciding.contexts(users, of_user, true);
        namespaces = deciding.contexts(namespaces, of_namespace, false);
    }
    let mut all = Vec::new();
    for namespace in &namespaces {
        for user in &users {
            if all.len() >= MAX_CONTEXTS {
                open.get_or_insert_with(|| "too many combinations of users and namespaces".into());
                return (all, open);
            }
            all.push(Arc::new(RequestContext::new(user.clone(), namespace.clone())));
        }
    }
    (all, open)
}

/// Labels and annotations of a namespace of each class.
pub(crate) fn namespaces(
    reads: &Reads,
    tested: &Predicates,
    words: &WitnessCache,
    open: &mut Option<String>,
) -> Vec<[Map; 2]> {
    let mut tree = reads.namespace.clone();
    // Selectors look for their texts alone.
    let mut fields = match tree == ReadTree::default() {
        true => Tested::default(),
        false => Tested::anywhere(tested),
    };
    // The name is known: it is a field of the object.
    for (label, texts) in tested.namespace_labels.iter().filter(|(label, _)| *label != NAME_OF_NAMESPACE) {
        let steps = ["metadata", "labels", label].map(|key| Step::Key(key.into()));
        tree.add(&steps, true);
        texts.iter().for_each(|text| fields.add_written(&steps, &Value::from(&**text)));
    }
    if tree == ReadTree::default() {
        return vec![Default::default()];
    }
    let of_metadata = tree.get("metadata");
    let is_known = |key: &str| matches!(key, "labels" | "annotations" | "name");
    let is_all = tree.whole || of_metadata.is_some_and(|m| m.whole || m.names);
    if is_all || !tree.keys.iter().all(|(key, _)| matches!(&**key, "metadata" | "apiVersion" | "kind")) {
        open.get_or_insert_with(|| "the namespace as an object".into());
    }
    let mut wanted = ReadTree::default();
    let known = of_metadata.into_iter().flat_map(|m| &m.keys).filter(|(key, _)| is_known(key));
    let keys = known.filter(|(key, _)| &**key != "name").cloned().collect();
    wanted.keys = vec![("metadata".into(), ReadTree { keys, ..ReadTree::default() })];
    let Some(environment) = Environment::of_namespaces() else { return vec![Default::default()] };
    let mut domain =
        Domain::new((Types::built_in(), words), (tested, &fields), &environment, 1, MAX_CONTEXTS);
    let found = domain.objects(&environment, &wanted, false);
    *open = open.take().or(domain.open);
    let part = |object: &Value, key: &str| {
        object.at(&["metadata", key]).and_then(Value::as_map).cloned().unwrap_or_default()
    };
    found.iter().map(|object| [part(object, "labels"), part(object, "annotations")]).collect()
}
