//! Constraints: a line a rule.

use super::matcher::selector;
use super::{Node, quoted};
use crate::ir::constraints::{AnyOf, Constraints, ResourcePath, ResourceRule, Scope};
use crate::value::Str;

/// Constraints under a name.
pub fn constraints(name: &str, c: &Constraints) -> Node {
    let how = if c.equivalent { " or equivalent" } else { "" };
    let mut node = Node::new(format!("{name}: requests{how}"));
    node.below.extend(c.rules.iter().map(|r| Node::new(rule("of", r))));
    node.below.extend(c.exclude.iter().map(|r| Node::new(rule("not of", r))));
    let labels = |name: &str, s: &Option<crate::ir::matcher::Selector>| {
        let s = s.as_ref().filter(|s| !s.is_empty())?;
        Some(Node::new(format!("{name}: {}", selector(s).join(", "))))
    };
    node.below.extend(labels("labels", &c.object_selector));
    node.below.extend(labels("namespace labels", &c.namespace_selector));
    node
}

fn rule(word: &str, r: &ResourceRule) -> String {
    let resources: Vec<String> = r.resources.iter().map(path).collect();
    let mut text =
        format!("{word} {} in {}/{}", resources.join(", "), any_of(&r.groups), any_of(&r.versions));
    text.push_str(&format!(" on {}", any_of(&r.operations)));
    match &r.scope {
        Scope::All => {}
        Scope::Namespaced => text.push_str(", in namespaces"),
        Scope::Cluster => text.push_str(", outside of namespaces"),
        Scope::Unknown(scope) => text.push_str(&format!(", of the unknown scope {}", quoted(scope))),
    }
    if !r.names.is_empty() {
        text.push_str(&format!(", named {}", texts(&r.names)));
    }
    text
}

fn path(p: &ResourcePath) -> String {
    let part = |part: &Option<Str>| part.as_deref().unwrap_or("*").to_string();
    match p.subresource.as_deref() {
        Some("") => part(&p.resource),
        _ => format!("{}/{}", part(&p.resource), part(&p.subresource)),
    }
}

fn any_of(texts_or_all: &AnyOf) -> String {
    match texts_or_all {
        AnyOf::All => "*".into(),
        AnyOf::These(all) => texts(all),
    }
}

fn texts(all: &[Str]) -> String {
    let shown: Vec<&str> = all.iter().map(|t| if t.is_empty() { "\"\"" } else { t }).collect();
    shown.join("|")
}
