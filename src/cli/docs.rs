//! `ephor docs`: the pages of the commands as Markdown files.

use std::path::Path;

use super::flags::{self, Flag, GLOBAL, Takes, flag};
use super::{Page, command_help, pages, print, program};

const FLAGS: &[Flag] = &[
    flag("output", Takes::Text, "folder for the files; it is made if it is not there").short('o'),
    flag("website", Takes::Switch, "with front matter, and links as a web site has them"),
    flag("noDate", Takes::Switch, "without the date"),
    flag("markdownLinks", Takes::Switch, "links to Markdown files").default("true"),
    flag("autogenTag", Takes::Switch, "with a line that says what made the file").default("true"),
];

const ABOUT: &str = "Writes the page of every command as a Markdown file.";
const EXAMPLES: &str = "  # one file a command\n  ephor docs -o pages --noDate\n";

pub(super) const PAGE: Page =
    Page { name: "docs", arguments: "", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Runs the command.
///
/// # Errors
/// No folder, or one that cannot be written.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if parsed.on("help") {
        print(&command_help("docs", "", ABOUT, FLAGS, EXAMPLES));
        return Ok(0);
    }
    if let Some(extra) = parsed.arguments.first() {
        return Err(format!("unknown command \"{extra}\" for \"{} docs\"", program()));
    }
    if !parsed.given("output") {
        return Err("required flag(s) \"output\" not set".into());
    }
    let folder = Path::new(parsed.text("output"));
    let failed = |e: std::io::Error| format!("failed to write {} ({e})", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    let link = |name: &str| {
        let file = file_name(name);
        if parsed.on("website") { format!("../{file}") } else { format!("{file}.md") }
    };
    for name in names() {
        let mut text = match parsed.on("website") {
            true => front_matter(&name, !parsed.on("noDate")),
            false => String::new(),
        };
        text.push_str(&page(&name, &link));
        if parsed.on("autogenTag") {
            text.push_str(&format!("\n###### Made by {} docs", program()));
            if !parsed.on("noDate") {
                text.push_str(&format!(" on {}", today()));
            }
            text.push('\n');
        }
        let path = folder.join(format!("{}.md", file_name(&name)));
        super::write_whole(&path.to_string_lossy(), &text).map_err(failed)?;
    }
    Ok(0)
}

fn today() -> String {
    jiff::Zoned::now().strftime("%-d-%b-%Y").to_string()
}

fn front_matter(name: &str, dated: bool) -> String {
    let date = if dated {
        format!("date: {}\n", jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z"))
    } else {
        String::new()
    };
    format!("---\n{date}title: \"{}\"\nweight: 35\n---\n", full(name))
}

fn full(name: &str) -> String {
    format!("{} {name}", program()).trim_end().to_owned()
}

fn file_name(name: &str) -> String {
    full(name).replace(' ', "_")
}

/// All commands and groups of commands; the empty name is the program.
fn names() -> Vec<String> {
    let mut all = vec![String::new()];
    for page in pages() {
        all.extend(page.name.split_once(' ').map(|(group, _)| group.to_owned()));
        all.push(page.name.to_owned());
    }
    all.sort();
    all.dedup();
    all
}

fn about(name: &str) -> String {
    match pages().iter().find(|p| p.name == name) {
        Some(page) => page.about.replace('\n', " "),
        None => super::about_of(name).to_owned(),
    }
}

fn page(name: &str, link: &dyn Fn(&str) -> String) -> String {
    let pages = pages();
    let about_it = about(name);
    let mut out = format!("## {}\n\n{about_it}\n", full(name));
    if let Some(page) = pages.iter().find(|p| p.name == name) {
        let usage = format!("{} [flags] {}", full(name), page.arguments);
        out.push_str(&format!("\n```\n{}\n```\n", usage.trim_end()));
        if !page.examples.is_empty() {
            out.push_str(&format!("\n### Examples\n\n```\n{}```\n", page.examples));
        }
        out.push_str(&format!("\n### Options\n\n```\n{}```\n", flags::help(page.flags)));
    }
    out.push_str(&format!(
        "\n### Options of all commands\n\n```\n{}```\n\n### SEE ALSO\n\n",
        flags::help(GLOBAL)
    ));
    let see = |name: &str| format!("* [{}]({}) - {}\n", full(name), link(name), about(name));
    if !name.is_empty() {
        out.push_str(&see(name.split_once(' ').map_or("", |(group, _)| group)));
    }
    let below = names()
        .into_iter()
        .filter(|n| !n.is_empty() && n.rsplit_once(' ').map_or("", |(group, _)| group) == name);
    below.for_each(|n| out.push_str(&see(&n)));
    out
}
