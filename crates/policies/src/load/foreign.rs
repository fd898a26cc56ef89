//! Documents of a policy file that are no policies.
//!
//! In: a document whose kind is none of policies. Out: why it is left out, and whether its file is
//! left out with it. Kyverno's command line reads a document by the published schema of its kind: a
//! sound object of a kind that it knows, and one with a field that the kind does not have, leave
//! out the file; an object that its schema refuses, and one of an unknown kind, are left out alone.
//! `document-kinds.txt` has the kinds that it knows, recorded from the program. Semantics:
//! `docs/semantics/policies.md`, "Loading".

use std::collections::HashMap;
use std::sync::OnceLock;

use ephor_api::schema;
use ephor_document::Document;
use ephor_kubernetes::Types;
use ephor_kubernetes::structure::{Flaw, Flawed, flaws};
use ephor_value::names::subdomain_problems;
use ephor_value::{Str, Value};

use super::loaded::Item;
use super::{left, skipped};

/// The kinds that Kyverno's command line knows, by group and version.
const KINDS: &str = include_str!("document-kinds.txt");

/// The group and version of Kyverno's own files for its command line.
const COMMAND_VERSION: &str = "cli.kyverno.io/v1alpha1";

/// The reason for a definition of a custom resource, which Kyverno's reader cannot handle.
pub const NO_DEFINITIONS: &str = "the schema of the kind cannot be used";

/// The fields that an object of any kind has.
const HEAD: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The group of Kyverno's policies in CEL.
const CEL_POLICIES: &str = "policies.kyverno.io/";

/// A document of a kind that is none of policies.
pub(super) fn foreign(d: &Document, api_version: &str, kind: &str) -> Item {
    if api_version.starts_with(CEL_POLICIES) {
        return left(d, &[], format!("{kind} of {api_version} is not supported yet"), false);
    }
    let name = d.value.text_at(&["metadata", "name"]);
    if api_version == COMMAND_VERSION {
        return of_command(d, kind, name);
    }
    let unknown =
        |text: String| skipped(d, format!("failed to parse document (failed to retrieve validator: {text})"));
    let Some(known) = kinds().get(api_version) else {
        return unknown(match api_version.matches('/').count() {
            // A version with two slashes is none.
            2.. => "failed to locate OpenAPI spec for GV: ".to_string(),
            _ => schema::unknown_kind(api_version, kind),
        });
    };
    let Some(needs_more) = known.iter().find(|known| known.name == kind).map(|known| known.needs_more) else {
        return unknown(format!("kind {kind} not found in {api_version} groupversion"));
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    // Its schema holds schemas, which the reader cannot handle.
    if group == "apiextensions.k8s.io" && kind.starts_with("CustomResourceDefinition") {
        return skipped(d, format!("failed to parse document ({NO_DEFINITIONS})"));
    }
    let is_bare = d.value.as_map().is_some_and(|fields| fields.keys().all(|key| HEAD.contains(&&**key)));
    let mut found = flaws_of([group, version, kind], &d.value);
    match needs_more {
        false if is_bare => found.retain(|flawed| flawed.path.starts_with("metadata.")),
        // Kinds of which the types are not known here.
        true if is_bare && found.is_empty() => {
            found.push(Flawed { path: "spec".into(), flaw: Flaw::Missing })
        }
        _ => {}
    }
    if let Some(Flawed { path, .. }) = found.first().filter(|first| first.flaw == Flaw::Unknown) {
        let text =
            format!("failed to parse document ({path}: Invalid value: value provided for unknown field)");
        return left(d, &[], text, true);
    }
    let of_metadata = found.iter().find(|flawed| flawed.path.starts_with("metadata."));
    if let Some(Flawed { path, flaw: Flaw::Type { found, wanted } }) = of_metadata {
        return skipped(d, format!("failed to parse document ({path} is of type {found}, not {wanted})"));
    }
    if name.is_empty() && !d.value.text_at(&["metadata", "generateName"]).is_empty() {
        let text = "failed to validate resource (Internal error occurred: metadata.name was not generated)";
        return skipped(d, text.into());
    }
    let problem = match (subdomain_problems(name).into_iter().next(), found.first()) {
        _ if name.is_empty() => "metadata.name: Required value: name or generateName is required".to_string(),
        (Some(problem), _) => format!("metadata.name: Invalid value: \"{name}\": {problem}"),
        (None, Some(flawed)) => flawed_text(flawed),
        (None, None) => {
            return left(d, &[], format!("policy type not supported {group}/{version}, Kind={kind}"), true);
        }
    };
    let qualified = if group.is_empty() { "core" } else { group };
    skipped(d, format!("failed to validate resource ({kind}.{qualified} \"{name}\" is invalid: {problem})"))
}

/// What is wrong with an object, or with the objects of a list.
fn flaws_of([group, version, kind]: [&str; 3], object: &Value) -> Vec<Flawed> {
    let of =
        |kind: &str, object: &Value| flaws(Types::built_in(), &[group, version, kind].map(Str::from), object);
    let Some(of_items) = kind.strip_suffix("List") else { return of(kind, object) };
    let Some(Value::List(items)) = object.get("items") else {
        return vec![Flawed { path: "items".into(), flaw: Flaw::Missing }];
    };
    let below = |(at, item): (usize, &Value)| {
        let place = move |flawed: Flawed| Flawed { path: format!("items[{at}].{}", flawed.path), ..flawed };
        of(of_items, item).into_iter().map(place).collect::<Vec<_>>()
    };
    items.iter().enumerate().flat_map(below).collect()
}

/// A file for Kyverno's command line itself.
fn of_command(d: &Document, kind: &str, name: &str) -> Item {
    let unsupported =
        || left(d, &[], format!("policy type not supported {COMMAND_VERSION}, Kind={kind}"), true);
    match kind {
        "Test" | "Values" | "UserInfo" => unsupported(),
        "Context" | "ClusterResource" if d.value.get("spec").is_some_and(|s| !s.is_null()) => unsupported(),
        "Context" | "ClusterResource" => {
            let text = format!("{kind}.cli.kyverno.io \"{name}\" is invalid: spec: Required value");
            skipped(d, format!("failed to validate resource ({text})"))
        }
        _ => {
            let text = format!("kind {kind} not found in {COMMAND_VERSION} groupversion");
            skipped(d, format!("failed to parse document (failed to retrieve validator: {text})"))
        }
    }
}

fn flawed_text(flawed: &Flawed) -> String {
    let path = &flawed.path;
    match &flawed.flaw {
        Flaw::Unknown => format!("{path}: Invalid value: value provided for unknown field"),
        Flaw::Missing => format!("{path}: Required value"),
        Flaw::Duplicate => format!("{path}: Duplicate value"),
        Flaw::Type { found, wanted } => {
            format!(
                "{path}: Invalid value: \"{found}\": {path} in body must be of type {wanted}: \"{found}\""
            )
        }
    }
}

/// A kind that Kyverno's command line knows.
#[derive(Debug)]
struct KnownKind {
    name: &'static str,
    /// Whether an object with nothing but a name is not valid.
    needs_more: bool,
}

fn kinds() -> &'static HashMap<&'static str, Vec<KnownKind>> {
    static TABLE: OnceLock<HashMap<&'static str, Vec<KnownKind>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let lines = KINDS.lines().filter(|line| !line.starts_with('#'));
        let of_line = |line: &'static str| {
            let mut words = line.split(' ');
            let version = words.next()?;
            let kind = |word: &'static str| KnownKind {
                name: word.trim_end_matches('!'),
                needs_more: word.ends_with('!'),
            };
            Some((version, words.map(kind).collect()))
        };
        lines.filter_map(of_line).collect()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_sources::files::SourceText;

    /// What the command line of Kyverno 1.19.1 does with a file that has the document and a policy:
    /// `policy` when the policy counts.
    const RECORDED: &str = include_str!("foreign-documents.txt");

    #[test]
    fn objects_in_a_list_with_policies_leave_out_nothing() {
        for object in [
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, dat: {}}",
            "{apiVersion: example.com/v1, kind: Thing, metadata: {name: x}}",
            "{apiVersion: cli.kyverno.io/v1alpha1, kind: Values, metadata: {name: x}}",
            "{apiVersion: v1, kind: List, items: []}",
            "{a: b}",
        ] {
            let of = |items: &str| format!("{{apiVersion: v1, kind: List, items: [{items}]}}");
            for items in [format!("{object}, {POLICY}"), format!("{POLICY}, {object}")] {
                let source = SourceText { name: "p.yaml".into(), text: of(&items) };
                assert_eq!(super::super::argument(&[source]).policies.len(), 1, "{items}");
            }
        }
    }

    /// A policy in one line.
    const POLICY: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, pattern: {a: b}}}]}}";

    /// Whether the policy of a file counts that has a document, too.
    fn counts(document: &str) -> bool {
        let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {message: m, pattern: {a: b}}\n";
        let text = format!("{document}\n---\n{policy}");
        let source = SourceText { name: "p.yaml".into(), text };
        !super::super::argument(&[source]).policies.is_empty()
    }

    #[test]
    fn documents_of_every_kind_leave_out_their_file_as_the_reference_does() {
        let mut wrong = Vec::new();
        for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
            let (outcome, document) = line.split_once(' ').unwrap();
            if counts(document) != (outcome == "policy") {
                wrong.push(line);
            }
        }
        assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    }

    #[test]
    fn a_definition_of_a_custom_resource_is_left_out_alone() {
        let definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: xs.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: xs, kind: X}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}";
        assert!(counts(definition));
    }
}
