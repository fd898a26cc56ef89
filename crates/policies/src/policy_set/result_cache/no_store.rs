//! The store of a build without the feature `result-cache`: there is none.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::{Cached, Plan};
use ephor_kubernetes::Kinds;
use ephor_matching::index::Slot;
use ephor_value::Str;

/// It has no values.
#[derive(Debug)]
pub enum NoStore {}

impl NoStore {
    pub fn new(_: u64) -> Option<NoStore> {
        None
    }

    pub fn hash(&self, _: &[u8]) -> Option<u128> {
        match *self {}
    }

    pub fn plan(&self, _: &(Str, Vec<Slot>)) -> Option<Arc<Plan>> {
        match *self {}
    }

    pub fn has_room_for(&self, _: &Plan) -> bool {
        match *self {}
    }

    pub fn insert_plan(&self, _: (Str, Vec<Slot>), _: Arc<Plan>) {
        match *self {}
    }

    pub fn get(&self, _: u128) -> Option<Cached> {
        match *self {}
    }

    pub fn insert(&self, _: u128, _: Cached) {
        match *self {}
    }

    pub fn alive(&self) -> &Arc<AtomicU64> {
        match *self {}
    }

    pub fn figures(&self) -> [u64; 4] {
        match *self {}
    }

    pub fn clear(&self) {
        match *self {}
    }

    pub fn era(&self, _: &Arc<Kinds>) -> Option<u64> {
        match *self {}
    }

    pub fn begin_era(&self, _: &Arc<Kinds>, _: u64) {
        match *self {}
    }
}
