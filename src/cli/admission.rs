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
    flag("exception", Takes::List, "files with PolicyExceptions").short('e'),
    flag("definition", Takes::List, "files with CustomResourceDefinitions"),
];

const ABOUT: &str = "Prints the Kubernetes admission policies that are equivalent to policies of Kyverno, with their bindings: of a\nClusterPolicy with one `validate.cel` rule, a ValidatingPolicy or a MutatingPolicy that enables it\n(`validate.cel.generate`, `spec.autogen`). Reports why a policy has none, and the warnings of the API server\nabout the expressions.";

const EXAMPLES: &str = "  # all that can be handed over to the API server\n  ephor admission policies/ > native.yaml\n\n  # with exceptions\n  ephor admission policy.yaml --exception exceptions.yaml\n";

pub(super) const PAGE: super::Page =
    super::Page { name: "admission", arguments: "POLICY...", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Runs the command. The exit code is 1 when no policy has an equivalent.
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
    let (mut found, mut printed_any) = (false, false);
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
                Ok(native) => {
                    print(&place, &native, &definitions);
                    printed_any = true;
                }
                Err(why) => super::warn(&format!("{place}: {why}")),
            }
        }
    }
    if !found {
        return Err("no policy of kind ClusterPolicy, ValidatingPolicy or MutatingPolicy found".into());
    }
    Ok(i32::from(!printed_any))
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

/// Prints both objects, and the warnings of the API server about them.
fn print(place: &str, native: &Native, definitions: &[Value]) {
    for object in [&native.policy, &native.binding] {
        super::print(&format!("---\n{}", yaml::to_string(&object.with_whole_numbers(), Style::Report)));
        let stored = defaulted(object);
        if let Err(refusal) = check(&stored, &mut Judge::new(&stored)) {
            super::warn(&format!(
                "{place}: the API server rejects the equivalent policy: {}",
                refusal.message
            ));
        }
    }
    for warning in warnings(&defaulted(&native.policy), definitions) {
        super::warn(&format!("{place}: {}: {}", warning.field, warning.text.trim_end()));
    }
}
