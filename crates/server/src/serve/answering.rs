//! Answering one review whose body is there.
//!
//! In: the body, and when the answer is due. Out: the answer; metrics, the audit log, reports and
//! spans on the way. All of it runs on threads for evaluations, so that threads which read requests
//! wait for the deadline alone. What is late is answered by failure policy; a later result of the
//! evaluation is ignored.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::response::Response;
use prometheus::IntGauge;
use tokio::sync::OwnedSemaphorePermit;

use ephor_admission::admit::answer::Answer;
use ephor_admission::admit::incoming::{Incoming, decode};
use ephor_admission::admit::route::Phase;
use ephor_admission::admit::{Deadline, Decision, Route, Undecodable};

use super::policies::Snapshot;
use super::shadows;
use super::sinks::{self, AuditRecord, DecisionRecord};
use super::threads::Done;
use super::traces::{Failed, Parent};
use crate::serve::body_reader::RequestBody;
use crate::serve::responses::answered;
use crate::serve::state::State;

/// How long results that no answer waits for may take.
const LATER: Duration = Duration::from_secs(30);
/// Larger bodies take long to decode.
const LARGE: usize = 256 << 10;
/// How long writing down a decision may take after it was due.
const WRITING: Duration = Duration::from_millis(250);

/// A review to be answered.
pub struct ReviewJob {
    /// The policies and the phase that the path selects.
    pub route: Route,
    /// The path.
    pub path: String,
    /// `Content-Type`.
    pub content_type: String,
    /// When it came.
    pub began: Instant,
    /// When its answer is due.
    pub due: Instant,
    /// Its body.
    pub body: RequestBody,
    /// Its place among the reviews under way.
    pub running: Permit,
}

/// A place among the reviews under way, given back when the evaluation has ended.
pub struct Permit {
    _permit: OwnedSemaphorePermit,
    running: IntGauge,
}

impl Permit {
    /// A place that is counted already.
    pub fn new(permit: OwnedSemaphorePermit, running: IntGauge) -> Permit {
        Permit { _permit: permit, running }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.running.dec();
    }
}

/// Nothing is decided yet.
const OPEN: u8 = 0;
/// The evaluation has decided.
const DECIDED: u8 = 1;
/// Time has run out.
const LATE: u8 = 2;

/// A review while it is evaluated.
struct Review {
    state: Arc<State>,
    snapshot: Arc<Snapshot>,
    route: Arc<Route>,
    path: String,
    parent: Option<Parent>,
    began: Instant,
    due: Instant,
    /// The review, when it is decoded.
    incoming: OnceLock<Arc<Incoming>>,
    /// Who decides.
    outcome: AtomicU8,
}

/// Answers a review; `parent` = the trace that it belongs to, if spans are recorded.
///
/// # Errors
/// It is none, or nothing could be answered in time.
pub async fn answer(
    state: &Arc<State>,
    job: ReviewJob,
    parent: Option<Parent>,
) -> Result<Response, Undecodable> {
    let ReviewJob { route, path, content_type, began, due, body, running } = job;
    let snapshot = state.store.current();
    let slow = snapshot.latency.is_slow() || body.bytes.len() > LARGE;
    let review = Arc::new(Review {
        state: state.clone(),
        snapshot,
        route: Arc::new(route),
        path,
        parent,
        began,
        due,
        incoming: OnceLock::new(),
        outcome: AtomicU8::new(OPEN),
    });
    // What is decoded is freed on the thread that allocated it.
    let evaluated = Arc::downgrade(&review);
    let work = move || {
        let (_running, body) = (running, body);
        review.decoded(decode(&content_type, &body.bytes)?)
    };
    match state.threads.run(slow, due, work).await {
        Done::Result(response) => response,
        Done::Fault(text) => Err(Undecodable::new(500, text)),
        Done::Late => late(state, evaluated.upgrade()).await,
    }
}

/// What is answered when time has run out.
async fn late(state: &State, review: Option<Arc<Review>>) -> Result<Response, Undecodable> {
    state.metrics.late.inc();
    let nothing = || Undecodable::new(504, "there was no time to answer");
    let Some(review) = review else { return Err(nothing()) };
    let is_decided = review.outcome.swap(LATE, Ordering::AcqRel) == DECIDED;
    let Some(incoming) = review.incoming.get().cloned().filter(|_| !is_decided) else {
        return Err(nothing());
    };
    let written = move || {
        let decision = review.snapshot.gate.late(&review.route);
        review.finish(&incoming, decision, Some(Failed::Late))
    };
    // Also what only writes may wait for a disk.
    match state.threads.run(true, Instant::now() + WRITING, written).await {
        Done::Result(response) => Ok(response),
        Done::Late | Done::Fault(_) => Err(nothing()),
    }
}

impl Review {
    fn decoded(&self, incoming: Incoming) -> Result<Response, Undecodable> {
        let late = || Undecodable::new(504, "there was no time to answer");
        let incoming = self.incoming.get_or_init(|| Arc::new(incoming)).clone();
        if Instant::now() >= self.due && self.outcome.load(Ordering::Acquire) == LATE {
            return Err(late());
        }
        let (mut decision, failed) = self.decide(&incoming);
        self.take_work(&incoming, &mut decision);
        if self.outcome.swap(DECIDED, Ordering::AcqRel) == LATE {
            return Err(late());
        }
        Ok(self.finish(&incoming, decision, failed))
    }

    fn decide(&self, incoming: &Incoming) -> (Decision, Option<Failed>) {
        let Review { snapshot, route, due, .. } = self;
        let began = Instant::now();
        let is_own = self.state.work.get().is_some_and(|intake| intake.is_own(incoming));
        let answer = || snapshot.gate.answer_of(route, incoming, is_own, &Deadline::at(*due));
        let answer = AssertUnwindSafe(answer);
        let decision = catch_unwind(answer);
        snapshot.latency.note(began.elapsed());
        let failed = decision.is_err().then_some(Failed::Fault);
        let decision = decision.unwrap_or_else(|_| Decision {
            answer: Answer::denied("internal error: the evaluation ended in a fault of the program"),
            ..Decision::default()
        });
        if let Some(unknown) = &decision.unknown {
            self.state.note_unknown(&self.path, route, unknown);
        }
        (decision, failed)
    }

    /// Writes down the work that an allowed request causes; one that must not go through without it
    /// is refused.
    fn take_work(&self, incoming: &Incoming, decision: &mut Decision) {
        let Some(intake) = self.state.work.get() else { return };
        let Some(prepared) = decision.prepared.as_ref().filter(|_| decision.answer.allowed()) else { return };
        let due = Deadline::at(self.due);
        let taken = AssertUnwindSafe(|| {
            intake.take(&self.snapshot.gate, &self.route, incoming, &prepared.request, &due)
        });
        match catch_unwind(taken) {
            Ok(Err(error)) if error.required => decision.answer = Answer::denied(error.to_string()),
            Ok(_) => {}
            Err(_) => tracing::error!("the work of a request is not known: a fault of the program"),
        }
    }

    /// Records a decision, and answers.
    fn finish(&self, incoming: &Arc<Incoming>, decision: Decision, failed: Option<Failed>) -> Response {
        let took = self.began.elapsed().as_secs_f64();
        let response = answered(&decision.answer, incoming);
        let record = DecisionRecord {
            route: &self.route,
            path: &self.path,
            snapshot: &self.snapshot,
            incoming,
            decision: &decision,
            parent: self.parent.as_ref(),
            began: self.began,
            took,
            failed,
        };
        sinks::record(&self.state, &record);
        if self.route.phase == Phase::Validate {
            self.later(incoming, decision);
        }
        response
    }

    /// Results that no answer waits for, as long as few wait for theirs: those of rules that only
    /// audit, and comparisons with shadows. When too many wait for slow ones, these are left out
    /// and counted.
    fn later(&self, incoming: &Arc<Incoming>, decision: Decision) {
        let audits = decision.audits && decision.answer.allowed();
        let compares = self.snapshot.gate.has_shadows(&self.route);
        let Some(prepared) = decision.prepared.filter(|_| audits || compares) else { return };
        let (state, snapshot, route) = (self.state.clone(), self.snapshot.clone(), self.route.clone());
        let slow = snapshot.latency.is_slow();
        let brief = snapshot.latency.audits_are_brief();
        let permit = if slow { &state.auditing } else { &state.afterwards }.clone().try_acquire_owned().ok();
        if slow && permit.is_none() {
            state.metrics.audit_dropped.inc();
            return;
        }
        let waits = permit.is_some();
        let (incoming, path) = (incoming.clone(), self.path.clone());
        let of = self.state.clone();
        let work = move || {
            if compares {
                shadows::compare(&of.metrics, &snapshot.gate, &route, &path, &incoming, &prepared);
            }
            if !audits {
                return;
            }
            let began = Instant::now();
            let outcomes = snapshot.gate.audit(&route, &prepared, &Deadline::at(began + LATER));
            snapshot.latency.note_audit(began.elapsed());
            let (incoming, snapshot, path) = (&incoming, &snapshot, &path);
            let (prepared, outcomes) = (&prepared, &outcomes);
            sinks::record_audit(&of, &AuditRecord { path, snapshot, incoming, prepared, outcomes });
            drop(permit);
        };
        if slow || (waits && !brief) {
            // Right after the answer, by the same thread if it can be: what was allocated is freed
            // where it was.
            drop(state.threads.spawn(slow, work));
        } else {
            drop(catch_unwind(AssertUnwindSafe(work)));
        }
    }
}
