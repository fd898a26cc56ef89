//! What a run takes: time of this thread's processor, and memory.

use std::time::{Duration, Instant};

/// Time that this thread was running; other programs of a busy machine do not count.
pub struct Clock {
    start: Option<Duration>,
    wall: Instant,
}

fn running() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

impl Clock {
    pub fn start() -> Clock {
        Clock { start: running(), wall: Instant::now() }
    }

    pub fn elapsed(&self) -> Duration {
        match (self.start, running()) {
            (Some(start), Some(now)) => now.saturating_sub(start),
            _ => self.wall.elapsed(),
        }
    }
}

/// A line of `/proc/self/status` in MiB; `None` where there is none.
fn status(line: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let found = text.lines().find_map(|l| l.strip_prefix(line))?;
    Some(found.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok()? >> 10)
}

/// Memory in use, in MiB.
pub fn resident() -> Option<u64> {
    status("VmRSS")
}

/// The most memory that was in use since [`reset_peak`], in MiB.
pub fn peak() -> Option<u64> {
    status("VmHWM")
}

pub fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
