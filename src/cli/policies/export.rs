//! `ephor policies export`: controls as files, or as one stream.

use std::path::Path;

use clap::ValueHint;
use ephor_library::reference::named;
use ephor_library::{Form, LibraryFile};

use super::FormName;
use crate::cli::outputs::Outputs;
use crate::cli::{CommandError, console};

/// Writes controls as files, or as one stream
///
/// Policies only report, unless --enforce is given. A control that has no policy in the form has it
/// in the nearest one; --only-form leaves it out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # files to adapt, with their tests
  ephor policies export pss-restricted best-practices --out policies/ --tests

  # Kubernetes' own policies, in a cluster without any webhook
  ephor policies export pss-baseline --form native --only-form | kubectl apply -f -

  # the same, when the reports are empty
  ephor policies export pss-baseline --form native --only-form --enforce | kubectl apply -f -

Exit codes:
  0  the policies are written
  2  there is no such set or control, or a file cannot be written")]
pub struct ExportArgs {
    /// sets, groups and controls
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// language of the policies
    #[arg(long, value_name = "FORM", default_value = "cel")]
    form: FormName,
    /// no policy in another form
    #[arg(long)]
    only_form: bool,
    /// policies that deny instead of those that report
    #[arg(long)]
    enforce: bool,
    /// folder for the files, GROUP/NAME/FILE each (default: one stream on standard output)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<String>,
    /// all forms and the tests as well, as `ephor test` reads them
    #[arg(long, requires = "out", conflicts_with_all = ["only_form", "enforce"])]
    tests: bool,
    /// replace files that have another content
    #[arg(long, requires = "out")]
    force: bool,
}

/// Runs the command.
///
/// # Errors
/// There is no such set or control, or a file cannot be written.
pub fn run(args: &ExportArgs) -> Result<i32, CommandError> {
    let mut controls = Vec::new();
    for name in &args.names {
        for control in named(name)? {
            // A control may be in several of the sets.
            if !controls.iter().any(|other: &&ephor_library::Control| other.name == control.name) {
                controls.push(control);
            }
        }
    }
    let form: Form = args.form.into();
    let mut files: Vec<LibraryFile> = Vec::new();
    for control in controls {
        match (args.tests, args.only_form) {
            (true, _) => {
                files.extend(control.forms.iter().map(|(_, file)| *file));
                files.extend(&control.tests);
            }
            (false, true) => files.extend(control.form(form)),
            (false, false) => files.extend(control.nearest(form)),
        }
    }
    let text = |file: &LibraryFile| if args.enforce { enforced(file.text) } else { file.text.to_owned() };
    let Some(out) = &args.out else {
        let texts: Vec<String> = files.iter().map(text).collect();
        console::print(&texts.join("---\n"));
        return Ok(0);
    };
    let mut outputs = Outputs::default();
    for file in &files {
        outputs.add(&Path::new(out).join(file.path), file.path, text(file))?;
    }
    if let Some(path) = outputs.replaced(&[]).first().filter(|_| !args.force) {
        return Err(CommandError::WouldReplace { path: path.display().to_string() });
    }
    outputs.write()?;
    let count = if files.len() == 1 { "1 file".into() } else { format!("{} files", files.len()) };
    console::error(&format!("wrote {count} below {out}\n"));
    Ok(0)
}

/// A policy that denies. The library writes what it does with a violation in one way, which a test
/// of each file checks.
fn enforced(text: &str) -> String {
    text.replace("failureAction: Audit\n", "failureAction: Enforce\n")
        .replace("validationActions: [Audit]\n", "validationActions: [Deny]\n")
}
