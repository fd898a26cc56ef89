//! Which replica scans which objects.
//!
//! In: a number of shards; a Lease for each, which all replicas know. Out: the shards that this
//! replica holds ([`assigned::Assigned`]). An object belongs to one shard by its identity
//! ([`ephor_value::shard`]), as with `ephor apply --shard`. With one shard there is no Lease: the
//! replica that leads holds it. Semantics: `docs/reference/cluster.md`, "Several replicas that
//! scan".
//!
//! - [`assigned`]: the shards that this replica holds.
//! - [`leases`]: the Leases of shards: reading and writing them.
//! - `rule`: the rule by which replicas divide shards.

pub mod assigned;
pub mod leases;
mod rule;
