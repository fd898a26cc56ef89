//! Webhooks of dynamic admission control: for which requests an API server calls a webhook, and
//! how.

use ephor_value::Str;

use super::constraints::Constraints;
use super::expressions::Source;

/// A webhook of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Webhook {
    /// The configuration's name.
    pub configuration: Str,
    /// Its own name.
    pub name: Str,
    /// Whether it may change the object.
    pub mutating: bool,
    /// Requests that it is for. Without rules there are none, unlike for policies.
    pub when: Constraints,
    /// All must be true, else it is not called.
    pub conditions: Box<[Source]>,
    /// Whether failed calls are ignored.
    pub ignore: bool,
    /// What calls may do beyond answering; `None` is a mistake in the configuration.
    pub side_effects: Option<Str>,
    /// Seconds that a call may take.
    pub timeout: i64,
    /// Versions of the review that it takes, in the order of its liking.
    pub versions: Box<[Str]>,
    /// Whether it is called again when the object changed after its call.
    pub again: bool,
    /// Its address.
    pub url: Str,
}

impl Webhook {
    /// The version of reviews that it is sent, if an API server knows one of its versions.
    pub fn version(&self) -> Option<&Str> {
        self.versions.iter().find(|v| matches!(&***v, "v1" | "v1beta1"))
    }

    /// Whether its calls have no side effects when the request is a dry run.
    pub fn supports_dry_run(&self) -> bool {
        matches!(self.side_effects.as_deref(), Some("None" | "NoneOnDryRun"))
    }
}
