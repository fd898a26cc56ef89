//! Where Kyverno 1.19.1 does what its users do not expect, and the output that it gives does not
//! say so.
//!
//! In: policies with their exceptions, and what rules did to an object. Out: lines for people, with
//! the number of Kyverno's issue where there is one. The results themselves stay Kyverno's. Two
//! functions say it of a whole object: [`of_review`] for a request that a webhook answers, where
//! each policy has the object that it leaves, and [`of_outcome`] for a run, where policies in CEL
//! have one for all of them, and which also says what a cluster does otherwise. Semantics:
//! `docs/reference/cli.md`, "What Kyverno is silent about".
//!
//! - `outcome`: what the results of one object hold that Kyverno is silent about

mod outcome;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::policy_set::PolicyOutcome;
use ephor_analysis::tree::Tree;
use ephor_engine::{Effect, RuleOutcome, Status};
use ephor_ir::mutate::{Change, Merge, Patch};
use ephor_ir::rule::{Body, RuleKind};
use ephor_ir::{Exception, Policy, Rule};
use ephor_value::Value;

pub use ephor_functions::Remarks;
pub use outcome::{OfOutcome, mutation_of, of_outcome};

/// A list deeper than this is taken for unchanged. A remark may then be missing.
const MAX_DEPTH: usize = 32;

/// How many names are shown of what a patch removed.
const SHOWN: usize = 5;

/// What users do not expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PitfallKind {
    /// A merge removes items that its patch does not name.
    RemovedItems,
    /// A JSON patch changes nothing.
    IneffectivePatch,
    /// An exception covers a rule and not its variants for pod controllers.
    UncoveredVariants,
    /// A variant for pod controllers builds objects of the types of pods.
    TypesOfVariants,
    /// A policy of a namespace has results about objects of another one.
    ForeignNamespace,
    /// Data are missing that a flag of the command line gives.
    MissingData,
    /// An admission policy of Kubernetes has results about a kind that its own constraints do not
    /// select.
    ConstraintsOfBindings,
    /// A function takes a text for a version that is none.
    NoVersion,
}

impl PitfallKind {
    /// Its name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            PitfallKind::RemovedItems => "removed_items",
            PitfallKind::IneffectivePatch => "ineffective_patch",
            PitfallKind::UncoveredVariants => "uncovered_variants",
            PitfallKind::TypesOfVariants => "types_of_variants",
            PitfallKind::ForeignNamespace => "foreign_namespace",
            PitfallKind::MissingData => "missing_data",
            PitfallKind::ConstraintsOfBindings => "constraints_of_bindings",
            PitfallKind::NoVersion => "no_version",
        }
    }
}

/// Something that users of a policy do not expect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pitfall {
    /// What.
    pub kind: PitfallKind,
    /// The key of the policy, `NAME` or `NAMESPACE/NAME`.
    pub policy: String,
    /// The name of the rule; empty for policies that are one.
    pub rule: String,
    /// A line for people.
    pub text: String,
}

impl Pitfall {
    fn new(kind: PitfallKind, policy: &Policy, rule: &str, text: String) -> Pitfall {
        Pitfall { kind, policy: policy.key(), rule: rule.into(), text }
    }
}

/// What functions said while they were evaluated; of which policies is not known.
pub fn of_remarks(remarks: &Remarks) -> Vec<Pitfall> {
    let of = |text: String| Pitfall {
        kind: PitfallKind::NoVersion,
        policy: String::new(),
        rule: String::new(),
        text,
    };
    remarks.take().into_iter().map(of).collect()
}

impl std::fmt::Display for Pitfall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// What mutations of policies, one after another, show about the object of a review.
pub fn of_review<'o>(policies: impl Iterator<Item = &'o PolicyOutcome>, object: &'o Value) -> Vec<Pitfall> {
    let all: Vec<&PolicyOutcome> = policies.collect();
    let steps = all.iter().map(|outcome| (Some(*outcome), outcome.object.as_ref()));
    let mut out = of_steps(steps, object);
    for outcome in all {
        out.extend(outcome.rules.iter().filter_map(|result| of_error(&outcome.policy, result)));
    }
    out
}

/// What mutations of policies show, one after another: of each what it did, and the object that it
/// leaves if it leaves another one.
fn of_steps<'o>(
    steps: impl Iterator<Item = (Option<&'o PolicyOutcome>, Option<&'o Value>)>,
    object: &'o Value,
) -> Vec<Pitfall> {
    let (mut out, mut current) = (Vec::new(), object);
    for (done, left) in steps {
        out.extend(done.into_iter().flat_map(|done| of_mutations(done, current)));
        current = left.unwrap_or(current);
    }
    out
}

/// What mutations of a policy did to an object that their policy does not say: items that a merge
/// removed, and patches without effect.
fn of_mutations(outcome: &PolicyOutcome, before: &Value) -> Vec<Pitfall> {
    let mut out = Vec::new();
    let mut current = before;
    let mutations = outcome.rules.iter().filter(|result| result.kind == RuleKind::Mutation);
    for result in mutations {
        let Some(Effect::Patched(after)) = result.effect.as_deref() else { continue };
        out.extend(of_mutation(&outcome.policy, result, current, after));
        current = after;
    }
    out
}

fn of_mutation(policy: &Policy, result: &RuleOutcome, before: &Value, after: &Value) -> Option<Pitfall> {
    let kind = before.text_at(&["kind"]);
    let rule = policy.rules_for(kind).iter().find(|rule| rule.name == result.rule)?;
    let Body::Mutate(mutation) = &rule.body else { return None };
    let (name, rule_name) = (policy.key(), &result.rule);
    let found = |kind, text| Some(Pitfall::new(kind, policy, rule_name, text));
    match &mutation.change {
        Change::Patch(Patch::Json(_), _) if result.status == Status::Pass && before == after => found(
            PitfallKind::IneffectivePatch,
            format!("policy {name}, rule {rule_name}: the JSON patch changed nothing in {}", shown(before)),
        ),
        Change::Patch(Patch::Merge(merge), _) if !removes(merge) => {
            let mut lost = Vec::new();
            lost_items(before, after, "", 0, &mut lost);
            let (path, names) = lost.into_iter().next()?;
            let more = names.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let names = names.get(..names.len().min(SHOWN)).unwrap_or_default().join(", ");
            found(
                PitfallKind::RemovedItems,
                format!(
                    "policy {name}, rule {rule_name}: the patch removes {names}{more} from {path} of {}, which it does not name; a list with several anchored items does that (kyverno#16862)",
                    shown(before)
                ),
            )
        }
        _ => None,
    }
}

/// Whether a patch says itself that something goes away.
fn removes(merge: &Merge) -> bool {
    let is_directive = |text: &str| text.contains("$patch") || text.contains("$retainKeys");
    Tree::of(merge).is_none_or(|tree| tree.any_text(&is_directive))
}

/// Lists of which items with names are gone, with these names.
fn lost_items(before: &Value, after: &Value, path: &str, depth: usize, out: &mut Vec<(String, Vec<String>)>) {
    if depth > MAX_DEPTH {
        return;
    }
    match (before, after) {
        (Value::Map(a), Value::Map(b)) => {
            for (key, below) in a.iter() {
                if let Some(after) = b.get(key) {
                    let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
                    lost_items(below, after, &path, depth + 1, out);
                }
            }
        }
        (Value::List(a), Value::List(b)) => {
            let named = |item: &'_ Value| item.text_at(&["name"]).to_string();
            let mut left: HashMap<String, &Value> = HashMap::new();
            for item in b {
                // The first of several of one name is the one that is compared.
                left.entry(named(item)).or_insert(item);
            }
            let items = || a.iter().map(|item| (named(item), item)).filter(|(name, _)| !name.is_empty());
            let lost: Vec<String> =
                items().map(|(name, _)| name).filter(|name| !left.contains_key(name)).collect();
            if !lost.is_empty() {
                out.push((path.into(), lost));
            }
            for (name, item) in items() {
                if let Some(after) = left.get(&name) {
                    lost_items(item, after, path, depth + 1, out);
                }
            }
        }
        _ => {}
    }
}

/// Results of a policy in CEL of a namespace about an object of another one, which the command line
/// evaluates and a cluster does not.
pub fn of_namespace(outcome: &PolicyOutcome, object: &Value) -> Option<Pitfall> {
    let policy = &outcome.policy;
    let own = policy.namespace.as_deref()?;
    let other = object.text_at(&["metadata", "namespace"]);
    let is_reported = outcome.rules.iter().any(|rule| rule.status != Status::Skip);
    (own != other && policy.stage == ephor_ir::facts::Stage::Expressions && is_reported).then(|| {
        let text = match own {
            "" => format!(
                "policy {} is of the namespace that it is created in; a cluster applies it there only, and --as-cluster in `default`",
                policy.name
            ),
            own => format!(
                "policy {} is of namespace {own}; a cluster applies it there only, and --as-cluster does so here",
                policy.key()
            ),
        };
        Pitfall::new(PitfallKind::ForeignNamespace, policy, "", text)
    })
}

/// Exceptions that cover a rule and not what is generated from it for pod controllers.
pub fn of_exceptions(policies: &[Arc<Policy>], exceptions: &[Exception]) -> Vec<Pitfall> {
    let has_variants = |policy: &&Arc<Policy>| policy.all_rules().any(|rule| rule.generated.is_some());
    let keys: Vec<(String, &Arc<Policy>)> =
        policies.iter().filter(has_variants).map(|policy| (policy.key(), policy)).collect();
    let mut out = HashSet::new();
    for exception in exceptions {
        for (key, policy) in &keys {
            let is_covered = |rule: &Rule| exception.covers(key, &rule.name);
            for rule in policy.rules.iter().filter(|rule| rule.generated.is_none() && is_covered(rule)) {
                let of_rule = |other: &&Arc<Rule>| {
                    other.generated.is_some() && other.origin.path == rule.origin.path && !is_covered(other)
                };
                let left = policy.all_rules().filter(of_rule).min_by_key(|other| other.name.len());
                let Some(left) = left else { continue };
                let text = format!(
                    "exception {} names rule {} of policy {key} and not {}, so it does not apply to pod controllers; `*{}` names all",
                    exception.key, rule.name, left.name, rule.name,
                );
                out.insert(Pitfall::new(PitfallKind::UncoveredVariants, policy, &rule.name, text));
            }
        }
    }
    let mut out: Vec<Pitfall> = out.into_iter().collect();
    out.sort_by(|a, b| a.text.cmp(&b.text));
    out
}

/// What a policy in CEL could not read on the command line, where a rule ends with a missing key,
/// and which flag gives it.
pub fn of_missing_data(policy: &Policy, result: &RuleOutcome) -> Option<Pitfall> {
    if result.status == Status::Error && result.message.contains(": failed to parse path: ") {
        let help = "the command line reads no `apiCall` path that ends with the name of a namespace; a cluster answers it";
        let text = format!("policy {}: {help}", policy.key());
        return Some(Pitfall::new(PitfallKind::MissingData, policy, &result.rule, text));
    }
    if result.status != Status::Error || !result.message.contains("no such key") {
        return None;
    }
    let kinds = policy.all_rules().filter_map(|rule| Tree::of(&**rule));
    let texts: Vec<Tree> = kinds.collect();
    let reads = |name: &str| texts.iter().any(|tree| tree.any_text(&|text| text.contains(name)));
    let help = if reads("namespaceObject") {
        "`namespaceObject` is null where nothing is known of the namespace; name it with its labels in `namespaceSelector` of -f FILE"
    } else if reads("resource.Get")
        || reads("resource.List")
        || reads("resource.get")
        || reads("resource.list")
    {
        "`resource.Get` and `resource.List` of policies in CEL find the objects of --context-file, not those of -r"
    } else {
        return None;
    };
    let text = format!("policy {}: {help}", policy.key());
    Some(Pitfall::new(PitfallKind::MissingData, policy, &result.rule, text))
}

/// What helps against an error of a mutation in CEL that was written for pods and is evaluated on a
/// controller of pods.
pub fn of_error(policy: &Policy, result: &RuleOutcome) -> Option<Pitfall> {
    let help = "an error of the variant for pod controllers, in which the types of patches are not renamed (kyverno#17438): leave variants out with `autogen.podControllers.controllers: []`, or write a policy for controllers of its own";
    let text = || format!("policy {}: {help}", policy.key());
    let may_be = !matches!(result.status, Status::Pass | Status::Skip);
    (may_be && is_of_variant(&result.message))
        .then(|| Pitfall::new(PitfallKind::TypesOfVariants, policy, &result.rule, text()))
}

/// Whether a patch builds objects of the types of pods where those of their controllers belong.
fn is_of_variant(message: &str) -> bool {
    message.contains("unexpected type name \"Object.") && message.contains(".template")
}

fn shown(object: &Value) -> String {
    let text = |path: &[&str]| object.text_at(path);
    match text(&["metadata", "namespace"]) {
        "" => format!("{} {}", text(&["kind"]), text(&["metadata", "name"])),
        namespace => format!("{} {namespace}/{}", text(&["kind"]), text(&["metadata", "name"])),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn lost(before: &str, after: &str) -> Vec<(String, Vec<String>)> {
        let of = |text: &str| ephor_document::yaml_value(text).unwrap();
        let mut out = Vec::new();
        lost_items(&of(before), &of(after), "", 0, &mut out);
        out
    }

    #[test]
    fn items_that_are_gone_are_found_by_their_names_at_every_depth() {
        let before = "{spec: {containers: [{name: a, env: [{name: X}, {name: Y}]}, {name: b}]}}";
        assert_eq!(lost(before, before), []);
        let after = "{spec: {containers: [{name: a, env: [{name: Y}]}, {name: b}]}}";
        assert_eq!(lost(before, after), [("spec.containers.env".to_string(), vec!["X".to_string()])]);
        let after = "{spec: {containers: [{name: b}]}}";
        assert_eq!(lost(before, after), [("spec.containers".to_string(), vec!["a".to_string()])]);
        // What is added, or has no name, is not lost.
        assert_eq!(lost("{a: [1, 2]}", "{a: [1, {name: x}]}"), []);
    }

    #[test]
    fn errors_of_variants_differ_from_others() {
        let text = "type mismatch: unexpected type name \"Object.metadata\", expected \"Object.spec.template.metadata\"";
        assert!(is_of_variant(text));
        assert!(!is_of_variant("unexpected type name \"Object.spec\", expected \"Object\""));
    }
}
