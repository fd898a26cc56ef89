//! What policies are evaluated on: an operation on an object.

use std::sync::Arc;

use ephor_document::{Document, ResourceOptions, resources};
use ephor_engine::request::{Parts, UserParts};
use ephor_value::{Map, Str, Value};

use crate::Error;

/// What is done to the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// It is created.
    #[default]
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
    /// A subresource such as `pods/exec` is connected to.
    Connect,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }
}

/// Who makes a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct User {
    /// The name, `system:serviceaccount:shop:deployer`.
    pub name: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Roles that are bound to the user, `namespace:name`.
    pub roles: Vec<String>,
    /// Cluster roles that are bound to the user.
    pub cluster_roles: Vec<String>,
}

impl User {
    /// A user of a name, without groups and roles.
    pub fn named(name: impl Into<String>) -> User {
        User { name: name.into(), ..User::default() }
    }

    /// The user as a member of a group.
    #[must_use]
    pub fn in_group(mut self, group: impl Into<String>) -> User {
        self.groups.push(group.into());
        self
    }

    /// The user with a role, `namespace:name`.
    #[must_use]
    pub fn with_role(mut self, role: impl Into<String>) -> User {
        self.roles.push(role.into());
        self
    }

    /// The user with a cluster role.
    #[must_use]
    pub fn with_cluster_role(mut self, role: impl Into<String>) -> User {
        self.cluster_roles.push(role.into());
        self
    }
}

/// An operation on an object.
///
/// ```
/// use ephor::{Operation, Request, User, Value};
///
/// let pod: Value = serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}).into();
/// let request = Request::new(pod.clone())
///     .operation(Operation::Update)
///     .old_object(pod)
///     .user(User::named("eve").in_group("developers"))
///     .namespace_labels([("team", "shop")]);
/// # let _ = request;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub(crate) parts: Parts,
    namespace_labels: Option<Map>,
    /// The text of the object, where it was read from one.
    pub(crate) document: Option<Document>,
}

impl Request {
    /// The creation of an object.
    pub fn new(object: Value) -> Request {
        Request { parts: Parts { object, ..Parts::default() }, ..Request::default() }
    }

    /// The creation of the object of a YAML or JSON text; results have the lines of its fields.
    ///
    /// # Errors
    /// The text is no object, or several.
    pub fn from_yaml(text: &str) -> Result<Request, Error> {
        let mut all = Request::all_of("-", text)?;
        match (all.pop(), all.is_empty()) {
            (Some(request), true) => Ok(request),
            (one, _) => {
                let count = all.len() + usize::from(one.is_some());
                Err(Error::Object { place: "-".into(), message: format!("one object expected, got {count}") })
            }
        }
    }

    /// The creations of the objects of a YAML or JSON text, lists taken apart; `name` stands for
    /// the file in messages.
    ///
    /// # Errors
    /// The first document that is no object.
    pub fn all_of(name: &str, text: &str) -> Result<Vec<Request>, Error> {
        let found = resources(name, text, ResourceOptions::default());
        let all = found.map_err(|e| Error::Object {
            place: format!("{}:{}", e.source, e.line),
            message: e.to_string(),
        })?;
        let request =
            |document: Document| Request { document: Some(document.clone()), ..Request::new(document.value) };
        Ok(all.into_iter().map(request).collect())
    }

    /// The file and the line of the object's document, where the object was read from a text.
    pub fn place(&self) -> Option<(Arc<str>, usize)> {
        self.document.as_ref().map(|d| (d.source.clone(), d.line))
    }

    /// What is done to the object. Of a deletion the object is the one that goes away.
    #[must_use]
    pub fn operation(mut self, operation: Operation) -> Request {
        self.parts.operation = operation.name().into();
        self
    }

    /// The object before the operation; for an update without one it is as the object.
    #[must_use]
    pub fn old_object(mut self, object: Value) -> Request {
        self.parts.old_object = Some(object);
        self
    }

    /// Who makes the request. Nothing is known of the user otherwise.
    #[must_use]
    pub fn user(mut self, user: User) -> Request {
        let groups = user.groups.iter().map(|g| Value::from(&**g)).collect::<Vec<_>>();
        let info: Map =
            [(Str::from("username"), Value::from(&*user.name)), (Str::from("groups"), Value::list(groups))]
                .into_iter()
                .collect();
        let User { roles, cluster_roles, .. } = user;
        self.parts.user = Some(UserParts { info: Value::Map(info), roles, cluster_roles });
        self
    }

    /// The Namespace object of the object. Without it nothing is known of the namespace but its
    /// name.
    #[must_use]
    pub fn namespace(mut self, namespace: Value) -> Request {
        self.parts.namespace = namespace;
        self
    }

    /// The labels of the namespace, where there is no more of it.
    #[must_use]
    pub fn namespace_labels<'l>(mut self, labels: impl IntoIterator<Item = (&'l str, &'l str)>) -> Request {
        let labels = labels.into_iter().map(|(k, v)| (Str::from(k), Value::from(v)));
        self.namespace_labels = Some(labels.collect());
        self
    }

    /// The subresource, `status` or `exec`.
    #[must_use]
    pub fn subresource(mut self, subresource: &str) -> Request {
        self.parts.subresource = subresource.into();
        self
    }

    /// A dry run: nothing is stored.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Request {
        self.parts.dry_run = dry_run;
        self
    }

    /// The parts as the engine reads them.
    pub(crate) fn into_parts(self) -> Parts {
        let Request { mut parts, namespace_labels, .. } = self;
        if let (Value::Null, Some(labels)) = (&parts.namespace, namespace_labels) {
            let name = parts.object.text_at(&["metadata", "namespace"]).to_owned();
            parts.namespace = ephor_engine::request::namespace_of_labels(&name, labels);
        }
        parts
    }
}
