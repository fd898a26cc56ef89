//! The memory of the process: what it holds, and what it requests from the system.
//!
//! In: nothing. Out: the resident memory as the system counts it. Semantics:
//! `docs/reference/serve.md`, "Memory".

/// Has the system give the process ordinary pages. The allocator keeps what it frees for later in
/// pieces of 64 kB and less; where the system gives it huge pages, each piece in use holds 2 MB.
pub fn without_huge_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "huge pages are used");
    }
}

/// The bytes of the process that are in memory; `None` = this system does not say.
pub fn resident() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        // Pages: all, resident, shared, ….
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
        Some(pages.saturating_mul(rustix::param::page_size() as u64))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_used_is_resident() {
        let before = resident().expect("a number");
        let used = vec![1u8; 64 << 20];
        let after = resident().expect("a number");
        assert!(after >= before + (60 << 20), "{before} {after}");
        drop(used);
    }

    #[test]
    fn huge_pages_can_be_done_without() {
        without_huge_pages();
        assert_eq!(rustix::thread::transparent_huge_pages_are_disabled(), Ok(true));
    }
}
