//! Comparisons of policies, from their texts to the answer.

mod fields;
mod pairs;
mod questions;
