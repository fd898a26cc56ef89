//! `validate.cel` of rules → verdicts.
//!
//! In: the section and the rule's preconditions in CEL. Out: compiled expressions, each compiled with the
//! variables before it. Semantics: `docs/validate.md`, "cel".

use crate::cel::env::{Env, Message};
use crate::cel::library::{Admission, admission};
use crate::cel::types::Type;
use crate::cel::{self, Program as Compiled};
use crate::functions::{CelLevel, Context};
use crate::ir::expressions::{Expressions, Lazy, Params, Program, Source, Verdict};
use crate::ir::reads;
use crate::value::{Str, Value};

use super::constraints::exact;
use super::matcher::selector;

/// The message type of the values under names.
const VARIABLES: &str = "kubernetes.variables";

/// Lowers a `validate.cel` section.
pub fn expressions(cel: &Value, admit: Option<&Value>, message: &str, name: &str) -> Expressions {
    let params = params(cel);
    let choice = Admission {
        params: params.is_some(),
        authorizer: true,
        mutation: false,
        backticks: true,
        level: CelLevel::Kyverno,
    };
    let mut compiler = Compiler::new(choice);
    let lazies: Box<[Lazy]> = list(cel.get("variables"))
        .iter()
        .map(|v| compiler.variable(v.text_at(&["name"]), v.text_at(&["expression"])))
        .collect();
    let admit =
        list(admit).iter().map(|c| compiler.source(c.text_at(&["expression"]), Some(&Type::Bool))).collect();
    let verdicts = list(cel.get("expressions"))
        .iter()
        .map(|e| {
            let own = e.text_at(&["message"]);
            let made = e.text_at(&["messageExpression"]);
            Verdict {
                check: compiler.source(e.text_at(&["expression"]), Some(&Type::Bool)),
                message: if own.is_empty() { message } else { own }.into(),
                message_program: (!made.is_empty()).then(|| compiler.program(made, Some(&Type::String))),
            }
        })
        .collect();
    let passed = format!("Validation rule '{name}' passed.").into();
    let lowered = Expressions { admit, lazies, verdicts, passed, params, reads_namespace: false };
    Expressions { reads_namespace: reads::reads_namespace(&lowered), ..lowered }
}

/// Parameters need both parts.
fn params(cel: &Value) -> Option<Params> {
    let part = |key: &str| cel.get(key).filter(|v| !v.is_null());
    let (kind, which) = (part("paramKind")?, part("paramRef")?);
    Some(Params {
        api_version: kind.text_at(&["apiVersion"]).into(),
        kind: kind.text_at(&["kind"]).into(),
        name: which.text_at(&["name"]).into(),
        selector: which.get("selector").and_then(selector).map(exact),
        namespace: which.text_at(&["namespace"]).into(),
        must_exist: which.text_at(&["parameterNotFoundAction"]) != "Allow",
    })
}

fn list(v: Option<&Value>) -> &[Value] {
    v.and_then(Value::as_list).unwrap_or_default()
}

/// Compiles the expressions of one rule.
pub(super) struct Compiler {
    env: Env,
    cx: Context,
    fields: Vec<(Str, Type)>,
    /// The names of all values, in order; one that is used again counts for the later value.
    names: Vec<Str>,
}

impl Compiler {
    pub(super) fn new(choice: Admission) -> Compiler {
        Compiler::with(admission(choice))
    }

    /// For expressions of an environment, and values under names.
    pub(super) fn with(env: Env) -> Compiler {
        let mut compiler = Compiler { env, cx: Context::default(), fields: Vec::new(), names: Vec::new() };
        compiler.env.variables.insert("variables".into(), Type::Struct(VARIABLES.into()));
        compiler.declare();
        compiler
    }

    /// For expressions that may not use values under names.
    pub(super) fn without_variables(choice: Admission) -> Compiler {
        Compiler { env: admission(choice), cx: Context::default(), fields: Vec::new(), names: Vec::new() }
    }

    /// The type of an expression, if it has one.
    pub(super) fn type_of(&self, text: &str) -> Option<Type> {
        cel::checked(text, &self.env).ok()
    }

    /// What is wrong with an expression, whatever its type.
    pub(super) fn issues(&self, text: &str) -> Option<String> {
        cel::checked(text, &self.env).err()
    }

    /// For a level of CEL's runtime.
    pub(super) fn at(mut self, level: CelLevel) -> Compiler {
        self.cx.cel_level = level;
        self
    }

    /// Declares the values under names that are known so far.
    fn declare(&mut self) {
        self.env.messages.insert(VARIABLES, Message { fields: self.fields.clone(), open: false });
    }

    /// Takes over the values under names that another one knows.
    pub(super) fn share(&mut self, other: &Compiler) {
        self.fields.clone_from(&other.fields);
        self.names.clone_from(&other.names);
        self.declare();
    }

    fn compiled(&self, text: &str, wanted: &[Type]) -> Result<Compiled, String> {
        let program = cel::compile(text, &self.env, &self.cx)?;
        if wanted.is_empty() || wanted.contains(&program.ty) {
            return Ok(program);
        }
        let names: Vec<String> = wanted.iter().map(Type::formal).collect();
        let shown = match &names[..] {
            [one] => one.clone(),
            several => format!("one of [{}]", several.join(" ")),
        };
        Err(format!("must evaluate to {shown} but got {}", program.ty.formal()))
    }

    fn program_of(&self, text: &str, wanted: &[Type]) -> Program {
        match self.compiled(text, wanted) {
            Ok(program) => Ok(cel::lower::with_lazies(program.expr, &self.names)),
            Err(text) => Err(text.into()),
        }
    }

    pub(super) fn program(&self, text: &str, wanted: Option<&Type>) -> Program {
        self.program_of(text, wanted.map_or(&[], std::slice::from_ref))
    }

    /// An expression that gives one of several types.
    pub(super) fn source_of(&self, text: &str, wanted: &[Type]) -> Source {
        Source { text: text.into(), program: self.program_of(text, wanted) }
    }

    pub(super) fn source(&self, text: &str, wanted: Option<&Type>) -> Source {
        Source { text: text.into(), program: self.program(text, wanted) }
    }

    pub(super) fn variable(&mut self, name: &str, text: &str) -> Lazy {
        let ty = match self.compiled(text, &[]) {
            Ok(program) => program.ty,
            Err(_) => Type::Dyn,
        };
        let lazy = Lazy { name: name.into(), program: self.program(text, None) };
        self.declare_variable(name, &ty);
        lazy
    }

    /// Makes a name known for a value of a type.
    pub(super) fn declare_variable(&mut self, name: &str, ty: &Type) {
        self.fields.retain(|(known, _)| **known != *name);
        self.fields.push((name.into(), plain(ty)));
        self.names.push(name.into());
        self.declare();
    }
}

/// The type of a value under a name: kinds that documents cannot hold are unknown.
fn plain(ty: &Type) -> Type {
    match ty {
        Type::Bool
        | Type::Int
        | Type::Uint
        | Type::Double
        | Type::String
        | Type::Bytes
        | Type::Duration
        | Type::Timestamp
        | Type::Null
        | Type::Any => ty.clone(),
        Type::List(item) => Type::list(plain(item)),
        Type::Map(key, value) => Type::map(plain(key), plain(value)),
        _ => Type::Dyn,
    }
}
