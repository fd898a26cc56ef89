//! `all`, `exists`, `in` and `size` of CEL, taken out of expressions.
//!
//! In: an expression. Out: each of these as an expression of its own, and the expression without
//! them.

use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::check::Check;
use ephor_ir::expressions::{Source, Validation, Variable};
use ephor_ir::strict::{Comprehension, ComprehensionKind};
use ephor_ir::walk::{holds, map_children};
use ephor_value::Value;

use crate::lists::iteration::{Range, is_closed, is_local, is_of_entry, range};
use crate::lists::loops::{LoopCutter, Outer};
use crate::model::limits::MAX_COUNTED_LENGTH;

impl LoopCutter<'_> {
    pub(crate) fn source(&mut self, source: &Source) -> Source {
        let Ok(program) = &source.program else { return source.clone() };
        let program = with_constants(program, self.variables);
        let program = self.cel(&program, self.variables, 0, source);
        Source { program: Ok(program), sharing: Default::default(), ..source.clone() }
    }

    /// Adds an expression of CEL.
    fn add_cel(&mut self, expr: Expr, cells: u32, source: &Source, range: &Range, by_key: bool) {
        let expr = match &self.around {
            Some((Outer::All(l), _)) => {
                Expr::Comprehension(Box::new(Comprehension { body: expr, ..l.clone() }))
            }
            _ => expr,
        };
        // A longer list has another value after false than after an error. With the opposite they
        // are two classes.
        let opposite = self.hides_errors.then(|| {
            let [no, yes] = [false, true].map(|is| Expr::Const(Value::Bool(is)));
            Expr::Cond(Box::new([expr.clone(), no, yes]))
        });
        for expr in std::iter::once(expr).chain(opposite) {
            self.add_assertion(expr, cells, source, range, by_key);
        }
    }

    fn add_assertion(&mut self, expr: Expr, cells: u32, source: &Source, range: &Range, by_key: bool) {
        let expr = match holds(&expr, &|e| matches!(e, Expr::Once { .. })) {
            true => Expr::Cells { count: cells, body: Box::new(expr) },
            false => expr,
        };
        let check = Source { program: Ok(expr), sharing: Default::default(), ..source.clone() };
        let validation = Validation { check, message: "".into(), message_program: None, reason: "".into() };
        self.add_part(Check::Assert([validation].into()), range, by_key);
    }

    /// An expression of CEL without its loops.
    fn cel(&mut self, expr: &Expr, variables: &[Variable], cells: u32, source: &Source) -> Expr {
        let binders = u32::from(self.around.is_some());
        match expr {
            Expr::Comprehension(l)
                if matches!(l.kind, ComprehensionKind::All | ComprehensionKind::Exists)
                    && !l.two
                    && is_closed(&l.range, binders) =>
            {
                let Some(range) = range(&l.range, self.around(variables)) else {
                    return self.cel_below(expr, variables, cells, source);
                };
                let all_parts = |is: &dyn Fn(&Expr) -> bool| is(&l.body) && l.keep.as_ref().is_none_or(is);
                let by_key = !all_parts(&|part| is_local(part, 1));
                if by_key {
                    let around = self.around(variables);
                    let is_map = |map: &Expr| {
                        crate::lists::loops::cel::range(map, around)
                            .is_some_and(|own| own.lists == range.lists)
                    };
                    let of_entries = range.is_plain && range.lists.len() == 1 && self.around.is_none();
                    if !of_entries || self.is_inner || !all_parts(&|part| is_of_entry(part, 1, &is_map)) {
                        return self.cel_below(expr, variables, cells, source);
                    }
                    self.add_cel(expr.clone(), cells, source, &range, true);
                    return Expr::Const(Value::Bool(true));
                }
                let all = |body: Expr| Comprehension {
                    kind: ComprehensionKind::All,
                    keep: None,
                    body,
                    ..(**l).clone()
                };
                if self.is_wanted(&range) {
                    let of_true = all(Expr::Const(Value::Bool(true)));
                    if !range.is_plain {
                        // Whether the list itself has an error.
                        self.add_cel(Expr::Comprehension(Box::new(of_true)), cells, source, &range, false);
                    }
                    self.add_cel(expr.clone(), cells, source, &range, false);
                    return Expr::Const(Value::Bool(true));
                }
                if self.around.is_some() || !range.is_plain {
                    return expr.clone();
                }
                self.around = Some((Outer::All(all(Expr::Root)), range.item()));
                let keep = l.keep.as_ref().map(|keep| self.cel(keep, variables, cells, source));
                let body = self.cel(&l.body, variables, cells, source);
                self.around = None;
                Expr::Comprehension(Box::new(Comprehension { keep, body, ..(**l).clone() }))
            }
            Expr::Invoke(invoke) => {
                match (invoke.function.operation, &*invoke.args) {
                    (Operation::Member, [one, list])
                        if one.constant().is_some() && is_closed(list, binders) =>
                    {
                        if let Some(range) = range(list, self.around(variables))
                            && self.is_wanted(&range)
                        {
                            self.add_cel(expr.clone(), cells, source, &range, false);
                            return Expr::Const(Value::Bool(true));
                        }
                    }
                    (operation, [one, other]) if operation.is_comparison() => {
                        if let Some((list, number)) = counted(one, other).or_else(|| counted(other, one))
                            && (0..=MAX_COUNTED_LENGTH).contains(&number)
                            && is_closed(list, binders)
                            && let Some(range) = range(list, self.around(variables))
                            && self.is_wanted(&range)
                        {
                            // One more than the number differs from it.
                            for number in 0..=number + 1 {
                                self.add_cel(with_number(expr, number), cells, source, &range, false);
                            }
                            return Expr::Const(Value::Bool(true));
                        }
                    }
                    _ => {}
                }
                self.cel_below(expr, variables, cells, source)
            }
            Expr::Variable(n) if self.around.is_none() => match Variable::at(variables, *n) {
                Some((program, earlier)) if range(expr, self.around(variables)).is_none() => {
                    self.cel(program, earlier, 0, source)
                }
                _ => expr.clone(),
            },
            Expr::Cells { count, body } => {
                let body = self.cel(body, variables, *count, source);
                Expr::Cells { count: *count, body: Box::new(body) }
            }
            _ => self.cel_below(expr, variables, cells, source),
        }
    }

    fn cel_below(&mut self, expr: &Expr, variables: &[Variable], cells: u32, source: &Source) -> Expr {
        map_children(expr.clone(), &mut |e, child| match child.binders {
            0 => self.cel(&e, variables, cells, source),
            _ => e,
        })
    }
}

/// An expression with the values of variables that are the same for all objects: what is read of a
/// loop's items is then plain.
fn with_constants(expr: &Expr, variables: &[Variable]) -> Expr {
    let is_impure = |e: &Expr| matches!(e, Expr::Invoke(invoke) if !invoke.function.is_pure());
    match expr {
        Expr::Variable(n) => match variables.get(*n as usize).map(|variable| &variable.program) {
            Some(Ok(program)) if is_local(program, 0) && !holds(program, &is_impure) => program.clone(),
            _ => expr.clone(),
        },
        expr => map_children(expr.clone(), &mut |e, _| with_constants(&e, variables)),
    }
}

/// The list whose length is one side of a comparison, and the number that is the other.
fn counted<'e>(one: &'e Expr, other: &'e Expr) -> Option<(&'e Expr, i64)> {
    match (one.invoked()?, other.constant()) {
        ((Operation::Size, [list]), Some(Value::Int(number))) => Some((list, *number)),
        _ => None,
    }
}

/// A comparison of a length with another number.
fn with_number(expr: &Expr, number: i64) -> Expr {
    map_children(expr.clone(), &mut |e, _| match e.constant() {
        Some(Value::Int(_)) => Expr::Const(Value::Int(number)),
        _ => e,
    })
}
