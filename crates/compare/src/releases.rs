//! Sides in API servers: of one release, or of two.
//!
//! In: two [`Side`]s whose policies of Kubernetes were read for releases. Out: their comparison.
//! What of a policy means something else on another release is known from its expressions
//! (`ephor_lower::admission::release_changes`): where nothing does, both are compared on one
//! release, and a proof is one. Where something does, objects are searched on which the sides
//! differ, each evaluated as its release does, and without one the answer is "tested". The same
//! holds for parts that read typed objects otherwise than trees, of which classes of values are.
//! Semantics: `docs/semantics/kubernetes-releases.md`, "The same on two releases".

use std::sync::Arc;

use ephor_ir::Rule;
use ephor_lower::admission::typed_parts;
use ephor_value::release::Release;

use crate::model::answer::{Answer, Comparison};
use crate::sides::natives::{changes, texts};
use crate::sides::side::Side;

/// What both sides say of releases.
pub(crate) enum Servers {
    /// Nothing: no side has a policy of Kubernetes that an API server runs.
    None,
    /// Both are evaluated on one release, or only one of them; what of their policies reads typed
    /// objects in its own way.
    Same(Vec<String>),
    /// They are evaluated on two, of which this is the new side's; what of their policies means
    /// something else there.
    Two(Release, Vec<String>),
}

impl Servers {
    /// Those of two sides.
    pub fn of([old, new]: [&Side; 2]) -> Servers {
        match (old.release(), new.release()) {
            (None, None) => Servers::None,
            (Some(a), Some(b)) if a != b => {
                Servers::Two(b, changes(old.natives().iter().chain(new.natives()), [a, b]))
            }
            (Some(release), _) | (None, Some(release)) => match old.natives() == new.natives() {
                true => Servers::Same(Vec::new()),
                false => {
                    let all = old.natives().iter().chain(new.natives());
                    Servers::Same(texts(all.flat_map(|policy| typed_parts(policy, &[], release))))
                }
            },
        }
    }
}

/// A side whose policies of Kubernetes are evaluated on another release.
pub(crate) fn served_by(side: &Side, release: Release) -> Side {
    side.with_rules(&|rule| match &rule.bound {
        Some(bound) if bound.server.is_some() => {
            let bound = ephor_ir::admission::Bound { server: Some(release), ..(**bound).clone() };
            Arc::new(Rule { bound: Some(Arc::new(bound)), ..(**rule).clone() })
        }
        _ => Arc::clone(rule),
    })
}

/// Whether two sides have the same rules, which mean the same: no object can distinguish them.
pub(crate) fn are_one([old, new]: [&Side; 2]) -> bool {
    let (one, other) = (old.engine.set(), new.engine.set());
    one.policies() == other.policies()
        && one.exceptions() == other.exceptions()
        && one.cel_exceptions() == other.cel_exceptions()
}

/// A comparison that is no proof for these reasons.
pub(crate) fn no_proof(mut found: Comparison, reasons: &[String]) -> Comparison {
    if reasons.is_empty() {
        return found;
    }
    found.reasons.extend(reasons.iter().cloned());
    found.answer = match found.answer {
        Answer::Proved | Answer::ProvedRelative(_) => Answer::Tested(reasons.to_vec()),
        Answer::Tested(mut all) => {
            all.extend(reasons.iter().cloned());
            Answer::Tested(all)
        }
        other => other,
    };
    found
}
