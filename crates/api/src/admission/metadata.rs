//! The metadata of objects, as the API server checks it: names, labels, annotations, owners,
//! finalizers.
//!
//! In: an object. Out: what is wrong with its metadata. Semantics: kube-apiserver 1.36.3, whose
//! order among labels and among annotations is random; here it is that of their keys.

use ephor_value::names::{key_problems_of_server, subdomain_problems, value_problems};
use ephor_value::print::json;
use ephor_value::quote::quote;
use ephor_value::{Map, Value};

use super::errors::{Errors, FieldPath};
use super::read::list;

/// Keys and values of annotations have this many bytes together.
const MAX_ANNOTATIONS: usize = 262_144;

/// Fields of references to owners, in the order in which messages show them.
const OWNER: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];

/// Checks the metadata of an object.
pub fn metadata(document: &Value, errors: &mut Errors) {
    let at = FieldPath::new("metadata");
    let metadata = document.get("metadata").cloned().unwrap_or_default();
    let (name, generated) = (metadata.text_at(&["name"]), metadata.text_at(&["generateName"]));
    names(name, generated, &at, errors);
    let entries = |key: &str| metadata.get(key).and_then(Value::as_map).cloned().unwrap_or_default();
    labels(&entries("labels"), &at.key("labels"), errors);
    annotations(&entries("annotations"), &at.key("annotations"), errors);
    owners(list(&metadata, "ownerReferences"), &at.key("ownerReferences"), errors);
    finalizers(list(&metadata, "finalizers"), &at.key("finalizers"), errors);
}

fn names(name: &str, generated: &str, at: &FieldPath, errors: &mut Errors) {
    let mut check = |field: &str, shown: &str, checked: &str| {
        for problem in subdomain_problems(checked) {
            let text = problem.replace("253 bytes", "253 characters");
            errors.invalid(&at.key(field), &shown.into(), &text);
        }
    };
    if !generated.is_empty() {
        // What comes after a hyphen at the end is generated.
        let whole = match generated.strip_suffix('-') {
            Some(start) if !start.is_empty() => format!("{start}a"),
            _ => generated.to_owned(),
        };
        check("generateName", generated, &whole);
    }
    match name {
        "" if generated.is_empty() => {
            errors.required(&at.key("name"), "name or generateName is required");
        }
        // The name that is generated begins like this one, and is not known yet.
        "" => {}
        name => check("name", name, name),
    }
}

fn labels(labels: &Map, at: &FieldPath, errors: &mut Errors) {
    for (key, value) in labels.sorted() {
        for problem in key_problems_of_server(key) {
            errors.invalid(at, &Value::Str(key.clone()), &problem);
        }
        for problem in value_problems(value.as_str().unwrap_or_default()) {
            errors.invalid(at, value, &problem);
        }
    }
}

fn annotations(annotations: &Map, at: &FieldPath, errors: &mut Errors) {
    let mut size = 0;
    for (key, value) in annotations.sorted() {
        // Capital letters are good here, also in front of the slash.
        for problem in key_problems_of_server(&key.to_lowercase()) {
            errors.invalid(at, &Value::Str(key.clone()), &problem);
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_ANNOTATIONS {
        errors.too_long(at, MAX_ANNOTATIONS);
    }
}

fn owners(owners: &[Value], at: &FieldPath, errors: &mut Errors) {
    let shown = |owner: &Value| {
        let fields = OWNER.iter().filter_map(|key| Some((key, owner.get(key).filter(|v| !v.is_null())?)));
        let fields: Vec<String> = fields.map(|(key, v)| format!("{}:{}", quote(key), json(v))).collect();
        format!("{{{}}}", fields.join(","))
    };
    let mut controller: Option<String> = None;
    for owner in owners {
        let text = |key: &str| owner.text_at(&[key]);
        let version = text("apiVersion");
        if version.is_empty() || version.matches('/').count() > 1 || version.ends_with('/') {
            errors.invalid(&at.key("apiVersion"), &version.into(), "version must not be empty");
        }
        for key in ["kind", "name", "uid"] {
            if text(key).is_empty() {
                errors.invalid(&at.key(key), &"".into(), "must not be empty");
            }
        }
        if (version, text("kind")) == ("v1", "Event") {
            errors.invalid_as(at, &shown(owner), "/v1, Kind=Event is disallowed from being an owner");
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            let own = format!("{}/{}", text("kind"), text("name"));
            match &controller {
                Some(first) => {
                    let all: Vec<String> = owners.iter().map(shown).collect();
                    let detail = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for \
                         {first} and {own}"
                    );
                    errors.invalid_as(at, &format!("[{}]", all.join(",")), &detail);
                }
                None => controller = Some(own),
            }
        }
    }
}

fn finalizers(finalizers: &[Value], at: &FieldPath, errors: &mut Errors) {
    for finalizer in finalizers {
        for problem in key_problems_of_server(finalizer.as_str().unwrap_or_default()) {
            errors.invalid(at, finalizer, &problem);
        }
    }
    let has = |name: &str| finalizers.iter().any(|finalizer| finalizer.as_str() == Some(name));
    if has("orphan") && has("foregroundDeletion") {
        let all = Value::list(finalizers.to_vec());
        errors.invalid(at, &all, "finalizer orphan and foregroundDeletion cannot be both set");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::parse;

    fn found(text: &str) -> Vec<String> {
        let mut errors = Errors::default();
        metadata(&parse(&format!(r#"{{"metadata": {text}}}"#)), &mut errors);
        let shown = |field: &str, message: &str| {
            let message = message.split(" consist of").next().unwrap_or_default();
            format!("{}: {message}", field.trim_start_matches("metadata."))
        };
        errors.0.iter().map(|error| shown(&error.field, &error.message)).collect()
    }

    #[test]
    fn names_may_be_generated() {
        assert_eq!(found("{}"), ["name: Required value: name or generateName is required"]);
        assert_eq!(found(r#"{"generateName": "ok-"}"#), [""; 0]);
        let wrong = r#"Invalid value: "A": a lowercase RFC 1123 subdomain must"#;
        assert_eq!(found(r#"{"generateName": "A"}"#), [format!("generateName: {wrong}")]);
        assert_eq!(found(r#"{"name": "A"}"#), [format!("name: {wrong}")]);
    }

    #[test]
    fn keys_of_annotations_may_have_capital_letters_and_those_of_labels_not() {
        let prefix = "prefix part a lowercase RFC 1123 subdomain must";
        assert_eq!(
            found(r#"{"name": "a", "labels": {"A.b/c": "v"}, "annotations": {"A.b/c": "v"}}"#),
            [format!(r#"labels: Invalid value: "A.b/c": {prefix}"#)]
        );
        assert_eq!(
            found(r#"{"name": "a", "labels": {"-x": "y z"}}"#),
            [
                r#"labels: Invalid value: "-x": name part must"#,
                r#"labels: Invalid value: "y z": a valid label must be an empty string or"#,
            ]
        );
        let long = format!(r#"{{"name": "a", "annotations": {{"k": "{}"}}}}"#, "x".repeat(MAX_ANNOTATIONS));
        assert_eq!(found(&long), ["annotations: Too long: may not be more than 262144 bytes"]);
    }

    #[test]
    fn owners_have_a_kind_a_name_and_an_identifier_and_one_controls() {
        let owned = |owners: &str| found(&format!(r#"{{"name": "a", "ownerReferences": [{owners}]}}"#));
        assert_eq!(
            owned(r#"{"apiVersion": "a/b/c", "kind": "K", "name": "", "uid": "u"}"#),
            [
                r#"ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty"#,
                r#"ownerReferences.name: Invalid value: "": must not be empty"#,
            ]
        );
        assert_eq!(
            owned(r#"{"uid": "u", "name": "n", "kind": "Event", "apiVersion": "v1"}"#),
            [concat!(
                r#"ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"n","uid":"u"}: "#,
                "/v1, Kind=Event is disallowed from being an owner"
            )]
        );
        let owner = |name: &str| {
            format!(
                r#"{{"apiVersion": "v1", "kind": "Pod", "name": "{name}", "uid": "u", "controller": true}}"#
            )
        };
        let both = owned(&format!("{}, {}", owner("n"), owner("m")));
        assert!(both.concat().ends_with(r#"Found "true" in references for Pod/n and Pod/m"#), "{both:?}");
    }

    #[test]
    fn finalizers_are_qualified_names_and_objects_are_deleted_in_one_way() {
        assert_eq!(
            found(r#"{"name": "a", "finalizers": ["orphan", "x", "foregroundDeletion", "a b"]}"#),
            [
                r#"finalizers: Invalid value: "a b": name part must"#,
                concat!(
                    r#"finalizers: Invalid value: ["orphan","x","foregroundDeletion","a b"]: "#,
                    "finalizer orphan and foregroundDeletion cannot be both set"
                ),
            ]
        );
    }
}
