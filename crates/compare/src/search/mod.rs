//! The search for objects on which two sides differ, or the proof that there are none.
//!
//! - `any_inputs`: sides that are the same whatever lookups answer
//! - `budget`: how much is evaluated for a unit
//! - `candidates`: which units of the other side cover one
//! - `compared`: both sides as a whole on one object
//! - `cover`: whether some units cover one
//! - `domains`: values of each class, and the cases that are combinations of them
//! - `findings`: what a comparison found, and its answer
//! - `footprint`: what a unit and others read and test
//! - `neighbours`: variations of an object
//! - `run`: the state of a comparison
//! - `sample`: objects that are tried where nothing can be proved
//! - `shrink`: smaller objects that show the same
//! - `procedure`: environment by environment, unit by unit, in both directions
//! - `witness`: objects on which both sides as a whole differ

pub(crate) mod any_inputs;
pub(crate) mod budget;
pub(crate) mod candidates;
pub(crate) mod compared;
pub(crate) mod cover;
pub(crate) mod domains;
pub(crate) mod findings;
pub(crate) mod footprint;
pub(crate) mod neighbours;
pub(crate) mod procedure;
pub(crate) mod run;
pub(crate) mod sample;
pub(crate) mod shrink;
pub(crate) mod witness;
