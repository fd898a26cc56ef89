//! What Kyverno 1.19.1 does with a policy without a word, as far as the policy shows it.
//!
//! In: overlays as they are written, and policies as they are loaded. Out: findings. Semantics:
//! `docs/reference/cli.md`, "What Kyverno is silent about"; `ephor_policies::pitfalls` says the
//! same of objects.

use ephor_lower::cel_policy::has_variants;
use ephor_value::Value;
use ephor_value::place::{Path, PathPart, parse};

use super::finding::Severity;
use super::subject::{Spot, Subject, item, with};

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
    let spec = document.get("spec").filter(|spec| has_variants(spec));
    if spec.is_none() || !document.text_at(&["kind"]).ends_with("MutatingPolicy") {
        return;
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
            Some("leave variants out with `autogen.podControllers.controllers: []`, and write a policy for controllers of its own".into()),
        );
        return;
    }
}

/// A type that patches of pods have, and those of their controllers have under another name.
const OF_PODS: &str = "Object.metadata";
