//! Validating webhooks: all that are called are called at once; the first no in their order is the
//! answer.

use ephor_engine::admission::{Denial, Review};

use ephor_value::Value;

use super::answer::call;
use super::call::{Event, Log, Server};
use super::matching::{WebhookDecision, decide};

const FAILED_OPEN: &str = "failed-open.validating.webhook.admission.k8s.io/round_0_index_";

/// Calls the webhooks.
pub(super) fn run(server: &Server<'_>, review: &Review, log: &mut Log) -> Result<(), Box<Denial>> {
    let cx = server.cluster.functions(review);
    let mut calls = Vec::new();
    for webhook in server.webhooks.iter().filter(|w| !w.mutating) {
        match decide(webhook, review, server.cluster, &cx) {
            WebhookDecision::Deny(denial) => return Err(denial),
            WebhookDecision::Call(accepted) => calls.push((webhook, accepted)),
            WebhookDecision::Skip(why) => log.step(webhook, 0, Event::Skipped(why)),
        }
    }
    let mut first = None;
    for (i, (webhook, accepted)) in calls.iter().enumerate() {
        let Err(failure) = call(server, webhook, accepted, review, 0, log) else { continue };
        match failure.denial(webhook) {
            Some(denial) => first = first.or(Some(denial)),
            None => log.annotate(&format!("{FAILED_OPEN}{i}"), Value::Str(webhook.name.clone())),
        }
    }
    first.map_or(Ok(()), Err)
}
