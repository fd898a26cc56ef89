//! The chance that functions draw from.
//!
//! In: nothing, or a seed of the program ([`seed`]). Out: a source of random numbers ([`rng`]).
//! With a seed, what is drawn depends on it and on what is evaluated ([`begin`]) alone, so that a
//! run that is repeated, with any number of threads, draws the same.

use std::cell::Cell;
use std::hash::Hasher as _;
use std::sync::OnceLock;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng as _};

static SEED: OnceLock<u64> = OnceLock::new();

thread_local! {
    /// What is evaluated, and how often was drawn for it.
    static SUBJECT: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Chooses the seed of the program; only the first choice counts.
pub fn seed(seed: u64) {
    let _ = SEED.set(seed);
}

/// A seed that cannot be guessed.
pub fn fresh() -> u64 {
    rand::random()
}

/// Says what is evaluated on this thread from now on, by the names of it. Without a seed nothing
/// happens.
pub fn begin(names: &[&str]) {
    if SEED.get().is_none() {
        return;
    }
    let mut hasher = foldhash::fast::FoldHasher::with_seed(0, foldhash::SharedSeed::global_fixed());
    for name in names {
        hasher.write(name.as_bytes());
        hasher.write_u8(0xff);
    }
    SUBJECT.set((hasher.finish(), 0));
}

/// Random numbers.
pub fn rng() -> Box<dyn Rng> {
    let Some(seed) = SEED.get() else { return Box::new(rand::rng()) };
    let (subject, drawn) = SUBJECT.get();
    SUBJECT.set((subject, drawn.wrapping_add(1)));
    let mixed = (seed ^ subject.rotate_left(17)).wrapping_add(drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    Box::new(SmallRng::seed_from_u64(mixed))
}
