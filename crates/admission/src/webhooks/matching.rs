//! Whether a webhook is called for a request, and why not.

use std::cell::OnceCell;
use std::fmt;

use ephor_engine::admission::{ClusterView, Denial, Review, conditions};
use ephor_engine::expressions::ConditionsError;
use ephor_functions::Context;
use ephor_ir::expressions::Source;
use ephor_ir::webhook::Webhook;
use ephor_kubernetes::release::ServerRules;
use ephor_matching::constraints::{Accepted, Mismatch, accepts, mismatch};
use ephor_value::release::Release;
use ephor_value::{Map, Str, Value};

/// What becomes of a webhook for a request.
#[derive(Clone, Debug)]
pub enum WebhookDecision {
    /// It is called, with the objects as this resource.
    Call(Accepted),
    /// It is not called.
    Skip(Why),
    /// The request is denied: whether the webhook is called is unknown.
    Deny(Box<Denial>),
}

/// Why a webhook is not called.
#[derive(Clone, Debug)]
pub enum Why {
    /// No webhook ever sees such objects.
    Exempt,
    /// It has no rules.
    NoRules,
    /// Its rules or selectors leave the request out.
    Mismatch(Mismatch),
    /// Its conditions are not all true: the texts of all.
    Condition(Vec<Str>),
    /// Its conditions fail, and its `failurePolicy` is `Ignore`.
    ConditionFailed(ConditionsError),
    /// Mutating webhooks were called again, but this one does not want that, or nothing changed
    /// after it.
    NotAgain,
    /// The request was denied before.
    Denied,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Exempt => f.write_str("no webhook is called for policies and webhook configurations"),
            Why::NoRules => f.write_str("it has no rules"),
            Why::Mismatch(mismatch) => mismatch.fmt(f),
            Why::Condition(all) => match &all[..] {
                [one] => write!(f, "its match condition is false: {one}"),
                all => write!(f, "one of its match conditions is false: {}", all.join("; ")),
            },
            Why::ConditionFailed(error) => {
                write!(f, "its match conditions fail, and its failure policy is Ignore: {error}")
            }
            Why::NotAgain => f.write_str("it is called once"),
            Why::Denied => f.write_str("the request was denied before"),
        }
    }
}

/// Whether a webhook is called for a request.
pub fn decide(
    webhook: &Webhook,
    review: &Review,
    cluster: &ClusterView<'_>,
    cx: &Context,
) -> WebhookDecision {
    if is_exempt(review, cluster.release()) {
        return WebhookDecision::Skip(Why::Exempt);
    }
    if webhook.when.rules.is_empty() {
        return WebhookDecision::Skip(Why::NoRules);
    }
    let a = &review.attributes;
    let none = Map::new();
    let namespace = OnceCell::new();
    let labels = || match namespace.get_or_init(|| cluster.namespace(&a.namespace)) {
        Some(namespace) => Ok(namespace.at(&["metadata", "labels"]).and_then(Value::as_map).unwrap_or(&none)),
        None => Err(()),
    };
    let accepted = match accepts(&webhook.when, a, cluster.kinds(), labels) {
        Ok(Some(accepted)) => accepted,
        Ok(None) => {
            let labels = labels().unwrap_or(&none);
            return WebhookDecision::Skip(Why::Mismatch(mismatch(&webhook.when, a, labels)));
        }
        Err(()) => return WebhookDecision::Deny(Box::new(Denial::no_namespace(&a.namespace))),
    };
    match conditions(&webhook.conditions, &accepted, review, cx, cluster.release()) {
        Ok(true) => WebhookDecision::Call(accepted),
        Ok(false) => WebhookDecision::Skip(Why::Condition(webhook.conditions.iter().map(text).collect())),
        Err(error) if webhook.ignore => WebhookDecision::Skip(Why::ConditionFailed(error)),
        Err(error) => WebhookDecision::Deny(Box::new(forbidden(review, &error.to_string()))),
    }
}

fn text(condition: &Source) -> Str {
    condition.text.clone()
}

/// Whether no webhook ever sees the request: one for what decides over requests, and at some
/// releases a review.
fn is_exempt(review: &Review, release: Release) -> bool {
    let [group, _, kind] = &review.attributes.kind;
    let is_review = matches!(&**group, "authentication.k8s.io" | "authorization.k8s.io");
    if is_review && !ServerRules::of(release).sends_reviews_to_webhooks {
        return true;
    }
    &**group == "admissionregistration.k8s.io"
        && matches!(
            &**kind,
            "ValidatingWebhookConfiguration"
                | "MutatingWebhookConfiguration"
                | "ValidatingAdmissionPolicy"
                | "ValidatingAdmissionPolicyBinding"
                | "MutatingAdmissionPolicy"
                | "MutatingAdmissionPolicyBinding"
        )
}

fn forbidden(review: &Review, why: &str) -> Denial {
    let a = &review.attributes;
    let resource = review.resource_name();
    let mut details = Map::new();
    for (key, value) in [("group", &a.group), ("kind", &a.resource), ("name", &a.name)] {
        if !value.is_empty() {
            details.insert(key, Value::Str(value.clone()));
        }
    }
    let name = match &*a.name {
        "" => String::new(),
        name => format!(" {}", ephor_value::quote::quote(name)),
    };
    Denial {
        code: 403,
        reason: "Forbidden".into(),
        message: format!("{resource}{name} is forbidden: {why}"),
        details: Value::Map(details),
        ..Denial::default()
    }
}
