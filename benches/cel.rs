//! Expressions of admission policies on a Pod of 20 kB, compared with cel-go in the same run.
//!
//! `benches/cel.sh` builds the program that runs cel-go (`benches/cel-go`) and names it in
//! `CEL_GO`. For each expression of `benches/cel-expressions.json`: nanoseconds of compiling
//! (parse, check, estimate, lower) and of an evaluation with its cost, here and there, and how many
//! times faster `ephor` is. The results are compared first. Exit code 1 when something is not as
//! many times faster as required.

#![allow(clippy::expect_used)]

mod common;

use std::hint::black_box;
use std::io::Write;
use std::process::{Command, Stdio};

use ephor_cel::library::{Admission, admission};
use ephor_cel::types::Type;
use ephor_cel::{env::Env as Declared, lower::with_variables};
use ephor_engine::eval::{Env, eval};
use ephor_engine::meter::{ComposedVariables, Meter};
use ephor_functions::Context;
use ephor_ir::Expr;
use ephor_ir::expressions::Variable;
use ephor_search::{json, read};
use ephor_value::{Map, Str, Value};

use common::{best, pod};

#[global_allocator]
static ALLOCATOR: ephor::cli::allocator::Allocator = ephor::cli::allocator::Allocator;

/// How many times faster compiling and evaluating have to be.
const REQUIRED: [f64; 2] = [2.0, 3.0];
/// What one expression may cost.
const PER_CALL: u64 = 1_000_000;

/// An expression and the variables of its policy.
struct Case {
    text: String,
    variables: Vec<(Str, String)>,
}

/// What is run.
struct Compiled {
    expr: Expr,
    variables: Vec<Variable>,
}

fn main() {
    let document = read(&pod()).expect("a Pod");
    let given = include_str!("cel-expressions.json");
    let cases = cases(&read(given).expect("expressions"));
    let env = declared();
    let context = Context::default();
    let mut root = Map::new();
    root.insert("object", document.clone());
    let root = Value::Map(root);
    println!("a Pod of {} bytes as JSON", json(&document).expect("JSON").len());
    let theirs = reference(&document, given);
    let mut slow = 0;
    for (i, case) in cases.iter().enumerate() {
        let compiled = case.compile(&env, &context);
        let result = compiled.run(&root, &context);
        let times = [
            best(|| black_box(case.compile(&env, &context)).variables.len() == case.variables.len()),
            best(|| !matches!(black_box(compiled.run(black_box(&root), &context)), Value::Null)),
        ];
        let shown = case.text.chars().take(90).collect::<String>();
        let Some(theirs) = &theirs else {
            println!("compile {:>7.0} ns   eval {:>7.0} ns   {shown}", times[0], times[1]);
            continue;
        };
        let line = theirs.get(i).expect("a line for each expression");
        let same = line.get("result").is_some_and(|r| r.json_eq(&result));
        assert!(same, "{}: {:?}", case.text, line.get("result"));
        let number = |key: &str| match line.get(key) {
            Some(Value::Float(f)) => *f,
            Some(Value::Int(n)) => *n as f64,
            _ => f64::NAN,
        };
        let faster = [number("compile") / times[0], number("eval") / times[1]];
        slow += faster.iter().zip(REQUIRED).filter(|(f, p)| *f < p).count();
        println!(
            "compile {:>7.0} ns {:>8.0} ns {:>6.1}×   eval {:>7.0} ns {:>8.0} ns {:>6.1}×   {shown}",
            times[0],
            number("compile"),
            faster[0],
            times[1],
            number("eval"),
            faster[1],
        );
    }
    if slow > 0 {
        println!("{slow} times are not {REQUIRED:?} times shorter");
        std::process::exit(1);
    }
}

fn cases(given: &Value) -> Vec<Case> {
    let text = |v: &Value| v.as_str().expect("a text").to_string();
    let pair = |v: &Value| {
        let pair = v.as_list().expect("a pair");
        (Str::from(text(&pair[0])), text(&pair[1]))
    };
    let case = |v: &Value| Case {
        text: text(v.get("expression").expect("an expression")),
        variables: v.get("variables").and_then(Value::as_list).unwrap_or_default().iter().map(pair).collect(),
    };
    given.as_list().expect("a list").iter().map(case).collect()
}

/// The environment of admission policies, with their variables.
fn declared() -> Declared {
    let mut env = admission(Admission::default());
    env.variables.insert("variables".into(), Type::Dyn);
    env
}

impl Case {
    fn compile(&self, env: &Declared, context: &Context) -> Compiled {
        let compile = |text: &str| ephor_cel::compile(text, env, context).expect(text).expr;
        let names: Vec<Str> = self.variables.iter().map(|(name, _)| name.clone()).collect();
        let variable = |(name, text): &(Str, String)| Variable {
            origin: Default::default(),
            name: name.clone(),
            program: Ok(with_variables(compile(text), &names)),
            sharing: Default::default(),
        };
        let variables = self.variables.iter().map(variable).collect();
        Compiled { expr: with_variables(compile(&self.text), &names), variables }
    }
}

impl Compiled {
    fn run(&self, root: &Value, context: &Context) -> Value {
        let meter = Meter::new(PER_CALL);
        let variables = ComposedVariables::new(&self.variables);
        let env = Env::new(root, context).with_meter(&meter).with_variables(&variables);
        eval(&self.expr, env).expect("a value").into_owned()
    }
}

/// The results of cel-go; `None` when the program was not built.
fn reference(document: &Value, expressions: &str) -> Option<Vec<Value>> {
    let program = std::env::var_os("CEL_GO")?;
    let mut running =
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("cel-go starts");
    let object = json(document).expect("JSON");
    let input = format!("{{\"object\": {object}, \"expressions\": {expressions}}}");
    running.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let output = running.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(|line| read(line).expect("JSON")).collect())
}
