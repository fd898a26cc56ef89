//! What the expressions of Kubernetes' own policies see outside of a cluster.
//!
//! In: a request and an object. Out: a root in which the request creates the object, or, where it
//! is seen as an API server shows it, the request. Semantics: `docs/semantics/admission.md`,
//! "Outside of a cluster".

use crate::Request;
use ephor_value::{Map, Value};

use super::rule::admission_request;

/// What expressions see.
pub fn root(
    request: &Request,
    creates: bool,
    object: &Value,
    params: Option<Value>,
    namespace: Value,
) -> Value {
    let mut r = admission_request(request);
    if creates {
        r.insert("operation", Value::from("CREATE"));
    }
    with_user(&mut r);
    let mut m = Map::new();
    m.insert("object", object.clone());
    m.insert("oldObject", if creates { Value::Null } else { request.old_object.clone() });
    m.insert("request", Value::Map(r));
    m.insert("namespaceObject", namespace);
    if let Some(params) = params {
        m.insert("params", params);
    }
    Value::Map(m)
}

/// Gives a request of which no user is known the one that Kyverno's command line has.
pub(crate) fn with_user(request: &mut Map) {
    let has_none = request.get("userInfo").and_then(Value::as_map).is_none_or(Map::is_empty);
    if has_none {
        let name = Value::from("system:kyverno:background-scan");
        let groups = Value::list(vec![name.clone()]);
        let user = Value::map([("username", name.clone()), ("uid", name), ("groups", groups)]);
        request.insert("userInfo", user);
    }
}
