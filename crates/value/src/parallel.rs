//! Work on many threads: with the feature `parallel`, else on the caller's.
//!
//! In: items, and a function. Out: its results in the order of the items, the same for any number
//! of threads.

/// Calls a function on each item.
pub fn map<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    map_with(items, 1, || (), |(), item| f(item))
}

/// Calls a function on each item, with a state for each run of at least `least` neighbours.
pub fn map_with<T: Sync, S, R: Send>(
    items: &[T],
    least: usize,
    state: impl Fn() -> S + Sync + Send,
    f: impl Fn(&mut S, &T) -> R + Sync + Send,
) -> Vec<R> {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        items.par_iter().with_min_len(least).map_init(state, f).collect()
    }
    #[cfg(not(feature = "parallel"))]
    {
        let _ = least;
        let mut state = state();
        items.iter().map(|item| f(&mut state, item)).collect()
    }
}
