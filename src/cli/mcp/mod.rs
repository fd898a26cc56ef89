//! `ephor mcp`: tools of the Model Context Protocol for agents.
//!
//! In: messages of the protocol on standard input, one a line. Out: answers on standard output;
//! what is worth knowing but no answer goes to standard error. The protocol is that of `rmcp`; what
//! a tool does is what the command of its name does, mostly through `ephor_page`. Files are written
//! only where a call names a path for them.
//!
//! - `answer`: results of calls: JSON, and what texts show of it
//! - `arguments`: the arguments of tools: their schemas, and calls that are checked against them
//! - `compare`: `diff`: whether two sets of policies mean the same
//! - `decide`: `apply` and `explain`: what policies decide about objects, and why
//! - `error`: why a call has no result
//! - `files`: files that a call reads and writes
//! - `fixes`: `lint`: findings, and files with fixes
//! - `rewrite`: `migrate`: ClusterPolicies as policies in CEL
//! - `schemas`: the schemas of results
//! - `server`: requests of the protocol and their answers
//! - `testing`: `test`: tests of policies
//! - `tools`: the tools
//! - `transport`: messages on standard input and output

mod answer;
mod arguments;
mod compare;
mod decide;
mod error;
mod files;
mod fixes;
mod rewrite;
mod schemas;
mod server;
mod testing;
mod tools;
mod transport;

use std::time::Duration;

use super::CommandError;
use crate::cli::flag_values::time;

/// Serves agents: lint, explain, apply, test, diff and migrate as tools
///
/// A server of the Model Context Protocol (MCP) on standard input and output. Its tools do what the
/// commands of the same names do, on texts in the call or on files and folders. They write no file
/// but where a call has `output`, replace one only with `overwrite`, and read no cluster. Clients
/// set it up (`docs/guides/agents.md`). It ends when its input ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Claude Code
  claude mcp add ephor -- ephor mcp

  # VS Code, .vscode/mcp.json
  {\"servers\": {\"ephor\": {\"type\": \"stdio\", \"command\": \"ephor\", \"args\": [\"mcp\"]}}}

  # without the right to write files
  ephor mcp --read-only

Exit codes:
  0  the input ended
  2  standard input or output cannot be used")]
pub struct McpArgs {
    /// refuse calls that write files
    #[arg(long)]
    read_only: bool,
    /// longest time for a call, at most 2m
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = time)]
    time_limit: Duration,
}

/// The longest time that a call may have, whatever the flag says.
const MAX_TIME: Duration = Duration::from_secs(120);

/// Runs the command.
///
/// # Errors
/// The threads cannot be started. What is wrong with a message or a call is answered to the client.
pub fn run(args: &McpArgs) -> Result<i32, CommandError> {
    let time_limit = args.time_limit.clamp(Duration::from_millis(1), MAX_TIME);
    let settings = arguments::McpSettings { read_only: args.read_only, time_limit };
    server::serve(settings).map_err(CommandError::StandardInput)?;
    Ok(0)
}
