//! A rule with other expressions of CEL.
//!
//! In: a rule, and what takes the place of an expression. Out: the rule with its conditions,
//! variables and validations rewritten. What is rewritten is computed anew, so nothing of it is
//! shared.

use std::sync::Arc;

use ephor_ir::check::Check;
use ephor_ir::expressions::{Expressions, Source, Validation, Variable};
use ephor_ir::rule::Body;
use ephor_ir::sharing::Sharing;
use ephor_ir::{Expr, Rule};

/// What takes the place of an expression, where that is another one.
pub(crate) type Rewrite<'r> = &'r dyn Fn(&Expr) -> Option<Expr>;

/// A rule with its expressions rewritten.
pub(crate) fn rewritten(rule: Rule, rewrite: Rewrite<'_>) -> Rule {
    let body = match rule.body {
        Body::Validate { check: Check::Assert(all), message } => {
            let of = |one: Validation| Validation { check: source(one.check, rewrite), ..one };
            Body::Validate { check: Check::Assert(all.into_iter().map(of).collect()), message }
        }
        other => other,
    };
    let expressions = rule.expressions.map(|shared| {
        let of = |variable: Variable| match variable.program.as_ref().ok().and_then(rewrite) {
            Some(program) => Variable { program: Ok(program), sharing: Sharing::default(), ..variable },
            None => variable,
        };
        let shared = Arc::unwrap_or_clone(shared);
        Arc::new(Expressions {
            conditions: shared.conditions.into_iter().map(|one| source(one, rewrite)).collect(),
            variables: shared.variables.into_iter().map(of).collect(),
            ..shared
        })
    });
    Rule { body, expressions, ..rule }
}

fn source(own: Source, rewrite: Rewrite<'_>) -> Source {
    match own.program.as_ref().ok().and_then(rewrite) {
        Some(program) => Source { program: Ok(program), sharing: Sharing::default(), ..own },
        None => own,
    }
}
