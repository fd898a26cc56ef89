//! External data that a policy reads, by name: what a proof is relative to.
//!
//! In: a policy. Out: for each entry of its context, and each function that depends on more than
//! its arguments, where the data comes from.

use std::collections::BTreeSet;

use ephor_functions::registry::{Dependency, Operation};
use ephor_ir::parts::{HasParts, RulePart};
use ephor_ir::rule::BindingSource;
use ephor_ir::walk::holds;
use ephor_ir::{Expr, Policy};
use ephor_value::Value;

/// The external data that the rules of a policy read.
pub(crate) fn external(policy: &Policy) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    HasParts::each(policy, &mut |part| walk(part, &mut found));
    found
}

fn walk(part: RulePart, found: &mut BTreeSet<String>) {
    use RulePart::*;
    found.extend(match part {
        BindingSource(source) => of_source(source),
        Bound(bound) => bound.param_kind.as_ref().map(|_| "parameters".into()),
        Expr(expr) => of_call(expr).map(Into::into),
        Rule(_) | Filter(_) | Constraints(_) | ResourceRule(_) | Selector(_) | ActionOverride(_)
        | Binding(_) | QuerySource(_) | Query(_) | Template(_) | Conditions(_) | Condition(_)
        | Expressions(_) | Variable(_) | Source(_) | AuditAnnotation(_) | Properties(_) | Message(_)
        | Check(_) | ForEach(_) | Overlay(_) | Overlays(_) | Shape(_) | MapShape(_) | Entry(_) | Leaf(_)
        | PodSecurity(_) | Change(_) | Merge(_) | Json(_) | PatchLoop(_) | MutationTarget(_)
        | Described(_) | GenerationLoop(_) | Place(_) | Claim(_) | OnDelete(_) | MessageProgram(_) => None,
    });
    part.parts(&mut |below| walk(below, found));
}

fn of_source(source: &BindingSource) -> Option<String> {
    Some(match source {
        BindingSource::ConfigMap { raw, .. } => {
            let namespace =
                text_under(raw, "namespace").map_or(String::new(), |namespace| format!("{namespace}/"));
            format!("ConfigMap {namespace}{}", text_under(raw, "name")?)
        }
        BindingSource::ApiCall { raw, .. } => {
            match text_under(raw, "urlPath").or_else(|| text_under(raw, "url")) {
                Some(path) => format!("API call {path}"),
                None => "an API call".into(),
            }
        }
        BindingSource::Global { name, .. } => format!("global context entry {name}"),
        BindingSource::Image { .. } => "image registries".into(),
        BindingSource::Variable { .. } | BindingSource::Given { .. } => return None,
    })
}

/// What a call reads besides its arguments.
fn of_call(expr: &Expr) -> Option<&'static str> {
    const LIBRARIES: [(&str, &str); 3] = [
        ("resource", "objects of the cluster"),
        ("http", "services"),
        ("globalContext", "global context entries"),
    ];
    let of_library = match expr.invoked() {
        Some((Operation::LookUp | Operation::ListObjects | Operation::Post, [receiver, ..])) => {
            let is_of = |name: &str| {
                holds(receiver, &|part: &Expr| part.of_root().is_some_and(|(key, _)| **key == *name))
            };
            LIBRARIES.iter().find(|(name, _)| is_of(name)).map(|(_, what)| *what)
        }
        _ => None,
    };
    of_library.or_else(|| expr.called()?.dependency.and_then(named))
}

fn named(dependency: Dependency) -> Option<&'static str> {
    Some(match dependency {
        Dependency::Clock => "the clock",
        Dependency::Chance => "chance",
        Dependency::Cluster => "objects of the cluster",
        Dependency::Services => "services",
        Dependency::Registry => "image registries",
        Dependency::Settings | Dependency::Receiver => return None,
    })
}

/// The first text under a key.
fn text_under<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    match value {
        Value::Map(map) => {
            let own = map.get(key).and_then(Value::as_str);
            own.or_else(|| map.iter().find_map(|(_, below)| text_under(below, key)))
        }
        Value::List(items) => items.iter().find_map(|item| text_under(item, key)),
        _ => None,
    }
}
