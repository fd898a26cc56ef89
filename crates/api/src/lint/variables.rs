//! Variables: which may be used where, in background scans and elsewhere.
//!
//! Semantics: section 5.3 of the policy object specification; all on the computed rules.

use super::patches::patch_operations;
use super::subject::{ComputedRule, Finding, Outcome, Subject};
use super::substitute::{Allowed, Unresolvable, resolve};
use crate::read::{filters, listed, member};
use crate::schema::policy::SPEC;
use crate::schema::print::typed_json;
use ephor_value::place;
use ephor_value::variables::{find_variables, is_variable};
use ephor_value::{List, Map, Value, print};

const BACKGROUND: &str = "only select variables are allowed in background mode. Set spec.background=false to disable \
                          background mode for this policy rule: ";

/// Checks the variables of all computed rules.
pub fn check(subject: &Subject<'_>) -> Outcome {
    check_users(subject)?;
    subject.rules().try_for_each(|rule| check_one(subject, &rule))
}

/// Background scans have no users, so nothing in the policy may read them.
pub fn check_users(subject: &Subject<'_>) -> Outcome {
    if !subject.background {
        return Ok(());
    }
    users(subject)?;
    user_variables(subject).map_err(|text| Finding::at("spec", format!("{BACKGROUND}{text}")))
}

/// Checks the variables of a computed rule.
pub fn check_one(subject: &Subject<'_>, rule: &ComputedRule<'_>) -> Outcome {
    check_rule(subject, rule, subject.background)
        .map_err(|failed| failure(rule, "policy contains invalid variables: ", failed))
}

/// The checks of a rule that changes existing objects when its policy changes.
pub fn check_on_update(subject: &Subject<'_>, rule: &ComputedRule<'_>) -> Outcome {
    if !is_variable(&print::json(rule.value)) {
        return Ok(());
    }
    let prefix = "update event, policy contains invalid variables: ";
    check_rule(subject, rule, true).map_err(|failed| failure(rule, prefix, failed))?;
    user_variables(subject).map_err(|text| {
        Finding::at(
            "spec",
            format!(
                "only select variables are allowed in on policy update. Set spec.mutateExistingOnPolicyUpdate=false \
                 to disable update policy mode for this policy rule: {text} "
            ),
        )
    })
}

/// Why the variables of a rule are refused, and the place in the rule.
type Failed = (RuleProblem, place::Path);

fn failure(rule: &ComputedRule<'_>, prefix: &str, (problem, below): Failed) -> Finding {
    let mut path = place::parse(&format!("spec.rules[{}]", rule.written));
    path.extend(below);
    Finding { text: format!("{prefix}{problem}"), path }
}

/// Background scans have no users, so no rule may name them.
fn users(subject: &Subject<'_>) -> Outcome {
    for rule in subject.rules() {
        for block in ["match", "exclude"] {
            for (below, filter) in legacy_first(rule.value.get(block)) {
                for name in ["roles", "clusterRoles", "subjects"] {
                    if !listed(filter, name).is_empty() {
                        let below = if below.is_empty() { below } else { format!("/{below}") };
                        let text = format!(
                            "{BACKGROUND}invalid variable used at path: spec/rules[{}]/{block}{below}/{name} ",
                            rule.index
                        );
                        let place = format!("spec.rules[{}].{block}", rule.written);
                        return Err(Finding::at(&place, text));
                    }
                }
            }
        }
    }
    Ok(())
}

fn legacy_first(block: Option<&Value>) -> Vec<(String, &Value)> {
    let mut filters = filters(block);
    filters.sort_by_key(|(below, _)| !below.is_empty());
    filters
}

/// Words that stand for the user of a request.
const USER_WORDS: [&str; 5] = [
    "serviceAccountName",
    "serviceAccountNamespace",
    "request.userInfo",
    "request.roles",
    "request.clusterRoles",
];

/// A variable that reads the user.
#[derive(Debug, thiserror::Error)]
#[error("variable {0} is not allowed ")]
struct UserVariable(String);

/// Why the variables of a rule are refused.
#[derive(Debug, thiserror::Error)]
enum RuleProblem {
    #[error("rule \"{rule}\" should not have variables in {section} section")]
    Place { rule: Box<str>, section: &'static str },
    #[error("invalid variables defined at mutate.targets[{index}]: {cause}")]
    Target {
        index: usize,
        #[source]
        cause: Unresolvable,
    },
    #[error("variable substitution failed for rule {rule}: {cause}")]
    Rule {
        rule: Box<str>,
        #[source]
        cause: Unresolvable,
    },
}

/// The first variable of the printed policy that reads the user. Policies that change existing
/// objects are let through.
fn user_variables(subject: &Subject<'_>) -> Result<(), UserVariable> {
    let has_targets = |rule: &Value| rule.at(&["mutate", "targets"]).is_some_and(|t| !t.is_null());
    if subject.written.iter().any(has_targets) {
        return Ok(());
    }
    let names_user = |text: &str| USER_WORDS.iter().any(|word| text.contains(word));
    if !subject.policy.any_text(&names_user) {
        return Ok(());
    }
    let mut meta = subject.policy.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
    if let Some(Value::Map(annotations)) = meta.get_mut("annotations") {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    let empty = Value::default();
    let spec = typed_json(&SPEC, subject.policy.get("spec").unwrap_or(&empty));
    for text in [print::json(&Value::Map(meta)), spec] {
        for variable in find_variables(&text).into_iter().filter_map(|range| text.get(range)) {
            if USER_WORDS.iter().any(|word| has_word(variable, word)) {
                return Err(UserVariable(variable.to_owned()));
            }
        }
    }
    Ok(())
}

/// Whether `word` occurs in `text` neither behind a `.` nor before a letter, digit or `_`.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|tail| tail.chars().next());
        before.is_some_and(|c| c != '.') && after.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_')
    })
}

fn check_rule(subject: &Subject<'_>, rule: &ComputedRule<'_>, background: bool) -> Result<(), Failed> {
    forbidden_places(subject, rule)?;
    let patterns = context_patterns(rule.value);
    let allowed = |words, patterns| Allowed { words, patterns, parse: subject.checks.parse_jmespath };
    let targets = rule.value.get("mutate").map(|mutate| listed(mutate, "targets")).unwrap_or(&[]);
    let words = if background { &WORDS_BACKGROUND[..] } else { &WORDS[..] };
    let own_patterns = patterns_of(listed(rule.value, "context"));
    for index in 0..targets.len() {
        resolve(&target_part(rule.value, targets, index), &allowed(words, &own_patterns))
            .map_err(|(cause, below)| (RuleProblem::Target { index, cause }, below))?;
    }
    let words = match (targets.is_empty(), background) {
        (true, _) => words,
        (false, true) => &WORDS_TARGETS_BACKGROUND,
        (false, false) => &WORDS_TARGETS,
    };
    resolve(&without_attestation_conditions(rule.value), &allowed(words, &patterns))
        .map_err(|(cause, below)| (RuleProblem::Rule { rule: rule.name().into(), cause }, below))
}

/// What an expression may contain: outside of background scans,
const WORDS: [&str; 8] = [
    "request",
    "serviceAccountName",
    "serviceAccountNamespace",
    "element",
    "elementIndex",
    "@",
    "images",
    "image",
];

/// in background scans,
const WORDS_BACKGROUND: [&str; 7] =
    ["request.", "element", "elementIndex", "@", "images", "images.", "image."];

/// in rules that change existing objects,
const WORDS_TARGETS: [&str; 10] = [
    "request.",
    "serviceAccountName",
    "serviceAccountNamespace",
    "element",
    "elementIndex",
    "@",
    "images",
    "images.",
    "image.",
    "target.",
];

/// and in such rules in background scans.
const WORDS_TARGETS_BACKGROUND: [&str; 8] =
    ["request.", "element", "elementIndex", "@", "images", "images.", "image.", "target."];

fn forbidden_places(subject: &Subject<'_>, rule: &ComputedRule<'_>) -> Result<(), Failed> {
    let opens = |text: &str| text.contains("{{");
    let holds =
        |value: Option<&Value>| value.is_some_and(|v| v.any_text(&opens) && is_variable(&print::json(v)));
    let patches = rule.value.text_at(&["mutate", "patchesJson6902"]);
    let in_patch_path = is_variable(patches)
        && patch_operations(subject, patches).is_some_and(|operations| {
            operations.iter().any(|operation| is_variable(operation.text_at(&["path"])))
        });
    let images = listed(rule.value, "verifyImages");
    let sections = [
        (in_patch_path, "patchesJSON6902 path", "mutate.patchesJson6902"),
        (holds(rule.value.get("exclude")), "exclude", "exclude"),
        (holds(rule.value.get("match")), "match", "match"),
        (images.iter().any(|entry| holds(entry.get("imageReferences"))), "image reference", "verifyImages"),
    ];
    match sections.iter().find(|(found, ..)| *found) {
        Some((_, section, place)) => {
            let problem = RuleProblem::Place { rule: rule.name().into(), section };
            Err((problem, place::parse(place)))
        }
        None => Ok(()),
    }
}

/// The patterns of expressions that context entries make known.
fn context_patterns(rule: &Value) -> Vec<String> {
    let mut contexts = vec![rule];
    for body in ["validate", "mutate", "generate"] {
        contexts.extend(rule.get(body).map(|body| listed(body, "foreach")).unwrap_or(&[]));
    }
    contexts.extend(rule.get("mutate").map(|mutate| listed(mutate, "targets")).unwrap_or(&[]));
    let mut patterns: Vec<String> =
        contexts.into_iter().flat_map(|holder| patterns_of(listed(holder, "context"))).collect();
    for entry in listed(rule, "verifyImages").iter().filter(|e| e.at(&["validate", "deny"]).is_some()) {
        let names = listed(entry, "attestations").iter().map(|a| a.text_at(&["name"]));
        patterns.extend(names.filter(|name| !name.is_empty()).map(|name| format!("{name}*")));
    }
    patterns
}

fn patterns_of(context: &[Value]) -> Vec<String> {
    let mut patterns = Vec::new();
    for entry in context {
        let name = entry.text_at(&["name"]);
        if member(entry, "configMap").is_some() {
            let parts = [".data", ".metadata", ".data.*", ".metadata.*"];
            patterns.extend(parts.iter().map(|part| format!("{name}{part}")));
        } else {
            patterns.push(format!("{name}*"));
        }
    }
    patterns
}

/// The part of a rule that says which objects target `index` means: the fields that name them, with
/// the rule's context and preconditions. The other targets are empty here.
fn target_part(rule: &Value, targets: &[Value], index: usize) -> Value {
    let is_name = |key: &str| matches!(key, "apiVersion" | "kind" | "namespace" | "name" | "uid");
    let named = |target: &Value| {
        let fields = target.as_map().cloned().unwrap_or_default();
        Value::Map(fields.iter().filter(|(k, _)| is_name(k)).map(|(k, v)| (k.clone(), v.clone())).collect())
    };
    let mut list = vec![Value::Map(Map::new()); index];
    list.extend(targets.get(index).map(named));
    let targets: Map = [("targets".into(), Value::list(list))].into_iter().collect();
    let mut part = Map::new();
    for name in ["context", "preconditions"] {
        if let Some(value) = rule.get(name) {
            part.insert(name, value.clone());
        }
    }
    part.insert("mutate", Value::Map(targets));
    Value::Map(part)
}

/// Conditions of attestations speak of the attestation and are not checked.
fn without_attestation_conditions(rule: &Value) -> Value {
    let Some(fields) = rule.as_map().filter(|_| !listed(rule, "verifyImages").is_empty()) else {
        return rule.clone();
    };
    let strip =
        |entry: &Value| edit_list(entry, "attestations", &|attestation| without(attestation, "conditions"));
    let stripped = edit_list(rule, "verifyImages", &strip);
    stripped.as_map().cloned().map_or_else(|| Value::Map(fields.clone()), Value::Map)
}

fn edit_list(holder: &Value, name: &str, edit: &dyn Fn(&Value) -> Value) -> Value {
    let mut fields: Map = holder.as_map().cloned().unwrap_or_default();
    if let Some(Value::List(items)) = fields.get(name) {
        let items: List = items.iter().map(edit).collect();
        fields.insert(name, Value::List(items));
    }
    Value::Map(fields)
}

fn without(holder: &Value, name: &str) -> Value {
    let mut fields = holder.as_map().cloned().unwrap_or_default();
    fields.remove(name);
    Value::Map(fields)
}
