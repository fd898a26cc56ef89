//! Compiling the expressions of one policy, section by section.
//!
//! In: the sections of a policy. Out: programs, or the errors of the first section that has any,
//! each with its place in the policy.

use crate::compiler::Compiler;
use ephor_cel::CompileError;
use ephor_cel::library::proxy::proxy;
use ephor_cel::library::{KyvernoKind, kyverno};
use ephor_cel::types::Type;
use ephor_ir::Origin;
use ephor_ir::expressions::{
    AuditAnnotation, ExpressionPatch, PatchType, Program, Proxy, Source, Validation, Variable, View,
};
use ephor_ir::generate::Generator;
use ephor_value::quote::quote;
use ephor_value::{Str, Value};

/// The type of `variables`.
pub(super) const VARIABLES: &str = "kyverno.variables";

/// An expression that does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Where it stands in the policy: `spec.validations[0].expression`.
    pub field: String,
    /// The expression.
    pub source: String,
    /// What is wrong with it.
    pub detail: String,
    /// It may not stand there, though it would compile.
    pub is_forbidden: bool,
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_forbidden {
            return write!(f, "{}: Forbidden: {}", self.field, self.detail);
        }
        write!(f, "{}: Invalid value: {}: {}", self.field, quote(&self.source), self.detail)
    }
}

/// The errors of a section.
#[derive(Debug)]
pub struct Failed(Vec<FieldError>);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0[..] {
            [one] => one.fmt(f),
            many => {
                let all: Vec<String> = many.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", all.join(", "))
            }
        }
    }
}

impl std::error::Error for Failed {}

impl std::error::Error for FieldError {}

impl Failed {
    /// The errors one by one.
    pub fn faults(self) -> Vec<FieldError> {
        self.0
    }

    /// The text of all errors, as the compiler of a kind prints it.
    pub fn message(&self, kind: KyvernoKind, mode: &str) -> String {
        let name = match kind {
            KyvernoKind::Validating if !matches!(mode, "JSON" | "HTTP" | "Envoy") => {
                "validating policy compiler 1.0"
            }
            KyvernoKind::Generating => "generating policy compiler 2.0",
            KyvernoKind::Deleting => "deleting policy compiler 1.18",
            _ => return self.to_string(),
        };
        let first = format!("<nil>: Internal error: {name} error: failed to compile policy");
        match &self.0[..] {
            [] => first,
            all => {
                let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                format!("[{first}, {}]", all.join(", "))
            }
        }
    }
}

/// See the module page.
pub struct Sections {
    compiler: Compiler,
}

fn list(v: Option<&Value>) -> &[Value] {
    v.and_then(Value::as_list).unwrap_or_default()
}

fn at(section: &str, i: usize, field: &str) -> String {
    format!("spec.{section}[{i}].{field}")
}

fn invalid(path: &str, text: &str, detail: &str) -> FieldError {
    FieldError { field: path.into(), source: text.into(), detail: detail.into(), is_forbidden: false }
}

impl Sections {
    /// The sections of a policy, before any variable.
    pub fn new(kind: KyvernoKind, namespaced: bool, view: View) -> Sections {
        let mut env = match view {
            View::CheckRequest(of) => proxy(of),
            _ => kyverno(kind, namespaced),
        };
        if kind == KyvernoKind::Images && view == View::Payload {
            for name in ["request", "oldObject", "namespaceObject"] {
                env.variables.remove(name);
            }
            return Sections { compiler: Compiler::without(env) };
        }
        Sections { compiler: Compiler::with(env, VARIABLES) }
    }

    /// Expressions that choose the images that a policy is about.
    pub fn of_references(namespaced: bool) -> Sections {
        let mut env = kyverno(KyvernoKind::Images, namespaced);
        env.variables = [(Str::from("ref"), Type::String)].into_iter().collect();
        Sections { compiler: Compiler::without(env) }
    }

    fn compiled(&self, text: &str) -> Result<(Program, Type), CompileError> {
        self.compiler.expression(text).map(|(expr, ty)| (Ok(expr), ty))
    }

    /// An expression whose type `fits`; else the detail is `wanted`.
    pub fn program(
        &self,
        path: &str,
        text: &str,
        fits: impl Fn(&Type) -> bool,
        wanted: &str,
    ) -> Result<Program, FieldError> {
        match self.compiled(text) {
            Ok((program, ty)) if fits(&ty) => Ok(program),
            Ok(_) => Err(invalid(path, text, wanted)),
            Err(error) => Err(invalid(path, text, &error.detail())),
        }
    }

    fn boolean(&self, path: &str, text: &str) -> Result<Program, FieldError> {
        self.program(path, text, |t| *t == Type::Bool, "output is expected to be of type bool")
    }

    fn string(&self, path: &str, text: &str) -> Result<Program, FieldError> {
        self.program(path, text, |t| *t == Type::String, "output is expected to be of type string")
    }

    /// Conditions; or all errors.
    pub fn conditions(&self, section: Option<&Value>, name: &str) -> Result<Box<[Source]>, Failed> {
        let all = list(section).iter().enumerate().map(|(i, c)| {
            let (path, text) = (at(name, i, "expression"), c.text_at(&["expression"]));
            let program = self.boolean(&path, text)?;
            Ok(Source::new(text, program).at(path))
        });
        gathered(all)
    }

    /// Refuses conditions that mention variables: the API server evaluates them before there are
    /// composed variables.
    ///
    /// # Errors
    /// There are some.
    pub fn no_variables(&self, section: Option<&Value>, name: &str) -> Result<(), Failed> {
        let mentioned = list(section).iter().enumerate().filter_map(|(i, c)| {
            let text = c.text_at(&["expression"]);
            let detail = "variables cannot be referenced in matchConditions when spec.autogen.mutatingAdmissionPolicy.enabled is true; native MutatingAdmissionPolicy evaluates match conditions before variables, so inline the expression instead";
            let wrong = FieldError { is_forbidden: true, ..invalid(&at(name, i, "expression"), text, detail) };
            self.compiler.mentions(text, "variables").then_some(wrong)
        });
        match mentioned.collect::<Vec<FieldError>>() {
            none if none.is_empty() => Ok(()),
            some => Err(Failed(some)),
        }
    }

    /// Composed variables, each of which sees the earlier ones, or all errors.
    pub fn variables(&mut self, section: Option<&Value>) -> Result<Box<[Variable]>, Failed> {
        let (mut out, mut errors): (Vec<Variable>, Vec<FieldError>) = (Vec::new(), Vec::new());
        for (i, variable) in list(section).iter().enumerate() {
            let (name, text) = (variable.text_at(&["name"]), variable.text_at(&["expression"]));
            match self.compiled(text) {
                Err(error) => {
                    errors.push(invalid(&at("variables", i, "expression"), text, &error.detail()));
                }
                Ok((program, ty)) => {
                    self.compiler.declare_variable(name, ty);
                    let origin = Origin::new(at("variables", i, "expression"));
                    out.push(Variable { origin, name: name.into(), program, sharing: Default::default() });
                }
            }
        }
        if errors.is_empty() { Ok(out.into()) } else { Err(Failed(errors)) }
    }

    /// Validations, or the first error.
    pub fn validations(&self, section: Option<&Value>) -> Result<Box<[Validation]>, Failed> {
        let mut out = Vec::new();
        for (i, v) in list(section).iter().enumerate() {
            let (text, made) = (v.text_at(&["expression"]), v.text_at(&["messageExpression"]));
            let one = |e: FieldError| Failed(vec![e]);
            let path = at("validations", i, "expression");
            let program = self.boolean(&path, text).map_err(one)?;
            let check = Source::new(text, program).at(path);
            let message_program = match made {
                "" => None,
                made => {
                    let path = at("validations", i, "messageExpression");
                    Some(self.string(&path, made).map_err(one)?)
                }
            };
            out.push(Validation {
                check,
                message: v.text_at(&["message"]).into(),
                message_program,
                reason: "".into(),
            });
        }
        Ok(out.into())
    }

    /// The expression that returns the existing objects to change.
    pub fn target_expression(&self, text: Option<&Value>) -> Result<Option<Source>, Failed> {
        let text = text.and_then(Value::as_str).unwrap_or_default();
        if text.is_empty() {
            return Ok(None);
        }
        let is_map = |t: &Type| matches!(t, Type::Map(..));
        let path = "spec.targetMatchConstraints.expression";
        let program = self.program(path, text, is_map, "output type must be a map");
        let program = program.map_err(|e| Failed(vec![e]))?;
        Ok(Some(Source::new(text, program).at(path)))
    }

    /// Answers to a proxy, up to the first error.
    pub fn answers(&self, section: Option<&Value>, of: Proxy) -> Result<Box<[Program]>, Failed> {
        let wanted = Type::Struct(of.response().into());
        let detail = format!("rule response output is expected to be of type {}", of.response());
        let fits = |t: &Type| *t == wanted || *t == Type::Null;
        let one = |(i, v): (usize, &Value)| {
            let text = v.text_at(&["expression"]);
            self.program(&at("validations", i, "expression"), text, fits, &detail)
        };
        let all: Result<Vec<Program>, FieldError> = list(section).iter().enumerate().map(one).collect();
        all.map(Into::into).map_err(|e| Failed(vec![e]))
    }

    /// Patches, or the first error. One without a body of its type is skipped.
    pub fn patches(&self, section: Option<&Value>) -> Result<Box<[ExpressionPatch]>, Failed> {
        let mut out = Vec::new();
        for (i, m) in list(section).iter().enumerate() {
            let (patch_type, field) = match m.text_at(&["patchType"]) {
                "ApplyConfiguration" => (PatchType::ApplyConfiguration, "applyConfiguration"),
                "JSONPatch" => (PatchType::JsonPatch, "jsonPatch"),
                _ => continue,
            };
            let Some(text) = m.at(&[field, "expression"]).and_then(Value::as_str) else { continue };
            let path = format!("spec.mutations[{i}].{field}.expression");
            let (wanted, name) = match patch_type {
                PatchType::JsonPatch => (Type::list(Type::Struct("JSONPatch".into())), "list"),
                _ => (Type::Struct("Object".into()), "Object"),
            };
            let detail = format!("output is expected to be of type {name}");
            let program = self.program(&path, text, |t| *t == wanted, &detail);
            let program = program.map_err(|e| Failed(vec![e]))?;
            out.push(ExpressionPatch { patch_type, source: Source::new(text, program).at(path) });
        }
        Ok(out.into())
    }

    /// What is generated, or the first error.
    pub fn generators(&self, section: Option<&Value>) -> Result<Box<[Generator]>, Failed> {
        let mut out = Vec::new();
        for (i, g) in list(section).iter().enumerate() {
            let one = |e: FieldError| Failed(vec![e]);
            let text = g.text_at(&["expression"]);
            if !text.is_empty() {
                let program = self.boolean(&at("generate", i, "expression"), text).map_err(one)?;
                out.push(Generator::Expression(program));
                continue;
            }
            let source = g.text_at(&["template", "value"]);
            let fills = g.text_at(&["template", "interpolate"]) == "cel";
            let compile = |text: &str| self.compiled(text).map(|(program, _)| program);
            let documents = super::draft::documents(source, fills, &compile)
                .map_err(|e| one(invalid(&at("generate", i, "template.value"), source, &e.to_string())))?;
            out.push(Generator::Documents(documents));
        }
        Ok(out.into())
    }

    /// Texts for reports; or all errors.
    pub fn annotations(&self, section: Option<&Value>) -> Result<Box<[AuditAnnotation]>, Failed> {
        let all = list(section).iter().enumerate().map(|(i, a)| {
            let path = at("auditAnnotations", i, "valueExpression");
            let text = a.text_at(&["valueExpression"]);
            let program = self.program(
                &path,
                text,
                |t| matches!(t, Type::String | Type::Null),
                "output is expected to be either of type string or null_type",
            )?;
            let value = Source::new(text, program).at(path);
            Ok(AuditAnnotation { key: a.text_at(&["key"]).into(), value })
        });
        gathered(all)
    }
}

fn gathered<T>(all: impl Iterator<Item = Result<T, FieldError>>) -> Result<Box<[T]>, Failed> {
    let (mut good, mut errors) = (Vec::new(), Vec::new());
    for one in all {
        match one {
            Ok(one) => good.push(one),
            Err(e) => errors.push(e),
        }
    }
    if errors.is_empty() { Ok(good.into()) } else { Err(Failed(errors)) }
}
