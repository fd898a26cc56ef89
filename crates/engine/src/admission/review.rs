//! A request as admission sees it.

use ephor_matching::constraints::Attributes;
use ephor_value::{Map, Str, Value};

/// The `request` of an AdmissionReview with the fields that are read often.
#[derive(Clone, Debug)]
pub struct Review {
    /// The request, in the version of the client.
    pub request: Value,
    /// What matching reads.
    pub attributes: Attributes,
}

impl Review {
    /// Reads a request.
    pub fn new(request: Value) -> Review {
        let text = |path: &[&str]| match request.at(path) {
            Some(Value::Str(s)) => s.clone(),
            _ => Str::from(""),
        };
        let labels = |key: &str| {
            let metadata = request.get(key)?.get("metadata")?;
            Some(metadata.get("labels").and_then(Value::as_map).cloned().unwrap_or_default())
        };
        let attributes = Attributes {
            group: text(&["resource", "group"]),
            version: text(&["resource", "version"]),
            resource: text(&["resource", "resource"]),
            subresource: text(&["subResource"]),
            kind: [text(&["kind", "group"]), text(&["kind", "version"]), text(&["kind", "kind"])],
            name: text(&["name"]),
            namespace: text(&["namespace"]),
            operation: text(&["operation"]),
            labels: labels("object"),
            old_labels: labels("oldObject"),
        };
        Review { request, attributes }
    }

    /// The same request with another object.
    pub fn with_object(&self, object: Value) -> Review {
        let mut request = self.request.as_map().cloned().unwrap_or_default();
        request.insert("object", object);
        Review::new(Value::Map(request))
    }

    /// A part of the request; null when it is not there.
    pub fn part(&self, key: &str) -> Value {
        self.request.get(key).cloned().unwrap_or_default()
    }

    /// The object.
    pub fn object(&self) -> &Value {
        const NULL: &Value = &Value::Null;
        self.request.get("object").unwrap_or(NULL)
    }

    /// The former object.
    pub fn old_object(&self) -> &Value {
        const NULL: &Value = &Value::Null;
        self.request.get("oldObject").unwrap_or(NULL)
    }

    /// Whether nothing is stored (`dryRun`).
    pub fn is_dry_run(&self) -> bool {
        self.request.get("dryRun").and_then(Value::as_bool) == Some(true)
    }

    /// Whether it is about what decides over requests: policies, bindings, webhooks.
    pub fn is_about_admission(&self) -> bool {
        &*self.attributes.group == "admissionregistration.k8s.io"
    }

    /// Whether no policy that the API stores ever sees it: policies themselves, and questions about
    /// users and rights.
    pub fn is_exempt(&self) -> bool {
        let a = &self.attributes;
        match &*a.group {
            "admissionregistration.k8s.io" => matches!(
                &*a.resource,
                "validatingadmissionpolicies"
                    | "validatingadmissionpolicybindings"
                    | "mutatingadmissionpolicies"
                    | "mutatingadmissionpolicybindings"
            ),
            "authentication.k8s.io" => matches!(&*a.resource, "selfsubjectreviews" | "tokenreviews"),
            "authorization.k8s.io" => matches!(
                &*a.resource,
                "localsubjectaccessreviews"
                    | "selfsubjectaccessreviews"
                    | "selfsubjectrulesreviews"
                    | "subjectaccessreviews"
            ),
            _ => false,
        }
    }

    /// The namespace that expressions see: that of the object, none for a namespace itself.
    pub fn namespace(&self) -> Option<&Str> {
        let a = &self.attributes;
        let is_namespace = a.kind[0].is_empty() && &*a.kind[1] == "v1" && &*a.kind[2] == "Namespace";
        (!a.namespace.is_empty() && !is_namespace).then_some(&a.namespace)
    }

    /// The resource with its group, `deployments.apps`.
    pub fn resource_name(&self) -> String {
        let a = &self.attributes;
        if a.group.is_empty() { a.resource.to_string() } else { format!("{}.{}", a.resource, a.group) }
    }

    /// The name that answers give: of the request, else of the object, else what it will begin
    /// with.
    pub fn shown_name(&self) -> Str {
        if !self.attributes.name.is_empty() {
            return self.attributes.name.clone();
        }
        let Some(metadata) = self.object().get("metadata") else {
            let gone = self.object().is_null();
            return if gone { "Unknown" } else { "Unknown/errorGettingName" }.into();
        };
        let found =
            ["name", "generateName"].into_iter().map(|k| metadata.text_at(&[k])).find(|t| !t.is_empty());
        found.unwrap_or("Unknown").into()
    }

    /// The details of an answer.
    pub fn details(&self) -> Value {
        let mut m = Map::new();
        let a = &self.attributes;
        if !a.group.is_empty() {
            m.insert("group", Value::Str(a.group.clone()));
        }
        m.insert("kind", Value::Str(a.resource.clone()));
        m.insert("name", Value::Str(self.shown_name()));
        Value::Map(m)
    }
}
