//! `--cluster`: objects of a cluster instead of files.
//!
//! In: flags, environment and home folder, and the policies. Out: the objects of the kinds that the
//! policies are about ([`ClusterObjects`], which reads them page by page), or, where there is no
//! cluster, the diagnostics of Kyverno, which then continues without resources.

use std::collections::VecDeque;
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
use ephor_recording::Recording;
use ephor_sources::http;
use ephor_testing::inputs::resources::Resources;
use ephor_testing::inputs::values::Values;
use ephor_value::{Value, environment, parallel};

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
    // A recording answers in its place, on any machine.
    if matches!(http::client().settings().recording, Some(Recording::Replays(_))) {
        return connected();
    }
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

/// The objects of the cluster of the arguments, which are not read yet, and the cluster, whose
/// namespaces are added to the values; without a cluster the error of names that no file has.
///
/// # Errors
/// The cluster cannot be used.
pub(super) fn objects(
    a: &InputArguments<'_>,
    policies: &Policies,
    values: &mut Values,
    log: &Log,
) -> Result<Option<ClusterObjects>, CommandError> {
    let Some((options, global)) = a.cluster else { return Ok(None) };
    match find_cluster(options, global)? {
        Ok(cluster) => {
            let kinds = kinds(&cluster, options, policies)?;
            for (name, namespace) in namespaces(&cluster, log)? {
                values.namespaces.entry(name).or_insert(namespace);
            }
            let namespace = given(&options.namespace).unwrap_or_default().to_string();
            let continues = options.continue_on_error;
            let (names, profile) = (a.input.resources(), a.profile);
            Ok(Some(ClusterObjects { cluster, kinds, namespace, token: None, continues, names, profile }))
        }
        Err(why) => {
            log.warn(&format!("no cluster: {why}"));
            find(&a.input.resources(), log)?;
            Ok(None)
        }
    }
}

/// The objects of a cluster, page by page.
pub(in crate::cli::apply) struct ClusterObjects {
    /// The cluster.
    pub cluster: Arc<Cluster>,
    /// The kinds whose objects are not all read.
    kinds: VecDeque<Resource>,
    namespace: String,
    /// Where the next page of the first kind begins.
    token: Option<String>,
    /// Whether kinds that cannot be read are left out.
    continues: bool,
    /// The names of the objects that are meant; empty = all.
    names: Vec<String>,
    profile: Profile,
}

/// How many objects a block has at least for each thread, unless it is the last one.
const BLOCK: usize = 500;

impl ClusterObjects {
    /// Whether everything was read.
    pub fn is_at_end(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The next block.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub fn block(&mut self) -> Result<Resources, cluster::Failure> {
        let mut block = Resources::default();
        let wanted = BLOCK * parallel::threads();
        while block.documents.len() < wanted {
            let Some(kind) = self.kinds.front() else { break };
            let token = self.token.as_deref().unwrap_or_default();
            match self.cluster.page(kind, &self.namespace, token) {
                Ok(page) => {
                    let is_meant = |object: &Value| {
                        let name = object.text_at(&["metadata", "name"]);
                        self.names.is_empty() || self.names.iter().any(|meant| name == meant)
                    };
                    let meant = page.items.into_iter().filter(is_meant);
                    block.documents.extend(meant.map(|object| document(object, self.profile)));
                    self.token = page.next;
                }
                Err(e) => {
                    // Some resources cannot be listed.
                    if !matches!(e.code, 404 | 405) {
                        if !self.continues {
                            return Err(e);
                        }
                        block.warnings.push(format!("{}: {e}", kind.plural));
                    }
                    self.token = None;
                }
            }
            if self.token.is_none() {
                self.kinds.pop_front();
            }
        }
        Ok(block)
    }

    /// Whether objects are meant by their names, which all have to be there.
    pub fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// Everything that is left, in memory.
    ///
    /// # Errors
    /// The cluster does not answer, or an object that is meant is not there.
    pub fn rest(mut self, log: &Log) -> Result<Vec<Document>, CommandError> {
        let mut all = Vec::new();
        while !self.is_at_end() {
            let block = self.block().map_err(failed)?;
            block.warnings.iter().for_each(|text| log.warn(text));
            all.extend(block.documents);
        }
        let has = |name: &&String| all.iter().any(|d| d.value.text_at(&["metadata", "name"]) == **name);
        match self.names.iter().find(|name| !has(name)) {
            Some(missing) => Err(not_found(missing, log)),
            None => Ok(all),
        }
    }
}

/// An error of the cluster that ends the run.
pub(super) fn failed(cause: cluster::Failure) -> CommandError {
    CommandError::ClusterResources { cause }
}

/// The kinds that policies are about.
fn kinds(
    cluster: &Cluster,
    options: &ClusterOptions,
    policies: &Policies,
) -> Result<VecDeque<Resource>, CommandError> {
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
    Ok(wanted.into_iter().cloned().collect())
}

/// The namespaces of a cluster by name.
fn namespaces(cluster: &Cluster, log: &Log) -> Result<Vec<(String, Value)>, CommandError> {
    let kinds = cluster.kinds().map_err(failed)?;
    let namespaces = match kinds.resource("", "v1", "namespaces").map(|r| cluster.list(r, "")) {
        Some(Ok(namespaces)) => namespaces,
        Some(Err(e)) => {
            log.warn(&format!("namespaces: {e}"));
            Vec::new()
        }
        None => Vec::new(),
    };
    Ok(namespaces.into_iter().map(|o| (o.text_at(&["metadata", "name"]).to_string(), o)).collect())
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
