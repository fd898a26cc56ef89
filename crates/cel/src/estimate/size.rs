//! Ranges of sizes and costs.

/// The least and the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
}

/// The sizes of a collection's keys and values.
#[derive(Clone, Copy, Debug)]
pub struct Entries {
    /// Whether it is a list.
    pub is_list: bool,
    /// Of keys; of positions in a list.
    pub key: Range,
    /// Of values or items.
    pub value: Range,
}

impl Entries {
    /// Either of two collections.
    pub fn union(self, other: Entries) -> Entries {
        Entries {
            is_list: self.is_list,
            key: self.key.union(other.key),
            value: self.value.union(other.value),
        }
    }
}

impl Range {
    /// Nothing is known.
    pub const UNKNOWN: Range = Range { min: 0, max: u64::MAX };
    /// The union with it is the other.
    pub const NOTHING: Range = Range { min: u64::MAX, max: 0 };

    /// Exactly so much.
    pub const fn fixed(n: u64) -> Range {
        Range { min: n, max: n }
    }

    /// The sum.
    pub fn plus(self, other: Range) -> Range {
        Range { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    /// The product.
    pub fn multiply(self, other: Range) -> Range {
        Range { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// A part or a multiple, rounded up.
    pub fn times(self, factor: f64) -> Range {
        Range { min: times(self.min, factor), max: times(self.max, factor) }
    }

    /// As [`Range::times`]; what has no bound keeps none.
    pub fn times_unbounded(self, factor: f64) -> Range {
        let most = |n: u64| if n == u64::MAX { n } else { times(n, factor) };
        Range { min: times(self.min, factor), max: most(self.max) }
    }

    /// Either of two.
    pub fn union(self, other: Range) -> Range {
        Range { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// `n` times a factor, rounded up, as doubles have it.
pub fn times(n: u64, factor: f64) -> u64 {
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    let product = (n as f64 * factor).ceil();
    if product >= LIMIT { u64::MAX } else { product as u64 }
}
