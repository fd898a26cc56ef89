//! Rules: carries the passes to every expression, template and condition that a rule holds.

use std::sync::Arc;

use super::condition::{always_hold, conditions};
use super::template::{query, source, template};
use crate::ir::check::{Check, ForEach, Overlay, Overlays};
use crate::ir::generate::{Described, Generation, GenerationLoop};
use crate::ir::mutate::{Change, Json, Merge, Mutation, MutationTarget, Patch, PatchLoop};
use crate::ir::rule::{Binding, BindingSource, Body, Message, Properties};
use crate::ir::{Conditions, Rule};

/// Optimises a rule.
pub fn rule(rule: Rule) -> Rule {
    Rule {
        bindings: bindings(rule.bindings),
        admit: admit(rule.admit),
        properties: rule.properties.map(|p| Properties { template: template(p.template), ..p }),
        body: match rule.body {
            Body::Validate { check: c, message: m } => {
                Body::Validate { check: check(c), message: message(m) }
            }
            Body::Mutate(m) => Body::Mutate(Box::new(mutation(*m))),
            Body::Generate(g) => Body::Generate(Box::new(generation(*g))),
            body => body,
        },
        ..rule
    }
}

/// Conditions that always hold ask for nothing.
fn admit(c: Option<Conditions>) -> Option<Conditions> {
    c.map(conditions).filter(|c| !always_hold(c))
}

fn message(m: Message) -> Message {
    Message { template: template(m.template), ..m }
}

fn bindings(list: Box<[Arc<Binding>]>) -> Box<[Arc<Binding>]> {
    list.into_vec().into_iter().map(|b| Arc::new(binding(Arc::unwrap_or_clone(b)))).collect()
}

fn binding(b: Binding) -> Binding {
    let source = match b.source {
        BindingSource::Variable { value, query: q, default, raw } => BindingSource::Variable {
            value: value.map(template),
            query: q.map(source),
            default: default.map(template),
            raw,
        },
        BindingSource::ConfigMap { name, namespace, raw } => {
            BindingSource::ConfigMap { name: template(name), namespace: template(namespace), raw }
        }
        BindingSource::ApiCall { call, raw, compile } => {
            BindingSource::ApiCall { call: template(call), raw, compile }
        }
        BindingSource::Global { name, query: q } => BindingSource::Global { name, query: q.map(source) },
        BindingSource::Image { reference, credentials, query: q } => {
            BindingSource::Image { reference: template(reference), credentials, query: q.map(source) }
        }
    };
    Binding { source, ..b }
}

fn check(c: Check) -> Check {
    match c {
        Check::Deny(c) => Check::Deny(conditions(c)),
        Check::Pattern(overlay, origin) => Check::Pattern(self::overlay(overlay), origin),
        Check::AnyPattern(overlays, origin) => Check::AnyPattern(self::overlays(overlays), origin),
        Check::ForEach(loops) => Check::ForEach(loops.into_vec().into_iter().map(for_each).collect()),
        same @ (Check::Assert(_) | Check::PodSecurity(_) | Check::Nothing) => same,
    }
}

fn for_each(l: ForEach) -> ForEach {
    ForEach {
        list: query(l.list),
        bindings: bindings(l.bindings),
        admit: admit(l.admit),
        check: check(l.check),
        ..l
    }
}

fn generation(g: Generation) -> Generation {
    let described = |d: Described| Described { template: template(d.template), ..d };
    match g {
        Generation::One(d) => Generation::One(described(d)),
        Generation::ForEach(loops) => {
            let each = |l: GenerationLoop| GenerationLoop {
                list: query(l.list),
                bindings: bindings(l.bindings),
                admit: admit(l.admit),
                described: described(l.described),
                ..l
            };
            Generation::ForEach(loops.into_vec().into_iter().map(each).collect())
        }
        expressions @ Generation::Expressions(_) => expressions,
    }
}

fn mutation(m: Mutation) -> Mutation {
    let beside = m.beside.into_vec().into_iter().map(template);
    Mutation {
        change: change(m.change),
        beside: beside.filter(|t| t.as_const().is_none()).collect(),
        targets: m.targets.map(|list| list.into_vec().into_iter().map(target).collect()),
        existing: m.existing,
    }
}

fn change(c: Change) -> Change {
    match c {
        Change::Patch(p, origin) => Change::Patch(patch(p), origin),
        Change::ForEach(loops) => Change::ForEach(loops.into_vec().into_iter().map(patch_loop).collect()),
        expressions @ Change::Expressions { .. } => expressions,
    }
}

/// A document that turns out to be constant is lowered once.
fn patch(p: Patch) -> Patch {
    match p {
        Patch::Merge(Merge::Dynamic(t, lower)) => {
            let t = template(t);
            let layer = t.as_const().filter(|v| !v.is_null()).and_then(lower);
            Patch::Merge(match layer {
                Some(layer) => Merge::Ready(Arc::new(layer)),
                None => Merge::Dynamic(t, lower),
            })
        }
        Patch::Json(Json::Dynamic(t)) => Patch::Json(Json::Dynamic(template(t))),
        ready => ready,
    }
}

fn patch_loop(l: PatchLoop) -> PatchLoop {
    PatchLoop {
        list: query(l.list),
        bindings: bindings(l.bindings),
        admit: admit(l.admit),
        change: change(l.change),
        ..l
    }
}

fn target(t: MutationTarget) -> MutationTarget {
    MutationTarget { wanted: template(t.wanted), bindings: bindings(t.bindings), admit: admit(t.admit), ..t }
}

/// A pattern that turns out to be constant is lowered once.
fn overlay(overlay: Overlay) -> Overlay {
    match overlay {
        Overlay::Dynamic(t, lower) => Overlay::of(template(t), lower),
        ready => ready,
    }
}

fn overlays(overlays: Overlays) -> Overlays {
    match overlays {
        Overlays::Dynamic(t, lower) => Overlays::of(template(t), lower),
        ready => ready,
    }
}
