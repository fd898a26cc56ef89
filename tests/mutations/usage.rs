//! What a run takes: time of processors, and memory.
#![allow(dead_code, reason = "two test programs use a part of it each")]

use std::time::{Duration, Instant};

/// Time that this program, or a thread, was running. Other programs of a busy machine do not count.
pub struct Clock {
    running: fn() -> Option<Duration>,
    start: Option<Duration>,
    wall: Instant,
}

fn of_thread() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

fn of_program() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name of the program, which may hold anything: the time in it and in the system, in
    // hundredths of a second.
    let mut fields = text.rsplit(')').next()?.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (ticks()? + ticks()?)))
}

impl Clock {
    /// Of all threads of this program: loading uses several.
    pub fn program() -> Clock {
        Clock { running: of_program, start: of_program(), wall: Instant::now() }
    }

    /// Of this thread.
    pub fn thread() -> Clock {
        Clock { running: of_thread, start: of_thread(), wall: Instant::now() }
    }

    pub fn elapsed(&self) -> Duration {
        let wall = self.wall.elapsed();
        match self.start.filter(|_| wall > Duration::from_secs(1)).zip((self.running)()) {
            Some((start, now)) => now.saturating_sub(start).min(wall),
            None => wall,
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
