//! What of a rule decides when it has work for controllers.
//!
//! In: a policy as it is written. Out: [`RuleFacts`] of each rule that generates objects, or changes
//! others than that of the request. Nothing else reads this of documents, or which kind of policies
//! it is; callers read the facts. Semantics: `docs/reference/cluster.md`, "Background work".

use ephor_api::autogen;
use ephor_api::read::{filters, items, texts};
use ephor_value::{Str, Value};

/// What of a rule decides when it has work for controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFacts {
    /// Its name.
    pub rule: Str,
    /// What it does.
    pub kind: WorkKind,
    /// Whether what it generates is synchronised.
    pub synchronize: bool,
    /// Whether that outlives the rule.
    pub orphans: bool,
    /// Whether it also acts on triggers that exist when the policy changes.
    pub on_policy_change: bool,
    /// Whether requests of the controllers' own account do not trigger it.
    pub skips_own_requests: bool,
    /// Whether it matches deletions by name.
    pub on_deletion: bool,
    /// Whether it writes by server-side apply.
    pub applies: bool,
    /// What it generates or changes: group and version, kind with its subresource, as written.
    pub kinds: Vec<(String, String)>,
    /// What it is written as: where its objects are, without their content.
    pub place: Value,
    /// The rule as it is written.
    pub written: Value,
}

/// What work does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkKind {
    /// It generates objects.
    Generate,
    /// It changes objects that exist.
    Mutate,
    /// Its expressions generate objects.
    CelGenerate,
    /// Its expressions change objects that exist.
    CelMutate,
}

/// Kinds of policies with work for controllers; names are unique in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// ClusterPolicies and Policies.
    Rules,
    /// GeneratingPolicies, namespaced ones included.
    Generating,
    /// MutatingPolicies, namespaced ones included.
    Mutating,
}

impl WorkKind {
    /// The kind of the policies that have such work.
    pub fn class(self) -> Class {
        match self {
            WorkKind::Generate | WorkKind::Mutate => Class::Rules,
            WorkKind::CelGenerate => Class::Generating,
            WorkKind::CelMutate => Class::Mutating,
        }
    }
}

impl Class {
    /// The kind of a policy, by its kind as it is written.
    fn of(kind: &str) -> Option<Class> {
        match kind {
            "ClusterPolicy" | "Policy" => Some(Class::Rules),
            "GeneratingPolicy" | "NamespacedGeneratingPolicy" => Some(Class::Generating),
            "MutatingPolicy" | "NamespacedMutatingPolicy" => Some(Class::Mutating),
            _ => None,
        }
    }

    /// Group and kind of a policy, by its namespace.
    pub fn kind(self, namespace: &str) -> (&'static str, &'static str) {
        match (self, namespace) {
            (Class::Rules, "") => ("kyverno.io", "ClusterPolicy"),
            (Class::Rules, _) => ("kyverno.io", "Policy"),
            (Class::Generating, "") => ("policies.kyverno.io", "GeneratingPolicy"),
            (Class::Generating, _) => ("policies.kyverno.io", "NamespacedGeneratingPolicy"),
            (Class::Mutating, "") => ("policies.kyverno.io", "MutatingPolicy"),
            (Class::Mutating, _) => ("policies.kyverno.io", "NamespacedMutatingPolicy"),
        }
    }
}

/// Parts of a generate rule that may change without another place of its objects.
const CONTENT: [&str; 5] =
    ["synchronize", "orphanDownstreamOnPolicyDelete", "data", "foreach", "generateExisting"];

/// The facts about the rules of a policy that have work for controllers, as it is written.
pub fn facts(policy: &Value) -> Vec<RuleFacts> {
    match Class::of(policy.text_at(&["kind"])) {
        Some(Class::Generating) => vec![of_expressions(policy, WorkKind::CelGenerate)],
        Some(Class::Mutating) if is_enabled(policy, "mutateExisting") => {
            vec![of_expressions(policy, WorkKind::CelMutate)]
        }
        Some(Class::Mutating) => Vec::new(),
        _ => items(policy.at(&["spec", "rules"])).iter().filter_map(|rule| of_rule(policy, rule)).collect(),
    }
}

fn of_rule(policy: &Value, rule: &Value) -> Option<RuleFacts> {
    let flag = |path: &[&str]| rule.at(path).and_then(Value::as_bool);
    let of_policy = |key: &str| policy.at(&["spec", key]).and_then(Value::as_bool).unwrap_or(false);
    let generate = rule.get("generate").filter(|g| g.as_map().is_some_and(|m| !m.is_empty()));
    let targets = items(rule.at(&["mutate", "targets"]));
    let (kind, kinds, on_policy_change) = match generate {
        Some(generate) => {
            let on_policy_change = flag(&["generate", "generateExisting"]);
            (
                WorkKind::Generate,
                generated_kinds(generate),
                on_policy_change.unwrap_or(of_policy("generateExisting")),
            )
        }
        None if !targets.is_empty() => {
            let on_policy_change = flag(&["mutate", "mutateExistingOnPolicyUpdate"]);
            let on_policy_change = on_policy_change.unwrap_or(of_policy("mutateExistingOnPolicyUpdate"));
            (WorkKind::Mutate, targets.iter().map(kind_of).collect(), on_policy_change)
        }
        None => return None,
    };
    let place = generate.and_then(Value::as_map).cloned().unwrap_or_default();
    let place = place.iter().filter(|(key, _)| !CONTENT.contains(&&***key));
    let on_deletion = filters(rule.get("match")).iter().any(|(_, filter)| {
        texts(filter, &["resources", "operations"]).any(|operation| operation == "DELETE")
    });
    Some(RuleFacts {
        rule: rule.text_at(&["name"]).into(),
        kind,
        synchronize: flag(&["generate", "synchronize"]).unwrap_or(false),
        orphans: flag(&["generate", "orphanDownstreamOnPolicyDelete"]).unwrap_or(false),
        on_policy_change,
        skips_own_requests: flag(&["skipBackgroundRequests"]).unwrap_or(true),
        on_deletion,
        applies: of_policy("useServerSideApply"),
        kinds,
        place: Value::Map(place.map(|(key, value)| (key.clone(), value.clone())).collect()),
        written: rule.clone(),
    })
}

/// Whether a policy of expressions has something switched on.
fn is_enabled(policy: &Value, key: &str) -> bool {
    policy.at(&["spec", "evaluation", key, "enabled"]).and_then(Value::as_bool).unwrap_or(false)
}

/// Whether a policy of expressions leaves out what the controllers themselves send.
pub fn skips_own_requests(policy: &Value) -> bool {
    let flag = policy.at(&["spec", "evaluation", "skipBackgroundRequests"]);
    flag.and_then(Value::as_bool).unwrap_or(true)
}

/// The facts about a policy of expressions: its one rule has its name. What it generates or changes
/// only its expressions say.
fn of_expressions(policy: &Value, kind: WorkKind) -> RuleFacts {
    let generates = kind == WorkKind::CelGenerate;
    let by_server = policy.at(&["spec", "useServerSideApply"]).and_then(Value::as_bool).unwrap_or(false);
    let rules = items(policy.at(&["spec", "matchConstraints", "resourceRules"]));
    RuleFacts {
        rule: policy.text_at(&["metadata", "name"]).into(),
        kind,
        synchronize: generates && is_enabled(policy, "synchronize"),
        orphans: generates && is_enabled(policy, "orphanDownstreamOnPolicyDelete"),
        on_policy_change: !generates || is_enabled(policy, "generateExisting"),
        skips_own_requests: skips_own_requests(policy),
        on_deletion: rules
            .iter()
            .any(|rule| texts(rule, &["operations"]).any(|operation| operation == "DELETE")),
        applies: generates && by_server,
        kinds: Vec::new(),
        place: Value::Null,
        written: policy.get("spec").cloned().unwrap_or_default(),
    }
}

fn kind_of(described: &Value) -> (String, String) {
    (described.text_at(&["apiVersion"]).into(), described.text_at(&["kind"]).into())
}

/// The kinds of objects that a rule generates.
fn generated_kinds(generate: &Value) -> Vec<(String, String)> {
    let mut kinds = Vec::new();
    for described in std::iter::once(generate).chain(items(generate.get("foreach"))) {
        let listed = texts(described, &["cloneList", "kinds"]);
        kinds.extend(listed.filter_map(|kind| kind.rsplit_once('/')).map(|(v, k)| (v.into(), k.into())));
        let own = kind_of(described);
        if !own.1.is_empty() {
            kinds.push(own);
        }
    }
    kinds.sort();
    kinds.dedup();
    kinds
}

impl RuleFacts {
    /// The operation by which an object that exists would trigger it.
    pub fn operation(&self) -> &'static str {
        let rules = items(self.written.at(&["matchConstraints", "resourceRules"]));
        let updates = |rule: &Value| texts(rule, &["operations"]).any(|o| matches!(o, "UPDATE" | "*"));
        match self.kind == WorkKind::CelMutate && rules.iter().any(updates) {
            true => "UPDATE",
            false => "CREATE",
        }
    }

    /// The facts about a rule, by the name that results have; a generated rule has those of the one
    /// it was generated from.
    pub fn find<'f>(all: &'f [RuleFacts], rule: &str) -> Option<&'f RuleFacts> {
        let written = autogen::written_name(rule);
        all.iter()
            .find(|facts| *facts.rule == *rule)
            .or_else(|| all.iter().find(|facts| *facts.rule == *written))
    }
}
