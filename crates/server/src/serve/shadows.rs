//! Policies in audit mode that may replace others, on the requests of a cluster.
//!
//! In: a request, after its answer. Out: a counter by policy and result, and at info one line for
//! each request that a policy and its shadow decide differently: by which policies and rules, whose
//! request it was and about what.

use std::time::{Duration, Instant};

use ephor_admission::admit::shadow::Relation;
use ephor_admission::admit::{Deadline, Gate, Incoming, Route};
use ephor_policies::policy_set::verdicts::PreparedRequest;

use super::denials::object;
use super::metrics::Metrics;

/// How long the comparison of a request may take.
const LONGEST: Duration = Duration::from_secs(10);

/// Compares what policies and their shadows decide.
pub fn compare(
    metrics: &Metrics,
    gate: &Gate,
    route: &Route,
    path: &str,
    incoming: &Incoming,
    prepared: &PreparedRequest,
) {
    for one in gate.compare_shadows(route, prepared, &Deadline::at(Instant::now() + LONGEST)) {
        metrics.shadows.with_label_values(&[&*one.policy, one.relation.name()]).inc();
        if one.relation != Relation::Same {
            tracing::info!(
                policy = one.policy,
                result = one.relation.name(),
                violated = one.violated.join(", "),
                user = incoming.text(&["userInfo", "username"]),
                operation = incoming.text(&["operation"]),
                object = object(incoming),
                dry_run = incoming.dry_run(),
                uid = &*incoming.uid,
                path,
                "a shadow decides differently"
            );
        }
    }
}
