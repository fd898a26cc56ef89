//! `ephor completion`: completion of commands, flags and values in a shell.
//!
//! The script that a shell loads calls the program again, which completes what is typed
//! (`answered`): values of flags, files, names of functions, rules of the policies on the line. So
//! a new version needs no new script.

use std::ffi::OsStr;

use clap::ValueEnum;
use clap_complete::CompleteEnv;
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::Shells;

use ephor_policies::load;
use ephor_sources::files;
use ephor_value::environment;

use super::{Error, only, print, program};

/// The variable by which the script says that the program is to complete, and for which shell.
const VARIABLE: &str = environment::COMPLETE.name;

/// Prints a script that completes commands, flags and values in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # for this session of bash
  source <(ephor completion bash)

  # for every session of fish
  ephor completion fish > ~/.config/fish/completions/ephor.fish")]
pub struct Args {
    /// shell
    #[arg(value_name = "SHELL", required = true)]
    shell: Vec<Shell>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

/// Runs the command.
///
/// # Errors
/// No shell, or several.
pub fn run(args: &Args) -> Result<i32, Error> {
    let names: Vec<String> =
        args.shell.iter().filter_map(|s| s.to_possible_value()).map(|v| v.get_name().into()).collect();
    let program = program();
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(only(&names)?) {
        shell
            .write_registration(VARIABLE, &program, &program, &program, &mut script)
            .map_err(Error::Completion)?;
    }
    print(&String::from_utf8_lossy(&script));
    Ok(0)
}

/// Whether a shell called the program to complete a line, which is done then.
pub(super) fn answered() -> bool {
    let folder = std::env::current_dir().ok();
    let done = CompleteEnv::with_factory(super::commands)
        .var(VARIABLE)
        .try_complete(std::env::args_os(), folder.as_deref());
    // A shell that is not known gets no candidates.
    done.unwrap_or(true)
}

/// The functions of JMESPath whose names begin so.
pub(super) fn function_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let all = ephor_functions::all().iter().filter(|f| f.name.starts_with(&*typed));
    all.map(|f| CompletionCandidate::new(f.name).help(Some(f.note.into()))).collect()
}

/// The names of the rules of the policies that the line names, so far as they begin so.
pub(super) fn rule_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    of_policies(typed, |p| p.all_rules().map(|r| r.name.to_string()).collect())
}

fn of_policies(typed: &OsStr, names: impl Fn(&ephor_ir::Policy) -> Vec<String>) -> Vec<CompletionCandidate> {
    // The words of the line follow `--`; those that are files may be policies.
    let words = std::env::args().skip_while(|word| word != "--").skip(3);
    let paths: Vec<String> = words.filter(|word| std::path::Path::new(word).exists()).collect();
    let loaded = load::argument(&files::policies(&paths).sources);
    let typed = typed.to_string_lossy();
    let all = loaded.policies.iter().filter_map(|p| p.policy.as_ref()).flat_map(|p| names(p));
    let mut all: Vec<String> = all.filter(|name| name.starts_with(&*typed)).collect();
    all.sort();
    all.dedup();
    all.into_iter().map(CompletionCandidate::new).collect()
}
