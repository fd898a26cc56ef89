//! What the expressions of Kubernetes' own policies see outside of a cluster.
//!
//! In: a request and an object. Out: a root in which the request creates the object, or, where it
//! is seen as an API server shows it, the request. Semantics: `docs/semantics/admission.md`,
//! "Outside of a cluster".

use std::sync::OnceLock;

use crate::Request;
use ephor_value::stock::stock;
use ephor_value::{Map, Value};

use super::rule::{admission_request, namespace};

/// What expressions see.
pub fn root(
    request: &Request,
    creates: bool,
    object: &Value,
    params: Option<Value>,
    namespace: Value,
) -> Value {
    let mut entries = Vec::with_capacity(5);
    entries.extend([
        (stock("object"), object.clone()),
        (stock("oldObject"), if creates { Value::Null } else { request.old_object.clone() }),
        (stock("request"), Value::Map(seen_request(request, creates))),
        (stock("namespaceObject"), namespace),
    ]);
    if let Some(params) = params {
        entries.push((stock("params"), params));
    }
    Value::Map(Map::from_unique(entries))
}

/// What expressions see without parameters, built when the first rule needs it.
pub fn whole_root(request: &Request, creates: bool) -> &Value {
    let make = || root(request, creates, &request.object, None, namespace(request));
    request.offline.of(creates).root.get_or_init(make)
}

fn seen_request(request: &Request, creates: bool) -> Map {
    let make = || {
        let mut seen = admission_request(request);
        if creates {
            seen.insert(stock("operation"), Value::Str(stock("CREATE")));
        }
        with_user(&mut seen);
        seen
    };
    request.offline.of(creates).request.get_or_init(make).clone()
}

/// What the rules of a request share: as it is, and seen as a creation.
#[derive(Debug, Default)]
pub struct OfflineViews([OfflineView; 2]);

#[derive(Debug, Default)]
struct OfflineView {
    request: OnceLock<Map>,
    root: OnceLock<Value>,
}

impl OfflineViews {
    fn of(&self, creates: bool) -> &OfflineView {
        let [as_is, created] = &self.0;
        if creates { created } else { as_is }
    }
}

/// Gives a request of which no user is known the one that Kyverno's command line has.
pub(crate) fn with_user(request: &mut Map) {
    let has_none = request.get("userInfo").and_then(Value::as_map).is_none_or(Map::is_empty);
    if has_none {
        let name = Value::Str(stock("system:kyverno:background-scan"));
        let groups = Value::list(vec![name.clone()]);
        let user = vec![(stock("username"), name.clone()), (stock("uid"), name), (stock("groups"), groups)];
        request.insert(stock("userInfo"), Value::Map(Map::from_unique(user)));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::Profile;
    use crate::request::Parts;

    fn request(name: &str) -> Request {
        let metadata = Value::map([("name", name.into()), ("namespace", "shop".into())]);
        let object =
            Value::map([("apiVersion", "v1".into()), ("kind", "ConfigMap".into()), ("metadata", metadata)]);
        let parts = Parts { object, operation: "UPDATE".into(), ..Parts::default() };
        Request::new(parts, Profile::kyverno_cli(), &ephor_functions::Context::default()).unwrap()
    }

    fn seen<'v>(root: &'v Value, path: &[&str]) -> &'v str {
        root.text_at(path)
    }

    #[test]
    fn rules_with_and_without_parameters_see_one_request() {
        let request = request("a");
        let without = whole_root(&request, true);
        let with = root(&request, true, &request.object, Some(Value::Null), Value::Null);
        let part = |root: &Value| root.get("request").and_then(Value::as_map).cloned().unwrap();
        assert!(part(without).is_same(&part(&with)));
        assert!(with.get("params").is_some() && without.get("params").is_none());
        assert_eq!(seen(without, &["namespaceObject", "metadata", "name"]), "shop");
    }

    #[test]
    fn a_request_is_seen_as_it_is_and_as_a_creation() {
        let request = request("a");
        let operations =
            [true, false].map(|creates| seen(whole_root(&request, creates), &["request", "operation"]));
        assert_eq!(operations, ["CREATE", "UPDATE"]);
    }

    #[test]
    fn what_was_seen_of_an_object_is_not_seen_of_the_changed_one() {
        let (request, other) = (request("a"), request("b"));
        assert_eq!(seen(whole_root(&request, false), &["request", "name"]), "a");
        let changed = request.of_changed(other.object.clone());
        let root = whole_root(&changed, false);
        let names = [&["object", "metadata", "name"][..], &["request", "name"]].map(|path| seen(root, path));
        assert_eq!(names, ["b", "b"]);
    }
}
