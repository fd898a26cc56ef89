//! Traces: a span for each review, sent to an OpenTelemetry collector.
//!
//! In: decisions and refusals with the times they took. Out: spans, which the OpenTelemetry SDK
//! samples, batches and sends over OTLP (`export`), with the attributes of this replica
//! (`resource`). A `traceparent` header makes a span part of the caller's trace, and what the
//! caller does not sample is not recorded. Span kind, status and HTTP attributes follow
//! OpenTelemetry's semantic conventions for HTTP servers. Semantics: `docs/reference/serve.md`,
//! "Traces".
//!
//! - `export`: what sends spans: the OTLP exporter of OpenTelemetry on our HTTP client.
//! - `resource`: what the spans and metrics of a replica say about it.

mod export;
pub(super) mod resource;
#[cfg(test)]
mod tests;

use std::time::{Instant, SystemTime};

use axum::http::HeaderMap;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Span, SpanBuilder, SpanKind, Status, Tracer as _, TracerProvider};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use prometheus::IntCounter;

use ephor_admission::admit::{Decision, Incoming, Undecodable};
use ephor_engine::Status as RuleStatus;

pub use export::BuildError;
use export::Environment;

/// Longer texts are cut.
const LONGEST_TEXT: usize = 1024;

/// The trace that a request belongs to; empty when a trace begins here.
#[derive(Clone, Debug, Default)]
pub struct Parent(Context);

/// Reads the headers `traceparent` and `tracestate`; without good ones a trace begins here.
pub fn parent(headers: &HeaderMap) -> Parent {
    let text = headers.get("traceparent").and_then(|v| v.to_str().ok()).unwrap_or_default().trim();
    if !is_trace_parent(text) {
        return Parent::default();
    }
    Parent(TraceContextPropagator::new().extract_with_context(&Context::new(), &HeaderExtractor(headers)))
}

/// Whether a text is a `traceparent` of W3C Trace Context. The propagator takes shorter identifiers
/// too.
fn is_trace_parent(text: &str) -> bool {
    let is_hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let is_id = |text: &str, length| is_hex(text, length) && text.bytes().any(|b| b != b'0');
    let parts: Vec<&str> = text.split('-').collect();
    match parts[..] {
        [version, trace, span, flags, ref more @ ..] => {
            is_hex(version, 2)
                && version != "ff"
                && (version != "00" || more.is_empty())
                && is_id(trace, 32)
                && is_id(span, 16)
                && is_hex(flags, 2)
        }
        _ => false,
    }
}

/// An HTTP request for a review.
#[derive(Clone, Copy, Debug)]
pub struct Requested<'r> {
    /// Its path.
    pub path: &'r str,
    /// The path with placeholders for names; `None` = there is nothing under it.
    pub route: Option<&'r str>,
    /// Its method.
    pub method: &'r str,
    /// The trace that it belongs to.
    pub parent: &'r Parent,
    /// When it came.
    pub began: Instant,
}

/// Why a decision is not that of the policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// Time ran out: the failure policies decided.
    Late,
    /// The evaluation ended in a fault of the program.
    Fault,
}

impl Failed {
    /// As `error.type`.
    fn name(self) -> &'static str {
        match self {
            Failed::Late => "timeout",
            Failed::Fault => "internal_error",
        }
    }
}

/// Takes spans and sends them.
pub struct Tracer {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

impl Tracer {
    /// Begins to send to a collector: its address without `/v1/traces`, otherwise that of the
    /// environment. `None` = there is neither, or the environment disables traces.
    ///
    /// # Errors
    /// The address is none.
    pub fn start(endpoint: Option<&str>, dropped: &IntCounter) -> Result<Option<Tracer>, BuildError> {
        let environment = Environment::read();
        let Some(processor) = export::processor(endpoint, &environment, dropped)? else { return Ok(None) };
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_resource(resource::of_replica(|name| std::env::var(name).ok()))
            .build();
        Ok(Some(Tracer::of(provider)))
    }

    fn of(provider: SdkTracerProvider) -> Tracer {
        let scope = opentelemetry::InstrumentationScope::builder("ephor")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        Tracer { tracer: provider.tracer_with_scope(scope), provider }
    }

    /// Takes the span of a decision; it never waits.
    pub fn decided(
        &self,
        requested: &Requested<'_>,
        incoming: &Incoming,
        decision: &Decision,
        failed: Option<Failed>,
    ) {
        self.record(requested, 200, |span| {
            attributes(incoming, decision).into_iter().for_each(|attribute| span.set_attribute(attribute));
            let errors = decision.outcomes.results().filter(|(_, r)| r.status == RuleStatus::Error);
            let first = errors.map(|(policy, rule)| format!("{}/{}", policy.key(), rule.rule)).next();
            // A request that policies deny is answered as it should be: no error of this server.
            let error = match (failed, first) {
                (Some(failed), _) => Some((failed.name(), failed.name().to_string())),
                (None, Some(rule)) => Some(("policy_error", format!("{rule} could not be evaluated"))),
                (None, None) => None,
            };
            if let Some((kind, text)) = error {
                span.set_attribute(KeyValue::new("error.type", kind));
                span.set_status(Status::error(text));
            }
        });
    }

    /// Takes the span of a request that was refused before policies were evaluated.
    pub fn refused(&self, requested: &Requested<'_>, refusal: &Undecodable) {
        self.record(requested, refusal.status, |span| {
            // What the client did wrong is no error of a server.
            if refusal.status >= 500 {
                span.set_attribute(KeyValue::new("error.type", refusal.status.to_string()));
                span.set_status(Status::error(refusal.text.clone()));
            }
        });
    }

    fn record(
        &self,
        requested: &Requested<'_>,
        status: u16,
        more: impl FnOnce(&mut opentelemetry_sdk::trace::Span),
    ) {
        let Requested { path, route, method, parent, began } = *requested;
        let ended = SystemTime::now();
        let mut known = vec![
            KeyValue::new("http.request.method", method.to_string()),
            KeyValue::new("url.path", cut(path)),
        ];
        known.extend(route.map(|route| KeyValue::new("http.route", route.to_string())));
        let builder = SpanBuilder::from_name(format!("ADMISSION {method} {}", cut(path)))
            .with_kind(SpanKind::Server)
            .with_start_time(ended.checked_sub(began.elapsed()).unwrap_or(ended))
            .with_attributes(known);
        let mut span = self.tracer.build_with_context(builder, &parent.0);
        if span.is_recording() {
            span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
            more(&mut span);
        }
        span.end_with_timestamp(ended);
    }

    /// Sends what is queued, and ends.
    pub fn end(&self) {
        if let Err(error) = self.provider.shutdown() {
            tracing::warn!(%error, "the last spans may not have been sent");
        }
    }
}

fn cut(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.into();
    }
    let end = (0..=LONGEST_TEXT - 3).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}...", text.get(..end).unwrap_or_default())
}

/// What a span says about a decision.
fn attributes(incoming: &Incoming, decision: &Decision) -> Vec<KeyValue> {
    let answer = &decision.answer;
    let mut all: Vec<KeyValue> = [
        ("admission.request.uid", &["uid"][..]),
        ("admission.request.operation", &["operation"]),
        ("admission.request.kind", &["kind", "kind"]),
        ("admission.request.resource", &["resource", "resource"]),
        ("admission.request.subresource", &["subResource"]),
        ("admission.request.namespace", &["namespace"]),
        ("admission.request.name", &["name"]),
        ("admission.request.user", &["userInfo", "username"]),
    ]
    .into_iter()
    .map(|(key, at)| KeyValue::new(key, cut(incoming.text(at))))
    .collect();
    let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    all.push(KeyValue::new("admission.request.dryrun", incoming.dry_run()));
    all.push(KeyValue::new("admission.response.allowed", answer.allowed()));
    if let Some(message) = ephor_admission::redact::message(incoming, decision) {
        all.push(KeyValue::new("admission.response.message", cut(&message)));
    }
    all.push(KeyValue::new("admission.response.warnings", count(answer.warnings.len())));
    all.push(KeyValue::new("admission.response.patches", count(answer.patch.len())));
    all.push(KeyValue::new("kyverno.policies", count(decision.outcomes.policies().count())));
    let violated: Vec<StringValue> = decision
        .outcomes
        .results()
        .filter(|(_, r)| r.status.is_violation())
        .map(|(policy, r)| StringValue::from(format!("{}/{}", policy.key(), r.rule)))
        .collect();
    if !violated.is_empty() {
        all.push(KeyValue::new("kyverno.violations", Value::Array(Array::String(violated))));
    }
    all
}
