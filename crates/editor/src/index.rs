//! The files of a workspace and what they give to one another.
//!
//! A file that changes replaces its entry; what was derived from the old one is dropped or marked
//! stale, nothing else. What is not readable, or not usable, keeps what it gave to others before.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use ephor_inspect::lint::{Linter, Roles, Rules};
use ephor_ir::Rule;
use ephor_kubernetes::{Kinds, Types};
use ephor_policies::subjects::is_about;
use ephor_sources::kustomize::Patches;
use ephor_value::{Str, Value, parallel};

use crate::cancel::Cancellation;
use crate::compiled::{Compiled, FolderData};
use crate::diagnostic::Diagnostic;
use crate::entry::{Entry, Part, Role};
use crate::linted::is_checked;
use crate::reading::{ReadText, Reading};
use crate::settings::Settings;
use crate::text::Text;

/// A file of a workspace.
#[derive(Clone, Debug)]
pub struct FileState {
    /// Its text.
    pub text: Text,
    /// The version of the text, where a client counts them.
    pub version: Option<i32>,
    /// The entry of the text.
    pub latest: Arc<Entry>,
    /// The last entry whose documents could all be read.
    pub good: Arc<Entry>,
    /// The last entry whose policies could all be used.
    usable: Arc<Entry>,
    /// Whether it is edited: it is checked before others.
    pub is_open: bool,
    /// The findings about its policies, where they were found together with its entry.
    pub linted: Option<Arc<[Diagnostic]>>,
    /// Whether its entry is still to be read.
    is_unread: bool,
    /// The token of the thread that reads it.
    reading: Option<Cancellation>,
    /// Whether its diagnostics are not those of the present texts.
    is_stale: bool,
    /// Whether its own text has changed since it was checked.
    is_changed: bool,
    /// Its diagnostics.
    shown: Vec<Diagnostic>,
}

impl FileState {
    /// Whether it is to be read on another thread.
    fn is_waiting(&self) -> bool {
        let is_linted = || is_checked(&self.latest, self.is_open);
        self.text.is_large()
            && !self.text.is_too_large()
            && (self.is_unread || self.linted.is_none() && is_linted())
    }

    /// Whether its diagnostics are to be found, and can be.
    fn can_be_checked(&self) -> bool {
        self.is_stale && !self.is_waiting()
    }
}

/// See the module page.
pub struct Index {
    settings: Settings,
    files: BTreeMap<Arc<str>, FileState>,
    linter: Option<Arc<Linter>>,
    kinds: Arc<Kinds>,
    types: Arc<Types>,
    compiled: Option<Compiled>,
    roles: Option<Arc<Roles>>,
    /// The rules of policies, against which exceptions are checked.
    rules: Arc<Rules>,
    has_rules: bool,
    samples: Option<HashSet<String>>,
    /// Whether definitions of kinds have changed since the kinds were read.
    is_defined_anew: bool,
}

impl Index {
    /// Without files.
    pub fn new(settings: Settings) -> Index {
        Index {
            kinds: Kinds::of_release(settings.kubernetes).clone(),
            types: Types::of_release(settings.kubernetes).clone(),
            settings,
            files: BTreeMap::new(),
            linter: None,
            compiled: None,
            roles: None,
            rules: Arc::default(),
            has_rules: false,
            samples: None,
            is_defined_anew: false,
        }
    }

    /// What the user set.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The kinds of clusters, those that files define included.
    pub fn kinds(&self) -> &Arc<Kinds> {
        &self.kinds
    }

    /// The types of their objects.
    pub fn types(&self) -> &Arc<Types> {
        &self.types
    }

    /// A file.
    pub fn file(&self, name: &str) -> Option<&FileState> {
        self.files.get(name)
    }

    /// A file with its name, shared.
    pub fn named(&self, name: &str) -> Option<(&Arc<str>, &FileState)> {
        self.files.get_key_value(name)
    }

    /// All files by name.
    pub fn files(&self) -> impl Iterator<Item = (&Arc<str>, &FileState)> {
        self.files.iter()
    }

    /// The objects of all files that have a role, as last read.
    pub fn parts(&self, role: Role) -> impl Iterator<Item = (&Arc<str>, &FileState, &Part)> {
        self.files.iter().flat_map(move |(name, file)| file.good.of_role(role).map(move |p| (name, file, p)))
    }

    /// What the engine evaluates on manifests; `None` before [`Index::prepare`].
    pub fn compiled(&self) -> Option<&Compiled> {
        self.compiled.as_ref()
    }

    /// The checks of policies; `None` before [`Index::prepare`].
    pub fn linter(&self) -> Option<(&Linter, &Roles, &Rules)> {
        Some((self.linter.as_deref()?, self.roles.as_deref()?, &self.rules))
    }

    /// The files that are to be read on another thread, and have none.
    pub fn unread(&self) -> Vec<Arc<str>> {
        let files = self.files.iter().filter(|(_, file)| file.is_waiting() && file.reading.is_none());
        files.map(|(name, _)| name.clone()).collect()
    }

    /// What the thread of such a file needs; `None` where it has one, or needs none.
    pub fn reading(&mut self, name: &str) -> Option<Reading> {
        let is_waiting = |file: &&FileState| file.is_waiting() && file.reading.is_none();
        let name = self.files.get_key_value(name).filter(|(_, file)| is_waiting(file))?.0.clone();
        self.prepare(std::slice::from_ref(&name));
        let (linter, roles) = (self.linter.clone()?, self.roles.clone()?);
        let (release, rules) = (self.settings.kubernetes, self.rules.clone());
        let file = self.files.get_mut(&name)?;
        let token = Cancellation::default();
        file.reading = Some(token.clone());
        Some(Reading { name, text: file.text.clone(), release, linter, roles, rules, token })
    }

    /// Takes what a thread has read; `None` = it ended with a fault of the program. It has no
    /// effect when the text has changed meanwhile.
    pub fn take(&mut self, name: &Arc<str>, read: Option<ReadText>) {
        let Some(file) = self.files.get_mut(name) else { return };
        let was_cancelled = file.reading.take().is_some_and(|token| token.is_cancelled());
        let Some(read) = read else {
            if !was_cancelled {
                // Another try would end in the same way.
                file.is_unread = false;
                file.linted = Some(Arc::default());
            }
            return;
        };
        if was_cancelled || !file.text.is_same(&read.text) {
            return;
        }
        if file.is_unread {
            let (version, is_open) = (file.version, file.is_open);
            self.put(name, version, read.text, read.entry, is_open);
            self.refresh();
        }
        if let Some(file) = self.files.get_mut(name) {
            file.is_unread = false;
            file.linted = Some(read.linted.into());
            file.is_stale = true;
        }
    }

    /// Whether a file holds samples of tests, which violate policies on purpose.
    pub fn is_sample(&self, name: &str) -> bool {
        const CHAINSAW: &str = "chainsaw-test.yaml";
        let folder = Path::new(name).parent();
        self.samples.as_ref().is_some_and(|samples| samples.contains(name))
            || name.contains("/.chainsaw-test/")
            || folder.is_some_and(|folder| self.files.contains_key(&*folder.join(CHAINSAW).to_string_lossy()))
    }

    /// Sets the text of a file.
    pub fn set(&mut self, name: &Arc<str>, version: Option<i32>, text: Text) {
        let latest = Entry::edited(name, &text, self.settings.kubernetes);
        let is_open = self.files.get(name).is_some_and(|file| file.is_open);
        self.put(name, version, text, latest, is_open);
        self.refresh();
    }

    /// Sets the texts of many files, which are read on many threads. Files that are edited keep
    /// their texts.
    pub fn load(&mut self, texts: Vec<(Arc<str>, Text)>) {
        let release = self.settings.kubernetes;
        let wanted: Vec<(Arc<str>, Text)> =
            texts.into_iter().filter(|(name, _)| !self.file(name).is_some_and(|f| f.is_open)).collect();
        let entries = parallel::map(&wanted, |(name, text)| Entry::of(name, text, release));
        for ((name, text), entry) in wanted.into_iter().zip(entries) {
            self.put(&name, None, text, entry, false);
        }
        self.refresh();
    }

    /// Says whether a file is edited.
    pub fn set_open(&mut self, name: &str, is_open: bool) {
        if let Some(file) = self.files.get_mut(name) {
            file.is_open = is_open;
        }
    }

    /// Takes a file out.
    pub fn remove(&mut self, name: &str) {
        if let Some(old) = self.files.remove(name) {
            self.invalidate(Some(&old), &Arc::default(), &Arc::default(), name);
            self.refresh();
        }
    }

    /// Replaces what the user set; everything is checked again.
    pub fn set_settings(&mut self, settings: Settings) {
        if settings == self.settings {
            return;
        }
        let texts: Vec<(Arc<str>, Text, Option<i32>, bool)> =
            self.files.iter().map(|(n, f)| (n.clone(), f.text.clone(), f.version, f.is_open)).collect();
        *self = Index::new(settings);
        let release = self.settings.kubernetes;
        let entries = parallel::map(&texts, |(name, text, ..)| Entry::edited(name, text, release));
        for ((name, text, version, is_open), entry) in texts.into_iter().zip(entries) {
            self.put(&name, version, text, entry, is_open);
        }
        self.refresh();
    }

    fn put(&mut self, name: &Arc<str>, version: Option<i32>, text: Text, latest: Entry, is_open: bool) {
        let is_unread = latest.is_unread;
        let latest = Arc::new(latest);
        let old = self.files.remove(name);
        let before = |is_new: bool, of: fn(&FileState) -> &Arc<Entry>| match &old {
            Some(old) if !is_new => of(old).clone(),
            _ => latest.clone(),
        };
        let good = before(!latest.is_broken, |old| &old.good);
        let usable = before(latest.is_usable(), |old| &old.usable);
        self.invalidate(old.as_ref(), &good, &usable, name);
        let (shown, reading) = old.map(|old| (old.shown, old.reading)).unwrap_or_default();
        if let Some(token) = &reading {
            token.cancel();
        }
        let file = FileState {
            text,
            version,
            latest,
            good,
            usable,
            is_open,
            linted: None,
            is_unread,
            reading,
            is_stale: true,
            is_changed: true,
            shown,
        };
        self.files.insert(name.clone(), file);
    }

    /// Reads the definitions of kinds again after some have changed; everything depends on them.
    fn refresh(&mut self) {
        if !std::mem::take(&mut self.is_defined_anew) {
            return;
        }
        let definitions: Vec<Value> =
            self.parts(Role::Definition).map(|(.., part)| part.value.clone()).collect();
        self.kinds = Kinds::of_release_with(self.settings.kubernetes, &definitions);
        self.types = Types::of_release_with(self.settings.kubernetes, &definitions);
        self.linter = None;
        self.compiled = None;
        self.mark(|_, _| true);
        self.files.values_mut().for_each(|file| file.linted = None);
    }

    /// Drops what was derived from the old entry of a file and is not so from the new one.
    fn invalidate(&mut self, old: Option<&FileState>, good: &Arc<Entry>, usable: &Arc<Entry>, name: &str) {
        let before = old.map(|old| &old.good);
        let has = |role| before.is_some_and(|entry| entry.has(role)) || good.has(role);
        let is_same = before.is_some_and(|before| Arc::ptr_eq(before, good));
        if name.ends_with("kustomization.yaml") || name.ends_with("kustomization.yml") {
            self.roles = None;
        }
        if !is_same && has(Role::Test) {
            self.samples = None;
            self.mark(|file, _| file.good.has(Role::Object));
        }
        if !is_same && has(Role::Policy) {
            // Tests name policies and rules.
            self.mark(|file, _| file.good.has(Role::Test));
        }
        if !is_same && has(Role::Definition) {
            self.is_defined_anew = true;
        }
        let was_usable = old.map(|old| &old.usable);
        if !was_usable.is_some_and(|was| Arc::ptr_eq(was, usable)) {
            self.invalidate_policies(was_usable, usable, name);
        }
        if !is_same && has(Role::Object) && gives_data(before.map_or(&[], |b| &b.parts), &good.parts) {
            self.compiled = None;
            if self.files.values().any(|file| file.usable.text.contains("configMap")) {
                self.mark(|file, _| file.good.has(Role::Object));
            }
        }
    }

    fn invalidate_policies(&mut self, was: Option<&Arc<Entry>>, now: &Arc<Entry>, name: &str) {
        let both = || was.into_iter().chain([now]);
        if both().all(|entry| entry.policies.is_empty()) || !self.settings.applies(name) {
            return;
        }
        self.compiled = None;
        self.has_rules = false;
        self.mark(|file, _| has_exceptions(&file.good));
        let with_exceptions = self.files.values_mut().filter(|file| has_exceptions(&file.good));
        with_exceptions.for_each(|file| file.linted = None);
        // Exceptions and bindings say by names what they are about.
        let is_for_all = both().any(|entry| {
            let policies = &entry.policies;
            !policies.exceptions.is_empty()
                || !policies.cel_exceptions.is_empty()
                || !policies.bindings.is_empty()
        });
        let policies =
            both().flat_map(|entry| entry.policies.policies.iter().filter_map(|p| p.policy.clone()));
        let rules: Vec<Arc<Rule>> =
            policies.flat_map(|p| p.all_rules().cloned().collect::<Vec<_>>()).collect();
        let kinds = self.kinds.clone();
        let mut known: HashMap<(String, String), bool> = HashMap::new();
        self.mark(|file, _| {
            is_for_all && file.good.has(Role::Object)
                || file.good.of_role(Role::Object).any(|part| {
                    let (api_version, kind) = (part.value.text_at(&["apiVersion"]), part.kind());
                    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
                    let concerns = || match kinds.kind(group, version, kind) {
                        Some(resource) => rules.iter().any(|rule| is_about(rule, resource)),
                        // A kind of which nothing is known may be meant by any rule.
                        None => true,
                    };
                    *known.entry((api_version.into(), kind.into())).or_insert_with(concerns)
                })
        });
    }

    fn mark(&mut self, mut is_stale: impl FnMut(&FileState, &str) -> bool) {
        for (name, file) in &mut self.files {
            file.is_stale = file.is_stale || is_stale(file, name);
        }
    }

    /// Builds what checks of some files need of all files.
    pub fn prepare(&mut self, names: &[Arc<str>]) {
        let has_objects = |name: &Arc<str>| self.file(name).is_some_and(|file| file.latest.has(Role::Object));
        let needs_policies = names.iter().any(has_objects);
        if self.linter.is_none() {
            let definitions: Vec<Value> =
                self.parts(Role::Definition).map(|(.., part)| part.value.clone()).collect();
            self.linter = Some(Arc::new(Linter::new(self.settings.kubernetes, &definitions)));
        }
        if self.roles.is_none() {
            let mut patches = Patches::default();
            for (name, file) in &self.files {
                let path = Path::new(&**name);
                let stem = path.file_stem().map(|stem| stem.to_ascii_lowercase());
                if let (Some(folder), true) = (path.parent(), stem.is_some_and(|s| s == "kustomization")) {
                    patches.add(folder, file.text.as_str());
                }
            }
            self.roles = Some(Arc::new(Roles { patches, ..Roles::default() }));
        }
        let names_rules = |name: &Arc<str>| self.file(name).is_some_and(|file| has_exceptions(&file.latest));
        if !self.has_rules && names.iter().any(names_rules) {
            let policies = self.files.values().flat_map(|file| &file.usable.policies.policies);
            self.rules = Arc::new(Rules::of_policies(policies));
            self.has_rules = true;
        }
        if self.samples.is_none() {
            let of = |(name, file): (&Arc<str>, &FileState)| file.good.samples(name);
            self.samples = Some(self.files.iter().flat_map(of).collect());
        }
        // Put together only when a manifest is checked, not at each key stroke in a policy.
        if self.compiled.is_none() && needs_policies {
            let mut data = FolderData { types: self.types.clone(), ..FolderData::default() };
            for (.., part) in self.parts(Role::Object) {
                let name = Str::from(part.name());
                match part.kind() {
                    "ConfigMap" => {
                        _ = data.config_maps.insert((part.namespace().into(), name), part.value.clone());
                    }
                    "Namespace" => _ = data.namespaces.insert(name, part.value.clone()),
                    _ => {}
                }
            }
            let usable = self.files.iter().filter(|(name, _)| self.settings.applies(name));
            let policies = usable.map(|(_, file)| &file.usable.policies).filter(|p| !p.is_empty());
            self.compiled = Some(Compiled::new(policies, data));
        }
    }

    /// The files whose diagnostics are not those of the present texts: edited ones whose own text
    /// has changed, then edited ones, then others.
    pub fn stale(&self) -> Vec<Arc<str>> {
        let rank = |file: &FileState| (!(file.is_open && file.is_changed), !file.is_open);
        let mut all: Vec<(&Arc<str>, &FileState)> =
            self.files.iter().filter(|(_, file)| file.can_be_checked()).collect();
        all.sort_by_key(|(_, file)| rank(file));
        all.into_iter().map(|(name, _)| name.clone()).collect()
    }

    /// Whether an edited file has to be checked because its own text has changed.
    pub fn has_changed(&self) -> bool {
        self.files.values().any(|file| file.is_open && file.is_changed && file.can_be_checked())
    }

    /// Whether there is one.
    pub fn has_stale(&self) -> bool {
        self.files.values().any(FileState::can_be_checked)
    }

    /// The diagnostics of a file as last checked.
    pub fn shown(&self, name: &str) -> &[Diagnostic] {
        self.files.get(name).map_or(&[], |file| &file.shown)
    }

    /// Takes the diagnostics of a file; returns whether they differ from those before.
    pub fn show(&mut self, name: &str, found: Vec<Diagnostic>) -> bool {
        let Some(file) = self.files.get_mut(name) else { return false };
        file.is_stale = false;
        file.is_changed = false;
        let is_new = file.shown != found;
        file.shown = found;
        is_new
    }
}

/// Whether a file has exceptions, which name rules of other files.
fn has_exceptions(entry: &Entry) -> bool {
    entry.of_role(Role::Policy).any(|part| part.kind() == "PolicyException")
}

/// Whether objects that policies read differ.
fn gives_data(before: &[Part], now: &[Part]) -> bool {
    fn read(parts: &[Part]) -> Vec<&Value> {
        let is_read = |part: &&Part| matches!(part.kind(), "ConfigMap" | "Namespace");
        parts.iter().filter(is_read).map(|part| &part.value).collect()
    }
    let (before, now) = (read(before), read(now));
    before.len() != now.len() || before.iter().zip(now).any(|(a, b)| !a.strict_eq(b))
}
