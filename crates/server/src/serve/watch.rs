//! What is watched while the server runs: policy files, data, certificates.
//!
//! The operating system reports changes; as not every file system does, everything is also checked
//! from time to time. Many changes in a row are read once, when they pause.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use notify::{RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use ephor_controllers::manager::Controllers;

use super::live::Link;
use super::loaded::{Changes, Loaded, Names};
use super::policies::Snapshot;
use super::tls::{Certificates, Pair};
use crate::serve::settings::Tls;
use crate::serve::state::State;

/// How long changes must pause.
const PAUSE: Duration = Duration::from_millis(50);
/// When changes do not pause, they are read after this time all the same.
const LONGEST: Duration = Duration::from_millis(500);
/// How often everything is checked anyway.
const AT_LEAST: Duration = Duration::from_secs(30);

/// Reports changes below some paths, also below those that do not exist yet or are replaced.
pub struct FileWatch {
    sender: mpsc::Sender<()>,
    receiver: mpsc::Receiver<()>,
    /// `None` = the operating system reports nothing: only the timer is left.
    watcher: Option<notify::RecommendedWatcher>,
}

impl FileWatch {
    /// Begins to watch.
    pub fn of(paths: &[&Path]) -> FileWatch {
        let (sender, receiver) = mpsc::channel(1);
        let watcher = watcher(paths, sender.clone());
        FileWatch { sender, receiver, watcher }
    }

    /// Watches paths that may have been replaced since. To be called before they are read: what
    /// changes from then on is reported, and what was reported before is not lost, as the former
    /// watcher ends when the new one has begun.
    fn renew(&mut self, paths: &[&Path]) {
        self.watcher = watcher(paths, self.sender.clone());
    }

    /// Waits for a change and until changes pause, or for the time after which everything is
    /// checked.
    async fn next(&mut self, after: Duration) {
        let _ = tokio::time::timeout(after, self.receiver.recv()).await;
        let latest = tokio::time::Instant::now() + LONGEST;
        while tokio::time::Instant::now() < latest
            && matches!(tokio::time::timeout(PAUSE, self.receiver.recv()).await, Ok(Some(())))
        {}
    }
}

fn watcher(paths: &[&Path], sender: mpsc::Sender<()>) -> Option<notify::RecommendedWatcher> {
    let concerned = Concerned::by(paths);
    let report = move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|e| !e.kind.is_access() && concerned.with(&e)) {
            // One that is not received yet stands for this one too.
            let _ = sender.try_send(());
        }
    };
    let mut watcher = notify::recommended_watcher(report).ok()?;
    for path in paths {
        if path.is_dir() {
            let _ = watcher.watch(path, RecursiveMode::Recursive);
        }
        // A file may be replaced, and a folder removed and made again.
        let above = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let _ = watcher.watch(above, RecursiveMode::NonRecursive);
    }
    Some(watcher)
}

/// Which changes are about the watched paths: the folder above one is watched too, and has more in
/// it.
struct Concerned {
    /// Watched folders.
    folders: Vec<PathBuf>,
    /// Folders with a watched file, or with one that does not exist yet: links in them may lead to
    /// it.
    around: Vec<PathBuf>,
}

impl Concerned {
    fn by(paths: &[&Path]) -> Concerned {
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let (folders, files): (Vec<&Path>, Vec<&Path>) = paths.iter().partition(|path| path.is_dir());
        let above = |path: &&Path| whole(path).parent().map(Path::to_owned);
        Concerned {
            folders: folders.into_iter().map(whole).collect(),
            around: files.iter().filter_map(above).collect(),
        }
    }

    fn with(&self, event: &notify::Event) -> bool {
        let is_about = |path: &PathBuf| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            self.folders.iter().chain(&self.around).any(|of| path.starts_with(of) || of.starts_with(&path))
        };
        event.paths.is_empty() || event.paths.iter().any(is_about)
    }
}

/// Waits until a ConfigMap of operators is another one.
async fn reconfigured(link: Arc<Link>) {
    loop {
        link.configured.notified().await;
        let of = link.clone();
        if tokio::task::spawn_blocking(move || of.has_new_settings()).await.unwrap_or(true) {
            return;
        }
    }
}

/// What was logged: each problem when it begins and when it ends, and which policies are loaded.
pub struct Logged {
    loaded: Loaded,
    problems: Vec<String>,
    notices: Vec<String>,
}

impl Logged {
    /// Logs the first policies and their problems.
    pub fn of(first: &Snapshot) -> Logged {
        let names: Names = first.loaded.names().collect();
        tracing::info!(policies = first.policies, %names, "policies loaded");
        let mut logged = Logged { loaded: first.loaded.clone(), problems: Vec::new(), notices: Vec::new() };
        logged.update(first);
        logged
    }

    fn update(&mut self, now: &Snapshot) {
        let Changes { added, changed, removed } = &now.loaded.since(&self.loaded);
        if now.loaded != self.loaded {
            tracing::info!(policies = now.policies, %added, %changed, %removed, "policies reloaded");
        }
        for problem in now.problems.iter().filter(|p| !self.problems.contains(p)) {
            tracing::error!(problem = one_line(problem), "policies");
        }
        for solved in self.problems.iter().filter(|p| !now.problems.contains(p)) {
            tracing::info!(solved = one_line(solved), "policies");
        }
        for notice in now.notices.iter().filter(|n| !self.notices.contains(n)) {
            tracing::warn!(notice = one_line(notice), "policies");
        }
        self.loaded.clone_from(&now.loaded);
        self.problems.clone_from(&now.problems);
        self.notices.clone_from(&now.notices);
    }
}

/// Reads policies and data again when they change. `changes`: of the places of the store, from
/// before they were first read.
pub fn policies(
    state: Arc<State>,
    mut changes: FileWatch,
    controllers: Option<Arc<Controllers>>,
    mut logged: Logged,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut took = Duration::ZERO;
        let places = state.store.places().clone();
        loop {
            let after = state.store.current().again.map_or(AT_LEAST, |again| again.min(AT_LEAST));
            match &state.store.around().link {
                None => changes.next(after).await,
                // Kinds and global entries of the cluster count like files.
                Some(link) => tokio::select! {
                    () = changes.next(after) => {}
                    // A few policies are read at once; where reading takes longer, changes are
                    // gathered for as long.
                    () = link.changed.notified() => tokio::time::sleep(took.min(PAUSE)).await,
                    () = reconfigured(link.clone()) => {}
                },
            }
            changes.renew(&places.all());
            let of = state.clone();
            let begins = Instant::now();
            let read = move || match of.store.around().link.as_ref().is_some_and(|link| link.has_changed()) {
                true => of.store.reload(),
                false => of.store.reload_what_changed(),
            };
            let Ok(now) = tokio::task::spawn_blocking(read).await else { continue };
            took = begins.elapsed();
            state.metrics.loaded(&now);
            state.metrics.pitfalls.loaded(&now);
            logged.update(&now);
            if let Some(controllers) = &controllers {
                controllers.notify();
            }
            tracing::debug!(policies = now.policies, generation = now.generation, "policies were read");
        }
    })
}

/// Renews certificates before they expire, and loads them when their files change.
pub fn certificates(certificates: Arc<Certificates>, tls: Tls, pair: Pair) -> JoinHandle<()> {
    tokio::spawn(async move {
        let paths = [&*pair.certificate, &*pair.key];
        let mut changes = FileWatch::of(&paths);
        loop {
            changes.next(AT_LEAST).await;
            changes.renew(&paths);
            let (of, tls) = (certificates.clone(), tls.clone());
            let done = tokio::task::spawn_blocking(move || {
                if let Tls::SelfSigned(own) = &tls {
                    own.renew(SystemTime::now())?;
                }
                of.reload()
            });
            match done.await {
                Ok(Ok(true)) => tracing::info!("other certificates are in use"),
                Ok(Err(e)) => {
                    tracing::error!(error = %e, "the certificates cannot be used; the former ones stay")
                }
                _ => {}
            }
        }
    })
}

/// A text for a line of a log: without the source lines and carets below errors of CEL, and without
/// what wraps them.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('|')).collect();
    lines.join(" ").replace("[<nil>: Internal error: ", "").trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_while_others_are_read_is_reported_too() {
        let dir = tempfile::tempdir().expect("a folder");
        let paths = [dir.path()];
        let write = |name: &str| std::fs::write(dir.path().join(name), name).expect("a file");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut changes = FileWatch::of(&paths);
            let begins = Instant::now();
            for name in ["a", "b", "c"] {
                // While the one of before is read.
                write(name);
                changes.next(AT_LEAST).await;
                changes.renew(&paths);
            }
            assert!(begins.elapsed() < AT_LEAST, "one was found by the timer alone");
        });
    }

    #[test]
    fn what_changes_next_to_a_folder_of_policies_is_no_change_of_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let (folder, file) = (dir.path().join("policies"), dir.path().join("tls").join("tls.crt"));
        std::fs::create_dir(&folder).expect("a folder");
        let concerned = Concerned::by(&[&folder, &file]);
        let of = |path: &Path| concerned.with(&notify::Event::default().add_path(path.to_owned()));
        assert!(of(&folder.join("a.yaml")) && of(&folder) && of(dir.path()));
        assert!(!of(&dir.path().join("log")));
        // A Secret is mounted as links: what they lead to changes.
        assert!(of(&dir.path().join("tls").join("..data")));
    }
}
