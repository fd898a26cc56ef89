//! Admission recorded from an API server: policies, bindings, requests, and what became of them.
//!
//! In: a folder `admission/TOPIC` of YAML files, a case each. Out: a report `admission/TOPIC`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;

use ephor_api::admission::{Refusal, check, check_update, defaulted};
use ephor_document::{Duplicates, yaml};
use ephor_engine::admission::{Cause, ClusterView, Denial, Review};
use ephor_ir::Policy;
use ephor_ir::admission::PolicyBinding;
use ephor_ir::json::Bundle;
use ephor_ir::webhook::Webhook;
use ephor_kubernetes::Types;
use ephor_kubernetes::decode::problems;
use ephor_kubernetes::defaults::completed;
use ephor_lower::admission as lower;
use ephor_sources::objects::{ClusterFacts, Objects};
use ephor_value::release::Release;
use ephor_value::{Map, Str, Value};

use ephor_admission::webhooks::{Log, Server, in_order};

use super::webhook_replies::{Replies, calls};
use super::{Failure, Report, round_trip};

/// Runs the cases of one topic, of an API server of a release, as a suite of a name.
///
/// # Errors
/// A file cannot be read.
pub fn run(name: &str, dir: &Path, release: Release) -> std::io::Result<Report> {
    let mut report = Report::new(name);
    for case in yaml_files(dir)? {
        report.count(one(&case, release_of(&case, release)));
    }
    Ok(report)
}

/// The release that a case was recorded of: the one that it names, else that of its suite.
pub(super) fn release_of(case: &Value, suite: Release) -> Release {
    let named = case.get("release").and_then(Value::as_str);
    named.and_then(|name| Release::choose(name).ok()).map_or(suite, |choice| choice.release)
}

/// The cases of a topic, by name.
pub(super) fn yaml_files(dir: &Path) -> std::io::Result<Vec<Value>> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir)?.map(|e| Ok(e?.path())).collect::<std::io::Result<_>>()?;
    files.sort();
    files.retain(|f| f.extension().is_some_and(|e| e == "yaml"));
    let read = |file: &PathBuf| {
        let text = std::fs::read_to_string(file)?;
        let read = yaml::parse(&short_words_quoted(&text), Duplicates::LastWins).unwrap_or_default();
        Ok(marked_doubles(&read))
    };
    files.iter().map(read).collect()
}

/// What a double that is whole begins with.
const DOUBLE: char = '\u{e000}';

/// The files were written by a program that takes `y`, `n` and `1e3` for text and leaves them
/// plain, and that keeps `3.0` and `3` apart.
fn short_words_quoted(text: &str) -> String {
    let is_whole = |t: &str| t.strip_suffix(".0").is_some_and(|t| t.parse::<i64>().is_ok());
    let is_power = |t: &str| {
        let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
        t.split_once(['e', 'E']).is_some_and(|(a, b)| digits(a) && digits(b))
    };
    let is_word = |t: &str| matches!(t, "y" | "Y" | "n" | "N") || is_power(t);
    let key = |t: &str| if is_word(t) || is_whole(t) { format!("'{t}'") } else { t.to_string() };
    let value = |t: &str| if is_whole(t) { format!("'{DOUBLE}{t}'") } else { key(t) };
    let quoted = |line: &str| {
        let body = line.trim_start_matches([' ', '-']);
        let head = line.get(..line.len() - body.len()).unwrap_or_default();
        // The sign of a number is no item of a list.
        let (head, body) = match head.strip_suffix('-') {
            Some(shorter) if is_whole(body) => (shorter, format!("-{body}")),
            _ => (head, body.to_string()),
        };
        match body.split_once(": ") {
            Some((name, of)) => format!("{head}{}: {}", key(name), value(of)),
            None => match body.strip_suffix(':') {
                Some(name) => format!("{head}{}:", key(name)),
                None => format!("{head}{}", value(&body)),
            },
        }
    };
    text.lines().map(|line| quoted(line) + "\n").collect()
}

/// A document whose whole doubles are such.
fn marked_doubles(v: &Value) -> Value {
    match v {
        Value::Str(text) => match text.strip_prefix(DOUBLE).map(str::parse::<f64>) {
            Some(Ok(number)) => Value::Float(number),
            _ => v.clone(),
        },
        Value::List(items) => Value::list(items.iter().map(marked_doubles).collect()),
        Value::Map(m) => Value::Map(m.iter().map(|(k, v)| (k.clone(), marked_doubles(v))).collect()),
        other => other.clone(),
    }
}

pub(super) fn list<'v>(v: &'v Value, key: &str) -> &'v [Value] {
    v.get(key).and_then(Value::as_list).unwrap_or_default()
}

fn one(case: &Value, release: Release) -> Result<(), Failure> {
    let failed = |expected: Value, got: Value| Failure { id: case.text_at(&["id"]).into(), expected, got };
    if let Some(old) = case.get("old") {
        let (expected, got) = updates(case, old, release);
        return if expected.json_eq(&got) { Ok(()) } else { Err(failed(expected, got)) };
    }
    let requests = list(case, "expected");
    if requests.is_empty() && case.get("observedStatus").is_none() {
        let (expected, got) = taken(case, release);
        return if expected.json_eq(&got) { Ok(()) } else { Err(failed(expected, got)) };
    }
    if requests.is_empty()
        && let Some((expected, got)) = observed(case, release)
    {
        return if expected.json_eq(&got) { Ok(()) } else { Err(failed(expected, got)) };
    }
    let cluster = Cluster::new(case, release);
    let sent = |name: &str| list(case, "requests").iter().find(|r| r.text_at(&["name"]) == name);
    for wanted in requests {
        let sent = sent(wanted.text_at(&["name"])).and_then(|r| r.get("object"));
        let (expected, got) = cluster.answer(wanted, sent);
        if !expected.json_eq(&got) {
            return Err(failed(expected, got));
        }
    }
    Ok(())
}

/// The recorded and the actual status of a policy whose types were checked.
pub(super) fn observed(case: &Value, release: Release) -> Option<(Value, Value)> {
    let expected = numberless(case.get("observedStatus")?);
    let got = numberless(&Value::map([("policy", status(list(case, "setup"), release))]));
    Some((expected, got))
}

/// Names of types end in a number that differs from run to run.
fn numberless(v: &Value) -> Value {
    match v {
        Value::Str(s) => {
            let mut out = String::with_capacity(s.len());
            let mut rest: &str = s;
            while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
                let (head, tail) = rest.split_at(at);
                let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
                let (number, after) = tail.split_at(end);
                let is_name = head.ends_with(|c: char| c.is_ascii_alphabetic())
                    && after.starts_with(['.', ',', ')', '\'']);
                out.push_str(head);
                out.push_str(if is_name { "<N>" } else { number });
                rest = after;
            }
            out.push_str(rest);
            out.into()
        }
        Value::List(l) => Value::list(l.iter().map(numberless).collect()),
        Value::Map(m) => Value::Map(m.iter().map(|(k, v)| (k.clone(), numberless(v))).collect()),
        v => v.clone(),
    }
}

/// The status of a policy after its types were checked.
fn status(setup: &[Value], release: Release) -> Value {
    let policy = setup.iter().find(|o| o.text_at(&["kind"]) == "ValidatingAdmissionPolicy");
    let found = policy.map(|p| lower::warnings(&defaulted(p), setup, release)).unwrap_or_default();
    let warning = |w: lower::Warning| Value::map([("fieldRef", w.field.into()), ("warning", w.text.into())]);
    let mut checked = Map::new();
    if !found.is_empty() {
        checked.insert("expressionWarnings", Value::list(found.into_iter().map(warning).collect()));
    }
    Value::map([("observedGeneration", Value::Int(1)), ("typeChecking", Value::Map(checked))])
}

/// The recorded and the actual answers to updates of a stored object.
fn updates(case: &Value, old: &Value, release: Release) -> (Value, Value) {
    let stored = defaulted(old);
    let answer = |update: &Value| {
        let patch = update.get("patch").cloned().unwrap_or_default();
        let new = defaulted(&merged(old.clone(), &patch));
        match check_update(&new, &stored, &mut lower::Judge::new(&new, release)) {
            Ok(_) => Value::Map(Map::new()),
            Err(refusal) => {
                let mut m = Map::new();
                m.insert("code", Value::Int(refusal.code.into()));
                m.insert("reason", refusal.reason.into());
                m.insert("message", Value::from(&*refusal.message));
                if !refusal.causes.is_empty() {
                    m.insert("causes", refusal.causes());
                }
                Value::Map(m)
            }
        }
    };
    let all = list(case, "updates");
    let expected = all.iter().map(|u| u.get("answer").cloned().unwrap_or_default()).collect();
    (Value::list(expected), Value::list(all.iter().map(answer).collect()))
}

/// The group of policies, bindings and webhook configurations.
const API_GROUP: &str = "admissionregistration.k8s.io";

/// The recorded and the actual answers to policies, bindings and webhook configurations of a case.
pub(super) fn taken(case: &Value, release: Release) -> (Value, Value) {
    let objects: Vec<Value> = list(case, "setup").iter().map(defaulted).collect();
    let mut errors = Vec::new();
    let is_checked = |object: &Value| object.text_at(&["apiVersion"]).starts_with(API_GROUP);
    for (i, object) in objects.iter().enumerate().filter(|(_, object)| is_checked(object)) {
        if let Err(refusal) = check(object, &mut lower::Judge::new(object, release)) {
            errors.push(refused(i, object, &refusal));
        }
    }
    let (mut expected, mut got) = (Map::new(), Map::new());
    expected.insert("setupErrors", case.get("setupErrors").cloned().unwrap_or_default());
    got.insert("setupErrors", Value::list(errors));
    if let Some(stored) = case.get("stored") {
        let spec = |o: &Value| o.get("spec").or_else(|| o.get("webhooks")).cloned().unwrap_or_default();
        let of_all = |all: &[Value]| Value::list(all.iter().map(spec).collect());
        expected.insert("stored", of_all(stored.as_list().unwrap_or_default()));
        got.insert("stored", of_all(&objects));
    }
    (Value::Map(expected), Value::Map(got))
}

fn refused(index: usize, of: &Value, refusal: &Refusal) -> Value {
    let (kind, name) = (of.text_at(&["kind"]), of.text_at(&["metadata", "name"]));
    let mut m = Map::new();
    m.insert("index", Value::Int(i64::try_from(index).unwrap_or(i64::MAX)));
    m.insert("kind", kind.into());
    m.insert("name", name.into());
    m.insert("code", Value::Int(refusal.code.into()));
    m.insert("reason", refusal.reason.into());
    m.insert("message", Value::from(&*refusal.message));
    if !refusal.causes.is_empty() {
        m.insert("causes", refusal.causes());
        let mut details = Value::map([("group", API_GROUP.into()), ("kind", kind.into())]);
        if !name.is_empty() {
            details = details.with("name", name.into());
        }
        m.insert("details", details);
    }
    Value::Map(m)
}

/// The objects of a case as the server stored them, and its namespaces by name.
pub(super) fn stored_objects(case: &Value, release: Release) -> (Vec<Value>, Map) {
    let refused: Vec<i64> = list(case, "setupErrors")
        .iter()
        .filter_map(|e| match e.get("index") {
            Some(Value::Int(i)) => Some(*i),
            _ => None,
        })
        .collect();
    let objects = list(case, "setup")
        .iter()
        .enumerate()
        .filter(|(i, _)| !refused.iter().any(|r| usize::try_from(*r) == Ok(*i)))
        .map(|(_, o)| stored(defaulted(o), release))
        .collect();
    let mut namespaces = case.get("namespaces").and_then(Value::as_map).cloned().unwrap_or_default();
    for existing in list(case, "requests").iter().filter_map(|r| r.get("existing")) {
        if existing.text_at(&["kind"]) == "Namespace" {
            namespaces.insert(existing.text_at(&["metadata", "name"]), named_namespace(existing));
        }
    }
    (objects, namespaces)
}

/// Objects with the namespaces of a case, and no others.
pub(super) fn with_namespaces(mut objects: Vec<Value>, namespaces: &Map) -> Vec<Value> {
    objects.retain(|o| o.text_at(&["kind"]) != "Namespace");
    objects.extend(namespaces.iter().map(|(_, namespace)| namespace.clone()));
    objects
}

/// The objects of a case.
pub(super) struct Cluster {
    webhooks: Vec<Webhook>,
    replies: Replies,
    policies: Vec<Arc<Policy>>,
    data: Objects,
}

impl Cluster {
    pub(super) fn new(case: &Value, release: Release) -> Cluster {
        let (objects, namespaces) = stored_objects(case, release);
        let is = |o: &&Value, end: &str| o.text_at(&["kind"]).ends_with(end);
        let bindings: Vec<PolicyBinding> =
            objects.iter().filter(|o| is(o, "AdmissionPolicyBinding")).map(lower::binding).collect();
        let bound = |o: &Value| {
            let mutates = o.text_at(&["kind"]).starts_with("Mutating");
            let policy = lower::offline::policy(o, lower::Place::Server(release));
            let own = bindings.iter().filter(|b| b.mutates == mutates && b.policy == policy.name);
            Arc::new(lower::offline::bind_as_server(&policy, own.cloned().collect()))
        };
        let mut policies: Vec<Arc<Policy>> =
            objects.iter().filter(|o| is(o, "AdmissionPolicy")).map(bound).collect();
        policies.sort_by(|a, b| a.name.cmp(&b.name));
        let Bundle { policies, .. } = round_trip::bundle(Bundle { policies, ..Bundle::default() });
        let data = with_namespaces(objects.clone(), &namespaces);
        let known =
            ClusterFacts { all_namespaces: true, ..ClusterFacts::of_release(release, &objects, None) };
        let data = Objects::with(data, known);
        Cluster {
            webhooks: in_order(objects.iter().flat_map(|o| lower::webhooks(o, release)).collect()),
            replies: Replies(case.get("webhooks").cloned().unwrap_or_default()),
            policies,
            data,
        }
    }

    /// The recorded and the actual answer to a request.
    pub(super) fn answer(&self, wanted: &Value, sent: Option<&Value>) -> (Value, Value) {
        let mut request = wanted.get("request").cloned().unwrap_or_default();
        if let Some(old) = request.get("oldObject").filter(|old| !old.is_null()) {
            request = request.with("oldObject", managed(old));
        }
        let mut review = Review::new(request);
        if let Some(sent) = sent {
            review = review.with_object(with_doubles(review.object(), sent));
        }
        review = review.with_object(managed(review.object()));
        let cluster = ClusterView::of(&self.data);
        let server = Server {
            policies: &self.policies,
            webhooks: &self.webhooks,
            cluster: &cluster,
            answers: &self.replies,
            own: own_changes(&review.attributes.subresource),
        };
        let mut log = Log::default();
        let mutated = server.mutate(&review, &mut log);
        // The server rejects invalid objects before it evaluates policies.
        let refused = wanted.text_at(&["by"]) == "server"
            && wanted.get("code").is_some_and(|c| c.as_number() == Some(422.0));
        let mut changed = None;
        let denial = match mutated {
            Err(denial) => Some(denial),
            Ok(_) if refused => None,
            Ok(object) => {
                changed = (!object.json_eq(review.object())).then(|| unmanaged(&object));
                let stored = match wanted.get("completion") {
                    Some(more) if !object.is_null() => completed_by(object, more),
                    _ => object,
                };
                server.validate(&review.with_object(stored), &mut log).err()
            }
        };
        let mut warnings = log.warnings();
        // The server itself warns about unknown fields.
        if let (Some(sent), Some(def)) = (sent, cluster.types().of_kind(&review.attributes.kind)) {
            let unknown = problems(sent, def, cluster.types()).unknown;
            warnings.splice(0..0, unknown.iter().map(|path| format!("unknown field \"{path}\"")));
        }
        let mut got = answer_of(denial.as_deref(), &warnings, &log.annotations);
        if let Some(object) = changed.filter(|_| denial.is_none()) {
            got.insert("object", object);
        }
        let calls = calls(&log, &review.request);
        if !calls.is_empty() {
            got.insert("webhookCalls", Value::list(calls));
        }
        (expected(wanted, &review), unmanaged(&Value::Map(got)))
    }
}

/// The key of what the server writes about who manages an object.
const MANAGED: &str = "managedFields";

/// An object with a list of who manages it, which the server writes before policies see it, and
/// which recordings leave out.
fn managed(object: &Value) -> Value {
    let Some(metadata) = object.get("metadata").and_then(Value::as_map) else { return object.clone() };
    let mut metadata = metadata.clone();
    metadata.insert(MANAGED, Value::list(vec![Value::map([("manager", "recorder".into())])]));
    object.with("metadata", Value::Map(metadata))
}

/// An answer without these lists, also where a text quotes an object.
pub(super) fn unmanaged(answer: &Value) -> Value {
    match answer {
        Value::Map(m) => {
            let entry = |(k, v): (&Str, &Value)| (**k != *MANAGED).then(|| (k.clone(), unmanaged(v)));
            Value::Map(m.iter().filter_map(entry).collect())
        }
        Value::List(items) => Value::list(items.iter().map(unmanaged).collect()),
        Value::Str(text) => match text.split_once("\"managedFields\":") {
            Some((before, after)) => {
                let after = after_list(after);
                format!("{before}{}", after.strip_prefix(',').unwrap_or(after)).into()
            }
            None => answer.clone(),
        },
        other => other.clone(),
    }
}

/// The server's own changes, which run again after those of policies: every pod tolerates some
/// taints for a while, and has a priority. What is sent to a subresource stays as it is.
pub(super) fn own_changes(subresource: &str) -> fn(Value) -> Value {
    if subresource.is_empty() { as_plugins_leave_it } else { std::convert::identity }
}

fn as_plugins_leave_it(object: Value) -> Value {
    let Value::Map(mut pod) = object else { return object };
    if pod.get("kind").and_then(Value::as_str) == Some("Pod")
        && let Some(Value::Map(spec)) = pod.get_mut("spec")
    {
        let mut all = spec.get("tolerations").and_then(Value::as_list).unwrap_or_default().to_vec();
        for taint in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
            if !all.iter().any(|t| matches!(t.text_at(&["key"]), "" | "*") || t.text_at(&["key"]) == taint) {
                all.push(object_of_toleration(taint));
            }
        }
        spec.insert("tolerations", Value::list(all));
        if spec.get("priority").is_none() && spec.get("priorityClassName").is_none() {
            spec.insert("priority", Value::Int(0));
            spec.insert("preemptionPolicy", "PreemptLowerPriority".into());
        }
    }
    Value::Map(pod)
}

fn object_of_toleration(taint: &str) -> Value {
    Value::map([
        ("effect", "NoExecute".into()),
        ("key", taint.into()),
        ("operator", "Exists".into()),
        ("tolerationSeconds", Value::Int(300)),
    ])
}

/// The recorded object with the doubles of the one that was sent: the recording shows `3.0` as `3`.
pub(super) fn with_doubles(recorded: &Value, sent: &Value) -> Value {
    match (recorded, sent) {
        (Value::Int(i), Value::Float(f)) if *i as f64 == *f => sent.clone(),
        (Value::List(a), Value::List(b)) if a.len() == b.len() => {
            Value::list(a.iter().zip(b.iter()).map(|(a, b)| with_doubles(a, b)).collect())
        }
        (Value::Map(a), Value::Map(_)) => {
            let entry = |(k, v): (&Str, &Value)| {
                (k.clone(), sent.get(k).map_or_else(|| v.clone(), |sent| with_doubles(v, sent)))
            };
            Value::Map(a.iter().map(entry).collect())
        }
        _ => recorded.clone(),
    }
}

/// An object as the server stores it: with its defaults, and texts of a Secret as data.
fn stored(object: Value, release: Release) -> Value {
    let types = Types::of_release(release);
    let Value::Map(mut m) = object else { return object };
    if let Some(Value::Map(texts)) = m.remove("stringData") {
        let mut data = m.get("data").and_then(Value::as_map).cloned().unwrap_or_default();
        for (k, v) in texts.iter() {
            let text = v.as_str().unwrap_or_default();
            data.insert(k.clone(), base64::engine::general_purpose::STANDARD.encode(text).into());
        }
        m.insert("data", Value::Map(data));
    }
    let object = Value::Map(m);
    let (api_version, kind) = (object.text_at(&["apiVersion"]), object.text_at(&["kind"]));
    match types.of_kind(&["".into(), api_version.into(), kind.into()]) {
        Some(def) => completed(&object, def, types),
        None => object,
    }
}

/// A namespace that was stored before the request, as the server completes it.
fn named_namespace(object: &Value) -> Value {
    let name = object.text_at(&["metadata", "name"]);
    let label = object_of(&["metadata", "labels", "kubernetes.io/metadata.name"], name.into());
    merged(object.clone(), &label)
}

fn object_of(path: &[&str], value: Value) -> Value {
    path.iter().rev().fold(value, |inner, key| Value::map([(key, inner)]))
}

/// What storage adds. A name is generated only where there is none.
fn completed_by(object: Value, more: &Value) -> Value {
    let name = object.text_at(&["metadata", "name"]).to_string();
    let whole = merged(object, more);
    if name.is_empty() { whole } else { merged(whole, &object_of(&["metadata", "name"], name.into())) }
}

/// A JSON merge patch.
pub(super) fn merged(into: Value, patch: &Value) -> Value {
    let Value::Map(patch) = patch else { return patch.clone() };
    let mut m = into.as_map().cloned().unwrap_or_default();
    for (k, v) in patch.iter() {
        if v.is_null() {
            m.remove(k);
        } else {
            let old = m.get(k).cloned().unwrap_or_default();
            m.insert(k.clone(), merged(old, v));
        }
    }
    Value::Map(m)
}

/// What comes after the list that a text begins with.
fn after_list(text: &str) -> &str {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            '[' if !is_text => depth += 1,
            ']' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return text.get(at + c.len_utf8()..).unwrap_or_default();
        }
    }
    ""
}

/// What was recorded, as far as admission answers for it.
fn expected(wanted: &Value, review: &Review) -> Value {
    let mut m = Map::new();
    let allowed = wanted.get("allowed").cloned().unwrap_or_default();
    // What the server refuses between the phases counts as its answer.
    let admitted = allowed.as_bool() == Some(true) && !is_moved(wanted);
    m.insert("allowed", Value::Bool(admitted));
    for key in ["code", "reason", "message", "details", "causes"] {
        if let Some(v) = wanted.get(key).filter(|_| !admitted) {
            m.insert(key, v.clone());
        }
    }
    recorded(wanted, &["warnings", "auditAnnotations", "object", "webhookCalls"], &mut m);
    // The object was recorded before the server put it back into its namespace.
    if let Some(object) = m.remove("object").filter(|_| !is_moved(wanted)) {
        let object = in_namespace(object, review);
        if !object.json_eq(&unmanaged(review.object())) {
            m.insert("object", object);
        }
    }
    unmanaged(&Value::Map(m))
}

/// An object in the namespace of the request that creates or updates it.
fn in_namespace(object: Value, review: &Review) -> Value {
    let namespace = &review.attributes.namespace;
    let is_own = review.attributes.subresource.is_empty() && !namespace.is_empty();
    let is_stored = matches!(&*review.attributes.operation, "CREATE" | "UPDATE");
    let is_namespace = &*review.attributes.resource == "namespaces";
    if !is_own || !is_stored || is_namespace || !object.text_at(&["metadata", "namespace"]).is_empty() {
        return object;
    }
    let mut metadata = object.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
    metadata.insert("namespace", Value::Str(namespace.clone()));
    object.with("metadata", Value::Map(metadata))
}

/// Whether an object was moved to another namespace.
fn is_moved(wanted: &Value) -> bool {
    wanted.text_at(&["message"]).starts_with("the namespace of the provided object does not match")
}

/// Takes over what was recorded under some keys.
pub(super) fn recorded(wanted: &Value, keys: &[&str], m: &mut Map) {
    for key in keys {
        if let Some(v) = wanted.get(key) {
            m.insert(*key, v.clone());
        }
    }
    // The class of a pod is computed when it is stored; the recording keeps it where the object
    // decides it.
    if let Some(Value::Map(object)) = m.get_mut("object")
        && let Some(Value::Map(status)) = object.get_mut("status")
    {
        status.remove("qosClass");
    }
}

fn answer_of(denial: Option<&Denial>, warnings: &[String], annotations: &Map) -> Map {
    let mut m = Map::new();
    m.insert("allowed", Value::Bool(denial.is_none()));
    if let Some(denial) = denial {
        m.insert("code", Value::Int(denial.code.into()));
        if !denial.reason.is_empty() {
            m.insert("reason", Value::Str(denial.reason.clone()));
        }
        m.insert("message", Value::from(&*denial.message));
        if !denial.details.is_null() {
            m.insert("details", denial.details.clone());
        }
        if !denial.causes.is_empty() {
            m.insert("causes", Value::list(denial.causes.iter().map(Cause::to_value).collect()));
        }
    }
    if !warnings.is_empty() {
        m.insert("warnings", Value::list(warnings.iter().map(|t| Value::from(&**t)).collect()));
    }
    if !annotations.is_empty() {
        m.insert("auditAnnotations", Value::Map(annotations.clone()));
    }
    m
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn whole_doubles_of_recorded_files_stay_doubles() {
        let text = "spec:\n  w: 2.0\n  n: 2\n  y: y\n  all:\n  - -1.0\n  - '2.0'\n  2.0: a\n";
        let read = yaml::parse(&short_words_quoted(text), Duplicates::LastWins).unwrap();
        let read = marked_doubles(&read);
        let at = |key: &str| read.at(&["spec", key]).cloned().unwrap();
        assert!(matches!(at("w"), Value::Float(f) if f == 2.0));
        assert!(matches!(at("n"), Value::Int(2)));
        assert_eq!(at("y").as_str(), Some("y"));
        let all = at("all");
        assert!(matches!(&all.as_list().unwrap()[0], Value::Float(f) if *f == -1.0));
        assert_eq!(all.as_list().unwrap()[1].as_str(), Some("2.0"));
        assert_eq!(at("2.0").as_str(), Some("a"));
    }
}
