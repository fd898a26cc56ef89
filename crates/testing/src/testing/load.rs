//! Loading what a test names.
//!
//! In: a [`Test`]. Out: policies, objects, exceptions and data, ready to be evaluated, and the
//! lines that Kyverno prints on the way. The first file that cannot be used ends the run.
//! Semantics: `docs/reference/test.md`, "Loading".

use std::sync::Arc;

use crate::inputs::exceptions::{self, Exceptions};
use crate::inputs::objects::{self, InputError};
use crate::inputs::requests::Requests;
use crate::inputs::resources::{Choice, Resources};
use crate::inputs::values::Values;
use crate::inputs::{Refused, strict, user};
use ephor_document::{Document, ResourceOptions};
use ephor_engine::Profile;
use ephor_ir::expressions::Proxy;
use ephor_kubernetes::Types;
use ephor_policies::load::{self, Policies};
use ephor_sources::context::Context;
use ephor_sources::files::{self, FileCause};
use ephor_sources::offline::Offline;
use ephor_sources::payload;
use ephor_sources::registry::client::registry;
use ephor_value::Value;
use ephor_value::release::Release;

use super::error::{ClusterError, ResultError, TestError};
use super::file::{Expected, Test};
use super::mocks;
use super::schema::CLUSTER;
use super::world::World;

/// What is printed while a test runs.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// For standard output.
    pub text: String,
    /// For standard error: what Kyverno is silent about.
    pub hints: Vec<String>,
}

impl Log {
    pub(super) fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }
}

/// Everything that a test names.
pub(super) struct Loaded {
    pub policies: Policies,
    pub resources: Vec<Document>,
    pub targets: Vec<Document>,
    pub exceptions: Exceptions,
    pub payloads: Vec<Payload>,
    pub requests: Requests,
    pub world: World,
    /// Why the context file could not be read.
    pub lost: Option<String>,
}

/// Whether deprecated kinds end the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strictness {
    /// Deprecation warnings are errors.
    pub warnings_as_errors: bool,
    /// Image registries may be queried.
    pub registry: bool,
    /// The release of the API server that evaluates Kubernetes' own policies of tests that name
    /// none; `None` = Kyverno's command line does.
    pub kubernetes: Option<Release>,
}

/// Loads a test.
///
/// # Errors
/// Kyverno's text for what cannot be used.
pub(super) fn load(test: &Test, strictness: Strictness, log: &mut Log) -> Result<Loaded, TestError> {
    log.line(&format!("Loading test  ( {} ) ...", test.path));
    log.line("  Loading values/variables ...");
    let mut values = values(test, log)?;
    let user = match &test.user {
        None => None,
        Some((shown, path)) => {
            log.line("  Loading user infos ...");
            let (parts, deprecated) =
                user::read(path).map_err(|r| TestError::UserFile(log_refusal(r, log)))?;
            if deprecated {
                log.text.push_str(&user::deprecated(shown));
                return Err(TestError::DeprecatedUser(shown.to_string()));
            }
            Some(parts)
        }
    };
    log.line("  Loading policies ...");
    let kubernetes = kubernetes(test, log)?.or(strictness.kubernetes);
    let mut policies = policies(test, kubernetes, log)?;
    deprecations(&policies.deprecations, strictness, log)?;
    log.line("  Loading resources ...");
    let Resources { documents: resources, duplicates, .. } =
        objects(&test.resources, "resources", Choice { is_unique: true, ..Choice::default() }, log)?;
    for d in duplicates {
        let text = |path: &[&str]| d.value.text_at(path).to_owned();
        log.line(&format!(
            "  warning: found duplicated resource {} {} {}",
            text(&["kind"]),
            text(&["metadata", "name"]),
            text(&["metadata", "namespace"])
        ));
        log.hints.push(format!("{}:{}: this duplicate is left out", d.source, d.line));
    }
    let targets = objects(&test.targets, "target resources", Choice::default(), log)?.documents;
    let params = objects(&test.params, "parameter resources", Choice::default(), log)?.documents;
    policies.bind(params.iter().map(|d| d.value.clone()).collect());
    let payloads = payloads(test, log)?;
    let (mut context, lost) = context(test, log);
    let mut exist: Vec<Value> =
        [&resources, &targets, &params].into_iter().flatten().map(|d| d.value.clone()).collect();
    let mut types = None;
    if !test.cluster.is_empty() {
        log.line("Loading Kubernetes resources ...");
        let cluster = cluster(test, log)?;
        for ns in cluster.iter().filter(|o| o.text_at(&["kind"]) == "Namespace") {
            let name = ns.text_at(&["metadata", "name"]).to_string();
            values.namespaces.entry(name).or_insert_with(|| ns.clone());
        }
        types = Some(Types::of_release_with(kubernetes.unwrap_or_default(), &cluster));
        context.resources.extend(exist.iter().chain(&cluster).cloned());
        exist.extend(cluster);
        values.subresources.clear();
    }
    log.line("  Loading exceptions ...");
    let mut all = Exceptions::default();
    for path in &test.exceptions {
        let read = exceptions::read(path).map_err(TestError::Exceptions)?;
        deprecations(&read.deprecations, strictness, log)?;
        all.extend(read);
    }
    let registry = registry(strictness.registry);
    let world = World {
        offline: Offline { objects: exist, context: Some(context), types, registry, ..Offline::default() },
        cluster: !test.cluster.is_empty(),
        clone_sources: Vec::new(),
        answers: mocks::answers(&test.api_calls)?,
        globals: mocks::globals(&test.globals, &test.folder)?,
    };
    let requests =
        Requests { values: Arc::new(values), user, profile: Profile::kyverno_cli(), ..Requests::default() };
    Ok(Loaded { policies, resources, targets, exceptions: all, payloads, requests, world, lost })
}

/// The context file, or why there is none. Only policies that could read it care, as in Kyverno.
fn context(test: &Test, log: &mut Log) -> (Context, Option<String>) {
    let Some(path) = &test.context else { return Default::default() };
    let in_yaml = |e: ephor_document::yaml::YamlError| format!("error converting YAML to JSON: {e}");
    let read = crate::inputs::read(path)
        .map_err(|error| error.to_string())
        .and_then(|text| ephor_document::yaml_value_strict(&text).map_err(in_yaml))
        .and_then(|document| Context::of(&document).map_err(|error| error.to_string()));
    match read {
        Ok(context) => (context, None),
        Err(e) => {
            log.hints.push(format!("{}: context: {e}", test.path));
            (Context::default(), Some(e))
        }
    }
}

/// The release that a test names.
fn kubernetes(test: &Test, log: &mut Log) -> Result<Option<Release>, TestError> {
    let Some(version) = &test.kubernetes else { return Ok(None) };
    let choice = Release::choose(version)?;
    if !choice.exact {
        log.hints.push(format!("{}: kubernetes: {}", test.path, choice.instead_of(version)));
    }
    Ok(Some(choice.release))
}

fn log_refusal(refused: Refused, log: &mut Log) -> String {
    log.text.extend(refused.notice);
    log.hints.extend(refused.hint);
    refused.text
}

fn values(test: &Test, log: &mut Log) -> Result<Values, TestError> {
    match (&test.values, &test.variables) {
        (Some(spec), _) => Ok(Values::of(spec)?),
        (None, Some((named, path))) => {
            Values::read(path, named).map_err(|r| TestError::ValuesFile(log_refusal(r, log)))
        }
        (None, None) => Ok(Values::default()),
    }
}

fn policies(test: &Test, kubernetes: Option<Release>, log: &mut Log) -> Result<Policies, TestError> {
    let mut all = Policies::default();
    for argument in &test.policies {
        let loaded = files::policies(std::slice::from_ref(argument));
        for notice in &loaded.notices {
            match notice.cause {
                FileCause::Missing | FileCause::Unreadable => {
                    return Err(TestError::Policies(notice.text.clone()));
                }
                FileCause::NoMatch if !std::path::Path::new(argument).exists() => {
                    log.hints.push(notice.to_string());
                    return Err(TestError::NoPolicies(argument.clone()));
                }
                _ => log.hints.push(notice.to_string()),
            }
        }
        let read = load::argument_as(&loaded.sources, load::Reader::Command, kubernetes);
        if let Some(p) = read.problems.iter().find(|p| p.fatal) {
            log.hints.push(p.to_string());
            return Err(TestError::PolicyFile { file: p.source.to_string(), text: p.text.clone() });
        }
        all.extend(read);
    }
    for p in &all.problems {
        log.line(&format!("  ERROR: {}: {}", p.source, p.text));
        log.hints.push(p.to_string());
    }
    Ok(all)
}

fn deprecations(lines: &[String], strictness: Strictness, log: &mut Log) -> Result<(), TestError> {
    let mut count = 0;
    for line in lines.iter().filter(|l| !l.is_empty()) {
        log.line(&format!("  {line}"));
        count += 1;
    }
    match strictness.warnings_as_errors && count > 0 {
        true => Err(TestError::Deprecations(count)),
        false => Ok(()),
    }
}

fn objects(
    arguments: &[String],
    what: &'static str,
    choice: Choice,
    log: &mut Log,
) -> Result<Resources, TestError> {
    match objects::read(arguments, Profile::kyverno_cli(), what, choice) {
        Ok(mut read) => {
            log.text.extend(read.failed.drain(..));
            log.hints.append(&mut read.warnings);
            Ok(read)
        }
        Err(InputError { text, place }) => {
            log.hints.extend(place);
            Err(TestError::Objects(text))
        }
    }
}

/// A check request that cannot be used; one that cannot be read is named once.
fn unloaded(proxy: &'static str, path: &str, error: &payload::CheckError) -> TestError {
    let cause = match &error.cause {
        unread @ payload::CheckCause::File { .. } => unread.to_string(),
        _ => error.to_string(),
    };
    TestError::CheckRequest { proxy, file: path.to_owned(), text: cause }
}

/// Data with the path it is named by; a proxy's check request, or of any form.
pub(super) type Payload = (String, Option<Proxy>, Value);

fn payloads(test: &Test, log: &mut Log) -> Result<Vec<Payload>, TestError> {
    let mut all = Vec::new();
    if !test.json_payloads.is_empty() {
        log.line("  Loading JSON payloads ...");
    }
    for (shown, path) in &test.json_payloads {
        let failed = |error: payload::PayloadError| match error.cause {
            payload::PayloadCause::NoObject(_) => TestError::NoObject(shown.clone()),
            cause => TestError::Payload { file: shown.clone(), text: cause.to_string() },
        };
        all.push((shown.clone(), None, payload::any_form(path).map_err(failed)?));
    }
    if !test.http_payloads.is_empty() {
        log.line("  Loading HTTP payloads ...");
    }
    for path in &test.http_payloads {
        let request = payload::check_request(path, Proxy::Http).map_err(|e| unloaded("HTTP", path, &e))?;
        all.push((path.clone(), Some(Proxy::Http), request));
    }
    if !test.envoy_payloads.is_empty() {
        log.line("  Loading Envoy payloads ...");
    }
    for path in &test.envoy_payloads {
        let request = payload::check_request(path, Proxy::Envoy).map_err(|e| unloaded("Envoy", path, &e))?;
        all.push((path.clone(), Some(Proxy::Envoy), request));
    }
    Ok(all)
}

/// The objects of a cluster, definitions of custom kinds included.
fn cluster(test: &Test, log: &mut Log) -> Result<Vec<Value>, TestError> {
    let mut all = Vec::new();
    for path in &test.cluster {
        let unread = |error| TestError::Cluster(ClusterError::Read(error));
        let text = crate::inputs::read(path).map_err(unread)?;
        let doc = strict::parse(path, &text, &CLUSTER).map_err(|(cause, hint)| {
            log.hints.extend(hint);
            TestError::Cluster(ClusterError::Document(cause))
        })?;
        let items = |key: &str| doc.at(&["spec", key]).and_then(Value::as_list).unwrap_or_default();
        all.extend(items("resources").iter().map(Value::with_float_numbers));
        for crd in items("crds").iter().filter_map(Value::as_str) {
            let path = super::file::clean(&std::path::Path::new(&test.folder).join(crd));
            let failed = |cause| TestError::Definitions { file: path.clone(), cause };
            let text = crate::inputs::read(&path).map_err(|error| failed(ClusterError::Read(error)))?;
            let read = ephor_document::resources(&path, &text, ResourceOptions { float_numbers: true });
            let read = read.map_err(|e| failed(ClusterError::Document(e.to_string())))?;
            all.extend(read.into_iter().map(|d| d.value));
        }
    }
    Ok(all)
}

/// The operations of expected results, each once; what is wrong with them.
///
/// # Errors
/// Kyverno's text for an operation that results cannot name.
pub(super) fn operations(results: &[Expected]) -> Result<Vec<String>, TestError> {
    let mut all: Vec<String> = Vec::new();
    for r in results.iter().filter(|r| !r.operation.is_empty()) {
        let wrong = |cause| Err(TestError::Result { policy: r.policy.to_string(), cause });
        if !matches!(&*r.operation, "CREATE" | "UPDATE" | "DELETE") {
            return wrong(ResultError::Operation(r.operation.to_string()));
        }
        if r.is_deleting {
            return wrong(ResultError::Deleting);
        }
        if !all.contains(&r.operation) {
            all.push(r.operation.clone());
        }
    }
    Ok(all)
}
