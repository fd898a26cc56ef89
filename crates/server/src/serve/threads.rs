//! Threads: those that read and answer, and those on which evaluations run.
//!
//! In: work and the deadline of its result. Out: the result, or that it is late; the work then
//! continues, and is counted until it ends. Quick work runs where its request was read, on at most
//! all but [`RESERVED`] of these threads at a time; slow work, and what finds no room there, runs
//! on threads of a pool. So accepting, reading and deadlines never wait for an evaluation, whatever
//! it does. Health and metrics have a thread of their own besides ([`super::until`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use prometheus::IntGauge;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle};

/// The stack of each thread: values of reviews nest up to
/// [`DEPTH`](ephor_admission::admit::incoming::DEPTH) levels. Memory is taken as far as it is used.
pub const STACK: usize = 64 << 20;
/// How many of the threads that read and answer never evaluate.
const RESERVED: usize = 2;
/// How long a thread of the pool waits for work.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The runtime that reads and answers.
///
/// # Errors
/// There are no threads.
pub fn reading() -> std::io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(readers()).thread_name("reviews");
    build(builder)
}

fn build(mut builder: Builder) -> std::io::Result<Runtime> {
    builder.thread_stack_size(STACK).enable_all().build()
}

/// One slow decision may block one thread before similar ones move to the pool.
fn readers() -> usize {
    std::thread::available_parallelism().map_or(4, |n| n.get().max(2) * 2) + RESERVED
}

/// See the module page.
pub struct Threads {
    reading: Handle,
    /// The runtime whose blocking threads are the pool; `None` = it has ended.
    runtime: Option<Runtime>,
    pool: Handle,
    /// Room for work on threads that read.
    room: Arc<Semaphore>,
    /// Work that is late and still runs.
    stuck: IntGauge,
}

/// What became of work.
pub enum Done<T> {
    /// It has ended.
    Result(T),
    /// It has not ended in time.
    Late,
    /// It cannot end.
    Fault(String),
}

impl Threads {
    /// A pool of at most this many threads, in addition to those of the current runtime.
    ///
    /// # Errors
    /// There are no threads.
    pub fn start(most: usize, stuck: IntGauge) -> std::io::Result<Threads> {
        let mut builder = Builder::new_current_thread();
        builder.max_blocking_threads(most.max(1)).thread_keep_alive(KEEP_ALIVE).thread_name("evaluation");
        let runtime = build(builder)?;
        let room = Arc::new(Semaphore::new(readers() - RESERVED));
        let pool = runtime.handle().clone();
        Ok(Threads { reading: Handle::current(), runtime: Some(runtime), pool, room, stuck })
    }

    /// Runs work and waits for it until it is due.
    pub async fn run<T: Send + 'static>(
        &self,
        slow: bool,
        due: Instant,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Done<T> {
        let is_late = Arc::new(AtomicBool::new(false));
        let counted = LateWork { is_late: is_late.clone(), stuck: self.stuck.clone() };
        let task = self.spawn(slow, move || {
            let counted = counted;
            // The caller no longer waits for what begins too late.
            let is_awaited = !counted.is_late.load(Ordering::Acquire);
            is_awaited.then(work)
        });
        let done = tokio::time::timeout_at(due.into(), task).await;
        match done {
            Ok(Ok(Ok(Some(result)))) => Done::Result(result),
            Ok(Ok(Ok(None))) => Done::Late,
            Ok(Ok(Err(e)) | Err(e)) => Done::Fault(e.to_string()),
            Err(_) => {
                self.stuck.inc();
                if is_late.swap(true, Ordering::AcqRel) {
                    // It has ended meanwhile.
                    self.stuck.dec();
                }
                Done::Late
            }
        }
    }

    /// Runs work without waiting for it.
    pub fn spawn<T: Send + 'static>(
        &self,
        slow: bool,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<Result<T, JoinError>> {
        let (room, pool) = (self.room.clone(), self.pool.clone());
        // On the thread that is at it, as soon as that has nothing else to do.
        self.reading.spawn(async move {
            let room = (!slow).then(|| room.try_acquire().ok()).flatten();
            match room {
                Some(_room) => Ok(work()),
                None => pool.spawn_blocking(work).await,
            }
        })
    }

    /// How much work is late and still runs.
    pub fn stuck(&self) -> usize {
        usize::try_from(self.stuck.get()).unwrap_or(0)
    }
}

impl Drop for Threads {
    /// Does not wait for work that never ends.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Counts work that is late until it ends.
struct LateWork {
    is_late: Arc<AtomicBool>,
    stuck: IntGauge,
}

impl Drop for LateWork {
    fn drop(&mut self) {
        if self.is_late.swap(true, Ordering::AcqRel) {
            self.stuck.dec();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn until(mut holds: impl FnMut() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < Duration::from_secs(60), "it never holds");
            std::thread::park_timeout(Duration::from_millis(2));
        }
    }

    #[test]
    fn work_that_never_ends_is_late_and_holds_up_nothing_else() {
        let runtime = reading().expect("threads");
        let stuck = IntGauge::new("stuck", "s").expect("a gauge");
        let threads = runtime.block_on(async { Threads::start(64, stuck) }).expect("threads");
        let (end, ends) = channel::<()>();
        let ends = Arc::new(std::sync::Mutex::new(ends));
        let count = readers() * 2;
        let soon = || Instant::now() + Duration::from_millis(100);
        runtime.block_on(async {
            for _ in 0..count {
                let ends = ends.clone();
                let work = move || drop(ends.lock().map(|ends| ends.recv()));
                assert!(matches!(threads.run(false, soon(), work).await, Done::Late));
            }
            assert_eq!(threads.stuck(), count);
            let due = Instant::now() + Duration::from_secs(60);
            assert!(matches!(threads.run(false, due, || 1).await, Done::Result(1)));
        });
        drop(end);
        until(|| threads.stuck() == 0);
    }
}
