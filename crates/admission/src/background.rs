//! Work that requests cause for controllers.
//!
//! In: the facts about a rule that `lower` sets ([`RuleFacts`]); a request that was allowed, and the
//! rule's result. Out: the work that the request causes ([`Work`]): objects to generate or delete,
//! other objects to change. Controllers do it. Semantics: `docs/reference/cluster.md`, "Background work".

use ephor_engine::{RuleOutcome, Status};
use ephor_value::{Str, Value};

pub use ephor_lower::background::{Class, RuleFacts, WorkKind, facts};

/// An object, by what it is found with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Trigger {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace, empty for objects of the cluster.
    pub namespace: String,
    /// Name; empty = only the identifier is known.
    pub name: String,
    /// Identifier; empty = it is not known.
    pub uid: String,
}

impl Trigger {
    /// An object.
    pub fn of(object: &Value) -> Trigger {
        let at = |path: &[&str]| object.text_at(path).to_string();
        Trigger {
            api_version: at(&["apiVersion"]),
            kind: at(&["kind"]),
            namespace: at(&["metadata", "namespace"]),
            name: at(&["metadata", "name"]),
            uid: at(&["metadata", "uid"]),
        }
    }

    /// Whether an object can be it.
    pub fn is(&self, object: &Value) -> bool {
        let uid = object.text_at(&["metadata", "uid"]);
        match self.uid.is_empty() || uid.is_empty() {
            true => {
                let other = Trigger::of(object);
                self.kind == other.kind && self.namespace == other.namespace && self.name == other.name
            }
            false => self.uid == uid,
        }
    }
}

/// What a rule has to do because of a trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleWork {
    /// The rule.
    pub rule: Str,
    /// The trigger.
    pub trigger: Trigger,
    /// Whether what it generated has to go.
    pub deletes: bool,
    /// Whether it is synchronised.
    pub synchronize: bool,
}

/// Work of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// What it does.
    pub kind: WorkKind,
    /// The policy, `NAME` or `NAMESPACE/NAME`.
    pub policy: String,
    /// Of which rules.
    pub rules: Vec<RuleWork>,
    /// Whether the request must not go through without it.
    pub required: bool,
}

/// What a result of a rule means for a request: the work, if there is some.
pub(crate) fn work(
    facts: &RuleFacts,
    result: &RuleOutcome,
    operation: &str,
    trigger: Trigger,
) -> Option<RuleWork> {
    if !result.exceptions.is_empty() {
        return None;
    }
    let work = |deletes| {
        let (rule, synchronize) = (result.rule.clone(), facts.synchronize);
        Some(RuleWork { rule, trigger: trigger.clone(), deletes, synchronize })
    };
    match (facts.kind, operation, result.status) {
        (_, _, Status::Error) | (WorkKind::Mutate, _, Status::Fail) => None,
        // The trigger goes: what it triggered goes too, unless that is when the rule acts.
        (_, "DELETE", Status::Pass | Status::Fail | Status::Skip) => match (facts.on_deletion, facts.kind) {
            (true, WorkKind::Mutate) if result.status == Status::Skip => None,
            (true, _) => work(false),
            (false, WorkKind::Generate) if facts.synchronize => work(true),
            (false, _) => None,
        },
        (_, _, Status::Pass) => work(false),
        (_, _, Status::Fail) if facts.synchronize => work(true),
        _ => None,
    }
}
