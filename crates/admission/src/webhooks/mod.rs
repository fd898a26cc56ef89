//! Dynamic admission control: what an API server does with a request because of webhooks.
//!
//! In: webhooks (`lower::admission::webhooks`), policies of the API server, the `request` of an
//! AdmissionReview, the [`ClusterView`] around it, and [`Answers`] in the webhooks' place. Out: the
//! object as it was changed, whether the request passes, and a [`Log`]: which webhooks were called
//! in which order with what, why others were not, and what the client and the audit log receive.
//! Semantics: `docs/reference/webhooks.md`.

pub mod answer;
mod failure;
pub mod matching;
mod mutating;
pub mod request;
mod response;
mod settle;
mod validating;

use std::sync::Arc;

use ephor_engine::admission::warnings::Warnings;
use ephor_engine::admission::{BoundPolicy, ClusterView, Denial, Passes, Review, validate};
use ephor_ir::Policy;
use ephor_ir::webhook::Webhook;
use ephor_value::names::key_problems_of_server;
use ephor_value::{Map, Str, Value};

pub use matching::{WebhookDecision, Why, decide};

/// A call of a webhook.
#[derive(Clone, Debug)]
pub struct Call {
    /// The configuration.
    pub configuration: Str,
    /// The webhook.
    pub webhook: Str,
    /// Its address, without the query.
    pub url: Str,
    /// The version of the review: `v1` or `v1beta1`.
    pub version: Str,
    /// Seconds that the answer may take.
    pub timeout: i64,
    /// The `request` of the review.
    pub request: Value,
}

impl Call {
    /// The address with the query, as it is called.
    pub fn address(&self) -> String {
        format!("{}?timeout={}s", self.url, self.timeout)
    }

    /// The review that is sent.
    pub fn review(&self) -> Value {
        let mut m = Map::new();
        m.insert("kind", "AdmissionReview".into());
        m.insert("apiVersion", Value::from(format!("admission.k8s.io/{}", self.version)));
        m.insert("request", self.request.clone());
        Value::Map(m)
    }
}

/// What comes back from a call.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An HTTP answer.
    Http {
        /// The status.
        code: u16,
        /// The body.
        body: String,
    },
    /// None: why.
    Nothing(String),
}

/// Answers in the place of webhooks.
pub trait Answers {
    /// The answer to a call.
    fn answer(&self, call: &Call) -> Reply;
}

/// Allows everything and changes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allowing;

impl Answers for Allowing {
    fn answer(&self, call: &Call) -> Reply {
        let mut response = Map::new();
        response.insert("uid", call.request.get("uid").cloned().unwrap_or_else(|| "".into()));
        response.insert("allowed", Value::Bool(true));
        let mut review = Map::new();
        review.insert("apiVersion", Value::from(format!("admission.k8s.io/{}", call.version)));
        review.insert("kind", "AdmissionReview".into());
        review.insert("response", Value::Map(response));
        Reply::Http { code: 200, body: ephor_value::print::json(&Value::Map(review)) }
    }
}

/// What happened to a webhook.
#[derive(Clone, Debug)]
pub enum Event {
    /// It was called.
    Called(Box<Call>),
    /// It was not.
    Skipped(Why),
}

/// What happened to a webhook in a round.
#[derive(Clone, Debug)]
pub struct Step {
    /// The configuration.
    pub configuration: Str,
    /// The webhook.
    pub webhook: Str,
    /// Whether it is a mutating one.
    pub mutating: bool,
    /// 0, or 1 when mutating webhooks are called again.
    pub round: usize,
    /// What.
    pub event: Event,
}

/// What happened, and what the client and the audit log receive.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The webhooks in the order in which they were looked at.
    pub steps: Vec<Step>,
    /// Entries of the audit log, by key.
    pub annotations: Map,
    warnings: Warnings,
}

impl Log {
    /// The calls in their order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.steps.iter().filter_map(|step| match &step.event {
            Event::Called(call) => Some(&**call),
            Event::Skipped(_) => None,
        })
    }

    /// Warnings to the client.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.clone().into_texts()
    }

    /// Keeps the first value of a well-formed key.
    fn annotate(&mut self, key: &str, value: impl Into<Value>) {
        let well_formed = key.matches('/').count() == 1 && key_problems_of_server(key).is_empty();
        if well_formed && !self.annotations.contains_key(key) {
            self.annotations.insert(key, value.into());
        }
    }

    fn step(&mut self, webhook: &Webhook, round: usize, event: Event) {
        self.steps.push(Step {
            configuration: webhook.configuration.clone(),
            webhook: webhook.name.clone(),
            mutating: webhook.mutating,
            round,
            event,
        });
    }
}

/// An API server with its policies and webhooks.
pub struct Server<'s> {
    /// Native policies with their bindings, by name.
    pub policies: &'s [Arc<Policy>],
    /// Webhooks, see [`in_order`].
    pub webhooks: &'s [Webhook],
    /// The cluster around the request.
    pub cluster: &'s ClusterView<'s>,
    /// Who answers.
    pub answers: &'s dyn Answers,
    /// What the server itself does to an object each time that the chain begins.
    pub own: fn(Value) -> Value,
}

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
