//! What the server still has to do: messages in the order in which they came.
//!
//! The thread that reads messages adds them and never waits; the worker takes them. Diagnostics are
//! no messages: the worker checks files when there are none, and stops when one comes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ephor_editor::{Cancellation, ReadText};
use lsp_server::{Notification, Request, RequestId, Response};

/// A message for the worker.
#[derive(Debug)]
pub(super) enum Job {
    /// To be answered, unless its token is cancelled.
    Request(Request, Cancellation),
    /// Something that happened.
    Notification(Notification),
    /// The client's answer.
    Response(Response),
    /// A large text that was read on a thread of its own; without one it ended with a fault of the
    /// program.
    Read(Arc<str>, Option<Box<ReadText>>),
    /// What a command found that ran on a thread of its own.
    Finished(Box<super::commands::CommandOutcome>),
}

/// See the module page.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<QueueState>,
    is_ready: Condvar,
}

#[derive(Default)]
struct QueueState {
    jobs: VecDeque<Job>,
    /// The tokens of requests that have no answer yet.
    tokens: HashMap<RequestId, Cancellation>,
    /// The token of the files that are being checked.
    checking: Cancellation,
    is_closed: bool,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message; what checks files stops for it.
    pub(super) fn add(&self, job: Job) {
        let mut state = self.state();
        if let Job::Request(request, token) = &job {
            state.tokens.insert(request.id.clone(), token.clone());
        }
        state.checking.cancel();
        state.jobs.push_back(job);
        self.is_ready.notify_all();
    }

    /// Cancels a request that has no answer yet.
    pub(super) fn cancel(&self, id: &RequestId) {
        if let Some(token) = self.state().tokens.get(id) {
            token.cancel();
        }
    }

    /// A request has its answer.
    pub(super) fn answered(&self, id: &RequestId) {
        self.state().tokens.remove(id);
    }

    /// The next message, and the token for work that is none. Without a message there is none only
    /// after the time, or when the queue is closed, which the last part says; without a time it
    /// waits for ever.
    pub(super) fn next(&self, time: Option<Duration>) -> (Option<Job>, Cancellation, bool) {
        let is_empty = |state: &mut QueueState| state.jobs.is_empty() && !state.is_closed;
        let state = self.state();
        let mut state = match time {
            None => self.is_ready.wait_while(state, is_empty).unwrap_or_else(PoisonError::into_inner),
            Some(time) => {
                let waited = self.is_ready.wait_timeout_while(state, time, is_empty);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        let job = state.jobs.pop_front();
        if job.is_none() {
            state.checking = Cancellation::default();
        }
        let is_over = state.is_closed && job.is_none();
        (job, state.checking.clone(), is_over)
    }

    /// Takes the next message if it is a notification of a method.
    pub(super) fn next_if(&self, method: &str) -> Option<Notification> {
        let mut state = self.state();
        match state.jobs.front() {
            Some(Job::Notification(next)) if next.method == method => match state.jobs.pop_front() {
                Some(Job::Notification(next)) => Some(next),
                _ => None,
            },
            _ => None,
        }
    }

    /// No message will come; what is there is still done.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.checking.cancel();
        self.is_ready.notify_all();
    }
}
