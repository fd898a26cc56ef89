//! Commands of lenses, which run on threads of their own.

use ephor_editor::Workspace;
use lsp_server::RequestId;
use serde_json::Value;

use super::settings::ServerSettings;

/// What a command found.
#[derive(Debug)]
pub(super) struct CommandOutcome {
    /// The request that it answers.
    pub(super) id: RequestId,
    /// What the text is about.
    pub(super) title: String,
    /// The text, or why there is none.
    pub(super) text: Result<String, String>,
}

/// Work that needs no workspace any more: its inputs are taken out of it.
pub(super) type Work = Box<dyn FnOnce() -> Result<String, String> + Send>;

/// A command that can be run.
pub(super) struct Prepared {
    pub(super) title: String,
    pub(super) work: Work,
}

/// The commands, by the names that lenses have.
pub(super) const COMMANDS: [&str; 0] = [];

/// Takes what a command needs out of the workspace; `None` = there is no such command.
pub(super) fn prepare(
    _workspace: &Workspace,
    _settings: &ServerSettings,
    _command: &str,
    _arguments: &[Value],
) -> Option<Result<Prepared, String>> {
    None
}
