//! The pages of the commands as `--help` prints them.
//!
//! In: the commands. Out: the same commands with the layout of their pages, the program's with its
//! commands in groups; a page on standard output.

use clap::Command;

use ephor_value::environment::{self, Variable};

use super::flags::plain;
use crate::cli::console;

/// The definitions of all commands.
pub type Commands = fn() -> Command;

/// The layout of a page.
const PAGE: &str = "{about-with-newline}\nUsage:\n  {usage}\n\n{all-args}{after-help}";

/// The commands by what they are for; a test compares them with those of the program.
pub(super) const GROUPS: [(&str, &[&str]); 5] = [
    ("Run policies", &["apply", "test", "replay", "report"]),
    (
        "Write policies",
        &[
            "lint", "create", "fix", "migrate", "policies", "bundle", "schema", "jp", "cel", "lsp", "mcp",
            "play",
        ],
    ),
    ("Look into policies", &["explain", "diff", "equivalent", "implies", "admission"]),
    ("Operate in a cluster", &["serve", "webhook-config", "crds", "convert", "cluster-check"]),
    ("About the program", &["config", "conformance", "completion", "docs", "help", "version"]),
];

/// Commands of our own: their exit code is 0 when nothing was found, 1 for what they find, and 2
/// when they cannot run. The others are Kyverno's, whose errors have 1.
const OWN: [&str; 23] = [
    "admission",
    "bundle",
    "cel",
    "cluster-check",
    "config",
    "conformance",
    "convert",
    "crds",
    "diff",
    "equivalent",
    "explain",
    "implies",
    "lint",
    "lsp",
    "mcp",
    "migrate",
    "play",
    "policies",
    "replay",
    "report",
    "schema",
    "serve",
    "webhook-config",
];

/// Whether a command is one of our own, by its whole name: `ephor cel eval`.
pub(super) fn is_own(name: &str) -> bool {
    name.split(' ').nth(1).is_some_and(|name| OWN.contains(&name))
}

/// What exit codes of a command of our own mean whose page does not list them.
const EXIT_CODES: &str = "Exit codes:
  0  the command did what it is for
  2  it cannot run: the command line, or an input, cannot be used";
const EXIT_CODES_OF_CEL: &str = "Exit codes:
  0  the expression has a value, or is fine
  1  it has none, or does not compile
  2  the command line, or an input, cannot be used";

/// The commands of our own with their exit codes on their pages.
fn with_exit_codes(command: Command) -> Command {
    let name = command.get_name().to_string();
    if !OWN.contains(&name.as_str()) {
        return command;
    }
    let add = |command: Command, codes: &str| {
        let text = plain(command.get_after_help());
        match text.contains("Exit codes:") {
            true => command,
            false if text.is_empty() => command.after_help(codes.to_string()),
            false => command.after_help(format!("{text}\n\n{codes}")),
        }
    };
    match &*name {
        "cel" => command.mut_subcommands(|below| add(below, EXIT_CODES_OF_CEL)),
        _ => add(command, EXIT_CODES),
    }
}

/// The variables that the page of the program lists; the book has all of them.
const VARIABLES: [Variable; 11] = [
    environment::KUBECONFIG,
    environment::NO_COLOR,
    environment::FORCE_COLOR,
    environment::CLICOLOR_FORCE,
    environment::HTTPS_PROXY,
    environment::NO_PROXY,
    environment::DOCKER_CONFIG,
    environment::OTEL_EXPORTER_OTLP_ENDPOINT,
    environment::OTEL_SERVICE_NAME,
    environment::OTEL_RESOURCE_ATTRIBUTES,
    environment::OTEL_SDK_DISABLED,
];

/// The section about environment variables.
fn environment_section() -> String {
    let width = VARIABLES.iter().map(|variable| variable.name.len()).max().unwrap_or_default();
    let line =
        |variable: &Variable| format!("  {:width$}  {}\n", variable.name, variable.about.replace('`', ""));
    format!("Environment:\n{}", VARIABLES.iter().map(line).collect::<String>())
}

/// The commands with the layout of their pages.
pub(super) fn with_pages(root: Command) -> Command {
    let groups = groups(&root);
    let root = with_layout(root.mut_subcommands(with_exit_codes)).disable_help_subcommand(false);
    root.help_template(format!(
        "{{about-with-newline}}\nUsage:\n  {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    ))
    .after_help(format!("{}\n`ephor COMMAND --help` shows the page of a command.", environment_section()))
}

fn with_layout(command: Command) -> Command {
    // A page has one form: what follows the first paragraph stands on it for `-h`, too.
    let long = command.get_long_about().cloned();
    let command = match long {
        Some(text) => command.about(text).long_about(None::<&str>),
        None => command,
    };
    command.help_template(PAGE).disable_help_subcommand(true).mut_subcommands(with_layout)
}

/// What a command is for, in one line.
pub(super) fn summary(command: &Command) -> String {
    plain(command.get_about()).lines().next().unwrap_or_default().trim_end_matches('.').to_string()
}

fn groups(root: &Command) -> String {
    let about = |name: &str| match root.find_subcommand(name) {
        Some(command) => summary(command),
        None => "Shows the page of a command".to_string(),
    };
    let line = |name: &&str| format!("  {name:16}{}\n", about(name));
    let group = |(title, names): &(&str, &[&str])| {
        format!("{title}:\n{}\n", names.iter().map(line).collect::<String>())
    };
    GROUPS.iter().map(group).collect()
}

/// Prints the page of a command: `ephor jp query`.
pub(super) fn print(commands: Commands, name: &str) {
    let mut root = commands();
    root.build();
    let mut command = &mut root;
    for word in name.split(' ').skip(1) {
        // What names no command has the page of the command above it.
        if command.find_subcommand(word).is_none() {
            break;
        }
        let Some(below) = command.find_subcommand_mut(word) else { return };
        command = below;
    }
    // In the list of a page each command has one line.
    let in_short = |below: Command| {
        let line = summary(&below);
        below.about(line).long_about(None::<&str>)
    };
    let page = without_variables(command.clone().mut_subcommands(in_short)).render_help();
    match console::shows_colours() {
        true => console::print(&page.ansi().to_string()),
        false => console::print(&page.to_string()),
    }
}

/// What the environment variables of a command's flags are called.
pub(super) fn variable_of(command: &Command) -> Option<String> {
    command.get_arguments().find_map(|arg| {
        let variable = arg.get_env().filter(|_| !arg.is_global_set())?.to_string_lossy().into_owned();
        Some(format!("Each flag has an environment variable: `{variable}` sets `--{}`.", arg.get_long()?))
    })
}

/// A command whose page names one environment variable instead of one a flag.
fn without_variables(command: Command) -> Command {
    let first = variable_of(&command);
    let command = command.mut_args(|arg| if arg.is_global_set() { arg } else { arg.hide_env(true) });
    let Some(line) = first else { return command };
    let help =
        [plain(command.get_after_help()), line.replace('`', "")].into_iter().filter(|text| !text.is_empty());
    let help = help.collect::<Vec<_>>().join("\n\n");
    command.after_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let count = grouped.len();
        grouped.retain(|name| *name != "help");
        let root = super::super::commands();
        let all: BTreeSet<&str> = root.get_subcommands().map(Command::get_name).collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), all);
        assert_eq!(count, all.len() + 1);
    }

    #[test]
    fn every_command_is_one_of_our_own_or_one_of_kyvernos() {
        const KYVERNO: [&str; 8] = ["apply", "completion", "create", "docs", "fix", "jp", "test", "version"];
        let root = super::super::commands();
        let all: BTreeSet<&str> = root.get_subcommands().map(Command::get_name).collect();
        assert_eq!(OWN.iter().chain(&KYVERNO).copied().collect::<BTreeSet<_>>(), all);
    }

    #[test]
    fn the_definitions_of_all_flags_are_consistent() {
        super::super::flags::with_forms_of_go(super::super::commands()).debug_assert();
    }
}
