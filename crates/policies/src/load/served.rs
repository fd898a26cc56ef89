//! How a server reads a document, and what says something about policies as a whole: nothing that
//! may be a policy is left out silently.
//!
//! In: a document. Out: the items that it gives. Lists of any form (`List`, `ClusterPolicyList`, a
//! YAML sequence, lists in lists) give their items, which are read like documents of their own. A
//! document of a policy's group or kind that cannot be read is a problem; other objects are
//! foreign. Semantics: `docs/reference/serve.md`, "Reload".

use strsim::damerau_levenshtein;

use ephor_document::Document;
use ephor_value::place::{Path, PathPart};
use ephor_value::{Map, Value};

use super::loaded::{Item, LoadedPolicy, PlacedReader, Problem, Reader};
use super::{item, left, type_field};

/// The API groups of policies.
const GROUPS: [&str; 3] = ["kyverno.io", "policies.kyverno.io", ADMISSION];
const ADMISSION: &str = "admissionregistration.k8s.io";

/// How many letters of a group may be wrong: more, and it is another group.
const MISTAKES: usize = 2;

/// The items of a document.
pub(super) fn items(d: &Document, reading: PlacedReader) -> Vec<Item> {
    let of = |found: Found| match found {
        Found::Object(prefix, value) => match object(d, &value, reading) {
            Item::Policy(policy, deprecation) => {
                Item::Policy(Box::new(LoadedPolicy { prefix, ..*policy }), deprecation)
            }
            other => other,
        },
        Found::None(what) => {
            let found = left(d, &[], format!("failed to parse document ({what})"), false);
            match found {
                // Values of charts are lists and texts, too.
                Item::Left(problem) if reading.reader == Reader::Scan && !may_be_about_policies(&d.text) => {
                    Item::Left(Problem { foreign: true, ..problem })
                }
                other => other,
            }
        }
    };
    found(&d.value).into_iter().map(of).collect()
}

/// The objects of a document, those of lists one by one, and where each stands in it.
pub fn objects(document: &Value) -> Vec<(Path, Value)> {
    let of = |found: Found| match found {
        Found::Object(prefix, value) => Some((prefix, value)),
        Found::None(_) => None,
    };
    found(document).into_iter().filter_map(of).collect()
}

/// A part of a document.
enum Found {
    /// An object, and where it stands.
    Object(Path, Value),
    /// None: what it is instead.
    None(String),
}

fn found(document: &Value) -> Vec<Found> {
    let mut out = Vec::new();
    let mut waiting = vec![(Path::new(), document.clone())];
    let mut is_document = true;
    while let Some((path, value)) = waiting.pop() {
        match contents(&value) {
            Contents::Nothing if is_document && !value.is_null() => {
                out.push(Found::None(format!("a {} is no object", value.json_type())));
            }
            Contents::Nothing => {}
            Contents::Object => out.push(Found::Object(path, value)),
            Contents::Items(items) => {
                let field = (!matches!(value, Value::List(_))).then(|| PathPart::Key("items".into()));
                let above: Path = path.into_iter().chain(field).collect();
                let below = |at| above.iter().cloned().chain([PathPart::Index(at)]).collect::<Path>();
                let items = items.into_iter().enumerate().map(|(at, item)| (below(at), item));
                waiting.extend(items.collect::<Vec<_>>().into_iter().rev());
            }
            Contents::NoList(kind) => out.push(Found::None(format!("items of {kind} are no list"))),
        }
        is_document = false;
    }
    out
}

enum Contents {
    /// Not an object.
    Nothing,
    /// One object.
    Object,
    /// A list of them.
    Items(Vec<Value>),
    /// A list by its kind that has something else in place of items.
    NoList(String),
}

fn contents(value: &Value) -> Contents {
    let fields = match value {
        Value::List(items) => return Contents::Items(items.to_vec()),
        Value::Map(fields) => fields,
        _ => return Contents::Nothing,
    };
    let (api_version, kind) = (value.text_at(&["apiVersion"]), value.text_at(&["kind"]));
    let Some(of) = kind.len().checked_sub(4).and_then(|at| kind.split_at_checked(at)) else {
        return Contents::Object;
    };
    let is_list = of.1.eq_ignore_ascii_case("List");
    if !is_list || !(of.0.is_empty() || is_about_policies(api_version, of.0)) {
        return Contents::Object;
    }
    match fields.get("items") {
        None | Some(Value::Null) => Contents::Items(Vec::new()),
        // Items of a typed list may leave out what the list says.
        Some(Value::List(items)) => {
            Contents::Items(items.iter().map(|item| typed(item, api_version, of.0)).collect())
        }
        Some(_) => Contents::NoList(kind.to_string()),
    }
}

fn typed(item: &Value, api_version: &str, kind: &str) -> Value {
    let (Value::Map(fields), false) = (item, kind.is_empty()) else { return item.clone() };
    let mut fields: Map = fields.clone();
    for (key, text) in [("apiVersion", api_version), ("kind", kind)] {
        if fields.get(key).is_none_or(Value::is_null) {
            fields.insert(key, text.into());
        }
    }
    Value::Map(fields)
}

fn object(d: &Document, value: &Value, reading: PlacedReader) -> Item {
    let text = |key: &'static str| type_field(value, key).unwrap_or_default().into_owned();
    let is_policy = is_about_policies(&text("apiVersion"), &text("kind"));
    match item(d, value, true, reading) {
        Item::Left(problem) => Item::Left(Problem {
            foreign: !is_policy,
            fatal: problem.fatal && is_policy,
            policy: is_policy.then(|| (text("kind"), value.text_at(&["metadata", "name"]).to_string())),
            fail_closed: !ignores(value),
            ..problem
        }),
        other => other,
    }
}

/// Whether an object says, at a place where a policy of some kind says it, that its errors are
/// ignored.
fn ignores(value: &Value) -> bool {
    let policy = value.text_at(&["kind"]).ends_with("Policy");
    let places: [&[&str]; 2] =
        [&["spec", "failurePolicy"], &["spec", "webhookConfiguration", "failurePolicy"]];
    policy && places.iter().any(|path| value.text_at(path) == "Ignore")
}

/// Whether a text that is no YAML may be meant to be a policy, or to hold some.
pub(super) fn may_be_about_policies(text: &str) -> bool {
    let text = text.to_lowercase();
    ["policy", "policies", "kyverno"].iter().any(|word| text.contains(word))
}

/// Kinds of Kyverno's groups that are no policies.
const OTHER_KINDS: [&str; 13] = [
    "Test",
    "Values",
    "UserInfo",
    "Context",
    "GlobalContextEntry",
    "UpdateRequest",
    "AdmissionReport",
    "ClusterAdmissionReport",
    "BackgroundScanReport",
    "ClusterBackgroundScanReport",
    "EphemeralReport",
    "ClusterEphemeralReport",
    "PolicyReport",
];

/// A policy language of Kyverno for data, with kinds of the same names.
const FOR_DATA: &str = "json.kyverno.io";

/// Whether an object of this group, version and kind is, or was meant to be, a policy or something
/// that belongs to policies.
pub fn is_about_policies(api_version: &str, kind: &str) -> bool {
    let group = api_version.split_once('/').map_or(api_version, |(group, _)| group).trim().to_lowercase();
    let kind = kind.trim();
    if group == FOR_DATA || OTHER_KINDS.contains(&kind) {
        return false;
    }
    let kind = kind.to_lowercase();
    let is_kind = is_kind(&kind);
    // Other groups have policies of their own.
    let Some(known) = GROUPS.iter().find(|known| damerau_levenshtein(&group, known) <= MISTAKES) else {
        let is_without = group.is_empty() || (group.starts_with('v') && !group.contains('.'));
        return is_kind && (is_without || group.ends_with(".kyverno.io"));
    };
    *known != ADMISSION || is_kind || kind.contains("policy")
}

/// Whether there is a kind of policies of this name, in small letters.
fn is_kind(kind: &str) -> bool {
    const OTHERS: [&str; 2] = ["policy", "policyexception"];
    OTHERS.contains(&kind)
        || ["policy", "policybinding"].iter().any(|end| {
            kind.strip_suffix(end).is_some_and(|kind| {
                let kind = kind.strip_prefix("namespaced").unwrap_or(kind);
                matches!(
                    kind,
                    "cluster"
                        | "clustercleanup"
                        | "cleanup"
                        | "validating"
                        | "mutating"
                        | "generating"
                        | "deleting"
                        | "imagevalidating"
                        | "validatingadmission"
                        | "mutatingadmission"
                )
            })
        })
}

/// [`is_about_policies`] of an object.
pub fn is_meant_as_policy(value: &Value) -> bool {
    is_about_policies(value.text_at(&["apiVersion"]), value.text_at(&["kind"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_a_group_or_kind_of_policies_are_about_policies() {
        for (api_version, kind) in [
            ("kyverno.io/v2", "ClusterPolicy"),
            ("kyverno.io", "ClusterPolicy"),
            ("Kyverno.io/v1", "clusterpolicy"),
            ("kyverno.oi/v1", "ClusterPolicy"),
            ("kyverno.io/v1", "ValidatingPolicy"),
            ("kyverno.io/v1", "ClusterPolicyy"),
            ("policies.kyverno.io/v9", "ValidatingPolicy"),
            ("policy.kyverno.io/v1", "ValidatingPolicy"),
            ("", "ClusterPolicy"),
            ("v1", "ValidatingPolicy"),
            ("kyverno.io/v1", ""),
            ("admissionregistration.k8s.io/v2", "ValidatingAdmissionPolicy"),
            ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBindings"),
        ] {
            assert!(is_about_policies(api_version, kind), "{api_version} {kind}");
        }
        for (api_version, kind) in [
            ("apps/v1", "Deployment"),
            ("v1", "Namespace"),
            ("nvidia.com/v1", "ClusterPolicy"),
            ("networking.k8s.io/v1", "NetworkPolicy"),
            ("cli.kyverno.io/v1alpha1", "Test"),
            ("json.kyverno.io/v1alpha1", "ValidatingPolicy"),
            ("kyverno.io/v2alpha1", "GlobalContextEntry"),
            ("kustomize.config.k8s.io/v1beta1", "Kustomization"),
            ("", ""),
        ] {
            assert!(!is_about_policies(api_version, kind), "{api_version} {kind}");
        }
    }
}
