//! What the rows say is true: of their overloads, of faults and purity on generated arguments.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;

use super::*;
use crate::cel::Call;
use crate::cel::overload::{self, LIBRARIES, Overload};
use crate::cel::types::Type;
use crate::registry::Known;
use crate::{Arg, CelLevel, Context};
use ephor_samples::Tape;
use ephor_value::quantity::Quantity;
use ephor_value::time::Time;
use ephor_value::{Fault, Map, Str, Value, duration};

#[test]
fn every_overload_has_a_row_and_every_row_overloads_or_a_function_whose_place_it_takes() {
    let declared: BTreeSet<&str> =
        LIBRARIES.iter().flat_map(|l| l.overloads()).map(|(name, _)| *name).collect();
    let rows: BTreeSet<&str> =
        cel::all().iter().filter(|f| matches!(f.overloads, Overloads::Declared)).map(|f| f.name).collect();
    assert_eq!(rows.difference(&declared).collect::<Vec<_>>(), [&"_?._"], "the checker reads fields itself");
    assert_eq!(declared.difference(&rows).next(), None);
    for f in cel::all() {
        if let Overloads::InPlaceOf(name) = f.overloads {
            assert!(rows.contains(name), "{name}, in whose place {} stands", f.name);
        }
    }
}

#[test]
fn a_language_has_a_name_once_and_finds_it() {
    let names: BTreeSet<(Language, &str)> = all().map(|f| (f.language, f.name)).collect();
    assert_eq!(names.len(), all().count());
    assert!(all().all(|f| find(f.language, f.name) == Some(f)));
    assert_eq!(find(Language::Cel, "time_now"), None);
    assert_eq!(super::super::find("bounded"), None, "no expression names it");
}

#[test]
fn what_is_folded_is_pure_and_what_is_a_node_is_interpreted() {
    for f in all() {
        assert!(!f.folds || f.is_pure() && !f.is_counted_ahead(), "{}", f.name);
        assert!(!matches!(f.run, Run::Node) || f.operation != Operation::Opaque, "{}", f.name);
    }
}

const TEXTS: &[&str] = &[
    "",
    "a",
    "é",
    "1Gi",
    "-3",
    "1.2.3",
    "10.0.0.1",
    "10.0.0.0/8",
    "::1",
    "http://h:1/p?q=1",
    "1h",
    "true",
    "[a",
    "2024-02-28T12:00:00Z",
    "(a)+",
    "%s",
    "null",
    "{\"a\": 1}",
    "nginx:latest",
    "UTC",
    "a,b",
    "aGVsbG8=",
    "*",
];

const DOUBLES: &[f64] = &[0.0, -0.0, 1.5, -2.0, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

fn value(tape: &mut Tape<'_>, depth: usize) -> Value {
    let list = |tape: &mut Tape<'_>| (0..tape.pick(4)).map(|_| value(tape, depth - 1)).collect::<Vec<_>>();
    match tape.pick(if depth > 0 { 8 } else { 6 }) {
        0 => Value::Null,
        1 => Value::Bool(tape.flip()),
        2 => Value::Int(tape.of(&[0, 1, -1, i64::MIN, i64::MAX])),
        3 => Value::Float(tape.of(DOUBLES)),
        4 | 5 => tape.of(TEXTS).into(),
        6 => Value::list(list(tape)),
        _ => Value::Map(
            (0..tape.pick(3)).map(|_| (Str::from(tape.of(TEXTS)), value(tape, depth - 1))).collect::<Map>(),
        ),
    }
}

/// A value of a type; `None` for types of libraries that only requests have.
fn typed(tape: &mut Tape<'_>, ty: &Type, params: &mut HashMap<Str, Type>) -> Option<Value> {
    let made = |name: &str, text: &str| {
        let (arg, cx) = (Value::from(text), Context::default());
        let args: &[&Value] = if text.is_empty() { &[] } else { &[&arg] };
        cel::call(cel::find(name).unwrap(), &Call { args, known: KNOWN, cx: &cx }).unwrap()
    };
    Some(match ty {
        Type::Null => Value::Null,
        Type::Bool => Value::Bool(tape.flip()),
        Type::Int => Value::Int(tape.of(&[0, 1, -1, 7, i64::MIN, i64::MAX])),
        Type::Uint => Value::UInt(tape.of(&[0, 1, 7, u64::MAX])),
        Type::Double => Value::Float(tape.of(DOUBLES)),
        Type::String => tape.of(TEXTS).into(),
        Type::Bytes => Value::Bytes(tape.of(&[&b""[..], b"a", b"\xff\x00"]).into()),
        Type::Timestamp => Value::Timestamp(Time::from_unix_nanos(tape.of(&[
            0,
            -62_135_596_800_000_000_000,
            253_402_300_799_000_000_000,
        ]))),
        Type::Duration => Value::Duration(tape.of(&[0, 1, -1, i64::MAX, i64::MIN])),
        Type::Dyn | Type::Any => value(tape, 2),
        Type::List(item) => {
            Value::list((0..tape.pick(4)).map(|_| typed(tape, item, params)).collect::<Option<_>>()?)
        }
        Type::Map(key, item) if **key == Type::String || matches!(**key, Type::Param(_)) => {
            let entry = |tape: &mut Tape<'_>| Some((Str::from(tape.of(TEXTS)), typed(tape, item, params)?));
            let mut entry = entry;
            Value::Map((0..tape.pick(3)).map(|_| entry(tape)).collect::<Option<Map>>()?)
        }
        Type::Param(name) => {
            let choice = tape.of(&[Type::Int, Type::String, Type::Double, Type::Bool, Type::Dyn]);
            let chosen = params.entry(name.clone()).or_insert(choice).clone();
            typed(tape, &chosen, params)?
        }
        Type::Opaque(name, inner) => match (&**name, &inner[..]) {
            ("optional_type", [inner]) => {
                Value::optional(if tape.flip() { Some(typed(tape, inner, params)?) } else { None })
            }
            ("kubernetes.URL", _) => made("url", tape.of(&["http://h:1/p?q=1", "/a", "https://[::1]"])),
            ("kubernetes.Quantity", _) => made("quantity", tape.of(&["1Gi", "0", "-1500m", "1e9"])),
            ("kubernetes.Semver", _) => made("semver", tape.of(&["1.2.3", "0.0.0-a.1+b"])),
            ("kubernetes.NamedFormat", _) => made(tape.of(&["format.uri", "format.dns1123Label"]), ""),
            ("net.IP", _) => made("ip", tape.of(&["10.0.0.1", "::1", "224.0.0.1"])),
            ("net.CIDR", _) => made("cidr", tape.of(&["10.0.0.0/8", "::/0", "10.0.0.1/32"])),
            _ => return None,
        },
        _ => return None,
    })
}

const KNOWN: Known = Known { one_form: true, member: false, prepared: false, walked: false };

/// What a function gives for generated arguments of an overload's types; `None` where there are
/// none.
fn tried(f: &'static Function, tape: &mut Tape<'_>) -> Option<[Result<Value, Fault>; 2]> {
    let cel_level = tape.of(&[CelLevel::V26, CelLevel::V30, CelLevel::Kyverno]);
    let cx = Context { cel_level, now: Some(0), ..Context::default() };
    let name = match f.overloads {
        Overloads::Checked { params, arity, .. } => {
            let args: Vec<Value> = params.iter().map(|tys| argument(tape, tys)).collect::<Option<_>>()?;
            let args: Vec<Arg<'_>> = args.iter().map(|v| Arg::Value(Cow::Borrowed(v))).collect();
            assert!(arity != Arity::Fixed || crate::check(f, &args).is_ok(), "{}", f.name);
            return Some([(); 2].map(|()| crate::call(f, &cx, &args)));
        }
        Overloads::Declared => f.name,
        Overloads::InPlaceOf(name) => name,
    };
    if !matches!(f.run, Run::Strict(_)) {
        return None;
    }
    let all = overload::of(name);
    let Overload { params, .. } = &all[tape.pick(all.len())];
    let mut types = HashMap::new();
    let args: Vec<Value> = params.iter().map(|ty| typed(tape, ty, &mut types)).collect::<Option<_>>()?;
    let args: Vec<&Value> = args.iter().collect();
    let call = Call { args: &args, known: KNOWN, cx: &cx };
    Some([(); 2].map(|()| cel::call(f, &call)))
}

/// An argument of one of JMESPath's types; none of an expression.
fn argument(tape: &mut Tape<'_>, tys: &[Ty]) -> Option<Value> {
    Some(match tape.of(tys) {
        Ty::Any => value(tape, 2),
        Ty::Number => Value::Float(tape.of(DOUBLES)),
        Ty::String => tape.of(TEXTS).into(),
        Ty::Array => Value::list((0..tape.pick(4)).map(|_| value(tape, 1)).collect()),
        Ty::Object => Value::Map(
            (0..tape.pick(3)).map(|_| (Str::from(tape.of(TEXTS)), value(tape, 1))).collect::<Map>(),
        ),
        Ty::ArrayNumber => Value::list((0..tape.pick(4)).map(|_| Value::Float(tape.of(DOUBLES))).collect()),
        Ty::ArrayString => Value::list((0..tape.pick(4)).map(|_| tape.of(TEXTS).into()).collect()),
        Ty::Expref => return None,
    })
}

/// Whether a value is a number, or the text of a quantity or duration.
fn is_amount(value: &Value) -> bool {
    match value {
        Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Duration(_) => true,
        // What is no number has none.
        Value::Null => true,
        Value::Str(text) => Quantity::parse(text).is_some() || duration::parse_ok(text).is_some(),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2000), ..ProptestConfig::default() })]

    #[test]
    fn functions_give_what_their_operation_says(tape in proptest::collection::vec(any::<u8>(), 0..48)) {
        for f in all().filter(|f| f.dependency.is_none()) {
            let Some([Ok(value), _]) = tried(f, &mut Tape(tape.iter())) else { continue };
            let of = f.operation;
            prop_assert!(!of.gives_number() || is_amount(&value), "{} {value:?}", f.name);
            let is_test = of.is_comparison() || of.searches_text() || of.searches_pattern();
            prop_assert!(!is_test || matches!(value, Value::Bool(_)), "{} {value:?}", f.name);
            prop_assert!(!of.changes_case() || matches!(value, Value::Str(_)), "{} {value:?}", f.name);
        }
    }

    #[test]
    fn functions_that_cannot_fail_do_not_and_pure_ones_give_the_same_twice(
        tape in proptest::collection::vec(any::<u8>(), 0..48),
    ) {
        // This one waits for servers of names.
        for f in all().filter(|f| f.dependency != Some(Dependency::Services)) {
            let Some([once, again]) = tried(f, &mut Tape(tape.iter())) else { continue };
            prop_assert!(f.fails || once.is_ok(), "{} {once:?}", f.name);
            if f.is_pure() {
                let same = match (&once, &again) {
                    (Ok(a), Ok(b)) => a == b,
                    (Err(a), Err(b)) => a == b,
                    _ => false,
                };
                prop_assert!(same, "{}: {once:?} and {again:?}", f.name);
            }
        }
    }
}
