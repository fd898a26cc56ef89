//! Rules: carries the passes to every expression, template and condition that a rule holds.

use std::sync::Arc;

use super::condition::{always_hold, conditions};
use super::template::{query, source, template};
use crate::check::{Check, ForEach, Overlay, Overlays};
use crate::generate::{Described, Generation, GenerationLoop};
use crate::late::Late;
use crate::mutate::{Change, Json, Merge, Mutation, MutationTarget, Patch, PatchLoop};
use crate::rule::{Binding, BindingSource, Body, Message, Properties, QuerySource};
use crate::{Conditions, Rule};

/// Optimises a rule.
pub fn rule(rule: Rule, late: &dyn Late) -> Rule {
    Rule {
        bindings: bindings(rule.bindings, late),
        admit: admit(rule.admit),
        properties: rule.properties.map(|p| Properties { template: template(p.template), ..p }),
        body: match rule.body {
            Body::Validate { check: c, message: m } => {
                Body::Validate { check: check(c, late), message: message(m) }
            }
            Body::Mutate(m) => Body::Mutate(Box::new(mutation(*m, late))),
            Body::Generate(g) => Body::Generate(Box::new(generation(*g, late))),
            body => body,
        },
        ..rule
    }
}

/// Conditions that always hold are dropped.
fn admit(c: Option<Conditions>) -> Option<Conditions> {
    c.map(conditions).filter(|c| !always_hold(c))
}

fn message(m: Message) -> Message {
    Message { template: template(m.template), ..m }
}

fn bindings(list: Box<[Arc<Binding>]>, late: &dyn Late) -> Box<[Arc<Binding>]> {
    list.into_vec().into_iter().map(|b| Arc::new(binding(Arc::unwrap_or_clone(b), late))).collect()
}

fn binding(b: Binding, late: &dyn Late) -> Binding {
    let source = |q: QuerySource| source(q, late);
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
        BindingSource::ApiCall { call, raw } => BindingSource::ApiCall { call: template(call), raw },
        BindingSource::Global { name, query: q } => BindingSource::Global { name, query: q.map(source) },
        BindingSource::Image { reference, credentials, query: q } => {
            BindingSource::Image { reference: template(reference), credentials, query: q.map(source) }
        }
        given @ BindingSource::Given { .. } => given,
    };
    Binding { source, ..b }
}

fn check(c: Check, late: &dyn Late) -> Check {
    match c {
        Check::Deny(c) => Check::Deny(conditions(c)),
        Check::Pattern(overlay, origin) => Check::Pattern(self::overlay(overlay, late), origin),
        Check::AnyPattern(overlays, origin) => Check::AnyPattern(self::overlays(overlays, late), origin),
        Check::ForEach(loops) => {
            Check::ForEach(loops.into_vec().into_iter().map(|l| for_each(l, late)).collect())
        }
        same @ (Check::Assert(_) | Check::PodSecurity(_) | Check::Nothing) => same,
    }
}

fn for_each(l: ForEach, late: &dyn Late) -> ForEach {
    ForEach {
        list: query(l.list),
        bindings: bindings(l.bindings, late),
        admit: admit(l.admit),
        check: check(l.check, late),
        ..l
    }
}

fn generation(g: Generation, late: &dyn Late) -> Generation {
    let described = |d: Described| Described { template: template(d.template), ..d };
    match g {
        Generation::One(d) => Generation::One(described(d)),
        Generation::ForEach(loops) => {
            let each = |l: GenerationLoop| GenerationLoop {
                list: query(l.list),
                bindings: bindings(l.bindings, late),
                admit: admit(l.admit),
                described: described(l.described),
                ..l
            };
            Generation::ForEach(loops.into_vec().into_iter().map(each).collect())
        }
        expressions @ Generation::Expressions(_) => expressions,
    }
}

fn mutation(m: Mutation, late: &dyn Late) -> Mutation {
    let other_templates = m.other_templates.into_vec().into_iter().map(template);
    Mutation {
        change: change(m.change, late),
        other_templates: other_templates.filter(|t| t.as_const().is_none()).collect(),
        targets: m.targets.map(|list| list.into_vec().into_iter().map(|t| target(t, late)).collect()),
        existing: m.existing,
    }
}

fn change(c: Change, late: &dyn Late) -> Change {
    match c {
        Change::Patch(p, origin) => Change::Patch(patch(p, late), origin),
        Change::ForEach(loops) => {
            Change::ForEach(loops.into_vec().into_iter().map(|l| patch_loop(l, late)).collect())
        }
        expressions @ Change::Expressions { .. } => expressions,
    }
}

/// A document that turns out to be constant is lowered once.
fn patch(p: Patch, late: &dyn Late) -> Patch {
    match p {
        Patch::Merge(Merge::Dynamic(t)) => {
            let t = template(t);
            let layer = t.as_const().filter(|v| !v.is_null()).and_then(|v| late.layer(v));
            Patch::Merge(match layer {
                Some(layer) => Merge::Ready(Arc::new(layer)),
                None => Merge::Dynamic(t),
            })
        }
        Patch::Json(Json::Dynamic(t)) => Patch::Json(Json::Dynamic(template(t))),
        ready => ready,
    }
}

fn patch_loop(l: PatchLoop, late: &dyn Late) -> PatchLoop {
    PatchLoop {
        list: query(l.list),
        bindings: bindings(l.bindings, late),
        admit: admit(l.admit),
        change: change(l.change, late),
        ..l
    }
}

fn target(t: MutationTarget, late: &dyn Late) -> MutationTarget {
    MutationTarget {
        wanted: template(t.wanted),
        bindings: bindings(t.bindings, late),
        admit: admit(t.admit),
        ..t
    }
}

/// A pattern that turns out to be constant is lowered once.
fn overlay(overlay: Overlay, late: &dyn Late) -> Overlay {
    match overlay {
        Overlay::Dynamic(t) => Overlay::of(template(t), late),
        ready => ready,
    }
}

fn overlays(overlays: Overlays, late: &dyn Late) -> Overlays {
    match overlays {
        Overlays::Dynamic(t) => Overlays::of(template(t), late),
        ready => ready,
    }
}
