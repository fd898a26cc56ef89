//! Decisions about requests, and when they are due.
//!
//! In: an [`Answer`] with the results that led to it; a moment. Out: what the server returns,
//! reports and counts, and the refusal for policies that there was no time for
//! (`docs/reference/serve.md`).

use std::sync::Arc;

use ephor_ir::Policy;
use ephor_policies::policy_set::outcomes::Outcomes;
use ephor_policies::policy_set::verdicts::PreparedRequest;
use ephor_value::budget;
use ephor_value::clock::{self, Instant};

use super::answer::{Answer, Refusal};

/// When an answer is due.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// At a moment.
    pub fn at(moment: Instant) -> Deadline {
        Deadline(Some(moment))
    }

    /// Whenever it is ready.
    pub fn never() -> Deadline {
        Deadline(None)
    }

    /// Whether it has passed.
    pub fn is_over(&self) -> bool {
        clock::has_passed(self.0)
    }

    /// Does something that is interrupted when the answer is due.
    pub(super) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        budget::until(self.0, work)
    }

    /// What follows for policies that there was no time for.
    pub(super) fn refusal(&self, left: &[Arc<Policy>]) -> Option<Refusal> {
        out_of_time(left.iter().filter(|p| p.failure_policy.is_fail()).map(|p| &*p.name))
    }
}

/// How many policies a text names.
pub(super) const NAMED: usize = 10;

/// Policies that fail closed, and that there was no time for, refuse the request.
pub(super) fn out_of_time<'p>(closed: impl Iterator<Item = &'p str>) -> Option<Refusal> {
    let closed: Vec<&str> = closed.collect();
    let more = if closed.len() > NAMED { " and others" } else { "" };
    (!closed.is_empty()).then(|| Refusal {
        message: format!(
            "there was no time to evaluate policies that must not be left out: {}{more}",
            closed.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ")
        ),
        code: 504,
        reason: "Timeout".into(),
    })
}

/// An answer and what led to it.
#[derive(Debug, Default)]
pub struct Decision {
    /// The answer.
    pub answer: Answer,
    /// Results of the rules that were evaluated.
    pub outcomes: Outcomes,
    /// The request that they were evaluated on; `None` = none was.
    pub prepared: Option<PreparedRequest>,
    /// Whether there may be rules that only audit, which the answer did not wait for.
    pub audits: bool,
    /// Which policies the path names that are not known; the request is refused because of them.
    pub unknown: Option<String>,
}

impl Decision {
    pub(super) fn of(answer: Answer) -> Decision {
        Decision { answer, ..Decision::default() }
    }
}
