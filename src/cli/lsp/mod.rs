//! `ephor lsp`: the language server of editors.
//!
//! In: messages of the Language Server Protocol on standard input. Out: its answers on standard
//! output. What is known of policies and manifests is in `ephor-editor`; here are messages, their
//! order, files and settings.
//!
//! - `capabilities`: what client and server can do
//! - `client`: what the server sends on its own account
//! - `commands`: commands of lenses, which run on threads of their own
//! - `convert`: types of the editor crate as those of the protocol
//! - `progress`: the progress of reading folders, where the client shows it
//! - `queue`: what the server still has to do: messages in the order in which they came
//! - `requests`: requests and their answers
//! - `scan`: reading the folders of a workspace, a few files at a time
//! - `server`: the thread that reads messages
//! - `settings`: what the client sets
//! - `show`: commands: their threads, and their texts in the client
//! - `transport`: messages on standard input and output
//! - `uris`: URIs of a client ↔ names of files
//! - `worker`: the thread that answers

mod capabilities;
mod client;
mod commands;
mod convert;
mod progress;
mod queue;
mod requests;
mod scan;
mod server;
mod settings;
mod show;
mod transport;
mod uris;
mod worker;

use clap::ValueHint;
use ephor_editor::Settings;
use ephor_value::file_path::normal;
use ephor_value::release::Release;
use lsp_server::Connection;

use super::CommandError;
use crate::cli::releases;
use settings::ServerSettings;
use transport::Transport;

/// Serves editors: diagnostics, hover, completion, definitions, fixes
///
/// A server of the Language Server Protocol on standard input and output. It reads the YAML files
/// of the workspace, checks policies as `ephor lint` does and manifests against the policies, and
/// checks a file again when it, or what it depends on, changes. Editors set it up
/// (`docs/guides/editors.md`); their settings take precedence over the flags.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Neovim
  vim.lsp.start({ name = 'ephor', cmd = { 'ephor', 'lsp' }, root_dir = vim.fn.getcwd() })

  # Helix, languages.toml
  [language-server.ephor]
  command = \"ephor\"
  args = [\"lsp\"]

Exit codes:
  0  the client shut the server down
  1  the client ended without that")]
pub struct LspArgs {
    /// folders and files with the policies that manifests are checked against (default all of the
    /// workspace)
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    policies: Vec<String>,
    /// files and folders with CustomResourceDefinitions
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    definition: Vec<String>,
    /// release of the clusters that the files are for
    #[arg(long, value_name = "VERSION", default_value = releases::DEFAULT, value_parser = releases::parse)]
    kubernetes: Release,
    /// standard input and output, the only transport; editors pass the flag
    #[arg(long)]
    stdio: bool,
}

/// Runs the command.
///
/// # Errors
/// None: what is wrong is answered to the client.
pub fn run(args: &LspArgs) -> Result<i32, CommandError> {
    let here = std::env::current_dir().unwrap_or_default();
    let absolute = |path: &String| normal(&here.join(path)).to_string_lossy().into_owned();
    let policies: Vec<String> = args.policies.iter().map(absolute).collect();
    let further = policies.iter().cloned().chain(args.definition.iter().map(absolute)).collect();
    let editor = Settings { kubernetes: args.kubernetes, policies, ..Settings::default() };
    let transport = Transport::of_process();
    let code =
        server::serve(&transport.connection, ServerSettings { editor, further, ..ServerSettings::default() });
    transport.close();
    Ok(code)
}

/// Serves a client on a connection, as [`run`] does on standard input and output; returns the exit
/// code. Tests use it.
pub fn serve(connection: &Connection) -> i32 {
    server::serve(connection, ServerSettings::default())
}
