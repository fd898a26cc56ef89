//! The `ephor` program: a thin shell over the library.
#![forbid(unsafe_code)]

#[global_allocator]
static ALLOCATOR: ephor::cli::allocator::Allocator = ephor::cli::allocator::Allocator;

fn main() {
    // An argument that is no Unicode is a text with replacement characters, not a panic.
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    std::process::exit(ephor::cli::main(&args));
}
