//! The index from what a request is about to the rules that can match it.
//!
//! Rules are filed under the literal kinds of their filters, and below a kind under a literal
//! namespace or name when every filter for the kind names one. What cannot be filed that way
//! (wildcards, no kinds) is a candidate for every request. Rules with constraints are filed under
//! the resources that these name. Looking up costs what the rules found cost, however many are
//! loaded.

use std::collections::HashMap;
use std::ops::Range;

use ephor_ir::matcher::{Filter, KindPattern};
use ephor_ir::{Matcher, Policy, Rule};
use ephor_value::Str;
use ephor_value::wildcard::Wildcard;

use super::{Target, constraints};

/// A rule: position of the policy, and of the rule among the policy's rules for the kind.
pub type Slot = (u32, u32);

/// See the module page.
#[derive(Debug, Default)]
pub struct Index {
    kinds: HashMap<Str, Bucket>,
    /// Rules with constraints that name resources, by resource. What a request reaches under
    /// another group or version has the same resource name
    /// ([`ephor_kubernetes::Kinds::equivalents`]).
    resources: HashMap<Str, Vec<Slot>>,
    /// Rules whose kinds or resources hold wildcards, or that have none.
    wild: Vec<Slot>,
    /// Policies with rules of their own for a kind: their `wild` rules do not count there.
    own: HashMap<Str, Vec<u32>>,
}

/// The rules of one kind.
#[derive(Debug, Default)]
struct Bucket {
    any: Vec<Slot>,
    namespaces: HashMap<Str, Vec<Slot>>,
    names: HashMap<Str, Vec<Slot>>,
}

/// Where a rule is filed below a kind.
enum Place {
    Any,
    Namespaces(Vec<Str>),
    Names(Vec<Str>),
}

impl Index {
    /// Files the rules of all policies.
    pub fn new<'p>(policies: impl Iterator<Item = &'p Policy>) -> Index {
        let mut index = Index::default();
        for (p, policy) in policies.enumerate() {
            let p = u32::try_from(p).unwrap_or(u32::MAX);
            let own = policy.by_kind.iter().flat_map(|own| own.kinds.iter().map(|k| (k, &own.rules)));
            for (kind, rules) in own {
                index.own.entry(kind.clone()).or_default().push(p);
                for (r, rule) in rules.iter().enumerate() {
                    if kinds(&rule.when).any(|k| k.is_none_or(|k| k.kind.matches(kind)))
                        || rule.when.filters().is_empty()
                    {
                        index.file(kind, (p, u32::try_from(r).unwrap_or(u32::MAX)), &rule.when);
                    }
                }
            }
            for (r, rule) in policy.rules.iter().enumerate() {
                index.base(policy, (p, u32::try_from(r).unwrap_or(u32::MAX)), rule);
            }
        }
        index
    }

    fn base(&mut self, policy: &Policy, slot: Slot, rule: &Rule) {
        if let Matcher::Constraints(c) = &rule.when {
            match constraints::resources_of(c) {
                Some(resources) => {
                    resources.into_iter().for_each(|r| self.resources.entry(r).or_default().push(slot));
                }
                None => self.wild.push(slot),
            }
            return;
        }
        let mut literal: Vec<Str> = Vec::new();
        for kind in kinds(&rule.when) {
            match kind {
                Some(k) if !k.kind.is_wild() => literal.push(k.kind.pattern().clone()),
                _ => {
                    self.wild.push(slot);
                    return;
                }
            }
        }
        literal.sort_unstable();
        literal.dedup();
        for kind in literal.iter().filter(|k| policy.own_rules_for(k).is_none()) {
            self.file(kind, slot, &rule.when);
        }
    }

    fn file(&mut self, kind: &Str, slot: Slot, when: &Matcher) {
        let bucket = self.kinds.entry(kind.clone()).or_default();
        let add = |map: &mut HashMap<Str, Vec<Slot>>, keys: Vec<Str>| {
            for key in keys {
                let slots = map.entry(key).or_default();
                if slots.last() != Some(&slot) {
                    slots.push(slot);
                }
            }
        };
        match place(when) {
            Place::Namespaces(keys) => add(&mut bucket.namespaces, keys),
            Place::Names(keys) => add(&mut bucket.names, keys),
            Place::Any => bucket.any.push(slot),
        }
    }

    /// The rules that can match the target, in order of policies and rules.
    pub fn candidates(&self, target: &Target) -> Vec<Slot> {
        let mut found = Vec::new();
        if let Some(bucket) = self.kinds.get(&target.kind) {
            found.extend_from_slice(&bucket.any);
            found.extend(bucket.names.get(&target.name).into_iter().flatten());
            found.extend(bucket.namespaces.get(target.namespace_or_own_name()).into_iter().flatten());
        }
        if !self.resources.is_empty() {
            found.extend(self.resources.get(constraints::resource_of(target)).into_iter().flatten());
        }
        let own = self.own.get(&target.kind);
        found.extend(self.wild.iter().filter(|(p, _)| own.is_none_or(|own| own.binary_search(p).is_err())));
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl Index {
    /// The rules of a range of policies that can match requests for a resource, in order; all of
    /// these policies' rules have constraints.
    pub fn of_resource(&self, resource: &str, policies: &Range<u32>) -> Vec<Slot> {
        let within = |all: &[Slot]| -> Vec<Slot> {
            let at = |policy: u32| all.partition_point(|(p, _)| *p < policy);
            all.get(at(policies.start)..at(policies.end)).unwrap_or_default().to_vec()
        };
        let mut found = within(&self.wild);
        found.extend(within(self.resources.get(resource).map_or(&[], Vec::as_slice)));
        found.sort_unstable();
        found
    }
}

/// The kind patterns of a matcher; `None` for a filter that accepts every kind.
fn kinds(when: &Matcher) -> impl Iterator<Item = Option<&KindPattern>> {
    when.filters().iter().flat_map(|f| {
        let open = f.kinds.is_empty().then_some(None);
        open.into_iter().chain(f.kinds.iter().map(Some))
    })
}

/// Where a rule can be filed: every filter must name literal namespaces, or every one for literal
/// names.
fn place(when: &Matcher) -> Place {
    let all = |literal: &dyn Fn(&Filter) -> Option<Vec<Str>>| {
        let keys: Option<Vec<Vec<Str>>> = when.filters().iter().map(literal).collect();
        keys.map(|k| k.concat()).filter(|k| !k.is_empty())
    };
    let literals = |patterns: &[Wildcard]| {
        let all = !patterns.is_empty() && patterns.iter().all(|w| !w.is_wild());
        all.then(|| patterns.iter().map(|w| w.pattern().clone()).collect::<Vec<Str>>())
    };
    if let Some(keys) = all(&|f| match &f.name {
        Some(name) => literals(std::slice::from_ref(name)),
        None => literals(&f.names),
    }) {
        return Place::Names(keys);
    }
    match all(&|f| literals(&f.namespaces)) {
        Some(keys) => Place::Namespaces(keys),
        None => Place::Any,
    }
}
