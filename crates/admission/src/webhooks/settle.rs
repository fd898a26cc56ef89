//! What an API server settles between its phases: the namespace of the object, and the name of the
//! request.
//!
//! In: the object as policies and webhooks left it, or the request for the validating phase. Out:
//! both as the server stores or sends them. Source: answers of kube-apiserver 1.36.3, recorded in
//! `conformance/admission/identity` and `names`.

use ephor_engine::admission::{ClusterView, Denial, Review};
use ephor_value::Value;

/// The object in the namespace of the request: filled in where it is empty; objects without
/// namespaces lose theirs.
///
/// # Errors
/// The object was moved to another namespace.
pub(super) fn namespace(
    object: Value,
    review: &Review,
    cluster: &ClusterView<'_>,
) -> Result<Value, Box<Denial>> {
    let a = &review.attributes;
    let [group, version, kind] = &a.kind;
    let known = cluster.kinds().kind(group, version, kind);
    let is_stored = matches!(&*a.operation, "CREATE" | "UPDATE") && a.subresource.is_empty();
    let (true, Some(known), Value::Map(mut m)) = (is_stored, known, object.clone()) else {
        return Ok(object);
    };
    let found = object.text_at(&["metadata", "namespace"]);
    if known.namespaced && !found.is_empty() && *found != *a.namespace {
        return Err(Box::new(Denial {
            code: 400,
            reason: "BadRequest".into(),
            message: "the namespace of the provided object does not match the namespace sent on the request"
                .into(),
            ..Denial::default()
        }));
    }
    if known.namespaced != found.is_empty() {
        return Ok(object);
    }
    let mut metadata = m.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
    match known.namespaced {
        true => drop(metadata.insert("namespace", Value::Str(a.namespace.clone()))),
        false => drop(metadata.remove("namespace")),
    }
    m.insert("metadata", Value::Map(metadata));
    Ok(Value::Map(m))
}

/// The request under the name that its object has by now; `None` when it had one from the
/// beginning.
pub(super) fn named(review: &Review) -> Option<Review> {
    let name = review.object().text_at(&["metadata", "name"]);
    if !review.attributes.name.is_empty() || name.is_empty() {
        return None;
    }
    let mut request = review.request.as_map().cloned()?;
    request.insert("name", name.into());
    Some(Review::new(Value::Map(request)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_external::NoData;

    fn review(text: &str) -> Review {
        Review::new(ephor_document::yaml_value(text).unwrap())
    }

    fn settled(kind: &str, namespace: &str) -> Result<String, u16> {
        let review = review(&format!(
            "{{operation: CREATE, namespace: shop, kind: {{group: '', version: v1, kind: {kind}}}}}"
        ));
        let object = format!("{{metadata: {{name: a, namespace: '{namespace}'}}}}");
        let object = ephor_document::yaml_value(&object).unwrap();
        let settled =
            super::namespace(object, &review, &ClusterView::of(&NoData)).map_err(|denial| denial.code)?;
        Ok(settled.text_at(&["metadata", "namespace"]).to_string())
    }

    #[test]
    fn an_object_stays_in_its_namespace() {
        assert_eq!(settled("ConfigMap", "shop"), Ok("shop".into()));
        assert_eq!(settled("ConfigMap", ""), Ok("shop".into()));
        assert_eq!(settled("ConfigMap", "other"), Err(400));
        assert_eq!(settled("Node", "other"), Ok(String::new()));
    }

    #[test]
    fn a_generated_name_becomes_the_name_of_the_request() {
        let generated = named(&review("{operation: CREATE, object: {metadata: {name: made-x}}}")).unwrap();
        assert_eq!(&*generated.attributes.name, "made-x");
        assert_eq!(generated.request.text_at(&["name"]), "made-x");
        assert!(named(&review("{name: a, object: {metadata: {name: b}}}")).is_none());
        assert!(named(&review("{operation: DELETE, object: null}")).is_none());
    }
}
