//! Values files and `--set`.
//!
//! In: texts of the command line or of a test. Out: values by dotted path for every policy, rule
//! and resource, and namespaces. Semantics: `docs/reference/cli.md`, "apply".

use std::collections::HashMap;

use ephor_engine::request::namespace_of_labels;
use ephor_kubernetes::Types;
use ephor_kubernetes::decode::{self, problems};
use ephor_kubernetes::defaults::completed;
use ephor_policies::policy_set::RuleValues;
use ephor_value::path::dotted;
use ephor_value::{Map, Str, Value};

use super::Refused;
use super::strict::{self, API_VERSION, Field, KIND, METADATA, Object, Shape, field};

/// A value and the path at which it is inserted.
pub type Placed = (Vec<Str>, Value);

/// The values of the values file and `--set`.
#[derive(Debug, Default)]
pub struct Values {
    /// For every policy and resource.
    pub global: Vec<Placed>,
    /// For a policy and the name of a resource.
    pub resources: HashMap<(String, String), Vec<Placed>>,
    /// From `--set`; they take precedence over the others.
    pub set: Vec<Placed>,
    /// For a policy and a rule.
    rules: HashMap<(String, String), Vec<Placed>>,
    /// Namespaces, by name.
    pub namespaces: HashMap<String, Value>,
    /// Kinds of objects that represent subresources of others.
    pub subresources: Vec<Subresource>,
}

/// A kind of object that represents a subresource of another one.
#[derive(Clone, Debug)]
pub struct Subresource {
    /// Kind of the object that is sent.
    pub kind: String,
    /// Name of the subresource.
    pub name: String,
    /// Group, version and kind of the object that it belongs to.
    pub parent: [Str; 3],
}

impl RuleValues for Values {
    fn for_rule(&self, policy: &str, rule: &str) -> &[Placed] {
        if self.rules.is_empty() {
            return &[];
        }
        let base = rule.strip_prefix("autogen-cronjob-").or_else(|| rule.strip_prefix("autogen-"));
        [Some(rule), base]
            .into_iter()
            .flatten()
            .find_map(|r| self.rules.get(&(policy.to_string(), r.to_string())))
            .map_or(&[], Vec::as_slice)
    }
}

/// Why values cannot be used; the texts are Kyverno's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValuesError {
    /// The operation does not exist.
    #[error("invalid request.operation value \"{0}\", must be one of CREATE, UPDATE, DELETE, CONNECT")]
    Operation(Box<str>),
    /// A namespace has a field that is unknown.
    #[error("error unmarshaling JSON: while decoding JSON: json: unknown field \"{0}\"")]
    UnknownField(Box<str>),
    /// A field of a namespace has another type; the words are those of the decoder.
    #[error("error unmarshaling JSON: while decoding JSON: {0}")]
    Type(Box<str>),
}

fn is_operation(path: &[Str]) -> bool {
    matches!(path, [request, operation] if **request == *"request" && **operation == *"operation")
}

fn placed(m: Option<&Value>) -> Vec<Placed> {
    let entries = m.and_then(Value::as_map).into_iter().flat_map(Map::iter);
    entries.map(|(k, v)| (dotted(k), v.clone())).collect()
}

impl Values {
    /// The values for a resource, in ascending precedence.
    pub fn for_resource(&self, policy: Option<&str>, resource: &str) -> Vec<Placed> {
        let own = policy.and_then(|p| self.resources.get(&(p.to_string(), resource.to_string())));
        self.global.iter().chain(own.into_iter().flatten()).chain(&self.set).cloned().collect()
    }

    /// Whether values of all policies change requests by more than the operation of the file, which
    /// policies in CEL see, too.
    pub fn change_requests(&self) -> bool {
        let is_of_request = |(path, _): &&Placed| path.first().is_some_and(|key| **key == *"request");
        let of_file = self.global.iter().filter(is_of_request);
        of_file.clone().any(|(path, _)| !is_operation(path)) || self.set.iter().any(|one| is_of_request(&one))
    }

    /// The last `request.operation` among values.
    pub fn operation(values: &[Placed]) -> Option<&str> {
        values.iter().rev().find(|(path, _)| is_operation(path)).and_then(|(_, v)| v.as_str())
    }

    /// Reads a values file; messages name it as the user did.
    ///
    /// # Errors
    /// Kyverno's text.
    pub fn read(path: &str, named: &str) -> Result<Values, Refused> {
        let wrap = |cause: String| {
            format!("failed to decode yaml (unable to load variable file: {named} ({cause}))")
        };
        let text = super::read(path).map_err(|error| wrap(error.to_string()))?;
        Values::parse(path, named, &text)
    }

    /// Reads the text of a values file of this path, which messages name as the user did.
    ///
    /// # Errors
    /// Kyverno's text.
    pub fn parse(path: &str, named: &str, text: &str) -> Result<Values, Refused> {
        let wrap = |cause: String| {
            format!("failed to decode yaml (unable to load variable file: {named} ({cause}))")
        };
        let doc = strict::parse(path, text, &FILE).map_err(|(cause, hint)| Refused {
            notice: None,
            text: wrap(cause),
            hint,
        })?;
        if doc.text_at(&["apiVersion"]).is_empty() || doc.text_at(&["kind"]).is_empty() {
            let notice = format!(
                "\nWARNING: values file ({named}) uses a deprecated schema that will be removed in 1.15\n"
            );
            let text = format!(
                "failed to decode yaml (values file {named} uses a deprecated schema — please migrate to the latest format)"
            );
            return Err(Refused { notice: Some(notice), text, hint: None });
        }
        let namespaces = namespaces(&doc, "ValuesSpec.namespaces");
        let namespaces = namespaces.map_err(|error| wrap(error.to_string()))?;
        Ok(Values::with_namespaces(&doc, namespaces).map_err(|error| error.to_string())?)
    }

    /// The values of a checked document.
    ///
    /// # Errors
    /// An operation that there is not.
    pub fn of(doc: &Value) -> Result<Values, ValuesError> {
        Values::with_namespaces(doc, namespaces(doc, "values.namespaces")?)
    }

    fn with_namespaces(doc: &Value, namespaces: Vec<Value>) -> Result<Values, ValuesError> {
        let mut values = Values { global: placed(doc.get("globalValues")), ..Values::default() };
        let list = |v: &Value, key: &str| {
            v.get(key).and_then(Value::as_list).map(<[Value]>::to_vec).unwrap_or_default()
        };
        for policy in list(doc, "policies") {
            let name = policy.text_at(&["name"]).to_string();
            for rule in list(&policy, "rules") {
                let mut all = placed(rule.get("values"));
                let loops = rule.get("foreachValues").and_then(Value::as_map);
                for (key, items) in loops.into_iter().flat_map(Map::iter) {
                    if let Some(first) = items.as_list().and_then(<[Value]>::first) {
                        all.push((dotted(key), first.clone()));
                    }
                }
                values.rules.insert((name.clone(), rule.text_at(&["name"]).to_string()), all);
            }
            for resource in list(&policy, "resources") {
                let key = (name.clone(), resource.text_at(&["name"]).to_string());
                values.resources.entry(key).or_default().extend(placed(resource.get("values")));
            }
        }
        let labels =
            |v: &Value, path: &[&str]| v.at(path).and_then(Value::as_map).cloned().unwrap_or_default();
        for ns in list(doc, "namespaceSelector") {
            let (name, labels) = (ns.text_at(&["name"]), labels(&ns, &["labels"]));
            values.namespaces.insert(name.into(), namespace_of_labels(name, labels));
        }
        for ns in namespaces {
            values.namespaces.insert(ns.text_at(&["metadata", "name"]).into(), ns);
        }
        for s in list(doc, "subresources") {
            let name = s.text_at(&["subresource", "name"]);
            values.subresources.push(Subresource {
                kind: s.text_at(&["subresource", "kind"]).into(),
                name: name.rsplit('/').next().unwrap_or_default().into(),
                parent: ["group", "version", "kind"].map(|k| s.text_at(&["parentResource", k]).into()),
            });
        }
        let operation = Values::operation(&values.global).unwrap_or("");
        if !matches!(operation, "" | "CREATE" | "UPDATE" | "DELETE" | "CONNECT") {
            return Err(ValuesError::Operation(operation.into()));
        }
        Ok(values)
    }

    /// Adds the entries of `--set`: those that are not `key=value`, that name the object, or that
    /// come again are left out. Returns what was left out, with the reason.
    pub fn set(&mut self, entries: &[String]) -> Vec<String> {
        let mut left = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        for entry in entries {
            let entry = entry.trim();
            let parts: Vec<&str> = entry.split('=').collect();
            let why = match parts[..] {
                [key, value] if key.trim().is_empty() || value.trim().is_empty() => "key or value is empty",
                [key, _] if key.contains("request.object.") => "the object cannot be set",
                [key, _] if seen.iter().any(|k| k == key.trim()) => "the key was set before",
                [key, value] => {
                    seen.push(key.trim().into());
                    self.set.push((dotted(key.trim()), Value::from(value.trim())));
                    continue;
                }
                _ => "expected exactly one `=`",
            };
            left.push(format!("--set {entry}: ignored: {why}"));
        }
        left
    }
}

/// The namespaces of a document; `place` is their location in errors.
fn namespaces(doc: &Value, place: &str) -> Result<Vec<Value>, ValuesError> {
    let all = doc.get("namespaces").and_then(Value::as_list).unwrap_or_default();
    all.iter().map(|ns| decoded(ns, place)).collect()
}

/// The error of a wrong type in a namespace, with the fields around it.
fn at_place(error: decode::Error, place: &str) -> decode::Error {
    match error {
        decode::Error::Type { found, field: Some(field), wanted } => {
            let (holder, path) = field.split_once('.').unwrap_or((&field, ""));
            let is_type = holder == "Namespace" && matches!(path, "apiVersion" | "kind");
            let embedded = if is_type { "TypeMeta." } else { "" };
            let field = format!("{holder}.{place}.{embedded}{path}").into();
            decode::Error::Type { found, field: Some(field), wanted }
        }
        other => other,
    }
}

/// A namespace as Kyverno's types hold it.
fn decoded(given: &Value, place: &str) -> Result<Value, ValuesError> {
    let types = Types::built_in();
    let Some(def) = types.of_kind(&["".into(), "v1".into(), "Namespace".into()]) else {
        return Ok(given.clone());
    };
    let problems = problems(given, def, types);
    let text = match (problems.wrong, problems.unknown.first()) {
        (Some(wrong), _) => at_place(wrong, place).to_string(),
        (None, Some(path)) => {
            return Err(ValuesError::UnknownField(path.rsplit('.').next().unwrap_or_default().into()));
        }
        (None, None) => {
            let mut whole = completed(given, def, types).as_map().cloned().unwrap_or_default();
            for part in ["spec", "status"] {
                if !whole.contains_key(part) {
                    whole.insert(part, Value::Map(Map::new()));
                }
            }
            return Ok(Value::Map(whole));
        }
    };
    Err(ValuesError::Type(text.into()))
}

const RESOURCE: Object =
    Object { name: "Resource", fields: &[field("name", Shape::Text), field("values", Shape::Map)] };

const RULE: Object = Object {
    name: "Rule",
    fields: &[
        field("name", Shape::Text),
        field("values", Shape::Map),
        field("foreachValues", Shape::Lists("[]interface {}", &Shape::Any)),
    ],
};

const POLICY: Object = Object {
    name: "Policy",
    fields: &[
        field("name", Shape::Text),
        field("resources", Shape::List(&Shape::Object(&RESOURCE))),
        field("rules", Shape::List(&Shape::Object(&RULE))),
    ],
};

const NAMESPACE_SELECTOR: Object = Object {
    name: "NamespaceSelector",
    fields: &[field("name", Shape::Text), field("labels", Shape::Texts)],
};

const API_RESOURCE: Shape = Shape::Object(&Object {
    name: "APIResource",
    fields: &[
        field("name", Shape::Text),
        field("singularName", Shape::Text),
        field("namespaced", Shape::Flag),
        field("group", Shape::Text),
        field("version", Shape::Text),
        field("kind", Shape::Text),
        field("verbs", Shape::List(&Shape::Text)),
        field("shortNames", Shape::List(&Shape::Text)),
        field("categories", Shape::List(&Shape::Text)),
        field("storageVersionHash", Shape::Text),
    ],
});

const SUBRESOURCE: Object = Object {
    name: "Subresource",
    fields: &[field("subresource", API_RESOURCE), field("parentResource", API_RESOURCE)],
};

const GLOBAL: Field = field("globalValues", Shape::Map);
const POLICIES: Field = field("policies", Shape::List(&Shape::Object(&POLICY)));
const SELECTOR: Field = field("namespaceSelector", Shape::List(&Shape::Object(&NAMESPACE_SELECTOR)));
const NAMESPACES: Field = field("namespaces", Shape::List(&Shape::Kind("v1.Namespace")));
const SUBRESOURCES: Field = field("subresources", Shape::List(&Shape::Object(&SUBRESOURCE)));

/// The values in a test.
pub const SPEC: Object =
    Object { name: "ValuesSpec", fields: &[GLOBAL, POLICIES, SELECTOR, NAMESPACES, SUBRESOURCES] };

/// A values file.
pub const FILE: Object = Object {
    name: "Values",
    fields: &[
        API_VERSION,
        KIND,
        field("metadata", METADATA),
        GLOBAL.part_of("ValuesSpec"),
        POLICIES.part_of("ValuesSpec"),
        SELECTOR.part_of("ValuesSpec"),
        NAMESPACES.part_of("ValuesSpec"),
        SUBRESOURCES.part_of("ValuesSpec"),
    ],
};
