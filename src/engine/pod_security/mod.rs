//! Pod Security Standards.

use crate::ir::check::PodSecurity;
use crate::ir::{Exception, Rule};

use super::{Request, RuleOutcome, Status};

/// Runs a podSecurity rule.
pub fn rule(
    _check: &PodSecurity,
    rule: &Rule,
    _request: &Request,
    _exceptions: &[&Exception],
) -> Option<RuleOutcome> {
    Some(RuleOutcome::new(&rule.name, rule.kind, Status::Error, "podSecurity rules are not supported yet"))
}
