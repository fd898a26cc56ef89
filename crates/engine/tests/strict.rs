//! Strict expressions: what is evaluated, which faults count, and what it costs
//! (`docs/expressions/cel.md`, "Cost").

#![allow(clippy::unwrap_used, clippy::panic)]

use ephor_cel::library::{Admission, admission};
use ephor_cel::{lower, syntax, typed, types};
use ephor_document::yaml_value;
use ephor_engine::eval::{Env, eval};
use ephor_engine::meter::Meter;
use ephor_functions::{CelLevel, Context};
use ephor_value::{Fault, Value, print};

const DATA: &str = "{t: true, f: false, i: 5, s: abc, l: [1, 2, 3], m: {a: 1, b: 2}, object: {nil: null, x: 1, deep: {z: 2}}}";

/// The result as JSON or the fault's text, and the cost.
fn run_at(source: &str, level: CelLevel, limit: u64) -> (Result<String, String>, u64) {
    let mut env = admission(Admission::default());
    env.level = level;
    for (name, ty) in [
        ("t", "bool"),
        ("f", "bool"),
        ("i", "int"),
        ("s", "string"),
        ("l", "list<int>"),
        ("m", "map<string, int>"),
        ("gone", "bool"),
    ] {
        env.variables.insert(name.into(), types::parse(ty));
    }
    env.syntax = syntax::Options { bind: true, ..env.syntax };
    let cx = Context { cel_level: level, ..Context::default() };
    let typed = typed(source, &env).unwrap_or_else(|e| panic!("{source}: {e}"));
    let expr = lower::lower(&typed, &env, &cx).unwrap_or_else(|e| panic!("{source}: {e}"));
    let root: Value = yaml_value(DATA).unwrap();
    let meter = Meter::new(limit);
    let result = eval(&expr, Env::new(&root, &cx).with_meter(&meter))
        .map(|v| print::json(&v))
        .map_err(|fault: Fault| fault.cel_text());
    (result, meter.spent())
}

fn run(source: &str) -> (Result<String, String>, u64) {
    run_at(source, CelLevel::V30, 1_000_000)
}

#[track_caller]
fn gives(rows: &[(&str, Result<&str, &str>)]) {
    for (source, expected) in rows {
        let found = run(source).0;
        assert_eq!(found.as_deref().map_err(String::as_str), *expected, "{source}");
    }
}

#[track_caller]
fn costs(rows: &[(&str, u64)]) {
    for (source, expected) in rows {
        assert_eq!(run(source).1, *expected, "{source}");
    }
}

const NO_KEY: Result<&str, &str> = Err("no such key: no");
const BY_ZERO: Result<&str, &str> = Err("division by zero");

#[test]
fn the_side_that_decides_absorbs_the_fault_of_the_other() {
    gives(&[
        ("f && object.no", Ok("false")),
        ("object.no && f", Ok("false")),
        ("t || object.no", Ok("true")),
        ("object.no || t", Ok("true")),
        // Nothing decides: the first fault counts.
        ("object.no && t", NO_KEY),
        ("object.no && 1 / 0 == 1", NO_KEY),
        ("1 / 0 == 1 || object.no", BY_ZERO),
        ("f || object.x", Err("no such overload")),
        ("object.x && f", Ok("false")),
    ]);
}

#[test]
fn a_side_that_decides_ends_the_evaluation() {
    costs(&[("f && t", 1), ("t && f", 2), ("t || f", 1), ("f || t", 2), ("object.no && f", 3)]);
}

#[test]
fn a_choice_evaluates_one_branch_and_forwards_the_fault_of_its_condition() {
    gives(&[
        ("t ? 1 : 1 / 0", Ok("1")),
        ("f ? 1 / 0 : 2", Ok("2")),
        ("object.no ? 1 : 2", NO_KEY),
        ("object.x ? 1 : 2", Err("no such overload")),
    ]);
    costs(&[("t ? i : l[0]", 1), ("f ? i : l[0]", 2)]);
}

#[test]
fn missing_keys_positions_and_variables_have_faults_of_their_own() {
    gives(&[
        ("object.no", NO_KEY),
        ("object.deep.no.further", NO_KEY),
        ("m['no']", NO_KEY),
        ("l[3]", Err("index out of bounds: 3")),
        ("l[-1]", Err("index out of bounds: -1")),
        ("gone", Err("no such attribute(s): gone")),
        ("has(object.no)", Ok("false")),
        ("has(object.nil)", Ok("true")),
        ("has(object.no.further)", NO_KEY),
    ]);
}

#[test]
fn an_optional_step_finds_nothing_instead_of_failing() {
    gives(&[
        ("object.?no.orValue(7)", Ok("7")),
        ("object.?no.further.orValue(7)", Ok("7")),
        ("object.?x.orValue(7)", Ok("1")),
        ("l[?9].hasValue()", Ok("false")),
        ("m.?a.optMap(x, x + 1).orValue(0)", Ok("2")),
        ("optional.none().or(optional.of(3)).value()", Ok("3")),
        ("[?m.?a, ?m.?no, 5]", Ok("[1,5]")),
        ("{?'x': m.?no, 'y': 1}", Ok(r#"{"y":1}"#)),
        // The step before it is not optional.
        ("object.no.?further.hasValue()", NO_KEY),
    ]);
}

#[test]
fn the_right_side_of_or_value_runs_only_when_it_is_needed() {
    gives(&[("m.?a.orValue(1 / 0)", Ok("1")), ("m.?no.orValue(1 / 0)", BY_ZERO)]);
}

#[test]
fn loops_that_test_absorb_faults_when_a_later_item_decides() {
    gives(&[
        ("l.all(x, x > 0)", Ok("true")),
        ("l.all(x, 6 / (x - 1) < 0)", Ok("false")),
        ("l.all(x, 6 / (x - 1) > 0)", BY_ZERO),
        ("l.exists(x, 6 / (x - 1) == 3)", Ok("true")),
        ("l.exists(x, 6 / (x - 1) == 7)", BY_ZERO),
        ("l.exists_one(x, x == 2)", Ok("true")),
        ("l.exists_one(x, x > 1)", Ok("false")),
        // One fault is one too many here.
        ("l.exists_one(x, 6 / (x - 1) == 3)", BY_ZERO),
        ("[].all(x, x)", Ok("true")),
        ("[].exists(x, x)", Ok("false")),
        ("object.deep.all(k, k)", Err("no such overload")),
    ]);
}

#[test]
fn loops_that_build_fail_with_any_item() {
    gives(&[
        ("l.map(x, x * 2)", Ok("[2,4,6]")),
        ("l.map(x, x > 1, x * 2)", Ok("[4,6]")),
        ("l.filter(x, x != 2)", Ok("[1,3]")),
        ("l.map(x, 6 / (x - 1))", BY_ZERO),
        ("l.filter(x, 6 / (x - 1) > 0)", BY_ZERO),
        ("m.map(k, k)", Ok(r#"["a","b"]"#)),
        ("m.transformMap(k, v, v + 1)", Ok(r#"{"a":2,"b":3}"#)),
        ("l.transformList(i, v, i + v)", Ok("[1,3,5]")),
        ("m.transformMapEntry(k, v, {string(v): k})", Ok(r#"{"1":"a","2":"b"}"#)),
        ("m.transformMapEntry(k, v, {'same': v})", Err("insert failed: key same already exists")),
    ]);
}

#[test]
fn only_lists_and_maps_are_walked() {
    gives(&[
        ("object.x.all(x, true)", Err("got 'types.Int', expected iterable type")),
        ("object.x.all(i, x, true)", Err("unsupported comprehension range type: types.Int")),
    ]);
}

#[test]
fn a_bound_value_is_computed_when_it_is_first_read_and_only_once() {
    gives(&[
        ("cel.bind(x, 1 / 0, t || x == 1)", Ok("true")),
        ("cel.bind(x, 1 / 0, x == 1 || t)", Ok("true")),
    ]);
    // The value costs 2; each of its reads 1.
    let (once, twice) = (run("cel.bind(x, l[0], x)").1, run("cel.bind(x, l[0], x + x)").1);
    assert_eq!(twice - once, 1 + 1);
}

#[test]
fn reads_literals_and_calls_have_their_cost() {
    costs(&[
        ("1", 0),
        ("i", 1),
        ("object.x", 2),
        ("object.deep.z", 3),
        ("l[i - 5]", 4),
        ("has(object.x)", 1),
        ("[i]", 11),
        ("{'a': i}", 31),
        ("i + 1", 2),
        ("i == 5", 2),
        ("i in [1, 2]", 1),
        ("l.size()", 2),
    ]);
}

#[test]
fn each_round_of_a_loop_costs_its_condition_its_step_and_its_body() {
    let of = |source: &str| run(source).1;
    // The list costs 1 and the result 1; a round of `all` 3 and the body.
    assert_eq!(of("l.all(x, t)"), 1 + 3 * (3 + 1) + 1);
    // `exists` also negates.
    assert_eq!(of("l.exists(x, f)"), 1 + 3 * (4 + 1) + 1);
    // The round in which it is decided is the last that runs; the next one still checks.
    assert_eq!(of("l.all(x, f)"), 1 + (3 + 1) + 2 + 1);
    // A list of one item is built in each round.
    assert_eq!(of("l.map(x, x)") - of("l.map(x, 1)"), 3 * (1 + 10));
    // What is filtered out costs its condition alone.
    assert_eq!(of("l.filter(x, f)"), 1 + 3 + 1);
}

#[test]
fn a_budget_that_is_exceeded_ends_the_expression_and_nothing_absorbs_it() {
    let exceeded = || Err("operation cancelled: actual cost limit exceeded".to_string());
    for source in
        ["i + i", "t && t && t", "f || (i + i == 10) || t", "l.all(x, x > 0)", "l.map(x, x)", "t ? l[0] : 1"]
    {
        let (found, cost) = run(source);
        assert!(found.is_ok(), "{source}");
        // A cost that equals the limit is within it.
        assert_eq!(run_at(source, CelLevel::V30, cost), (found, cost), "{source}");
        for limit in 0..cost {
            assert_eq!(run_at(source, CelLevel::V30, limit).0, exceeded(), "{source} within {limit}");
        }
    }
}

#[test]
fn calls_on_faults_have_a_cost_at_the_former_level_only() {
    let source = "object.no + 1";
    let cost = |level| run_at(source, level, 1_000_000).1;
    assert_eq!(cost(CelLevel::V26), cost(CelLevel::V30) + 1);
}
