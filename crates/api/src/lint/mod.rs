//! Policy checks: what is wrong with a ClusterPolicy or Policy that fits its schema.
//!
//! In: a policy with its defaults filled in. Out: warnings and at most one error, with the texts of
//! Kyverno 1.19.1. Semantics: section 5 of the policy object specification, offline: no cluster is
//! read, permissions count as granted, no kind is known to be cluster-scoped, CEL is not compiled.
//!
//! The steps run in this order and stop at the first error; each has a file:
//! the policy as a whole (`whole`), variables (`variables`), the structure (`structure`, which
//! collects all it finds), action overrides (`overrides`), kinds (`kinds`), then each computed rule
//! (`rules`). Exceptions have checks of their own ([`exception`]).
//!
//! - `body`: the bodies of rules: which parts go together, anchors, CEL fields
//! - [`cleanup`]: checks of a CleanupPolicy or ClusterCleanupPolicy as a user writes it
//! - `conditions`: complete, with an operator that exists, and with operations that
//!   exist
//! - `context`: context entries of a rule
//! - `elements`: the loop variables `element` and `elementIndex` have a meaning only inside a
//!   foreach
//! - `empty_set`: rules whose exclude block leaves nothing of what match selects
//! - [`exception`]: checks of a PolicyException as a user writes it
//! - `fields`: findings of single fields, collected into one error
//! - `generate`: generate bodies: what is generated, from where, and into which scope
//! - `images`: image verification entries
//! - `kinds`: kinds of match and exclude blocks: where the wildcard `*` is allowed
//! - `overrides`: overrides of the failure action: a namespace must not come under both actions
//! - `patches`: JSON patches in rules: whether they decode, and where their paths lead
//! - `rules`: the checks of each computed rule, in their order
//! - `selector`: label selectors: whether one can be built
//! - `structure`: structural checks: field by field, all findings collected into one error
//! - `subject`: what checks read and give: the policy, its computed rules, findings
//! - `substitute`: a dry substitution: every reference and variable of a document is resolved
//!   against nothing
//! - `targets_metadata`: labels and annotations in patterns and patches are texts
//! - `variables`: which may be used where, in background scans and elsewhere
//! - `whole`: checks of the policy as a whole: its namespace, spellings of actions, where it is
//!   processed

mod body;
pub mod cleanup;
mod conditions;
mod context;
mod elements;
mod empty_set;
pub mod exception;
mod fields;
mod generate;
mod images;
mod kinds;
mod overrides;
mod patches;
mod rules;
mod selector;
mod structure;
mod subject;
mod substitute;
mod targets_metadata;
mod variables;
mod whole;

pub use conditions::OPERATORS;
pub use images::decoding_problem as attestor_set_problem;
pub use subject::{Cause, Checks, Finding, Findings, Scope};
use subject::{Outcome, Subject};

use super::MAX_DEPTH;
use super::schema::is_deeper;
use ephor_value::Value;

/// Checks a policy.
pub fn lint(policy: &Value, checks: &Checks) -> Findings {
    let mut warnings = Vec::new();
    if is_deeper(policy, MAX_DEPTH) {
        let error = Some(Finding::at("", "the policy is nested too deeply"));
        return Findings { warnings, error };
    }
    let subject = Subject::new(policy, checks);
    let error = run(&subject, &mut warnings).err();
    Findings { warnings, error }
}

/// Checks a policy like [`lint`] and gives every step's errors, also those behind the first one.
/// Steps that find more than one thing report the first of each rule.
pub fn all(policy: &Value, checks: &Checks) -> (Vec<Finding>, Vec<Finding>) {
    let mut warnings = Vec::new();
    if is_deeper(policy, MAX_DEPTH) {
        return (warnings, vec![Finding::at("", "the policy is nested too deeply")]);
    }
    let subject = Subject::new(policy, checks);
    let mut outcomes = vec![whole::namespace(&subject, &mut warnings)];
    whole::action_spellings(&subject, &mut warnings);
    outcomes.push(whole::match_conditions(&subject));
    outcomes.push(variables::check_users(&subject));
    outcomes.extend(subject.rules().map(|rule| variables::check_one(&subject, &rule)));
    outcomes.extend(structure::each(&subject, &mut warnings).into_iter().map(Err));
    outcomes.push(overrides::check(&subject));
    outcomes.push(whole::processing(&subject));
    outcomes.push(kinds::check(&subject));
    for rule in subject.rules() {
        outcomes.extend(rules::check_one(&subject, &rule, &mut warnings));
    }
    (warnings, outcomes.into_iter().filter_map(Result::err).collect())
}

fn run(subject: &Subject<'_>, warnings: &mut Vec<Finding>) -> Outcome {
    whole::namespace(subject, warnings)?;
    whole::action_spellings(subject, warnings);
    whole::match_conditions(subject)?;
    variables::check(subject)?;
    structure::check(subject, warnings)?;
    overrides::check(subject)?;
    whole::processing(subject)?;
    kinds::check(subject)?;
    rules::check(subject, warnings)
}

#[cfg(test)]
mod tests;
