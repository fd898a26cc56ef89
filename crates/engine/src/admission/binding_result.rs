//! What a policy says about a request for one of its bindings.
//!
//! It holds nothing of the request but the values of expressions, so that it may be stored in the
//! result cache.

use super::Cause;
use super::answer::Denial;
use ephor_value::{Str, footprint};

/// What a policy says about a request for one of its bindings.
#[derive(Clone, Debug)]
pub enum BindingResult {
    /// The policy or binding, by its position, is misconfigured.
    Misconfigured(Option<usize>, String),
    /// The binding, by its position, was evaluated.
    Evaluated(usize, BindingEvaluation),
    /// The request is denied, whatever the policy says.
    Denied(Box<Denial>),
}

/// What came of an evaluation.
#[derive(Clone, Debug, Default)]
pub struct BindingEvaluation {
    /// The validations that do not admit the request, by position.
    pub(super) decisions: Vec<(usize, Decision)>,
    pub(super) annotations: Vec<(Str, String)>,
    /// Annotations that failed, and count.
    pub(super) broken_annotations: Vec<String>,
}

impl BindingResult {
    /// Copies what the result shares with the request, and takes spare room from its lists and
    /// texts.
    pub fn detach(&mut self) {
        match self {
            BindingResult::Misconfigured(_, text) => footprint::fit_text(text),
            BindingResult::Denied(denial) => {
                footprint::fit_text(&mut denial.message);
                denial.details = denial.details.detached();
                denial.causes.iter_mut().for_each(Cause::detach);
                footprint::fit(&mut denial.causes);
            }
            BindingResult::Evaluated(_, of) => {
                of.annotations.iter_mut().for_each(|(_, text)| footprint::fit_text(text));
                of.broken_annotations.iter_mut().for_each(footprint::fit_text);
                of.decisions.iter_mut().for_each(|(_, decision)| match decision {
                    Decision::Fail(text) | Decision::Deny(text, _) => footprint::fit_text(text),
                });
                footprint::fit(&mut of.annotations);
                footprint::fit(&mut of.broken_annotations);
                footprint::fit(&mut of.decisions);
            }
        }
    }

    /// How many bytes it keeps alive on the heap, once it is detached.
    pub fn footprint(&self) -> usize {
        match self {
            BindingResult::Misconfigured(_, text) => text.capacity(),
            BindingResult::Denied(denial) => {
                let Denial { reason, message, details, causes, .. } = &**denial;
                let texts = causes.iter().map(Cause::footprint).sum::<usize>();
                size_of::<Denial>()
                    + footprint::of_own(reason)
                    + message.capacity()
                    + details.footprint()
                    + footprint::of_vec(causes)
                    + texts
            }
            BindingResult::Evaluated(_, of) => {
                let texts = of.annotations.iter().map(|(_, text)| text).chain(&of.broken_annotations);
                let decisions = of.decisions.iter().map(|(_, decision)| match decision {
                    Decision::Fail(text) => text.capacity(),
                    Decision::Deny(text, reason) => text.capacity() + footprint::of_own(reason),
                });
                let keys = of.annotations.iter().map(|(key, _)| footprint::of_own(key)).sum::<usize>();
                footprint::of_vec(&of.annotations)
                    + footprint::of_vec(&of.broken_annotations)
                    + footprint::of_vec(&of.decisions)
                    + keys
                    + texts.map(String::capacity).sum::<usize>()
                    + decisions.sum::<usize>()
            }
        }
    }
}

/// What a validation that does not admit the request came to.
#[derive(Clone, Debug)]
pub(super) enum Decision {
    /// It failed, which the policy may ignore.
    Fail(String),
    /// It is not met: message and reason.
    Deny(String, Str),
}

impl BindingEvaluation {
    /// A failure that belongs to no validation.
    pub(super) fn failed(text: impl Into<String>) -> BindingEvaluation {
        BindingEvaluation {
            decisions: vec![(0, Decision::Fail(text.into()))],
            ..BindingEvaluation::default()
        }
    }

    pub(super) fn is_silent(&self) -> bool {
        self.decisions.is_empty() && self.annotations.is_empty() && self.broken_annotations.is_empty()
    }

    pub(super) fn denies(&self) -> bool {
        self.decisions.iter().any(|(_, d)| matches!(d, Decision::Deny(..)))
    }
}
