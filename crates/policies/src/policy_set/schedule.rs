//! In which order the policies of a set are evaluated on a request.
//!
//! In: policies in order. Out: a [`Schedule`]: the steps of a request, each with its policies by
//! position. The order is a table (`ORDER`); who evaluates a request walks it, as a whole (files,
//! the library) or the steps of one webhook.

use std::sync::Arc;

use ephor_engine::run::Phase;
use ephor_ir::Policy;
use ephor_ir::facts::Stage;
use ephor_ir::rule::RuleKind;

/// Kinds of policies that have steps of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Rules.
    Own,
    /// Expressions over requests.
    Cel,
    /// Policies of Kubernetes.
    Kubernetes,
}

/// Where a step happens in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the webhook that changes objects.
    Changing,
    /// In the webhook that validates.
    Validating,
    /// Once the request is admitted.
    Later,
    /// In the API server, before or after its webhooks.
    Server,
}

/// The steps of a request: what policies do, which, and where.
const ORDER: [(Phase, Class, Place); 9] = [
    (Phase::Mutate, Class::Own, Place::Changing),
    (Phase::Verify, Class::Own, Place::Changing),
    (Phase::Decide, Class::Own, Place::Validating),
    (Phase::Mutate, Class::Kubernetes, Place::Server),
    (Phase::Mutate, Class::Cel, Place::Changing),
    (Phase::Decide, Class::Cel, Place::Validating),
    (Phase::Generate, Class::Cel, Place::Later),
    (Phase::Generate, Class::Own, Place::Later),
    (Phase::Decide, Class::Kubernetes, Place::Server),
];

/// A step of a request.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub phase: Phase,
    pub class: Class,
    pub place: Place,
    /// Its policies, by their position.
    pub policies: Vec<u32>,
    /// Whether some of them verify images, each of which may rely on images that others verified.
    pub settles_images: bool,
}

/// In which order the policies of a set are evaluated.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// The steps of a request that have policies.
    pub(super) steps: Vec<Step>,
    /// Policies that select objects to delete; requests do not run them.
    pub(super) deleting: Vec<u32>,
}

pub(super) fn class(policy: &Policy) -> Class {
    match policy.stage {
        Stage::Rules => Class::Own,
        Stage::ApiServer => Class::Kubernetes,
        Stage::Expressions | Stage::Payloads | Stage::CheckRequests | Stage::Schedule => Class::Cel,
    }
}

/// Whether a policy has something to do in a phase.
fn has(policy: &Policy, phase: Phase) -> bool {
    let rules = |kind: RuleKind| policy.rules.iter().any(|rule| rule.kind == kind);
    match phase {
        Phase::Mutate => rules(RuleKind::Mutation),
        Phase::Verify => rules(RuleKind::ImageVerification),
        Phase::Generate => rules(RuleKind::Generation),
        // The index finds which of their rules there are.
        _ => policy.stage.evaluates_resources(),
    }
}

impl Schedule {
    /// Reads all rules.
    pub fn of(policies: &[Arc<Policy>]) -> Schedule {
        let those = |fits: &dyn Fn(&Policy) -> bool| -> Vec<u32> {
            (0u32..).zip(policies).filter(|(_, p)| fits(p)).map(|(at, _)| at).collect()
        };
        let all = ORDER.into_iter().map(|(phase, class_of, place)| {
            let is_of = |p: &Policy| class(p) == class_of && has(p, phase);
            let verifies = |p: &Arc<Policy>| is_of(p) && p.verifies_images_together();
            Step {
                phase,
                class: class_of,
                place,
                policies: those(&is_of),
                settles_images: phase == Phase::Decide && policies.iter().any(verifies),
            }
        });
        Schedule {
            steps: all.filter(|step| !step.policies.is_empty()).collect(),
            deleting: those(&|p| p.stage == Stage::Schedule),
        }
    }

    /// The policies that do something, by position, in the order in which they do.
    pub(super) fn doing(&self, phase: Phase) -> impl Iterator<Item = (Class, u32)> {
        let steps = self.steps.iter().filter(move |step| step.phase == phase);
        steps.flat_map(|step| step.policies.iter().map(|at| (step.class, *at)))
    }

    /// Whether policies do more than give verdicts, each by itself.
    pub(super) fn has_phases(&self) -> bool {
        self.steps.iter().any(|step| step.phase != Phase::Decide || step.settles_images)
    }
}
