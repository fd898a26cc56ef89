//! `ephor lint`: checks of policies before they run.

use ephor_inspect::findings::{Finding, Severity, findings};
use ephor_policies::load::{self, Policies, Reader};
use ephor_sources::files;

use super::flags::{self, Flag, Takes, flag};

const FLAGS: &[Flag] = &[
    flag("definition", Takes::List, "files with CustomResourceDefinitions"),
    flag("warnings-as-errors", Takes::Switch, "exit code 1 for warnings, too"),
];

const ABOUT: &str = "Checks policies: schemas, the policy check, what an API server refuses of its own policies and bindings, expressions with their types, rules that can never match.\nEach finding comes with file, line and column. The exit code is 1 when there is an error.";

const EXAMPLES: &str = "  # check the policies of a folder\n  ephor lint policies/\n\n  # check types by definitions of custom resources too\n  ephor lint policy.yaml --definition crds.yaml\n";

pub(super) const PAGE: super::Page =
    super::Page { name: "lint", arguments: "POLICY...", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Runs the command.
///
/// # Errors
/// Bad flags, no policy, files that cannot be read.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if parsed.on("help") {
        super::print(&super::command_help("lint", PAGE.arguments, ABOUT, FLAGS, EXAMPLES));
        return Ok(0);
    }
    if parsed.arguments.is_empty() {
        return Err(
            "requires at least one policy: a file, a folder, an address, or - for standard input".into()
        );
    }
    let definitions = super::admission::documents(parsed.list("definition"))?;
    let mut all = Policies::default();
    for argument in &parsed.arguments {
        if let Some(text) = super::explain::missing(argument) {
            return Err(text);
        }
        let loaded = files::policies(std::slice::from_ref(argument));
        for notice in &loaded.notices {
            super::warn(&format!("{}: {}", notice.place, notice.text));
        }
        for source in &loaded.sources {
            all.extend(load::argument_for(std::slice::from_ref(source), Reader::Server));
        }
    }
    if all.is_empty() && all.problems.is_empty() {
        return Err(format!("no policy found in {}", parsed.arguments.join(", ")));
    }
    let found = findings(&all, &definitions);
    super::print(&found.iter().map(ToString::to_string).collect::<String>());
    let count = |severity: Severity| found.iter().filter(|f: &&Finding| f.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    super::print(&format!(
        "{} policies, {errors} error(s), {warnings} warning(s)\n",
        all.policies.len() + all.cleanups.len()
    ));
    Ok(i32::from(errors > 0 || (warnings > 0 && parsed.on("warnings-as-errors"))))
}
