//! Which policies a path selects.
//!
//! `/validate` and `/mutate` select all policies of all kinds. The other paths are those of
//! Kyverno's webhooks: by kind of policy, failure policy and name.

use std::borrow::Cow;

use ephor_ir::Policy;
use ephor_ir::facts::Stage;

/// What policies are evaluated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Verdicts.
    Validate,
    /// Mutations.
    Mutate,
}

/// Which kinds of policies are selected.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kinds {
    /// All.
    All,
    /// Policies with rules.
    Own,
    /// Those of one API with expressions.
    Named(&'static Named),
}

/// A path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// What policies are evaluated for.
    pub phase: Phase,
    kinds: Kinds,
    /// Whether errors refuse requests; `None` = of both failure policies.
    fails: Option<bool>,
    /// The names; `None` = all policies.
    names: Option<Vec<String>>,
    /// The namespace of the one policy.
    namespace: Option<String>,
}

/// An API whose policies paths name.
#[derive(Debug, PartialEq, Eq)]
pub struct Named {
    /// The prefix of paths that are followed by names.
    prefix: &'static str,
    phase: Phase,
    /// The API's short name.
    pub short_name: &'static str,
    /// Its kind, for texts.
    pub kind: &'static str,
}

const fn named(prefix: &'static str, phase: Phase, short_name: &'static str, kind: &'static str) -> Named {
    Named { prefix, phase, short_name, kind }
}

static NAMED: [Named; 10] = [
    named("/vpol", Phase::Validate, "vpol", "ValidatingPolicy"),
    named("/nvpol", Phase::Validate, "nvpol", "NamespacedValidatingPolicy"),
    named("/mpol", Phase::Mutate, "mpol", "MutatingPolicy"),
    named("/nmpol", Phase::Mutate, "nmpol", "NamespacedMutatingPolicy"),
    named("/gpol", Phase::Validate, "gpol", "GeneratingPolicy"),
    named("/ngpol", Phase::Validate, "ngpol", "NamespacedGeneratingPolicy"),
    named("/ivpol/validate", Phase::Validate, "ivpol", "ImageValidatingPolicy"),
    named("/nivpol/validate", Phase::Validate, "nivpol", "NamespacedImageValidatingPolicy"),
    named("/ivpol/mutate", Phase::Mutate, "ivpol", "ImageValidatingPolicy"),
    named("/nivpol/mutate", Phase::Mutate, "nivpol", "NamespacedImageValidatingPolicy"),
];

impl Route {
    /// A name for the policies and rules that it selects at a moment.
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
        for api in &NAMED {
            if let Some(rest) = path.strip_prefix(api.prefix).filter(|r| r.is_empty() || r.starts_with('/')) {
                let mut names: Vec<String> =
                    rest.split('/').filter(|n| !n.is_empty()).map(String::from).collect();
                // The same names are the same path.
                names.sort();
                names.dedup();
                let (phase, kinds) = (api.phase, Kinds::Named(api));
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

    /// Whether it selects Kubernetes' own admission policies too.
    pub fn selects_native(&self) -> bool {
        self.kinds == Kinds::All
    }

    /// The path with placeholders in the place of names: of all paths there are few of these.
    pub fn template(&self) -> Cow<'static, str> {
        let phase = match self.phase {
            Phase::Validate => "/validate",
            Phase::Mutate => "/mutate",
        };
        let fails = match self.fails {
            Some(true) => "/fail",
            Some(false) => "/ignore",
            None => "",
        };
        match (&self.kinds, &self.names, &self.namespace) {
            (Kinds::Named(api), ..) => Cow::Owned(format!("{}/{{names}}", api.prefix)),
            (_, None, _) if fails.is_empty() => Cow::Borrowed(phase),
            (_, None, _) => Cow::Owned(format!("{phase}{fails}")),
            (_, Some(_), None) => Cow::Owned(format!("{phase}{fails}/finegrained/{{name}}")),
            (_, Some(_), Some(_)) => Cow::Owned(format!("{phase}{fails}/finegrained/{{namespace}}/{{name}}")),
        }
    }

    /// The one policy with rules that it names: its namespace, if any, and its name.
    pub fn single(&self) -> Option<(Option<&str>, &str)> {
        match (&self.kinds, self.names.as_deref()) {
            (Kinds::Own, Some([name])) => Some((self.namespace.as_deref(), name)),
            _ => None,
        }
    }

    /// The API and names of policies with expressions that it names.
    pub fn named(&self) -> Option<(&'static Named, &[String])> {
        match (&self.kinds, self.names.as_deref()) {
            (Kinds::Named(api), Some(names)) => Some((api, names)),
            _ => None,
        }
    }

    /// Whether it selects a policy.
    pub fn selects(&self, policy: &Policy) -> bool {
        let kind = match &self.kinds {
            Kinds::All => true,
            Kinds::Own => policy.stage == Stage::Rules,
            Kinds::Named(api) => *api.short_name == *policy.short_name,
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
    fn paths_of_kyverno_are_read() {
        assert_eq!(Route::parse("/validate"), Some(Route::all(Phase::Validate)));
        let fine = Route::parse("/mutate/fail/finegrained/shop/need-team");
        assert_eq!(fine.as_ref().and_then(Route::single), Some((Some("shop"), "need-team")));
        let one = Route::parse("/validate/ignore/finegrained/need-team");
        assert_eq!(one.as_ref().and_then(Route::single), Some((None, "need-team")));
        let several = Route::parse("/vpol/b/a/b").and_then(|r| r.names);
        assert_eq!(several, Some(vec!["a".to_string(), "b".to_string()]));
        assert_eq!(Route::parse("/ivpol/mutate/a").map(|r| r.phase), Some(Phase::Mutate));
        for (path, template) in [
            ("/validate", "/validate"),
            ("/mutate/ignore", "/mutate/ignore"),
            ("/validate/fail/finegrained/a", "/validate/fail/finegrained/{name}"),
            ("/mutate/fail/finegrained/shop/a", "/mutate/fail/finegrained/{namespace}/{name}"),
            ("/vpol/a/b", "/vpol/{names}"),
            ("/ivpol/mutate/a", "/ivpol/mutate/{names}"),
        ] {
            assert_eq!(Route::parse(path).map(|r| r.template().into_owned()).as_deref(), Some(template));
        }
        for nothing in ["/", "/validates", "/validate/", "/validate/maybe", "/mutate/fail/x", "/vpolx/a"] {
            assert_eq!(Route::parse(nothing), None, "{nothing}");
        }
    }
}
