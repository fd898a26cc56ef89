//! Exceptions for failures, as `--generate-exceptions` prints them.

use ephor_document::write::{self as yaml, Style};
use ephor_value::print::json;
use ephor_value::{Map, Value};

use crate::cli::apply::render::results::FailedRule;

const KIND: &str = "PolicyException";
const VERSION: &str = "kyverno.io/v2beta1";

fn strings(items: Vec<String>) -> Value {
    Value::list(items.into_iter().map(Value::from).collect())
}

/// An exception that lets one failed result pass, as a document in YAML or JSON.
pub fn for_failure(r: &FailedRule, ttl: Option<&str>, as_json: bool) -> String {
    let resource = &r.resource;
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
    let resources = Value::map([
        ("kinds", strings(kinds)),
        ("names", strings(names)),
        // Kyverno also writes the empty namespace of objects that are in none.
        ("namespaces", strings(vec![namespace.to_string()])),
    ]);
    let covered = Value::map([("policyName", Value::from(&*r.policy)), ("ruleNames", strings(rules))]);
    let exceptions = Value::list(vec![covered]);
    let filter = Value::map([("resources", resources)]);
    let matched = Value::map([("all", Value::list(vec![filter]))]);
    let controls = r.controls.as_deref().map(pod_security);
    let own_name = Value::from(format!("{}-{}-{namespace}-{name}", r.policy, r.rule));
    let labels = ttl.map(|ttl| Value::map([("cleanup.kyverno.io/ttl", Value::from(ttl))]));
    if as_json {
        let member =
            |key: &str, v: Option<&Value>| v.map_or(String::new(), |v| format!(",\"{key}\":{}", json(v)));
        return format!(
            "---\n{{\"kind\":\"{KIND}\",\"apiVersion\":\"{VERSION}\",\"metadata\":{{\"name\":{}{}}},\"spec\":{{\"match\":{}{}{}}}}}\n",
            json(&own_name),
            member("labels", labels.as_ref()),
            json(&matched),
            member("exceptions", Some(&exceptions)),
            member("podSecurity", controls.as_ref()),
        );
    }
    let mut metadata = Map::new();
    if let Some(labels) = labels {
        metadata.insert("labels", labels);
    }
    metadata.insert("name", own_name);
    let mut spec = Map::new();
    spec.insert("exceptions", exceptions);
    spec.insert("match", matched);
    if let Some(controls) = controls {
        spec.insert("podSecurity", controls);
    }
    let exception = Value::map([
        ("apiVersion", Value::from(VERSION)),
        ("kind", Value::from(KIND)),
        ("metadata", Value::Map(metadata)),
        ("spec", Value::Map(spec)),
    ]);
    format!("---\n{}\n", yaml::to_string(&exception, Style::Report))
}

/// The controls of a Pod Security failure; images lose everything from the first `:` or `@` on.
fn pod_security(controls: &str) -> Value {
    let parsed = ephor_document::json::parse(controls).unwrap_or_default();
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
