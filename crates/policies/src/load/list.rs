//! The items of a `v1 List` as Kyverno's command line reads them.
//!
//! In: a document with items. Out: what each item gives. An item is decoded without schema and
//! defaults: a field that its kind does not have, and a value of another type, leave out this item
//! alone, where they would leave out the whole file of a document. Semantics:
//! `docs/semantics/policies.md`, "Loading"; texts recorded from Kyverno 1.19.1.

use ephor_api::schema::{self, SchemaError};
use ephor_document::{Document, locate};
use ephor_value::Value;
use ephor_value::place::{Path, PathPart, dotted, follow};

use super::loaded::{Item, LoadedPolicy, PlacedReader, Policies, Problem};
use super::{is_meant_as_policy, item, type_field};

/// The items of a list, one after the other.
pub(super) fn items(d: &Document, reading: PlacedReader) -> Vec<Item> {
    let items = d.value.get("items").and_then(Value::as_list).unwrap_or_default();
    items.iter().enumerate().flat_map(|(at, value)| of(d, at, value, reading)).collect()
}

fn of(d: &Document, at: usize, value: &Value, reading: PlacedReader) -> Vec<Item> {
    let prefix: Path = vec![PathPart::Key("items".into()), PathPart::Index(at)];
    let left = |inner: &[PathPart], text: String| {
        let path: Path = prefix.iter().chain(inner).cloned().collect();
        let place = locate::locate_key(&d.text, &path).or_else(|| locate::locate(&d.text, &prefix));
        Item::Left(Problem {
            source: d.source.clone(),
            line: d.line + place.as_ref().map_or(0, |p| p.line.saturating_sub(1)),
            column: place.map(|p| p.col),
            text,
            fatal: false,
            foreign: !is_meant_as_policy(value),
            fail_closed: true,
            policy: None,
        })
    };
    if value.as_map().is_none() {
        return vec![left(&[], format!("List item {at} is not a valid object"))];
    }
    let failed = |text: &str| format!("failed to process List item {at}: {text}");
    let text = |name| type_field(value, name).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let (api_version, kind) = (&*api_version, &*kind);
    if schema::is_served(api_version, kind)
        && let Err(error) = schema::check(value)
        && let Some((path, text)) = undecodable(value, &error)
    {
        // The kind is deprecated whether the item can be used or not.
        let deprecation = schema::deprecation(api_version, kind);
        let deprecations = deprecation.map(|text| format!("Warning: {}: {text}", d.source));
        let rest = Policies { deprecations: deprecations.into_iter().collect(), ..Policies::default() };
        return vec![left(&path, failed(&text)), Item::Lowered(Box::new(rest))];
    }
    vec![match item(d, value, false, reading) {
        Item::Policy(policy, deprecation) => {
            Item::Policy(Box::new(LoadedPolicy { prefix, ..*policy }), deprecation)
        }
        Item::Left(problem) if problem.foreign => {
            // A version with two slashes is none.
            let (version, kind) = match api_version.matches('/').count() {
                0 => (format!("/{api_version}"), kind),
                1 => (api_version.to_owned(), kind),
                _ => ("/".to_owned(), ""),
            };
            left(&[], failed(&format!("policy type not supported {version}, Kind={kind}")))
        }
        Item::Left(problem) => match problem.text.split_once("\": unknown field ") {
            Some((_, field)) => left(
                &[],
                failed(&format!("strict decoding error: unknown field {}", field.trim_end_matches(')'))),
            ),
            None => left(&[], failed(&problem.text)),
        },
        other => other,
    }]
}

/// Why an object cannot be decoded, and where; `None` when its schema alone refuses it.
fn undecodable(value: &Value, error: &SchemaError) -> Option<(Path, String)> {
    if let SchemaError::UnknownFields(problems) = error {
        // A value of another type is reported first.
        let known = problems.iter().fold(value.clone(), |value, p| without(value, &p.path));
        let mistyped = schema::check(&known).err().and_then(|error| undecodable(&known, &error));
        if mistyped.is_some() {
            return mistyped;
        }
        let fields = problems.iter().map(|p| format!("unknown field \"{}\"", dotted(&p.path)));
        let fields: Vec<String> = fields.collect();
        let path = problems.first().map(|p| p.path.clone()).unwrap_or_default();
        return Some((path, format!("strict decoding error: {}", fields.join(", "))));
    }
    let is_metadata = matches!(error, SchemaError::Malformed(_));
    let problem = error.problems().iter().find(|p| p.is_type || is_metadata)?;
    let (_, wanted) = problem.text.rsplit_once(if is_metadata { " of type " } else { "must be of type " })?;
    let wanted = wanted.split(':').next().unwrap_or_default();
    let (found, _) = follow(value, &problem.path);
    Some((problem.path.clone(), mismatch(found, wanted)))
}

/// The value without what stands at a path.
fn without(value: Value, path: &[PathPart]) -> Value {
    let Some((first, rest)) = path.split_first() else { return value };
    match (value, first) {
        (Value::Map(mut fields), PathPart::Key(key)) => {
            match fields.remove(key).filter(|_| !rest.is_empty()) {
                Some(inner) => fields.insert(key.clone(), without(inner, rest)),
                None => None,
            };
            Value::Map(fields)
        }
        (Value::List(items), PathPart::Index(at)) => {
            let items = items.iter().enumerate();
            Value::list(
                items.map(|(i, v)| if i == *at { without(v.clone(), rest) } else { v.clone() }).collect(),
            )
        }
        (value, _) => value,
    }
}

/// What the decoder prints of a value that is not of the type that is wanted.
fn mismatch(found: &Value, wanted: &str) -> String {
    let is_scalar = !matches!(found, Value::List(_) | Value::Map(_));
    let of = go_type(found);
    match wanted {
        "map[string]string" => format!("cannot restore map from {of}"),
        "object" | "v1.ObjectMeta" => format!("cannot restore struct from: {of}"),
        _ if wanted.starts_with("[]") || wanted == "array" => format!("cannot restore slice from {of}"),
        "boolean" | "bool" => "unrecognized type: bool".into(),
        "integer" | "int32" if of == "float64" => "cannot convert float64 to int32".into(),
        "integer" | "int32" => "unrecognized type: int32".into(),
        "string" if is_scalar => format!("cannot convert {of} to string"),
        _ => format!("unrecognized type: {wanted}"),
    }
}

/// The decoder's name for the type of a value.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Map(_) => "map",
        Value::List(_) => "slice",
        Value::Str(_) => "string",
        Value::Bool(_) => "bool",
        Value::Float(_) => "float64",
        _ => "int64",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::load::{Policies, argument};
    use ephor_sources::files::SourceText;

    /// What a list with a sound policy and an item gives.
    fn with(item: &str) -> Policies {
        const SOUND: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: g}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, pattern: {a: b}}}]}}";
        let text = format!("apiVersion: v1\nkind: List\nitems:\n- {SOUND}\n- {item}\n");
        argument(&[SourceText { name: "l.yaml".into(), text }])
    }

    #[test]
    fn an_item_that_cannot_be_decoded_is_left_out_alone_in_kyvernos_words() {
        let policy = |rest: &str| format!("{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, {rest}}}");
        let spec = |rest: &str| policy(&format!("metadata: {{name: x}}, spec: {{{rest}}}"));
        for (item, text) in [
            ("3".into(), "List item 1 is not a valid object"),
            ("null".into(), "List item 1 is not a valid object"),
            ("{a: b}".into(), "failed to process List item 1: policy type not supported /, Kind="),
            ("{kind: Foo}".into(), "failed to process List item 1: policy type not supported /, Kind=Foo"),
            (
                "{apiVersion: v1, kind: ConfigMap}".into(),
                "failed to process List item 1: policy type not supported /v1, Kind=ConfigMap",
            ),
            (
                "{apiVersion: kyverno.io/v1, kind: ClusterPolicyy}".into(),
                "failed to process List item 1: policy type not supported kyverno.io/v1, Kind=ClusterPolicyy",
            ),
            (
                "{apiVersion: a/b/c, kind: x}".into(),
                "failed to process List item 1: policy type not supported /, Kind=",
            ),
            (
                "{apiVersion: v1, kind: List, items: []}".into(),
                "failed to process List item 1: policy type not supported /v1, Kind=List",
            ),
            (
                spec("rules: [{name: r, mach: 1}]"),
                "failed to process List item 1: strict decoding error: unknown field \"spec.rules[0].mach\"",
            ),
            (
                policy("metadata: {name: x, foo: b}"),
                "failed to process List item 1: strict decoding error: unknown field \"metadata.foo\"",
            ),
            (
                "{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: x}, spec: {foo: 1}}".into(),
                "failed to process List item 1: strict decoding error: unknown field \"spec.foo\"",
            ),
            (
                "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: x}, spec: {foo: 1}}".into(),
                "failed to process List item 1: strict decoding error: unknown field \"spec.foo\"",
            ),
            (spec("background: 3"), "failed to process List item 1: unrecognized type: bool"),
            (
                spec("rules: [{name: r, match: {any: []}, validate: {message: [m]}}]"),
                "failed to process List item 1: unrecognized type: string",
            ),
            (spec("background: {a: b}"), "failed to process List item 1: unrecognized type: bool"),
            (spec("ruls: 1, background: 3"), "failed to process List item 1: unrecognized type: bool"),
            (spec("rules: 3"), "failed to process List item 1: cannot restore slice from int64"),
            (spec("rules: 1.5"), "failed to process List item 1: cannot restore slice from float64"),
            (spec("rules: true"), "failed to process List item 1: cannot restore slice from bool"),
            (spec("rules: {a: b}"), "failed to process List item 1: cannot restore slice from map"),
            (spec("rules: [3]"), "failed to process List item 1: cannot restore struct from: int64"),
            (
                spec("rules: [{name: r, match: [1]}]"),
                "failed to process List item 1: cannot restore struct from: slice",
            ),
            (spec("rules: [{name: 3}]"), "failed to process List item 1: cannot convert int64 to string"),
            (spec("webhookTimeoutSeconds: x"), "failed to process List item 1: unrecognized type: int32"),
            (
                spec("webhookTimeoutSeconds: 1.5"),
                "failed to process List item 1: cannot convert float64 to int32",
            ),
            (policy("metadata: {name: 3}"), "failed to process List item 1: cannot convert int64 to string"),
            (policy("metadata: 3"), "failed to process List item 1: cannot restore struct from: int64"),
            (
                policy("metadata: {name: x, labels: {a: 3}}"),
                "failed to process List item 1: cannot convert int64 to string",
            ),
        ] {
            let found = with(&item);
            let [problem] = &found.problems[..] else { panic!("{item}: {:?}", found.problems) };
            assert_eq!((&*problem.text, problem.fatal, problem.line), (text, false, 5), "{item}");
            assert_eq!(found.policies.len(), 1, "{item}");
        }
    }

    #[test]
    fn an_item_that_its_schema_alone_refuses_counts() {
        for rest in ["", ", spec: {validationFailureAction: foo, rules: []}", ", spec: {background: null}"] {
            let item = format!(
                "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: UPPER}}{rest}}}"
            );
            assert_eq!(with(&item).policies.len(), 2, "{item}");
        }
    }
}
