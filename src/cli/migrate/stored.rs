//! `kyverno migrate`: objects of custom resources in the version in which they are stored.
//!
//! In: names of CustomResourceDefinitions. Out: each object read and written, so that the API
//! server stores it in the version of today, and the status of the definition, which names that
//! version alone then. Lines and errors are those of Kyverno 1.19.1.

use ephor_cluster::{Cluster, Failure, connect, path_of};
use ephor_kubernetes::Resource;
use ephor_value::{Map, Str, Value};

use crate::cli::CommandError;
use crate::cli::arguments;
use crate::cli::arguments::{Global, cluster_choice};
use crate::cli::console::print;
use crate::cli::migrate::stored_error::StoredVersionError;

/// Where definitions are.
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Who writes, for the API server.
const MANAGER: &str = "kyverno";

/// The command with the flags and texts that it has as one of Kyverno's.
pub fn with_flags_of_kyverno(command: clap::Command) -> clap::Command {
    let own = ["resource", "context", "help"];
    command
        .about("Migrate one or more resources to the stored version")
        .long_about("Migrate one or more resources to the stored version")
        .after_help(
            "Examples:\n  # Migrate policy exceptions\n  kyverno migrate --resource policyexceptions.kyverno.io",
        )
        .mut_args(move |arg| match own.contains(&arg.get_id().as_str()) {
            true => arg.hide(false),
            false => arg.hide(true).required(false),
        })
        .mut_arg("resource", |arg| arg.required(true))
}

/// Migrates the objects of definitions.
///
/// # Errors
/// A name is blank, or the cluster does not answer or refuses.
pub fn run(names: &[String], context: Option<&str>, global: &Global) -> Result<i32, CommandError> {
    if names.iter().any(|name| name.trim().is_empty()) {
        return Err(StoredVersionError::Blank.into());
    }
    if let Some(path) =
        arguments::given(&global.kubeconfig).filter(|path| !std::path::Path::new(path).exists())
    {
        return Err(CommandError::NoFile { path: path.into() });
    }
    let cluster = connect(&cluster_choice(context, global))?;
    for name in names {
        migrate(&cluster, name)?;
    }
    Ok(0)
}

fn migrate(cluster: &Cluster, name: &str) -> Result<(), CommandError> {
    print(&format!("migrating resource: {name} ...\n"));
    let definition = cluster.get(&format!("{DEFINITIONS}/{name}"))?;
    let versions = definition.at(&["spec", "versions"]).and_then(Value::as_list).unwrap_or_default();
    let is_stored = |version: &&Value| version.get("storage").and_then(Value::as_bool) == Some(true);
    let Some(version) = versions.iter().find(is_stored).map(|version| version.text_at(&["name"]).to_string())
    else {
        return Err(StoredVersionError::NoVersion.into());
    };
    print(&format!("stored version: {version}\n"));
    let stored = definition.at(&["status", "storedVersions"]).and_then(Value::as_list).unwrap_or_default();
    if stored.len() == 1 && stored.first().and_then(Value::as_str) == Some(&*version) {
        print("stored version is already up to date, nothing to do\n");
        return Ok(());
    }
    print("migrating resources...\n");
    let resource = resource(&definition, &version);
    for object in cluster.list(&resource, "")? {
        let (namespace, name) =
            (object.text_at(&["metadata", "namespace"]), object.text_at(&["metadata", "name"]));
        match put(cluster, &path_of(&resource, namespace, name), &object) {
            // It is gone, or another client has written it in between, in this version.
            Err(failure) if failure.is_not_found() || failure.is_conflict() => {}
            done => drop(done?),
        }
    }
    print("patching status...\n");
    let mut status = definition.get("status").and_then(Value::as_map).cloned().unwrap_or_default();
    status.insert("storedVersions", Value::list(vec![Value::from(version.as_str())]));
    let mut object: Map = definition.as_map().cloned().unwrap_or_default();
    object.insert("status", Value::Map(status));
    put(cluster, &format!("{DEFINITIONS}/{name}/status"), &Value::Map(object))?;
    Ok(())
}

fn put(cluster: &Cluster, path: &str, object: &Value) -> Result<Value, Failure> {
    cluster.request("PUT", &format!("{path}?fieldManager={MANAGER}"), "application/json", Some(object))
}

/// The resource that a definition has in a version.
fn resource(definition: &Value, version: &str) -> Resource {
    let text = |path: &[&str]| Str::from(definition.text_at(path));
    Resource {
        group: text(&["spec", "group"]),
        version: version.into(),
        kind: text(&["spec", "names", "kind"]),
        plural: text(&["spec", "names", "plural"]),
        namespaced: &*text(&["spec", "scope"]) == "Namespaced",
        subresources: Box::default(),
    }
}
