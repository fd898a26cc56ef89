//! `ephor cluster-check`: what an upgrade of Kyverno changes for the policies of a cluster.
//!
//! - `kubernetes`: what an upgrade of Kubernetes changes for its own policies

mod kubernetes;

use std::path::Path;

use clap::{ValueEnum, ValueHint};

use ephor_cluster::{Cluster, connect};
use ephor_document::json::to_serde;
use ephor_document::{Duplicates, parse_stream};
use ephor_inspect::upgrade::{GENERATED_BY, Inventory, Report};
use ephor_kubernetes::{Kinds, Resource};
use ephor_policies::kinds as policy_kinds;
use ephor_sources::files::{self, FileCause, SourceText};
use ephor_value::Value;
use ephor_value::release::Release;

use super::CommandError;
use crate::cli::arguments::{ConsoleFlags, Global, given};
use crate::cli::{arguments, console, releases};

/// Says what an upgrade of Kyverno changes for the policies of a cluster
///
/// Kyverno 1.20 leaves ClusterPolicies, Policies, cleanup policies and exceptions of kyverno.io in
/// the cluster without effect, and 1.21 removes them. The report names them, what each of them does
/// today, whether `ephor serve` takes it and why not, and what is around them: exceptions without
/// their policy, owners of webhook configurations, generated objects, permissions that policies
/// need. It reads a cluster, or dumps of one, and writes nothing.
///
/// With --kubernetes it says instead whether ValidatingAdmissionPolicies and
/// MutatingAdmissionPolicies mean the same after an upgrade of Kubernetes: for each policy that it
/// does, with proof, or the smallest object on which it does not.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # the current cluster
  ephor cluster-check

  # another one, as an object for programs
  ephor cluster-check --context production --output-format json

  # do Kubernetes' own policies mean the same after an upgrade to 1.37?
  ephor cluster-check --kubernetes 1.37
  ephor cluster-check --kubernetes 1.36,1.37 policies/

  # without access to the cluster
  kubectl get cpol,pol,ccleanpol,cleanpol,polex,crd -A -o yaml > dump.yaml
  ephor cluster-check dump.yaml

Exit codes:
  0  nothing stops having effect, and ephor takes every policy; with --kubernetes no difference was found
  1  a policy or exception stops having effect, or ephor does not take it; with --kubernetes a policy means something
     else, or is refused
  2  the cluster or a file cannot be read")]
pub struct ClusterCheckArgs {
    /// dumps of a cluster instead of the cluster itself: files and folders with objects, YAML or
    /// JSON
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath)]
    files: Vec<String>,
    /// context of the kubeconfig file
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// release of Kubernetes after an upgrade, behind the one before it (default that of the API
    /// server, for files 1.36)
    #[arg(long, value_name = "[VERSION,]VERSION", value_parser = releases::parse_pair)]
    kubernetes: Option<[Release; 2]>,
    /// form of the report
    #[arg(long, short = 'o', alias = "output", value_name = "FORMAT", default_value = "text")]
    output_format: ClusterCheckFormat,
    #[command(flatten)]
    console: ConsoleFlags,
}

/// The forms of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClusterCheckFormat {
    /// Sentences and tables
    Text,
    /// One object
    Json,
    /// Sentences and tables, for pull requests
    Markdown,
}

/// Runs the command.
///
/// # Errors
/// The cluster or a file cannot be read.
pub fn run(args: &ClusterCheckArgs, global: &Global) -> Result<i32, CommandError> {
    args.console.apply();
    let unreadable = |cause: CommandError| CommandError::ClusterCheck(Box::new(cause));
    if let Some(wanted) = args.kubernetes {
        return kubernetes::run(args, global, wanted).map_err(unreadable);
    }
    let inventory = match &args.files[..] {
        [] => of_cluster(args, global),
        files => of_files(files),
    };
    let report = Report::of(&inventory.map_err(unreadable)?);
    console::print(&match args.output_format {
        ClusterCheckFormat::Text => report.to_text(),
        ClusterCheckFormat::Markdown => report.to_markdown(),
        ClusterCheckFormat::Json => serde_json::to_string_pretty(&to_serde(&report.to_value()))? + "\n",
    });
    Ok(i32::from(!report.is_good()))
}

fn of_files(files: &[String]) -> Result<Inventory, CommandError> {
    let mut documents = Vec::new();
    for path in files {
        for SourceText { name, text } in sources(path)? {
            for document in parse_stream(&name, &text, Duplicates::Error)? {
                documents.push(document?);
            }
        }
    }
    Ok(Inventory::of_documents(documents))
}

/// The text of a file, or those of the YAML and JSON files of a folder.
///
/// # Errors
/// A file cannot be read, or a folder has none.
fn sources(path: &str) -> Result<Vec<SourceText>, CommandError> {
    if !Path::new(path).is_dir() {
        let text = ephor_testing::inputs::read(path).map_err(CommandError::input)?;
        return Ok(vec![SourceText { name: path.to_string(), text }]);
    }
    let loaded = files::policies_with_json(&[path]);
    match loaded.notices.iter().find(|notice| notice.cause == FileCause::Unreadable) {
        Some(notice) => Err(CommandError::input(notice.to_string())),
        None if loaded.sources.is_empty() => Err(CommandError::NoObject { path: path.to_string() }),
        None => Ok(loaded.sources),
    }
}

/// What is read of a cluster besides policies: group, kind, and a selector of labels.
const AROUND: [(&str, &str, &str); 4] = [
    ("apps", "Deployment", ""),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", ""),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", ""),
    ("apiextensions.k8s.io", "CustomResourceDefinition", ""),
];

fn of_cluster(args: &ClusterCheckArgs, global: &Global) -> Result<Inventory, CommandError> {
    let cluster = connect(&arguments::cluster_choice(given(&args.context), global))
        .map_err(|cause| CommandError::NoClusterToCheck { cause })?;
    let kinds = cluster.kinds()?;
    let mut objects = Vec::new();
    // Without a kind of policies every answer would be wrong, so it is an error.
    for resource in policy_kinds::all().filter_map(|(group, kind)| preferred(&kinds, group, kind)) {
        objects.extend(cluster.list(resource, "")?);
    }
    let mut unread = Vec::new();
    for (group, kind, labels) in AROUND {
        let Some(resource) = preferred(&kinds, group, kind) else { continue };
        read(&cluster, resource, labels, &mut objects, &mut unread);
    }
    let generated: Vec<&Resource> = Report::generated(&objects, &kinds);
    for resource in generated {
        read(&cluster, resource, GENERATED_BY, &mut objects, &mut unread);
    }
    Ok(Inventory::of_cluster(objects, kinds, unread))
}

/// The resource of a kind in the version that discovery names first.
fn preferred<'k>(kinds: &'k Kinds, group: &str, kind: &str) -> Option<&'k Resource> {
    kinds.named(kind).find(|resource| &*resource.group == group)
}

fn read(
    cluster: &Cluster,
    resource: &Resource,
    labels: &str,
    objects: &mut Vec<Value>,
    unread: &mut Vec<String>,
) {
    match cluster.select(resource, "", labels) {
        Ok(found) => objects.extend(found),
        Err(error) => unread.push(format!("{}: {error}", resource.plural)),
    }
}
