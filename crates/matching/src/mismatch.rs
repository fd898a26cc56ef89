//! Why a rule does not match a request, for its author.
//!
//! In: the `match` and `exclude` of a rule, and a target. Out: [`Decision`]: which filter accepted
//! or excluded it, or for each filter the first attribute that does not fit, with what the request
//! has and what the policy requires. The decision itself is that of [`super::filter`] and
//! [`super::constraints`].

use ephor_ir::matcher::{Filter, Selector, SetOperator};
use ephor_ir::{Matcher, Origin};
use ephor_value::wildcard::Wildcard;
use ephor_value::{Map, Str, Value};

use super::filter::{Attribute, Mode, accepts, unmet};
use super::{Target, constraints};

/// Whether a rule matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It does, by these pieces of `match`.
    Matches(Vec<Reason>),
    /// It does not, for these reasons.
    Differs(Vec<Reason>),
    /// These pieces of `exclude` exclude the request.
    Excluded(Vec<Reason>),
}

/// A piece of a policy, and what it says of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The piece.
    pub origin: Origin,
    /// `namespaces: "dev" not in [prod]`.
    pub text: String,
}

/// Decides whether a rule matches, with the reasons.
pub fn decide(when: &Matcher, unless: &Matcher, target: &Target) -> Decision {
    if !accepts(when, target, Mode::Match) {
        return Decision::Differs(reasons(when, target, Mode::Match, false));
    }
    match accepts(unless, target, Mode::Exclude) {
        true => Decision::Excluded(reasons(unless, target, Mode::Exclude, true)),
        false => Decision::Matches(reasons(when, target, Mode::Match, true)),
    }
}

/// What the filters say that accept the target, or that do not.
fn reasons(matcher: &Matcher, target: &Target, mode: Mode, accepting: bool) -> Vec<Reason> {
    if let Matcher::Constraints(c) = matcher {
        let text = match accepting {
            true => "the constraints accept the request".to_owned(),
            false => {
                let attributes = constraints::Attributes::of(target, target.kinds());
                constraints::mismatch(c, &attributes, &target.namespace_labels).to_string()
            }
        };
        return vec![Reason { origin: Origin::new("spec.matchConstraints"), text }];
    }
    let of_filter = |f: &Filter| match unmet(f, target, mode) {
        None if accepting => Some(Reason { origin: f.origin.clone(), text: summary(f) }),
        Some(attribute) if !accepting => Some(reason(f, attribute, target)),
        _ => None,
    };
    matcher.filters().iter().filter_map(of_filter).collect()
}

/// The attributes of a filter, shortly.
fn summary(f: &Filter) -> String {
    let kinds = f.kinds.iter().map(|k| k.kind.pattern());
    let mut parts: Vec<String> = Vec::new();
    if !f.kinds.is_empty() {
        parts.push(format!("kinds {}", listed(kinds)));
    }
    let namespaces = f.namespaces.iter().map(Wildcard::pattern);
    if !f.namespaces.is_empty() {
        parts.push(format!("namespaces {}", listed(namespaces)));
    }
    match parts.is_empty() {
        true => "all its attributes fit".to_owned(),
        false => parts.join(", "),
    }
}

fn listed<'a>(items: impl Iterator<Item = &'a Str>) -> String {
    format!("[{}]", items.map(|s| &**s).collect::<Vec<_>>().join(", "))
}

fn reason(f: &Filter, attribute: Attribute, t: &Target) -> Reason {
    let among =
        |name: &str, have: &str, wanted: String| (name.to_owned(), format!("\"{have}\" not in {wanted}"));
    let user = t.user.as_deref();
    let have = |part: fn(&super::User) -> &[String]| match user.map(part).unwrap_or_default() {
        [] => "the user has none".to_owned(),
        some => format!("the user has [{}]", some.join(", ")),
    };
    let (key, text) = match attribute {
        Attribute::Nothing => (String::new(), "nothing is written that could fit".to_owned()),
        Attribute::Operations => among("operations", &t.operation, listed(f.operations.iter())),
        Attribute::Kinds => {
            let sub = if t.subresource.is_empty() { String::new() } else { format!("/{}", t.subresource) };
            let group = if t.group.is_empty() { String::new() } else { format!("{}/", t.group) };
            let kind = format!("{group}{}/{}{sub}", t.version, t.kind);
            let written = f.kinds.iter().map(written).collect::<Vec<_>>();
            among("kinds", &kind, format!("[{}]", written.join(", ")))
        }
        Attribute::Name => among("name", &t.name, listed(f.name.iter().map(Wildcard::pattern))),
        Attribute::Names => among("names", &t.name, listed(f.names.iter().map(Wildcard::pattern))),
        Attribute::Namespaces => {
            let wanted = listed(f.namespaces.iter().map(Wildcard::pattern));
            among("namespaces", t.namespace_or_own_name(), wanted)
        }
        Attribute::Annotations => {
            let wanted = f.annotations.iter().map(|(k, v)| format!("{}: {}", k.pattern(), v.pattern()));
            (
                "annotations".to_owned(),
                format!("not all of {{{}}} are there", wanted.collect::<Vec<_>>().join(", ")),
            )
        }
        Attribute::Selector => ("selector".to_owned(), unselected(f.selector.as_ref(), &t.labels)),
        Attribute::NamespaceSelector => {
            ("namespaceSelector".to_owned(), unselected(f.namespace_selector.as_ref(), &t.namespace_labels))
        }
        Attribute::Roles => {
            ("roles".to_owned(), format!("none of {}; {}", listed(f.roles.iter()), have(|u| &u.roles)))
        }
        Attribute::ClusterRoles => {
            let wanted = listed(f.cluster_roles.iter());
            ("clusterRoles".to_owned(), format!("none of {wanted}; {}", have(|u| &u.cluster_roles)))
        }
        Attribute::Subjects => {
            let who = user.map_or("no user", |u| &u.name);
            among("subjects", who, listed(f.subjects.iter().map(|s| s.name.pattern())))
        }
    };
    if key.is_empty() {
        return Reason { origin: f.origin.clone(), text };
    }
    let of_user = matches!(attribute, Attribute::Roles | Attribute::ClusterRoles | Attribute::Subjects);
    let origin = if of_user { f.origin.key(&key) } else { f.origin.key("resources").key(&key) };
    Reason { origin, text: format!("{key}: {text}") }
}

/// A kind selector as policies write it.
fn written(k: &ephor_ir::matcher::KindPattern) -> String {
    let part = |w: &Wildcard| match &**w.pattern() {
        "*" | "" => None,
        text => Some(text.to_owned()),
    };
    [part(&k.group), part(&k.version), Some(k.kind.pattern().to_string()), part(&k.subresource)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("/")
}

/// The first requirement of a selector that labels do not meet.
fn unselected(selector: Option<&Selector>, labels: &Map) -> String {
    let Some(selector) = selector else { return String::new() };
    if !selector.valid {
        return "the selector is not valid and selects nothing".to_owned();
    }
    let shown = |key: &str| match labels.get(key).and_then(Value::as_str) {
        Some(have) => format!("is \"{have}\""),
        None => "is not there".to_owned(),
    };
    for (key, wanted) in &selector.labels {
        let part = Selector {
            labels: Box::new([(key.clone(), wanted.clone())]),
            expressions: Box::default(),
            ..selector.clone()
        };
        if !super::filter::selects(&part, labels) {
            return format!("label {key} {}, not \"{wanted}\"", shown(key));
        }
    }
    for r in &selector.expressions {
        let part =
            Selector { labels: Box::default(), expressions: Box::new([r.clone()]), ..selector.clone() };
        if !super::filter::selects(&part, labels) {
            let wanted = match r.operator {
                SetOperator::In => format!("not in {}", listed(r.values.iter())),
                SetOperator::NotIn => format!("but must not be in {}", listed(r.values.iter())),
                SetOperator::Exists => "but must be".to_owned(),
                SetOperator::DoesNotExist => "but must not be there".to_owned(),
            };
            return format!("label {} {}, {wanted}", r.key, shown(&r.key));
        }
    }
    "the labels do not fit".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ephor_ir::matcher::Requirement;

    fn filter(f: Filter) -> Matcher {
        Matcher::Any(
            vec![Filter { has_resource: true, origin: Origin::new("spec.rules[0].match.any[0]"), ..f }]
                .into(),
        )
    }

    fn pod() -> Target {
        let labels = [("team".into(), Value::from("a"))].into_iter().collect();
        let namespace = "dev".into();
        Target {
            version: "v1".into(),
            kind: "Pod".into(),
            namespace,
            labels,
            exists: true,
            ..Target::default()
        }
    }

    fn why(f: Filter) -> String {
        match decide(&filter(f), &Matcher::never(), &pod()) {
            Decision::Differs(reasons) => {
                reasons.iter().map(|r| format!("{} {}", r.origin.path, r.text)).collect()
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_first_attribute_that_does_not_fit_is_explained_with_both_values() {
        let namespaces = vec![Wildcard::new("prod"), Wildcard::new("stage-*")].into();
        assert_eq!(
            why(Filter { namespaces, ..Filter::default() }),
            "spec.rules[0].match.any[0].resources.namespaces namespaces: \"dev\" not in [prod, stage-*]"
        );
        let selector = Some(Selector::new(vec![("team".into(), "b".into())], Vec::new(), true));
        assert_eq!(
            why(Filter { selector, ..Filter::default() }),
            "spec.rules[0].match.any[0].resources.selector selector: label team is \"a\", not \"b\""
        );
        let exists = Requirement { key: "env".into(), operator: SetOperator::Exists, values: Box::default() };
        let selector = Some(Selector::new(Vec::new(), vec![exists], true));
        assert_eq!(
            why(Filter { selector, ..Filter::default() }),
            "spec.rules[0].match.any[0].resources.selector selector: label env is not there, but must be"
        );
    }

    #[test]
    fn an_exclusion_is_explained_by_the_filter_that_excludes() {
        let everything = filter(Filter::default());
        let Decision::Excluded(reasons) = decide(&everything, &everything, &pod()) else { unreachable!() };
        assert_eq!(reasons.len(), 1);
    }
}
