//! The authorizer of a cluster.
//!
//! In: authorizer checks of expressions. Out: the decisions of the API server's
//! SubjectAccessReviews. A check is evaluated once per request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ephor_external::Authorizer;
use ephor_value::object::{About, Check, Decision};
use ephor_value::print::json;
use ephor_value::{Map, Str, Value};

use crate::client::Cluster;
use crate::failure::Failure;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

const OWN_REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// What an account may do with objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Right<'r> {
    /// The verb.
    pub verb: &'r str,
    /// The group.
    pub group: &'r str,
    /// The version.
    pub version: &'r str,
    /// The resource.
    pub resource: &'r str,
    /// Its subresource, or empty.
    pub subresource: &'r str,
    /// The namespace; empty = all.
    pub namespace: &'r str,
    /// The name of the object; empty = all.
    pub name: &'r str,
}

impl Cluster {
    /// Whether the account of this client has a right.
    ///
    /// # Errors
    /// See [`Cluster::request`].
    pub fn may(&self, right: &Right<'_>) -> Result<bool, Failure> {
        let attributes = Value::map([
            ("verb", right.verb.into()),
            ("group", right.group.into()),
            ("version", right.version.into()),
            ("resource", right.resource.into()),
            ("subresource", right.subresource.into()),
            ("namespace", right.namespace.into()),
            ("name", right.name.into()),
        ]);
        let review = Value::map([
            ("apiVersion", "authorization.k8s.io/v1".into()),
            ("kind", "SelfSubjectAccessReview".into()),
            ("spec", Value::map([("resourceAttributes", attributes)])),
        ]);
        let answer = self.request("POST", OWN_REVIEWS, "application/json", Some(&review))?;
        Ok(answer.at(&["status", "allowed"]).and_then(Value::as_bool) == Some(true))
    }
}

/// Answers questions about what a user may do.
pub struct Access {
    cluster: Arc<Cluster>,
    user: Value,
    known: Mutex<HashMap<String, Decision>>,
}

impl Access {
    /// About a user, as `userInfo` describes one.
    pub fn of(cluster: Arc<Cluster>, user: &Value) -> Access {
        Access { cluster, user: user.clone(), known: Mutex::default() }
    }
}

/// The SubjectAccessReview of a check.
fn review(user: &Value, check: &Check, verb: &str) -> Value {
    let mut spec = Map::new();
    match &check.service_account {
        Some((namespace, name)) => {
            let groups = [
                "system:serviceaccounts".into(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".into(),
            ];
            spec.insert("user", Value::from(format!("system:serviceaccount:{namespace}:{name}")));
            spec.insert("groups", Value::list(groups.into_iter().map(|g: String| Value::from(g)).collect()));
        }
        None => {
            for (key, of) in [("user", "username"), ("groups", "groups"), ("uid", "uid"), ("extra", "extra")]
            {
                if let Some(v) = user.get(of).filter(|v| !v.is_null()) {
                    spec.insert(key, v.clone());
                }
            }
        }
    }
    let text = |s: &Str| Value::Str(s.clone());
    match check.about {
        About::Resource | About::Group => {
            let attributes = Value::map([
                ("verb", verb.into()),
                ("group", text(&check.group)),
                ("version", "*".into()),
                ("resource", text(&check.resource)),
                ("subresource", text(&check.subresource)),
                ("namespace", text(&check.namespace)),
                ("name", text(&check.name)),
            ]);
            let mut attributes = attributes.as_map().cloned().unwrap_or_default();
            for (key, written) in [("fieldSelector", &check.fields), ("labelSelector", &check.labels)] {
                if !written.is_empty() {
                    attributes.insert(key, Value::map([("rawSelector", text(written))]));
                }
            }
            spec.insert("resourceAttributes", Value::Map(attributes));
        }
        About::Path | About::Anything => {
            let attributes = Value::map([("verb", verb.into()), ("path", text(&check.path))]);
            spec.insert("nonResourceAttributes", attributes);
        }
    }
    Value::map([
        ("apiVersion", "authorization.k8s.io/v1".into()),
        ("kind", "SubjectAccessReview".into()),
        ("spec", Value::Map(spec)),
    ])
}

impl Authorizer for Access {
    fn decide(&self, check: &Check, verb: &str) -> Decision {
        let review = review(&self.user, check, verb);
        let key = json(&review);
        let known = |all: &Mutex<HashMap<String, Decision>>| {
            all.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
        };
        if let Some(known) = known(&self.known) {
            return known;
        }
        let decision = match self.cluster.request("POST", REVIEWS, "application/json", Some(&review)) {
            Ok(answer) => Decision {
                allowed: answer.at(&["status", "allowed"]).and_then(Value::as_bool) == Some(true),
                reason: answer.text_at(&["status", "reason"]).into(),
                error: answer.text_at(&["status", "evaluationError"]).into(),
            },
            Err(e) => Decision { error: e.text.into(), ..Decision::default() },
        };
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, decision.clone());
        decision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_names_the_user_and_the_attributes() {
        let user = Value::map([("username", "anna".into()), ("groups", Value::list(vec!["devs".into()]))]);
        let check = Check {
            about: About::Resource,
            resource: "pods".into(),
            namespace: "shop".into(),
            ..Check::default()
        };
        assert_eq!(
            json(&review(&user, &check, "create")),
            r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"groups":["devs"],"resourceAttributes":{"group":"","name":"","namespace":"shop","resource":"pods","subresource":"","verb":"create","version":"*"},"user":"anna"}}"#
        );
        let path = Check { about: About::Path, path: "/healthz".into(), ..Check::default() };
        let robot = Check { service_account: Some(("shop".into(), "bot".into())), ..path };
        let review = review(&user, &robot, "get");
        assert_eq!(review.text_at(&["spec", "user"]), "system:serviceaccount:shop:bot");
        assert_eq!(review.text_at(&["spec", "nonResourceAttributes", "path"]), "/healthz");
    }
}
