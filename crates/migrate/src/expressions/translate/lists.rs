//! Lists: statements about their items, how many there are, and the list itself.
//!
//! In: a list as a value. Out: `exists`, `all`, `size`, or the list as an expression. Loops over
//! loops become one test inside the other; a list is built only where it is needed as one.

use ephor_value::Value;

use crate::cel::build::{
    all, any, binary, boolean, choose, constant_bool, empty_list, empty_object, getter, int, list, method,
    name, not, or_value, over, size,
};
use crate::expressions::pattern::{chained, reversed};
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::shared::mapped;
use crate::expressions::term::{Faults, Loop, Path, Test, Val, all_together, outside, some, value_in};
use crate::expressions::translate::forms::{literal, plain, present, truthy, ty_of};
use crate::expressions::translate::membership::may_be_wild;
use crate::expressions::types::Ty;
use ephor_cel::ast::{Kind, Node};

/// Some item, or every one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// Some item.
    Some,
    /// Every item.
    Every,
}

impl Quantifier {
    fn macro_name(self) -> &'static str {
        match self {
            Quantifier::Some => "exists",
            Quantifier::Every => "all",
        }
    }

    /// The value for no items.
    fn of_none(self) -> bool {
        self == Quantifier::Every
    }

    /// The test where a condition selects items.
    fn among(self, condition: Node, test: Node) -> Node {
        match self {
            Quantifier::Some => all(vec![condition, test]),
            Quantifier::Every => any(vec![not(condition), test]),
        }
    }
}

/// The test of an item.
pub type ItemTest<'a, 'c> = &'a mut dyn FnMut(&Val, &mut Scope<'c>) -> Result<Test>;

/// Whether a value is a list, as far as is known.
pub fn is_list(val: &Val) -> bool {
    match val {
        Val::Const(v) => v.as_list().is_some(),
        Val::Loop(_) | Val::Chain(_) | Val::Tuple(_) | Val::Keys(..) => true,
        Val::Or(sides) => is_list(&sides[0]),
        other => matches!(ty_of(other), Ty::List(_)),
    }
}

/// A statement about the items of a list; one that is missing where that is no fault has none.
///
/// # Errors
/// The value is no list.
pub fn quantified<'c>(
    quantifier: Quantifier,
    val: &Val,
    scope: &mut Scope<'c>,
    per_item: ItemTest<'_, 'c>,
) -> Result<Test> {
    match val {
        Val::Const(Value::Null) => Ok(Test::constant(quantifier.of_none())),
        Val::Const(Value::List(items)) => {
            let values: Vec<Val> = items.iter().cloned().map(Val::Const).collect();
            unrolled(quantifier, &values, scope, per_item)
        }
        Val::Chain(parts) => match container_lists(parts, scope) {
            Some(joined) => quantified(quantifier, &joined, scope, per_item),
            None => {
                let mut tests = Vec::new();
                for part in parts {
                    tests.push(match is_list(part) {
                        true => quantified(quantifier, part, scope, per_item)?,
                        false => when_present(quantifier, part, scope, per_item)?,
                    });
                }
                Ok(joined_tests(quantifier, tests))
            }
        },
        // All of them are read before any is read.
        Val::Tuple(items) if items.len() > 1 && items.iter().any(is_failing) => {
            quantified(quantifier, &listed(items, scope)?, scope, per_item)
        }
        Val::Tuple(items) => unrolled(quantifier, items, scope, per_item),
        Val::Or(sides) => match &sides[1] {
            Val::Const(v) if v.is_empty() => {
                quantified(quantifier, &sides[0].clone().rescued(), scope, per_item)
            }
            // One of both, as it is built.
            other => {
                let is_there = |item: &Val| match item {
                    Val::Path(path) => path.is_required(),
                    Val::Optional { .. } => false,
                    _ => true,
                };
                let is_whole = match other {
                    Val::Tuple(items) => items.iter().all(is_there),
                    other => is_list(other),
                };
                if !is_whole {
                    return Err(scope.refuse("a list with another list as its default", "use one list"));
                }
                let ty = Ty::List(Box::new(ty_of(&sides[0]).item()));
                let (node, faults) = built(val, scope)?;
                quantified(quantifier, &Val::Node { node, ty, faults }, scope, per_item)
            }
        },
        Val::Loop(own) => of_loop(quantifier, own, scope, per_item),
        Val::Path(_) | Val::Node { .. } | Val::Optional { .. } | Val::Keys(..) => {
            let (mut source, faults) = source(val);
            if let Val::Keys(path, _) = val {
                source = scope.opened(source, &path.ty);
            }
            let label = label_of(val);
            let var = scope.item_name(label.as_deref());
            let wild = may_be_wild(val, scope);
            let item = Val::Path(Path { wild, ..Path::of(name(&var), ty_of(val).item()) });
            let test = scope.in_loop(&var, |scope| per_item(&item, scope))?;
            let list = if let Val::Path(path) = val { Some(path) } else { None };
            Ok(stated(quantifier, list, (source, faults), &var, test))
        }
        Val::Const(_) | Val::Record(_) | Val::Count(_) => {
            Err(scope.refuse("a loop over what is no list", "use a list"))
        }
    }
}

fn looped(quantifier: Quantifier, source: Node, var: &str, test: Node) -> Node {
    match (constant_bool(&test), quantifier) {
        (Some(b), _) if b == quantifier.of_none() => boolean(b),
        (Some(_), Quantifier::Some) => binary(">", size(source), int(0)),
        (Some(_), Quantifier::Every) => binary("==", size(source), int(0)),
        _ => match (quantifier, compared(&test, var)) {
            // Some item is the constant, or none is.
            (Quantifier::Some, Some(("_==_", constant))) => binary("in", constant, source),
            (Quantifier::Every, Some(("_!=_", constant))) => not(binary("in", constant, source)),
            _ => over(source, quantifier.macro_name(), var, test),
        },
    }
}

/// The operator and the constant that a test compares a name with.
fn compared<'t>(test: &'t Node, var: &str) -> Option<(&'t str, Node)> {
    let Kind::Call { function, target: None, args } = &test.kind else { return None };
    match &args[..] {
        [left, right] if left.as_ident().is_some_and(|name| **name == *var) => match &right.kind {
            Kind::Const(_) => Some((function, right.clone())),
            _ => None,
        },
        _ => None,
    }
}

fn joined_tests(quantifier: Quantifier, tests: Vec<Test>) -> Test {
    let faults = tests.iter().flat_map(|t| t.faults.iter().cloned()).collect();
    let nodes = tests.into_iter().map(|t| t.node).collect();
    let node = match quantifier {
        Quantifier::Some => any(nodes),
        Quantifier::Every => all(nodes),
    };
    Test { node, faults }
}

fn unrolled<'c>(
    quantifier: Quantifier,
    items: &[Val],
    scope: &mut Scope<'c>,
    per_item: ItemTest<'_, 'c>,
) -> Result<Test> {
    let mut tests = Vec::new();
    for item in items {
        tests.push(match is_failing(item) {
            true => per_item(item, scope)?,
            false => when_present(quantifier, item, scope, per_item)?,
        });
    }
    Ok(joined_tests(quantifier, tests))
}

/// Whether a variable of a list fails where it is missing: what is written as `["{{ a.b }}"]`, not
/// as `[a.b]` in a query.
fn is_failing(item: &Val) -> bool {
    matches!(item, Val::Path(path) if path.fails && !path.is_required() && !path.is_nullable())
}

/// The list of values that are there, or fail.
fn listed(items: &[Val], scope: &mut Scope<'_>) -> Result<Val> {
    let (node, faults) = self::items(items, scope)?;
    let ty = ty_of(&Val::Tuple(items.to_vec()));
    Ok(Val::Node { node, ty, faults })
}

/// A statement about a value that counts only when it is there.
fn when_present<'c>(
    quantifier: Quantifier,
    item: &Val,
    scope: &mut Scope<'c>,
    per_item: ItemTest<'_, 'c>,
) -> Result<Test> {
    let there = present(item, scope)?;
    let known = known(item);
    let test = per_item(&known, scope)?;
    if constant_bool(&there.node) == Some(true) {
        return Ok(test);
    }
    // A test that a missing value does not pass needs no other.
    if quantifier == Quantifier::Some && constant_bool(&test.node) == Some(true) {
        return Ok(there);
    }
    let faults = there.faults.into_iter().chain(test.faults).collect();
    Ok(Test { node: quantifier.among(there.node, test.node), faults })
}

/// A value that is known to be there.
pub fn known(val: &Val) -> Val {
    match val {
        Val::Path(path) => Val::Path(path.known()),
        Val::Optional { node, ty, faults, .. } => Val::Node {
            node: if faults.is_empty() { some(node) } else { value_in(node) },
            ty: ty.clone(),
            faults: faults.clone(),
        },
        other => other.clone(),
    }
}

fn of_loop<'c>(
    quantifier: Quantifier,
    own: &Loop,
    scope: &mut Scope<'c>,
    per_item: ItemTest<'_, 'c>,
) -> Result<Test> {
    if matches!(&own.source, Val::Loop(_) | Val::Or(_)) && !own.values {
        // A loop over a loop is a loop inside of a loop.
        return quantified(quantifier, &own.source, scope, &mut |item, scope| {
            let (node, _) = plain(&known(item), scope)?;
            let keep = own
                .keep
                .as_ref()
                .map(|keep| Test { node: renamed(&keep.node, &own.var, &node), faults: keep.faults.clone() });
            let body = substituted(&own.body, &own.var, &node);
            of_item(quantifier, own.flat, keep.as_ref(), &body, scope, per_item)
        });
    }
    let (source, faults) = source_of(own, scope)?;
    let test = scope.in_loop(&own.var, |scope| {
        of_item(quantifier, own.flat, own.keep.as_ref(), &own.body, scope, per_item)
    })?;
    let list = match &own.source {
        Val::Path(path) if !own.values => Some(path),
        _ => None,
    };
    Ok(stated(quantifier, list, (source, faults), &own.var, test))
}

/// A statement about the items of a list; of one that may be null, where it is there.
fn stated(
    quantifier: Quantifier,
    list: Option<&Path>,
    (source, faults): (Node, Faults),
    var: &str,
    test: Test,
) -> Test {
    let inner = outside(test.faults, var);
    match list.filter(|path| path.is_nullable() && !path.fails) {
        Some(path) => {
            let node = looped(quantifier, path.strict(), var, test.node);
            let faults = path.faults.iter().cloned().chain(inner).collect();
            Test { node: quantifier.among(path.present(), node), faults }
        }
        None => {
            let faults = faults.into_iter().chain(inner).collect();
            Test { node: looped(quantifier, source, var, test.node), faults }
        }
    }
}

/// A statement about the value that stands for an item.
fn of_item<'c>(
    quantifier: Quantifier,
    is_flat: bool,
    keep: Option<&Test>,
    body: &Val,
    scope: &mut Scope<'c>,
    per_item: ItemTest<'_, 'c>,
) -> Result<Test> {
    let inner = match is_flat {
        true => quantified(quantifier, &body.clone().rescued(), scope, per_item)?,
        false => when_present(quantifier, body, scope, per_item)?,
    };
    Ok(match keep {
        None => inner,
        Some(keep) => Test {
            node: quantifier.among(keep.node.clone(), inner.node),
            faults: keep.faults.iter().cloned().chain(inner.faults).collect(),
        },
    })
}

/// A tree with an expression in the place of a name.
pub fn renamed(node: &Node, var: &str, by: &Node) -> Node {
    mapped(node, &|node| match &node.kind {
        Kind::Ident(name) if **name == *var => Some(by.clone()),
        // A loop with a variable of this name has another one.
        Kind::Call { function, target: Some(target), args }
            if args.len() > 1 && args.first().and_then(Node::as_ident).is_some_and(|n| **n == *var) =>
        {
            Some(method(renamed(target, var, by), function, args.clone()))
        }
        _ => None,
    })
}

/// A value with an expression in the place of a name.
fn substituted(val: &Val, var: &str, by: &Node) -> Val {
    let of = |node: &Node| renamed(node, var, by);
    match val {
        Val::Const(_) => val.clone(),
        Val::Path(path) => Val::Path(Path { base: of(&path.base), ..path.clone() }),
        Val::Keys(path, missing) => Val::Keys(Path { base: of(&path.base), ..path.clone() }, *missing),
        Val::Node { node, ty, faults } => {
            Val::Node { node: of(node), ty: ty.clone(), faults: faults.clone() }
        }
        Val::Optional { node, ty, faults, rescued } => Val::Optional {
            node: of(node),
            ty: ty.clone(),
            faults: faults.clone(),
            rescued: rescued.as_ref().map(|(node, faults)| (of(node), faults.clone())),
        },
        Val::Count(inner) => Val::Count(Box::new(substituted(inner, var, by))),
        Val::Loop(own) => Val::Loop(Box::new(Loop {
            source: substituted(&own.source, var, by),
            keep: own.keep.as_ref().map(|k| Test { node: of(&k.node), faults: k.faults.clone() }),
            body: substituted(&own.body, var, by),
            ..(**own).clone()
        })),
        Val::Chain(parts) => Val::Chain(parts.iter().map(|p| substituted(p, var, by)).collect()),
        Val::Tuple(parts) => Val::Tuple(parts.iter().map(|p| substituted(p, var, by)).collect()),
        Val::Record(pairs) => {
            Val::Record(pairs.iter().map(|(k, v)| (k.clone(), substituted(v, var, by))).collect())
        }
        Val::Or(sides) => {
            let [left, right] = &**sides;
            Val::Or(Box::new([substituted(left, var, by), substituted(right, var, by)]))
        }
    }
}

/// The expression of a loop's source.
fn source_of(own: &Loop, scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    match &own.source {
        Val::Loop(_) | Val::Chain(_) | Val::Tuple(_) | Val::Or(_) => built(&own.source, scope),
        other if own.values => {
            // The keys of an object; its values are read by them.
            Ok(read_or(other, empty_object))
        }
        other => Ok(source(other)),
    }
}

/// The expression of a value as it is read, empty where it is missing and that is no fault.
fn read_or(val: &Val, empty: fn() -> Node) -> (Node, Faults) {
    match val {
        Val::Path(path) | Val::Keys(path, _) if path.fails || path.is_required() => {
            (path.strict(), path.missing())
        }
        Val::Path(path) | Val::Keys(path, _) => (path.or(empty()), path.faults.clone()),
        Val::Optional { node, faults, .. } => (or_value(node.clone(), empty()), faults.clone()),
        Val::Node { node, faults, .. } => (node.clone(), faults.clone()),
        _ => (empty(), Faults::new()),
    }
}

/// The expression of a list as it is read.
pub fn source(val: &Val) -> (Node, Faults) {
    match val {
        Val::Const(v) => (literal(v), Faults::new()),
        Val::Keys(..) => read_or(val, empty_object),
        val => read_or(val, empty_list),
    }
}

/// What the items of a list are called by.
pub fn label_of(val: &Val) -> Option<String> {
    match val {
        Val::Path(path) => path.last().map(String::from).or_else(|| match &path.base.kind {
            Kind::Select { field, .. } => Some(field.to_string()),
            _ => None,
        }),
        Val::Node { node, .. } | Val::Optional { node, .. } => match &node.kind {
            Kind::Select { field, .. } => Some(field.to_string()),
            _ => None,
        },
        Val::Keys(..) => Some("keys".into()),
        Val::Chain(parts) | Val::Tuple(parts) => {
            let labels: Vec<String> = parts.iter().filter_map(label_of).collect();
            labels.iter().find(|l| **l == *"containers").or(labels.first()).cloned()
        }
        Val::Loop(own) => label_of(&own.body),
        Val::Or(sides) => label_of(&sides[0]),
        _ => None,
    }
}

/// The lists of a pod's containers as one; other lists stay apart.
fn container_lists(parts: &[Val], scope: &mut Scope<'_>) -> Option<Val> {
    let paths: Option<Vec<Path>> = parts
        .iter()
        .map(|part| match part {
            Val::Path(path) if matches!(path.ty, Ty::List(_)) => Some(Path { fails: false, ..path.clone() }),
            _ => None,
        })
        .collect();
    let mut paths = paths.filter(|paths| paths.len() > 1)?;
    let types_fit = paths.iter().all(|p| matches!(p.ty.item(), Ty::Object(_)));
    if !types_fit {
        return None;
    }
    if !scope.is_in_order() {
        paths.sort_by_key(|p| (!p.is_required(), reversed(p.last().unwrap_or_default())));
    }
    let is_containers = paths.iter().any(|p| p.last() == Some("containers"));
    let (node, ty) = chained(&paths);
    let node = match scope.loops.is_empty() {
        true => scope.share(if is_containers { "allContainers" } else { "items" }, node, false),
        false => node,
    };
    Some(Val::Node { node, ty, faults: Faults::new() })
}

/// A list as an expression.
pub fn built(val: &Val, scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    match val {
        Val::Or(sides) => match &sides[1] {
            Val::Const(v) if v.is_empty() => built(&sides[0].clone().rescued(), scope),
            right if is_list(right) => {
                let there = truthy(&sides[0], scope)?;
                let (own, mut faults) = built(&sides[0].clone().rescued(), scope)?;
                let (other, more) = built(right, scope)?;
                faults.extend(there.faults.into_iter().chain(more));
                Ok((choose(there.node, own, other), faults))
            }
            _ => Err(scope.refuse("a list with another default", "use a list")),
        },
        Val::Chain(parts) => {
            if let Some(joined) = container_lists(parts, scope) {
                return Ok(source(&joined));
            }
            let (parts, faults) = all_together(parts.iter().map(|part| match is_list(part) {
                true => built(&part.clone().rescued(), scope),
                false => items(std::slice::from_ref(part), scope),
            }))?;
            let sum = parts.into_iter().reduce(|before, own| binary("+", before, own));
            Ok((sum.unwrap_or_else(empty_list), faults))
        }
        Val::Tuple(parts) => items(parts, scope),
        Val::Loop(own) => {
            let (mut node, mut faults) = source_of(own, scope)?;
            let (keep, body, more) = scope.in_loop(&own.var, |scope| loop_parts(own, scope))?;
            faults.extend(outside(more, &own.var));
            if constant_bool(&keep) != Some(true) {
                node = over(node, "filter", &own.var, keep);
            }
            if body.as_ident() != Some(&own.var) {
                node = over(node, "map", &own.var, body);
            }
            if own.flat {
                node = getter(node, "flatten");
            }
            Ok((node, faults))
        }
        // The keys alone: an object is no list for functions of lists.
        Val::Keys(..) => {
            let (node, faults) = read_or(val, empty_object);
            Ok((over(node, "map", "key", name("key")), faults))
        }
        other => Ok(source(other)),
    }
}

/// Which items count, and what stands for one.
fn loop_parts(own: &Loop, scope: &mut Scope<'_>) -> Result<(Node, Node, Faults)> {
    let (mut keep, mut faults) = match &own.keep {
        None => (boolean(true), Faults::new()),
        Some(keep) => (keep.node.clone(), keep.faults.clone()),
    };
    if own.flat {
        let (body, more) = built(&own.body.clone().rescued(), scope)?;
        faults.extend(more);
        return Ok((keep, body, faults));
    }
    let there = present(&own.body, scope)?;
    faults.extend(there.faults);
    keep = all(vec![keep, there.node]);
    let (body, more) = plain(&known(&own.body), scope)?;
    faults.extend(more);
    Ok((keep, body, faults))
}

fn items(parts: &[Val], scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    let (nodes, faults) = all_together(parts.iter().map(|part| plain(part, scope)))?;
    Ok((list(nodes), faults))
}

/// How many items a list has.
pub fn count(val: &Val, scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    if let Val::Loop(own) = val
        && !own.flat
    {
        let (mut node, mut faults) = source_of(own, scope)?;
        let there = scope.in_loop(&own.var, |scope| present(&own.body, scope))?;
        faults.extend(outside(there.faults, &own.var));
        let mut keep = vec![there.node];
        if let Some(test) = &own.keep {
            keep.insert(0, test.node.clone());
            faults.extend(outside(test.faults.clone(), &own.var));
        }
        let keep = all(keep);
        if constant_bool(&keep) != Some(true) {
            node = over(node, "filter", &own.var, keep);
        }
        return Ok((size(node), faults));
    }
    if let Val::Keys(path, _) = val {
        let (node, faults) = read_or(val, empty_object);
        return Ok((size(scope.opened(node, &path.ty)), faults));
    }
    let (node, faults) = built(val, scope)?;
    Ok((size(node), faults))
}

/// A value that is known to be there, unless a missing one fails: then it is read as it stands.
pub fn known_unless_failing(val: &Val) -> Val {
    match val {
        Val::Path(path) if path.fails => val.clone(),
        other => known(other),
    }
}
