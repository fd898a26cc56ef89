//! `ephor completion`: completion of commands, flags and values in a shell.
//!
//! The script that a shell loads calls the program again, which completes what is typed
//! (`answered`): values of flags, files, names of functions, rules of the policies on the line. So
//! a new version needs no new script.

use clap::ValueEnum;
use clap_complete::CompleteEnv;
use clap_complete::env::Shells;

use ephor_value::environment;

use super::CommandError;
use crate::cli::arguments::only;
use crate::cli::console::print;
use crate::cli::help::Commands;
use crate::cli::program_name::program;

/// The variable by which the script says that the program is to complete, and for which shell.
const VARIABLE: &str = environment::COMPLETE.name;

/// What kubectl runs to complete the words behind `kubectl ephor`, of which the last one is being
/// typed. It reads `WORD<tab>DESCRIPTION` a line, as fish does, and then what the shell adds: 4 is
/// no names of files.
const KUBECTL: &str = "#!/bin/sh
EPHOR_COMPLETE=fish kubectl-ephor -- kubectl-ephor \"$@\"
echo
echo :4
";

/// Prints a script that completes commands, flags and values in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # for this session of bash
  source <(ephor completion bash)

  # for `kubectl ephor`: a program on the PATH, next to a link kubectl-ephor
  ephor completion kubectl > /usr/local/bin/kubectl_complete-ephor
  chmod +x /usr/local/bin/kubectl_complete-ephor

  # for every session of fish
  ephor completion fish > ~/.config/fish/completions/ephor.fish")]
pub struct CompletionArgs {
    /// shell
    #[arg(value_name = "SHELL", required = true)]
    shell: Vec<Shell>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    /// For `kubectl ephor`
    Kubectl,
    Powershell,
    Zsh,
}

/// Runs the command.
///
/// # Errors
/// No shell, or several.
pub fn run(args: &CompletionArgs) -> Result<i32, CommandError> {
    let names: Vec<String> =
        args.shell.iter().filter_map(|s| s.to_possible_value()).map(|v| v.get_name().into()).collect();
    if args.shell == [Shell::Kubectl] {
        print(KUBECTL);
        return Ok(0);
    }
    let program = program();
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(only(&names)?) {
        shell
            .write_registration(VARIABLE, &program, &program, &program, &mut script)
            .map_err(CommandError::Completion)?;
    }
    print(&String::from_utf8_lossy(&script));
    Ok(0)
}

/// Whether a shell called the program to complete a line, which is done then.
pub(super) fn answered(commands: Commands) -> bool {
    let folder = std::env::current_dir().ok();
    let done = CompleteEnv::with_factory(commands)
        .var(VARIABLE)
        .try_complete(std::env::args_os(), folder.as_deref());
    // A shell that is not known gets no candidates.
    done.unwrap_or(true)
}
