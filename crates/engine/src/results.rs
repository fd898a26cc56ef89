//! What rules did: what one gives and leaves to the next, and what a phase gives.

use ephor_ir::Rule;
use ephor_ir::rule::Body;
use ephor_value::Value;
use ephor_value::budget::Excess;

use super::expressions::existing::Targets;
use super::generate::{GenerationError, WantedObject};
use super::outcome::{RuleOutcome, Status};
use super::verify::Records;

/// What the rules of a policy did in a phase.
#[derive(Debug, Default)]
pub struct Results {
    /// Their results.
    pub rules: Vec<RuleOutcome>,
    /// The object they leave, when it is another one than that of the request; null when it was
    /// lost.
    pub object: Option<Value>,
    /// Why nothing was generated, although a rule wanted to.
    pub failure: Option<String>,
    /// What they leave to a controller.
    pub work: Work,
}

/// What a rule leaves to a controller, apart from its results.
#[derive(Debug, Default)]
pub enum Work {
    /// Nothing.
    #[default]
    Nothing,
    /// Other objects that it changes.
    Targets(Targets),
    /// Objects that it wants to exist, and why these are not all.
    Wanted(Vec<WantedObject>, Option<GenerationError>),
}

impl From<Vec<RuleOutcome>> for Results {
    fn from(rules: Vec<RuleOutcome>) -> Results {
        Results { rules, ..Results::default() }
    }
}

/// What a rule did.
#[derive(Default)]
pub(super) struct RuleRun {
    pub results: Vec<RuleOutcome>,
    pub effect: RuleEffect,
}

/// What a rule leaves to those after it, and to the end of the phase.
#[derive(Default)]
pub(super) enum RuleEffect {
    /// The object as it is.
    #[default]
    Same,
    /// The object as it changed it.
    Changed(Value),
    /// No object: it failed.
    Lost,
    /// What it verified, to be recorded when all rules are through.
    Verified(Records),
    /// What it describes, to be generated likewise.
    Described,
    /// Work for a controller.
    Left(Work),
}

impl From<Work> for RuleRun {
    fn from(work: Work) -> RuleRun {
        RuleRun { effect: RuleEffect::Left(work), ..RuleRun::default() }
    }
}

impl<R: IntoIterator<Item = RuleOutcome>> From<R> for RuleRun {
    fn from(results: R) -> RuleRun {
        RuleRun { results: results.into_iter().collect(), effect: RuleEffect::Same }
    }
}

impl RuleRun {
    /// What counts of a rule that has exceeded a bound: it fails or is an error, whatever absorbed
    /// that.
    pub(super) fn exceeding(self, rule: &Rule, excess: Excess) -> RuleRun {
        let failed = self.results.into_iter().find(|r| matches!(r.status, Status::Fail | Status::Error));
        let error = || RuleOutcome::new(&rule.name, rule.kind, Status::Error, excess.text());
        let effect = match (&rule.body, &rule.expressions) {
            (Body::Mutate(_), None) => RuleEffect::Lost,
            _ => RuleEffect::Same,
        };
        RuleRun { results: vec![failed.unwrap_or_else(error)], effect }
    }
}
