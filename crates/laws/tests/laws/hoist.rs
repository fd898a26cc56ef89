//! Parts that are evaluated once instead of often.

use proptest::prelude::*;

use ephor_functions::{CelLevel, Context};
use ephor_ir::Expr;
use ephor_ir::optimise::hoist::{Least, Lists, run, worth};
use ephor_ir::walk::{bottom_up, holds};
use ephor_laws::{Outcome, metered, object, recorded::programs, strict};
use ephor_laws::{generate, outcome, text, value};
use ephor_samples::Tape;
use ephor_value::{Value, budget};

/// An expression in which a part without locals stands in many places.
fn repeating(tape: &mut Tape<'_>, make: fn(&mut Tape<'_>, usize, u32) -> Expr) -> Expr {
    let part = make(tape, 2, 0);
    let around = make(tape, 3, 0);
    bottom_up(around, &mut |e| match e {
        Expr::Const(_) | Expr::Local(_) | Expr::Root if tape.flip() => part.clone(),
        other => other,
    })
}

/// The expression as it was before the pass.
fn undone(expr: Expr) -> Expr {
    bottom_up(expr, &mut |e| match e {
        Expr::Once { expr, .. } => *expr,
        Expr::Cells { body, .. } => *body,
        other => other,
    })
}

/// The expression with a cell for every part that can have one.
fn all(expr: &Expr, lists: Lists) -> Expr {
    worth(expr.clone(), lists, Least { in_loop: 1, twice: 1 })
}

fn is_changed(expr: &Expr) -> bool {
    holds(expr, &|e| matches!(e, Expr::Once { .. }))
}

/// What an expression gives, what it costs and how much memory it takes, where it may cost and take
/// so much.
fn within(expr: &Expr, root: &Value, cx: &Context, limit: u64, bytes: u64) -> (Outcome, Option<u64>, bool) {
    let ((outcome, taken), excess) = budget::spend(|| {
        let spare = budget::left() - bytes;
        budget::take(usize::try_from(spare).unwrap()).unwrap();
        let outcome = metered(expr, root, cx, limit);
        (outcome, bytes.checked_sub(budget::left()))
    });
    // What is left when the memory ends depends on how much was requested at once.
    (outcome, taken.filter(|_| excess.is_none()), excess.is_some())
}

const MEMORY: u64 = 1 << 20;

/// Compares expressions within every limit on costs up to what they cost, and limits on memory near
/// what they take.
pub(crate) fn same(before: &Expr, after: &Expr, root: &Value, cx: &Context) -> Result<(), String> {
    let (whole, taken, _) = within(before, root, cx, 1_000_000, MEMORY);
    let taken = taken.unwrap_or(MEMORY);
    let costs = (0..=(whole.spent + 1).min(64)).chain([whole.spent / 2, whole.spent.saturating_sub(1)]);
    let costs = costs.chain([whole.spent, whole.spent + 1, 1_000_000]).map(|limit| (limit, MEMORY));
    let bytes = [taken.saturating_sub(1), taken / 2, taken, taken + 1].map(|bytes| (1_000_000, bytes));
    for (limit, bytes) in costs.chain(bytes) {
        let (want, got) = (within(before, root, cx, limit, bytes), within(after, root, cx, limit, bytes));
        if want != got {
            let shown = text(after);
            return Err(format!("within {limit} and {bytes} bytes:\n{got:?} for\n{want:?}\n{shown}"));
        }
    }
    Ok(())
}

pub(crate) fn context(level: CelLevel) -> Context {
    Context { cel_level: level, now: Some(0), ..Context::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2000), ..ProptestConfig::default() })]

    #[test]
    fn parts_that_are_evaluated_once_give_cost_and_take_the_same(
        tape in proptest::collection::vec(any::<u8>(), 0..200),
        data in proptest::collection::vec(any::<u8>(), 0..60),
        level in prop_oneof![Just(CelLevel::V26), Just(CelLevel::V30), Just(CelLevel::Kyverno)],
    ) {
        let expr = repeating(&mut Tape(tape.iter()), strict);
        let root = object(&mut Tape(data.iter()));
        for after in [run(expr.clone(), Lists::Alike), all(&expr, Lists::Alike)] {
            prop_assert_eq!(&undone(after.clone()), &expr);
            if after != expr {
                same(&expr, &after, &root, &context(level)).map_err(TestCaseError::fail)?;
            }
        }
    }

    #[test]
    fn parts_of_jmespath_that_are_evaluated_once_give_and_take_the_same(
        tape in proptest::collection::vec(any::<u8>(), 0..200),
        data in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let expr = repeating(&mut Tape(tape.iter()), generate);
        let root = value(&mut Tape(data.iter()), 3);
        for lists in [Lists::Apart, Lists::Alike] {
            let after = all(&expr, lists);
            if ephor_ir::optimise::sorts(&expr) || after == expr {
                continue;
            }
            prop_assert_eq!(outcome(&after, &root), outcome(&expr, &root), "{}\n{}", text(&expr), text(&after));
            same(&expr, &after, &root, &Context::default()).map_err(TestCaseError::fail)?;
        }
    }
}

#[test]
fn the_generated_expressions_have_parts_that_are_evaluated_once() {
    let mut state = 7u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let mut count = |make| {
        (0..1000)
            .filter(|_| {
                let tape: Vec<u8> = (0..200).map(|_| byte()).collect();
                is_changed(&run(repeating(&mut Tape(tape.iter()), make), Lists::Alike))
            })
            .count()
    };
    let (of_cel, of_jmespath) = (count(strict), count(generate));
    assert!(of_cel > 200 && of_jmespath > 200, "{of_cel} and {of_jmespath} of 1000");
}

#[test]
fn recorded_expressions_give_cost_and_take_the_same() {
    let mut changed = 0;
    for level in [CelLevel::V26, CelLevel::V30] {
        for (source, expr, root, cx) in programs(level) {
            let before = undone(expr);
            let after = all(&before, Lists::Alike);
            if after != before {
                changed += 1;
                same(&before, &after, &root, &cx).map_err(|e| format!("{source}\n{e}")).unwrap();
            }
        }
    }
    assert!(changed > 20, "only {changed} have such parts");
}

fn render(source: &str) -> String {
    let env = ephor_cel::library::admission(ephor_cel::library::Admission {
        authorizer: true,
        ..Default::default()
    });
    text(&ephor_cel::compile(source, &env, &Context::default()).unwrap().expr)
}

fn queried(source: &str) -> String {
    text(&ephor_ir::optimise::expression(ephor_jmespath::lower::lower(
        &ephor_jmespath::parse(source).unwrap(),
    )))
}

#[test]
fn what_a_loop_does_not_change_is_evaluated_once() {
    insta::assert_snapshot!(render(
        "object.spec.containers.all(c, c.image in object.metadata.annotations.map(k, object.metadata.annotations[k]))"
    ));
}

#[test]
fn what_occurs_twice_is_evaluated_once() {
    insta::assert_snapshot!(render(
        "object.spec.containers.filter(c, has(c.ports)).size() > 1 && \
         object.spec.containers.filter(c, has(c.ports)).all(c, c.ports.size() < 3)"
    ));
    insta::assert_snapshot!(queried(
        "length(spec.containers[?image == 'a']) > `1` && length(spec.containers[?image == 'a']) < `9`"
    ));
}

#[test]
fn plain_reads_and_what_reads_the_item_of_the_loop_stay() {
    for source in [
        "object.spec.containers.all(c, c.image == object.metadata.name)",
        "object.spec.containers.all(c, c.image.startsWith(c.name + '/' + c.name))",
    ] {
        assert!(!render(source).contains("once["), "{}", render(source));
    }
}

#[test]
fn what_depends_on_more_than_the_request_is_evaluated_every_time() {
    let check = "authorizer.group('apps').resource('pods').check('get').allowed()";
    let expr = render(&format!("object.spec.containers.all(c, {check})"));
    let of_check = expr.find("invoke[check").unwrap();
    assert!(
        expr.find("once[").is_some_and(|at| at > of_check),
        "only the question is put together once: {expr}"
    );
}

#[test]
fn the_position_of_a_walk_keeps_its_form() {
    let expr = render("object.spec.containers.all(c, object.spec.list[[1, 2].map(x, x + 1)[0]] == c)");
    assert!(expr.contains("at: walk["), "its fault prints what computed it: {expr}");
}

#[test]
fn lists_that_sorting_could_distinguish_stay_separate() {
    let source = "{a: items[?x == 'a'].b, b: items[?x == 'a'].b, c: items[?x == 'a'].c}";
    assert!(!queried(source).contains("once["));
    let compared = "[items[?x == 'a'].b == c, items[?x == 'a'].b == d]";
    assert!(queried(compared).contains("once["), "{}", queried(compared));
}
