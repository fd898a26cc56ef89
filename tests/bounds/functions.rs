//! Every function of both languages, on arguments that are as bad as requests can make them: none
//! takes long, and none takes much memory.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use ephor_functions::{Arg, CelLevel, Context, Run, Ty, cel};
use ephor_ir::expr::Known;
use ephor_value::budget::{self, Excess};
use ephor_value::{Fault, Map, Value};

use super::usage::Clock;

/// A call that is not optimised takes no longer than this.
const LONGEST: Duration = Duration::from_secs(5);

/// When calls are interrupted.
const DEADLINE: Duration = Duration::from_secs(1);

fn texts() -> Vec<Value> {
    let many = |text: &str, times: usize| Value::from(text.repeat(times));
    let mut all = vec![
        many("a", 1 << 17),
        Value::from(format!("{}b", "a".repeat(1 << 16))),
        many("*a", 1 << 15),
        many("(a?){50}", 1),
        many("(a|aa)*", 4),
        many("{\"a\":[", 1 << 17),
        many("[1,", 1 << 15),
        many("9", 1 << 17),
        many("1e999999999", 1),
        Value::from(format!("1{}Gi", "0".repeat(9_000))),
        many("x=1&", 1 << 15),
        many("1.2.3 || ", 1 << 17),
        many("$1$1", 1 << 15),
        many("%s", 1 << 15),
        many(":", 1 << 15),
        many("{{a}}", 1 << 17),
        Value::from(
            "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]",
        ),
    ];
    all.extend(["", "a", ",", "json.Json"].map(Value::from));
    all
}

fn numbers() -> Vec<Value> {
    [0.0, 1.0, -1.0, 1e9, 1e18, 1e308, f64::NAN].map(Value::Float).to_vec()
}

fn lists() -> Vec<Value> {
    const LONG: usize = 20_000;
    let text = Value::from("a".repeat(1 << 16));
    vec![
        Value::list((0..LONG).map(|i| Value::Float(i as f64)).collect()),
        Value::list((0..LONG).map(|i| Value::from(format!("k{i}"))).collect()),
        Value::list(vec![text; 10_000]),
        Value::list((0..LONG).map(|_| Value::list(vec![Value::Null; 4])).collect()),
        laughs(),
        Value::list(Vec::new()),
    ]
}

/// A small value that is enormous when it is written out.
fn laughs() -> Value {
    (0..40).fold(Value::from("ha"), |v, _| Value::list(vec![v.clone(), v.clone(), v]))
}

fn objects() -> Vec<Value> {
    let long: Map = (0..20_000).map(|i| (format!("k{i}").into(), Value::from("v"))).collect();
    let holder: Map =
        [("a".into(), laughs()), ("b".into(), Value::from("a".repeat(1 << 17)))].into_iter().collect();
    vec![Value::Map(long), Value::Map(holder), Value::Map(Map::new())]
}

fn of_type(ty: Ty) -> Vec<Value> {
    match ty {
        Ty::Any | Ty::Expref => [lists(), objects(), texts()].concat(),
        Ty::Number => numbers(),
        Ty::String => texts(),
        Ty::Array | Ty::ArrayNumber | Ty::ArrayString => lists(),
        Ty::Object => objects(),
    }
}

/// What a call that is bounded by size comes to.
fn checked(name: &str, args: &dyn Fn() -> String, call: impl FnOnce() -> Result<Value, Fault>) {
    let clock = Clock::thread();
    // Only what compares values that hold the same part again and again needs the deadline.
    let (_, excess) = budget::until(Some(Instant::now() + DEADLINE), || budget::spend(call));
    let took = clock.elapsed();
    assert!(took < LONGEST, "{name}: {took:?} on {}", args());
    let compares = [
        "contains",
        "label_match",
        "_==_",
        "_!=_",
        "@equalsDeclared",
        "@differsFromDeclared",
        "@in",
        "indexOf",
        "lastIndexOf",
        "@indexOfWithin",
        "@lastIndexOfWithin",
    ];
    assert!(excess != Some(Excess::Time) || compares.contains(&name), "{name}: interrupted on {}", args());
}

fn render(args: &[Value]) -> String {
    let one = |v: &Value| match v {
        Value::Str(s) => format!("{:?} of {}", s.chars().take(20).collect::<String>(), s.len()),
        Value::List(l) => format!("list of {}", l.len()),
        Value::Map(m) => format!("object of {}", m.len()),
        other => format!("{other:?}"),
    };
    args.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn no_function_of_jmespath_takes_long_or_much_memory() {
    let cx = Context::default();
    for function in ephor_functions::all().iter().filter(|f| matches!(f.run, Run::Plain(_))) {
        let pools: Vec<Vec<Value>> =
            function.params().iter().map(|tys| tys.iter().flat_map(|ty| of_type(*ty)).collect()).collect();
        let most = pools.iter().map(Vec::len).max().unwrap_or(0);
        // Each argument meets the others in several ways.
        for turn in 0..2 * most {
            let args: Vec<Value> = pools
                .iter()
                .enumerate()
                .filter_map(|(i, pool)| {
                    pool.get((turn + i * (1 + turn / most.max(1)) * 3) % pool.len().max(1)).cloned()
                })
                .collect();
            let given: Vec<Arg<'_>> = args.iter().map(|v| Arg::Value(Cow::Borrowed(v))).collect();
            checked(function.name, &|| render(&args), || ephor_functions::call(function, &cx, &given));
        }
    }
}

#[test]
fn no_function_of_cel_takes_long_or_much_memory() {
    // Those that take as long as they cost are not called when that is more than may be spent.
    let is_called = |f: &&ephor_functions::Function| !f.is_counted_ahead() && !matches!(f.name, "check");
    let all: Vec<Value> = [
        texts(),
        lists(),
        objects(),
        vec![Value::Int(i64::MAX), Value::Int(1), Value::Int(-1), Value::UInt(7), Value::Bool(true)],
        numbers(),
    ]
    .concat();
    let cx = Context { cel_level: CelLevel::V26, ..Context::default() };
    let known = Known { member: true, one_form: true, walked: true, prepared: false };
    let ints = [Value::Int(0), Value::Int(2), Value::Int(i64::MAX)];
    for function in cel::all().iter().filter(is_called) {
        for (i, first) in all.iter().enumerate() {
            let mut calls = vec![vec![first.clone()]];
            for turn in 0..2 {
                let second = &all[(i * 7 + turn * 11) % all.len()];
                calls.push(vec![first.clone(), second.clone()]);
                calls.push(vec![first.clone(), ints[turn].clone()]);
                calls.push(vec![first.clone(), second.clone(), all[(i * 5 + turn * 13) % all.len()].clone()]);
                calls.push(vec![first.clone(), second.clone(), ints[turn].clone()]);
            }
            for args in calls {
                let given: Vec<&Value> = args.iter().collect();
                let call = cel::Call { args: &given, known, cx: &cx };
                checked(function.name, &|| render(&args), || cel::call(function, &call));
            }
        }
    }
}
