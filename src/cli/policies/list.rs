//! `ephor policies list`: sets and controls.

use clap::ValueEnum;
use ephor_library::reference::named;
use ephor_library::sets::{ALL, GROUPS, SETS};
use ephor_library::{Control, Form, controls};
use ephor_value::Value;
use ephor_value::print::json_pretty;

use crate::cli::{CommandError, console};

/// Lists sets and controls
///
/// Each control has a line: its severity, its forms (c for classic, e for CEL, n for native), its
/// name and title.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ephor policies list
  ephor policies list pss-restricted

  # the controls of a section of a standard
  ephor policies list --standard 'CIS 5.2'

  # for a script
  ephor policies list rbac --output-format json | jq -r '.[].name'

Exit codes:
  0  the controls are listed
  2  there is no such set or control")]
pub struct ListArgs {
    /// a set, a group or a control
    #[arg(value_name = "NAME", default_value = ALL)]
    name: String,
    /// only controls of a standard, or of its sections: NSA, CIS 5.2
    #[arg(long, value_name = "TEXT")]
    standard: Option<String>,
    /// form of the output
    #[arg(long, short = 'o', alias = "output", value_name = "FORMAT", default_value = "text")]
    output_format: ListFormat,
}

/// The forms of what is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// Lines for people
    Text,
    /// An array
    Json,
}

/// Runs the command.
///
/// # Errors
/// There is no such set or control.
pub fn run(args: &ListArgs) -> Result<i32, CommandError> {
    let is_of = |control: &Control| match &args.standard {
        Some(wanted) => control.standards.iter().any(|one| one.starts_with(wanted.trim())),
        None => true,
    };
    let found: Vec<&Control> = named(&args.name)?.into_iter().filter(|control| is_of(control)).collect();
    console::print(&match args.output_format {
        ListFormat::Text => text(&found, args.name == ALL && args.standard.is_none()),
        ListFormat::Json => {
            format!("{}\n", json_pretty(&Value::list(found.iter().map(|one| object(one)).collect()), 2))
        }
    });
    Ok(0)
}

fn text(found: &[&Control], with_sets: bool) -> String {
    let mut out = String::new();
    if with_sets {
        for set in SETS {
            let count = controls().iter().filter(|one| set.groups.contains(&one.group)).count();
            out.push_str(&format!("set {}: {} ({})\n", set.name, set.about, counted(count)));
        }
        out.push_str(&format!("set {ALL}: {}; each group below is a set, too\n", counted(controls().len())));
    }
    let width = found.iter().map(|control| control.name.len()).max().unwrap_or_default();
    for group in GROUPS {
        let of_group: Vec<&&Control> = found.iter().filter(|control| control.group == group.name).collect();
        if of_group.is_empty() {
            continue;
        }
        let gap = if out.is_empty() { "" } else { "\n" };
        out.push_str(&format!("{gap}{}: {} ({})\n", group.name, group.title, counted(of_group.len())));
        for control in of_group {
            let Control { severity, name, title, .. } = control;
            out.push_str(&format!("  {severity:6}  {}  {name:width$}  {title}\n", forms(control)));
        }
    }
    out
}

fn counted(count: usize) -> String {
    if count == 1 { "1 control".into() } else { format!("{count} controls") }
}

/// The forms of a control, a letter each.
fn forms(control: &Control) -> String {
    let letters = [(Form::Classic, 'c'), (Form::Cel, 'e'), (Form::Native, 'n')];
    let shown = |(form, letter): (Form, char)| if control.form(form).is_some() { letter } else { '-' };
    letters.into_iter().map(shown).collect()
}

/// A control with its facts.
pub(super) fn object(control: &Control) -> Value {
    let texts = |all: Vec<&str>| Value::list(all.into_iter().map(Value::from).collect());
    Value::map([
        ("name", Value::from(control.name)),
        ("group", Value::from(control.group)),
        ("title", Value::from(control.title.clone())),
        ("category", Value::from(control.category.clone())),
        ("severity", Value::from(control.severity.clone())),
        ("subject", Value::from(control.subject.clone())),
        ("why", Value::from(control.why.clone())),
        ("fix", Value::from(control.fix.clone())),
        ("standards", texts(control.standards.iter().map(String::as_str).collect())),
        ("forms", texts(control.forms.iter().map(|(form, _)| form.name()).collect())),
    ])
}
