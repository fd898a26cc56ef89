//! `ephor test --watch`: a new run whenever a file changes that tests name.
//!
//! What the program writes itself starts no run: files that flags name, and those that its output
//! goes to.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ephor_testing::testing::file;
use ephor_testing::testing::find::find;

use super::options::TestArgs;
use crate::cli::{CommandError, console};

/// How long files have to stay unchanged before the tests run again.
const QUIET: Duration = Duration::from_millis(100);

/// Runs the tests, and again whenever a file changes that they name, until the program is ended.
pub(super) fn watch(
    args: &TestArgs,
    session: fn(&TestArgs) -> Result<i32, CommandError>,
) -> Result<i32, CommandError> {
    loop {
        let (sender, changes) = std::sync::mpsc::channel();
        let written: Vec<PathBuf> = args.written().into_iter().map(|(_, file)| file.into()).collect();
        let outputs = outputs();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.map_or(true, |event| matters(&event, &written, &outputs)) {
                // The receiver is gone when the program ends.
                let _ = sender.send(());
            }
        })?;
        for folder in watched(args) {
            notify::Watcher::watch(&mut watcher, &folder, notify::RecursiveMode::Recursive)?;
        }
        if let Err(error) = session(args) {
            console::error(&format!("Error: {error}\n"));
        }
        console::error("waiting for changes\n");
        changes.recv()?;
        // An editor writes several times: the run begins when it is quiet.
        while changes.recv_timeout(QUIET).is_ok() {}
    }
}

/// Whether tests may have other results now: a file changed that the program does not write itself.
fn matters(event: &notify::Event, written: &[PathBuf], outputs: &[FileId]) -> bool {
    let is_output = |path: &Path| {
        !outputs.is_empty() && std::fs::metadata(path).is_ok_and(|file| outputs.contains(&id(&file)))
    };
    let is_written = |path: &PathBuf| written.iter().any(|own| writes(own, path)) || is_output(path);
    let is_own = !event.paths.is_empty() && event.paths.iter().all(is_written);
    !event.kind.is_access() && !is_own
}

/// What a file is known by, whatever its name: device and number.
type FileId = [u64; 2];

/// The files that standard output and standard error go to.
#[cfg(unix)]
fn outputs() -> Vec<FileId> {
    use std::os::fd::AsFd;
    let (out, err) = (std::io::stdout(), std::io::stderr());
    let both = [out.as_fd().try_clone_to_owned(), err.as_fd().try_clone_to_owned()];
    let files = both.into_iter().flatten().filter_map(|fd| std::fs::File::from(fd).metadata().ok());
    files.filter(std::fs::Metadata::is_file).map(|file| id(&file)).collect()
}

#[cfg(not(unix))]
fn outputs() -> Vec<FileId> {
    Vec::new()
}

#[cfg(unix)]
fn id(file: &std::fs::Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt;
    [file.dev(), file.ino()]
}

#[cfg(not(unix))]
fn id(_: &std::fs::Metadata) -> FileId {
    FileId::default()
}

/// Whether a file is the one that the program writes, or the temporary one before it.
fn writes(own: &Path, path: &Path) -> bool {
    let folder = |p: &Path| {
        let folder = p.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        folder.canonicalize().ok()
    };
    let name = |p: &Path| p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let (own_name, changed) = (name(own), name(path));
    let is_named =
        changed == own_name || (changed.starts_with(&format!("{own_name}.")) && changed.ends_with(".tmp"));
    is_named && folder(own) == folder(path)
}

/// The folders in which a change matters.
fn watched(args: &TestArgs) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = args.folders.iter().map(PathBuf::from).collect();
    let found = find(&args.folders, &args.file_name, &args.git_branch);
    for source in found.iter().flat_map(|f| &f.sources) {
        for test in file::tests(source, None).into_iter().flatten() {
            let folders =
                test.paths().map(Path::new).map(|p| if p.is_dir() { p } else { p.parent().unwrap_or(p) });
            all.extend(
                folders.map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p }.to_path_buf()),
            );
        }
    }
    all.retain(|p| p.is_dir());
    all.sort();
    all.dedup();
    // A watched folder includes everything below it.
    let mut roots: Vec<PathBuf> = Vec::new();
    for path in all {
        if !roots.iter().any(|root| path.starts_with(root)) {
            roots.push(path);
        }
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, Event, EventKind};

    #[cfg(unix)]
    #[test]
    fn the_file_that_the_output_goes_to_starts_no_new_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["runs.log", "policy.yaml"] {
            std::fs::write(path(name), "x").unwrap();
        }
        let outputs = [id(&std::fs::metadata(path("runs.log")).unwrap())];
        let changed = |name: &str| Event::new(EventKind::Create(CreateKind::File)).add_path(path(name));
        assert!(!matters(&changed("runs.log"), &[], &outputs));
        assert!(matters(&changed("policy.yaml"), &[], &outputs));
    }

    #[test]
    fn files_that_the_program_writes_start_no_new_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let written = [path("coverage.json"), path("report.xml")];
        let created = |name: &str| Event::new(EventKind::Create(CreateKind::File)).add_path(path(name));
        assert!(!matters(&created("coverage.json"), &written, &[]));
        assert!(!matters(&created("coverage.json.17.tmp"), &written, &[]));
        assert!(!matters(&created("report.xml"), &written, &[]));
        assert!(matters(&created("policy.yaml"), &written, &[]));
        assert!(matters(&created("coverage.json").add_path(path("policy.yaml")), &written, &[]));
        let elsewhere = folder.path().with_file_name("coverage.json");
        assert!(matters(&Event::new(EventKind::Create(CreateKind::File)).add_path(elsewhere), &written, &[]));
    }
}
