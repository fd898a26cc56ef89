//! The keys in the queue of background work, and what adds them.

use std::sync::Arc;

use crate::queue::Queue;
use ephor_admission::background::Trigger;

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Task {
    /// Which requests there are.
    Requests,
    /// One of them.
    Request(String),
    /// What has changed in policies.
    Policies,
    /// An object that a policy of expressions generated has changed, or its source.
    Sync(Generated),
    /// The source of copies is gone: its group and version, kind and identifier.
    SourceGone(String, String, String),
}

/// What is to be done.
#[derive(Clone, Default)]
pub struct Tasks(pub(super) Arc<Queue<Task>>);

impl Tasks {
    /// Says that this replica has begun to lead.
    pub fn begin(&self) {
        self.0.add(Task::Requests);
        self.0.add(Task::Policies);
    }
}

/// What an object was generated for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Generated {
    /// The name of the policy.
    pub policy: String,
    /// The namespace of the object.
    pub namespace: String,
    /// The trigger.
    pub trigger: Trigger,
}
