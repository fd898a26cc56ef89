//! What rules write: predicted before there is an object, and compared by its results.
//!
//! - `adjacent_items`: items next to each other that a rule may join
//! - `canonical_object`: objects in one order
//! - `changes`: the proof for sides that change objects
//! - `existing_objects`: objects that rules copy, built
//! - `frame`: objects with a probe outside of the footprint (frame condition)
//! - `fresh`: values that differ from all others, where values are copied
//! - `item_order`: changes that move items
//! - `merge_keys`: lists that are merged by keys of their items
//! - `results`: sides that change objects, compared by their results
//! - `writes`: what a rule may write

pub(crate) mod adjacent_items;
pub(crate) mod canonical_object;
pub(crate) mod changes;
pub(crate) mod existing_objects;
pub(crate) mod frame;
pub(crate) mod fresh;
pub(crate) mod item_order;
pub(crate) mod merge_keys;
pub(crate) mod results;
pub(crate) mod writes;
