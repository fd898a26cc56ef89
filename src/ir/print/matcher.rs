//! Matchers: one line an attribute that is looked at.

use super::{Node, quoted};
use crate::ir::Matcher;
use crate::ir::matcher::{Filter, KindPattern, Selector, SetOperator};
use crate::value::place::parse;
use crate::value::wildcard::Wildcard;

/// A matcher under a name.
pub fn matcher(name: &str, m: &Matcher) -> Node {
    match m {
        Matcher::Any(filters) | Matcher::All(filters) if filters.is_empty() => {
            Node::new(format!("{name}: never"))
        }
        Matcher::Any(filters) => Node::new(format!("{name}: any of")).with(filters.iter().map(filter)),
        Matcher::All(filters) => Node::new(format!("{name}: all of")).with(filters.iter().map(filter)),
        Matcher::Constraints(c) => super::constraints::constraints(name, c),
    }
}

fn filter(f: &Filter) -> Node {
    let mut node = Node::new("filter").at(parse(&f.origin.path));
    let mut line = |name: &str, items: Vec<String>| {
        if !items.is_empty() {
            node.below.push(Node::new(format!("{name}: {}", items.join(", "))));
        }
    };
    let wild = |items: &[Wildcard]| items.iter().map(|w| quoted(w.pattern())).collect::<Vec<_>>();
    let texts = |items: &[crate::value::Str]| items.iter().map(|s| quoted(s)).collect::<Vec<_>>();
    line("operations", texts(&f.operations));
    line("kinds", f.kinds.iter().map(kind).collect());
    line("name", f.name.iter().map(|w| quoted(w.pattern())).collect());
    line("names", wild(&f.names));
    line("namespaces", wild(&f.namespaces));
    let pair = |(k, v): &(Wildcard, Wildcard)| format!("{}={}", quoted(k.pattern()), quoted(v.pattern()));
    line("annotations", f.annotations.iter().map(pair).collect());
    line("labels", f.selector.iter().flat_map(selector).collect());
    line("namespace labels", f.namespace_selector.iter().flat_map(selector).collect());
    line("roles", texts(&f.roles));
    line("cluster roles", texts(&f.cluster_roles));
    let subject = |s: &crate::ir::matcher::Subject| format!("{} {}", s.kind, quoted(s.name.pattern()));
    line("subjects", f.subjects.iter().map(subject).collect());
    if !f.has_resource && !f.has_user {
        node.below.push(Node::new("nothing: accepts nothing"));
    }
    node
}

/// `group/version/Kind/subresource`, without what is left open.
fn kind(k: &KindPattern) -> String {
    let mut text = String::new();
    let parts = [&k.group, &k.version].map(|w| &**w.pattern());
    if parts != ["*", "*"] {
        text.push_str(&format!("{}/{}/", parts[0], parts[1]));
    }
    text.push_str(k.kind.pattern());
    if !k.subresource.pattern().is_empty() {
        text.push_str(&format!("/{}", k.subresource.pattern()));
    }
    text
}

pub fn selector(s: &Selector) -> Vec<String> {
    if !s.valid {
        return vec!["not well-formed: accepts nothing".into()];
    }
    let labels = s.labels.iter().map(|(k, v)| format!("{}={}", quoted(k), quoted(v)));
    let requirements = s.expressions.iter().map(|r| {
        let values: Vec<String> = r.values.iter().map(|v| quoted(v)).collect();
        match r.operator {
            SetOperator::In => format!("{} in ({})", quoted(&r.key), values.join(" ")),
            SetOperator::NotIn => format!("{} not in ({})", quoted(&r.key), values.join(" ")),
            SetOperator::Exists => format!("{} exists", quoted(&r.key)),
            SetOperator::DoesNotExist => format!("{} does not exist", quoted(&r.key)),
        }
    });
    let all: Vec<String> = labels.chain(requirements).collect();
    if all.is_empty() { vec!["everything".into()] } else { all }
}
