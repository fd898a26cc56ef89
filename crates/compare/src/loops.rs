//! The parts of a rule that look at the items of lists one after the other.
//!
//! In: a unit. Out: [`Loops`]: each such part as a rule of its own, and what the unit reads besides them. Parts are loops of `foreach`, the
//! patterns of lists, conditions that look for items, and `all`, `exists`, `size` and `in` of CEL; each says something of a list that
//! follows from what it says of a shorter one and of the item that is added (`classes`).
//!
//! What is no such part stays in the rest. The analysis of what rules read (`analysis::reads`) says what both read, so a loop that is
//! overlooked makes fewer lists stand for all others, never wrong ones.

use std::sync::Arc;

use crate::analysis::reads::{Reads, Step, Tree, tested_by_policy};
use crate::engine::Profile;
use crate::functions::registry::{Language, Operation, find};
use crate::ir::admission::Bound;
use crate::ir::check::{Check, ControlPart, FieldPart, ForEach, Overlay, Overlays, PodSecurity, Whose};
use crate::ir::condition::{Operator, Ordering};
use crate::ir::expr::Missing;
use crate::ir::expressions::{Expressions, Source, Validation, Variable};
use crate::ir::matcher::{Filter, Matcher};
use crate::ir::pod_security::{Condition as Allowed, LISTS, Of, annotations_path, pod_spec_path};
use crate::ir::rule::Body;
use crate::ir::shape::{Anchor, Pattern};
use crate::ir::strict::{Comprehension, ComprehensionKind};
use crate::ir::template::{Hole, Needs, Query};
use crate::ir::walk::{children, holds, map_children, shift};
use crate::ir::{Condition, Conditions, Expr, Policy, Rule, Template};
use crate::lower::LATE;
use crate::policies::policy_set::{Engine, PolicySet};
use crate::value::{Map, Str, Value};

use super::range::{Around, List, Range, is_closed, is_local, is_of_entry, range};
use super::units::has_global_anchor;

/// Longer lists are not counted.
const LONGEST: i64 = 8;

/// More parts of a unit are not taken out.
const MOST_LOOPS: usize = 64;

/// A part of a rule that looks at items of lists.
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

/// The parts of a unit that look at items of lists.
#[derive(Default)]
pub(crate) struct Loops {
    /// Those of the lists of an object, as wholes.
    pub outer: Level,
    /// Those of lists that are in the items of others, as far as they look at them alone.
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
        let mut cutter = Cutter { variables, kind, is_deletion, is_inner, around: None, found: Vec::new() };
        let check = cutter.check(check);
        let admit = rule.admit.as_ref().map(|admit| cutter.conditions(admit));
        let expressions = rule.expressions.as_ref().map(|shared| {
            let conditions = shared.conditions.iter().map(|source| cutter.source(source)).collect();
            Arc::new(Expressions { conditions, ..(**shared).clone() })
        });
        let conditions = policy.admit.iter().map(|source| cutter.source(source)).collect();
        if cutter.found.is_empty() || cutter.found.len() > MOST_LOOPS {
            return None;
        }
        let body = Body::Validate { check, message: message.clone() };
        let rest = Rule { admit, expressions, body, ..(**rule).clone() };
        let rest = Policy { admit: conditions, rules: [Arc::new(rest)].into(), ..(**policy).clone() };
        let rest = tested_by_policy(&rest, kind, set.exceptions(), &[], LATE, is_deletion);
        let alone = |Found { check, lists, by_key }: Found| {
            let is_expression = matches!(check, Check::Assert(_));
            let policy = alone(policy, rule, check);
            let (reads, _) = tested_by_policy(&policy, kind, &[], &[], LATE, is_deletion).ok()?;
            if !is_of(&reads, &lists, is_deletion) {
                return None;
            }
            let set = PolicySet::new(vec![Arc::new(policy)], Vec::new());
            Some(Arc::new(Loop {
                engine: Engine::new(set).with_profile(Profile::cluster()),
                lists,
                by_key,
                is_expression,
            }))
        };
        let all: Option<Vec<Arc<Loop>>> = cutter.found.into_iter().map(alone).collect();
        Some(Level { all: all?, rest: rest.ok().map(|(reads, _)| reads) })
    }

    /// Whether what is read of the items of a list is read by loops alone; `reads`: what the unit reads.
    pub fn are_all_of(&self, list: &[Step], reads: &Reads, is_deletion: bool) -> bool {
        let rest = self.rest.as_ref().unwrap_or(reads);
        [own(rest, is_deletion), &rest.shown].into_iter().all(|tree| !reads_inside(tree, list))
    }
}

/// Whether a value below the end of some steps is read.
fn reads_inside(tree: &Tree, steps: &[Step]) -> bool {
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
fn own(reads: &Reads, is_deletion: bool) -> &Tree {
    if is_deletion { &reads.old } else { &reads.object }
}

/// Whether nothing is read but some lists of the object.
fn is_of(reads: &Reads, lists: &[List], is_deletion: bool) -> bool {
    let nothing = Tree::default();
    let is_quiet = (is_deletion || reads.old == nothing)
        && reads.namespace == nothing
        && !(reads.name || reads.user || reads.external);
    is_quiet
        && [own(reads, is_deletion), &reads.shown]
            .into_iter()
            .all(|tree| leads_to(tree, &mut Vec::new(), lists))
}

fn leads_to(tree: &Tree, path: &mut List, lists: &[List]) -> bool {
    if lists.contains(path) {
        return true;
    }
    let is_on_the_way = |path: &List| lists.iter().any(|list| list.starts_with(path));
    let mut leads = |step: Step, below: &Tree| {
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

/// A rule that applies to every object and has only this check.
fn alone(policy: &Policy, rule: &Rule, check: Check) -> Policy {
    let Body::Validate { message, .. } = &rule.body else { return policy.clone() };
    let everything = Filter { has_resource: true, ..Filter::default() };
    let expressions = rule.expressions.as_ref().map(|shared| {
        Arc::new(Expressions {
            conditions: Box::default(),
            annotations: Box::default(),
            params: None,
            ..(**shared).clone()
        })
    });
    let rule = Rule {
        when: Matcher::Any([everything].into()),
        unless: Matcher::Any(Box::default()),
        bindings: Box::default(),
        admit: None,
        expressions,
        // Without bindings it is evaluated by itself.
        bound: rule.bound.as_ref().map(|bound| {
            let (bindings, params) = (Box::default(), Arc::new([]));
            Arc::new(Bound { bindings, params, param_kind: None, ..(**bound).clone() })
        }),
        properties: None,
        body: Body::Validate { check, message: message.clone() },
        ..rule.clone()
    };
    Policy { admit: Box::default(), rules: [Arc::new(rule)].into(), ..policy.clone() }
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
struct Cutter<'r> {
    variables: &'r [Variable],
    kind: &'r str,
    /// Whether requests delete the object.
    is_deletion: bool,
    /// Whether loops inside of others are taken out, else the others.
    is_inner: bool,
    /// The loop around, with what its items may be.
    around: Option<(Outer, Vec<List>)>,
    found: Vec<Found>,
}

/// A part that is taken out.
struct Found {
    check: Check,
    lists: Vec<List>,
    by_key: bool,
}

impl Cutter<'_> {
    fn around<'a>(&'a self, variables: &'a [Variable]) -> Around<'a> {
        let is_deletion = self.is_deletion;
        Around {
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

    /// Takes out a field of the items of a list, about which a Pod Security control says the same of each.
    fn control(&mut self, own: &PodSecurity) -> Option<Check> {
        let excluded = own.exclude.as_list().unwrap_or_default();
        // Whether a list in a container has what is wrong is the same for each image; which values it has is not.
        let is_of_whole =
            |entry: &Value| entry.text_at(&["restrictedField"]).is_empty() && entry.get("values").is_none();
        let is_local = |part: &FieldPart| excluded.iter().all(is_of_whole) && !part.after;
        let part = own.field().filter(|part| !self.is_inner || is_local(part))?;
        // An exclusion without images and field may exempt one of several containers.
        let is_by_item = |entry: &Value| {
            entry.get("images").and_then(Value::as_list).is_some_and(|images| !images.is_empty())
                || !entry.text_at(&["restrictedField"]).is_empty()
                || part.of == Whose::Pod
        };
        if !excluded.iter().all(is_by_item) {
            return None;
        }
        let lists = match part.of {
            Whose::Annotations if self.is_inner => return None,
            Whose::Annotations => vec![annotations_path(self.kind).iter().map(|key| step(key)).collect()],
            Whose::Around => return None,
            Whose::Pod | Whose::Containers(_) => self.of_control(own, part)?,
        };
        let with = |part: FieldPart| {
            let only = own.only.clone().map(|only| ControlPart { field: Some(part), ..only });
            Check::PodSecurity(PodSecurity { only, ..own.clone() })
        };
        let check = match with(FieldPart { exempts: false, after: false, ..part }) {
            Check::PodSecurity(own) if self.is_inner => {
                Check::PodSecurity(PodSecurity { exclude: Value::Null, ..own })
            }
            check => check,
        };
        self.found.push(Found { check, lists, by_key: false });
        if part.after {
            self.met(own, part)?;
        }
        Some(with(FieldPart { of: Whose::Around, ..part }))
    }

    /// Takes out what the requirements of a control say of containers that must be met before one counts.
    fn met(&mut self, own: &PodSecurity, part: FieldPart) -> Option<()> {
        let form = own.controls()?.next()?.form;
        for (requirement, row) in form.requirements.iter().enumerate().take(part.requirement) {
            let lists = (0..LISTS.len()).filter(|_| row.of != Of::Pod);
            for (of, field) in lists.flat_map(|list| (0..row.fields.len()).map(move |f| (list, f))) {
                let of = Whose::Containers(of);
                let part = FieldPart { requirement, field, of, exempts: false, after: false };
                let only = own.only.clone().map(|only| ControlPart { field: Some(part), ..only });
                let lists = self.of_control(own, part)?;
                let check = Check::PodSecurity(PodSecurity { only, exclude: Value::Null, ..own.clone() });
                self.found.push(Found { check, lists, by_key: false });
            }
        }
        Some(())
    }

    /// The lists that lead to a field of a control.
    fn of_control(&self, own: &PodSecurity, part: FieldPart) -> Option<Vec<List>> {
        let placed = own.controls()?.next()?;
        let field = placed.form.requirements.get(part.requirement)?.fields.get(part.field)?;
        let mut path: List = pod_spec_path(self.kind)?.iter().map(|key| step(key)).collect();
        if let Whose::Containers(at) = part.of {
            path.extend([step(LISTS.get(at)?), Step::Items]);
        }
        path.extend(field.path.iter().map(|key| step(key)));
        if matches!(field.condition, Allowed::Items(_) | Allowed::Holds(_)) {
            path.push(Step::Items);
        }
        let mut lists = (0..path.len()).filter(|at| path.get(*at) == Some(&Step::Items));
        let outer = path.get(..lists.next()?)?.to_vec();
        Some(match self.is_inner {
            true => vec![path.get(..lists.next()?)?.to_vec(), outer],
            false => vec![outer],
        })
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
            self.found.push(Found { check, lists: range.all(), by_key });
        }
    }

    /// Takes out a loop of `foreach`, all of which depends on its elements alone, or what is inside.
    fn for_each(&mut self, l: &ForEach) -> Option<Check> {
        let list = query(&l.list, self.is_deletion)?;
        let range = range(list, self.around(&[]))?;
        let is_own = l.bindings.is_empty()
            && l.element_scope != Some(false)
            && l.admit.as_ref().is_none_or(|admit| is_of_element(admit, self.is_deletion))
            && match &l.check {
                Check::Deny(conditions) => is_of_element(conditions, self.is_deletion),
                Check::Pattern(Overlay::Ready(_), _) | Check::AnyPattern(Overlays::Ready(_), _) => true,
                _ => false,
            };
        if !is_own {
            return None;
        }
        if !self.is_inner {
            self.add(Check::ForEach([l.clone()].into()), &range);
            self.count(&l.list, list, &range, 0);
            return Some(Check::Nothing);
        }
        let (all, keep) = match list {
            Expr::Project { over, source, keep: Some(keep), body: None } => {
                let (over, source) = (*over, source.clone());
                (Expr::Project { over, source, keep: None, body: None }, Some(keep))
            }
            list if range.is_plain => (list.clone(), None),
            _ => return None,
        };
        let outer = ForEach {
            list: Query { expr: Ok(all), on_delete: None, ..l.list.clone() },
            admit: None,
            check: Check::Nothing,
            ..l.clone()
        };
        self.around = Some((Outer::Each(outer), range.item()));
        let admit = l.admit.as_ref().map(|admit| self.conditions(admit));
        let check = match &l.check {
            Check::Deny(conditions) => Check::Deny(self.conditions(conditions)),
            other => other.clone(),
        };
        let mut list = list.clone();
        if let (Some(keep), Expr::Project { keep: slot, .. }) = (keep, &mut list) {
            *slot = Some(Box::new(self.jmespath(keep, &l.list)));
        }
        self.around = None;
        let list = Query { expr: Ok(list), ..l.list.clone() };
        Some(Check::ForEach([ForEach { list, admit, check, ..l.clone() }].into()))
    }

    /// Adds how many items an expression gives, up to a number; an error of it shows as well.
    fn count(&mut self, of: &Query, list: &Expr, range: &Range, most: i64) {
        let Some(length) = find(Language::JmesPath, "length") else { return };
        for number in 0..=most {
            let expr = Expr::Call { function: length, args: [list.clone()].into() };
            let check = denied(whole(expr, of), Operator::Order(Ordering::Gt), Value::Int(number));
            self.add(check, range);
        }
    }

    /// Takes out the patterns of lists.
    fn pattern(&mut self, pattern: &Pattern, again: &dyn Fn(Pattern) -> Check) -> Option<Pattern> {
        if has_global_anchor(&pattern.source) {
            return None;
        }
        let chain = chain(&pattern.source);
        if self.is_inner {
            let lists = chain.filter(|lists| lists.len() > 1)?;
            let rest = LATE.pattern(&without_last(&pattern.source, lists.len()))?;
            self.found.push(Found { check: again(pattern.clone()), lists, by_key: false });
            return Some(rest);
        }
        let mut lists = Vec::new();
        let rest = without_lists(&pattern.source, &mut Vec::new(), &mut lists);
        // What anchors decide is known of the whole alone.
        if lists.is_empty() || (pattern.anchors > 0 && chain.is_none()) {
            return None;
        }
        for (path, key, of_items) in lists {
            let list = Range { lists: vec![path.clone()], outer: Vec::new(), is_plain: true };
            let single = |key: Str, below: Value| Value::Map([(key, below)].into_iter().collect());
            let above = path.iter().rev().skip(1).filter_map(|step| match step {
                Step::Key(key) => Some(key.clone()),
                _ => None,
            });
            let alone = above.fold(single(key, of_items), |below, key| single(key, below));
            let alone = if chain.is_some() { &pattern.source } else { &alone };
            self.add(again(LATE.pattern(alone)?), &list);
        }
        LATE.pattern(&rest)
    }

    fn source(&mut self, source: &Source) -> Source {
        let Ok(program) = &source.program else { return source.clone() };
        let program = self.cel(program, self.variables, 0, source);
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
                    let is_map =
                        |map: &Expr| self::range(map, around).is_some_and(|own| own.lists == range.lists);
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
                match (invoke.function.operation(), &*invoke.args) {
                    (Some(Operation::Member), [one, list])
                        if one.constant().is_some() && is_closed(list, binders) =>
                    {
                        if let Some(range) = range(list, self.around(variables))
                            && self.is_wanted(&range)
                        {
                            self.add_cel(expr.clone(), cells, source, &range, false);
                            return Expr::Const(Value::Bool(true));
                        }
                    }
                    (Some(operation), [one, other]) if is_comparison(operation) => {
                        if let Some((list, number)) = counted(one, other).or_else(|| counted(other, one))
                            && (0..=LONGEST).contains(&number)
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
            Expr::Variable(n) if self.around.is_none() => {
                let at = *n as usize;
                match (variables.get(at).map(|variable| &variable.program), variables.get(..at)) {
                    (Some(Ok(program)), Some(earlier)) if range(expr, self.around(variables)).is_none() => {
                        self.cel(program, earlier, 0, source)
                    }
                    _ => expr.clone(),
                }
            }
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

    fn conditions(&mut self, conditions: &Conditions) -> Conditions {
        let mut each = |all: &[Condition]| all.iter().map(|one| self.condition(one)).collect::<Box<[_]>>();
        Conditions {
            any: conditions.any.as_deref().map(&mut each),
            all: each(&conditions.all),
            ..conditions.clone()
        }
    }

    /// A side of a condition that walks lists, with its query.
    fn walked(&self, side: &Template) -> Option<(Range, Expr, Query)> {
        let Template::Whole(hole) = side else { return None };
        let list = match query(&hole.query, self.is_deletion)? {
            // What stands for an empty list is known, too.
            Expr::Or(sides) if sides[1].constant().is_some() => &sides[0],
            list => list,
        };
        let range = range(list, self.around(&[]))?;
        self.is_wanted(&range).then(|| (range, list.clone(), hole.query.clone()))
    }

    /// The condition without the loops in it.
    fn condition(&mut self, condition: &Condition) -> Condition {
        use Operator::{AllIn, AllNotIn, AnyIn, AnyNotIn, Equals, NotEquals, Order};
        let Some(operator) = condition.operator else { return condition.clone() };
        let nothing = Template::Const(Value::from(""));
        let origin = condition.origin.clone();
        let alone = || {
            let all = [condition.clone()].into();
            Check::Deny(Conditions { origin: origin.clone(), any: None, all, flat: false })
        };
        if let (Some((range, list, query)), Some(value)) =
            (self.walked(&condition.key), condition.value.as_const())
            && matches!(operator, AnyIn | AnyNotIn | AllIn | AllNotIn)
            && is_list_of_scalars(value)
        {
            self.add(alone(), &range);
            self.count(&query, &list, &range, 0);
            return Condition { key: nothing, ..condition.clone() };
        }
        if let (Some(key), Some((range, list, query))) =
            (condition.key.as_const(), self.walked(&condition.value))
            && match operator {
                AnyIn | AllNotIn => is_scalar(key) || is_list_of_scalars(key),
                AllIn | AnyNotIn => is_scalar(key),
                _ => false,
            }
        {
            self.add(alone(), &range);
            self.count(&query, &list, &range, 0);
            return Condition { value: nothing, ..condition.clone() }.with_prepared();
        }
        if let (Template::Whole(hole), Some(value)) = (&condition.key, condition.value.as_const())
            && matches!(operator, Equals | NotEquals | Order(_))
            && let Some(number) = number(value).filter(|n| (0..=LONGEST).contains(n))
            && let Some(Expr::Call { function, args }) = query(&hole.query, self.is_deletion)
            && function.operation() == Some(Operation::Size)
            && let [list] = &**args
            && let Some(range) = range(list, self.around(&[]))
            && self.is_wanted(&range)
        {
            self.count(&hole.query, list, &range, number);
            return Condition { key: nothing, ..condition.clone() };
        }
        let key = self.side(&condition.key);
        let value = self.side(&condition.value);
        Condition { key, value, ..condition.clone() }.with_prepared()
    }

    fn side(&mut self, side: &Template) -> Template {
        let Template::Whole(hole) = side else { return side.clone() };
        let Some(expr) = query(&hole.query, self.is_deletion) else { return side.clone() };
        whole(self.jmespath(expr, &hole.query), &hole.query)
    }

    /// An expression of JMESPath without the loops in it.
    fn jmespath(&mut self, expr: &Expr, of: &Query) -> Expr {
        if let Expr::Call { function, args } = expr
            && function.operation() == Some(Operation::Contains)
            && let [list, one] = &**args
            && one.constant().is_some()
            && is_closed(list, u32::from(self.around.is_some()))
            && let Some(range) = range(list, self.around(&[]))
            && self.is_wanted(&range)
        {
            let (expr, list) = (of_element(expr.clone(), 0), of_element(list.clone(), 0));
            self.add(denied(whole(expr, of), Operator::Equals, Value::Bool(true)), &range);
            self.count(of, &list, &range, 0);
            return Expr::Const(Value::Bool(true));
        }
        if let Expr::Let { value, body } = expr
            && range(value, self.around(&[])).is_some()
        {
            // A list that is piped into functions.
            return self.jmespath(&with_value((**body).clone(), value, 0), of);
        }
        map_children(expr.clone(), &mut |e, child| match child.binders {
            0 => self.jmespath(&e, of),
            _ => e,
        })
    }
}

fn step(key: &str) -> Step {
    if key == "*" { Step::Items } else { Step::Key(key.into()) }
}

/// The body of a binder with its value in place.
fn with_value(body: Expr, value: &Expr, binders: u32) -> Expr {
    match body {
        Expr::Local(n) if n == binders => shift(value.clone(), binders, 0),
        Expr::Local(n) if n > binders => Expr::Local(n - 1),
        body => map_children(body, &mut |e, child| with_value(e, value, binders + child.binders)),
    }
}

/// An expression about the value of the binder around it, as one about the element of a loop.
fn of_element(expr: Expr, binders: u32) -> Expr {
    match expr {
        Expr::Local(n) if n == binders => Expr::get(Expr::Root, "element".into(), Missing::Null),
        expr => map_children(expr, &mut |e, child| of_element(e, binders + child.binders)),
    }
}

/// The expression of a query that needs nothing else.
fn query(query: &Query, is_deletion: bool) -> Option<&Expr> {
    let query = query.on_delete.as_deref().filter(|_| is_deletion).unwrap_or(query);
    query.expr.as_ref().ok().filter(|_| query.needs.is_empty() && !query.sorts)
}

fn whole(expr: Expr, of: &Query) -> Template {
    let query = Query { expr: Ok(expr), needs: Needs::default(), on_delete: None, ..of.clone() };
    let rounds = crate::ir::template::Rounds {
        source: format!("{{{{ {} }}}}", of.text).into(),
        path: "".into(),
        names: Arc::new([]),
        current: "".into(),
    };
    Template::Whole(Box::new(Hole { query, rounds }))
}

fn denied(key: Template, operator: Operator, value: Value) -> Check {
    let condition = Condition {
        origin: Default::default(),
        key,
        operator: Some(operator),
        value: Template::Const(value),
        prepared: None,
        message: "".into(),
    };
    let all = [condition.with_prepared()].into();
    Check::Deny(Conditions { origin: Default::default(), any: None, all, flat: false })
}

/// Whether conditions depend on the element of their loop alone.
fn is_of_element(conditions: &Conditions, is_deletion: bool) -> bool {
    let mut all = conditions.all.iter().chain(conditions.any.as_deref().into_iter().flatten());
    all.all(|one| [&one.key, &one.value].into_iter().all(|side| is_side_of_element(side, is_deletion)))
}

fn is_side_of_element(side: &Template, is_deletion: bool) -> bool {
    match side {
        Template::Const(_) => true,
        Template::Whole(hole) => query(&hole.query, is_deletion).is_some_and(reads_element),
        Template::List(items) => items.iter().all(|item| is_side_of_element(item, is_deletion)),
        _ => false,
    }
}

fn reads_element(expr: &Expr) -> bool {
    match expr {
        Expr::Root | Expr::Variable(_) => false,
        Expr::Path { base, keys, .. } if matches!(**base, Expr::Root) => {
            keys.first().is_some_and(|key| matches!(&**key, "element" | "element0"))
        }
        expr => {
            let mut is = true;
            children(expr, &mut |e, _| is = is && reads_element(e));
            is
        }
    }
}

fn is_comparison(operation: Operation) -> bool {
    use Operation::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Unequal};
    matches!(operation, Equal | Unequal | Less | LessOrEqual | Greater | GreaterOrEqual)
}

/// The list whose length is one side of a comparison, and the number that is the other.
fn counted<'e>(one: &'e Expr, other: &'e Expr) -> Option<(&'e Expr, i64)> {
    let Expr::Invoke(size) = one else { return None };
    match (size.function.operation(), &*size.args, other.constant()) {
        (Some(Operation::Size), [list], Some(Value::Int(number))) => Some((list, *number)),
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

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(n) => Some(*n),
        Value::Float(n) if n.fract() == 0.0 && n.abs() < 1e9 => Some(*n as i64),
        Value::Str(text) => text.parse().ok(),
        _ => None,
    }
}

fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::Str(_) | Value::Bool(_) | Value::Int(_) | Value::Float(_))
}

fn is_list_of_scalars(value: &Value) -> bool {
    value.as_list().is_some_and(|items| items.iter().all(is_scalar))
}

/// A pattern without its lists, which are given with the fields that lead there, the key as written and the pattern.
fn without_lists(of: &Value, path: &mut List, lists: &mut Vec<(List, Str, Value)>) -> Value {
    let Value::Map(map) = of else { return of.clone() };
    let mut rest = Map::new();
    for (raw, below) in map.iter() {
        let (anchor, key) = Anchor::parse(raw);
        path.push(Step::Key(key.into()));
        // Of what must not be there no more is looked at.
        let is_field = !key.contains(['*', '?']) && !matches!(anchor, Anchor::Negation);
        match below {
            Value::List(_) if is_field && item(below).is_some() => {
                let key = if matches!(anchor, Anchor::Existence) { raw.clone() } else { key.into() };
                lists.push((path.clone(), key, below.clone()));
            }
            Value::Map(_) if is_field => {
                rest.insert::<Str>(raw.clone(), without_lists(below, path, lists));
            }
            other => {
                rest.insert::<Str>(raw.clone(), other.clone());
            }
        }
        path.pop();
    }
    Value::Map(rest)
}

/// What each item of a list must look like.
fn item(pattern: &Value) -> Option<&Value> {
    match pattern.as_list()? {
        [one] if is_scalar(one) || one.as_map().is_some() => Some(one),
        _ => None,
    }
}

/// The lists of a pattern that is one field, or one list, below the other, without conditions on the way; the innermost last.
fn chain(pattern: &Value) -> Option<Vec<List>> {
    let (mut at, mut path, mut lists) = (pattern, List::new(), Vec::new());
    loop {
        match at {
            Value::Map(map) => {
                let mut entries = map.iter();
                let (Some((raw, below)), None) = (entries.next(), entries.next()) else { break };
                let (anchor, key) = Anchor::parse(raw);
                let is_free = matches!(anchor, Anchor::None | Anchor::Equality)
                    || (matches!(anchor, Anchor::Existence) && item(below).is_some());
                if !is_free || key.contains(['*', '?']) {
                    break;
                }
                path.push(Step::Key(key.into()));
                at = below;
            }
            Value::List(_) => {
                let Some(one) = item(at) else { break };
                lists.push(path.clone());
                path.push(Step::Items);
                at = one;
            }
            _ => break,
        }
    }
    (!lists.is_empty()).then_some(lists)
}

/// A pattern that is one field or list below the other without the innermost of so many lists.
fn without_last(pattern: &Value, lists: usize) -> Value {
    match pattern {
        Value::Map(map) => {
            let inner = map.iter().filter(|(_, below)| lists > 1 || below.as_list().is_none());
            Value::Map(inner.map(|(key, below)| (key.clone(), without_last(below, lists))).collect())
        }
        Value::List(_) => item(pattern)
            .map_or_else(|| pattern.clone(), |one| Value::list(vec![without_last(one, lists - 1)])),
        other => other.clone(),
    }
}
