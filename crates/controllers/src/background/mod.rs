//! Background work: what rules do after a request.
//!
//! In: UpdateRequests, and changes of policies. Out: generated objects, changed objects, deleted
//! ones. A request stays until its work is done; each piece of work compares what is there with
//! what should be there, so it may be done again after a crash. Two requests about the same trigger
//! are never worked on at the same time. Semantics: `docs/reference/cluster.md`, "Background work".

mod accounts;
pub mod apply;
mod cel;
pub mod existing;
pub mod intake;
pub mod outlet;
pub mod requests;
mod rights;
pub mod state;
mod sync;
mod targets;
pub mod trigger;
mod work;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::background_facts::{RuleWork, Trigger};
use crate::in_use::Source;
use crate::lease::Leader;
use crate::queue::{Next, Queue, Workers};
use ephor_cluster::cache::Cache;
use ephor_cluster::changes::Changes;
use ephor_cluster::{Cluster, Failure};
use ephor_value::Value;

use outlet::Outlet;
use requests::{KIND, TRIES, UpdateRequest};
use work::WorkError;

/// The name under which requests and their status are written.
const MANAGER: &str = "ephor";
/// The name under which fields of changed objects are written.
const MUTATE_MANAGER: &str = "ephor-mutate";
const GROUP: &str = "kyverno.io";
/// How many threads work.
const WORKERS: usize = 4;
/// How long requests may take to be listed.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long work waits that is too early, or whose trigger is in work.
const SOON: Duration = Duration::from_millis(100);
/// How often requests and policies are looked at even if nothing is known to have changed.
const AT_LEAST: Duration = Duration::from_secs(10);

/// What background work needs.
#[derive(Clone)]
pub struct Setup {
    /// The cluster, with the account that generates and changes objects.
    pub cluster: Arc<Cluster>,
    /// The namespace of UpdateRequests.
    pub namespace: String,
    /// The policies in use.
    pub source: Source,
    /// How often rules act again on all that exists.
    pub interval: Duration,
    /// Where results are written.
    pub outlet: Outlet,
}

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Task {
    /// Which requests there are.
    Requests,
    /// One of them.
    Request(String),
    /// What has changed in policies.
    Policies,
    /// An object that a policy of expressions generated has changed, or its source.
    Sync(sync::Generated),
    /// The source of copies is gone: its group and version, kind and identifier.
    SourceGone(String, String, String),
}

/// What is to be done.
#[derive(Clone, Default)]
pub struct Tasks(Arc<Queue<Task>>);

impl Tasks {
    /// Says that this replica has begun to lead.
    pub fn begin(&self) {
        self.0.add(Task::Requests);
        self.0.add(Task::Policies);
    }
}

/// The controllers of background work; they end when this is dropped.
pub struct Background {
    queue: Arc<Queue<Task>>,
    _workers: Workers<Task>,
}

impl Background {
    /// Starts the controllers; they work while this replica leads.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(setup: Setup, leader: Arc<Leader>, tasks: Arc<Tasks>) -> std::io::Result<Background> {
        let queue = tasks.0.clone();
        let changed = queue.clone();
        let cache = Cache::with_callback(Arc::new(move |_, _| changed.add(Task::Requests)));
        let watched: Arc<sync::Watched> = Arc::default();
        let (seen, adds) = (watched.clone(), queue.clone());
        let reconciler = Reconciler {
            changes: Changes::new(Arc::new(move |change| seen.take(change, &adds))),
            watched,
            kinds: Mutex::default(),
            setup,
            leader,
            queue: queue.clone(),
            cache,
            busy: Mutex::default(),
            existing: existing::Existing::default(),
        };
        let workers = Workers::start("background", WORKERS, queue.clone(), move |task| reconciler.run(task))?;
        tasks.begin();
        Ok(Background { queue, _workers: workers })
    }

    /// Says that policies have changed.
    pub fn notify(&self) {
        self.queue.add(Task::Policies);
    }
}

struct Reconciler {
    setup: Setup,
    leader: Arc<Leader>,
    queue: Arc<Queue<Task>>,
    cache: Cache,
    /// Triggers in work, each with its policy.
    busy: Mutex<HashSet<String>>,
    existing: existing::Existing,
    /// What is watched of the objects that policies of expressions generate.
    changes: Changes,
    watched: Arc<sync::Watched>,
    /// The kinds of these, by the key of the policy; `None` = not read yet.
    kinds: Mutex<Option<BTreeMap<String, Vec<state::Kind>>>>,
}

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Cluster(#[from] Failure),
    #[error("{}", .0.join("; "))]
    Policies(Vec<String>),
}

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

impl Reconciler {
    fn run(&self, task: &Task) -> Result<Next, Error> {
        if !self.leader.is_leading() {
            return Ok(Next::Done);
        }
        match task {
            Task::Requests => self.requests(),
            Task::Request(name) => self.request(name),
            Task::Policies => self.policies(),
            Task::Sync(generated) => self.synced(generated),
            Task::SourceGone(version, kind, uid) => {
                Ok(self.without_copies(&(version.clone(), kind.clone()), uid)?)
            }
        }
    }

    /// Looks which requests there are.
    fn requests(&self) -> Result<Next, Error> {
        if !self.cache.has(GROUP, KIND) {
            let kinds = self.setup.cluster.kinds()?;
            // A cluster without these has no work either.
            let Some(resource) = kinds.named(KIND).find(|r| *r.group == *GROUP) else {
                return Ok(Next::After(AT_LEAST));
            };
            self.cache.add(&self.setup.cluster, resource, PATIENCE)?;
        }
        for name in self.cache.names(GROUP, KIND, &self.setup.namespace) {
            self.queue.add_new(Task::Request(name));
        }
        Ok(Next::After(AT_LEAST))
    }

    /// Does the work of a request.
    fn request(&self, name: &str) -> Result<Next, Error> {
        let Some(document) = self.read(name)? else { return Ok(Next::Done) };
        let Some(request) = requests::read(&document) else { return Ok(Next::Done) };
        let Some(_claim) = self.claim(&request) else { return Ok(Next::After(SOON)) };
        match self.work(&request) {
            Ok(()) => self.end(&document),
            Err(WorkError::Early) => Ok(Next::After(SOON)),
            // The cluster does not answer; that does not count.
            Err(WorkError::Cluster(e)) if e.is_passing() => Err(e.into()),
            Err(error) => self.fail(&request, &error.to_string()),
        }
    }

    /// Does the work of a policy again; what the policy itself says against it is logged alone.
    fn synced(&self, generated: &sync::Generated) -> Result<Next, Error> {
        match self.sync(generated) {
            Ok(next) => Ok(next),
            Err(WorkError::Cluster(e)) if e.is_passing() => Err(e.into()),
            Err(error) => {
                tracing::warn!(policy = generated.policy, error = %error, "a generated object is not in step");
                Ok(Next::Done)
            }
        }
    }

    /// The request as it is stored.
    fn read(&self, name: &str) -> Result<Option<Value>, Failure> {
        let metadata = Value::map([("name", name.into()), ("namespace", (&*self.setup.namespace).into())]);
        let reference = Value::map([
            ("apiVersion", requests::API_VERSION.into()),
            ("kind", KIND.into()),
            ("metadata", metadata),
        ]);
        self.setup.cluster.current(&reference)
    }

    /// Ends a request whose work is done or given up.
    fn end(&self, document: &Value) -> Result<Next, Error> {
        match self.setup.cluster.remove(document, None) {
            Err(e) if !e.is_not_found() && !e.is_conflict() => Err(e.into()),
            _ => Ok(Next::Done),
        }
    }

    fn fail(&self, request: &UpdateRequest, message: &str) -> Result<Next, Error> {
        let name = request.document.text_at(&["metadata", "name"]);
        let policy = &*request.work.policy;
        if request.failures + 1 >= TRIES {
            tracing::error!(policy, request = name, error = message, "background work is given up");
            return self.end(&request.document);
        }
        tracing::warn!(policy, request = name, error = message, "background work failed; tried again later");
        let failed = requests::failed(request, message);
        match self.setup.cluster.replace_part(&failed, "status", MANAGER) {
            Err(e) if e.is_not_found() => return Ok(Next::Done),
            Err(e) if !e.is_conflict() => return Err(e.into()),
            _ => {}
        }
        let doublings = u32::try_from(request.failures).unwrap_or_default().min(8);
        Ok(Next::After(Duration::from_millis(500).saturating_mul(1 << doublings)))
    }

    /// Claims the triggers of a request; `None` = one of them is in work.
    fn claim(&self, request: &UpdateRequest) -> Option<Claim<'_>> {
        let of = |work: &RuleWork| claim_of(&request.work.policy, &work.trigger);
        self.claim_all(request.work.rules.iter().map(of).collect())
    }

    fn claim_all(&self, keys: HashSet<String>) -> Option<Claim<'_>> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.iter().any(|key| busy.contains(key)) {
            return None;
        }
        busy.extend(keys.iter().cloned());
        Some(Claim { busy: &self.busy, keys })
    }
}

/// What work on a trigger is claimed by.
fn claim_of(policy: &str, trigger: &Trigger) -> String {
    match &*trigger.uid {
        "" => format!("{policy} {}/{}/{}", trigger.kind, trigger.namespace, trigger.name),
        uid => format!("{policy} {uid}"),
    }
}

/// Triggers in work, until this is dropped.
struct Claim<'c> {
    busy: &'c Mutex<HashSet<String>>,
    keys: HashSet<String>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.retain(|key| !self.keys.contains(key));
    }
}
