//! Why a document cannot be written.

use std::io;

use crate::spool::SpoolError;

/// A document cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// What is too large for the memory has no room on the disk, or cannot be read from there.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// What it is written to does not take it.
    #[error(transparent)]
    Output(io::Error),
}

impl From<io::Error> for WriteError {
    /// Spools are read and written as files are, and have errors of their own.
    fn from(error: io::Error) -> WriteError {
        SpoolError::of(error).map_or_else(WriteError::Output, WriteError::Spool)
    }
}
