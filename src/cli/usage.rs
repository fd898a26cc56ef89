//! What is wrong with a command line, in the words of Kyverno's.
//!
//! In: an error of `clap` and the arguments. Out: a [`Usage`], whose texts are those of
//! `spf13/cobra` and `spf13/pflag`, which scripts read; what was probably meant is a line after
//! them.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use ephor_value::quote::quote;
use ephor_value::suggest::did_you_mean;

use super::flags::display_name;
use crate::cli::program_name::{self, is_kyverno};

/// A command line that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Usage {
    /// No flag of the command has this name.
    #[error("unknown flag: --{name}{}", hint(meant, "--"))]
    UnknownFlag {
        /// The name.
        name: String,
        /// The flag that was probably meant.
        meant: Option<String>,
    },
    /// No flag of the command has this letter.
    #[error("unknown shorthand flag: '{letter}' in -{group}")]
    UnknownLetter {
        /// The letter.
        letter: char,
        /// The letters from it on.
        group: String,
    },
    /// A flag is the last argument and takes a value.
    #[error("flag needs an argument: {0}")]
    MissingValue(String),
    /// A value has another form.
    #[error("invalid argument {} for \"{flag}\" flag: {cause}", quote(value))]
    InvalidValue {
        /// The value.
        value: String,
        /// Letter and name of the flag.
        flag: String,
        /// Why it is refused.
        cause: String,
    },
    /// A value is none of those that the flag has.
    #[error("unknown {flag} `{value}`; use {}{}", one_of(values), hint(meant, ""))]
    UnknownValue {
        /// The name of the flag.
        flag: String,
        /// The value.
        value: String,
        /// The values of the flag.
        values: Vec<String>,
        /// The value that was probably meant.
        meant: Option<String>,
    },
    /// `ephor replay` needs a log.
    #[error("audit log required\nhelp: ephor replay LOG… --policies PATH; - reads standard input")]
    NoLog,
    /// `ephor test` has no such format.
    #[error("invalid format, expected (json, yaml, markdown, junit)")]
    UnknownTestFormat,
    /// An argument is none of those that the command has.
    #[error("invalid argument {} for \"{command}\"", quote(value))]
    InvalidArgument {
        /// The argument.
        value: String,
        /// The command with the names of those above it.
        command: String,
    },
    /// The program has no such command.
    #[error(
        "unknown command {} for \"{program}\"{}\nRun '{program} --help' for usage.",
        quote(name),
        paragraph(meant)
    )]
    UnknownCommand {
        /// The name.
        name: String,
        /// The name of the program.
        program: String,
        /// The command that was probably meant.
        meant: Option<String>,
    },
    /// A command has no such command below it, and takes no arguments.
    #[error("unknown command {} for \"{above}\"{}", quote(name), hint(meant, ""))]
    UnknownBelow {
        /// The name.
        name: String,
        /// The command with the names of those above it.
        above: String,
        /// The command that was probably meant.
        meant: Option<String>,
    },
    /// Flags without which the command does not run.
    #[error("required flag(s) {} not set", .0.iter().map(|f| format!("\"{f}\"")).collect::<Vec<_>>().join(", "))]
    MissingFlags(Vec<String>),
    /// A command that takes one argument has none, or several.
    #[error("accepts 1 arg(s), received {0}")]
    NotOne(usize),
    /// A command that takes one argument or none has several.
    #[error("accepts at most 1 arg(s), received {0}")]
    MoreThanOne(usize),
    /// A command that takes arguments has none.
    #[error("requires at least 1 arg(s), only received 0")]
    NoArguments,
    /// No policy is named.
    #[error("requires at least one policy: a file, a folder, an address, or - for standard input")]
    NoPolicy,
    /// What `clap` reports beyond these.
    #[error("{0}")]
    Other(String),
}

impl Usage {
    /// Whether the page of the command says what is missing.
    pub(super) fn is_about_arguments(&self) -> bool {
        match self {
            Usage::NotOne(_) | Usage::MoreThanOne(_) | Usage::NoArguments | Usage::NoPolicy => true,
            Usage::UnknownBelow { meant, .. } => meant.is_none(),
            _ => false,
        }
    }
}

fn hint(meant: &Option<String>, before: &str) -> String {
    meant.as_ref().map(|close| format!("\nhelp: did you mean `{before}{close}`?")).unwrap_or_default()
}

fn paragraph(meant: &Option<String>) -> String {
    meant.as_ref().map(|close| format!("\n\nDid you mean this?\n\t{close}\n")).unwrap_or_default()
}

/// `` `a`, `b` or `c` ``
fn one_of(values: &[String]) -> String {
    let all: Vec<String> = values.iter().map(|v| format!("`{v}`")).collect();
    match all.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// The command that the arguments mean, as far as they mean one, and its name with those of the
/// commands above it.
pub(super) fn meant<'c>(root: &'c Command, args: &[String]) -> (&'c Command, String) {
    let (mut command, mut name) = (root, root.get_name().to_string());
    for arg in args.iter().take_while(|arg| *arg != "--").filter(|arg| !arg.starts_with('-')) {
        if let Some(below) = command.find_subcommand(arg) {
            command = below;
            name = format!("{name} {}", below.get_name());
        }
    }
    (command, name)
}

/// The error of a command line.
pub(super) fn of(error: &clap::Error, root: &Command, args: &[String]) -> Usage {
    let (command, name) = meant(root, args);
    let invalid = text(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue);
    // `clap` names a flag with the value it takes: `--set <NAME=VALUE>`.
    let flag = invalid.split([' ', '=', '[']).next().unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => unknown_argument(&invalid, (command, &name), root, args),
        ErrorKind::InvalidSubcommand => {
            let unknown = text(error, ContextKind::InvalidSubcommand);
            unknown_command(unknown, (command, &name), root)
        }
        ErrorKind::MissingRequiredArgument => missing(error),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::NoEquals
            if !invalid.starts_with('-') =>
        {
            Usage::InvalidArgument { value, command: name }
        }
        ErrorKind::InvalidValue if args.last().is_some_and(|last| lacks_value(last, &value)) => {
            Usage::MissingValue(spelled(args.last().map_or("", String::as_str)))
        }
        ErrorKind::InvalidValue
            if command.get_name() == "test"
                && (flag == "-o" || flag == "--output-format" && program_name::is_kyverno()) =>
        {
            Usage::UnknownTestFormat
        }
        ErrorKind::InvalidValue => {
            let values = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(values)) => values.clone(),
                _ => Vec::new(),
            };
            let known: Vec<&str> = values.iter().map(String::as_str).collect();
            let meant = did_you_mean(&value, &known).map(String::from);
            Usage::UnknownValue { flag: flag.trim_start_matches('-').into(), value, values, meant }
        }
        ErrorKind::ValueValidation => {
            let arg = find(command, flag).or_else(|| find(root, flag));
            let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            Usage::InvalidValue { value, flag: arg.map_or_else(|| flag.into(), display_name), cause }
        }
        _ => Usage::Other(first_line(error)),
    }
}

fn text(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(all)) => all.first().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_string()
}

/// The flag of a name or letter with its dashes.
fn find<'c>(command: &'c Command, flag: &str) -> Option<&'c clap::Arg> {
    command.get_arguments().find(|arg| match flag.strip_prefix("--") {
        Some(long) => arg.get_long_and_visible_aliases().is_some_and(|all| all.contains(&long)),
        None => arg.get_short().is_some_and(|short| flag == format!("-{short}")),
    })
}

/// Whether the last argument is a flag whose value would follow.
fn lacks_value(last: &str, value: &str) -> bool {
    value.is_empty() && last.starts_with('-') && !last.contains('=')
}

/// A flag without its value, as `pflag` writes it.
fn spelled(arg: &str) -> String {
    match arg.strip_prefix("--") {
        Some(_) => arg.to_string(),
        None => format!("'{}' in {arg}", arg.chars().next_back().unwrap_or('-')),
    }
}

fn unknown_argument(argument: &str, of: (&Command, &str), root: &Command, args: &[String]) -> Usage {
    if let Some(long) = argument.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or_default();
        let flags = of.0.get_arguments().chain(root.get_arguments().filter(|a| a.is_global_set()));
        let known: Vec<&str> = flags.filter(|a| !a.is_hide_set()).filter_map(|a| a.get_long()).collect();
        return Usage::UnknownFlag { name: name.into(), meant: did_you_mean(name, &known).map(String::from) };
    }
    match argument.strip_prefix('-').and_then(|rest| rest.chars().next()) {
        Some(letter) => {
            let groups = args.iter().filter(|a| a.starts_with('-') && !a.starts_with("--"));
            let group = groups.filter_map(|a| a.find(letter).and_then(|at| a.get(at..))).next();
            Usage::UnknownLetter { letter, group: group.map_or_else(|| letter.to_string(), String::from) }
        }
        None => unknown_command(argument.into(), of, root),
    }
}

/// What commands are called in other programs.
const OTHER_NAMES: [(&str, &str); 6] = [
    ("audit", "apply"),
    ("check", "apply"),
    ("eval", "apply"),
    ("scan", "apply"),
    ("validate", "apply"),
    ("verify", "apply"),
];

fn unknown_command(name: String, (command, above): (&Command, &str), root: &Command) -> Usage {
    let below: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let by_other_name = OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, own)| *own);
    let is_own = |own: &&str| !is_kyverno() && below.contains(own);
    let meant = by_other_name.filter(is_own).or_else(|| did_you_mean(&name, &below)).map(String::from);
    if above == root.get_name() {
        return Usage::UnknownCommand { name, program: above.into(), meant };
    }
    Usage::UnknownBelow { name, above: above.into(), meant }
}

fn missing(error: &clap::Error) -> Usage {
    let all = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(all)) => all.clone(),
        _ => Vec::new(),
    };
    if all.iter().any(|arg| !arg.starts_with('-')) {
        return Usage::NotOne(0);
    }
    let name = |arg: &String| arg.trim_start_matches('-').split(' ').next().unwrap_or_default().to_string();
    let mut names: Vec<String> = all.iter().map(name).collect();
    names.sort();
    Usage::MissingFlags(names)
}
