#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use proptest::prelude::*;

use super::*;
use crate::policy_set::outcomes::{Outcomes, Part};
use crate::policy_set::verdicts::Limits;
use crate::{Engine, PolicySet};
use ephor_analysis::reads::{ReadTree, Reads, of_expression};
use ephor_engine::request::Parts;
use ephor_engine::{Profile, Request};
use ephor_functions::{CelLevel, Context};
use ephor_ir::Expr;
use ephor_ir::walk::holds;
use ephor_laws::{generate, outcome, text, value};
use ephor_laws::{metered, object, recorded::programs, strict};
use ephor_samples::Tape;
use ephor_value::{Map, Str, Value};

const POLICY: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  background: false
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: 'not {{ request.object.data.owner || `"none"` }}', pattern: {metadata: {labels: {team: a}}}}
"#;

fn engine(policy: &str) -> Engine {
    Engine::new(PolicySet::from_yaml(policy).unwrap())
        .with_profile(Profile::cluster())
        .with_result_cache(1 << 20)
}

fn request(object: &str) -> Request {
    let object = ephor_document::yaml_value(object).unwrap();
    let parts = Parts { object, old_object: Some(Value::Null), sent: Some(Map::new()), ..Parts::default() };
    Request::new(parts, Profile::cluster(), &Context::default()).unwrap()
}

fn map(rest: &str) -> Request {
    request(&format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: n, labels: {{team: b}}}}, data: {{owner: o}}, {rest}}}"
    ))
}

fn limited(engine: &Engine, request: Request, name: Option<&str>, has_time: bool) -> Outcomes {
    let limits = Limits {
        policies: &|_| true,
        rules: &|_, _| true,
        has_time: &|| has_time,
        stops: &|_, _| false,
        name,
    };
    engine.verdicts(&engine.prepare(request), &limits).outcomes
}

fn evaluate(engine: &Engine, request: Request) -> Outcomes {
    limited(engine, request, Some("all"), true)
}

/// Whether two results are one.
fn are_one(a: &Outcomes, b: &Outcomes) -> bool {
    let first = |o: &Outcomes| o.results().next().map(|(_, r)| std::ptr::from_ref(r));
    first(a).is_some() && first(a) == first(b)
}

#[test]
fn requests_that_agree_in_all_that_is_read_share_a_result() {
    let engine = engine(POLICY);
    let before = evaluate(&engine, map("immutable: true"));
    assert_eq!(
        &*before.results().next().unwrap().1.message,
        "validation error: not o. rule team failed at path /metadata/labels/team/"
    );
    assert!(are_one(&before, &evaluate(&engine, map("binaryData: {a: YQ==}"))));
    assert!(!are_one(
        &before,
        &evaluate(
            &engine,
            request("{apiVersion: v1, kind: ConfigMap, metadata: {labels: {team: b}}, data: {owner: x}}")
        )
    ));
    assert!(!are_one(
        &before,
        &evaluate(
            &engine,
            request("{apiVersion: v1, kind: ConfigMap, metadata: {labels: {team: c}}, data: {owner: o}}")
        )
    ));
}

#[test]
fn limits_of_other_names_have_results_of_their_own() {
    let engine = engine(POLICY);
    let before = evaluate(&engine, map(""));
    assert!(!are_one(&before, &limited(&engine, map(""), Some("other"), true)));
    assert!(!are_one(&before, &limited(&engine, map(""), None, true)));
    assert!(are_one(&before, &evaluate(&engine, map(""))));
}

#[test]
fn changes_of_an_engine_clear_the_cache_or_remove_it() {
    let first = engine(POLICY);
    let before = evaluate(&first, map(""));
    let second = first.with_profile(Profile::cluster());
    let after = evaluate(&second, map(""));
    assert!(!are_one(&before, &after));
    assert!(are_one(&after, &evaluate(&second, map(""))));
    struct None;
    impl crate::policy_set::RuleValues for None {
        fn for_rule(&self, _: &str, _: &str) -> &[(Vec<Str>, Value)] {
            &[]
        }
    }
    let third = second.with_values(Arc::new(None)).with_result_cache(1 << 20);
    assert!(!are_one(&evaluate(&third, map("")), &evaluate(&third, map(""))));
}

#[test]
fn rules_of_which_the_plan_is_too_large_are_evaluated_every_time() {
    let engine = engine(POLICY).with_result_cache(1000);
    let (first, second) = (evaluate(&engine, map("")), evaluate(&engine, map("")));
    assert_eq!(first.results().count(), 1);
    assert!(!are_one(&first, &second));
    let figures = engine.cache_figures().unwrap();
    assert_eq!((figures.entries, figures.misses), (0, 0));
}

#[test]
fn results_that_are_hit_stay_however_many_come_that_are_stored_once() {
    let limit = 256 << 10;
    let cache = ResultCache::new(limit).unwrap();
    let place = |n: u32| cache.limits(&n.to_string()).unwrap();
    let store = |n: u32| cache.store_part(place(n), &Arc::new(Part::default()));
    // It is full when the first of these comes.
    (0..50_000).for_each(store);
    let hit = 50_000..50_050;
    for n in hit.clone() {
        store(n);
        assert!(cache.part(place(n)).is_some(), "{n}");
    }
    (100_000..200_000).for_each(store);
    let left = hit.filter(|n| cache.part(place(*n)).is_some()).count();
    assert_eq!(left, 50);
    let figures = cache.figures();
    assert!(figures.bytes <= limit && figures.bytes > limit / 2, "{figures:?}");
    assert!(figures.evictions > 100_000, "{figures:?}");
    let known = (0..50_000).filter(|n| cache.part(place(*n)).is_some()).count();
    assert!(known < 5_000, "{known} of the first are still there: nothing had to go");
}

#[test]
fn a_request_that_comes_again_is_a_hit_among_many_that_come_once() {
    let engine = engine(POLICY).with_result_cache(128 << 10);
    let once = |n: usize| {
        request(&format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{labels: {{team: b}}}}, data: {{owner: o{n}}}}}"
        ))
    };
    let first = evaluate(&engine, map(""));
    for n in 0..2000 {
        evaluate(&engine, once(n));
        assert!(n % 20 > 0 || are_one(&first, &evaluate(&engine, map(""))), "{n}");
    }
    let figures = engine.cache_figures().unwrap();
    assert!(figures.evictions > 1000 && figures.bytes <= 128 << 10, "{figures:?}");
}

#[test]
fn nothing_is_cached_of_a_run_that_had_no_time() {
    let engine = engine(POLICY);
    assert!(limited(&engine, map(""), Some("all"), false).is_empty());
    assert_eq!(evaluate(&engine, map("")).results().count(), 1);
}

#[test]
fn nothing_is_cached_when_data_bring_in_variables() {
    let engine = engine(POLICY);
    let owner = |image: &str| {
        request(&format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{labels: {{team: b}}}}, data: {{owner: '{{{{ request.object.image }}}}'}}, image: {image}}}"
        ))
    };
    let message = |o: &Outcomes| o.results().next().unwrap().1.message.to_string();
    let (a, b) = (evaluate(&engine, owner("a")), evaluate(&engine, owner("b")));
    assert!(message(&a).contains("not a."), "{}", message(&a));
    assert!(message(&b).contains("not b."), "{}", message(&b));
}

#[test]
fn other_kinds_of_the_cluster_clear_the_cache() {
    let engine = engine(POLICY);
    let with_kinds = |kinds: &Arc<Kinds>| {
        let mut request = map("");
        request.target.kinds = Some(kinds.clone());
        evaluate(&engine, request)
    };
    let (one, other) = (Arc::new(Kinds::default()), Arc::new(Kinds::default()));
    let before = with_kinds(&one);
    assert!(are_one(&before, &with_kinds(&one)));
    assert!(!are_one(&before, &with_kinds(&other)));
}

#[test]
fn different_values_have_different_bytes() {
    let texts = [
        "null",
        "~x",
        "0",
        "0.5",
        "'0'",
        "1",
        "-1",
        "true",
        "false",
        "''",
        "a",
        "ab",
        "[]",
        "{}",
        "[[]]",
        "[a]",
        "[a, b]",
        "[ab]",
        "[[a], b]",
        "[a, [b]]",
        "{a: b}",
        "{a: {b: c}}",
        "{a: null}",
        "{a: b, c: d}",
        "{c: d, a: b}",
        "{'': ''}",
        "18446744073709551615",
    ];
    let bytes = |reads: &Reads, text: &str| {
        let object = ephor_document::yaml_value(&format!("{{spec: {text}}}")).unwrap();
        let parts = Parts { object, old_object: Some(Value::Null), ..Parts::default() };
        let request = Request::new(parts, Profile::cluster(), &Context::default()).unwrap();
        let mut bytes = Bytes::default();
        request.reads(reads, &mut bytes);
        bytes.bytes().unwrap().to_vec()
    };
    let mut reads = Reads::default();
    reads.object.add(&[ephor_analysis::reads::Step::Key("spec".into())], true);
    let mut hashes: Vec<Vec<u8>> = texts.iter().map(|text| bytes(&reads, text)).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), texts.len());
    // Lists of the same length have the same shape, and so have objects that are not empty.
    let mut shape = Reads::default();
    shape.object.add(&[ephor_analysis::reads::Step::Key("spec".into())], false);
    assert_eq!(bytes(&shape, "[a]"), bytes(&shape, "[b]"));
    assert_ne!(bytes(&shape, "[a]"), bytes(&shape, "[a, b]"));
    assert_eq!(bytes(&shape, "{a: b}"), bytes(&shape, "{c: d, e: f}"));
    assert_ne!(bytes(&shape, "{a: b}"), bytes(&shape, "{}"));
    assert_ne!(bytes(&shape, "a"), bytes(&shape, "b"));
}

/// A value with one part of it changed, in every way.
fn changes(v: &Value, out: &mut Vec<Value>) {
    out.extend([Value::Null, Value::from("other"), Value::Float(7.0), Value::list(Vec::new())]);
    match v {
        Value::Map(m) => {
            let mut more = m.clone();
            more.insert("b", Value::from("entry"));
            out.push(Value::Map(more));
            for (key, below) in m.iter() {
                let mut less = m.clone();
                less.remove(key);
                out.push(Value::Map(less));
                let mut inner = Vec::new();
                changes(below, &mut inner);
                for changed in inner {
                    let mut m = m.clone();
                    m.insert(key.clone(), changed);
                    out.push(Value::Map(m));
                }
            }
        }
        Value::List(items) => {
            out.push(Value::list(items.iter().skip(1).cloned().collect()));
            out.push(Value::list(items.iter().chain(items.last()).cloned().collect()));
            for (i, item) in items.iter().enumerate() {
                let mut inner = Vec::new();
                changes(item, &mut inner);
                for changed in inner {
                    let mut items: Vec<Value> = items.iter().cloned().collect();
                    items[i] = changed;
                    out.push(Value::list(items));
                }
            }
        }
        _ => {}
    }
}

fn bytes_of(tree: &ReadTree, v: &Value) -> Vec<u8> {
    let mut bytes = Bytes::default();
    bytes.tree(tree, v, 0);
    bytes.bytes().unwrap().to_vec()
}

/// Checks that an expression gives the same on data that differ in one part, one of this many, but
/// agree in what it reads.
fn agree(text: &str, expr: &Expr, root: &Value, cx: &Context, one_of: usize) -> Result<usize, TestCaseError> {
    let Ok(tree) = of_expression(expr, ephor_lower::LATE) else { return Ok(0) };
    let (before, known) = (metered(expr, root, cx, LIMIT), bytes_of(&tree, root));
    let mut others = Vec::new();
    changes(root, &mut others);
    let first = text.len() % one_of;
    let mut compared = 0;
    for other in others.iter().skip(first).step_by(one_of).filter(|other| bytes_of(&tree, other) == known) {
        let after = metered(expr, other, cx, LIMIT);
        prop_assert!(after.gives_as(&before), "{}\n{:?}\n{:?}\n{:?}\n{:?}", text, root, other, before, after);
        compared += 1;
    }
    Ok(compared)
}

/// What one expression may cost.
const LIMIT: u64 = 1_000_000;

#[test]
fn recorded_expressions_give_the_same_on_data_that_agree_in_what_they_read() {
    let mut compared = 0;
    for (source, expr, root, cx) in programs(CelLevel::V30) {
        if !holds(&expr, &|e| matches!(e, Expr::Invoke(i) if !i.function.is_pure())) {
            compared += agree(&source, &expr, &root, &cx, 29).unwrap_or_else(|e| panic!("{source}\n{e}"));
        }
    }
    assert!(compared > 10_000, "only {compared} were compared");
}

#[test]
fn most_strict_expressions_do_not_read_everything() {
    let mut compared = 0;
    for seed in 0u32..1000 {
        let bytes: Vec<u8> = (0u32..160)
            .map(|i| ((seed * 160 + i).wrapping_mul(2_654_435_761).wrapping_add(i) >> 23) as u8)
            .collect();
        let expr = strict(&mut Tape(bytes.iter()), 3, 0);
        let root = object(&mut Tape(bytes.iter().rev().copied().collect::<Vec<_>>().iter()));
        let cx = Context { now: Some(0), ..Context::default() };
        compared += agree(&text(&expr), &expr, &root, &cx, 1).unwrap();
    }
    assert!(compared > 5_000, "only {compared} were compared");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(4000), ..ProptestConfig::default() })]

    #[test]
    fn strict_expressions_give_the_same_on_data_that_agree_in_what_they_read(
        tape in proptest::collection::vec(any::<u8>(), 0..160),
        data in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let expr = strict(&mut Tape(tape.iter()), 4, 0);
        let root = object(&mut Tape(data.iter()));
        agree(&text(&expr), &expr, &root, &Context { now: Some(0), ..Context::default() }, 1)?;
    }

    #[test]
    fn expressions_give_the_same_on_data_that_agree_in_what_they_read(
        tape in proptest::collection::vec(any::<u8>(), 0..160),
        data in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let expr = generate(&mut Tape(tape.iter()), 5, 0);
        let root = value(&mut Tape(data.iter()), 3);
        let tree = of_expression(&expr, ephor_lower::LATE);
        prop_assume!(tree.is_ok());
        let tree = tree.unwrap();
        let (before, known) = (outcome(&expr, &root), bytes_of(&tree, &root));
        let mut others = Vec::new();
        changes(&root, &mut others);
        for other in others.iter().filter(|other| bytes_of(&tree, other) == known) {
            prop_assert_eq!(&outcome(&expr, other), &before, "{}\n{:?}\n{:?}", text(&expr), root, other);
        }
    }
}
