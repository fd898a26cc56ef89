//! What a side says of a request: a verdict, what follows from it, and the object behind it.

use ephor_engine::Status;
use ephor_value::{Str, Value};

/// What a set of policies says of a request: the gravest of its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// No rule applies, or those that do are skipped.
    #[default]
    Skip,
    /// Rules apply, and all of them are satisfied.
    Pass,
    /// A rule cannot be evaluated, none is violated.
    Error,
    /// A rule is violated.
    Fail,
}

impl Verdict {
    /// Whether a policy that enforces denies the request.
    pub fn is_violation(self) -> bool {
        self >= Verdict::Error
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Skip => "skip",
            Verdict::Pass => "pass",
            Verdict::Error => "error",
            Verdict::Fail => "fail",
        }
    }

    pub(crate) fn of(status: Status) -> Verdict {
        match status {
            Status::Skip => Verdict::Skip,
            Status::Pass => Verdict::Pass,
            Status::Error => Verdict::Error,
            Status::Fail | Status::Warn => Verdict::Fail,
        }
    }
}

/// What follows for a request from what policies say of it: the gravest consequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// It is allowed; violations are reported.
    #[default]
    Allowed,
    /// It is allowed, and its client is warned.
    Warned,
    /// It is denied.
    Denied,
}

impl Effect {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Allowed => "allowed",
            Effect::Warned => "warned",
            Effect::Denied => "denied",
        }
    }
}

/// What a side says of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// The gravest result.
    pub verdict: Verdict,
    /// The gravest consequence.
    pub effect: Effect,
    /// The object after the rules that change it, where one does.
    pub changed: Option<Value>,
    /// The objects that rules generate.
    pub generated: Vec<Value>,
    /// The rule that gave it: policy and rule.
    pub by: Option<(Str, Str)>,
    /// Its message.
    pub message: Str,
}
