//! Lists of which each item comes from one item of a list that the object has.
//!
//! In: an expression. Out: whether it gives such a list: the items of lists, one list after the
//! other, each as it is, left out or replaced by what is computed of it alone. So an item of it
//! needs one item of these, and without other items it has no items more. Expressions that have a
//! name (variables, entries of a context) are looked into.

use std::collections::BTreeSet;

use ephor_functions::registry::Operation;
use ephor_ir::parts::RulePart;
use ephor_ir::rule::{Binding, BindingSource, QuerySource};
use ephor_ir::strict::ComprehensionKind;
use ephor_ir::walk::holds;
use ephor_ir::{Expr, Query, Rule, Template};
use ephor_value::Value;

use crate::lists::small_model::model::{Items, ListProvenance, any_expr, key_of};

impl Items {
    /// Notes which variables and entries of a rule are such lists.
    pub(crate) fn note_grown(&mut self, rule: &Rule) {
        let has_binders = any_expr(RulePart::Rule(rule), &is_other_binder);
        self.grown = ListProvenance { has_binders, ..ListProvenance::default() };
        for variable in rule.expressions.iter().flat_map(|shared| &*shared.variables) {
            let program = variable.program.as_ref().ok();
            let names = program.and_then(|program| self.computes_items(program));
            self.grown.variables.push(names);
            let part = program.filter(|expr| !makes_list(expr) && self.grows(expr));
            let names = part.map(|expr| self.names(expr));
            self.grown.parts.push(names);
        }
        // Texts in which entries are put together say nothing of what they read.
        if rule.bindings.is_empty() || has_texts(RulePart::Rule(rule)) {
            return;
        }
        for entry in &rule.bindings {
            let is_only = rule.bindings.iter().filter(|other| other.name == entry.name).count() == 1;
            let names = of_binding(entry).filter(|_| is_only).and_then(|expr| self.computes_items(expr));
            if let Some(names) = names {
                self.grown.entries.insert(entry.name.to_string(), names);
            }
        }
    }

    /// The fields of whose lists a variable, an entry or an operand computes such a list; nothing
    /// where it only reads one.
    fn computes_items(&self, expr: &Expr) -> Option<BTreeSet<String>> {
        (makes_list(expr) && self.grows(expr)).then(|| self.names(expr))
    }

    /// The fields of whose lists an expression gives items; none where they are not known.
    pub(crate) fn names(&self, expr: &Expr) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        match self.add_names(expr, &mut found) {
            true => found,
            false => BTreeSet::new(),
        }
    }

    fn add_names(&self, expr: &Expr, out: &mut BTreeSet<String>) -> bool {
        let mut known = |names: Option<&BTreeSet<String>>| {
            names.is_some_and(|names| {
                out.extend(names.iter().cloned());
                !names.is_empty()
            })
        };
        match expr {
            Expr::Const(_) => is_empty(expr),
            Expr::Variable(at) => {
                let of = |all: &'_ [Option<BTreeSet<String>>]| {
                    all.get(*at as usize).and_then(Option::as_ref).cloned()
                };
                known(of(&self.grown.variables).or_else(|| of(&self.grown.parts)).as_ref())
            }
            Expr::Path { keys, .. } => match (entry(expr), &**keys) {
                (Some(name), [_]) => known(self.grown.entries.get(name)),
                (None, [.., last]) => {
                    out.insert(last.to_string());
                    !matches!(&**last, "element" | "object" | "oldObject" | "request")
                }
                _ => false,
            },
            Expr::Walk(walk) => match &*walk.steps {
                [] => self.add_names(&walk.base, out),
                [.., last] => key_of(last).is_some_and(|key| {
                    out.insert(key.to_string());
                    true
                }),
            },
            // What is computed of an item may be a list of it.
            Expr::Comprehension(l) => {
                self.add_names(&l.body, out);
                self.add_names(&l.range, out)
            }
            Expr::Project { source, body, .. } => {
                body.iter().for_each(|body| _ = self.add_names(body, out));
                self.add_names(source, out)
            }
            Expr::Flatten(expr) | Expr::Once { expr, .. } | Expr::Rescue { expr, .. } => {
                self.add_names(expr, out)
            }
            Expr::Let { body, .. } => self.add_names(body, out),
            Expr::Or(sides) => match &**sides {
                // It has no items, either.
                [first, other] if is_empty_text(other) => self.add_names(first, out),
                sides => self.add_all_names(sides, out),
            },
            Expr::OrElse { sides, .. } => self.add_all_names(&**sides, out),
            Expr::List(items) => self.add_all_names(items, out),
            Expr::Cond(parts) => self.add_all_names(&parts[1..], out),
            Expr::UnlessNull(parts) => self.add_all_names(&parts[1..], out),
            Expr::Invoke(call) => self.add_all_names(&call.args, out),
            _ => false,
        }
    }

    fn add_all_names(&self, all: &[Expr], out: &mut BTreeSet<String>) -> bool {
        !all.is_empty() && all.iter().all(|expr| self.add_names(expr, out))
    }

    /// Whether an expression is a list that has a name.
    pub(crate) fn reads_grown(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Variable(at) => self.is_grown_variable(*at as usize),
            expr => entry(expr).is_some_and(|name| self.grown.entries.contains_key(name)),
        }
    }

    /// Whether an expression reads one somewhere.
    pub(crate) fn has_grown(&self, expr: &Expr) -> bool {
        holds(expr, &|expr| self.reads_grown(expr))
    }

    /// Whether what is defined here is such a list: its items count where it is read.
    pub(crate) fn defines_grown(&self, binding: &Binding) -> bool {
        self.grown.entries.contains_key(&*binding.name)
    }

    pub(crate) fn is_grown_variable(&self, at: usize) -> bool {
        self.grown.variables.get(at).is_some_and(Option::is_some)
    }

    /// Whether an expression gives such a list, or reads a list or a single value.
    pub(crate) fn grows(&self, expr: &Expr) -> bool {
        let all = |all: &[Expr]| !all.is_empty() && all.iter().all(|expr| self.grows(expr));
        let or_empty = |sides: &[Expr; 2]| self.grows(&sides[0]) && is_empty(&sides[1]);
        match expr {
            Expr::Const(_) => is_empty(expr),
            // Binders that are no loops name anything.
            Expr::Local(_) => !self.grown.has_binders,
            Expr::Variable(at) => {
                let at = *at as usize;
                self.is_grown_variable(at) || self.grown.parts.get(at).is_some_and(Option::is_some)
            }
            Expr::Path { base, .. } => match **base {
                Expr::Root => entry(expr).is_none_or(|name| self.grown.entries.contains_key(name)),
                _ => self.grows(base),
            },
            Expr::Walk(walk) => {
                walk.steps.iter().all(|step| key_of(step).is_some()) && self.grows(&walk.base)
            }
            Expr::Flatten(expr) | Expr::Once { expr, .. } | Expr::Rescue { expr, .. } => self.grows(expr),
            Expr::List(items) => all(items),
            // Lists below an object that has a name.
            Expr::Let { body, .. } => !is_other_binder(expr) && self.grows(body),
            Expr::UnlessNull(parts) => is_path(&parts[0]) && self.grows(&parts[1]),
            Expr::Or(sides) if is_empty_text(&sides[1]) => self.grows(&sides[0]),
            Expr::Or(sides) | Expr::OrElse { sides, .. } => or_empty(sides),
            Expr::Cond(parts) => {
                let [test, given, other] = &**parts;
                matches!(test, Expr::Test(_)) && self.grows(given) && is_empty(other)
            }
            Expr::Invoke(call) => {
                matches!(call.function.operation, Operation::Add | Operation::Unchanged) && all(&call.args)
            }
            Expr::Comprehension(l) => {
                let is_list = l.kind == ComprehensionKind::List && !l.two;
                is_list && self.walks(&l.range, l.keep.iter().chain([&l.body]))
            }
            Expr::Project { source, keep, body, .. } => {
                self.walks(source, [keep, body].into_iter().flatten().map(|expr| &**expr))
            }
            _ => false,
        }
    }

    /// Whether a loop over a list says something of each item alone.
    fn walks<'e>(&self, list: &Expr, mut of_item: impl Iterator<Item = &'e Expr>) -> bool {
        self.grows(list) && of_item.all(|expr| self.is_local(RulePart::Expr(expr), &[]))
    }
}

/// The expression that a template computes, if it is nothing else.
pub(crate) fn of_template(template: &Template) -> Option<&Expr> {
    match template {
        Template::Whole(hole) => of_query(&hole.query),
        _ => None,
    }
}

/// The expression of a query.
pub(crate) fn of_query(query: &Query) -> Option<&Expr> {
    query.expr.as_ref().ok()
}

/// The expression that an entry computes.
fn of_binding(binding: &Binding) -> Option<&Expr> {
    match &binding.source {
        BindingSource::Variable {
            value: None,
            query: Some(QuerySource::Ready(query)),
            default: None,
            ..
        } => of_query(query),
        _ => None,
    }
}

/// The name that a path reads below the root, if it is not the request.
fn entry(path: &Expr) -> Option<&str> {
    let Expr::Path { base, keys, .. } = path else { return None };
    let first = keys.first().filter(|_| **base == Expr::Root)?;
    let is_request = matches!(&**first, "request" | "object" | "oldObject" | "element");
    (!is_request).then_some(first)
}

/// Whether there are texts that are put together of others.
fn has_texts(part: RulePart) -> bool {
    matches!(part, RulePart::Template(Template::Text(_) | Template::Rounds(_)))
        || part.any(&mut |below| !matches!(below, RulePart::Message(_)) && has_texts(below))
}

/// Whether an expression computes a list of items, and is no path.
pub(crate) fn makes_list(expr: &Expr) -> bool {
    holds(expr, &|expr| matches!(expr, Expr::Comprehension(_) | Expr::Project { .. } | Expr::Flatten(_)))
}

/// Whether a node gives a name to something else than a part of the object.
fn is_other_binder(expr: &Expr) -> bool {
    match expr {
        Expr::Bind(_) => true,
        Expr::Let { value, .. } => !is_path(value),
        _ => false,
    }
}

fn is_path(expr: &Expr) -> bool {
    match expr {
        Expr::Local(_) => true,
        Expr::Path { base, .. } => matches!(**base, Expr::Root | Expr::Local(_)),
        Expr::Rescue { expr, .. } => is_path(expr),
        _ => false,
    }
}

/// Whether an expression is a list without items.
fn is_empty(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(Value::List(items)) if items.is_empty())
}

/// Whether an expression is a text without letters, which queries write for a list that is not
/// there.
fn is_empty_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(Value::Str(text)) if text.is_empty())
}
