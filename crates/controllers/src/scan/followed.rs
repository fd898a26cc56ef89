//! The kinds whose objects are followed.
//!
//! In: the policies, and the kinds of the cluster. Out: each kind that they are about is followed;
//! objects that are new or have changed, and all of a kind whose policies have changed, are queued.
//! Kinds that may not be listed are tried again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ephor_cluster::Cluster;
use ephor_cluster::follow::{FollowEvent, Follower};
use ephor_kubernetes::{Kinds, Resource};
use ephor_value::Str;

use super::objects::Objects;
use super::policies::Policies;
use super::work::ScanWork;
use crate::queue::Queue;

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
    version: Str,
    _follower: Follower,
}

/// See the module page.
pub struct Followed {
    cluster: Arc<Cluster>,
    objects: Arc<Objects>,
    queue: Arc<Queue<ScanWork>>,
    kinds: Mutex<HashMap<KindKey, FollowedKind>>,
    /// Those that may not be listed, which the log has named.
    unlisted: Mutex<HashSet<KindKey>>,
}

fn key(resource: &Resource) -> KindKey {
    (resource.group.clone(), resource.kind.clone())
}

impl Followed {
    /// Nothing is followed yet.
    pub fn new(cluster: Arc<Cluster>, objects: Arc<Objects>, queue: Arc<Queue<ScanWork>>) -> Followed {
        Followed { cluster, objects, queue, kinds: Mutex::default(), unlisted: Mutex::default() }
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
        self.objects.retain(|_| false);
    }

    /// Follows the kinds that policies are about, and queues the objects of those whose policies
    /// have changed. Returns whether there are such kinds.
    pub fn update(&self, served: &Kinds, policies: &Policies) -> bool {
        let wanted = wanted(served, policies);
        let mut kinds = self.kinds();
        let before = kinds.len();
        kinds.retain(|key, kind| {
            wanted.iter().any(|(of, resource)| of == key && resource.version == kind.version)
        });
        let mut is_changed = kinds.len() != before;
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
                    let version = resource.version.clone();
                    kinds.insert(key, FollowedKind { digest, version, _follower: follower });
                    is_changed = true;
                }
                Err(error) => {
                    let is_new = self.unlisted.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
                    if is_new {
                        let kind = &*resource.kind;
                        tracing::warn!(kind, %error, "its objects are not scanned as long as they cannot be listed");
                    }
                }
            }
        }
        self.objects.retain(|resource| kinds.contains_key(&key(resource)));
        is_changed
    }

    fn follow(&self, resource: &Arc<Resource>) -> Result<Follower, ephor_cluster::Failure> {
        let (objects, queue, of) = (self.objects.clone(), self.queue.clone(), resource.clone());
        let (mut round, mut is_listed) = (0u64, false);
        Follower::start(&self.cluster, resource, move |change| match change {
            FollowEvent::Begins => round += 1,
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
