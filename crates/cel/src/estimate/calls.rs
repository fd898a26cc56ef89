//! What calls may cost, and how large their results can be.

use super::size::times;
use super::{EstimatedPart, Estimator, Range, Typed, TypedKind, below};
use crate::env::Overload;
use crate::types::Type;
use ephor_value::{Str, Value};

/// A tenth of a text's size is what walking it costs.
const WALK: f64 = 0.1;
/// What a pattern's size costs.
const PATTERN: f64 = 0.25;

const ONE: Range = Range::fixed(1);

/// What one form of a function costs besides its arguments, and the size of its result.
struct Charge {
    cost: Range,
    size: Option<Range>,
}

impl Charge {
    fn of(cost: Range) -> Charge {
        Charge { cost, size: None }
    }

    fn sized(cost: Range, size: Range) -> Charge {
        Charge { cost, size: Some(size) }
    }
}

impl Estimator<'_> {
    pub(super) fn call(
        &mut self,
        function: &Str,
        args: &[Typed],
        member: bool,
        overloads: &[usize],
    ) -> EstimatedPart {
        let parts: Vec<EstimatedPart> = args.iter().map(|a| self.node(a)).collect();
        let sum = parts.iter().fold(Range::fixed(0), |sum, p| sum.plus(p.cost));
        let at = |i: usize| parts.get(i).cloned().unwrap_or_default();
        match &**function {
            "dyn" if !member => {
                let inner = at(0);
                let size = self.size(&inner);
                return EstimatedPart {
                    cost: ONE.plus(inner.cost),
                    path: Vec::new(),
                    size,
                    entries: inner.entries,
                    ty: None,
                };
            }
            "_&&_" | "_||_" => {
                let (left, right) = (at(0).cost, at(1).cost);
                return EstimatedPart::costing(Range { min: left.min, max: left.plus(right).max });
            }
            "_?:_" | "_?_:_" => {
                let cost = at(0).cost.plus(at(1).cost.union(at(2).cost));
                let size = self.size_or_unknown(&at(1)).union(self.size_or_unknown(&at(2)));
                let entries = at(1).entries.zip(at(2).entries).map(|(a, b)| a.union(b));
                return EstimatedPart { cost, path: Vec::new(), size: Some(size), entries, ty: None };
            }
            "_?._" => return EstimatedPart::costing(sum.plus(ONE)),
            _ => {}
        }
        let forms = self.env.functions.get(&**function).map(Vec::as_slice).unwrap_or_default();
        let forms: Vec<&Overload> = overloads.iter().filter_map(|i| forms.get(*i)).collect();
        if forms.is_empty() {
            return EstimatedPart::default();
        }
        let mut cost = Range::NOTHING;
        let mut size: Option<Range> = None;
        let (mut path, mut entries) = (Vec::new(), None);
        for form in &forms {
            let charge = self.charge(function, form, member, &parts, args);
            cost = cost.union(charge.cost);
            size = match (size, charge.size) {
                (Some(a), Some(b)) => Some(a.union(b)),
                (a, b) => a.or(b),
            };
            match (&**function, form.params.first()) {
                ("_[_]", Some(Type::List(_))) => path = below(&at(0).path, "@items"),
                ("_[_]", Some(Type::Map(..))) => path = below(&at(0).path, "@values"),
                ("_+_", Some(Type::List(_))) => {
                    entries = at(0).entries.zip(at(1).entries).map(|(a, b)| a.union(b));
                }
                _ => {}
            }
        }
        EstimatedPart { cost: cost.plus(sum), path, size, entries, ty: None }
    }

    fn charge(
        &self,
        function: &str,
        form: &Overload,
        member: bool,
        parts: &[EstimatedPart],
        args: &[Typed],
    ) -> Charge {
        let size = |i: usize| parts.get(i).map_or(Range::UNKNOWN, |p| self.size_or_unknown(p));
        let walk = |i: usize| size(i).times(WALK);
        // A tenth of what has no bound has none at some levels, in the functions of cel-go itself.
        let keeps = self.env.level.rules().estimates_without_bound;
        let tenth = |n: Range| if keeps { n.times_unbounded(WALK) } else { n.times(WALK) };
        let param = |i: usize| form.params.get(i);
        let kind = |i: usize| parts.get(i).map_or(&Type::Dyn, |p| p.ty());
        let of_text = matches!(param(0), Some(Type::String | Type::Bytes));
        match function {
            "check" => Charge::of(Range::fixed(350_000)),
            "fieldSelector" | "labelSelector" => {
                let n = size(1);
                let pairs = n.times(0.5).multiply(Range::fixed(50));
                Charge::of(Range::fixed(10).plus(n.times(WALK)).plus(pairs))
            }
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" if member => {
                match self.item(&parts[0]) {
                    Some((ty, item)) => {
                        let mut each = ONE;
                        if matches!(ty, Type::String | Type::Bytes) {
                            each = each.plus(item.times(WALK));
                        }
                        Charge::of(size(0).multiply(each))
                    }
                    None if function == "includes" => Charge::of(size(0)),
                    None => Charge::of(walk(0)),
                }
            }
            "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" => Charge::sized(walk(0), size(0)),
            "jsonpatch.escapeKey" => Charge::sized(walk(0), size(0)),
            "replace" => Charge::sized(size(0).times(2.0 * WALK), replaced(size(0), size(1), size(2))),
            "split" => {
                let most = match args.get(2).map(|a| &a.kind) {
                    Some(TypedKind::Const(Value::Int(n))) => {
                        u64::try_from(*n).unwrap_or(n.unsigned_abs().wrapping_neg())
                    }
                    _ => size(0).max,
                };
                Charge::sized(size(0).times(2.0 * WALK), Range { min: 0, max: most })
            }
            "join" => {
                let list = size(0);
                let mut made = match self.item(&parts[0]) {
                    Some((_, item)) => list.multiply(item),
                    None => Range::fixed(0),
                };
                if parts.len() > 1 {
                    let between = Range { min: list.min.saturating_sub(1), max: list.max.saturating_sub(1) };
                    made = made.plus(size(1).multiply(between));
                }
                Charge::sized(made.times(WALK), made)
            }
            "find" | "findAll" if member => {
                let text = size(0).plus(ONE).times(WALK);
                let most = Range { min: 0, max: size(0).max };
                Charge::sized(text.multiply(size(1).times(PATTERN)), most)
            }
            "matches" if member || self.env.level.rules().counts_global_matches => {
                let text = tenth(size(0).plus(ONE));
                Charge::of(text.multiply(size(1).times(PATTERN)))
            }
            "contains" if member => Charge::of(tenth(size(0)).multiply(tenth(size(1)))),
            "startsWith" | "endsWith" if member => Charge::of(tenth(size(1))),
            "validate" => Charge::of(walk(1).multiply(Range::fixed(32))),
            "ip" | "cidr" if !member => Charge::of(walk(0)),
            "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" => Charge::of(walk(0)),
            "ip.isCanonical" => Charge::of(size(0).times(2.0 * WALK)),
            "containsIP" | "containsCIDR" => {
                let bytes = Range { min: 4, max: 16 };
                let mut cost = bytes.plus(bytes).times(WALK);
                if matches!(param(1), Some(Type::String)) {
                    cost = cost.plus(walk(1));
                }
                if function == "containsCIDR" {
                    cost = cost.plus(bytes.times(WALK)).plus(ONE);
                }
                Charge::of(cost)
            }
            "sets.contains" | "sets.intersects" => Charge::of(size(0).multiply(size(1)).plus(ONE)),
            "sets.equivalent" => Charge::of(size(0).multiply(size(1)).multiply(Range::fixed(2)).plus(ONE)),
            "strings.quote" => {
                let n = size(0);
                let quoted =
                    Range { min: n.min.saturating_add(2), max: n.max.wrapping_mul(2).wrapping_add(2) };
                Charge::sized(tenth(n), quoted)
            }
            "format" if member => Charge::of(tenth(size(0))),
            "bytes" if of_text && matches!(param(0), Some(Type::String)) => {
                let n = size(0);
                Charge::sized(tenth(n), Range { min: n.min, max: n.max.wrapping_mul(4) })
            }
            "string" if matches!(param(0), Some(Type::Bytes)) => {
                let n = size(0);
                Charge::sized(tenth(n), Range { min: n.min / 4, max: n.max })
            }
            "@in" if matches!(param(1), Some(Type::List(_))) => Charge::of(size(1)),
            "_+_" => match param(0) {
                Some(Type::String | Type::Bytes) => {
                    let made = size(0).plus(size(1));
                    Charge::sized(tenth(made), made)
                }
                Some(Type::List(_)) => Charge::sized(ONE, size(0).plus(size(1))),
                _ => Charge::of(ONE),
            },
            "_==_" if kind(0) == kind(1) && compared_at_once(kind(0)) => {
                let is = |name: &str| matches!(kind(0), Type::Opaque(n, _) if &**n == name);
                let size = parts.get(1).filter(|_| is("kubernetes.URL")).and_then(|p| self.size(p));
                let most =
                    if is("kubernetes.NamedFormat") { 7 } else { size.map_or(1, |n| n.times(WALK).max) };
                Charge::of(Range { min: 1, max: most.max(1) })
            }
            "_==_" | "_!=_" => Charge::of(compared(size(0), size(1))),
            "_<_" | "_<=_" | "_>_" | "_>=_" if of_text => Charge::of(compared(size(0), size(1))),
            "_[_]" => {
                let own = parts.first().and_then(|p| p.entries).map(|e| e.value);
                Charge { cost: ONE, size: own }
            }
            "slice" => sliced(args, size(0)),
            "flatten" => {
                let depth = match args.get(1).map(|a| &a.kind) {
                    None => 1,
                    Some(TypedKind::Const(Value::Int(n))) if *n >= 0 => n.unsigned_abs(),
                    Some(TypedKind::Const(Value::Int(_)))
                        if !self.env.level.rules().estimates_negative_depths =>
                    {
                        0
                    }
                    Some(_) => u64::MAX,
                };
                let walked = size(0).times(depth as f64);
                Charge::sized(walked.plus(Range::fixed(11)), size(0))
            }
            "distinct" | "sort" | "@sortByAssociatedKeys" => {
                let pairs = size(0).multiply(size(0));
                let compared = match function {
                    "distinct" if self.env.level.rules().estimates_items_of_distinct => {
                        self.item(&parts[0]).map(|(ty, _)| ty)
                    }
                    "distinct" => None,
                    "sort" => item_of(param(0)),
                    _ => item_of(param(1)),
                };
                let texts = matches!(compared, Some(Type::String | Type::Bytes));
                let walked = if texts { pairs.times(WALK) } else { Range::fixed(0) };
                let cost = pairs.multiply(Range::fixed(2)).plus(walked).plus(Range::fixed(11));
                Charge::sized(cost, pairs)
            }
            "reverse" => list_literal(size(0)),
            "lists.range" => {
                let n = match args.first().map(|a| &a.kind) {
                    Some(TypedKind::Const(Value::Int(n))) => Range::fixed(u64::try_from(*n).unwrap_or(0)),
                    _ => Range::fixed(u64::MAX),
                };
                list_literal(n)
            }
            _ => Charge::of(ONE),
        }
    }

    /// The type and the size of a list's items.
    fn item(&self, list: &EstimatedPart) -> Option<(Type, Range)> {
        let ty = list.ty().parameters().first().map(|t| (*t).clone())?;
        let known = match list.path.is_empty() {
            true => None,
            false => self.size_at(&below(&list.path, "@items")),
        };
        Some((ty, known.unwrap_or(Range::UNKNOWN)))
    }
}

fn list_literal(size: Range) -> Charge {
    Charge::sized(size.plus(Range::fixed(11)), size)
}

/// The type of a parameter's items.
fn item_of(param: Option<&Type>) -> Option<Type> {
    param?.parameters().first().map(|t| (*t).clone())
}

/// What is not known of a part of a list is taken for its whole; what is negative, for zero.
fn sliced(args: &[Typed], list: Range) -> Charge {
    let literal = |i: usize, other: u64| match args.get(i).map(|a| &a.kind) {
        Some(TypedKind::Const(Value::Int(n))) => u64::try_from(*n).unwrap_or(0),
        _ => other,
    };
    list_literal(Range::fixed(literal(2, list.max).wrapping_sub(literal(1, 0))))
}

/// Comparing two values that have sizes.
fn compared(a: Range, b: Range) -> Range {
    let most = a.max.min(b.max);
    Range { min: u64::from(most > 0), max: most }.times(WALK)
}

/// Library values are compared in one step.
fn compared_at_once(t: &Type) -> bool {
    matches!(t, Type::Opaque(name, _) if name.starts_with("kubernetes.") || name.starts_with("net."))
}

/// The size of a text with parts replaced.
fn replaced(text: Range, old: Range, new: Range) -> Range {
    let parts = |n: u64, by: u64| times_over(n, by);
    let (most, most_retained) = if old.min == 0 {
        (text.max.saturating_add(1), text.max)
    } else if new.max <= old.min {
        (0, text.max)
    } else {
        (parts(text.max, old.min), 0)
    };
    let (least, least_retained) = if old.max == 0 {
        (text.min.saturating_add(1), text.min)
    } else if old.max <= new.min {
        (0, text.min)
    } else {
        (parts(text.min, old.max), 0)
    };
    Range { min: least, max: most }.multiply(new).plus(Range { min: least_retained, max: most_retained })
}

fn times_over(n: u64, by: u64) -> u64 {
    times(n, 1.0 / by as f64)
}
