//! `ephor policies show`: why a control is wanted, what it refuses, and its texts.

use clap::ValueEnum;
use ephor_library::{Control, LibraryError, control, reference::named};
use ephor_value::print::json_pretty;

use super::FormName;
use super::list::object;
use crate::cli::{CommandError, console};

/// Shows one control
///
/// Its facts and the policy. Its tests are those of `ephor policies export --tests`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ephor policies show disallow-host-path

  # the policy alone, as Kubernetes' own kind
  ephor policies show disallow-host-path --form native --output-format yaml

Exit codes:
  0  the control is shown
  2  there is no such control, or it has no such form")]
pub struct ShowArgs {
    /// name of a control
    #[arg(value_name = "CONTROL")]
    name: String,
    /// language of the policy
    #[arg(long, value_name = "FORM", default_value = "cel")]
    form: FormName,
    /// form of the output
    #[arg(long, short = 'o', alias = "output", value_name = "FORMAT", default_value = "text")]
    output_format: ShowFormat,
}

/// The forms of what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShowFormat {
    /// The facts, then the policy
    Text,
    /// The policy alone
    Yaml,
    /// The facts as an object
    Json,
}

/// Runs the command.
///
/// # Errors
/// There is no such control, or it has no such form.
pub fn run(args: &ShowArgs) -> Result<i32, CommandError> {
    let Some(control) = control(&args.name) else {
        // Of a set the list says more; of an unknown name the error says what was meant.
        named(&args.name)?;
        return Err(LibraryError::SetInsteadOfControl { name: args.name.clone() }.into());
    };
    if args.output_format == ShowFormat::Json {
        console::print(&format!("{}\n", json_pretty(&object(control), 2)));
        return Ok(0);
    }
    let form = args.form.into();
    let file = control.form(form).ok_or_else(|| LibraryError::NoSuchForm {
        control: control.name.into(),
        form: form.name(),
        forms: control.forms.iter().map(|(form, _)| form.name()).collect::<Vec<_>>().join(", "),
    })?;
    if args.output_format == ShowFormat::Text {
        console::print(&facts(control));
    }
    console::print(file.text);
    Ok(0)
}

/// The facts of a control, as comments of the policy behind them, so that the whole is YAML.
fn facts(control: &Control) -> String {
    let forms: Vec<&str> = control.forms.iter().map(|(form, _)| form.name()).collect();
    let rows = [
        ("group", control.group.to_owned()),
        ("severity", control.severity.clone()),
        ("about", control.subject.clone()),
        ("standards", control.standards.join(", ")),
        ("forms", forms.join(", ")),
        ("why", control.why.clone()),
        ("fix", control.fix.clone()),
    ];
    let mut out = format!("# {}: {}\n", control.name, control.title);
    for (name, text) in rows.into_iter().filter(|(_, text)| !text.is_empty()) {
        for (at, line) in wrapped(&text).into_iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            out.push_str(&format!("#   {name:9}  {line}\n"));
        }
    }
    out
}

/// A text in lines of at most 80 characters, cut between words.
fn wrapped(text: &str) -> Vec<String> {
    const WIDTH: usize = 80;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}
