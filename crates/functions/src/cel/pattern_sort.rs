//! Pattern-defeating quicksort, step for step as the Go runtime does it. It is not stable, but what
//! it does with items that count as equal follows from the items alone; the reference's lists
//! sorted by keys show it.
//!
//! In: how many items, and which of two comes first. Out: the sorted positions. The algorithm is
//! Orson Peters' (<https://arxiv.org/abs/2106.05123>) with the constants of Go 1.19 and later.

/// Ranges up to this length are sorted by insertion.
const INSERTION: usize = 12;
/// From this length on, a pivot is the median of three medians.
const NINTHER: usize = 50;
/// How many pairs choosing a pivot may find out of order: all of them means that the items descend.
const MAX_SWAPS: usize = 4 * 3;
/// How many pairs out of order are put right before an almost sorted range counts as unsorted, and
/// from which length on.
const REPAIRS: usize = 5;
const REPAIRABLE: usize = 50;

/// Positions 0 to `len` in sorted order. `less` may be inconsistent: the order is any then, but
/// every position is there once.
pub fn sorted_positions(len: usize, less: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut sort = Sort { at: (0..len).collect(), less };
    sort.range(0, len, usize::BITS - len.leading_zeros());
    sort.at
}

struct Sort<F> {
    at: Vec<usize>,
    less: F,
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Hint {
    Unknown,
    Increasing,
    Decreasing,
}

impl<F: Fn(usize, usize) -> bool> Sort<F> {
    fn less(&self, a: usize, b: usize) -> bool {
        match (self.at.get(a), self.at.get(b)) {
            (Some(a), Some(b)) => (self.less)(*a, *b),
            _ => false,
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        if a.max(b) < self.at.len() {
            self.at.swap(a, b);
        }
    }

    /// Sorts `a..b`; after `limit` bad choices of a pivot by a heap. Recursion is at most as deep
    /// as a length has bits: it takes the shorter side.
    fn range(&mut self, mut a: usize, mut b: usize, mut limit: u32) {
        let (mut balanced, mut partitioned) = (true, true);
        loop {
            let len = b.saturating_sub(a);
            if len <= INSERTION {
                return self.insertion(a, b);
            }
            if limit == 0 {
                return self.heap(a, b);
            }
            if !balanced {
                self.break_patterns(a, len);
                limit -= 1;
            }
            let (mut pivot, mut hint) = self.pivot(a, len);
            if hint == Hint::Decreasing {
                self.reverse(a, b);
                pivot = (b - 1) - (pivot - a);
                hint = Hint::Increasing;
            }
            if balanced && partitioned && hint == Hint::Increasing && self.almost_sorted(a, b) {
                return;
            }
            // What stands before the range is not greater than anything in it: as great as the
            // pivot means that the pivot is the least.
            if a > 0 && !self.less(a - 1, pivot) {
                a = self.split_equal(a, b, pivot);
                continue;
            }
            let (middle, was_partitioned) = self.split(a, b, pivot);
            partitioned = was_partitioned;
            let (left, right) = (middle - a, b - middle);
            balanced = left.min(right) >= len / 8;
            if left < right {
                self.range(a, middle, limit);
                a = middle + 1;
            } else {
                self.range(middle + 1, b, limit);
                b = middle;
            }
        }
    }

    fn insertion(&mut self, a: usize, b: usize) {
        for i in a + 1..b {
            let mut j = i;
            while j > a && self.less(j, j - 1) {
                self.swap(j, j - 1);
                j -= 1;
            }
        }
    }

    fn heap(&mut self, a: usize, b: usize) {
        let len = b - a;
        for root in (0..=(len.saturating_sub(1)) / 2).rev() {
            self.sift_down(root, len, a);
        }
        for end in (0..len).rev() {
            self.swap(a, a + end);
            self.sift_down(0, end, a);
        }
    }

    fn sift_down(&mut self, mut root: usize, len: usize, first: usize) {
        loop {
            let mut child = 2 * root + 1;
            if child >= len {
                return;
            }
            if child + 1 < len && self.less(first + child, first + child + 1) {
                child += 1;
            }
            if !self.less(first + root, first + child) {
                return;
            }
            self.swap(first + root, first + child);
            root = child;
        }
    }

    /// Moves three items around the middle to places that depend on the length alone.
    fn break_patterns(&mut self, a: usize, len: usize) {
        let mut random = len as u64;
        let mask = (1u64 << (u64::BITS - random.leading_zeros())) - 1;
        let middle = a + (len / 4) * 2;
        for i in 0..3 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let mut other = (random & mask) as usize;
            if other >= len {
                other -= len;
            }
            self.swap(middle - 1 + i, a + other);
        }
    }

    fn pivot(&self, a: usize, len: usize) -> (usize, Hint) {
        let mut swaps = 0;
        let quarter = len / 4;
        let (mut i, mut j, mut k) = (a + quarter, a + quarter * 2, a + quarter * 3);
        if len >= NINTHER {
            i = self.median(i - 1, i, i + 1, &mut swaps);
            j = self.median(j - 1, j, j + 1, &mut swaps);
            k = self.median(k - 1, k, k + 1, &mut swaps);
        }
        j = self.median(i, j, k, &mut swaps);
        let hint = match swaps {
            0 => Hint::Increasing,
            MAX_SWAPS => Hint::Decreasing,
            _ => Hint::Unknown,
        };
        (j, hint)
    }

    fn median(&self, mut a: usize, mut b: usize, mut c: usize, swaps: &mut usize) -> usize {
        let mut order = |a: &mut usize, b: &mut usize| {
            if self.less(*b, *a) {
                *swaps += 1;
                std::mem::swap(a, b);
            }
        };
        order(&mut a, &mut b);
        order(&mut b, &mut c);
        order(&mut a, &mut b);
        b
    }

    fn reverse(&mut self, a: usize, b: usize) {
        if let Some(range) = self.at.get_mut(a..b) {
            range.reverse();
        }
    }

    /// Puts a few pairs right; whether the range is sorted then.
    fn almost_sorted(&mut self, a: usize, b: usize) -> bool {
        let mut i = a + 1;
        for _ in 0..REPAIRS {
            while i < b && !self.less(i, i - 1) {
                i += 1;
            }
            if i == b {
                return true;
            }
            if b - a < REPAIRABLE {
                return false;
            }
            self.swap(i, i - 1);
            if i - a >= 2 {
                let mut j = i - 1;
                while j >= 1 && self.less(j, j - 1) {
                    self.swap(j, j - 1);
                    j -= 1;
                }
            }
            if b - i >= 2 {
                let mut j = i + 1;
                while j < b && self.less(j, j - 1) {
                    self.swap(j, j - 1);
                    j += 1;
                }
            }
        }
        false
    }

    /// Items less than the pivot, then the pivot, then the others: where it stands, and whether
    /// they stood so before.
    fn split(&mut self, a: usize, b: usize, pivot: usize) -> (usize, bool) {
        self.swap(a, pivot);
        let (mut i, mut j) = (a + 1, b - 1);
        let mut before = true;
        loop {
            while i <= j && self.less(i, a) {
                i += 1;
            }
            while i <= j && !self.less(j, a) {
                j -= 1;
            }
            if i > j {
                break;
            }
            before = false;
            self.swap(i, j);
            i += 1;
            j -= 1;
        }
        self.swap(j, a);
        (j, before)
    }

    /// Items equal to the pivot, then the greater ones: where these start.
    fn split_equal(&mut self, a: usize, b: usize, pivot: usize) -> usize {
        self.swap(a, pivot);
        let (mut i, mut j) = (a + 1, b - 1);
        loop {
            while i <= j && !self.less(a, i) {
                i += 1;
            }
            while i <= j && self.less(a, j) {
                j -= 1;
            }
            if i > j {
                break;
            }
            self.swap(i, j);
            i += 1;
            j -= 1;
        }
        i
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(keys: &[u32]) -> Vec<usize> {
        sorted_positions(keys.len(), |a, b| keys[a] < keys[b])
    }

    /// Keys of many patterns and lengths, a few of them different.
    fn patterns() -> Vec<Vec<u32>> {
        let mut all = Vec::new();
        for len in [0, 1, 2, 12, 13, 14, 49, 50, 51, 100, 257, 1000] {
            for few in [1, 2, 3, 7, 100] {
                all.push((0..len).map(|i| i % few).collect());
                all.push((0..len).map(|i| i / few).collect());
                all.push((0..len).map(|i| (len - i) / few).collect());
                all.push((0..len).map(|i| i.min(len - i) % few).collect());
                all.push((0..len).map(|i| (i * 7919 + 13) % 104_729 % few).collect());
            }
        }
        all
    }

    fn assert_sorted(keys: &[u32], at: &[usize]) {
        assert!(at.windows(2).all(|w| keys[w[0]] <= keys[w[1]]), "{keys:?} {at:?}");
        let mut all = at.to_vec();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..keys.len()), "each position once");
    }

    #[test]
    fn equal_keys_have_the_order_that_the_reference_gives_them() {
        assert_eq!(
            sorted(&[1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1]),
            [9, 10, 2, 7, 6, 5, 1, 12, 8, 0, 4, 11, 3, 13]
        );
        assert_eq!(sorted(&[2, 1, 2, 1, 1]), [1, 3, 4, 0, 2], "short lists keep it");
    }

    #[test]
    fn every_pattern_is_sorted() {
        for keys in patterns() {
            assert_sorted(&keys, &sorted(&keys));
        }
    }

    #[test]
    fn a_heap_sorts_after_too_many_bad_pivots() {
        for keys in patterns() {
            let mut sort =
                Sort { at: (0..keys.len()).collect(), less: |a: usize, b: usize| keys[a] < keys[b] };
            sort.range(0, keys.len(), 0);
            assert_sorted(&keys, &sort.at);
        }
    }

    #[test]
    fn an_inconsistent_comparison_loses_nothing() {
        for keys in patterns() {
            let at = sorted_positions(keys.len(), |a, b| (keys[a] ^ keys[b]) % 3 == 1 || a > b);
            let mut all = at.clone();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..keys.len()));
        }
    }
}
