//! What Kyverno 1.19.1 does with a policy without a word, as far as the policy shows it.
//!
//! In: overlays as they are written, and policies as they are loaded. Out: findings. Semantics:
//! `docs/reference/cli.md`, "What Kyverno is silent about"; `ephor_policies::pitfalls` says the
//! same of objects.

use ephor_api::read::{filters, kinds_of, listed};
use ephor_lower::cel_policy::has_variants;
use ephor_value::Value;
use ephor_value::place::{Path, PathPart, parse};

use super::finding::Severity;
use super::subject::{Remedy, Spot, Subject, item, with};

/// A list nested deeper is not read.
const MAX_DEPTH: usize = 64;

/// Lists of an overlay of which several items have a condition: what is merged into one of them
/// removes what the others leave.
pub(super) fn check_overlay(subject: &mut Subject<'_>, overlay: &Value, path: &Path) {
    lists(subject, overlay, path, 0);
}

fn lists(subject: &mut Subject<'_>, part: &Value, path: &Path, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match part {
        Value::Map(fields) => {
            for (key, below) in fields.iter() {
                let at: Path = path.iter().cloned().chain([PathPart::Key((**key).into())]).collect();
                lists(subject, below, &at, depth + 1);
            }
        }
        Value::List(items) => {
            let at = |i: usize| -> Path { path.iter().cloned().chain([PathPart::Index(i)]).collect() };
            let conditional: Vec<usize> =
                items.iter().enumerate().filter(|(_, item)| has_condition(item)).map(|(i, _)| i).collect();
            if let [_, second, ..] = *conditional {
                subject.report(
                    "merge-removes-items",
                    Severity::Warning,
                    &at(second),
                    Spot::Value,
                    "several items of one list have an anchor of a condition: the merge removes items and fields that the patch does not name (kyverno#16862)",
                    Some("write a rule for each item, or `foreach` over the list".into()),
                );
            }
            for (i, below) in items.iter().enumerate() {
                lists(subject, below, &at(i), depth + 1);
            }
        }
        _ => {}
    }
}

/// Whether an item of an overlay is for some items of an object alone.
fn has_condition(item: &Value) -> bool {
    let is_condition = |key: &str| key.ends_with(')') && (key.starts_with('(') || key.starts_with("<("));
    item.as_map().is_some_and(|fields| fields.iter().any(|(key, _)| is_condition(key)))
}

/// Mutations in CEL that are generated for controllers of pods, in which the names of types are not
/// renamed.
pub(super) fn check_variants(subject: &mut Subject<'_>, document: &Value) {
    let Some(spec) = document.get("spec").filter(|spec| has_variants(spec)) else { return };
    match document.text_at(&["kind"]) {
        kind if kind.ends_with("MutatingPolicy") => {}
        kind if kind.ends_with("ValidatingPolicy") && !kind.contains("Image") => {
            return check_messages(subject, spec);
        }
        _ => return,
    }
    let mutations = document.at(&["spec", "mutations"]).and_then(Value::as_list).unwrap_or_default();
    for (i, mutation) in mutations.iter().enumerate() {
        let expression = mutation.text_at(&["applyConfiguration", "expression"]);
        let Some(byte) = expression.find(OF_PODS) else { continue };
        let at = with(&with(&item(&parse("spec"), "mutations", i), "applyConfiguration"), "expression");
        let offset = expression.get(..byte).map_or(0, |before| before.chars().count());
        subject.report(
            "variant-type-name",
            Severity::Error,
            &at,
            Spot::Inside(offset, OF_PODS.len()),
            format!(
                "the variant of this mutation for controllers of pods cannot be evaluated: types of patches are not renamed in it, and `{OF_PODS}` is none of theirs (kyverno#17438)",
            ),
            without_variants(subject),
        );
        return;
    }
}

fn without_variants(subject: &Subject<'_>) -> Remedy {
    let help = "leave variants out with `autogen.podControllers.controllers: []`, and write a policy for controllers of its own";
    let lines = ["autogen:", "  podControllers:", "    controllers: []"];
    let title = "leave the variants for controllers of pods out".to_string();
    let fix = subject.insert_fields(&parse("spec"), &lines, title);
    Remedy { help: Some(help.into()), fixes: fix.into_iter().collect() }
}

/// What pods have in their metadata and templates of pods do not.
const OF_OBJECTS: [&str; 9] = [
    "name",
    "uid",
    "generateName",
    "creationTimestamp",
    "resourceVersion",
    "generation",
    "ownerReferences",
    "managedFields",
    "selfLink",
];

/// Messages that read what the variant for controllers of pods has no value for.
fn check_messages(subject: &mut Subject<'_>, spec: &Value) {
    const READ: &str = "object.metadata.";
    let validations = spec.get("validations").and_then(Value::as_list).unwrap_or_default();
    for (i, validation) in validations.iter().enumerate() {
        let message = validation.text_at(&["messageExpression"]);
        for (byte, _) in message.match_indices(READ) {
            let before = message.get(..byte).and_then(|text| text.chars().next_back());
            let rest = message.get(byte + READ.len()..).unwrap_or_default();
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let name = rest.get(..end).unwrap_or_default();
            let is_word = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
            // `has()` guards it, or a test in the text does.
            let is_guarded = message.contains(&format!("has({READ}{name})"));
            if is_word || is_guarded || !OF_OBJECTS.contains(&name) {
                continue;
            }
            let at = with(&item(&parse("spec"), "validations", i), "messageExpression");
            let whole = byte..byte + READ.len() + end;
            let new = format!("object.?metadata.?{name}.orValue('')");
            let title = format!("write `{new}`");
            let fix = subject.fix_inside(&at, message, &[(whole, new)], title.clone(), false);
            let offset = message.get(..byte).map_or(0, |text| text.chars().count());
            subject.report(
                "variant-message",
                Severity::Warning,
                &at,
                Spot::Inside(offset, READ.len() + end),
                format!(
                    "the variant of this message for controllers of pods reads `{name}` of the template, which has none: the message is the text of an error"
                ),
                Remedy { help: Some(title), fixes: fix.into_iter().collect() },
            );
        }
    }
}

/// The annotation that says for which controllers a policy has variants.
const CONTROLLERS: &str = "pod-policies.kyverno.io/autogen-controllers";

/// Rules with JSON patches about pods: no variants are generated for them.
pub(super) fn check_json_patches(subject: &mut Subject<'_>, policy: &Value) {
    let annotations = policy.at(&["metadata", "annotations"]);
    if annotations.is_some_and(|all| all.get(CONTROLLERS).is_some()) {
        return;
    }
    for (i, rule) in listed(policy.get("spec").unwrap_or(&Value::Null), "rules").iter().enumerate() {
        let Some(mutate) = rule.get("mutate").filter(|mutate| listed(mutate, "targets").is_empty()) else {
            continue;
        };
        let mut kinds =
            filters(rule.get("match")).into_iter().flat_map(|(_, filter)| kinds_of(filter)).peekable();
        if kinds.peek().is_none() || !kinds.all(|kind| matches!(kind, "Pod" | "v1/Pod")) {
            continue;
        }
        let at = with(&item(&parse("spec"), "rules", i), "mutate");
        let loops = listed(mutate, "foreach").iter().enumerate();
        let all = std::iter::once((at.clone(), mutate))
            .chain(loops.map(|(j, entry)| (item(&at, "foreach", j), entry)));
        for (path, body) in all {
            let patches = body.text_at(&["patchesJson6902"]);
            let Some(byte) = patches.find("/spec/") else { continue };
            let offset = patches.get(..byte).map_or(0, |text| text.chars().count());
            let length = patches
                .get(byte..)
                .map_or(1, |rest| rest.find(char::is_whitespace).map_or(rest.chars().count(), |end| end));
            subject.report(
                "pods-only",
                Severity::Note,
                &with(&path, "patchesJson6902"),
                Spot::Inside(offset, length),
                "a rule with JSON patches has no variants for controllers of pods: it does nothing for them, and changes their pods when these are created",
                Some("write `patchStrategicMerge`, or a rule of its own for controllers".to_string()),
            );
        }
    }
}

/// A type that patches of pods have, and those of their controllers have under another name.
const OF_PODS: &str = "Object.metadata";
