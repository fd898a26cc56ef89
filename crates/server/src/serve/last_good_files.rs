//! Files in use: what was last loaded from each, and when it is replaced.
//!
//! In: the texts of files as they are now, argument by argument. Out: for each file what is in use
//! of it. A text that cannot be used never replaces one that could. A running server takes a new or
//! changed text when it has stayed the same for [`SETTLE`], so that files being written are not
//! read half; and it drops what a file or folder no longer holds when that has stayed so for
//! [`GIVE_UP`]. What was loaded from files that are emptied, and from folders without any file,
//! stays in use. Semantics: `docs/reference/serve.md`, "Reload".

#[cfg(test)]
pub(super) mod tests;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ephor_sources::files::{FileCause, Loaded, Notice, SourceText};

/// How long a text stays the same before it is used.
pub const SETTLE: Duration = Duration::from_secs(2);
/// How long something is missing before it is given up.
pub const GIVE_UP: Duration = Duration::from_secs(10);

/// The result of parsing a text.
pub struct Parsed<T> {
    /// What can be used.
    pub gives: T,
    /// What cannot, a line each.
    pub problems: Vec<String>,
    /// What can be read but not evaluated, a line each: it is used when nothing was before, and
    /// reported by who uses it.
    pub broken: Vec<String>,
    /// Whether requests are refused when it was never usable.
    pub fail_closed: bool,
    /// What must not get lost: names of policies and bindings.
    pub names: HashSet<String>,
    /// Whether the text is empty.
    pub is_empty: bool,
}

/// What is in use of a file.
struct InUse<T> {
    text: String,
    gives: Arc<T>,
    /// What could not be used when nothing was in use before.
    problems: Vec<String>,
    names: HashSet<String>,
    is_empty: bool,
    argument: usize,
}

/// A text that is not in use yet; `None` = the file is gone.
struct PendingText {
    text: Option<String>,
    since: Instant,
}

/// See the module page.
pub struct LastGoodFiles<T> {
    files: HashMap<String, InUse<T>>,
    pending: HashMap<String, PendingText>,
}

impl<T> Default for LastGoodFiles<T> {
    fn default() -> Self {
        LastGoodFiles { files: HashMap::new(), pending: HashMap::new() }
    }
}

/// What is in use after files were read.
pub struct Current<T> {
    /// What is in use of each file, in order.
    pub gives: Vec<Arc<T>>,
    /// What is wrong, a line each.
    pub problems: Vec<String>,
    /// Places of which something that must be in use never was.
    pub lost: Vec<String>,
    /// When to read again, even if nothing changes.
    pub again: Option<Duration>,
}

impl<T> LastGoodFiles<T> {
    /// Takes what was read of each argument. `established`: everything that must be in use is, so
    /// that something new may wait, and is left out when it cannot be used.
    pub fn update(
        &mut self,
        read: &[(String, Loaded)],
        established: bool,
        now: Instant,
        parse: impl Fn(&SourceText) -> Parsed<T>,
    ) -> Current<T> {
        let mut round = FilesUpdate {
            now,
            established,
            current: Current { gives: Vec::new(), problems: Vec::new(), lost: Vec::new(), again: None },
            order: Vec::new(),
            first: HashMap::new(),
            smaller: Vec::new(),
        };
        for (argument, (_, loaded)) in read.iter().enumerate() {
            // What is still in use of them is reported below.
            let of_known = |n: &&Notice| match n.cause {
                FileCause::Empty => self.files.contains_key(&n.place),
                FileCause::NoMatch => self.files.values().any(|file| file.argument == argument),
                _ => false,
            };
            let notices = loaded.notices.iter().filter(|n| !of_known(n));
            round.current.problems.extend(notices.map(ToString::to_string));
            for source in &loaded.sources {
                self.of_source(source, argument, &mut round, &parse);
            }
        }
        self.missing(read, &mut round);
        self.shrunk(&mut round);
        if !established {
            // Places that cannot be read, and of which nothing is in use.
            for (place, loaded) in read {
                let unreadable =
                    loaded.notices.iter().filter(|n| n.cause == FileCause::Unreadable).map(|n| &n.place);
                let whole = gives_nothing(place, loaded).then_some(place);
                let is_unknown = |at: &&String| !self.files.keys().any(|name| is_below(name, at));
                round.current.lost.extend(unreadable.chain(whole).filter(is_unknown).cloned());
            }
        }
        let mut current = round.current;
        for name in round.order {
            if let Some(parsed) = round.first.remove(&name) {
                current.gives.push(Arc::new(parsed));
            } else if let Some(file) = self.files.get(&name) {
                current.gives.push(file.gives.clone());
            }
        }
        current
    }

    /// Whether a text has stayed the same long enough; else it keeps waiting.
    fn has_settled(
        &mut self,
        name: &str,
        text: Option<&str>,
        after: Duration,
        round: &mut FilesUpdate<T>,
    ) -> bool {
        let waits = match self.pending.get(name).filter(|p| p.text.as_deref() == text) {
            Some(pending) => round.now.saturating_duration_since(pending.since),
            None => {
                let pending = PendingText { text: text.map(String::from), since: round.now };
                self.pending.insert(name.into(), pending);
                Duration::ZERO
            }
        };
        let left = after.saturating_sub(waits);
        if !left.is_zero() {
            round.again(left);
        }
        left.is_zero()
    }

    fn of_source(
        &mut self,
        source: &SourceText,
        argument: usize,
        round: &mut FilesUpdate<T>,
        parse: &impl Fn(&SourceText) -> Parsed<T>,
    ) {
        let (name, text) = (&source.name, &source.text);
        round.order.push(name.clone());
        if let Some(file) = self.files.get(name).filter(|file| file.text == *text) {
            round.current.problems.extend(file.problems.iter().cloned());
            self.pending.remove(name);
            return;
        }
        if round.established && !self.has_settled(name, Some(text), SETTLE, round) {
            return;
        }
        let parsed = parse(source);
        let known = self.files.get(name);
        let faults = || parsed.problems.iter().chain(&parsed.broken);
        match known {
            Some(_) if faults().next().is_some() => {
                let stays = |f: &String| format!("{f} (the last usable form of the file stays in use)");
                round.current.problems.extend(faults().map(stays));
                return;
            }
            None if round.established && faults().next().is_some() => {
                round.current.problems.extend(faults().map(|f| format!("{f} (not in use)")));
                return;
            }
            None if parsed.fail_closed && !parsed.problems.is_empty() => {
                round.current.problems.extend(parsed.problems);
                round.current.lost.push(name.clone());
                round.first.insert(name.clone(), parsed.gives);
                return;
            }
            _ => {}
        }
        if known.is_some_and(|known| !known.is_empty && parsed.is_empty) {
            round.current.problems.push(format!(
                "{name}: holds no policy or object any more (the last usable form of the file stays in use; remove the file to end that)"
            ));
            return;
        }
        if known.is_some_and(|known| !known.names.is_subset(&parsed.names)) && round.established {
            round.smaller.push((source.clone(), argument, parsed));
            return;
        }
        round.current.problems.extend(parsed.problems.iter().cloned());
        self.adopt(source, argument, parsed);
    }

    fn adopt(&mut self, source: &SourceText, argument: usize, parsed: Parsed<T>) {
        self.pending.remove(&source.name);
        let Parsed { gives, problems, names, is_empty, .. } = parsed;
        let (text, gives) = (source.text.clone(), Arc::new(gives));
        let file = InUse { text, gives, problems, names, is_empty, argument };
        self.files.insert(source.name.clone(), file);
    }

    /// Files that were not read: those of places that cannot be read, or that hold no file at all
    /// any more, stay; others are gone.
    fn missing(&mut self, read: &[(String, Loaded)], round: &mut FilesUpdate<T>) {
        let there: HashSet<&String> = read.iter().flat_map(|(_, l)| &l.sources).map(|s| &s.name).collect();
        self.pending
            .retain(|name, p| there.contains(name) || (p.text.is_none() && self.files.contains_key(name)));
        let mut missing: Vec<String> =
            self.files.keys().filter(|name| !there.contains(name)).cloned().collect();
        missing.sort();
        let mut emptied: HashSet<usize> = HashSet::new();
        for name in missing {
            let Some(file) = self.files.get(&name) else { continue };
            let argument = file.argument;
            let Some((_, loaded)) = read.get(argument) else { continue };
            let is_unreadable = |n: &Notice| n.cause == FileCause::Unreadable && is_below(&name, &n.place);
            if loaded.sources.is_empty() {
                emptied.insert(argument);
            } else if !loaded.notices.iter().any(is_unreadable) {
                let elsewhere = |file: &InUse<T>| {
                    let others = || self.files.iter().filter(|(other, _)| there.contains(other));
                    !file.names.is_empty()
                        && file.names.iter().all(|n| others().any(|(_, f)| f.names.contains(n)))
                };
                // What moved to another file is not missing.
                if elsewhere(file) || self.has_settled(&name, None, GIVE_UP, round) {
                    self.files.remove(&name);
                    self.pending.remove(&name);
                    continue;
                }
            }
            round.order.push(name);
        }
        for argument in emptied {
            let is_gone = |n: &Notice| matches!(n.cause, FileCause::Missing | FileCause::Unreadable);
            if let Some((place, _)) = read.get(argument).filter(|(_, l)| !l.notices.iter().any(is_gone)) {
                round.current.problems.push(format!(
                    "{place}: holds no file any more (what it gave stays in use; end the server to end that)"
                ));
            }
        }
    }

    /// Files that give less than before.
    fn shrunk(&mut self, round: &mut FilesUpdate<T>) {
        for (source, argument, parsed) in std::mem::take(&mut round.smaller) {
            let Some(known) = self.files.get(&source.name) else { continue };
            let others = || self.files.iter().filter(|(name, _)| **name != source.name);
            let is_moved = known
                .names
                .difference(&parsed.names)
                .all(|name| others().any(|(_, file)| file.names.contains(name)));
            if is_moved || self.has_settled(&source.name, Some(&source.text), GIVE_UP, round) {
                self.adopt(&source, argument, parsed);
            }
        }
    }
}

/// One update.
struct FilesUpdate<T> {
    now: Instant,
    established: bool,
    current: Current<T>,
    /// The names of files, in order.
    order: Vec<String>,
    /// What files give of which a part was never usable.
    first: HashMap<String, T>,
    /// Files that give less than before.
    smaller: Vec<(SourceText, usize, Parsed<T>)>,
}

impl<T> FilesUpdate<T> {
    fn again(&mut self, after: Duration) {
        let sooner = self.current.again.map_or(after, |already| already.min(after));
        self.current.again = Some(sooner);
    }
}

/// Whether an argument gives no file although it means some: a folder may be empty.
fn gives_nothing(place: &str, loaded: &Loaded) -> bool {
    let of_place = |n: &Notice| match n.cause {
        FileCause::Missing | FileCause::NotRendered | FileCause::Unreadable | FileCause::Extension => {
            n.place == place
        }
        FileCause::NoMatch => !Path::new(place).is_dir(),
        FileCause::Empty | FileCause::Skipped | FileCause::Superseded | FileCause::Unread => false,
    };
    loaded.sources.is_empty() && loaded.notices.iter().any(of_place)
}

/// Whether a file is a place, or inside of it.
fn is_below(name: &str, place: &str) -> bool {
    name.strip_prefix(place.trim_end_matches('/'))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
