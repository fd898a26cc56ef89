//! Test files: documents with the expected results of policies.
//!
//! In: the text of a file. Out: a [`Test`] for each document, or why it is none. Fields are checked
//! strictly, paths are put together with the folder of the file. Semantics:
//! `docs/reference/test.md`.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::inputs::{line_of, strict};
use ephor_document::locate::Position;
use ephor_document::{self, Duplicates};
use ephor_sources::builtin;
use ephor_sources::files::{self, SourceText};
use ephor_value::Value;
use ephor_value::file_path::normal;
use ephor_value::place::PathPart;

use super::schema::TEST;

/// An expected result: a policy, a rule, objects, and the status of the rule for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// `name` or `namespace/name`.
    pub policy: String,
    /// Name of the rule as written in the policy; empty: all rules.
    pub rule: String,
    /// The status.
    pub result: String,
    /// Objects as `name` or `namespace/name`; `None`: all objects.
    pub resources: Option<Vec<String>>,
    /// Objects as group and version, namespace, name; counts only together with `resources`.
    pub specs: Vec<[String; 3]>,
    /// The operation of the request.
    pub operation: String,
    /// File with the changed objects.
    pub patched: Option<String>,
    /// Files with the new objects; whether they are given as a list.
    pub generated: Vec<String>,
    /// Whether the new objects are given as a list.
    pub generated_list: bool,
    /// File with the object that is copied.
    pub clone_source: Option<String>,
    /// An object that the files do not hold is a failure.
    pub fail_on_missing: bool,
    /// The policy deletes objects.
    pub is_deleting: bool,
    /// The failure action that must be in force; empty: any. Not known to Kyverno.
    pub action: String,
    /// Its position in the file, which a selection does not change.
    pub index: usize,
}

/// A test, with paths as they are read.
#[derive(Clone, Debug)]
pub struct Test {
    /// The file.
    pub path: String,
    /// The line of the file on which the document begins.
    pub line: usize,
    /// The text of the document.
    pub text: Arc<str>,
    /// The folder against which paths are resolved.
    pub folder: String,
    /// It is written in a schema of the past.
    pub deprecated: bool,
    /// Files, folders and bundles of policies.
    pub policies: Vec<String>,
    /// Files of objects.
    pub resources: Vec<String>,
    /// Payloads of any form: as written, and the path.
    pub json_payloads: Vec<(String, String)>,
    /// Check requests of HTTP servers.
    pub http_payloads: Vec<String>,
    /// Check requests of Envoy.
    pub envoy_payloads: Vec<String>,
    /// Objects that rules may change.
    pub targets: Vec<String>,
    /// Parameters of admission policies.
    pub params: Vec<String>,
    /// The values file: as written, and the path.
    pub variables: Option<(String, String)>,
    /// Values in the test itself.
    pub values: Option<Value>,
    /// The user information file.
    pub user: Option<(String, String)>,
    /// Exception files.
    pub exceptions: Vec<String>,
    /// Context data for expressions.
    pub context: Option<String>,
    /// Files with objects of a cluster.
    pub cluster: Vec<String>,
    /// The version of the API server that evaluates Kubernetes' own policies, as written; `None` =
    /// Kyverno's command line does.
    pub kubernetes: Option<String>,
    /// Answers to API calls, as written.
    pub api_calls: Vec<Value>,
    /// Global context entries, as written.
    pub globals: Vec<Value>,
    /// What is expected.
    pub results: Vec<Expected>,
}

impl Test {
    /// All files and folders that it names, and its own.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let lists = [
            &self.policies,
            &self.resources,
            &self.http_payloads,
            &self.envoy_payloads,
            &self.targets,
            &self.params,
            &self.exceptions,
            &self.cluster,
        ];
        let single = self.context.iter().chain(self.user.iter().map(|(_, path)| path));
        let values = self.variables.iter().chain(&self.json_payloads).map(|(_, path)| path);
        let expected =
            self.results.iter().flat_map(|r| r.patched.iter().chain(&r.generated).chain(&r.clone_source));
        let all = lists.into_iter().flatten().chain(single).chain(values).chain(expected);
        all.chain([&self.path]).map(String::as_str)
    }

    /// Where an expected result, or a field of it, stands in the document.
    pub fn place_of(&self, result: usize, field: Option<&str>) -> Option<Position> {
        let index = self.results.get(result)?.index;
        let field = field.map(|field| PathPart::Key(field.into()));
        let path: Vec<PathPart> =
            [PathPart::Key("results".into()), PathPart::Index(index)].into_iter().chain(field).collect();
        ephor_document::locate::locate(&self.text, &path)
    }

    /// The line of the file on which an expected result begins.
    pub fn line_of(&self, result: usize) -> usize {
        self.line + self.place_of(result, None).map_or(0, |p| p.line.saturating_sub(1))
    }
}

/// A document that is no test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faulty {
    /// The file.
    pub path: String,
    /// Kyverno's text.
    pub text: String,
    /// The place, and what to write instead.
    pub hint: Option<String>,
}

/// The tests of a file. In a repository no path leads out of its folder, and absolute ones begin
/// there.
pub fn tests(source: &SourceText, repository: Option<&Path>) -> Vec<Result<Test, Faulty>> {
    let faulty = |text: String, hint| Err(Faulty { path: source.name.clone(), text, hint });
    let documents = match ephor_document::parse_stream(&source.name, &source.text, Duplicates::Error) {
        Ok(documents) => documents,
        Err(e) => return vec![faulty(e.to_string(), Some(format!("{}:{}", e.source, line_of(&e))))],
    };
    let one = |d: Result<ephor_document::Document, ephor_document::LoadError>| match d {
        Err(e) => {
            let text = format!("error converting YAML to JSON: {e}");
            let cause = e.to_string();
            // The line is that of the place.
            let cause = match cause.strip_prefix("yaml: line ").and_then(|rest| rest.split_once(": ")) {
                Some((_, cause)) => cause,
                None => &cause,
            };
            faulty(text, Some(format!("{}:{}: {cause}", e.source, line_of(&e))))
        }
        Ok(d) => match strict::decode(&d.value, &TEST) {
            Ok(value) => {
                Ok(Test { line: d.line, text: d.text.clone(), ..test(&value, &source.name, repository) })
            }
            Err(fault) => {
                let mut hint = fault.hint(&source.name, d.line, &d.text);
                if super::repair::test(&d.value, "", false).is_ok() {
                    let folder =
                        Path::new(&source.name).parent().filter(|folder| !folder.as_os_str().is_empty());
                    let folder = folder.unwrap_or(Path::new(".")).display();
                    hint.push_str(&format!("; `ephor fix test {folder} --save` writes what is read today"));
                }
                faulty(strict::InJson(fault).to_string(), Some(hint))
            }
        },
    };
    documents.into_iter().map(one).collect()
}

/// The [`normal`] path as Kyverno writes it: `.` where nothing is left.
pub fn clean(path: &Path) -> String {
    match normal(path).to_string_lossy() {
        empty if empty.is_empty() => ".".into(),
        path => path.into_owned(),
    }
}

/// A path that cannot leave a folder.
fn within(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    let mut out = PathBuf::new();
    for part in below.components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => {
                out.pop();
            }
            _ => {}
        }
    }
    root.join(out).to_string_lossy().into_owned()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    let items = value.get(key).and_then(Value::as_list).unwrap_or_default();
    items.iter().map(|v| v.as_str().unwrap_or_default().to_owned()).collect()
}

fn list(value: &Value, key: &str) -> Vec<Value> {
    value.get(key).and_then(Value::as_list).map(<[Value]>::to_vec).unwrap_or_default()
}

fn given(value: &Value, key: &str) -> Option<String> {
    Some(value.text_at(&[key])).filter(|s| !s.is_empty()).map(str::to_owned)
}

fn test(value: &Value, path: &str, repository: Option<&Path>) -> Test {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    // Files and folders may be absolute; single files never are.
    let inside = |p: &str| {
        let path = folder.join(p.trim_start_matches('/'));
        repository.map_or_else(|| clean(&path), |root| within(root, &path))
    };
    let full = |p: String| match repository {
        None if Path::new(&p).is_absolute() => p,
        _ => inside(&p),
    };
    // A repository that was cloned names no other sources.
    let is_source = |p: &str| repository.is_none() && (files::is_bundle(p) || builtin::means_library(p));
    let policy = |p: String| if is_source(&p) { p } else { full(p) };
    let paths = |key: &str| texts(value, key).into_iter().map(full).collect::<Vec<_>>();
    let distinct = |key: &str| {
        let mut all = texts(value, key);
        let mut seen = std::collections::HashSet::new();
        all.retain(|p| seen.insert(p.clone()));
        all
    };
    let mut payloads: Vec<String> =
        distinct("jsonPayloads").into_iter().filter(|p| !p.trim().is_empty()).collect();
    if payloads.is_empty() {
        payloads.extend(given(value, "jsonPayload"));
    }
    let payloads = payloads.into_iter().map(|p| (clean(Path::new(p.trim())), p));
    let expected = |(index, r): (usize, &Value)| Expected {
        index,
        policy: r.text_at(&["policy"]).into(),
        rule: r.text_at(&["rule"]).into(),
        result: r.text_at(&["result"]).into(),
        resources: r.get("resources").filter(|v| !v.is_null()).map(|_| texts(r, "resources")),
        specs: list(r, "resourceSpecs").iter().map(spec).collect(),
        operation: r.text_at(&["operation"]).into(),
        patched: given(r, "patchedResources").map(|p| inside(&p)),
        generated: match texts(r, "generatedResources") {
            many if !many.is_empty() => many.iter().map(|p| inside(p)).collect(),
            _ => given(r, "generatedResource").iter().map(|p| inside(p)).collect(),
        },
        generated_list: !texts(r, "generatedResources").is_empty(),
        clone_source: given(r, "cloneSourceResource").map(|p| inside(&p)),
        fail_on_missing: r.get("failOnMissingResources").and_then(Value::as_bool).unwrap_or(false),
        is_deleting: r.get("isDeletingPolicy").and_then(Value::as_bool).unwrap_or(false),
        action: r.text_at(&["failureAction"]).into(),
    };
    Test {
        path: path.into(),
        line: 0,
        text: Arc::from(""),
        folder: folder.to_string_lossy().into_owned(),
        deprecated: value.text_at(&["apiVersion"]).is_empty()
            || value.text_at(&["kind"]).is_empty()
            || !value.text_at(&["name"]).is_empty(),
        policies: distinct("policies").into_iter().map(policy).collect(),
        resources: distinct("resources").into_iter().map(full).collect(),
        json_payloads: payloads.map(|(shown, p)| (shown, full(p))).collect(),
        http_payloads: paths("httpPayloads"),
        envoy_payloads: paths("envoyPayloads"),
        targets: paths("targetResources"),
        params: paths("paramResources"),
        variables: given(value, "variables").map(|p| (p.clone(), inside(&p))),
        values: value.get("values").filter(|v| !v.is_null()).cloned(),
        user: given(value, "userinfo").map(|p| (p.clone(), inside(&p))),
        exceptions: paths("exceptions"),
        context: given(value, "context").map(|p| inside(&p)),
        cluster: paths("clusterResources"),
        kubernetes: given(value, "kubernetes"),
        api_calls: list(value, "apiCallResponses"),
        globals: list(value, "globalContextEntries"),
        results: list(value, "results").iter().enumerate().map(expected).collect(),
    }
}

/// Version, namespace and name of an object as keys of results hold them.
fn spec(value: &Value) -> [String; 3] {
    let version = match value.text_at(&["group"]) {
        "" => value.text_at(&["version"]).to_owned(),
        group => format!("{group}/{}", value.text_at(&["version"])),
    };
    [version, value.text_at(&["namespace"]).into(), value.text_at(&["name"]).into()]
}
