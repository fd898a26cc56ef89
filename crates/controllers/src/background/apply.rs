//! Objects that rules generate, written to a cluster.
//!
//! In: what a rule wants to exist. Out: it exists: created where it is missing, brought in step
//! where it is synchronised, left alone where it is not. Nothing is written that is as it should
//! be, so what was done twice is done once. Semantics: `docs/reference/cluster.md`, "Background
//! work"; `docs/semantics/generate.md`.

use ephor_cluster::{Cluster, Failure};
use ephor_engine::generate::{Key, Present, WantedObject};
use ephor_external::LookupError;
use ephor_kubernetes::Resource;
use ephor_value::{Map, Value};

use crate::field_manager::{GENERATE_MANAGER, MUTATE_MANAGER};
use crate::native::holds;
use ephor_admission::background::{Class, RuleFacts, Trigger};

/// The label of objects that are copied.
pub const CLONE_SOURCE: &str = "generate.kyverno.io/clone-source";
/// The label that names the source of a copy.
pub const SOURCE_UID: &str = "generate.kyverno.io/source-uid";
/// The prefix of the labels of generated objects.
pub const PREFIX: &str = "generate.kyverno.io/";

/// The objects of a cluster, for rules that generate others.
pub struct InCluster<'c>(pub &'c Cluster);

impl Present for InCluster<'_> {
    fn only_new(&self) -> bool {
        false
    }

    fn get(&self, at: &Key<'_>) -> Result<Option<Value>, LookupError> {
        let metadata = Value::map([("name", at.name.into()), ("namespace", at.namespace.into())]);
        let object = Value::map([
            ("apiVersion", at.api_version.into()),
            ("kind", at.kind.into()),
            ("metadata", metadata),
        ]);
        Ok(self.0.current(&object)?)
    }

    fn of_kind(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, LookupError> {
        let kinds = self.0.kinds()?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        match kinds.kind(group, version, kind) {
            Some(resource) => Ok(self.0.list(resource, namespace)?),
            None => Err(format!("no matches for kind {kind:?} in version {api_version:?}").into()),
        }
    }
}

/// What was done to an object; the object as it is then.
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    /// It was created.
    Created(Value),
    /// It was brought in step.
    Updated(Value),
    /// It is as it should be, or may be as it is.
    Nothing(Value),
}

impl Done {
    /// The object as it is now.
    pub fn object(&self) -> &Value {
        match self {
            Done::Created(object) | Done::Updated(object) | Done::Nothing(object) => object,
        }
    }

    /// What was done, in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Done::Created(_) => "created",
            Done::Updated(_) => "updated",
            Done::Nothing(_) => "unchanged",
        }
    }
}

/// Makes what a rule wants exist.
///
/// # Errors
/// The cluster refuses.
pub fn apply(cluster: &Cluster, wanted: &WantedObject, by_server: bool) -> Result<Done, Failure> {
    if let Some(source) = &wanted.source {
        label_source(cluster, source);
    }
    let object = in_namespace(cluster, &wanted.object)?;
    let Some(current) = cluster.current(&object)? else {
        return match cluster.create(&object, GENERATE_MANAGER) {
            Ok(created) => Ok(Done::Created(created)),
            // Another replica, or a try that was not finished, was faster.
            Err(e) if e.is_conflict() => Ok(Done::Nothing(object)),
            Err(e) => Err(e),
        };
    };
    if !wanted.synchronize || is_as_wanted(&current, &object) {
        return Ok(Done::Nothing(current));
    }
    if by_server {
        return Ok(Done::Updated(cluster.write(&object, Some(&current), GENERATE_MANAGER)?));
    }
    Ok(Done::Updated(cluster.replace(&replacing(&object, &current), GENERATE_MANAGER)?))
}

/// An object without namespace is written to `default`, where its kind needs one.
fn in_namespace(cluster: &Cluster, object: &Value) -> Result<Value, Failure> {
    let api_version = object.text_at(&["apiVersion"]);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kinds = cluster.kinds()?;
    let resource = kinds.kind(group, version, object.text_at(&["kind"]));
    let is_missing = object.text_at(&["metadata", "namespace"]).is_empty();
    if !is_missing || !resource.is_some_and(|r| r.namespaced) {
        return Ok(object.clone());
    }
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    Ok(object.with("metadata", metadata.with("namespace", "default".into())))
}

/// What identifies a stored object, taken from it.
const OWN: [&str; 5] = ["uid", "selfLink", "creationTimestamp", "managedFields", "resourceVersion"];

/// An object in place of the one that is there.
fn replacing(wanted: &Value, current: &Value) -> Value {
    let mut metadata = wanted.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
    for key in OWN {
        match current.at(&["metadata", key]) {
            Some(value) => drop(metadata.insert(key, value.clone())),
            None => drop(metadata.remove(key)),
        }
    }
    wanted.with("metadata", Value::Map(metadata))
}

/// Whether an object is as it is wanted: it has all of that, and what it has in addition the API
/// server or this program has written.
fn is_as_wanted(current: &Value, wanted: &Value) -> bool {
    let metadata = |object: &Value| object.get("metadata").cloned().unwrap_or_default();
    let part = |object: &Value, key: &str| {
        let found = metadata(object).get(key).and_then(Value::as_map).cloned().unwrap_or_default();
        Value::Map(found)
    };
    let same_metadata =
        ["labels", "annotations"].iter().all(|key| part(current, key).json_eq(&part(wanted, key)));
    let content = |object: &Value| -> Map {
        let members = object.as_map().into_iter().flat_map(Map::iter);
        let members = members.filter(|(key, _)| !matches!(&***key, "metadata" | "status"));
        members.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    same_metadata
        && holds(&Value::Map(content(current)), &Value::Map(content(wanted)))
        && !is_changed_by_others(current)
}

/// Whether another program has written fields of an object, other than its status.
fn is_changed_by_others(object: &Value) -> bool {
    let fields = object.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap_or_default();
    fields.iter().any(|entry| {
        entry.text_at(&["manager"]) != GENERATE_MANAGER && entry.text_at(&["subresource"]) != "status"
    })
}

/// Labels an object that is copied, so that its changes are noticed.
fn label_source(cluster: &Cluster, source: &Value) {
    if source.at(&["metadata", "labels", CLONE_SOURCE]).is_some()
        || source.text_at(&["metadata", "uid"]).is_empty()
    {
        return;
    }
    let labels = Value::Map([(CLONE_SOURCE.into(), "".into())].into_iter().collect());
    let patch = Value::map([("metadata", Value::map([("labels", labels)]))]);
    if let Err(error) = cluster.merge(source, &patch, GENERATE_MANAGER) {
        let name = source.text_at(&["metadata", "name"]);
        tracing::warn!(name, error = %error, "the source of copies cannot be labelled: its changes are not noticed");
    }
}

/// What objects of a rule or a policy are selected by.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'o> {
    /// The kind of the policy.
    pub class: Class,
    /// The policy, `NAME` or `NAMESPACE/NAME`.
    pub policy: &'o str,
    /// The rule; `None` = all.
    pub rule: Option<&'o str>,
    /// The trigger; `None` = all.
    pub trigger: Option<&'o Trigger>,
}

impl Origin<'_> {
    /// The selector of labels.
    fn selector(&self) -> String {
        let (namespace, name) = self.policy.split_once('/').unwrap_or(("", self.policy));
        let mut all =
            vec!["app.kubernetes.io/managed-by=kyverno".to_string(), format!("{PREFIX}policy-name={name}")];
        all.push(match self.class {
            Class::Rules => format!("{PREFIX}policy-namespace={namespace}"),
            // Its objects name no rule; a namespaced policy generates in its namespace alone.
            Class::Generating | Class::Mutating => format!("!{PREFIX}rule-name"),
        });
        all.extend(self.rule.map(|rule| format!("{PREFIX}rule-name={rule}")));
        if let Some(trigger) = self.trigger {
            let group = trigger.api_version.split_once('/').map_or("", |(group, _)| group);
            let wanted = [
                ("kind", &*trigger.kind),
                ("group", group),
                ("namespace", &trigger.namespace),
                ("uid", &trigger.uid),
            ];
            all.extend(wanted.map(|(key, value)| format!("{PREFIX}trigger-{key}={value}")));
        }
        all.join(",")
    }

    /// The namespace that its objects are in; empty = any.
    fn namespace(&self) -> &str {
        match self.class {
            Class::Rules => "",
            Class::Generating | Class::Mutating => {
                self.policy.split_once('/').map_or("", |(namespace, _)| namespace)
            }
        }
    }
}

/// The resources of the kinds that a rule generates; kinds that are only known with a trigger are
/// left out.
fn resources<'k>(kinds: &'k ephor_kubernetes::Kinds, wanted: &[(String, String)]) -> Vec<&'k Resource> {
    let of = |(api_version, kind): &(String, String)| {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        kinds.kind(group, version, kind)
    };
    wanted.iter().filter_map(of).collect()
}

/// The generated objects of an origin.
///
/// # Errors
/// The cluster does not answer. Kinds that may not be listed are left out, with a line in the log.
pub fn generated(
    cluster: &Cluster,
    kinds: &[(String, String)],
    origin: &Origin<'_>,
) -> Result<Vec<Value>, Failure> {
    let served = cluster.kinds()?;
    let mut found = Vec::new();
    for resource in resources(&served, kinds) {
        match cluster.select(resource, origin.namespace(), &origin.selector()) {
            Ok(objects) => found.extend(objects),
            Err(e) if matches!(e.code, 403 | 404) => {
                tracing::warn!(kind = &*resource.kind, policy = origin.policy, error = %e, "generated objects cannot be listed");
            }
            Err(e) => return Err(e),
        }
    }
    Ok(found)
}

/// Deletes generated objects.
///
/// # Errors
/// The cluster refuses.
pub fn delete(cluster: &Cluster, objects: &[Value]) -> Result<(), Failure> {
    for object in objects {
        match cluster.remove(object, None) {
            Ok(()) => {
                let at = |key: &str| object.text_at(&["metadata", key]);
                let kind = object.text_at(&["kind"]);
                tracing::info!(
                    kind,
                    namespace = at("namespace"),
                    name = at("name"),
                    "generated object deleted"
                );
            }
            Err(e) if e.is_not_found() || e.is_conflict() => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Removes the labels that say which policy generated objects: they belong to no policy then.
///
/// # Errors
/// The cluster refuses.
pub fn orphan(cluster: &Cluster, objects: &[Value]) -> Result<(), Failure> {
    let gone = ["policy-name", "policy-namespace", "rule-name"];
    let labels = gone.map(|key| (format!("{PREFIX}{key}").into(), Value::Null));
    let patch =
        Value::map([("metadata", Value::map([("labels", Value::Map(labels.into_iter().collect()))]))]);
    for object in objects {
        match cluster.merge(object, &patch, GENERATE_MANAGER) {
            Err(e) if !e.is_not_found() => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

/// A label of a generated object, without the prefix.
pub fn label(object: &Value, key: &str) -> String {
    object.text_at(&["metadata", "labels", &format!("{PREFIX}{key}")]).to_string()
}

/// The trigger of a generated object, by its labels.
pub fn trigger_of(object: &Value) -> Trigger {
    trigger_by(&|key| label(object, key))
}

/// The trigger that labels name, each without the prefix.
pub fn trigger_by(label: &dyn Fn(&str) -> String) -> Trigger {
    let (group, version) = (label("trigger-group"), label("trigger-version"));
    Trigger {
        api_version: if group.is_empty() { version } else { format!("{group}/{version}") },
        kind: label("trigger-kind"),
        namespace: label("trigger-namespace"),
        name: label("trigger-name"),
        uid: label("trigger-uid"),
    }
}

/// Whether a generated object is a copy.
pub fn is_copy(object: &Value) -> bool {
    object.at(&["metadata", "labels", SOURCE_UID]).is_some()
}

/// The copies of an object: those of its kind whose labels name it.
///
/// # Errors
/// The cluster does not answer.
pub fn copies(cluster: &Cluster, source: &Value) -> Result<Vec<Value>, Failure> {
    let api_version = source.text_at(&["apiVersion"]);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kinds = cluster.kinds()?;
    let Some(resource) = kinds.kind(group, version, source.text_at(&["kind"])) else { return Ok(Vec::new()) };
    let uid = source.text_at(&["metadata", "uid"]);
    cluster.select(resource, "", &format!("{SOURCE_UID}={uid}"))
}

/// The policy, `NAME` or `NAMESPACE/NAME`, and the rule that generated an object, by its labels.
pub fn origin_of(object: &Value) -> Option<(String, String)> {
    let label = |key| label(object, key);
    let (name, namespace) = (label("policy-name"), label("policy-namespace"));
    if name.is_empty() {
        return None;
    }
    Some((if namespace.is_empty() { name } else { format!("{namespace}/{name}") }, label("rule-name")))
}

/// Writes an object that a rule has changed; `kinds` are those of its targets, some with a
/// subresource.
///
/// # Errors
/// The cluster refuses; a conflict when it has changed since it was read.
pub fn replace(cluster: &Cluster, object: &Value, facts: &RuleFacts) -> Result<(), Failure> {
    let kind = object.text_at(&["kind"]);
    let part = facts.kinds.iter().filter_map(|(_, of)| of.split_once('/')).find(|(of, _)| *of == kind);
    match part {
        Some((_, "status")) => replace_part(cluster, object, "status"),
        _ => replace_part(cluster, object, ""),
    }
}

/// Writes a changed object, or one of its subresources.
///
/// # Errors
/// See [`replace`].
pub fn replace_part(cluster: &Cluster, object: &Value, subresource: &str) -> Result<(), Failure> {
    match subresource {
        "" => cluster.replace(object, MUTATE_MANAGER).map(drop),
        subresource => cluster.replace_part(object, subresource, MUTATE_MANAGER).map(drop),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_document::yaml_value;

    use super::*;

    #[test]
    fn an_object_is_as_wanted_until_another_program_changes_it() {
        let wanted =
            yaml_value("{kind: ConfigMap, metadata: {name: a, labels: {l: v}}, data: {k: v}}").unwrap();
        let current = |manager: &str, data: &str| {
            let text = format!(
                "{{kind: ConfigMap, metadata: {{name: a, labels: {{l: v}}, uid: u, managedFields: [{{manager: {manager}}}]}}, data: {data}, immutable: false}}"
            );
            yaml_value(&text).unwrap()
        };
        assert!(is_as_wanted(&current("generate", "{k: v}"), &wanted));
        assert!(!is_as_wanted(&current("generate", "{k: other}"), &wanted));
        assert!(!is_as_wanted(&current("kubectl", "{k: v, more: m}"), &wanted));
    }

    #[test]
    fn what_is_replaced_is_the_object_that_was_read() {
        let wanted = yaml_value("{kind: ConfigMap, metadata: {name: a, uid: other}, data: {}}").unwrap();
        let current =
            yaml_value("{kind: ConfigMap, metadata: {name: a, uid: u, resourceVersion: '7'}}").unwrap();
        let replacing = replacing(&wanted, &current);
        assert_eq!(replacing.text_at(&["metadata", "uid"]), "u");
        assert_eq!(replacing.text_at(&["metadata", "resourceVersion"]), "7");
    }
}
