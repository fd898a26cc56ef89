//! Starts `ephor lsp` for YAML files: the program of the settings, else the one on the PATH.

use zed_extension_api::settings::LspSettings;
use zed_extension_api::{self as zed, Command, LanguageServerId, Result, Worktree, serde_json};

/// The name of the server in the settings.
const SERVER: &str = "ephor";

struct Ephor;

impl zed::Extension for Ephor {
    fn new() -> Ephor {
        Ephor
    }

    fn language_server_command(&mut self, _: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        let binary = LspSettings::for_worktree(SERVER, worktree).ok().and_then(|settings| settings.binary);
        let (path, arguments) = binary.map(|own| (own.path, own.arguments)).unwrap_or_default();
        let command = path
            .or_else(|| worktree.which(SERVER))
            .ok_or("`ephor` is not on the PATH; hint: set lsp.ephor.binary.path")?;
        let args = arguments.unwrap_or_else(|| vec!["lsp".into()]);
        Ok(Command { command, args, env: worktree.shell_env() })
    }

    fn language_server_initialization_options(
        &mut self,
        _: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<serde_json::Value>> {
        Ok(LspSettings::for_worktree(SERVER, worktree)?.initialization_options)
    }
}

zed::register_extension!(Ephor);
