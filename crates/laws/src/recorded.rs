//! Recorded cases of CEL: what they are compiled and evaluated with.
//!
//! In: lines of `kubernetes-cel` and `conformance/cel-random`, with their inputs and schemas. Out:
//! the environment, the context and the data of a case ([`setting`]), or all random expressions as
//! lowered ([`programs`]).

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ephor_cel::env::Env;
use ephor_cel::library::{Admission, admission};
use ephor_cel::schema::{Declared, values::typed as typed_value};
use ephor_cel::{self as cel, lower};
use ephor_document::json;
use ephor_engine::view::admission::{self, AdmissionVariables};
use ephor_external::Authorizer;
use ephor_functions::cel::selectors;
use ephor_functions::{CelLevel, Context};
use ephor_ir::Expr;
use ephor_value::object::{Check, Decision};
use ephor_value::{Str, Value};

/// CEL's recorded random expressions as they are at a level of the runtime: text, expression, and
/// what it is evaluated with.
///
/// # Panics
/// The files are missing.
pub fn programs(level: CelLevel) -> Vec<(String, Expr, Value, Context)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/cel-random");
    let text = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap_or_default();
    let read = |name: &str| json::parse(&text(name)).unwrap_or_default();
    let (inputs, schemas) = (read("inputs.json"), read("schemas.json"));
    let cases = text("cases.jsonl");
    let compiled = cases.lines().filter_map(|line| json::parse(line).ok()).filter_map(|case| {
        // Values that a schema declares are typed, which only these cases have.
        if case.text_at(&["env"]) == "typed" {
            return None;
        }
        let Setting { env, cx, root, .. } = setting(&case, &inputs, &schemas, level);
        let text = case.text_at(&["expression"]);
        let expr = lower::lower(&cel::typed(text, &env).ok()?, &env, &cx).ok()?;
        Some((text.to_string(), expr, root, cx))
    });
    let all: Vec<_> = compiled.collect();
    assert!(all.len() > 1000, "only {} expressions", all.len());
    all
}

/// What an expression is compiled and evaluated with.
pub struct Setting {
    /// Names and functions.
    pub env: Env,
    /// What functions read.
    pub cx: Context,
    /// The data.
    pub root: Value,
    /// The type that is wanted, if any.
    pub want: Str,
}

/// What a recorded case is compiled and evaluated with, at a level of the runtime.
pub fn setting(case: &Value, inputs: &Value, schemas: &Value, level: CelLevel) -> Setting {
    let name = case.text_at(&["env"]);
    let schema = schemas.get(case.text_at(&["schema"])).filter(|_| name == "typed");
    let declared = schema.and_then(|s| {
        let resource = s.get("root").and_then(Value::as_bool).unwrap_or(false);
        Declared::of(s.get("schema")?, resource, "Root")
    });
    let mut env = admission(Admission {
        params: name != "policy-noparams",
        authorizer: name == "policy-authorizer",
        mutation: name == "mutation",
        level,
        ..Admission::default()
    });
    if let Some(declared) = &declared {
        declared.declare(&mut env, "object");
        declared.declare(&mut env, "oldObject");
    }
    let input = inputs.get(case.text_at(&["input"])).cloned().unwrap_or_default();
    let cx = Context { authorizer: authorizer(&input), cel_level: level, ..Context::default() };
    let want = match (name, case.text_at(&["want"])) {
        // There is no wish of two types there.
        ("typed", "annotation") => "string",
        (_, want) => want,
    };
    Setting { env, cx, root: root(&input, declared.as_ref()), want: want.into() }
}

fn root(input: &Value, declared: Option<&Declared>) -> Value {
    let part = |key: &str| input.get(key).cloned().unwrap_or_default();
    let request = part("request");
    let typed = |key: &str| {
        let given = part(key);
        let declared = declared.filter(|_| !given.is_null());
        declared.map_or(given.clone(), |d| typed_value(d, &given))
    };
    let seen = AdmissionVariables {
        object: typed("object"),
        old_object: typed("oldObject"),
        params: Some(part("params")),
        namespace: admission::namespace(&part("namespaceObject")),
        authorizer: true,
        typed: false,
    };
    admission::root(&admission::request(&request), seen, &request)
}

/// The rules of an input's authorizer: the first that fits decides.
struct Rules {
    rules: Vec<Value>,
    user: Str,
}

fn authorizer(input: &Value) -> Option<Arc<dyn Authorizer>> {
    let rules = input.get("authorizer").and_then(Value::as_list).unwrap_or_default().to_vec();
    Some(Arc::new(Rules { rules, user: input.text_at(&["request", "userInfo", "username"]).into() }))
}

impl Authorizer for Rules {
    fn decide(&self, check: &Check, verb: &str) -> Decision {
        let user = match &check.service_account {
            Some((ns, name)) => format!("system:serviceaccount:{ns}:{name}").into(),
            None => self.user.clone(),
        };
        let wanted: HashMap<&str, &str> = [
            ("user", &*user),
            ("verb", verb),
            ("group", &*check.group),
            ("resource", &*check.resource),
            ("subresource", &*check.subresource),
            ("namespace", &*check.namespace),
            ("name", &*check.name),
            ("path", &*check.path),
        ]
        .into();
        let fits = |rule: &&Value| {
            wanted.iter().all(|(key, have)| rule.get(key).and_then(Value::as_str).is_none_or(|v| v == *have))
        };
        let Some(rule) = self.rules.iter().find(fits) else { return Decision::default() };
        let reason: Str = match rule.get("echo").and_then(Value::as_bool) {
            Some(true) => echo(&wanted, check).into(),
            _ => rule.text_at(&["reason"]).into(),
        };
        Decision {
            reason,
            allowed: rule.text_at(&["decision"]) == "allow",
            error: rule.text_at(&["error"]).into(),
        }
    }
}

/// The question as a reason.
fn echo(wanted: &HashMap<&str, &str>, check: &Check) -> String {
    let of = |key: &str| wanted.get(key).copied().unwrap_or_default();
    let listed = |read: Result<Vec<String>, selectors::SelectorError>| match read {
        Ok(parts) => format!("[{}](<nil>)", parts.join(" ")),
        Err(error) => format!("[]({error})"),
    };
    let about_resource = check.path.is_empty();
    let mut out = String::new();
    for key in ["user", "verb", "group"] {
        out.push_str(&format!("{key}={} ", of(key)));
    }
    out.push_str(if about_resource { "version=*" } else { "version=" });
    for key in ["resource", "subresource", "namespace", "name", "path"] {
        out.push_str(&format!(" {key}={}", of(key)));
    }
    let fields = listed(selectors::fields(&check.fields));
    let labels = listed(selectors::labels(&check.labels));
    out.push_str(&format!(" resourceRequest={about_resource} fields={fields} labels={labels}"));
    out
}
