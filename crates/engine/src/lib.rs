//! The engine: policies and a request → results.
//!
//! In: lowered policies, a [`Request`], a [`Profile`], and a source of data. Out: a result for
//! every rule that matches. The engine knows neither files nor languages; the order of work inside
//! a rule is match, exclude, data, preconditions, exceptions, body.
#![forbid(unsafe_code)]

pub mod action;
pub mod admission;
mod cells;
pub mod cleanup;
mod comprehension;
pub mod condition;
pub mod data;
mod entries;
pub mod error;
pub mod eval;
pub mod expressions;
pub mod fill;
pub mod generate;
pub mod images;
pub mod leaf;
mod lists;
#[cfg(feature = "signatures")]
mod manifests;
#[cfg(not(feature = "signatures"))]
mod unverified;
#[cfg(not(feature = "signatures"))]
use unverified as manifests;
mod matched;
pub mod meter;
pub mod mutate;
pub mod outcome;
pub mod pod_security;
pub mod profile;
pub mod request;
mod results;
mod rule_params;
pub mod run;
pub mod shape;
pub mod shared;
pub mod sorted;
pub mod strict;
pub mod trace;
pub mod validate;
mod verdict;
pub mod verify;
pub mod view;

pub use outcome::{Effect, RuleOutcome, Status};
pub use profile::Profile;
pub use request::Request;
