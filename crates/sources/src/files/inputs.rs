//! Resource files as streams: plain, compressed, or in archives.
//!
//! In: an [`Input`], whose bytes may be compressed (gzip, zstd) or an archive (tar), as their first
//! bytes say, whatever the name. Out: [`Text`]s, each a name and a reader; of an archive one for
//! each YAML and JSON file in it, in its order. Nothing is read before it is needed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use ephor_value::parallel;
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// Where bytes come from.
#[derive(Clone, Debug)]
pub struct Input {
    /// The path as reached from the argument, `-` for standard input, or the address.
    pub name: String,
    /// What holds its bytes.
    pub origin: Origin,
}

/// What holds the bytes of an input.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A file.
    File(PathBuf),
    /// Standard input, which is read once.
    Stdin,
    /// An answer, which is read once.
    Answer(Answer),
}

/// The bytes of an answer, as they come.
#[derive(Clone)]
pub struct Answer {
    bytes: Arc<Mutex<Option<Bytes>>>,
    size: Option<u64>,
}

impl Answer {
    /// An answer with this many bytes, where that is known.
    pub fn new(bytes: impl Read + Send + 'static, size: Option<u64>) -> Answer {
        Answer { bytes: Arc::new(Mutex::new(Some(Box::new(bytes)))), size }
    }

    /// Its bytes, once.
    fn take(&self) -> Option<Bytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").field("size", &self.size).finish_non_exhaustive()
    }
}

/// A stream of bytes on any thread.
pub type Bytes = Box<dyn Read + Send>;

/// A stream that is text, unless it is broken.
pub struct Text {
    /// The name of the input, with the path in the archive behind it.
    pub name: String,
    /// Its bytes, not compressed.
    pub bytes: Bytes,
}

/// The texts of an input, one after the other: each is read, or dropped, before the next.
pub enum Texts {
    /// The input itself.
    One(Option<Text>),
    /// The files of an archive.
    Archive(Archive),
}

impl Input {
    /// How many bytes it has, where that is known before it is read.
    pub fn size(&self) -> Option<u64> {
        match &self.origin {
            Origin::File(path) => std::fs::metadata(path).ok().filter(|m| m.is_file()).map(|m| m.len()),
            Origin::Stdin => None,
            Origin::Answer(answer) => answer.size,
        }
    }

    /// Its texts. `read` counts its bytes as they are read.
    ///
    /// # Errors
    /// It cannot be opened, or its beginning cannot be read.
    pub fn texts(&self, read: &Arc<AtomicU64>) -> io::Result<Texts> {
        let bytes: Bytes = match &self.origin {
            Origin::File(path) => {
                let file = File::open(path)?;
                if file.metadata()?.is_dir() {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                Box::new(file)
            }
            Origin::Stdin => Box::new(io::stdin()),
            Origin::Answer(answer) => answer.take().ok_or(io::ErrorKind::UnexpectedEof)?,
        };
        let bytes = Box::new(Counted { inner: bytes, count: read.clone() });
        let (head, bytes) = begun(expanded(bytes)?)?;
        let name = self.name.clone();
        match is_archive(&head) {
            true => Ok(Texts::Archive(Archive::new(name, bytes)?)),
            false => Ok(Texts::One(Some(Text { name, bytes }))),
        }
    }
}

impl Texts {
    /// The next text.
    ///
    /// # Errors
    /// The archive is broken.
    pub fn next_text(&mut self) -> io::Result<Option<Text>> {
        match self {
            Texts::One(text) => Ok(text.take()),
            Texts::Archive(archive) => archive.next_text(),
        }
    }
}

/// How many bytes say what a stream is: the block that begins an archive.
const HEAD: u64 = 512;

/// How many bytes an archive hands over at a time.
const PART: usize = 64 << 10;

/// The first bytes of a stream, and all of it.
fn begun(mut bytes: Bytes) -> io::Result<(Vec<u8>, Bytes)> {
    let mut head = Vec::new();
    bytes.by_ref().take(HEAD).read_to_end(&mut head)?;
    let whole = Cursor::new(head.clone()).chain(bytes);
    Ok((head, Box::new(whole)))
}

/// A reader whose bytes are counted.
struct Counted {
    inner: Bytes,
    count: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// A stream without its compression.
fn expanded(bytes: Bytes) -> io::Result<Bytes> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    let (head, bytes) = begun(bytes)?;
    if head.starts_with(&GZIP) {
        return Ok(Box::new(Named { inner: MultiGzDecoder::new(BufReader::new(bytes)), format: "gzip" }));
    }
    if head.starts_with(&ZSTD) {
        return Ok(Box::new(Named { inner: Frames::new(bytes), format: "zstd" }));
    }
    Ok(bytes)
}

/// A decoder whose errors name its format.
struct Named<R> {
    inner: R,
    format: &'static str,
}

impl<R: Read> Read for Named<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|e| match e.kind() {
            io::ErrorKind::Interrupted => e,
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(e.kind(), format!("the {} data breaks off", self.format))
            }
            kind => io::Error::new(kind, format!("the {} data is broken: {e}", self.format)),
        })
    }
}

/// The frames of a zstd stream, one after the other.
struct Frames {
    state: FrameState,
}

enum FrameState {
    Between(BufReader<Bytes>),
    Inside(Box<StreamingDecoder<BufReader<Bytes>, FrameDecoder>>),
    End,
}

impl Frames {
    fn new(bytes: Bytes) -> Frames {
        Frames { state: FrameState::Between(BufReader::new(bytes)) }
    }
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.state = match std::mem::replace(&mut self.state, FrameState::End) {
                FrameState::End => return Ok(0),
                FrameState::Between(mut bytes) => match bytes.fill_buf()?.is_empty() {
                    true => return Ok(0),
                    false => {
                        let decoder = StreamingDecoder::new(bytes).map_err(io::Error::other)?;
                        FrameState::Inside(Box::new(decoder))
                    }
                },
                FrameState::Inside(mut decoder) => match decoder.read(buffer)? {
                    0 if !buffer.is_empty() => FrameState::Between(decoder.into_inner()),
                    read => {
                        self.state = FrameState::Inside(decoder);
                        return Ok(read);
                    }
                },
            };
        }
    }
}

fn is_archive(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

/// The files of an archive, which a thread of its own reads.
pub struct Archive {
    name: String,
    parts: Arc<Mutex<Receiver<Part>>>,
}

/// What the thread of an archive says.
enum Part {
    Begin(String),
    Bytes(Vec<u8>),
    End,
    Failed(io::Error),
}

impl Archive {
    fn new(name: String, bytes: Bytes) -> io::Result<Archive> {
        let (send, parts) = sync_channel(2);
        parallel::spawn("archive", move || {
            if let Err(error) = read_archive(bytes, &send) {
                // The receiver is gone when the run has ended.
                let _ = send.send(Part::Failed(error));
            }
        })?;
        Ok(Archive { name, parts: Arc::new(Mutex::new(parts)) })
    }

    fn next_text(&mut self) -> io::Result<Option<Text>> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match parts.recv() {
                Ok(Part::Begin(path)) => {
                    let bytes = Entry { parts: self.parts.clone(), part: Cursor::default(), ended: false };
                    let name = format!("{}/{path}", self.name);
                    return Ok(Some(Text { name, bytes: Box::new(bytes) }));
                }
                // What was not read of the entry before.
                Ok(Part::Bytes(_) | Part::End) => {}
                Ok(Part::Failed(error)) => return Err(error),
                Err(_) => return Ok(None),
            }
        }
    }
}

/// Sends the YAML and JSON files of an archive.
fn read_archive(bytes: Bytes, to: &SyncSender<Part>) -> io::Result<()> {
    let broken = |e: io::Error| io::Error::new(e.kind(), format!("the tar archive is broken: {e}"));
    let mut archive = tar::Archive::new(bytes);
    for entry in archive.entries()? {
        let mut entry = entry.map_err(broken)?;
        let path = entry.path().map_err(broken)?.to_string_lossy().into_owned();
        let is_read = [".yaml", ".yml", ".json", ".jsonl"].iter().any(|end| path.ends_with(end));
        if !is_read || !entry.header().entry_type().is_file() {
            continue;
        }
        let mut is_heard = to.send(Part::Begin(path)).is_ok();
        while is_heard {
            let mut part = Vec::new();
            let read = entry.by_ref().take(PART as u64).read_to_end(&mut part).map_err(broken)?;
            let next = if read == 0 { Part::End } else { Part::Bytes(part) };
            is_heard = to.send(next).is_ok();
            if read == 0 {
                break;
            }
        }
        if !is_heard {
            break;
        }
    }
    Ok(())
}

/// A file of an archive.
struct Entry {
    parts: Arc<Mutex<Receiver<Part>>>,
    part: Cursor<Vec<u8>>,
    ended: bool,
}

impl Read for Entry {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.part.read(buffer)?;
            if read > 0 || self.ended || buffer.is_empty() {
                return Ok(read);
            }
            let next = self.parts.lock().unwrap_or_else(PoisonError::into_inner).recv();
            match next {
                Ok(Part::Bytes(part)) => self.part = Cursor::new(part),
                Ok(Part::Failed(error)) => return Err(error),
                Ok(Part::Begin(_) | Part::End) | Err(_) => self.ended = true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write;

    use super::*;

    fn input(name: &str, bytes: Vec<u8>) -> Input {
        let size = Some(bytes.len() as u64);
        Input { name: name.into(), origin: Origin::Answer(Answer::new(Cursor::new(bytes), size)) }
    }

    /// The texts of an input: names and contents.
    fn texts(input: &Input) -> io::Result<Vec<(String, String)>> {
        let mut texts = input.texts(&Arc::default())?;
        let mut all = Vec::new();
        while let Some(mut text) = texts.next_text()? {
            let mut content = String::new();
            text.bytes.read_to_string(&mut content)?;
            all.push((text.name, content));
        }
        Ok(all)
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(text.as_bytes()).unwrap();
        out.finish().unwrap()
    }

    fn zstd(text: &str) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn tar(files: &[(&str, &str)]) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        archive.into_inner().unwrap()
    }

    #[test]
    fn the_first_bytes_say_how_an_input_is_packed() {
        let text = "kind: Pod\n".repeat(50_000);
        // Several members, or frames, one behind the other are one text.
        let two = |pack: fn(&str) -> Vec<u8>| [pack(&text), pack("# end\n")].concat();
        for bytes in [two(gzip), two(zstd), format!("{text}# end\n").into_bytes()] {
            let found = texts(&input("pods.yaml", bytes)).unwrap();
            assert_eq!(found, [("pods.yaml".to_string(), format!("{text}# end\n"))]);
        }
        assert_eq!(texts(&input("e", Vec::new())).unwrap(), [("e".to_string(), String::new())]);
    }

    #[test]
    fn an_archive_has_the_texts_of_its_yaml_and_json_files_in_order() {
        let long = "kind: Pod\n".repeat(50_000);
        let name = format!("{}/deep.yaml", "folder/".repeat(30));
        let files =
            [("b.yaml", &*long), ("read.me", "x"), ("a.json", "{}"), (&name, "kind: A\n"), ("z.jsonl", "")];
        let expected = [("b.yaml", &*long), ("a.json", "{}"), (&*name, "kind: A\n"), ("z.jsonl", "")];
        let expected = expected.map(|(name, text)| (format!("all.tar/{name}"), text.to_string()));
        let plain = tar(&files);
        assert_eq!(texts(&input("all.tar", plain.clone())).unwrap(), expected);
        let packed =
            ruzstd::encoding::compress_to_vec(&plain[..], ruzstd::encoding::CompressionLevel::Fastest);
        assert_eq!(texts(&input("all.tar", packed)).unwrap(), expected);
    }

    #[test]
    fn a_file_of_an_archive_that_is_not_read_is_skipped() {
        let long = "kind: Pod\n".repeat(50_000);
        let input = input("all.tar", tar(&[("a.yaml", &long), ("b.yaml", "kind: B\n")]));
        let mut all = input.texts(&Arc::default()).unwrap();
        let first = all.next_text().unwrap().unwrap();
        assert_eq!(first.name, "all.tar/a.yaml");
        drop(first);
        assert_eq!(all.next_text().unwrap().unwrap().name, "all.tar/b.yaml");
    }

    #[test]
    fn data_that_breaks_off_is_an_error_that_names_its_format() {
        let text = (0..50_000).map(|i| format!("name: p{i}\n")).collect::<String>();
        let cut = |bytes: Vec<u8>| bytes[..bytes.len() / 2].to_vec();
        let error = |bytes| texts(&input("x", bytes)).unwrap_err().to_string();
        assert_eq!(error(cut(gzip(&text))), "the gzip data breaks off");
        let zstd = error(cut(zstd(&text)));
        assert!(zstd.starts_with("the zstd data "), "{zstd}");
        let archive = error(cut(tar(&[("a.yaml", &text)])));
        assert!(archive.contains("tar archive"), "{archive}");
        let mut damaged = gzip(&text);
        let middle = damaged.len() / 2;
        damaged[middle..middle + 64].fill(0xaa);
        assert!(error(damaged).starts_with("the gzip data is broken"));
    }

    #[test]
    fn bytes_are_counted_as_they_are_stored() {
        let packed = gzip(&"kind: Pod\n".repeat(50_000));
        let (size, read) = (packed.len() as u64, Arc::default());
        let input = input("p.gz", packed);
        assert_eq!(input.size(), Some(size));
        let mut text = input.texts(&read).unwrap().next_text().unwrap().unwrap();
        io::copy(&mut text.bytes, &mut io::sink()).unwrap();
        assert_eq!(read.load(Ordering::Relaxed), size);
    }
}
