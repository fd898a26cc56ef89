//! Values files, `--set` and user information.
//!
//! In: texts of the command line. Out: values by dotted path for every policy, rule and resource,
//! the labels of namespaces, and the user. Semantics: `docs/cli.md`, "Variables".

use std::collections::HashMap;

use crate::engine::request::UserParts;
use crate::policy_set::RuleValues;
use crate::value::path::dotted;
use crate::value::{Map, Str, Value};

/// A value and the path at which it is put in.
pub type Placed = (Vec<Str>, Value);

/// What the values file and `--set` say.
#[derive(Debug, Default)]
pub struct Values {
    /// For every policy and resource.
    pub global: Vec<Placed>,
    /// For a policy and the name of a resource.
    pub resources: HashMap<(String, String), Vec<Placed>>,
    /// From `--set`, stronger than the others.
    pub set: Vec<Placed>,
    /// For a policy and a rule.
    rules: HashMap<(String, String), Vec<Placed>>,
    /// Labels of namespaces.
    pub namespaces: HashMap<String, Map>,
    /// Kinds of objects that stand for subresources of others.
    pub subresources: Vec<Subresource>,
}

/// A kind of object that stands for a subresource of another one.
#[derive(Clone, Debug)]
pub struct Subresource {
    /// Kind of the object that is sent.
    pub kind: String,
    /// Name of the subresource.
    pub name: String,
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

fn placed(m: Option<&Value>) -> Vec<Placed> {
    let entries = m.and_then(Value::as_map).into_iter().flat_map(Map::iter);
    entries.map(|(k, v)| (dotted(k), v.clone())).collect()
}

impl Values {
    /// The values that are put in for a resource, weakest first.
    pub fn for_resource(&self, policy: Option<&str>, resource: &str) -> Vec<Placed> {
        let own = policy.and_then(|p| self.resources.get(&(p.to_string(), resource.to_string())));
        self.global.iter().chain(own.into_iter().flatten()).chain(&self.set).cloned().collect()
    }

    /// The last `request.operation` among values.
    pub fn operation(values: &[Placed]) -> Option<&str> {
        let is_operation = |p: &[Str]| matches!(p, [a, b] if &**a == "request" && &**b == "operation");
        values.iter().rev().find(|(path, _)| is_operation(path)).and_then(|(_, v)| v.as_str())
    }

    /// Reads a values file.
    ///
    /// # Errors
    /// The reference's text.
    pub fn read(path: &str) -> Result<Values, String> {
        let wrap =
            |cause: String| format!("failed to decode yaml (unable to load variable file: {path} ({cause}))");
        let text = std::fs::read_to_string(path).map_err(|e| wrap(read_error(path, &e)))?;
        let doc = crate::document::yaml_value(&text)
            .map_err(|e| wrap(format!("error converting YAML to JSON: {e}")))?;
        const FIELDS: [&str; 8] = [
            "apiVersion",
            "kind",
            "metadata",
            "globalValues",
            "policies",
            "namespaceSelector",
            "namespaces",
            "subresources",
        ];
        strict(&doc, &FIELDS).map_err(wrap)?;
        if doc.text_at(&["apiVersion"]).is_empty() || doc.text_at(&["kind"]).is_empty() {
            println!("\nWARNING: values file ({path}) uses a deprecated schema that will be removed in 1.15");
            return Err(format!(
                "failed to decode yaml (values file {path} uses a deprecated schema — please migrate to the latest format)"
            ));
        }
        let mut values = Values { global: placed(doc.get("globalValues")), ..Values::default() };
        let list = |v: &Value, key: &str| {
            v.get(key).and_then(Value::as_list).map(<[Value]>::to_vec).unwrap_or_default()
        };
        for policy in list(&doc, "policies") {
            strict(&policy, &["name", "resources", "rules"]).map_err(wrap)?;
            let name = policy.text_at(&["name"]).to_string();
            for rule in list(&policy, "rules") {
                strict(&rule, &["name", "values", "foreachValues"]).map_err(wrap)?;
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
                strict(&resource, &["name", "values"]).map_err(wrap)?;
                let key = (name.clone(), resource.text_at(&["name"]).to_string());
                values.resources.entry(key).or_default().extend(placed(resource.get("values")));
            }
        }
        let labels =
            |v: &Value, path: &[&str]| v.at(path).and_then(Value::as_map).cloned().unwrap_or_default();
        for ns in list(&doc, "namespaceSelector") {
            strict(&ns, &["name", "labels"]).map_err(wrap)?;
            values.namespaces.insert(ns.text_at(&["name"]).into(), labels(&ns, &["labels"]));
        }
        for ns in list(&doc, "namespaces") {
            values
                .namespaces
                .insert(ns.text_at(&["metadata", "name"]).into(), labels(&ns, &["metadata", "labels"]));
        }
        for s in list(&doc, "subresources") {
            let name = s.text_at(&["subresource", "name"]);
            values.subresources.push(Subresource {
                kind: s.text_at(&["subresource", "kind"]).into(),
                name: name.rsplit('/').next().unwrap_or_default().into(),
            });
        }
        let operation = Values::operation(&values.global).unwrap_or("");
        if !matches!(operation, "" | "CREATE" | "UPDATE" | "DELETE" | "CONNECT") {
            return Err(format!(
                "invalid request.operation value \"{operation}\", must be one of CREATE, UPDATE, DELETE, CONNECT"
            ));
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

/// The cause of a failed read, in the reference's words.
pub fn read_error(path: &str, e: &std::io::Error) -> String {
    let why = match e.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".to_string(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_string(),
        std::io::ErrorKind::IsADirectory => return format!("read {path}: is a directory"),
        _ => e.to_string(),
    };
    format!("open {path}: {why}")
}

fn strict(v: &Value, known: &[&str]) -> Result<(), String> {
    let keys = v.as_map().into_iter().flat_map(Map::keys);
    match keys.into_iter().find(|k| !known.contains(&&***k)) {
        Some(k) => Err(format!("error unmarshaling JSON: while decoding JSON: json: unknown field \"{k}\"")),
        None => Ok(()),
    }
}

/// Reads a user info file; the second part is a warning.
///
/// # Errors
/// The reference's text.
pub fn user_info(path: &str) -> Result<(UserParts, Option<String>), String> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        format!(
            "failed to load request info (unable to read yaml (unable to read yaml ({})))",
            read_error(path, &e)
        )
    })?;
    let wrap = |cause: String| format!("failed to load request info (failed to decode yaml ({cause}))");
    let doc = crate::document::yaml_value(&text)
        .map_err(|e| wrap(format!("error converting YAML to JSON: {e}")))?;
    strict(&doc, &["apiVersion", "kind", "metadata", "roles", "clusterRoles", "userInfo", "synchronize"])
        .map_err(wrap)?;
    let warning = (doc.text_at(&["apiVersion"]).is_empty() || doc.text_at(&["kind"]).is_empty()).then(|| {
        format!("\nWARNING: user infos file ({path}) uses a deprecated schema that will be removed in 1.15")
    });
    let strings = |key: &str| -> Vec<String> {
        let items = doc.get(key).and_then(Value::as_list).unwrap_or_default();
        items.iter().filter_map(|s| s.as_str().map(String::from)).collect()
    };
    let user = UserParts {
        info: doc.get("userInfo").cloned().unwrap_or_default(),
        roles: strings("roles"),
        cluster_roles: strings("clusterRoles"),
    };
    Ok((user, warning))
}
