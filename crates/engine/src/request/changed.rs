//! A request whose object was changed by a rule.

use crate::images::Images;
use ephor_matching::Target;
use ephor_value::{Str, Value};

use super::{Request, Root};

impl Request {
    /// For the next rule of the same policy: variables see the changed object with its integers,
    /// the images stay those of the object before.
    pub fn with_object(&self, object: Value) -> Request {
        let shown = put(self.later_root.as_ref().unwrap_or(&self.root).get(), &[("object", object.clone())]);
        Request {
            target: self.target_of(&object),
            root: Root::of(shown),
            later_root: None,
            images: self.images.clone(),
            ..self.on(object)
        }
    }

    /// For the next policy: as if the client had sent the changed object.
    pub fn of_changed(&self, object: Value) -> Request {
        let namespace = Value::from(object.text_at(&["metadata", "namespace"]));
        let mut entries = vec![("object", object.clone())];
        // A request as an API server sends it keeps everything else.
        if self.later_root.is_none() {
            entries.push(("namespace", namespace));
            entries.extend(self.unchanged.then(|| ("oldObject", object.clone())));
        }
        let copied = self.unchanged && self.later_root.is_none();
        let shown = put(self.later_root.as_ref().unwrap_or(&self.root).get(), &entries);
        Request {
            target: self.target_of(&object),
            root: Root::new(shown.clone(), self.doubles),
            later_root: self.later_root.as_ref().map(|_| Root::of(shown)),
            images: Images::of(object.clone(), &self.functions),
            old_object: if copied { object.clone() } else { self.old_object.clone() },
            ..self.on(object)
        }
    }

    /// As if the former object were the one of the request.
    pub fn of_former(&self) -> Request {
        let object = self.old_object.clone();
        Request {
            target: self.target_of(&object),
            root: Root::of(put(self.root.get(), &[("object", object.clone())])),
            images: Images::of(object.clone(), &self.functions),
            ..self.on(object)
        }
    }

    /// As if the former object had been written by another operation.
    pub fn of_former_by(&self, operation: &str) -> Request {
        let mut request = self.of_former();
        request.target.operation = operation.into();
        request
    }

    /// After a rule that lost the object: what is left to match is the former one of an update.
    pub fn without_object(&self) -> Request {
        let left = if self.updates() { &self.old_object } else { &Value::Null };
        Request { target: self.target_of(left), ..self.on(Value::Null) }
    }

    /// Whether the former object is known by itself, so that it is left when the object is lost.
    pub fn outlives_object(&self) -> bool {
        self.updates() && !self.unchanged
    }

    fn updates(&self) -> bool {
        matches!(&*self.target.operation, "UPDATE" | "DELETE")
    }

    /// The same request about another object: what is computed of the object is computed anew.
    pub(super) fn on(&self, object: Value) -> Request {
        Request {
            object,
            old_object: self.old_object.clone(),
            target: self.target.clone(),
            root: self.root.clone(),
            later_root: self.later_root.clone(),
            images: self.images.clone(),
            pod: Default::default(),
            strict_root: Default::default(),
            review_root: Default::default(),
            seen: Default::default(),
            offline: Default::default(),
            shared: Default::default(),
            functions: self.functions.clone(),
            details: self.details,
            doubles: self.doubles,
            unchanged: self.unchanged,
            namespace: self.namespace.clone(),
            sent: self.sent.clone(),
            cause: self.cause.clone(),
        }
    }

    fn target_of(&self, object: &Value) -> Target {
        let found = Target::of(object);
        if self.sent.is_some() {
            // The server has said what the request is about.
            let Target { labels, annotations, exists, .. } = found;
            return Target { labels, annotations, exists, ..self.target.clone() };
        }
        Target {
            operation: self.target.operation.clone(),
            subresource: self.target.subresource.clone(),
            namespace_labels: self.target.namespace_labels.clone(),
            namespace_known: self.target.namespace_known,
            user: self.target.user.clone(),
            old_labels: self.target.old_labels.clone(),
            kinds: self.target.kinds.clone(),
            ..found
        }
    }
}

/// The root with other members of `request`.
fn put(root: &Value, entries: &[(&str, Value)]) -> Value {
    let mut root = root.clone();
    if let Value::Map(m) = &mut root
        && let Some(Value::Map(request)) = m.get_mut("request")
    {
        for (key, value) in entries {
            request.insert(Str::from(*key), value.clone());
        }
    }
    root
}
