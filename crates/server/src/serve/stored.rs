//! Policies that are stored in the cluster.
//!
//! In: the watched objects of the kinds that are served. Out: the policies that can be used, and of
//! each object what is wrong with it. Only objects that have changed are compiled again. An object
//! that cannot be used any more keeps what could be used of it before; one that never could be used
//! has no effect, is named on `/readyz` and in its status, and never stops the others. Semantics:
//! `docs/reference/cluster.md`, "Policies of the cluster".

use std::collections::HashMap;
use std::sync::Arc;

use crate::load::{self, Policies, Reader};
use crate::policy_kinds::{self, CEL, CLASSIC, EXCEPTION};
use ephor_controllers::in_use::{PolicyKey, StoredPolicy, content};
use ephor_kubernetes::{Kinds, Resource};
use ephor_sources::files::SourceText;
use ephor_value::{Value, print};

use super::live::Link;

/// Versions, the preferred one first. An API server gives objects in each version that it serves.
const VERSIONS: [&str; 6] = ["v1", "v2", "v2beta1", "v1beta1", "v2alpha1", "v1alpha1"];

/// Which policies of the cluster are served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Group and kind of each.
    kinds: Vec<(&'static str, &'static str)>,
    /// The namespace whose exceptions count, `*` for all; `None` = none do.
    pub exceptions: Option<String>,
}

/// A word that names no kinds of policies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no kind of policies: legacy, cel, all, or names such as ClusterPolicy, separated by commas"
)]
pub struct KindError(String);

impl Chosen {
    /// Those that words name: `legacy` (all of `kyverno.io`), `cel` (all of `policies.kyverno.io`),
    /// `all`, or kinds.
    ///
    /// # Errors
    /// A word names no kind.
    pub fn of<'w>(words: impl IntoIterator<Item = &'w str>) -> Result<Chosen, KindError> {
        let mut chosen = Chosen::default();
        for word in words {
            let is_named = |group: &str, kind: &str| match word {
                "all" => true,
                "legacy" => group == CLASSIC,
                "cel" => group == CEL,
                // Exceptions are served with the policies of their group.
                word => kind == word,
            };
            let named: Vec<_> = policy_kinds::all().filter(|(group, kind)| is_named(group, kind)).collect();
            if named.is_empty() {
                return Err(KindError(word.into()));
            }
            chosen.kinds.extend(named);
        }
        chosen.kinds.sort_unstable();
        chosen.kinds.dedup();
        let groups: Vec<&str> = chosen.kinds.iter().map(|(group, _)| *group).collect();
        for group in [CLASSIC, CEL].into_iter().filter(|group| groups.contains(group)) {
            if !chosen.kinds.contains(&(group, EXCEPTION)) {
                chosen.kinds.push((group, EXCEPTION));
            }
        }
        Ok(chosen)
    }

    /// Whether objects of a kind are served.
    pub fn has(&self, group: &str, kind: &str) -> bool {
        self.kinds.iter().any(|(g, k)| (*g, *k) == (group, kind))
    }

    /// The resources to watch, of those that a cluster serves.
    pub fn resources<'k>(&self, kinds: &'k Kinds) -> Vec<&'k Resource> {
        let one = |(group, kind): &(&str, &str)| {
            VERSIONS.iter().find_map(|version| kinds.kind(group, version, kind))
        };
        self.kinds.iter().filter_map(one).collect()
    }
}

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
pub struct Present {
    /// All policies, in order.
    pub objects: Vec<StoredPolicy>,
    /// The exceptions that count.
    pub exceptions: Vec<Value>,
}

impl Stored {
    /// The objects of the cluster as they are now, and what can be used of them.
    pub fn update(&mut self, link: &Link, chosen: &Chosen) -> (Present, Policies) {
        let (mut present, mut policies) = (Present::default(), Policies::default());
        let mut compiled = HashMap::new();
        for (group, kind) in &chosen.kinds {
            let is_exception = *kind == "PolicyException";
            for document in link.cache.all(group, kind) {
                if is_exception && !chosen.takes_exception(&document) {
                    continue;
                }
                let key = PolicyKey::of(&document);
                let now = self.compile(&key, &document);
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

    /// Compiles an object, unless it is as it was.
    fn compile(&mut self, key: &PolicyKey, document: &Value) -> Compiled {
        let content = content(document);
        let uid = document.text_at(&["metadata", "uid"]).to_string();
        let before = self.compiled.remove(key).filter(|before| before.uid == uid);
        if let Some(before) = before.as_ref().filter(|before| before.content == content) {
            let Compiled { gives, problem, .. } = before;
            return Compiled { uid, content, gives: gives.clone(), problem: problem.clone() };
        }
        let source = SourceText { name: key.to_string(), text: print::json(&content) };
        let mut gives = load::argument_for(&[source], Reader::Server);
        let problem = gives.unusable();
        if problem.is_some() {
            gives = before.map_or_else(Policies::default, |before| (*before.gives).clone());
        }
        Compiled { uid, content, gives: Arc::new(gives), problem }
    }
}

impl Chosen {
    /// Whether an exception counts.
    fn takes_exception(&self, document: &Value) -> bool {
        let namespace = document.text_at(&["metadata", "namespace"]);
        self.exceptions.as_deref().is_some_and(|of| of == "*" || of == namespace)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn words_choose_groups_and_kinds_with_the_exceptions_of_their_group() {
        let legacy = Chosen::of(["legacy"]).unwrap();
        assert!(legacy.has("kyverno.io", "ClusterPolicy") && legacy.has("kyverno.io", "PolicyException"));
        assert!(!legacy.has("policies.kyverno.io", "ValidatingPolicy"));
        let one = Chosen::of(["ClusterPolicy"]).unwrap();
        assert!(one.has("kyverno.io", "PolicyException") && !one.has("kyverno.io", "Policy"));
        assert!(!one.has("policies.kyverno.io", "PolicyException"));
        assert_eq!(Chosen::of(["all"]).unwrap().kinds.len(), 16);
        assert_eq!(Chosen::of(["ClusterPolcy"]).unwrap_err(), KindError("ClusterPolcy".into()));
    }

    fn policy(operator: &str, generation: &str) -> Value {
        let text = format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: a, uid: u, resourceVersion: '{generation}'}}, spec: {{rules: [{{name: r, match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, validate: {{message: m, deny: {{conditions: {{all: [{{key: a, operator: {operator}, value: b}}]}}}}}}}}]}}, status: {{ready: true}}}}"
        );
        ephor_document::yaml_value(&text).unwrap()
    }

    fn compiled(stored: &mut Stored, document: &Value) -> Compiled {
        stored.compile(&PolicyKey::of(document), document)
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
