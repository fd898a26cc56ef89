//! What an upgrade of Kyverno changes for the policies of a cluster.
//!
//! In: objects of a cluster – policies, exceptions, webhook configurations, definitions,
//! Deployments – from its API or from dumps ([`Inventory`]). Out: a [`Report`]: which policies stop
//! having effect with Kyverno 1.20 and are removed with 1.21, what they do today, whether `ephor`
//! takes them and why not, and what around them needs attention. Policies are compiled as
//! `ephor serve` compiles them. Which kinds stop: those that Kyverno 1.19.1 calls deprecated.
//! Semantics: `docs/guides/upgrade.md`.
//!
//! - `acts`: what policies do today.
//! - `around`: what is around policies.
//! - `inventory`: objects of a cluster, from its API or from dumps.
//! - `policies`: the policies, one by one.
//! - `report`: what an upgrade changes, put together.
//! - `rights`: what the account of `ephor` must be allowed to do for policies that write objects.
//! - `text`: the report for people: sentences first, then tables, as text or Markdown.
//! - `values`: the report as an object, for programs.

mod acts;
mod around;
mod inventory;
mod policies;
mod report;
mod rights;
mod text;
mod values;

pub use acts::Act;
pub use around::{Component, Configuration, Conflict, Definition, ExceptionRow};
pub use inventory::{Found, GENERATED_BY, Inventory};
pub use policies::{Obstacle, PolicyRow};
pub use report::Report;
pub use rights::Right;
pub use text::Summary;
