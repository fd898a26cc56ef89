//! Where recorded suites lie.
//!
//! In: the environment and the folder that the program runs in. Out: a folder laid out as
//! `docs/internals/conformance.md` says: the folder that `EPHOR_CONFORMANCE` names, else
//! `conformance/data` of the repository, into which the packed recordings of
//! `conformance/recordings` are unpacked here and public suites are brought by
//! `conformance/fetch.sh`. Tests, benches and the command find suites through this module only.

use std::fs::File;
use std::io::{Error, Read, Result};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

use ephor_value::environment::{self, Variable};

/// Names the folder of recorded suites.
const FOLDER: Variable = environment::CONFORMANCE;
/// Where this is `1`, a missing suite is an error; otherwise tests that need it are skipped.
const REQUIRED: Variable = environment::REQUIRE_CONFORMANCE;
/// In an unpacked folder: the digest of the archive that it comes from.
const STAMP: &str = ".packed";

/// The repository that the program runs in: the working folder, or the nearest one above it, with a
/// scoreboard.
pub fn repository() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find(|dir| dir.join("conformance/scoreboard.toml").is_file()).map(Path::to_path_buf)
}

/// The folder of recorded suites.
///
/// # Errors
/// There is none, or the recordings of the repository cannot be unpacked.
pub fn folder() -> Result<PathBuf> {
    if let Some(named) = FOLDER.value().map(PathBuf::from) {
        let gone = || Error::other(format!("no folder {} ({})", named.display(), FOLDER.name));
        return named.is_dir().then(|| named.clone()).ok_or_else(gone);
    }
    let root =
        repository().ok_or_else(|| Error::other(format!("no repository here (set {})", FOLDER.name)))?;
    // Archives are compared with what is unpacked once per process.
    static UNPACKED: OnceLock<Result<PathBuf>> = OnceLock::new();
    let unpacked = UNPACKED.get_or_init(|| {
        let to = root.join("conformance/data");
        unpack_all(&root.join("conformance/recordings"), &to)?;
        Ok(to)
    });
    unpacked.as_ref().cloned().map_err(|e| Error::new(e.kind(), e))
}

/// The folder of recorded suites, for a test that needs some of them; `None`, and a line on
/// standard output, where one is missing.
///
/// # Errors
/// One is missing, and `EPHOR_REQUIRE_CONFORMANCE` is `1`.
pub fn folder_with(suites: &[&str]) -> Result<Option<PathBuf>> {
    let whole = folder().and_then(|dir| {
        let missing = suites.iter().map(|name| dir.join(name)).find(|path| !path.exists());
        let gone = |path: PathBuf| {
            Err(Error::other(format!("no {} (docs/internals/conformance.md)", path.display())))
        };
        missing.map_or(Ok(dir), gone)
    });
    match whole {
        Ok(dir) => Ok(Some(dir)),
        Err(cause) if is_required() => Err(Error::other(format!("{cause}, and {} is set", REQUIRED.name))),
        Err(cause) => {
            println!("skipped: {cause}");
            Ok(None)
        }
    }
}

/// A recorded suite, or a file in one, for a test that needs nothing else.
///
/// # Errors
/// As for [`folder_with`].
pub fn recorded(name: &str) -> Result<Option<PathBuf>> {
    Ok(folder_with(&[name])?.map(|dir| dir.join(name)))
}

/// Whether missing suites are errors.
pub fn is_required() -> bool {
    REQUIRED.value().is_some_and(|v| v == "1")
}

/// The text of a compressed file.
///
/// # Errors
/// It cannot be read.
pub fn gunzipped(path: &Path) -> Result<String> {
    let mut text = String::new();
    GzDecoder::new(File::open(path)?).read_to_string(&mut text)?;
    Ok(text)
}

/// Unpacks every archive of a folder that is not unpacked yet.
///
/// # Errors
/// An archive cannot be read, or a folder cannot be written.
pub fn unpack_all(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let archive = entry?.path();
        let name = archive.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some(suite) = name.strip_suffix(".tar.gz") {
            unpack(&archive, to, suite).map_err(|e| Error::other(format!("{}: {e}", archive.display())))?;
        }
    }
    Ok(())
}

fn unpack(archive: &Path, to: &Path, suite: &str) -> Result<()> {
    let mut bytes = Vec::new();
    File::open(archive)?.read_to_end(&mut bytes)?;
    let digest: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
    let place = to.join(suite);
    let is_current = || std::fs::read_to_string(place.join(STAMP)).is_ok_and(|stamp| stamp == digest);
    if is_current() {
        return Ok(());
    }
    // Another process may do the same: the folder appears whole or not at all.
    let temporary = tempfile::tempdir_in(to)?;
    tar::Archive::new(GzDecoder::new(&bytes[..])).unpack(temporary.path())?;
    std::fs::write(temporary.path().join(suite).join(STAMP), &digest)?;
    if place.exists() {
        std::fs::rename(&place, temporary.path().join("former"))?;
    }
    match std::fs::rename(temporary.path().join(suite), &place) {
        Err(cause) if !is_current() => Err(cause),
        _ => Ok(()),
    }
}
