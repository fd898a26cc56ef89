//! The conditions of a rule, with others in their place.
//!
//! In: a rule, and what becomes of conditions. Out: the rule with these: its preconditions, those
//! that deny, and those of loops.

use ephor_ir::check::{Check, ForEach};
use ephor_ir::rule::Body;
use ephor_ir::{Conditions, Rule};

/// A rule in which all conditions are what `change` makes of them.
pub(crate) fn with_conditions(rule: &Rule, change: &mut dyn FnMut(&Conditions) -> Conditions) -> Rule {
    let admit = rule.admit.as_ref().map(&mut *change);
    let body = match &rule.body {
        Body::Validate { check: own, message } => {
            Body::Validate { check: check(own, change), message: message.clone() }
        }
        other => other.clone(),
    };
    Rule { admit, body, ..rule.clone() }
}

fn check(own: &Check, change: &mut dyn FnMut(&Conditions) -> Conditions) -> Check {
    match own {
        Check::Deny(all) => Check::Deny(change(all)),
        Check::ForEach(loops) => {
            let mut of = |l: &ForEach| ForEach {
                admit: l.admit.as_ref().map(&mut *change),
                check: check(&l.check, change),
                ..l.clone()
            };
            Check::ForEach(loops.iter().map(&mut of).collect())
        }
        other => other.clone(),
    }
}
