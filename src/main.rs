//! The `ephor` program: a thin shell over the library.
#![forbid(unsafe_code)]

fn main() {}
