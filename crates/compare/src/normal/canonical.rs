//! Units written so that equal texts mean equal verdicts.
//!
//! In: the policy of a unit, which has no messages, and an environment. Out: its text without what
//! no verdict depends on: where it is written, names, what reports show. What selects the kind and
//! operation of the environment is written as "all", so that the text is the same for all kinds
//! that a rule treats alike.
//!
//! Two units with one text give one verdict for every request, whatever they read: also for
//! external data, the clock and users, which no enumeration of objects covers. Conditions that may
//! stand in any order stand in one (`normal::commute`). Names of context entries are written as
//! words that do not depend on them (`normal::alpha`).

use std::sync::Arc;

use ephor_analysis::tree::Tree;
use ephor_ir::constraints::{AnyOf, ResourcePath, ResourceRule, Scope};
use ephor_ir::matcher::{Filter, KindPattern, Matcher};
use ephor_ir::{Policy, Rule};
use ephor_value::wildcard::Wildcard;

use crate::model::environment::Environment;
use crate::normal::alpha::AlphaNames;
use crate::normal::commute::in_order;
use crate::normal::print::CanonicalPrinter;

/// The text of a unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Identity {
    /// What decides.
    pub text: String,
    /// Whether a part reads the kind of a request, or may do so.
    pub reads_kind: bool,
    /// Whether a part reads the operation, or may do so.
    pub reads_operation: bool,
}

/// The identity of the policy of a unit with exceptions, which name policies and rules; `None` when
/// a part of it cannot be written.
pub(crate) fn identity(
    policy: &Policy,
    environment: &Environment,
    exceptions: &[Option<Tree>],
) -> Option<Identity> {
    let named = !exceptions.is_empty();
    // What exceptions select is left as it is.
    let mut looks = named;
    let rules = policy.rules.iter().map(|rule| {
        let when = selected(&rule.when, environment, &mut looks);
        let unless = selected(&rule.unless, environment, &mut looks);
        Arc::new(in_order(&Rule { when, unless, ..(**rule).clone() }))
    });
    let policy = Policy { rules: rules.collect(), ..policy.clone() };
    let tree = Tree::of(&policy)?;
    let names = AlphaNames::of(&tree, named);
    let mut writer = CanonicalPrinter { text: String::new(), names, named, looks, reads_operation: named };
    writer.tree(&tree);
    for exception in exceptions {
        writer.text.push_str("; except ");
        writer.tree(exception.as_ref()?);
    }
    Some(Identity { text: writer.text, reads_kind: writer.looks, reads_operation: writer.reads_operation })
}

/// A matcher in which what selects the kind and operation of an environment selects all.
fn selected(matcher: &Matcher, environment: &Environment, looks: &mut bool) -> Matcher {
    let of = |filters: &[Filter]| filters.iter().map(|f| filter(f, environment)).collect();
    match matcher {
        Matcher::Any(filters) => Matcher::Any(of(filters)),
        Matcher::All(filters) => Matcher::All(of(filters)),
        Matcher::Constraints(constraints) => {
            let mut constraints = (**constraints).clone();
            for rules in [&mut constraints.rules, &mut constraints.exclude] {
                let mut reads_kind = false;
                for rule in rules.iter_mut() {
                    resource_rule(rule, environment, constraints.equivalent, &mut reads_kind);
                }
                // Where one selects all, the others select nothing more.
                match rules.iter().find(|rule| is_all(rule)).cloned() {
                    Some(all) => *rules = Box::new([all]),
                    None => *looks |= reads_kind,
                }
            }
            Matcher::Constraints(Box::new(constraints))
        }
    }
}

pub(crate) fn filter(filter: &Filter, environment: &Environment) -> Filter {
    let mut filter = filter.clone();
    if filter.operations.iter().any(|one| **one == *environment.operation) {
        filter.operations = Box::default();
    }
    if filter.kinds.iter().any(|kind| environment.is_selected(kind)) {
        let all = || Wildcard::new("*");
        let every = KindPattern { group: all(), version: all(), kind: all(), subresource: all() };
        filter.kinds = Box::new([every]);
    }
    filter
}

fn resource_rule(rule: &mut ResourceRule, environment: &Environment, equivalent: bool, looks: &mut bool) {
    let resource = &environment.resource;
    if rule.operations.has(environment.operation) {
        rule.operations = AnyOf::All;
    }
    let is_exact = rule.groups.has(&resource.group) && rule.versions.has(&resource.version);
    let names = |path: &ResourcePath| path.resource.as_ref().is_none_or(|one| *one == resource.plural);
    if is_exact && rule.resources.iter().any(|path| environment.is_selected_path(path)) {
        (rule.groups, rule.versions) = (AnyOf::All, AnyOf::All);
        rule.resources = Box::new([ResourcePath { resource: None, subresource: None }]);
    } else if equivalent && rule.resources.iter().any(names) {
        // The same objects may be reached under another version.
        *looks = true;
    }
}

/// Whether a rule selects every request of an environment.
fn is_all(rule: &ResourceRule) -> bool {
    let is_any = |of: &AnyOf| matches!(of, AnyOf::All);
    [&rule.operations, &rule.groups, &rule.versions].into_iter().all(is_any)
        && rule.resources.iter().any(|path| path.resource.is_none() && path.subresource.is_none())
        && matches!(rule.scope, Scope::All)
        && rule.names.is_empty()
}
