//! Converts each validate rule of the ClusterPolicies below some folders, and compares each result
//! with its origin.
//!
//! The rule stands alone on both sides: all objects of its kinds, created and updated. Arguments:
//! folders or files; `--show` prints what was written and the first differences; `--only TEXT`
//! takes policies whose file has the text in its path; `--autogen` compares with the rules for pod
//! controllers; `--out FOLDER` writes both sides of each rule instead of comparing them;
//! `--kubernetes` converts for Kubernetes' own admission policies and compares nothing.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ephor_compare::{Answer, Options, Side, compare};
use ephor_kubernetes::{Kinds, Types, kinds::guessed_plural};
use ephor_lower::policy::policy_as_lowered;
use ephor_migrate::expressions::{Context, Converted, Target, convert};
use ephor_policies::load::argument;
use ephor_sources::files::SourceText;
use ephor_value::print::json;
use ephor_value::{Str, Value};

/// Folders of policies in CEL, and of what else is not a rule of a ClusterPolicy.
const OTHERS: &[&str] = &["-vpol", "-cel", "-mpol", "-gpol", "-dpol", "-ivpol"];

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    if folder.is_file() {
        out.push(folder.to_path_buf());
        return;
    }
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let is_other = path.to_str().is_some_and(|p| OTHERS.iter().any(|end| p.ends_with(end)));
        if path.is_dir() && !is_other {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
            out.push(path);
        }
    }
}

fn documents(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let all = text.split("\n---").filter_map(|one| ephor_document::yaml_value(one).ok());
    all.filter(|v| v.text_at(&["kind"]) == "ClusterPolicy" && v.at(&["spec", "rules"]).is_some()).collect()
}

/// The kinds that a rule names, as its author writes them, and the rule for all of their objects.
fn plain_rule(rule: &Value) -> (Vec<String>, Value) {
    let mut kinds = Vec::new();
    collect(rule.get("match").unwrap_or(&Value::Null), &mut kinds);
    let list = Value::list(kinds.iter().map(|k| Value::from(k.as_str())).collect());
    let operations = Value::list(vec!["CREATE".into(), "UPDATE".into()]);
    let resources = Value::map([("kinds", list), ("operations", operations)]);
    let any = Value::list(vec![Value::map([("resources", resources)])]);
    let mut plain = rule.as_map().cloned().unwrap_or_default();
    plain.remove("exclude");
    plain.insert("match", Value::map([("any", any)]));
    let validate = rule.get("validate").cloned().unwrap_or_default();
    plain.insert("validate", validate.with("allowExistingViolations", false.into()));
    (kinds, Value::Map(plain))
}

fn collect(v: &Value, kinds: &mut Vec<String>) {
    match v {
        Value::Map(m) => {
            for (key, value) in m.iter() {
                match (&**key, value) {
                    ("kinds", Value::List(items)) => {
                        for kind in items.iter().filter_map(Value::as_str) {
                            if !kinds.iter().any(|known| known == kind) {
                                kinds.push(kind.to_string());
                            }
                        }
                    }
                    (_, value) => collect(value, kinds),
                }
            }
        }
        Value::List(items) => items.iter().for_each(|item| collect(item, kinds)),
        _ => {}
    }
}

/// Group, version, kind and resource of a kind as policies write it.
fn resource(kind: &str) -> [String; 4] {
    let parts: Vec<&str> = kind.split('/').collect();
    let (group, version, kind) = match parts[..] {
        [group, version, kind] => (group, version, kind),
        [version, kind] if version.starts_with('v') => ("*", version, kind),
        [group, kind] => (group, "*", kind),
        _ => ("*", "*", kind),
    };
    let found = Kinds::built_in()
        .named(kind)
        .find(|r| (group == "*" || *r.group == *group) && (version == "*" || *r.version == *version));
    match found {
        Some(r) => [r.group.to_string(), r.version.to_string(), r.kind.to_string(), r.plural.to_string()],
        None => [group.into(), version.into(), kind.into(), guessed_plural(kind)],
    }
}

fn texts(items: &[impl AsRef<str>]) -> Value {
    Value::list(items.iter().map(|s| Value::from(s.as_ref())).collect())
}

fn policy_of(name: &str, kinds: &[[String; 4]], converted: &Converted, controllers: Option<&str>) -> Value {
    let rule = |[group, version, _, plural]: &[String; 4]| {
        Value::map([
            ("apiGroups", texts(&[group])),
            ("apiVersions", texts(&[version])),
            ("operations", texts(&["CREATE", "UPDATE"])),
            (
                "resources",
                match plural.as_str() {
                    "pods" => texts(&["pods", "pods/ephemeralcontainers"]),
                    plural => texts(&[plural]),
                },
            ),
        ])
    };
    let named = |all: &[ephor_migrate::expressions::NamedExpression]| {
        Value::list(
            all.iter()
                .map(|n| {
                    Value::map([
                        ("name", Value::from(n.name.as_str())),
                        ("expression", n.expression.as_str().into()),
                    ])
                })
                .collect(),
        )
    };
    let validations = converted.validations.iter().map(|v| {
        let mut map = Value::map([("expression", v.expression.as_str().into())]);
        if let Some(message) = &v.message {
            map = map.with("message", Value::Str(message.clone()));
        }
        if let Some(text) = &v.message_expression {
            map = map.with("messageExpression", text.as_str().into());
        }
        map
    });
    let mut spec = Value::map([
        ("validationActions", texts(&["Deny"])),
        ("matchConstraints", Value::map([("resourceRules", Value::list(kinds.iter().map(rule).collect()))])),
        ("variables", named(&converted.variables)),
        ("validations", Value::list(validations.collect())),
    ]);
    if !converted.conditions.is_empty() {
        spec = spec.with("matchConditions", named(&converted.conditions));
    }
    if let Some(controllers) = controllers {
        let own: Vec<&str> =
            controllers.split(',').map(str::trim).filter(|c| *c != "none" && !c.is_empty()).collect();
        let plural = |c: &&str| guessed_plural(c);
        let own: Vec<String> = own.iter().map(plural).collect();
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let pods = Value::map([("controllers", texts(&own))]);
        spec = spec.with("autogen", Value::map([("podControllers", pods)]));
    }
    Value::map([
        ("apiVersion", "policies.kyverno.io/v1".into()),
        ("kind", "ValidatingPolicy".into()),
        ("metadata", Value::map([("name", name.into())])),
        ("spec", spec),
    ])
}

fn side(document: &Value, name: &str) -> Result<Side, String> {
    let source = SourceText { name: name.into(), text: json(document) };
    Side::new(argument(&[source]), name).map_err(|cause| cause.to_string())
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let shows = args.iter().any(|a| a == "--show");
    let target = match args.iter().any(|a| a == "--kubernetes") {
        true => Target::Kubernetes,
        false => Target::Kyverno,
    };
    let autogen = args.iter().any(|a| a == "--autogen");
    let only = args.iter().position(|a| a == "--only").and_then(|i| args.get(i + 1)).cloned();
    let out = args.iter().position(|a| a == "--out").and_then(|i| args.get(i + 1)).cloned();
    let named = |a: &&String| Some(*a) == only.as_ref() || Some(*a) == out.as_ref();
    let folders = args.iter().filter(|a| !a.starts_with("--") && !named(a));
    let mut paths = Vec::new();
    folders.for_each(|folder| files(Path::new(folder), &mut paths));
    paths.retain(|p| only.as_ref().is_none_or(|text| p.to_str().is_some_and(|p| p.contains(text.as_str()))));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = |what: &str| *counts.entry(what.into()).or_default() += 1;
    for path in paths {
        for document in documents(&path) {
            let Some(rules) = document.at(&["spec", "rules"]).and_then(Value::as_list) else { continue };
            for written in rules.iter().filter(|r| r.get("validate").is_some()) {
                if written.at(&["validate", "cel"]).is_some()
                    || written.at(&["validate", "manifests"]).is_some()
                {
                    continue;
                }
                let start = Instant::now();
                let policy = document.text_at(&["metadata", "name"]);
                let (kinds, rule) = plain_rule(written);
                let spec = Value::map([
                    ("validationFailureAction", "Enforce".into()),
                    ("rules", Value::list(vec![rule])),
                ]);
                let mut metadata = document.get("metadata").cloned().unwrap_or_default();
                if !autogen {
                    let none = Value::map([("pod-policies.kyverno.io/autogen-controllers", "none".into())]);
                    metadata = metadata.with("annotations", none);
                }
                let old = Value::map([
                    ("apiVersion", "kyverno.io/v1".into()),
                    ("kind", "ClusterPolicy".into()),
                    ("metadata", metadata),
                    ("spec", spec),
                ]);
                let resources: Vec<[String; 4]> = kinds.iter().map(|k| resource(k)).collect();
                let known =
                    resources.iter().map(|[g, v, k, _]| [g, v, k].map(|s| Str::from(s.as_str()))).collect();
                let cx = Context::new(target, known, Types::built_in().clone());
                let lowered = policy_as_lowered(&old);
                let name = format!("{policy}/{}", written.text_at(&["name"]));
                let Some(rule) = lowered.rules.first() else { continue };
                let converted = match convert(rule, &cx) {
                    Ok(converted) => converted,
                    Err(refusal) => {
                        count("refused");
                        println!("{name}\trefused\t{refusal}");
                        continue;
                    }
                };
                if shows {
                    for n in &converted.conditions {
                        println!("  if {}", n.expression.replace('\n', "\n     "));
                    }
                    for n in &converted.variables {
                        println!("  let {} = {}", n.name, n.expression.replace('\n', "\n    "));
                    }
                    for v in &converted.validations {
                        println!("  - {}", v.expression.replace('\n', "\n    "));
                        if let Some(text) = &v.message_expression {
                            println!("    message: {text}");
                        }
                    }
                }
                let annotation =
                    old.at(&["metadata", "annotations", "pod-policies.kyverno.io/autogen-controllers"]);
                let new = policy_of(policy, &resources, &converted, annotation.and_then(Value::as_str));
                if target == Target::Kubernetes {
                    count("converted");
                    continue;
                }
                if let Some(out) = &out {
                    let name = name.replace('/', "--");
                    std::fs::write(Path::new(out).join(format!("{name}.old.json")), json(&old)).unwrap();
                    std::fs::write(Path::new(out).join(format!("{name}.new.json")), json(&new)).unwrap();
                    continue;
                }
                let sides = (side(&old, "old.yaml"), side(&new, "new.yaml"));
                let (old_side, new_side) = match sides {
                    (Ok(a), Ok(b)) => (a, b),
                    (Err(why), _) | (_, Err(why)) => {
                        count("unusable");
                        println!("{name}\tunusable\t{why}");
                        continue;
                    }
                };
                let options = Options {
                    deadline: Some(Instant::now() + Duration::from_secs(10)),
                    ..Options::default()
                };
                let found = compare(&old_side, &new_side, options);
                let why = match &found.answer {
                    Answer::Tested(why) | Answer::ProvedRelative(why) => why.join("; "),
                    Answer::Incomparable(why) => why.clone(),
                    _ => String::new(),
                };
                count(found.answer.name());
                println!("{name}\t{}\t{} ms\t{why}", found.answer.name(), start.elapsed().as_millis());
                for d in found.differences.iter().take(if shows { 3 } else { 1 }) {
                    println!(
                        "    {} {} {}: {} -> {} {}",
                        d.kind.name(),
                        d.universe.name(),
                        d.environment.name(),
                        d.old.verdict.name(),
                        d.new.verdict.name(),
                        json(&d.object)
                    );
                    if shows {
                        println!("      old: {}\n      new: {}", d.old.message, d.new.message);
                    }
                }
            }
        }
    }
    println!("{counts:?}");
}
