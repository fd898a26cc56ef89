//! `ephor crds`: the CustomResourceDefinitions of the kinds that ephor reads and writes.

use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::{ValueEnum, ValueHint};

use ephor_api::schema::definitions::{GROUPS, definitions, own_definitions};
use ephor_api::schema::json_schema::json_schemas;
use ephor_document::json::to_serde;
use ephor_document::write::{self as yaml, Style};
use ephor_value::Value;

use super::CommandError;
use super::outputs::Outputs;
use crate::cli::arguments::given;
use crate::cli::console;

/// Prints the CustomResourceDefinitions of policies, exceptions and reports
///
/// They are those of Kyverno 1.19.1: the same names, versions, schemas and columns. A cluster that
/// has definitions of these names needs none of them. With --own-group they are those of ephor.dev
/// and policies.ephor.dev: the same kinds in groups that no webhook of Kyverno is about.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # all of them, written to a cluster
  ephor crds | kubectl apply --server-side -f -

  # those of one group
  ephor crds wgpolicyk8s.io

  # those of our own groups, for a cluster in which Kyverno denies changes to its own
  ephor crds --own-group | kubectl apply --server-side -f -

  # a file for each, as the Helm chart has them
  ephor crds --directory crds/")]
pub struct CrdsArgs {
    /// groups whose definitions are printed (default all)
    #[arg(value_name = "GROUP", value_parser = PossibleValuesParser::new(GROUPS))]
    groups: Vec<String>,
    /// definitions of ephor.dev and policies.ephor.dev
    #[arg(long, conflicts_with = "groups")]
    own_group: bool,
    /// output format
    #[arg(
        long,
        short = 'o',
        alias = "output",
        value_name = "FORMAT",
        default_value = "yaml",
        conflicts_with = "directory"
    )]
    output_format: CrdsFormat,
    /// folder for a YAML file of each definition, instead of output
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    directory: Option<String>,
    /// folder for JSON schemas of these definitions alone; `ephor schema` writes those of all files
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, hide = true, conflicts_with_all = ["output_format", "directory"])]
    json_schema: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CrdsFormat {
    Yaml,
    Json,
}

/// Runs the command.
///
/// # Errors
/// A folder that cannot be written.
pub fn run(args: &CrdsArgs) -> Result<i32, CommandError> {
    let is_chosen = |group: &str| args.groups.is_empty() || args.groups.iter().any(|g| g == group);
    let chosen = |object: &Value| is_chosen(object.text_at(&["spec", "group"]));
    let all: Vec<Value> = match args.own_group {
        true => own_definitions(),
        false => definitions().into_iter().filter(chosen).collect(),
    };
    if let Some(directory) = given(&args.json_schema) {
        let mut files = Outputs::default();
        for (file, schema) in json_schemas(&all) {
            let text = serde_json::to_string_pretty(&to_serde(&schema))? + "\n";
            files.add(&Path::new(directory).join(&file), &file, text)?;
        }
        files.write()?;
        return Ok(0);
    }
    if let Some(directory) = given(&args.directory) {
        let mut files = Outputs::default();
        for object in &all {
            let name = object.text_at(&["metadata", "name"]);
            let path = Path::new(directory).join(format!("{name}.yaml"));
            files.add(&path, name, yaml::to_string(object, Style::Report))?;
        }
        files.write()?;
        return Ok(0);
    }
    match args.output_format {
        CrdsFormat::Yaml => {
            for object in &all {
                console::print(&format!("---\n{}", yaml::to_string(object, Style::Report)));
            }
        }
        CrdsFormat::Json => {
            let list = Value::map([
                ("apiVersion", "v1".into()),
                ("kind", "List".into()),
                ("items", Value::list(all)),
            ]);
            let text = serde_json::to_string_pretty(&to_serde(&list))?;
            console::print(&format!("{text}\n"));
        }
    }
    Ok(0)
}
