//! Which replica leads.
//!
//! In: a Lease of `coordination.k8s.io/v1` that all replicas know. Out: [`Leader::is_leading`]. One
//! replica holds the lease and renews it; another takes it over when it was not renewed for its
//! whole time (`lease_record`). Who cannot renew stops leading before others may take
//! over. A replica that ends gives the lease back, so the next one leads at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ephor_cluster::{Cluster, Failure};
use ephor_value::Value;

use crate::field_manager::MANAGER;
use crate::lease_record::{ObservedLease, given_back, held, is_written, reference};

/// Times of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// How long a lease lasts when it is not renewed.
    pub lease: Duration,
    /// How long the holder tries to renew it before it stops leading; shorter than `lease`.
    pub renew: Duration,
    /// How long replicas pause between two tries.
    pub retry: Duration,
}

impl Default for Times {
    /// Those of Kyverno: 12, 10 and 2 seconds.
    fn default() -> Times {
        let seconds = Duration::from_secs;
        Times { lease: seconds(12), renew: seconds(10), retry: seconds(2) }
    }
}

/// The lease, and by which name a replica holds it.
#[derive(Clone, Debug)]
pub struct LeaseName {
    /// The namespace of the lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The name of this replica.
    pub identity: String,
}

#[derive(Default)]
struct Shared {
    leading: AtomicBool,
    ended: Mutex<bool>,
    end: Condvar,
}

/// A replica that leads or waits to lead.
pub struct Leader {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Leader {
    /// Begins to wait for the lease. `changed` is called with true when this replica begins to
    /// lead, with false when it stops.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(
        cluster: Arc<Cluster>,
        place: LeaseName,
        times: Times,
        changed: impl Fn(bool) + Send + 'static,
    ) -> std::io::Result<Leader> {
        let shared = Arc::new(Shared::default());
        let of = shared.clone();
        let thread = std::thread::Builder::new()
            .name("lease".into())
            .spawn(move || Candidate { cluster, place, times, shared: of, seen: None }.run(&changed))?;
        Ok(Leader { shared, thread: Some(thread) })
    }

    /// Whether this replica leads.
    pub fn is_leading(&self) -> bool {
        self.shared.leading.load(Ordering::Acquire)
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        *self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.end.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Candidate {
    cluster: Arc<Cluster>,
    place: LeaseName,
    times: Times,
    shared: Arc<Shared>,
    seen: Option<ObservedLease>,
}

impl Candidate {
    fn run(mut self, changed: &dyn Fn(bool)) {
        let mut renewed: Option<Instant> = None;
        loop {
            let began = Instant::now();
            match self.hold() {
                Ok(true) => {
                    renewed = Some(began);
                    self.leads(true, changed);
                }
                Ok(false) => {
                    renewed = None;
                    self.leads(false, changed);
                }
                Err(error) => {
                    tracing::warn!(lease = self.place.name, error = %error, "the lease cannot be renewed");
                    if renewed.is_none_or(|at| at.elapsed() >= self.times.renew) {
                        renewed = None;
                        self.leads(false, changed);
                    }
                }
            }
            if self.pause() {
                break;
            }
        }
        if self.shared.leading.load(Ordering::Acquire) {
            self.leads(false, changed);
            if let Err(error) = self.give_back() {
                tracing::debug!(error = %error, "the lease is not given back; it expires");
            }
        }
    }

    /// Waits until the next try; true = the replica ends.
    fn pause(&self) -> bool {
        let ended = self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.shared.end.wait_timeout_while(ended, self.times.retry, |ended| !*ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn leads(&self, leads: bool, changed: &dyn Fn(bool)) {
        if self.shared.leading.swap(leads, Ordering::AcqRel) != leads {
            tracing::info!(lease = self.place.name, identity = self.place.identity, leads, "leader election");
            changed(leads);
        }
    }

    fn current(&self) -> Result<Option<Value>, Failure> {
        self.cluster.current(&reference(&self.place.namespace, &self.place.name))
    }

    /// Renews the lease, or takes it if it is free. Whether it is held then.
    fn hold(&mut self) -> Result<bool, Failure> {
        let (place, lasts) = (&self.place, self.times.lease);
        let Some(lease) = self.current()? else {
            let lease = held(&reference(&place.namespace, &place.name), &place.identity, lasts);
            return is_written(self.cluster.create(&lease, MANAGER));
        };
        let now = Instant::now();
        ObservedLease::note(&mut self.seen, &lease, now);
        let holder = self.seen.as_ref().and_then(|seen| seen.holder(lasts, now));
        if holder.is_some_and(|holder| holder != place.identity) {
            return Ok(false);
        }
        is_written(self.cluster.replace(&held(&lease, &place.identity, lasts), MANAGER))
    }

    fn give_back(&self) -> Result<(), Failure> {
        let Some(lease) = self.current()? else { return Ok(()) };
        if lease.text_at(&["spec", "holderIdentity"]) != self.place.identity {
            return Ok(());
        }
        self.cluster.replace(&given_back(&lease), MANAGER).map(drop)
    }
}
