//! The controllers of a replica.
//!
//! In: the policies in use, whenever they change; a lease. Out: webhook configurations, then
//! statuses, while this replica leads. A policy is ready when the configurations that carry it are
//! written, never before.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ephor_cluster::{Cluster, Failure};

use crate::background::Background;
use crate::background::event_sink::EventSink;
use crate::background::task::Tasks;
use crate::certificates::Step;
use crate::in_use::{InUse, PolicyKey, Source, StoredPolicy};
use crate::lease::{Leader, LeaseName, Times};
use crate::native::{Made, NativeState, NativeStatuses};
use crate::queue::{Next, Queue, Workers};
use crate::scan::Scans;
use crate::scan::work::ScanWork;
use crate::shards::assigned::Assigned;
use crate::shards::leases::ShardLeases;
use crate::status::Rights;
use crate::webhooks::WebhookPlan;
use crate::{background, certificates, cleanup, lifetime, native, scan, status, webhooks};

/// How often everything is compared even if nothing is known to have changed.
const AT_LEAST: Duration = Duration::from_secs(10);
/// How often certificates are read even if their Secret does not change.
const CERTIFICATES: Duration = Duration::from_secs(600);
/// How soon after a step towards a new certificate the next one follows.
const AFTER_CHANGE: Duration = Duration::from_millis(500);
/// How many threads work.
const WORKERS: usize = 2;

/// What controllers need.
pub struct ManagerSetup {
    /// The cluster, with the account that writes webhook configurations and statuses.
    pub cluster: Arc<Cluster>,
    /// The same, with the account that scans objects for reports.
    pub reports: Arc<Cluster>,
    /// The same, with the account that deletes objects.
    pub cleanup: Arc<Cluster>,
    /// The same, with the account that generates and changes objects.
    pub background: Arc<Cluster>,
    /// How often rules act again on all that exists.
    pub interval: Duration,
    /// Where results of background work are written.
    pub event_sink: EventSink,
    /// How often labels that say how long objects live are read; `None` = never.
    pub lifetimes: Option<Duration>,
    /// Background scans; `None` = there are none.
    pub scans: Option<scan::ScanSetup>,
    /// The policies in use.
    pub source: Source,
    /// Which policies of Kubernetes are generated from Kyverno's.
    pub native: Made,
    /// Which webhook configurations there are.
    pub plan: WebhookPlan,
    /// The lease of the replica that leads.
    pub place: LeaseName,
    /// Its times.
    pub times: Times,
}

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ManagerWork {
    /// The webhook configurations.
    Webhooks,
    /// The server's certificate.
    Certificate,
    /// The status of a policy.
    Status(PolicyKey),
    /// A policy that deletes objects on a schedule.
    Schedule(PolicyKey),
    /// Objects that live for a time.
    Lifetimes,
}

/// The controllers of a replica; they end when this is dropped.
pub struct Controllers {
    queue: Arc<Queue<ManagerWork>>,
    background: Background,
    // Leases are given back before the workers end, and they do nothing without them.
    leader: Arc<Leader>,
    _of_shards: Option<ShardLeases>,
    _workers: Workers<ManagerWork>,
    scans: Option<Scans>,
}

impl Controllers {
    /// Starts the controllers.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(setup: ManagerSetup) -> std::io::Result<Controllers> {
        let queue: Arc<Queue<ManagerWork>> = Arc::default();
        let begins = queue.clone();
        let tasks: Arc<Tasks> = Arc::default();
        let begun = tasks.clone();
        let scanned = Arc::new(scan::queue());
        let shards = setup.scans.as_ref().map_or(NonZero::<u32>::MIN, |scans| scans.shards);
        let assigned = Arc::new(Assigned::none_of(shards));
        let (scans_begin, granted) = (scanned.clone(), assigned.clone());
        let leader = Leader::start(setup.cluster.clone(), setup.place.clone(), setup.times, move |leads| {
            if shards == NonZero::<u32>::MIN {
                if leads {
                    granted.grant(0, None)
                } else {
                    granted.revoke(0)
                }
                scans_begin.add(ScanWork::Policies);
            }
            if leads {
                begins.add(ManagerWork::Certificate);
                begins.add(ManagerWork::Webhooks);
                begins.add(ManagerWork::Lifetimes);
                begun.begin();
            } else {
                begins.clear();
            }
        })?;
        let leader = Arc::new(leader);
        let background = background::BackgroundSetup {
            cluster: setup.background.clone(),
            namespace: setup.place.namespace.clone(),
            source: setup.source.clone(),
            interval: setup.interval,
            event_sink: setup.event_sink.clone(),
        };
        let background = Background::start(background, leader.clone(), tasks)?;
        let of_shards = (shards > NonZero::<u32>::MIN).then(|| {
            let (cluster, place, changed) = (setup.cluster.clone(), setup.place.clone(), scanned.clone());
            let changed = move || changed.add(ScanWork::Policies);
            ShardLeases::start(cluster, place, setup.times, assigned.clone(), changed)
        });
        let of_shards = of_shards.transpose()?;
        let scans = |of| {
            let (cluster, source) = (setup.reports.clone(), setup.source.clone());
            Scans::start(of, cluster, source, scanned, assigned)
        };
        let scans = setup.scans.clone().map(scans).transpose()?;
        let work = PolicyReconciler {
            rights: Rights::of(setup.reports.clone()),
            setup,
            leader: leader.clone(),
            queue: queue.clone(),
            carried: Mutex::default(),
            native: Mutex::default(),
            seen: NativeStatuses::default(),
        };
        let workers = Workers::start("controllers", WORKERS, queue.clone(), move |key| work.run(key))?;
        Ok(Controllers { queue, background, leader, _of_shards: of_shards, _workers: workers, scans })
    }

    /// Whether this replica leads.
    pub fn is_leading(&self) -> bool {
        self.leader.is_leading()
    }

    /// Says that the server's certificate, or what is to trust it, has changed.
    pub fn renew(&self) {
        self.queue.add(ManagerWork::Webhooks);
        self.queue.add(ManagerWork::Certificate);
    }

    /// Says that the policies in use, the settings or the kinds of the cluster have changed.
    pub fn notify(&self) {
        self.queue.add(ManagerWork::Webhooks);
        self.background.notify();
        self.scans.iter().for_each(Scans::notify);
    }
}

/// Why work failed.
#[derive(Debug, thiserror::Error)]
enum ManagerError {
    #[error(transparent)]
    Webhooks(#[from] webhooks::WebhookError),
    #[error(transparent)]
    Cleanup(#[from] cleanup::CleanupError),
    #[error(transparent)]
    Certificate(#[from] certificates::CertificateError),
    #[error(transparent)]
    Cluster(#[from] Failure),
}

struct PolicyReconciler {
    setup: ManagerSetup,
    leader: Arc<Leader>,
    queue: Arc<Queue<ManagerWork>>,
    rights: Rights,
    /// The policies that the webhook configurations carry, with the version of each.
    carried: Mutex<HashMap<PolicyKey, i64>>,
    /// What became of the policies that may become policies of Kubernetes.
    native: Mutex<HashMap<PolicyKey, NativeState>>,
    /// These, as a watch shows them.
    seen: NativeStatuses,
}

/// Which form of a policy this is.
fn generation(policy: &StoredPolicy) -> i64 {
    let number = policy.document.at(&["metadata", "generation"]);
    number.and_then(ephor_value::Value::as_int).unwrap_or_default()
}

impl PolicyReconciler {
    fn run(&self, work: &ManagerWork) -> Result<Next, ManagerError> {
        if !self.leader.is_leading() {
            return Ok(Next::Done);
        }
        match work {
            ManagerWork::Webhooks => self.webhooks(),
            ManagerWork::Certificate => self.certificate(),
            ManagerWork::Status(key) => self.status(key),
            ManagerWork::Schedule(key) => self.schedule(key),
            ManagerWork::Lifetimes => match self.setup.lifetimes {
                Some(interval) => Ok(Next::After(lifetime::sweep(&self.setup.cleanup, interval)?)),
                None => Ok(Next::Done),
            },
        }
    }

    fn webhooks(&self) -> Result<Next, ManagerError> {
        let in_use = (self.setup.source)();
        // A policy of Kubernetes is written before the webhook goes, and removed after it came
        // back.
        let before = self.native.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let native = self.native(&*in_use, &before);
        let is_native =
            |policy: &StoredPolicy| native.get(&policy.key()).is_some_and(|state| state.generated);
        let unknown = webhooks::reconcile(&self.setup.cluster, &self.setup.plan, &*in_use, &is_native)?;
        for policy in in_use.stored().iter().filter(|p| !is_native(p)) {
            if let Err(error) = native::remove_former(&self.setup.cluster, policy, before.get(&policy.key()))
            {
                tracing::warn!(policy = %policy.key(), error = %error, "its policy of Kubernetes is not removed");
            }
        }
        *self.native.lock().unwrap_or_else(PoisonError::into_inner) = native;
        for kind in unknown {
            tracing::debug!(kind, "no resource of the cluster has this kind of a policy");
        }
        let usable = in_use.stored().iter().filter(|p| p.problem.is_none());
        let carried = usable.map(|policy| (policy.key(), generation(policy))).collect();
        *self.carried.lock().unwrap_or_else(PoisonError::into_inner) = carried;
        for policy in in_use.stored() {
            self.queue.add(ManagerWork::Status(policy.key()));
            if policy.is_scheduled() {
                self.queue.add(ManagerWork::Schedule(policy.key()));
            }
        }
        Ok(Next::After(AT_LEAST))
    }

    /// The server's certificate in its Secret. What it trusts is written to webhook configurations
    /// next.
    fn certificate(&self) -> Result<Next, ManagerError> {
        let Some(secret) = &self.setup.plan.secret else { return Ok(Next::Done) };
        let step = secret.reconcile()?;
        if step != Step::Settled {
            self.queue.add(ManagerWork::Webhooks);
        }
        Ok(Next::After(match step {
            Step::Changed => AFTER_CHANGE,
            Step::Waits => certificates::SETTLE / 5,
            Step::Settled => CERTIFICATES,
        }))
    }

    /// What becomes of the policies that may become policies of Kubernetes. Where the cluster
    /// refuses one, it stays what it was before, so that the others are not held up.
    fn native(
        &self,
        in_use: &dyn InUse,
        before: &HashMap<PolicyKey, NativeState>,
    ) -> HashMap<PolicyKey, NativeState> {
        let mut states = HashMap::new();
        let generated = before.iter().filter(|(_, state)| state.generated).map(|(key, _)| &*key.kind);
        for kind in generated.collect::<BTreeSet<&str>>() {
            if let Err(error) = self.seen.watch(&self.setup.cluster, kind) {
                tracing::debug!(error = %error, "policies of Kubernetes are not watched");
            }
        }
        for policy in in_use.stored() {
            let (cluster, made, key) = (&self.setup.cluster, self.setup.native, policy.key());
            let seen = before.get(&key).is_some_and(|state| state.generated).then_some(&self.seen);
            let state = match native::reconcile(cluster, policy, in_use.exceptions(), made, seen) {
                Ok(state) => state,
                Err(error) => {
                    tracing::warn!(policy = %key, error = %error, "its policy of Kubernetes is not written");
                    let refused = || NativeState { generated: false, message: error.to_string() };
                    Some(before.get(&key).cloned().unwrap_or_else(refused))
                }
            };
            if let Some(state) = state {
                states.insert(key, state);
            }
        }
        states
    }

    /// Runs a policy that deletes objects, if it is due.
    fn schedule(&self, key: &PolicyKey) -> Result<Next, ManagerError> {
        let in_use = (self.setup.source)();
        match in_use.stored().iter().find(|p| p.is(key)) {
            Some(policy) => Ok(cleanup::reconcile(&self.setup.cleanup, policy, &*in_use)?),
            None => Ok(Next::Done),
        }
    }

    fn status(&self, key: &PolicyKey) -> Result<Next, ManagerError> {
        let in_use = (self.setup.source)();
        let Some(policy) = in_use.stored().iter().find(|p| p.is(key)) else { return Ok(Next::Done) };
        let carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied();
        let is_carried = carried == Some(generation(policy));
        if !is_carried && policy.problem.is_none() {
            // The configurations are written next, and the status after them.
            return Ok(Next::Done);
        }
        let native = self.native.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        match status::write(&self.setup.cluster, policy, is_carried, native.as_ref(), &self.rights) {
            // It has changed, or is gone: a watch says so.
            Err(e) if e.is_conflict() || e.is_not_found() => Ok(Next::Done),
            done => Ok(done.map(|()| Next::Done)?),
        }
    }
}
