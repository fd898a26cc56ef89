//! Values that languages compute alike of external data.
//!
//! In: an expression, or a condition, with requests for such data (`inputs::lookup`). Out: the
//! same, with a field of the answer in place of what is computed, or of an item of the answer. The
//! field may have any value. So the objects with answers that are evaluated (`objects::inputs`) are
//! more than there are: for each real answer there is one with the values that are computed of it,
//! and each side sees in it what it sees in the real one. What else is read of the answer goes with
//! any of these values, which can cost a proof, not make one. This holds where both languages
//! compute the same, or both fail (then the field is not there):
//!
//! - The sum of the sizes of the layers of an image: `sum(manifest.layers[*].size)`, and the same
//!   list with `map` and `sum`. A size is a number, a double in both languages, and both add them
//!   from the first to the last one. Both fail without layers.
//! - Whether an image is older, or younger, than a duration: `time_since('', created, '')` compared
//!   with it, and `time.now()` without the time. Both read the time as RFC 3339, and fail where it
//!   is none; one that is not there fails in a variable, and is the year 1 in an expression. A time
//!   that is more than 292 years ago is 292 years ago for the function, and an error in CEL: a
//!   value of its own. That none is so far in the future is assumed. Both read the clock,
//!   at moments that are taken to be the same.
//! - Whether an object has the labels that an item of a list of objects wants:
//!   `label_match(item's, object's)`, and `all` of the item's of which the object has each with its
//!   value. Both are maps of texts by the schemas of their kinds. Both fail where the item has
//!   none; where the object has none the variable fails before, and CEL fails or, of no labels,
//!   holds.
//! - Whether an item of a list of objects is the object of the request: namespace and name as a
//!   list, equal or not. All objects have both.
//! - Whether a text is a list, and whether a value is one of its items (`inputs::json_lists`).

use std::collections::BTreeSet;

use ephor_analysis::reads;
use ephor_functions::registry::Operation;
use ephor_ir::condition::{Operator, Ordering};
use ephor_ir::expr::{Cmp, Faults, Missing};
use ephor_ir::rule::hole_of;
use ephor_ir::strict::{ComprehensionKind, Make, Step, Walk};
use ephor_ir::template::{Hole, Query, Rounds};
use ephor_ir::walk::{holds, map_children};
use ephor_ir::{Condition, Expr, Template};
use ephor_kubernetes::schema::{Leaf, Type};
use ephor_kubernetes::{Kinds, Types};
use ephor_lower::LATE;
use ephor_value::variables::{expression, find_all_variables};
use ephor_value::{Str, Value, duration};

use crate::inputs::context_entries::INPUTS;
use crate::inputs::lookup::plain;
use crate::model::environment::Environment;
use crate::model::field_types::type_at;

/// What the names of these fields begin with.
const COMPUTED: &str = "ephor.dev/computed|";

/// The sum of the sizes of the layers of an image.
const SIZES: &str = "ephor.dev/computed|sizes of layers";

/// Whether an item is the object of the request.
const IS_OBJECT: &str = "ephor.dev/computed|is the object";

/// What begins the name of the field of an age, and of labels.
const AGE: &str = "ephor.dev/computed|age|";
const LABELS: &str = "ephor.dev/computed|labels|";

/// What begins the names of fields that say whether a text is a list, and whether a value is one of
/// its items.
pub(crate) const LISTED: &str = "ephor.dev/computed|is a list|";
pub(crate) const MEMBER: &str = "ephor.dev/computed|is a member|";

/// Longer ago than a duration can be.
const PAST: &str = "past";

/// What is assumed where ages are computed: the same as of other durations.
pub(crate) const NOT_IN_FUTURE: &str = "durations fit into 64 bits";

/// The values of a computed field.
pub(crate) enum DerivedValues {
    /// A number.
    Number,
    /// One of these; `optional`: or it is not there.
    OneOf(Vec<Value>, bool),
}

/// The values of a field; `None`: it is no computed one.
pub(crate) fn computed(key: &str) -> Option<DerivedValues> {
    let truths = || [false, true].map(Value::Bool);
    if !key.starts_with(COMPUTED) {
        return None;
    }
    Some(match key {
        SIZES => DerivedValues::Number,
        IS_OBJECT => DerivedValues::OneOf(truths().into(), false),
        _ if key.starts_with(LISTED) || key.starts_with(MEMBER) => {
            DerivedValues::OneOf(truths().into(), false)
        }
        _ if key.starts_with(AGE) => {
            DerivedValues::OneOf(truths().into_iter().chain([Value::from(PAST)]).collect(), true)
        }
        _ => DerivedValues::OneOf(truths().into(), true),
    })
}

/// The objects that requests are about.
pub(crate) struct Objects {
    kinds: BTreeSet<[Str; 3]>,
    /// Whether each has a namespace.
    are_namespaced: bool,
}

impl Objects {
    /// Those of some environments.
    pub fn of(environments: &[Environment]) -> Objects {
        Objects {
            kinds: environments.iter().map(|one| one.object.clone()).collect(),
            are_namespaced: environments.iter().all(|one| one.resource.namespaced),
        }
    }

    /// The field that says whether an item has the labels at one place that the object has at
    /// another one.
    fn labels(&self, kind: &[Str; 3], of_item: &[Str], of_object: &[Str]) -> Option<Str> {
        let are_texts = is_map_of_texts(kind, of_item)
            && !self.kinds.is_empty()
            && self.kinds.iter().all(|kind| is_map_of_texts(kind, of_object));
        are_texts.then(|| format!("{LABELS}{of_item:?}|{of_object:?}").into())
    }

    /// The field that says whether an item is the object.
    fn is_object(&self, kind: &[Str; 3], of_item: &[Vec<Str>], of_object: &[Vec<Str>]) -> Option<Str> {
        let [group, version, name] = kind;
        let has_namespace = Kinds::built_in().kind(group, version, name).is_some_and(|kind| kind.namespaced);
        let are_names = [of_item, of_object].into_iter().all(|places| {
            matches!(places, [namespace, name] if is_place(namespace, "namespace") && is_place(name, "name"))
        });
        (has_namespace && self.are_namespaced && are_names).then(|| IS_OBJECT.into())
    }
}

fn is_place(keys: &[Str], of_metadata: &str) -> bool {
    matches!(keys, [metadata, key] if **metadata == *"metadata" && **key == *of_metadata)
}

/// Whether the schema of a kind has a map of texts at a place.
fn is_map_of_texts(kind: &[Str; 3], place: &[Str]) -> bool {
    let place: Vec<reads::Step> = place.iter().cloned().map(reads::Step::Key).collect();
    let ty = type_at(Types::built_in(), kind, &place);
    matches!(ty, Some(Type::Map(of, _)) if matches!(**of, Type::Leaf(Leaf::String)))
}

/// What is known around an expression of CEL.
pub(crate) struct Scope<'s> {
    /// The objects of requests.
    pub objects: &'s Objects,
    /// Of which kind the values of binders are, the innermost last: those that are items of a list
    /// of lookups.
    pub items: &'s [Option<[Str; 3]>],
    /// Whether an expression is what a registry says of an image.
    pub is_image: &'s dyn Fn(&Expr) -> bool,
}

impl Scope<'_> {
    fn item(&self, expr: &Expr) -> Option<&[Str; 3]> {
        let Expr::Local(n) = expr else { return None };
        let at = self.items.len().checked_sub(1 + *n as usize)?;
        self.items.get(at)?.as_ref()
    }

    fn of_image<'e>(&self, expr: &'e Expr, keys: [&str; 2]) -> Option<&'e Expr> {
        let (base, own, None) = walked(expr)? else { return None };
        (own.iter().map(|key| &**key).eq(keys) && (self.is_image)(base)).then_some(base)
    }
}

/// The base of a value and the keys that it is read by; with what a last step is computed of, and
/// whether it may be missing.
type Walked<'e> = (&'e Expr, Vec<Str>, Option<(&'e Expr, bool)>);

fn walked(expr: &Expr) -> Option<Walked<'_>> {
    match plain(expr) {
        Expr::Path { base, keys, .. } => match walked(base)? {
            (base, mut all, None) => {
                all.extend(keys.iter().cloned());
                Some((base, all, None))
            }
            _ => None,
        },
        Expr::Walk(walk) => {
            let (base, mut all, None) = walked(&walk.base)? else { return None };
            for (at, step) in walk.steps.iter().enumerate() {
                match step {
                    Step::Key { key: Value::Str(key), optional: false } => all.push(key.clone()),
                    Step::At { index, optional } if at + 1 == walk.steps.len() => {
                        return Some((base, all, Some((index, *optional))));
                    }
                    _ => return None,
                }
            }
            Some((base, all, None))
        }
        other => Some((other, Vec::new(), None)),
    }
}

/// The field of an object that an expression of CEL reads.
fn of_object(expr: &Expr) -> Option<Vec<Str>> {
    let (Expr::Root, keys, None) = walked(expr)? else { return None };
    keys.split_first()
        .filter(|(first, rest)| ***first == *"object" && !rest.is_empty())
        .map(|(_, rest)| rest.to_vec())
}

fn read(base: Expr, keys: [&str; 2]) -> Expr {
    let steps = keys.map(|key| Step::Key { key: Value::from(key), optional: false }).into();
    Expr::Walk(Box::new(Walk { base, steps, has_cost: true }))
}

fn compared(op: Cmp, value: Expr, with: Value) -> Expr {
    Expr::Compare { op, sides: Box::new([value, Expr::Const(with)]) }
}

/// An expression of CEL with a field in place of what is computed; `None`: it is nothing of that.
pub(crate) fn in_expression(expr: &Expr, scope: &Scope<'_>) -> Option<Expr> {
    match expr {
        Expr::Comprehension(_) => labels_in_expression(expr, scope),
        Expr::Invoke(call) => match (call.function.operation, &*call.args) {
            (Operation::Sum, [list]) => sizes_in_expression(list, scope),
            (Operation::Equal, [one, other]) => is_object_in_expression(one, other, Cmp::Eq, scope),
            (Operation::Unequal, [one, other]) => is_object_in_expression(one, other, Cmp::Ne, scope),
            (operation, [one, other]) => {
                let ordering = match operation {
                    Operation::Greater => Ordering::Gt,
                    Operation::GreaterOrEqual => Ordering::Ge,
                    Operation::Less => Ordering::Lt,
                    Operation::LessOrEqual => Ordering::Le,
                    _ => return None,
                };
                match (one.constant(), other.constant()) {
                    (None, Some(Value::Duration(than))) => age_in_expression(one, ordering, *than, scope),
                    (Some(Value::Duration(than)), None) => {
                        age_in_expression(other, ordering.flipped(), *than, scope)
                    }
                    _ => None,
                }
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether an expression of CEL reads the field of an age.
pub(crate) fn is_age(expr: &Expr) -> bool {
    let Expr::Let { value, .. } = expr else { return false };
    let Some((_, keys, None)) = walked(value) else { return false };
    keys.last().is_some_and(|key| key.starts_with(AGE))
}

fn age(ordering: Ordering, than: i64) -> String {
    format!("{AGE}{ordering:?}|{than}")
}

fn sizes_in_expression(list: &Expr, scope: &Scope<'_>) -> Option<Expr> {
    let Expr::Comprehension(sizes) = list else { return None };
    let Expr::Comprehension(own) = &sizes.range else { return None };
    let are_lists = [sizes, own].into_iter().all(|one| one.kind == ComprehensionKind::List && !one.two);
    let (Some(Expr::Test(has)), None) = (&own.keep, &sizes.keep) else { return None };
    let is_own = |expr: &Expr, keys: &[&str]| match walked(expr) {
        Some((Expr::Local(0), own, None)) => own.iter().map(|key| &**key).eq(keys.iter().copied()),
        _ => false,
    };
    let is_it = are_lists
        && *has.key == *"size"
        && has.walk.steps.is_empty()
        && is_own(&has.walk.base, &[])
        && is_own(&own.body, &[])
        && is_own(&sizes.body, &["size"]);
    let base = scope.of_image(&own.range, ["manifest", "layers"]).filter(|_| is_it)?;
    Some(read(base.clone(), ["manifest", SIZES]))
}

fn age_in_expression(age_of: &Expr, ordering: Ordering, than: i64, scope: &Scope<'_>) -> Option<Expr> {
    let (Operation::Subtract, [now, time]) = plain(age_of).invoked()? else { return None };
    let ((Operation::Now, []), (Operation::Timestamp, [text])) =
        (plain(now).invoked()?, plain(time).invoked()?)
    else {
        return None;
    };
    let text = match plain(text).invoked() {
        Some((Operation::ToText, [text])) => text,
        _ => text,
    };
    let base = scope.of_image(text, ["config", "created"])?;
    let value = read(base.clone(), ["config", &age(ordering, than)]);
    let is_past = compared(Cmp::Eq, Expr::Local(0), Value::from(PAST));
    let body = Expr::Cond(Box::new([is_past, Expr::fail("duration overflow"), Expr::Local(0)]));
    Some(Expr::Let { value: Box::new(value), body: Box::new(body) })
}

fn labels_in_expression(expr: &Expr, scope: &Scope<'_>) -> Option<Expr> {
    let Expr::Comprehension(all) = expr else { return None };
    (all.kind == ComprehensionKind::All && !all.two && all.keep.is_none()).then_some(())?;
    let (item @ Expr::Local(n), of_item, None) = walked(&all.range)? else { return None };
    let kind = scope.item(item)?;
    let (Operation::Equal, [one, other]) = plain(&all.body).invoked()? else { return None };
    let is_key = |index: &Expr| matches!(plain(index), Expr::Local(0));
    let pair = |object: &Expr, wanted: &Expr| {
        let (Expr::Root, keys, Some((index, true))) = walked(object)? else { return None };
        let (first, of_object) = keys.split_first()?;
        let (Operation::OptionalOf, [wanted]) = plain(wanted).invoked()? else { return None };
        let (Expr::Local(own), own_keys, Some((own_index, false))) = walked(wanted)? else { return None };
        let is_it = is_key(index) && is_key(own_index) && *own == n + 1 && own_keys == of_item;
        (is_it && **first == *"object").then(|| of_object.to_vec())
    };
    let of_object = pair(one, other).or_else(|| pair(other, one))?;
    let key = scope.objects.labels(kind, &of_item, &of_object)?;
    Some(read(item.clone(), [INPUTS, &key]))
}

fn is_object_in_expression(one: &Expr, other: &Expr, op: Cmp, scope: &Scope<'_>) -> Option<Expr> {
    let parts = |expr: &Expr| match plain(expr) {
        Expr::Make(make) => match &**make {
            Make::List(items, optional) if optional.is_empty() => Some(items.to_vec()),
            _ => None,
        },
        _ => None,
    };
    let (one, other) = (parts(one)?, parts(other)?);
    let pair = |items: &[Expr], objects: &[Expr]| {
        let (Expr::Local(n), ..) = walked(items.first()?)? else { return None };
        let of_item = items.iter().map(|part| match walked(part)? {
            (Expr::Local(own), keys, None) if own == n => Some(keys),
            _ => None,
        });
        let of_item: Vec<Vec<Str>> = of_item.collect::<Option<_>>()?;
        let of_object: Vec<Vec<Str>> = objects.iter().map(of_object).collect::<Option<_>>()?;
        let key = scope.objects.is_object(scope.item(&Expr::Local(*n))?, &of_item, &of_object)?;
        Some(compared(op, read(Expr::Local(*n), [INPUTS, &key]), Value::Bool(true)))
    };
    pair(&one, &other).or_else(|| pair(&other, &one))
}

/// The base of a value that JMESPath reads by keys, and these.
fn path_of(expr: &Expr) -> (&Expr, Vec<Str>) {
    match expr {
        Expr::Rescue { expr, .. } => path_of(expr),
        Expr::Path { base, keys, .. } => {
            let (base, mut all) = path_of(base);
            all.extend(keys.iter().cloned());
            (base, all)
        }
        other => (other, Vec::new()),
    }
}

fn is_path(expr: &Expr, base: &Expr, keys: &[&str]) -> bool {
    let (own, all) = path_of(expr);
    own == base && all.iter().map(|key| &**key).eq(keys.iter().copied())
}

/// The value at the end of a path; without one it fails.
fn required(base: Expr, keys: &[&str]) -> Expr {
    let keys = keys.iter().map(|key| Str::from(*key)).collect();
    let value = Expr::Path { base: Box::new(base), keys, scalar: Missing::Null };
    let is_missing = compared(Cmp::Eq, Expr::Local(0), Value::Null);
    Expr::Let {
        value: Box::new(Expr::rescue(value, Faults::AllAsNull)),
        body: Box::new(Expr::Cond(Box::new([
            is_missing,
            Expr::fail("nothing to compute it of"),
            Expr::Local(0),
        ]))),
    }
}

/// A query about an image with a field in place of what is computed.
pub(crate) fn in_query_of_image(expr: Expr) -> Expr {
    if let Some((Operation::Sum, [list])) = expr.applied()
        && are_sizes(list)
    {
        return required(Expr::Root, &["manifest", SIZES]);
    }
    map_children(expr, &mut |e, _| in_query_of_image(e))
}

fn are_sizes(list: &Expr) -> bool {
    let project = |expr: &Expr, base: &Expr, keys: &[&str]| match expr {
        Expr::Project { over: ephor_ir::expr::Over::Items, source, keep: None, body: Some(body) } => {
            is_path(source, base, keys) && is_path(body, &Expr::Local(0), &["size"])
        }
        _ => false,
    };
    match list {
        Expr::Rescue { expr, .. } => are_sizes(expr),
        Expr::Let { value, body } => {
            is_path(value, &Expr::Root, &["manifest"]) && project(body, &Expr::Local(0), &["layers"])
        }
        other => project(other, &Expr::Root, &["manifest", "layers"]),
    }
}

/// A query about a list of objects of a kind, in which texts stand for fields of the object
/// ([`hole_of`]), with fields in place of what is computed: it, and the fields of the object whose
/// absence is an error. `None`: not all of the texts are gone.
pub(crate) fn in_query_of_list(
    expr: &Expr,
    kind: &[Str; 3],
    holes: &[Vec<Str>],
    objects: &Objects,
) -> Option<(Expr, Vec<Vec<Str>>)> {
    let mut found = InList { kind, holes, objects, needed: Vec::new() };
    let expr = found.below(expr.clone());
    let is_hole = |e: &Expr| matches!(e, Expr::Const(Value::Str(text)) if hole_of(text).is_some());
    (!holds(&expr, &is_hole)).then_some((expr, found.needed))
}

struct InList<'l> {
    kind: &'l [Str; 3],
    holes: &'l [Vec<Str>],
    objects: &'l Objects,
    needed: Vec<Vec<Str>>,
}

impl InList<'_> {
    fn below(&mut self, expr: Expr) -> Expr {
        match expr {
            Expr::Project { over: ephor_ir::expr::Over::Items, source, keep: Some(keep), body }
                if is_path(&source, &Expr::Root, &["items"]) =>
            {
                let keep = Some(Box::new(self.of_item(*keep, 0)));
                Expr::Project { over: ephor_ir::expr::Over::Items, source, keep, body }
            }
            other => map_children(other, &mut |e, _| self.below(e)),
        }
    }

    fn hole(&self, expr: &Expr) -> Option<&Vec<Str>> {
        self.holes.get(hole_of(expr.constant()?.as_str()?)?)
    }

    /// The statement about an item, the value of a binder.
    fn of_item(&mut self, expr: Expr, item: u32) -> Expr {
        if let Some(found) = self.labels(&expr, item).or_else(|| self.is_object(&expr, item)) {
            return found;
        }
        map_children(expr, &mut |e, child| self.of_item(e, item + child.binders))
    }

    fn labels(&mut self, expr: &Expr, item: u32) -> Option<Expr> {
        let (Operation::LabelMatch, [wanted, labels]) = expr.applied()? else { return None };
        let (base, of_item) = path_of(wanted);
        let of_object = self.hole(labels)?.clone();
        let key =
            self.objects.labels(self.kind, &of_item, &of_object).filter(|_| *base == Expr::Local(item))?;
        self.needed.push(of_object);
        Some(required(Expr::Local(item), &[INPUTS, &key]))
    }

    fn is_object(&self, expr: &Expr, item: u32) -> Option<Expr> {
        let Expr::Compare { op: op @ (Cmp::Eq | Cmp::Ne), sides } = expr else { return None };
        fn parts(expr: &Expr) -> Option<&[Expr]> {
            match expr {
                Expr::Rescue { expr, .. } => parts(expr),
                // An item of a list is not null.
                Expr::UnlessNull(pair) if matches!(pair[0], Expr::Local(_)) => parts(&pair[1]),
                Expr::List(items) => Some(items),
                _ => None,
            }
        }
        let pair = |items: &[Expr], objects: &[Expr]| {
            let of_item = items.iter().map(|part| {
                let (base, keys) = path_of(part);
                (*base == Expr::Local(item)).then_some(keys)
            });
            let of_item: Vec<Vec<Str>> = of_item.collect::<Option<_>>()?;
            let of_object: Vec<Vec<Str>> =
                objects.iter().map(|part| self.hole(part).cloned()).collect::<Option<_>>()?;
            let key = self.objects.is_object(self.kind, &of_item, &of_object)?;
            Some(compared(*op, required(Expr::Local(item), &[INPUTS, &key]), Value::Bool(true)))
        };
        let (one, other) = (parts(&sides[0])?, parts(&sides[1])?);
        pair(one, other).or_else(|| pair(other, one))
    }
}

/// An answer that fails where the object lacks a field.
pub(crate) fn unless_missing(answer: Expr, object: &[&str; 2], field: &[Str]) -> Expr {
    let keys = object.iter().map(|key| Str::from(*key)).chain(field.iter().cloned()).collect();
    let value = Expr::Path { base: Box::new(Expr::Root), keys, scalar: Missing::Null };
    let is_missing = compared(Cmp::Eq, Expr::Local(0), Value::Null);
    let answer = ephor_ir::walk::shift(answer, 1, 0);
    Expr::Let {
        value: Box::new(Expr::rescue(value, Faults::AllAsNull)),
        body: Box::new(Expr::Cond(Box::new([is_missing, Expr::fail("a variable is not known"), answer]))),
    }
}

/// A condition about the age of an image with a field in place of it; `images`: the entries that
/// are what a registry says of one.
pub(crate) fn in_condition(condition: &Condition, images: &[Str]) -> Option<Condition> {
    let (Some(Operator::Order(ordering)), Some(Value::Str(than))) =
        (condition.operator, condition.value.as_const())
    else {
        return None;
    };
    let than = duration::parse_ok(than).filter(|_| **than != *"0")?;
    let (rounds, query) = query_of(&condition.key)?;
    let (Operation::TimeSince, [layout, from, to]) = query.expr.as_ref().ok()?.applied()? else {
        return None;
    };
    let is_empty = |e: &Expr| e.constant().and_then(Value::as_str).is_some_and(str::is_empty);
    let (Expr::Root, keys) = path_of(from) else { return None };
    let [image, config, created] = &*keys else { return None };
    let is_it = is_empty(layout)
        && is_empty(to)
        && images.contains(image)
        && **config == *"configData"
        && **created == *"created";
    is_it.then_some(())?;
    let value = required(Expr::Root, &[image, config, &age(ordering, than)]);
    let is_past = compared(Cmp::Eq, Expr::Local(0), Value::from(PAST));
    let of_past = Expr::Const(Value::Bool(ordering.holds(Some(std::cmp::Ordering::Greater))));
    let body = Expr::Cond(Box::new([is_past, of_past, Expr::Local(0)]));
    let expr = Ok(Expr::Let { value: Box::new(value), body: Box::new(body) });
    let key = Template::Whole(Box::new(Hole { query: Query { expr, ..query }, rounds: rounds.clone() }));
    let (operator, value) = (Some(Operator::Equals), Template::Const(Value::Bool(true)));
    Some(Condition { key, operator, value, ..condition.clone() }.with_prepared())
}

/// The query of a template that is one variable, in which others may be whole texts in quotes.
fn query_of(template: &Template) -> Option<(&Rounds, Query)> {
    let rounds = match template {
        Template::Whole(hole) => {
            return Some((&hole.rounds, Query { on_delete: None, ..hole.query.clone() }));
        }
        Template::Rounds(rounds) => rounds,
        _ => return None,
    };
    let inner = rounds.source.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let (mut text, mut from) = (String::new(), 0);
    for variable in find_all_variables(inner) {
        let before = inner.get(from..variable.start)?.strip_suffix('\'')?;
        inner.get(variable.end..)?.starts_with('\'').then_some(())?;
        text.push_str(before);
        text.push_str(&expression(inner.get(variable.clone())?));
        from = variable.end + 1;
    }
    text.push_str(inner.get(from..)?);
    (!text.contains("{{")).then(|| (&**rounds, LATE.plain_query(&text, &rounds.names)))
}
