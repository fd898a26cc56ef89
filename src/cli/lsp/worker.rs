//! The thread that answers.
//!
//! It owns the workspace. Messages come first, in their order; when there are none, the folders are
//! read and the files checked, edited ones before others, a few at a time.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ephor_editor::{Cancellation, Workspace};
use lsp_server::{ErrorCode, Notification, Request, Response, ResponseError};
use lsp_types::notification::{PublishDiagnostics, ShowMessage};
use lsp_types::request::{RegisterCapability, WorkspaceConfiguration};
use lsp_types::{
    ConfigurationItem, ConfigurationParams, DidChangeConfigurationParams, DidChangeTextDocumentParams,
    DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, FileChangeType, InitializeParams, MessageType, PublishDiagnosticsParams,
    Registration, RegistrationParams, ShowMessageParams,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::capabilities::ClientFeatures;
use super::client::Client;
use super::commands::CommandOutcome;
use super::progress::Progress;
use super::queue::{Job, Queue};
use super::requests;
use super::scan::{self, Scan};
use super::server::refusal;
use super::settings::{self, SECTION, ServerSettings};
use super::{convert, show, uris};

/// Files that are checked at a time, between two messages.
const CHUNK: usize = 16;

/// Large texts that are read at once: each takes a processor for some time.
const MAX_READERS: usize = 2;

/// How long no message comes before files are checked again whose own text has not changed: while a
/// user types in a policy, manifests need not be checked for each key.
const QUIET: Duration = Duration::from_millis(150);

/// What a session has.
pub(super) struct Session {
    pub(super) features: ClientFeatures,
    pub(super) client: Arc<Client>,
    pub(super) queue: Arc<Queue>,
    /// What the command line sets.
    pub(super) flags: ServerSettings,
}

/// See the module page.
pub(super) struct Worker {
    session: Session,
    workspace: Workspace,
    settings: ServerSettings,
    /// The folders of the workspace.
    roots: Vec<String>,
    scan: Scan,
    progress: Option<Progress>,
    /// Files that have diagnostics in the client.
    published: HashSet<Arc<str>>,
    /// The request for the settings.
    configuration: Option<i32>,
    /// Whether no message has come for a while.
    is_quiet: bool,
    /// The threads that read large texts.
    readers: usize,
}

impl Worker {
    /// For a client.
    pub(super) fn new(session: Session, params: &InitializeParams) -> Worker {
        let folders = params.workspace_folders.iter().flatten().map(|folder| uris::name(&folder.uri));
        let mut roots: Vec<String> = folders.collect();
        #[allow(deprecated)]
        if roots.is_empty() {
            roots.extend(params.root_uri.iter().map(uris::name));
        }
        let given = params.initialization_options.clone().unwrap_or_default();
        let settings = settings::read(&given, &roots, &session.flags);
        let mut worker = Worker {
            workspace: Workspace::new(settings.editor.clone()),
            settings,
            roots,
            scan: Scan::default(),
            progress: None,
            published: HashSet::new(),
            configuration: None,
            is_quiet: true,
            readers: 0,
            session,
        };
        worker.rescan();
        worker
    }

    /// Answers until the queue is closed.
    pub(super) fn run(mut self) {
        self.mistakes();
        loop {
            self.read_large();
            let time = self.patience();
            let (job, token, is_over) = self.session.queue.next(time);
            self.is_quiet = job.is_none() && (self.is_quiet || time == Some(QUIET));
            match job {
                Some(job) => self.guarded(job),
                None if is_over => return,
                None => {
                    if catch_unwind(AssertUnwindSafe(|| self.work(&token))).is_err() {
                        self.skip();
                    }
                }
            }
        }
    }

    /// Reads large texts on threads of their own, a few at a time: requests do not wait for them.
    fn read_large(&mut self) {
        for name in self.workspace.unread() {
            if self.readers >= MAX_READERS {
                return;
            }
            let Some(reading) = self.workspace.reading(&name) else { continue };
            let queue = self.session.queue.clone();
            self.readers += 1;
            let own = name.clone();
            let work = move || {
                let read = catch_unwind(AssertUnwindSafe(|| Box::new(reading.run()))).ok();
                queue.add(Job::Read(own, read));
            };
            if std::thread::Builder::new().spawn(work).is_err() {
                self.readers -= 1;
                self.workspace.take(&name, None);
            }
        }
    }

    /// Continues behind the files whose check ended with a fault of the program.
    fn skip(&mut self) {
        let mut stale = self.workspace.stale();
        let is_open = stale.first().is_some_and(|name| self.workspace.is_open(name));
        stale.truncate(if is_open { 1 } else { CHUNK });
        self.workspace.skip(&stale);
    }

    /// Handles a message; a fault of the program in it is the answer to a request.
    fn guarded(&mut self, job: Job) {
        let id = match &job {
            Job::Request(request, _) => Some(request.id.clone()),
            _ => None,
        };
        let done = catch_unwind(AssertUnwindSafe(|| match job {
            Job::Request(request, token) => self.request(request, &token),
            Job::Notification(notification) => self.notification(notification),
            Job::Response(response) => self.response(response),
            Job::Finished(outcome) => self.finished(*outcome),
            Job::Read(name, read) => {
                self.readers = self.readers.saturating_sub(1);
                self.workspace.take(&name, read.map(|read| *read));
            }
        }));
        if let (Err(_), Some(id)) = (done, id) {
            self.session.queue.answered(&id);
            self.session.client.send(refusal(id, ErrorCode::InternalError, "a fault of the server"));
        }
    }

    fn request(&mut self, request: Request, token: &Cancellation) {
        let id = request.id.clone();
        let cancelled = |code| refusal(id.clone(), code, "the request was cancelled");
        if token.is_cancelled() {
            self.session.queue.answered(&id);
            return self.session.client.send(cancelled(ErrorCode::RequestCanceled));
        }
        let scope = requests::Scope { workspace: &self.workspace, features: self.session.features, token };
        let result = match requests::answer(&scope, request) {
            requests::Reply::Result(result) => result,
            // The answer comes when the command has ended.
            requests::Reply::Later(prepared) => {
                return show::start(prepared, id, self.session.queue.clone());
            }
        };
        self.session.queue.answered(&id);
        let response = match result {
            _ if token.is_cancelled() => cancelled(ErrorCode::RequestCanceled),
            result => Response { id, response_result: result },
        };
        self.session.client.send(response);
    }

    fn finished(&mut self, outcome: CommandOutcome) {
        self.session.queue.answered(&outcome.id);
        let (title, features, client) = (outcome.title, self.session.features, &self.session.client);
        let response_result = match outcome.text {
            Ok(text) => {
                show::text(client, features, &title, &text);
                Ok(serde_json::json!({"title": title, "text": text}))
            }
            Err(message) => Err(ResponseError { code: ErrorCode::RequestFailed as i32, message, data: None }),
        };
        client.send(Response { id: outcome.id, response_result });
    }

    fn response(&mut self, response: Response) {
        let is_configuration = self.configuration.is_some_and(|id| response.id == id.into());
        if let (true, Ok(Value::Array(sections))) = (is_configuration, response.response_result) {
            self.configuration = None;
            if let Some(section) = sections.first().filter(|section| section.is_object()) {
                self.set(&section.clone());
            }
        }
    }

    fn notification(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        match method.as_str() {
            "initialized" => self.initialized(),
            "textDocument/didOpen" => {
                with(params, |p: DidOpenTextDocumentParams| {
                    let document = p.text_document;
                    self.workspace.open(&uris::name(&document.uri), Some(document.version), &document.text);
                });
            }
            "textDocument/didChange" => self.changed(params),
            "textDocument/didClose" => {
                with(params, |p: DidCloseTextDocumentParams| self.closed(&uris::name(&p.text_document.uri)));
            }
            "workspace/didChangeWatchedFiles" => {
                with(params, |p: DidChangeWatchedFilesParams| {
                    for change in p.changes {
                        let is_gone = change.typ == FileChangeType::DELETED;
                        self.changed_on_disk(&uris::name(&change.uri), is_gone);
                    }
                });
            }
            "workspace/didChangeConfiguration" => {
                with(params, |p: DidChangeConfigurationParams| match p.settings {
                    given if given.get(SECTION).is_some() => self.set(&given),
                    _ => self.request_configuration(),
                });
            }
            "workspace/didChangeWorkspaceFolders" => {
                with(params, |p: DidChangeWorkspaceFoldersParams| {
                    for folder in p.event.removed {
                        self.leave(&uris::name(&folder.uri));
                    }
                    for folder in p.event.added {
                        let root = uris::name(&folder.uri);
                        self.scan.add(&*root);
                        self.roots.push(root);
                    }
                });
            }
            // What is not known is nothing that the server has to do something for.
            _ => {}
        }
    }

    fn initialized(&mut self) {
        if self.session.features.watches {
            let options = serde_json::json!({"watchers": [{"globPattern": "**/*.{yaml,yml}"}]});
            let method = "workspace/didChangeWatchedFiles";
            let registration =
                Registration { id: "files".into(), method: method.into(), register_options: Some(options) };
            let registrations = vec![registration];
            self.session.client.request::<RegisterCapability>(RegistrationParams { registrations });
        }
        self.request_configuration();
    }

    fn request_configuration(&mut self) {
        if self.session.features.configuration {
            let item = ConfigurationItem { scope_uri: None, section: Some(SECTION.into()) };
            let params = ConfigurationParams { items: vec![item] };
            self.configuration = Some(self.session.client.request::<WorkspaceConfiguration>(params));
        }
    }

    /// Takes settings.
    fn set(&mut self, given: &Value) {
        let settings = settings::read(given, &self.roots, &self.session.flags);
        if settings == self.settings {
            return;
        }
        self.workspace.set_settings(settings.editor.clone());
        self.settings = settings;
        self.mistakes();
        self.rescan();
    }

    /// Shows what is wrong with the settings.
    fn mistakes(&self) {
        for message in self.settings.mistakes.clone() {
            let params = ShowMessageParams { typ: MessageType::WARNING, message };
            self.session.client.notify::<ShowMessage>(params);
        }
    }

    fn rescan(&mut self) {
        let further = self.settings.further.iter().filter(|path| Path::new(path).exists());
        for path in self.roots.iter().chain(further) {
            self.scan.add(path.as_str());
        }
    }

    /// Applies changes of a text, those of the next messages too: the text is read once for all.
    fn changed(&mut self, params: Value) {
        let mut next = Some(params);
        let mut pending: Option<(String, ephor_editor::Text, i32)> = None;
        while let Some(params) = next.take() {
            with(params, |p: DidChangeTextDocumentParams| {
                let name = uris::name(&p.text_document.uri);
                let other = pending.take_if(|(of, ..)| *of != name);
                self.apply(other);
                let text = match pending.take() {
                    Some((_, text, _)) => Some(text),
                    None => self.workspace.text(&name).cloned(),
                };
                let Some(mut text) = text else { return };
                for change in p.content_changes {
                    text = match change.range {
                        Some(range) => {
                            let span = convert::span(&text, range, self.session.features.units);
                            text.replaced(span, &change.text)
                        }
                        None => ephor_editor::Text::new(change.text),
                    };
                }
                pending = Some((name, text, p.text_document.version));
            });
            next = self.session.queue.next_if("textDocument/didChange").map(|next| next.params);
        }
        self.apply(pending);
    }

    fn apply(&mut self, changed: Option<(String, ephor_editor::Text, i32)>) {
        if let Some((name, text, version)) = changed {
            self.workspace.open_text(&name, Some(version), text);
        }
    }

    /// A file that is no longer edited is what is on the disk.
    fn closed(&mut self, name: &str) {
        self.workspace.close(name);
        self.changed_on_disk(name, !Path::new(name).is_file());
    }

    fn changed_on_disk(&mut self, name: &str, is_gone: bool) {
        if self.workspace.is_open(name) {
            return;
        }
        let is_outside = !self.is_inside(name);
        match scan::read(Path::new(name)).filter(|_| !is_gone && !is_outside) {
            Some(text) => self.workspace.set(name, None, &text),
            None => {
                let below = format!("{name}/");
                let gone: Vec<Arc<str>> = self
                    .workspace
                    .files()
                    .filter(|file| ***file == *name || is_gone && file.starts_with(&below))
                    .cloned()
                    .collect();
                gone.iter().for_each(|file| self.take_out(file));
            }
        }
    }

    /// Whether a file is part of the workspace, though it is not edited.
    fn is_inside(&self, name: &str) -> bool {
        let path = Path::new(name);
        let mut all = self.roots.iter().chain(&self.settings.further);
        scan::is_yaml(path) && all.any(|root| path.starts_with(root))
    }

    /// Takes a folder out of the workspace.
    fn leave(&mut self, root: &str) {
        self.roots.retain(|other| other != root);
        let files: Vec<Arc<str>> = self
            .workspace
            .files()
            .filter(|name| Path::new(&***name).starts_with(root) && !self.is_inside(name))
            .filter(|name| !self.workspace.is_open(name))
            .cloned()
            .collect();
        files.iter().for_each(|name| self.take_out(name));
    }

    fn take_out(&mut self, name: &Arc<str>) {
        self.workspace.remove(name);
        self.publish(name);
    }

    /// How long to wait for a message before something else is done; `None` = there is nothing.
    fn patience(&self) -> Option<Duration> {
        match () {
            () if !self.scan.is_over() => Some(Duration::ZERO),
            () if !self.workspace.has_stale() && self.progress.is_none() => None,
            () if self.is_quiet || self.workspace.has_changed() => Some(Duration::ZERO),
            () => Some(QUIET),
        }
    }

    /// Reads and checks some files.
    fn work(&mut self, token: &Cancellation) {
        // Policies that are edited need no other file to be checked, manifests need all policies.
        let is_ready = |worker: &Worker, name: &Arc<str>| {
            worker.scan.has_first() || worker.workspace.is_of_policies(name)
        };
        let open: Vec<Arc<str>> =
            self.workspace.stale().into_iter().filter(|name| self.workspace.is_open(name)).collect();
        if let Some(name) = open.iter().find(|name| is_ready(self, name)) {
            if self.workspace.check(name, token).is_ok() {
                self.publish(name);
            }
            return;
        }
        if !self.scan.is_over() {
            self.read_folders();
            return;
        }
        let mut stale = self.workspace.stale();
        stale.truncate(CHUNK);
        let new = self.workspace.check_all(&stale, token);
        new.iter().for_each(|name| self.publish(name));
        if !self.workspace.has_stale()
            && let Some(progress) = self.progress.take()
        {
            progress.end(&self.session.client, self.scan.files);
        }
    }

    fn read_folders(&mut self) {
        if self.progress.is_none() {
            self.progress = Progress::begin(&self.session.client, self.session.features);
        }
        let texts = self.scan.next();
        self.workspace.load(texts);
        if let Some(progress) = &mut self.progress {
            progress.report(&self.session.client, self.scan.files);
        }
    }

    /// Sends the diagnostics of a file.
    fn publish(&mut self, name: &Arc<str>) {
        let Some(uri) = uris::uri(name) else { return };
        let found = self.workspace.diagnostics(name);
        let is_open = self.workspace.is_open(name);
        if found.is_empty() && !is_open && !self.published.contains(name) {
            return;
        }
        let units = self.session.features.units;
        let diagnostics: Vec<lsp_types::Diagnostic> = match self.workspace.text(name) {
            Some(text) => {
                found.iter().map(|d| convert::diagnostic(&self.workspace, text, d, units)).collect()
            }
            None => Vec::new(),
        };
        match diagnostics.is_empty() {
            true => self.published.remove(name),
            false => self.published.insert(name.clone()),
        };
        let version = self.workspace.version(name).filter(|_| is_open);
        let params = PublishDiagnosticsParams { uri, diagnostics, version };
        self.session.client.notify::<PublishDiagnostics>(params);
    }
}

/// Does something with parameters; malformed ones of a notification have no effect, for it has no
/// answer.
fn with<P: DeserializeOwned>(params: Value, work: impl FnOnce(P)) {
    if let Ok(params) = serde_json::from_value(params) {
        work(params);
    }
}
