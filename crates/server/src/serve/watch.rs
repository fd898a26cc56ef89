//! What is watched while the server runs: policy files, data, certificates.
//!
//! The operating system reports changes; as not every file system does, everything is also checked from time to
//! time. Many changes in a row are read once, when they pause.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use notify::{RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::controllers::manager::Controllers;

use super::Tls;
use super::http::State;
use super::live::Link;
use super::loaded::{Changes, Loaded, Names};
use super::policies::Snapshot;
use super::tls::{Certificates, Pair};

/// How long changes must pause.
const PAUSE: Duration = Duration::from_millis(50);
/// When changes do not pause, they are read after this time all the same.
const LONGEST: Duration = Duration::from_millis(500);
/// How often everything is checked anyway.
const AT_LEAST: Duration = Duration::from_secs(30);

/// Reports changes below some paths, also below those that do not exist yet or are replaced.
fn changes<'p>(
    paths: impl Iterator<Item = &'p Path>,
) -> (mpsc::Receiver<()>, Option<notify::RecommendedWatcher>) {
    let (sender, receiver) = mpsc::channel(1);
    let paths: Vec<&Path> = paths.collect();
    let concerned = Concerned::by(&paths);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|e| !e.kind.is_access() && concerned.with(&e)) {
            // One that is not received yet stands for this one too.
            let _ = sender.try_send(());
        }
    });
    let Ok(mut watcher) = watcher else { return (receiver, None) };
    for path in paths {
        if path.is_dir() {
            let _ = watcher.watch(path, RecursiveMode::Recursive);
        }
        // A file may be replaced, and a folder removed and made again.
        let above = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let _ = watcher.watch(above, RecursiveMode::NonRecursive);
    }
    (receiver, Some(watcher))
}

/// Which changes are about the watched paths: the folder above one is watched too, and has more in it.
struct Concerned {
    /// Watched folders.
    folders: Vec<PathBuf>,
    /// Folders with a watched file, or with one that does not exist yet: links in them may lead to it.
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

/// Waits for a change and until changes pause, or for the time after which everything is checked.
async fn next(changes: &mut mpsc::Receiver<()>, after: Duration) {
    if tokio::time::timeout(after, changes.recv()).await.is_ok_and(|change| change.is_none()) {
        // There is no watcher: only the timer is left.
        tokio::time::sleep(after).await;
    }
    let latest = tokio::time::Instant::now() + LONGEST;
    while tokio::time::Instant::now() < latest
        && matches!(tokio::time::timeout(PAUSE, changes.recv()).await, Ok(Some(())))
    {}
}

/// Waits until a ConfigMap of operators is another one.
async fn reconfigured(link: Arc<Link>) {
    loop {
        link.configured.notified().await;
        let of = link.clone();
        if tokio::task::spawn_blocking(move || of.has_new_settings()).await.unwrap_or(false) {
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

/// Reads policies and data again when they change.
pub fn policies(
    state: Arc<State>,
    controllers: Option<Arc<Controllers>>,
    mut logged: Logged,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut took = Duration::ZERO;
        loop {
            // The folders may have been replaced, so they are watched again each time.
            let places = state.store.places().clone();
            let settings = places.settings.iter().chain(&places.metrics);
            let all = places.policies.iter().chain(&places.data).chain(settings).map(AsRef::as_ref);
            let (mut changed, _watcher) = changes(all);
            let after = state.store.current().again.map_or(AT_LEAST, |again| again.min(AT_LEAST));
            match &state.store.around().link {
                None => next(&mut changed, after).await,
                // Kinds and global entries of the cluster count like files.
                Some(link) => tokio::select! {
                    () = next(&mut changed, after) => {}
                    // A few policies are read at once; where reading takes longer, changes are gathered for as long.
                    () = link.changed.notified() => tokio::time::sleep(took.min(PAUSE)).await,
                    () = reconfigured(link.clone()) => {}
                },
            }
            let of = state.clone();
            let begins = Instant::now();
            let Ok(now) = tokio::task::spawn_blocking(move || of.store.reload()).await else { continue };
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
        loop {
            let (mut changed, _watcher) = changes([&*pair.certificate, &*pair.key].into_iter());
            next(&mut changed, AT_LEAST).await;
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

/// A text for a line of a log: without the source lines and carets below errors of CEL, and without what wraps them.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('|')).collect();
    lines.join(" ").replace("[<nil>: Internal error: ", "").trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

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
