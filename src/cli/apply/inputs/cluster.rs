//! `--cluster`: objects of a cluster instead of files.
//!
//! In: flags, environment and home folder, and the policies. Out: the objects of the kinds that the
//! policies are about, or, where there is no cluster, the diagnostics of Kyverno, which then
//! continues without resources.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::cli::CommandError;
use crate::cli::apply::arguments::InputArguments;
use crate::cli::arguments;
use crate::cli::arguments::{Global, given};
use ephor_cluster::{self as cluster, Cluster};
use ephor_document::Document;
use ephor_engine::Profile;
use ephor_kubernetes::Resource;
use ephor_policies::load::Policies;
use ephor_policies::subjects;
use ephor_testing::inputs::values::Values;
use ephor_value::{Value, environment};

use crate::cli::apply::log::Log;
use crate::cli::apply::options::ClusterOptions;

/// The address that Kyverno calls when nothing names a cluster.
const DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

/// Nothing answers where Kyverno looks for a cluster that nothing names; in its words.
#[derive(Debug, thiserror::Error)]
#[error("couldn't get current server API group list: Get \"http://localhost:8080/api\": dial tcp {DEFAULT}: {}", dialled(.0))]
struct NoCluster(#[source] std::io::Error);

/// What Go says of a connection that failed.
fn dialled(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::ConnectionRefused => "connect: connection refused".into(),
        _ => error.to_string(),
    }
}

/// The cluster, or that there is none.
///
/// # Errors
/// The configuration that flags name is missing or cannot be used.
fn find_cluster(
    options: &ClusterOptions,
    global: &Global,
) -> Result<Result<Arc<Cluster>, NoCluster>, CommandError> {
    let connected = || {
        let cluster = cluster::connect(&arguments::cluster_choice(given(&options.context), global))?;
        Ok(Ok(Arc::new(cluster)))
    };
    match given(&global.kubeconfig) {
        None => {}
        Some(path) if Path::new(path).exists() => return connected(),
        Some(path) => return Err(CommandError::NoFile { path: path.into() }),
    }
    if configurations().iter().any(|path| path.exists()) || environment::KUBERNETES_SERVICE_HOST.is_set() {
        return connected();
    }
    if let Some(context) = given(&options.context) {
        return Err(CommandError::NoContext { context: context.into() });
    }
    match TcpStream::connect_timeout(&DEFAULT, Duration::from_secs(5)) {
        Ok(_) => Err(CommandError::NoKubeconfig { address: DEFAULT }),
        Err(error) => Ok(Err(NoCluster(error))),
    }
}

/// The objects of the cluster of the arguments, and the cluster, whose namespaces are added to the
/// values; without a cluster the error of names that no file has.
///
/// # Errors
/// The cluster cannot be used, or no object has a name.
pub(super) fn objects(
    a: &InputArguments<'_>,
    policies: &Policies,
    values: &mut Values,
    log: &Log,
) -> Result<(Vec<Document>, Option<Arc<Cluster>>), CommandError> {
    let Some((options, global)) = a.cluster else { return Ok((Vec::new(), None)) };
    match find_cluster(options, global)? {
        Ok(cluster) => {
            let loaded = load(&cluster, a, options, policies, log)?;
            for (name, namespace) in loaded.namespaces {
                values.namespaces.entry(name).or_insert(namespace);
            }
            Ok((loaded.objects, Some(cluster)))
        }
        Err(why) => {
            log.warn(&format!("no cluster: {why}"));
            find(&a.input.resources(), log)?;
            Ok((Vec::new(), None))
        }
    }
}

/// What was found in a cluster.
#[derive(Default)]
struct ClusterObjects {
    objects: Vec<Document>,
    /// The namespaces by name.
    namespaces: HashMap<String, Value>,
}

/// The objects of the kinds that policies match; only those with the names in `-r`, if there are
/// any.
///
/// # Errors
/// The cluster does not answer, or no object has a name.
fn load(
    cluster: &Cluster,
    a: &InputArguments<'_>,
    options: &ClusterOptions,
    policies: &Policies,
    log: &Log,
) -> Result<ClusterObjects, CommandError> {
    let failed = |cause: cluster::Failure| CommandError::ClusterResources { cause };
    let kinds = cluster.kinds().map_err(failed)?;
    let mut wanted: Vec<&Resource> = Vec::new();
    for resource in kinds.all().iter().filter(|r| concerns(policies, r)) {
        // Of the versions of a kind the preferred one, which comes first.
        if !wanted.iter().any(|known| known.group == resource.group && known.kind == resource.kind) {
            wanted.push(resource);
        }
    }
    let namespace = given(&options.namespace).unwrap_or_default();
    if options.cluster_wide_resources {
        wanted.retain(|r| !r.namespaced || !namespace.is_empty());
    }
    let mut found = ClusterObjects::default();
    for resource in wanted {
        let objects = match cluster.list(resource, namespace) {
            Ok(objects) => objects,
            // Some resources cannot be listed.
            Err(e) if matches!(e.code, 404 | 405) => continue,
            Err(e) if options.continue_on_error => {
                log.warn(&format!("{}: {e}", resource.plural));
                continue;
            }
            Err(e) => return Err(failed(e)),
        };
        found.objects.extend(objects.into_iter().map(|o| document(o, a.profile)));
    }
    match kinds.resource("", "v1", "namespaces").map(|r| cluster.list(r, "")) {
        Some(Ok(namespaces)) => {
            let named = |o: Value| (o.text_at(&["metadata", "name"]).to_string(), o);
            found.namespaces.extend(namespaces.into_iter().map(named));
        }
        Some(Err(e)) => log.warn(&format!("namespaces: {e}")),
        None => {}
    }
    let names = a.input.resources();
    if !names.is_empty() {
        let has =
            |name: &&String| found.objects.iter().any(|d| d.value.text_at(&["metadata", "name"]) == **name);
        if let Some(missing) = names.iter().find(|name| !has(name)) {
            return Err(not_found(missing, log));
        }
        found.objects.retain(|d| names.iter().any(|name| d.value.text_at(&["metadata", "name"]) == *name));
    }
    Ok(found)
}

/// An object of a cluster as a document.
fn document(mut object: Value, profile: Profile) -> Document {
    // Who manages which field is of no interest to rules.
    if let Value::Map(m) = &mut object
        && let Some(Value::Map(metadata)) = m.get_mut("metadata")
    {
        metadata.remove("managedFields");
    }
    if profile.float_resources {
        object = object.with_float_numbers();
    }
    Document {
        value: object,
        source: "cluster".into(),
        line: 1,
        text: "".into(),
        item: None,
        is_inside: false,
    }
}

/// Whether a policy is about objects of a resource.
fn concerns(policies: &Policies, resource: &Resource) -> bool {
    let lowered = policies.policies.iter().filter_map(|p| p.policy.as_ref());
    let mut rules = lowered.flat_map(|p| p.all_rules());
    let selects = |matcher| subjects::may_select(matcher, resource);
    rules.any(|rule| subjects::is_about(rule, resource))
        || policies.cleanups.iter().any(|c| selects(&c.when) || c.unless.as_ref().is_some_and(selects))
}

/// Prints that there is no object of a name; returns the error.
fn not_found(name: &str, log: &Log) -> CommandError {
    let line = "-".repeat(70);
    log.notice(&format!("\n{line}\nresource {name} not found in cluster\n{line}\n"));
    CommandError::NotInCluster { name: name.into() }
}

/// The configuration files that are read when no flag names one.
fn configurations() -> Vec<PathBuf> {
    match environment::KUBECONFIG.non_empty() {
        Some(list) => std::env::split_paths(&list).collect(),
        None => std::env::home_dir().map(|home| home.join(".kube/config")).into_iter().collect(),
    }
}

/// Looks up the names in `-r` in the cluster: none exists.
///
/// # Errors
/// Kyverno's text for the first of them; it opens a file of that name first.
fn find(names: &[String], log: &Log) -> Result<(), CommandError> {
    let Some(first) = names.first() else { return Ok(()) };
    if !Path::new(first).exists() {
        return Err(CommandError::NoResourceFile { path: first.into() });
    }
    Err(not_found(first, log))
}
