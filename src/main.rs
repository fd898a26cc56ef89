//! The `ephor` program: a thin shell over the library.
#![forbid(unsafe_code)]

/// Small strings and objects are most of the work, which this allocator does faster than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    std::process::exit(ephor::cli::main(&args));
}
