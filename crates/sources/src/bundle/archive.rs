//! Files of layers that are archives: `tar`, plain or compressed with gzip.
//!
//! In: the bytes of a layer. Out: its regular files with their names. Links and devices are left
//! out, so nothing leads out of the folder; the expanded size is limited while it is read.

use std::io::{self, Read};

use flate2::bufread::MultiGzDecoder;

use super::error::ArtifactProblem;
use super::fetched::{MAX_FILES, MAX_TOTAL};
use super::names::is_policy_file;

/// What a gzip stream begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A file of an archive.
pub(super) struct ArchiveEntry {
    pub name: String,
    /// Its content; `None` for links, devices, and what is no policy file by its name.
    pub bytes: Option<Vec<u8>>,
}

/// What is in an archive, folders aside, in its order.
///
/// # Errors
/// The archive is broken, or larger than any bundle.
pub(super) fn entries(digest: &str, layer: &[u8]) -> Result<Vec<ArchiveEntry>, ArtifactProblem> {
    let broken = |cause: io::Error| ArtifactProblem::Archive { digest: digest.into(), cause };
    // One byte more than allowed shows that there is more.
    let expanded: Box<dyn Read + '_> = match layer.starts_with(&GZIP) {
        true => Box::new(MultiGzDecoder::new(layer).take(MAX_TOTAL + 1)),
        false => Box::new(layer),
    };
    let mut reader = CountedLayer { inner: expanded, count: 0 };
    let mut found = Vec::new();
    let read = (|| {
        let mut archive = tar::Archive::new(&mut reader);
        for entry in archive.entries()? {
            let mut entry = entry?;
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let kind = entry.header().entry_type();
            if kind.is_dir() {
                continue;
            }
            if found.len() >= MAX_FILES {
                return Ok(false);
            }
            let is_read = kind.is_file() && is_policy_file(name.strip_prefix("./").unwrap_or(&name));
            let mut bytes = is_read.then(Vec::new);
            if let Some(bytes) = &mut bytes {
                entry.read_to_end(bytes)?;
            }
            found.push(ArchiveEntry { name, bytes });
        }
        Ok(true)
    })();
    // A stream that was cut off is broken as well; that it is too large is why.
    if reader.count > MAX_TOTAL {
        return Err(ArtifactProblem::TooLarge(MAX_TOTAL));
    }
    match read.map_err(broken)? {
        true => Ok(found),
        false => Err(ArtifactProblem::TooMany(MAX_FILES)),
    }
}

/// A reader that counts its bytes.
struct CountedLayer<R> {
    inner: R,
    count: u64,
}

impl<R: Read> Read for CountedLayer<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count += read as u64;
        Ok(read)
    }
}
