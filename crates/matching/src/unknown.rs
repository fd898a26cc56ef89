//! Matching requests of which something is not known: the labels of a namespace, the roles of a
//! user.
//!
//! In: a rule's `match` and `exclude`, and a target that says what is missing. Out: whether the
//! missing part decides. A rule that matches, or does not match, whatever the missing part may be
//! is evaluated as usual; for any other the caller reports an error. What is not known never counts
//! as "does not match".

use ephor_ir::Matcher;
use ephor_ir::matcher::Selector;

use super::Target;
use super::filter::{Mode, accepts};

/// What is not known of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// The labels of its namespace.
    pub namespace: bool,
    /// The roles of its user.
    pub roles: bool,
    /// What a test of something unknown answers while both answers are tried.
    assume: bool,
}

/// What is missing to decide whether a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The labels of the namespace.
    NamespaceLabels,
    /// The roles of the user.
    Roles,
}

impl Unknown {
    /// A request of which the labels of the namespace, the roles of the user are not known.
    pub fn new(namespace: bool, roles: bool) -> Unknown {
        Unknown { namespace, roles, assume: false }
    }

    /// Whether anything is.
    pub fn any(self) -> bool {
        self.namespace || self.roles
    }

    /// What a test of the labels of the namespace answers, if they are not known.
    pub(super) fn namespace_test(self) -> Option<bool> {
        self.namespace.then_some(self.assume)
    }

    /// What a test of the roles of the user answers, if they are not known.
    pub(super) fn roles_test(self) -> Option<bool> {
        self.roles.then_some(self.assume)
    }
}

/// What is missing to decide whether a rule matches the target; `None` = it is decided.
pub fn missing(when: &Matcher, unless: &Matcher, target: &Target) -> Option<Missing> {
    let tested = [when, unless].into_iter().any(|matcher| tests(matcher, target.unknown));
    if !tested || !depends(when, unless, target, target.unknown) {
        return None;
    }
    let namespace_alone = Unknown { roles: false, ..target.unknown };
    match target.unknown.namespace && depends(when, unless, target, namespace_alone) {
        true => Some(Missing::NamespaceLabels),
        false => Some(Missing::Roles),
    }
}

/// Whether a matcher tests anything that is not known.
fn tests(matcher: &Matcher, unknown: Unknown) -> bool {
    let namespace = |selector: &Option<Selector>| unknown.namespace && selector.is_some();
    match matcher {
        Matcher::Constraints(c) => namespace(&c.namespace_selector),
        filters => filters.filters().iter().any(|f| {
            let by_roles = !(f.roles.is_empty() && f.cluster_roles.is_empty());
            namespace(&f.namespace_selector) || (unknown.roles && by_roles)
        }),
    }
}

/// Whether the answer is another one when tests of unknown things hold than when they do not. A
/// test can only widen `match` and only widen `exclude`, so the two extremes are enough.
fn depends(when: &Matcher, unless: &Matcher, target: &Target, unknown: Unknown) -> bool {
    let assuming = |assume: bool| Target { unknown: Unknown { assume, ..unknown }, ..target.clone() };
    let (never, always) = (assuming(false), assuming(true));
    let least = accepts(when, &never, Mode::Match) && !accepts(unless, &always, Mode::Exclude);
    let most = accepts(when, &always, Mode::Match) && !accepts(unless, &never, Mode::Exclude);
    least != most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::User;
    use ephor_ir::matcher::Filter;
    use ephor_value::Str;

    fn by_roles(role: &str) -> Matcher {
        let roles = vec![Str::from(role)].into();
        Matcher::Any(vec![Filter { roles, has_user: true, has_resource: true, ..Filter::default() }].into())
    }

    fn by_labels(operations: &[&str]) -> Matcher {
        let selector = Selector::new(vec![("env".into(), "prod".into())], Vec::new(), true);
        let operations = operations.iter().map(|o| Str::from(*o)).collect();
        let filter = Filter {
            namespace_selector: Some(selector),
            operations,
            has_resource: true,
            ..Filter::default()
        };
        Matcher::Any(vec![filter].into())
    }

    fn target(unknown: Unknown) -> Target {
        let user = Some(std::sync::Arc::new(User::default()));
        Target { kind: "Pod".into(), operation: "CREATE".into(), unknown, user, ..Target::default() }
    }

    #[test]
    fn what_only_a_missing_part_decides_is_named() {
        let none = Matcher::never();
        let both = Unknown::new(true, true);
        assert_eq!(missing(&by_labels(&[]), &none, &target(both)), Some(Missing::NamespaceLabels));
        assert_eq!(missing(&by_roles("a:b"), &none, &target(both)), Some(Missing::Roles));
        let everything = Matcher::Any(vec![Filter { has_resource: true, ..Filter::default() }].into());
        assert_eq!(missing(&everything, &by_roles("a:b"), &target(both)), Some(Missing::Roles));
        assert_eq!(missing(&everything, &none, &target(both)), None, "it requires nothing");
    }

    #[test]
    fn what_is_decided_without_the_missing_part_is_evaluated() {
        let none = Matcher::never();
        let namespace = Unknown::new(true, false);
        assert_eq!(missing(&by_labels(&["DELETE"]), &none, &target(namespace)), None, "another operation");
        assert_eq!(missing(&by_roles("a:b"), &none, &target(namespace)), None, "the roles are known");
        assert_eq!(missing(&by_labels(&[]), &none, &target(Unknown::default())), None, "all is known");
    }
}
