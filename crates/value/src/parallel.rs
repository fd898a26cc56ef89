//! Work on many threads: with the feature `parallel`, else on the caller's.
//!
//! In: items, and a function. Out: its results in the order of the items, the same for any number
//! of threads. Work that needs a larger stack than its caller has gets a thread of its own
//! ([`on_a_stack`]), with the feature or without.

/// Does something on a thread with a stack of this size; `None` when there is no such thread,
/// or it panicked. Browsers have no threads: there it is done on the caller's stack.
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
pub fn on_a_stack<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(bytes).spawn_scoped(scope, work).ok()?;
        thread.join().ok()
    })
}

/// Does something on a stack of this size; here on the only one.
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub fn on_a_stack<T: Send>(_: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    Some(work())
}

/// Does two things at once; with one thread, one after the other.
pub fn join<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
    #[cfg(feature = "parallel")]
    {
        rayon::join(first, second)
    }
    #[cfg(not(feature = "parallel"))]
    {
        (first(), second())
    }
}

/// Does something on a thread of its own.
///
/// # Errors
/// There is no such thread.
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(work).map(|_| ())
}

/// How many threads there are for [`map`].
pub fn threads() -> usize {
    #[cfg(feature = "parallel")]
    {
        rayon::current_num_threads()
    }
    #[cfg(not(feature = "parallel"))]
    {
        1
    }
}

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
