//! Cleanup policies: which objects their runs would delete.
//!
//! In: a cleanup policy and objects, one after the other. Out: a result for each: pass = it is
//! selected, and its conditions hold; fail = it is spared. The context is built once for a run and
//! reset before each object; what that does to entries that read the object is Kyverno's behaviour
//! (`docs/reference/cli.md`, "Deletions").

use std::sync::LazyLock;

use ephor_ir::Policy;
use ephor_ir::policy::Cleanup;
use ephor_ir::rule::RuleKind;
use ephor_matching::Target;
use ephor_matching::filter::{Mode, accepts};
use ephor_value::budget::Excess;
use ephor_value::{Map, Str, Value};

use super::call::{CallMatch, Subject, calls};
use super::condition;
use super::data::{Data, Snapshot, World};
use super::error::ConditionError;
use super::images::Images;
use super::outcome::{RuleOutcome, Status};
use super::results::RuleRun;

/// A run of one cleanup policy.
pub struct Sweep<'s> {
    cleanup: &'s Cleanup,
    data: Data<'s>,
    start: Snapshot,
}

/// No images: those of an object are put in with it.
pub static NO_IMAGES: LazyLock<Images> = LazyLock::new(Images::default);
static EMPTY: LazyLock<Value> = LazyLock::new(|| Value::Map(Map::new()));

impl<'s> Sweep<'s> {
    /// Begins a run.
    pub fn new(cleanup: &'s Cleanup, world: World<'s>) -> Self {
        let mut data = Data::new(&EMPTY, world);
        data.register(&cleanup.bindings);
        let start = data.snapshot();
        Sweep { cleanup, data, start }
    }

    /// The result for an object: passed = the run would delete it; the text of an error says why a
    /// condition cannot be evaluated.
    pub fn on(&mut self, object: &Value, target: &Target, images: &Images) -> RuleOutcome {
        let policy = &self.cleanup.policy;
        let mut stored = Stored { sweep: self, object, target, images };
        let found = calls([()], &mut stored).rules.pop();
        found.unwrap_or_else(|| result(policy, Ok(false)))
    }
}

fn result(policy: &Policy, selects: Result<bool, ConditionError>) -> RuleOutcome {
    let (status, text) = match selects {
        Ok(true) => (Status::Pass, "resource matched".to_owned()),
        Ok(false) => (Status::Fail, "resource did not match".to_owned()),
        Err(error) => (Status::Error, error.to_string()),
    };
    RuleOutcome::new(&policy.name, RuleKind::Validation, status, text)
}

/// A stored object: one call of a run.
struct Stored<'c, 's> {
    sweep: &'c mut Sweep<'s>,
    object: &'c Value,
    target: &'c Target,
    images: &'c Images,
}

impl Subject for Stored<'_, '_> {
    type Call = ();

    fn enter(&mut self, (): &()) -> CallMatch {
        let (cleanup, target) = (self.sweep.cleanup, self.target);
        let own = cleanup.policy.namespace.as_deref();
        let is_spared = |unless| accepts(unless, target, Mode::Exception);
        let matches = own.is_none_or(|own| *own == *target.namespace)
            && accepts(&cleanup.when, target, Mode::Exception)
            && !cleanup.unless.as_ref().is_some_and(is_spared);
        if matches && !cleanup.spares_all { CallMatch::Match } else { CallMatch::Miss }
    }

    fn evaluate(&mut self, (): &()) -> RuleRun {
        Some(result(&self.sweep.cleanup.policy, self.admits())).into()
    }

    fn exceeded(&mut self, (): &(), _: RuleRun, excess: Excess) -> Option<RuleRun> {
        let cleanup = &self.sweep.cleanup.policy;
        Some(Some(RuleOutcome::new(&cleanup.name, RuleKind::Validation, Status::Error, excess.text())).into())
    }
}

impl Stored<'_, '_> {
    /// Whether the conditions hold.
    fn admits(&mut self) -> Result<bool, ConditionError> {
        let Sweep { cleanup, data, start } = &mut *self.sweep;
        let name = Str::from;
        data.reset(start);
        data.set(&name("target"), self.object.with_float_numbers());
        data.put(&[name("request"), name("namespace")], Value::Str(self.target.namespace.clone()));
        if let Ok(Some(images)) = self.images.get() {
            data.set(&name("images"), images.clone());
        }
        for conditions in &cleanup.admit {
            if !condition::evaluate(conditions, data)?.holds {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
