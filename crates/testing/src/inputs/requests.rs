//! Requests built from resources, values and the user.
//!
//! In: an object, the policy whose own values count, the engine. Out: a request, or the results of
//! policies that have values of their own for the object.

use std::sync::Arc;

use ephor_engine::request::{NoObjects, Parts, UserParts};
use ephor_engine::{Profile, Request};
use ephor_ir::Policy;
use ephor_ir::facts::Stage;
use ephor_policies::policy_set::{Engine, Outcome};
use ephor_value::{Str, Value};

use super::values::{Placed, Values};

/// What all requests of a run have in common.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// Values of variables.
    pub values: Arc<Values>,
    /// The user that sends the requests.
    pub user: Option<UserParts>,
    /// The fidelity profile.
    pub profile: Profile,
    /// Whether results carry what only reports show.
    pub details: bool,
    /// The operation; takes precedence over values.
    pub operation: Option<Str>,
    /// The former object of updates; `None` = a copy of the object.
    pub old_object: Option<Value>,
}

impl Requests {
    /// The request for an object; `policy` names the policy whose own values count.
    ///
    /// # Errors
    /// No request can be built from it.
    pub fn of(&self, object: Value, policy: Option<&str>, engine: &Engine) -> Result<Request, NoObjects> {
        let values = self.values.for_resource(policy, object.text_at(&["metadata", "name"]));
        self.with(object, values, engine)
    }

    /// The request on which a policy decides: with its own values where it has some, and as
    /// [`Requests::with_own_values`] evaluates it.
    ///
    /// # Errors
    /// No request can be built from the object.
    pub fn of_policy(&self, policy: &Policy, object: Value, engine: &Engine) -> Result<Request, NoObjects> {
        match policy.stage {
            Stage::Expressions | Stage::ApiServer if self.values.change_requests() => {
                self.plain(object, engine)
            }
            Stage::Expressions | Stage::ApiServer => self.of(object, None, engine),
            _ => self.of(object, Some(&policy.name), engine),
        }
    }

    /// The request as policies in CEL see it, for which of all values only the operation of all
    /// policies counts.
    fn plain(&self, object: Value, engine: &Engine) -> Result<Request, NoObjects> {
        let operation = Values::operation(&self.values.global);
        let values = operation.map(|operation| (operation_path(), Value::from(operation)));
        self.with(object, values.into_iter().collect(), engine)
    }

    fn with(&self, object: Value, mut values: Vec<Placed>, engine: &Engine) -> Result<Request, NoObjects> {
        if let Some(operation) = &self.operation {
            values.push((operation_path(), Value::Str(operation.clone())));
        }
        let shaped = |op: &&str| matches!(*op, "UPDATE" | "DELETE");
        let operation = Values::operation(&values).filter(shaped).unwrap_or("CREATE");
        let subresource = self.values.subresources.iter().find(|s| s.kind == object.text_at(&["kind"]));
        let parts = Parts {
            namespace: self.namespace(&object),
            object,
            old_object: self.old_object.clone(),
            operation: operation.into(),
            subresource: subresource.map_or(Str::from(""), |s| s.name.as_str().into()),
            user: self.user.clone(),
            values,
            dry_run: false,
            details: self.details,
            sent: None,
        };
        let mut request = Request::new(parts, self.profile, engine.functions())?;
        if let Some(s) = subresource.filter(|s| !s.parent.iter().all(|part| part.is_empty())) {
            // Rules name a subresource by the kind of what it belongs to.
            let [group, version, kind] = s.parent.clone();
            request.target.group = group;
            request.target.version = version;
            request.target.kind = kind;
        }
        Ok(request)
    }

    /// Policies that have values of their own for a resource are evaluated with these, policies in
    /// CEL without values.
    pub fn with_own_values(
        &self,
        object: &Value,
        request: &Request,
        mut outcome: Outcome,
        engine: &Engine,
    ) -> Outcome {
        let is_changed = self.values.change_requests();
        if self.values.resources.is_empty() && !is_changed {
            return outcome;
        }
        let name = object.text_at(&["metadata", "name"]);
        let own = |at: usize, object: &Value| {
            let policy = engine.set().policies().get(at)?;
            match policy.stage {
                Stage::Expressions | Stage::ApiServer if is_changed => {
                    self.plain(object.clone(), engine).ok()
                }
                Stage::Expressions | Stage::ApiServer => None,
                _ if self.values.resources.contains_key(&(policy.name.to_string(), name.into())) => {
                    self.of(object.clone(), Some(&policy.name), engine).ok()
                }
                _ => None,
            }
        };
        if engine.set().has_phases() {
            // What a policy leaves is what the next one sees, so all of them run again.
            return engine.evaluate_phases(request, &own);
        }
        for at in 0..engine.set().policies().len() {
            if let Some(request) = own(at, object) {
                outcome.replace(engine.set(), at, engine.evaluate_policy(at, &request));
            }
        }
        outcome
    }

    /// The namespace that the object is, or is in; null when nothing is known of it.
    pub fn namespace(&self, object: &Value) -> Value {
        let namespace = match object.text_at(&["kind"]) {
            "Namespace" => object.text_at(&["metadata", "name"]),
            _ => object.text_at(&["metadata", "namespace"]),
        };
        self.values.namespaces.get(namespace).cloned().unwrap_or_default()
    }
}

fn operation_path() -> Vec<Str> {
    ["request", "operation"].map(Str::from).into()
}
