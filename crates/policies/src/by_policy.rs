//! Something that is known of each policy of a run, found for each of their results.
//!
//! In: policies, each with what is known of it; of two with the same kind, namespace and name the
//! last one counts for both. Out: what is known of the policy of a result. The policies of a run
//! are shared with their results, so most are found by their address.

use std::collections::HashMap;
use std::sync::Arc;

use ephor_ir::Policy;

/// See the module page.
#[derive(Debug)]
pub struct ByPolicy<T> {
    known: Vec<T>,
    ids: HashMap<String, usize>,
    /// By address; the policies are retained, so that no other one gets the address of one of them.
    addresses: HashMap<usize, (Arc<Policy>, usize)>,
}

impl<T> ByPolicy<T> {
    /// What is known of a policy.
    pub fn get(&self, policy: &Arc<Policy>) -> Option<&T> {
        let at = match self.addresses.get(&address(policy)) {
            Some((_, at)) => Some(at),
            None => self.ids.get(&policy.id()),
        };
        self.known.get(*at?)
    }
}

fn address(policy: &Arc<Policy>) -> usize {
    Arc::as_ptr(policy).addr()
}

impl<'p, T> FromIterator<(&'p Arc<Policy>, T)> for ByPolicy<T> {
    fn from_iter<I: IntoIterator<Item = (&'p Arc<Policy>, T)>>(all: I) -> Self {
        let (policies, known): (Vec<&Arc<Policy>>, Vec<T>) = all.into_iter().unzip();
        let ids: HashMap<String, usize> = policies.iter().enumerate().map(|(at, p)| (p.id(), at)).collect();
        let found = |p: &&Arc<Policy>| Some((address(p), (Arc::clone(p), *ids.get(&p.id())?)));
        let addresses = policies.iter().filter_map(found).collect();
        ByPolicy { known, ids, addresses }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::PolicySet;

    fn policy(name: &str) -> Arc<Policy> {
        let text = format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: {name}}}, spec: {{rules: [{{name: r, match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, validate: {{message: m, deny: {{}}}}}}]}}}}"
        );
        PolicySet::from_yaml(&text).unwrap().policies().first().unwrap().clone()
    }

    #[test]
    fn of_two_policies_with_one_name_the_last_counts_for_both() {
        let (a, b, again) = (policy("a"), policy("b"), policy("a"));
        let all: ByPolicy<usize> = [(&a, 1), (&b, 2), (&again, 3)].into_iter().collect();
        assert_eq!([&a, &b, &again].map(|p| all.get(p)), [Some(&3), Some(&2), Some(&3)]);
    }

    #[test]
    fn a_copy_of_a_policy_is_found_by_what_identifies_it() {
        let (a, copy, other) = (policy("a"), policy("a"), policy("b"));
        let all: ByPolicy<usize> = [(&a, 1)].into_iter().collect();
        assert_eq!((all.get(&copy), all.get(&other)), (Some(&1), None));
    }
}
