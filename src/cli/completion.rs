//! `ephor completion`: scripts that complete commands and flags in a shell.
//!
//! The scripts are generated from the tables of flags, so they know every flag.

use super::flags::{self, Flag, GLOBAL};
use super::{Page, command_help, pages, print, program};

const ABOUT: &str =
    "Prints a script that completes commands and flags in a shell: bash, zsh, fish or powershell.";
const EXAMPLES: &str = "  # for this session of bash\n  source <(ephor completion bash)\n\n  # for every session of fish\n  ephor completion fish > ~/.config/fish/completions/ephor.fish\n";

pub(super) const PAGE: Page = Page {
    name: "completion",
    arguments: "bash|zsh|fish|powershell",
    about: ABOUT,
    flags: &[],
    examples: EXAMPLES,
};

/// Runs the command.
///
/// # Errors
/// No shell, or one that is not known.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(&[], args)?;
    if parsed.on("help") {
        print(&command_help("completion", PAGE.arguments, ABOUT, &[], EXAMPLES));
        return Ok(0);
    }
    let [shell] = &parsed.arguments[..] else {
        return Err(format!("accepts 1 arg(s), received {}", parsed.arguments.len()));
    };
    let program = program();
    let text = match shell.as_str() {
        "bash" => bash(&program),
        "zsh" => zsh(&program),
        "fish" => fish(&program),
        "powershell" => powershell(&program),
        other => return Err(format!("invalid argument \"{other}\" for \"{program} completion\"")),
    };
    print(&text);
    Ok(0)
}

/// The flags of a page that are worth completing.
fn flags_of(page: &Page) -> impl Iterator<Item = &Flag> {
    page.flags.iter().chain(GLOBAL.iter().take(1)).filter(|f| f.alias_of.is_empty())
}

/// What can follow: the words of a command → its commands and flags.
fn table() -> Vec<(String, Vec<String>)> {
    let pages = pages();
    let mut prefixes: Vec<String> = vec![String::new()];
    for page in &pages {
        prefixes.push(page.name.to_owned());
        if let Some((group, _)) = page.name.split_once(' ') {
            prefixes.push(group.to_owned());
        }
    }
    prefixes.sort();
    prefixes.dedup();
    let following = |prefix: &String| {
        let below = pages.iter().filter_map(|p| match prefix.is_empty() {
            true => p.name.split(' ').next(),
            false => p.name.strip_prefix(prefix.as_str())?.strip_prefix(' '),
        });
        let mut words: Vec<String> = below.map(str::to_owned).collect();
        words.sort();
        words.dedup();
        let own = pages.iter().filter(|p| p.name == *prefix).flat_map(flags_of);
        words.extend(own.map(|f| format!("--{}", f.long)));
        if *prefix == "completion" {
            words.extend(["bash", "fish", "powershell", "zsh"].map(str::to_owned));
        }
        (prefix.clone(), words)
    };
    prefixes.iter().map(following).collect()
}

fn bash(program: &str) -> String {
    let cases: String = table()
        .iter()
        .map(|(prefix, words)| format!("    \"{prefix}\") words=\"{}\" ;;\n", words.join(" ")))
        .collect();
    format!(
        "# bash completion for {program}\n_{program}() {{\n  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" path=\"\" words=\"\" i\n  for ((i = 1; i < COMP_CWORD; i++)); do\n    case \"${{COMP_WORDS[i]}}\" in\n      -*) ;;\n      *) [[ $i -le 2 ]] && path=\"${{path:+$path }}${{COMP_WORDS[i]}}\" ;;\n    esac\n  done\n  case \"$path\" in\n{cases}    *) path=\"${{path%% *}}\" ;;\n  esac\n  if [[ -z $words ]]; then\n  case \"$path\" in\n{cases}  esac\n  fi\n  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n}}\ncomplete -o default -F _{program} {program}\n"
    )
}

fn zsh(program: &str) -> String {
    let cases: String = table()
        .iter()
        .map(|(prefix, words)| format!("    \"{prefix}\") candidates=({}) ;;\n", words.join(" ")))
        .collect();
    format!(
        "#compdef {program}\n# zsh completion for {program}\n_{program}() {{\n  local -a candidates plain\n  plain=(${{${{words[2,CURRENT-1]}}:#-*}})\n  case \"${{plain[1,2]}}\" in\n{cases}    *)\n      case \"${{plain[1]}}\" in\n{cases}      esac ;;\n  esac\n  compadd -a candidates\n  _files\n}}\ncompdef _{program} {program}\n"
    )
}

fn fish(program: &str) -> String {
    let mut out = format!("# fish completion for {program}\n");
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', " ");
    for page in pages() {
        let (group, name) = match page.name.split_once(' ') {
            Some((group, name)) => (Some(group), name),
            None => (None, page.name),
        };
        let at =
            group.map_or("__fish_use_subcommand".to_owned(), |g| format!("__fish_seen_subcommand_from {g}"));
        out.push_str(&format!(
            "complete -c {program} -f -n '{at}' -a {name} -d '{}'\n",
            quoted(page.about.lines().next().unwrap_or_default())
        ));
        let seen = match group {
            Some(group) => {
                format!("__fish_seen_subcommand_from {group}; and __fish_seen_subcommand_from {name}")
            }
            None => format!("__fish_seen_subcommand_from {name}"),
        };
        for f in flags_of(&page) {
            let short = if f.short == '\0' { String::new() } else { format!(" -s {}", f.short) };
            let takes = if f.takes == flags::Takes::Switch { "" } else { " -r" };
            out.push_str(&format!(
                "complete -c {program} -n '{seen}' -l {}{short}{takes} -d '{}'\n",
                f.long,
                quoted(f.help)
            ));
        }
    }
    out
}

fn powershell(program: &str) -> String {
    let cases: String = table()
        .iter()
        .map(|(prefix, words)| {
            let words: Vec<String> = words.iter().map(|w| format!("'{w}'")).collect();
            format!("    '{prefix}' = @({})\n", words.join(", "))
        })
        .collect();
    format!(
        "# powershell completion for {program}\nRegister-ArgumentCompleter -Native -CommandName '{program}' -ScriptBlock {{\n  param($wordToComplete, $commandAst, $cursorPosition)\n  $table = @{{\n{cases}  }}\n  $plain = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object {{ \"$_\" }} | Where-Object {{ $_ -notlike '-*' -and $_ -ne $wordToComplete }})\n  $words = $table[($plain | Select-Object -First 2) -join ' ']\n  if (-not $words) {{ $words = $table[\"$($plain | Select-Object -First 1)\"] }}\n  $words | Where-Object {{ $_ -like \"$wordToComplete*\" }} | ForEach-Object {{\n    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)\n  }}\n}}\n"
    )
}
