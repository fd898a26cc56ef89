//! Warnings about expressions: what the API server writes into `status.typeChecking` of a policy.
//!
//! In: a `ValidatingAdmissionPolicy` with its defaults, and definitions of custom resources. Out:
//! what is wrong with its validations when `object` has the type of a kind that the policy is
//! about, for each such kind. Semantics: `docs/semantics/admission.md`, "Warnings about types".

use std::collections::BTreeSet;

use ephor_cel::env::Env;
use ephor_cel::library::{Admission as Choice, admission};
use ephor_cel::schema::Declared;
use ephor_cel::types::Type;
use ephor_functions::CelLevel;
use ephor_kubernetes::{Kinds, published};
use ephor_value::release::Release;
use ephor_value::{Str, Value};

use super::super::compiler::{Compiler, KUBERNETES, plain};
use super::{list, param_kind};

/// The most kinds of a rule that are read.
const MAX_KINDS: usize = 10;

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The path of the expression in the policy.
    pub field: String,
    /// The kinds and their issues, as in the policy's status.
    pub text: String,
}

/// The warnings about the expressions of a policy, of an API server of a release.
pub fn warnings(policy: &Value, definitions: &[Value], release: Release) -> Vec<Warning> {
    let level = CelLevel::of_server(release);
    let spec = policy.get("spec").cloned().unwrap_or_default();
    let rules = spec.at(&["matchConstraints", "resourceRules"]).and_then(Value::as_list).unwrap_or_default();
    let kinds = kinds_of(rules, &Kinds::of_release_with(release, definitions));
    let params = spec.get("paramKind").filter(|v| !v.is_null()).map(param_kind);
    let has_params = params.is_some();
    let checkers: Vec<(String, Compiler)> = kinds
        .iter()
        .filter_map(|kind| {
            let object = declared(kind, 1, definitions, release)?;
            // Types of one kind in two places are not the same type.
            let place = if params.as_ref() == Some(kind) { 2 } else { 1 };
            let params = params.as_ref().and_then(|p| declared(p, place, definitions, release));
            let env = environment(&object, has_params, params.as_ref(), level);
            Some((render_kind(kind), compiler(env, list(&spec, "variables"))))
        })
        .collect();
    let mut found = Vec::new();
    for (i, validation) in list(&spec, "validations").iter().enumerate() {
        for key in ["expression", "messageExpression"] {
            let source = validation.text_at(&[key]);
            if source.is_empty() {
                continue;
            }
            let issues = checkers
                .iter()
                .filter_map(|(kind, c)| c.issues(source).map(|text| format!("{kind}: {text}\n")))
                .collect::<Vec<String>>();
            if !issues.is_empty() {
                let field = format!("spec.validations[{i}].{key}");
                found.push(Warning { field, text: issues.join("\n") });
            }
        }
    }
    found
}

/// The kinds that rules without wildcards name, by group, version and kind.
fn kinds_of(rules: &[Value], known: &Kinds) -> BTreeSet<[Str; 3]> {
    let mut found = BTreeSet::new();
    for rule in rules {
        let texts = |key: &str| -> BTreeSet<Str> {
            list(rule, key).iter().filter_map(Value::as_str).map(Str::from).collect()
        };
        let (groups, versions) = (texts("apiGroups"), texts("apiVersions"));
        if groups.iter().chain(&versions).any(|t| t.contains('*')) {
            continue;
        }
        let resources = texts("resources");
        let whole: Vec<&Str> = resources.iter().filter(|r| !r.contains(['*', '/'])).collect();
        let mut of_rule = 0;
        for group in &groups {
            for version in &versions {
                for resource in &whole {
                    // No group is any group.
                    let fits = |r: &ephor_kubernetes::Resource| {
                        r.version == *version && (group.is_empty() || r.group == *group)
                    };
                    let mut kinds: Vec<[Str; 3]> = known
                        .plural(resource)
                        .filter(|r| fits(r))
                        .map(|r| [r.group.clone(), r.version.clone(), r.kind.clone()])
                        .collect();
                    kinds.sort();
                    for kind in kinds {
                        found.insert(kind);
                        of_rule += 1;
                        if of_rule == MAX_KINDS {
                            return found;
                        }
                    }
                }
            }
        }
    }
    found
}

/// The type of a kind; where the API server puts a part of the time behind its name, there is a
/// number.
fn declared(kind: &[Str; 3], number: u8, definitions: &[Value], release: Release) -> Option<Declared> {
    let schema = published::schema(kind, definitions, release)?;
    Declared::of(&schema, true, &format!("{}{number}", kind[2]))
}

fn render_kind([group, version, kind]: &[Str; 3]) -> String {
    format!("{group}/{version}, Kind={kind}")
}

fn environment(object: &Declared, has_params: bool, params: Option<&Declared>, level: CelLevel) -> Env {
    let choice = Choice { params: has_params, authorizer: true, mutation: false, backticks: true, level };
    let mut env = admission(choice);
    // The reference does not declare it here.
    env.variables.remove("authorizer.requestResource");
    object.declare(&mut env, "object");
    object.declare(&mut env, "oldObject");
    if let Some(params) = params {
        params.declare(&mut env, "params");
    }
    env
}

/// What checks expressions that may use variables.
fn compiler(env: Env, variables: &[Value]) -> Compiler {
    let mut compiler = Compiler::with(env, KUBERNETES);
    for v in variables {
        let ty = compiler.type_of(v.text_at(&["expression"])).unwrap_or(Type::Dyn);
        compiler.declare_variable(v.text_at(&["name"]), plain(&ty));
    }
    compiler
}
