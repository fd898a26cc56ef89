//! Context entries → variables.
//!
//! In: a name that an expression reads. Out: the value of the entry of that name; what comes from
//! outside is read through Kyverno's libraries, once, under the entry's name. Semantics:
//! `docs/semantics/variables.md`, "Entries".

use std::sync::Arc;

use ephor_ir::Template;
use ephor_ir::rule::{Binding, BindingSource, QuerySource};
use ephor_value::wildcard::has_wildcard;
use ephor_value::{Map, Str, Value};

use crate::cel::build::{all, call, choose, getter, method, name, on, or_value, text};
use crate::cel::walk::children;
use crate::cel::{is_same, print};
use crate::expressions::refusal::Result;
use crate::expressions::scope::{MAX_DEPTH, Scope};
use crate::expressions::shared::as_name;
use crate::expressions::term::{ABSORBED, Faults, Loop, Path, Val, there};
use crate::expressions::translate::api_call::api_call;
use crate::expressions::translate::forms::{default_for, plain, ty_of};
use crate::expressions::translate::functions::arithmetic;
use crate::expressions::translate::template::{as_text, query, resolved_in, template};
use crate::expressions::types::Ty;
use ephor_cel::ast::{Kind, Node};

/// The value under a name.
pub fn named(key: &str, scope: &mut Scope<'_>) -> Result<Val> {
    if let Some(known) = scope.names.get(key) {
        return Ok(known.clone());
    }
    if key.is_empty() {
        // `""` is a name, which nothing has: people write it for an empty text.
        return Ok(Val::Const(Value::Null));
    }
    let all = scope.bindings.iter().enumerate();
    let Some((at, binding)) = all.rev().find(|(_, b)| *b.name == *key).map(|(at, b)| (at, b.clone())) else {
        return Err(scope.refuse(format!("the unknown name `{key}`"), "declare it in the context"));
    };
    scope.depth += 1;
    if scope.depth > MAX_DEPTH {
        return Err(scope.refuse("context entries that read each other", "break the cycle"));
    }
    // An entry reads those before it.
    let behind = scope.bindings.split_off(at);
    let found = scope.at(&binding.origin, |scope| of(&binding, scope));
    scope.bindings.extend(behind);
    scope.depth -= 1;
    let found = retained(key, found?, scope);
    scope.names.insert(key.into(), found.clone());
    Ok(found)
}

/// A document that is parsed under the name of its entry, where it is the same everywhere.
fn retained(key: &str, found: Val, scope: &mut Scope<'_>) -> Val {
    let base = match &found {
        Val::Node { node, .. } => node,
        Val::Path(path) => &path.base,
        _ => return found,
    };
    if scope.loops.iter().any(|var| base.mentions(var)) {
        return found;
    }
    match found {
        Val::Node { node, ty, faults } if is_parsed(&node) => {
            Val::Node { node: scope.share(&as_name(key), node, false), ty, faults }
        }
        Val::Path(path) if is_parsed(&path.base) => {
            Val::Path(Path { base: scope.share(&as_name(key), path.base.clone(), false), ..path })
        }
        other => other,
    }
}

/// Whether an expression reads a document out of a text.
fn is_parsed(node: &Node) -> bool {
    match &node.kind {
        Kind::Call { function, target: Some(_), .. } => {
            matches!(&**function, "unmarshal" | "parse" | "decode")
        }
        _ => false,
    }
}

fn of(binding: &Arc<Binding>, scope: &mut Scope<'_>) -> Result<Val> {
    match &binding.source {
        BindingSource::Variable { value, query, default, .. } => {
            let value = value.as_ref().map(|value| template(value, scope)).transpose()?;
            let found = match (query, value) {
                (None, Some(value)) => value,
                (None, None) => return Err(scope.refuse("a variable without a value", "give it one")),
                (Some(own), value) => queried(own, value, scope)?,
            };
            match default {
                None => Ok(found),
                Some(default) => {
                    let default = template(default, scope)?;
                    with_default(&found, &default, scope)
                }
            }
        }
        BindingSource::ConfigMap { name: own, namespace, .. } => {
            scope.needs_kyverno("a ConfigMap in the context")?;
            let own = constant_text(own, scope)?;
            let namespace = match constant_text(namespace, scope)? {
                Text { faults, is_empty: true, .. } => {
                    let default = scope.cx.namespace.as_deref().unwrap_or("default");
                    Text { node: text(default), faults, is_empty: false }
                }
                other => other,
            };
            let faults: Faults = own.faults.into_iter().chain(namespace.faults).collect();
            let args = arguments(text("v1"), text("configmaps"), namespace.node, Some(own.node), scope)?;
            let kind = ["".into(), "v1".into(), "ConfigMap".into()];
            // One that is missing fails the old rule, whatever defaults its keys have;
            // `resource.get` gives null, whose data cannot be read. Where a key has a default, one
            // without any data is looked for, too.
            let ty = Ty::of_kinds(&[kind], &scope.cx.types).with("data", Value::Map(Map::new()));
            let found = fetched(&binding.name, "resource", "get", args, ty, faults, scope);
            Ok(match found {
                Val::Path(path) => Val::Path(Path { guarded: true, ..path }),
                other => other,
            })
        }
        BindingSource::ApiCall { call, raw } => api_call(&binding.name, call, raw, scope),
        BindingSource::Global { name: own, query } => {
            scope.needs_kyverno("a global context entry")?;
            let (entry, projection) = match own.split_once('.') {
                Some((entry, projection)) => (entry, projection),
                None => (&**own, ""),
            };
            let args = vec![text(entry), text(projection)];
            let found = fetched(&binding.name, "globalContext", "get", args, Ty::Any, Faults::new(), scope);
            queried_if(query.as_ref(), found, scope)
        }
        BindingSource::Given { .. } => {
            Err(scope.refuse("an answer that is given", "name where it comes from"))
        }
        BindingSource::Image { reference, query, .. } => {
            scope.needs_kyverno("facts about an image")?;
            let reference = template(reference, scope)?;
            let (node, faults) = as_text(&reference, scope)?;
            let found = fetched(&binding.name, "image", "getMetadata", vec![node], Ty::Image, faults, scope);
            queried_if(query.as_ref(), found, scope)
        }
    }
}

/// What a call that reads objects is given: policies of a namespace read their own, and do not name
/// it.
///
/// # Errors
/// Another namespace is read.
pub fn arguments(
    api_version: Node,
    plural: Node,
    namespace: Node,
    last: Option<Node>,
    scope: &Scope<'_>,
) -> Result<Vec<Node>> {
    let mut out = vec![api_version, plural];
    match (&scope.cx.namespace, &namespace.kind) {
        (None, _) => out.push(namespace),
        (Some(own), ephor_cel::ast::Kind::Const(Value::Str(written))) if written != own => {
            return Err(scope.refuse("reading outside of the namespace of a policy", "write a ClusterPolicy"));
        }
        _ => {}
    }
    out.extend(last);
    Ok(out)
}

/// A text as an expression.
struct Text {
    node: Node,
    faults: Faults,
    is_empty: bool,
}

fn constant_text(own: &Template, scope: &mut Scope<'_>) -> Result<Text> {
    let found = template(own, scope)?;
    let is_empty = found.is_empty();
    let (node, faults) = as_text(&found, scope)?;
    Ok(Text { node, faults, is_empty })
}

/// What a call of a library gives.
pub fn fetched(
    own: &Str,
    library: &str,
    function: &str,
    args: Vec<Node>,
    ty: Ty,
    faults: Faults,
    scope: &mut Scope<'_>,
) -> Val {
    let found = method(name(library), function, args);
    // What is declared as a map has no fields for the checker.
    let found = if library == "resource" { call("dyn", vec![found]) } else { found };
    outside(own, found, ty, faults, scope)
}

/// Data of lookups, under a name of its own where no loop is around it.
pub fn outside(own: &Str, found: Node, ty: Ty, faults: Faults, scope: &mut Scope<'_>) -> Val {
    let is_inside = scope.loops.iter().any(|var| found.mentions(var));
    let base = if is_inside { found } else { scope.share(&as_name(own), found, true) };
    let mut faults = faults;
    // Whether it answers is not known.
    faults.insert(print(&base, usize::MAX));
    Val::Path(Path { faults, ..Path::of(base, ty) })
}

/// What a query finds in a value, or in the rule's data.
pub fn queried(own: &QuerySource, data: Option<Val>, scope: &mut Scope<'_>) -> Result<Val> {
    let ready;
    let own = match own {
        QuerySource::Ready(own) => own,
        QuerySource::Dynamic { text: Template::Rounds(rounds), names } if data.is_none() => {
            ready = ephor_lower::query::plain(&rounds.source, names);
            &ready
        }
        QuerySource::Dynamic { text, names } => {
            let source = match text {
                Template::Text(text) => &text.rounds.source,
                Template::Rounds(rounds) => &rounds.source,
                _ => return Err(scope.refuse("a query whose text is computed", "write the query")),
            };
            return resolved_in(source, names, data, scope);
        }
    };
    scope.about(data, |scope| query(own, scope))
}

fn queried_if(own: Option<&QuerySource>, found: Val, scope: &mut Scope<'_>) -> Result<Val> {
    match own {
        None => Ok(found),
        Some(own) => queried(own, Some(found), scope),
    }
}

/// A value, or the default where it is missing, null, or cannot be computed. Data of lookups that
/// do not exist are null, of which no field is there; what is computed of data that cannot be read
/// fails: no expression of CEL sees a failure.
fn with_default(found: &Val, default: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    let (own, ty, faults) = match found {
        Val::Const(Value::Null) => return Ok(default.clone()),
        Val::Path(path) if !path.is_required() || path.faults.iter().any(|own| !is_outside(own)) => {
            (None, path.ty.clone(), &path.faults)
        }
        Val::Optional { node, ty, faults, rescued: None } => (Some(node.clone()), ty.clone(), faults),
        Val::Optional { ty, rescued: Some((node, faults)), .. } => (Some(node.clone()), ty.clone(), faults),
        // A list that is missing is an empty one.
        Val::Loop(_) if is_constant(default, &Value::list(Vec::new())) => return Ok(or_empty(found)),
        Val::Count(list) if is_constant(default, &Value::Int(0)) => {
            return Ok(Val::Count(Box::new(or_empty(list))));
        }
        Val::Node { node, ty: Ty::Thousandths, faults } => {
            return arithmetic::with_default(node, faults, default, scope);
        }
        // The last of several that may be missing has the default.
        Val::Or(sides) => {
            let [left, right] = &**sides;
            let right = with_default(right, default, scope)?;
            return Ok(Val::Or(Box::new([left.clone(), right])));
        }
        Val::Node { .. } | Val::Loop(_) | Val::Count(_) => {
            let (node, faults) = plain(found, scope)?;
            if let Some(terms) = values_in(&node, &faults) {
                if ty_of(found) == Ty::Any && has_patterns(default) {
                    let nearest = "write whole texts: where a list is read, CEL looks for texts";
                    return Err(scope.refuse("a default with wildcards for a list that is read", nearest));
                }
                let (other, more) = default_for(&ty_of(found), default, scope)?;
                let ty = if ty_of(found) == Ty::Any { Ty::Any } else { ty_of(found).common(ty_of(default)) };
                let unanswered = faults.into_iter().filter(|path| is_answer(path));
                return Ok(Val::Node {
                    node: choose(all(terms), node, other),
                    ty,
                    faults: unanswered.chain(more).collect(),
                });
            }
            let Some(terms) = readable(&faults) else { return Ok(found.clone()) };
            let (other, more) = default_for(&ty_of(found), default, scope)?;
            let ty = ty_of(found).common(ty_of(default));
            return Ok(Val::Node { node: choose(all(terms), node, other), ty, faults: more });
        }
        other => return Ok(other.clone()),
    };
    let (other, more) = default_for(&ty, default, scope)?;
    let own = match (own, found) {
        (Some(node), _) => or_value(node, other.clone()),
        (None, Val::Path(path)) => {
            // The default covers what is missing on the way, too.
            let mut path = path.clone();
            if let (true, Some(first)) = (std::mem::take(&mut path.guarded), path.steps.first_mut()) {
                first.required = false;
            }
            match path.is_nullable() || path.is_required() {
                true => path.or(other.clone()),
                false => or_value(path.optional(), other.clone()),
            }
        }
        (None, _) => other.clone(),
    };
    let (unanswered, computed): (Faults, Faults) = faults.iter().cloned().partition(|path| is_outside(path));
    if !unanswered.is_empty() && !scope.unanswered.iter().any(|known| known.path == scope.place.path) {
        scope.unanswered.push(scope.place.clone());
    }
    let ty = if ty_of(default) == Ty::Any { ty } else { ty.common(ty_of(default)) };
    let (node, faults) = match readable(&computed) {
        Some(terms) => (choose(all(terms), own, other), unanswered.into_iter().chain(more).collect()),
        None => (own, faults.iter().cloned().chain(more).collect()),
    };
    Ok(Val::Node { node, ty, faults })
}

fn or_empty(list: &Val) -> Val {
    match list {
        Val::Or(_) => list.clone(),
        list => {
            let list = match list.clone().rescued() {
                Val::Loop(own) => Val::Loop(Box::new(Loop { source: own.source.rescued(), ..*own })),
                list => list,
            };
            Val::Or(Box::new([list, Val::Const(Value::list(Vec::new()))]))
        }
    }
}

fn is_constant(val: &Val, value: &Value) -> bool {
    match val {
        Val::Const(own) => own == value,
        Val::Tuple(items) => items.is_empty() && value.as_list().is_some_and(<[Value]>::is_empty),
        _ => false,
    }
}

/// Whether a fault is external data that may not answer, or a field of them.
fn is_answer(path: &str) -> bool {
    let is_word = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    path.strip_prefix("variables.").is_some_and(|rest| rest.split('.').all(is_word))
}

/// The tests that say whether the optionals are there whose values an expression reads; none where
/// it fails for something else than these, and for external data that do not answer.
fn values_in(node: &Node, faults: &Faults) -> Option<Vec<Node>> {
    let mut read: Vec<Node> = Vec::new();
    values_read(node, &mut read);
    let is_one = |path: &String| read.iter().any(|one| print(one, usize::MAX) == **path);
    let is_known = |path: &String| **path == *ABSORBED || is_answer(path) || is_one(path);
    (!read.is_empty() && faults.iter().all(is_known))
        .then(|| read.iter().map(|one| getter(one.clone(), "hasValue")).collect())
}

/// Whether some text of a value is a pattern.
fn has_patterns(val: &Val) -> bool {
    match val {
        Val::Const(Value::Str(text)) => has_wildcard(text),
        Val::Const(Value::List(items)) => items.iter().filter_map(Value::as_str).any(has_wildcard),
        Val::Tuple(items) => items.iter().any(has_patterns),
        _ => false,
    }
}

/// The optionals whose values are read.
fn values_read(node: &Node, found: &mut Vec<Node>) {
    if let Some((target, [])) = on(node, "value")
        && !found.iter().any(|known| is_same(known, target))
    {
        found.push(target.clone());
    }
    children(node, &mut |child| values_read(child, found));
}

/// Whether what may fail is external data, or computed of them.
fn is_outside(path: &str) -> bool {
    path.starts_with("variables.") || path.contains('(')
}

/// The tests that say whether what an expression fails for is there; none without faults, and where
/// these are external data, without which what is computed of them fails.
fn readable(faults: &Faults) -> Option<Vec<Node>> {
    if faults.is_empty() || faults.iter().any(|path| is_outside(path)) {
        return None;
    }
    there(faults)
}
