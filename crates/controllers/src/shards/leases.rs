//! The Leases of shards: reading and writing them.
//!
//! In: the Leases `<name>-scan-0` and so on, in a namespace. Out: grants of the shards that this
//! replica holds. One thread lists them at a steady pace, takes, renews, wants and hands over what
//! the rule says (`rule`). A replica stops scanning a shard before it hands it over, and
//! gives all back when it ends. A grant lasts as long as a leader may try to renew its lease, from
//! the moment before the Lease was read.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use ephor_cluster::{Cluster, Failure};
use ephor_value::Value;

use super::assigned::{Assigned, HeldShards};
use super::rule::{ShardLease, ShardStep, steps};
use crate::field_manager::MANAGER;
use crate::lease::{LeaseName, Times};
use crate::lease_record::{ObservedLease, given_back, held, is_written, reference};

/// The annotation with the replica that wants a shard.
const WANTED_BY: &str = "ephor.dev/wanted-by";

#[derive(Default)]
struct Ending {
    has_ended: Mutex<bool>,
    end: Condvar,
}

/// Holds shards until it is dropped.
pub struct ShardLeases {
    ending: Arc<Ending>,
    thread: Option<JoinHandle<()>>,
}

impl ShardLeases {
    /// Begins to take shards. `place` is the lease of the replica that leads, after which the
    /// Leases of shards are named; `changed` is called whenever other shards are held.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(
        cluster: Arc<Cluster>,
        place: LeaseName,
        times: Times,
        assigned: Arc<Assigned>,
        changed: impl Fn() + Send + 'static,
    ) -> std::io::Result<ShardLeases> {
        let ending: Arc<Ending> = Arc::default();
        let of = ending.clone();
        let names = (0..assigned.shards().get()).map(|shard| format!("{}-scan-{shard}", place.name));
        let shards = (0..).zip(names).map(|(number, name)| Shard { number, name, seen: None }).collect();
        let holder = Holder { cluster, place, times, assigned, shards, before: HeldShards::default() };
        let thread = std::thread::Builder::new().name("scan-leases".into());
        let thread = thread.spawn(move || holder.run(&of, &changed))?;
        Ok(ShardLeases { ending, thread: Some(thread) })
    }
}

impl Drop for ShardLeases {
    fn drop(&mut self) {
        *self.ending.has_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ending.end.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A shard and what is known of its Lease.
struct Shard {
    number: u32,
    name: String,
    seen: Option<ObservedLease>,
}

struct Holder {
    cluster: Arc<Cluster>,
    place: LeaseName,
    times: Times,
    assigned: Arc<Assigned>,
    shards: Vec<Shard>,
    /// What was held when `changed` was called last.
    before: HeldShards,
}

impl Holder {
    fn run(mut self, ending: &Ending, changed: &dyn Fn()) {
        loop {
            if let Err(error) = self.round(changed) {
                tracing::warn!(lease = self.place.name, %error, "the leases of shards cannot be renewed");
            }
            // Grants may have ended by themselves.
            self.notify(changed);
            let ended = ending.has_ended.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = ending.end.wait_timeout_while(ended, self.times.retry, |ended| !*ended);
            if *waited.unwrap_or_else(PoisonError::into_inner).0 {
                break;
            }
        }
        self.shards.iter().for_each(|shard| self.assigned.revoke(shard.number));
        self.notify(changed);
        if let Err(error) = self.give_back() {
            tracing::debug!(%error, "leases of shards are not given back; they expire");
        }
    }

    /// Calls `changed` if other shards are held than before.
    fn notify(&mut self, changed: &dyn Fn()) {
        let now = self.assigned.held();
        if now == self.before {
            return;
        }
        let numbers: Vec<String> = now.numbers().map(|number| number.to_string()).collect();
        let (shards, of) = (numbers.join(","), self.shards.len());
        tracing::info!(lease = self.place.name, identity = self.place.identity, shards, of, "shards to scan");
        self.before = now;
        changed();
    }

    /// The Leases of the shards that have one, by name.
    fn read(&self) -> Result<HashMap<String, Value>, Failure> {
        let kinds = self.cluster.kinds()?;
        let (group, version, kind) = ("coordination.k8s.io", "v1", "Lease");
        let resource = kinds.kind(group, version, kind);
        let resource = resource.ok_or_else(|| Failure::no_match(&format!("{group}/{version}"), kind))?;
        let all = self.cluster.list(resource, &self.place.namespace)?;
        let named = |lease: Value| (lease.text_at(&["metadata", "name"]).to_string(), lease);
        Ok(all.into_iter().map(named).collect())
    }

    /// Reads all Leases and writes those that the rule changes. One that cannot be written does
    /// not hold up the others.
    fn round(&mut self, changed: &dyn Fn()) -> Result<(), Failure> {
        let began = Instant::now();
        let leases = self.read()?;
        let (now, lasts) = (Instant::now(), self.times.lease);
        let mut read = Vec::with_capacity(self.shards.len());
        for shard in &mut self.shards {
            let Some(lease) = leases.get(&shard.name) else {
                read.push(ShardLease::default());
                continue;
            };
            ObservedLease::note(&mut shard.seen, lease, now);
            let holder = shard.seen.as_ref().and_then(|seen| seen.holder(lasts, now)).map(String::from);
            let wanted_by = lease.text_at(&["metadata", "annotations", WANTED_BY]);
            let wanted_by = Some(wanted_by).filter(|other| !other.is_empty()).map(String::from);
            read.push(ShardLease { holder, wanted_by });
        }
        let steps = steps(&self.place.identity, &read);
        // Scans of shards that others get, or have, end before anything is written.
        for (shard, step) in self.shards.iter().zip(&steps) {
            if matches!(step, ShardStep::HandOver(_) | ShardStep::Leave | ShardStep::Want) {
                self.assigned.revoke(shard.number);
            }
        }
        self.notify(changed);
        let mut failed = None;
        for (i, step) in steps.iter().enumerate() {
            let lease = leases.get(&self.shards[i].name);
            match self.write(&self.shards[i].name, lease, step) {
                Ok(true) if matches!(step, ShardStep::Renew | ShardStep::Take) => {
                    self.assigned.grant(self.shards[i].number, Some(began + self.times.renew));
                }
                Ok(_) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Writes what a step changes; false = nothing, or another client was faster.
    fn write(&self, name: &str, lease: Option<&Value>, step: &ShardStep) -> Result<bool, Failure> {
        let own = &*self.place.identity;
        let (holder, wanted_by) = match step {
            ShardStep::Renew | ShardStep::Take => (Some(own), None),
            ShardStep::HandOver(other) => (Some(&**other), None),
            ShardStep::Want => (None, Some(own)),
            ShardStep::Leave => return Ok(false),
        };
        let new = reference(&self.place.namespace, name);
        let mut next = with_wish(lease.unwrap_or(&new), wanted_by);
        if let Some(holder) = holder {
            next = held(&next, holder, self.times.lease);
        }
        is_written(match lease {
            Some(_) => self.cluster.replace(&next, MANAGER),
            None => self.cluster.create(&next, MANAGER),
        })
    }

    fn give_back(&self) -> Result<(), Failure> {
        let leases = self.read()?;
        let all = self.shards.iter().filter_map(|shard| leases.get(&shard.name));
        let is_own = |lease: &&Value| lease.text_at(&["spec", "holderIdentity"]) == self.place.identity;
        for lease in all.filter(is_own) {
            is_written(self.cluster.replace(&given_back(lease), MANAGER))?;
        }
        Ok(())
    }
}

/// The Lease with the replica that wants its shard.
fn with_wish(lease: &Value, wanted_by: Option<&str>) -> Value {
    let metadata = lease.get("metadata").cloned().unwrap_or_default();
    let annotations = metadata.get("annotations").and_then(Value::as_map);
    if wanted_by.is_none() && annotations.is_none_or(|all| all.get(WANTED_BY).is_none()) {
        return lease.clone();
    }
    let mut annotations = annotations.cloned().unwrap_or_default();
    match wanted_by {
        Some(replica) => drop(annotations.insert(WANTED_BY, replica.into())),
        None => drop(annotations.remove(WANTED_BY)),
    }
    lease.with("metadata", metadata.with("annotations", Value::Map(annotations)))
}
