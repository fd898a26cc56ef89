//! Files that a server reads again and again: reading one never blocks and never takes unbounded
//! memory.
//!
//! In: a path, and the folder that it was found in. Out: its bytes, or why it cannot be read. Only
//! regular files are read, up to [`MAX_FILE`]: no FIFO, socket or device. A link inside a
//! folder must lead to a file of the same folder (volumes of ConfigMaps and Secrets are such
//! links); the folder itself may be a link.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::reason;

/// The largest file in bytes. A larger file is an error.
pub const MAX_FILE: u64 = 64 << 20;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServedFileError {
    /// It cannot be opened.
    #[error("open {}: {}", .path.display(), reason(.cause))]
    Open {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// A link leads to another folder.
    #[error("open {}: the link leads out of the folder", .0.display())]
    Outside(PathBuf),
    /// It is no file that is read.
    #[error("open {}: {cause}", .path.display())]
    Irregular {
        path: PathBuf,
        #[source]
        cause: Irregular,
    },
    /// It cannot be read to its end.
    #[error("read {}: {}", .path.display(), reason(.cause))]
    Read {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

/// Why a file is none that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Irregular {
    /// It is this instead.
    #[error("{0}, not a regular file")]
    Kind(&'static str),
    /// It is too large.
    #[error("larger than {} MiB", MAX_FILE >> 20)]
    TooLarge,
}

/// The bytes of a file; `root` is the folder, without links, that it must be in.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn read(path: &Path, root: Option<&Path>) -> Result<Vec<u8>, ServedFileError> {
    let failed = |cause: io::Error| ServedFileError::Open { path: path.to_owned(), cause };
    let irregular = |cause: Irregular| ServedFileError::Irregular { path: path.to_owned(), cause };
    let real = fs::canonicalize(path).map_err(failed)?;
    if root.is_some_and(|root| !real.starts_with(root)) {
        return Err(ServedFileError::Outside(path.to_owned()));
    }
    regular(&fs::metadata(&real).map_err(failed)?).map_err(irregular)?;
    let file = open(&real).map_err(failed)?;
    // Another file may have taken its place since.
    regular(&file.metadata().map_err(failed)?).map_err(irregular)?;
    bounded(file).map_err(|cause| ServedFileError::Read { path: path.to_owned(), cause })
}

/// Reads up to the limit.
///
/// # Errors
/// There is more, or it cannot be read.
pub(super) fn bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, Irregular::TooLarge));
    }
    Ok(bytes)
}

fn regular(about: &Metadata) -> Result<(), Irregular> {
    if !about.is_file() {
        return Err(Irregular::Kind(what(about.file_type())));
    }
    if about.len() > MAX_FILE { Err(Irregular::TooLarge) } else { Ok(()) }
}

#[cfg(unix)]
fn what(file: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match file {
        f if f.is_dir() => "a folder",
        f if f.is_fifo() => "a FIFO",
        f if f.is_socket() => "a socket",
        f if f.is_char_device() || f.is_block_device() => "a device",
        _ => "something else",
    }
}

#[cfg(not(unix))]
fn what(file: FileType) -> &'static str {
    if file.is_dir() { "a folder" } else { "something else" }
}

/// Opens a file without waiting for a writer, should it have become a FIFO.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}
