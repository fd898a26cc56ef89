//! How many items of lists matter.
//!
//! In: a lowered policy. Out: [`Items`]. A rule says of a list that some item is such, or that all
//! are, several of these perhaps. What it says of a list it says of a part of it that keeps one
//! item for each such statement that is true, and this many items more as a number that its length
//! is compared with (`docs/internals/equivalence.md`, "Lists").
//!
//! Rules that check each item (patterns, `foreach`, `all`) are satisfied by a part of a list when
//! they are by the list: to keep them satisfied takes no item. Unless what they say of an item is
//! about other lists, too: then each item may need one of these, and no number is known.
//!
//! - `conditions`: how many items the lists of a condition need
//! - `count`: how many items, and of which lists
//! - `counts`: two counts of one list
//! - `lengths`: the numbers and lists that the lengths of lists, or lists as a whole, are compared
//!   with
//! - `model`: what the other files count with: the numbers of a rule, and those of one statement
//! - `provenance`: lists of which each item comes from one item of a list that the object has
//! - `rounds`: texts in which variables stand in variables
//! - `shapes`: which values that are compared may be lists, or objects with any keys
//! - `texts`: labels and annotations: texts, and so no lists
//! - `used`: lengths that are used in ways which say nothing of how many items matter

pub(crate) mod conditions;
pub(crate) mod count;
pub(crate) mod counts;
pub(crate) mod lengths;
pub(crate) mod model;
pub(crate) mod provenance;
pub(crate) mod rounds;
pub(crate) mod shapes;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod texts;
pub(crate) mod used;

use std::collections::BTreeSet;

use ephor_functions::registry::{Language, Operation};
use ephor_ir::cel_exception::CelException;
use ephor_ir::check::ForEach;
use ephor_ir::matcher::Filter;
use ephor_ir::parts::{HasParts, RulePart};
use ephor_ir::rule::BindingSource;
use ephor_ir::shape::{Anchor, Shape};
use ephor_ir::strict::{Comprehension, ComprehensionKind, Step, Walk};
use ephor_ir::walk::{any_child, children};
use ephor_ir::{Exception, Expr, Policy};
use ephor_value::wildcard::has_wildcard;
use ephor_value::{Str, Value};

use crate::lists::searched::searched;
pub(crate) use crate::lists::small_model::count::Count;
use crate::lists::small_model::lengths::{is_equality, names_length};
pub(crate) use crate::lists::small_model::model::Items;
use crate::lists::small_model::model::{ListProvenance, LoopUse, Need, deciding_parts};
use crate::lists::small_model::provenance::of_query;
pub(crate) use crate::lists::small_model::shapes::Shapes;

impl Items {
    /// Those of a policy with exceptions.
    pub(crate) fn of(
        policy: &Policy,
        (exceptions, cel): (&[Exception], &[CelException]),
        shapes: Shapes,
    ) -> Items {
        let mut found = Items { shapes, ..Items::default() };
        let mut need = Need::default();
        for rule in policy.all_rules() {
            found.constants.clear();
            found.texts.clear();
            for variable in rule.expressions.iter().flat_map(|shared| &*shared.variables) {
                let is_constant = found.is_local(RulePart::Variable(variable), &[]);
                let is_text = variable.program.as_ref().is_ok_and(|program| found.is_text(program));
                found.constants.push(is_constant);
                found.texts.push(is_text);
            }
            found.searched = searched(rule);
            let (rule, is_all) = rounds::read(rule);
            let part = RulePart::Rule(&rule);
            if !is_all {
                found.open.get_or_insert_with(|| "a text is put together from variables".into());
            }
            let prints = found.shapes.has_whole_lists() && used::prints_value(part);
            found.other_uses |= prints || used::has_other_uses(&rule);
            found.is_length_named |= names_length(part, false);
            found.note_grown(&rule);
            need = need.and(found.part(part, true));
        }
        found.grown = ListProvenance::default();
        let of_exceptions = exceptions.iter().map(|one| found.each(one, false)).collect::<Vec<_>>();
        let of_cel = cel.iter().map(|one| found.each(one, false)).collect::<Vec<_>>();
        let of_policy = policy.admit.iter().map(|source| found.each(source, false)).collect::<Vec<_>>();
        let others = of_exceptions.into_iter().chain(of_cel).chain(of_policy);
        need = others.fold(need, |sum, one| sum.and(one.either()));
        (found.violated, found.satisfied) = (need.to_fail, need.to_hold);
        (found.violated_by_others, found.satisfied_by_others) = (need.fails_by_others, need.holds_by_others);
        (found.violated_without, found.satisfied_without) = (need.fails_without, need.holds_without);
        found
    }

    /// What a part needs. `plain`: it decides by itself, it is no operand of something else.
    fn part(&mut self, part: RulePart, plain: bool) -> Need {
        match part {
            RulePart::Expr(expr) => self.expr(expr, plain),
            RulePart::Condition(condition) => self.condition(condition),
            RulePart::Conditions(_) => self.parts(part, false),
            RulePart::Expressions(shared) => {
                // Where one is not true the rule does not apply.
                let conditions = self.each(&shared.conditions, plain).negated();
                let need = conditions.and(self.each(&shared.annotations, plain));
                // The items of lists which grow with others count where these are read.
                shared.variables.iter().enumerate().fold(need, |sum, (at, variable)| {
                    let part = RulePart::Variable(variable);
                    sum.and(match self.is_grown_variable(at) {
                        true => self.filters(part),
                        false => self.part(part, false),
                    })
                })
            }
            RulePart::Binding(binding) => {
                self.is_searched = self.searched.contains(&binding.name);
                // The items of one that grows count where it is read.
                if self.defines_grown(binding) { self.filters(part) } else { self.parts(part, plain) }
            }
            RulePart::ForEach(of) => self.for_each(of, plain),
            RulePart::Entry(entry) => {
                let need = self.parts_of_entry(part, entry.anchor, plain);
                // Keys with wildcards look for an entry; so do filters, and their selectors.
                if !has_wildcard(&entry.key) {
                    return need;
                }
                self.any = true;
                need.and(Need::both(1))
            }
            RulePart::Shape(Shape::List(_)) => {
                let kind = if std::mem::take(&mut self.is_existence) { LoopUse::Some } else { LoopUse::Each };
                let need = self.parts(part, plain);
                self.of_loop(
                    need,
                    kind,
                    plain,
                    &ItemScope { names: BTreeSet::new(), is_around: false, is_own: true },
                )
            }
            RulePart::Shape(Shape::Map(_) | Shape::Leaf(_)) => {
                self.is_existence = false;
                self.parts(part, plain)
            }
            // A container, volume or sysctl is enough to fail; an item of a list in it may have to
            // be there.
            RulePart::PodSecurity(_) => {
                self.any = true;
                Need { to_hold: Count::of(1), to_fail: Count::of(2), ..Need::default() }
            }
            RulePart::Filter(filter) => Need::both(looked_for(filter)).and(self.parts(part, plain)),
            _ => self.parts(part, plain),
        }
    }

    fn parts(&mut self, part: RulePart, plain: bool) -> Need {
        let mut need = Need::default();
        deciding_parts(part, &mut |below| need = std::mem::take(&mut need).and(self.part(below, plain)));
        need
    }

    fn each(&mut self, of: &(impl HasParts + ?Sized), plain: bool) -> Need {
        let mut need = Need::default();
        HasParts::each(of, &mut |part| need = std::mem::take(&mut need).and(self.part(part, plain)));
        need
    }

    /// An anchor says of the list below it that one item must match, instead of each.
    fn parts_of_entry(&mut self, part: RulePart, anchor: Anchor, plain: bool) -> Need {
        self.is_existence = anchor == Anchor::Existence;
        self.parts(part, plain)
    }

    /// What the tests and values of items need in a part whose items count elsewhere.
    pub(crate) fn filters(&mut self, part: RulePart) -> Need {
        let keep = match part {
            RulePart::Expr(Expr::Project { keep: Some(keep), .. }) => Some(&**keep),
            RulePart::Expr(Expr::Comprehension(l)) => l.keep.as_ref(),
            _ => None,
        };
        let mut need = Need::default();
        deciding_parts(part, &mut |below| {
            let is_test =
                matches!(below, RulePart::Expr(e) if keep.is_some_and(|keep| std::ptr::eq(keep, e)));
            let own = if is_test { self.part(below, false) } else { self.filters(below) };
            need = std::mem::take(&mut need).and(own);
        });
        need
    }

    pub(crate) fn filters_of(&mut self, expr: &Expr) -> Need {
        self.filters(RulePart::Expr(expr))
    }

    /// The value that is searched in a list of which each item comes from one of the object, and
    /// this list.
    fn looked_into<'e>(&self, expr: &'e Expr) -> Option<[&'e Expr; 2]> {
        match expr.invoked()? {
            (Operation::Member, [value, list]) if self.grows(list) => Some([value, list]),
            _ => None,
        }
    }

    /// Whether two lists, or objects, are compared with each other as a whole.
    pub(crate) fn compares_lists(&self, expr: &Expr) -> bool {
        let sides: &[Expr] = match expr {
            Expr::Invoke(call) if is_equality(call.function.operation) => &call.args,
            Expr::Compare { sides, .. } => &**sides,
            _ => return false,
        };
        let may_be_list =
            |side: &Expr| side.constant().is_none() && !self.is_text(side) && self.shapes.may_be_list(side);
        sides.iter().all(may_be_list)
    }

    /// What a conditional expression needs that decides by itself: one with a constant is like `&&`
    /// or `||`.
    fn choice(&mut self, [test, then, other]: &[Expr; 3]) -> Need {
        let [test, then, otherwise] = [test, then, other].map(|part| self.expr(part, true));
        match other {
            Expr::Const(Value::Bool(false)) => test.and(then),
            Expr::Const(Value::Bool(true)) => test.negated().and(then),
            _ => test.either().and(then).and(otherwise),
        }
    }

    fn expr(&mut self, expr: &Expr, plain: bool) -> Need {
        let mut need = Need::both(usize::from(self.reads_grown(expr)));
        // Whether a child decides as its parent does.
        let decides = match expr {
            Expr::Decide { .. }
            | Expr::Cells { .. }
            | Expr::Once { .. }
            | Expr::Bind(_)
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::Variable(_) => plain,
            Expr::Comprehension(l) => return need.and(self.comprehension(l, plain)),
            Expr::Project { .. } => return need.and(self.projection(expr)),
            Expr::Cond(parts) if plain => return need.and(self.choice(parts)),
            Expr::Invoke(_) | Expr::Call { .. } | Expr::Compare { .. } => {
                if let Some([value, list]) = self.looked_into(expr).filter(|_| plain) {
                    // Some item of a list is searched.
                    self.any = true;
                    let of = Count::of_lists(1, &self.names(list));
                    let both = self.expr(value, false).and(self.filters_of(list));
                    return both.and(Need { to_hold: of, ..Need::default() });
                }
                let by_others = self.compares_lists(expr);
                let lengths = self.lengths_of_expr(expr) + usize::from(self.looks_into_list(expr));
                let others =
                    Need { holds_by_others: by_others, fails_by_others: by_others, ..Need::default() };
                need = need.and(Need::both(lengths)).and(others);
                plain && is_negation(expr)
            }
            // The first item stays the first one.
            Expr::Index { .. } => {
                self.any = true;
                need = need.and(Need::both(1));
                false
            }
            Expr::Walk(walk) => {
                need = need.and(self.positions(walk));
                false
            }
            Expr::Test(test) => {
                need = need.and(self.positions(&test.walk));
                false
            }
            Expr::Const(_)
            | Expr::Root
            | Expr::Local(_)
            | Expr::Path { .. }
            | Expr::Slice { .. }
            | Expr::Let { .. }
            | Expr::Rescue { .. }
            | Expr::Flatten(_)
            | Expr::List(_)
            | Expr::Object(_)
            | Expr::UnlessNull(_)
            | Expr::Higher { .. }
            | Expr::Lambda { .. }
            | Expr::Cond(_)
            | Expr::Folded(_)
            | Expr::OneOf { .. }
            | Expr::Make(_)
            | Expr::OrElse { .. }
            | Expr::Fail { .. } => false,
        };
        children(expr, &mut |e, _| need = std::mem::take(&mut need).and(self.expr(e, decides)));
        if is_negation(expr) { need.negated() } else { need }
    }

    /// The items that a walk reads by their positions.
    fn positions(&mut self, walk: &Walk) -> Need {
        let is_position = |step: &&Step| match step {
            Step::Key { key, .. } => {
                matches!(key, Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Bool(_))
            }
            Step::Field(_) | Step::At { .. } => false,
        };
        let count = walk.steps.iter().filter(is_position).count();
        self.any |= count > 0;
        Need::both(count)
    }

    fn comprehension(&mut self, l: &Comprehension, plain: bool) -> Need {
        let kind = match l.kind {
            ComprehensionKind::All => LoopUse::Each,
            ComprehensionKind::Exists => LoopUse::Some,
            ComprehensionKind::One => LoopUse::One,
            ComprehensionKind::List | ComprehensionKind::Map | ComprehensionKind::Entries => LoopUse::Other,
        };
        let range = if self.grows(&l.range) { self.filters_of(&l.range) } else { self.expr(&l.range, plain) };
        let of_items = || l.keep.iter().chain([&l.body]);
        let need = of_items().fold(range, |sum, one| sum.and(self.expr(one, plain)));
        let binders = if l.two { 2 } else { 1 };
        let of = ItemScope {
            names: self.names(&l.range),
            is_around: reads(&l.range, 0) || of_items().any(|one| reads(one, binders)),
            is_own: of_items().all(|one| self.is_local(RulePart::Expr(one), &[])),
        };
        self.of_loop(need, kind, plain, &of)
    }

    fn projection(&mut self, expr: &Expr) -> Need {
        let is_searched = std::mem::take(&mut self.is_searched);
        let mut need = Need::default();
        let mut is_own = true;
        children(expr, &mut |e, child| {
            need = std::mem::take(&mut need).and(self.expr(e, false));
            is_own = is_own && (child.binders == 0 || self.is_local(RulePart::Expr(e), &[]));
        });
        if is_searched {
            self.any = true;
            return need;
        }
        let of = ItemScope { names: self.names(expr), is_around: reads(expr, 0), is_own };
        self.of_loop(need, LoopUse::Other, false, &of)
    }

    fn for_each(&mut self, of: &ForEach, plain: bool) -> Need {
        let list = of_query(&of.list);
        let mut need = match list.filter(|list| self.grows(list)) {
            Some(_) => self.filters(RulePart::Query(&of.list)),
            None => self.part(RulePart::Query(&of.list), plain),
        };
        let names: Vec<&str> = of.bindings.iter().map(|binding| &*binding.name).collect();
        let mut own = ItemScope {
            names: list.map(|list| self.names(list)).unwrap_or_default(),
            is_around: false,
            is_own: true,
        };
        let list = std::ptr::from_ref(&of.list);
        deciding_parts(RulePart::ForEach(of), &mut |below| {
            own.is_around = own.is_around || reads_part(below);
            if !matches!(below, RulePart::Query(query) if std::ptr::eq(query, list)) {
                need = std::mem::take(&mut need).and(self.part(below, plain));
                own.is_own = own.is_own && self.is_local(below, &names);
            }
        });
        self.of_loop(need, LoopUse::Each, plain, &own)
    }

    /// What a loop needs of which the parts need this.
    fn of_loop(&mut self, need: Need, kind: LoopUse, plain: bool, of: &ItemScope) -> Need {
        self.any = true;
        let one = Count::of_lists(1, &of.names);
        // Items of lists in an item come with it; those of lists around it are more.
        let with_one = |count: &Count| match of.is_around {
            true => count.clone().and(&one),
            false => count.clone().or(&one),
        };
        // Of a statement about each item.
        let each = |need: Need| match of.is_own {
            // Of each item it says something of other lists, too.
            false => Need {
                to_hold: Count::default(),
                to_fail: need.to_fail.and(&one),
                holds_by_others: need.holds_by_others || need.to_hold.total > 0,
                fails_by_others: need.fails_by_others,
                holds_without: true,
                fails_without: need.fails_without,
            },
            // One item is enough to fail, with what this needs; each that stays has what it needs
            // itself, and may need items of what is around it.
            true => Need {
                to_fail: with_one(&need.to_fail),
                holds_by_others: need.holds_by_others || (need.to_hold.total > 0 && of.is_around),
                holds_without: true,
                ..need
            },
        };
        match kind {
            LoopUse::Each if plain => each(need),
            // Some item is such when not all are the contrary.
            LoopUse::Some if plain => each(need.negated()).negated(),
            LoopUse::Each | LoopUse::Some | LoopUse::One | LoopUse::Other => {
                // What it says of each item may need others.
                let by_others = !of.is_own && need.to_hold.total + need.to_fail.total > 0;
                let own = if kind == LoopUse::One { Count::of_lists(2, &of.names) } else { one };
                need.and(Need {
                    holds_by_others: by_others,
                    fails_by_others: by_others,
                    ..Need::both_of(own)
                })
            }
        }
    }

    /// Whether an operator or function looks for items of a list by itself.
    fn looks_into_list(&self, expr: &Expr) -> bool {
        let Some(function) = expr.called() else { return false };
        match (function.operation, function.language, expr) {
            // Of a constant list it says something of a value.
            (Operation::Member, _, Expr::Invoke(call)) => !call.args.last().is_some_and(|list| {
                list.constant().is_some() || (self.is_local(RulePart::Expr(list), &[]) && !reads(list, 0))
            }),
            (Operation::Contains, Language::JmesPath, Expr::Call { args, .. }) => !is_key_of_object(args),
            _ => false,
        }
    }

    /// Whether a part reads nothing but what the loops around it walk, entries with these names and
    /// constants.
    pub(crate) fn is_local(&self, part: RulePart, names: &[&str]) -> bool {
        match part {
            RulePart::Expr(Expr::Root) => return false,
            RulePart::Expr(Expr::Variable(at)) => {
                return self.constants.get(*at as usize).is_some_and(|is_constant| *is_constant);
            }
            RulePart::Expr(Expr::Path { base, keys, .. })
                if **base == Expr::Root && is_of_element(keys, names) =>
            {
                return true;
            }
            // What is applied to the answer reads nothing else.
            RulePart::BindingSource(BindingSource::Given { answer, .. }) => {
                return self.is_local(RulePart::Query(answer), names);
            }
            RulePart::Message(_) => return true,
            _ => {}
        }
        let mut is_local = true;
        part.parts(&mut |below| is_local = is_local && self.is_local(below, names));
        is_local
    }
}

/// What a loop is about.
struct ItemScope {
    /// The fields of whose lists it has items.
    names: BTreeSet<String>,
    /// Whether what it says of its items is about values of loops around it, too.
    is_around: bool,
    /// Whether what it says of its items depends on these alone.
    is_own: bool,
}

/// Whether a part reads the value of a loop around it.
fn reads_part(part: RulePart) -> bool {
    match part {
        RulePart::Expr(expr) => reads(expr, 0),
        part => part.any(&mut reads_part),
    }
}

/// Whether a key is a value of a loop of `foreach` that is counted: `element0`, `elementIndex`.
fn is_of_loop(key: &str) -> bool {
    key.strip_prefix("element").is_some_and(|rest| !rest.is_empty())
}

/// Whether a part of a loop reads the value of one that is this many further out.
fn reads(expr: &Expr, depth: u32) -> bool {
    match expr {
        Expr::Local(at) => *at >= depth,
        Expr::Path { keys, .. } if keys.first().is_some_and(|key| is_of_loop(key)) => true,
        expr => any_child(expr, &mut |e, child| reads(e, depth + child.binders)),
    }
}

/// Whether a call of `contains` says whether an object has a key: `contains(keys(object), 'key')`.
fn is_key_of_object(args: &[Expr]) -> bool {
    fn is_keys(expr: &Expr) -> bool {
        match expr {
            Expr::Rescue { expr, .. } => is_keys(expr),
            expr => expr.called().is_some_and(|function| function.operation == Operation::Keys),
        }
    }
    matches!(args, [keys, Expr::Const(Value::Str(_))] if is_keys(keys))
}

/// How many entries of annotations and labels a filter looks for by patterns.
fn looked_for(filter: &Filter) -> usize {
    let patterns = |texts: [&Str; 2]| texts.into_iter().filter(|text| has_wildcard(text)).count();
    let annotations = filter.annotations.iter().map(|(key, value)| [key.pattern(), value.pattern()]);
    // Under a name that is known there is one annotation at most.
    let annotations: usize = annotations.filter(|[key, _]| has_wildcard(key)).map(patterns).sum();
    let of_labels = filter.selector.iter().flat_map(|selector| &selector.labels);
    let labels: usize = of_labels.map(|(key, value)| patterns([key, value])).sum();
    let requirements = filter.selector.iter().flat_map(|selector| &selector.expressions);
    let required = requirements.flat_map(|one| std::iter::once(&one.key).chain(&one.values));
    annotations + labels + required.filter(|text| has_wildcard(text)).count()
}

/// Whether a path from the root begins with the element of a loop of `foreach`, or with an entry
/// that has one of these names.
fn is_of_element(keys: &[Str], names: &[&str]) -> bool {
    let is_element = |key: &str| {
        let rest = key.strip_prefix("element").map(|rest| rest.strip_prefix("Index").unwrap_or(rest));
        rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
    };
    keys.first().is_some_and(|key| is_element(key) || names.contains(&&**key))
}

fn is_negation(expr: &Expr) -> bool {
    match expr {
        Expr::Not(_) => true,
        Expr::Invoke(call) => call.function.operation == Operation::Not,
        _ => false,
    }
}
