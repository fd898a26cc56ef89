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
    let user = r.get("userInfo").and_then(Value::as_map).is_none_or(Map::is_empty);
    if user {
        let mut m = Map::new();
        m.insert("username", "system:kyverno:background-scan".into());
        m.insert("uid", "system:kyverno:background-scan".into());
        m.insert("groups", Value::list(vec!["system:kyverno:background-scan".into()]));
        r.insert("userInfo", Value::Map(m));
    }
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
