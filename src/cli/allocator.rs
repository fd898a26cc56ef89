//! The allocator of the program and of its benches: small strings and objects are most of the work,
//! which these do faster than the system's.
//!
//! On Linux, where servers run, the one that returns what is free to the system: under varied
//! reviews a server holds a third less with jemalloc than with mimalloc (`benches/soak.py`). It is
//! not built for Windows.

#[cfg(not(target_os = "linux"))]
pub use mimalloc::MiMalloc as Allocator;
#[cfg(target_os = "linux")]
pub use tikv_jemallocator::Jemalloc as Allocator;
