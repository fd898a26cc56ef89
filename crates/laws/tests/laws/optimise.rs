//! What passes of the optimiser keep and change.
use ephor_samples::Tape;
use proptest::prelude::*;

use ephor_ir::Expr;
use ephor_ir::expr::Missing;
use ephor_ir::optimise::{PASSES, expression};
use ephor_laws::{generate, outcome, text, value};

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(4000), ..ProptestConfig::default() })]

    #[test]
    fn every_pass_keeps_results_and_faults(
        tape in proptest::collection::vec(any::<u8>(), 0..160),
        data in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let expr = generate(&mut Tape(tape.iter()), 5, 0);
        let root = value(&mut Tape(data.iter()), 3);
        let before = outcome(&expr, &root);
        for pass in PASSES {
            let after = (pass.run)(expr.clone());
            prop_assert_eq!(&outcome(&after, &root), &before, "{}\n{}\n{}", pass.name, text(&expr), text(&after));
        }
        let after = expression(expr.clone());
        prop_assert_eq!(&outcome(&after, &root), &before, "all\n{}\n{}", text(&expr), text(&after));
    }
}

#[test]
fn only_paths_that_read_alike_are_fused() {
    let fuse = PASSES.iter().find(|p| p.name == "fuse").unwrap().run;
    let path =
        |base, key: &str, scalar| Expr::Path { base: Box::new(base), keys: Box::new([key.into()]), scalar };
    for inner in [Missing::Null, Missing::Fault] {
        for outer in [Missing::Null, Missing::Fault] {
            let fused = fuse(path(path(Expr::Root, "a", inner), "b", outer));
            let keys = if let Expr::Path { keys, .. } = &fused { keys.len() } else { 0 };
            assert_eq!(keys, if inner == outer { 2 } else { 1 }, "{inner:?} {outer:?}");
        }
    }
}

/// An expression of JMESPath, before and after one pass or all of them.
fn passed(name: &str, source: &str) -> String {
    let before = ephor_jmespath::lower::lower(&ephor_jmespath::parse(source).unwrap());
    let run = PASSES.iter().find(|p| p.name == name).map_or(expression as fn(Expr) -> Expr, |p| p.run);
    let after = run(before.clone());
    format!("{source}\nbefore:\n{}after:\n{}", text(&before), text(&after))
}

#[test]
fn folds_pure_functions_of_constants_but_no_faults() {
    insta::assert_snapshot!(passed("fold", "a == join('-', ['x', 'y'])"));
    insta::assert_snapshot!(passed("fold", "length(`1`)"));
    insta::assert_snapshot!(passed("fold", "time_now()"));
}

#[test]
fn removes_branches_that_are_never_taken() {
    insta::assert_snapshot!(passed("dead", "'x' || a"));
    insta::assert_snapshot!(passed("dead", "'' || a"));
    insta::assert_snapshot!(passed("dead", "`true` && a"));
    insta::assert_snapshot!(passed("dead", "a[?`true`]"));
}

#[test]
fn removes_absorption_of_faults_that_cannot_happen() {
    insta::assert_snapshot!(passed("rescue", "a[?b == 'x'].c"));
    insta::assert_snapshot!(passed("rescue", "length(a) > `1`"));
    insta::assert_snapshot!(passed("rescue", "a.b | c"));
}

#[test]
fn puts_values_bound_for_one_use_into_their_place() {
    insta::assert_snapshot!(passed("bind", "a.b | length(@)"));
    insta::assert_snapshot!(passed("bind", "a | [b, c]"));
}

#[test]
fn all_passes_together() {
    insta::assert_snapshot!(passed(
        "",
        "request.object.spec.containers[?!contains(['a', 'b'], name)].image | length(@) > `0`"
    ));
    insta::assert_snapshot!(passed("", "request.object.metadata.labels.\"a/b\" || ''"));
}
