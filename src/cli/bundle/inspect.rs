//! `ephor bundle inspect`: what a bundle holds, without writing it.

use clap::ValueEnum;
use ephor_policies::load;
use ephor_sources::bundle::{Bundle, BundleFile, BundleReference, access};
use ephor_sources::files::SourceText;
use ephor_value::Value;
use ephor_value::print::json_pretty;

use super::requirements;
use crate::cli::{CommandError, console};

/// Shows what a bundle holds
///
/// Its digest, type and signer, and its files with their policies. Everything is fetched and
/// checked as for a run.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ephor bundle inspect oci://ghcr.io/acme/policies:v1

  # the digest, for a script
  ephor bundle inspect oci://ghcr.io/acme/policies:v1 --output-format json | jq -r .digest

Exit codes:
  0  the bundle can be used
  2  there is no such bundle, or it may not be used")]
pub struct InspectArgs {
    /// oci://REGISTRY/REPOSITORY:TAG, or @sha256:… in the place of the tag
    #[arg(value_name = "REF")]
    reference: String,
    /// form of the output
    #[arg(long, short = 'o', alias = "output", value_name = "FORMAT", default_value = "text")]
    output_format: InspectFormat,
}

/// The forms of what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum InspectFormat {
    /// Lines for people
    Text,
    /// An object
    Json,
}

/// Runs the command.
///
/// # Errors
/// The bundle may not be used.
pub fn run(args: &InspectArgs) -> Result<i32, CommandError> {
    let reference = BundleReference::parse(&args.reference)?.to_string();
    requirements::fetch([&reference])?;
    let bundle = access::fetch(&reference)?;
    console::print(&match args.output_format {
        InspectFormat::Text => text(&bundle),
        InspectFormat::Json => format!("{}\n", json_pretty(&object(&bundle), 2)),
    });
    Ok(0)
}

/// A policy of a file: its kind and name.
struct Held {
    kind: String,
    name: String,
}

fn policies(bundle: &Bundle, file: &BundleFile) -> Vec<Held> {
    let text = String::from_utf8_lossy(&file.bytes).into_owned();
    let read = load::argument(&[SourceText { name: bundle.name_of(file), text }]);
    let held = |policy: &load::LoadedPolicy| Held {
        kind: policy.document.text_at(&["kind"]).to_owned(),
        name: policy.name.clone(),
    };
    read.policies.iter().map(held).collect()
}

fn text(bundle: &Bundle) -> String {
    let signer = bundle.signed_by.as_deref().unwrap_or("not checked (--bundle-key KEY checks it)");
    let mut out = format!(
        "{}\n  digest     {}\n  type       {}\n  signed by  {signer}\n",
        bundle.reference, bundle.digest, bundle.kind
    );
    if let Some(file) = &bundle.pinned_by {
        out.push_str(&format!("  pinned by  {file}\n"));
    }
    for (name, value) in &bundle.annotations {
        out.push_str(&format!("  {name}: {value}\n"));
    }
    let width = bundle.files.iter().map(|file| file.name.len()).max().unwrap_or_default();
    for file in &bundle.files {
        let held = policies(bundle, file);
        let held: Vec<String> = held.iter().map(|one| format!("{} {}", one.kind, one.name)).collect();
        let held = if held.is_empty() { "no policy".into() } else { held.join(", ") };
        out.push_str(&format!("{:width$}  {:>7} bytes  {held}\n", file.name, file.bytes.len()));
    }
    for name in &bundle.left_out {
        out.push_str(&format!("{name}  left out: no policy file\n"));
    }
    out
}

fn object(bundle: &Bundle) -> Value {
    let optional = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    let file = |file: &BundleFile| {
        let held = policies(bundle, file)
            .into_iter()
            .map(|one| Value::map([("kind", Value::from(one.kind)), ("name", Value::from(one.name))]));
        Value::map([
            ("name", Value::from(file.name.clone())),
            ("size", Value::from(i64::try_from(file.bytes.len()).unwrap_or(i64::MAX))),
            ("mediaType", Value::from(file.media_type.clone())),
            ("layer", Value::from(file.layer.clone())),
            ("policies", Value::list(held.collect())),
        ])
    };
    let annotations = bundle.annotations.iter().map(|(k, v)| (k.as_str().into(), Value::from(v.clone())));
    Value::map([
        ("reference", Value::from(bundle.reference.to_string())),
        ("digest", Value::from(bundle.digest.clone())),
        ("type", Value::from(bundle.kind.clone())),
        ("annotations", Value::Map(annotations.collect())),
        ("signedBy", optional(&bundle.signed_by)),
        ("pinnedBy", optional(&bundle.pinned_by)),
        ("files", Value::list(bundle.files.iter().map(file).collect())),
        ("leftOut", Value::list(bundle.left_out.iter().cloned().map(Value::from).collect())),
    ])
}
