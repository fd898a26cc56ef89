//! `match` and `exclude` → matchConstraints and matchConditions.
//!
//! In: the matchers of a rule. Out: `Matching`: the resources and operations that the API server
//! can select by, selectors of namespaces, and conditions in CEL for what it cannot: names,
//! wildcards, labels of the object, annotations, users, exclusions. Semantics:
//! `docs/semantics/policies.md`, "Matching", and `docs/semantics/cel-policies.md`.
//!
//! Labels of the object become conditions, not an `objectSelector`: that also selects updates of
//! objects whose former labels match.
//!
//! - `cel`: tests of texts, labels and users as CEL
//! - `filters`: filters of `match` and `exclude` → tests in CEL
//! - `kinds`: kinds as filters write them → resources as constraints of the Kubernetes API write
//!   them
//! - `model`: what a rule selects, as constraints and conditions of the new policy
//! - `nodes`: constraints as parts of a document
//! - `roles`: roles of users → tests in CEL

pub(crate) mod cel;
pub(crate) mod filters;
pub(crate) mod kinds;
pub(crate) mod model;
pub(crate) mod nodes;
pub(crate) mod roles;
#[cfg(test)]
pub(crate) mod tests;

use ephor_ir::matcher::Filter;
use ephor_ir::{Matcher, Rule};
use ephor_kubernetes::Kinds;
use filters::{FilterWriter, Skip, Subject, can_match, is_same_but_kinds};
pub use kinds::Resources;
use kinds::{Selected, selected};
pub use nodes::{conditions, constraints};

pub use crate::constraints::model::Deletions;
use crate::constraints::model::{Matching, ResourceRule};
use crate::expressions::converted::NamedExpression;
use crate::expressions::refusal::{Refusal, Result};
use crate::model::names::numbered;

/// Which requests a rule is about; `default` are the operations of filters that name none.
pub fn matching(rule: &Rule, default: &[&str], kinds: &Kinds) -> Result<Matching> {
    of_matchers(&rule.when, Some(&rule.unless), default, kinds)
}

/// Which requests matchers are about.
pub fn of_matchers(
    when: &Matcher,
    unless: Option<&Matcher>,
    default: &[&str],
    kinds: &Kinds,
) -> Result<Matching> {
    found(when, unless, default, kinds, false)
}

/// Which stored objects matchers are about.
pub fn of_stored(when: &Matcher, unless: Option<&Matcher>, kinds: &Kinds) -> Result<Matching> {
    found(when, unless, &["*"], kinds, true)
}

/// What must hold for a matcher to match, whatever the kinds of objects: conditions alone.
/// Operations do not count.
pub fn as_conditions(when: &Matcher, kinds: &Kinds) -> Result<Vec<NamedExpression>> {
    let filters: Vec<Filter> = when
        .filters()
        .iter()
        .filter(|f| can_match(f))
        .map(|f| Filter { operations: Box::default(), ..f.clone() })
        .collect();
    filters.iter().try_for_each(|filter| refuse_roles(filter, SUBJECTS))?;
    // A namespace is in itself.
    let may_be_namespace = |filter: &Filter| {
        filter.kinds.is_empty() || filter.kinds.iter().any(|pattern| pattern.kind.matches("Namespace"))
    };
    let has_namespaces = filters.iter().any(may_be_namespace);
    let all = Selected { has_cluster: true, has_namespaces, is_open: true, ..Selected::default() };
    let subject = Subject::of(&all, Deletions::None);
    let writer = FilterWriter { subject: &subject, kinds, matched: &all, default: &[] };
    let mut out = Matching::default();
    match (when, filters.as_slice()) {
        (Matcher::All(all), some) if some.len() < all.len() => out.condition("match", "false".into()),
        (_, []) => out.condition("match", "false".into()),
        (Matcher::All(_), _) | (_, [_]) => {
            for filter in &filters {
                for (name, test) in writer.named_attributes(filter, Skip::Nothing)? {
                    out.condition(name, test);
                }
            }
        }
        _ => {
            out.condition("match", cel::any(&writer.alternatives(filters.iter())?));
        }
    }
    Ok(out.conditions)
}

fn found(
    when: &Matcher,
    unless: Option<&Matcher>,
    default: &[&str],
    kinds: &Kinds,
    is_stored: bool,
) -> Result<Matching> {
    let filters: Vec<&Filter> = when.filters().iter().filter(|f| can_match(f)).collect();
    let is_all = matches!(when, Matcher::All(_)) && filters.len() > 1;
    let excluded = unless.map(|m| m.filters()).unwrap_or_default();
    for filter in filters.iter().copied().chain(excluded).filter(|_| is_stored) {
        refuse_roles(filter, "leave them out: cleanup has no user")?;
    }
    let mut out = Matching::default();
    let mut all = Selected::default();
    let bases: Vec<&Filter> = match is_all {
        true => filters.iter().copied().find(|f| !f.kinds.is_empty()).into_iter().collect(),
        false => filters.clone(),
    };
    for filter in &bases {
        if filter.kinds.is_empty() {
            return Err(Refusal::new(
                "a filter without kinds",
                filter.origin.clone(),
                "name the kinds that it is for",
            ));
        }
        let own = selected(&filter.kinds, kinds);
        if let (true, Some((kind, selector))) = (own.resources.is_empty(), own.of_subresources.first()) {
            let what = format!("the kind `{kind}` of what is sent to subresources, which no request has");
            return Err(Refusal::new(what, filter.origin.key("kinds"), format!("write `{selector}`")));
        }
        for resources in &own.resources {
            for name in &resources.names {
                out.add(ResourceRule {
                    resources: Resources { names: vec![name.clone()], ..resources.clone() },
                    operations: operations(filter, name, default),
                    is_namespaced: false,
                });
            }
        }
        all.extend(own);
    }
    for plural in &all.guessed {
        out.notes.push(format!("the plural `{plural}` is a guess: the kind is in no table"));
    }
    for (kind, selector) in &all.of_subresources {
        out.notes.push(format!("`{kind}` selects nothing: requests have the kind of the object that they are about, as in `{selector}`"));
    }
    let subject = if is_stored { Subject::of_stored(&all) } else { Subject::of(&all, out.deletions()) };
    let writer = FilterWriter { subject: &subject, kinds, matched: &all, default };
    match bases.as_slice() {
        _ if is_all => {
            for filter in &filters {
                let own = if std::ptr::eq(*filter, bases.first().copied().unwrap_or(filter)) {
                    Skip::Kinds
                } else {
                    Skip::Nothing
                };
                writer.hoisted(filter, own, &mut out)?;
            }
        }
        [one] => writer.hoisted(one, Skip::Kinds, &mut out)?,
        [first, rest @ ..] if rest.iter().all(|other| is_same_but_kinds(first, other)) => {
            writer.hoisted(first, Skip::Kinds, &mut out)?;
        }
        several => {
            let alternatives = writer.alternatives(several.iter().copied())?;
            if !alternatives.iter().any(|one| one == "true") {
                out.condition("match", cel::any(&alternatives));
            }
        }
    }
    if let Some(unless) = unless {
        writer.exclusions(unless, &mut out)?;
    }
    out.is_in_namespaces = !all.has_cluster && !all.has_namespaces;
    out.is_pods = all.is_pods() && out.rules.len() == 1;
    out.kinds = all.kinds;
    Ok(out)
}

/// Adds a condition, under another name where its own is taken.
pub fn add_condition(all: &mut Vec<NamedExpression>, condition: NamedExpression) {
    let name = numbered(&condition.name, "-", |name| all.iter().any(|c| c.name == *name));
    all.push(NamedExpression { name, ..condition });
}

/// What takes the place of roles where they cannot be looked up.
const SUBJECTS: &str =
    "requests name no roles: name the groups, users or service accounts that have them as `subjects`";

/// Refuses a rule about roles, which Kubernetes' own policies cannot look up.
///
/// # Errors
/// A filter wants roles.
pub fn without_roles(rule: &Rule) -> Result<()> {
    let mut filters = rule.when.filters().iter().chain(rule.unless.filters());
    filters.try_for_each(|filter| refuse_roles(filter, SUBJECTS))
}

fn refuse_roles(filter: &Filter, nearest: &str) -> Result<()> {
    let written = match (filter.roles.is_empty(), filter.cluster_roles.is_empty()) {
        (true, true) => return Ok(()),
        (false, _) => "roles",
        (true, false) => "clusterRoles",
    };
    Err(Refusal::new(format!("`{written}` of users"), filter.origin.key(written), nearest))
}

/// The operations of requests for a resource: nothing but connections goes to some subresources,
/// and they may be among others.
fn operations(filter: &Filter, resource: &str, default: &[&str]) -> Vec<String> {
    if !filter.operations.is_empty() {
        return filter.operations.iter().map(ToString::to_string).collect();
    }
    let all = match resource.split_once('/') {
        Some((_, "exec" | "attach" | "portforward" | "proxy")) => vec!["CONNECT"],
        Some((_, "*")) => default.iter().copied().chain(["CONNECT"]).collect(),
        _ => default.to_vec(),
    };
    all.into_iter().map(String::from).collect()
}
