//! Native policies of a set, as an API server evaluates them.
//!
//! In: the request of a review. Out: the API server's answer, or the changed object. The index
//! finds the policies by the resource of the request; results of those that validate are stored in
//! the result cache. Bindings belong to the set; what depends on parameters or rights, which may
//! change without an admission request, is not cached.

use std::sync::Arc;

use ephor_analysis::reads::Reads;
use ephor_engine::admission::{
    self, AdmissionOutcome, BoundPolicy, ClusterView, Mutated, Review, answer, verdict,
};
use ephor_functions::Context;
use ephor_ir::Policy;
use ephor_kubernetes::Kinds;
use ephor_matching::index::Slot;
use ephor_value::{Str, Value, budget};

use super::engine::Engine;
use super::outcomes::{Outcomes, Part};
use super::result_cache::{Bytes, Subject};
use super::results::PolicyOutcome;
use super::verdicts::Evaluation;

/// The name of the limits under which results are cached.
const NAME: &str = "native";

/// A request that native policies validate.
struct ReviewSubject<'r> {
    review: &'r Review,
    kinds: &'r Arc<Kinds>,
    /// The namespace that the request is in, as it is known.
    namespace: Value,
}

impl Engine {
    /// The native policies with bindings.
    pub fn native(&self) -> impl Iterator<Item = BoundPolicy<'_>> {
        let all = self.set.native.clone().filter_map(|at| self.policy(at));
        all.filter_map(|(_, policy)| BoundPolicy::of(policy))
    }

    /// The API server's answer after the native policies that validate.
    pub fn validate_as_server(&self, review: &Review) -> AdmissionOutcome {
        let verdicts = self.native_verdicts(review);
        let release = ClusterView::of(&*self.external).release();
        answer(review, verdicts.policies().map(|p| (&*p.policy, &p.rules[..])), release)
    }

    /// The results of native policies that validate, of those that have one.
    pub fn native_verdicts(&self, review: &Review) -> Outcomes {
        let slots = self.native_slots(review);
        if slots.is_empty() {
            return Outcomes::default();
        }
        let cluster = ClusterView::of_request(&*self.external, review);
        let cx = cluster.functions(review);
        let subject = ReviewSubject {
            review,
            kinds: cluster.shared_kinds(),
            namespace: cluster.namespace(&review.attributes.namespace).unwrap_or_default(),
        };
        let rules = self.planned(slots, &subject, !review.is_dry_run());
        let part =
            |slots: &[Slot], left: &mut Vec<Arc<Policy>>| self.validated(slots, review, &cluster, &cx, left);
        self.evaluated(&rules, &Evaluation { subject: &subject, name: Some(NAME), part: &part }).outcomes
    }

    /// The object after the native policies that change it.
    pub fn mutate_as_server(&self, review: &Review) -> Mutated {
        let slots = self.native_slots(review);
        let policies = slots.iter().filter_map(|(at, _)| BoundPolicy::of(self.policy(*at)?.1));
        let policies: Vec<BoundPolicy<'_>> = policies.collect();
        admission::mutate(&policies, review, &ClusterView::of_request(&*self.external, review))
    }

    /// The native policies that can match a request.
    fn native_slots(&self, review: &Review) -> Vec<Slot> {
        let mut slots = self.set.index.of_resource(&review.attributes.resource, &self.set.native);
        if review.is_exempt() {
            let sees = |at| Some(BoundPolicy::of(self.policy(at)?.1)?.sees(review));
            slots.retain(|(at, _)| sees(*at).unwrap_or(false));
        }
        slots
    }

    fn validated(
        &self,
        slots: &[Slot],
        review: &Review,
        cluster: &ClusterView<'_>,
        cx: &Context,
        left: &mut Vec<Arc<Policy>>,
    ) -> Part {
        let mut out = Part::default();
        for (at, policy) in slots.iter().filter_map(|(at, _)| Some((*at, self.policy(*at)?.1))) {
            let results = verdict(policy, review, cluster, cx);
            if !results.is_empty() {
                out.policies.push((at, PolicyOutcome::of(policy, results)));
            }
            // What was interrupted is a failure of the policy, and is not cached.
            if budget::is_interrupted() {
                left.push(policy.clone());
            }
        }
        out
    }
}

impl Subject for ReviewSubject<'_> {
    fn kind(&self) -> &Str {
        &self.review.attributes.resource
    }

    fn kinds(&self) -> Option<&Arc<Kinds>> {
        Some(self.kinds)
    }

    fn circumstances(&self, out: &mut Bytes) {
        out.sent(self.review.request.as_map());
        // What becomes of an object under another version depends on its own.
        for object in [self.review.object(), self.review.old_object()] {
            out.text(object.text_at(&["apiVersion"]));
        }
        out.value(self.namespace.at(&["metadata", "labels"]).unwrap_or(&Value::Null), 0);
        out.value(&Value::Bool(self.namespace.is_null()), 0);
    }

    fn reads(&self, reads: &Reads, out: &mut Bytes) {
        for (key, _) in [("name", reads.name), ("userInfo", reads.user)].into_iter().filter(|(_, is)| *is) {
            out.value(self.review.request.get(key).unwrap_or(&Value::Null), 0);
        }
        // Labels of both objects are reported in any case.
        out.tree(&reads.object, self.review.object(), 0);
        out.tree(&reads.shown, self.review.object(), 0);
        out.tree(&reads.old, self.review.old_object(), 0);
        out.tree(&reads.namespace, &self.namespace, 0);
    }
}

#[cfg(test)]
mod tests;
