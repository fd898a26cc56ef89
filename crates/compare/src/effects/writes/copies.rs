//! Values that are copied: of the object, or of the item of a loop.
//!
//! In: an expression that gives a value. Out: the places that the value may come from, and what
//! decides between them. What is done with such a value does not depend on what it is, as long as
//! nothing tests it: so sides that copy alike values that differ from all others copy alike
//! whatever these are (`effects::fresh`). A text that is put together has the values as its parts,
//! and shows each of them.

use ephor_analysis::reads::Step;
use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::walk::holds;
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::{Leaf, Type};
use ephor_value::{Object, Value};

use crate::effects::writes::item_conditions::is_about_item;
use crate::effects::writes::model::{CopyKind, Done, WriteCollector, Written, in_items};
use crate::effects::writes::places::{in_element, in_item, in_object, is_user, lists_in_turn, place_of};
use crate::model::field_types::{Resolved, leaf_of, resolved, type_at};
use crate::model::limits::{MAX_COPIED_PARTS, MAX_WRITE_DEPTH};
use crate::model::unsupported::Unsupported;

impl<'r> WriteCollector<'r> {
    /// A value that is copied to the place.
    pub(crate) fn copy(&mut self, expr: &'r Expr) -> Done {
        if self.made(expr).is_ok() {
            return Ok(());
        }
        self.copied(expr)?;
        self.add(Written::Copied);
        Ok(())
    }

    /// The same of one that may be left out.
    pub(crate) fn optional_copy(&mut self, expr: &'r Expr) -> Done {
        self.taken(expr, CopyKind::Optional)?;
        self.add(Written::Copied);
        Ok(())
    }

    /// A value that is copied, wherever to.
    pub(crate) fn copied(&mut self, expr: &'r Expr) -> Done {
        self.taken(expr, CopyKind::Scalar)
    }

    pub(crate) fn taken(&mut self, expr: &'r Expr, wanted: CopyKind) -> Done {
        if wanted == CopyKind::Any && self.is_whole_alone(expr) {
            return Ok(());
        }
        if let Expr::Invoke(call) = self.plain(expr)
            && call.function.operation == Operation::Add
            && wanted != CopyKind::Optional
        {
            // Each of its parts has to be there.
            return call.args.iter().try_for_each(|part| self.taken(part, CopyKind::Text));
        }
        let is_own = self.sources(expr, wanted, 0)?;
        if self.joined_list(self.plain(expr)).is_some() || is_user(self.plain(expr)) {
            return Ok(());
        }
        if holds(expr, &|part| self.joined_list(part).is_some()) {
            return Err(Unsupported::Computed);
        }
        // Which of them it is decides, too.
        self.deciding(expr, is_own)
    }

    /// Whether a value is something with parts, whatever it is: then nothing is decided.
    pub(crate) fn is_whole_alone(&mut self, expr: &'r Expr) -> bool {
        let expr = self.plain(expr);
        let place = if self.is_document { in_object(expr) } else { place_of(expr) };
        let Some(place) = place.filter(|place| self.is_plain_whole(place)) else { return false };
        if self.is_document {
            self.found.quoted.insert(place.clone());
        }
        self.found.wholes.insert(place);
        true
    }

    /// The places that a value may come from; whether these are parts of the item of the innermost
    /// loop alone.
    pub(crate) fn sources(
        &mut self,
        expr: &'r Expr,
        wanted: CopyKind,
        depth: usize,
    ) -> Result<bool, Unsupported> {
        if depth > MAX_WRITE_DEPTH {
            return Err(Unsupported::TooDeep);
        }
        let expr = self.plain(expr);
        if let Some(value) = expr.constant() {
            return match (value, wanted) {
                (Value::Str(_), _) | (Value::Int(_) | Value::Bool(_), CopyKind::Scalar | CopyKind::Any) => {
                    Ok(true)
                }
                (Value::Object(object), CopyKind::Optional) => match &**object {
                    Object::Optional(None | Some(Value::Str(_))) => Ok(true),
                    _ => Err(Unsupported::Computed),
                },
                _ => Err(Unsupported::Computed),
            };
        }
        if let Some(list) = self.joined_list(expr) {
            return self.join(list, wanted);
        }
        let all = |own: &mut Self, parts: &[&'r Expr], wanted: CopyKind| {
            parts.iter().try_fold(true, |is_own, part| Ok(own.sources(part, wanted, depth + 1)? && is_own))
        };
        match expr {
            Expr::Cond(parts) => {
                let [condition, then, other] = &**parts;
                Ok(all(self, &[then, other], wanted)? && is_about_item(condition))
            }
            Expr::OrElse { sides, unwrap, .. } => {
                let first = if *unwrap { CopyKind::Optional } else { wanted };
                Ok(all(self, &[&sides[0]], first)? && all(self, &[&sides[1]], wanted)?)
            }
            Expr::Or(sides) => all(self, &[&sides[0], &sides[1]], wanted),
            Expr::Rescue { expr, .. } => all(self, &[expr], wanted),
            Expr::Invoke(call) => match (call.function.operation, &*call.args) {
                (Operation::OptionalOf, [value]) if wanted == CopyKind::Optional => {
                    all(self, &[value], CopyKind::Scalar)
                }
                (Operation::OptionalNone, []) if wanted == CopyKind::Optional => Ok(true),
                (Operation::ToText, [value]) if wanted == CopyKind::Text => all(self, &[value], wanted),
                (Operation::Add, _) if wanted != CopyKind::Optional => {
                    all(self, &call.args.iter().collect::<Vec<_>>(), CopyKind::Text)
                }
                _ => Err(Unsupported::Computed),
            },
            _ => self.source(expr, wanted),
        }
    }

    /// A value that is read at a place; in a loop over several lists, at one in each.
    fn source(&mut self, expr: &'r Expr, wanted: CopyKind) -> Result<bool, Unsupported> {
        if is_user(expr) {
            self.found.is_of_user = true;
            return Ok(false);
        }
        let (places, is_own) = match self.is_document {
            true => match (in_object(expr), in_element(expr)) {
                (Some(place), _) => (vec![place], false),
                // Elsewhere the last element counts.
                (None, Some(below)) if !self.elements.is_empty() && (self.is_in_list() || self.is_key) => {
                    (self.elements.iter().map(|list| in_items(list, &below)).collect(), true)
                }
                _ => return Err(Unsupported::Computed),
            },
            false => match (place_of(expr), in_item(expr), self.loops.last()) {
                (Some(place), ..) => (vec![place], false),
                (None, Some(below), Some((range, _))) => {
                    let lists = lists_in_turn(range).ok_or(Unsupported::Computed)?;
                    (lists.iter().map(|list| in_items(list, &below)).collect(), true)
                }
                _ => return Err(Unsupported::Computed),
            },
        };
        let is_part = wanted == CopyKind::Text;
        for place in places {
            match self.leaf(&place) {
                Some(Leaf::String) => {}
                Some(Leaf::Quantity | Leaf::Int32 | Leaf::Int64 | Leaf::IntOrString) if !is_part => {}
                _ => return Err(Unsupported::Computed),
            }
            if self.is_document {
                self.found.quoted.insert(place.clone());
            }
            self.found.copied.insert(place);
        }
        Ok(is_own)
    }

    pub(crate) fn leaf(&self, place: &[Step]) -> Option<Leaf> {
        // Metadata is the same for all kinds.
        if let ([Step::Key(metadata), Step::Key(key)], None) = (place, self.types.of_object(self.kind)) {
            let is_text = **metadata == *"metadata" && matches!(&**key, "name" | "namespace" | "uid");
            return is_text.then_some(Leaf::String);
        }
        leaf_of(self.types, type_at(self.types, self.kind, place)?)
    }

    /// Whether what is at a place is the same in every language: an object or a list of texts,
    /// integers and booleans.
    fn is_plain_whole(&self, place: &[Step]) -> bool {
        let of_parts = |ty: &Type| !matches!(resolved(self.types, ty), Resolved::Leaf);
        type_at(self.types, self.kind, place)
            .is_some_and(|ty| of_parts(ty) && is_plain(self.types, ty, 0) && has_texts(self.types, ty, 0))
    }
}

fn is_plain(types: &Types, ty: &Type, depth: usize) -> bool {
    if depth > MAX_COPIED_PARTS {
        return false;
    }
    match resolved(types, ty) {
        Resolved::Object(def, _) => def.fields.iter().all(|field| is_plain(types, &field.ty, depth + 1)),
        Resolved::Map(below, _) | Resolved::List(_, below) => is_plain(types, below, depth + 1),
        Resolved::Leaf => {
            matches!(leaf_of(types, ty), Some(Leaf::String | Leaf::Int32 | Leaf::Int64 | Leaf::Bool))
        }
        Resolved::Unknown => false,
    }
}

/// Whether something of a type can have a text in it, which differs from all others.
fn has_texts(types: &Types, ty: &Type, depth: usize) -> bool {
    match resolved(types, ty) {
        _ if depth > MAX_COPIED_PARTS => false,
        Resolved::Object(def, _) => def.fields.iter().any(|field| has_texts(types, &field.ty, depth + 1)),
        Resolved::Map(below, _) | Resolved::List(_, below) => has_texts(types, below, depth + 1),
        Resolved::Leaf => leaf_of(types, ty) == Some(Leaf::String),
        Resolved::Unknown => false,
    }
}
