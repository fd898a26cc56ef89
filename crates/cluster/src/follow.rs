//! Objects that are followed, not stored: each is shown once when it is listed, and whenever it
//! changes.
//!
//! In: a cluster, a resource, a callback. Out: calls with the objects, from a thread of the client.
//! Lists come in pages, a watch that breaks is restarted with backoff; the memory in use does not
//! grow with the number of objects.

use futures_util::StreamExt;
use kube::api::{Api, DynamicObject};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use percent_encoding::utf8_percent_encode;

use crate::cache::{Pauses, value};
use crate::client::{Cluster, SEGMENT, api_resource, path_of, stored};
use crate::failure::Failure;
use ephor_kubernetes::Resource;
use ephor_value::Value;

/// What is known anew of objects.
#[derive(Clone, Debug)]
pub enum FollowEvent {
    /// A list begins. Objects that were known and are not in it are gone.
    Begins,
    /// An object, as it is now.
    Present(Value),
    /// An object that was deleted, as it was.
    Gone(Value),
    /// The list has ended.
    Complete,
}

/// Follows the objects of a resource until it is dropped.
#[derive(Debug)]
pub struct Follower {
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Follower {
    /// Begins to follow the objects of a resource, everywhere. Objects are shown later, by another
    /// thread.
    ///
    /// # Errors
    /// They may not be listed.
    pub fn start(
        cluster: &Cluster,
        r: &Resource,
        see: impl FnMut(FollowEvent) + Send + 'static,
    ) -> Result<Follower, Failure> {
        // A watch retries for ever, so a missing permission shows only here.
        cluster.get(&format!("{}?limit=1", path_of(r, "", "")))?;
        let api: Api<DynamicObject> =
            Api::all_with(cluster.client.clone(), &stored(&api_resource(r), cluster.names));
        Follower::of(cluster, r, api, watcher::Config::default(), see)
    }

    /// As [`Follower::start`], one object of a namespace.
    ///
    /// # Errors
    /// It may not be listed.
    pub fn of_object(
        cluster: &Cluster,
        r: &Resource,
        namespace: &str,
        name: &str,
        see: impl FnMut(FollowEvent) + Send + 'static,
    ) -> Result<Follower, Failure> {
        // An account may have the right to see this object alone.
        let selector = format!("metadata.name={name}");
        let escaped = utf8_percent_encode(&selector, SEGMENT);
        cluster.get(&format!("{}?limit=1&fieldSelector={escaped}", path_of(r, namespace, "")))?;
        let resource = stored(&api_resource(r), cluster.names);
        let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), namespace, &resource);
        Follower::of(cluster, r, api, watcher::Config::default().fields(&selector), see)
    }

    fn of(
        cluster: &Cluster,
        r: &Resource,
        api: Api<DynamicObject>,
        config: watcher::Config,
        mut see: impl FnMut(FollowEvent) + Send + 'static,
    ) -> Result<Follower, Failure> {
        let (resource, names) = (api_resource(r), cluster.names);
        let events = watcher(api, config).backoff(Pauses::default());
        let task = cluster.spawn(events.for_each(move |event| {
            match event {
                Ok(Event::Init) => see(FollowEvent::Begins),
                Ok(Event::InitApply(object) | Event::Apply(object)) => {
                    see(FollowEvent::Present(value(&object, &resource, names)));
                }
                Ok(Event::InitDone) => see(FollowEvent::Complete),
                Ok(Event::Delete(object)) => see(FollowEvent::Gone(value(&object, &resource, names))),
                Err(error) => tracing::debug!(kind = resource.kind, %error, "a watch is restarted"),
            }
            std::future::ready(())
        }))?;
        Ok(Follower { task })
    }
}
