//! `validate.cel` of rules → validations.
//!
//! In: the section and the rule's preconditions in CEL. Out: compiled expressions, each compiled
//! with the variables before it. Semantics: `docs/semantics/validate.md`, "Bodies".

use ephor_analysis::reads;
use ephor_cel::library::Admission;
use ephor_cel::types::Type;
use ephor_functions::CelLevel;
use ephor_ir::Origin;
use ephor_ir::expressions::{Expressions, Params, RULES, Validation, Variable, View};
use ephor_ir::facts::FailurePolicy;
use ephor_value::Value;

use super::compiler::Compiler;
use super::constraints::exact;
use super::matcher::selector;

/// Lowers a `validate.cel` section: what its expressions share, and the validations.
pub fn expressions(
    cel: &Value,
    admit: Option<&Value>,
    message: &str,
    rule: &Origin,
) -> (Expressions, Box<[Validation]>) {
    let at = |section: &str, i: usize| format!("{}.{section}[{i}].expression", rule.path);
    let params = params(cel);
    let choice = Admission {
        params: params.is_some(),
        authorizer: true,
        backticks: true,
        level: CelLevel::Kyverno,
        ..Admission::default()
    };
    let mut compiler = Compiler::new(choice);
    let variables: Box<[Variable]> = list(cel.get("variables"))
        .iter()
        .enumerate()
        .map(|(i, v)| {
            let path = at("validate.cel.variables", i);
            compiler.variable(v.text_at(&["name"]), v.text_at(&["expression"]), path)
        })
        .collect();
    let conditions = list(admit)
        .iter()
        .enumerate()
        .map(|(i, c)| {
            let source = compiler.source(c.text_at(&["expression"]), Some(&Type::Bool));
            source.at(at("celPreconditions", i))
        })
        .collect();
    let validations: Box<[Validation]> = list(cel.get("expressions"))
        .iter()
        .enumerate()
        .map(|(i, e)| {
            let own = e.text_at(&["message"]);
            let made = e.text_at(&["messageExpression"]);
            Validation {
                check: compiler
                    .source(e.text_at(&["expression"]), Some(&Type::Bool))
                    .at(at("validate.cel.expressions", i)),
                message: if own.is_empty() { message } else { own }.into(),
                message_program: (!made.is_empty()).then(|| compiler.program(made, Some(&Type::String))),
                reason: "".into(),
            }
        })
        .collect();
    let shared = Expressions {
        view: View::Rule,
        params,
        conditions,
        variables,
        annotations: Box::default(),
        failure_policy: FailurePolicy::Fail,
        wording: &RULES,
        reads_namespace: false,
    };
    let reads_namespace = reads::reads_namespace(&shared, &validations, super::LATE);
    (Expressions { reads_namespace, ..shared }, validations)
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
