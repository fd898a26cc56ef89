//! Loops over a list of the object that change each of its items by itself.
//!
//! In: a loop that gives items with the keys of those that it walks, or operations with their
//! positions. Out: what is written into an item, and what decides about it. Such a loop reads
//! one item after the other; what it reads elsewhere is the same for all of them.

use ephor_analysis::reads::Step;
use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::item_keys::ItemKeys;
use ephor_ir::strict::{Comprehension, ComprehensionKind, Make};
use ephor_kubernetes::schema::ListKind;
use ephor_value::Str;

use crate::effects::writes::Positioned;
use crate::effects::writes::item_conditions::{ConditionScope, about, is_item_key, reads_position};
use crate::effects::writes::model::{Done, PlaceType, WriteCollector, Written};
use crate::effects::writes::places::{here, list_place, lists_in_turn, unfiltered};
use crate::effects::writes::positions::{of_item, pointer};
use crate::model::field_types::Resolved;
use crate::model::limits::MAX_WRITE_DEPTH;
use crate::model::unsupported::Unsupported;

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

impl<'r> WriteCollector<'r> {
    /// Notes what decides. In a loop it decides for each item.
    pub(crate) fn condition(&mut self, condition: &Expr) -> Done {
        let about = about(condition);
        self.found.nests |= about == ConditionScope::Nested && !self.loops.is_empty();
        self.deciding(condition, about != ConditionScope::Others)
    }

    /// The same; `is_own`: it is about the item of the innermost loop alone.
    pub(crate) fn deciding(&mut self, condition: &Expr, is_own: bool) -> Done {
        let mut condition = condition.clone();
        if !self.loops.is_empty() {
            let of_item = self.positioned.as_ref().and_then(|list| of_item(&condition, list));
            let is_own = is_own || of_item.is_some();
            if self.positioned.is_some() && of_item.is_none() {
                self.reads_element(&condition, false)?;
            }
            let Some((range, has_position)) = self.loops.last() else {
                return Err(Unsupported::ItemsChanged);
            };
            condition = match of_item {
                Some(own) if own.has_others => return Err(Unsupported::ItemsChanged),
                Some(own) => of_each(own.list, own.condition),
                // The position is a second value: what reads it is not followed.
                None if *has_position && reads_position(&condition, 0) => {
                    return Err(Unsupported::ItemsChanged);
                }
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
    pub(crate) fn each(&mut self, expr: &'r Expr, at: PlaceType<'r>, depth: usize) -> Done {
        let Resolved::List(ListKind::Keyed(keys), item) = at.resolved(self.types) else {
            return Err(Unsupported::ItemsChanged);
        };
        let Expr::Comprehension(l) = here(expr) else { return Err(Unsupported::ItemsChanged) };
        let (range, chosen) = unfiltered(&l.range);
        let is_own =
            l.kind == ComprehensionKind::List && !l.two && list_place(range).as_ref() == Some(&self.path);
        if !is_own || !self.loops.is_empty() || self.is_in_list() {
            return Err(Unsupported::ItemsChanged);
        }
        self.loops.push((range, false));
        let done = chosen.into_iter().chain(&l.keep).try_for_each(|keep| self.condition(keep));
        let done =
            done.and_then(|()| self.items(|own| own.item(&l.body, keys, PlaceType::Type(item), depth)));
        self.loops.pop();
        done
    }

    fn item(&mut self, expr: &'r Expr, keys: &[Str], at: PlaceType<'r>, depth: usize) -> Done {
        if depth > MAX_WRITE_DEPTH {
            return Err(Unsupported::TooDeep);
        }
        let expr = here(expr);
        if let Expr::Cond(parts) = expr {
            let [condition, then, other] = &**parts;
            self.condition(condition)?;
            self.item(then, keys, at, depth + 1)?;
            return self.item(other, keys, at, depth + 1);
        }
        let Expr::Make(make) = expr else { return Err(Unsupported::ItemsChanged) };
        let Make::Struct(_, fields) = &**make else { return Err(Unsupported::ItemsChanged) };
        let copies = |key: &Str| {
            fields
                .iter()
                .any(|(name, value, is_optional)| name == key && !is_optional && is_item_key(value, key))
        };
        if !keys.iter().all(copies) {
            return Err(Unsupported::ItemsChanged);
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
    pub(crate) fn operations_of_items(
        &mut self,
        l: &'r Comprehension,
        at: PlaceType<'r>,
        depth: usize,
    ) -> Done {
        let over = lists_in_turn(&l.range).ok_or(Unsupported::ItemsChanged)?;
        let (place, body) = match &*over {
            [place] => (place.clone(), &l.body),
            _ => self.by_position(&over, &l.body)?,
        };
        let is_list =
            l.kind == ComprehensionKind::List && l.two && self.loops.is_empty() && !self.is_in_list();
        let mut of = at;
        for step in &place {
            let Step::Key(key) = step else { return Err(Unsupported::ItemsChanged) };
            of = of.field(self.types, key);
        }
        let Resolved::List(_, item) = of.resolved(self.types) else { return Err(Unsupported::ItemsChanged) };
        if !is_list {
            return Err(Unsupported::ItemsChanged);
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
                        own.operation(body, PlaceType::Type(item), depth + 1)
                    }
                    _ => own.operations(body, PlaceType::Type(item), depth + 1),
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
    pub(crate) fn path_in_item(&self, expr: &'r Expr) -> Result<String, Unsupported> {
        let mut parts = Vec::new();
        self.addends(expr, &mut parts, 0)?;
        let [Some(before), None, Some(after)] = &*parts else { return Err(Unsupported::ItemsChanged) };
        let Some((Step::Items, above)) = self.path.split_last() else {
            return Err(Unsupported::ItemsChanged);
        };
        let own = pointer(above).ok_or(Unsupported::ItemsChanged)?;
        match *before == format!("{own}/") && after.len() > 1 {
            true => Ok(after.clone()),
            false => Err(Unsupported::ItemsChanged),
        }
    }

    /// The parts of a text: constants, put together, and the position of the item.
    fn addends(
        &self,
        expr: &'r Expr,
        out: &mut Vec<Option<String>>,
        depth: usize,
    ) -> Result<(), Unsupported> {
        if depth > MAX_WRITE_DEPTH {
            return Err(Unsupported::ItemsChanged);
        }
        let expr = self.plain(expr);
        if let Some(text) = expr.constant() {
            let text = text.as_str().ok_or(Unsupported::ItemsChanged)?;
            match out.last_mut() {
                Some(Some(last)) => last.push_str(text),
                _ => out.push(Some(text.to_string())),
            }
            return Ok(());
        }
        match expr {
            Expr::Invoke(call) => match (call.function.operation, &*call.args) {
                (Operation::Add, parts) => {
                    parts.iter().try_for_each(|part| self.addends(part, out, depth + 1))
                }
                (Operation::ToText, [index]) if matches!(self.plain(index), Expr::Local(1)) => {
                    out.push(None);
                    Ok(())
                }
                _ => Err(Unsupported::ItemsChanged),
            },
            _ => Err(Unsupported::ItemsChanged),
        }
    }
}
