//! Conditions.

use super::Node;
use super::template::placed;
use crate::ir::condition::Prepared;
use crate::ir::{Condition, Conditions, Operator};
use crate::value::place::parse;

/// Conditions under a name.
pub fn conditions(name: &str, c: &Conditions) -> Node {
    let group = |name: &str, items: &[Condition]| Node::new(name).with(items.iter().map(condition));
    let mut node = Node::new(name).at(parse(&c.origin.path));
    node.below.extend(c.any.as_ref().map(|any| group("any of", any)));
    if c.flat || !c.all.is_empty() || c.any.is_none() {
        node.below.push(group(if c.flat { "all of (flat)" } else { "all of" }, &c.all));
    }
    node
}

fn condition(c: &Condition) -> Node {
    let name = c.operator.map_or("of unknown operator", Operator::name);
    let mut value = placed(&c.value, &c.origin.key("value")).labelled("value");
    if let Some(prepared) = &c.prepared {
        let forms = forms(prepared);
        if !forms.is_empty() {
            let note = format!(" (read as {})", forms.join(", "));
            value.inline = value.inline.map(|text| text + &note);
            value.head.push_str(&note);
        }
    }
    let key = placed(&c.key, &c.origin.key("key")).labelled("key");
    let mut node = Node::new(format!("condition {name}")).at(parse(&c.origin.path)).with([key, value]);
    if !c.message.is_empty() {
        node.below.push(Node::new(format!("message: {}", super::quoted(&c.message))));
    }
    node
}

/// In which forms a constant right side was prepared.
fn forms(p: &Prepared) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(items) = &p.items {
        let hashed = if items.exact.is_empty() { "" } else { ", hashed" };
        out.push(format!("list of {}{hashed}", items.all.len()));
    }
    let Some(text) = &p.text else { return out };
    let mut form = |present: bool, name: &str| {
        if present {
            out.push(name.to_string());
        }
    };
    form(text.wildcard.is_wild(), "wildcard");
    form(text.any_duration.is_some(), "duration");
    form(text.quantity.is_some(), "quantity");
    form(text.float.is_some(), "number");
    form(text.version.is_some(), "version");
    form(text.range.is_some(), "range");
    form(text.json, "json");
    out
}
