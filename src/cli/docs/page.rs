//! The page of a command in Markdown: usage, what it does, flags by heading, examples, exit codes.
//!
//! In: a command as `clap` describes it. Out: parts of a page, which `ephor docs` and the book put
//! together.

use clap::{Arg, Command};

use crate::cli::flags::plain;
use crate::cli::help::{summary, variable_of};

/// A command, and the names of those above it and its own.
pub(super) struct Page<'c> {
    pub command: &'c Command,
    /// `ephor jp query`
    pub name: String,
    /// `ephor jp`; nothing for the program.
    pub above: Option<String>,
}

/// The pages of a command and of those below it.
pub(super) fn pages<'c>(command: &'c Command, above: Option<&str>) -> Vec<Page<'c>> {
    let name = match above {
        Some(above) => format!("{above} {}", command.get_name()),
        None => command.get_name().to_string(),
    };
    let below: Vec<Page<'c>> = below(command).flat_map(|c| pages(c, Some(&name))).collect();
    let mut all = vec![Page { command, name, above: above.map(String::from) }];
    all.extend(below);
    all
}

/// The commands below another one; `help` is no page.
pub(super) fn below(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|c| c.get_name() != "help")
}

impl Page<'_> {
    /// The page of its own.
    pub fn text(&self, root: &Command, link: &dyn Fn(&str) -> String) -> String {
        let mut out = format!("## {}\n\n{}", self.name, self.body("###"));
        out.push_str(&options("### Options of all commands", global(root)));
        let above = self.above.iter().filter_map(|above| Some((above.clone(), find(root, above)?)));
        let below = below(self.command).map(|c| (format!("{} {}", self.name, c.get_name()), c));
        let see: Vec<(String, &Command)> = above.chain(below).collect();
        if !see.is_empty() {
            out.push_str("\n### SEE ALSO\n\n");
        }
        for (name, command) in see {
            out.push_str(&format!("* [{name}]({}) - {}\n", link(&name), summary(command)));
        }
        out
    }

    /// What is below the title; `level` is the mark of its headings.
    pub fn body(&self, level: &str) -> String {
        let about = plain(self.command.get_about());
        let (first, rest) = about.split_once('\n').unwrap_or((&about, ""));
        let sentences = [first, rest.trim()].into_iter().filter(|text| !text.is_empty());
        let sentences: Vec<String> =
            sentences.map(|text| format!("{}.\n", without_links(text.trim_end_matches('.')))).collect();
        let usage = self.command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage:").trim();
        let mut out = format!("{}\n```text\n{usage}\n```\n", sentences.join("\n"));
        for section in sections(&plain(self.command.get_after_help())) {
            match section {
                Section::Examples(text) => {
                    out.push_str(&format!("\n{level} Examples\n\n```text\n{text}\n```\n"));
                }
                Section::ExitCodes(rows) => {
                    let rows: String =
                        rows.iter().map(|(code, when)| format!("| {code} | {when} |\n")).collect();
                    out.push_str(&format!("\n{level} Exit codes\n\n| exit code | when |\n|---|---|\n{rows}"));
                }
            }
        }
        let own: Vec<&Arg> = self.command.get_arguments().filter(is_own).collect();
        for heading in headings(&own) {
            let of_heading = own.iter().copied().filter(|arg| heading_of(arg) == heading);
            out.push_str(&options(&format!("{level} {heading}"), of_heading));
        }
        if let Some(line) = variable_of(self.command) {
            out.push_str(&format!("\n{line}\n"));
        }
        let hidden: String =
            own.iter().copied().filter(|arg| arg.is_hide_set()).map(without_effect).collect();
        if !hidden.is_empty() {
            out.push_str(&format!("\n{hidden}"));
        }
        out
    }
}

/// A part of the text behind the flags of a command.
enum Section {
    Examples(String),
    /// Codes and when the command ends with them.
    ExitCodes(Vec<(String, String)>),
}

/// The parts of such a text: paragraphs that begin with a title.
fn sections(text: &str) -> Vec<Section> {
    let (examples, codes) = match text.split_once("Exit codes:\n") {
        Some((before, codes)) => (before, codes),
        None => (text, ""),
    };
    let mut all = Vec::new();
    if let Some(examples) = examples.strip_prefix("Examples:\n") {
        let lines: Vec<&str> = examples.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
        all.push(Section::Examples(lines.join("\n").trim().to_string()));
    }
    let mut rows: Vec<(String, String)> = Vec::new();
    for line in codes.lines() {
        match (line.strip_prefix("      "), line.trim().split_once(' '), rows.last_mut()) {
            (Some(more), _, Some((_, when))) => when.push_str(&format!(" {}", more.trim())),
            (_, Some((code, when)), _) => rows.push((cell(code), cell(when.trim()))),
            _ => {}
        }
    }
    if !rows.is_empty() {
        all.push(Section::ExitCodes(rows));
    }
    all
}

/// The flags of all commands.
pub(super) fn global(root: &Command) -> impl Iterator<Item = &Arg> {
    root.get_arguments().filter(|arg| arg.is_global_set())
}

/// The command of a full name.
fn find<'c>(root: &'c Command, name: &str) -> Option<&'c Command> {
    name.split(' ').skip(1).try_fold(root, |command, word| command.find_subcommand(word))
}

fn heading_of(arg: &Arg) -> &str {
    match arg.get_help_heading() {
        Some(heading) => heading,
        None if arg.is_positional() => "Arguments",
        None => "Options",
    }
}

/// The headings of flags, each once: arguments and flags without one first.
fn headings<'a>(args: &[&'a Arg]) -> Vec<&'a str> {
    let mut all = vec!["Arguments", "Options"];
    for heading in args.iter().map(|arg| heading_of(arg)) {
        if !all.contains(&heading) {
            all.push(heading);
        }
    }
    all
}

/// A table of flags and arguments below a title.
pub(super) fn options<'a>(title: &str, args: impl Iterator<Item = &'a Arg>) -> String {
    let rows: String = args.filter(|arg| !arg.is_hide_set()).map(row).collect();
    match rows.is_empty() {
        true => rows,
        false => format!("\n{title}\n\n| flag or argument | sets |\n|---|---|\n{rows}"),
    }
}

fn row(arg: &Arg) -> String {
    let takes_values = arg.get_action().takes_values();
    let short = arg.get_short().map(|c| format!("-{c}, ")).unwrap_or_default();
    let mut help = without_links(&plain(arg.get_help()));
    let values = arg.get_possible_values();
    let values: Vec<String> =
        values.iter().filter(|v| !v.is_hide_set()).map(|v| format!("`{}`", v.get_name())).collect();
    if !values.is_empty() && takes_values {
        help.push_str(&format!(": {}", values.join(", ")));
    }
    let default: Vec<_> = arg.get_default_values().iter().map(|v| v.to_string_lossy()).collect();
    let is_on = !takes_values && default.iter().any(|v| v == "true");
    if (!default.is_empty() && takes_values && !arg.is_hide_default_value_set()) || is_on {
        help.push_str(&format!(" (default `{}`)", default.join(",")));
    }
    let others = arg.get_all_aliases().unwrap_or_default();
    if !others.is_empty() {
        let others: Vec<String> = others.iter().map(|name| format!("`--{name}`")).collect();
        help.push_str(&format!("; also {}", others.join(", ")));
    }
    format!("| `{short}{}` | {} |\n", arg.to_string().replace('|', "\\|"), cell(&help))
}

/// Whether a flag is the command's own.
fn is_own(arg: &&Arg) -> bool {
    !arg.is_global_set() && arg.get_id() != "help"
}

/// The line of a flag that scripts may pass for Kyverno's sake.
pub(super) fn without_effect(arg: &Arg) -> String {
    let value = if arg.get_action().takes_values() { " VALUE" } else { "" };
    format!("- `--{}{value}`: accepted, without effect\n", arg.get_long().unwrap_or_default())
}

/// A text in a cell of a table, with flags as code: a book would set their dashes as one.
pub fn cell(text: &str) -> String {
    let mut in_code = false;
    let mut out = Vec::new();
    for word in text.split([' ', '\n']) {
        let end = word.trim_end_matches([',', ';', ':', '.', ')']).len();
        let (flag, rest) = word.split_at(end);
        let is_flag = flag.len() > 1 && flag.starts_with('-') && !flag.contains('`');
        out.push(match is_flag && !in_code {
            true => format!("`{flag}`{rest}"),
            false => word.to_string(),
        });
        in_code ^= word.matches('`').count() % 2 == 1;
    }
    out.join(" ").replace('|', "\\|")
}

/// A text whose angle brackets are not read as HTML.
fn without_links(text: &str) -> String {
    text.replace('<', "&lt;")
}
