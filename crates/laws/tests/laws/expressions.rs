//! Laws of expressions of all languages: what is walked, printed, written and read, which are the
//! same.

use std::hash::{BuildHasher, RandomState};

use proptest::prelude::*;

use ephor_analysis::print;
use ephor_functions::{CelLevel, Context};
use ephor_ir::optimise::{PASSES, expression};
use ephor_ir::walk::{bottom_up, children, children_mut, holds, shift};
use ephor_ir::{Expr, json};
use ephor_laws::{generate, text};
use ephor_laws::{metered, object, recorded::programs, strict};
use ephor_samples::Tape;

fn jmespath(text: &str) -> Expr {
    ephor_jmespath::lower::lower(&ephor_jmespath::parse(text).unwrap())
}

fn of_cel(text: &str) -> Expr {
    let cx = Context::default();
    let admission = ephor_cel::library::Admission {
        params: true,
        mutation: true,
        ..ephor_cel::library::Admission::default()
    };
    ephor_cel::compile(text, &ephor_cel::library::admission(admission), &cx).unwrap().expr
}

fn nodes(expr: &Expr) -> usize {
    let mut n = 1;
    children(expr, &mut |e, _| n += nodes(e));
    n
}

fn printed(node: &print::PrintedNode) -> usize {
    1 + node.below.iter().map(printed).sum::<usize>()
}

/// What holds of every expression without running it.
fn check(expr: &Expr) -> Result<(), TestCaseError> {
    prop_assert!(bottom_up(expr.clone(), &mut |e| e) == *expr, "{}", text(expr));
    prop_assert!(shift(expr.clone(), 0, 0) == *expr, "{}", text(expr));
    let state = RandomState::new();
    prop_assert_eq!(state.hash_one(expr), state.hash_one(expr.clone()));
    prop_assert_eq!(nodes(expr), printed(&print::expression(expr)), "{}", text(expr));
    let written = serde_json::to_string(expr).unwrap();
    prop_assert!(json::read::<Expr>(&written).unwrap() == *expr, "{written}");
    // Another node in the place of any child is another expression.
    let mut places = 0;
    children(expr, &mut |_, _| places += 1);
    for place in 0..places {
        let mut other = expr.clone();
        let mut at = 0;
        children_mut(&mut other, &mut |e, _| {
            if at == place {
                *e = Expr::fail("none has this text");
            }
            at += 1;
        });
        prop_assert!(other != *expr, "{} {place}", text(expr));
        let is_found = holds(&other, &|e| *e == Expr::fail("none has this text"));
        prop_assert!(is_found);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2000), ..ProptestConfig::default() })]

    #[test]
    fn generated_expressions_are_walked_and_printed_in_all_their_parts(
        tape in proptest::collection::vec(any::<u8>(), 0..160),
    ) {
        check(&generate(&mut Tape(tape.iter()), 4, 0))?;
        check(&strict(&mut Tape(tape.iter()), 4, 0))?;
    }

    #[test]
    fn passes_keep_results_faults_and_costs_of_strict_expressions(
        tape in proptest::collection::vec(any::<u8>(), 0..160),
        data in proptest::collection::vec(any::<u8>(), 0..60),
        level in prop_oneof![Just(CelLevel::V26), Just(CelLevel::V30), Just(CelLevel::Kyverno)],
        limit in prop_oneof![Just(1_000_000u64), 0..60u64],
    ) {
        let expr = strict(&mut Tape(tape.iter()), 4, 0);
        let root = object(&mut Tape(data.iter()));
        let cx = Context { cel_level: level, now: Some(0), ..Context::default() };
        let before = metered(&expr, &root, &cx, limit);
        for pass in PASSES {
            let after = (pass.run)(expr.clone());
            let got = metered(&after, &root, &cx, limit);
            prop_assert_eq!(&got, &before, "{}\n{}\n{}", pass.name, text(&expr), text(&after));
        }
    }
}

#[test]
fn recorded_expressions_are_walked_and_printed_in_all_their_parts() {
    for level in [CelLevel::V26, CelLevel::V30] {
        for (source, expr, root, cx) in programs(level) {
            check(&expr).unwrap_or_else(|e| panic!("{source}\n{e}"));
            let impure = holds(&expr, &|e| matches!(e, Expr::Invoke(i) if !i.function.is_pure()));
            if !impure {
                let before = metered(&expr, &root, &cx, 1_000_000);
                assert_eq!(metered(&expression(expr), &root, &cx, 1_000_000), before, "{source}");
            }
        }
    }
}

#[test]
fn the_deepest_expressions_that_are_lowered_can_be_read() {
    let deepest = |form: &str, is_readable: &dyn Fn(&str) -> bool| {
        let mut text = "x".to_string();
        for _ in 0..400 {
            let next = form.replace("{}", &text);
            if !is_readable(&next) {
                break;
            }
            text = next;
        }
        text
    };
    let read_back = |expr: &Expr| json::read::<Expr>(&serde_json::to_string(expr).unwrap());
    for form in [
        "!{}",
        "({} || a)",
        "[{}]",
        "a[?{}]",
        "map(&{}, a)",
        "(a && {})",
        "({} == a)",
        "a.{b: {}}",
        "{}.b[*]",
    ] {
        let expr = jmespath(&deepest(form, &|text| ephor_jmespath::parse(text).is_ok()));
        assert!(read_back(&expr).unwrap() == expr, "{form}");
    }
    let cx = Context::default();
    let env = ephor_cel::library::admission(ephor_cel::library::Admission::default());
    for form in [
        "!({})",
        "({} ? 1 : 2) == 1",
        "[{}] == []",
        "[1].all(i, {})",
        "{'a': [{}]} == dyn(1)",
        "object.a[{}] == 1",
    ] {
        let text = deepest(form, &|text| ephor_cel::compile(&text.replace('x', "true"), &env, &cx).is_ok());
        let expr = of_cel(&text.replace('x', "true"));
        assert!(read_back(&expr).unwrap() == expr, "{form}");
    }
}

/// Texts of which no two mean the same by their form.
fn differ(texts: &[&str], compile: fn(&str) -> Expr) {
    let state = RandomState::new();
    for (i, a) in texts.iter().enumerate() {
        for (j, b) in texts.iter().enumerate() {
            let (x, y) = (compile(a), compile(b));
            assert_eq!(x == y, i == j, "{a} | {b}");
            if i == j {
                assert_eq!(state.hash_one(&x), state.hash_one(&y), "{a}");
            }
        }
    }
}

#[test]
fn equal_texts_of_jmespath_are_equal_expressions_and_others_are_not() {
    differ(
        &[
            "@",
            "a",
            "b",
            "a.b",
            "a.c",
            "a[0]",
            "a[1]",
            "a[1:]",
            "a[:1]",
            "a[::2]",
            "a[]",
            "a[*]",
            "a[*].b",
            "a.*",
            "a[?b]",
            "a[?c]",
            "a[?b].c",
            "a || b",
            "b || a",
            "a && b",
            "!a",
            "a == b",
            "a != b",
            "a < b",
            "a <= b",
            "a > b",
            "a >= b",
            "'1'",
            "`1`",
            "`2`",
            "`-0.0`",
            "`null`",
            "`{}`",
            "`[]`",
            "`{\"a\": 1, \"b\": 2}`",
            "`{\"b\": 2, \"a\": 1}`",
            "[a]",
            "[a, b]",
            "{a: a}",
            "{b: a}",
            "length(a)",
            "keys(a)",
            "map(&a, b)",
            "map(&b, b)",
            "sort_by(a, &b)",
            "max_by(a, &b)",
            "min_by(a, &b)",
            "a | b",
            "nothing(a)",
        ],
        jmespath,
    );
}

#[test]
fn equal_texts_of_cel_are_equal_expressions_and_others_are_not() {
    differ(
        &[
            "object",
            "params",
            "object.a",
            "object.b",
            "object.a.b",
            "object.?a",
            "object[?'a']==null",
            "object['a-b']",
            "object[0]",
            "object[1u]",
            "object[1.0]",
            "object[object.a]",
            "object[?object.a]",
            "has(object.a)",
            "has(object.b)",
            "has(object.a.b)",
            "object.a && object.b",
            "object.a || object.b",
            "!object.a",
            "object.a ? 1 : 2",
            "object.a ? 2 : 1",
            "1",
            "1u",
            "1.0",
            "-1.0",
            "'1'",
            "b'1'",
            "null",
            "true",
            "[1]",
            "[1u]",
            "['a', 'b']",
            "['b', 'a']",
            "{'a': 1}",
            "{1: 1}",
            "{'a': object}",
            "{?'a': object.?a}",
            "[object]",
            "[?object.?a]",
            "object.a == 1",
            "object.a != 1",
            "object.a < 1",
            "object.a + 2",
            "2 + object.a",
            "1 - 2",
            "object.a in [1, 2]",
            "object.a in [2, 1]",
            "object.a in params",
            "object.all(x, x)",
            "object.exists(x, x)",
            "object.exists_one(x, x)",
            "object.filter(x, x)",
            "object.map(x, x)",
            "object.map(x, x == 1)",
            "object.map(x, x, 1)",
            "object.all(i, x, x)",
            "object.all(i, x, i)",
            "object.transformList(i, x, i)",
            "object.transformMap(i, x, x)",
            "object.transformMap(i, x, i)",
            "object.?a.orValue(1)",
            "object.?a.or(object.?b)",
            "size(object)",
            "type(object)",
            "duration('1s')",
            "duration('2s')",
            "quantity('1')",
            "quantity('2')",
            "[1].sum()",
            "[1u].sum()",
            "[1.0].sum()",
            "'a'.matches('a')",
            "'a'.matches('b')",
            "Object{}",
            "Object{a: 1}",
            "Object{b: 1}",
        ],
        of_cel,
    );
}
