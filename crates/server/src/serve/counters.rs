//! Counters of results, found without reading all their labels.
//!
//! A request has some dozens of results, each with a counter of a dozen labels that hardly ever
//! change. In: what a request is about, a policy and its result. Out: the counter, from a cache.

use std::sync::{Arc, PoisonError, RwLock};

use ephor_engine::{RuleOutcome, Status};
use ephor_ir::Policy;
use ephor_value::Str;
use foldhash::HashMap;

use crate::serve::series::Count;

/// How many circumstances are cached at a time; when there are more, the cache is cleared.
const MAX_CIRCUMSTANCES: usize = 1024;

/// What labels of all results of a request have in common: kind, namespace, operation, dry run.
pub(super) type Circumstances<'c> = (&'c str, &'c str, &'c str, bool);

/// The counter of a result with its mode.
struct KnownCounter {
    rule: Str,
    status: Status,
    enforced: bool,
    counter: Count,
}

/// Counters by the address of the policy, which is retained so that no other policy gets the
/// address.
type ByPolicy = HashMap<usize, (Arc<Policy>, Vec<KnownCounter>)>;

/// See the module page.
#[derive(Default)]
pub(super) struct ResultCounters(RwLock<HashMap<String, Arc<RwLock<ByPolicy>>>>);

/// The counters of one set of circumstances.
pub(super) struct CountersOfRequest(Arc<RwLock<ByPolicy>>);

impl ResultCounters {
    /// Clears the cache: the policies that counters were found for may be gone.
    pub fn clear(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The counters of the results of a request.
    pub fn book(&self, (kind, namespace, operation, dry): Circumstances<'_>) -> CountersOfRequest {
        // None of these holds a slash.
        let key = [kind, "/", namespace, "/", operation, if dry { "/dry" } else { "" }].concat();
        if let Some(book) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return CountersOfRequest(book.clone());
        }
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_CIRCUMSTANCES {
            all.clear();
        }
        CountersOfRequest(all.entry(key).or_default().clone())
    }
}

impl CountersOfRequest {
    /// Counts results of a policy; `enforced` returns whether a result counts as enforced, `find`
    /// finds the counter of one that is not known yet; `counted` is called with each counter.
    pub fn count(
        &self,
        policy: &Arc<Policy>,
        results: &[RuleOutcome],
        enforced: impl Fn(&RuleOutcome) -> bool,
        find: impl Fn(&RuleOutcome, bool) -> Count,
        counted: &mut impl FnMut(&Count),
    ) {
        let address = Arc::as_ptr(policy).addr();
        let mut missing: Vec<(&RuleOutcome, bool)> = Vec::new();
        {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            let all = known.get(&address).map_or(&[][..], |(_, all)| all);
            for result in results {
                let enforced = enforced(result);
                let is_it = |k: &&KnownCounter| {
                    k.status == result.status && k.enforced == enforced && k.rule == result.rule
                };
                match all.iter().find(is_it) {
                    Some(k) => {
                        k.counter.inc();
                        counted(&k.counter);
                    }
                    None => missing.push((result, enforced)),
                }
            }
        }
        for (result, enforced) in missing {
            let counter = find(result, enforced);
            counter.inc();
            counted(&counter);
            let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
            let (_, all) = known.entry(address).or_insert_with(|| (policy.clone(), Vec::new()));
            all.push(KnownCounter { rule: result.rule.clone(), status: result.status, enforced, counter });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ephor_policies::PolicySet;

    fn policy() -> Arc<Policy> {
        let text = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    validate: {message: m, pattern: {a: b}}\n";
        PolicySet::from_yaml(text).expect("a policy").policies()[0].clone()
    }

    fn result(rule: &str, status: Status) -> RuleOutcome {
        RuleOutcome::new(&rule.into(), ephor_ir::rule::RuleKind::Validation, status, "m")
    }

    #[test]
    fn each_result_is_counted_where_it_belongs_and_looked_up_once() {
        let (tally, policy) = (ResultCounters::default(), policy());
        let counters = [(); 3].map(|()| Count::default());
        let looked_up = std::cell::Cell::new(0);
        let count = |circumstances, result: RuleOutcome, of: usize, enforced| {
            tally.book(circumstances).count(
                &policy,
                &[result],
                |_| enforced,
                |_, _| {
                    looked_up.set(looked_up.get() + 1);
                    counters[of].clone()
                },
                &mut |_| (),
            );
        };
        let pods = ("Pod", "a", "create", false);
        for _ in 0..3 {
            count(pods, result("r", Status::Pass), 0, true);
        }
        count(pods, result("r", Status::Fail), 1, true);
        count(("Pod", "b", "create", false), result("r", Status::Pass), 2, true);
        assert_eq!(counters.each_ref().map(Count::get), [3, 1, 1]);
        assert_eq!(looked_up.get(), 3);
        count(pods, result("r", Status::Pass), 2, false);
        assert_eq!(looked_up.get(), 4, "the mode is a label");
        tally.clear();
        count(pods, result("r", Status::Pass), 0, true);
        assert_eq!(looked_up.get(), 5);
    }
}
