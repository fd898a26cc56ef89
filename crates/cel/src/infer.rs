//! Assigning types to unknowns: what may stand for what, and what the unknowns turn out to be.
//!
//! In: two types. Out: whether the second may stand where the first is expected, with the unknowns
//! that this decides. The rules are cel-go's: an unknown keeps the more general of the types
//! that it met.

use std::collections::HashMap;
use std::sync::Arc;

use super::types::Type;
use ephor_value::Str;

/// What unknowns are known to be.
#[derive(Clone, Debug, Default)]
pub struct Unknowns {
    found: HashMap<Str, Type>,
    made: usize,
}

impl Unknowns {
    /// An unknown that is in no other type.
    pub fn fresh(&mut self) -> Type {
        let name = format!("_var{}", self.made);
        self.made += 1;
        Type::Param(name.into())
    }

    /// Whether all of `given` may stand for `wanted`; decides unknowns only if so.
    pub fn assign_all(&mut self, given: &[Type], wanted: &[Type]) -> bool {
        let mut trial = self.found.clone();
        let fits = given.len() == wanted.len()
            && given.iter().zip(wanted).all(|(g, w)| assignable(&mut trial, g, w));
        if fits {
            self.found = trial;
        }
        fits
    }

    /// As [`Unknowns::assign_all`] for one type.
    pub fn assign(&mut self, given: &Type, wanted: &Type) -> bool {
        self.assign_all(std::slice::from_ref(given), std::slice::from_ref(wanted))
    }

    /// The type with its unknowns replaced; those that are left become dyn with `left_as_dyn`.
    pub fn resolve(&self, t: &Type, left_as_dyn: bool) -> Type {
        match t {
            Type::Param(name) => match self.found.get(name) {
                Some(found) => self.resolve(found, left_as_dyn),
                None if left_as_dyn => Type::Dyn,
                None => t.clone(),
            },
            Type::List(item) => Type::list(self.resolve(item, left_as_dyn)),
            Type::Map(k, v) => Type::map(self.resolve(k, left_as_dyn), self.resolve(v, left_as_dyn)),
            Type::Opaque(name, params) => {
                Type::Opaque(name.clone(), params.iter().map(|p| self.resolve(p, left_as_dyn)).collect())
            }
            Type::Type(Some(inner)) => Type::Type(Some(Arc::new(self.resolve(inner, left_as_dyn)))),
            _ => t.clone(),
        }
    }
}

/// Replaces the parameters of a declaration.
pub fn instantiate(t: &Type, with: &HashMap<Str, Type>) -> Type {
    match t {
        Type::Param(name) => with.get(name).cloned().unwrap_or_else(|| t.clone()),
        Type::List(item) => Type::list(instantiate(item, with)),
        Type::Map(k, v) => Type::map(instantiate(k, with), instantiate(v, with)),
        Type::Opaque(name, params) => {
            Type::Opaque(name.clone(), params.iter().map(|p| instantiate(p, with)).collect())
        }
        Type::Type(Some(inner)) => Type::Type(Some(Arc::new(instantiate(inner, with)))),
        _ => t.clone(),
    }
}

type Found = HashMap<Str, Type>;

fn assignable(m: &mut Found, a: &Type, b: &Type) -> bool {
    if let Type::Param(name) = b {
        match stands_for(m, name, a) {
            (true, _) => return true,
            (false, true) => return false,
            _ => {}
        }
    }
    if let Type::Param(name) = a {
        match stands_for(m, name, b) {
            (true, _) => return true,
            (false, true) => return false,
            _ => {}
        }
    }
    if a.is_dyn_or_error() || b.is_dyn_or_error() {
        return true;
    }
    if *a == Type::Any && *b != Type::Null || *b == Type::Any && *a != Type::Null {
        return true;
    }
    match (a, b) {
        (Type::Null, other) | (other, Type::Null) => takes_null(other),
        (Type::Wrapper(x), Type::Wrapper(y)) => x == y,
        (Type::Wrapper(x), y) | (y, Type::Wrapper(x)) => **x == *y,
        (Type::Type(_), Type::Type(_)) => true,
        (Type::List(x), Type::List(y)) => assignable(m, x, y),
        (Type::Map(k, v), Type::Map(l, w)) => assignable(m, k, l) && assignable(m, v, w),
        (Type::Opaque(n, p), Type::Opaque(o, q)) => {
            n == o && p.len() == q.len() && p.iter().zip(q).all(|(x, y)| assignable(m, x, y))
        }
        (x, y) => x == y,
    }
}

/// Types that null may stand for.
fn takes_null(t: &Type) -> bool {
    matches!(
        t,
        Type::Null
            | Type::Opaque(..)
            | Type::Struct(_)
            | Type::Timestamp
            | Type::Duration
            | Type::Any
            | Type::Wrapper(_)
    )
}

/// Whether an unknown may be `t`, and whether something was known of it before.
fn stands_for(m: &mut Found, name: &Str, t: &Type) -> (bool, bool) {
    if matches!(t, Type::Param(other) if other == name) {
        return (true, true);
    }
    if let Some(known) = m.get(name).cloned() {
        if matches!(&known, Type::Param(other) if other == name) {
            return (true, true);
        }
        if !assignable(m, t, &known) {
            return (false, true);
        }
        let general = most_general(t, &known);
        if is_free_of(m, name, &general) {
            m.insert(name.clone(), general);
        }
        return (true, true);
    }
    if is_free_of(m, name, t) {
        m.insert(name.clone(), t.clone());
        return (true, false);
    }
    (false, false)
}

fn is_free_of(m: &Found, name: &Str, t: &Type) -> bool {
    match t {
        Type::Param(other) if other == name => false,
        Type::Param(other) => m.get(other).is_none_or(|t| is_free_of(m, name, t)),
        t => t.parameters().into_iter().all(|p| is_free_of(m, name, p)),
    }
}

/// The one of two types that says less.
pub fn most_general(a: &Type, b: &Type) -> Type {
    if says_less(a, b) { a.clone() } else { b.clone() }
}

fn says_less(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Param(_), _) => true,
        (_, Type::Dyn | Type::Param(_)) => false,
        (Type::List(x), Type::List(y)) => says_less(x, y),
        (Type::Map(k, v), Type::Map(l, w)) => says_less(k, l) && says_less(v, w),
        (Type::Opaque(n, p), Type::Opaque(o, q)) => {
            n == o && p.len() == q.len() && p.iter().zip(q).all(|(x, y)| says_less(x, y))
        }
        (Type::Type(_), Type::Type(_)) => true,
        (x, y) => x == y,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types;

    /// Reads a type, also one of wrapped values.
    fn parse(text: &str) -> Type {
        match text.strip_prefix("wrapper<").and_then(|rest| rest.strip_suffix('>')) {
            Some(inner) => Type::Wrapper(Arc::new(parse(inner))),
            None => types::parse(text),
        }
    }

    fn fits(given: &str, wanted: &str) -> bool {
        Unknowns::default().assign(&parse(given), &parse(wanted))
    }

    #[test]
    fn null_stands_for_messages_times_wrappers_and_libraries_types_but_for_no_scalars_or_collections() {
        for wanted in ["timestamp", "duration", "any", "wrapper<int>", "$Message", "net.IP", "null", "dyn"] {
            assert!(fits("null", wanted), "{wanted}");
        }
        for wanted in ["int", "string", "bool", "bytes", "list<int>", "map<string, int>"] {
            assert!(!fits("null", wanted), "{wanted}");
        }
    }

    #[test]
    fn a_wrapper_stands_for_what_it_wraps_and_nothing_else() {
        assert!(fits("wrapper<int>", "int") && fits("int", "wrapper<int>"));
        assert!(fits("wrapper<int>", "wrapper<int>"));
        assert!(!fits("wrapper<int>", "string") && !fits("wrapper<int>", "wrapper<string>"));
    }

    #[test]
    fn dyn_stands_for_everything_also_inside_of_collections() {
        assert!(fits("dyn", "int") && fits("int", "dyn"));
        assert!(fits("list<dyn>", "list<int>") && fits("map<string, dyn>", "map<dyn, int>"));
        assert!(!fits("list<dyn>", "map<dyn, dyn>"));
        assert!(!fits("list<int>", "list<string>"));
        assert!(!fits("int", "uint"));
    }

    #[test]
    fn an_unknown_becomes_what_it_met_and_refuses_the_rest() {
        let mut unknowns = Unknowns::default();
        let unknown = unknowns.fresh();
        assert_eq!(unknowns.resolve(&unknown, true), Type::Dyn);
        assert_eq!(unknowns.resolve(&unknown, false), unknown);
        assert!(unknowns.assign(&Type::Int, &unknown));
        assert_eq!(unknowns.resolve(&Type::list(unknown.clone()), true), parse("list<int>"));
        assert!(!unknowns.assign(&Type::String, &unknown));
        assert_eq!(unknowns.resolve(&unknown, true), Type::Int);
    }

    #[test]
    fn an_unknown_becomes_the_more_general_of_what_it_meets() {
        let mut unknowns = Unknowns::default();
        let unknown = unknowns.fresh();
        assert!(unknowns.assign(&parse("list<int>"), &unknown));
        assert!(unknowns.assign(&parse("list<dyn>"), &unknown));
        assert_eq!(unknowns.resolve(&unknown, true), parse("list<dyn>"));
        assert!(unknowns.assign(&parse("list<string>"), &unknown));
    }

    #[test]
    fn arguments_that_do_not_all_fit_decide_nothing() {
        let mut unknowns = Unknowns::default();
        let (unknown, int) = (unknowns.fresh(), Type::Int);
        let wanted = [unknown.clone(), Type::String];
        assert!(!unknowns.assign_all(&[int.clone(), int.clone()], &wanted));
        assert_eq!(unknowns.resolve(&unknown, false), unknown);
        assert!(!unknowns.assign_all(&[int], &wanted));
    }

    #[test]
    fn an_unknown_never_contains_itself() {
        let mut unknowns = Unknowns::default();
        let (a, b) = (unknowns.fresh(), unknowns.fresh());
        assert!(unknowns.assign(&a, &a));
        assert!(!unknowns.assign(&Type::list(a.clone()), &a));
        assert!(unknowns.assign(&Type::list(a.clone()), &b));
        assert!(!unknowns.assign(&b, &a));
    }

    #[test]
    fn the_more_general_type_says_less_in_every_part() {
        for (a, b, expected) in [
            ("int", "dyn", "dyn"),
            ("list<dyn>", "list<int>", "list<dyn>"),
            ("map<string, dyn>", "map<string, int>", "map<string, dyn>"),
            // Neither says less than the other: the second is taken.
            ("map<dyn, int>", "map<string, dyn>", "map<string, dyn>"),
            ("int", "int", "int"),
        ] {
            assert_eq!(most_general(&parse(a), &parse(b)), parse(expected), "{a} {b}");
        }
    }
}
