//! Texts one behind the other, each on its own again when they are read.

use std::io::{BufRead, BufReader};

use ephor_report::formats::WriteError;
use ephor_report::spool::{Spool, SpoolError};
use serde_json::Value;

/// Texts, each as a line of JSON.
#[derive(Debug, Default)]
pub(in crate::cli::apply) struct Texts {
    lines: Spool,
    len: usize,
}

impl Texts {
    /// Adds a text.
    ///
    /// # Errors
    /// There is no room for it, in memory and on the disk.
    pub fn push(&mut self, text: &str) -> Result<(), SpoolError> {
        self.len += 1;
        self.lines.push(format!("{}\n", Value::from(text)).as_bytes())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<String, WriteError>> {
        let lines = BufReader::with_capacity(1 << 16, self.lines.reader()).lines();
        lines.map(|line| Ok(serde_json::from_str(&line?).map_err(std::io::Error::from)?))
    }
}
