//! Output that is held back until all inputs are read: what it begins with depends on their number,
//! and an input that cannot be used leaves no output.
//!
//! In: bytes. Out: the same bytes, from memory or, where they are many, from a temporary file.

use std::io::{self, Seek, Write};

use tempfile::SpooledTempFile;

use crate::cli::CommandError;

/// How many bytes are in memory.
const IN_MEMORY: usize = 1 << 20;

/// See the module page.
pub(in crate::cli::apply) struct Held {
    file: SpooledTempFile,
    /// Why bytes were lost.
    failed: Option<io::Error>,
}

impl Default for Held {
    fn default() -> Held {
        Held { file: SpooledTempFile::new(IN_MEMORY), failed: None }
    }
}

impl Held {
    /// Writes all bytes to an output.
    ///
    /// # Errors
    /// The temporary file could not be written, or cannot be read. That the output cannot be
    /// written is its reader's choice.
    pub fn copy_to(mut self, out: &mut impl Write) -> Result<(), CommandError> {
        let rewound = self.failed.take().map_or_else(|| self.file.rewind(), Err);
        rewound.map_err(|cause| CommandError::Held { cause })?;
        let _ = io::copy(&mut self.file, out);
        Ok(())
    }
}

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failed.is_none()
            && let Err(error) = self.file.write_all(bytes)
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
