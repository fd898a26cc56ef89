//! Rules of ClusterPolicy and Policy, and what cleanup policies share with them.
//!
//! In: the document as it is written. Out: findings about kinds, queries, patterns, conditions,
//! filters and context entries.

use ephor_api::read::{listed, member};
use ephor_value::place::{Path, PathPart, parse};
use ephor_value::{Value, wildcard};

use super::finding::Severity;
use super::kinds::{self, Known};
use super::shape::{BUILT_IN, Names, Shape};
use super::subject::{Spot, Subject, each_text, item, with};
use super::values::Role;
use super::{conditions, patterns, queries, selections, silent};

/// Checks a policy with rules.
pub(super) fn check(subject: &mut Subject<'_>, known: &Known, policy: &Value) {
    let empty = Value::default();
    let spec = policy.get("spec").unwrap_or(&empty);
    deprecated(subject, spec, &parse("spec"), &POLICY_FIELDS);
    for (i, rule) in listed(spec, "rules").iter().enumerate() {
        one(subject, known, rule, &parse(&format!("spec.rules[{i}]")));
    }
}

/// Checks a cleanup policy, whose spec is much like a rule.
pub(super) fn check_cleanup(subject: &mut Subject<'_>, known: &Known, policy: &Value) {
    if let Some(spec) = policy.get("spec") {
        one(subject, known, spec, &parse("spec"));
    }
}

fn one(subject: &mut Subject<'_>, known: &Known, rule: &Value, path: &Path) {
    kinds::check(subject, known, rule, path);
    selections::check_filters(subject, rule, path);
    contradictions(subject, rule, path);
    let object = Shape::of_objects(known.of_match(rule.get("match")));
    let defined = defined(rule);
    let names = Names { types: &known.types, object, element: Shape::Any, defined: Some(&defined) };
    queries::check(subject, rule, path, &names);
    bodies(subject, known, rule, path, &names);
    conditions::check(subject, rule, path);
    unused(subject, rule, path);
    deprecated(subject, rule, path, &RULE_FIELDS);
}

/// The variables that context entries anywhere in a rule define, and attestations by their names.
fn defined(rule: &Value) -> Vec<String> {
    let mut names = Vec::new();
    collect(rule, &mut names);
    names
}

fn collect(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::List(items) => items.iter().for_each(|part| collect(part, names)),
        Value::Map(fields) => {
            for (key, part) in fields.iter() {
                if matches!(&**key, "context" | "attestations") {
                    let entries = part.as_list().unwrap_or_default().iter();
                    names.extend(entries.map(|e| e.text_at(&["name"]).to_string()).filter(|n| !n.is_empty()));
                }
                collect(part, names);
            }
        }
        _ => {}
    }
}

/// The patterns, overlays and generated objects of a rule.
fn bodies(subject: &mut Subject<'_>, known: &Known, rule: &Value, path: &Path, names: &Names<'_>) {
    if let Some(validate) = rule.get("validate") {
        patterns_of(subject, known, validate, &with(path, "validate"), &names.object);
        loops(subject, known, validate, &with(path, "validate"), names, true);
    }
    if let Some(mutate) = rule.get("mutate") {
        let targets = listed(mutate, "targets");
        let of_targets = targets.iter().map(|t| {
            let constant = |key: &'static str| {
                Some(t.text_at(&[key])).filter(|text| !text.contains("{{") && !wildcard::has_wildcard(text))
            };
            known.of_object(constant("apiVersion")?, constant("kind")?)
        });
        let names = match targets.is_empty() {
            true => names.clone(),
            false => {
                let all: Option<Vec<_>> = of_targets.collect();
                Names {
                    object: Shape::of(all.map(|all| all.into_iter().flatten().collect())),
                    ..names.clone()
                }
            }
        };
        let at = with(path, "mutate");
        overlay(subject, known, mutate, &at, &names.object);
        loops(subject, known, mutate, &at, &names, false);
    }
    if let Some(generate) = rule.get("generate") {
        let at = with(path, "generate");
        generated(subject, known, generate, &at);
        for (i, entry) in listed(generate, "foreach").iter().enumerate() {
            generated(subject, known, entry, &item(&at, "foreach", i));
        }
    }
}

fn patterns_of(subject: &mut Subject<'_>, known: &Known, body: &Value, path: &Path, shape: &Shape) {
    if let Some(pattern) = member(body, "pattern") {
        patterns::check(subject, pattern, (shape, Role::Matched), &known.types, &with(path, "pattern"));
    }
    for (i, pattern) in listed(body, "anyPattern").iter().enumerate() {
        patterns::check(subject, pattern, (shape, Role::Matched), &known.types, &item(path, "anyPattern", i));
    }
}

fn overlay(subject: &mut Subject<'_>, known: &Known, body: &Value, path: &Path, shape: &Shape) {
    if let Some(overlay) = member(body, "patchStrategicMerge") {
        let at = with(path, "patchStrategicMerge");
        patterns::check(subject, overlay, (shape, Role::Written), &known.types, &at);
        silent::check_overlay(subject, overlay, &at);
    }
    let patches = body.text_at(&["patchesJson6902"]);
    if !patches.is_empty() {
        patterns::check_paths(subject, patches, shape, &known.types, &with(path, "patchesJson6902"));
    }
}

/// The loops of a body: patterns are about elements, overlays about the whole object.
fn loops(
    subject: &mut Subject<'_>,
    known: &Known,
    body: &Value,
    path: &Path,
    names: &Names<'_>,
    validates: bool,
) {
    for (i, entry) in listed(body, "foreach").iter().enumerate() {
        let at = item(path, "foreach", i);
        let inside = Names { element: queries::element(entry, names), ..names.clone() };
        match validates {
            true => {
                let whole = entry.get("elementScope").and_then(Value::as_bool) == Some(false);
                let shape = if whole { &inside.object } else { &inside.element };
                patterns_of(subject, known, entry, &at, shape);
            }
            false => overlay(subject, known, entry, &at, &inside.object),
        }
        loops(subject, known, entry, &at, &inside, validates);
    }
}

fn generated(subject: &mut Subject<'_>, known: &Known, body: &Value, path: &Path) {
    let shape = Shape::of(known.of_object(body.text_at(&["apiVersion"]), body.text_at(&["kind"])));
    if let Some(data) = member(body, "data") {
        patterns::check(subject, data, (&shape, Role::Created), &known.types, &with(path, "data"));
    }
}

/// Filters of `all` of which no object meets two.
fn contradictions(subject: &mut Subject<'_>, rule: &Value, path: &Path) {
    let Some(block) = rule.get("match") else { return };
    let filters = listed(block, "all");
    for (what, field) in [("kind", "kinds"), ("operation", "operations"), ("namespace", "namespaces")] {
        let lists: Vec<(usize, Vec<&str>)> = filters
            .iter()
            .enumerate()
            .map(|(i, f)| (i, ephor_api::read::texts(f, &["resources", field]).collect::<Vec<_>>()))
            .filter(|(_, list)| !list.is_empty())
            .collect();
        let open = |list: &[&str]| list.iter().any(|t| wildcard::has_wildcard(t) || t.contains("{{"));
        let clash = lists.iter().enumerate().find_map(|(n, (i, a))| {
            let other = lists.iter().take(n).find(|(_, b)| {
                !open(a) && !open(b) && !a.iter().any(|x| b.iter().any(|y| same(field, x, y)))
            })?;
            Some((*i, other.0))
        });
        if let Some((later, earlier)) = clash {
            let at: Path = item(&with(path, "match"), "all", later)
                .into_iter()
                .chain([PathPart::Key("resources".into()), PathPart::Key(field.into())])
                .collect();
            let message =
                format!("the rule can never match: no {what} meets both `all[{earlier}]` and `all[{later}]`");
            let help = Some("write the filters under `any`".to_string());
            subject.report("never-matches", Severity::Warning, &at, Spot::Key, message, help);
            return;
        }
    }
}

/// Whether two entries may select the same thing; entries of kinds by the kind alone.
fn same(field: &str, a: &str, b: &str) -> bool {
    let kind = |text: &str| {
        let selector = ephor_matching::kinds::parse(text);
        (selector.kind, selector.subresource)
    };
    if field == "kinds" { kind(a) == kind(b) } else { a == b }
}

/// Context entries that nothing reads.
fn unused(subject: &mut Subject<'_>, rule: &Value, path: &Path) {
    let mut entries: Vec<(Path, &Value)> = Vec::new();
    contexts(rule, path, &mut entries);
    if entries.is_empty() {
        return;
    }
    let mut texts: Vec<(&str, Path)> = Vec::new();
    each_text(rule, &mut path.clone(), &mut |text, at| texts.push((text, at.clone())));
    let mut keys = String::new();
    all_keys(rule, &mut keys);
    // A variable inside of another one may put any name together.
    if texts.iter().any(|(text, _)| nests(text)) {
        return;
    }
    for (at, entry) in entries {
        let name = entry.text_at(&["name"]);
        let first = name.split('.').next().unwrap_or("");
        let method = entry.text_at(&["apiCall", "method"]);
        if first.is_empty() || BUILT_IN.contains(&first) || method == "POST" {
            continue;
        }
        let own = |place: &Path| place.starts_with(&at) && place.len() == at.len() + 1;
        let is_read =
            texts.iter().any(|(text, place)| !own(place) && mentions(text, first)) || mentions(&keys, first);
        if !is_read {
            let message = format!("nothing reads the context entry `{name}`");
            subject.report(
                "unused-variable",
                Severity::Warning,
                &with(&at, "name"),
                Spot::Value,
                message,
                None,
            );
        }
    }
}

/// Whether a name occurs in a text as a word of its own.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|s| s.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|s| s.chars().next());
        before.is_none_or(|c| !is_word(c)) && after.is_none_or(|c| !is_word(c))
    })
}

fn nests(text: &str) -> bool {
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix("{{") {
            depth += 1;
            if depth > 1 {
                return true;
            }
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix("}}") {
            depth = depth.saturating_sub(1);
            rest = behind;
        } else {
            rest = rest.get(c.len_utf8()..).unwrap_or("");
        }
    }
    false
}

fn all_keys(value: &Value, out: &mut String) {
    match value {
        Value::List(items) => items.iter().for_each(|part| all_keys(part, out)),
        Value::Map(fields) => {
            for (key, part) in fields.iter() {
                if key.contains("{{") {
                    out.push_str(key);
                    out.push('\n');
                }
                all_keys(part, out);
            }
        }
        _ => {}
    }
}

fn contexts<'v>(value: &'v Value, path: &Path, out: &mut Vec<(Path, &'v Value)>) {
    match value {
        Value::List(items) => {
            for (i, part) in items.iter().enumerate() {
                let at: Path = path.iter().cloned().chain([PathPart::Index(i)]).collect();
                contexts(part, &at, out);
            }
        }
        Value::Map(fields) => {
            for (key, part) in fields.iter() {
                if &**key == "context" {
                    let entries = part.as_list().unwrap_or_default().iter().enumerate();
                    out.extend(entries.map(|(i, entry)| (item(path, key, i), entry)));
                } else if matches!(&**key, "foreach" | "targets" | "mutate" | "validate" | "generate") {
                    contexts(part, &with(path, key), out);
                }
            }
        }
        _ => {}
    }
}

/// A field below a policy's spec or a rule, and what replaces it.
type Deprecated = (&'static [&'static str], &'static str);

const POLICY_FIELDS: [Deprecated; 6] = [
    (&["validationFailureAction"], "`validate.failureAction` of the rules"),
    (&["validationFailureActionOverrides"], "`validate.failureActionOverrides` of the rules"),
    (&["failurePolicy"], "`spec.webhookConfiguration.failurePolicy`"),
    (&["webhookTimeoutSeconds"], "`spec.webhookConfiguration.timeoutSeconds`"),
    (&["generateExisting"], "`generate.generateExisting` of the rules"),
    (&["mutateExistingOnPolicyUpdate"], "`mutate.mutateExistingOnPolicyUpdate` of the rules"),
];

const RULE_FIELDS: [Deprecated; 2] = [
    (&["match", "resources"], "filters under `any` or `all`"),
    (&["exclude", "resources"], "filters under `any` or `all`"),
];

fn deprecated(subject: &mut Subject<'_>, value: &Value, path: &Path, fields: &[Deprecated]) {
    for (keys, instead) in fields {
        if value.at(keys).is_some_and(|v| !v.is_null()) {
            let at: Path =
                path.iter().cloned().chain(keys.iter().map(|k| PathPart::Key((*k).into()))).collect();
            let message = format!("`{}` is deprecated", keys.join("."));
            let help = Some(format!("write {instead}"));
            subject.report("deprecated-field", Severity::Note, &at, Spot::Key, message, help);
        }
    }
}
