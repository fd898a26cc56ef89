//! What expressions cost at least and at most.

use super::*;
use crate::library::{self, Admission};
use crate::types;

fn environment() -> Env {
    let mut env = library::admission(Admission::default());
    for (name, ty) in [
        ("b", "bool"),
        ("s", "string"),
        ("l", "list<int>"),
        ("t", "list<string>"),
        ("m", "map<string, string>"),
    ] {
        env.variables.insert(name.into(), types::parse(ty));
    }
    env.syntax.bind = true;
    env
}

/// The estimate where values at these paths have at most these sizes.
fn cost(source: &str, sizes: &[(&str, u64)]) -> (u64, u64) {
    let env = environment();
    let typed = crate::typed(source, &env).unwrap();
    let at = |path: &[Str]| sizes.iter().find(|(p, _)| *p == path.join(".")).map(|(_, size)| *size);
    let Range { min, max } = estimate(&typed, &env, &at);
    (min, max)
}

const UNKNOWN: u64 = u64::MAX;

#[test]
fn constants_are_free_and_reads_cost_one_each() {
    for (source, expected) in [
        ("1", 0),
        ("'abc'", 0),
        ("b", 1),
        ("m.a", 2),
        ("m['a']", 2),
        ("l[0]", 2),
        ("has(m.a)", 1),
        ("[]", 10),
        ("[b, b]", 12),
        ("{}", 30),
        ("{'a': b}", 31),
        ("b ? b : b", 2),
    ] {
        assert_eq!(cost(source, &[]), (expected, expected), "{source}");
    }
}

#[test]
fn a_side_that_may_not_run_costs_nothing_at_least() {
    assert_eq!(cost("b && b", &[]), (1, 2));
    assert_eq!(cost("b || b || b", &[]), (1, 3));
    assert_eq!(cost("b ? 'a' : m.a", &[]), (1, 3));
}

#[test]
fn a_loop_costs_its_round_times_the_size_of_what_is_walked() {
    // The range, the accumulator's start and the result cost 1 + 0 + 1; a round of `all` 2 + 1 for
    // the accumulator and what the body costs.
    let round = |n: u64| (2, 2 + n * 4);
    assert_eq!(cost("l.all(x, b)", &[("l", 5)]), round(5));
    assert_eq!(cost("l.all(x, b)", &[("l", 50)]), round(50));
    assert_eq!(cost("l.all(x, b)", &[]), (2, UNKNOWN));
    // `exists` reads the negated accumulator: one more.
    assert_eq!(cost("l.exists(x, b)", &[("l", 5)]), (2, 2 + 5 * 5));
}

#[test]
fn sizes_of_literals_are_known() {
    let (min, max) = cost("[1, 2, 3].all(x, b)", &[]);
    assert!(min < max && max < 100, "{min} {max}");
    assert_eq!(cost("[1, 2, 3].map(x, x)", &[]).0, cost("[1, 2, 3].map(x, x)", &[]).1);
}

#[test]
fn sizes_come_from_the_paths_of_items_keys_and_values() {
    let source = "t.all(x, x.contains('a'))";
    let with = |most| cost(source, &[("t", 10), ("t.@items", most)]).1;
    assert!(with(1000) > with(10), "{} {}", with(1000), with(10));
    let keys = |most| cost("m.all(k, k.contains('a'))", &[("m", 10), ("m.@keys", most)]).1;
    assert!(keys(1000) > keys(10));
    let values = |most| cost("m.all(k, v, v.contains('a'))", &[("m", 10), ("m.@values", most)]).1;
    assert!(values(1000) > values(10));
}

#[test]
fn a_bound_name_keeps_what_is_known_of_its_value() {
    let (plain, bound) = ("s.contains('a')", "cel.bind(x, s, x.contains('a'))");
    for most in [10, 1000] {
        // The macro walks an empty list, which costs 10, and the name is read once more.
        assert_eq!(cost(bound, &[("s", most)]).1, cost(plain, &[("s", most)]).1 + 10 + 1);
    }
}

#[test]
fn totals_and_products_end_at_the_largest_number() {
    let most = Range::UNKNOWN;
    assert_eq!(most.plus(Range::fixed(1)), Range { min: 1, max: UNKNOWN });
    assert_eq!(most.multiply(Range::fixed(2)), most);
    assert_eq!(Range::fixed(71).times(0.1), Range::fixed(8));
    assert_eq!(most.times(2.0), most);
    assert_eq!(Range::fixed(3).union(Range::NOTHING), Range::fixed(3));
    assert_eq!(Range::fixed(3).union(Range::fixed(7)), Range { min: 3, max: 7 });
}
