//! Reading below a part that need not be there.
//!
//! In: a rule. Out: the rule with `a.?b.?c` in the place of `(has(a.b) ? a.b : {}).?c`: both are
//! none where `a.b` is not there, and what `a.b` holds else. Analyses follow the new form. Policies
//! that are evaluated on templates of pods have the old one (`docs/semantics/cel-policies.md`,
//! "Controllers of pods"), whose steps the optimiser puts into both alternatives.

use ephor_ir::strict::{Step, Walk};
use ephor_ir::walk::{bottom_up, holds};
use ephor_ir::{Expr, Rule};
use ephor_value::{Map, Value};

use crate::normal::rewrite::rewritten;

/// A rule whose expressions read below such parts directly.
pub(crate) fn read_directly(rule: Rule) -> Rule {
    let has_some = |expr: &Expr| holds(expr, &|one| direct(one).is_some());
    rewritten(rule, &|expr| has_some(expr).then(|| simplified(expr.clone())))
}

fn simplified(expr: Expr) -> Expr {
    bottom_up(expr, &mut |expr| direct(&expr).unwrap_or(expr))
}

/// The direct form of an expression that reads so.
fn direct(expr: &Expr) -> Option<Expr> {
    let Expr::Cond(parts) = expr else { return None };
    let [Expr::Test(test), Expr::Walk(there), Expr::Walk(absent)] = &**parts else { return None };
    let is_nothing = absent.base.constant().and_then(Value::as_map).is_some_and(Map::is_empty);
    let (above, rest) = there.steps.split_at_checked(test.walk.steps.len())?;
    let (Step::Key { key, optional: false }, below) = rest.split_first()? else { return None };
    let is_open =
        matches!(below.first(), Some(Step::Key { optional: true, .. } | Step::At { optional: true, .. }));
    let is_same =
        *above == *test.walk.steps && there.base == test.walk.base && key.as_str() == Some(&test.key);
    (is_nothing && is_open && is_same && *below == *absent.steps).then(|| {
        let key = Step::Key { key: key.clone(), optional: true };
        let steps = above.iter().cloned().chain([key]).chain(below.iter().cloned()).collect();
        // As it is where it is written so.
        Expr::Walk(Box::new(Walk { base: there.base.clone(), steps, has_cost: true }))
    })
}
