//! `ephor cluster-check --kubernetes`: what an upgrade of Kubernetes changes for its own policies.
//!
//! In: dumps or a cluster, and the release after the upgrade. Out: for each policy whether it means
//! the same there.

use std::time::Duration;

use ephor_cluster::{Cluster, connect};
use ephor_compare::Options;
use ephor_sources::files::SourceText;
use ephor_value::print::json;
use ephor_value::release::Release;

use super::{ClusterCheckArgs, ClusterCheckFormat, preferred, sources};
use crate::cli::arguments::{Global, given};
use crate::cli::console::warn;
use crate::cli::diff::on_releases::OnReleases;
use crate::cli::{CommandError, arguments, console};

/// The kinds of Kubernetes' own policies and their bindings.
const KINDS: [&str; 4] = [
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
];

/// The longest time for a policy: what is not compared by then counts as tested.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Compares the policies before and after the upgrade, and prints what came of it.
///
/// # Errors
/// The cluster or a file cannot be read; both releases are the same.
pub fn run(args: &ClusterCheckArgs, global: &Global, wanted: [Release; 2]) -> Result<i32, CommandError> {
    let [from, to] = wanted;
    let (texts, from) = match &args.files[..] {
        [] => of_cluster(args, global, wanted)?,
        files => {
            let mut all = Vec::new();
            for path in files {
                all.extend(sources(path)?);
            }
            (all, if from == to { Release::default() } else { from })
        }
    };
    if from == to {
        return Err(CommandError::SameRelease { release: to });
    }
    let found = OnReleases::of(&texts, [from, to], &Options::default(), Some(TIME_LIMIT))?;
    console::print(&match args.output_format {
        ClusterCheckFormat::Text => found.to_text(false),
        ClusterCheckFormat::Markdown => found.to_text(true),
        ClusterCheckFormat::Json => serde_json::to_string_pretty(&found.to_json())? + "\n",
    });
    Ok(i32::from(!found.is_same()))
}

/// The policies of a cluster, and the release of its API server unless another one is named.
fn of_cluster(
    args: &ClusterCheckArgs,
    global: &Global,
    [from, to]: [Release; 2],
) -> Result<(Vec<SourceText>, Release), CommandError> {
    let cluster = connect(&arguments::cluster_choice(given(&args.context), global))
        .map_err(|cause| CommandError::NoClusterToCheck { cause })?;
    let from = if from == to { served(&cluster) } else { from };
    let kinds = cluster.kinds()?;
    let mut texts = Vec::new();
    for kind in KINDS {
        let Some(resource) = preferred(&kinds, "admissionregistration.k8s.io", kind) else { continue };
        texts.extend(cluster.list(resource, "")?.into_iter().map(|object| SourceText {
            name: format!("{kind}/{}", object.text_at(&["metadata", "name"])),
            text: json(&object),
        }));
    }
    Ok((texts, from))
}

/// The release of the API server; the default where it does not say it.
fn served(cluster: &Cluster) -> Release {
    match cluster.release() {
        Ok(choice) if choice.exact => choice.release,
        Ok(choice) => {
            warn(&format!("nothing is recorded of the API server's release; {} applies", choice.release));
            choice.release
        }
        Err(error) => {
            warn(&format!(
                "the API server does not say its version ({}); {} applies",
                error.text,
                Release::default()
            ));
            Release::default()
        }
    }
}
