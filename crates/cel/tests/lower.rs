//! What checked expressions become: nodes of the IR, what is computed beforehand, and at which
//! cost.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ephor_analysis::print;
use ephor_cel::env::Env;
use ephor_cel::library::{self, Admission};
use ephor_cel::{fold, lower, typed, types};
use ephor_functions::{CelLevel, Context};

fn environment() -> Env {
    let mut env = library::admission(Admission { mutation: true, ..Admission::default() });
    for (name, ty) in
        [("i", "int"), ("s", "string"), ("b", "bool"), ("l", "list<int>"), ("m", "map<string, int>")]
    {
        env.variables.insert(name.into(), types::parse(ty));
    }
    env.syntax.bind = true;
    env
}

fn printed(source: &str, cx: &Context, folds: bool) -> Result<String, lower::Impossible> {
    let env = environment();
    let expr = lower::lower(&typed(source, &env).unwrap(), &env, cx)?;
    let expr = if folds { fold::fold(expr) } else { expr };
    Ok(print::expression(&expr).to_string().trim_end().to_string())
}

/// The printed form of an expression as it is lowered.
fn lowered(source: &str) -> String {
    printed(source, &Context::default(), false).unwrap()
}

/// The same once constants are folded.
fn folded(source: &str) -> String {
    printed(source, &Context::default(), true).unwrap()
}

#[track_caller]
fn check(rows: &[(&str, &str)], print: fn(&str) -> String) {
    for (source, expected) in rows {
        assert_eq!(print(source), *expected, "{source}");
    }
}

#[test]
fn reads_are_one_walk_from_a_name() {
    check(
        &[
            ("i", "walk[+](root!.i)"),
            ("object.a.b", "walk[+.a.b](root!.object)"),
            ("object.?a.b", "walk[+.?a.b](root!.object)"),
            ("object['a'][?0]", "walk[+.a[?0]](root!.object)"),
            ("Object{a: i}.a", "walk[+.field a](make[struct, Object, a](walk[+](root!.i)))"),
        ],
        lowered,
    );
}

#[test]
fn an_index_and_the_operand_of_has_are_read_without_a_cost_of_their_own() {
    check(
        &[
            ("l[i]", "walk[+[_]](root!.l, at: walk(root!.i))"),
            ("has(object.a.b)", "has[.a.b](root!.object)"),
            ("i == i", "invoke[_==_, one-form](walk[+](root!.i), walk[+](root!.i))"),
        ],
        lowered,
    );
}

#[test]
fn a_choice_reads_in_its_branches_and_a_step_behind_it_goes_into_both() {
    check(
        &[
            (
                "b ? object.a : object.b",
                "cond(walk[+](root!.b), walk[.a](root!.object), walk[.b](root!.object))",
            ),
            (
                "(b ? object.a : object.b).c",
                "cond(walk[+](root!.b), walk[.a.c](root!.object), walk[.b.c](root!.object))",
            ),
        ],
        lowered,
    );
}

#[test]
fn results_of_calls_in_branches_are_read_anew_only_at_the_former_level() {
    let at = |cel_level| printed("b ? size(s) : 1", &Context { cel_level, ..Context::default() }, false);
    assert!(at(CelLevel::V26).unwrap().contains("@reread"));
    assert!(!at(CelLevel::V29).unwrap().contains("@reread"));
    assert!(!at(CelLevel::V30).unwrap().contains("@reread"));
}

#[test]
fn literals_of_constants_are_constants() {
    check(
        &[
            ("[[1], [2]]", "[[1],[2]]"),
            ("{'a': 1}", r#"{"a":1}"#),
            ("[1, i]", "make[list](1, walk[+](root!.i))"),
            ("{'a': i}", r#"make[map]("a", walk[+](root!.i))"#),
            ("Object{a: 1}", "make[struct, Object, a](1)"),
        ],
        lowered,
    );
}

#[test]
fn membership_in_a_literal_of_scalars_is_a_set() {
    check(
        &[
            ("i in [1, 2]", "one-of[1, 2](walk[+](root!.i))"),
            ("object.a in ['x', 'y']", r#"one-of["x", "y"](walk[+.a](root!.object))"#),
            ("i in []", "false"),
        ],
        lowered,
    );
    for source in ["i in l", "i in [1, i]", "l in [[1], [2]]", "s in {'a': 1}"] {
        assert!(lowered(source).starts_with("invoke[@in"), "{source}: {}", lowered(source));
    }
}

#[test]
fn conversions_of_literals_are_computed_and_cost_nothing() {
    check(&[("int('12')", "12"), ("duration('1h')", r#"{"$duration":3600000000000}"#)], lowered);
    let plain = Context::default();
    let error = printed("bool('x')", &plain, false).unwrap_err();
    assert!(matches!(error, lower::Impossible::Constant(_)));
    assert_eq!(error.to_string(), "type conversion error from 'string' to 'bool'");
}

#[test]
fn a_constant_that_is_no_pattern_makes_the_expression_impossible() {
    let (mut env, cx) = (environment(), Context::default());
    env.strict_arguments = false;
    let lowered = |env: &Env, source| lower::lower(&typed(source, env).unwrap(), env, &cx);
    let prepared = print::expression(&lowered(&env, "s.matches('a.*')").unwrap()).to_string();
    assert!(prepared.starts_with("invoke[matches, one-form, member, prepared"), "{prepared}");
    assert!(lowered(&env, "s.matches('(')").is_err());
    // Where constants fail late, so does this one.
    env.late_faults = true;
    assert!(lowered(&env, "s.matches('(')").is_ok());
}

#[test]
fn loops_keep_the_arguments_of_their_macros() {
    check(
        &[
            (
                "l.all(x, x > 0)",
                "comprehension[all](walk[+](root!.l), body: invoke[_>_](walk[+](local0), 0))",
            ),
            (
                "l.map(x, x > 0, 1)",
                "comprehension[list](walk[+](root!.l), keep: invoke[_>_](walk[+](local0), 0), body: 1)",
            ),
            (
                "l.filter(x, b)",
                "comprehension[list, wraps](walk[+](root!.l), keep: walk[+](root!.b), body: walk[+](local0))",
            ),
            ("m.transformMap(k, v, v)", "comprehension[map, two](walk[+](root!.m), body: walk[+](local0))"),
            ("m.transformMap(k, v, k)", "comprehension[map, two](walk[+](root!.m), body: walk[+](local1))"),
        ],
        lowered,
    );
}

#[test]
fn a_bound_value_that_nothing_reads_is_not_lowered() {
    check(
        &[
            ("cel.bind(x, i, x + 1)", "bind(walk[+](root!.i), invoke[_+_](walk[+](local0), 1))"),
            ("cel.bind(x, i, 1)", "bind(null, 1)"),
            ("cel.bind(x, bool('no'), 1)", "bind(null, 1)"),
        ],
        lowered,
    );
}

#[test]
fn calls_of_constants_are_folded_at_their_cost() {
    check(
        &[
            ("1 + 2", "folded[1: 3]"),
            ("'abc'.size() == 3", "folded[1, 1: true]"),
            ("size('abc') + i", "invoke[_+_](folded[1: 3], walk[+](root!.i))"),
            ("1 in [1, 2]", "true"),
        ],
        folded,
    );
}

#[test]
fn what_fails_or_fills_memory_is_left_to_the_evaluator() {
    for source in ["1 / 0", "1 + 9223372036854775807", "'a' + 'b'", "[1] + [2]"] {
        assert_eq!(folded(source), lowered(source), "{source}");
    }
}

#[test]
fn sides_of_and_and_or_are_folded_only_when_nothing_before_them_can_run() {
    check(
        &[
            // The first side decides: the other one is never evaluated.
            ("1 < 2 || b", "folded[1: true]"),
            ("2 < 1 && b", "folded[1: false]"),
            // It does not decide, or what is before it costs and may fail.
            ("2 < 1 || b", "decide[any](folded[1: false], walk[+](root!.b))"),
            ("b || 1 < 2", "decide[any](walk[+](root!.b), folded[1: true])"),
            // Both are known.
            ("2 < 1 || 1 < 2", "folded[1, 1: true]"),
            ("1 < 2 && 2 < 1", "folded[1, 1: false]"),
        ],
        folded,
    );
}

#[test]
fn a_free_condition_leaves_its_branch_and_a_costly_one_a_constant() {
    check(
        &[
            ("true ? i : 2", "walk(root!.i)"),
            ("false ? i : 2", "2"),
            ("1 < 2 ? 3 : i", "folded[1: 3]"),
            // The branch is no constant: the cost of the condition has no place to go.
            ("1 < 2 ? i : 2", "cond(folded[1: true], walk(root!.i), 2)"),
        ],
        folded,
    );
}
