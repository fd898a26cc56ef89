//! Conditions about the operation alone, which is known.
//!
//! In: a rule, and an environment. Out: the rule, in which a condition such as
//! `{{ request.operation }}`, `AnyIn`, `[CREATE, UPDATE]` is one that always holds, or never: what
//! the engine says of it. So a rule says the same of creations and updates, and these are read
//! once (`normal::environment_key`).

use std::collections::HashMap;
use std::sync::Arc;

use ephor_analysis::tree::Tree;
use ephor_ir::check::Check;
use ephor_ir::condition::Operator;
use ephor_ir::{Condition, Conditions, Expr, Origin, Policy, Rule, Template};
use ephor_policies::policy_set::PolicySet;
use ephor_value::Value;

use crate::lists::loops::alone;
use crate::model::environment::Environment;
use crate::model::request::{Case, request};
use crate::model::verdict::Verdict;
use crate::normal::conditions::with_conditions;
use crate::normal::print::written;
use crate::sides::lookup_stub;
use crate::sides::side::judge;

/// Deeper expressions are not looked into.
const MAX_DEPTH: usize = 16;

/// What conditions about the operation say in an environment, each evaluated once.
pub(crate) struct OfOperation<'e> {
    environment: &'e Environment,
    known: HashMap<String, Option<bool>>,
}

impl<'e> OfOperation<'e> {
    pub fn new(environment: &'e Environment) -> Self {
        OfOperation { environment, known: HashMap::new() }
    }

    /// A rule of a policy in which conditions about the operation alone are decided.
    pub fn decided(&mut self, policy: &Policy, rule: &Rule) -> Rule {
        with_conditions(rule, &mut |own| self.conditions((policy, rule), own))
    }

    fn conditions(&mut self, of: (&Policy, &Rule), own: &Conditions) -> Conditions {
        let mut each = |all: &[Condition]| all.iter().map(|one| self.condition(of, one)).collect();
        Conditions { any: own.any.as_deref().map(&mut each), all: each(&own.all), ..own.clone() }
    }

    fn condition(&mut self, of: (&Policy, &Rule), one: &Condition) -> Condition {
        let sides = || [&one.key, &one.value].into_iter();
        if sides().all(is_constant) || !sides().all(|side| is_constant(side) || is_operation(side)) {
            return one.clone();
        }
        let Some(text) = Tree::of(one).map(|tree| written(&tree)) else { return one.clone() };
        let holds = match self.known.get(&text) {
            Some(known) => *known,
            None => {
                let holds = self.holds(of, one);
                self.known.insert(text, holds);
                holds
            }
        };
        let Some(holds) = holds else { return one.clone() };
        let [key, value] = [true, holds].map(|side| Template::Const(Value::Bool(side)));
        Condition { key, operator: Some(Operator::Equals), value, ..one.clone() }.with_prepared()
    }

    /// Whether a condition holds; `None` where it fails.
    fn holds(&self, (policy, rule): (&Policy, &Rule), one: &Condition) -> Option<bool> {
        let all = Conditions { origin: Origin::default(), any: None, all: [one.clone()].into(), flat: false };
        let alone = alone(policy, rule, Check::Deny(all));
        let policy = Policy { by_kind: Vec::new(), rule_count: 1, namespace: None, ..alone };
        let engine = lookup_stub::engine(PolicySet::new(vec![Arc::new(policy)], Vec::new()));
        let case = Case { object: self.environment.bare_object(), old: None, around: Arc::default() };
        match judge(&engine, &request(self.environment, &case)?).verdict {
            Verdict::Fail => Some(true),
            Verdict::Pass => Some(false),
            _ => None,
        }
    }
}

fn is_constant(side: &Template) -> bool {
    matches!(side, Template::Const(_))
}

/// Whether a side depends on the operation of a request, and on nothing else.
fn is_operation(side: &Template) -> bool {
    let Template::Whole(hole) = side else { return false };
    let query = &hole.query;
    query.needs.is_empty()
        && query.on_delete.is_none()
        && query.expr.as_ref().is_ok_and(|expr| of_operation(expr, 0))
}

fn of_operation(expr: &Expr, depth: usize) -> bool {
    let both = |sides: &[Expr; 2]| sides.iter().all(|side| of_operation(side, depth + 1));
    depth < MAX_DEPTH
        && match expr {
            Expr::Const(_) => true,
            Expr::Path { base, keys, .. } => {
                matches!(**base, Expr::Root) && keys.iter().map(|key| &**key).eq(["request", "operation"])
            }
            Expr::Rescue { expr, .. } | Expr::Not(expr) => of_operation(expr, depth + 1),
            Expr::Or(sides) | Expr::And(sides) | Expr::Compare { sides, .. } => both(sides),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use ephor_ir::rule::Body;

    use super::*;
    use crate::compare_tests::{classic, side};
    use crate::sides::environments::environments;

    /// The conditions of a policy about ConfigMaps in requests of an operation, as constants where
    /// they are decided.
    fn decided(conditions: &str, operation: &str) -> Vec<Option<bool>> {
        let side =
            side(&classic("ConfigMap", &format!("{{message: m, deny: {{conditions: {{{conditions}}}}}}}")));
        let (all, _) = environments([&side, &side]);
        let environment = all.iter().find(|one| one.operation == operation).unwrap();
        let policy = &side.engine.set().policies()[0];
        let rule = OfOperation::new(environment).decided(policy, &policy.rules[0]);
        let Body::Validate { check: Check::Deny(conditions), .. } = &rule.body else { panic!("no deny") };
        let of = |one: &Condition| match (&one.key, &one.value) {
            (Template::Const(Value::Bool(true)), Template::Const(Value::Bool(holds))) => Some(*holds),
            _ => None,
        };
        conditions.any.iter().flatten().chain(&conditions.all).map(of).collect()
    }

    #[test]
    fn conditions_about_the_operation_are_decided() {
        let any = "any: [{key: '{{ request.operation }}', operator: AnyIn, value: [CREATE, UPDATE]}]";
        assert_eq!(decided(any, "CREATE"), [Some(true)]);
        assert_eq!(decided(any, "DELETE"), [Some(false)]);
        let all = "all: [{key: \"{{ request.operation || 'BACKGROUND' }}\", operator: NotEquals, value: UPDATE}, \
                   {key: \"{{ request.operation == 'CREATE' }}\", operator: Equals, value: true}]";
        assert_eq!(decided(all, "CREATE"), [Some(true), Some(true)]);
        assert_eq!(decided(all, "UPDATE"), [Some(false), Some(false)]);
    }

    #[test]
    fn conditions_about_anything_else_stay() {
        for key in ["request.object.data.a", "request.operation || request.object.data.a", "request.name"] {
            let all = format!("all: [{{key: '{{{{ {key} }}}}', operator: Equals, value: CREATE}}]");
            assert_eq!(decided(&all, "CREATE"), [None], "{key}");
        }
    }
}
