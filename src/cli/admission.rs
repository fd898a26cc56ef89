//! `ephor admission`: Kyverno's policies as policies of Kubernetes.

use std::time::{SystemTime, UNIX_EPOCH};

use ephor_admission::native::{self, Known, Native};
use ephor_api::admission::{check, defaulted};
use ephor_document::write::{self as yaml, Style};
use ephor_kubernetes::Kinds;
use ephor_lower::admission::{Judge, warnings};
use ephor_policies::load;
use ephor_sources::files;
use ephor_value::Value;
use ephor_value::release::Release;
use ephor_value::time::Time;

use super::flags::{Record, fields};
use super::{CommandError, releases};
use crate::cli::arguments::some_policies;
use crate::cli::policy_files::documents;
use crate::cli::{console, policy_files};

/// Prints Kubernetes admission policies that are equivalent to Kyverno's
///
/// The equivalent of a ClusterPolicy with one `validate.cel` rule, a ValidatingPolicy or a
/// MutatingPolicy that enables it (`validate.cel.generate`, `spec.autogen`), with its binding.
/// Reports why a policy has none, and the warnings of the API server about the expressions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # all that can be handed over to the API server
  ephor admission policies/ > native.yaml

  # with exceptions
  ephor admission policy.yaml --exception exceptions.yaml

Exit codes:
  0  a policy has an equivalent
  1  none has, or there is no policy that could
  2  the command line, or an input, cannot be used")]
pub struct AdmissionArgs {
    /// files, folders, addresses, bundles (oci://…) or sets of the library (builtin://…) with
    /// policies, - for standard input
    #[arg(value_name = "POLICY", value_hint = clap::ValueHint::AnyPath)]
    policies: Vec<String>,
    /// files with PolicyExceptions
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    exception: Vec<Record>,
    /// files with CustomResourceDefinitions
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    definition: Vec<Record>,
    /// release of the API server that shall take the policies
    #[arg(long, value_name = "VERSION", default_value = releases::DEFAULT, value_parser = releases::parse)]
    kubernetes: Release,
}

/// Runs the command.
///
/// # Errors
/// No policy, files that cannot be read.
pub fn run(args: &AdmissionArgs) -> Result<i32, CommandError> {
    let arguments = some_policies(&args.policies)?;
    arguments.iter().try_for_each(|argument| policy_files::exists(argument))?;
    let exceptions = documents(&fields(&args.exception))?;
    let definitions = documents(&fields(&args.definition))?;
    let kinds = Kinds::of_release_with(args.kubernetes, &definitions);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let now = Time::from_unix(i64::try_from(now).unwrap_or(i64::MAX));
    let known = Known { exceptions: &exceptions, kinds: &kinds, now, keeps_variants: true };
    let loaded = files::policies(arguments);
    let (mut found, mut printed_any) = (false, false);
    for source in &loaded.sources {
        let read = load::argument(std::slice::from_ref(source));
        for problem in &read.problems {
            console::warn(&problem.to_string());
        }
        for policy in read.policies.iter().filter(|p| native::is_candidate(&p.document)) {
            found = true;
            let place = format!("{}:{}: policy `{}`", policy.source, policy.line, policy.name);
            if let Some(why) = &policy.refused {
                console::warn(&format!("{place} is refused: {why}"));
            }
            match native::native(&policy.document, &known) {
                Ok(native) => {
                    print(&place, &native, &definitions, args.kubernetes);
                    printed_any = true;
                }
                Err(why) => {
                    let why = why.to_string();
                    console::warn(&format!("{place}: {why}"));
                    if let Some(field) = to_write(&policy.document, &why) {
                        console::error(&format!("help: write `{field}`\n"));
                    }
                }
            }
        }
    }
    if !found {
        return Err(CommandError::NoCandidate);
    }
    Ok(i32::from(!printed_any))
}

/// The field with which a policy gets an equivalent that it lacks for this reason.
fn to_write(policy: &Value, why: &str) -> Option<&'static str> {
    let mutates = policy.text_at(&["kind"]).contains("Mutating");
    match why {
        _ if why.ends_with("pod controllers autogen is enabled.") => {
            Some("spec.autogen.podControllers.controllers: []")
        }
        _ if !why.ends_with(": not enabled.") => None,
        _ if mutates => Some("spec.autogen.mutatingAdmissionPolicy.enabled: true"),
        _ => Some("spec.autogen.validatingAdmissionPolicy.enabled: true"),
    }
}

/// Prints both objects, and the warnings of the API server about them.
fn print(place: &str, native: &Native, definitions: &[Value], release: Release) {
    for object in [&native.policy, &native.binding] {
        console::print(&format!("---\n{}", yaml::to_string(&object.with_whole_numbers(), Style::Report)));
        let stored = defaulted(object);
        if let Err(refusal) = check(&stored, &mut Judge::new(&stored, release)) {
            console::warn(&format!(
                "{place}: the API server rejects the equivalent policy: {}",
                refusal.message
            ));
        }
    }
    for warning in warnings(&defaulted(&native.policy), definitions, release) {
        console::warn(&format!("{place}: {}: {}", warning.field, warning.text.trim_end()));
    }
}
