//! Where decisions are recorded: each sink takes the same record.
//!
//! In: a decision ([`DecisionRecord`]), or results that came after the answer
//! ([`AuditRecord`]). Out: metrics, the audit log, the log, spans and reports. A sink that has
//! nothing to do returns; none of them changes the answer or the order of the others.

use std::sync::Arc;
use std::time::Instant;

use ephor_admission::admit::route::Phase;
use ephor_admission::admit::{Decision, Incoming, Route};
use ephor_policies::policy_set::outcomes::Outcomes;
use ephor_policies::policy_set::verdicts::PreparedRequest;

use super::audit;
use super::denials;
use super::policies::Snapshot;
use super::responses::now;
use super::state::State;
use super::traces::{Failed, Parent, Requested};

/// A decision with what it is about.
pub(super) struct DecisionRecord<'d> {
    /// The policies and the phase that the path selected.
    pub route: &'d Route,
    /// The path.
    pub path: &'d str,
    /// The policies that decided.
    pub snapshot: &'d Arc<Snapshot>,
    /// The review.
    pub incoming: &'d Arc<Incoming>,
    /// What was decided.
    pub decision: &'d Decision,
    /// The trace that it belongs to, if spans are recorded.
    pub parent: Option<&'d Parent>,
    /// When the review came.
    pub began: Instant,
    /// How long it took, in seconds.
    pub took: f64,
    /// Why the evaluation has no result of its own, if it has none.
    pub failed: Option<Failed>,
}

/// Results that came after the answer.
pub(super) struct AuditRecord<'d> {
    /// The path.
    pub path: &'d str,
    /// The policies that decided.
    pub snapshot: &'d Arc<Snapshot>,
    /// The review.
    pub incoming: &'d Arc<Incoming>,
    /// The request as policies see it.
    pub prepared: &'d PreparedRequest,
    /// The results.
    pub outcomes: &'d Outcomes,
}

/// Something that records decisions.
type DecisionSink = fn(&State, &DecisionRecord<'_>);

/// Something that records results which came after the answer.
type AuditSink = fn(&State, &AuditRecord<'_>);

/// The sinks of decisions, in their order.
const DECISION_SINKS: [DecisionSink; 6] = [metrics, pitfalls, audit_log, log, spans, reports];

/// The sinks of later results, in their order.
const AUDIT_SINKS: [AuditSink; 4] =
    [metrics_of_audits, pitfalls_of_audits, reports_of_audits, audit_log_of_audits];

/// Records a decision.
pub(super) fn record(state: &State, record: &DecisionRecord<'_>) {
    DECISION_SINKS.iter().for_each(|sink| sink(state, record));
}

/// Records results that came after the answer.
pub(super) fn record_audit(state: &State, record: &AuditRecord<'_>) {
    AUDIT_SINKS.iter().for_each(|sink| sink(state, record));
}

fn metrics(state: &State, record: &DecisionRecord<'_>) {
    let webhook = match record.route.phase {
        Phase::Validate => "ValidatingWebhookConfiguration",
        Phase::Mutate => "MutatingWebhookConfiguration",
    };
    state.metrics.decided(record.incoming, record.decision, webhook, record.took);
}

fn pitfalls(state: &State, record: &DecisionRecord<'_>) {
    if record.route.phase == Phase::Mutate {
        state.metrics.pitfalls.decided(record.decision);
    }
    state.metrics.pitfalls.remarked(&record.snapshot.remarks);
}

fn audit_log(state: &State, record: &DecisionRecord<'_>) {
    let Some(audit) = &state.audit else { return };
    let DecisionRecord { path, incoming, decision, took, .. } = record;
    let line = audit::line(&now(), path, incoming, decision, took * 1e3);
    audit.write_or_count(&audit.add_object(line, incoming), &state.metrics.audit_dropped);
}

fn log(_: &State, record: &DecisionRecord<'_>) {
    let DecisionRecord { path, incoming, decision, .. } = record;
    denials::log(path, incoming, decision);
    tracing::debug!(uid = &*incoming.uid, path, allowed = decision.answer.allowed(), "answered");
}

fn spans(state: &State, record: &DecisionRecord<'_>) {
    let (Some(tracer), Some(parent)) = (&state.tracer, record.parent) else { return };
    let template = record.route.template();
    let route = Some(template.as_ref());
    let requested = Requested { path: record.path, route, method: "POST", parent, began: record.began };
    tracer.decided(&requested, record.incoming, record.decision, record.failed);
}

fn reports(state: &State, record: &DecisionRecord<'_>) {
    if let Some(reporter) = &state.reporter {
        let is_blocked = !record.decision.answer.allowed();
        reporter.offer(record.incoming, record.snapshot, &record.decision.outcomes, is_blocked);
    }
}

fn metrics_of_audits(state: &State, record: &AuditRecord<'_>) {
    state.metrics.results(record.incoming, &record.prepared.request.target, record.outcomes);
}

fn pitfalls_of_audits(state: &State, record: &AuditRecord<'_>) {
    state.metrics.pitfalls.remarked(&record.snapshot.remarks);
}

fn reports_of_audits(state: &State, record: &AuditRecord<'_>) {
    if let Some(reporter) = &state.reporter {
        reporter.offer(record.incoming, record.snapshot, record.outcomes, false);
    }
}

fn audit_log_of_audits(state: &State, record: &AuditRecord<'_>) {
    if let Some(audit) = state.audit.as_ref().filter(|_| !record.outcomes.is_empty()) {
        let line = audit::later(&now(), record.path, record.incoming, record.outcomes);
        audit.write_or_count(&line, &state.metrics.audit_dropped);
    }
}
