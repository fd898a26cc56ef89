//! The kinds of policies that are served from a cluster.
//!
//! In: words of `--kinds`. Out: a [`KindFilter`], or the word that names no kind.

use ephor_kubernetes::{Kinds, Resource};
use ephor_value::Value;

use ephor_policies::kinds::{self, CEL, CLASSIC, EXCEPTION};

/// Versions, the preferred one first. An API server gives objects in each version that it serves.
pub(super) const VERSIONS: [&str; 6] = ["v1", "v2", "v2beta1", "v1beta1", "v2alpha1", "v1alpha1"];

/// Which policies of the cluster are served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindFilter {
    /// Group and kind of each.
    pub(super) kinds: Vec<(&'static str, &'static str)>,
    /// The namespace whose exceptions count, `*` for all; `None` = none do.
    pub exceptions: Option<String>,
}

/// A word that names no kinds of policies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no kind of policies: legacy, cel, all, or names such as ClusterPolicy, separated by commas"
)]
pub struct KindError(String);

impl KindFilter {
    /// Those that words name: `legacy` (all of `kyverno.io`), `cel` (all of `policies.kyverno.io`),
    /// `all`, or kinds.
    ///
    /// # Errors
    /// A word names no kind.
    pub fn of<'w>(words: impl IntoIterator<Item = &'w str>) -> Result<KindFilter, KindError> {
        let mut chosen = KindFilter::default();
        for word in words {
            let is_named = |group: &str, kind: &str| match word {
                "all" => true,
                "legacy" => group == CLASSIC,
                "cel" => group == CEL,
                // Exceptions are served with the policies of their group.
                word => kind == word,
            };
            let named: Vec<_> = kinds::all().filter(|(group, kind)| is_named(group, kind)).collect();
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

impl KindFilter {
    /// Whether an exception counts.
    pub(super) fn takes_exception(&self, document: &Value) -> bool {
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
        let legacy = KindFilter::of(["legacy"]).unwrap();
        assert!(legacy.has("kyverno.io", "ClusterPolicy") && legacy.has("kyverno.io", "PolicyException"));
        assert!(!legacy.has("policies.kyverno.io", "ValidatingPolicy"));
        let one = KindFilter::of(["ClusterPolicy"]).unwrap();
        assert!(one.has("kyverno.io", "PolicyException") && !one.has("kyverno.io", "Policy"));
        assert!(!one.has("policies.kyverno.io", "PolicyException"));
        assert_eq!(KindFilter::of(["all"]).unwrap().kinds.len(), 16);
        assert_eq!(KindFilter::of(["ClusterPolcy"]).unwrap_err(), KindError("ClusterPolcy".into()));
    }
}
