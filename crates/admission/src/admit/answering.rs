//! How a gate answers AdmissionReviews.
//!
//! In: a gate, the path and the review. Out: the [`Decision`], by the webhook of the path:
//! `verdict` allows or denies, `changing` mutates.

use ephor_policies::policy_set::outcomes::Outcomes;
use ephor_policies::policy_set::verdicts::PreparedRequest;

use super::answer::Answer;
use super::decision::{Deadline, Decision, out_of_time};
use super::gate::Gate;
use super::incoming::{Incoming, Undecodable, decode};
use super::route::{Phase, Route};
use super::{changing, verdict};

impl Gate {
    /// Answers a review that a client sent to a path: JSON in, JSON out. Results of rules that only
    /// audit are not among what is answered ([`Gate::audit`]).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use ephor_admission::admit::{Deadline, Gate};
    /// use ephor_external::NoData;
    /// use ephor_policies::load::{self, Reader};
    /// use ephor_sources::files::SourceText;
    /// use ephor_value::release::Release;
    ///
    /// let policy = SourceText {
    ///     name: "policy.yaml".into(),
    ///     text: r#"
    /// apiVersion: kyverno.io/v1
    /// kind: ClusterPolicy
    /// metadata: {name: need-team}
    /// spec:
    ///   rules:
    ///   - name: team
    ///     match: {any: [{resources: {kinds: [ConfigMap]}}]}
    ///     validate: {failureAction: Enforce, message: label team is needed, pattern: {metadata: {labels: {team: "?*"}}}}
    /// "#.into(),
    /// };
    /// let reader = Reader::Server(Release::default());
    /// let gate = Gate::new(load::argument_for(&[policy], reader), Arc::new(NoData), &[]);
    /// let review = r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
    ///   "uid": "1", "operation": "CREATE", "name": "a", "namespace": "shop",
    ///   "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
    ///   "resource": {"group": "", "version": "v1", "resource": "configmaps"},
    ///   "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}}}}"#;
    /// let answer = gate.review("/validate", review, &Deadline::never())?;
    /// assert!(answer.contains(r#""allowed":false"#) && answer.contains("label team is needed"));
    /// # Ok::<(), ephor_admission::admit::incoming::Undecodable>(())
    /// ```
    ///
    /// # Errors
    /// The text is no review, or there is no such path: the HTTP status and the text of the
    /// response.
    pub fn review(&self, path: &str, review: &str, deadline: &Deadline) -> Result<String, Undecodable> {
        let route = Route::parse(path).ok_or_else(|| Undecodable::new(404, "404 page not found"))?;
        let incoming = decode("application/json", review.as_bytes())?;
        Ok(self.answer(&route, &incoming, deadline).answer.to_json(&incoming))
    }

    /// Answers a review.
    pub fn answer(&self, route: &Route, incoming: &Incoming, deadline: &Deadline) -> Decision {
        self.answer_of(route, incoming, false, deadline)
    }

    /// Answers a review; `is_own`: the controllers of this program send it.
    pub fn answer_of(
        &self,
        route: &Route,
        incoming: &Incoming,
        is_own: bool,
        deadline: &Deadline,
    ) -> Decision {
        let settings = self.settings().filter(|s| s.leaves_out());
        if settings.is_some_and(|settings| self.is_left_out(settings, incoming)) {
            return Decision::default();
        }
        if let Some(denied) = self.unanswerable(route) {
            return denied;
        }
        match route.phase {
            Phase::Validate => verdict::decide(self, route, incoming, deadline),
            Phase::Mutate => changing::decide(self, route, incoming, is_own, deadline),
        }
    }

    /// The decision when time ran out before the policies of a path were ready.
    pub fn late(&self, route: &Route) -> Decision {
        if let Some(denied) = self.unanswerable(route) {
            return denied;
        }
        let selected = self.engine().set().policies().iter().filter(|p| self.serves(p) && route.selects(p));
        let closed = selected.filter(|p| p.failure_policy.is_fail()).map(|p| &*p.name);
        let mutates = route.phase == Phase::Mutate;
        let native = self.engine().native().filter(|p| route.selects_native() && p.mutates() == mutates);
        let native = native.filter(|p| p.failure_policy().is_fail()).map(|p| &**p.name());
        let denial = out_of_time(closed.chain(native));
        Decision::of(Answer { denial, ..Answer::default() })
    }

    /// The results of rules that only audit, which an answer does not wait for.
    pub fn audit(&self, route: &Route, prepared: &PreparedRequest, deadline: &Deadline) -> Outcomes {
        match route.phase {
            Phase::Validate => verdict::later(self, route, prepared, deadline),
            Phase::Mutate => Outcomes::default(),
        }
    }
}
