//! Loops that change or generate something: expressions about their elements.
//!
//! In: the lists of loops, from the outermost to the innermost. Out: expressions about the
//! elements, which stand in macros over the lists. What expressions share is written out, because
//! variables do not see elements.

use std::sync::Arc;

use ephor_ir::rule::Binding;
use ephor_ir::{Conditions, Origin, Query, Rule, Template};
use ephor_value::{Str, Value};

use super::scope::Scope;
use super::term::{Faults, Path, Val};
use super::types::Ty;
use super::{scope_of, whole};
use crate::cel::build::{empty_list, index, name};
use crate::expressions::context::Context;
use crate::expressions::refusal::{Refusal, Result};
use crate::expressions::translate::forms::{plain, ty_of};
use crate::expressions::translate::lists::{built, is_list, label_of};
use crate::expressions::translate::{conditions, template};

/// How elements are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// By the name of a macro's variable.
    Named,
    /// By their position in the list, where macros have one variable only.
    Positioned,
}

/// A loop whose elements expressions can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entered {
    /// The list, which is empty where it is missing.
    pub list: String,
    /// What an element is called.
    pub var: Str,
    /// What its position is called.
    pub position: Str,
    /// The keys that lead from the object to the list, where it is one of the object.
    pub keys: Option<Vec<Str>>,
    /// The keys that lead to it from an element of the loop around it.
    pub below: Option<Vec<Str>>,
    /// Whether there is no element that is null.
    pub is_plain: bool,
}

/// Expressions in loops.
pub struct InLoop<'c> {
    scope: Scope<'c>,
    depth: usize,
    reading: Reading,
}

impl<'c> InLoop<'c> {
    /// Outside of the first loop.
    pub fn new(rule: &'c Rule, context: &'c Context, reading: Reading) -> InLoop<'c> {
        InLoop { scope: scope_of(rule, None, context), depth: 0, reading }
    }

    /// Does something in a loop.
    pub fn within<T>(
        &mut self,
        own: &Query,
        bindings: &[Arc<Binding>],
        origin: &Origin,
        act: &mut dyn FnMut(&mut InLoop<'c>, &Entered) -> Result<T>,
    ) -> Result<T> {
        let place = std::mem::replace(&mut self.scope.place, origin.clone());
        let (names, known) = (self.scope.names.clone(), self.scope.bindings.len());
        let loops = self.scope.loops.len();
        let result = self.enter(own).and_then(|entered| {
            self.scope.bindings.extend(bindings.iter().cloned());
            self.depth += 1;
            let found = act(self, &entered);
            self.depth -= 1;
            found
        });
        self.scope.bindings.truncate(known);
        self.scope.loops.truncate(loops);
        (self.scope.names, self.scope.place) = (names, place);
        result
    }

    fn enter(&mut self, own: &Query) -> Result<Entered> {
        let scope = &mut self.scope;
        let any = || Ty::List(Box::new(Ty::Any));
        let found = match template::query(own, scope)? {
            // A list that is empty where it is missing.
            Val::Or(sides) if sides[1].is_empty() && is_list(&sides[0]) => {
                let [list, _] = *sides;
                list.rescued()
            }
            found => found,
        };
        let found = match found {
            Val::Const(Value::Null) => Val::Const(Value::list(Vec::new())),
            Val::Path(path) if path.ty == Ty::Any => Val::Path(Path { ty: any(), ..path }),
            Val::Optional { node, ty: Ty::Any, faults, rescued } => {
                Val::Optional { node, ty: any(), faults, rescued }
            }
            Val::Const(v) if v.as_list().is_none() => {
                return Err(scope.refuse("a loop over what is no list", "use a list"));
            }
            other => other,
        };
        if !is_list(&found) && !matches!(found, Val::Const(_)) {
            return Err(scope.refuse("a loop over what is no list", "use a list"));
        }
        let path = match &found {
            Val::Path(path) => Some(path.steps.iter().map(|step| step.key.clone()).collect::<Vec<Str>>()),
            _ => None,
        };
        let base = match &found {
            Val::Path(path) => path.base.as_ident().cloned(),
            _ => None,
        };
        let of_object = base.as_deref() == Some("object");
        let above = scope.loops.iter().rev().nth(1).cloned();
        let is_below = base.is_some() && base == above;
        let (node, _): (_, Faults) = match &found {
            // A path that is not there is an error.
            Val::Path(path) if path.fails => (path.strict(), Faults::new()),
            Val::Path(path) => (path.or(empty_list()), Faults::new()),
            Val::Const(_) => plain(&found, scope)?,
            other => built(other, scope)?,
        };
        let label = label_of(&found);
        let var = scope.item_name(label.as_deref());
        let position = scope.unused("index");
        let item = match self.reading {
            Reading::Named => name(&var),
            Reading::Positioned => index(node.clone(), name(&position)),
        };
        let item = Val::Path(Path::of(item, ty_of(&found).item()));
        scope.loops.extend([var.clone(), position.clone()]);
        let at = Val::Node { node: name(&position), ty: Ty::Int, faults: Faults::new() };
        for (key, value) in [("element", item), ("elementIndex", at)] {
            scope.names.insert(key.into(), value.clone());
            scope.names.insert(format!("{key}{}", self.depth).into(), value);
        }
        let is_plain = matches!(ty_of(&found).item(), Ty::Object(_) | Ty::Text | Ty::Int | Ty::Bool);
        let list = whole(node, scope);
        Ok(Entered {
            list: if list.contains(" + ") || list.contains(" ? ") { format!("({list})") } else { list },
            var,
            position,
            keys: path.clone().filter(|_| of_object),
            below: path.filter(|_| is_below),
            is_plain,
        })
    }

    /// Whether conditions hold.
    pub fn holds(&mut self, own: &Conditions) -> Result<String> {
        let test = conditions::conditions(own, &mut self.scope)?;
        Ok(whole(test.node, &self.scope))
    }

    /// The value of a template.
    pub fn value(&mut self, own: &Template) -> Result<String> {
        let val = template::template(own, &mut self.scope)?;
        let (node, _) = plain(&val, &mut self.scope)?;
        Ok(whole(node, &self.scope))
    }

    /// What YAML reads where a template stands in a text, in quotes or not.
    ///
    /// # Errors
    /// The first construct that cannot be expressed in CEL, or a text that YAML may read as
    /// something else.
    pub fn in_yaml(&mut self, own: &Template, is_quoted: bool) -> Result<String> {
        let node = super::read_by_yaml(own, is_quoted, &mut self.scope)?;
        Ok(whole(node, &self.scope))
    }

    /// A refusal at the place of the loop.
    pub fn refuse(&self, construct: &str, nearest: &str) -> Refusal {
        self.scope.refuse(construct, nearest)
    }
}
