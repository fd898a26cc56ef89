//! Bytes that are in memory while they are few, and in a temporary file behind that.
//!
//! In: bytes of one text ([`Spool`]) or of several side by side ([`Spools`]), as they come. Out:
//! readers, as often as needed and several at a time. All texts of a [`Spools`] share one limit of
//! memory and one file, so that their number costs neither memory nor open files. The file has no
//! name in its folder, which is the one for temporary files (`TMPDIR`): it goes with the value,
//! however the program ends.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// How many bytes are in memory before the rest is in a file.
pub const MEMORY: usize = 1 << 20;

/// How much is read at once.
const PIECE: usize = 1 << 16;

/// A temporary file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// It cannot be created or written: the disk is full, or the folder is not there.
    #[error("no temporary file can be written in `{}` ({cause}); TMPDIR names another folder", folder.display())]
    Write {
        /// The folder.
        folder: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// What was written cannot be read.
    #[error("a temporary file in `{}` cannot be read ({cause})", folder.display())]
    Read {
        /// The folder.
        folder: PathBuf,
        /// Why.
        cause: io::Error,
    },
}

impl SpoolError {
    fn into_io(self) -> io::Error {
        let (SpoolError::Write { cause, .. } | SpoolError::Read { cause, .. }) = &self;
        io::Error::new(cause.kind(), self)
    }

    /// The error of a spool that an error of reading or writing is, else that error.
    pub(crate) fn of(error: io::Error) -> Result<SpoolError, io::Error> {
        error.downcast()
    }
}

/// Texts side by side.
#[derive(Debug)]
pub struct Spools {
    texts: Vec<Text>,
    /// How many bytes are in memory.
    memory: usize,
    most: usize,
    folder: Option<PathBuf>,
    disk: Option<Disk>,
}

/// One text: what is in the file, and behind it what is in memory.
#[derive(Debug, Default)]
struct Text {
    parts: Vec<Part>,
    memory: Vec<u8>,
}

/// A part of the file.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: u64,
    length: u64,
}

#[derive(Debug)]
struct Disk {
    file: Mutex<File>,
    length: u64,
}

impl Default for Spools {
    fn default() -> Spools {
        Spools::new(MEMORY)
    }
}

impl Spools {
    /// No text; at most this many bytes will be in memory.
    pub fn new(most: usize) -> Spools {
        Spools { texts: Vec::new(), memory: 0, most, folder: None, disk: None }
    }

    /// The same, with its file in a folder of its own choice.
    #[must_use]
    pub fn in_folder(mut self, folder: PathBuf) -> Spools {
        self.folder = Some(folder);
        self
    }

    /// Adds an empty text, and returns its number.
    pub fn add(&mut self) -> usize {
        self.texts.push(Text::default());
        self.texts.len() - 1
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// How many bytes a text has.
    pub fn size(&self, text: usize) -> u64 {
        let of =
            |text: &Text| text.parts.iter().map(|part| part.length).sum::<u64>() + text.memory.len() as u64;
        self.texts.get(text).map_or(0, of)
    }

    /// Whether a part is in a file.
    pub fn is_on_disk(&self) -> bool {
        self.disk.is_some()
    }

    /// Adds bytes to a text; texts that are not there yet are added.
    ///
    /// # Errors
    /// There is no room for them, in memory and on the disk.
    pub fn push(&mut self, text: usize, bytes: &[u8]) -> Result<(), SpoolError> {
        if self.texts.len() <= text {
            self.texts.resize_with(text + 1, Text::default);
        }
        if let Some(text) = self.texts.get_mut(text) {
            text.memory.extend_from_slice(bytes);
            self.memory += bytes.len();
        }
        if self.memory > self.most { self.spill() } else { Ok(()) }
    }

    /// The bytes of a text, from its beginning.
    pub fn reader(&self, text: usize) -> SpoolReader<'_> {
        SpoolReader { spools: self, text: self.texts.get(text), part: 0, at: 0 }
    }

    /// Writes what is in memory into the file.
    fn spill(&mut self) -> Result<(), SpoolError> {
        let folder = self.path();
        let failed = |cause| SpoolError::Write { folder: folder.clone(), cause };
        let disk = match &mut self.disk {
            Some(disk) => disk,
            None => {
                let file = Mutex::new(create(&folder).map_err(failed)?);
                self.disk.insert(Disk { file, length: 0 })
            }
        };
        let file = disk.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(disk.length)).map_err(failed)?;
        for text in self.texts.iter_mut().filter(|text| !text.memory.is_empty()) {
            file.write_all(&text.memory).map_err(failed)?;
            let (start, length) = (disk.length, text.memory.len() as u64);
            match text.parts.last_mut() {
                Some(last) if last.start + last.length == start => last.length += length,
                _ => text.parts.push(Part { start, length }),
            }
            disk.length += length;
            self.memory = self.memory.saturating_sub(text.memory.len());
            // Room for many bytes is not left to a text that may get few.
            text.memory = Vec::new();
        }
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.folder.clone().unwrap_or_else(folder_of_system)
    }
}

/// A page in a browser has no files: there all is in memory.
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
fn create(folder: &std::path::Path) -> io::Result<File> {
    tempfile::tempfile_in(folder)
}

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
fn create(_: &std::path::Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
fn folder_of_system() -> PathBuf {
    std::env::temp_dir()
}

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
fn folder_of_system() -> PathBuf {
    PathBuf::new()
}

/// Reads a text.
#[derive(Debug)]
pub struct SpoolReader<'s> {
    spools: &'s Spools,
    text: Option<&'s Text>,
    /// The part that is read next; the one behind the last is in memory.
    part: usize,
    /// How much of it was read.
    at: u64,
}

impl SpoolReader<'_> {
    /// An error of reading it, also of what its bytes mean.
    pub(crate) fn failed(&self, error: io::Error) -> SpoolError {
        let folder = || self.spools.path();
        SpoolError::of(error).unwrap_or_else(|cause| SpoolError::Read { folder: folder(), cause })
    }

    /// Writes what is left to be read.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn copy(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        loop {
            let n = self.read(&mut piece)?;
            if n == 0 {
                return Ok(());
            }
            out.write_all(piece.get(..n).unwrap_or_default())?;
        }
    }
}

impl Read for SpoolReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(text) = self.text else { return Ok(0) };
        while let Some(part) = text.parts.get(self.part) {
            let left = part.length - self.at;
            if left == 0 {
                (self.part, self.at) = (self.part + 1, 0);
                continue;
            }
            let n = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let Some((into, disk)) = buffer.get_mut(..n).zip(self.spools.disk.as_ref()) else {
                return Ok(0);
            };
            let mut read = || {
                let mut file = disk.file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(part.start + self.at))?;
                file.read_exact(into)
            };
            let failed = |cause| SpoolError::Read { folder: self.spools.path(), cause }.into_io();
            read().map_err(failed)?;
            self.at += n as u64;
            return Ok(n);
        }
        let memory = usize::try_from(self.at).ok().and_then(|at| text.memory.get(at..)).unwrap_or_default();
        let n = memory.len().min(buffer.len());
        if let Some((into, from)) = buffer.get_mut(..n).zip(memory.get(..n)) {
            into.copy_from_slice(from);
        }
        self.at += n as u64;
        Ok(n)
    }
}

/// One text.
#[derive(Debug, Default)]
pub struct Spool(Spools);

impl Spool {
    /// An empty one; at most this many bytes will be in memory.
    pub fn new(most: usize) -> Spool {
        Spool(Spools::new(most))
    }

    /// The same, with its file in a folder of its own choice.
    #[must_use]
    pub fn in_folder(self, folder: PathBuf) -> Spool {
        Spool(self.0.in_folder(folder))
    }

    /// How many bytes it has.
    pub fn len(&self) -> u64 {
        self.0.size(0)
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a part is in a file.
    pub fn is_on_disk(&self) -> bool {
        self.0.is_on_disk()
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// There is no room for them, in memory and on the disk.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), SpoolError> {
        self.0.push(0, bytes)
    }

    /// All bytes, from the beginning.
    pub fn reader(&self) -> SpoolReader<'_> {
        self.0.reader(0)
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes).map_err(SpoolError::into_io)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read(mut reader: SpoolReader<'_>) -> String {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_text_is_the_same_from_memory_and_from_disk_and_can_be_read_again() {
        for most in [0, 5, 64, 1 << 20] {
            let mut spool = Spool::new(most);
            let mut expected = String::new();
            for i in 0..100 {
                let line = format!("line {i}\n");
                spool.write_all(line.as_bytes()).unwrap();
                expected.push_str(&line);
                // Reading does not move where the next line goes.
                if i % 40 == 0 {
                    assert_eq!(read(spool.reader()), expected);
                }
            }
            assert_eq!(spool.is_on_disk(), most < expected.len());
            assert_eq!(spool.len(), expected.len() as u64);
            let (mut first, second) = (spool.reader(), spool.reader());
            first.read_exact(&mut [0; 7]).unwrap();
            assert_eq!(read(second), expected);
            assert_eq!(read(first), expected.get(7..).unwrap());
        }
    }

    #[test]
    fn texts_side_by_side_share_the_limit_and_stay_apart() {
        for most in [0, 100, 1 << 20] {
            let mut spools = Spools::new(most);
            for i in 0..1_000 {
                spools.push(i % 7, format!("{i};").as_bytes()).unwrap();
                assert!(spools.memory <= most, "{} bytes in memory", spools.memory);
            }
            assert_eq!(spools.is_on_disk(), most < 1 << 20);
            for text in 0..7 {
                let expected: String = (text..1_000).step_by(7).map(|i| format!("{i};")).collect();
                assert_eq!(read(spools.reader(text)), expected);
                let mut copied = Vec::new();
                spools.reader(text).copy(&mut copied).unwrap();
                assert_eq!((copied.len() as u64, copied), (spools.size(text), expected.into_bytes()));
            }
            assert_eq!(read(spools.reader(7)), "");
        }
    }

    #[test]
    fn where_nothing_can_be_written_the_error_names_the_folder() {
        let missing = PathBuf::from("/no such folder");
        let mut spool = Spool::new(10).in_folder(missing);
        spool.push(b"0123456789").unwrap();
        let error = spool.push(b"0").unwrap_err().to_string();
        assert!(error.contains("`/no such folder`") && error.contains("TMPDIR"), "{error}");
        let error = spool.write_all(b"0").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(matches!(SpoolError::of(error), Ok(SpoolError::Write { .. })));
    }

    #[test]
    fn nothing_is_left_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(0).in_folder(folder.path().into());
        spool.push(b"text").unwrap();
        assert!(spool.is_on_disk());
        drop(spool);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
