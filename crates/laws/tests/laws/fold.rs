//! Folding of constants in CEL.

use proptest::prelude::*;

use ephor_cel::fold::fold;
use ephor_functions::{CelLevel, Context};
use ephor_laws::text;
use ephor_laws::{metered, object, recorded::programs, strict};
use ephor_samples::Tape;

fn render(source: &str) -> String {
    let cx = Context::default();
    let env = ephor_cel::library::admission(ephor_cel::library::Admission::default());
    text(&ephor_cel::compile(source, &env, &cx).unwrap().expr)
}

#[test]
fn calls_of_constants_are_computed_at_their_cost() {
    assert_eq!(render("1 + 2 * 3"), "folded[1, 1: 7]\n");
    assert_eq!(
        render("quantity(object.a).isLessThan(quantity('1Gi') )").matches("folded[").count(),
        1,
        "the constant alone"
    );
    assert_eq!(
        render("'a' + 'b'"),
        "invoke[_+_, one-form, walked](\"a\", \"b\")\n",
        "texts count towards bounds of memory"
    );
    assert_eq!(render("1 / 0"), "invoke[_/_, one-form](1, 0)\n", "what fails stays");
    assert_eq!(render("true ? 1 : 2"), "1\n");
    assert_eq!(render("1 == 2 && object.a"), "folded[1: false]\n");
    assert_eq!(render("1 == 1 && 2 > 1"), "folded[1, 1: true]\n");
    assert_eq!(render("1 + 1 == 2 ? 3 : 4"), "folded[1, 1: 3]\n");
    assert_eq!(render("1 + 1 in [2, 3]"), "folded[1: true]\n");
    assert_eq!(render("cidr('10.0.0.0/8').containsIP(ip('10.0.0.1'))").matches("folded[").count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(4000), ..ProptestConfig::default() })]

    #[test]
    fn folding_keeps_values_faults_and_costs(
        tape in proptest::collection::vec(any::<u8>(), 0..160),
        data in proptest::collection::vec(any::<u8>(), 0..60),
        level in prop_oneof![Just(CelLevel::V26), Just(CelLevel::V30), Just(CelLevel::Kyverno)],
        limit in prop_oneof![Just(1_000_000u64), 0..40u64],
    ) {
        let expr = strict(&mut Tape(tape.iter()), 3, 0);
        let root = object(&mut Tape(data.iter()));
        let cx = Context { cel_level: level, now: Some(0), ..Context::default() };
        let after = fold(expr.clone());
        let (before, got) = (metered(&expr, &root, &cx, limit), metered(&after, &root, &cx, limit));
        prop_assert_eq!(got, before, "{}\n{}", text(&expr), text(&after));
    }
}

#[test]
fn folding_keeps_values_faults_and_costs_of_recorded_expressions() {
    let mut changed = 0;
    for level in [CelLevel::V26, CelLevel::V30] {
        for (source, expr, root, cx) in programs(level) {
            let after = fold(expr.clone());
            if after == expr {
                continue;
            }
            changed += 1;
            let whole = metered(&expr, &root, &cx, 1_000_000);
            for limit in [1_000_000, whole.spent, whole.spent.saturating_sub(1), whole.spent / 2, 1, 0] {
                let before = metered(&expr, &root, &cx, limit);
                assert_eq!(metered(&after, &root, &cx, limit), before, "{source} within {limit}");
            }
        }
    }
    assert!(changed > 300, "only {changed} were folded");
}
