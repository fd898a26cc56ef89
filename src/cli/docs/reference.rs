//! The pages of the book about the commands.
//!
//! In: the commands. Out: an overview and a page for each group of commands; `tests/reference.rs`
//! writes them below `docs/reference` and compares them.

use clap::Command;

pub use super::page::cell;
use super::page::{Page, below, global, options, pages, without_effect};
use crate::cli::help::Commands;
use crate::cli::help::{GROUPS, summary};

/// A page of the book.
pub struct File {
    /// Its name, without folder.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The line that says where a page comes from.
const GENERATED: &str = "This page is generated from the definitions of the flags";

/// All of them, the overview first.
pub fn files(commands: Commands) -> Vec<File> {
    let mut root = commands();
    root.build();
    let mut all = vec![File { name: "commands.md".into(), text: overview(&root) }];
    all.extend(
        GROUPS.iter().map(|(title, names)| File { name: file_name(title), text: group(&root, title, names) }),
    );
    all
}

/// `Run policies` is `commands-run-policies.md`.
fn file_name(title: &str) -> String {
    format!("commands-{}.md", title.to_lowercase().replace(' ', "-"))
}

fn overview(root: &Command) -> String {
    let mut out = format!(
        "# Commands\n\n`ephor COMMAND [flags]`. {GENERATED}, which `ephor COMMAND --help` shows as well; [Command line](cli.md) says \
         what holds for all commands, and what they do in detail.\n"
    );
    for (title, names) in &GROUPS {
        out.push_str(&format!("\n## [{title}]({})\n\n| command | does |\n|---|---|\n", file_name(title)));
        for name in *names {
            let Some(command) = root.find_subcommand(name) else { continue };
            if *name == "help" {
                out.push_str("| `help` | Shows the page of a command |\n");
                continue;
            }
            let link = format!("{}#ephor-{name}", file_name(title));
            out.push_str(&format!("| [`{name}`]({link}) | {} |\n", summary(command)));
        }
    }
    out.push_str(&options("## Flags of all commands", global(root)));
    out.push_str("| `-h, --help` | the page of the command |\n\nFlags of Kyverno's logging:\n\n");
    out.extend(root.get_arguments().filter(|arg| arg.is_hide_set()).map(without_effect));
    out.push_str(
        "\n## Exit codes\n\n| exit code | when |\n|---|---|\n\
         | 0 | the command did what it is for |\n\
         | 1 | an error, or a result that is one: the commands with results of their own list them |\n",
    );
    out
}

fn group(root: &Command, title: &str, names: &[&str]) -> String {
    let mut out = format!(
        "# {title}\n\n{GENERATED}. [Commands](commands.md) has the others, and the flags of all commands.\n"
    );
    for command in
        names.iter().filter_map(|name| root.find_subcommand(name)).filter(|c| c.get_name() != "help")
    {
        for page in pages(command, Some(root.get_name())) {
            out.push_str(&format!("\n## {}\n\n{}", page.name, page.body("###")));
            out.push_str(&list_below(&page));
        }
    }
    out
}

/// The commands below the one of a page, with links.
fn list_below(page: &Page<'_>) -> String {
    let mut out = String::new();
    for command in below(page.command) {
        let name = format!("{} {}", page.name, command.get_name());
        out.push_str(&format!("- [`{name}`](#{}): {}\n", name.replace(' ', "-"), summary(command)));
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}
