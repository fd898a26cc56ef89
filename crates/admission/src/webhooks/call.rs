//! Calls of webhooks, what is there in their place, and what happened to them.

use std::sync::Arc;

use ephor_engine::admission::ClusterView;
use ephor_engine::admission::warnings::Warnings;
use ephor_ir::Policy;
use ephor_ir::webhook::Webhook;
use ephor_value::names::key_problems_of_server;
use ephor_value::{Map, Str, Value};

use super::matching::Why;

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
    /// The webhooks in the order in which they were read.
    pub steps: Vec<Step>,
    /// Entries of the audit log, by key.
    pub annotations: Map,
    pub(super) warnings: Warnings,
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
    pub(super) fn annotate(&mut self, key: &str, value: impl Into<Value>) {
        let well_formed = key.matches('/').count() == 1 && key_problems_of_server(key).is_empty();
        if well_formed && !self.annotations.contains_key(key) {
            self.annotations.insert(key, value.into());
        }
    }

    pub(super) fn step(&mut self, webhook: &Webhook, round: usize, event: Event) {
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
    /// Webhooks, see [`super::in_order`].
    pub webhooks: &'s [Webhook],
    /// The cluster around the request.
    pub cluster: &'s ClusterView<'s>,
    /// Who answers.
    pub answers: &'s dyn Answers,
    /// What the server itself does to an object each time that the chain begins.
    pub own: fn(Value) -> Value,
}
