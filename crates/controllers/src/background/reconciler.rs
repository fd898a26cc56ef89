//! What the controllers of background work share.
//!
//! In: settings, the cluster and the policies in use. Out: [`Reconciler`], whose work is in the
//! other files: `existing`, `sync`, `targets`, `work`.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ephor_cluster::cache::Cache;
use ephor_cluster::changes::Changes;
use ephor_cluster::{Cluster, Failure};

use super::event_sink::EventSink;
use super::requests::UpdateRequest;
use super::state::ObjectKind;
use super::task::Task;
use super::watched::Watched;
use crate::in_use::Source;
use crate::lease::Leader;
use crate::queue::Queue;
use ephor_admission::background::{RuleWork, Trigger};

/// How long requests may take to be listed.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How long work waits that is too early, or whose trigger is in work.
pub(super) const SOON: Duration = Duration::from_millis(100);

/// How often requests and policies are evaluated even if nothing is known to have changed.
pub(super) const AT_LEAST: Duration = Duration::from_secs(10);

/// What background work needs.
#[derive(Clone)]
pub struct BackgroundSetup {
    /// The cluster, with the account that generates and changes objects.
    pub cluster: Arc<Cluster>,
    /// The namespace of UpdateRequests.
    pub namespace: String,
    /// The policies in use.
    pub source: Source,
    /// How often rules act again on all that exists.
    pub interval: Duration,
    /// Where results are written.
    pub event_sink: EventSink,
}

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum BackgroundError {
    #[error(transparent)]
    Cluster(#[from] Failure),
    #[error("{}", .0.join("; "))]
    Policies(Vec<String>),
}

/// See the module page.
pub(super) struct Reconciler {
    pub setup: BackgroundSetup,
    pub leader: Arc<Leader>,
    pub queue: Arc<Queue<Task>>,
    pub cache: Cache,
    /// Triggers in work, each with its policy.
    pub busy: Mutex<HashSet<String>>,
    pub existing: LastActed,
    /// What is watched of the objects that policies of expressions generate.
    pub changes: Changes,
    pub watched: Arc<Watched>,
    /// The kinds of these, by the key of the policy; `None` = not read yet.
    pub kinds: Mutex<Option<BTreeMap<String, Vec<ObjectKind>>>>,
}

impl Reconciler {
    /// Claims the triggers of a request; `None` = one of them is in work.
    pub(super) fn claim(&self, request: &UpdateRequest) -> Option<Claim<'_>> {
        let of = |work: &RuleWork| claim_of(&request.work.policy, &work.trigger);
        self.claim_all(request.work.rules.iter().map(of).collect())
    }

    pub(super) fn claim_all(&self, keys: HashSet<String>) -> Option<Claim<'_>> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.iter().any(|key| busy.contains(key)) {
            return None;
        }
        busy.extend(keys.iter().cloned());
        Some(Claim { busy: &self.busy, keys })
    }
}

/// The seconds since 1970.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// What work on a trigger is claimed by.
pub(super) fn claim_of(policy: &str, trigger: &Trigger) -> String {
    match &*trigger.uid {
        "" => format!("{policy} {}/{}/{}", trigger.kind, trigger.namespace, trigger.name),
        uid => format!("{policy} {uid}"),
    }
}

/// Triggers in work, until this is dropped.
pub(super) struct Claim<'c> {
    busy: &'c Mutex<HashSet<String>>,
    keys: HashSet<String>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.retain(|key| !self.keys.contains(key));
    }
}

/// When rules acted last on all that exists.
#[derive(Default)]
pub(super) struct LastActed {
    pub last: Mutex<Option<Instant>>,
}
