//! What rules with background work were written as when they were last acted on.
//!
//! In: the rules of policies. Out: a ConfigMap that holds a line for each rule, so that a rule that
//! went while no controller ran is noticed: what it generated is found by it. Semantics:
//! `docs/reference/cluster.md`, "Background work".

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use ephor_cluster::{Cluster, Failure};
use ephor_document::json;
use ephor_value::{Value, print};

use crate::field_manager::MANAGER;
use ephor_admission::background::{Class, RuleFacts, WorkKind};

/// The name of the ConfigMap.
const NAME: &str = "ephor-background";

/// A rule as it was acted on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleOnRecord {
    /// Its name.
    pub rule: String,
    /// Whether it generates objects.
    pub generates: bool,
    /// Whether these are synchronised.
    pub synchronize: bool,
    /// Whether they outlive it.
    pub orphans: bool,
    /// Their kinds.
    pub kinds: Vec<ObjectKind>,
    /// A hash of where they are.
    pub place: String,
    /// A hash of the whole rule.
    pub whole: String,
}

fn hash(value: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    print::json(value).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Group and version, and kind.
pub type ObjectKind = (String, String);

fn kind_value((version, kind): &ObjectKind) -> Value {
    Value::list(vec![(&**version).into(), (&**kind).into()])
}

fn read_kind(pair: &Value) -> Option<ObjectKind> {
    match pair.as_list() {
        Some([version, kind]) => Some((version.as_str()?.into(), kind.as_str()?.into())),
        _ => None,
    }
}

impl RuleOnRecord {
    /// A rule as it is written.
    pub fn of(facts: &RuleFacts) -> RuleOnRecord {
        RuleOnRecord {
            rule: facts.rule.to_string(),
            generates: matches!(facts.kind, WorkKind::Generate | WorkKind::CelGenerate),
            synchronize: facts.synchronize,
            orphans: facts.orphans,
            kinds: facts.kinds.clone(),
            place: hash(&facts.place),
            whole: hash(&Value::list(vec![facts.written.clone(), facts.on_policy_change.into()])),
        }
    }

    fn to_value(&self) -> Value {
        Value::map([
            ("rule", (&*self.rule).into()),
            ("generates", self.generates.into()),
            ("synchronize", self.synchronize.into()),
            ("orphans", self.orphans.into()),
            ("kinds", Value::list(self.kinds.iter().map(kind_value).collect())),
            ("place", (&*self.place).into()),
            ("whole", (&*self.whole).into()),
        ])
    }

    fn read(value: &Value) -> RuleOnRecord {
        let flag = |key: &str| value.get(key).and_then(Value::as_bool).unwrap_or(false);
        let kinds = value.get("kinds").and_then(Value::as_list).unwrap_or_default();
        RuleOnRecord {
            rule: value.text_at(&["rule"]).into(),
            generates: flag("generates"),
            synchronize: flag("synchronize"),
            orphans: flag("orphans"),
            kinds: kinds.iter().filter_map(read_kind).collect(),
            place: value.text_at(&["place"]).into(),
            whole: value.text_at(&["whole"]).into(),
        }
    }
}

/// The rules of all policies as they were acted on, by the kind and the key of the policy.
pub type RulesOnRecord = BTreeMap<(Class, String), Vec<RuleOnRecord>>;

fn reference(namespace: &str) -> Value {
    Value::map([
        ("apiVersion", "v1".into()),
        ("kind", "ConfigMap".into()),
        ("metadata", Value::map([("name", NAME.into()), ("namespace", namespace.into())])),
    ])
}

/// What names of policies of expressions begin with.
const PREFIXES: [(&str, Class); 2] = [("gpol__", Class::Generating), ("mpol__", Class::Mutating)];
/// What lists of kinds begin with.
const KINDS: &str = "kinds__";

/// Keys of ConfigMaps have no slash, names of policies no underscore.
fn key(class: Class, policy: &str) -> String {
    let policy = policy.replace('/', "_");
    match PREFIXES.iter().find(|(_, of)| *of == class) {
        Some((prefix, _)) => format!("{prefix}{policy}"),
        None => policy,
    }
}

fn policy_of(key: &str) -> (Class, String) {
    let found = PREFIXES.iter().find_map(|(prefix, class)| Some((*class, key.strip_prefix(prefix)?)));
    let (class, policy) = found.unwrap_or((Class::Rules, key));
    (class, policy.replace('_', "/"))
}

/// Reads the state.
///
/// # Errors
/// The cluster does not answer.
pub fn read(cluster: &Cluster, namespace: &str) -> Result<RulesOnRecord, Failure> {
    let entry = |(key, list): (String, Value)| {
        let rules = list.as_list()?.iter().map(RuleOnRecord::read).collect();
        Some((policy_of(&key), rules))
    };
    let entries = entries(cluster, namespace)?.into_iter().filter(|(key, _)| !key.starts_with(KINDS));
    Ok(entries.filter_map(entry).collect())
}

fn entries(cluster: &Cluster, namespace: &str) -> Result<Vec<(String, Value)>, Failure> {
    let Some(map) = cluster.current(&reference(namespace))? else { return Ok(Vec::new()) };
    let entries = map.get("data").and_then(Value::as_map);
    let entry =
        |(key, text): (&ephor_value::Str, &Value)| Some((key.to_string(), json::parse(text.as_str()?).ok()?));
    Ok(entries.into_iter().flat_map(|entries| entries.iter()).filter_map(entry).collect())
}

/// The kinds of objects that policies of expressions have generated, by the key of the policy.
///
/// # Errors
/// The cluster does not answer.
pub fn read_kinds(cluster: &Cluster, namespace: &str) -> Result<BTreeMap<String, Vec<ObjectKind>>, Failure> {
    let entry = |(key, list): (String, Value)| {
        let policy = key.strip_prefix(KINDS)?.replace('_', "/");
        Some((policy, list.as_list()?.iter().filter_map(read_kind).collect()))
    };
    Ok(entries(cluster, namespace)?.into_iter().filter_map(entry).collect())
}

/// Writes the kinds of objects that a policy of expressions generates.
///
/// # Errors
/// The cluster refuses.
pub fn write_kinds(
    cluster: &Cluster,
    namespace: &str,
    policy: &str,
    kinds: &[ObjectKind],
) -> Result<(), Failure> {
    let key = format!("{KINDS}{}", policy.replace('/', "_"));
    let text = print::json(&Value::list(kinds.iter().map(kind_value).collect()));
    set(cluster, namespace, &key, text.into())
}

/// Writes the rules of a policy; none = the policy is gone.
///
/// # Errors
/// The cluster refuses.
pub fn write(
    cluster: &Cluster,
    namespace: &str,
    class: Class,
    policy: &str,
    rules: &[RuleOnRecord],
) -> Result<(), Failure> {
    let text = match rules {
        [] => Value::Null,
        rules => print::json(&Value::list(rules.iter().map(RuleOnRecord::to_value).collect())).into(),
    };
    set(cluster, namespace, &key(class, policy), text)
}

/// Sets an entry; null removes it.
fn set(cluster: &Cluster, namespace: &str, key: &str, text: Value) -> Result<(), Failure> {
    let data = Value::Map([(key.into(), text.clone())].into_iter().collect());
    let patch = Value::map([("data", data.clone())]);
    match cluster.merge(&reference(namespace), &patch, MANAGER) {
        Err(e) if e.is_not_found() && !text.is_null() => {
            cluster.create(&reference(namespace).with("data", data), MANAGER).map(drop)
        }
        Err(e) if e.is_not_found() => Ok(()),
        done => done.map(drop),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_document::yaml_value;

    use super::*;
    use ephor_admission::background::facts;

    fn known(generate: &str) -> RuleOnRecord {
        let policy = format!(
            "{{kind: ClusterPolicy, metadata: {{name: p}}, spec: {{rules: [{{name: r, match: {{any: [{{resources: {{kinds: [Namespace]}}}}]}}, generate: {generate}}}]}}}}"
        );
        RuleOnRecord::of(facts(&yaml_value(&policy).unwrap()).first().unwrap())
    }

    #[test]
    fn a_rule_is_read_as_it_was_written() {
        let rule =
            known("{apiVersion: v1, kind: ConfigMap, name: a, namespace: b, synchronize: true, data: {}}");
        assert_eq!(RuleOnRecord::read(&rule.to_value()), rule);
        assert_eq!(rule.kinds, [("v1".to_string(), "ConfigMap".to_string())]);
    }

    #[test]
    fn other_content_is_another_rule_at_the_same_place() {
        let first = known("{apiVersion: v1, kind: ConfigMap, name: a, namespace: b, data: {data: {k: v}}}");
        let content = known("{apiVersion: v1, kind: ConfigMap, name: a, namespace: b, data: {data: {k: w}}}");
        let place = known("{apiVersion: v1, kind: ConfigMap, name: c, namespace: b, data: {data: {k: v}}}");
        assert!(first.place == content.place && first.whole != content.whole);
        assert!(first.place != place.place);
    }
}
