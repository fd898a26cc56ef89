//! Objects and requests that stand for all others.
//!
//! - `cases`: objects × former objects × contexts
//! - `choice`: one value of a class
//! - `contexts`: users, roles, namespaces, existing objects
//! - `domain`: objects: a value of each class at each field
//! - `inputs`: answers of lookups, one of each class
//! - `product`: combinations, all or spread over all
//! - `scalars`: texts, integers, quantities and durations
//! - `spelling`: objects in which quantities are spelled in two ways
//! - `users`: who sends a request

pub(crate) mod cases;
pub(crate) mod choice;
pub(crate) mod contexts;
pub(crate) mod domain;
pub(crate) mod inputs;
pub(crate) mod product;
pub(crate) mod scalars;
pub(crate) mod spelling;
pub(crate) mod users;
