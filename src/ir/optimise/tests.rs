#![allow(clippy::unwrap_used, clippy::expect_used)]

use ephor_samples::Tape;
use proptest::prelude::*;

use super::{PASSES, expression};
use crate::engine::eval::{Env, eval};
use crate::explain::print;
use crate::functions::{self, Higher, Run};
use crate::ir::Expr;
use crate::ir::expr::{Cmp, Faults, Missing, Over};
use crate::value::{Str, Value};

fn scalar(tape: &mut Tape<'_>) -> Value {
    match tape.pick(9) {
        0 => Value::Null,
        1 => Value::Bool(true),
        2 => Value::Bool(false),
        3 => Value::from(tape.of(&["", "a", "b", "10Mi", "1.2.3", "a,b"])),
        4 => Value::Int(tape.pick(3) as i64 - 1),
        5 => Value::UInt(u64::MAX),
        _ => Value::Float(tape.of(&[0.0, 1.0, -1.5, 2.0])),
    }
}

pub(crate) fn value(tape: &mut Tape<'_>, depth: usize) -> Value {
    match tape.pick(4) {
        2 if depth > 0 => Value::list((0..tape.pick(4)).map(|_| value(tape, depth - 1)).collect()),
        3 if depth > 0 => Value::Map(
            (0..tape.pick(4)).map(|_| (Str::from(tape.of(KEYS)), value(tape, depth - 1))).collect(),
        ),
        _ => scalar(tape),
    }
}

pub(crate) const KEYS: &[&str] = &["a", "b", "c", "d e"];

/// An expression whose locals are all bound; `bound` binders are around it.
pub(crate) fn generate(tape: &mut Tape<'_>, depth: usize, bound: u32) -> Expr {
    let leaf = |tape: &mut Tape<'_>| match tape.pick(4) {
        0 => Expr::Root,
        1 | 2 if bound > 0 => Expr::Local(tape.pick(bound as usize) as u32),
        _ => Expr::Const(value(tape, 2)),
    };
    if depth == 0 {
        return leaf(tape);
    }
    let below = |tape: &mut Tape<'_>| generate(tape, depth - 1, bound);
    let inside = |tape: &mut Tape<'_>| generate(tape, depth - 1, bound + 1);
    let boxed = |tape: &mut Tape<'_>| Box::new(below(tape));
    let pair = |tape: &mut Tape<'_>| Box::new([below(tape), below(tape)]);
    match tape.pick(20) {
        0 => leaf(tape),
        1 | 2 => Expr::Path {
            keys: (0..=tape.pick(2)).map(|_| Str::from(tape.of(KEYS))).collect(),
            scalar: tape.of(&[Missing::Fault, Missing::Null]),
            base: boxed(tape),
        },
        3 => Expr::Index { index: tape.pick(4) as i64 - 2, base: boxed(tape) },
        4 => {
            let bound = |tape: &mut Tape<'_>| (tape.pick(2) == 0).then(|| tape.pick(5) as i64 - 2);
            Expr::Slice { bounds: [bound(tape), bound(tape), bound(tape)], base: boxed(tape) }
        }
        5 | 6 => Expr::Let { value: boxed(tape), body: Box::new(inside(tape)) },
        7 | 8 => {
            let faults = [Faults::MissingAsNull, Faults::AllAsNull];
            Expr::Rescue { faults: tape.of(&faults), expr: boxed(tape) }
        }
        9 => Expr::Not(boxed(tape)),
        10 => Expr::Or(pair(tape)),
        11 => Expr::And(pair(tape)),
        12 => Expr::Compare {
            op: tape.of(&[Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge]),
            sides: pair(tape),
        },
        13 => {
            let some = |tape: &mut Tape<'_>| (tape.pick(2) == 0).then(|| Box::new(inside(tape)));
            let over = tape.of(&[Over::Items, Over::Values]);
            Expr::Project { over, source: boxed(tape), keep: some(tape), body: some(tape) }
        }
        14 => Expr::Flatten(boxed(tape)),
        15 => Expr::List((0..tape.pick(3)).map(|_| below(tape)).collect()),
        16 => Expr::Object((0..tape.pick(3)).map(|_| (Str::from(tape.of(KEYS)), below(tape))).collect()),
        17 => Expr::UnlessNull(pair(tape)),
        18 => higher(tape, &below, &inside),
        _ => call(tape, &below),
    }
}

type Make<'m> = &'m dyn Fn(&mut Tape<'_>) -> Expr;

fn higher(tape: &mut Tape<'_>, below: Make<'_>, inside: Make<'_>) -> Expr {
    let kinds = [
        (Higher::Map, "map"),
        (Higher::SortBy, "sort_by"),
        (Higher::MaxBy, "max_by"),
        (Higher::MinBy, "min_by"),
    ];
    let (kind, name) = tape.of(&kinds);
    let lambda = Expr::Lambda { body: Box::new(inside(tape)), text: "{e}".into() };
    let list = below(tape);
    let args = if kind == Higher::Map { [lambda, list] } else { [list, lambda] };
    Expr::Higher { kind, function: functions::find(name).unwrap(), args: Box::new(args) }
}

fn call(tape: &mut Tape<'_>, below: Make<'_>) -> Expr {
    if tape.pick(8) == 0 {
        return Expr::Fail { args: (0..tape.pick(3)).map(|_| below(tape)).collect(), text: "no".into() };
    }
    let pure: Vec<_> =
        functions::all().iter().filter(|f| f.is_pure() && matches!(f.run, Run::Plain(_))).collect();
    let function = pure[(tape.pick(256) * 256 + tape.pick(256)) % pure.len()];
    let args = (0..function.params().len()).map(|_| below(tape)).collect();
    Expr::Call { function, args }
}

/// What an expression gives, in a form that shows the kinds of numbers and the order of keys.
pub(crate) fn outcome(expr: &Expr, root: &Value) -> Result<String, crate::value::Fault> {
    let context = functions::Context::default();
    eval(expr, Env::new(root, &context)).map(|v| print::literal(&v))
}

pub(crate) fn text(expr: &Expr) -> String {
    print::expression(expr).to_string()
}

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
    let path =
        |base, key: &str, scalar| Expr::Path { base: Box::new(base), keys: Box::new([key.into()]), scalar };
    for inner in [Missing::Null, Missing::Fault] {
        for outer in [Missing::Null, Missing::Fault] {
            let fused = super::fuse::run(path(path(Expr::Root, "a", inner), "b", outer));
            let keys = if let Expr::Path { keys, .. } = &fused { keys.len() } else { 0 };
            assert_eq!(keys, if inner == outer { 2 } else { 1 }, "{inner:?} {outer:?}");
        }
    }
}

/// An expression of JMESPath, before and after one pass or all of them.
fn passed(name: &str, source: &str) -> String {
    let before = crate::jmespath::lower::lower(&crate::jmespath::parse(source).unwrap());
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
