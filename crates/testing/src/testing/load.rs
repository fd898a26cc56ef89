//! Loading what a test names.
//!
//! In: a [`Test`]. Out: policies, objects, exceptions and data, ready to be evaluated, and the lines
//! that Kyverno prints on the way. The first file that cannot be used ends the run. Semantics:
//! `docs/test.md`, "Loading".

use std::sync::Arc;

use crate::document::{Document, ResourceOptions};
use crate::engine::Profile;
use crate::inputs::exceptions::{self, Exceptions};
use crate::inputs::requests::Requests;
use crate::inputs::values::Values;
use crate::inputs::{Refused, resources, strict, user};
use crate::ir::expressions::Proxy;
use crate::kubernetes::Types;
use crate::load::{self, Policies};
use crate::sources::context::Context;
use crate::sources::files::{self, Cause};
use crate::sources::offline::Offline;
use crate::sources::payload;
use crate::sources::registry::client::registry;
use crate::value::Value;

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
}

/// Loads a test.
///
/// # Errors
/// Kyverno's text for what cannot be used.
pub(super) fn load(test: &Test, strictness: Strictness, log: &mut Log) -> Result<Loaded, String> {
    log.line(&format!("Loading test  ( {} ) ...", test.path));
    log.line("  Loading values/variables ...");
    let mut values = values(test, log)?;
    let user = match &test.user {
        None => None,
        Some((shown, path)) => {
            log.line("  Loading user infos ...");
            let (parts, deprecated) =
                user::read(path).map_err(|r| format!("error: {}", log_refusal(r, log)))?;
            if deprecated {
                log.text.push_str(&user::deprecated(shown));
                return Err(format!(
                    "userInfo file {shown} uses a deprecated schema — please migrate to the latest format"
                ));
            }
            Some(parts)
        }
    };
    log.line("  Loading policies ...");
    let mut policies = policies(test, log)?;
    deprecations(&policies.deprecations, strictness, log)?;
    log.line("  Loading resources ...");
    let profile = Profile::kyverno_cli();
    let resources = objects(&test.resources, "resources", profile, log)?;
    let (resources, duplicates) = resources::without_duplicates(resources);
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
    let targets = objects(&test.targets, "target resources", profile, log)?;
    let params = objects(&test.params, "parameter resources", profile, log)?;
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
        types = Some(Types::with(&cluster));
        context.resources.extend(exist.iter().chain(&cluster).cloned());
        exist.extend(cluster);
        values.subresources.clear();
    }
    log.line("  Loading exceptions ...");
    let mut all = Exceptions::default();
    for path in &test.exceptions {
        let read = exceptions::read(path).map_err(|e| format!("error: {e}"))?;
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
    let requests = Requests { values: Arc::new(values), user, profile, details: false, operation: None };
    Ok(Loaded { policies, resources, targets, exceptions: all, payloads, requests, world, lost })
}

/// The context file, or why there is none. Only policies that could read it care, as in Kyverno.
fn context(test: &Test, log: &mut Log) -> (Context, Option<String>) {
    let Some(path) = &test.context else { return Default::default() };
    let in_yaml = |e| format!("error converting YAML to JSON: {e}");
    let read = crate::inputs::read(path)
        .and_then(|text| crate::document::yaml_value_strict(&text).map_err(in_yaml))
        .and_then(|document| Context::of(&document));
    match read {
        Ok(context) => (context, None),
        Err(e) => {
            log.hints.push(format!("{}: context: {e}", test.path));
            (Context::default(), Some(e))
        }
    }
}

fn log_refusal(refused: Refused, log: &mut Log) -> String {
    log.text.extend(refused.notice);
    log.hints.extend(refused.hint);
    refused.text
}

fn values(test: &Test, log: &mut Log) -> Result<Values, String> {
    match (&test.values, &test.variables) {
        (Some(spec), _) => Values::of(spec),
        (None, Some((named, path))) => Values::read(path, named).map_err(|r| log_refusal(r, log)),
        (None, None) => Ok(Values::default()),
    }
}

fn policies(test: &Test, log: &mut Log) -> Result<Policies, String> {
    let failed = |cause: String| format!("error: failed to load policies ({cause})");
    let mut all = Policies::default();
    for argument in &test.policies {
        let loaded = files::policies(std::slice::from_ref(argument));
        for notice in &loaded.notices {
            match notice.cause {
                Cause::Missing | Cause::Unreadable => return Err(failed(notice.text.clone())),
                Cause::NoMatch if !std::path::Path::new(argument).exists() => {
                    log.hints.push(notice.to_string());
                    return Err(failed(format!("stat {argument}: no such file or directory")));
                }
                _ => log.hints.push(notice.to_string()),
            }
        }
        let read = load::argument(&loaded.sources);
        if let Some(p) = read.problems.iter().find(|p| p.fatal) {
            log.hints.push(p.to_string());
            return Err(failed(format!("failed to load file {}: {}", p.source, p.text)));
        }
        all.extend(read);
    }
    for p in &all.problems {
        log.line(&format!("  ERROR: {}: {}", p.source, p.text));
        log.hints.push(p.to_string());
    }
    Ok(all)
}

fn deprecations(lines: &[String], strictness: Strictness, log: &mut Log) -> Result<(), String> {
    let mut count = 0;
    for line in lines.iter().filter(|l| !l.is_empty()) {
        log.line(&format!("  {line}"));
        count += 1;
    }
    match strictness.warnings_as_errors && count > 0 {
        true => Err(format!("found {count} deprecation warning(s) and --warnings-as-errors is set")),
        false => Ok(()),
    }
}

fn objects(
    arguments: &[String],
    what: &str,
    profile: Profile,
    log: &mut Log,
) -> Result<Vec<Document>, String> {
    match resources::read(arguments, profile, what) {
        Ok(read) => {
            log.text.extend(read.failed);
            log.hints.extend(read.warnings);
            Ok(read.documents)
        }
        Err((text, place)) => {
            log.hints.extend(place);
            Err(format!("error: {text}"))
        }
    }
}

/// The text for a check request that cannot be used; one that cannot be read is named once.
fn unloaded(what: &str, path: &str, cause: &str) -> String {
    let cause = match cause.find("failed to read ") {
        Some(at) => cause.get(at..).unwrap_or(cause),
        None => cause,
    };
    format!("error: failed to load {what} payloads from path {path} ({cause})")
}

/// Data with the path it is named by; a proxy's check request, or of any form.
pub(super) type Payload = (String, Option<Proxy>, Value);

fn payloads(test: &Test, log: &mut Log) -> Result<Vec<Payload>, String> {
    let mut all = Vec::new();
    if !test.json_payloads.is_empty() {
        log.line("  Loading JSON payloads ...");
    }
    for (shown, path) in &test.json_payloads {
        let failed = |e: String| {
            let cause = e.strip_prefix("failed to load JSON payload (").and_then(|e| e.strip_suffix(')'));
            if cause.is_some_and(|c| c.starts_with(payload::NO_OBJECT)) {
                return format!("error: JSON payload {shown} must be a top-level object (map)");
            }
            format!("error: failed to load JSON payload {shown} ({})", cause.unwrap_or(&e))
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
fn cluster(test: &Test, log: &mut Log) -> Result<Vec<Value>, String> {
    let failed = |cause: String| format!("error: failed to load Kubernetes resources: {cause}");
    let mut all = Vec::new();
    for path in &test.cluster {
        let text = crate::inputs::read(path).map_err(failed)?;
        let doc = strict::parse(path, &text, &CLUSTER).map_err(|(cause, hint)| {
            log.hints.extend(hint);
            failed(cause)
        })?;
        let items = |key: &str| doc.at(&["spec", key]).and_then(Value::as_list).unwrap_or_default();
        all.extend(items("resources").iter().map(Value::with_float_numbers));
        for crd in items("crds").iter().filter_map(Value::as_str) {
            let path = super::file::clean(&std::path::Path::new(&test.folder).join(crd));
            let failed = |cause: String| format!("error: failed to load CRDs from path {path}: {cause}");
            let text = crate::inputs::read(&path).map_err(failed)?;
            let read = crate::document::resources(&path, &text, ResourceOptions { float_numbers: true });
            all.extend(read.map_err(|e| failed(e.message))?.into_iter().map(|d| d.value));
        }
    }
    Ok(all)
}

/// The operations of expected results, each once; what is wrong with them.
///
/// # Errors
/// Kyverno's text for an operation that results cannot name.
pub(super) fn operations(results: &[Expected]) -> Result<Vec<String>, String> {
    let mut all: Vec<String> = Vec::new();
    for r in results.iter().filter(|r| !r.operation.is_empty()) {
        let wrong = |text: String| Err(format!("invalid test result for policy {}: {text}", r.policy));
        if !matches!(&*r.operation, "CREATE" | "UPDATE" | "DELETE") {
            return wrong(format!(
                "invalid operation \"{}\", must be one of CREATE, UPDATE, DELETE",
                r.operation
            ));
        }
        if r.is_deleting {
            return wrong("operation is not supported for deleting policies".into());
        }
        if !all.contains(&r.operation) {
            all.push(r.operation.clone());
        }
    }
    Ok(all)
}
