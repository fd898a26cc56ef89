//! Loops that evaluate their body once for items that are alike.

use proptest::prelude::*;

use super::hoist::{context, same};
use ephor_functions::CelLevel;
use ephor_ir::Expr;
use ephor_ir::expr::Missing;
use ephor_ir::item_keys::ItemKeys;
use ephor_ir::strict::{Comprehension, Step, Walk};
use ephor_ir::walk::bottom_up;
use ephor_laws::{KINDS, object, strict};
use ephor_samples::Tape;
use ephor_value::{Map, Str, Value};

const KEYS: &[&str] = &["a", "b", "c"];

/// An expression that mostly reads its item by keys.
fn of_keys(tape: &mut Tape<'_>) -> Expr {
    let body = strict(tape, 3, 1);
    bottom_up(body, &mut |e| match e {
        Expr::Local(n) if tape.pick(8) < 7 => {
            let step = Step::Key { key: Value::from(tape.of(KEYS)), optional: tape.flip() };
            let (base, has_cost) = (Expr::Local(n), tape.flip());
            Expr::Walk(Box::new(Walk { base, steps: Box::new([step]), has_cost }))
        }
        other => other,
    })
}

fn looping(tape: &mut Tape<'_>) -> Comprehension {
    let keys = Box::new([Str::from("items")]);
    let range = Expr::Path { base: Box::new(Expr::Root), keys, scalar: Missing::Fault };
    let kind = tape.of(KINDS);
    let keep = tape.flip().then(|| of_keys(tape));
    let (body, wraps) = (of_keys(tape), tape.flip());
    Comprehension { kind, range, two: tape.pick(8) == 7, keep, body, wraps, item_keys: ItemKeys::default() }
}

/// Data with items of which many lack keys.
fn items(tape: &mut Tape<'_>) -> Value {
    let item = |tape: &mut Tape<'_>| match tape.pick(4) {
        0 => object(tape),
        1 => Value::from("scalar"),
        _ => Value::Map([(Str::from("other"), Value::Int(tape.pick(3) as i64))].into_iter().collect()),
    };
    let all = (0..tape.pick(6)).map(|_| item(tape)).collect();
    let mut root = object(tape).as_map().cloned().unwrap_or_else(Map::new);
    root.insert("items", Value::list(all));
    Value::Map(root)
}

/// The expression with loops that evaluate their bodies for each item.
fn each(expr: Expr) -> Expr {
    bottom_up(expr, &mut |e| match e {
        Expr::Comprehension(l) => {
            Expr::Comprehension(Box::new(Comprehension { item_keys: ItemKeys::unknown(), ..*l }))
        }
        other => other,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(4000), ..ProptestConfig::default() })]

    #[test]
    fn loops_give_and_cost_what_evaluating_the_body_for_each_item_does(
        tape in proptest::collection::vec(any::<u8>(), 0..200),
        data in proptest::collection::vec(any::<u8>(), 0..80),
        level in prop_oneof![Just(CelLevel::V26), Just(CelLevel::V30), Just(CelLevel::Kyverno)],
    ) {
        let expr = Expr::Comprehension(Box::new(looping(&mut Tape(tape.iter()))));
        let root = items(&mut Tape(data.iter()));
        same(&each(expr.clone()), &expr, &root, &context(level)).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn many_generated_loops_read_keys_only() {
    let count = (0u32..1000)
        .filter(|seed| {
            let tape: Vec<u8> =
                (0..200u32).map(|i| ((seed * 200 + i).wrapping_mul(2_654_435_761) >> 19) as u8).collect();
            let l = looping(&mut Tape(tape.iter()));
            l.item_keys.of(&l).is_some()
        })
        .count();
    assert!(count > 200, "{count} of 1000");
}
