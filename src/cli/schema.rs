//! `ephor schema`: JSON schemas of policies and of the files that go with them.

use std::path::Path;

use clap::ValueHint;

use ephor_api::schema::definitions::{definitions, own_definitions};
use ephor_api::schema::json_schema::{ALL, KindSchema, files, of_definitions};
use ephor_api::schema::native_schema;
use ephor_compare::accepted_schema;
use ephor_document::json::to_serde;
use ephor_kubernetes::Types;
use ephor_testing::json_schema;
use ephor_value::Value;
use ephor_value::release::Release;
use ephor_value::suggest::did_you_mean;

use super::CommandError;
use super::config;
use super::outputs::Outputs;
use ephor_sources::bundle::lock;

use crate::cli::arguments::given;
use crate::cli::{console, releases};

/// Writes JSON schemas of policies, tests and values, for editors and validators
///
/// A schema for each version of each kind, `GROUP/KIND_VERSION.json`: policies and exceptions of
/// Kyverno, of Kubernetes and of our own groups, reports, and the files of tests. They know no
/// other fields, so that a misspelt field is an error while it is typed; `all.json` selects among
/// them by apiVersion and kind, and leaves objects of other kinds alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # all of them; above each document of a file: # yaml-language-server: $schema=schemas/all.json
  ephor schema --out schemas/

  # that of a kind
  ephor schema ClusterPolicy

  # as kubeconform reads them
  ephor schema --out schemas/
  kubeconform -schema-location 'schemas/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json' policies/")]
pub struct SchemaArgs {
    /// kind, or apiVersion/Kind, whose schema is printed; the newest version
    #[arg(value_name = "KIND", required_unless_present = "out", conflicts_with = "out")]
    kind: Option<String>,
    /// folder for the files
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<String>,
    /// release of Kubernetes whose own policies are meant
    #[arg(long, value_name = "VERSION", default_value = releases::DEFAULT, value_parser = releases::parse)]
    kubernetes: Release,
}

/// The file of the schema of `ephor-diff.yaml`.
const ACCEPTED: &str = "ephor-diff.json";

/// The file of the schema of `ephor.yaml`.
const CONFIG: &str = "ephor-config.json";

/// The file of the schema of `ephor.lock`.
const LOCK: &str = "ephor-lock.json";

/// Runs the command.
///
/// # Errors
/// No such kind, or a folder that cannot be written.
pub fn run(args: &SchemaArgs) -> Result<i32, CommandError> {
    let all = schemas(args.kubernetes);
    let Some(folder) = given(&args.out) else {
        let wanted = given(&args.kind).unwrap_or_default();
        let is_it =
            |one: &&KindSchema| wanted == one.kind || wanted == format!("{}/{}", one.api_version, one.kind);
        let Some(found) = all.iter().rfind(is_it) else {
            let kinds: Vec<&str> = all.iter().map(|one| &*one.kind).collect();
            let meant = did_you_mean(wanted, &kinds).map(String::from);
            return Err(CommandError::NoSchema { kind: wanted.into(), meant });
        };
        console::print(&text(&found.schema)?);
        return Ok(0);
    };
    let of_files = [(ACCEPTED, accepted_schema()), (CONFIG, config::file::schema()), (LOCK, lock::schema())];
    let of_files = of_files.map(|(file, schema)| (file.to_string(), schema));
    let mut outputs = Outputs::default();
    let mut count = 0;
    for (file, schema) in files(&all).into_iter().chain(of_files) {
        outputs.add(&Path::new(folder).join(&file), &file, text(&schema)?)?;
        count += 1;
    }
    outputs.write()?;
    let all = Path::new(folder).join(ALL);
    console::print(&format!(
        "{count} schemas in {folder}\nabove each document: # yaml-language-server: $schema={}\n",
        all.display()
    ));
    Ok(0)
}

/// The schemas of all kinds; of a kind the newest version last.
fn schemas(kubernetes: Release) -> Vec<KindSchema> {
    let mut all = of_definitions(&definitions());
    all.extend(of_definitions(&own_definitions()));
    let natives = native_schema::of_group("admissionregistration.k8s.io", Types::of_release(kubernetes));
    // `v1` is newer than `v1beta1`, which sorts behind it.
    let (stable, early): (Vec<_>, Vec<_>) =
        natives.into_iter().partition(|one| one.api_version.ends_with("/v1"));
    all.extend(early.into_iter().chain(stable));
    let of_file = |(kind, schema): (&str, Value)| KindSchema {
        api_version: json_schema::API_VERSION.into(),
        kind: kind.into(),
        schema,
    };
    all.extend(json_schema::of_files().into_iter().map(of_file));
    all
}

fn text(schema: &Value) -> Result<String, CommandError> {
    Ok(serde_json::to_string_pretty(&to_serde(schema))? + "\n")
}
