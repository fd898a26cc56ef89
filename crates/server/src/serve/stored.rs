//! Policies that are stored in the cluster.
//!
//! In: the watched objects of the kinds that are served. Out: the policies that can be used, and of
//! each object what is wrong with it. Only objects that have changed are compiled again. An object
//! that cannot be used any more keeps what could be used of it before; one that never could be used
//! has no effect, is named on `/readyz` and in its status, and never stops the others. Semantics:
//! `docs/reference/cluster.md`, "Policies of the cluster".

use std::collections::HashMap;
use std::sync::Arc;

use crate::serve::kind_filter::KindFilter;
use ephor_controllers::in_use::{PolicyKey, StoredPolicy, content};
use ephor_policies::load::{self, Policies, Reader};
use ephor_sources::files::SourceText;
use ephor_value::release::Release;
use ephor_value::{Value, print};

use super::live::Link;

/// What an object was compiled to.
struct Compiled {
    uid: String,
    content: Value,
    gives: Arc<Policies>,
    problem: Option<String>,
}

/// What was compiled of the objects of the cluster.
#[derive(Default)]
pub struct Stored {
    compiled: HashMap<PolicyKey, Compiled>,
}

/// What is stored in the cluster at a moment.
#[derive(Default)]
pub struct StoredObjects {
    /// All policies, in order.
    pub objects: Vec<StoredPolicy>,
    /// The exceptions that count.
    pub exceptions: Vec<Value>,
}

impl Stored {
    /// The objects of the cluster as they are now, and what can be used of them in its release.
    pub fn update(
        &mut self,
        link: &Link,
        chosen: &KindFilter,
        release: Release,
    ) -> (StoredObjects, Policies) {
        let (mut present, mut policies) = (StoredObjects::default(), Policies::default());
        let mut compiled = HashMap::new();
        for (group, kind) in &chosen.kinds {
            let is_exception = *kind == "PolicyException";
            for document in link.cache.all(group, kind) {
                if is_exception && !chosen.takes_exception(&document) {
                    continue;
                }
                let key = PolicyKey::of(&document);
                let now = self.compile(&key, &document, release);
                policies.extend((*now.gives).clone());
                match is_exception {
                    true => present.exceptions.push(document),
                    false => present.objects.push(StoredPolicy { document, problem: now.problem.clone() }),
                }
                compiled.insert(key, now);
            }
        }
        self.compiled = compiled;
        (present, policies)
    }

    /// Compiles an object for a release of Kubernetes, unless it is as it was.
    fn compile(&mut self, key: &PolicyKey, document: &Value, release: Release) -> Compiled {
        let content = content(document);
        let uid = document.text_at(&["metadata", "uid"]).to_string();
        let before = self.compiled.remove(key).filter(|before| before.uid == uid);
        if let Some(before) = before.as_ref().filter(|before| before.content == content) {
            let Compiled { gives, problem, .. } = before;
            return Compiled { uid, content, gives: gives.clone(), problem: problem.clone() };
        }
        let source = SourceText { name: key.to_string(), text: print::json(&content) };
        let mut gives = load::argument_for(&[source], Reader::Server(release));
        let problem = gives.unusable();
        if problem.is_some() {
            gives = before.map_or_else(Policies::default, |before| (*before.gives).clone());
        }
        Compiled { uid, content, gives: Arc::new(gives), problem }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn policy(operator: &str, generation: &str) -> Value {
        let text = format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: a, uid: u, resourceVersion: '{generation}'}}, spec: {{rules: [{{name: r, match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, validate: {{message: m, deny: {{conditions: {{all: [{{key: a, operator: {operator}, value: b}}]}}}}}}}}]}}, status: {{ready: true}}}}"
        );
        ephor_document::yaml_value(&text).unwrap()
    }

    fn compiled(stored: &mut Stored, document: &Value) -> Compiled {
        stored.compile(&PolicyKey::of(document), document, Release::default())
    }

    #[test]
    fn a_policy_that_cannot_be_used_any_more_keeps_its_last_usable_form() {
        let mut stored = Stored::default();
        let first = compiled(&mut stored, &policy("Equals", "1"));
        assert_eq!((first.problem.as_deref(), first.gives.policies.len()), (None, 1));
        stored.compiled.insert(PolicyKey::of(&policy("Equals", "1")), first);
        let broken = compiled(&mut stored, &policy("Nope", "2"));
        assert!(broken.problem.is_some());
        assert_eq!(broken.gives.policies.len(), 1);
        let fresh = compiled(&mut Stored::default(), &policy("Nope", "2"));
        assert!(fresh.problem.is_some() && fresh.gives.is_empty());
    }

    #[test]
    fn a_status_alone_compiles_nothing_again() {
        let mut stored = Stored::default();
        let first = compiled(&mut stored, &policy("Equals", "1"));
        let gives = first.gives.clone();
        stored.compiled.insert(PolicyKey::of(&policy("Equals", "1")), first);
        assert!(Arc::ptr_eq(&gives, &compiled(&mut stored, &policy("Equals", "2")).gives));
    }
}
