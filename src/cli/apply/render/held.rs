//! Output that is held back until all inputs are read: what it begins with depends on their number,
//! and an input that cannot be used leaves no output.
//!
//! In: bytes. Out: the same bytes, from memory or, where they are many, from a temporary file.

use std::io::{self, Write};

use ephor_report::spool::Spool;

use crate::cli::CommandError;

/// See the module page.
#[derive(Default)]
pub(in crate::cli::apply) struct Held {
    spool: Spool,
    /// Why bytes were lost.
    failed: Option<io::Error>,
}

impl Held {
    /// Writes all bytes to an output.
    ///
    /// # Errors
    /// The temporary file could not be written, or cannot be read. That the output cannot be
    /// written is its reader's choice.
    pub fn copy_to(mut self, out: &mut dyn Write) -> Result<(), CommandError> {
        self.flush().map_err(|cause| CommandError::Held { cause })?;
        let _ = self.spool.reader().copy(out);
        Ok(())
    }
}

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failed.is_none()
            && let Err(error) = self.spool.write_all(bytes)
        {
            self.failed = Some(error);
        }
        Ok(bytes.len())
    }

    /// # Errors
    /// Bytes were lost.
    fn flush(&mut self) -> io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }
}
