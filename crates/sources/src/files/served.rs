//! Files that a server reads again and again: reading one never blocks and never takes unbounded memory.
//!
//! In: a path, and the folder that it was found in. Out: its bytes, or why it cannot be read. Only regular files
//! are read, up to [`LARGEST_FILE`]: no FIFO, socket or device. A link inside a folder must lead to a file of the same folder
//! (volumes of ConfigMaps and Secrets are such links); the folder itself may be a link.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use super::reason;

/// The largest file in bytes.
pub const LARGEST_FILE: u64 = 64 << 20;

/// The bytes of a file; `root` is the folder, without links, that it must be in.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn read(path: &Path, root: Option<&Path>) -> Result<Vec<u8>, String> {
    let name = path.display();
    let failed = |e: io::Error| format!("open {name}: {}", reason(&e));
    let real = fs::canonicalize(path).map_err(failed)?;
    if root.is_some_and(|root| !real.starts_with(root)) {
        return Err(format!("open {name}: the link leads out of the folder"));
    }
    regular(&fs::metadata(&real).map_err(failed)?).map_err(|text| format!("open {name}: {text}"))?;
    let file = open(&real).map_err(failed)?;
    // Another file may have taken its place since.
    regular(&file.metadata().map_err(failed)?).map_err(|text| format!("open {name}: {text}"))?;
    bounded(file).map_err(|e| format!("read {name}: {}", reason(&e)))
}

/// Reads up to the limit.
///
/// # Errors
/// There is more, or it cannot be read.
pub(super) fn bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, too_large()));
    }
    Ok(bytes)
}

fn too_large() -> String {
    format!("larger than {} MiB", LARGEST_FILE >> 20)
}

fn regular(about: &Metadata) -> Result<(), String> {
    if !about.is_file() {
        return Err(format!("{}, not a regular file", what(about.file_type())));
    }
    if about.len() > LARGEST_FILE { Err(too_large()) } else { Ok(()) }
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
