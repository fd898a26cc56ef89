//! Everything that is wrong with the expressions of a policy, for its author.
//!
//! In: the spec of a policy, or the `cel` part of a rule, and the types of the kinds that it is
//! about. Out: each issue with its path and byte. Lowering stops at the first section with errors;
//! this goes through all of them. Of types, only what none of the kinds allows is reported: fields,
//! scalars that a function does not take, and results of another type. Expressions for several
//! kinds read the kind first, and conditional parts and comparisons of different types are checked
//! more strictly than they run.

use std::sync::Arc;

use crate::compiler::{Compiler, KUBERNETES};
use ephor_cel::env::{Env, Message};
use ephor_cel::issue::{Issue, NOWHERE};
use ephor_cel::library::{Admission, KyvernoKind, admission, kyverno};
use ephor_cel::schema::{Declared, TypeKind, names};
use ephor_cel::types::Type;
use ephor_functions::CelLevel;
use ephor_kubernetes::published;
use ephor_value::release::Release;
use ephor_value::suggest::did_you_mean;
use ephor_value::{Str, Value};

use super::sections::VARIABLES;

/// Something wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionIssue {
    /// The path of the expression.
    pub field: String,
    /// The byte of the expression at which it stands.
    pub at: usize,
    /// How many characters it is about, as far as that is known; more than there are for all.
    pub length: usize,
    /// What is wrong.
    pub text: String,
    /// What was probably meant.
    pub meant: Option<String>,
    /// Whether the expression compiles, but does not fit the kinds.
    pub is_type: bool,
}

/// The types of a kind.
pub struct KindTypes {
    declared: Declared,
    /// The types `Object`, `Object.spec` and so on of objects that expressions write.
    written: Vec<(Str, Message)>,
}

impl KindTypes {
    /// Those of a group, version and kind.
    pub fn of(kind: &[Str; 3], definitions: &[Value]) -> Option<KindTypes> {
        let schema = published::schema(kind, definitions, Release::default())?;
        let mut written = Vec::new();
        written_types(&schema, "Object", &mut written);
        Some(KindTypes { declared: Declared::of(&schema, true, &format!("{}1", kind[2]))?, written })
    }

    /// Makes the types known: those of objects that are read, and of those that are written where
    /// that is possible.
    fn declare(&self, env: &mut Env) {
        self.declared.declare(env, "object");
        // Its types are those of the other.
        env.variables.insert("oldObject".into(), self.declared.ty.clone());
        if env.messages.objects {
            self.written
                .iter()
                .for_each(|(name, message)| env.messages.insert(name.clone(), message.clone()));
        }
    }
}

/// Adds the types of what expressions write for a schema. Their fields may have any value: only
/// names are checked. A part of which the schema does not say all fields has no type here, and
/// takes every name.
fn written_types(schema: &Value, path: &str, out: &mut Vec<(Str, Message)>) {
    // The items of a list have its name.
    if let Some(items) = schema.get("items") {
        return written_types(items, path, out);
    }
    let is_open = |key: &str| schema.get(key).is_some_and(|v| *v != Value::Bool(false));
    let Some(properties) = schema.get("properties").and_then(Value::as_map) else { return };
    if properties.is_empty() || is_open("additionalProperties") || is_open(PRESERVED) {
        return;
    }
    let mut fields = Vec::new();
    for (property, inner) in properties.iter() {
        let names = names::escape(property).filter(|escaped| escaped != property);
        fields.extend(names.into_iter().chain([property.clone()]).map(|name| (name, Type::Dyn)));
        written_types(inner, &format!("{path}.{property}"), out);
    }
    out.push((path.into(), Message { fields, open: false }));
}

const PRESERVED: &str = "x-kubernetes-preserve-unknown-fields";

/// The issues of a policy of `policies.kyverno.io`; with types when its kinds are known.
pub fn issues(
    spec: &Value,
    kind: KyvernoKind,
    namespaced: bool,
    kinds: &[Arc<KindTypes>],
) -> Vec<ExpressionIssue> {
    let late: &[(&str, &[&str])] = match kind {
        KyvernoKind::Mutating | KyvernoKind::Deleting => &[
            ("matchConditions", &["expression"]),
            ("conditions", &["expression"]),
            ("mutations", &["jsonPatch.expression", "applyConfiguration.expression"]),
            ("auditAnnotations", &["valueExpression"]),
        ],
        _ => &[
            ("validations", &["expression", "messageExpression"]),
            ("generate", &["expression"]),
            ("auditAnnotations", &["valueExpression"]),
        ],
    };
    let early: &[(&str, &[&str])] = match kind {
        KyvernoKind::Mutating | KyvernoKind::Deleting => &[],
        _ => &[("matchConditions", &["expression"])],
    };
    // Expressions of such a policy are about the objects that it finds.
    let has_targets = spec.get("targetMatchConstraints").is_some_and(|v| !v.is_null());
    let kinds = if has_targets { &[] } else { kinds };
    let env = || kyverno(kind, namespaced);
    let of = Expressions { spec, path: "spec.", early, late, variables: VARIABLES };
    // Variables of images are declared by the images that a policy chooses.
    let plain =
        if kind == KyvernoKind::Images { Vec::new() } else { of.run(Compiler::with(env(), VARIABLES)) };
    of.with_types(plain, kinds, &env)
}

/// The issues of types of a rule's `cel` part; `path` is its place.
pub fn issues_of_rule(cel: &Value, path: &str, kinds: &[Arc<KindTypes>]) -> Vec<ExpressionIssue> {
    let params = cel.get("paramKind").is_some_and(|v| !v.is_null());
    let env = || {
        let level = CelLevel::V26;
        let choice = Admission { params, authorizer: true, level, ..Admission::default() };
        admission(Admission { backticks: true, ..choice })
    };
    let late: &[(&str, &[&str])] =
        &[("expressions", &["expression", "messageExpression"]), ("auditAnnotations", &["valueExpression"])];
    let path = format!("{path}.");
    let of = Expressions { spec: cel, path: &path, early: &[], late, variables: KUBERNETES };
    of.with_types(Vec::new(), kinds, &env)
}

/// The issues of types of a MutatingAdmissionPolicy.
pub fn issues_of_mutations(spec: &Value, kinds: &[Arc<KindTypes>]) -> Vec<ExpressionIssue> {
    let params = spec.get("paramKind").is_some_and(|v| !v.is_null());
    let level = CelLevel::V26;
    let choice = Admission { params, authorizer: true, mutation: true, level, ..Admission::default() };
    let env = || admission(Admission { backticks: true, ..choice });
    let of = Expressions { spec, path: "spec.", early: &[], late: MUTATIONS, variables: KUBERNETES };
    of.with_types(Vec::new(), kinds, &env)
}

/// The sections of expressions of Kubernetes' policies that change objects.
const MUTATIONS: &[(&str, &[&str])] = &[
    ("matchConditions", &["expression"]),
    ("mutations", &["jsonPatch.expression", "applyConfiguration.expression"]),
];

/// The expressions of a policy: sections before the variables, those after, and the names of their
/// fields.
struct Expressions<'a> {
    spec: &'a Value,
    path: &'a str,
    early: &'a [(&'a str, &'a [&'a str])],
    late: &'a [(&'a str, &'a [&'a str])],
    variables: &'static str,
}

impl Expressions<'_> {
    fn run(&self, mut compiler: Compiler) -> Vec<ExpressionIssue> {
        let mut found = Vec::new();
        self.sections(self.early, &compiler, &mut found);
        for (i, variable) in list(self.spec, "variables").iter().enumerate() {
            let source = variable.text_at(&["expression"]);
            let before = found.len();
            self.expression(source, format!("{}variables[{i}].expression", self.path), &compiler, &mut found);
            let ty = (found.len() == before).then(|| compiler.type_of(source)).flatten();
            compiler.declare_variable(variable.text_at(&["name"]), ty.unwrap_or(Type::Dyn));
        }
        self.sections(self.late, &compiler, &mut found);
        found
    }

    fn sections(&self, sections: &[(&str, &[&str])], compiler: &Compiler, found: &mut Vec<ExpressionIssue>) {
        for (section, fields) in sections {
            for (i, entry) in list(self.spec, section).iter().enumerate() {
                for field in *fields {
                    let keys: Vec<&str> = field.split('.').collect();
                    let source = entry.text_at(&keys);
                    self.expression(source, format!("{}{section}[{i}].{field}", self.path), compiler, found);
                }
            }
        }
    }

    fn expression(&self, source: &str, field: String, compiler: &Compiler, found: &mut Vec<ExpressionIssue>) {
        if source.is_empty() {
            return;
        }
        let all = match compiler.type_or_issues(source) {
            Ok(found) => wrong_result(&field, &found).into_iter().collect(),
            Err(all) => all,
        };
        for Issue { at, text } in all {
            let at = if at >= NOWHERE - 1 { 0 } else { at as usize };
            found.push(ExpressionIssue {
                field: field.clone(),
                at,
                length: 1,
                text,
                meant: None,
                is_type: false,
            });
        }
    }

    /// Adds the fields that none of the kinds has.
    fn with_types(
        &self,
        plain: Vec<ExpressionIssue>,
        kinds: &[Arc<KindTypes>],
        env: &dyn Fn() -> Env,
    ) -> Vec<ExpressionIssue> {
        let mut common: Option<Vec<ExpressionIssue>> = None;
        for kind in kinds {
            let mut env = env();
            kind.declare(&mut env);
            let mut found = self.run(Compiler::with(env, self.variables));
            found.retain(|issue| issue.text.starts_with(UNDEFINED) || misfit(&issue.text).is_some());
            common = Some(match common {
                None => found,
                Some(before) => before.into_iter().filter(|issue| found.contains(issue)).collect(),
            });
            if common.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
        }
        let mut all = plain.clone();
        for mut issue in common.unwrap_or_default() {
            if plain.iter().any(|known| known.field == issue.field) {
                continue;
            }
            if let Some(text) = misfit(&issue.text) {
                if !issue.text.starts_with(RESULT) || self.is_dynamic(&issue, env) {
                    issue.is_type = true;
                    if issue.text.starts_with(RESULT) {
                        issue.length = usize::MAX;
                    }
                    issue.text = text;
                    all.push(issue);
                }
                continue;
            }
            let name = issue.text.trim_start_matches(UNDEFINED).trim_matches('\'').to_string();
            let (mut names, mut untyped): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
            kinds.iter().for_each(|kind| fields(&kind.declared, &mut names, &mut untyped));
            // The checker knows no fields of which the schema says no type, such as quantities.
            if untyped.contains(&&*name) {
                continue;
            }
            issue.meant = did_you_mean(&name, &names).map(str::to_string);
            issue.length = name.chars().count();
            issue.at = self.at_name(&issue, &name);
            issue.is_type = true;
            all.push(issue);
        }
        all
    }

    /// Whether an expression compiles and has any type when the kinds are not known: one of another
    /// type is refused when the policy is loaded.
    fn is_dynamic(&self, issue: &ExpressionIssue, env: &dyn Fn() -> Env) -> bool {
        let below = issue.field.strip_prefix(self.path).unwrap_or(&issue.field);
        let (source, _) = ephor_value::place::follow(self.spec, &ephor_value::place::parse(below));
        let compiler = Compiler::with(env(), self.variables);
        let own = source.as_str().map(|source| compiler.type_or_issues(source));
        // What reads variables is not known here.
        !matches!(own, Some(Ok(ty)) if ty != Type::Dyn)
    }

    /// The byte of the name of a field: before the colon at which an issue of a written object
    /// stands, behind the dot of one that is read.
    fn at_name(&self, issue: &ExpressionIssue, name: &str) -> usize {
        let below = issue.field.strip_prefix(self.path).unwrap_or(&issue.field);
        let (value, _) = ephor_value::place::follow(self.spec, &ephor_value::place::parse(below));
        let Some((before, behind)) = value.as_str().and_then(|source| source.split_at_checked(issue.at))
        else {
            return issue.at;
        };
        match behind.starts_with(':') {
            true => before.rfind(name),
            false => behind.find(name).map(|step| issue.at + step),
        }
        .unwrap_or(issue.at)
    }
}

const UNDEFINED: &str = "undefined field ";
const RESULT: &str = "the result must be ";

/// The issue of an expression whose result has another type than its field wants.
fn wrong_result(field: &str, found: &Type) -> Option<Issue> {
    let (above, name) = field.rsplit_once('.')?;
    let section = above.rsplit('.').next()?.split('[').next()?;
    let wanted = match (section, name) {
        ("validations" | "matchConditions" | "conditions" | "expressions", "expression") => Type::Bool,
        (_, "messageExpression") => Type::String,
        _ => return None,
    };
    let found = scalar(&found.to_string()).filter(|_| *found != wanted)?;
    Some(Issue::new(0, format!("{RESULT}{}, and is {found}", scalar(&wanted.to_string())?)))
}

/// A scalar type by its name, as messages say it.
fn scalar(name: &str) -> Option<&'static str> {
    Some(match name {
        "bool" => "a boolean",
        "int" => "an integer",
        "double" => "a number",
        "string" => "a string",
        "null" => "null",
        _ => return None,
    })
}

/// What is wrong where scalars are given to a function that takes none of their types, which ends
/// in an error whenever it is evaluated; `None` for issues that need not.
fn misfit(text: &str) -> Option<String> {
    if text.starts_with(RESULT) {
        return Some(text.to_string());
    }
    if let Some(found) = text.strip_prefix("expected type 'bool' but found '") {
        let found = scalar(found.trim_end_matches('\''))?;
        return Some(format!("a condition must be a boolean, and this is {found}"));
    }
    if let Some(found) = text.strip_suffix("' does not support field selection") {
        let found = found.strip_prefix("type '")?;
        let is_list = found.starts_with("list(");
        let found = if is_list { "a list" } else { scalar(found)? };
        return Some(format!("{found} does not support field selection"));
    }
    let rest = text.strip_prefix("found no matching overload for '")?;
    let (function, given) = rest.split_once("' applied to '")?;
    let given = given.trim_end_matches('\'');
    // Comparisons of different types are false; conditions and optionals take what they get.
    if matches!(function, "_==_" | "_!=_" | "_?_:_" | "orValue" | "or" | "optional.of" | "dyn") {
        return None;
    }
    let (receiver, args) = given.split_once(".(").unwrap_or(("", given));
    let names: Vec<&str> = std::iter::once(receiver)
        .chain(args.trim_matches(['(', ')']).split(", "))
        .filter(|name| !name.is_empty())
        .collect();
    let words: Vec<&str> = names.iter().map(|name| scalar(name)).collect::<Option<_>>()?;
    // Numbers of data may be integers or not.
    if words.is_empty() || names.iter().all(|name| matches!(*name, "int" | "double")) {
        return None;
    }
    let name = function.trim_matches('_').replace("@in", "in").replace('_', "");
    Some(format!("`{name}` does not take {}", words.join(" and ")))
}

/// The names of all fields in a type: those with types, and the others.
fn fields<'d>(declared: &'d Declared, typed: &mut Vec<&'d str>, untyped: &mut Vec<&'d str>) {
    match &declared.kind {
        TypeKind::Scalar(_) => {}
        TypeKind::List(item, _) | TypeKind::Map(item) => fields(item, typed, untyped),
        TypeKind::Object(all) => {
            for field in all {
                match &field.declared {
                    Some(declared) => {
                        typed.extend(field.name.as_deref());
                        fields(declared, typed, untyped);
                    }
                    None => untyped.extend(field.name.as_deref().or(Some(&*field.property))),
                }
            }
        }
    }
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_list).unwrap_or_default()
}
