//! Audit logs of API servers, and what policies would have answered to their requests.
//!
//! In: lines of an audit log of Kubernetes (`audit.k8s.io/v1`, levels `Request` and
//! `RequestResponse`) or of `ephor serve --audit-log`, and one or two gates. Out: counts by rule,
//! user, namespace and hour ([`Replayed`](ephor_report::replayed::Replayed)). Semantics:
//! `docs/guides/audit-logs.md`.
//!
//! A log holds what clients sent and what was stored, not what webhooks saw. An object is evaluated
//! as it was stored, where the log holds that, else as it was sent; what it was before is the last
//! stored object of the same name in the log. Requests whose objects the log does not hold are
//! counted by reason, never guessed.
//!
//! - `connect`: the options of a connection, from its address
//! - [`effects`]: what policies would have answered to a request
//! - [`event`]: lines of both kinds of logs
//! - [`last_objects`]: the last known objects of a log, within a limit of memory
//! - [`reading`]: requests in the order of a log
//! - [`replaying`]: requests evaluated and counted
//! - [`request`]: a request of a log as an AdmissionReview has it
#![forbid(unsafe_code)]

mod connect;
pub mod effects;
pub mod event;
pub mod last_objects;
pub mod reading;
pub mod replaying;
pub mod request;
