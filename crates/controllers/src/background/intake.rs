//! Work of requests, written down before they are answered.
//!
//! In: a request that policies allow. Out: an UpdateRequest for each policy with work for it, so
//! that a server which ends right after its answer loses nothing. Where that cannot be written, the
//! failure policy decides about the request. Semantics: `docs/reference/cluster.md`, "Background
//! work".

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ephor_cluster::{Cluster, Failure};
use ephor_engine::Request;
use ephor_value::Value;

use super::apply::CLONE_SOURCE;
use super::{accounts, apply, requests, rights};
use crate::field_manager::MANAGER;
use ephor_admission::admit::{Deadline, Gate, Incoming, Phase, Route};
use ephor_admission::background::{Class, RuleFacts, RuleWork, Trigger, Work, WorkKind};

/// How often a request is written at most, and the pause between two tries.
const TRIES: u32 = 3;
/// See [`TRIES`].
const PAUSE: Duration = Duration::from_millis(200);

/// What is logged of a controller with the account of a user.
const OWN_REQUESTS: &str = "the server has the account of a user, whose own requests trigger no rules that generate or change \
                            objects (skipBackgroundRequests): start it with an account of its own";

/// Whether an account is none that programs alone have. Rules leave out what a controller itself
/// does.
fn is_of_a_person(name: &str) -> bool {
    !name.starts_with("system:serviceaccount:")
}

/// Takes the work of requests.
pub struct WorkIntake {
    cluster: Arc<Cluster>,
    namespace: String,
    /// The account that does the work.
    background: Arc<Cluster>,
    /// The accounts of the controllers.
    own: Vec<String>,
    /// The accounts of scans and of deletions, where what they may do is read.
    others: Option<[Arc<Cluster>; 2]>,
}

/// Work that could not be written down.
#[derive(Debug, thiserror::Error)]
#[error("policy {policy}: its work after this request cannot be written down: {cause}")]
pub struct NotTaken {
    policy: String,
    #[source]
    cause: Failure,
    /// Whether the request must not go through without it.
    pub required: bool,
}

impl WorkIntake {
    /// Writes UpdateRequests to a namespace of a cluster, for the account that does the work; its
    /// own requests, and those of the server, do not bring what was generated in step again.
    pub fn new(cluster: Arc<Cluster>, namespace: String, background: Arc<Cluster>) -> WorkIntake {
        let mut own = Vec::new();
        for account in [&cluster, &background] {
            match account.user_name() {
                Ok(name) if name.is_empty() => {
                    tracing::warn!("the API server does not name the account of a controller");
                }
                Ok(name) => own.push(name),
                Err(error) => tracing::warn!(error = %error, "the account of a controller is not known"),
            }
        }
        own.sort();
        own.dedup();
        for user in own.iter().filter(|name| is_of_a_person(name)) {
            tracing::warn!(user, "{OWN_REQUESTS}");
        }
        WorkIntake { cluster, namespace, background, own, others: None }
    }

    /// The same, looking also at what the accounts of scans and of deletions may do.
    pub fn with_accounts(mut self, scans: Arc<Cluster>, deletions: Arc<Cluster>) -> WorkIntake {
        self.others = Some([scans, deletions]);
        self
    }

    /// Why a policy that is applied is refused: the account of background work, or of deletions,
    /// may not do that work. What cannot be found out refuses nothing.
    pub fn refuses(&self, policy: &Value) -> Option<String> {
        let found = match (&self.others, policy.text_at(&["kind"])) {
            (Some([_, deletions]), "CleanupPolicy" | "ClusterCleanupPolicy") => {
                accounts::undeletable(deletions, policy)
            }
            _ => rights::missing(&self.background, policy),
        };
        found.unwrap_or_else(|error| {
            tracing::warn!(error = %error, "it is not known whether a policy may be carried out");
            None
        })
    }

    /// What the author of a policy should know: scans may not read some of what it is about.
    pub fn warnings(&self, policy: &Value) -> Vec<String> {
        let Some([scans, _]) = &self.others else { return Vec::new() };
        accounts::unreadable(scans, policy).unwrap_or_else(|error| {
            tracing::warn!(error = %error, "it is not known whether scans may read what a policy is about");
            Vec::new()
        })
    }

    /// Whether a controller sends a request.
    pub fn is_own(&self, incoming: &Incoming) -> bool {
        let user = incoming.text(&["userInfo", "username"]);
        self.own.iter().any(|own| own == user)
    }

    /// Takes the work of a request that policies allow.
    ///
    /// # Errors
    /// The first work that cannot be written down; work that is required comes first.
    pub fn take(
        &self,
        gate: &Gate,
        route: &Route,
        incoming: &Incoming,
        request: &Request,
        deadline: &Deadline,
    ) -> Result<(), NotTaken> {
        if incoming.dry_run() {
            return Ok(());
        }
        let is_own = self.is_own(incoming);
        let mut all = gate.work(route, incoming, request, is_own, deadline);
        if route.phase == Phase::Validate && !is_own && incoming.text(&["subResource"]).is_empty() {
            all.extend(self.of_generated(gate, route, incoming)?);
        }
        all.sort_by_key(|work| !work.required);
        all.iter().try_for_each(|work| self.write(work, incoming, deadline))
    }

    fn write(&self, work: &Work, incoming: &Incoming, deadline: &Deadline) -> Result<(), NotTaken> {
        let document = requests::document(work, Some(incoming), &self.namespace);
        let mut tries = 0;
        loop {
            tries += 1;
            match self.cluster.create(&document, MANAGER) {
                Ok(_) => return Ok(()),
                Err(e) if tries < TRIES && !deadline.is_over() && e.is_passing() => std::thread::sleep(PAUSE),
                Err(cause) => {
                    tracing::error!(policy = work.policy, error = %cause, "work after a request cannot be written down");
                    return Err(NotTaken { policy: work.policy.clone(), cause, required: work.required });
                }
            }
        }
    }

    /// The work of a change to an object that a rule copied or generated.
    fn of_generated(&self, gate: &Gate, route: &Route, incoming: &Incoming) -> Result<Vec<Work>, NotTaken> {
        let old = incoming.object("oldObject");
        let mut found: BTreeMap<String, Vec<RuleWork>> = BTreeMap::new();
        let mut add = |object: &Value, deletes: bool| {
            let Some((policy, rule)) = apply::origin_of(object) else { return };
            let facts =
                gate.background(Class::Rules, &policy).and_then(|facts| RuleFacts::find(facts, &rule));
            let is_synchronized = facts.is_some_and(|f| f.kind == WorkKind::Generate && f.synchronize);
            if !is_synchronized || !gate.takes(&policy, route) {
                return;
            }
            let trigger: Trigger = apply::trigger_of(object);
            if !trigger.is(&old) {
                let work = RuleWork { rule: rule.into(), trigger, deletes, synchronize: true };
                let works = found.entry(policy).or_default();
                if !works.contains(&work) {
                    works.push(work);
                }
            }
        };
        if old.at(&["metadata", "labels", CLONE_SOURCE]).is_some() {
            let of = |key: &str| incoming.text(&["kind", key]);
            let api_version = match of("group") {
                "" => of("version").to_string(),
                group => format!("{group}/{}", of("version")),
            };
            let source = old.with("apiVersion", (&*api_version).into()).with("kind", of("kind").into());
            let copies = apply::copies(&self.cluster, &source);
            let copies =
                copies.map_err(|cause| NotTaken { policy: "of copies".into(), cause, required: false })?;
            let deletes = incoming.text(&["operation"]) == "DELETE";
            copies.iter().for_each(|copy| add(copy, deletes));
        }
        add(&old, false);
        let work = |(policy, rules)| Work { kind: WorkKind::Generate, policy, rules, required: false };
        Ok(found.into_iter().map(work).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::is_of_a_person;

    #[test]
    fn a_service_account_is_of_no_person_and_the_name_of_a_certificate_is() {
        assert!(!is_of_a_person("system:serviceaccount:ephor:ephor"));
        assert!(is_of_a_person("kubernetes-admin") && is_of_a_person("system:admin"));
    }
}
