//! Which policies a path asks for.
//!
//! `/validate` and `/mutate` ask all policies of all kinds. The other paths are those of the reference's
//! webhooks: by kind of policy, failure policy and name.

use std::borrow::Cow;

use crate::ir::Policy;
use crate::ir::facts::Stage;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// For verdicts.
    Validate,
    /// For changes.
    Mutate,
}

/// Which kinds of policies are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kinds {
    /// All.
    All,
    /// Policies with rules.
    Own,
    /// Those of one kind with expressions.
    Named(&'static str),
}

/// A path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// What is asked.
    pub phase: Phase,
    kinds: Kinds,
    /// Whether errors refuse requests; `None` = of both failure policies.
    fails: Option<bool>,
    /// The names; `None` = all policies.
    names: Option<Vec<String>>,
    /// The namespace of the one policy.
    namespace: Option<String>,
}

/// Prefixes of paths that are followed by names: what is asked, and the kind.
const NAMED: [(&str, Phase, &str); 10] = [
    ("/vpol", Phase::Validate, "ValidatingPolicy"),
    ("/nvpol", Phase::Validate, "NamespacedValidatingPolicy"),
    ("/mpol", Phase::Mutate, "MutatingPolicy"),
    ("/nmpol", Phase::Mutate, "NamespacedMutatingPolicy"),
    ("/gpol", Phase::Validate, "GeneratingPolicy"),
    ("/ngpol", Phase::Validate, "NamespacedGeneratingPolicy"),
    ("/ivpol/validate", Phase::Validate, "ImageValidatingPolicy"),
    ("/nivpol/validate", Phase::Validate, "NamespacedImageValidatingPolicy"),
    ("/ivpol/mutate", Phase::Mutate, "ImageValidatingPolicy"),
    ("/nivpol/mutate", Phase::Mutate, "NamespacedImageValidatingPolicy"),
];

impl Route {
    /// A name for what it asks for at a moment.
    pub(super) fn limits(&self, when: Cow<'static, str>) -> Cow<'static, str> {
        match self {
            Route {
                phase: Phase::Validate,
                kinds: Kinds::All,
                fails: None,
                names: None,
                namespace: None,
            } => when,
            other => Cow::Owned(format!("{when} {other:?}")),
        }
    }

    /// All policies of all kinds.
    pub fn all(phase: Phase) -> Route {
        Route { phase, kinds: Kinds::All, fails: None, names: None, namespace: None }
    }

    /// Reads a path; `None` = there is nothing under it.
    pub fn parse(path: &str) -> Option<Route> {
        for (prefix, phase, kind) in NAMED {
            if let Some(rest) = path.strip_prefix(prefix).filter(|r| r.is_empty() || r.starts_with('/')) {
                let mut names: Vec<String> =
                    rest.split('/').filter(|n| !n.is_empty()).map(String::from).collect();
                // The same names are the same path.
                names.sort();
                names.dedup();
                let kinds = Kinds::Named(kind);
                return Some(Route { phase, kinds, fails: None, names: Some(names), namespace: None });
            }
        }
        let (phase, rest) = match path {
            p if p.starts_with("/validate") => (Phase::Validate, p.strip_prefix("/validate")?),
            p => (Phase::Mutate, p.strip_prefix("/mutate")?),
        };
        if rest.is_empty() {
            return Some(Route::all(phase));
        }
        let steps: Vec<&str> = rest.strip_prefix('/')?.split('/').collect();
        let own = |fails: &str, namespace: Option<&str>, name: Option<&str>| {
            let fails = match fails {
                "fail" => true,
                "ignore" => false,
                _ => return None,
            };
            Some(Route {
                phase,
                kinds: Kinds::Own,
                fails: Some(fails),
                names: name.map(|n| vec![n.into()]),
                namespace: namespace.map(String::from),
            })
        };
        match steps[..] {
            [fails] => own(fails, None, None),
            [fails, "finegrained", name] if !name.is_empty() => own(fails, None, Some(name)),
            [fails, "finegrained", namespace, name] if !name.is_empty() => {
                own(fails, Some(namespace), Some(name))
            }
            _ => None,
        }
    }

    /// Whether Kubernetes' own admission policies are asked too.
    pub fn asks_kubernetes(&self) -> bool {
        self.kinds == Kinds::All
    }

    /// The one policy with rules that it names: its namespace, if any, and its name.
    pub fn single(&self) -> Option<(Option<&str>, &str)> {
        match (&self.kinds, self.names.as_deref()) {
            (Kinds::Own, Some([name])) => Some((self.namespace.as_deref(), name)),
            _ => None,
        }
    }

    /// The kind and names of policies with expressions that it names.
    pub fn named(&self) -> Option<(&'static str, &[String])> {
        match (&self.kinds, self.names.as_deref()) {
            (Kinds::Named(kind), Some(names)) => Some((kind, names)),
            _ => None,
        }
    }

    /// Whether it asks a policy.
    pub fn asks(&self, policy: &Policy) -> bool {
        let kind = match &self.kinds {
            Kinds::All => true,
            Kinds::Own => policy.stage == Stage::Rules,
            Kinds::Named(kind) => *kind == &*policy.api.kind,
        };
        kind && self.fails.is_none_or(|fails| fails == policy.failure_policy.is_fail())
            && self.names.as_ref().is_none_or(|names| names.iter().any(|n| **n == *policy.name))
            && (self.single().is_none() || self.namespace.as_deref() == policy.namespace.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_reference_are_read() {
        assert_eq!(Route::parse("/validate"), Some(Route::all(Phase::Validate)));
        let fine = Route::parse("/mutate/fail/finegrained/shop/need-team");
        assert_eq!(fine.as_ref().and_then(Route::single), Some((Some("shop"), "need-team")));
        let one = Route::parse("/validate/ignore/finegrained/need-team");
        assert_eq!(one.as_ref().and_then(Route::single), Some((None, "need-team")));
        let several = Route::parse("/vpol/b/a/b").and_then(|r| r.names);
        assert_eq!(several, Some(vec!["a".to_string(), "b".to_string()]));
        assert_eq!(Route::parse("/ivpol/mutate/a").map(|r| r.phase), Some(Phase::Mutate));
        for nothing in ["/", "/validates", "/validate/", "/validate/maybe", "/mutate/fail/x", "/vpolx/a"] {
            assert_eq!(Route::parse(nothing), None, "{nothing}");
        }
    }
}
