//! Background scans: stored objects meet the policies again.
//!
//! In: the policies in use, the objects of the kinds that they are about. Out: reports with the
//! results, and events about new violations. An object is scanned when it is new, when it or the
//! policies change, and after an interval; workers take objects from a queue at a limited pace.
//! Each replica scans the objects of the shards that it holds ([`crate::shards`]); the one that
//! holds the first shard removes results whose policies are gone. A shard that is handed over is
//! scanned again by its new holder: both write the same results. Semantics:
//! `docs/reference/cluster.md`, "Background scans".
//!
//! - `evaluate`: evaluating policies on a stored object.
//! - `followed`: the kinds whose objects are followed.
//! - `gone`: results whose policies are gone, and since when.
//! - [`native`]: policies of Kubernetes that scans report on.
//! - [`objects`]: the objects that are scanned, as far as they are known.
//! - [`pace`]: A limit of how much is done in a second.
//! - [`policies`]: the policies that scans evaluate.
//! - `scan_events`: events of scans, written on a thread of their own.
//! - [`work`]: pieces of work of a scan.

pub(crate) mod evaluate;
pub(crate) mod followed;
pub(crate) mod gone;
pub mod native;
pub mod objects;
pub mod pace;
pub mod policies;
pub(crate) mod scan_events;
pub mod work;

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ephor_cluster::{Cluster, Failure, api_version};
use ephor_engine::Status;
use ephor_engine::request::NoObjects;
use ephor_ir::Policy;
use ephor_kubernetes::Kinds;
use ephor_value::{Str, Value};
use evaluate::{Finding, changes_others, evaluate};
use followed::Followed;
use gone::GoneResults;
use native::{Native, Reported};
use objects::{Objects, Scan, ScannedObject, Uid, content};
use pace::Pace;
use policies::Policies;

use crate::events::{Journal, Occasion};
use crate::in_use::{InUse, Source};
use crate::queue::{Next, Queue, Workers};
use crate::reports;
use crate::reports::results::{ResultKey, key_of};
use crate::reports::{Reports, object, text};
use crate::scan::scan_events::ScanEvents;
use crate::scan::work::ScanWork;
use crate::shards::assigned::{Assigned, HeldShards};

/// How often policies are compared even if nothing is known to have changed.
const AT_LEAST: Duration = Duration::from_secs(10);
/// How long changes of policies must pause.
const PAUSE: Duration = Duration::from_millis(500);
/// How many threads scan.
const WORKERS: usize = 2;
/// How many objects are scanned in a second.
const PER_SECOND: u32 = 100;
/// The shard whose holder removes results of policies that are gone, from all reports.
const SWEEPS: u32 = 0;

/// What scans need.
#[derive(Clone)]
pub struct ScanSetup {
    /// How often an object is scanned even if nothing changes; zero = never.
    pub interval: Duration,
    /// Which policies of Kubernetes have results.
    pub native: Reported,
    /// In how many shards objects are divided over replicas; with one, the replica that leads
    /// scans.
    pub shards: NonZero<u32>,
    /// What reports hold.
    pub reports: reports::ReportOptions,
    /// Who writes events; `None` = there are none.
    pub journal: Option<Journal>,
}

/// A queue for scans. Which policies there are does not wait for objects: those that wait are then
/// scanned once, with the policies of now.
pub fn queue() -> Queue<ScanWork> {
    Queue::with_first(|work| *work == ScanWork::Policies)
}

/// The scans of a replica; they end when this is dropped.
pub struct Scans {
    queue: Arc<Queue<ScanWork>>,
    _workers: Workers<ScanWork>,
}

impl Scans {
    /// Starts scans of the objects of `assigned`; `queue` gets [`ScanWork::Policies`] whenever
    /// other shards are assigned.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(
        setup: ScanSetup,
        cluster: Arc<Cluster>,
        source: Source,
        queue: Arc<Queue<ScanWork>>,
        assigned: Arc<Assigned>,
    ) -> std::io::Result<Scans> {
        let notified = queue.clone();
        let changed = Arc::new(move |_: &str, _: &str| notified.add_after(ScanWork::Policies, PAUSE));
        let objects: Arc<Objects> = Arc::default();
        let scanner = Scanner {
            reports: Reports::new(cluster.clone(), setup.reports.clone()),
            native: Native::new(cluster.clone(), setup.native, changed),
            followed: Followed::new(cluster.clone(), objects.clone(), queue.clone(), assigned.clone()),
            announcer: setup
                .journal
                .clone()
                .map(|journal| ScanEvents::start(journal, cluster.clone()))
                .transpose()?,
            setup,
            cluster,
            source,
            assigned,
            queue: queue.clone(),
            objects,
            plan: Mutex::default(),
            gone: Mutex::default(),
            kinds: Mutex::default(),
            labels: Mutex::default(),
            has_no_reports: AtomicBool::new(false),
            pace: Pace::per_second(PER_SECOND),
        };
        let workers = Workers::start("scans", WORKERS, queue.clone(), move |work| scanner.run(work))?;
        Ok(Scans { queue, _workers: workers })
    }

    /// Says that the policies in use, the settings or the kinds of the cluster have changed.
    pub fn notify(&self) {
        self.queue.add_after(ScanWork::Policies, PAUSE);
    }
}

/// Why a scan is not complete.
#[derive(Debug, thiserror::Error)]
enum ScanError {
    #[error(transparent)]
    Cluster(#[from] Failure),
    #[error(transparent)]
    Reports(#[from] reports::ReportError),
    #[error(transparent)]
    Object(#[from] NoObjects),
}

/// What is scanned with.
struct ScanPlan {
    in_use: Arc<dyn InUse>,
    native: Vec<Arc<Policy>>,
    policies: Policies,
}

struct Scanner {
    setup: ScanSetup,
    cluster: Arc<Cluster>,
    reports: Reports,
    native: Native,
    source: Source,
    assigned: Arc<Assigned>,
    queue: Arc<Queue<ScanWork>>,
    objects: Arc<Objects>,
    followed: Followed,
    announcer: Option<ScanEvents>,
    plan: Mutex<Option<Arc<ScanPlan>>>,
    gone: Mutex<GoneResults>,
    /// The kinds of the cluster, as the server knows them.
    kinds: Mutex<Option<Arc<Kinds>>>,
    /// Hashes of the labels of namespaces with objects.
    labels: Mutex<HashMap<Str, u64>>,
    /// Whether there is nothing to write to, which the log has said.
    has_no_reports: AtomicBool,
    pace: Pace,
}

impl Scanner {
    fn run(&self, work: &ScanWork) -> Result<Next, ScanError> {
        let held = self.assigned.held();
        if held.is_empty() {
            if *work == ScanWork::Policies {
                self.queue.clear();
                self.followed.end();
                *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = None;
            }
            return Ok(Next::Done);
        }
        match work {
            ScanWork::Policies => self.policies(&held),
            ScanWork::Sweep if !held.has(SWEEPS) => Ok(Next::Done),
            ScanWork::Sweep => self.sweep(),
            ScanWork::Object(uid) => self.object(uid, &held),
        }
    }

    fn plan(&self) -> Option<Arc<ScanPlan>> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What comes after a piece of work that is repeated after the interval.
    fn later(&self) -> Next {
        if self.setup.interval.is_zero() { Next::Done } else { Next::After(self.setup.interval) }
    }

    /// Follows the objects that the policies are about.
    fn policies(&self, held: &HeldShards) -> Result<Next, ScanError> {
        let in_use = (self.source)();
        self.renew_kinds(&*in_use)?;
        if !self.reports.are_served()? {
            if !self.has_no_reports.swap(true, Ordering::Relaxed) {
                let (group, version) = self.setup.reports.form.api();
                tracing::warn!(group, version, "nothing is scanned: the cluster has no such reports");
            }
            self.followed.end();
            return Ok(Next::After(AT_LEAST));
        }
        self.has_no_reports.store(false, Ordering::Relaxed);
        let native = self.native.policies()?;
        let before = self.plan();
        let is_same = |plan: &&Arc<ScanPlan>| {
            std::ptr::addr_eq(Arc::as_ptr(&plan.in_use), Arc::as_ptr(&in_use)) && plan.native == native
        };
        let plan = match before.as_ref().filter(is_same) {
            Some(plan) => plan.clone(),
            None => {
                let policies = Policies::of(&*in_use, &native);
                Arc::new(ScanPlan { in_use, native, policies })
            }
        };
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = Some(plan.clone());
        let kinds = self.cluster.kinds()?;
        let is_changed = self.followed.update(&kinds, &plan.policies, held);
        let had = before.as_ref().map(|before| &before.policies.alive);
        if is_changed || had != Some(&plan.policies.alive) {
            self.queue.add(ScanWork::Sweep);
        }
        self.namespaces(&*plan.in_use);
        Ok(Next::After(AT_LEAST))
    }

    /// Has the objects of namespaces whose labels have changed scanned again.
    fn namespaces(&self, in_use: &dyn InUse) {
        let now: HashMap<Str, u64> =
            self.objects.namespaces().into_iter().map(|name| (name.clone(), labels(in_use, &name))).collect();
        let mut before = self.labels.lock().unwrap_or_else(PoisonError::into_inner);
        let is_changed = |(name, labels): &(&Str, &u64)| before.get(*name).is_some_and(|old| old != *labels);
        let changed: HashSet<Str> = now.iter().filter(is_changed).map(|(name, _)| name.clone()).collect();
        *before = now;
        drop(before);
        if !changed.is_empty() {
            self.objects.outdate(&changed).into_iter().for_each(|uid| self.queue.add(ScanWork::Object(uid)));
        }
    }

    /// Discovers the kinds of the cluster again when the server has.
    fn renew_kinds(&self, in_use: &dyn InUse) -> Result<(), ScanError> {
        let now = in_use.engine().external().known_kinds();
        let before = self.kinds.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if before.as_ref().is_some_and(|before| !Arc::ptr_eq(before, &now)) {
            self.cluster.renew_kinds()?;
        }
        *self.kinds.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        Ok(())
    }

    /// Removes results whose policies have been gone, or not about their objects, for a while.
    fn sweep(&self) -> Result<Next, ScanError> {
        let Some(plan) = self.plan() else { return Ok(Next::Done) };
        let (policies, kinds) = (&plan.policies, self.cluster.kinds()?);
        let mut failed = None;
        match self.reports.remove_other_form() {
            Ok(0) => {}
            Ok(count) => {
                let (group, _) = self.setup.reports.form.api();
                tracing::info!(
                    count,
                    group,
                    "reports of the other group, which this program had written, are deleted"
                );
            }
            // Results of now matter more.
            Err(error) => tracing::warn!(%error, "reports of the other group stay"),
        }
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.begin();
        self.reports.each(&mut |scope, results| {
            let (api_version, kind) = (scope.text_at(&["apiVersion"]), scope.text_at(&["kind"]));
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            let resource = kinds.kind(group, version, kind);
            let is_scanned = resource.is_some_and(|resource| policies.are_about(resource));
            let counts =
                |entry: &Value| policies.alive.has(entry) && (is_scanned || !policies.answer_for(entry));
            let now = Instant::now();
            let noted =
                results.iter().filter(|entry| !counts(entry)).map(|entry| gone.note(entry, kind, now));
            if noted.filter(|may_go| *may_go).count() == 0 {
                return;
            }
            let stays = |entry: &Value| counts(entry) || !gone.may_go(entry, kind, now);
            let done = self.reports.update(scope, &|results| results.into_iter().filter(stays).collect());
            // One that cannot be written must not hold up the others.
            failed = done.err().or(failed.take());
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        Ok(gone.wait(Instant::now()).map_or_else(|| self.later(), Next::After))
    }

    fn object(&self, uid: &Uid, held: &HeldShards) -> Result<Next, ScanError> {
        let Some(known) = self.objects.get(uid) else { return Ok(Next::Done) };
        let shard = known.shard(&self.assigned);
        if !held.has(shard) {
            // Another replica scans it; when the shard comes back, it is listed again.
            return Ok(Next::Done);
        }
        // If the policies change in between, the results of the new ones count as those of the
        // former, and the object is scanned again.
        let Some(digest) = self.followed.digest(&known.resource) else { return Ok(Next::Done) };
        let Some(plan) = self.plan() else { return Ok(Next::Done) };
        let is_due = known.scan.as_ref().is_none_or(|scan| {
            known.outdated
                || (scan.content, scan.policies) != (known.content, digest)
                || (!self.setup.interval.is_zero() && scan.at.elapsed() >= self.setup.interval)
        });
        if !is_due {
            return Ok(self.later());
        }
        let wait = self.pace.turn(Instant::now());
        if !wait.is_zero() {
            std::thread::sleep(wait);
        }
        let current = match self.cluster.object(&known.resource, &known.namespace, &known.name) {
            Ok(current) => current,
            Err(e) if e.is_not_found() => return Ok(self.gone(uid)),
            Err(e) => return Err(e.into()),
        };
        let at = |key: &str| current.text_at(&["metadata", key]);
        if at("uid") != &**uid || !at("deletionTimestamp").is_empty() {
            // Another object of the same name, or one that goes: a watch shows what comes.
            return Ok(self.gone(uid));
        }
        if !known.namespace.is_empty() {
            let mut all = self.labels.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(known.namespace.clone()).or_insert_with(|| labels(&*plan.in_use, &known.namespace));
        }
        let findings = evaluate(&plan.policies, &current)?;
        if !self.assigned.held().has_since(held, shard) {
            // The next holder may know policies that this replica does not know yet.
            return Ok(Next::Done);
        }
        let scope = scope(&known, &current);
        let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let new: Vec<Value> =
            findings.iter().flat_map(|f| self.reports.entries(&f.policy, &f.rules, seconds)).collect();
        let policies = &plan.policies;
        // What background work says about an object of a policy that changes others stays: to a
        // scan it is no trigger.
        let by_others: HashSet<(&str, String)> = policies
            .all()
            .filter(|policy| changes_others(policy))
            .map(|policy| (&*policy.report.source, policy.key()))
            .collect();
        let is_done = |e: &Value| {
            let is_of_others =
                by_others.contains(&(e.text_at(&["source"]), e.text_at(&["policy"]).to_string()));
            is_of_others && matches!(e.text_at(&["result"]), "pass" | "error")
        };
        self.reports.update(&scope, &|before| {
            let done: Vec<ResultKey> = before.iter().filter(|e| is_done(e)).map(key_of).collect();
            let new = new.iter().filter(|e| !done.contains(&key_of(e)) || e.text_at(&["result"]) != "skip");
            let new: Vec<Value> = new.cloned().collect();
            let is_retained = |e: &Value| {
                !policies.answer_for(e) || is_done(e) && !new.iter().any(|other| key_of(other) == key_of(e))
            };
            let others = before.into_iter().filter(|e| is_retained(e) && policies.alive.has(e));
            others.chain(new.iter().cloned()).collect()
        })?;
        let noted = self.note(&plan, &known, &scope, &findings);
        let scan = Scan { content: content(&current), policies: digest, noted, at: Instant::now() };
        self.objects.scanned(uid, scan);
        Ok(self.later())
    }

    fn gone(&self, uid: &Uid) -> Next {
        self.objects.remove(uid);
        Next::Done
    }

    /// Writes events, unless those of the same violations are recent.
    fn note(
        &self,
        plan: &ScanPlan,
        known: &ScannedObject,
        scope: &Value,
        findings: &[Finding],
    ) -> (u64, Instant) {
        let mut hasher = DefaultHasher::new();
        for finding in findings {
            let rules = finding.rules.iter().filter(|rule| rule.status != Status::Pass);
            rules.for_each(|r| (finding.policy.id(), &r.rule, r.status, &r.message).hash(&mut hasher));
        }
        let (violations, now) = (hasher.finish(), Instant::now());
        let before = known.scan.map(|scan| scan.noted);
        let is_recent = |(_, at): (u64, Instant)| {
            self.setup.interval.is_zero() || now.duration_since(at) < self.setup.interval
        };
        if let Some(noted) = before.filter(|noted| noted.0 == violations && is_recent(*noted)) {
            return noted;
        }
        let Some(announcer) = &self.announcer else { return (violations, now) };
        let exceptions = plan.policies.verdicts.set().exceptions();
        let occasion =
            Occasion { object: scope, blocked: false, settings: plan.in_use.settings(), exceptions };
        findings
            .iter()
            .flat_map(|f| occasion.events(&f.policy, &f.rules))
            .for_each(|e| announcer.announce(e));
        (violations, now)
    }
}

/// A hash of the labels of a namespace.
fn labels(in_use: &dyn InUse, namespace: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let namespace = in_use.engine().external().namespace(namespace).unwrap_or_default();
    namespace.at(&["metadata", "labels"]).unwrap_or(&Value::Null).hash(&mut hasher);
    hasher.finish()
}

/// An object as its report and events name it.
fn scope(known: &ScannedObject, current: &Value) -> Value {
    let at = |key: &str| current.text_at(&["metadata", key]);
    object([
        ("apiVersion", api_version(&known.resource).into()),
        ("kind", Value::Str(known.resource.kind.clone())),
        ("namespace", text(at("namespace"))),
        ("name", text(at("name"))),
        ("uid", text(at("uid"))),
    ])
}
