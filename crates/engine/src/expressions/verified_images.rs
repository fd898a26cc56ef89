//! The images that a rule has checked.

use std::collections::BTreeMap;

use ephor_value::footprint;

/// The images that a policy requires and checked.
#[derive(Clone, Debug, Default)]
pub struct VerifiedImages {
    /// Images that some policy must verify.
    pub required: Vec<String>,
    /// Images that it checked, and whether an attestor verified them.
    pub images: BTreeMap<String, bool>,
}

impl VerifiedImages {
    /// How many bytes it keeps alive on the heap; nodes of its map are estimated.
    pub fn footprint(&self) -> usize {
        let names = self.required.iter().map(String::capacity).sum::<usize>();
        let images = self.images.keys().map(|image| image.capacity() + 2 * size_of::<(String, bool)>());
        footprint::of_vec(&self.required) + names + images.sum::<usize>()
    }
}
