//! Lengths that are used in ways which say nothing of how many items matter.
//!
//! In: a rule. Out: whether each length of a list or text is compared with a number that
//! is written there. How a length is used otherwise is not described: it is a part of a sum or a
//! text, an index, an item of a list, or is compared with another length or a field.

use ephor_functions::registry::Operation;
use ephor_ir::condition::Operator;
use ephor_ir::parts::RulePart;
use ephor_ir::rule::{BindingSource, QuerySource};
use ephor_ir::strict::{Step, Walk};
use ephor_ir::walk::any_child;
use ephor_ir::{Expr, Rule, Template};
use ephor_value::Value;

use crate::lists::small_model::counts::are_counts;
use crate::lists::small_model::model::{any_deciding, any_expr, is_length as is_call_of_length};
use crate::lists::small_model::provenance::{makes_list, of_query};

/// What a walk knows of the values with names.
#[derive(Clone, Default)]
struct UsedNames {
    /// Variables that are lengths.
    variables: Vec<bool>,
    /// Entries of the context that are.
    entries: Vec<String>,
    /// Values of binders that are, the innermost last.
    locals: Vec<bool>,
}

impl UsedNames {
    /// With the values of more binders.
    fn with(&self, values: impl IntoIterator<Item = bool>) -> UsedNames {
        let locals = self.locals.iter().copied().chain(values).collect();
        UsedNames { locals, ..self.clone() }
    }
}

/// Whether lengths are used in another way somewhere in a rule.
pub(crate) fn has_other_uses(rule: &Rule) -> bool {
    let mut names = UsedNames::default();
    for variable in rule.expressions.iter().flat_map(|shared| &*shared.variables) {
        let is_length = variable.program.as_ref().is_ok_and(|program| is_length(program, &names));
        names.variables.push(is_length);
    }
    add_entries(RulePart::Rule(rule), &mut names);
    is_other(RulePart::Rule(rule), false, &names)
}

/// The entries of the context that are lengths, in loops too.
fn add_entries(part: RulePart, names: &mut UsedNames) {
    if let RulePart::Binding(binding) = part
        && is_length_of(&binding.source, names)
    {
        names.entries.push(binding.name.to_string());
    }
    part.parts(&mut |below| add_entries(below, names));
}

/// Whether an entry is a length.
fn is_length_of(source: &BindingSource, names: &UsedNames) -> bool {
    let query = match source {
        BindingSource::Variable { query, .. }
        | BindingSource::Global { query, .. }
        | BindingSource::Image { query, .. }
        | BindingSource::Given { query, .. } => query,
        BindingSource::ConfigMap { .. } | BindingSource::ApiCall { .. } => &None,
    };
    match query {
        Some(QuerySource::Ready(query)) => of_query(query).is_some_and(|expr| is_length(expr, names)),
        Some(QuerySource::Dynamic { .. }) | None => false,
    }
}

/// Whether a value is a length, and not what is computed of one.
fn is_length(expr: &Expr, names: &UsedNames) -> bool {
    is_call(expr, names) || inner(expr).into_iter().any(|expr| is_length(expr, names))
}

/// Whether an expression is a length, or the name of one.
fn is_call(expr: &Expr, names: &UsedNames) -> bool {
    let is = |known: Option<&bool>| known.copied().unwrap_or_default();
    match expr {
        Expr::Variable(at) => is(names.variables.get(*at as usize)),
        Expr::Local(at) => is(names.locals.iter().rev().nth(*at as usize)),
        Expr::Path { keys, .. } => match &**keys {
            [only] => names.entries.iter().any(|own| **own == **only),
            _ => false,
        },
        expr => is_call_of_length(expr),
    }
}

/// Whether a length is that of an element, which may be a name of a field.
fn is_of_element(call: &Expr) -> bool {
    fn is_element(expr: &Expr) -> bool {
        match expr {
            Expr::Rescue { expr, .. } => is_element(expr),
            Expr::Path { keys, .. } => matches!(&**keys, [only] if **only == *"element"),
            _ => false,
        }
    }
    match call {
        Expr::Call { args, .. } => args.iter().any(is_element),
        _ => false,
    }
}

/// The parts of an expression that have its value.
fn inner(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Rescue { expr, .. } | Expr::Once { expr, .. } => vec![expr],
        Expr::Let { body, .. } | Expr::Cells { body, .. } => vec![body],
        Expr::Bind(parts) | Expr::UnlessNull(parts) => vec![&parts[1]],
        Expr::Or(sides) | Expr::OrElse { sides, .. } => sides.iter().collect(),
        Expr::Walk(walk) if walk.steps.is_empty() => vec![&walk.base],
        expr => match expr.invoked() {
            Some((Operation::Unchanged | Operation::ToInt | Operation::ToDouble, args)) => {
                args.iter().collect()
            }
            _ => Vec::new(),
        },
    }
}

/// Whether a length stands somewhere where it is not compared with a number; `compared`: what
/// stands here is.
fn is_other(part: RulePart, compared: bool, names: &UsedNames) -> bool {
    let any = |compared: bool| any_deciding(part, &mut |below| is_other(below, compared, names));
    match part {
        RulePart::MessageProgram(_) => false,
        RulePart::Expr(expr) => is_other_expr(expr, compared, names),
        RulePart::Query(query) => {
            let makes_list = |expr: &Expr| makes_list(expr) && prints_value(part);
            of_query(query).is_some_and(makes_list) || any(compared)
        }
        RulePart::Condition(condition) => {
            let compares = matches!(
                condition.operator,
                Some(Operator::Equals | Operator::NotEquals | Operator::Order(_))
            );
            let sides = [&condition.key, &condition.value];
            let number = compares && (sides.into_iter().any(is_number_template) || are_counts(condition));
            sides.into_iter().any(|side| is_other(RulePart::Template(side), number, names))
        }
        // What has a name is compared where it is read.
        RulePart::Variable(variable) => variable
            .program
            .as_ref()
            .is_ok_and(|program| is_other_expr(program, is_length(program, names), names)),
        RulePart::Binding(binding) => {
            let is_length = is_length_of(&binding.source, names);
            is_other(RulePart::BindingSource(&binding.source), is_length, names)
        }
        RulePart::BindingSource(_) => part.any(&mut |below| {
            let is_value = matches!(below, RulePart::QuerySource(_));
            is_other(below, compared && is_value, names)
        }),
        RulePart::QuerySource(_) | RulePart::Template(Template::Whole(_)) => any(compared),
        _ => any(false),
    }
}

fn is_other_expr(expr: &Expr, compared: bool, names: &UsedNames) -> bool {
    if is_call(expr, names) && (!compared || is_of_element(expr)) {
        return true;
    }
    match expr {
        Expr::Walk(walk) if is_computed_index(walk) => return true,
        Expr::Test(test) if is_computed_index(&test.walk) => return true,
        Expr::Let { value, body } => return is_other_bound(value, body, compared, names),
        Expr::Bind(parts) => return is_other_bound(&parts[0], &parts[1], compared, names),
        _ => {}
    }
    if let Some(sides) = comparison(expr) {
        let number = sides.iter().any(is_number);
        return sides.iter().any(|side| is_other_expr(side, number, names));
    }
    let with_value = inner(expr);
    any_child(expr, &mut |e, child| {
        let is_value = compared && with_value.iter().any(|own| std::ptr::eq(*own, e));
        match child.binders {
            0 => is_other_expr(e, is_value, names),
            more => is_other_expr(e, is_value, &names.with((0..more).map(|_| false))),
        }
    })
}

fn is_other_bound(value: &Expr, body: &Expr, compared: bool, names: &UsedNames) -> bool {
    let is_length = is_length(value, names);
    is_other_expr(value, is_length, names) || is_other_expr(body, compared, &names.with([is_length]))
}

/// Whether an item of a constant list is read by a value: its positions are what the value is
/// compared with. Of an object they are known (`analysis::reads`).
fn is_computed_index(walk: &Walk) -> bool {
    walk.base.constant().is_some_and(|value| !matches!(value, Value::Map(_)))
        && !walk.steps.iter().all(|step| matches!(step, Step::Key { .. }))
}

/// Whether something that is no number becomes a text.
pub(crate) fn prints_value(part: RulePart) -> bool {
    let is_number = |arg: &Expr| arg.called().is_some_and(|function| function.operation.gives_number());
    let prints = |expr: &Expr| matches!(expr.applied(), Some((Operation::ToJson, args)) if !args.iter().all(is_number));
    any_expr(part, &prints)
}

/// The sides of a comparison.
fn comparison(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Compare { sides, .. } => Some(&**sides),
        Expr::Invoke(call) => call.function.operation.is_comparison().then_some(&*call.args),
        _ => None,
    }
}

/// Whether a side of a condition is a number that is no less than zero.
fn is_number_template(side: &Template) -> bool {
    side.as_const().is_some_and(is_number_value)
}

fn is_number(expr: &Expr) -> bool {
    expr.constant().is_some_and(is_number_value)
}

fn is_number_value(value: &Value) -> bool {
    let number = match value {
        Value::Int(n) => *n as f64,
        Value::Float(f) => *f,
        Value::Str(text) => match text.parse() {
            Ok(number) => number,
            Err(_) => return false,
        },
        _ => return false,
    };
    (0.0..1e6).contains(&number)
}
