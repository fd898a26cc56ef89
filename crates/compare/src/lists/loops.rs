//! The parts of a rule that read the items of lists one after the other.
//!
//! In: a unit. Out: [`Loops`]: each such part as a rule of its own, and what the unit reads besides
//! them. Parts are loops of `foreach`, the patterns of lists, conditions that look for items, and
//! `all`, `exists`, `size` and `in` of CEL; each says something of a list that follows from what it
//! says of a shorter one and of the item that is added (`lists::closure`).
//!
//! What is no such part stays in the rest. The analysis of what rules read (`analysis::reads`) says
//! what both read, so a loop that is overlooked makes fewer lists stand for all others, never wrong
//! ones.
//!
//! - `cel`: `all`, `exists`, `in` and `size` of CEL, taken out of expressions
//! - `conditions`: conditions that look for items of lists, or count them, taken out of a rule
//! - `controls`: what Pod Security controls read in lists, taken out of a rule
//! - `elements`: loops of `foreach`, taken out of a rule
//! - `patterns`: patterns of lists, taken out of patterns

pub(crate) mod cel;
pub(crate) mod conditions;
pub(crate) mod controls;
pub(crate) mod elements;
pub(crate) mod patterns;

use std::sync::Arc;

use ephor_analysis::reads::{ReadTree, Reads, Step, tested_by_policy};
use ephor_ir::admission::Bound;
use ephor_ir::check::{Check, ForEach, Overlay, Overlays};
use ephor_ir::expressions::{Expressions, Validation, Variable, View};
use ephor_ir::matcher::{Filter, Matcher};
use ephor_ir::rule::{Action, Binding, BindingSource, Body};
use ephor_ir::strict::Comprehension;
use ephor_ir::{Policy, Rule, Template};
use ephor_lower::LATE;
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_value::Value;

use crate::lists::iteration::{List, LoopScope, Range};
use crate::model::limits::MAX_LOOPS;
use crate::sides::lookup_stub;

/// A part of a rule that reads items of lists.
pub(crate) struct Loop {
    /// It alone, as a rule.
    pub engine: Engine,
    /// The lists, or maps.
    pub lists: Vec<List>,
    /// Whether it reads a map at the names that it walks.
    pub by_key: bool,
    /// Whether it always says something: it is an expression.
    pub is_expression: bool,
}

/// The parts of a unit that read items of lists.
#[derive(Default)]
pub(crate) struct Loops {
    /// Those of the lists of an object, as wholes.
    pub outer: Level,
    /// Those of lists that are in the items of others, as far as they read them alone.
    pub inner: Level,
}

/// Parts of a unit.
#[derive(Default)]
pub(crate) struct Level {
    /// Each alone.
    pub all: Vec<Arc<Loop>>,
    /// What the unit reads without them; `None`: not known, then they are of no use.
    rest: Option<Reads>,
}

impl Loops {
    /// Those of a unit.
    pub fn of(engine: &Engine, kind: &str, is_deletion: bool) -> Loops {
        let level = |is_inner: bool| Level::of(engine, kind, is_deletion, is_inner).unwrap_or_default();
        let outer = level(false);
        // Without loops there are none inside.
        let inner = if outer.all.is_empty() { Level::default() } else { level(true) };
        Loops { outer, inner }
    }

    /// The parts of one level.
    pub fn level(&self, is_inner: bool) -> &Level {
        if is_inner { &self.inner } else { &self.outer }
    }
}

impl Level {
    fn of(engine: &Engine, kind: &str, is_deletion: bool, is_inner: bool) -> Option<Level> {
        let set = engine.set();
        let ([policy], true) = (set.policies(), set.cel_exceptions().is_empty()) else { return None };
        let [rule] = &*policy.rules else { return None };
        let Body::Validate { check, message } = &rule.body else { return None };
        let variables = rule.expressions.as_deref().map(|shared| &*shared.variables).unwrap_or_default();
        let hides_errors = rule
            .expressions
            .as_deref()
            .is_some_and(|shared| shared.view == View::Rule || !shared.failure_policy.is_fail());
        let mut cutter = LoopCutter {
            variables,
            kind,
            is_deletion,
            is_inner,
            hides_errors,
            around: None,
            found: Vec::new(),
        };
        let check = cutter.check(check);
        let admit = rule.admit.as_ref().map(|admit| cutter.conditions(admit));
        let expressions = rule.expressions.as_ref().map(|shared| {
            let conditions = shared.conditions.iter().map(|source| cutter.source(source)).collect();
            Arc::new(Expressions { conditions, ..(**shared).clone() })
        });
        let conditions = policy.admit.iter().map(|source| cutter.source(source)).collect();
        if cutter.found.is_empty() || cutter.found.len() > MAX_LOOPS {
            return None;
        }
        let body = Body::Validate { check, message: message.clone() };
        let rest = Rule { admit, expressions, body, ..(**rule).clone() };
        let rest = Policy { admit: conditions, rules: [Arc::new(rest)].into(), ..(**policy).clone() };
        let rest = tested_by_policy(&rest, kind, set.exceptions(), &[], LATE, is_deletion);
        let alone = |CutPart { check, lists, by_key }: CutPart| {
            let is_expression = matches!(check, Check::Assert(_));
            let policy = alone(policy, rule, check);
            let (reads, _) = tested_by_policy(&policy, kind, &[], &[], LATE, is_deletion).ok()?;
            if !is_of(&reads, &lists, is_deletion) {
                return None;
            }
            let set = PolicySet::new(vec![Arc::new(policy)], Vec::new());
            Some(Arc::new(Loop { engine: lookup_stub::engine(set), lists, by_key, is_expression }))
        };
        let all: Option<Vec<Arc<Loop>>> = cutter.found.into_iter().map(alone).collect();
        Some(Level { all: all?, rest: rest.ok().map(|(reads, _)| reads) })
    }

    /// Whether what is read of the items of a list is read by loops alone; `reads`: what the unit
    /// reads.
    pub fn are_all_of(&self, list: &[Step], reads: &Reads, is_deletion: bool) -> bool {
        let rest = self.rest.as_ref().unwrap_or(reads);
        [own(rest, is_deletion), &rest.shown].into_iter().all(|tree| !reads_inside(tree, list))
    }
}

/// Whether a value below the end of some steps is read.
fn reads_inside(tree: &ReadTree, steps: &[Step]) -> bool {
    let items = || [&tree.items, &tree.nested].into_iter().flatten();
    match steps.split_first() {
        _ if tree.whole || tree.names => true,
        None => items().next().is_some() || !tree.keys.is_empty(),
        // What is no list is not taken apart.
        Some((Step::Key(key), rest)) => {
            tree.items.is_some()
                || tree.get(key).is_some_and(|below| reads_inside(below, rest))
                || tree.nested.as_ref().is_some_and(|below| reads_inside(below, steps))
        }
        Some((_, rest)) => items().any(|below| reads_inside(below, rest)),
    }
}

/// What is read of the object that a request is about: in deletions there is no new one.
pub(crate) fn own(reads: &Reads, is_deletion: bool) -> &ReadTree {
    if is_deletion { &reads.old } else { &reads.object }
}

/// Whether nothing is read but some lists of the object.
fn is_of(reads: &Reads, lists: &[List], is_deletion: bool) -> bool {
    let nothing = ReadTree::default();
    let is_quiet = (is_deletion || reads.old == nothing)
        && reads.namespace == nothing
        && !(reads.name || reads.user || reads.external);
    is_quiet
        && [own(reads, is_deletion), &reads.shown]
            .into_iter()
            .all(|tree| leads_to(tree, &mut Vec::new(), lists))
}

fn leads_to(tree: &ReadTree, path: &mut List, lists: &[List]) -> bool {
    if lists.contains(path) {
        return true;
    }
    let is_on_the_way = |path: &List| lists.iter().any(|list| list.starts_with(path));
    let mut leads = |step: Step, below: &ReadTree| {
        path.push(step);
        let leads = leads_to(below, path, lists);
        path.pop();
        leads
    };
    !tree.whole
        && !tree.names
        && tree.keys.iter().all(|(key, below)| leads(Step::Key(key.clone()), below))
        && [&tree.items, &tree.nested].into_iter().flatten().all(|below| leads(Step::Items, below))
        && is_on_the_way(path)
}

/// What a part of a rule has besides its check.
pub(crate) struct Isolated {
    /// Which requests it is for; else all.
    pub when: Option<Matcher>,
    /// Whether it may read the data of the rule.
    pub keeps_bindings: bool,
}

/// A rule that applies to every object and has only this check.
pub(crate) fn alone(policy: &Policy, rule: &Rule, check: Check) -> Policy {
    isolated(policy, rule, Isolated { when: None, keeps_bindings: false }, check)
}

/// A rule with one part of another one.
pub(crate) fn isolated(policy: &Policy, rule: &Rule, of: Isolated, check: Check) -> Policy {
    let Body::Validate { message, .. } = &rule.body else { return policy.clone() };
    let everything = || Matcher::Any([Filter { has_resource: true, ..Filter::default() }].into());
    let expressions = rule.expressions.as_ref().map(|shared| {
        Arc::new(Expressions {
            conditions: Box::default(),
            annotations: Box::default(),
            params: None,
            ..(**shared).clone()
        })
    });
    let rule = Rule {
        when: of.when.unwrap_or_else(everything),
        unless: Matcher::never(),
        bindings: match of.keeps_bindings {
            true => rule.bindings.clone(),
            false => rule.bindings.iter().map(nameless).collect(),
        },
        admit: None,
        expressions,
        // Without bindings it is evaluated by itself.
        bound: rule.bound.as_ref().map(|bound| {
            let (bindings, params) = (Box::default(), Arc::new([]));
            Arc::new(Bound { bindings, params, param_kind: None, ..(**bound).clone() })
        }),
        properties: None,
        body: Body::Validate { check, message: message.clone() },
        // What follows from a violation says nothing about it.
        action: Action { overrides: Box::default(), ..rule.action.clone() },
        ..rule.clone()
    };
    let (admit, overrides) = (Box::default(), Box::default());
    Policy { admit, overrides, rules: [Arc::new(rule)].into(), ..policy.clone() }
}

/// In place of an entry that nothing reads: those behind it are found by their position.
fn nameless(binding: &Arc<Binding>) -> Arc<Binding> {
    let value = Some(Template::Const(Value::from("")));
    let source = BindingSource::Variable { value, query: None, default: None, raw: Value::Null };
    Arc::new(Binding { source, ..(**binding).clone() })
}

/// A loop around a part of a rule.
#[derive(Clone)]
enum Outer {
    /// Of `foreach`.
    Each(ForEach),
    /// Of CEL.
    All(Comprehension),
}

/// Takes the loops out of a rule.
struct LoopCutter<'r> {
    variables: &'r [Variable],
    kind: &'r str,
    /// Whether requests delete the object.
    is_deletion: bool,
    /// Whether loops inside of others are taken out, else the others.
    is_inner: bool,
    /// Whether expressions of CEL that fail have the verdict of those that are false, or of those
    /// that are true.
    hides_errors: bool,
    /// The loop around, with what its items may be.
    around: Option<(Outer, Vec<List>)>,
    found: Vec<CutPart>,
}

/// A part that is taken out.
struct CutPart {
    check: Check,
    lists: Vec<List>,
    by_key: bool,
}

impl LoopCutter<'_> {
    fn around<'a>(&'a self, variables: &'a [Variable]) -> LoopScope<'a> {
        let is_deletion = self.is_deletion;
        LoopScope {
            variables,
            is_deletion,
            item: self.around.as_ref().map(|(_, item)| &**item).unwrap_or_default(),
        }
    }

    /// Whether a loop over these lists is taken out here.
    fn is_wanted(&self, range: &Range) -> bool {
        let is_inner = |list: &List| list.contains(&Step::Items);
        !self.is_inner || range.lists.iter().any(is_inner)
    }

    /// The check without its loops.
    fn check(&mut self, check: &Check) -> Check {
        match check {
            Check::Deny(conditions) => Check::Deny(self.conditions(conditions)),
            Check::Pattern(Overlay::Ready(pattern), origin) => {
                let again = |pattern| Check::Pattern(Overlay::Ready(Arc::new(pattern)), origin.clone());
                self.pattern(pattern, &again).map_or_else(|| check.clone(), again)
            }
            Check::AnyPattern(Overlays::Ready(patterns), origin) => {
                let again = |pattern| Check::AnyPattern(Overlays::Ready([pattern].into()), origin.clone());
                let rest =
                    patterns.iter().map(|one| self.pattern(one, &again).unwrap_or_else(|| one.clone()));
                let rest = rest.collect();
                Check::AnyPattern(Overlays::Ready(rest), origin.clone())
            }
            Check::Assert(validations) => {
                let of = |one: &Validation| Validation { check: self.source(&one.check), ..one.clone() };
                Check::Assert(validations.iter().map(of).collect())
            }
            Check::PodSecurity(own) => self.control(own).unwrap_or_else(|| check.clone()),
            Check::ForEach(loops) => match &**loops {
                [one] => self.for_each(one).unwrap_or_else(|| check.clone()),
                _ => check.clone(),
            },
            other => other.clone(),
        }
    }

    fn add(&mut self, check: Check, range: &Range) {
        self.add_part(check, range, false);
    }

    fn add_part(&mut self, check: Check, range: &Range, by_key: bool) {
        let check = match &self.around {
            Some((Outer::Each(l), _)) => Check::ForEach([ForEach { check, ..l.clone() }].into()),
            _ => check,
        };
        if !self.found.iter().any(|known| known.check == check) {
            self.found.push(CutPart { check, lists: range.all(), by_key });
        }
    }
}
