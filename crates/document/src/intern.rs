//! Sharing of equal short strings within a document and among its neighbours.
//!
//! Kubernetes documents repeat their keys and many values (`name`, `Pod`, `v1`), so a short string
//! is looked up in a small table before it is allocated. The table has one place per hash: a
//! collision replaces the former string, which costs sharing and never correctness.

use ephor_value::Str;

/// Longer strings are not looked up.
const MAX_INTERNED: usize = 40;
/// Places in the table; a power of two.
const PLACES: usize = 512;

/// A table of recently seen strings.
pub(super) struct Interner(Vec<Option<Str>>);

impl Interner {
    pub(super) fn new() -> Self {
        Interner(vec![None; PLACES])
    }

    /// A shared string equal to `text`.
    pub(super) fn get(&mut self, text: &str) -> Str {
        if text.len() > MAX_INTERNED {
            return text.into();
        }
        match self.0.get_mut(place(text.as_bytes())) {
            Some(Some(known)) if **known == *text => known.clone(),
            Some(slot) => slot.insert(text.into()).clone(),
            None => text.into(),
        }
    }
}

/// Mixes the length and up to three words of the text.
fn place(bytes: &[u8]) -> usize {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut h = bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for c in &mut chunks {
        let word = c.iter().fold(0u64, |w, b| (w << 8) | u64::from(*b));
        h = (h.rotate_left(5) ^ word).wrapping_mul(K);
    }
    let word = chunks.remainder().iter().fold(0u64, |w, b| (w << 8) | u64::from(*b));
    h = (h.rotate_left(5) ^ word).wrapping_mul(K);
    (h >> 32) as usize % PLACES
}
