//! How much an expression will cost, as far as that is known before it runs.
//!
//! In: a checked tree, the environment, and how large values at paths can be. Out: the least and
//! the most cost of an evaluation. The rules are cel-go's (`docs/expressions/cel.md`, "Estimates"):
//! also where they differ from the cost that the evaluation counts in the end.
//!
//! - `calls`: what calls may cost, and how large their results can be
//! - `size`: ranges of sizes and costs

mod calls;
mod size;

use super::ast::{ACCUMULATOR, Shape};
use super::check::{Typed, TypedFold, TypedKind};
use super::env::Env;
use super::types::Type;
use ephor_value::{Str, Value};

use size::Entries;
pub use size::Range;

/// The largest size of the value at a path: a variable, then fields, `@items`, `@keys` and
/// `@values`.
pub type Sizes<'s> = dyn Fn(&[Str]) -> Option<u64> + 's;

/// Estimates what an expression costs.
pub fn estimate(typed: &Typed, env: &Env, sizes: &Sizes<'_>) -> Range {
    Estimator { env, sizes, locals: Vec::new() }.node(typed).cost
}

/// What is known of a part of the expression.
#[derive(Clone, Debug, Default)]
struct EstimatedPart {
    cost: Range,
    /// Where its value comes from.
    path: Vec<Str>,
    /// What was found out about its size.
    size: Option<Range>,
    /// What was found out about its items.
    entries: Option<Entries>,
    ty: Option<Type>,
}

/// A variable of a loop or a bound name.
struct Local {
    name: Str,
    path: Vec<Str>,
    size: Option<Range>,
    entries: Option<Entries>,
}

struct Estimator<'e> {
    env: &'e Env,
    sizes: &'e Sizes<'e>,
    locals: Vec<Local>,
}

const ACCESS: Range = Range::fixed(1);
const LIST: Range = Range::fixed(10);
const MAP: Range = Range::fixed(30);
const STRUCT: Range = Range::fixed(40);

impl EstimatedPart {
    fn costing(cost: Range) -> EstimatedPart {
        EstimatedPart { cost, ..EstimatedPart::default() }
    }

    fn ty(&self) -> &Type {
        self.ty.as_ref().unwrap_or(&Type::Dyn)
    }
}

impl Estimator<'_> {
    fn node(&mut self, t: &Typed) -> EstimatedPart {
        let mut part = match &t.kind {
            TypedKind::Const(v) => EstimatedPart { size: literal_size(v), ..EstimatedPart::default() },
            TypedKind::Variable(name) => self.variable(name),
            TypedKind::TypeName(_, name) => {
                EstimatedPart { cost: ACCESS, path: vec![name.clone()], ..EstimatedPart::default() }
            }
            TypedKind::Select { operand, field, test } => self.select(operand, field, *test),
            TypedKind::Call { function, args, member, overloads } => {
                self.call(function, args, *member, overloads)
            }
            TypedKind::List { items, .. } => self.list(items),
            TypedKind::Map(entries) => {
                let (mut keys, mut values) = (Range::NOTHING, Range::NOTHING);
                if entries.is_empty() {
                    (keys, values) = (Range::fixed(0), Range::fixed(0));
                }
                let mut cost = MAP;
                for e in entries {
                    let (key, value) = (self.node(&e.key), self.node(&e.value));
                    cost = cost.plus(key.cost).plus(value.cost);
                    keys = keys.union(self.size_or_unknown(&key));
                    values = values.union(self.size_or_unknown(&value));
                }
                let entries_known = Some(Entries { is_list: false, key: keys, value: values });
                let size = Some(Range::fixed(count(entries.len())));
                EstimatedPart { cost, size, entries: entries_known, ..EstimatedPart::default() }
            }
            TypedKind::Struct { fields, .. } => {
                let cost = fields.iter().fold(STRUCT, |sum, f| sum.plus(self.node(&f.value).cost));
                EstimatedPart::costing(cost)
            }
            TypedKind::Fold(fold) if is_bind(fold) => self.bind(fold),
            TypedKind::Fold(fold) => self.fold(fold),
        };
        part.ty = Some(t.ty.clone());
        part
    }

    fn variable(&self, name: &Str) -> EstimatedPart {
        match self.locals.iter().rev().find(|l| l.name == *name) {
            Some(l) => EstimatedPart {
                cost: ACCESS,
                path: l.path.clone(),
                size: l.size,
                entries: l.entries,
                ty: None,
            },
            None => EstimatedPart { cost: ACCESS, path: vec![name.clone()], ..EstimatedPart::default() },
        }
    }

    fn select(&mut self, operand: &Typed, field: &Str, test: bool) -> EstimatedPart {
        let operand = self.node(operand);
        if test {
            return EstimatedPart::costing(operand.cost);
        }
        let mut cost = operand.cost;
        let counts_all = self.env.level.rules().estimates_every_selection;
        if counts_all || matches!(operand.ty(), Type::Map(..) | Type::Struct(_) | Type::Param(_)) {
            cost = cost.plus(ACCESS);
        }
        EstimatedPart { cost, path: below(&operand.path, field), ..EstimatedPart::default() }
    }

    fn list(&mut self, items: &[Typed]) -> EstimatedPart {
        let mut of_items = if items.is_empty() { Range::fixed(0) } else { Range::NOTHING };
        let mut cost = LIST;
        for item in items {
            let item = self.node(item);
            cost = cost.plus(item.cost);
            of_items = of_items.union(self.size_or_unknown(&item));
        }
        let entries = Some(Entries { is_list: true, key: Range::fixed(1), value: of_items });
        EstimatedPart {
            cost,
            size: Some(Range::fixed(count(items.len()))),
            entries,
            ..EstimatedPart::default()
        }
    }

    /// The size of a part, as far as it is known.
    fn size(&self, part: &EstimatedPart) -> Option<Range> {
        let of_type = |ty: &Type| match ty {
            Type::Type(_) if self.env.level.rules().estimates_types => Some(Range::fixed(1)),
            ty => scalar_size(ty),
        };
        part.size.or_else(|| self.size_at(&part.path)).or_else(|| of_type(part.ty()))
    }

    fn size_at(&self, path: &[Str]) -> Option<Range> {
        if path.first().is_none_or(|root| &**root == ACCUMULATOR) {
            return None;
        }
        (self.sizes)(path).map(|most| Range { min: 0, max: most })
    }

    fn size_or_unknown(&self, part: &EstimatedPart) -> Range {
        self.size(part).unwrap_or(Range::UNKNOWN)
    }

    fn bind(&mut self, fold: &TypedFold) -> EstimatedPart {
        let range = self.node(&fold.range);
        let value = self.node(&fold.init);
        let name = fold.var2.clone().unwrap_or_else(|| fold.var.clone());
        let local = Local { name, path: value.path.clone(), size: self.size(&value), entries: value.entries };
        self.locals.push(local);
        let result = self.node(&fold.result);
        self.locals.pop();
        let cost = range.cost.plus(value.cost).plus(result.cost);
        let size = self.size(&result);
        EstimatedPart { cost, path: Vec::new(), size, entries: result.entries, ty: None }
    }

    fn fold(&mut self, fold: &TypedFold) -> EstimatedPart {
        let range = self.node(&fold.range);
        let init = self.node(&fold.init);
        let depth = self.locals.len();
        let accumulator = Local {
            name: ACCUMULATOR.into(),
            path: init.path.clone(),
            size: self.size(&init),
            entries: init.entries,
        };
        self.locals.push(accumulator);
        let is_list = matches!(range.ty(), Type::List(_));
        // With a second variable a key is estimated as if it were its value (cel-go's behaviour).
        let key_step = match (is_list, &fold.var2) {
            (true, _) => "@items",
            (false, None) => "@keys",
            (false, Some(_)) => "@values",
        };
        // Of scalars the type says enough.
        let of_type = |at: usize| range.ty().parameters().get(at).and_then(|t| scalar_size(t));
        let key = |name: &Str| Local {
            name: name.clone(),
            path: below(&range.path, key_step),
            size: of_type(0).filter(|_| !is_list).or(range.entries.map(|e| e.key)),
            entries: None,
        };
        let value = |name: &Str| Local {
            name: name.clone(),
            path: below(&range.path, if is_list { "@items" } else { "@values" }),
            size: of_type(usize::from(!is_list)).or(range.entries.map(|e| e.value)),
            entries: None,
        };
        match &fold.var2 {
            Some(second) => {
                self.locals.push(key(&fold.var));
                self.locals.push(value(second));
            }
            None if is_list => self.locals.push(value(&fold.var)),
            None => self.locals.push(key(&fold.var)),
        }
        let step = self.node(&fold.step);
        self.locals.truncate(depth + 1);
        let result = self.node(&fold.result);
        self.locals.truncate(depth);
        let condition = match fold.shape {
            Shape::All => 2,
            Shape::Exists => 3,
            _ => 0,
        };
        let round = step.cost.plus(Range::fixed(condition));
        let rounds = self.size_or_unknown(&range);
        let cost = range.cost.plus(init.cost).plus(result.cost).plus(rounds.multiply(round));
        let collects = matches!(fold.init.kind, TypedKind::List { .. } | TypedKind::Map(_));
        let size = if collects { Some(rounds) } else { self.size(&init) };
        EstimatedPart { cost, path: Vec::new(), size, entries: step.entries.filter(|_| collects), ty: None }
    }
}

/// A name for a value: nothing is walked.
fn is_bind(fold: &TypedFold) -> bool {
    fold.shape == Shape::Bind
}

fn below(path: &[Str], last: &str) -> Vec<Str> {
    let mut out = path.to_vec();
    out.push(last.into());
    out
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

fn literal_size(v: &Value) -> Option<Range> {
    Some(Range::fixed(match v {
        Value::Str(s) => count(s.chars().count()),
        Value::Bytes(b) => count(b.len()),
        _ => 1,
    }))
}

/// The size of what is neither text nor collection.
fn scalar_size(t: &Type) -> Option<Range> {
    if let Some(inner) = t.as_optional() {
        return scalar_size(inner);
    }
    let scalar =
        matches!(t, Type::Bool | Type::Int | Type::Uint | Type::Double | Type::Duration | Type::Timestamp);
    scalar.then_some(Range::fixed(1))
}

#[cfg(test)]
mod tests;
