//! A request of a log as an AdmissionReview has it.
//!
//! In: what a log holds of a request. Out: an [`Incoming`] review: for what is stored, as
//! validating webhooks see it, or for what was sent, as mutating ones do.

use std::sync::Arc;

use ephor_admission::admit::Incoming;
use ephor_document::json;
use ephor_kubernetes::Kinds;
use ephor_value::{Map, Str, Value};

/// A request of a log.
#[derive(Clone, Debug)]
pub struct AuditedRequest {
    /// The line, from 1.
    pub line: u64,
    /// The identifier of the request.
    pub id: Box<str>,
    /// When it came, as the log says.
    pub time: Box<str>,
    /// The name of the user.
    pub user: Box<str>,
    /// All that is known of the user, as JSON.
    pub user_info: Box<str>,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: &'static str,
    /// Group, version and plural of the resource.
    pub resource: [Box<str>; 3],
    /// The kind, where a log names it; else it is that of the object, or of the resource.
    pub kind: Option<Box<str>>,
    /// The subresource.
    pub subresource: Box<str>,
    /// The namespace.
    pub namespace: Box<str>,
    /// The name.
    pub name: Box<str>,
    /// The object as it was sent, as JSON.
    pub sent: Option<Arc<str>>,
    /// The object as it was stored, as JSON.
    pub stored: Option<Arc<str>>,
    /// The object as it was before, as JSON.
    pub before: Option<Arc<str>>,
    /// The options of a connection.
    pub options: Option<Value>,
    /// Whether nothing was to be stored.
    pub dry_run: bool,
    /// Whether the API server granted it.
    pub was_admitted: bool,
}

/// Which object a review is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// As it was sent.
    Sent,
    /// As it was stored.
    Stored,
}

/// Objects of a request that are read once.
#[derive(Clone, Debug)]
pub struct Objects {
    sent: Value,
    stored: Value,
    before: Value,
    user: Value,
}

impl AuditedRequest {
    /// The objects of the request.
    pub fn objects(&self) -> Objects {
        let read = |text: &Option<Arc<str>>| {
            text.as_ref().and_then(|text| json::parse(text).ok()).unwrap_or_default()
        };
        let options = self.options.clone().unwrap_or_default();
        let (sent, stored) = (read(&self.sent), read(&self.stored));
        Objects {
            sent: if sent.is_null() { options } else { sent },
            stored,
            before: read(&self.before),
            user: json::parse(&self.user_info).unwrap_or_default(),
        }
    }

    /// The review of the request.
    pub fn review(&self, objects: &Objects, subject: Subject, kinds: &Kinds) -> Incoming {
        let (first, second) = match subject {
            Subject::Sent => (&objects.sent, &objects.stored),
            Subject::Stored => (&objects.stored, &objects.sent),
        };
        let object = if first.is_null() { second } else { first };
        let (object, before) = match self.operation {
            "DELETE" => (&Value::Null, if objects.before.is_null() { object } else { &objects.before }),
            _ => (object, &objects.before),
        };
        let named = if object.is_null() { before } else { object };
        let [group, version, plural] = &self.resource;
        let kind = self.kind_of(named, kinds);
        let resource = Value::map([
            ("group", (&**group).into()),
            ("version", (&**version).into()),
            ("resource", (&**plural).into()),
        ]);
        let mut request = Map::new();
        request.insert("uid", (&*self.id).into());
        request.insert("kind", kind.clone());
        request.insert("resource", resource.clone());
        request.insert("requestKind", kind);
        request.insert("requestResource", resource);
        for (key, text) in [("subResource", &self.subresource), ("requestSubResource", &self.subresource)] {
            if !text.is_empty() {
                request.insert(key, (&**text).into());
            }
        }
        request.insert("name", (&*self.name).into());
        if !self.namespace.is_empty() {
            request.insert("namespace", (&*self.namespace).into());
        }
        request.insert("operation", self.operation.into());
        request.insert("userInfo", objects.user.clone());
        request.insert("object", object.clone());
        request.insert("oldObject", if self.operation == "CREATE" { Value::Null } else { before.clone() });
        request.insert("dryRun", Value::Bool(self.dry_run));
        Incoming {
            api_version: "admission.k8s.io/v1".into(),
            kind: "AdmissionReview".into(),
            uid: Str::from(&*self.id),
            request,
        }
    }

    /// Group, version and kind of what was sent.
    fn kind_of(&self, object: &Value, kinds: &Kinds) -> Value {
        let [group, version, plural] = &self.resource;
        let gvk = |group: &str, version: &str, kind: &str| {
            Value::map([("group", group.into()), ("version", version.into()), ("kind", kind.into())])
        };
        if let Some(kind) = &self.kind {
            return gvk(group, version, kind);
        }
        let (api_version, kind) = (object.text_at(&["apiVersion"]), object.text_at(&["kind"]));
        if !kind.is_empty() {
            let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
            return gvk(group, version, kind);
        }
        let known = kinds.resource(group, version, plural).map_or("", |known| &*known.kind);
        gvk(group, version, known)
    }
}
