//! Which policies of a set run in which phase.
//!
//! In: policies in order. Out: [`Phases`], the positions of those that mutate, verify images,
//! generate or delete.

use std::sync::Arc;

use ephor_ir::Policy;
use ephor_ir::facts::Stage;
use ephor_ir::rule::RuleKind;

/// Which policies of a set mutate or generate objects, by their position.
#[derive(Clone, Debug, Default)]
pub struct Phases {
    pub(super) mutating: Vec<u32>,
    pub(super) verifying: Vec<u32>,
    pub(super) generating: Vec<u32>,
    /// CEL policies that mutate objects.
    pub(super) changing: Vec<u32>,
    /// CEL policies that generate objects.
    pub(super) creating: Vec<u32>,
    /// Policies that select objects to delete; requests do not run them.
    pub(super) deleting: Vec<u32>,
    /// Policies of Kubernetes that mutate objects.
    pub(super) admitting: Vec<u32>,
    /// CEL policies that verify images, each of which may rely on images that others verified.
    pub(super) imaging: Vec<u32>,
}

/// Kinds of policies that have phases of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Own,
    Cel,
    Kubernetes,
}

pub(super) fn class(policy: &Policy) -> Class {
    match policy.stage {
        Stage::Rules => Class::Own,
        Stage::ApiServer => Class::Kubernetes,
        Stage::Expressions | Stage::Payloads | Stage::CheckRequests | Stage::Schedule => Class::Cel,
    }
}

impl Phases {
    /// Reads all rules.
    pub fn of(policies: &[Arc<Policy>]) -> Phases {
        let having = |kind: RuleKind, wanted: Class| {
            let has = |p: &Policy| class(p) == wanted && p.rules.iter().any(|r| r.kind == kind);
            (0u32..).zip(policies).filter(|(_, p)| has(p)).map(|(i, _)| i).collect()
        };
        let deleting =
            (0u32..).zip(policies).filter(|(_, p)| p.stage == Stage::Schedule).map(|(i, _)| i).collect();
        let imaging =
            (0u32..).zip(policies).filter(|(_, p)| p.verifies_images_together()).map(|(i, _)| i).collect();
        Phases {
            imaging,
            deleting,
            mutating: having(RuleKind::Mutation, Class::Own),
            verifying: having(RuleKind::ImageVerification, Class::Own),
            generating: having(RuleKind::Generation, Class::Own),
            changing: having(RuleKind::Mutation, Class::Cel),
            creating: having(RuleKind::Generation, Class::Cel),
            admitting: having(RuleKind::Mutation, Class::Kubernetes),
        }
    }
}
