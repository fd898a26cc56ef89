//! Lists of the object that an expression walks item by item.
//!
//! In: an expression. Out: [`Range`]: the expression is the items of these lists, one list after
//! the other, each item as it is, left out or replaced by what is computed of it alone. So what it
//! gives for a list is put together from what it gives for each item. Lists in the items of lists,
//! which are taken apart, are such lists, too.

use ephor_analysis::reads::Step;
use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::expr::Over;
use ephor_ir::expressions::Variable;
use ephor_ir::strict::{ComprehensionKind, Make, Step as Walked, Walk};
use ephor_ir::walk::children;
use ephor_value::{Str, Value};

use crate::model::limits::MAX_NODES;

/// The way from an object to a list: fields, and the items of lists between them.
pub(crate) type List = Vec<Step>;

/// The items of some lists of the object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Range {
    /// The lists.
    pub lists: Vec<List>,
    /// The lists in whose items those are.
    pub outer: Vec<List>,
    /// Whether they are the items as they are, so that walking them cannot fail.
    pub is_plain: bool,
}

impl Range {
    /// All lists that are walked.
    pub fn all(&self) -> Vec<List> {
        self.lists.iter().chain(&self.outer).cloned().collect()
    }

    /// The items, as a value that may be any of them.
    pub fn item(&self) -> Vec<List> {
        self.lists.iter().map(|list| list.iter().cloned().chain([Step::Items]).collect()).collect()
    }
}

/// What an expression gives, as far as it matters here.
#[derive(Clone, Debug, PartialEq)]
enum AbstractResult {
    /// The data that expressions are run on.
    Root,
    /// A part of the object, at one of these places.
    At(Vec<List>),
    /// A list without items.
    Empty,
    /// Items of lists; with what is read of each, if it is a part of it.
    Items(Range, Option<Vec<Step>>),
    /// A list of lists.
    Lists(Range),
    Other,
}

/// What is known around an expression.
#[derive(Clone, Copy, Default)]
pub(crate) struct LoopScope<'a> {
    /// Variables of CEL.
    pub variables: &'a [Variable],
    /// What the value of the innermost binder may be, and `element` of `foreach`.
    pub item: &'a [List],
    /// Whether the object is the one that goes away.
    pub is_deletion: bool,
}

/// The lists that an expression walks; `None`: it is something else.
pub(crate) fn range(expr: &Expr, around: LoopScope<'_>) -> Option<Range> {
    let mut locals = match around.item {
        [] => Vec::new(),
        item => vec![AbstractResult::At(item.to_vec())],
    };
    let found = items(given(expr, &mut locals, around, 0))?;
    (!found.lists.is_empty()).then_some(found)
}

/// Whether an expression reads nothing but the values of this many binders around it.
pub(crate) fn is_local(expr: &Expr, binders: u32) -> bool {
    is_of_entry(expr, binders, &|_| false)
}

/// The same, or nothing but the value of the outermost of these binders in a map.
pub(crate) fn is_of_entry(expr: &Expr, binders: u32, is_map: &dyn Fn(&Expr) -> bool) -> bool {
    if let Expr::Walk(walk) = expr {
        let at = walk.steps.iter().position(|step| matches!(step, Walked::At { .. }));
        if let Some(Walked::At { index, .. }) = at.and_then(|at| walk.steps.get(at)) {
            let map = Walk {
                steps: walk.steps.iter().take(at.unwrap_or_default()).cloned().collect(),
                ..(**walk).clone()
            };
            let is_entry = matches!(index.unwrapped(), Expr::Local(n) if n + 1 == binders);
            let are_keys = |step: &Walked| matches!(step, Walked::Key { .. });
            let mut rest = walk.steps.iter().skip(at.unwrap_or_default() + 1);
            if is_entry && rest.all(are_keys) && is_map(&Expr::Walk(Box::new(map))) {
                return true;
            }
        }
    }
    match expr {
        Expr::Root | Expr::Variable(_) => false,
        Expr::Local(n) => *n < binders,
        expr => {
            let mut is = true;
            children(expr, &mut |e, child| is = is && is_of_entry(e, binders + child.binders, is_map));
            is
        }
    }
}

/// Whether an expression reads no value of a binder around it.
pub(crate) fn is_closed(expr: &Expr, binders: u32) -> bool {
    match expr {
        Expr::Local(n) => *n < binders,
        expr => {
            let mut is = true;
            children(expr, &mut |e, child| is = is && is_closed(e, binders + child.binders));
            is
        }
    }
}

fn items(given: AbstractResult) -> Option<Range> {
    match given {
        AbstractResult::At(lists) if lists.iter().all(|list| matches!(list.last(), Some(Step::Key(_)))) => {
            let outer = lists.iter().filter_map(|list| {
                let last = list.iter().rposition(|step| *step == Step::Items)?;
                list.get(..last).map(<[Step]>::to_vec)
            });
            let outer = outer.collect();
            Some(Range { lists, outer, is_plain: true })
        }
        AbstractResult::Empty => Some(Range { is_plain: true, ..Range::default() }),
        AbstractResult::Items(range, _) => Some(range),
        AbstractResult::Root | AbstractResult::At(_) | AbstractResult::Lists(_) | AbstractResult::Other => {
            None
        }
    }
}

fn together(all: impl Iterator<Item = AbstractResult>) -> Option<Range> {
    let mut found = Range { is_plain: true, ..Range::default() };
    for one in all {
        let one = items(one)?;
        found.is_plain &= one.is_plain;
        found.lists.extend(one.lists);
        found.outer.extend(one.outer);
    }
    Some(found)
}

/// A part of a value, by keys.
fn below(value: AbstractResult, keys: &[Str], around: LoopScope<'_>) -> AbstractResult {
    let step = |key: &Str| Step::Key(key.clone());
    let own = if around.is_deletion { "oldObject" } else { "object" };
    match value {
        AbstractResult::Root => match keys {
            [request, object, rest @ ..] if **request == *"request" && **object == *own => {
                AbstractResult::At(vec![rest.iter().map(step).collect()])
            }
            [object, rest @ ..] if **object == *own => {
                AbstractResult::At(vec![rest.iter().map(step).collect()])
            }
            [element, rest @ ..]
                if matches!(&**element, "element" | "element0") && !around.item.is_empty() =>
            {
                below(AbstractResult::At(around.item.to_vec()), rest, around)
            }
            _ => AbstractResult::Other,
        },
        AbstractResult::At(mut places) => {
            places.iter_mut().for_each(|place| place.extend(keys.iter().map(step)));
            AbstractResult::At(places)
        }
        _ => AbstractResult::Other,
    }
}

/// The keys that an expression reads of the value of the innermost binder.
fn of_item(expr: &Expr) -> Option<Vec<Step>> {
    match expr {
        Expr::Local(0) => Some(Vec::new()),
        Expr::Rescue { expr, .. } => of_item(expr),
        Expr::Path { base, keys, .. } => {
            let mut steps = of_item(base)?;
            steps.extend(keys.iter().map(|key| Step::Key(key.clone())));
            Some(steps)
        }
        _ => None,
    }
}

fn given(
    expr: &Expr,
    locals: &mut Vec<AbstractResult>,
    around: LoopScope<'_>,
    depth: usize,
) -> AbstractResult {
    if depth > MAX_NODES {
        return AbstractResult::Other;
    }
    let bound = |value: &Expr, body: &Expr, locals: &mut Vec<AbstractResult>| {
        let value = given(value, locals, around, depth + 1);
        locals.push(value);
        let found = given(body, locals, around, depth + 1);
        locals.pop();
        found
    };
    // Each item stays, is left out or is replaced.
    let changed =
        |source: &Expr, keep: Option<&Expr>, body: Option<&Expr>, locals: &mut Vec<AbstractResult>| {
            let source = items(given(source, locals, around, depth + 1));
            let of_items = keep.into_iter().chain(body).all(|part| is_local(part, 1));
            match source.filter(|_| of_items) {
                Some(range) => {
                    let is_plain = range.is_plain && keep.is_none() && body.is_none();
                    let part = body.filter(|_| keep.is_none() && range.is_plain).and_then(of_item);
                    AbstractResult::Items(Range { is_plain, ..range }, part)
                }
                None => AbstractResult::Other,
            }
        };
    match expr {
        Expr::Root => AbstractResult::Root,
        Expr::Local(n) => {
            let at = locals.len().checked_sub(1 + *n as usize);
            at.and_then(|at| locals.get(at)).cloned().unwrap_or(AbstractResult::Other)
        }
        Expr::Const(Value::List(list)) if list.is_empty() => AbstractResult::Empty,
        Expr::Const(Value::Map(map)) if map.is_empty() => AbstractResult::Empty,
        // The names of the entries of a map, their values, or objects with both.
        Expr::Call { function, args }
            if matches!(function.operation, Operation::Keys | Operation::Entries | Operation::Values) =>
        {
            match &**args {
                [map, names @ ..] if names.iter().all(|name| matches!(name, Expr::Const(_))) => {
                    items(given(map, locals, around, depth + 1))
                        .filter(|range| range.is_plain && around.item.is_empty())
                        .map_or(AbstractResult::Other, |range| {
                            AbstractResult::Items(Range { is_plain: false, ..range }, None)
                        })
                }
                _ => AbstractResult::Other,
            }
        }
        Expr::Make(make) if matches!(&**make, Make::List(items, _) if items.is_empty()) => {
            AbstractResult::Empty
        }
        Expr::Path { base, keys, .. } => below(given(base, locals, around, depth + 1), keys, around),
        Expr::Walk(walk) => {
            let base = given(&walk.base, locals, around, depth + 1);
            let keys = walk.steps.iter().map(|step| match step {
                Walked::Key { key: Value::Str(key), .. } => Some(key.clone()),
                _ => None,
            });
            match keys.collect::<Option<Vec<Str>>>() {
                Some(keys) if keys.is_empty() => base,
                Some(keys) => below(base, &keys, around),
                None => AbstractResult::Other,
            }
        }
        Expr::Rescue { expr, .. } | Expr::Once { expr, .. } | Expr::Cells { body: expr, .. } => {
            given(expr, locals, around, depth + 1)
        }
        Expr::Or(sides) | Expr::OrElse { sides, .. } => {
            let left = given(&sides[0], locals, around, depth + 1);
            match given(&sides[1], locals, around, depth + 1) {
                AbstractResult::Empty => left,
                _ => AbstractResult::Other,
            }
        }
        Expr::UnlessNull(pair) => match given(&pair[0], locals, around, depth + 1) {
            AbstractResult::At(_) => given(&pair[1], locals, around, depth + 1),
            _ => AbstractResult::Other,
        },
        Expr::Let { value, body } => bound(value, body, locals),
        Expr::Bind(parts) => bound(&parts[0], &parts[1], locals),
        Expr::List(lists) => {
            let lists: Vec<AbstractResult> =
                lists.iter().map(|one| given(one, locals, around, depth + 1)).collect();
            together(lists.into_iter()).map_or(AbstractResult::Other, AbstractResult::Lists)
        }
        Expr::Flatten(inner) => match given(inner, locals, around, depth + 1) {
            AbstractResult::Lists(range) => AbstractResult::Items(range, None),
            // The lists that are a part of each item are walked one after the other.
            AbstractResult::Items(range, Some(part)) if !part.is_empty() => {
                let lists =
                    range.item().into_iter().map(|item| item.into_iter().chain(part.clone()).collect());
                let outer = range.all();
                AbstractResult::Items(Range { lists: lists.collect(), outer, is_plain: false }, None)
            }
            AbstractResult::Items(range, _) => {
                AbstractResult::Items(Range { is_plain: false, ..range }, None)
            }
            // Items that are no lists stay.
            at @ AbstractResult::At(_) => {
                items(at).map_or(AbstractResult::Other, |range| AbstractResult::Items(range, None))
            }
            other => other,
        },
        Expr::Project { over: Over::Items, source, keep, body } => {
            changed(source, keep.as_deref(), body.as_deref(), locals)
        }
        Expr::Comprehension(l) if l.kind == ComprehensionKind::List && !l.two => {
            changed(&l.range, l.keep.as_ref(), Some(&l.body), locals)
        }
        Expr::Invoke(call) => match (call.function.operation, &*call.args) {
            (Operation::Add, lists) => {
                let parts: Vec<AbstractResult> =
                    lists.iter().map(|one| given(one, locals, around, depth + 1)).collect();
                together(parts.into_iter())
                    .map_or(AbstractResult::Other, |range| AbstractResult::Items(range, None))
            }
            (Operation::Unchanged, [one]) => given(one, locals, around, depth + 1),
            _ => AbstractResult::Other,
        },
        Expr::Variable(n) => {
            Variable::at(around.variables, *n).map_or(AbstractResult::Other, |(program, variables)| {
                given(program, &mut Vec::new(), LoopScope { variables, item: &[], ..around }, depth + 1)
            })
        }
        _ => AbstractResult::Other,
    }
}
