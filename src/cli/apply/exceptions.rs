//! Exceptions for failures, as `--generate-exceptions` prints them.

use crate::report::yaml::{self, Style};
use crate::value::{Map, Str, Value};

use super::results::Record;

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.into_iter().map(|(k, v)| (Str::from(k), v)).collect::<Map>())
}

fn strings(items: Vec<String>) -> Value {
    Value::list(items.into_iter().map(Value::from).collect())
}

/// An exception that lets one failed result pass, as a YAML document.
pub fn for_failure(r: &Record, resource: &Value, ttl: Option<&str>) -> String {
    let (kind, name) = (resource.text_at(&["kind"]), resource.text_at(&["metadata", "name"]));
    let namespace = resource.text_at(&["metadata", "namespace"]);
    let (mut kinds, mut names, mut rules) =
        (vec![kind.to_string()], vec![name.to_string()], vec![r.rule.clone()]);
    if let Some(base) = r.rule.strip_prefix("autogen-cronjob-") {
        kinds = ["CronJob", "Job", "Pod"].map(String::from).to_vec();
        rules.extend([format!("autogen-{base}"), base.to_string()]);
        names.push(format!("{name}-*"));
    } else if let Some(base) = r.rule.strip_prefix("autogen-") {
        kinds.push("Pod".into());
        rules.push(base.to_string());
        names.push(format!("{name}-*"));
    }
    let mut resources = Map::new();
    resources.insert("kinds", strings(kinds));
    resources.insert("names", strings(names));
    if !namespace.is_empty() {
        resources.insert("namespaces", strings(vec![namespace.to_string()]));
    }
    let mut metadata = Map::new();
    if let Some(ttl) = ttl {
        metadata.insert("labels", map([("cleanup.kyverno.io/ttl", Value::from(ttl))]));
    }
    metadata.insert("name", Value::from(format!("{}-{}-{namespace}-{name}", r.policy, r.rule)));
    let mut spec = Map::new();
    let covered = map([("policyName", Value::from(&*r.policy)), ("ruleNames", strings(rules))]);
    spec.insert("exceptions", Value::list(vec![covered]));
    let filter = map([("resources", Value::Map(resources))]);
    spec.insert("match", map([("all", Value::list(vec![filter]))]));
    if let Some(controls) = &r.controls {
        spec.insert("podSecurity", pod_security(controls));
    }
    let exception = map([
        ("apiVersion", Value::from("kyverno.io/v2beta1")),
        ("kind", Value::from("PolicyException")),
        ("metadata", Value::Map(metadata)),
        ("spec", Value::Map(spec)),
    ]);
    format!("---\n{}\n", yaml::to_string(&exception, Style::Report))
}

/// The controls of a Pod Security failure; images lose everything from the first `:` or `@` on.
fn pod_security(controls: &str) -> Value {
    let parsed = crate::document::json::parse(controls).unwrap_or_default();
    let items = parsed.as_list().unwrap_or_default().iter().map(|c| {
        let mut entry = Map::new();
        entry.insert("controlName", Value::from(c.text_at(&["Name"])));
        let images = c.get("Images").and_then(Value::as_list).unwrap_or_default();
        if !images.is_empty() {
            let cut = |image: &str| format!("{}*", image.split([':', '@']).next().unwrap_or_default());
            entry.insert("images", strings(images.iter().filter_map(Value::as_str).map(cut).collect()));
        }
        Value::Map(entry)
    });
    Value::list(items.collect())
}
