//! Loops over a list of the object that change each of its items by itself.
//!
//! In: a loop that gives items with the keys of those that it walks, or operations with their
//! positions. Out: what is written into an item, and what decides about it. Such a loop looks at
//! one item after the other; what it looks at elsewhere is the same for all of them.

use std::cell::Cell;

use super::positions::{of_item, pointer};
use super::{At, BY_ITEM, DEEPEST, Done, Positioned, Resolved, Unknown, Writer, Written};
use ephor_analysis::reads::Step;
use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::item_keys::ItemKeys;
use ephor_ir::strict::{Comprehension, ComprehensionKind, Make, Step as Walked};
use ephor_ir::walk::children;
use ephor_kubernetes::schema::ListKind;
use ephor_value::{Str, Value};

/// An expression without what changes nothing; variables keep the value that they had first, so
/// they are not looked into.
fn here(expr: &Expr) -> &Expr {
    match expr {
        Expr::Walk(walk) if walk.steps.is_empty() => here(&walk.base),
        Expr::Once { expr, .. } | Expr::Cells { body: expr, .. } => here(expr),
        Expr::Invoke(same) if same.function.operation() == Some(Operation::Unchanged) => match &*same.args {
            [one] => here(one),
            _ => expr,
        },
        _ => expr,
    }
}

/// The keys under which a value is read, and what it is read of.
pub(crate) fn keys_of(expr: &Expr) -> Option<(&Expr, Vec<Str>)> {
    match here(expr) {
        Expr::Path { base, keys, .. } => {
            let (base, mut all) = keys_of(base)?;
            all.extend(keys.iter().cloned());
            Some((base, all))
        }
        Expr::Walk(walk) => {
            let (base, mut all) = keys_of(&walk.base)?;
            for step in &walk.steps {
                let Walked::Key { key: Value::Str(key), .. } = step else { return None };
                all.push(key.clone());
            }
            Some((base, all))
        }
        other => Some((other, Vec::new())),
    }
}

/// The place of a list of the object; one that is not there may count as empty.
pub(super) fn list_place(expr: &Expr) -> Option<Vec<Step>> {
    let expr = match here(expr) {
        Expr::OrElse { sides, .. } if is_empty(&sides[1]) => &sides[0],
        expr => expr,
    };
    place_of(expr)
}

/// The list of which a filter chooses items, and what it wants of them.
pub(super) fn unfiltered(range: &Expr) -> (&Expr, Option<&Expr>) {
    match here(range) {
        Expr::Comprehension(l)
            if l.kind == ComprehensionKind::List && !l.two && matches!(here(&l.body), Expr::Local(0)) =>
        {
            (&l.range, l.keep.as_ref())
        }
        _ => (range, None),
    }
}

/// The lists of the object that a loop walks over, one after the other.
pub(super) fn lists_in_turn(range: &Expr) -> Option<Vec<Vec<Step>>> {
    match here(range) {
        Expr::Invoke(sum) if sum.function.operation() == Some(Operation::Add) => {
            let each: Option<Vec<_>> = sum.args.iter().map(lists_in_turn).collect();
            Some(each?.concat())
        }
        one => Some(vec![list_place(one)?]),
    }
}

/// Whether an API server refuses names with wildcards in a list: that of containers.
pub(super) fn has_plain_names(list: &[Step]) -> bool {
    matches!(list.last(), Some(Step::Key(key))
        if matches!(&**key, "containers" | "initContainers" | "ephemeralContainers"))
}

/// The place of a value of the object.
pub(super) fn place_of(expr: &Expr) -> Option<Vec<Step>> {
    let (base, keys) = keys_of(expr)?;
    let (first, rest) = keys.split_first()?;
    (matches!(base, Expr::Root) && **first == *"object" && !rest.is_empty())
        .then(|| rest.iter().cloned().map(Step::Key).collect())
}

/// The place of a value in the item of the innermost loop.
pub(super) fn in_item(expr: &Expr) -> Option<Vec<Step>> {
    let (base, keys) = keys_of(expr)?;
    (matches!(base, Expr::Local(0)) && !keys.is_empty()).then(|| keys.into_iter().map(Step::Key).collect())
}

fn is_empty(expr: &Expr) -> bool {
    match here(expr) {
        Expr::Make(make) => matches!(&**make, Make::List(items, _) if items.is_empty()),
        expr => expr.constant().and_then(Value::as_list).is_some_and(<[Value]>::is_empty),
    }
}

/// Functions that look at the value of a field alone.
const OF_VALUES: [&str; 14] = [
    "!_",
    "_==_",
    "_!=_",
    "_<_",
    "_<=_",
    "_>_",
    "_>=_",
    "startsWith",
    "endsWith",
    "matches",
    "contains",
    "hasValue",
    "dyn",
    "string",
];

/// What a condition in a loop looks at.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum About {
    /// Scalars of the item of the innermost loop.
    Item,
    /// Lists of the item, too.
    Nested,
    /// Something else.
    Others,
}

/// What a condition in a loop looks at.
pub(super) fn about(condition: &Expr) -> About {
    let nests = Cell::new(false);
    match is_about(condition, 0, &nests) {
        false => About::Others,
        true if nests.get() => About::Nested,
        true => About::Item,
    }
}

/// Whether a condition looks at nothing but scalars of the item of the innermost loop.
pub(super) fn is_about_item(condition: &Expr) -> bool {
    about(condition) == About::Item
}

fn is_about(expr: &Expr, binders: u32, nests: &Cell<bool>) -> bool {
    let is_scalar = |value: &Value| !matches!(value, Value::List(_) | Value::Map(_));
    let of_list = |is_known: bool| {
        nests.set(true);
        is_known
    };
    let is_own = match expr {
        Expr::Local(n) => *n <= binders,
        Expr::Const(value) => is_scalar(value) || of_list(matches!(value, Value::List(_))),
        Expr::Folded(folded) => is_scalar(&folded.value),
        Expr::Walk(walk) => {
            walk.steps.iter().all(|step| matches!(step, Walked::Key { key: Value::Str(_), .. }))
        }
        Expr::Invoke(call) => {
            OF_VALUES.contains(&call.function.name)
                || of_list(matches!(call.function.name, "@in" | "_in_" | "flatten"))
        }
        Expr::Comprehension(l) => of_list(!l.two),
        Expr::Make(make) => of_list(matches!(&**make, Make::List(items, _) if items.is_empty())),
        Expr::Path { .. }
        | Expr::Test(_)
        | Expr::Cond(_)
        | Expr::Decide { .. }
        | Expr::OrElse { .. }
        | Expr::OneOf { .. } => true,
        _ => false,
    };
    let is_all = Cell::new(is_own);
    children(expr, &mut |part, child| {
        is_all.set(is_all.get() && is_about(part, binders.saturating_add(child.binders), nests));
    });
    is_all.get()
}

/// Whether a condition in a loop looks at the position of the item, which is the second value of
/// the loop.
fn reads_position(condition: &Expr, binders: u32) -> bool {
    let is_read = Cell::new(matches!(condition, Expr::Local(n) if *n > binders));
    children(condition, &mut |part, child| {
        is_read.set(is_read.get() || reads_position(part, binders.saturating_add(child.binders)));
    });
    is_read.get()
}

/// A condition of each item of a list.
fn of_each(range: Expr, body: Expr) -> Expr {
    Expr::Comprehension(Box::new(Comprehension {
        kind: ComprehensionKind::All,
        range,
        two: false,
        keep: None,
        body,
        wraps: false,
        item_keys: ItemKeys::default(),
    }))
}

/// Whether a value is the key of the item of the innermost loop.
fn is_item_key(expr: &Expr, key: &Str) -> bool {
    keys_of(expr).is_some_and(|(base, keys)| matches!(base, Expr::Local(0)) && keys == [key.clone()])
}

impl<'r> Writer<'r> {
    /// Notes what decides. In a loop it decides for each item.
    pub(super) fn condition(&mut self, condition: &Expr) -> Done {
        let about = about(condition);
        self.found.nests |= about == About::Nested && !self.loops.is_empty();
        self.deciding(condition, about != About::Others)
    }

    /// The same; `is_own`: it is about the item of the innermost loop alone.
    pub(super) fn deciding(&mut self, condition: &Expr, is_own: bool) -> Done {
        let mut condition = condition.clone();
        if !self.loops.is_empty() {
            let of_item = self.positioned.as_ref().and_then(|list| of_item(&condition, list));
            let is_own = is_own || of_item.is_some();
            if self.positioned.is_some() && of_item.is_none() {
                self.looks_at_element(&condition, false)?;
            }
            let Some((range, has_position)) = self.loops.last() else { return Err(BY_ITEM) };
            condition = match of_item {
                Some(own) if own.has_others => return Err(BY_ITEM),
                Some(own) => of_each(own.list, own.condition),
                // The position is a second value: what looks at it is not followed.
                None if *has_position && reads_position(&condition, 0) => return Err(BY_ITEM),
                None => of_each((*range).clone(), condition),
            };
            if is_own {
                self.found.of_items.push(condition);
                return Ok(());
            }
        }
        self.found.conditions.push(condition);
        Ok(())
    }

    /// The items of a list with keys, each with the keys of the item that it changes.
    pub(super) fn each(&mut self, expr: &'r Expr, at: At<'r>, depth: usize) -> Done {
        let Resolved::List(ListKind::Keyed(keys), item) = at.resolved(self.types) else {
            return Err(BY_ITEM);
        };
        let Expr::Comprehension(l) = here(expr) else { return Err(BY_ITEM) };
        let (range, chosen) = unfiltered(&l.range);
        let is_own =
            l.kind == ComprehensionKind::List && !l.two && list_place(range).as_ref() == Some(&self.path);
        if !is_own || !self.loops.is_empty() || self.is_in_list() {
            return Err(BY_ITEM);
        }
        self.loops.push((range, false));
        let done = chosen.into_iter().chain(&l.keep).try_for_each(|keep| self.condition(keep));
        let done = done.and_then(|()| self.items(|own| own.item(&l.body, keys, At::Type(item), depth)));
        self.loops.pop();
        done
    }

    fn item(&mut self, expr: &'r Expr, keys: &[Str], at: At<'r>, depth: usize) -> Done {
        if depth > DEEPEST {
            return Err("a change nests too deeply");
        }
        let expr = here(expr);
        if let Expr::Cond(parts) = expr {
            let [condition, then, other] = &**parts;
            self.condition(condition)?;
            self.item(then, keys, at, depth + 1)?;
            return self.item(other, keys, at, depth + 1);
        }
        let Expr::Make(make) = expr else { return Err(BY_ITEM) };
        let Make::Struct(_, fields) = &**make else { return Err(BY_ITEM) };
        let copies = |key: &Str| {
            fields
                .iter()
                .any(|(name, value, is_optional)| name == key && !is_optional && is_item_key(value, key))
        };
        if !keys.iter().all(copies) {
            return Err(BY_ITEM);
        }
        self.add(Written::Shape);
        for (key, value, is_optional) in fields.iter().filter(|(name, ..)| !keys.contains(name)) {
            let at = at.field(self.types, key);
            self.below(key, |own| match is_optional {
                true => own.optional(value, at, depth + 1),
                false => own.applied(value, at, depth + 1),
            })?;
        }
        Ok(())
    }

    /// Operations for each item of a list, by its position in it.
    pub(super) fn operations_of_items(&mut self, l: &'r Comprehension, at: At<'r>, depth: usize) -> Done {
        let over = lists_in_turn(&l.range).ok_or(BY_ITEM)?;
        let (place, body) = match &*over {
            [place] => (place.clone(), &l.body),
            _ => self.by_position(&over, &l.body)?,
        };
        let is_list =
            l.kind == ComprehensionKind::List && l.two && self.loops.is_empty() && !self.is_in_list();
        let mut of = at;
        for step in &place {
            let Step::Key(key) = step else { return Err(BY_ITEM) };
            of = of.field(self.types, key);
        }
        let Resolved::List(_, item) = of.resolved(self.types) else { return Err(BY_ITEM) };
        if !is_list {
            return Err(BY_ITEM);
        }
        self.loops.push((&l.range, true));
        if over.len() > 1 {
            self.positioned = Some(place.clone());
            self.found.positioned.insert(Positioned { over, list: place.clone() });
        }
        let outside = std::mem::replace(&mut self.path, place);
        let done = match &l.keep {
            Some(keep) => self.condition(keep),
            None => Ok(()),
        };
        let done = done.and_then(|()| {
            self.items(|own| {
                own.add(Written::Shape);
                let body = own.plain(body);
                match body {
                    Expr::Make(make) if matches!(&**make, Make::Struct(..)) => {
                        own.operation(body, At::Type(item), depth + 1)
                    }
                    _ => own.operations(body, At::Type(item), depth + 1),
                }
            })
        });
        self.path = outside;
        self.positioned = None;
        self.loops.pop();
        done
    }

    /// The path of an operation below the item of a loop:
    /// `'/spec/containers/' + string(index) + '/env'`.
    pub(super) fn path_in_item(&self, expr: &'r Expr) -> Result<String, Unknown> {
        let mut parts = Vec::new();
        self.addends(expr, &mut parts, 0)?;
        let [Some(before), None, Some(after)] = &*parts else { return Err(BY_ITEM) };
        let Some((Step::Items, above)) = self.path.split_last() else { return Err(BY_ITEM) };
        let own = pointer(above).ok_or(BY_ITEM)?;
        match *before == format!("{own}/") && after.len() > 1 {
            true => Ok(after.clone()),
            false => Err(BY_ITEM),
        }
    }

    /// The parts of a text: constants, put together, and the position of the item.
    fn addends(&self, expr: &'r Expr, out: &mut Vec<Option<String>>, depth: usize) -> Result<(), Unknown> {
        if depth > DEEPEST {
            return Err(BY_ITEM);
        }
        let expr = self.plain(expr);
        if let Some(text) = expr.constant() {
            let text = text.as_str().ok_or(BY_ITEM)?;
            match out.last_mut() {
                Some(Some(last)) => last.push_str(text),
                _ => out.push(Some(text.to_string())),
            }
            return Ok(());
        }
        match expr {
            Expr::Invoke(sum) if sum.function.operation() == Some(Operation::Add) => {
                sum.args.iter().try_for_each(|part| self.addends(part, out, depth + 1))
            }
            Expr::Invoke(text) if text.function.name == "string" => match &*text.args {
                [index] if matches!(self.plain(index), Expr::Local(1)) => {
                    out.push(None);
                    Ok(())
                }
                _ => Err(BY_ITEM),
            },
            _ => Err(BY_ITEM),
        }
    }
}
