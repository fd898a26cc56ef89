//! Dynamic admission control: what an API server does with a request because of webhooks.
//!
//! In: webhooks (`lower::admission::webhooks`), policies of the API server, the `request` of an
//! AdmissionReview, the `ClusterView` around it, and [`Answers`] in the webhooks' place. Out: the
//! object as it was changed, whether the request passes, and a [`Log`]: which webhooks were called
//! in which order with what, why others were not, and what the client and the audit log receive.
//! Semantics: `docs/reference/webhooks.md`.
//!
//! - [`answer`]: calls of webhooks, and what an API server makes of the answers
//! - `call`: calls of webhooks, what is there in their place, and what happened to them
//! - `failure`: what follows when a call does not end with a yes
//! - [`matching`]: whether a webhook is called for a request, and why not
//! - `mutating`: mutating webhooks: one after the other, each on the object that those before it
//!   have left
//! - [`request`]: requests from what users write: reviews, their `request`, or plain objects
//! - `response`: the response in an answer: its fields with their types, as an API server's decoder
//!   refuses others
//! - `settle`: what an API server settles between its phases: the namespace of the object, and the
//!   name of the request
//! - `validating`: validating webhooks: all that are called are called at once; the first no in
//!   their order is the answer

pub mod answer;
mod call;
mod failure;
pub mod matching;
mod mutating;
pub mod request;
mod response;
mod settle;
mod validating;

use ephor_engine::admission::{BoundPolicy, Denial, Passes, Review, validate};
use ephor_ir::webhook::Webhook;
use ephor_value::Value;

pub use call::{Allowing, Answers, Call, Event, Log, Reply, Server, Step};
pub use matching::{WebhookDecision, Why, decide};

/// The webhooks in the order in which they are called: configurations by name, then the order of
/// the list.
pub fn in_order(mut webhooks: Vec<Webhook>) -> Vec<Webhook> {
    webhooks.sort_by(|a, b| a.configuration.cmp(&b.configuration));
    webhooks
}

impl Server<'_> {
    /// The mutating phase: policies, then webhooks; both again when something changed. What the
    /// request settles is not changed.
    ///
    /// # Errors
    /// The request does not pass.
    pub fn mutate(&self, review: &Review, log: &mut Log) -> Result<Value, Box<Denial>> {
        let policies: Vec<BoundPolicy<'_>> =
            self.policies.iter().filter_map(|p| BoundPolicy::of(p)).collect();
        let mut passes = Passes::new(review, self.cluster);
        let mut hooks = mutating::Hooks::new(review, self);
        passes.run(&policies, review, false)?;
        let object = hooks.run(passes.object.clone(), false, log)?;
        passes.take_over(object);
        if passes.changed || hooks.changed {
            passes.take_over((self.own)(passes.object.clone()));
            passes.run(&policies, review, true)?;
            let object = hooks.run(passes.object.clone(), true, log)?;
            passes.take_over(object);
        }
        settle::namespace(passes.object, review, self.cluster)
    }

    /// The validating phase, on the object as it will be stored: policies, then webhooks.
    ///
    /// # Errors
    /// The request does not pass.
    pub fn validate(&self, review: &Review, log: &mut Log) -> Result<(), Box<Denial>> {
        let named = settle::named(review);
        let review = named.as_ref().unwrap_or(review);
        let answer = validate(self.policies.iter().map(AsRef::as_ref), review, self.cluster);
        answer.warnings.into_iter().for_each(|text| log.warnings.add(text));
        for (key, value) in answer.annotations.iter() {
            log.annotate(key, value.clone());
        }
        match answer.denial {
            Some(denial) => Err(Box::new(denial)),
            None => validating::run(self, review, log),
        }
    }
}
