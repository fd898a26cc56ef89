//! The kinds whose objects are followed.
//!
//! In: the policies, the kinds of the cluster, the shards that this replica holds. Out: each kind
//! that the policies are about is followed; objects of these shards that are new or have changed,
//! and all of a kind whose policies have changed, are queued. Kinds that may not be listed are
//! tried again. Objects of other shards are not in memory: when the replica gets more shards, all
//! kinds are listed again.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ephor_cluster::follow::{FollowEvent, Follower};
use ephor_cluster::{Cluster, Failure};
use ephor_kubernetes::{Kinds, Resource};
use ephor_value::{Str, Value};

use super::objects::{Objects, shard_of};
use super::policies::Policies;
use super::work::ScanWork;
use crate::queue::Queue;
use crate::shards::assigned::{Assigned, HeldShards};

/// How long the changes of an object must pause.
const SETTLES: Duration = Duration::from_secs(5);
/// Groups of reports, which have no reports of their own.
const REPORTS: [&str; 3] = ["wgpolicyk8s.io", "openreports.io", "reports.kyverno.io"];

/// Group and kind.
type KindKey = (Str, Str);

/// A kind that is followed.
struct FollowedKind {
    /// What is evaluated on its objects.
    digest: u64,
    resource: Arc<Resource>,
    follower: Follower,
}

/// The shards whose objects are followed.
type Scope = Arc<Mutex<HeldShards>>;

/// See the module page.
pub struct Followed {
    cluster: Arc<Cluster>,
    objects: Arc<Objects>,
    queue: Arc<Queue<ScanWork>>,
    assigned: Arc<Assigned>,
    scope: Scope,
    /// How many lists and watches have begun.
    rounds: Arc<AtomicU64>,
    kinds: Mutex<HashMap<KindKey, FollowedKind>>,
    /// Those that may not be listed, which the log has named.
    unlisted: Mutex<HashSet<KindKey>>,
}

fn key(resource: &Resource) -> KindKey {
    (resource.group.clone(), resource.kind.clone())
}

impl Followed {
    /// Nothing is followed yet.
    pub fn new(
        cluster: Arc<Cluster>,
        objects: Arc<Objects>,
        queue: Arc<Queue<ScanWork>>,
        assigned: Arc<Assigned>,
    ) -> Followed {
        Followed {
            cluster,
            objects,
            queue,
            assigned,
            scope: Scope::default(),
            rounds: Arc::default(),
            kinds: Mutex::default(),
            unlisted: Mutex::default(),
        }
    }

    fn kinds(&self) -> MutexGuard<'_, HashMap<KindKey, FollowedKind>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Identifies what is evaluated on the objects of a resource; `None` = they are not followed.
    pub fn digest(&self, resource: &Resource) -> Option<u64> {
        self.kinds().get(&key(resource)).map(|kind| kind.digest)
    }

    /// Follows nothing any more.
    pub fn end(&self) {
        self.kinds().clear();
        *self.scope() = HeldShards::default();
        self.objects.retain(|_| false);
    }

    fn scope(&self) -> MutexGuard<'_, HeldShards> {
        self.scope.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the kinds that policies are about, of these the objects of some shards, and queues
    /// the objects of those whose policies have changed. Returns whether there are such kinds, or
    /// more shards.
    pub fn update(&self, served: &Kinds, policies: &Policies, held: &HeldShards) -> bool {
        let wanted = wanted(served, policies);
        let mut kinds = self.kinds();
        let before = kinds.len();
        kinds.retain(|key, kind| {
            wanted.iter().any(|(of, resource)| of == key && resource.version == kind.resource.version)
        });
        let mut is_changed = kinds.len() != before;
        is_changed |= self.follow_shards(&mut kinds, held);
        for (key, resource) in wanted {
            let digest = policies.digest(&resource);
            if let Some(kind) = kinds.get_mut(&key) {
                if std::mem::replace(&mut kind.digest, digest) != digest {
                    is_changed = true;
                    let all = self.objects.of(&resource);
                    all.into_iter().for_each(|uid| self.queue.add(ScanWork::Object(uid)));
                }
                continue;
            }
            match self.follow(&resource) {
                Ok(follower) => {
                    kinds.insert(key, FollowedKind { digest, resource, follower });
                    is_changed = true;
                }
                Err(error) => self.note_unlisted(&resource, &error),
            }
        }
        self.objects.retain(|known| kinds.contains_key(&key(&known.resource)));
        is_changed
    }

    /// Follows the objects of other shards from now on. Returns whether there are more than before.
    fn follow_shards(&self, kinds: &mut HashMap<KindKey, FollowedKind>, held: &HeldShards) -> bool {
        let before = std::mem::replace(&mut *self.scope(), held.clone());
        if *held == before {
            return false;
        }
        self.objects.retain(|known| held.has_since(&before, known.shard(&self.assigned)));
        if !held.has_more_than(&before) {
            return false;
        }
        // A kind that cannot be listed now is followed anew with the next update.
        kinds.retain(|_, kind| match self.follow(&kind.resource) {
            Ok(follower) => {
                kind.follower = follower;
                true
            }
            Err(error) => {
                self.note_unlisted(&kind.resource, &error);
                false
            }
        });
        true
    }

    fn note_unlisted(&self, resource: &Resource, error: &Failure) {
        if self.unlisted.lock().unwrap_or_else(PoisonError::into_inner).insert(key(resource)) {
            let kind = &*resource.kind;
            tracing::warn!(kind, %error, "its objects are not scanned as long as they cannot be listed");
        }
    }

    fn follow(&self, resource: &Arc<Resource>) -> Result<Follower, Failure> {
        let (objects, queue, of) = (self.objects.clone(), self.queue.clone(), resource.clone());
        let (assigned, scope, rounds) = (self.assigned.clone(), self.scope.clone(), self.rounds.clone());
        let of_shards = resource.clone();
        let is_own = move |object: &Value| {
            let at = |key: &str| object.text_at(&["metadata", key]);
            let shard = shard_of(&assigned, &of_shards, at("namespace"), at("name"));
            scope.lock().unwrap_or_else(PoisonError::into_inner).has(shard)
        };
        let (mut round, mut is_listed) = (0, false);
        Follower::start(&self.cluster, resource, move |change| match change {
            FollowEvent::Begins => round = rounds.fetch_add(1, Ordering::Relaxed),
            FollowEvent::Present(object) if !is_own(&object) => {}
            FollowEvent::Present(object) => {
                if let Some(uid) = objects.see(&of, &object, round) {
                    // What was there before comes at once; new objects often change a few times.
                    let pause = if is_listed { SETTLES } else { Duration::ZERO };
                    queue.add_after(ScanWork::Object(uid), pause);
                }
            }
            FollowEvent::Gone(object) => objects.remove(object.text_at(&["metadata", "uid"])),
            FollowEvent::Complete => {
                is_listed = true;
                objects.remove_before(&of, round);
            }
        })
    }
}

/// The resources that policies are about, each kind in one version.
fn wanted(served: &Kinds, policies: &Policies) -> Vec<(KindKey, Arc<Resource>)> {
    let mut found: Vec<(KindKey, Arc<Resource>)> = Vec::new();
    for resource in served.all() {
        let key = key(resource);
        let is_left_out = REPORTS.contains(&&*resource.group) || &*resource.kind == "Event";
        if is_left_out || found.iter().any(|(of, _)| *of == key) || !policies.are_about(resource) {
            continue;
        }
        found.push((key, Arc::new(resource.clone())));
    }
    found
}
