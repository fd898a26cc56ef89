//! Requests from what users write: reviews, their `request`, or plain objects.

use ephor_engine::admission::Review;
use ephor_kubernetes::{Kinds, kind_object, resource_object};
use ephor_value::{Map, Str, Value};

/// Why a document is no request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// It is nothing that could be one.
    #[error("no request: expected an AdmissionReview, the `request` of one, or an object with a kind")]
    NoRequest,
    /// The operation does not exist.
    #[error("`operation` is `{0}`: expected CREATE, UPDATE, DELETE or CONNECT")]
    Operation(Box<str>),
    /// The resource is not named.
    #[error("`resource.resource` is missing: the plural name of the requested resource, such as `pods`")]
    NoResource,
}

/// Reads a request: an AdmissionReview, the `request` of one, or an object, which is created.
///
/// # Errors
/// It is none of these.
pub fn request(document: &Value, kinds: &Kinds) -> Result<Review, RequestError> {
    if let Some(request) =
        document.get("request").filter(|_| document.text_at(&["kind"]) == "AdmissionReview")
    {
        return checked(request);
    }
    if document.get("operation").is_some() && document.get("resource").is_some() {
        return checked(document);
    }
    let (api_version, kind) = (document.text_at(&["apiVersion"]), document.text_at(&["kind"]));
    if kind.is_empty() || document.as_map().is_none() {
        return Err(RequestError::NoRequest);
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let known = kinds.kind(group, version, kind);
    let plural = kinds.plural_of(group, version, kind);
    let name = document.text_at(&["metadata", "name"]);
    let mut namespace = document.text_at(&["metadata", "namespace"]);
    if namespace.is_empty() && known.is_some_and(|r| r.namespaced) {
        namespace = "default";
    }
    if group.is_empty() && kind == "Namespace" {
        namespace = name;
    }
    let kind_id = kind_object([group, version, kind]);
    let resource = resource_object([group, version, &plural]);
    let groups = ["system:masters", "system:authenticated"].map(Value::from);
    let user = [("username", Value::from("kubernetes-admin")), ("groups", Value::list(groups.to_vec()))];
    let mut m = Map::new();
    m.insert("uid", "00000000-0000-0000-0000-000000000000".into());
    m.insert("kind", kind_id.clone());
    m.insert("resource", resource.clone());
    m.insert("requestKind", kind_id);
    m.insert("requestResource", resource);
    for (key, text) in [("name", name), ("namespace", namespace)] {
        if !text.is_empty() {
            m.insert(key, text.into());
        }
    }
    m.insert("operation", "CREATE".into());
    m.insert("userInfo", Value::Map(user.into_iter().map(|(k, v)| (Str::from(k), v)).collect()));
    m.insert("object", document.clone());
    m.insert("oldObject", Value::Null);
    m.insert("dryRun", Value::Bool(false));
    m.insert("options", Value::Null);
    Ok(Review::new(Value::Map(m)))
}

/// The object with the name that a server generates for it before the validating phase: the first
/// 58 characters of `generateName`, and five in the place of the random ones.
pub fn generated(object: Value) -> Value {
    let prefix: String = object.text_at(&["metadata", "generateName"]).chars().take(58).collect();
    if prefix.is_empty() || !object.text_at(&["metadata", "name"]).is_empty() {
        return object;
    }
    let Value::Map(mut m) = object else { return object };
    if let Some(Value::Map(metadata)) = m.get_mut("metadata") {
        metadata.insert("name", Value::from(format!("{prefix}xxxxx")));
    }
    Value::Map(m)
}

fn checked(request: &Value) -> Result<Review, RequestError> {
    let operation = request.text_at(&["operation"]);
    if !matches!(operation, "CREATE" | "UPDATE" | "DELETE" | "CONNECT") {
        return Err(RequestError::Operation(operation.into()));
    }
    if request.text_at(&["resource", "resource"]).is_empty() {
        return Err(RequestError::NoResource);
    }
    Ok(Review::new(request.clone()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_name_is_generated_where_there_is_none() {
        let name = |text: &str| {
            let object = generated(ephor_document::yaml_value(text).unwrap());
            object.text_at(&["metadata", "name"]).to_string()
        };
        assert_eq!(name("{metadata: {generateName: made-}}"), "made-xxxxx");
        assert_eq!(name("{metadata: {generateName: made-, name: given}}"), "given");
        assert_eq!(name("{metadata: {name: given}}"), "given");
        assert_eq!(name(&format!("{{metadata: {{generateName: {}}}}}", "m".repeat(250))).len(), 63);
    }
}
