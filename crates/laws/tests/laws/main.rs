//! Laws of expressions of both languages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod expressions;
mod fold;
mod guard;
mod hoist;
mod item_keys;
mod optimise;
