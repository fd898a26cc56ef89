//! What keeps a cluster in step with its policies.
//!
//! In: the policies in use, a cluster. Out: objects of the cluster: webhook configurations,
//! statuses of policies, generated objects, reports. Controllers run on the replica that leads
//! ([`lease`]); each works on the keys of a [`queue`] and compares what is there with what should
//! be there, so that it may be stopped at any point. Semantics: `docs/reference/cluster.md`.
//!
//! - [`background`]: background work: what rules do after a request.
//! - [`certificates`]: the server's certificate in a Secret that all replicas share.
//! - [`cleanup`]: policies that delete objects on a schedule.
//! - [`events`]: events: what policies did with objects, for those who read the objects or the
//!   policies.
//! - `field_manager`: the names under which fields of objects are written: an API server notes
//!   them at each field.
//! - [`in_use`]: the policies in use, as controllers see them.
//! - [`lifetime`]: objects with a label that says how long they live.
//! - [`manager`]: the controllers of a replica.
//! - [`native`]: policies of Kubernetes generated from Kyverno's.
//! - [`removal`]: taking an installation out of a cluster: no server runs any more, and no webhook
//!   calls one.
//! - [`reports`]: reports: one object of the cluster for each object that policies were evaluated
//!   on.
//! - [`scan`]: background scans: stored objects meet the policies again.
//! - [`status`]: statuses of policies: what `kubectl get` and GitOps tools show.
//! - [`webhooks`]: writing the webhook configurations, as `ephor_admission::registration` builds
//!   them.
//! - [`lease`]: which replica leads.
//! - `lease_record`: what a Lease of `coordination.k8s.io/v1` holds.
//! - [`queue`]: queues of work.
//! - [`shards`]: which replica scans which objects.
#![forbid(unsafe_code)]

pub mod background;
pub mod certificates;
pub mod cleanup;
pub mod events;
pub(crate) mod field_manager;
pub mod in_use;
pub mod lease;
pub(crate) mod lease_record;
pub mod lifetime;
pub mod manager;
pub mod native;
pub mod queue;
pub mod removal;
pub mod reports;
pub mod scan;
pub mod shards;
pub mod status;
pub mod webhooks;
