//! Which resources of a cluster rules are about.
//!
//! In: rules, and the resources that a cluster serves. Out: whether objects of a resource may
//! match. Subresources are no objects of their own here.

use ephor_ir::constraints::ResourceRule;
use ephor_ir::matcher::Filter;
use ephor_ir::{Matcher, Rule};
use ephor_kubernetes::Resource;

/// Whether a rule may match objects of a resource.
pub fn is_about(rule: &Rule, resource: &Resource) -> bool {
    let bound = rule.bound.as_ref().and_then(|bound| bound.constraints.as_ref());
    may_select(&rule.when, resource)
        || bound.is_some_and(|constraints| constraints.rules.iter().any(|rule| has(rule, resource)))
}

/// Whether a matcher may select objects of a resource.
pub fn may_select(matcher: &Matcher, resource: &Resource) -> bool {
    match matcher {
        Matcher::Constraints(constraints) => constraints.rules.iter().any(|rule| has(rule, resource)),
        other => other.filters().iter().any(|filter| names(filter, resource)),
    }
}

fn names(filter: &Filter, resource: &Resource) -> bool {
    filter.kinds.iter().any(|kind| {
        kind.kind.matches(&resource.kind)
            && kind.group.matches(&resource.group)
            && kind.version.matches(&resource.version)
            && kind.subresource.matches("")
    })
}

/// Whether a rule of constraints selects objects of a resource.
pub(crate) fn has(rule: &ResourceRule, resource: &Resource) -> bool {
    rule.groups.has(&resource.group)
        && rule.versions.has(&resource.version)
        && rule.resources.iter().any(|path| {
            path.resource.as_ref().is_none_or(|plural| *plural == resource.plural)
                && path.subresource.as_ref().is_none_or(|sub| sub.is_empty())
        })
}
