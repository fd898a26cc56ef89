//! UpdateRequests: work that outlives the server that took it.
//!
//! In: [`Work`] and the request that caused it. Out: an UpdateRequest of `kyverno.io/v2`, and back.
//! The object of the request is not in it, where it can be read from the cluster: Secrets stay
//! where they are. Semantics: `docs/reference/cluster.md`, "Background work".

use ephor_value::time::Time;
use ephor_value::{Map, Value};

use ephor_admission::admit::Incoming;
use ephor_admission::background::{RuleWork, Trigger, Work, WorkKind};

/// The version and kind.
pub const API_VERSION: &str = "kyverno.io/v2";
/// See [`API_VERSION`].
pub const KIND: &str = "UpdateRequest";
/// How often a request is tried.
pub const TRIES: i64 = 5;

/// An UpdateRequest.
#[derive(Clone, Debug)]
pub struct UpdateRequest {
    /// As it is stored.
    pub document: Value,
    /// When it was created, in seconds since 1970.
    pub created: i64,
    /// The work.
    pub work: Work,
    /// The request that caused it; `None` = a change of the policy did.
    pub incoming: Option<Incoming>,
    /// How often it has failed.
    pub failures: i64,
}

/// The text of a kind of work.
fn request_type(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::Generate => "generate",
        WorkKind::Mutate => "mutate",
        WorkKind::CelGenerate => "cel-generate",
        WorkKind::CelMutate => "cel-mutate",
    }
}

fn trigger(trigger: &Trigger) -> Value {
    let all = [
        ("apiVersion", &trigger.api_version),
        ("kind", &trigger.kind),
        ("namespace", &trigger.namespace),
        ("name", &trigger.name),
        ("uid", &trigger.uid),
    ];
    Value::Map(
        all.into_iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| (k.into(), (&**v).into())).collect(),
    )
}

fn read_trigger(value: &Value) -> Trigger {
    let at = |key: &str| value.text_at(&[key]).to_string();
    Trigger {
        api_version: at("apiVersion"),
        kind: at("kind"),
        namespace: at("namespace"),
        name: at("name"),
        uid: at("uid"),
    }
}

/// The UpdateRequest for work, in a namespace.
pub fn document(work: &Work, incoming: Option<&Incoming>, namespace: &str) -> Value {
    let rule = |work: &RuleWork| {
        Value::map([
            ("rule", (&*work.rule).into()),
            ("deleteDownstream", work.deletes.into()),
            ("synchronize", work.synchronize.into()),
            ("trigger", trigger(&work.trigger)),
        ])
    };
    let (_, name) = work.policy.split_once('/').unwrap_or(("", &work.policy));
    let first = work.rules.first();
    let (label, resource, contexts) = match work.kind {
        WorkKind::Generate | WorkKind::CelGenerate => {
            let contexts = work.rules.iter().map(rule).collect::<Vec<_>>();
            ("generate.kyverno.io/policy-name", Value::map([]), contexts)
        }
        WorkKind::Mutate | WorkKind::CelMutate => {
            let resource = first.map_or_else(|| Value::map([]), |work| trigger(&work.trigger));
            ("mutate.updaterequest.kyverno.io/policy-name", resource, Vec::new())
        }
    };
    let metadata = Value::map([
        ("generateName", "ur-".into()),
        ("namespace", namespace.into()),
        ("labels", Value::Map([(label.into(), name.into())].into_iter().collect())),
    ]);
    let rule = match work.kind {
        WorkKind::Generate | WorkKind::CelGenerate | WorkKind::CelMutate => "".into(),
        WorkKind::Mutate => first.map(|work| work.rule.clone()).unwrap_or_default(),
    };
    let mut context = Map::new();
    if let Some(incoming) = incoming {
        let request = Value::map([
            ("operation", incoming.text(&["operation"]).into()),
            ("admissionRequest", Value::Map(without_object(work, incoming))),
        ]);
        context.insert("admissionRequestInfo", request);
        context.insert("userInfo", Value::map([("userInfo", incoming.object("userInfo"))]));
    }
    let spec = Value::map([
        ("requestType", request_type(work.kind).into()),
        ("policy", (&*work.policy).into()),
        ("rule", (&*rule).into()),
        ("deleteDownstream", false.into()),
        ("resource", resource),
        ("ruleContext", Value::list(contexts)),
        ("context", Value::Map(context)),
    ]);
    Value::map([
        ("apiVersion", API_VERSION.into()),
        ("kind", KIND.into()),
        ("metadata", metadata),
        ("spec", spec),
    ])
}

/// The request without what can be read from the cluster, and without the content of objects that
/// are no trigger.
fn without_object(work: &Work, incoming: &Incoming) -> Map {
    let mut request = incoming.request.clone();
    let object = incoming.object("object");
    // The API server gives an object its name after it has been mutated: until then it cannot be
    // read.
    let is_named =
        work.rules.iter().all(|work| !work.trigger.name.is_empty() || !work.trigger.uid.is_empty());
    if incoming.text(&["subResource"]).is_empty() {
        let is_secret = object.text_at(&["kind"]) == "Secret";
        match (object.is_null() || is_named, is_secret) {
            (true, _) => drop(request.insert("object", Value::Null)),
            (false, true) => drop(request.insert("object", without_content(&object))),
            (false, false) => {}
        }
    }
    let old = incoming.object("oldObject");
    if !old.is_null() && !work.rules.iter().any(|work| work.trigger.is(&old)) {
        request.insert("oldObject", without_content(&old));
    }
    request
}

/// What identifies an object, without its content.
fn without_content(object: &Value) -> Value {
    let mut metadata = object.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
    metadata.remove("managedFields");
    let members = ["apiVersion", "kind"].map(|key| (key, object.text_at(&[key]).into()));
    Value::map(members).with("metadata", Value::Map(metadata))
}

/// Reads an UpdateRequest; `None` = it is none of this program's kinds of work.
pub fn read(document: &Value) -> Option<UpdateRequest> {
    let spec = document.get("spec")?;
    let kind = match spec.text_at(&["requestType"]) {
        "generate" => WorkKind::Generate,
        "mutate" => WorkKind::Mutate,
        "cel-generate" => WorkKind::CelGenerate,
        "cel-mutate" => WorkKind::CelMutate,
        _ => return None,
    };
    let flag = |value: &Value, key: &str| value.get(key).and_then(Value::as_bool).unwrap_or(false);
    let rules = match kind {
        WorkKind::Generate | WorkKind::CelGenerate => {
            let contexts = spec.get("ruleContext").and_then(Value::as_list).unwrap_or_default();
            let context = |value: &Value| RuleWork {
                rule: value.text_at(&["rule"]).into(),
                trigger: value.get("trigger").map(read_trigger).unwrap_or_default(),
                deletes: flag(value, "deleteDownstream"),
                synchronize: flag(value, "synchronize"),
            };
            contexts.iter().map(context).collect()
        }
        WorkKind::Mutate | WorkKind::CelMutate => vec![RuleWork {
            rule: spec.text_at(&["rule"]).into(),
            trigger: spec.get("resource").map(read_trigger).unwrap_or_default(),
            deletes: false,
            synchronize: false,
        }],
    };
    let request = spec.at(&["context", "admissionRequestInfo", "admissionRequest"]).and_then(Value::as_map);
    let incoming = request.filter(|request| !request.is_empty()).map(|request| Incoming {
        api_version: "admission.k8s.io/v1".into(),
        kind: "AdmissionReview".into(),
        uid: request.get("uid").and_then(Value::as_str).unwrap_or_default().into(),
        request: request.clone(),
    });
    let created = Time::parse_rfc3339(document.text_at(&["metadata", "creationTimestamp"])).ok();
    let seconds = |time: Time| i64::try_from(time.unix_nanos().div_euclid(1_000_000_000)).unwrap_or_default();
    Some(UpdateRequest {
        created: created.map(seconds).unwrap_or_default(),
        work: Work { kind, policy: spec.text_at(&["policy"]).into(), rules, required: false },
        incoming,
        failures: document.at(&["status", "retryCount"]).and_then(Value::as_int).unwrap_or_default(),
        document: document.clone(),
    })
}

/// The request after a failure, with its status.
pub fn failed(request: &UpdateRequest, message: &str) -> Value {
    let status = Value::map([
        ("state", "Failed".into()),
        ("message", message.into()),
        ("retryCount", Value::Int(request.failures + 1)),
    ]);
    request.document.with("status", status)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn incoming(request: &str) -> Incoming {
        let review = format!("{{\"request\": {request}}}");
        ephor_admission::admit::incoming::decode("application/json", review.as_bytes()).unwrap()
    }

    fn generate(trigger: Trigger) -> Work {
        let rules = vec![RuleWork { rule: "quota".into(), trigger, deletes: false, synchronize: true }];
        Work { kind: WorkKind::Generate, policy: "shop/add-quota".into(), rules, required: true }
    }

    #[test]
    fn what_is_written_is_read_again_without_the_object_of_the_request() {
        let incoming = incoming(
            r#"{"uid": "1", "operation": "UPDATE", "kind": {"version": "v1", "kind": "Secret"}, "userInfo": {"username": "anna"},
               "object": {"kind": "Secret", "metadata": {"name": "s", "uid": "u"}, "data": {"k": "bmV3"}},
               "oldObject": {"kind": "Secret", "metadata": {"name": "s", "uid": "u", "resourceVersion": "7"}, "data": {"k": "b2xk"}}}"#,
        );
        let other =
            Trigger { kind: "Namespace".into(), name: "shop".into(), uid: "n".into(), ..Trigger::default() };
        let work = generate(other);
        let document = document(&work, Some(&incoming), "kyverno");
        let text = ephor_value::print::json(&document);
        assert!(!text.contains("bmV3") && !text.contains("b2xk"), "{text}");
        let read = read(&document).unwrap();
        assert_eq!(read.work, Work { required: false, ..work });
        let request = read.incoming.unwrap();
        assert_eq!(request.text(&["oldObject", "metadata", "resourceVersion"]), "7");
        assert_eq!(request.text(&["userInfo", "username"]), "anna");
    }

    #[test]
    fn the_former_object_stays_where_it_is_the_trigger() {
        let incoming = incoming(
            r#"{"uid": "1", "operation": "DELETE", "oldObject": {"kind": "ConfigMap", "metadata": {"name": "a", "uid": "u"}, "data": {"k": "v"}}}"#,
        );
        let document =
            document(&generate(Trigger::of(&incoming.object("oldObject"))), Some(&incoming), "kyverno");
        let request = read(&document).unwrap().incoming.unwrap();
        assert_eq!(request.text(&["oldObject", "data", "k"]), "v");
    }

    #[test]
    fn a_failure_is_counted_in_the_status() {
        let document = document(&generate(Trigger::default()), None, "kyverno");
        let once = read(&failed(&read(&document).unwrap(), "no")).unwrap();
        assert_eq!((once.failures, once.document.text_at(&["status", "state"])), (1, "Failed"));
    }
}
