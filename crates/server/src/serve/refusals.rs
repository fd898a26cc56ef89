//! Reviews that are refused before policies are evaluated: an API server counts these as failed
//! calls, and allows the request with `failurePolicy: Ignore`.
//!
//! In: refusals with their reasons. Out: a counter, lines in the log and in the audit log. A client
//! can cause many, so that there is one line a second for each reason, with how many there were.

use ephor_value::Value;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use prometheus::IntCounterVec;

use ephor_admission::admit::Undecodable;

use super::audit::Audit;
use super::metrics::Metrics;
use super::responses::now;
use super::threads::STACK;

/// How often there is a line for a reason.
const EVERY: Duration = Duration::from_secs(1);
/// How many refusals may wait to be written; more are counted only.
const WAITING: usize = 1024;
/// Longer paths are cut.
const LONGEST_PATH: usize = 200;

/// A refusal.
pub struct Refused {
    /// Why, in a word.
    pub reason: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// The text of the answer.
    pub text: String,
    /// The path.
    pub path: String,
}

/// See the module page.
pub struct Refusals {
    counters: IntCounterVec,
    send: Mutex<Option<SyncSender<Refused>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// The reason for which a status is answered.
pub fn reason(refusal: &Undecodable) -> &'static str {
    match refusal.status {
        400 => "bad_request",
        404 => "unknown_path",
        405 => "method",
        408 => "timeout",
        413 => "too_large",
        415 => "content_type",
        417 => "undecodable",
        429 => "too_many",
        504 => "late",
        _ => "other",
    }
}

impl Refusals {
    /// Begins to write.
    pub fn start(metrics: &Metrics, audit: Option<Arc<Audit>>) -> Refusals {
        let (send, receive) = sync_channel(WAITING);
        let (lost, counters) = (metrics.audit_dropped.clone(), metrics.refused.clone());
        let write = move |refused: &Refused, count: u64| {
            let Refused { reason, status, text, path } = refused;
            tracing::warn!(reason, status, path, count, text, "reviews were refused");
            let line = line_of(&now(), refused, count);
            if let Some(audit) = &audit {
                audit.write_or_count(&line, &lost);
            }
        };
        let thread = std::thread::Builder::new().name("refusals".into()).stack_size(STACK);
        let writer = thread.spawn(move || run(&receive, &write)).ok();
        Refusals { counters, send: Mutex::new(Some(send)), writer: Mutex::new(writer) }
    }

    /// Notes a refusal; it never waits.
    pub fn note(&self, reason: &'static str, status: u16, text: &str, path: &str) {
        self.counters.with_label_values(&[reason]).inc();
        let path = path.chars().take(LONGEST_PATH).collect();
        let refused = Refused { reason, status, text: text.to_string(), path };
        let send = self.send.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(send) = &*send {
            let _ = send.try_send(refused);
        }
    }

    /// Writes what was noted, and ends.
    pub fn end(&self) {
        drop(self.send.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(writer) = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = writer.join();
        }
    }
}

/// Refusals for the same reason.
struct Recent {
    written: Instant,
    last: Refused,
    count: u64,
}

fn run(receive: &Receiver<Refused>, write: &impl Fn(&Refused, u64)) {
    let mut recent: HashMap<&'static str, Recent> = HashMap::new();
    loop {
        let ends = match receive.recv_timeout(EVERY) {
            Ok(refused) => {
                take(&mut recent, refused, Instant::now(), write);
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        };
        for of in recent.values_mut().filter(|of| of.count > 0 && (ends || of.written.elapsed() >= EVERY)) {
            write(&of.last, of.count);
            (of.count, of.written) = (0, Instant::now());
        }
        if ends {
            return;
        }
    }
}

/// Takes a refusal: the first for some time is written at once.
fn take(
    recent: &mut HashMap<&'static str, Recent>,
    refused: Refused,
    now: Instant,
    write: &impl Fn(&Refused, u64),
) {
    match recent.get_mut(refused.reason) {
        Some(of) if now.saturating_duration_since(of.written) < EVERY => {
            of.count += 1;
            of.last = refused;
        }
        Some(of) => {
            write(&refused, of.count + 1);
            (of.count, of.written) = (0, now);
        }
        None => {
            write(&refused, 1);
            recent.insert(refused.reason, Recent { written: now, last: refused, count: 0 });
        }
    }
}

/// The line of reviews that were refused before policies were evaluated, for the same reason.
fn line_of(time: &str, of: &Refused, count: u64) -> Value {
    Value::map([
        ("time", time.into()),
        ("stage", "refused".into()),
        ("path", Value::from(&*of.path)),
        ("status", Value::Int(of.status.into())),
        ("reason", of.reason.into()),
        ("message", Value::from(&*of.text)),
        ("count", Value::Int(i64::try_from(count).unwrap_or(i64::MAX))),
    ])
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn there_is_one_line_a_second_for_each_reason_with_a_count() {
        let (mut recent, written) = (HashMap::new(), RefCell::new(Vec::new()));
        let began = Instant::now();
        let mut refuse = |reason: &'static str, milliseconds: u64| {
            let refused = Refused { reason, status: 413, text: String::new(), path: "/validate".into() };
            let now = began + Duration::from_millis(milliseconds);
            take(&mut recent, refused, now, &|r: &Refused, count| {
                written.borrow_mut().push((r.reason, count))
            });
        };
        for milliseconds in [0, 1, 2, 999] {
            refuse("too_large", milliseconds);
        }
        refuse("too_many", 999);
        refuse("too_large", 1001);
        assert_eq!(*written.borrow(), [("too_large", 1), ("too_many", 1), ("too_large", 4)]);
    }
}
