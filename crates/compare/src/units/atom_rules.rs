//! A rule that is taken apart: each part as a rule of its own.
//!
//! In: a rule of a policy. Out: policies with one part each: an attribute of a filter, a
//! requirement of a selector, a condition, a leaf of a pattern with what is on the way to it, and
//! what boolean operators join. What the rule says follows from what they say.

use std::sync::Arc;

use ephor_functions::registry::Operation;
use ephor_ir::check::{Check, Overlay, Overlays};
use ephor_ir::constraints::Constraints;
use ephor_ir::expressions::{Source, Validation, Variable};
use ephor_ir::matcher::{Filter, Matcher, Selector};
use ephor_ir::rule::Body;
use ephor_ir::shape::{Anchor, Pattern};
use ephor_ir::sharing::Sharing;
use ephor_ir::{Conditions, Expr, Origin, Policy, Rule};
use ephor_lower::LATE;
use ephor_value::wildcard::has_wildcard;
use ephor_value::{Map, Value};

use crate::lists::loops::{Isolated, isolated};
use crate::model::limits::MAX_ATOM_DEPTH;
use crate::normal::patterns::{has_deciding_anchor, leaves};

/// The parts of a rule.
pub(crate) struct AtomRules {
    /// Each alone.
    pub all: Vec<Policy>,
    /// What denies everything in the way in which parts deny: where it does not, they say nothing.
    pub probes: Vec<Policy>,
}

/// Takes a rule apart; `None`: it does not validate.
pub(crate) fn parts(policy: &Policy, rule: &Rule) -> Option<AtomRules> {
    let Body::Validate { check, .. } = &rule.body else { return None };
    let mut cutter = AtomCutter { policy, rule, check, found: Vec::new() };
    cutter.rule();
    let has = |one: &dyn Fn(&Check) -> bool| {
        cutter.found.iter().flat_map(|policy| policy.rules.iter()).any(|rule| match &rule.body {
            Body::Validate { check, .. } => one(check),
            _ => false,
        })
    };
    let is_assertion = |check: &Check| matches!(check, Check::Assert(_));
    let mut probes = vec![everything(check)];
    probes.extend(has(&is_assertion).then(never));
    probes.extend(has(&|check| !is_assertion(check)).then(denial));
    let probe = |check: Check| isolated(policy, rule, Isolated { when: None, keeps_bindings: true }, check);
    Some(AtomRules { probes: probes.into_iter().map(probe).collect(), all: cutter.found })
}

/// Takes a rule apart.
struct AtomCutter<'r> {
    policy: &'r Policy,
    rule: &'r Rule,
    check: &'r Check,
    found: Vec<Policy>,
}

impl AtomCutter<'_> {
    fn rule(&mut self) {
        for matcher in [&self.rule.when, &self.rule.unless] {
            self.matcher(matcher);
        }
        for one in self.policy.overrides.iter().chain(&self.rule.action.overrides) {
            let none = || Filter { origin: Origin::default(), has_resource: true, ..Filter::default() };
            let namespaces = Filter { namespaces: one.namespaces.clone().unwrap_or_default(), ..none() };
            let of_namespace = |one| Filter { namespace_selector: Some(one), ..none() };
            let all = std::iter::once(namespaces).chain(requirements(&one.selector).map(of_namespace));
            all.for_each(|one| self.selection(Matcher::Any([one].into())));
        }
        self.rule.admit.iter().for_each(|admit| self.conditions(admit));
        self.policy.admit.iter().for_each(|source| self.source(source));
        let shared = self.rule.expressions.as_deref();
        shared.into_iter().flat_map(|shared| &shared.conditions).for_each(|source| self.source(source));
        self.check(self.check);
    }

    fn add(&mut self, when: Option<Matcher>, check: Check) {
        let of = Isolated { when, keeps_bindings: true };
        let found = isolated(self.policy, self.rule, of, check);
        self.found.push(found);
    }

    fn selection(&mut self, when: Matcher) {
        self.add(Some(when), everything(self.check));
    }

    /// Each attribute alone; kinds and operations are those of the environment.
    fn matcher(&mut self, matcher: &Matcher) {
        if let Matcher::Constraints(constraints) = matcher {
            let none = || Constraints {
                rules: Box::default(),
                exclude: Box::default(),
                namespace_selector: None,
                object_selector: None,
                ..(**constraints).clone()
            };
            let resources = Constraints {
                rules: constraints.rules.clone(),
                exclude: constraints.exclude.clone(),
                ..none()
            };
            let of_namespace = |one| Constraints { namespace_selector: Some(one), ..none() };
            let of_object = |one| Constraints { object_selector: Some(one), ..none() };
            let all = std::iter::once(resources)
                .chain(requirements(&constraints.namespace_selector).map(of_namespace))
                .chain(requirements(&constraints.object_selector).map(of_object));
            all.for_each(|one| self.selection(Matcher::Constraints(Box::new(one))));
            return;
        }
        for filter in matcher.filters() {
            let none = || Filter { origin: filter.origin.clone(), has_resource: true, ..Filter::default() };
            let users = Filter {
                roles: filter.roles.clone(),
                cluster_roles: filter.cluster_roles.clone(),
                subjects: filter.subjects.clone(),
                has_resource: false,
                has_user: filter.has_user,
                ..none()
            };
            let all = [
                Filter { name: filter.name.clone(), names: filter.names.clone(), ..none() },
                Filter { namespaces: filter.namespaces.clone(), ..none() },
                Filter { annotations: filter.annotations.clone(), ..none() },
            ];
            let of_object = |one| Filter { selector: Some(one), ..none() };
            let of_namespace = |one| Filter { namespace_selector: Some(one), ..none() };
            let said = all
                .into_iter()
                .filter(|one| *one != none())
                .chain(requirements(&filter.selector).map(of_object))
                .chain(requirements(&filter.namespace_selector).map(of_namespace))
                .chain(filter.has_user.then_some(users));
            said.for_each(|one| self.selection(Matcher::Any([one].into())));
        }
    }

    fn conditions(&mut self, conditions: &Conditions) {
        for one in conditions.any.iter().flatten().chain(&conditions.all) {
            let alone = Conditions { any: None, all: [one.clone()].into(), ..conditions.clone() };
            self.add(None, Check::Deny(alone));
        }
    }

    fn source(&mut self, source: &Source) {
        let variables = self.rule.expressions.as_deref().map(|shared| &*shared.variables).unwrap_or_default();
        let Ok(program) = &source.program else {
            return self.add(None, assertion(source.clone()));
        };
        for part in joined(program, variables, 0) {
            self.add(
                None,
                assertion(Source { program: Ok(part), sharing: Sharing::default(), ..source.clone() }),
            );
        }
    }

    fn check(&mut self, check: &Check) {
        match check {
            Check::Deny(conditions) => self.conditions(conditions),
            Check::Assert(validations) => validations.iter().for_each(|one| self.source(&one.check)),
            Check::AnyPattern(Overlays::Ready(patterns), origin) => {
                for pattern in patterns.iter() {
                    self.pattern(pattern.clone(), origin);
                }
            }
            Check::Pattern(Overlay::Ready(pattern), origin) => self.pattern((**pattern).clone(), origin),
            other => self.add(None, other.clone()),
        }
    }

    /// The leaves of a pattern, and what is on the way to them: whatever anchors make of it, that
    /// is all that it reads.
    fn pattern(&mut self, pattern: Pattern, origin: &Origin) {
        let parts = match has_deciding_anchor(&pattern.source) {
            true => members(&pattern.source).unwrap_or_default(),
            false => leaves(&pattern.source),
        };
        let lowered: Option<Vec<Pattern>> = parts.iter().map(|part| LATE.pattern(part)).collect();
        for part in lowered.filter(|all| !all.is_empty()).unwrap_or_else(|| vec![pattern]) {
            self.add(None, Check::Pattern(Overlay::Ready(Arc::new(part)), origin.clone()));
        }
    }
}

/// The requirements of a selector, each alone.
fn requirements(selector: &Option<Selector>) -> impl Iterator<Item = Selector> {
    let of = |selector: &Selector| {
        let none = Selector { labels: Box::default(), expressions: Box::default(), ..selector.clone() };
        let labels =
            selector.labels.iter().map(|one| Selector { labels: [one.clone()].into(), ..none.clone() });
        let of_sets = selector
            .expressions
            .iter()
            .map(|one| Selector { expressions: [one.clone()].into(), ..none.clone() });
        labels.chain(of_sets).collect::<Vec<_>>()
    };
    selector.iter().flat_map(of).collect::<Vec<_>>().into_iter()
}

/// For each member of a pattern: whether it is there, whether it is an object, and whether it is as
/// it should be. `None`: the keys are not known.
fn members(pattern: &Value) -> Option<Vec<Value>> {
    let Value::Map(map) = pattern else { return Some(vec![pattern.clone()]) };
    let mut all = Vec::new();
    for (key, below) in map.iter() {
        let (anchor, name) = Anchor::parse(key);
        if has_wildcard(name) {
            return None;
        }
        all.push(Value::map([(format!("X({name})").as_str(), Value::from("null"))]));
        match below {
            Value::Map(inner) if !inner.is_empty() => {
                all.push(Value::map([(name, Value::Map(Map::new()))]));
                let of = |part: Value| Value::map([(name, part)]);
                all.extend(members(below)?.into_iter().map(of));
            }
            // Whether a condition holds is what its value says without it.
            _ => match anchor {
                Anchor::None | Anchor::Condition | Anchor::Global => {
                    all.push(Value::map([(name, below.clone())]));
                }
                _ => all.push(Value::map([(&**key, below.clone())])),
            },
        }
    }
    Some(all)
}

/// What denies everything, in the way in which a check does.
fn everything(check: &Check) -> Check {
    if matches!(check, Check::Assert(_)) { never() } else { denial() }
}

/// An expression that is false.
fn never() -> Check {
    assertion(Source::new("false", Ok(Expr::Const(Value::Bool(false)))))
}

fn denial() -> Check {
    Check::Deny(Conditions { origin: Origin::default(), any: None, all: Box::default(), flat: false })
}

fn assertion(check: Source) -> Check {
    Check::Assert([Validation { check, message: "".into(), message_program: None, reason: "".into() }].into())
}

/// What boolean operators join.
fn joined(expr: &Expr, variables: &[Variable], depth: usize) -> Vec<Expr> {
    let whole = || vec![expr.clone()];
    if depth > MAX_ATOM_DEPTH {
        return whole();
    }
    let parts =
        |sides: &[Expr]| sides.iter().flat_map(|e| joined(e, variables, depth + 1)).collect::<Vec<_>>();
    match expr {
        Expr::Decide { sides, .. } => parts(&**sides),
        Expr::Cond(sides) => parts(&**sides),
        Expr::Invoke(not) if not.function.operation == Operation::Not => parts(&not.args),
        Expr::Cells { count, body } => {
            let around = |body: Expr| Expr::Cells { count: *count, body: Box::new(body) };
            joined(body, variables, depth + 1).into_iter().map(around).collect()
        }
        Expr::Walk(walk) if walk.steps.is_empty() => joined(&walk.base, variables, depth + 1),
        Expr::Variable(n) => {
            let of_program =
                Variable::at(variables, *n).map(|(program, earlier)| joined(program, earlier, depth + 1));
            of_program.filter(|parts| parts.len() > 1).unwrap_or_else(whole)
        }
        _ => whole(),
    }
}
