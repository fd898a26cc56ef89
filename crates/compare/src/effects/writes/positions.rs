//! Items of a list that a loop over several lists changes by the positions of its elements.
//!
//! In: a loop over lists of the object, one after the other, that writes into one of them at the
//! position that its element has among all. Out: what it writes into an item, what decides about
//! the element, and what about the item. Behind the last item of its list a document writes a new
//! one; expressions look first whether the position is there, and add one that is the same
//! everywhere. Semantics: `docs/semantics/mutate.md`, "JSON patches".

use ephor_analysis::reads::Step;
use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::strict::{ComprehensionKind, Make, Step as Walked, Walk};
use ephor_ir::walk::{children, map_children};
use ephor_value::{Str, Value};

use crate::effects::writes::model::{Done, WriteCollector, in_items};
use crate::effects::writes::places::{in_element, keys_of, list_place};
use crate::model::field_types::{Resolved, resolved, type_at};
use crate::model::path::Place;
use crate::model::unsupported::Unsupported;

/// Where an expression reads the element of the innermost loop.
struct ElementReads<'t> {
    /// Whether there is a list at a place in the element.
    is_list: &'t dyn Fn(&[Step]) -> bool,
    /// The places, each as a whole.
    places: Vec<Place>,
    /// Whether it reads the element itself, or in a way that is not followed.
    is_lost: bool,
    /// Whether the order or the number of the items of a list may say something.
    has_order: bool,
}

impl ElementReads<'_> {
    /// `as_set`: the value of the expression is a list in which something is searched.
    fn at(&mut self, expr: &Expr, binders: u32, as_set: bool) {
        let is_element = |base: &Expr| matches!(base, Expr::Local(n) if *n >= binders);
        let place = match expr {
            Expr::Local(_) if is_element(expr) => None,
            Expr::Path { base, keys, .. } if is_element(base) => {
                Some(keys.iter().cloned().map(Step::Key).collect::<Place>())
            }
            Expr::Walk(walk) if is_element(&walk.base) => keys_of_walk(walk),
            Expr::Test(test) if is_element(&test.walk.base) => keys_of_walk(&test.walk).map(|mut place| {
                place.push(Step::Key(test.key.clone()));
                place
            }),
            Expr::Path { .. } if in_element(expr).is_some() => in_element(expr),
            other => return self.below(other, binders, as_set),
        };
        match place.filter(|place| !place.is_empty()) {
            Some(place) => {
                self.has_order |= !as_set && !matches!(expr, Expr::Test(_)) && (self.is_list)(&place);
                self.places.push(place);
            }
            None => self.is_lost = true,
        }
    }

    fn below(&mut self, expr: &Expr, binders: u32, as_set: bool) {
        let is_search = matches!(expr.invoked(), Some((Operation::Member, _)));
        let is_some_or_all = matches!(expr, Expr::Comprehension(l)
            if !l.two && matches!(l.kind, ComprehensionKind::All | ComprehensionKind::Exists));
        let passes = match expr {
            Expr::OrElse { .. } | Expr::Or(_) | Expr::Rescue { .. } | Expr::Flatten(_) => as_set,
            Expr::Project { keep: None, body: None, .. } => as_set,
            Expr::Invoke(call) => as_set && call.function.operation == Operation::Flatten,
            _ => false,
        };
        let mut number = 0;
        children(expr, &mut |part, child| {
            // What is searched comes first, and the range of a loop.
            let is_set = passes || (is_search && number == 1) || (is_some_or_all && number == 0);
            number += 1;
            self.at(part, binders.saturating_add(child.binders), is_set);
        });
    }
}

/// The keys of a walk, if it has nothing else.
fn keys_of_walk(walk: &Walk) -> Option<Place> {
    let key = |step: &Walked| match step {
        Walked::Key { key: Value::Str(key), .. } => Some(Step::Key(key.clone())),
        _ => None,
    };
    walk.steps.iter().map(key).collect()
}

/// A condition about an item at the position of the element, as one about the item.
pub(crate) struct OfItem {
    /// The list of the item.
    pub list: Expr,
    /// The condition, in a loop over it.
    pub condition: Expr,
    /// Whether it is about more than which fields the item has.
    pub has_others: bool,
}

/// The condition as one about the item of a list, if it reads one by the position of the
/// element.
pub(crate) fn of_item(condition: &Expr, list: &[Step]) -> Option<OfItem> {
    let mut found = Rewritten { place: list, list: None, has_others: false };
    let condition = found.rewritten(condition.clone(), 0);
    let has_others = found.has_others || !is_about_presence(&condition);
    Some(OfItem { list: found.list?, condition, has_others })
}

/// Whether a condition says which fields there are, and nothing else.
fn is_about_presence(condition: &Expr) -> bool {
    match condition {
        Expr::Test(_) => true,
        Expr::Invoke(call) => match (call.function.operation, &*call.args) {
            (Operation::Present, args) => matches!(args, [Expr::Walk(_)]),
            (Operation::Not, args) => args.iter().all(is_about_presence),
            _ => false,
        },
        Expr::Decide { .. } => {
            let mut is_all = true;
            children(condition, &mut |part, _| is_all &= is_about_presence(part));
            is_all
        }
        _ => false,
    }
}

struct Rewritten<'p> {
    place: &'p [Step],
    list: Option<Expr>,
    has_others: bool,
}

impl Rewritten<'_> {
    fn rewritten(&mut self, expr: Expr, binders: u32) -> Expr {
        match expr {
            Expr::Walk(mut walk) if self.reads_item(&walk, binders) => {
                self.walk(&mut walk, binders);
                Expr::Walk(walk)
            }
            Expr::Test(mut test) if self.reads_item(&test.walk, binders) => {
                self.walk(&mut test.walk, binders);
                Expr::Test(test)
            }
            other => {
                self.has_others |= matches!(other, Expr::Local(n) if n >= binders);
                map_children(other, &mut |part, child| {
                    self.rewritten(part, binders.saturating_add(child.binders))
                })
            }
        }
    }

    /// The number of keys before the first computed one, if that is the position of the element.
    fn position(walk: &Walk, binders: u32) -> Option<usize> {
        let at = walk.steps.iter().position(|step| !matches!(step, Walked::Key { .. }))?;
        let Some(Walked::At { index, optional: false }) = walk.steps.get(at) else { return None };
        let (index, []) = (keys_of(index)?.0, &*keys_of(index)?.1) else { return None };
        matches!(index, Expr::Local(n) if *n == binders.saturating_add(1)).then_some(at)
    }

    /// Whether a walk reads something of the item of the list at the position of the element, by
    /// keys.
    fn reads_item(&self, walk: &Walk, binders: u32) -> bool {
        let Some(at) = Self::position(walk, binders) else { return false };
        let (above, below) = (walk.steps.get(..at), walk.steps.get(at + 1..));
        let list = above.map(|steps| Walk { steps: steps.into(), ..walk.clone() });
        let is_key = |step: &Walked| matches!(step, Walked::Key { .. });
        list.and_then(|list| list_place(&Expr::Walk(Box::new(list)))).is_some_and(|list| list == self.place)
            && below.is_some_and(|below| below.iter().all(is_key))
    }

    fn walk(&mut self, walk: &mut Walk, binders: u32) {
        let Some(at) = Self::position(walk, binders) else { return };
        let steps = std::mem::take(&mut walk.steps).into_vec();
        let base = std::mem::replace(&mut walk.base, Expr::Local(binders));
        let above = steps.iter().take(at).cloned().collect();
        self.list = Some(Expr::Walk(Box::new(Walk { base, steps: above, has_cost: false })));
        walk.steps = steps.into_iter().skip(at + 1).collect();
    }
}

impl<'r> WriteCollector<'r> {
    /// Notes where a condition reads the element of a loop that writes by positions; `as_set`:
    /// its value is a list in which something is searched.
    pub(crate) fn reads_element(&mut self, condition: &Expr, as_set: bool) -> Done {
        let list = self.positioned.clone().unwrap_or_default();
        let is_list = |place: &[Step]| {
            let ty = type_at(self.types, self.kind, &in_items(&list, place));
            !matches!(ty.map(|ty| resolved(self.types, ty)), Some(Resolved::Leaf | Resolved::Object(..)))
        };
        let mut looks =
            ElementReads { is_list: &is_list, places: Vec::new(), is_lost: false, has_order: false };
        looks.at(condition, 0, as_set);
        let ElementReads { places, is_lost, has_order, .. } = looks;
        self.found.deciding.extend(places);
        self.found.has_order |= has_order;
        if is_lost { Err(Unsupported::ItemsChanged) } else { Ok(()) }
    }

    /// The list into whose items the body of a loop over these lists writes by positions, and what
    /// it does with an item that is there.
    pub(crate) fn by_position(
        &self,
        over: &[Place],
        body: &'r Expr,
    ) -> Result<(Place, &'r Expr), Unsupported> {
        let Expr::Cond(parts) = self.plain(body) else { return Err(Unsupported::ItemsChanged) };
        let [is_behind, new, there] = &**parts;
        let list =
            self.behind(is_behind).filter(|list| over.contains(list)).ok_or(Unsupported::ItemsChanged)?;
        match self.is_addition(new, &list) {
            true => Ok((list, there)),
            false => Err(Unsupported::ItemsChanged),
        }
    }

    /// The list of which a condition says that the position of the element is behind its last item.
    fn behind(&self, condition: &'r Expr) -> Option<Place> {
        let (Operation::GreaterOrEqual, [position, size]) = self.plain(condition).invoked()? else {
            return None;
        };
        let (Operation::Size, [list]) = self.plain(size).invoked()? else { return None };
        matches!(self.plain(position), Expr::Local(1)).then(|| list_place(list)).flatten()
    }

    /// Whether an expression is the operation that adds a constant behind the items of a list.
    fn is_addition(&self, expr: &'r Expr, list: &[Step]) -> bool {
        let Expr::Make(all) = self.plain(expr) else { return false };
        let Make::List(items, optional) = &**all else { return false };
        let ([one], true) = (&**items, optional.is_empty()) else { return false };
        let Expr::Make(operation) = self.plain(one) else { return false };
        let Make::Struct(_, fields) = &**operation else { return false };
        let constant = |name: &str| {
            let (_, value, _) = fields.iter().find(|(key, _, is_optional)| **key == *name && !is_optional)?;
            self.plain(value).constant()
        };
        let text = |name: &str| constant(name).and_then(Value::as_str);
        text("op") == Some("add")
            && text("path").is_some_and(|path| pointer(list).is_some_and(|own| *path == format!("{own}/-")))
            && constant("value").is_some()
    }
}

/// A place as a JSON pointer, if nothing in it is written in another way there.
pub(crate) fn pointer(place: &[Step]) -> Option<Str> {
    let mut text = String::new();
    for step in place {
        match step {
            Step::Key(key) if !key.contains(['/', '~']) => text.extend(["/", &**key]),
            _ => return None,
        }
    }
    Some(text.into())
}
