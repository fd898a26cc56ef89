//! Queues of work.
//!
//! In: keys, at once or after a time. Out: each key to one worker at a time. A key that is added
//! while it is in work comes again when that work is done; what failed comes again later, each time
//! after a longer pause. Keys say what to read, not what to do: a worker reads the present
//! state, so nothing is lost when several changes come as one key.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What follows when a key was worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing until it is added again.
    Done,
    /// It comes again after this time.
    After(Duration),
}

/// Keys that wait for work.
#[derive(Debug)]
pub struct Queue<K> {
    state: Mutex<QueueState<K>>,
    changed: Condvar,
}

#[derive(Debug)]
struct QueueState<K> {
    ready: VecDeque<K>,
    /// By the moment at which they are ready; the number keeps equal moments apart.
    later: BTreeMap<(Instant, u64), K>,
    /// When each of these is ready.
    due: HashMap<K, (Instant, u64)>,
    number: u64,
    /// Those in `ready`.
    queued: HashSet<K>,
    in_work: HashSet<K>,
    /// Those that were added while they were in work.
    again: HashSet<K>,
    failures: HashMap<K, u32>,
    ended: bool,
    /// Which keys come before all others that are ready.
    is_first: fn(&K) -> bool,
}

impl<K> Default for Queue<K> {
    fn default() -> Queue<K> {
        let state = QueueState {
            ready: VecDeque::new(),
            later: BTreeMap::new(),
            due: HashMap::new(),
            number: 0,
            queued: HashSet::new(),
            in_work: HashSet::new(),
            again: HashSet::new(),
            failures: HashMap::new(),
            ended: false,
            is_first: |_| false,
        };
        Queue { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<K: Clone + Eq + Hash + Debug> QueueState<K> {
    fn add(&mut self, key: K) {
        if self.in_work.contains(&key) {
            self.again.insert(key);
        } else if self.queued.insert(key.clone()) {
            match (self.is_first)(&key) {
                true => self.ready.push_front(key),
                false => self.ready.push_back(key),
            }
        }
    }

    /// Adds a key for later, unless it comes before that anyway.
    fn add_later(&mut self, key: K, at: Instant) {
        if self.due.get(&key).is_some_and(|(due, _)| *due <= at) {
            return;
        }
        self.drop_later(&key);
        self.number += 1;
        self.due.insert(key.clone(), (at, self.number));
        self.later.insert((at, self.number), key);
    }

    fn drop_later(&mut self, key: &K) {
        if let Some(due) = self.due.remove(key) {
            self.later.remove(&due);
        }
    }

    /// Moves what is due to the others that are ready; the moment of the next one.
    fn advance(&mut self, now: Instant) -> Option<Instant> {
        while let Some(entry) = self.later.first_entry() {
            let (at, _) = *entry.key();
            if at > now {
                return Some(at);
            }
            let key = entry.remove();
            self.due.remove(&key);
            self.add(key);
        }
        None
    }
}

impl<K: Clone + Eq + Hash + Debug> Queue<K> {
    fn state(&self) -> MutexGuard<'_, QueueState<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A queue in which some keys do not wait for the others.
    pub fn with_first(is_first: fn(&K) -> bool) -> Queue<K> {
        let queue = Queue::default();
        queue.state().is_first = is_first;
        queue
    }

    /// Adds a key, unless it waits already.
    pub fn add(&self, key: K) {
        self.state().add(key);
        self.changed.notify_one();
    }

    /// Adds a key, unless it waits already, also for later, or is in work.
    pub fn add_new(&self, key: K) {
        let mut state = self.state();
        if !state.in_work.contains(&key) && !state.due.contains_key(&key) {
            state.add(key);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Adds a key after a time, unless it comes before that anyway.
    pub fn add_after(&self, key: K, after: Duration) {
        self.state().add_later(key, Instant::now() + after);
        self.changed.notify_one();
    }

    /// How many keys wait, those for later included.
    pub fn len(&self) -> usize {
        let state = self.state();
        state.ready.len() + state.later.len()
    }

    /// Whether no key waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next key; waits until there is one. `None` = the queue has ended.
    pub fn take(&self) -> Option<K> {
        let mut state = self.state();
        loop {
            if state.ended {
                return None;
            }
            let next = state.advance(Instant::now());
            if let Some(key) = state.ready.pop_front() {
                state.queued.remove(&key);
                // The work says when it is due again.
                state.drop_later(&key);
                state.in_work.insert(key.clone());
                return Some(key);
            }
            state = match next {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(at) => {
                    let left = at.saturating_duration_since(Instant::now());
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Ends work on a key; `None` = it failed. Returns how often it has failed in a row.
    pub fn done(&self, key: &K, next: Option<Next>) -> u32 {
        let mut state = self.state();
        state.in_work.remove(key);
        let failures = match next {
            Some(_) => {
                state.failures.remove(key);
                0
            }
            None => {
                let failures = state.failures.entry(key.clone()).or_insert(0);
                *failures = failures.saturating_add(1);
                *failures
            }
        };
        let pause = match next {
            Some(Next::Done) => None,
            Some(Next::After(pause)) => Some(pause),
            None => Some(pause_after(failures)),
        };
        if state.again.remove(key) {
            state.add(key.clone());
        }
        drop(state);
        if let Some(pause) = pause {
            self.add_after(key.clone(), pause);
        }
        self.changed.notify_one();
        failures
    }

    /// Removes all keys that wait.
    pub fn clear(&self) {
        let mut state = self.state();
        state.ready.clear();
        state.queued.clear();
        state.later.clear();
        state.due.clear();
        state.again.clear();
        state.failures.clear();
    }

    /// Ends the queue: workers get no more keys.
    pub fn end(&self) {
        self.state().ended = true;
        self.changed.notify_all();
    }
}

/// The pause after this many failures in a row.
fn pause_after(failures: u32) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16));
    doubled.min(LONGEST_PAUSE)
}

/// Threads that work on the keys of a queue.
#[derive(Debug)]
pub struct Workers<K: Clone + Eq + Hash + Debug> {
    queue: Arc<Queue<K>>,
    threads: Vec<JoinHandle<()>>,
}

impl<K: Clone + Eq + Hash + Debug + Send + 'static> Workers<K> {
    /// Starts `count` threads. `work` returns what follows; a failure is logged, and the key comes
    /// again.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start<E: Display>(
        name: &'static str,
        count: usize,
        queue: Arc<Queue<K>>,
        work: impl Fn(&K) -> Result<Next, E> + Send + Sync + 'static,
    ) -> std::io::Result<Workers<K>> {
        let work = Arc::new(work);
        let mut workers = Workers { queue: queue.clone(), threads: Vec::with_capacity(count) };
        for _ in 0..count {
            let (queue, work) = (queue.clone(), work.clone());
            let thread = std::thread::Builder::new().name(name.into()).stack_size(STACK);
            workers.threads.push(thread.spawn(move || {
                while let Some(key) = queue.take() {
                    // One object that cannot be worked on must not stop the others.
                    let next = match catch_unwind(AssertUnwindSafe(|| work(&key))) {
                        Ok(Ok(next)) => Some(next),
                        Ok(Err(error)) => {
                            tracing::warn!(controller = name, ?key, error = %error, "failed; tried again later");
                            None
                        }
                        Err(_) => {
                            tracing::error!(controller = name, ?key, "panicked; tried again later");
                            None
                        }
                    };
                    queue.done(&key, next);
                }
            })?);
        }
        Ok(workers)
    }
}

/// Evaluations recurse as deeply as objects nest.
const STACK: usize = 16 << 20;

impl<K: Clone + Eq + Hash + Debug> Drop for Workers<K> {
    fn drop(&mut self) {
        self.queue.end();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_key_that_waits_is_not_queued_twice() {
        let queue = Queue::default();
        queue.add("a");
        queue.add("b");
        queue.add("a");
        assert_eq!((queue.take(), queue.take(), queue.len()), (Some("a"), Some("b"), 0));
    }

    #[test]
    fn keys_that_come_first_do_not_wait_for_the_others() {
        let queue = Queue::with_first(|key| *key == "policies");
        ["a", "b", "policies"].into_iter().for_each(|key| queue.add(key));
        assert_eq!([queue.take(), queue.take(), queue.take()], [Some("policies"), Some("a"), Some("b")]);
    }

    #[test]
    fn a_key_that_is_added_while_it_is_in_work_comes_again_afterwards() {
        let queue = Queue::default();
        queue.add("a");
        let key = queue.take().unwrap();
        queue.add("a");
        assert!(queue.is_empty(), "two workers must not have the same key");
        queue.done(&key, Some(Next::Done));
        assert_eq!(queue.take(), Some("a"));
    }

    #[test]
    fn a_key_waits_for_the_earliest_time_alone_and_not_at_all_once_it_was_worked_on() {
        let queue = Queue::default();
        queue.add_after("a", Duration::from_secs(600));
        queue.add_after("a", Duration::from_secs(900));
        assert_eq!(queue.len(), 1);
        queue.add_after("a", Duration::ZERO);
        let key = queue.take().unwrap();
        assert!(queue.is_empty());
        queue.add_after("a", Duration::from_secs(900));
        queue.add("b");
        assert_eq!(queue.take(), Some("b"));
        queue.done(&key, Some(Next::Done));
        queue.add("a");
        assert_eq!((queue.take(), queue.len()), (Some("a"), 0));
    }

    #[test]
    fn what_failed_comes_again_after_a_pause_that_doubles_up_to_a_minute() {
        let queue = Queue::default();
        queue.add("a");
        let key = queue.take().unwrap();
        assert_eq!(queue.done(&key, None), 1);
        assert_eq!(queue.take(), Some("a"));
        assert_eq!(queue.done(&key, None), 2);
        assert_eq!(queue.done(&key, Some(Next::Done)), 0);
        assert_eq!([1, 2, 3, 40].map(pause_after).map(|p| p.as_millis()), [200, 400, 800, 60_000]);
    }

    #[test]
    fn work_that_panics_is_tried_again_and_other_keys_are_worked_on() {
        let queue = Arc::new(Queue::default());
        let (send, receive) = channel();
        let panicked = Mutex::new(false);
        let workers = Workers::start("test", 1, queue.clone(), move |key: &&str| {
            let first =
                !std::mem::replace(&mut *panicked.lock().unwrap_or_else(PoisonError::into_inner), true);
            assert!(*key != "bad" || !first, "the first time");
            send.send(*key).unwrap();
            Ok::<Next, String>(Next::Done)
        })
        .unwrap();
        queue.add("bad");
        queue.add("good");
        assert_eq!((receive.recv().unwrap(), receive.recv().unwrap()), ("good", "bad"));
        drop(workers);
        assert_eq!(queue.take(), None);
    }
}
