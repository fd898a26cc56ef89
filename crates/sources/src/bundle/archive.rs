//! Files of layers that are archives: `tar`, plain or compressed with gzip.
//!
//! In: the bytes of a layer. Out: its regular files with their names. Links and devices are left
//! out, so nothing leads out of the folder; the expanded size is limited while it is read.

use std::io::{self, Read};

use flate2::bufread::MultiGzDecoder;

use super::error::ArtifactProblem;
use super::fetched::{MAX_FILES, MAX_TOTAL};

/// What a gzip stream begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A file of an archive.
pub(super) struct ArchiveEntry {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// The regular files that a filter accepts by name, in their order; the names of all others.
///
/// # Errors
/// The archive is broken, or larger than any bundle.
pub(super) fn entries(
    digest: &str,
    layer: &[u8],
    is_wanted: impl Fn(&str) -> bool,
) -> Result<(Vec<ArchiveEntry>, Vec<String>), ArtifactProblem> {
    let broken = |cause: io::Error| ArtifactProblem::Archive { digest: digest.into(), cause };
    // One byte more than allowed shows that there is more.
    let expanded: Box<dyn Read + '_> = match layer.starts_with(&GZIP) {
        true => Box::new(MultiGzDecoder::new(layer).take(MAX_TOTAL + 1)),
        false => Box::new(layer),
    };
    let mut reader = Counted { inner: expanded, count: 0 };
    let (mut files, mut others) = (Vec::new(), Vec::new());
    let read = (|| {
        let mut archive = tar::Archive::new(&mut reader);
        for entry in archive.entries()? {
            let mut entry = entry?;
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let is_file = entry.header().entry_type().is_file();
            if files.len() + others.len() > MAX_FILES {
                return Ok(false);
            }
            if is_file && is_wanted(&name) {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes)?;
                files.push(ArchiveEntry { name, bytes });
            } else if !entry.header().entry_type().is_dir() {
                others.push(name);
            }
        }
        Ok(true)
    })();
    // A stream that was cut off is broken as well; that it is too large is why.
    if reader.count > MAX_TOTAL {
        return Err(ArtifactProblem::TooLarge(MAX_TOTAL));
    }
    match read.map_err(broken)? {
        true => Ok((files, others)),
        false => Err(ArtifactProblem::TooMany(MAX_FILES)),
    }
}

/// A reader that counts its bytes.
struct Counted<R> {
    inner: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count += read as u64;
        Ok(read)
    }
}
