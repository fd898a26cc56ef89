//! `ephor admission`: Kyverno's policies as policies of Kubernetes.

use std::time::{SystemTime, UNIX_EPOCH};

use ephor_admission::native::{self, Known, Native};
use ephor_api::admission::{check, defaulted};
use ephor_document as document;
use ephor_document::Duplicates;
use ephor_document::write::{self as yaml, Style};
use ephor_kubernetes::Kinds;
use ephor_lower::admission::{Judge, warnings};
use ephor_policies::load;
use ephor_sources::files;
use ephor_value::Value;
use ephor_value::time::Time;

use super::flags::{self, Flag, Takes, flag};

const FLAGS: &[Flag] = &[
    flag("exception", Takes::List, "files with exceptions from the policies").short('e'),
    flag("definition", Takes::List, "files with definitions of custom resources"),
];

const ABOUT: &str = "Prints the policies of Kubernetes that say the same as policies of Kyverno, with their bindings: of a\nClusterPolicy with one `validate.cel` rule, a ValidatingPolicy or a MutatingPolicy that asks for it\n(`validate.cel.generate`, `spec.autogen`). Says why where there is none, and what the API server would\nsay of the expressions.";

const EXAMPLES: &str = "  # all that can be handed over to the API server\n  ephor admission policies/ > native.yaml\n\n  # with exceptions\n  ephor admission policy.yaml --exception exceptions.yaml\n";

pub(super) const PAGE: super::Page =
    super::Page { name: "admission", arguments: "POLICY...", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Runs the command. The exit code is 1 when nothing could be made of any policy.
///
/// # Errors
/// Bad flags, no policy, files that cannot be read.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if parsed.on("help") {
        super::print(&super::command_help("admission", PAGE.arguments, ABOUT, FLAGS, EXAMPLES));
        return Ok(0);
    }
    if parsed.arguments.is_empty() {
        return Err(
            "requires at least one policy: a file, a folder, an address, or - for standard input".into()
        );
    }
    let exceptions = documents(parsed.list("exception"))?;
    let definitions = documents(parsed.list("definition"))?;
    let kinds = Kinds::with(&definitions);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let now = Time::from_unix(i64::try_from(now).unwrap_or(i64::MAX));
    let known = Known { exceptions: &exceptions, kinds: &kinds, now };
    let loaded = files::policies(&parsed.arguments);
    let (mut found, mut made_any) = (false, false);
    for source in &loaded.sources {
        let read = load::argument(std::slice::from_ref(source));
        for problem in &read.problems {
            super::warn(&problem.to_string());
        }
        for policy in read.policies.iter().filter(|p| native::is_candidate(&p.document)) {
            found = true;
            let place = format!("{}:{}: policy `{}`", policy.source, policy.line, policy.name);
            if let Some(why) = &policy.refused {
                super::warn(&format!("{place} is refused: {why}"));
            }
            match native::native(&policy.document, &known) {
                Ok(made) => {
                    print(&place, &made, &definitions);
                    made_any = true;
                }
                Err(why) => super::warn(&format!("{place}: {why}")),
            }
        }
    }
    if !found {
        return Err("no policy of kind ClusterPolicy, ValidatingPolicy or MutatingPolicy found".into());
    }
    Ok(i32::from(!made_any))
}

pub(super) fn documents(paths: &[String]) -> Result<Vec<Value>, String> {
    let mut all = Vec::new();
    for path in paths {
        let text = ephor_testing::inputs::read(path)?;
        for document in document::parse_stream(path, &text, Duplicates::Error).map_err(|e| e.to_string())? {
            all.push(document.map_err(|e| e.to_string())?.value);
        }
    }
    Ok(all)
}

/// Prints both objects, and tells what the API server would say of them.
fn print(place: &str, made: &Native, definitions: &[Value]) {
    for object in [&made.policy, &made.binding] {
        super::print(&format!("---\n{}", yaml::to_string(&object.with_whole_numbers(), Style::Report)));
        let stored = defaulted(object);
        if let Err(refusal) = check(&stored, &mut Judge::new(&stored)) {
            super::warn(&format!("{place}: the API server refuses what it becomes: {}", refusal.message));
        }
    }
    for warning in warnings(&defaulted(&made.policy), definitions) {
        super::warn(&format!("{place}: {}: {}", warning.field, warning.text.trim_end()));
    }
}
