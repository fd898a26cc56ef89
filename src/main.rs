//! The `ephor` program: a thin shell over the library.
#![forbid(unsafe_code)]

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    std::process::exit(ephor::cli::main(&args));
}
