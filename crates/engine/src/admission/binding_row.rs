//! What a result of a native policy says in addition to its status and message: for which binding,
//! which validation, why.
//!
//! It holds nothing of the request but the values of expressions, so that it may be stored in the
//! result cache.

use super::Cause;
use super::answer::Denial;
use ephor_value::{Str, footprint};

/// What a result of a native policy says in addition to its status and message.
#[derive(Clone, Debug, Default)]
pub struct BindingRow {
    /// The binding, by its position; `None` = it is about the policy as a whole.
    pub binding: Option<usize>,
    /// The validation that does not admit the request, by its position; `None` = it is about none:
    /// a mistake in the policy or in the binding, an annotation.
    pub validation: Option<usize>,
    /// The reason of the validation; empty = none.
    pub reason: Str,
    /// Audit annotations of the evaluation, on the first of its results.
    pub annotations: Vec<(Str, Str)>,
    /// The request is denied, whatever the policy says.
    pub denial: Option<Box<Denial>>,
}

impl BindingRow {
    /// Copies what it shares with the request, and takes spare room from its lists and texts.
    pub fn detach(&mut self) {
        self.annotations.iter_mut().for_each(|(_, text)| footprint::detach(text));
        footprint::fit(&mut self.annotations);
        if let Some(denial) = &mut self.denial {
            footprint::fit_text(&mut denial.message);
            denial.details = denial.details.detached();
            denial.causes.iter_mut().for_each(Cause::detach);
            footprint::fit(&mut denial.causes);
        }
    }

    /// How many bytes it keeps alive on the heap with itself, once it is detached.
    pub fn footprint(&self) -> usize {
        let texts = self.annotations.iter().map(|(k, v)| footprint::of_own(k) + footprint::of_own(v));
        let denial = self.denial.as_deref().map_or(0, |denial| {
            let Denial { reason, message, details, causes, .. } = denial;
            size_of::<Denial>()
                + footprint::of_own(reason)
                + message.capacity()
                + details.footprint()
                + footprint::of_vec(causes)
                + causes.iter().map(Cause::footprint).sum::<usize>()
        });
        size_of::<BindingRow>()
            + footprint::of_own(&self.reason)
            + footprint::of_vec(&self.annotations)
            + texts.sum::<usize>()
            + denial
    }
}
