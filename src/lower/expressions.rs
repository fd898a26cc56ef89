//! `validate.cel` of rules → verdicts.
//!
//! In: the section and the rule's preconditions in CEL. Out: compiled expressions, each compiled with the
//! variables before it. Semantics: `docs/validate.md`, "cel".

use crate::cel::env::{Env, Message};
use crate::cel::library::{Admission, admission};
use crate::cel::types::Type;
use crate::cel::{self, Program as Compiled};
use crate::functions::Context;
use crate::ir::expressions::{Expressions, Lazy, Program, Source, Verdict};
use crate::value::{Str, Value};

/// The message type of the values under names.
const VARIABLES: &str = "kubernetes.variables";

/// Lowers a `validate.cel` section.
pub fn expressions(cel: &Value, admit: Option<&Value>, message: &str, name: &str) -> Expressions {
    let set = |key: &str| cel.get(key).is_some_and(|v| !v.is_null());
    let params = set("paramKind") && set("paramRef");
    let choice = Admission { params, authorizer: true, mutation: false, backticks: true };
    let mut compiler = Compiler::new(choice);
    let admit =
        list(admit).iter().map(|c| compiler.source(c.text_at(&["expression"]), Some(&Type::Bool))).collect();
    let lazies: Box<[Lazy]> = list(cel.get("variables"))
        .iter()
        .map(|v| compiler.variable(v.text_at(&["name"]), v.text_at(&["expression"])))
        .collect();
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
    Expressions { admit, lazies, verdicts, passed, params }
}

fn list(v: Option<&Value>) -> &[Value] {
    v.and_then(Value::as_list).unwrap_or_default()
}

/// Compiles the expressions of one rule.
struct Compiler {
    env: Env,
    cx: Context,
    fields: Vec<(Str, Type)>,
}

impl Compiler {
    fn new(choice: Admission) -> Compiler {
        let mut compiler = Compiler { env: admission(choice), cx: Context::default(), fields: Vec::new() };
        compiler.env.variables.insert("variables".into(), Type::Struct(VARIABLES.into()));
        compiler.declare();
        compiler
    }

    /// Declares the values under names that are known so far.
    fn declare(&mut self) {
        self.env.messages.insert(VARIABLES, Message { fields: self.fields.clone(), open: false });
    }

    fn compiled(&self, text: &str, wanted: Option<&Type>) -> Result<Compiled, String> {
        let program = cel::compile(text, &self.env, &self.cx)?;
        match wanted {
            Some(wanted) if *wanted != program.ty => {
                Err(format!("must evaluate to {} but got {}", wanted.formal(), program.ty.formal()))
            }
            _ => Ok(program),
        }
    }

    fn program(&self, text: &str, wanted: Option<&Type>) -> Program {
        let named: Vec<Str> = self.fields.iter().map(|(name, _)| name.clone()).collect();
        match self.compiled(text, wanted) {
            Ok(program) => Ok(cel::lower::with_lazies(program.expr, &named)),
            Err(text) => Err(text.into()),
        }
    }

    fn source(&self, text: &str, wanted: Option<&Type>) -> Source {
        Source { text: text.into(), program: self.program(text, wanted) }
    }

    fn variable(&mut self, name: &str, text: &str) -> Lazy {
        let ty = match self.compiled(text, None) {
            Ok(program) => plain(&program.ty),
            Err(_) => Type::Dyn,
        };
        let lazy = Lazy { name: name.into(), program: self.program(text, None) };
        self.fields.retain(|(known, _)| **known != *name);
        self.fields.push((name.into(), ty));
        self.declare();
        lazy
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
