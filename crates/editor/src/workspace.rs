//! The front door: texts with versions in, what an editor shows out.

use std::sync::Arc;

use ephor_kubernetes::{Kinds, Types};
use ephor_value::parallel;

use crate::actions::{Action, actions};
use crate::cancel::{Cancellation, Cancelled};
use crate::check;
use crate::complete::{CompletionItem, complete};
use crate::definition::{definitions, references};
use crate::diagnostic::Diagnostic;
use crate::entry::Role;
use crate::format::format;
use crate::hover::{Hover, hover};
use crate::index::Index;
use crate::lenses::{Lens, lenses};
use crate::reading::{ReadText, Reading};
use crate::settings::Settings;
use crate::span::{Location, Span, TextEdit};
use crate::symbols::{Symbol, symbols, workspace_symbols};
use crate::text::Text;

/// A file with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileText {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A workspace of texts.
///
/// ```
/// use ephor_editor::{Cancellation, Settings, Workspace};
///
/// let mut workspace = Workspace::new(Settings::default());
/// workspace.set("policy.yaml", Some(1), "apiVersion: kyverno.io/v1\nkind: ClusterPolcy\n");
/// let found = workspace.check("policy.yaml", &Cancellation::default())?;
/// assert_eq!(&*found[0].code, "unknown-policy-kind");
/// # Ok::<(), ephor_editor::Cancelled>(())
/// ```
pub struct Workspace {
    index: Index,
}

impl Workspace {
    /// Without texts.
    pub fn new(settings: Settings) -> Workspace {
        Workspace { index: Index::new(settings) }
    }

    /// What the user set.
    pub fn settings(&self) -> &Settings {
        self.index.settings()
    }

    /// Replaces what the user set.
    pub fn set_settings(&mut self, settings: Settings) {
        self.index.set_settings(settings);
    }

    /// Sets the text of a file, by a name that is a path or stands for one.
    pub fn set(&mut self, name: &str, version: Option<i32>, text: &str) {
        self.index.set(&name.into(), version, Text::new(text));
    }

    /// Sets the text of a file that is edited: it is checked before others, and
    /// [`Workspace::load`] leaves it.
    pub fn open(&mut self, name: &str, version: Option<i32>, text: &str) {
        self.set(name, version, text);
        self.index.set_open(name, true);
    }

    /// The same with a text that is cut into lines already.
    pub fn open_text(&mut self, name: &str, version: Option<i32>, text: Text) {
        self.index.set(&name.into(), version, text);
        self.index.set_open(name, true);
    }

    /// Whether a file is edited.
    pub fn is_open(&self, name: &str) -> bool {
        self.index.file(name).is_some_and(|file| file.is_open)
    }

    /// Whether a file has policies, or what belongs to them, and no objects that are checked
    /// against the policies of other files.
    pub fn is_of_policies(&self, name: &str) -> bool {
        self.index.file(name).is_some_and(|file| !file.latest.has(Role::Object))
    }

    /// Whether an edited file is to be checked because its own text has changed; what else is stale
    /// can wait until the user stops typing.
    pub fn has_changed(&self) -> bool {
        self.index.has_changed()
    }

    /// Whether some file is to be checked again.
    pub fn has_stale(&self) -> bool {
        self.index.has_stale()
    }

    /// Ends the editing of a file, which stays in the workspace.
    pub fn close(&mut self, name: &str) {
        self.index.set_open(name, false);
    }

    /// Sets the texts of many files that are not edited, on many threads.
    pub fn load(&mut self, texts: Vec<FileText>) {
        self.index.load(texts.into_iter().map(|file| (file.name.into(), Text::new(file.text))).collect());
    }

    /// Replaces a part of the text of a file.
    pub fn edit(&mut self, name: &str, version: Option<i32>, span: Span, by: &str) {
        if let Some(file) = self.index.file(name) {
            let text = file.text.replaced(span, by);
            self.index.set(&name.into(), version, text);
        }
    }

    /// Takes a file out.
    pub fn remove(&mut self, name: &str) {
        self.index.remove(name);
    }

    /// The text of a file.
    pub fn text(&self, name: &str) -> Option<&Text> {
        self.index.file(name).map(|file| &file.text)
    }

    /// The version of a file's text.
    pub fn version(&self, name: &str) -> Option<i32> {
        self.index.file(name)?.version
    }

    /// The names of all files.
    pub fn files(&self) -> impl Iterator<Item = &Arc<str>> {
        self.index.files().map(|(name, _)| name)
    }

    /// The files to check again: edited ones whose own text has changed, then edited ones, then
    /// others.
    pub fn stale(&self) -> Vec<Arc<str>> {
        self.index.stale()
    }

    /// Checks a file.
    ///
    /// # Errors
    /// The token was cancelled.
    pub fn check(&mut self, name: &str, token: &Cancellation) -> Result<&[Diagnostic], Cancelled> {
        self.read(name);
        self.index.prepare(&[name.into()]);
        let found = check::diagnostics(&self.index, name, token)?;
        self.index.show(name, found);
        Ok(self.index.shown(name))
    }

    /// Checks many files on many threads; returns those whose diagnostics are new. Those for which
    /// there is no time before the token is cancelled stay stale.
    pub fn check_all(&mut self, names: &[Arc<str>], token: &Cancellation) -> Vec<Arc<str>> {
        names.iter().for_each(|name| self.read(name));
        self.index.prepare(names);
        let index = &self.index;
        let found = parallel::map(names, |name| check::diagnostics(index, name, token));
        let mut out = Vec::new();
        for (name, found) in names.iter().zip(found) {
            if found.is_ok_and(|found| self.index.show(name, found)) {
                out.push(name.clone());
            }
        }
        out
    }

    /// Large files that are to be read with [`Workspace::reading`], on threads of the caller; they
    /// are not among the stale ones before. A caller without threads checks them as others.
    pub fn unread(&self) -> Vec<Arc<str>> {
        self.index.unread()
    }

    /// What the thread of such a file needs. What comes of it is given to [`Workspace::take`].
    pub fn reading(&mut self, name: &str) -> Option<Reading> {
        self.index.reading(name)
    }

    /// Takes what a thread has read of a file, `None` where it ended with a fault of the program.
    /// The file is stale then.
    pub fn take(&mut self, name: &Arc<str>, read: Option<ReadText>) {
        self.index.take(name, read);
    }

    fn read(&mut self, name: &str) {
        if let Some(reading) = self.index.reading(name) {
            let name = reading.name().clone();
            self.index.take(&name, Some(reading.run()));
        }
    }

    /// Leaves files without diagnostics until they change: a check of one of them ended with a
    /// fault of the program.
    pub fn skip(&mut self, names: &[Arc<str>]) {
        for name in names {
            self.index.show(name, Vec::new());
        }
    }

    /// The diagnostics of a file as last checked.
    pub fn diagnostics(&self, name: &str) -> &[Diagnostic] {
        self.index.shown(name)
    }

    /// What is known of the text at a byte of a file.
    pub fn hover(&self, name: &str, offset: usize) -> Option<Hover> {
        self.small(name)?;
        hover(&self.index, name, offset)
    }

    /// What could be written at a byte of a file.
    ///
    /// # Errors
    /// The token was cancelled.
    pub fn complete(
        &self,
        name: &str,
        offset: usize,
        token: &Cancellation,
    ) -> Result<Vec<CompletionItem>, Cancelled> {
        if self.small(name).is_none() {
            return Ok(Vec::new());
        }
        complete(&self.index, name, offset, token)
    }

    /// What a file has: policies with their rules, objects, tests.
    pub fn symbols(&self, name: &str) -> Vec<Symbol> {
        symbols(&self.index, name)
    }

    /// The symbols of all files whose names have a text.
    pub fn workspace_symbols(&self, wanted: &str) -> Vec<(Location, Symbol)> {
        workspace_symbols(&self.index, wanted)
    }

    /// Where the thing at a byte of a file is defined.
    pub fn definitions(&self, name: &str, offset: usize) -> Vec<Location> {
        if self.small(name).is_none() {
            return Vec::new();
        }
        definitions(&self.index, name, offset)
    }

    /// Where the thing at a byte of a file is used.
    ///
    /// # Errors
    /// The token was cancelled.
    pub fn references(
        &self,
        name: &str,
        offset: usize,
        with_definitions: bool,
        token: &Cancellation,
    ) -> Result<Vec<Location>, Cancelled> {
        if self.small(name).is_none() {
            return Ok(Vec::new());
        }
        references(&self.index, name, offset, with_definitions, token)
    }

    /// Commands that are offered above policies and tests.
    pub fn lenses(&self, name: &str) -> Vec<Lens> {
        lenses(&self.index, name)
    }

    /// Changes that are offered at a part of a file, of the findings as last checked.
    pub fn actions(&self, name: &str, within: Span) -> Vec<Action> {
        actions(&self.index, name, within)
    }

    /// The edits that lay out the CEL expressions of a file, or of a part of it.
    pub fn format(&self, name: &str, within: Option<Span>) -> Vec<TextEdit> {
        if self.small(name).is_none() {
            return Vec::new();
        }
        format(&self.index, name, within)
    }

    /// The text of a file, unless it is one that is not read.
    fn small(&self, name: &str) -> Option<&Text> {
        self.text(name).filter(|text| !text.is_too_large())
    }

    /// The files and what they give to one another.
    #[cfg(test)]
    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// The kinds and types of the clusters that the files are for.
    pub fn definitions_of_kinds(&self) -> (Arc<Kinds>, Arc<Types>) {
        (self.index.kinds().clone(), self.index.types().clone())
    }
}

#[cfg(test)]
mod tests;
