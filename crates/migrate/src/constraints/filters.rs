//! Filters of `match` and `exclude` → tests in CEL.
//!
//! In: filters, and what a policy selects by resources and operations. Out: for each attribute that
//! the API server cannot select by, a test with a name; selectors of namespaces where all that is
//! selected lives in some.

use ephor_ir::Matcher;
use ephor_ir::matcher::{Filter, Requirement, Selector, SetOperator};
use ephor_kubernetes::Kinds;
use ephor_value::wildcard::Wildcard;

use super::kinds::{Selected, selected};
use super::{cel, roles};
use crate::constraints::model::{Deletions, Matching, NAME_OF_NAMESPACE};
use crate::expressions::refusal::Result;
use crate::model::unique::add_new;

/// Whether a filter can match at all: an empty one does not, nor does one with a selector that is
/// not well-formed.
pub(crate) fn can_match(filter: &Filter) -> bool {
    let selectors = [&filter.selector, &filter.namespace_selector];
    (filter.has_resource || filter.has_user) && selectors.into_iter().flatten().all(|s| s.valid)
}

/// Whether filters select the same but for kinds and operations.
pub(crate) fn is_same_but_kinds(one: &Filter, other: &Filter) -> bool {
    let bare = |filter: &Filter| Filter {
        origin: Default::default(),
        kinds: Box::default(),
        operations: Box::default(),
        ..filter.clone()
    };
    bare(one) == bare(other)
}

/// How expressions name what a request is about.
pub(crate) struct Subject {
    /// The object; that which goes away in deletions.
    object: &'static str,
    /// Its namespace, or its name if it is one.
    namespace: &'static str,
    /// Its kind.
    kind: &'static str,
}

impl Subject {
    pub(crate) fn of(all: &Selected, deletions: Deletions) -> Subject {
        let has_deletions = deletions != Deletions::None;
        let only_namespaces = all.has_namespaces && all.kinds.len() == 1 && !all.is_open;
        Subject {
            object: match deletions {
                Deletions::None => "object",
                Deletions::Some => "(request.operation == 'DELETE' ? oldObject : object)",
                Deletions::Only => "oldObject",
            },
            namespace: match (all.has_cluster, has_deletions) {
                _ if only_namespaces && has_deletions => "request.name",
                _ if only_namespaces => "object.metadata.name",
                _ if all.has_namespaces => {
                    "(request.kind.kind == 'Namespace' ? request.name : request.?namespace.orValue(''))"
                }
                (true, _) | (_, true) => "request.?namespace.orValue('')",
                (false, false) => "object.metadata.namespace",
            },
            kind: "request.kind.kind",
        }
    }

    /// Where there is no request.
    pub(crate) fn of_stored(all: &Selected) -> Subject {
        Subject {
            object: "object",
            namespace: match (all.has_namespaces, all.has_cluster) {
                (true, _) => {
                    "(object.kind == 'Namespace' ? object.metadata.name : object.metadata.?namespace.orValue(''))"
                }
                (false, true) => "object.metadata.?namespace.orValue('')",
                (false, false) => "object.metadata.namespace",
            },
            kind: "object.kind",
        }
    }
}

/// Which attributes of a filter are expressed elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skip {
    Nothing,
    /// Kinds and operations.
    Kinds,
}

/// Writes tests for what a policy selects.
pub(crate) struct FilterWriter<'w> {
    pub(crate) subject: &'w Subject,
    pub(crate) kinds: &'w Kinds,
    pub(crate) matched: &'w Selected,
    pub(crate) default: &'w [&'w str],
}

impl FilterWriter<'_> {
    /// Attributes that hold for all that is selected: selectors of namespaces where these can say
    /// them, else conditions.
    pub(crate) fn hoisted(&self, filter: &Filter, skip: Skip, out: &mut Matching) -> Result<()> {
        let mut rest = filter.clone();
        let only_in_namespaces = !self.matched.has_cluster && !self.matched.has_namespaces;
        if only_in_namespaces
            && !filter.namespaces.is_empty()
            && filter.namespaces.iter().all(|w| !w.is_wild())
        {
            out.namespaces.push(named(SetOperator::In, &filter.namespaces));
            rest.namespaces = Box::default();
        }
        if let Some(selector) = filter.namespace_selector.as_ref().filter(|s| !s.wild && only_in_namespaces) {
            out.namespaces.extend(requirements(selector));
            rest.namespace_selector = None;
        }
        for (name, expression) in self.named_attributes(&rest, skip)? {
            out.condition(name, expression);
        }
        Ok(())
    }

    /// What must hold for a filter to match.
    pub(crate) fn attributes(&self, filter: &Filter, skip: Skip) -> Result<Vec<String>> {
        Ok(self.named_attributes(filter, skip)?.into_iter().map(|(_, expression)| expression).collect())
    }

    /// What must hold for each of some filters to match.
    pub(crate) fn alternatives<'f>(&self, filters: impl Iterator<Item = &'f Filter>) -> Result<Vec<String>> {
        filters.map(|filter| Ok(cel::all(&self.attributes(filter, Skip::Nothing)?))).collect()
    }

    pub(crate) fn named_attributes(
        &self,
        filter: &Filter,
        skip: Skip,
    ) -> Result<Vec<(&'static str, String)>> {
        let mut out = Vec::new();
        let object = self.subject.object;
        let metadata = format!("{object}.metadata");
        if skip == Skip::Nothing {
            out.extend(self.kind_test(filter).map(|test| ("kinds", test)));
            out.extend(self.operation_test(filter).map(|test| ("operations", test)));
        } else {
            let wild = selected(&filter.kinds, self.kinds).wild;
            if !wild.is_empty() {
                out.push(("kinds", cel::matches_any(self.subject.kind, &wild)));
            }
        }
        let name = format!("{metadata}.name");
        if let Some(wildcard) = &filter.name {
            out.push(("names", cel::matches(&name, wildcard)));
        }
        if !filter.names.is_empty() {
            out.push(("names", cel::matches_any(&name, &filter.names)));
        }
        if !filter.namespaces.is_empty() {
            out.push(("namespaces", cel::matches_any(self.subject.namespace, &filter.namespaces)));
        }
        for (key, value) in &filter.annotations {
            out.push(("annotations", cel::has_entry(&format!("{metadata}.?annotations"), key, value)));
        }
        if let Some(selector) = filter.selector.as_ref() {
            out.push(("labels", cel::all(&cel::selects(&format!("{metadata}.?labels"), selector))));
        }
        if let Some(selector) = filter.namespace_selector.as_ref() {
            out.extend(self.namespace_test(selector).into_iter().map(|test| ("namespace-labels", test)));
        }
        if !filter.subjects.is_empty() {
            out.push(("users", cel::is_user(&filter.subjects)));
        }
        if !filter.roles.is_empty() {
            out.push(("roles", roles::has_role(&filter.roles)));
        }
        if !filter.cluster_roles.is_empty() {
            out.push(("cluster-roles", roles::has_cluster_role(&filter.cluster_roles, self.matched)));
        }
        out.retain(|(_, test)| test != "true");
        Ok(out)
    }

    /// Labels of the namespace; objects outside of namespaces count as if theirs had none, and
    /// namespaces themselves never match.
    fn namespace_test(&self, selector: &Selector) -> Vec<String> {
        let mut out = Vec::new();
        if self.matched.has_namespaces {
            out.push(format!("{} != 'Namespace'", self.subject.kind));
        }
        let labels = match self.matched.has_cluster {
            true => "(namespaceObject == null ? optional.none() : namespaceObject.metadata.?labels)",
            false => "namespaceObject.metadata.?labels",
        };
        out.extend(cel::selects(labels, selector));
        out
    }

    /// Which of the kinds that are selected a filter is about; `None` = all.
    fn kind_test(&self, filter: &Filter) -> Option<String> {
        if filter.kinds.is_empty() {
            return None;
        }
        let own = selected(&filter.kinds, self.kinds);
        let covers_all = own.is_open && own.wild.is_empty()
            || (!self.matched.is_open
                && self.matched.resources.iter().all(|of| {
                    let same =
                        own.resources.iter().find(|o| o.groups == of.groups && o.versions == of.versions);
                    same.is_some_and(|o| of.names.iter().all(|name| o.names.contains(name)))
                }));
        if covers_all {
            return None;
        }
        let mut wildcards = Vec::new();
        add_new(&mut wildcards, filter.kinds.iter().map(|kind| kind.kind.clone()));
        Some(cel::matches_any(self.subject.kind, &wildcards))
    }

    /// Which operations a filter is about; `None` = all that are selected.
    fn operation_test(&self, filter: &Filter) -> Option<String> {
        let selects = |operation: &str| filter.operations.iter().any(|own| **own == *operation);
        let is_all = filter.operations.is_empty()
            || (!self.default.is_empty() && self.default.iter().all(|one| selects(one)));
        let wildcards: Vec<Wildcard> = filter.operations.iter().map(|o| Wildcard::new(o.clone())).collect();
        (!is_all).then(|| cel::matches_any("request.operation", &wildcards))
    }

    /// What is excluded must not hold.
    pub(crate) fn exclusions(&self, unless: &Matcher, out: &mut Matching) -> Result<()> {
        let filters = unless.filters();
        if matches!(unless, Matcher::All(_)) {
            if filters.is_empty() || filters.iter().any(|f| !can_match(f)) {
                return Ok(());
            }
            let together: Result<Vec<_>> =
                filters.iter().map(|f| self.attributes(f, Skip::Nothing)).collect();
            out.condition("exclude", cel::not(&cel::all(&together?.concat())));
            return Ok(());
        }
        let only_in_namespaces = !self.matched.has_cluster && !self.matched.has_namespaces;
        for filter in filters.iter().filter(|f| can_match(f)) {
            let bare = Filter {
                origin: Default::default(),
                kinds: Box::default(),
                namespaces: Box::default(),
                has_resource: false,
                ..filter.clone()
            };
            let is_about_namespaces = bare == Filter::default()
                && !filter.namespaces.is_empty()
                && filter.namespaces.iter().all(|w| !w.is_wild());
            if is_about_namespaces && only_in_namespaces && self.kind_test(filter).is_none() {
                out.namespaces.push(named(SetOperator::NotIn, &filter.namespaces));
                continue;
            }
            let together = self.attributes(filter, Skip::Nothing)?;
            let expression = cel::not(&cel::all(&together));
            let name = match self.named_attributes(filter, Skip::Nothing)?.as_slice() {
                [(one, _)] => format!("exclude-{one}"),
                _ => "exclude".into(),
            };
            out.condition(&name, if together.is_empty() { "false".into() } else { expression });
        }
        Ok(())
    }
}

/// Namespaces by their names.
fn named(operator: SetOperator, namespaces: &[Wildcard]) -> Requirement {
    let values = namespaces.iter().map(|w| w.pattern().clone()).collect();
    Requirement { key: NAME_OF_NAMESPACE.into(), operator, values }
}

/// A selector as requirements alone.
pub fn requirements(selector: &Selector) -> Vec<Requirement> {
    let labels = selector.labels.iter().map(|(key, value)| Requirement {
        key: key.clone(),
        operator: SetOperator::In,
        values: Box::new([value.clone()]),
    });
    labels.chain(selector.expressions.iter().cloned()).collect()
}
