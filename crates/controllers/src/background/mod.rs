//! Background work: what rules do after a request.
//!
//! In: UpdateRequests, and changes of policies. Out: generated objects, changed objects, deleted
//! ones. A request stays until its work is done; each piece of work compares what is there with
//! what should be there, so it may be done again after a crash. Two requests about the same trigger
//! are never worked on at the same time. Semantics: `docs/reference/cluster.md`, "Background work".
//!
//! - `accounts`: whether the accounts of scans and of deletions may do what a policy wants of
//!   them.
//! - [`apply`]: objects that rules generate, written to a cluster.
//! - `generating_policies`: GeneratingPolicies: objects that expressions generate.
//! - [`event_sink`]: what background work says about itself.
//! - [`policy_changes`]: changes of policies: triggers are queued again, what removed rules
//!   generated goes.
//! - [`intake`]: work of requests, written down before they are answered.
//! - `reconciler`: what the controllers of background work share.
//! - [`requests`]: updateRequests: work that outlives the server that took it.
//! - `rights`: whether the account of background work may do the work of a policy.
//! - [`state`]: what rules with background work were written as when they were last acted on.
//! - `sync`: generated objects of GeneratingPolicies that another program has changed.
//! - `targets`: mutatingPolicies on objects that exist.
//! - [`task`]: pieces of background work.
//! - [`trigger`]: the object that work is about.
//! - `watched`: what is known of generated objects and of the objects that they are copies of.
//! - `work`: the work of an UpdateRequest.

pub(crate) mod accounts;
pub mod apply;
pub mod event_sink;
pub(crate) mod generating_policies;
pub mod intake;
pub mod policy_changes;
pub(crate) mod reconciler;
pub mod requests;
pub(crate) mod rights;
pub mod state;
pub(crate) mod sync;
pub(crate) mod targets;
pub mod task;
pub mod trigger;
pub(crate) mod watched;
pub(crate) mod work;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ephor_cluster::Failure;
use ephor_cluster::cache::Cache;
use ephor_cluster::changes::Changes;
use ephor_value::Value;
pub use reconciler::BackgroundSetup;
use reconciler::{AT_LEAST, BackgroundError, LastActed, PATIENCE, Reconciler, SOON};
use requests::{KIND, TRIES, UpdateRequest};
use task::Task;
pub use task::Tasks;
use watched::Watched;
use work::WorkError;

use crate::field_manager::MANAGER;
use crate::lease::Leader;
use crate::queue::{Next, Queue, Workers};

const GROUP: &str = "kyverno.io";
/// How many threads work.
const WORKERS: usize = 4;

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
    pub fn start(
        setup: BackgroundSetup,
        leader: Arc<Leader>,
        tasks: Arc<Tasks>,
    ) -> std::io::Result<Background> {
        let queue = tasks.0.clone();
        let changed = queue.clone();
        let cache = Cache::with_callback(Arc::new(move |_, _| changed.add(Task::Requests)));
        let watched: Arc<Watched> = Arc::default();
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
            existing: LastActed::default(),
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

impl Reconciler {
    fn run(&self, task: &Task) -> Result<Next, BackgroundError> {
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
    fn requests(&self) -> Result<Next, BackgroundError> {
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
    fn request(&self, name: &str) -> Result<Next, BackgroundError> {
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
    fn synced(&self, generated: &task::Generated) -> Result<Next, BackgroundError> {
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
    fn end(&self, document: &Value) -> Result<Next, BackgroundError> {
        match self.setup.cluster.remove(document, None) {
            Err(e) if !e.is_not_found() && !e.is_conflict() => Err(e.into()),
            _ => Ok(Next::Done),
        }
    }

    fn fail(&self, request: &UpdateRequest, message: &str) -> Result<Next, BackgroundError> {
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
}
