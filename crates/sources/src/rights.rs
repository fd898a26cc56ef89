//! Who may do what, by the roles and bindings of a cluster.
//!
//! In: Role, ClusterRole, RoleBinding and ClusterRoleBinding objects. Out: the roles of a user, and
//! whether they allow what expressions check with the authorizer. Grants know no field or label
//! selectors, so a grant covers questions with them.

use std::collections::BTreeSet;
use std::sync::Arc;

use ephor_external::{Authorizer, Roles};
use ephor_value::object::{About, Check, Decision};
use ephor_value::{Str, Value};

/// The roles and bindings of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Rbac {
    bindings: Vec<Binding>,
}

#[derive(Clone, Debug)]
struct Binding {
    name: String,
    /// The namespace that it is limited to.
    namespace: Option<Str>,
    /// Kind and name of its role.
    role: [Str; 2],
    subjects: Vec<Value>,
    rules: Vec<Value>,
}

impl Rbac {
    /// Reads the roles and bindings among some objects.
    pub fn new(objects: &[Value]) -> Rbac {
        let text = |o: &Value, path: &[&str]| Str::from(o.text_at(path));
        let list = |o: &Value, key: &str| o.get(key).and_then(Value::as_list).unwrap_or_default().to_vec();
        let role = |kind: &str, namespace: &str, name: &str| {
            objects.iter().find(|o| {
                o.text_at(&["kind"]) == kind
                    && o.text_at(&["metadata", "name"]) == name
                    && (kind == "ClusterRole" || o.text_at(&["metadata", "namespace"]) == namespace)
            })
        };
        let binding = |o: &Value| {
            let namespace = match o.text_at(&["kind"]) {
                "ClusterRoleBinding" => None,
                "RoleBinding" => Some(text(o, &["metadata", "namespace"])),
                _ => return None,
            };
            let [kind, name] = ["kind", "name"].map(|key| text(o, &["roleRef", key]));
            let own = text(o, &["metadata", "name"]);
            Some(Binding {
                name: match &namespace {
                    Some(ns) => format!("RoleBinding \"{own}/{ns}\""),
                    None => format!("ClusterRoleBinding \"{own}\""),
                },
                subjects: list(o, "subjects"),
                rules: role(&kind, namespace.as_deref().unwrap_or_default(), &name)
                    .map(|r| list(r, "rules"))
                    .unwrap_or_default(),
                namespace,
                role: [kind, name],
            })
        };
        Rbac { bindings: objects.iter().filter_map(binding).collect() }
    }

    /// Whether there is no binding.
    pub fn is_empty(&self) -> bool {
        self.bindings.is_empty()
    }

    /// The roles that a user has in a namespace.
    pub fn roles(&self, user: &Value, namespace: &str) -> Roles {
        let (mut roles, mut cluster_roles) = (BTreeSet::new(), BTreeSet::new());
        let (name, groups) = (user.text_at(&["username"]), groups_of(user));
        let names = |b: &&Binding| b.subjects.iter().any(|s| is_subject(s, b, name, &groups));
        for binding in self.bindings.iter().filter(names) {
            let [kind, role] = &binding.role;
            match &binding.namespace {
                Some(own) if &**kind == "Role" => drop(roles.insert(format!("{own}:{role}"))),
                // A RoleBinding grants a ClusterRole in its namespace only.
                Some(own) if **own != *namespace => {}
                _ => drop(cluster_roles.insert(role.to_string())),
            }
        }
        (roles.into_iter().collect(), cluster_roles.into_iter().collect())
    }

    /// The rights of a user, as `userInfo` describes one.
    pub fn of(self: Arc<Rbac>, user: &Value) -> Arc<dyn Authorizer> {
        Arc::new(UserRights { rbac: self, user: user.text_at(&["username"]).into(), groups: groups_of(user) })
    }
}

fn groups_of(user: &Value) -> Vec<Str> {
    let groups = user.get("groups").and_then(Value::as_list).unwrap_or_default();
    groups.iter().filter_map(Value::as_str).map(Str::from).collect()
}

struct UserRights {
    rbac: Arc<Rbac>,
    user: Str,
    groups: Vec<Str>,
}

impl Authorizer for UserRights {
    fn decide(&self, check: &Check, verb: &str) -> Decision {
        let (user, groups) = match &check.service_account {
            None => (self.user.to_string(), self.groups.clone()),
            Some((ns, name)) => (
                format!("system:serviceaccount:{ns}:{name}"),
                [
                    "system:serviceaccounts".to_string(),
                    format!("system:serviceaccounts:{ns}"),
                    "system:authenticated".into(),
                ]
                .map(Str::from)
                .to_vec(),
            ),
        };
        if groups.iter().any(|g| &**g == "system:masters") {
            return Decision { allowed: true, ..Decision::default() };
        }
        let resource = check.about == About::Resource;
        for binding in &self.rbac.bindings {
            let in_scope = binding
                .namespace
                .as_ref()
                .is_none_or(|ns| resource && !ns.is_empty() && *ns == check.namespace);
            let Some(subject) = binding.subjects.iter().find(|s| is_subject(s, binding, &user, &groups))
            else {
                continue;
            };
            if in_scope && binding.rules.iter().any(|r| grants(r, check, verb)) {
                let whom = subject_text(subject);
                let (name, [kind, role]) = (&binding.name, &binding.role);
                let reason = format!("RBAC: allowed by {name} of {kind} \"{role}\" to {whom}");
                return Decision { allowed: true, reason: reason.into(), ..Decision::default() };
            }
        }
        Decision::default()
    }
}

fn subject_text(subject: &Value) -> String {
    let name = subject.text_at(&["name"]);
    match subject.text_at(&["kind"]) {
        "ServiceAccount" => format!("ServiceAccount \"{name}/{}\"", subject.text_at(&["namespace"])),
        kind => format!("{kind} \"{name}\""),
    }
}

fn is_subject(subject: &Value, binding: &Binding, user: &str, groups: &[Str]) -> bool {
    let name = subject.text_at(&["name"]);
    match subject.text_at(&["kind"]) {
        "User" => name == user,
        "Group" => groups.iter().any(|g| **g == *name),
        "ServiceAccount" => {
            let own = subject.text_at(&["namespace"]);
            let ns = if own.is_empty() { binding.namespace.as_deref().unwrap_or_default() } else { own };
            !ns.is_empty() && user == format!("system:serviceaccount:{ns}:{name}")
        }
        _ => false,
    }
}

fn grants(rule: &Value, check: &Check, verb: &str) -> bool {
    let texts = |key: &str| {
        rule.get(key).and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_str)
    };
    let has = |key: &str, wanted: &str| texts(key).any(|t| t == "*" || t == wanted);
    if !has("verbs", verb) {
        return false;
    }
    if check.about != About::Resource {
        return texts("nonResourceURLs").any(|url| match url.strip_suffix('*') {
            Some(start) => check.path.starts_with(start),
            None => *url == *check.path,
        });
    }
    let whole = match &*check.subresource {
        "" => check.resource.to_string(),
        sub => format!("{}/{sub}", check.resource),
    };
    let any_parent = format!("*/{}", check.subresource);
    let resource = texts("resources")
        .any(|r| r == "*" || r == whole || (!check.subresource.is_empty() && r == any_parent));
    let mut names = texts("resourceNames").peekable();
    has("apiGroups", &check.group) && resource && (names.peek().is_none() || names.any(|n| *n == *check.name))
}
