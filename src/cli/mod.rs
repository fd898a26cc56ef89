//! The command line: parses flags and calls the library.
//!
//! Called through a link named `kyverno` or `kubectl-kyverno` it names itself so. Errors go to
//! standard error as `Error: …` with exit code 1; what is worth knowing but changes no result goes
//! there as one `warning: …` line each.

pub mod admission;
pub mod apply;
pub mod cel;
pub mod completion;
pub mod conformance;
pub mod create;
pub mod docs;
pub mod explain;
mod explain_decisions;
pub mod fix;
pub mod flags;
pub mod jp;
pub mod lint;
mod outbound;
pub mod serve;
pub mod test;
pub mod webhook_config;

use ephor_value::suggest::did_you_mean;

/// What there is to know about a command, or one below it.
#[derive(Clone, Copy)]
struct Page {
    /// Its name, with that of the command above it.
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    flags: &'static [flags::Flag],
    examples: &'static str,
}

/// The pages of all commands.
fn pages() -> Vec<Page> {
    let mut all = vec![
        admission::PAGE,
        apply::PAGE,
        completion::PAGE,
        conformance::PAGE,
        docs::PAGE,
        explain::PAGE,
        lint::PAGE,
        serve::PAGE,
        test::PAGE,
        VERSION,
        webhook_config::PAGE,
    ];
    all.extend(cel::pages());
    all.extend(create::PAGES);
    all.extend(fix::PAGES);
    all.extend(jp::pages());
    all.sort_by_key(|p| p.name);
    all
}

const VERSION: Page = Page {
    name: "version",
    arguments: "",
    about: "Shows the version of the program.",
    flags: &[],
    examples: "  # the version, and those of Kyverno and Kubernetes\n  ephor version\n",
};

/// What a command is for; the empty name is the program.
fn about_of(name: &str) -> &'static str {
    match COMMANDS.iter().find(|c| c.name == name) {
        Some(command) => command.about,
        None => "Evaluates Kubernetes policies: Kyverno's and Kubernetes' own, in one engine.",
    }
}

/// The cluster that the flags mean.
fn cluster_choice(parsed: &flags::Parsed) -> ephor_server::cluster::Choice {
    let text = |flag: &str| parsed.text(flag).to_string();
    ephor_server::cluster::Choice { kubeconfig: text("kubeconfig"), context: text("context") }
}

/// A command of the program.
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<i32, String>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "admission",
        about: "Prints Kubernetes admission policies that are equivalent to Kyverno's.",
        run: admission::run,
    },
    Command { name: "apply", about: "Applies policies on resources.", run: apply::run },
    Command { name: "cel", about: "Evaluates, checks and explains CEL expressions.", run: cel::run },
    Command {
        name: "completion",
        about: "Prints a script that completes commands in a shell.",
        run: completion::run,
    },
    Command {
        name: "conformance",
        about: "Runs recorded suites and prints how many cases pass.",
        run: conformance::run,
    },
    Command { name: "create", about: "Prints templates of files.", run: create::run },
    Command { name: "docs", about: "Writes the pages of the commands.", run: docs::run },
    Command {
        name: "explain",
        about: "Explains the rules of policies and their decisions about resources.",
        run: explain::run,
    },
    Command { name: "fix", about: "Repairs files with deprecated syntax.", run: fix::run },
    Command { name: "jp", about: "Evaluates and explains JMESPath expressions.", run: jp::run },
    Command { name: "lint", about: "Checks policies before they run.", run: lint::run },
    Command { name: "serve", about: "Serves the admission webhook.", run: serve::run },
    Command { name: "test", about: "Runs tests of policies.", run: test::run },
    Command {
        name: "webhook-config",
        about: "Prints the webhook configurations that policies need, and simulates them.",
        run: webhook_config::run,
    },
    Command { name: "help", about: "Help about any command.", run: help },
    Command { name: "version", about: "Shows the version of the program.", run: version },
];

/// The name under which the program was called.
fn program() -> String {
    let called = std::env::args().next().unwrap_or_default();
    let stem = std::path::Path::new(&called).file_stem().map(|s| s.to_string_lossy().into_owned());
    match stem.as_deref() {
        Some(name @ ("kyverno" | "kubectl-kyverno")) => name.trim_start_matches("kubectl-").to_string(),
        _ => "ephor".into(),
    }
}

/// Runs the program with its arguments (without its name); returns the exit code.
pub fn main(args: &[String]) -> i32 {
    let Some((name, rest)) = args.split_first() else {
        print(&usage());
        return 0;
    };
    if matches!(name.as_str(), "-h" | "--help") {
        print(&usage());
        return 0;
    }
    if matches!(name.as_str(), "--version" | "-V") {
        return version(&[]).unwrap_or(1);
    }
    let Some(command) = COMMANDS.iter().find(|c| c.name == name) else {
        eprintln!("Error: {}", unknown(name));
        return 1;
    };
    match (command.run)(rest) {
        Ok(code) => code,
        Err(text) => {
            eprintln!("Error: {text}");
            1
        }
    }
}

fn unknown(name: &str) -> String {
    let program = program();
    if name.starts_with('-') {
        return format!("unknown flag: {name}");
    }
    let names: Vec<&str> = COMMANDS.iter().map(|c| c.name).collect();
    let suggestion = match did_you_mean(name, &names) {
        Some(close) => format!("\n\nDid you mean this?\n\t{close}\n"),
        None => String::new(),
    };
    format!("unknown command \"{name}\" for \"{program}\"{suggestion}\nRun '{program} --help' for usage.")
}

/// Prints the help of a command when `--help` is given.
fn helped(parsed: &flags::Parsed, page: &Page) -> bool {
    let wanted = parsed.on("help");
    if wanted {
        let Page { name, arguments, about, flags, examples } = *page;
        print(&command_help(name, arguments, about, flags, examples));
    }
    wanted
}

/// Prints a warning to standard error.
fn warn(text: &str) {
    eprintln!("warning: {text}");
}

/// Whether standard output shows colours: it is a terminal that has them, and `NO_COLOR` is not set.
fn shows_colours() -> bool {
    use std::io::IsTerminal;
    std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none()
        && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// Writes to standard output; a closed pipe is no error of ours.
pub fn print(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn usage() -> String {
    let program = program();
    let mut out = format!(
        "{program} evaluates Kubernetes policies: Kyverno's and Kubernetes' own, in one engine.\n\nUsage:\n  {program} COMMAND [flags]\n\nCommands:\n"
    );
    for c in COMMANDS {
        out.push_str(&format!("  {:14}{}\n", c.name, c.about));
    }
    out.push_str(&format!("\nUse \"{program} COMMAND --help\" for a command's flags.\n"));
    out
}

fn help(args: &[String]) -> Result<i32, String> {
    match args.first() {
        None => {
            print(&usage());
            Ok(0)
        }
        Some(name) => match COMMANDS.iter().find(|c| c.name == name && c.name != "help") {
            Some(c) => (c.run)(&["--help".to_string()]),
            None => Err(unknown(name)),
        },
    }
}

fn version(args: &[String]) -> Result<i32, String> {
    if let Some(extra) = args.iter().find(|a| !a.starts_with('-')) {
        return Err(format!("unknown command \"{extra}\" for \"{} version\"", program()));
    }
    print(&format!("Version: {}\nReference: Kyverno 1.19.1, Kubernetes 1.36.3\n", env!("CARGO_PKG_VERSION")));
    Ok(0)
}

/// The help text of a command with commands below it.
fn group_help(name: &str, about: &str, pages: &[Page]) -> String {
    let program = program();
    let mut out = format!("{about}\n\nUsage:\n  {program} {name} COMMAND [flags]\n\nCommands:\n");
    for page in pages {
        let own = page.name.rsplit(' ').next().unwrap_or_default();
        out.push_str(&format!("  {own:16}{}\n", page.about.lines().next().unwrap_or_default()));
    }
    out.push_str(&format!("\nUse \"{program} {name} COMMAND --help\" for a command's flags.\n"));
    out
}

/// The error for a command that is not below another one.
fn unknown_below(above: &str, name: &str, pages: &[Page]) -> String {
    let names: Vec<&str> = pages.iter().filter_map(|p| p.name.rsplit(' ').next()).collect();
    let hint = did_you_mean(name, &names).map(|close| format!("\nhelp: did you mean `{close}`?"));
    format!("unknown command \"{name}\" for \"{} {above}\"{}", program(), hint.unwrap_or_default())
}

/// Writes a file through a temporary one in the same folder, so that it is never half written.
fn write_whole(path: &str, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    let temporary = format!("{path}.{}.tmp", std::process::id());
    let mut file = std::fs::File::create(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)
}

/// The help text of a command.
fn command_help(name: &str, arguments: &str, about: &str, table: &[flags::Flag], examples: &str) -> String {
    let program = program();
    format!(
        "{about}\n\nUsage:\n  {program} {name} [flags] {arguments}\n\nExamples:\n{examples}\nFlags:\n{}\nGlobal flags:\n{}",
        flags::help(table),
        flags::help(flags::GLOBAL)
    )
}
