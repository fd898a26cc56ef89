//! The memory of the process: what it requests from the system. What it holds is among
//! `super::process`.
//!
//! In: nothing. Out: nothing. Semantics: `docs/reference/serve.md`, "Memory".

/// Has the system give the process ordinary pages. The allocator keeps what it frees for later in
/// pieces of 64 kB and less; where the system gives it huge pages, each piece in use holds 2 MB.
pub fn without_huge_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "huge pages are used");
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_can_be_done_without() {
        without_huge_pages();
        assert_eq!(rustix::thread::transparent_huge_pages_are_disabled(), Ok(true));
    }
}
