//! Answers the questions of standard input, one a line, with one line each: what the engine of the
//! page is compared with (`web/test/engine.mjs`).

use std::io::{BufRead, Write};

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for question in std::io::stdin().lock().lines() {
        writeln!(out, "{}", ephor_page::answer(&question?))?;
    }
    Ok(())
}
