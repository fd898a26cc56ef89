//! Compiling the CEL expressions of one policy.
//!
//! In: texts, with the environment of their API and the variables before them. Out: programs of the
//! IR; a text that does not compile becomes a program that fails with what is wrong. Semantics:
//! `docs/expressions/cel.md`.

use ephor_cel::check::Typed;
use ephor_cel::env::{Env, Message};
use ephor_cel::issue::Issue;
use ephor_cel::library::{Admission, admission};
use ephor_cel::types::Type;
use ephor_cel::{self, CompileError, Program as Compiled};
use ephor_functions::{CelLevel, Context};
use ephor_ir::expressions::{Program, Source, Variable};
use ephor_ir::{Expr, Origin};
use ephor_value::Str;

/// The type of `variables` in Kubernetes.
pub(super) const KUBERNETES: &str = "kubernetes.variables";

/// See the module page.
pub(super) struct Compiler {
    env: Env,
    cx: Context,
    /// The name of the type of `variables`.
    variables: &'static str,
    fields: Vec<(Str, Type)>,
    /// The names of all variables, in order; one that is used again counts for the later variable.
    names: Vec<Str>,
}

/// Why an expression cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProgramError {
    /// It does not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// It has another type.
    #[error("must evaluate to {} but got {}", formal(.wanted), .found.formal())]
    Type { wanted: Vec<Type>, found: Type },
}

fn formal(wanted: &[Type]) -> String {
    let names: Vec<String> = wanted.iter().map(Type::formal).collect();
    match &names[..] {
        [one] => one.clone(),
        several => format!("one of [{}]", several.join(" ")),
    }
}

impl Compiler {
    pub(super) fn new(choice: Admission) -> Compiler {
        Compiler::with(admission(choice), KUBERNETES)
    }

    /// For expressions of an environment, and composed variables of a type with this name.
    pub(super) fn with(env: Env, variables: &'static str) -> Compiler {
        let mut compiler = Compiler { variables, ..Compiler::without(env) };
        compiler.env.variables.insert("variables".into(), Type::Struct(variables.into()));
        compiler.declare();
        compiler
    }

    /// For expressions that cannot use composed variables.
    pub(super) fn without_variables(choice: Admission) -> Compiler {
        Compiler::without(admission(choice))
    }

    /// For expressions of an environment, without composed variables.
    pub(super) fn without(env: Env) -> Compiler {
        Compiler { env, cx: Context::default(), variables: "", fields: Vec::new(), names: Vec::new() }
    }

    /// An expression that runs, and its type.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn expression(&self, text: &str) -> Result<(Expr, Type), CompileError> {
        let Compiled { expr, ty } = ephor_cel::compile(text, &self.env, &self.cx)?;
        Ok((ephor_cel::lower::with_variables(expr, &self.names), ty))
    }

    /// Whether an expression mentions a variable.
    pub(super) fn mentions(&self, text: &str, variable: &str) -> bool {
        ephor_cel::mentions(text, &self.env, variable)
    }

    /// An expression with the types of its parts, if it compiles.
    pub(super) fn typed(&self, text: &str) -> Option<Typed> {
        ephor_cel::typed(text, &self.env).ok()
    }

    /// The type of an expression, if it has one.
    pub(super) fn type_of(&self, text: &str) -> Option<Type> {
        ephor_cel::checked(text, &self.env).ok()
    }

    /// The type of an expression.
    ///
    /// # Errors
    /// What is wrong with it, one by one.
    pub(super) fn type_or_issues(&self, text: &str) -> Result<Type, Vec<Issue>> {
        ephor_cel::typed(text, &self.env).map(|typed| typed.ty).map_err(|issues| issues.all)
    }

    /// What is wrong with an expression, whatever its type.
    pub(super) fn issues(&self, text: &str) -> Option<String> {
        ephor_cel::checked(text, &self.env).err().map(|issues| issues.to_string())
    }

    /// For a level of CEL's runtime.
    pub(super) fn at(mut self, level: CelLevel) -> Compiler {
        self.cx.cel_level = level;
        self
    }

    /// Declares the composed variables that are known so far.
    fn declare(&mut self) {
        self.env.messages.insert(self.variables, Message { fields: self.fields.clone(), open: false });
    }

    /// Takes over the composed variables that another one knows.
    pub(super) fn share(&mut self, other: &Compiler) {
        self.fields.clone_from(&other.fields);
        self.names.clone_from(&other.names);
        self.declare();
    }

    /// An expression that gives one of several types; none = any.
    ///
    /// # Errors
    /// See [`ProgramError`].
    pub(super) fn typed_expression(&self, text: &str, wanted: &[Type]) -> Result<Expr, ProgramError> {
        let fits = |ty: &Type| wanted.is_empty() || wanted.contains(ty);
        let wrong = |found: Type| ProgramError::Type { wanted: wanted.to_vec(), found };
        match self.expression(text) {
            Ok((expr, ty)) if fits(&ty) => Ok(expr),
            Ok((_, ty)) => Err(wrong(ty)),
            // The type is checked before the program is built.
            Err(error @ CompileError::Impossible(_)) => match self.type_of(text).filter(|ty| !fits(ty)) {
                Some(ty) => Err(wrong(ty)),
                None => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    fn program_of(&self, text: &str, wanted: &[Type]) -> Program {
        self.typed_expression(text, wanted).map_err(|error| error.to_string().into())
    }

    pub(super) fn program(&self, text: &str, wanted: Option<&Type>) -> Program {
        self.program_of(text, wanted.map_or(&[], std::slice::from_ref))
    }

    /// An expression that gives one of several types.
    pub(super) fn source_of(&self, text: &str, wanted: &[Type]) -> Source {
        Source::new(text, self.program_of(text, wanted))
    }

    pub(super) fn source(&self, text: &str, wanted: Option<&Type>) -> Source {
        Source::new(text, self.program(text, wanted))
    }

    /// A composed variable that later expressions can read; one that does not compile fails when it
    /// is read.
    pub(super) fn variable(&mut self, name: &str, text: &str, path: impl Into<Str>) -> Variable {
        let program = self.variable_expression(name, text).map_err(|error| error.to_string().into());
        Variable { origin: Origin::new(path), name: name.into(), program, sharing: Default::default() }
    }

    /// The expression of a composed variable that later expressions can read.
    ///
    /// # Errors
    /// It does not compile; then the type of the variable is unknown.
    pub(super) fn variable_expression(&mut self, name: &str, text: &str) -> Result<Expr, CompileError> {
        let (expr, ty) = match self.expression(text) {
            Ok((expr, ty)) => (Ok(expr), ty),
            Err(error) => (Err(error), Type::Dyn),
        };
        self.declare_variable(name, plain(&ty));
        expr
    }

    /// Makes a name known for a value of a type; of two with one name the later counts.
    pub(super) fn declare_variable(&mut self, name: &str, ty: Type) {
        self.fields.retain(|(known, _)| **known != *name);
        self.fields.push((name.into(), ty));
        self.names.push(name.into());
        self.declare();
    }
}

/// The type of a variable: kinds that documents cannot hold are unknown.
pub(super) fn plain(ty: &Type) -> Type {
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
