//! The names under which fields of objects are written: an API server notes them at each field.

/// What this program writes for itself: configurations, requests, secrets, leases.
pub const MANAGER: &str = "ephor";
/// Fields of objects that rules change in the background.
pub const MUTATE_MANAGER: &str = "ephor-mutate";
/// Generated objects; Kyverno's name, by which their owner differs from users.
pub const GENERATE_MANAGER: &str = "generate";
