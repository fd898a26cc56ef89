//! Verdicts of expressions.
//!
//! In: a rule's expressions and a request. Out: a status and a message. The first verdict that is false or
//! fails decides. Semantics: `docs/validate.md`, "cel".

use crate::functions::Context;
use crate::ir::expressions::{Expressions, Program, Source, Verdict};
use crate::kubernetes::kinds::guessed_plural as plural;
use crate::value::object::{About, Check};
use crate::value::{Fault, Map, Object, Str, Value};

use super::admission::scope;
use super::eval::{Env, eval};
use super::outcome::Status;
use super::run::Surroundings;
use super::strict::{Lazies, Meter};
use super::{Profile, Request};

/// What one expression may cost.
const PER_CALL: u64 = 1_000_000;

/// A message that is longer counts as none.
const MAX_MESSAGE: usize = 5 << 10;

/// Runs a rule's expressions.
pub fn run(rule: &Expressions, request: &Request, around: Surroundings<'_>) -> (Status, Str) {
    let profile = around.profile;
    if !profile.offline_namespaces
        && rule.reads_namespace
        && is_namespaced(request)
        && request.namespace.is_null()
    {
        let text = format!(
            "Error getting the resource's namespace: namespaces \"{}\" not found",
            request.target.namespace
        );
        return (Status::Error, text.into());
    }
    let root = request.strict_root.get_or_init(|| root(request, profile));
    let Some(params) = &rule.params else { return decided(rule, request, root) };
    if profile.offline_params {
        return match super::rule_params::look_up_offline(params) {
            Ok(()) => (Status::Pass, rule.passed.clone()),
            Err(text) => (Status::Error, text.into()),
        };
    }
    // Parameters change without a request that says so.
    crate::functions::unforeseen::note();
    let Some(world) = around.sources.admission_world() else {
        let text = "error in parameterized resource: there is no cluster to look parameters up in";
        return (Status::Error, text.into());
    };
    let found = match super::rule_params::find(params, request, &world) {
        Ok(found) => found,
        Err(text) => return (Status::Error, text.into()),
    };
    for param in found {
        let mut seen = root.as_map().cloned().unwrap_or_default();
        seen.insert("params", param);
        match decided(rule, request, &Value::Map(seen)) {
            (Status::Pass, _) => {}
            other => return other,
        }
    }
    (Status::Pass, rule.passed.clone())
}

/// The verdict of a rule's expressions on what they see.
fn decided(rule: &Expressions, request: &Request, root: &Value) -> (Status, Str) {
    let cx = &request.functions;
    match admitted(rule, request, root) {
        Ok(true) => {}
        Ok(false) => return (Status::Skip, "cel preconditions not met".into()),
        Err(text) => return (Status::Fail, text.into()),
    }
    let lazies = Lazies::new(&rule.lazies);
    for verdict in &rule.verdicts {
        match evaluate(&verdict.check.program, root, cx, &lazies) {
            Ok(Value::Bool(true)) => {}
            Ok(_) => return (Status::Fail, message(verdict, rule, root, cx)),
            Err(text) => return (Status::Fail, told(&verdict.check, &text).into()),
        }
    }
    (Status::Pass, rule.passed.clone())
}

/// Whether all conditions on requests are true; a false one wins over faults. They see a request as the reference
/// makes it; where that fails they see the one that was sent, for which an API server has evaluated them before.
///
/// # Errors
/// Why conditions cannot be evaluated, also by an API server.
pub fn admits(conditions: &[Source], request: &Request) -> Result<bool, String> {
    if conditions.is_empty() {
        return Ok(true);
    }
    let hold = |root| all_hold(conditions, &root, &request.functions, &Lazies::new(&[]));
    let made = hold(root_of_request(request));
    match &request.sent {
        Some(sent) if made.is_err() => hold(root_as_sent(request, sent)).or(made),
        _ => made,
    }
}

/// What an API server lets conditions of webhooks see.
fn root_as_sent(request: &Request, sent: &Map) -> Value {
    let mut root = Map::new();
    root.insert("object", request.object.clone());
    root.insert("oldObject", request.old_object.clone());
    root.insert("request", Value::Map(sent.clone()));
    root.insert("namespaceObject", Value::Null);
    Value::Map(root)
}

/// The request as rules see it: the name of the resource is known in a cluster only.
fn request_of_rule(request: &Request) -> Map {
    let mut seen = admission_request(request);
    for key in ["resource", "requestResource"] {
        let nothing = ["group", "version", "resource"].map(|k| (Str::from(k), Value::from("")));
        let known = request.root.get().at(&["request", key]).cloned();
        seen.insert(key, known.unwrap_or_else(|| Value::Map(nothing.into_iter().collect())));
    }
    seen
}

/// What conditions on requests see: an object that is not there has its kind all the same.
fn root_of_request(request: &Request) -> Value {
    let target = &request.target;
    let version = match &*target.group {
        "" => target.version.to_string(),
        group => format!("{group}/{}", target.version),
    };
    let of_kind = |object: &Value| {
        let mut m = object.as_map().cloned().unwrap_or_default();
        m.insert("apiVersion", version.as_str().into());
        m.insert("kind", Value::Str(target.kind.clone()));
        Value::Map(m)
    };
    let mut seen = request_of_rule(request);
    for key in ["name", "namespace"] {
        match request.object.text_at(&["metadata", key]) {
            "" => drop(seen.remove(key)),
            text => drop(seen.insert(key, text.into())),
        }
    }
    let mut m = Map::new();
    m.insert("object", of_kind(&request.object));
    m.insert("oldObject", of_kind(&request.old_object));
    m.insert("request", Value::Map(seen));
    m.insert("namespaceObject", Value::Null);
    Value::Map(m)
}

/// Why an expression has no value.
enum Failure {
    Compile(Str),
    Run(Fault),
}

fn evaluate(program: &Program, root: &Value, cx: &Context, lazies: &Lazies<'_>) -> Result<Value, Failure> {
    let expr = program.as_ref().map_err(|text| Failure::Compile(text.clone()))?;
    let meter = Meter::new(PER_CALL);
    let env = Env::new(root, cx).with_meter(&meter).with_lazies(lazies);
    eval(expr, env).map(std::borrow::Cow::into_owned).map_err(Failure::Run)
}

fn told(source: &Source, failure: &Failure) -> String {
    match failure {
        Failure::Compile(text) => format!("compilation error: {text}"),
        Failure::Run(fault) => {
            format!("expression '{}' resulted in error: {}", source.text, fault.cel_text())
        }
    }
}

/// Whether all conditions are true; a false one wins over faults. They know nothing of the namespace.
fn admitted(rule: &Expressions, request: &Request, root: &Value) -> Result<bool, String> {
    if rule.admit.is_empty() {
        return Ok(true);
    }
    let cx = &request.functions;
    let mut seen = root.as_map().cloned().unwrap_or_default();
    seen.insert("namespaceObject", Value::Null);
    all_hold(&rule.admit, &Value::Map(seen), cx, &Lazies::new(&rule.lazies))
}

fn all_hold(conditions: &[Source], root: &Value, cx: &Context, lazies: &Lazies<'_>) -> Result<bool, String> {
    let mut failures = Vec::new();
    for condition in conditions {
        match evaluate(&condition.program, root, cx, lazies) {
            Ok(Value::Bool(true)) => {}
            Ok(_) => return Ok(false),
            Err(failure) => {
                let text = told(condition, &failure);
                if !failures.contains(&text) {
                    failures.push(text);
                }
            }
        }
    }
    match &failures[..] {
        [] => Ok(true),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

fn message(verdict: &Verdict, rule: &Expressions, root: &Value, cx: &Context) -> Str {
    let lazies = Lazies::new(&rule.lazies);
    if let Some(program) = &verdict.message_program
        && let Ok(Value::Str(text)) = evaluate(program, root, cx, &lazies)
    {
        let text = text.trim();
        if !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n') {
            return text.into();
        }
    }
    match verdict.message.trim() {
        "" => format!("failed expression: {}", verdict.check.text.trim()).into(),
        text => text.into(),
    }
}

/// The request as expressions see it.
pub(super) fn admission_request(request: &Request) -> Map {
    if let Some(sent) = &request.sent {
        return sent.clone();
    }
    let target = &request.target;
    let text = |s: &str| Value::from(s);
    let ids = |entries: [(&str, &str); 3]| {
        Value::Map(entries.into_iter().map(|(k, v)| (Str::from(k), text(v))).collect())
    };
    let kind = ids([("group", &target.group), ("version", &target.version), ("kind", &target.kind)]);
    let plural = plural(&target.kind);
    let resource = ids([("group", &target.group), ("version", &target.version), ("resource", &plural)]);
    let mut r = Map::new();
    r.insert("kind", kind.clone());
    r.insert("resource", resource.clone());
    r.insert("requestKind", kind);
    r.insert("requestResource", resource);
    for (key, value) in [
        ("subResource", &target.subresource),
        ("requestSubResource", &target.subresource),
        ("name", &target.name),
        ("namespace", &target.namespace),
        ("operation", &target.operation),
    ] {
        if !value.is_empty() {
            r.insert(key, Value::Str(value.clone()));
        }
    }
    let user = request.root.get().at(&["request", "userInfo"]).cloned().unwrap_or(Value::Map(Map::new()));
    r.insert("userInfo", user);
    r.insert("dryRun", Value::Bool(false));
    r.insert("options", Value::Null);
    r
}

/// What expressions see.
fn root(request: &Request, profile: Profile) -> Value {
    let mut m = Map::new();
    m.insert("object", request.object.clone());
    m.insert("oldObject", request.old_object.clone());
    m.insert("request", Value::Map(request_of_rule(request)));
    m.insert("params", Value::Null);
    m.insert(
        "namespaceObject",
        match profile.offline_namespaces {
            true => named_namespace(request),
            false if is_namespaced(request) => scope::namespace(&request.namespace),
            false => Value::Null,
        },
    );
    let of_request = Check { about: About::Resource, ..Check::default() };
    m.insert("authorizer", Value::object(Object::Check(Check::default())));
    m.insert("authorizer.requestResource", Value::object(Object::Check(of_request)));
    Value::Map(m)
}

/// Whether the object is in a namespace. A request about a namespace carries its name as well.
fn is_namespaced(request: &Request) -> bool {
    let target = &request.target;
    let is_namespace = target.group.is_empty() && &*target.kind == "Namespace";
    !target.namespace.is_empty() && !is_namespace
}

/// The object's namespace as rules see it: outside of a cluster they know its name only.
fn named_namespace(request: &Request) -> Value {
    if request.target.namespace.is_empty() {
        return Value::Null;
    }
    let mut found = namespace(request);
    if let Value::Map(m) = &mut found
        && let Some(Value::Map(metadata)) = m.get_mut("metadata")
    {
        metadata.remove("labels");
    }
    found
}

/// The object's namespace, as far as it is known outside of a cluster.
pub(super) fn namespace(request: &Request) -> Value {
    let target = &request.target;
    if target.namespace.is_empty() {
        return Value::Map(Map::new());
    }
    let mut metadata = Map::new();
    metadata.insert("name", Value::Str(target.namespace.clone()));
    if !target.namespace_labels.is_empty() {
        metadata.insert("labels", Value::Map(target.namespace_labels.clone()));
    }
    let mut m = Map::new();
    m.insert("metadata", Value::Map(metadata));
    Value::Map(m)
}
