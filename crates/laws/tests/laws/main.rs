//! Laws of expressions of both languages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod expressions;
mod fold;
mod guard;
mod hoist;
mod item_keys;
mod optimise;

use ephor_analysis as analysis;
use ephor_cel as cel;
use ephor_functions as functions;
use ephor_ir as ir;
use ephor_jmespath as jmespath;
use ephor_laws as laws;
use ephor_value as value;
