//! What rules say about a request.

use crate::admission::BindingRow;
use crate::expressions::VerifiedImages;
use ephor_ir::rule::RuleKind;
pub(super) use ephor_value::stock::stock;
use ephor_value::{Str, Value, footprint};

/// The status of a rule's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// The rule is satisfied.
    Pass,
    /// The rule is violated.
    Fail,
    /// The rule warns.
    Warn,
    /// The rule could not be evaluated.
    Error,
    /// The rule does not apply after all.
    Skip,
}

impl Status {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::Fail => "fail",
            Status::Warn => "warn",
            Status::Error => "error",
            Status::Skip => "skip",
        }
    }

    /// Whether the rule is violated, or could not be evaluated.
    pub fn is_violation(self) -> bool {
        matches!(self, Status::Fail | Status::Error)
    }
}

/// The result of one rule. A rule that does not match the request gives none.
#[derive(Clone, Debug)]
pub struct RuleOutcome {
    /// The rule's name.
    pub rule: Str,
    /// What kind of rule it is.
    pub kind: RuleKind,
    /// Its status.
    pub status: Status,
    /// Its message, exactly as Kyverno words it.
    pub message: Str,
    /// Properties for reports, in written order.
    pub properties: Vec<(Str, Str)>,
    /// Names of the exceptions because of which it is skipped.
    pub exceptions: Vec<Str>,
    /// What the Pod Security checks found, for rules of that kind that failed.
    pub pod_security: Option<Value>,
    /// The objects that the rule mutated or generated.
    pub effect: Option<Box<Effect>>,
    /// For native policies, as an API server evaluates them: for which binding it is, and more.
    pub binding: Option<Box<BindingRow>>,
}

/// The objects that a rule mutated or generated, and the like.
#[derive(Clone, Debug)]
pub enum Effect {
    /// The object of the request, mutated.
    Patched(Value),
    /// Another object, mutated.
    Target(Value),
    /// New objects.
    Generated(Vec<Value>),
    /// No object: the images that were checked.
    VerifiedImages(VerifiedImages),
}

impl RuleOutcome {
    /// Copies what the result shares with the request, and takes spare room from its lists, so that
    /// a cache that keeps it keeps nothing else alive. Names, and texts of rules that are satisfied
    /// or skipped, belong to the policy.
    pub fn detach(&mut self) {
        if !matches!(self.status, Status::Pass | Status::Skip) {
            footprint::detach(&mut self.message);
        }
        self.properties.iter_mut().for_each(|(_, value)| footprint::detach(value));
        footprint::fit(&mut self.properties);
        footprint::fit(&mut self.exceptions);
        self.pod_security = self.pod_security.as_ref().map(Value::detached);
        self.binding.iter_mut().for_each(|row| row.detach());
    }

    /// How many bytes it keeps alive on the heap, once it is detached.
    pub fn footprint(&self) -> usize {
        let properties = self.properties.iter().map(|(k, v)| footprint::of_own(k) + footprint::of_own(v));
        let effect = self.effect.as_deref().map_or(0, |effect| {
            let below = match effect {
                Effect::VerifiedImages(images) => images.footprint(),
                Effect::Patched(value) | Effect::Target(value) => value.footprint(),
                Effect::Generated(all) => {
                    footprint::of_vec(all) + all.iter().map(Value::footprint).sum::<usize>()
                }
            };
            size_of::<Effect>() + below
        });
        footprint::of_own(&self.rule)
            + footprint::of_own(&self.message)
            + footprint::of_vec(&self.properties)
            + properties.sum::<usize>()
            + footprint::of_vec(&self.exceptions)
            + self.pod_security.as_ref().map_or(0, Value::footprint)
            + effect
            + self.binding.as_deref().map_or(0, BindingRow::footprint)
    }

    /// A result without properties.
    pub fn new(rule: &Str, kind: RuleKind, status: Status, message: impl Into<Str>) -> RuleOutcome {
        RuleOutcome {
            rule: rule.clone(),
            kind,
            status,
            message: message.into(),
            properties: Vec::new(),
            exceptions: Vec::new(),
            pod_security: None,
            effect: None,
            binding: None,
        }
    }
}
