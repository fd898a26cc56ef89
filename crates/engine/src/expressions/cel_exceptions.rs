//! How PolicyExceptions of `policies.kyverno.io` apply to policies.
//!
//! In: the exceptions of a set, a policy, and what expressions see. Out: those that apply, and the
//! result of a rule that is exempt as a whole. Semantics: `docs/semantics/cel-policies.md`,
//! "Exceptions".

use crate::outcome::{RuleOutcome, Status};
use ephor_functions::{Context, now};
use ephor_ir::cel_exception::CelException;
use ephor_ir::expressions::POLICIES;
use ephor_ir::{Policy, Rule};
use ephor_value::Value;

use super::{ConditionsError, Scope};

/// The PolicyExceptions of `policies.kyverno.io`, in the order in which they count.
#[derive(Clone, Copy, Debug)]
pub struct CelExceptions<'e> {
    /// All of them.
    pub all: &'e [CelException],
    /// Whether they apply after they have expired (`Profile::expired_exceptions_apply`).
    pub expired_apply: bool,
}

impl<'e> CelExceptions<'e> {
    /// Those that name a policy and have not expired.
    fn of<'p>(
        self,
        policy: &'p Policy,
        functions: &'p Context,
    ) -> impl Iterator<Item = &'e CelException> + use<'e, 'p> {
        let named = self.all.iter().filter(|e| e.names(policy));
        named.filter(move |e| {
            let Some(expires) = e.expires.filter(|_| !self.expired_apply) else { return true };
            // A result because of an exception is valid only until then.
            ephor_functions::untracked::note();
            expires > now(functions).unix_nanos()
        })
    }
}

/// The exceptions that apply to the policy.
pub(super) fn excepted<'e>(
    policy: &Policy,
    root: &Value,
    functions: &Context,
    cel_exceptions: CelExceptions<'e>,
) -> Result<Vec<&'e CelException>, ConditionsError> {
    let mut found: Vec<&CelException> = Vec::new();
    for exception in cel_exceptions.of(policy, functions) {
        match Scope::new(root, functions, &POLICIES).admits(&exception.admit) {
            Ok(true) => found.push(exception),
            Ok(false) => {}
            Err(_) if found.iter().any(|e| e.is_full()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

pub(super) fn exempt(rule: &Rule, found: &[&CelException]) -> RuleOutcome {
    let keys: Vec<&str> = found.iter().map(|e| &*e.key).collect();
    let decides = found.iter().rev().max_by_key(|e| e.priority);
    let (status, verb) = match decides {
        Some(e) if e.passes => (Status::Pass, "passed"),
        _ => (Status::Skip, "skipped"),
    };
    let text = format!("rule is {verb} due to policy exception: {}", keys.join(", "));
    let mut result = RuleOutcome::new(&"exception".into(), rule.kind, status, text);
    result.exceptions = found.iter().map(|e| e.name.clone()).collect();
    result
}
