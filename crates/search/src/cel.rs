//! CEL for programs: compile an expression for an environment, evaluate it on a document, see what
//! its parts gave.
//!
//! ```
//! use ephor_search::cel::{Environment, CelExpression};
//! use ephor_search::document;
//!
//! let pod = document("spec: {containers: [{name: a}, {name: b}]}")?;
//! let data = Environment::Kubernetes.data(&pod);
//! let expression = CelExpression::compile("object.spec.containers.map(c, c.name)", Environment::Kubernetes, &data)?;
//! assert_eq!(expression.evaluate(&data).to_text()?, r#"["a", "b"]"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use ephor_cel::library::{Admission, KyvernoKind, admission, kyverno};
use ephor_cel::lower::Impossible;
use ephor_cel::spans::Spans;
use ephor_cel::{
    CompileError, Program, ast::Shape, check::Typed, check::TypedFold, check::TypedKind, types::Type,
};
use ephor_engine::eval::{Env, eval};
use ephor_engine::expressions::PER_CALL;
use ephor_engine::meter::Meter;
use ephor_engine::view::admission::{self, AdmissionVariables};
use ephor_functions::{CelLevel, Context};
use ephor_ir::Expr;
use ephor_value::{Fault, Map, Object, Str, Value};

use super::notation::to_text;

#[cfg(feature = "estimates")]
pub use ephor_cel::estimate::Range;
/// How many steps a trace shows: more are not read. The value is that of all.
const MAX_STEPS: usize = 1000;
/// How many rounds of a loop a trace shows, for the same reason.
const MAX_ROUNDS: usize = 20;

/// What names and functions there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Environment {
    /// Admission policies of Kubernetes: `object`, `oldObject`, `params`, `request`,
    /// `namespaceObject`.
    #[default]
    Kubernetes,
    /// Kyverno's policies: these, and its libraries.
    Kyverno,
    /// The language with Kubernetes' libraries; the keys of the document are variables.
    Bare,
}

impl Environment {
    /// All, by name.
    pub const ALL: [(&'static str, Environment); 3] = [
        ("kubernetes", Environment::Kubernetes),
        ("kyverno", Environment::Kyverno),
        ("bare", Environment::Bare),
    ];

    /// The environment of a name.
    pub fn named(name: &str) -> Option<Environment> {
        Environment::ALL.iter().find(|(n, _)| *n == name).map(|(_, e)| *e)
    }

    fn context(self) -> Context {
        let cel_level = if self == Environment::Kyverno { CelLevel::Kyverno } else { CelLevel::V26 };
        Context { cel_level, ..Context::default() }
    }

    /// The variables of a document: an object is `object`, a map with names of variables has them.
    pub fn data(self, document: &Value) -> Value {
        if self == Environment::Bare {
            return if document.as_map().is_some() { document.clone() } else { Value::Map(Map::new()) };
        }
        const NAMES: [&str; 5] = ["object", "oldObject", "params", "request", "namespaceObject"];
        let named =
            document.as_map().is_some_and(|m| !m.is_empty() && m.iter().all(|(k, _)| NAMES.contains(&&**k)));
        let part = |name: &str| match named {
            true => document.get(name).cloned().unwrap_or_default(),
            false if name == "object" => document.clone(),
            false => Value::Null,
        };
        let request = part("request");
        let seen = AdmissionVariables {
            object: part("object"),
            old_object: part("oldObject"),
            params: Some(part("params")),
            namespace: part("namespaceObject"),
            authorizer: false,
            typed: false,
        };
        admission::root(&admission::request(&request), seen, &request)
    }

    fn env(self, data: &Value) -> ephor_cel::env::Env {
        let choice = Admission {
            params: true,
            backticks: true,
            level: self.context().cel_level,
            ..Default::default()
        };
        let mut env = match self {
            Environment::Kyverno => kyverno(KyvernoKind::Validating, false),
            _ => admission(choice),
        };
        env.variables.entry("params".into()).or_insert(Type::Dyn);
        if self == Environment::Bare {
            let names = data.as_map().into_iter().flat_map(|m| m.iter());
            env.variables = names.map(|(name, _)| (name.clone(), Type::Dyn)).collect();
            env.strict_literals = false;
            env.strict_arguments = false;
            env.syntax.bind = true;
        }
        env
    }
}

/// A compiled expression.
pub struct CelExpression {
    source: String,
    typed: Typed,
    env: ephor_cel::env::Env,
    program: Program,
    context: Context,
}

/// Why an expression, or a part of one, has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// The part cannot be planned.
    #[error(transparent)]
    Impossible(Impossible),
    /// Its evaluation failed.
    #[error("{}", .0.cel_text())]
    Run(#[source] Fault),
}

/// What an evaluation gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The value, or why there is none.
    pub value: Result<Value, EvaluationError>,
    /// The cost.
    pub cost: u64,
}

impl Outcome {
    /// The value in the language's notation.
    ///
    /// # Errors
    /// There is no value.
    pub fn to_text(&self) -> Result<String, EvaluationError> {
        self.value.as_ref().map(to_text).map_err(Clone::clone)
    }
}

/// A line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// How deep the part is inside of others.
    pub depth: usize,
    /// The part, or the variable of a loop.
    pub text: String,
    /// Its value, or why there is none.
    pub value: Result<String, EvaluationError>,
}

impl CelExpression {
    /// Compiles an expression for the variables of `data`.
    ///
    /// # Errors
    /// The issues, each with its line and a caret.
    pub fn compile(
        source: &str,
        environment: Environment,
        data: &Value,
    ) -> Result<CelExpression, CompileError> {
        let (env, context) = (environment.env(data), environment.context());
        let program = ephor_cel::compile(source, &env, &context)?;
        let typed = ephor_cel::typed(source, &env).map_err(CompileError::Invalid)?;
        Ok(CelExpression { source: source.into(), typed, env, program, context })
    }

    /// The name of its type.
    pub fn type_name(&self) -> String {
        self.program.ty.formal()
    }

    /// What it will cost, as far as that is known.
    #[cfg(feature = "estimates")]
    pub fn estimate(&self) -> Range {
        ephor_cel::estimated(&self.typed, &self.env)
    }

    /// Evaluates it.
    pub fn evaluate(&self, data: &Value) -> Outcome {
        let meter = Meter::new(PER_CALL);
        let env = Env::new(data, &self.context).with_meter(&meter);
        let value = eval(&self.program.expr, env).map(std::borrow::Cow::into_owned);
        Outcome { value: value.map_err(EvaluationError::Run), cost: meter.spent() }
    }

    /// What its parts give, the whole first; of loops the first rounds.
    pub fn trace(&self, data: &Value) -> Vec<Step> {
        let spans = Spans::of(&self.source);
        let (env, context) = (&self.env, &self.context);
        let mut tracer = Tracer { data, env, context, spans, bound: Vec::new(), steps: Vec::new() };
        tracer.part(&self.typed, 0);
        tracer.steps
    }
}

struct Tracer<'t> {
    data: &'t Value,
    env: &'t ephor_cel::env::Env,
    context: &'t Context,
    spans: Spans<'t>,
    /// Names of loops and their values, the innermost last.
    bound: Vec<(Str, Value)>,
    steps: Vec<Step>,
}

impl Tracer<'_> {
    fn value(&self, part: &Typed) -> Result<Value, EvaluationError> {
        let names: Vec<Str> = self.bound.iter().map(|(name, _)| name.clone()).collect();
        let mut expr = ephor_cel::lower::lower_in(part, self.env, self.context, &names)
            .map_err(EvaluationError::Impossible)?;
        for (_, value) in self.bound.iter().rev() {
            expr = Expr::Bind(Box::new([Expr::Const(value.clone()), expr]));
        }
        let meter = Meter::new(PER_CALL);
        let env = Env::new(self.data, self.context).with_meter(&meter);
        let result = eval(&expr, env).map(std::borrow::Cow::into_owned);
        result.map_err(EvaluationError::Run)
    }

    fn step(&mut self, depth: usize, text: &str, value: &Result<Value, EvaluationError>) {
        let value = value.as_ref().map(to_text).map_err(Clone::clone);
        self.steps.push(Step { depth, text: text.into(), value });
    }

    fn part(&mut self, part: &Typed, depth: usize) {
        if self.steps.len() >= MAX_STEPS {
            return;
        }
        let bare =
            matches!(part.kind, TypedKind::Const(_) | TypedKind::Variable(_) | TypedKind::TypeName(..));
        if bare && depth > 0 {
            return;
        }
        let value = self.value(part);
        let text = self.spans.text(part).to_string();
        // A macro's own nodes have its text.
        let repeated = self.steps.last().is_some_and(|s| s.text == text && s.depth + 1 == depth);
        let inner = if repeated { depth } else { depth + 1 };
        if !repeated {
            self.step(depth, &text, &value);
        }
        match &part.kind {
            TypedKind::Const(_) | TypedKind::Variable(_) | TypedKind::TypeName(..) => {}
            TypedKind::Select { operand, .. } => self.part(operand, inner),
            TypedKind::Call { args, .. } | TypedKind::List { items: args, .. } => {
                args.iter().for_each(|a| self.part(a, inner));
            }
            TypedKind::Map(entries) => entries.iter().for_each(|e| {
                self.part(&e.key, inner);
                self.part(&e.value, inner);
            }),
            TypedKind::Struct { fields, .. } => fields.iter().for_each(|f| self.part(&f.value, inner)),
            TypedKind::Fold(fold) => self.fold(fold, inner),
        }
    }

    fn fold(&mut self, fold: &TypedFold, depth: usize) {
        if fold.shape == Shape::Bind {
            self.part(&fold.init, depth);
            let name = fold.var2.clone().unwrap_or_else(|| fold.var.clone());
            if let Ok(value) = self.value(&fold.init) {
                self.bound.push((name, value));
                self.part(&fold.result, depth);
                self.bound.pop();
            }
            return;
        }
        self.part(&fold.range, depth);
        let Ok(range) = self.value(&fold.range) else { return };
        for (key, item) in rounds(&range).into_iter().take(MAX_ROUNDS) {
            let before = self.bound.len();
            match &fold.var2 {
                Some(second) => {
                    self.step(depth, &fold.var, &Ok(key.clone()));
                    self.step(depth, second, &Ok(item.clone()));
                    self.bound.push((fold.var.clone(), key));
                    self.bound.push((second.clone(), item));
                }
                None => {
                    let one = if matches!(range, Value::List(_)) { item } else { key };
                    self.step(depth, &fold.var, &Ok(one.clone()));
                    self.bound.push((fold.var.clone(), one));
                }
            }
            for body in bodies(fold) {
                self.part(body, depth + 1);
            }
            self.bound.truncate(before);
        }
    }
}

/// Positions or keys, and what is there.
fn rounds(range: &Value) -> Vec<(Value, Value)> {
    match range {
        Value::List(items) => {
            let at = |i: usize| Value::Int(i64::try_from(i).unwrap_or(i64::MAX));
            items.iter().enumerate().map(|(i, v)| (at(i), v.clone())).collect()
        }
        Value::Map(m) => m.iter().map(|(k, v)| (Value::Str(k.clone()), v.clone())).collect(),
        Value::Object(o) => match &**o {
            Object::Keyed(entries) => entries.to_vec(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// What a loop evaluates in each round: the parts of its step that were written.
fn bodies(fold: &TypedFold) -> Vec<&Typed> {
    let mut out = Vec::new();
    written(&fold.step, &mut out);
    out
}

fn written<'t>(part: &'t Typed, into: &mut Vec<&'t Typed>) {
    match &part.kind {
        TypedKind::Variable(name) if &**name == ephor_cel::ast::ACCUMULATOR => {}
        TypedKind::Call { args, .. } if mentions_accumulator(part) => {
            args.iter().for_each(|a| written(a, into));
        }
        // The list that an item is appended as.
        TypedKind::List { items, .. } if items.len() == 1 => {
            items.iter().for_each(|a| into.push(a));
        }
        _ => into.push(part),
    }
}

fn mentions_accumulator(t: &Typed) -> bool {
    match &t.kind {
        TypedKind::Variable(name) => &**name == ephor_cel::ast::ACCUMULATOR,
        TypedKind::Call { args, .. } => args.iter().any(mentions_accumulator),
        _ => false,
    }
}
