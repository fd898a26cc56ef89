//! Running reviews: Kyverno's CEL policies.
//!
//! In: a review and a request. Out: a result, or none where the policy does not apply. Order: exceptions,
//! conditions, verdicts, texts for reports. Semantics: `docs/cel-policies.md`, "Evaluation".

use std::borrow::Cow;

use crate::functions::cel::outside;
use crate::functions::{Context, now};
use crate::ir::expressions::{Program, Source, Verdict};
use crate::ir::review::{Deed, Exemption, Review, View, exceptions_value};
use crate::ir::{Policy, Rule};
use crate::value::{Fault, Map, Str, Value};

use super::Request;
use super::eval::{Env, eval};
use super::expressions::admission_request;
use super::outcome::{RuleOutcome, Status, Stock, stock};
use super::run::Surroundings;
use super::strict::{Lazies, Meter};

pub mod change;
pub mod check;
pub mod deletion;
pub mod images;
mod inquiry;
pub mod make;

/// What one expression may cost.
const PER_CALL: u64 = 1_000_000;

/// Runs the review of a rule.
pub fn run(
    policy: &Policy,
    rule: &Rule,
    review: &Review,
    request: &Request,
    around: Surroundings<'_>,
) -> Option<RuleOutcome> {
    let kind = match review.view {
        View::Templates => "Pod",
        View::Payload => "",
        _ => &*request.target.kind,
    };
    let each = |root: &Value| match &review.body {
        Deed::Images(checks) => {
            let subject = images::Subject { root, kind, payload: review.view == View::Payload };
            images::run(policy, rule, review, checks, &subject, request, around)
        }
        _ => one(policy, rule, review, root, &request.functions, around.exemptions),
    };
    match review.view {
        View::Templates => templates(rule, request, &each),
        View::Request => each(request.review_root.get_or_init(|| root(request, Absent::Null))),
        View::Payload => each(&payload_root(request)),
        View::Check(_) => None,
    }
}

/// The scope of a review: what its expressions share.
struct Scope<'s> {
    root: Cow<'s, Value>,
    functions: &'s Context,
    lazies: Lazies<'s>,
}

impl Scope<'_> {
    fn value(&self, program: &Program) -> Result<Value, String> {
        self.value_on(program, &self.root)
    }

    /// The value of a program on another root.
    fn value_on(&self, program: &Program, root: &Value) -> Result<Value, String> {
        let expr = program.as_ref().map_err(|text| text.to_string())?;
        let meter = Meter::new(PER_CALL);
        let env = Env::new(root, self.functions).with_meter(&meter).with_lazies(&self.lazies);
        eval(expr, env).map(Cow::into_owned).map_err(|f| told(&f))
    }

    fn is_true(&self, program: &Program) -> Result<bool, String> {
        match self.value(program)? {
            Value::Bool(b) => Ok(b),
            _ => Err("no such overload".into()),
        }
    }

    /// Whether all conditions are true; a false one wins over faults.
    fn admits(&self, conditions: &[Source]) -> Result<bool, String> {
        let mut failures = Vec::new();
        for condition in conditions {
            match self.is_true(&condition.program) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(text) => failures.push(text),
            }
        }
        if failures.is_empty() { Ok(true) } else { Err(failures.join("; ")) }
    }
}

fn told(fault: &Fault) -> String {
    fault.cel_text()
}

/// Does what comes before the body of a review; a result where that ends it.
fn enter<'s>(
    policy: &Policy,
    rule: &Rule,
    review: &'s Review,
    root: &'s Value,
    functions: &'s Context,
    exemptions: Exemptions<'_>,
) -> Result<Scope<'s>, Box<RuleOutcome>> {
    let failed = |text: &str| Box::new(broken(rule, review, text));
    let skipped =
        || Box::new(RuleOutcome::new(&stock(Stock::Empty), rule.kind, Status::Skip, stock(Stock::Skip)));
    let mut root = match &policy.namespace {
        Some(namespace) => Cow::Owned(limited_to(root, namespace)),
        None => Cow::Borrowed(root),
    };
    let excepted = match excepted(policy, &root, functions, exemptions) {
        Ok(found) => found,
        Err(_) if review.lenient => Vec::new(),
        Err(text) => return Err(failed(&text)),
    };
    if excepted.iter().any(|e| e.is_full()) {
        return Err(Box::new(exempt(rule, &excepted)));
    }
    if !excepted.is_empty() {
        let all = |part: fn(&Exemption) -> &[Value]| excepted.iter().flat_map(|e| part(e).to_vec()).collect();
        let allowed = exceptions_value(all(|e| &e.images), all(|e| &e.values));
        root = Cow::Owned(with(&root, "exceptions", allowed));
    }
    let scope = Scope { root, functions, lazies: Lazies::bare(&review.lazies) };
    match scope.admits(&review.admit) {
        Ok(true) => Ok(scope),
        Ok(false) => Err(skipped()),
        Err(_) if review.lenient => Err(skipped()),
        Err(text) => Err(failed(&text)),
    }
}

/// The result of a review that cannot be evaluated.
fn broken(rule: &Rule, review: &Review, text: &str) -> RuleOutcome {
    let what = match review.body {
        Deed::Verdicts(_) => "load context",
        _ => "evaluate policy",
    };
    let text = format!("failed to {what}: {text}");
    RuleOutcome::new(&"evaluation".into(), rule.kind, Status::Error, text)
}

fn one(
    policy: &Policy,
    rule: &Rule,
    review: &Review,
    root: &Value,
    functions: &Context,
    exemptions: Exemptions<'_>,
) -> Option<RuleOutcome> {
    let scope = match enter(policy, rule, review, root, functions, exemptions) {
        Ok(scope) => scope,
        Err(result) => return Some(*result),
    };
    let Deed::Verdicts(verdicts) = &review.body else { return None };
    let (at, result) = decided(verdicts, &scope);
    let (status, text) = match result {
        Ok(()) => (Status::Pass, stock(Stock::Success)),
        Err((status, text)) => (status, text),
    };
    let mut result = RuleOutcome::new(&stock(Stock::Empty), rule.kind, status, text);
    if status != Status::Error {
        match annotations(review, &scope, &scope.root) {
            Ok(properties) => result.properties = properties,
            Err(text) if status == Status::Fail => {
                result.status = Status::Error;
                result.message = format!("error: {text}").into();
            }
            Err(text) => return Some(broken(rule, review, &text)),
        }
    }
    if let Some(at) = at
        && !result.properties.iter().any(|(k, _)| &**k == "cel.validationIndex")
    {
        result.properties.push(("cel.validationIndex".into(), at.to_string().into()));
    }
    Some(result)
}

/// The first verdict that is not true: its position, status and message.
fn decided(verdicts: &[Verdict], scope: &Scope<'_>) -> (Option<usize>, Result<(), (Status, Str)>) {
    for (i, verdict) in verdicts.iter().enumerate() {
        match scope.is_true(&verdict.check.program) {
            Ok(true) => {}
            Ok(false) => return (Some(i), Err((Status::Fail, message(verdict, i, scope)))),
            Err(text) => return (Some(i), Err((Status::Error, format!("error: {text}").into()))),
        }
    }
    (None, Ok(()))
}

fn message(verdict: &Verdict, at: usize, scope: &Scope<'_>) -> Str {
    let made = match &verdict.message_program {
        None => verdict.message.clone(),
        Some(program) => match scope.value(program) {
            Ok(Value::Str(text)) => text,
            Ok(_) => return "failed to evaluate message expression: no such overload".into(),
            Err(text) => return format!("failed to evaluate message expression: {text}").into(),
        },
    };
    if made.is_empty() {
        return format!("CEL expression validation failed at index {at}").into();
    }
    made
}

fn annotations(review: &Review, scope: &Scope<'_>, root: &Value) -> Result<Vec<(Str, Str)>, String> {
    let mut out = Vec::new();
    for annotation in &review.annotations {
        let key = &annotation.key;
        match scope.value_on(&annotation.program, root) {
            Ok(Value::Str(text)) if text.is_empty() => {}
            Ok(Value::Str(text)) => out.push((key.clone(), text)),
            Ok(other) => {
                return Err(format!(
                    "failed to convert auditAnnotation '{key}' expression: type conversion error from '{}' to 'string'",
                    other.cel_type()
                ));
            }
            Err(text) => return Err(format!("failed to evaluate auditAnnotation '{key}': {text}")),
        }
    }
    // The reference keeps them in a map.
    out.sort();
    Ok(out)
}

/// The PolicyExceptions of `policies.kyverno.io`, in the order in which they count.
#[derive(Clone, Copy, Debug)]
pub struct Exemptions<'e> {
    /// All of them.
    pub all: &'e [Exemption],
    /// Whether they apply after they have expired (`Profile::expired_exceptions_apply`).
    pub expired_apply: bool,
}

impl<'e> Exemptions<'e> {
    /// Those that name a policy and have not expired.
    fn of<'p>(
        self,
        policy: &'p Policy,
        functions: &'p Context,
    ) -> impl Iterator<Item = &'e Exemption> + use<'e, 'p> {
        let named = self.all.iter().filter(|e| e.names(&policy.api.kind, &policy.name));
        named.filter(move |e| {
            let Some(expires) = e.expires.filter(|_| !self.expired_apply) else { return true };
            // A result that an exception made is good only until then.
            crate::functions::unforeseen::note();
            expires > now(functions).unix_nanos()
        })
    }
}

/// The exceptions that apply to the policy.
fn excepted<'e>(
    policy: &Policy,
    root: &Value,
    functions: &Context,
    exemptions: Exemptions<'e>,
) -> Result<Vec<&'e Exemption>, String> {
    let mut found: Vec<&Exemption> = Vec::new();
    for exemption in exemptions.of(policy, functions) {
        let scope = Scope { root: Cow::Borrowed(root), functions, lazies: Lazies::bare(&[]) };
        match scope.admits(&exemption.admit) {
            Ok(true) => found.push(exemption),
            Ok(false) => {}
            Err(_) if found.iter().any(|e| e.is_full()) => {}
            Err(text) => return Err(text),
        }
    }
    Ok(found)
}

fn exempt(rule: &Rule, found: &[&Exemption]) -> RuleOutcome {
    let keys: Vec<&str> = found.iter().map(|e| &*e.key).collect();
    let decides = found.iter().rev().max_by_key(|e| e.priority);
    let (status, verb) = match decides {
        Some(e) if e.passes => (Status::Pass, "passed"),
        _ => (Status::Skip, "skipped"),
    };
    let text = format!("rule is {verb} due to policy exception: {}", keys.join(", "));
    let mut result = RuleOutcome::new(&"exception".into(), rule.kind, status, text);
    result.exceptions = found.iter().map(|e| e.name.clone()).collect();
    result
}

fn with(root: &Value, key: &str, value: Value) -> Value {
    let mut m = root.as_map().cloned().unwrap_or_default();
    m.insert(key, value);
    Value::Map(m)
}

/// The root for a policy of a namespace: it may ask only for objects of its own.
fn limited_to(root: &Value, namespace: &str) -> Value {
    let mut m = root.as_map().cloned().unwrap_or_default();
    for (name, type_name) in RECEIVERS {
        m.insert(name, outside::receiver(type_name, Some(namespace)));
    }
    Value::Map(m)
}

/// The receivers of functions that ask the world.
const RECEIVERS: [(&str, &str); 4] = [
    ("resource", outside::RESOURCE),
    ("http", outside::HTTP),
    ("globalContext", outside::GLOBAL),
    ("generator", "generator.Context"),
];

/// What roots have in common.
struct Common {
    /// The names of what depends on the request.
    names: [Str; 4],
    /// All else.
    entries: Vec<(Str, Value)>,
}

thread_local! {
    // One for each thread: counting references to the same values from all threads is slow.
    static COMMON: Common = Common::new();
}

impl Common {
    fn new() -> Common {
        let receiver =
            |(name, type_name): (&str, &str)| (Str::from(name), outside::receiver(type_name, None));
        let mut entries: Vec<(Str, Value)> = RECEIVERS.into_iter().map(receiver).collect();
        let others = [
            ("image", outside::IMAGE_DATA),
            ("json", "json.Json"),
            ("yaml", "yaml.Yaml"),
            ("mcp", "mcp.MCP"),
        ];
        entries.extend(others.map(receiver));
        entries.push(("mylib_version".into(), Value::from("")));
        entries.push(("exceptions".into(), exceptions_value(Vec::new(), Vec::new())));
        Common { names: ["object", "oldObject", "request", "namespaceObject"].map(Str::from), entries }
    }
}

/// What of a root depends on the request.
#[derive(Clone, Copy)]
enum Part {
    Object,
    OldObject,
    Request,
    Namespace,
}

/// A root with these parts, each given once.
fn rooted<const N: usize>(parts: [(Part, Value); N]) -> Value {
    COMMON.with(|common| {
        let [object, old, request, namespace] = &common.names;
        let name = |part| match part {
            Part::Object => object,
            Part::OldObject => old,
            Part::Request => request,
            Part::Namespace => namespace,
        };
        let mut entries = Vec::with_capacity(N + common.entries.len());
        entries.extend(parts.into_iter().map(|(part, value)| (name(part).clone(), value)));
        entries.extend(common.entries.iter().cloned());
        Value::Map(Map::from_unique(entries))
    })
}

/// An absent object is an empty map.
fn or_empty(object: &Value) -> Value {
    if object.is_null() { Value::Map(Map::new()) } else { object.clone() }
}

/// What stands for an object of the request that is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absent {
    Null,
    Empty,
}

fn root(request: &Request, absent: Absent) -> Value {
    let mut r = admission_request(request);
    if request.sent.is_none() {
        r.insert("uid", Value::from(""));
    }
    let shown = |v: &Value| match absent {
        Absent::Empty => or_empty(v),
        Absent::Null => v.with_whole_numbers(),
    };
    r.insert("object", shown(&request.object));
    r.insert("oldObject", shown(&request.old_object));
    let (object, old) = (or_empty(&request.object), or_empty(&request.old_object));
    rooted([
        (Part::Object, object),
        (Part::OldObject, old),
        (Part::Request, Value::Map(r)),
        (Part::Namespace, namespace(request)),
    ])
}

fn payload_root(request: &Request) -> Value {
    let object = request.shown();
    rooted([
        (Part::Object, object.clone()),
        (Part::OldObject, Value::Null),
        (Part::Request, Value::Null),
        (Part::Namespace, Value::Null),
    ])
}

/// The namespace of the object, when it is known.
fn namespace(request: &Request) -> Value {
    if request.target.namespace.is_empty() { Value::Null } else { request.namespace.clone() }
}

/// Reviews each pod template below `spec`; the first that fails decides.
fn templates(
    rule: &Rule,
    request: &Request,
    each: &dyn Fn(&Value) -> Option<RuleOutcome>,
) -> Option<RuleOutcome> {
    let object = request.shown();
    let mut found = Vec::new();
    collect(object.get("spec").unwrap_or(&Value::Null), &mut "spec".to_string(), &mut found, 0);
    if found.is_empty() {
        let what = format!("{}/{}", object.text_at(&["apiVersion"]), object.text_at(&["kind"]));
        let text = format!("failed to load context: extraction mode: no pod template found in {what}");
        return Some(RuleOutcome::new(&"evaluation".into(), rule.kind, Status::Error, text));
    }
    let mut last = None;
    for (path, template) in found {
        let pod = pod_of(template, object);
        let former = former_at(&request.old_object, &path);
        let root = template_root(request, &pod, former.map(|t| pod_of(t, &request.old_object)));
        let mut result = each(&root)?;
        if matches!(result.status, Status::Fail | Status::Error) {
            result.message = format!("{} (pod template at {path})", result.message).into();
            return Some(result);
        }
        last = Some(result);
    }
    last
}

fn template_root(request: &Request, pod: &Value, former: Option<Value>) -> Value {
    let mut m = root(request, Absent::Null).as_map().cloned().unwrap_or_default();
    let deleting = request.object.is_null();
    let (object, old) =
        if deleting { (Value::Null, pod.clone()) } else { (pod.clone(), former.unwrap_or_default()) };
    let ids = |entries: [(&str, &str); 3]| {
        Value::Map(entries.into_iter().map(|(k, v)| (Str::from(k), Value::from(v))).collect())
    };
    let mut r = m.get("request").and_then(Value::as_map).cloned().unwrap_or_default();
    let kind = ids([("group", ""), ("version", "v1"), ("kind", "Pod")]);
    let resource = ids([("group", ""), ("version", "v1"), ("resource", "pods")]);
    for (key, value) in [
        ("kind", &kind),
        ("requestKind", &kind),
        ("resource", &resource),
        ("requestResource", &resource),
        ("object", &object),
        ("oldObject", &old),
    ] {
        r.insert(key, value.clone());
    }
    m.insert("request", Value::Map(r));
    m.insert("object", object);
    m.insert("oldObject", old);
    Value::Map(m)
}

/// The deepest objects that are searched.
const MAX_DEPTH: usize = 64;

/// The pod templates below a value, with their paths.
fn collect<'v>(v: &'v Value, path: &mut String, out: &mut Vec<(String, &'v Value)>, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    if is_template(v) {
        out.push((path.clone(), v));
        return;
    }
    let length = path.len();
    match v {
        Value::Map(m) => {
            for (k, inner) in m.sorted() {
                path.push('.');
                path.push_str(k);
                collect(inner, path, out, depth + 1);
                path.truncate(length);
            }
        }
        Value::List(items) => {
            for (i, inner) in items.iter().enumerate() {
                path.push_str(&format!("[{i}]"));
                collect(inner, path, out, depth + 1);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

fn is_template(v: &Value) -> bool {
    let containers = v.at(&["spec", "containers"]).and_then(Value::as_list).unwrap_or_default();
    let is_container =
        |c: &Value| !c.text_at(&["name"]).is_empty() && c.get("image").is_some_and(|i| i.as_str().is_some());
    let metadata = v.get("metadata").is_none_or(|m| m.as_map().is_some());
    !containers.is_empty() && containers.iter().all(is_container) && metadata
}

fn former_at<'v>(old: &'v Value, path: &str) -> Option<&'v Value> {
    let mut found = Vec::new();
    collect(old.get("spec")?, &mut "spec".to_string(), &mut found, 0);
    found.into_iter().find(|(p, _)| p == path).map(|(_, v)| v)
}

fn pod_of(template: &Value, parent: &Value) -> Value {
    let mut metadata = template.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
    if metadata.get("name").is_none() {
        metadata.insert("name", Value::from(parent.text_at(&["metadata", "name"])));
    }
    let namespace = parent.text_at(&["metadata", "namespace"]);
    if !namespace.is_empty() {
        metadata.insert("namespace", Value::from(namespace));
    }
    let mut m = Map::new();
    m.insert("apiVersion", Value::from("v1"));
    m.insert("kind", Value::from("Pod"));
    m.insert("metadata", Value::Map(metadata));
    m.insert("spec", template.get("spec").cloned().unwrap_or_default());
    Value::Map(m)
}
