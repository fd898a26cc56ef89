//! Loops of `foreach`, taken out of a rule.
//!
//! In: a loop. Out: it as a check of its own, where it depends on its elements alone, or what is
//! inside of it.

use ephor_ir::check::{Check, ForEach, Overlay, Overlays};
use ephor_ir::rule::{Binding, BindingSource, QuerySource};
use ephor_ir::template::Query;
use ephor_ir::walk::children;
use ephor_ir::{Conditions, Expr, Template};
use ephor_value::Str;

use crate::lists::iteration::range;
use crate::lists::loops::conditions::query;
use crate::lists::loops::{LoopCutter, Outer};

impl LoopCutter<'_> {
    /// Takes out a loop of `foreach`, all of which depends on its elements alone, or what is
    /// inside.
    pub(crate) fn for_each(&mut self, l: &ForEach) -> Option<Check> {
        let list = query(&l.list, self.is_deletion)?;
        let range = range(list, self.around(&[]))?;
        let names: Vec<&Str> = l.bindings.iter().map(|binding| &binding.name).collect();
        let own = Own { names: &names, is_deletion: self.is_deletion };
        let is_own = l.bindings.iter().all(|binding| is_given_by_element(binding, self.is_deletion))
            && l.element_scope != Some(false)
            && l.admit.as_ref().is_none_or(|admit| own.is_of_element(admit))
            && match &l.check {
                Check::Deny(conditions) => own.is_of_element(conditions),
                Check::Pattern(Overlay::Ready(_), _) | Check::AnyPattern(Overlays::Ready(_), _) => true,
                _ => false,
            };
        if !is_own {
            return None;
        }
        if self.is_wanted(&range) {
            self.add(Check::ForEach([l.clone()].into()), &range);
            self.count(&l.list, list, &range, 0);
            return Some(Check::Nothing);
        }
        let (all, keep) = match list {
            Expr::Project { over, source, keep: Some(keep), body: None } => {
                let (over, source) = (*over, source.clone());
                (Expr::Project { over, source, keep: None, body: None }, Some(keep))
            }
            list if range.is_plain => (list.clone(), None),
            _ => return None,
        };
        let outer = ForEach {
            list: Query { expr: Ok(all), on_delete: None, ..l.list.clone() },
            admit: None,
            check: Check::Nothing,
            ..l.clone()
        };
        self.around = Some((Outer::Each(outer), range.item()));
        let admit = l.admit.as_ref().map(|admit| self.conditions(admit));
        let check = match &l.check {
            Check::Deny(conditions) => Check::Deny(self.conditions(conditions)),
            other => other.clone(),
        };
        let mut list = list.clone();
        if let (Some(keep), Expr::Project { keep: slot, .. }) = (keep, &mut list) {
            *slot = Some(Box::new(self.jmespath(keep, &l.list)));
        }
        self.around = None;
        let list = Query { expr: Ok(list), ..l.list.clone() };
        Some(Check::ForEach([ForEach { list, admit, check, ..l.clone() }].into()))
    }
}

/// What a loop may read besides its element: the names of its entries, whose data are parts of the
/// element.
#[derive(Clone, Copy)]
struct Own<'l> {
    names: &'l [&'l Str],
    is_deletion: bool,
}

impl Own<'_> {
    /// Whether conditions depend on the element of their loop alone.
    fn is_of_element(self, conditions: &Conditions) -> bool {
        let mut all = conditions.all.iter().chain(conditions.any.as_deref().into_iter().flatten());
        all.all(|one| [&one.key, &one.value].into_iter().all(|side| self.is_side(side)))
    }

    fn is_side(self, side: &Template) -> bool {
        match side {
            Template::Const(_) => true,
            Template::Whole(hole) => {
                let query = &hole.query;
                let query = query.on_delete.as_deref().filter(|_| self.is_deletion).unwrap_or(query);
                let is_known = query.needs.is_empty() || (!self.names.is_empty() && !query.needs.images);
                is_known && !query.sorts && query.expr.as_ref().is_ok_and(|expr| self.is_read(expr))
            }
            Template::List(items) => items.iter().all(|item| self.is_side(item)),
            _ => false,
        }
    }

    fn is_read(self, expr: &Expr) -> bool {
        match expr {
            Expr::Root | Expr::Variable(_) => false,
            Expr::Path { base, keys, .. } if matches!(**base, Expr::Root) => keys
                .first()
                .is_some_and(|key| matches!(&**key, "element" | "element0") || self.names.contains(&key)),
            expr => {
                let mut is = true;
                children(expr, &mut |e, _| is = is && self.is_read(e));
                is
            }
        }
    }
}

/// Whether the data of an entry are a part of the element.
fn is_given_by_element(binding: &Binding, is_deletion: bool) -> bool {
    let BindingSource::Given { answer, query, .. } = &binding.source else { return false };
    let own = Own { names: &[], is_deletion };
    let answer = answer.on_delete.as_deref().filter(|_| is_deletion).unwrap_or(answer);
    let is_plain = matches!(query, None | Some(QuerySource::Ready(Query { sorts: false, .. })));
    is_plain && answer.expr.as_ref().is_ok_and(|expr| own.is_read(expr))
}
