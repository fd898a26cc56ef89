//! `--out`: a folder for each difference, with the object and a test for each side.
//!
//! In: the answers, and the documents of both sides. Out: `NAME-1/object.yaml`,
//! `NAME-1/old/policy.yaml`, `NAME-1/old/kyverno-test.yaml`, and the same for `new`. The tests
//! expect what the policies of their side say today, so that `ephor test` and `kyverno test` pass
//! on them. Two differences of one folder are an error before anything is written.

use std::fmt::Write;
use std::path::Path;

use ephor_compare::{Difference, RequestContext};
use ephor_document::write::{Style, to_string};
use ephor_inspect::compared::answered::{Answered, Compared, PairOutcome, Shown};
use ephor_value::{Str, Value};

use crate::cli::CommandError;
use crate::cli::console::warn;
use crate::cli::create::from_run;
use crate::cli::outputs::Outputs;

use super::sides::Loaded;

/// The file with who sends the request.
const USER_FILE: &str = "user-info.yaml";

/// The file with the operation and the labels of the namespace.
const VALUES_FILE: &str = "values.yaml";

/// The file with the objects of a cluster.
const CLUSTER_FILE: &str = "cluster.yaml";

/// Fields of a policy that loads a ConfigMap, which only tests with the objects of a cluster do:
/// there it is missing, as in a cluster.
const CONFIG_MAPS: [&str; 2] = ["context:", "configMap:"];

/// Fields that a policy has when who makes a request counts.
const USERS: [&str; 4] = ["userInfo", "subjects", "clusterRoles", "serviceAccountName"];

/// Fields that a policy has when the namespace counts.
const NAMESPACES: [&str; 2] = ["namespaceObject", "namespaceSelector"];

/// Writes a folder for each difference, and notes the files of the objects.
///
/// # Errors
/// A file cannot be written.
pub fn write(folder: &str, loaded: [&Loaded; 2], found: &mut [Answered]) -> Result<(), CommandError> {
    let failed = |cause| CommandError::Write { path: folder.into(), cause };
    let mut outputs = Outputs::staged(Path::new(folder))?;
    let mut folders = Vec::new();
    for answered in found.iter_mut() {
        let PairOutcome::Compared(compared) = &mut answered.found else { continue };
        let mut differences = std::mem::take(&mut compared.differences);
        for (at, shown) in differences.iter_mut().enumerate() {
            let name = format!("{}-{}", file_name(&answered.name), at + 1);
            let own = Path::new(folder).join(&name);
            of_difference(&own, &answered.name, loaded, compared, shown, &mut outputs)?;
            let shown_folder = folder.trim_end_matches('/');
            let has = |file: &str| outputs.contains(&own.join(file));
            let shown_file = |file: &str| has(file).then(|| format!("{shown_folder}/{name}/{file}"));
            shown.user_file = shown_file(USER_FILE);
            shown.values_file = shown_file(VALUES_FILE);
            shown.file = shown_file("object.yaml");
            shown.tests = shown_file(CLUSTER_FILE).map(|_| format!("{shown_folder}/{name}"));
            folders.push(own);
        }
        compared.differences = differences;
    }
    // What an earlier run wrote says nothing of this one.
    for folder in folders.iter().filter(|folder| folder.exists()) {
        std::fs::remove_dir_all(folder).map_err(failed)?;
    }
    outputs.write()
}

/// Whether who sends the request, the operation, the namespace or the objects of a cluster count,
/// which commands read from files.
pub(super) fn needs_files(compared: &Compared, difference: &Difference) -> bool {
    reads_user(compared, difference)
        || values(difference, reads(compared, &NAMESPACES)).is_some()
        || reads_cluster(compared)
}

/// Whether a policy of a side has one of some fields.
fn reads(compared: &Compared, fields: &[&str]) -> bool {
    let mut texts = compared.policies.iter().flatten().map(|policy| &policy.text);
    texts.any(|text| fields.iter().any(|field| text.contains(field)))
}

fn reads_user(compared: &Compared, difference: &Difference) -> bool {
    !difference.around.is_usual() || reads(compared, &USERS)
}

fn reads_cluster(compared: &Compared) -> bool {
    let mut policies = compared.policies.iter().flatten();
    policies.any(|policy| CONFIG_MAPS.iter().all(|field| policy.text.contains(field)))
}

fn of_difference(
    folder: &Path,
    name: &str,
    loaded: [&Loaded; 2],
    compared: &Compared,
    shown: &Shown,
    outputs: &mut Outputs,
) -> Result<(), CommandError> {
    let difference = &shown.difference;
    outputs.add(&folder.join("object.yaml"), name, to_string(&difference.object, Style::Block))?;
    if let Some(old) = &difference.old_object {
        outputs.add(&folder.join("object-before-update.yaml"), name, to_string(old, Style::Block))?;
    }
    let reads_user = reads_user(compared, difference);
    if reads_user {
        outputs.add(&folder.join(USER_FILE), name, user(&difference.around))?;
    }
    let values = values(difference, reads(compared, &NAMESPACES));
    if let Some(values) = &values {
        outputs.add(&folder.join(VALUES_FILE), name, values.as_str())?;
    }
    let reads_cluster = reads_cluster(compared);
    if reads_cluster {
        outputs.add(&folder.join(CLUSTER_FILE), name, cluster(difference))?;
    }
    let sides = ["old", "new"].into_iter().zip(loaded).zip(&compared.policies);
    for ((side, loaded), policies) in sides {
        let own = folder.join(side);
        let texts = policies.iter().map(|policy| &*policy.text);
        let texts: Vec<&str> = texts.chain(loaded.bindings.iter().map(String::as_str)).collect();
        let written = texts.iter().map(|text| with_line_end(text)).collect::<Vec<_>>().join("---\n");
        outputs.add(&own.join("policy.yaml"), name, written)?;
        let mut test = format!(
            "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata:\n  name: {}-{side}\npolicies:\n  - policy.yaml\nresources:\n  - ../object.yaml\n",
            folder.file_name().unwrap_or_default().to_string_lossy()
        );
        if !loaded.exceptions.is_empty() {
            let exceptions: Vec<String> = loaded.exceptions.iter().map(|text| with_line_end(text)).collect();
            outputs.add(&own.join("exceptions.yaml"), name, exceptions.join("---\n"))?;
            test.push_str("exceptions:\n  - exceptions.yaml\n");
        }
        if values.is_some() {
            let _ = writeln!(test, "variables: ../{VALUES_FILE}");
        }
        if reads_cluster {
            let _ = writeln!(test, "clusterResources:\n  - ../{CLUSTER_FILE}");
        }
        if reads_user {
            let _ = writeln!(test, "userinfo: ../{USER_FILE}");
        }
        if !shown.is_replayable() {
            continue;
        }
        let path = own.join("kyverno-test.yaml");
        let readable = outputs.readable(&path);
        match from_run::results(&test, &readable.to_string_lossy(), &|_| false) {
            Ok(results) if results.text.is_empty() => {}
            Ok(results) => {
                outputs.add(&path, name, format!("{test}results:\n{}", results.text))?;
                for (file, text) in results.files {
                    outputs.add(&own.join(file), name, text)?;
                }
            }
            Err(cause) => warn(&format!("no test of the {side} side: {cause}")),
        }
    }
    Ok(())
}

/// The values with which commands evaluate another operation than creations, or know the namespace.
fn values(difference: &Difference, reads_namespace: bool) -> Option<String> {
    let operation = difference.environment.operation;
    let [labels, _] = &difference.around.namespace;
    let mut fields = named("Values", "values");
    let usual = fields.len();
    if operation != "CREATE" {
        fields.push(("globalValues", Value::map([("request.operation", Value::from(operation))])));
    }
    if difference.environment.resource.namespaced && (reads_namespace || !labels.is_empty()) {
        let namespace = namespace(difference);
        let mut labels = labels.clone();
        labels.insert("kubernetes.io/metadata.name", Value::from(namespace));
        let one = [("name", Value::from(namespace)), ("labels", Value::Map(labels))];
        fields.push(("namespaceSelector", Value::list(vec![Value::map(one)])));
    }
    (fields.len() > usual).then(|| document(fields))
}

/// A cluster that has the namespace of the object, and nothing else.
fn cluster(difference: &Difference) -> String {
    let name = namespace(difference);
    let own = Value::map([
        ("apiVersion", Value::from("v1")),
        ("kind", Value::from("Namespace")),
        ("metadata", Value::map([("name", Value::from(name))])),
    ]);
    let mut fields = named("ClusterResource", "cluster");
    fields.push(("spec", Value::map([("resources", Value::list(vec![own]))])));
    document(fields)
}

/// The namespace of the object.
fn namespace(difference: &Difference) -> &str {
    match difference.object.text_at(&["metadata", "namespace"]) {
        "" => "default",
        own => own,
    }
}

/// Who sends the request.
fn user(around: &RequestContext) -> String {
    let list = |texts: &[String]| Value::list(texts.iter().map(|text| Value::from(&**text)).collect());
    let mut fields = named("UserInfo", "user-info");
    fields.push(("userInfo", around.user.info.clone()));
    for (field, roles) in [("roles", &around.user.roles), ("clusterRoles", &around.user.cluster_roles)] {
        if !roles.is_empty() {
            fields.push((field, list(roles)));
        }
    }
    document(fields)
}

/// The first fields of a file for the commands of Kyverno.
fn named(kind: &str, name: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("apiVersion", Value::from("cli.kyverno.io/v1alpha1")),
        ("kind", Value::from(kind)),
        ("metadata", Value::map([("name", Value::from(name))])),
    ]
}

fn document(fields: Vec<(&str, Value)>) -> String {
    let fields = fields.into_iter().map(|(key, value)| (Str::from(key), value));
    to_string(&Value::Map(fields.collect()), Style::Block)
}

fn with_line_end(text: &str) -> String {
    let text = text.trim_start_matches("---\n").trim_end();
    format!("{text}\n")
}

/// The name of a pair as that of a file.
fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    plain.trim_start_matches('.').to_string()
}
