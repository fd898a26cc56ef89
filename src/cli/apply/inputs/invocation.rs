//! The arguments of a run, for commands that read a part of it.
//!
//! In: arguments, and the engine over what was loaded. Out: an [`Invocation`], which reports print
//! as commands.

use std::sync::Arc;

use ephor_analysis::reach;
use ephor_engine::Profile;
use ephor_ir::Policy;
use ephor_ir::facts::Stage;
use ephor_policies::policy_set::Engine;
use ephor_report::run::Invocation;

use super::super::arguments::InputArguments;
use super::policies::access;
use crate::cli::arguments::given;

/// The arguments, for commands that read a part of the run.
pub(in crate::cli::apply) fn invocation(a: &InputArguments<'_>, engine: &Engine) -> Invocation {
    let words =
        |flag: &str, values: Vec<String>| values.into_iter().flat_map(move |v| [flag.into(), v]).collect();
    let file = |path: &Option<String>| given(path).map(String::from).into_iter().collect();
    let is_set =
        |flag: &str, is_set: bool| -> Vec<String> { is_set.then(|| flag.into()).into_iter().collect() };
    let flags: [Vec<String>; 13] = [
        is_set("--recursive", a.input.recursive),
        is_set("--render", a.input.render),
        words("-f", file(&a.values.values_file)),
        words("--set", a.values.set()),
        words("-u", file(&a.values.userinfo)),
        words("-e", a.input.exceptions()),
        is_set("--exceptions-with-resources", a.input.exceptions_with_resources),
        is_set("--exceptions-within-policies", a.input.exceptions_within_policies),
        words("--context-file", file(&a.values.context_file)),
        words("--crd-paths", a.input.definitions()),
        words("--target-resource", a.input.target_resources()),
        words("--parameter-resource", a.input.parameter_resources()),
        [is_set("--registry", a.registry), is_set("--as-cluster", a.profile == Profile::as_cluster())]
            .concat(),
    ];
    let access = access(a.repository);
    if a.policies.iter().any(|argument| access.means_repository(argument)) {
        // A repository is read once.
        return Invocation { is_read_once: true, ..Invocation::default() };
    }
    let has_own_exceptions = a.input.exceptions_with_resources || a.input.exceptions_within_policies;
    let mutating: Vec<_> = engine.set().mutating().collect();
    let is_alone = |policy: &&Arc<Policy>| {
        !has_own_exceptions
            && policy.stage != Stage::ApiServer
            && !reach::of_policy(policy).any_cluster()
            && mutating.iter().all(|other| Arc::ptr_eq(other, policy))
    };
    let alone = engine.set().policies().iter().filter(is_alone).map(|policy| policy.key()).collect();
    Invocation {
        policies: a.policies.to_vec(),
        resources: a.input.resources(),
        flags: flags.concat(),
        is_read_once: false,
        alone,
    }
}
