//! Rules.

use std::sync::Arc;

use super::condition::conditions;
use super::matcher::matcher;
use super::template::{placed, source, template};
use super::{Node, check, quoted};
use crate::ir::Rule;
use crate::ir::expressions::View;
use crate::ir::rule::{Action, ActionOverride, Binding, BindingSource, Body, RuleKind};
use crate::value::place::parse;

/// A rule with everything it holds.
pub fn rule(r: &Rule) -> Node {
    let mut node =
        Node::new(format!("rule {} ({})", quoted(&r.name), r.kind.name())).at(parse(&r.origin.path));
    node.below.extend(r.generated.as_ref().map(|what| Node::new(format!("generated for {what}"))));
    node.below.extend(r.broken.iter().map(|why| Node::new(format!("broken {}", quoted(why)))));
    node.below.push(matcher("when", &r.when));
    if !r.unless.filters().is_empty() {
        node.below.push(matcher("unless", &r.unless));
    }
    node.below.extend(bindings(&r.bindings));
    node.below.extend(r.admit.as_ref().map(|c| conditions("admit", c)));
    node.below.extend(r.properties.as_ref().map(|p| template(&p.template).labelled("properties")));
    node.below.extend(r.expressions.as_ref().map(|e| super::expressions::expressions(e)));
    node.below.extend(r.bound.as_ref().map(|b| super::admission::bound(b)));
    node.below.push(body(&r.body));
    // Other rules have the actions of their policy or of its bindings.
    let has_action = r.expressions.as_ref().is_none_or(|e| e.view == View::Rule);
    if has_action && matches!(r.kind, RuleKind::Validation | RuleKind::ImageVerification) {
        node.below.extend(action(&r.action));
    }
    node
}

fn body(b: &Body) -> Node {
    match b {
        Body::Validate { check, message } => {
            let mut node = Node::new("validate").with([check::check(check)]);
            if !message.text.is_empty() {
                let text = placed(&message.template, &message.origin).labelled("message");
                node.below.push(text.at(parse(&message.origin.path)));
            }
            node
        }
        Body::Delete => Node::new("delete"),
        Body::Answer(all) => Node::new("answer").with(all.iter().map(super::expressions::program)),
        Body::ValidateImages(images) => super::expressions::image_validation(images),
        Body::Mutate(m) => super::mutate::mutation(m),
        Body::Generate(g) => super::generate::generation(g),
        Body::VerifyImages(checks) => images(checks),
        Body::Manifests(m) => manifests(m),
    }
}

fn images(checks: &crate::ir::images::ImageChecks) -> Node {
    let mut node = Node::new("verify images");
    for e in &checks.entries {
        let names: Vec<&str> = e.references.iter().map(|w| &**w.pattern()).collect();
        let wants = [
            (e.attested, "evidence"),
            (e.mutate_digest, "add digest"),
            (e.verify_digest, "digest"),
            (e.required, "verified"),
        ];
        let wants: Vec<&str> = wants.into_iter().filter(|(on, _)| *on).map(|(_, text)| text).collect();
        node.below.push(Node::new(format!("{}: {}", names.join(", "), wants.join(", "))));
    }
    node
}

fn manifests(m: &crate::ir::manifests::Manifests) -> Node {
    let sets = m.attestors.iter().map(|s| format!("{} of {}", s.required, s.entries.len()));
    Node::new(format!("verify manifest, signed by {}", sets.collect::<Vec<_>>().join(" and ")))
        .with(m.ignored.iter().map(|i| Node::new(format!("ignore: {}", i.fields.join(", ")))))
}

fn action(a: &Action) -> Option<Node> {
    let named = a.rule.as_ref().map(|action| format!(" {action}")).unwrap_or_default();
    let overrides = a.overrides.iter().map(over);
    let existing = if a.allow_existing { "" } else { ", existing violations count" };
    if named.is_empty() && a.overrides.is_empty() && existing.is_empty() {
        return None;
    }
    Some(Node::new(format!("action{named}{existing}")).with(overrides))
}

fn over(o: &ActionOverride) -> Node {
    let namespaces: Vec<String> = o.namespaces.iter().flatten().map(|w| quoted(w.pattern())).collect();
    let selector = if o.selector.is_some() { " by labels" } else { "" };
    Node::new(format!("{} in namespaces {}{selector}", o.action, namespaces.join(", ")))
}

/// Bindings, each with its number as `needs` counts it, from the outermost scope's first.
pub fn bindings(list: &[Arc<Binding>]) -> Option<Node> {
    (!list.is_empty()).then(|| Node::new("bindings").with(list.iter().map(|b| binding(b))))
}

fn binding(b: &Binding) -> Node {
    let name = quoted(&b.name);
    let (what, below) = match &b.source {
        BindingSource::Variable { value, query, default, .. } => {
            let mut below = Vec::new();
            let variable = b.origin.key("variable");
            below.extend(value.as_ref().map(|t| placed(t, &variable.key("value")).labelled("value")));
            below.extend(query.as_ref().map(source));
            below.extend(default.as_ref().map(|t| placed(t, &variable.key("default")).labelled("default")));
            ("variable", below)
        }
        BindingSource::ConfigMap { name, namespace, .. } => {
            ("config map", vec![template(name).labelled("name"), template(namespace).labelled("namespace")])
        }
        BindingSource::ApiCall { call, .. } => ("API call", vec![placed(call, &b.origin.key("apiCall"))]),
        BindingSource::Global { name, query } => {
            let mut below = vec![Node::new(format!("entry: {}", quoted(name)))];
            below.extend(query.as_ref().map(source));
            ("global entry", below)
        }
        BindingSource::Image { reference, query, .. } => {
            let mut below = vec![template(reference).labelled("reference")];
            below.extend(query.as_ref().map(source));
            ("image facts", below)
        }
    };
    Node::new(format!("{name} = {what}")).at(parse(&b.origin.path)).with(below)
}
