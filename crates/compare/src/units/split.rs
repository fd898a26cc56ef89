//! Units: rules that check one thing.
//!
//! In: a side and an environment. Out: for each rule that objects of the kind have, the parts of
//! its check as rules of their own, with the same filters, conditions and data. The gravest verdict
//! of the units is that of the policies:
//!
//! - of `deny` with several conditions of which one suffices, each is a unit;
//! - of a pattern without conditional anchors, each leaf is one: an object matches a pattern when
//!   it matches all of its leaves;
//! - each validation is one, and each side of `&&` in it, also inside of `all`: both ignore an
//!   error when another side is false; what must hold of all items of several lists, one after the
//!   other, must hold of those of each;
//! - each list that a loop of `foreach` walks is one, and each field of each Pod Security control.
//!
//! `search::cover` evaluates the policies as they are on the objects that it tries, so a mistake
//! here shows as a difference, never as a proof of something else.

use std::sync::Arc;

use ephor_analysis::reads::comparisons::Comparisons;
use ephor_analysis::reads::{Step, of_policy, tested_by_policy};
use ephor_analysis::tree::Tree;
use ephor_functions::registry::Operation;
use ephor_ir::check::{Check, ControlPart, FieldPart, ForEach, Overlay, PodSecurity, Whose};
use ephor_ir::expr::{Comprehension, ComprehensionKind, Invoke, Over};
use ephor_ir::expressions::{Source, Validation, Variable};
use ephor_ir::pod_security::{LISTS, Of, Placed};
use ephor_ir::rule::{Action, Body, Message};
use ephor_ir::sharing::Sharing;
use ephor_ir::template::Query;
use ephor_ir::{Condition, Conditions, Expr, Policy, Rule, Template};
use ephor_lower::LATE;
use ephor_policies::policy_set::PolicySet;
use ephor_value::{Str, Value};

use crate::inputs::dependencies::external;
use crate::lists::small_model::{Items, Shapes};
use crate::model::environment::Environment;
use crate::model::field_types::{has_names_alone, is_text, may_be_text};
use crate::model::matchers::selects;
use crate::normal::absent_parent::read_directly;
use crate::normal::canonical::identity;
use crate::normal::fold_kind::of_kind;
use crate::normal::fold_operation::OfOperation;
use crate::normal::patterns::{has_deciding_anchor, leaves};
use crate::predicates::by_field::Tested;
use crate::predicates::fallback_reads::guessed;
use crate::predicates::summary::Predicates;
use crate::sides::lookup_stub;
use crate::sides::side::Side;
use crate::sides::wildcard_keys::AmbiguousWildcardKeys;
use crate::units::unit::Unit;

/// More parts of one check are left together.
const MAX_PARTS: usize = 128;

/// Alternatives of more parts together are left as they are.
const MAX_DISTRIBUTED: usize = 16;

/// The units of a side for the objects of an environment.
pub fn units(side: &Side, environment: &Environment) -> Vec<Unit> {
    let set = side.engine.set();
    let mut all = Vec::new();
    let mut operation = OfOperation::new(environment);
    for policy in set.policies() {
        let rules = policy.rules_for(&environment.resource.kind);
        // Updates of objects that are violations already are a class of their own
        // (`Comparison::existing`).
        let rules: Vec<Arc<Rule>> = rules
            .iter()
            .filter(|rule| !environment.is_foreign(rule) && selects(&rule.when, environment.operation))
            .map(|rule| {
                let action = Action { allow_existing: false, ..rule.action.clone() };
                let rule = Rule {
                    action,
                    properties: None,
                    body: without_message_texts(&rule.body),
                    ..(**rule).clone()
                };
                let rule = operation.decided(policy, &rule);
                // Where objects go away there is no new one.
                let is_there = environment.operation != "DELETE";
                let own = |rule| read_directly(of_kind(rule, &environment.object[2]));
                Arc::new(if is_there { own(rule) } else { rule })
            })
            .collect();
        let of_rules = |rules: Vec<Arc<Rule>>| {
            let count = rules.len();
            Policy { rules: rules.into(), by_kind: Vec::new(), rule_count: count, ..(**policy).clone() }
        };
        // Where the first result ends a policy, its rules are one thing.
        let parts: Vec<Policy> = match policy.apply_one {
            true => vec![of_rules(rules)],
            false => {
                rules.iter().flat_map(|rule| split(rule)).map(|rule| of_rules(vec![Arc::new(rule)])).collect()
            }
        };
        for part in parts {
            let (exceptions, cel) = (set.exceptions(), set.cel_exceptions());
            let kind = &environment.resource.kind;
            let is_deletion = environment.operation == "DELETE";
            let (reads, tests) = match tested_by_policy(&part, kind, exceptions, cel, LATE, is_deletion) {
                Ok((reads, tests)) => (Ok(reads), Some(tests)),
                Err(_) => (of_policy(&part, kind, exceptions, cel, LATE), None),
            };
            let is_all_read = reads.is_ok();
            let reads = reads.unwrap_or_else(|_| guessed(&part));
            let mut predicates = Predicates::of(&part);
            predicates.namespaces.extend(part.namespace.iter().map(ToString::to_string));
            let late = tests.iter().flat_map(|tests: &Comparisons| &tests.late);
            late.for_each(|expr| predicates.add(expr));
            exceptions.iter().for_each(|one| predicates.add(one));
            cel.iter().for_each(|one| predicates.add(one));
            let has_controls =
                |rule: &Arc<Rule>| matches!(&rule.body, Body::Validate { check: Check::PodSecurity(_), .. });
            if part.all_rules().any(has_controls) && exceptions.iter().any(|one| !one.pod_security.is_null())
            {
                predicates.open("exclusions of Pod Security controls");
            }
            match &tests {
                Some(tests) if tests.is_lost => {
                    let why = predicates.unless_followed.clone();
                    predicates.open(why.unwrap_or_else(|| "a value is computed of others".into()));
                }
                Some(tests) if has_ordered_texts(tests, &environment.object) => {
                    predicates.open("two texts are compared as numbers");
                }
                Some(tests) if !tests.is_partial => {
                    if has_equal_texts(tests, &environment.object) {
                        predicates.assumptions.insert(NO_NUMBERS.into());
                    }
                    predicates.assumptions.extend(assumptions(tests, &environment.object));
                    let has_durations = predicates.functions.contains(&Operation::Duration);
                    predicates.assumptions.extend(has_durations.then(|| "durations fit into 64 bits".into()));
                }
                _ => {
                    if predicates.changes_case() && !predicates.regexes.is_empty() {
                        predicates.open("a text of another case is searched");
                    }
                    if let Some(why) = predicates.unless_followed.clone() {
                        predicates.open(why);
                    }
                }
            }
            let mut tested = Tested::new(tests.as_ref(), &predicates);
            if side.knows_no_patterns {
                tested.drop_patterns();
                if predicates.drop_patterns() {
                    predicates.assumptions.insert(NO_PATTERNS.into());
                }
            }
            if side.has_one_key {
                predicates.assumptions.extend(AmbiguousWildcardKeys::of_policy(&part).texts());
            }
            if !is_all_read {
                predicates.open("a rule reads what only a request shows");
            }
            if reads.more_of_request {
                predicates.open("more of a request than its objects, its operation and who sends it");
            }
            let more: Vec<Option<Tree>> =
                exceptions.iter().map(Tree::of).chain(cel.iter().map(Tree::of)).collect();
            let shown = is_all_read.then_some([&reads.object, &reads.old, &reads.shown]);
            let items = Items::of(&part, (exceptions, cel), Shapes::new(&environment.object, shown));
            if items.other_uses {
                predicates.open("a length, or the operation, is not compared with a constant");
            }
            let identity = identity(&part, environment, &more);
            let external = external(&part);
            let set =
                PolicySet::new(vec![Arc::new(part)], exceptions.to_vec()).with_cel_exceptions(cel.to_vec());
            let engine = lookup_stub::engine(set);
            let mut objects = reads.object.clone();
            objects.merge(&reads.shown);
            objects.merge(&reads.old);
            all.push(Unit {
                engine,
                reads,
                is_all_read,
                predicates,
                tested,
                items,
                identity,
                external,
                objects,
            });
        }
    }
    all
}

/// What is assumed of texts that `Equals` compares: it takes `1h` for `60m`.
const NO_NUMBERS: &str = "no quantities or durations in texts that are compared with each other";

/// Whether an operator says which of two values is more that may both be texts, or of which one is
/// one.
fn has_ordered_texts(tests: &Comparisons, kind: &[Str; 3]) -> bool {
    let are_texts = |places: &[Vec<Step>; 2]| {
        places.iter().all(|place| may_be_text(kind, place)) || places.iter().any(|place| is_text(kind, place))
    };
    tests.measured.iter().any(|(places, has_order)| *has_order && are_texts(places))
}

/// Whether an operator says that two texts are equal that may be numbers.
fn has_equal_texts(tests: &Comparisons, kind: &[Str; 3]) -> bool {
    let may_be_amounts = |places: &[Vec<Step>; 2]| places.iter().all(|place| may_be_text(kind, place));
    tests.measured.iter().any(|(places, has_order)| !*has_order && may_be_amounts(places))
}

/// What is assumed of a side without patterns in values.
const NO_PATTERNS: &str = "no `*` or `?` in values that are compared as patterns, or with them";

/// What is assumed of texts that become parts of expressions.
fn assumptions(tests: &Comparisons, kind: &[Str; 3]) -> impl Iterator<Item = String> {
    let may_have = |place: &&Vec<Step>| !has_names_alone(kind, place);
    let quoted = tests
        .quoted
        .iter()
        .filter(may_have)
        .map(|place| format!("no quotes or braces in {}", path_of(place)));
    let of_key = |place: &Vec<Step>| {
        format!("{} is a word of letters, digits and `_` that begins with no digit", path_of(place))
    };
    quoted.chain(tests.keys.iter().map(of_key))
}

/// What is assumed of texts that documents are filled in with: they hold no variables,
/// and are no anchors.
pub(crate) fn assumes_no_variables(place: &[Step]) -> String {
    format!("no quotes, braces or anchors in {}", path_of(place))
}

fn path_of(place: &[Step]) -> String {
    let mut path = String::new();
    for step in place {
        match step {
            Step::Key(key) if path.is_empty() => path.push_str(key),
            Step::Key(key) => path.extend([".", &**key]),
            Step::Items | Step::Nested => path.push_str("[]"),
        }
    }
    path
}

/// What a rule checks, without its message: no verdict depends on it.
fn without_message_texts(body: &Body) -> Body {
    let Body::Validate { check, message } = body else { return body.clone() };
    let none = Template::Const(Value::from(""));
    let message = Message { text: "".into(), template: none, passed: "".into(), ..message.clone() };
    Body::Validate { check: without_messages(check), message }
}

fn without_messages(check: &Check) -> Check {
    let condition = |one: &Condition| Condition { message: "".into(), ..one.clone() };
    let each = |all: &[Condition]| all.iter().map(condition).collect::<Box<[_]>>();
    match check {
        Check::Assert(all) => {
            let of = |v: &Validation| Validation { message_program: None, ..v.clone() };
            Check::Assert(all.iter().map(of).collect())
        }
        Check::Deny(all) => {
            let any = all.any.as_deref().map(each);
            Check::Deny(Conditions { any, all: each(&all.all), ..all.clone() })
        }
        Check::ForEach(loops) => {
            let of = |l: &ForEach| ForEach { check: without_messages(&l.check), ..l.clone() };
            Check::ForEach(loops.iter().map(of).collect())
        }
        other => other.clone(),
    }
}

/// The parts of a rule.
fn split(rule: &Rule) -> Vec<Rule> {
    let Body::Validate { check, message } = &rule.body else { return vec![rule.clone()] };
    let variables = rule.expressions.as_deref().map(|shared| &*shared.variables).unwrap_or_default();
    let checks = parts(check, variables);
    let of = |check: Check| Rule { body: Body::Validate { check, message: message.clone() }, ..rule.clone() };
    match checks.len() {
        2..=MAX_PARTS => checks.into_iter().map(of).collect(),
        _ => vec![rule.clone()],
    }
}

fn parts(check: &Check, variables: &[Variable]) -> Vec<Check> {
    match check {
        Check::Deny(conditions) => denials(conditions).into_iter().map(Check::Deny).collect(),
        // An anchor may decide about all of the pattern.
        Check::Pattern(Overlay::Ready(pattern), _) if has_deciding_anchor(&pattern.source) => {
            vec![check.clone()]
        }
        Check::Pattern(Overlay::Ready(pattern), origin) => {
            let lowered = leaves(&pattern.source).into_iter().map(|part| LATE.pattern(&part));
            let patterns: Option<Vec<_>> = lowered.collect();
            let of = |pattern| Check::Pattern(Overlay::Ready(Arc::new(pattern)), origin.clone());
            patterns.map_or_else(|| vec![check.clone()], |all| all.into_iter().map(of).collect())
        }
        Check::Assert(validations) => {
            let each = validations.iter().flat_map(|v| conjuncts(v, variables));
            each.map(|validation| Check::Assert(Box::new([validation]))).collect()
        }
        Check::PodSecurity(all) => match all.controls() {
            Some(controls) => controls
                .filter(|placed| !all.is_excluded(placed))
                .flat_map(|placed| of_control(all, &placed))
                .collect(),
            None => vec![check.clone()],
        },
        Check::ForEach(loops) => {
            let of = |l: &ForEach| {
                let inner = parts(&l.check, variables);
                let lists = lists_of(&l.list);
                let l = l.clone();
                let each = move |list: Query| {
                    let (l, inner) = (l.clone(), inner.clone());
                    inner.into_iter().map(move |check| ForEach { check, list: list.clone(), ..l.clone() })
                };
                lists.into_iter().flat_map(each)
            };
            loops.iter().flat_map(of).map(|l| Check::ForEach(Box::new([l]))).collect()
        }
        other => vec![other.clone()],
    }
}

/// The lists that a loop walks one after the other, each as a list of its own: it ends with the
/// first element that is a violation.
fn lists_of(list: &Query) -> Vec<Query> {
    let Ok(expr) = &list.expr else { return vec![list.clone()] };
    let on_delete = list.on_delete.as_deref();
    let alone = members(expr);
    let deleted = on_delete.map(|query| query.expr.as_ref().map(members).unwrap_or_default());
    if alone.len() < 2 || deleted.as_ref().is_some_and(|deleted| deleted.len() != alone.len()) {
        return vec![list.clone()];
    }
    let of = |(at, expr): (usize, Expr)| {
        let deleted = deleted.as_ref().and_then(|all| all.get(at).cloned());
        let on_delete = on_delete.zip(deleted).map(|(query, expr)| Query { expr: Ok(expr), ..query.clone() });
        Query { expr: Ok(expr), on_delete: on_delete.map(Box::new), ..list.clone() }
    };
    alone.into_iter().enumerate().map(of).collect()
}

/// An expression that takes a list of lists apart, once for each of these lists alone.
fn members(expr: &Expr) -> Vec<Expr> {
    match expr {
        Expr::Flatten(inner) => {
            members_of_list(inner).into_iter().map(|one| Expr::Flatten(Box::new(one))).collect()
        }
        Expr::Rescue { expr, faults } => members(expr)
            .into_iter()
            .map(|one| Expr::Rescue { expr: Box::new(one), faults: *faults })
            .collect(),
        Expr::Project { over: Over::Items, source, keep, body } => {
            let again = |source: Expr| Expr::Project {
                over: Over::Items,
                source: Box::new(source),
                keep: keep.clone(),
                body: body.clone(),
            };
            members(source).into_iter().map(again).collect()
        }
        _ => Vec::new(),
    }
}

/// The same of what is taken apart.
fn members_of_list(expr: &Expr) -> Vec<Expr> {
    match expr {
        Expr::List(items) => items.iter().map(|one| Expr::List([one.clone()].into())).collect(),
        Expr::Let { value, body } => {
            let again = |body: Expr| Expr::Let { value: value.clone(), body: Box::new(body) };
            members_of_list(body).into_iter().map(again).collect()
        }
        Expr::UnlessNull(pair) => {
            let again = |body: Expr| Expr::UnlessNull(Box::new([pair[0].clone(), body]));
            members_of_list(&pair[1]).into_iter().map(again).collect()
        }
        Expr::Rescue { expr, faults } => {
            let again = |one: Expr| Expr::Rescue { expr: Box::new(one), faults: *faults };
            members_of_list(expr).into_iter().map(again).collect()
        }
        other => members(other),
    }
}

/// A control, in parts where a pod violates it when it violates one of them.
fn of_control(all: &PodSecurity, placed: &Placed) -> Vec<Check> {
    let is_own = |entry: &&Value| entry.text_at(&["controlName"]) == placed.control.name;
    let exclude: Vec<Value> =
        all.exclude.as_list().unwrap_or_default().iter().filter(is_own).cloned().collect();
    let has_exclusions = !exclude.is_empty();
    // An exclusion without images may exempt a container, whatever it lacks.
    let is_without_images = |entry: &Value| {
        entry.get("images").and_then(Value::as_list).is_none_or(<[Value]>::is_empty)
            && entry.text_at(&["restrictedField"]).is_empty()
    };
    let exempts_one = exclude.iter().any(is_without_images)
        && placed.form.requirements.iter().any(|row| row.unless_pod.is_some());
    let is_of_all = |entry: &Value| {
        let images = entry.get("images").and_then(Value::as_list).unwrap_or_default();
        images.iter().any(|image| image.as_str() == Some("*"))
            && entry.text_at(&["restrictedField"]).is_empty()
            && entry.get("values").is_none()
    };
    let exempts_all = exclude.iter().any(is_of_all);
    let is_first_all = placed.form.joined.is_none();
    let exclude = Value::list(exclude);
    let of = |field: Option<FieldPart>| {
        let only = Some(ControlPart { control: placed.control.id.into(), field });
        Check::PodSecurity(PodSecurity { only, exclude: exclude.clone(), ..all.clone() })
    };
    let mut parts = Vec::new();
    for (requirement, row) in placed.form.requirements.iter().enumerate() {
        let is_whole = row.annotations.is_some_and(|annotations| annotations.of_containers);
        // Errors are excluded: where there are none, parts depend on each other.
        let is_joint = has_exclusions && !row.shows_fields;
        if is_whole || is_joint || exempts_one {
            return vec![of(None)];
        }
        let mut whose: Vec<Whose> = Vec::new();
        whose.extend((row.of != Of::Containers).then_some(Whose::Pod));
        if row.of != Of::Pod && !exempts_all {
            whose.extend((0..LISTS.len()).map(Whose::Containers));
        }
        // Where the first requirement that is not met says it all, and what it says is excluded,
        // later ones do not count.
        let after = has_exclusions && is_first_all && requirement > 0;
        for (field, _) in row.fields.iter().enumerate() {
            let part = |of: Whose| FieldPart { requirement, field, of, exempts: true, after };
            parts.extend(whose.iter().map(|one| of(Some(part(*one)))));
        }
        if row.annotations.is_some() {
            let part = FieldPart { requirement, field: 0, of: Whose::Annotations, exempts: true, after };
            parts.push(of(Some(part)));
        }
    }
    parts
}

/// Conditions of which one suffices to deny, each with those that must hold as well.
fn denials(conditions: &Conditions) -> Vec<Conditions> {
    match &conditions.any {
        Some(any) if any.len() > 1 => {
            let of =
                |one: &Condition| Conditions { any: Some(Box::new([one.clone()])), ..conditions.clone() };
            any.iter().map(of).collect()
        }
        _ => vec![conditions.clone()],
    }
}

/// The parts of a validation that must all be true.
fn conjuncts(validation: &Validation, variables: &[Variable]) -> Vec<Validation> {
    let Ok(expr) = &validation.check.program else { return vec![validation.clone()] };
    let of = |expr: Expr| {
        let check = Source { program: Ok(expr), sharing: Sharing::default(), ..validation.check.clone() };
        Validation { check, message_program: None, ..validation.clone() }
    };
    ands(expr, variables).into_iter().map(of).collect()
}

/// What must all be true for an expression to be true. `&&` is the least and `||` the greatest of
/// its sides where an error is between false and true, so one distributes over the other, and
/// negation exchanges them.
fn ands(expr: &Expr, variables: &[Variable]) -> Vec<Expr> {
    split_at(expr, variables, true)
}

/// The parts of which an expression is the conjunction (`all`), or the disjunction.
fn split_at(expr: &Expr, variables: &[Variable], all: bool) -> Vec<Expr> {
    let whole = || vec![expr.clone()];
    match expr {
        Expr::Decide { all: own, sides } if *own == all => {
            sides.iter().flat_map(|e| split_at(e, variables, all)).collect()
        }
        Expr::Decide { all: own, sides } => {
            let [left, right] = [&sides[0], &sides[1]].map(|side| split_at(side, variables, all));
            if left.len() * right.len() > MAX_DISTRIBUTED {
                return whole();
            }
            let both = |left: &Expr, right: &Expr| Expr::Decide {
                all: *own,
                sides: Box::new([left.clone(), right.clone()]),
            };
            left.iter().flat_map(|left| right.iter().map(move |right| both(left, right))).collect()
        }
        Expr::Cells { count, body } => {
            let around = |body: Expr| Expr::Cells { count: *count, body: Box::new(body) };
            split_at(body, variables, all).into_iter().map(around).collect()
        }
        Expr::Invoke(not) if not.function.operation == Operation::Not => {
            let [inner] = &*not.args else { return whole() };
            let negated =
                |part: Expr| Expr::Invoke(Box::new(Invoke { args: [part].into(), ..(**not).clone() }));
            split_at(inner, variables, !all).into_iter().map(negated).collect()
        }
        Expr::Walk(walk) if walk.steps.is_empty() => match split_at(&walk.base, variables, all) {
            parts if parts.len() > 1 => parts,
            _ => whole(),
        },
        Expr::Variable(n) => {
            let of_program =
                Variable::at(variables, *n).map(|(program, earlier)| split_at(program, earlier, all));
            of_program.filter(|parts| parts.len() > 1).unwrap_or_else(whole)
        }
        Expr::Comprehension(l)
            if l.kind == if all { ComprehensionKind::All } else { ComprehensionKind::Exists }
                && l.keep.is_none() =>
        {
            let ranges = if l.two { vec![l.range.clone()] } else { addends(&l.range, variables) };
            let around = |range: &Expr, body: &Expr| {
                let (range, body) = (range.clone(), body.clone());
                Expr::Comprehension(Box::new(Comprehension { range, body, ..(**l).clone() }))
            };
            let bodies = split_at(&l.body, variables, all);
            ranges.iter().flat_map(|range| bodies.iter().map(move |body| around(range, body))).collect()
        }
        _ => whole(),
    }
}

/// The lists that a list is put together of, also under the name of a variable.
fn addends(range: &Expr, variables: &[Variable]) -> Vec<Expr> {
    let parts = match range {
        Expr::Invoke(sum) => match (sum.function.operation, &*sum.args) {
            (Operation::Add, all @ [_, _]) => all.iter().flat_map(|e| addends(e, variables)).collect(),
            (Operation::Unchanged, [one]) => addends(one, variables),
            _ => Vec::new(),
        },
        Expr::Walk(walk) if walk.steps.is_empty() => addends(&walk.base, variables),
        Expr::Variable(n) => {
            Variable::at(variables, *n).map_or_else(Vec::new, |(list, earlier)| addends(list, earlier))
        }
        _ => Vec::new(),
    };
    if parts.len() > 1 { parts } else { vec![range.clone()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pattern: &str) -> Vec<String> {
        let pattern = ephor_document::yaml_value(pattern).unwrap();
        leaves(&pattern).iter().map(ephor_value::print::json).collect()
    }

    #[test]
    fn a_pattern_is_cut_at_its_leaves() {
        assert_eq!(
            texts("{spec: {a: 1, =(b): [{c: x, d: z}]}}"),
            [r#"{"spec":{"a":1}}"#, r#"{"spec":{"=(b)":[{"c":"x"}]}}"#, r#"{"spec":{"=(b)":[{"d":"z"}]}}"#]
        );
    }

    #[test]
    fn what_a_condition_decides_about_stays_with_it() {
        assert_eq!(texts("{spec: {c: [{(name): x, image: y}]}, a: 1}").len(), 2);
        assert_eq!(texts("{<(a): 1, b: 2}").len(), 1);
        assert_eq!(texts("[{a: 1}, {b: 2}]").len(), 1);
    }
}
