//! Events of scans, written on a thread of their own.
//!
//! In: events. Out: these in the cluster, one after the other. A scan of many objects has more
//! violations than an API server takes events in the time, so scans never wait: what there is no
//! room for is counted in the log, and stands in the reports all the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use ephor_cluster::Cluster;

use crate::events::{Event, Journal};

/// How many events may wait; Kyverno's number. Events beyond are counted in the log, and their
/// results stand in reports.
const MAX_WAITING: usize = 1000;

/// Writes events on a thread of its own; what waits when this is dropped is still written.
pub struct ScanEvents {
    sender: SyncSender<Event>,
    /// How many had no room since the log last said so.
    left_out: Arc<AtomicU64>,
}

impl ScanEvents {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(journal: Journal, cluster: Arc<Cluster>) -> std::io::Result<ScanEvents> {
        let (sender, events) = sync_channel::<Event>(MAX_WAITING);
        let left_out: Arc<AtomicU64> = Arc::default();
        let counted = left_out.clone();
        std::thread::Builder::new().name("scan-events".into()).spawn(move || {
            let mut written = 0_usize;
            for event in events {
                if let Err(error) = journal.write(&cluster, &event) {
                    tracing::warn!(%error, "an event cannot be written");
                }
                written = written.wrapping_add(1);
                if written.is_multiple_of(MAX_WAITING) {
                    let count = counted.swap(0, Ordering::Relaxed);
                    if count > 0 {
                        tracing::warn!(
                            count,
                            "events of violations are left out: there are too many at once"
                        );
                    }
                }
            }
        })?;
        Ok(ScanEvents { sender, left_out })
    }

    /// Takes an event, if there is room.
    pub fn announce(&self, event: Event) {
        if self.sender.try_send(event).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }
}
