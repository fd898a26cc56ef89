//! Patterns → tests of the object.
//!
//! In: a shape, and the path it is about. Out: whether the object passes the pattern, and whether
//! it does not fail it, which includes that an anchor says that the pattern does not apply.
//! Semantics: `docs/semantics/patterns.md`, `engine::shape`.

use ephor_ir::pattern::Leaf;
use ephor_ir::shape::{Anchor, Entry, ListShape, MapShape, Shape};
use ephor_value::Value;
use ephor_value::wildcard::has_wildcard;

use super::scope::{MAX_DEPTH, Scope};
use super::term::Path;
use super::types::Ty;
use crate::cel::build::{
    all_safe as all, any_safe as any, binary, boolean, constant, constant_bool, empty_list, equals, index,
    name, not, over, text,
};
use crate::cel::print;
use crate::expressions::refusal::Result;
use crate::expressions::translate::variable_leaves::{has_variable, is_marked};
use crate::expressions::translate::{leaf, texts};
use ephor_cel::ast::Node;

/// What a pattern says.
#[derive(Clone, Debug)]
pub struct PatternOutcome {
    /// The object looks like it.
    pub pass: Node,
    /// It does, or the pattern does not apply.
    pub ok: Node,
    /// Whether there is a difference.
    pub skips: bool,
}

impl PatternOutcome {
    fn plain(node: Node) -> PatternOutcome {
        PatternOutcome { pass: node.clone(), ok: node, skips: false }
    }
}

/// What a pattern says of the value of a path; `absent`: what it says when the path is missing.
///
/// # Errors
/// Position by position lists, and patterns that nest too deeply.
pub fn outcome(shape: &Shape, path: &Path, absent: bool, scope: &mut Scope<'_>) -> Result<PatternOutcome> {
    scope.depth += 1;
    if scope.depth > MAX_DEPTH {
        return Err(scope.refuse("a pattern that nests so deeply", "split it into several rules"));
    }
    let found = match shape {
        Shape::Leaf(leaf) => Ok(PatternOutcome::plain(of_leaf(leaf, path, absent))),
        Shape::Map(map) => of_map(map, path, absent, scope),
        Shape::List(list) => of_list(list, path, absent, scope),
    };
    scope.depth -= 1;
    found
}

/// A test of a value that may be missing.
fn guarded(path: &Path, absent: bool, test: Node) -> Node {
    let present = path.present();
    match (constant_bool(&test), absent) {
        (Some(b), _) if b == absent => boolean(absent),
        (Some(true), false) => present,
        (Some(false), true) => not(present),
        (_, true) => any(vec![not(present), test]),
        (_, false) => all(vec![present, test]),
    }
}

fn of_leaf(leaf: &Leaf, path: &Path, absent: bool) -> Node {
    if path.is_required() {
        return leaf::test(leaf, &path.strict(), &path.ty);
    }
    let strict = leaf::test(leaf, &path.strict(), &path.ty);
    let is_whole = leaf.source.as_str().is_some_and(is_marked);
    let is_variable = is_whole || path.ty != Ty::Text && leaf.source.as_str().is_some_and(has_variable);
    if is_whole && path.ty == Ty::Quantity {
        // What is missing is no amount, in an object that is there.
        let above = path.above();
        let test = leaf::test(leaf, &path.or(text("0")), &path.ty);
        return guarded(&above, absent, test);
    }
    if constant_bool(&strict).is_some() || matches!(path.ty, Ty::List(_)) || is_variable {
        return guarded(path, absent, strict);
    }
    // A guard that is a simple test is read more easily than an invented value.
    let is_shallow = path.steps.iter().filter(|step| !step.required).count() == 1
        && path.steps.last().is_some_and(|step| !step.required);
    let is_usual = |default: &Node| match &default.kind {
        ephor_cel::ast::Kind::Const(Value::Str(s)) => s.is_empty() || leaf.matches(&Value::Null) || absent,
        _ => true,
    };
    match leaf::example(leaf, &path.ty, absent).filter(|default| !is_shallow || is_usual(default)) {
        Some(default) => {
            let value = path.or(default);
            let test = leaf::test(leaf, &value, &path.ty);
            // A value that is read several times is not written several times.
            let written = print(&value, usize::MAX);
            if print(&test, usize::MAX).matches(&written).count() > 1 {
                return guarded(path, absent, strict);
            }
            test
        }
        None => guarded(path, absent, strict),
    }
}

/// Whether a pattern says "does not apply" somewhere.
fn has_conditions(shape: &Shape) -> bool {
    let in_map = |map: &MapShape| {
        map.entries
            .iter()
            .any(|e| matches!(e.anchor, Anchor::Condition | Anchor::Global) || has_conditions(&e.shape))
    };
    match shape {
        Shape::Leaf(_) => false,
        Shape::Map(map) => in_map(map),
        Shape::List(ListShape::Each(map, _)) => in_map(map),
        Shape::List(ListShape::Positions(shapes)) => shapes.iter().any(has_conditions),
        Shape::List(_) => false,
    }
}

/// What a plain key that is missing comes to.
fn missing(shape: &Shape) -> bool {
    match shape {
        Shape::Leaf(leaf) => leaf.source.as_str() != Some("*") && leaf.matches(&Value::Null),
        _ => false,
    }
}

/// What an entry says when its key is missing.
fn when_missing(entry: &Entry) -> bool {
    match entry.anchor {
        Anchor::Condition => false,
        Anchor::None | Anchor::AddIfAbsent => missing(&entry.shape),
        Anchor::Global | Anchor::Equality | Anchor::Existence | Anchor::Negation => true,
    }
}

fn of_map(map: &MapShape, path: &Path, absent: bool, scope: &mut Scope<'_>) -> Result<PatternOutcome> {
    let is_simple = !has_conditions(&Shape::Map(Box::new(map.clone())));
    // Without the object, each entry says what the whole says: their paths are guarded alone.
    let is_uniform = is_simple
        && !map.expand
        && !map.entries.is_empty()
        && map.entries.iter().all(|entry| when_missing(entry) == absent);
    let is_open = !path.is_required() && !is_uniform;
    let inner = if is_open { path.known() } else { path.clone() };
    let found = entries(map, &inner, absent, scope)?;
    if !is_open {
        return Ok(found);
    }
    let passing = guarded(path, absent, found.pass);
    let ok = if found.skips { guarded(path, absent, found.ok) } else { passing.clone() };
    Ok(PatternOutcome { pass: passing, ok, skips: found.skips })
}

fn entries(map: &MapShape, path: &Path, absent: bool, scope: &mut Scope<'_>) -> Result<PatternOutcome> {
    let (first, second) = map.entries.split_at(map.first.min(map.entries.len()));
    let mut conditions = Vec::new();
    let mut others: Vec<PatternOutcome> = Vec::new();
    let mut merged: Vec<usize> = Vec::new();
    if let Some((together, test)) = same_lists(map, path, scope)? {
        merged = together;
        others.push(PatternOutcome::plain(test));
    }
    for (i, entry) in first.iter().enumerate() {
        if merged.contains(&i) {
            continue;
        }
        let found = of_entry(entry, map, path, absent, scope)?;
        match entry.anchor {
            // What always holds is no condition.
            Anchor::Condition if constant_bool(&found.pass) == Some(true) => {
                others.push(PatternOutcome::plain(found.pass))
            }
            Anchor::Condition => conditions.push(found.pass),
            _ => others.push(found),
        }
    }
    let mut rest = Vec::new();
    for (i, entry) in second.iter().enumerate() {
        if !merged.contains(&(i + first.len())) {
            rest.push(of_entry(entry, map, path, absent, scope)?);
        }
    }
    let skips = !conditions.is_empty() || others.iter().chain(&rest).any(|o| o.skips);
    // Entries of the first group.
    let ok_first: Vec<Node> = others.iter().map(|o| o.ok.clone()).collect();
    let decides = conditions.is_empty() && others.iter().any(|o| o.skips);
    let applied = if decides { any(others.iter().map(|o| o.pass.clone()).collect()) } else { boolean(true) };
    // Entries of the second one: the first that does not pass says what the whole is.
    let second_pass = all(rest.iter().map(|o| o.pass.clone()).collect());
    let mut ok_second = boolean(true);
    for o in rest.iter().rev() {
        ok_second = match o.skips {
            false => all(vec![o.pass.clone(), ok_second]),
            true => all(vec![o.ok.clone(), any(vec![not(o.pass.clone()), ok_second])]),
        };
    }
    let met = all(conditions);
    let mut parts = vec![met.clone()];
    parts.extend(ok_first.iter().cloned());
    parts.extend([applied.clone(), second_pass]);
    let passing = all(parts);
    if !skips {
        return Ok(PatternOutcome::plain(passing));
    }
    let mut checked = ok_first;
    checked.push(any(vec![not(applied), ok_second]));
    Ok(PatternOutcome { pass: passing, ok: any(vec![not(met), all(checked)]), skips })
}

fn of_entry(
    entry: &Entry,
    map: &MapShape,
    path: &Path,
    absent: bool,
    scope: &mut Scope<'_>,
) -> Result<PatternOutcome> {
    if map.expand {
        return of_label(entry, path, absent, scope);
    }
    let below = path.key(&entry.key, &scope.cx.types);
    match entry.anchor {
        Anchor::Negation => Ok(PatternOutcome::plain(not(below.present()))),
        Anchor::Condition => outcome(&entry.shape, &below, false, scope),
        Anchor::Equality => outcome(&entry.shape, &below, true, scope),
        Anchor::Existence => existence(entry, &below, scope),
        Anchor::Global => {
            let found = outcome(&entry.shape, &below, true, scope)?;
            Ok(PatternOutcome { pass: found.pass, ok: boolean(true), skips: true })
        }
        Anchor::None | Anchor::AddIfAbsent => {
            if let Shape::Leaf(leaf) = &entry.shape
                && leaf.source.as_str() == Some("*")
            {
                return Ok(PatternOutcome::plain(below.present()));
            }
            outcome(&entry.shape, &below, missing(&entry.shape), scope)
        }
    }
}

/// Lists under the same object whose items must look alike become one: their numbers, and the test.
fn same_lists(map: &MapShape, path: &Path, scope: &mut Scope<'_>) -> Result<Option<(Vec<usize>, Node)>> {
    if map.expand {
        return Ok(None);
    }
    let types = scope.cx.types.clone();
    let mut lists: Vec<(usize, Path, String)> = Vec::new();
    let var = scope.item_name(Some("containers"));
    for (i, entry) in map.entries.iter().enumerate() {
        let below = path.key(&entry.key, &types);
        let is_anchor = match entry.anchor {
            Anchor::Equality => true,
            Anchor::None => below.is_required(),
            _ => false,
        };
        let Shape::List(ListShape::Each(item, _)) = &entry.shape else { continue };
        if !is_anchor || !matches!(below.ty, Ty::List(_)) || !entry.key.to_lowercase().ends_with("containers")
        {
            continue;
        }
        let one = Path::of(name(&var), below.ty.item());
        let found = scope.in_loop(&var, |scope| of_map(item, &one, false, scope))?;
        if !found.skips {
            lists.push((i, below, print(&found.ok, usize::MAX)));
        }
    }
    let Some(test) = lists
        .iter()
        .map(|(.., test)| test)
        .find(|test| lists.iter().filter(|(.., other)| other == *test).count() > 1)
    else {
        return Ok(None);
    };
    let test = test.clone();
    let mut alike: Vec<(usize, Path)> =
        lists.into_iter().filter(|(.., other)| *other == test).map(|(i, path, _)| (i, path)).collect();
    // Those that are always there come first, then as they are written in pods.
    alike.sort_by_key(|(_, path)| (!path.is_required(), reversed(path.last().unwrap_or_default())));
    let Some(Entry { shape, .. }) = alike.first().and_then(|(i, _)| map.entries.get(*i)) else {
        return Ok(None);
    };
    let paths: Vec<Path> = alike.iter().map(|(_, path)| path.clone()).collect();
    let (list, ty) = chained(&paths);
    let is_all = paths.iter().any(|p| p.last() == Some("containers"));
    let label = if is_all { "allContainers" } else { "otherContainers" };
    let list = if scope.loops.is_empty() { scope.share(label, list, false) } else { list };
    let mut joined = Path::of(list, ty);
    joined.faults = path.faults.clone();
    let found = of_items(shape, &joined, "containers", scope)?;
    Ok(Some((alike.iter().map(|(i, _)| *i).collect(), found.ok)))
}

/// `initContainers` before `ephemeralContainers`.
pub fn reversed(key: &str) -> std::cmp::Reverse<String> {
    std::cmp::Reverse(key.to_string())
}

/// Lists as one.
pub fn chained(paths: &[Path]) -> (Node, Ty) {
    let nodes = paths.iter().map(|path| path.or(empty_list()));
    let node = nodes.reduce(|before, own| binary("+", before, own)).unwrap_or_else(empty_list);
    let ty = paths.iter().map(|path| path.ty.clone()).reduce(Ty::common).unwrap_or(Ty::Any);
    (node, ty)
}

fn of_list(list: &ListShape, path: &Path, absent: bool, scope: &mut Scope<'_>) -> Result<PatternOutcome> {
    if let ListShape::Empty(_) = list {
        return Ok(PatternOutcome::plain(guarded(path, absent, boolean(false))));
    }
    let label = path.last().unwrap_or("items").to_string();
    if absent && path.is_nullable() {
        // Null is no list.
        let mut shown = path.clone();
        shown.steps.iter_mut().for_each(|step| step.nullable = false);
        let found = of_items(&Shape::List(list.clone()), &path.known(), &label, scope)?;
        let is_list = binary("!=", path.strict(), constant(Value::Null));
        let of = |test: Node| any(vec![not(shown.present()), all(vec![is_list.clone(), test])]);
        return Ok(PatternOutcome { pass: of(found.pass), ok: of(found.ok), skips: found.skips });
    }
    if absent && !path.is_required() {
        // Nothing of a list that is empty fails.
        let mut joined = path.clone();
        joined.base = path.or(empty_list());
        joined.steps.clear();
        return of_items(&Shape::List(list.clone()), &joined, &label, scope);
    }
    let found = of_items(&Shape::List(list.clone()), &path.known(), &label, scope)?;
    if path.is_required() {
        return Ok(found);
    }
    Ok(PatternOutcome {
        pass: guarded(path, absent, found.pass),
        ok: guarded(path, absent, found.ok),
        skips: found.skips,
    })
}

/// What a list pattern says of the items of a list that is there.
fn of_items(shape: &Shape, path: &Path, label: &str, scope: &mut Scope<'_>) -> Result<PatternOutcome> {
    let Shape::List(list) = shape else { return Ok(PatternOutcome::plain(boolean(false))) };
    let var = scope.item_name(Some(label));
    let item = Path::of(name(&var), path.ty.item());
    let source = path.strict();
    let found = scope.in_loop(&var, |scope| match list {
        ListShape::Each(map, _) => of_map(map, &item, false, scope),
        ListShape::Scalars(leaf, _) => Ok(PatternOutcome::plain(of_leaf(leaf, &item, false))),
        ListShape::Empty(_) => Ok(PatternOutcome::plain(boolean(false))),
        ListShape::Positions(_) => Err(scope.refuse(
            "a list pattern that is compared position by position",
            "write a condition for each position",
        )),
    })?;
    let every = |node: Node| match constant_bool(&node) {
        Some(true) => boolean(true),
        _ => over(source.clone(), "all", &var, node),
    };
    let ok = every(found.ok.clone());
    if !found.skips {
        return Ok(PatternOutcome::plain(ok));
    }
    let is_empty = equals(source.clone(), empty_list());
    let some = over(source.clone(), "exists", &var, found.pass);
    Ok(PatternOutcome { pass: all(vec![ok.clone(), any(vec![is_empty, some])]), ok, skips: true })
}

/// For each pattern of the list some item must match.
fn existence(entry: &Entry, path: &Path, scope: &mut Scope<'_>) -> Result<PatternOutcome> {
    let Shape::List(list) = &entry.shape else { return Ok(PatternOutcome::plain(not(path.present()))) };
    let source = path.or(empty_list());
    let mut tests = Vec::new();
    for pattern in list.existence() {
        let Some(map) = pattern else { return Ok(PatternOutcome::plain(not(path.present()))) };
        let var = scope.item_name(path.last());
        let item = Path::of(name(&var), path.ty.item());
        let found = scope.in_loop(&var, |scope| of_map(map, &item, false, scope))?;
        tests.push(over(source.clone(), "exists", &var, found.pass));
    }
    let found = all(tests);
    Ok(PatternOutcome::plain(if path.is_required() { found } else { any(vec![not(path.present()), found]) }))
}

/// A label or annotation whose key may hold wildcards: it stands for one of the keys that it
/// matches, whichever comes first. So that the order of keys decides nothing, each of them must
/// fit, and one is enough for a condition (`compare::Side::with_one_key`). Others than strings are
/// left out.
fn of_label(entry: &Entry, path: &Path, absent: bool, scope: &mut Scope<'_>) -> Result<PatternOutcome> {
    let Shape::Leaf(leaf) = &entry.shape else { return Ok(PatternOutcome::plain(boolean(true))) };
    if leaf.source.as_str().is_none() {
        return Ok(PatternOutcome::plain(boolean(true)));
    }
    if !has_wildcard(&entry.key) {
        let plain = MapShape { entries: Box::new([]), first: 0, expand: false, source: Value::Null };
        return of_entry(entry, &plain, path, absent, scope);
    }
    let map = path.strict();
    let key = scope.unused("key");
    let is_it = texts::matches(&name(&key), &entry.key);
    let fits = leaf::test(leaf, &index(map.clone(), name(&key)), &Ty::Text);
    let some = |test: Node| over(map.clone(), "exists", &key, all(vec![is_it.clone(), test]));
    let each = || match constant_bool(&fits) {
        Some(true) => boolean(true),
        _ => over(map.clone(), "all", &key, any(vec![not(is_it.clone()), fits.clone()])),
    };
    let test = match entry.anchor {
        Anchor::Negation => not(some(boolean(true))),
        Anchor::Condition => match constant_bool(&fits) {
            Some(false) => boolean(false),
            _ => some(fits),
        },
        Anchor::None | Anchor::AddIfAbsent if leaf.source.as_str() == Some("*") => some(boolean(true)),
        Anchor::None | Anchor::AddIfAbsent => match missing(&entry.shape) {
            false => all(vec![some(boolean(true)), each()]),
            true => each(),
        },
        Anchor::Equality | Anchor::Global | Anchor::Existence => each(),
    };
    Ok(match entry.anchor {
        Anchor::Global => PatternOutcome { pass: test, ok: boolean(true), skips: true },
        _ => PatternOutcome::plain(test),
    })
}
