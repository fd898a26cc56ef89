//! What keeps a cluster in step with its policies.
//!
//! In: the policies in use, a cluster. Out: objects of the cluster: webhook configurations,
//! statuses of policies, generated objects, reports. Controllers run on the replica that leads
//! ([`lease`]); each works on the keys of a [`queue`] and compares what is there with what should
//! be there, so that it may be stopped at any point. Semantics: `docs/reference/cluster.md`.
#![forbid(unsafe_code)]

use ephor_admission::{
    admit, background as background_facts, native as convert, redact, registration, settings,
};

pub mod background;
pub mod certificates;
pub mod cleanup;
pub mod events;
pub mod in_use;
pub mod lease;
pub mod lifetime;
pub mod manager;
pub mod native;
pub mod queue;
pub mod removal;
pub mod reports;
pub mod scan;
pub mod status;
pub mod webhooks;
