//! What the policies of a run decide about an object, each on the object as it sees it.
//!
//! In: policies, exceptions and how requests are built. Out: the decisions of each rule. A policy
//! is evaluated on the object that others left which change it before.

use std::sync::Arc;

use ephor_document::Document;
use ephor_engine::request::NoObjects;
use ephor_ir::Policy;
use ephor_ir::facts::Stage;
use ephor_policies::load::LoadedPolicy;
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_testing::inputs::exceptions::Exceptions;
use ephor_testing::inputs::requests::Requests;
use ephor_value::Value;

use super::decisions::{Decided, decide};

/// What decides in a run.
#[derive(Clone, Copy, Debug)]
pub struct DecidedRun<'r> {
    /// The policies.
    pub policies: &'r [LoadedPolicy],
    /// The exceptions that count.
    pub exceptions: &'r Exceptions,
    /// How requests are built.
    pub requests: &'r Requests,
}

/// `name`, or `namespace/name`.
pub fn key(loaded: &LoadedPolicy) -> String {
    loaded.policy.as_ref().map_or_else(|| loaded.name.clone(), |policy| policy.key())
}

impl DecidedRun<'_> {
    /// The decisions of all policies about a resource, or of the one with this name.
    ///
    /// # Errors
    /// No request can be built from it.
    pub fn about(
        &self,
        engine: &Engine,
        resource: &Document,
        wanted: Option<&str>,
    ) -> Result<Vec<Decided>, NoObjects> {
        let before = changed_before(self, engine, &resource.value, wanted)?;
        let mut out = Vec::new();
        for loaded in self.policies.iter().filter(|p| wanted.is_none_or(|name| key(p) == name)) {
            let Some(policy) = &loaded.policy else { continue };
            let object = before.iter().find(|(of, _)| of.as_ref().is_none_or(|of| Arc::ptr_eq(of, policy)));
            let object = object.map_or(&resource.value, |(_, object)| object);
            let own = engine.with_set(self.exceptions.clone().with(vec![policy.clone()]));
            let request = self.requests.of_policy(policy, object.clone(), &own)?;
            out.extend(decide(loaded, &own, &request, resource));
        }
        Ok(out)
    }
}

/// The object as a policy sees it; without a policy, as all others do.
type AsSeen = (Option<Arc<Policy>>, Value);

/// The policies that change objects, or of these the ones that come before the wanted policy, in
/// the order of the set. Policies in CEL show the object that all of them leave, so where one comes
/// before, all count.
fn changing_before(set: &PolicySet, wanted: Option<&str>) -> Vec<Arc<Policy>> {
    let all: Vec<&Arc<Policy>> = set.mutating().collect();
    let place = wanted.and_then(|wanted| all.iter().position(|policy| policy.key() == wanted));
    let before = all.get(..place.unwrap_or(all.len())).unwrap_or_default();
    let counted = match before.iter().any(|policy| policy.stage == Stage::Expressions) {
        true => &all[..],
        false => before,
    };
    let is_counted = |policy: &&Arc<Policy>| counted.iter().any(|other| Arc::ptr_eq(other, policy));
    set.policies().iter().filter(is_counted).cloned().collect()
}

/// The object as each policy that changes objects sees it, and at the end as all others do; up to
/// the wanted policy, if there is one.
fn changed_before(
    run: &DecidedRun<'_>,
    engine: &Engine,
    object: &Value,
    wanted: Option<&str>,
) -> Result<Vec<AsSeen>, NoObjects> {
    let changing = changing_before(engine.set(), wanted);
    if changing.is_empty() {
        return Ok(Vec::new());
    }
    // What policies decide that change nothing is not needed here.
    let engine = &engine.with_set(run.exceptions.clone().with(changing));
    let request = run.requests.of(object.clone(), None, engine)?;
    let outcome = run.requests.with_own_values(object, &request, engine.evaluate(&request), engine);
    let (mut out, mut current) = (Vec::new(), object);
    for policy in engine.set().mutating() {
        out.push((Some(policy.clone()), current.clone()));
        let done = outcome.policies.iter().find(|p| Arc::ptr_eq(&p.policy, policy));
        current = outcome.left_by(policy, done).filter(|left| !left.is_null()).unwrap_or(current);
    }
    let last = outcome.object.as_ref().filter(|left| !left.is_null()).unwrap_or(current);
    out.push((None, last.clone()));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_the_wanted_policy_is_not_evaluated() {
        let policy = |name: &str, rule: &str| {
            let head = format!(
                "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n"
            );
            format!(
                "{head}  - name: r\n    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n    {rule}\n---\n"
            )
        };
        let change = "mutate: {patchStrategicMerge: {data: {a: b}}}";
        let check = "validate: {message: no, pattern: {data: {a: b}}}";
        let text = [policy("a", change), policy("check", check), policy("b", change)].concat();
        let files = [ephor_sources::files::SourceText { name: "p.yaml".into(), text }];
        let loaded = ephor_policies::load::argument_for(&files, ephor_policies::load::Reader::Scan);
        let all = loaded.policies.into_iter().filter_map(|loaded| loaded.policy).collect();
        let set = PolicySet::new(all, Vec::new());
        let names = |wanted: Option<&str>| {
            changing_before(&set, wanted).iter().map(|policy| policy.key()).collect::<Vec<_>>()
        };
        assert_eq!(names(None), ["a", "b"]);
        assert_eq!(names(Some("check")), ["a", "b"]);
        assert_eq!(names(Some("b")), ["a"]);
        assert_eq!(names(Some("a")), Vec::<String>::new());
    }
}
