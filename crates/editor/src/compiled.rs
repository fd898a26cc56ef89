//! The policies of all files, ready to be evaluated on the manifests.
//!
//! In: the entries of the index. Out: an engine, and for each policy the file that it is from.
//! Policies are lowered once, when their file is read; the engine is put together anew when one of
//! them changes.

use std::collections::HashMap;
use std::sync::Arc;

use ephor_analysis::reach;
use ephor_engine::{Profile, Request, RuleOutcome, Status, action, request::Parts};
use ephor_external::{ExternalData, Found};
use ephor_ir::Policy;
use ephor_ir::parts::{HasParts, RulePart};
use ephor_kubernetes::Types;
use ephor_policies::load::{LoadedPolicy, Policies};
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_policies::violation::violations;
use ephor_value::place::Path;
use ephor_value::{Str, Value};

use crate::cancel::{Cancellation, Cancelled};

/// A rule that is violated, or cannot be evaluated.
#[derive(Clone, Debug)]
pub struct Violated {
    /// The policy.
    pub policy: Arc<Policy>,
    /// The rule; empty for policies whose rules have no names.
    pub rule: Str,
    /// What it says.
    pub message: Str,
    /// Whether the request is denied.
    pub is_enforced: bool,
    /// Whether it could not be evaluated.
    pub is_error: bool,
    /// The field of the object that decided.
    pub field: Option<Path>,
    /// The part of the policy's document that decided.
    pub decision: Option<Path>,
}

/// Objects of files that policies read besides the object itself.
#[derive(Debug, Default)]
pub struct FolderData {
    /// ConfigMaps by namespace and name.
    pub config_maps: HashMap<(Str, Str), Value>,
    /// Namespaces by name.
    pub namespaces: HashMap<Str, Value>,
    /// The types of objects.
    pub types: Arc<Types>,
}

impl ExternalData for FolderData {
    fn types(&self) -> Option<&Types> {
        Some(&self.types)
    }

    fn namespace(&self, name: &str) -> Option<Value> {
        self.namespaces.get(name).cloned()
    }

    fn config_map(&self, namespace: &str, name: &str) -> Found {
        Some(Ok(self.config_maps.get(&(namespace.into(), name.into()))?.clone()))
    }
}

/// See the module page.
pub struct Compiled {
    engine: Engine,
    data: Arc<FolderData>,
    /// The policies as loaded, by their position in the set.
    loaded: Vec<Option<(Arc<str>, LoadedPolicy)>>,
    positions: HashMap<usize, usize>,
}

impl Compiled {
    /// The policies of files.
    pub fn new<'e>(entries: impl Iterator<Item = &'e Policies>, data: FolderData) -> Compiled {
        let mut all = Policies::default();
        for policies in entries {
            all.policies.extend(policies.policies.iter().filter(|p| p.policy.is_some()).cloned());
            all.exceptions.extend(policies.exceptions.iter().cloned());
            all.cel_exceptions.extend(policies.cel_exceptions.iter().cloned());
            all.bindings.extend(policies.bindings.iter().cloned());
        }
        all.policies.retain(|p| p.refused.is_none() && p.uncompiled.is_none());
        all.bind(Vec::new());
        let policies: Vec<Arc<Policy>> = all.policies.iter().filter_map(|p| p.policy.clone()).collect();
        let set = PolicySet::new(policies, all.exceptions).with_cel_exceptions(all.cel_exceptions);
        let positions: HashMap<usize, usize> =
            set.policies().iter().enumerate().map(|(at, policy)| (address(policy), at)).collect();
        let mut loaded: Vec<Option<(Arc<str>, LoadedPolicy)>> = vec![None; set.policies().len()];
        for one in all.policies {
            let at = one.policy.as_ref().and_then(|policy| positions.get(&address(policy)));
            if let Some(slot) = at.and_then(|at| loaded.get_mut(*at)) {
                *slot = Some((one.source.clone(), one));
            }
        }
        let data = Arc::new(data);
        let engine = Engine::new(set).with_profile(Profile::as_cluster()).with_external(data.clone());
        Compiled { engine, data, loaded, positions }
    }

    /// The request that creates an object.
    fn request(&self, object: &Value) -> Option<Request> {
        let namespace = self.data.namespace(object.text_at(&["metadata", "namespace"])).unwrap_or_default();
        let parts = Parts { object: object.clone(), namespace, ..Parts::default() };
        Request::new(parts, self.engine.profile(), self.engine.functions()).ok()
    }

    /// The rules that an object violates, at most `most`, and the number of the others: to find the
    /// field that decided takes longer than to find the violation.
    ///
    /// # Errors
    /// The token was cancelled.
    pub fn violated(
        &self,
        object: &Value,
        most: usize,
        token: &Cancellation,
    ) -> Result<(Vec<Violated>, usize), Cancelled> {
        let Some(request) = self.request(object) else { return Ok((Vec::new(), 0)) };
        let (mut out, mut left) = (Vec::new(), 0);
        for found in self.engine.evaluate(&request).policies {
            token.step()?;
            let violated: Vec<&RuleOutcome> =
                found.rules.iter().filter(|rule| rule.status.is_violation()).collect();
            let Some(at) = self.positions.get(&address(&found.policy)).filter(|_| !violated.is_empty())
            else {
                continue;
            };
            if out.len() >= most {
                left += violated.len();
                continue;
            }
            let places = violations(&self.engine, *at, &request);
            for result in violated {
                let place = places.iter().find(|place| place.rule == result.rule);
                let action = action::of_result(&found.policy, result, &request.target);
                out.push(Violated {
                    policy: found.policy.clone(),
                    rule: result.rule.clone(),
                    message: result.message.clone(),
                    is_enforced: action::enforces(action),
                    is_error: result.status != Status::Fail,
                    field: place.and_then(|place| place.field.clone()),
                    decision: place.and_then(|place| place.decision.clone()),
                });
            }
        }
        Ok((out, left))
    }

    /// The file of a policy, and the policy as loaded.
    pub fn source(&self, policy: &Arc<Policy>) -> Option<&(Arc<str>, LoadedPolicy)> {
        self.loaded.get(*self.positions.get(&address(policy))?)?.as_ref()
    }

    /// Whether a policy may read what only a cluster, a registry or a service has, or who sends the
    /// request.
    pub fn needs_cluster(&self, policy: &Policy) -> bool {
        let reach = reach::of_policy(policy);
        reach.any_cluster() || reach.services || reach.registry || reads_request(policy)
    }

    /// Whether there is no policy.
    pub fn is_empty(&self) -> bool {
        self.engine.set().policies().is_empty()
    }
}

/// Whether an expression reads what a request has besides the object.
fn reads_request(policy: &Policy) -> bool {
    fn search(part: RulePart, found: &mut bool) {
        if let RulePart::Expr(expr) = part {
            *found |= match expr.of_root().map(|(key, below)| (&**key, below.first().map(|key| &**key))) {
                Some(("authorizer" | "namespaceObject" | "serviceAccountName", _)) => true,
                Some(("serviceAccountNamespace", _)) => true,
                Some(("request", below)) => matches!(
                    below,
                    None | Some("userInfo" | "roles" | "clusterRoles" | "options" | "dryRun" | "uid")
                ),
                _ => false,
            };
        }
        if !*found {
            part.parts(&mut |below| search(below, found));
        }
    }
    let mut found = false;
    HasParts::each(policy, &mut |part| search(part, &mut found));
    found
}

fn address(policy: &Arc<Policy>) -> usize {
    Arc::as_ptr(policy) as usize
}
