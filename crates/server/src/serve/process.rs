//! What the system says about the process, under the names that Prometheus' clients have for it.
//!
//! In: `/proc/self`, read when metrics are. Out: processor time, memory, files, threads and the
//! start of the process; nothing changes where the system does not say.

use prometheus::{Counter, Gauge, IntGauge};

use super::catalog::Catalog;

/// The metrics `process_*`.
pub(super) struct ProcessMetrics {
    cpu: Counter,
    resident: IntGauge,
    /// The same under the name that it had first.
    own_resident: IntGauge,
    virtual_memory: IntGauge,
    open_files: IntGauge,
    max_files: IntGauge,
    threads: IntGauge,
    start: Gauge,
}

/// What the system says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Reading {
    cpu_seconds: f64,
    resident_bytes: u64,
    virtual_bytes: u64,
    open_files: u64,
    /// `None` = without limit.
    max_files: Option<u64>,
    threads: u64,
    /// Seconds since 1970.
    start: f64,
}

impl ProcessMetrics {
    /// Registers all of them.
    ///
    /// # Errors
    /// A metric has the name of another one.
    pub fn new(all: &Catalog) -> Result<ProcessMetrics, prometheus::Error> {
        Ok(ProcessMetrics {
            cpu: all.amount("process_cpu_seconds_total", "Processor time of the process, in seconds.")?,
            resident: all.gauge(
                "process_resident_memory_bytes",
                "Resident memory of the process; 0 where the system does not say.",
            )?,
            own_resident: all.gauge(
                "ephor_process_resident_memory_bytes",
                "As `process_resident_memory_bytes`, whose name it had before.",
            )?,
            virtual_memory: all
                .gauge("process_virtual_memory_bytes", "Size of the address space of the process.")?,
            open_files: all.gauge("process_open_fds", "Open file descriptors.")?,
            max_files: all
                .gauge("process_max_fds", "How many file descriptors may be open; 0 without a limit.")?,
            threads: all.gauge("process_threads", "Threads of the process.")?,
            start: all.measurement(
                "process_start_time_seconds",
                "When the process began, in seconds since 1970.",
            )?,
        })
    }

    /// Sets them to what the system says now.
    pub fn read(&self) {
        if let Some(reading) = reading() {
            self.set(&reading);
        }
    }

    fn set(&self, reading: &Reading) {
        let gauge = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        self.cpu.inc_by((reading.cpu_seconds - self.cpu.get()).max(0.0));
        self.resident.set(gauge(reading.resident_bytes));
        self.own_resident.set(gauge(reading.resident_bytes));
        self.virtual_memory.set(gauge(reading.virtual_bytes));
        self.open_files.set(gauge(reading.open_files));
        self.max_files.set(gauge(reading.max_files.unwrap_or_default()));
        self.threads.set(gauge(reading.threads));
        self.start.set(reading.start);
    }
}

#[cfg(target_os = "linux")]
fn reading() -> Option<Reading> {
    use procfs::process::{LimitValue, Process};

    let process = Process::myself().ok()?;
    let stat = process.stat().ok()?;
    let ticks = procfs::ticks_per_second() as f64;
    let max_files = match process.limits().ok()?.max_open_files.soft_limit {
        LimitValue::Value(most) => Some(most),
        LimitValue::Unlimited => None,
    };
    Some(Reading {
        cpu_seconds: stat.utime.saturating_add(stat.stime) as f64 / ticks,
        resident_bytes: stat.rss.saturating_mul(procfs::page_size()),
        virtual_bytes: stat.vsize,
        open_files: u64::try_from(process.fd_count().ok()?).unwrap_or(u64::MAX),
        max_files,
        threads: u64::try_from(stat.num_threads).unwrap_or_default(),
        start: procfs::boot_time_secs().ok()? as f64 + stat.starttime as f64 / ticks,
    })
}

#[cfg(not(target_os = "linux"))]
fn reading() -> Option<Reading> {
    None
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    #[test]
    fn memory_and_files_that_are_used_are_counted() {
        let before = reading().expect("numbers");
        let used = vec![1u8; 64 << 20];
        let files: Vec<std::fs::File> =
            (0..16).map(|_| std::fs::File::open("/proc/self/stat").expect("a file")).collect();
        let after = reading().expect("numbers");
        assert!(after.resident_bytes >= before.resident_bytes + (60 << 20), "{before:?} {after:?}");
        assert!(after.open_files >= before.open_files + 10, "{before:?} {after:?}");
        assert!(after.virtual_bytes > after.resident_bytes && after.threads >= 1, "{after:?}");
        assert!(after.cpu_seconds >= before.cpu_seconds, "{before:?} {after:?}");
        drop((used, files));
    }

    #[test]
    fn the_process_began_before_now_and_after_the_day_before() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64();
        let start = reading().expect("numbers").start;
        // The start is counted in ticks since the system began, which is known to a second.
        assert!(start <= now + 2.0 && start > now - 86_400.0, "{start} {now}");
    }

    #[test]
    fn processor_time_only_rises() {
        let metrics = ProcessMetrics::new(&Catalog::default()).expect("metrics");
        metrics.set(&Reading { cpu_seconds: 2.5, ..Reading::default() });
        metrics.set(&Reading { cpu_seconds: 2.25, ..Reading::default() });
        assert_eq!(metrics.cpu.get(), 2.5);
    }
}
