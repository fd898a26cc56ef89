//! `ephor apply`: policies against resource files.
//!
//! Flags, order of work, texts and exit codes are the reference's (`docs/cli.md`); what the reference
//! is silent about goes to standard error, one line each.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::sync::Arc;

use crate::document::Document;
use crate::engine::request::{Parts, UserParts};
use crate::engine::{Profile, Request, Status};
use crate::ir::Exception;
use crate::load::Policies;
use crate::policy_set::{Engine, Outcome, PolicySet};
use crate::report::policy_report::{self, PolicyFacts, Summary};
use crate::report::{formats, table};
use crate::scan::scan;
use crate::sources::offline::Offline;
use crate::value::{Str, Value};

use super::changes::{self, Changes, Destination};
use super::exceptions;
use super::flags::{self, Flag, Parsed, Takes, flag};
use super::gather::{
    deprecations, is_global, load_exceptions, load_policies, load_resources, without_duplicates,
};
use super::inputs::{self, Values};
use super::results::{self, Output, Record, Rendered, Style};
use super::warn;

const FLAGS: &[Flag] = &[
    flag("resource", Takes::List, "path to resource files, - for standard input").short('r'),
    flag("resources", Takes::List, "").alias("resource"),
    flag("target-resource", Takes::List, "path to individual files containing target resources"),
    flag("target-resources", Takes::List, "").alias("target-resource"),
    flag("parameter-resource", Takes::List, "path to files with parameters of admission policies"),
    flag("json", Takes::List, "path to JSON payload files"),
    flag("http-payload", Takes::List, "path to HTTP check requests"),
    flag("envoy-payload", Takes::List, "path to Envoy check requests"),
    flag("cluster", Takes::Switch, "check resources of the current cluster").short('c'),
    flag("context", Takes::Text, "name of the kubeconfig context"),
    flag("namespace", Takes::Text, "namespace with --cluster").short('n'),
    flag("cluster-wide-resources", Takes::Switch, "only cluster-scoped objects with --cluster"),
    flag("concurrent", Takes::Number, "number of parallel workers with --cluster").default("1"),
    flag("batch-size", Takes::Number, "size of a batch with --cluster").default("100"),
    flag("continue-on-error", Takes::Switch, "go on when loading a kind fails").default("true"),
    flag("show-performance", Takes::Switch, "show how long loading takes"),
    flag("output", Takes::Text, "file or directory for mutated and generated resources").short('o'),
    flag("set", Takes::List, "variables as name=value").short('s'),
    flag("values-file", Takes::Text, "file with values for variables").short('f'),
    flag("userinfo", Takes::Text, "file with the user of the request").short('u'),
    flag("context-file", Takes::Text, "file with context data for CEL policies"),
    flag("exception", Takes::List, "path to policy exceptions").short('e'),
    flag("exceptions", Takes::List, "").alias("exception"),
    flag("exceptions-with-resources", Takes::Switch, "take exceptions from the resources"),
    flag("exceptions-within-resources", Takes::Switch, "").alias("exceptions-with-resources"),
    flag("exceptions-within-policies", Takes::Switch, "also take exceptions from the policies"),
    flag("generate-exceptions", Takes::Switch, "print exceptions for failures"),
    flag("generated-exception-ttl", Takes::Duration, "time to live of generated exceptions")
        .default("720h0m0s"),
    flag("policy-report", Takes::Switch, "print policy reports").short('p'),
    flag("output-format", Takes::Text, "format of reports: yaml, json, sarif, junit, markdown, github")
        .default("yaml"),
    flag("table", Takes::Switch, "print results as a table").short('t'),
    flag("detailed-results", Takes::Switch, "add messages to the table"),
    flag("remove-color", Takes::Switch, "no colours"),
    flag("stdin", Takes::Switch, "no headers, so that mutated resources can be piped").short('i'),
    flag("audit-warn", Takes::Switch, "failures of audit policies count as warnings"),
    flag("warn-exit-code", Takes::Number, "exit code when there are warnings and no failures").default("0"),
    flag("warn-no-pass", Takes::Switch, "use that exit code when nothing passed"),
    flag("warnings-as-errors", Takes::Switch, "deprecation warnings are fatal"),
    flag("continue-on-fail", Takes::Switch, "go on when a resource cannot be processed"),
    flag("registry", Takes::Switch, "allow registry access"),
    flag("git-branch", Takes::Text, "branch of a git policy source").short('b'),
    flag("username", Takes::Text, "user of a git policy source"),
    flag("password", Takes::Text, "password of a git policy source"),
    flag("crd-paths", Takes::List, "path to custom resource definitions"),
    flag("crd-path", Takes::List, "").alias("crd-paths"),
    flag("as-cluster", Takes::Switch, "answer as a cluster would (profile `cluster`)"),
    flag("threads", Takes::Number, "number of threads; the output is the same for any").default("0"),
];

const ABOUT: &str = "Applies policies on resources and prints what they say.";
const EXAMPLES: &str = "  # check manifests against a folder of policies\n  ephor apply policies/ -r deployment.yaml\n\n  # the same as a policy report\n  ephor apply policies/ -r deployment.yaml --policy-report\n";

/// Runs the command; the result is the exit code.
///
/// # Errors
/// The reference's text for whatever ends the run before anything is evaluated.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if parsed.on("help") {
        super::print(&super::command_help("apply", "<policy source>...", ABOUT, FLAGS, EXAMPLES));
        return Ok(0);
    }
    if parsed.number("threads") > 0 {
        let threads = usize::try_from(parsed.number("threads")).unwrap_or(1).min(256);
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    check_arguments(&parsed)?;
    let destination = changes::destination(parsed.text("output"), !parsed.on("stdin"))?;
    let user = match parsed.text("userinfo") {
        "" => None,
        path => {
            let (user, warning) = inputs::user_info(path)?;
            if let Some(text) = warning {
                super::print(&format!("{text}\n"));
            }
            Some(user)
        }
    };
    let mut values = match parsed.text("values-file") {
        "" => Values::default(),
        path => Values::read(path)?,
    };
    for text in values.set(parsed.list("set")) {
        warn(&text);
    }
    let policies = load_policies(&parsed.arguments);
    deprecations(&policies.deprecations, parsed.on("warnings-as-errors"))?;
    let profile = if parsed.on("as-cluster") { Profile::cluster() } else { Profile::kyverno_cli() };
    let targets = load_resources(parsed.list("target-resource"), profile, parsed.on("policy-report"))?;
    let params = load_resources(parsed.list("parameter-resource"), profile, parsed.on("policy-report"))?;
    let resources = load_resources(parsed.list("resource"), profile, parsed.on("policy-report"))?;
    let (globals, resources): (Vec<Document>, Vec<Document>) =
        resources.into_iter().partition(|d| is_global(&d.value));
    let resources = without_duplicates(resources);
    let exceptions = load_exceptions(&parsed, &policies, &resources)?;
    let output = output_of(&parsed);
    if !parsed.on("stdin")
        && !matches!(output, Output::ReportYaml | Output::ReportJson | Output::Exceptions | Output::Other)
    {
        let rules: usize = policies.policies.iter().map(|p| p.rule_count).sum();
        let with = match exceptions.len() {
            0 => String::new(),
            n => format!(" with {n} exception(s)"),
        };
        super::print(&format!(
            "\nApplying {rules} policy rule(s) to {} resource(s){with}...\n",
            resources.len()
        ));
    }
    let sources = Offline {
        objects: [&resources, &targets, &params].into_iter().flatten().map(|d| d.value.clone()).collect(),
        globals: globals.into_iter().map(|d| d.value).collect(),
    };
    let run = Run {
        parsed: &parsed,
        policies,
        resources,
        exceptions,
        values: Arc::new(values),
        user,
        profile,
        output,
        destination,
    };
    run.evaluate(sources)
}

fn check_arguments(parsed: &Parsed) -> Result<(), String> {
    let resources = parsed.list("resource");
    let has = |name: &str| !parsed.list(name).is_empty();
    if !parsed.text("values-file").is_empty() && has("set") {
        return Err("pass the values either using set flag or values_file flag".into());
    }
    if parsed.arguments.is_empty() {
        return Err("require policy".into());
    }
    if parsed.arguments.iter().any(|a| a == "-") && resources.iter().any(|a| a == "-") {
        return Err("a stdin pipe can be used for either policies or resources, not both".into());
    }
    if has("resource") && has("json") {
        return Err("both resource and json files can not be used together, use one or the other".into());
    }
    let payloads = has("json") || has("http-payload") || has("envoy-payload");
    if !has("resource") && !payloads && !parsed.on("cluster") {
        return Err("resource file(s) or cluster required".into());
    }
    if parsed.list("crd-paths").iter().any(|p| !p.trim().is_empty()) && !parsed.text("kubeconfig").is_empty()
    {
        return Err(
            "crd-paths and kubeconfig flags are mutually exclusive, please use only one of them".into()
        );
    }
    if parsed.on("cluster") {
        return Err("--cluster is not supported yet: pass resource files with -r".into());
    }
    if payloads {
        return Err("payloads are not supported yet: pass resource files with -r".into());
    }
    Ok(())
}

fn output_of(parsed: &Parsed) -> Output {
    let format = parsed.text("output-format");
    if parsed.on("policy-report") {
        return match format {
            "json" => Output::ReportJson,
            "sarif" | "junit" | "markdown" | "github" => Output::Other,
            _ => Output::ReportYaml,
        };
    }
    if parsed.on("generate-exceptions") {
        return Output::Exceptions;
    }
    if matches!(format, "sarif" | "junit" | "markdown" | "github") {
        return Output::Other;
    }
    if parsed.on("table") { Output::Table } else { Output::Plain }
}

struct Run<'r> {
    parsed: &'r Parsed,
    policies: Policies,
    resources: Vec<Document>,
    exceptions: Vec<Exception>,
    values: Arc<Values>,
    user: Option<UserParts>,
    profile: Profile,
    output: Output,
    destination: Destination,
}

/// What has been printed and counted so far.
#[derive(Default)]
struct Sink {
    counts: Summary,
    reported: Summary,
    entries: String,
    started: bool,
    rows: Vec<Vec<String>>,
    namespaced: Vec<(String, String, Summary)>,
    records: Vec<Record>,
    failed: Option<String>,
    /// Results are held back until all resources are done, because objects are printed before them.
    holds: bool,
    held: Vec<u8>,
}

impl Run<'_> {
    fn evaluate(self, sources: Offline) -> Result<i32, String> {
        let lowered: Vec<_> = self.policies.policies.iter().filter_map(|p| p.policy.clone()).collect();
        let facts: HashMap<String, PolicyFacts> =
            lowered.iter().map(|p| (p.key(), PolicyFacts::of(p))).collect();
        let set = PolicySet::new(lowered, self.exceptions.clone());
        let engine = Engine::new(set)
            .with_profile(self.profile)
            .with_sources(Arc::new(sources))
            .with_values(self.values.clone());
        let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
        let mut sink = Sink { holds: engine.set().has_phases(), ..Sink::default() };
        for _ in self.policies.policies.iter().filter(|p| p.refused.is_some()) {
            sink.counts.add(Status::Error);
        }
        if !sink.holds {
            let _ = out.write_all(self.refused().as_bytes());
        }
        let style = Style {
            output: self.output,
            audit_warn: self.parsed.on("audit-warn"),
            detailed: self.parsed.on("detailed-results"),
            colour: self.colour(),
            facts: &facts,
            seconds: std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |d| d.as_secs()),
        };
        let progress = progress(self.resources.len());
        let goes_on = self.parsed.on("continue-on-fail");
        scan(
            &engine,
            self.resources.len(),
            |i| self.request(i, None, &engine),
            |i, request, outcome| self.with_own_values(i, request, outcome, &engine),
            |i, outcome| {
                let resource = self.resources.get(i).map(|d| &d.value).unwrap_or(&Value::Null);
                // Results are told of the changed object; one that was lost is told of as it came.
                let shown = outcome.object.as_ref().filter(|o| !o.is_null()).unwrap_or(resource);
                let changes = changes::render(engine.set(), resource, outcome, &self.destination);
                (results::render(&style, i, shown, outcome), changes)
            },
            |i, rendered| {
                if let Some(p) = &progress {
                    p.set_position(i as u64 + 1);
                }
                match rendered {
                    Ok((rendered, changes)) if sink.failed.is_none() => {
                        self.take(&mut sink, rendered, changes, &mut out);
                    }
                    Ok(_) => {}
                    Err(_) if goes_on => {}
                    Err(text) => {
                        let name =
                            self.resources.get(i).map_or("", |d| d.value.text_at(&["metadata", "name"]));
                        sink.failed
                            .get_or_insert(format!("failed to apply policies on resource {name} ({text})"));
                    }
                }
            },
        );
        if let Some(p) = progress {
            p.finish_and_clear();
        }
        if let Some(text) = sink.failed.take() {
            let _ = out.flush();
            return Err(text);
        }
        if sink.holds {
            let _ = out.write_all(self.refused().as_bytes());
            let _ = out.write_all(&sink.held);
        }
        let counts = self.finish(sink, &mut out);
        let code = self.exit_code(&counts, &mut out);
        let _ = out.flush();
        Ok(code)
    }

    /// The request for a resource; `policy` names the policy whose own values count.
    fn request(&self, i: usize, policy: Option<&str>, engine: &Engine) -> Result<Request, String> {
        let object = self.resources.get(i).map(|d| d.value.clone()).unwrap_or_default();
        self.request_on(object, policy, engine)
    }

    fn request_on(&self, object: Value, policy: Option<&str>, engine: &Engine) -> Result<Request, String> {
        let values = self.values.for_resource(policy, object.text_at(&["metadata", "name"]));
        let shaped = |op: &&str| matches!(*op, "UPDATE" | "DELETE");
        let operation = Values::operation(&values).filter(shaped).unwrap_or("CREATE");
        let namespace = match object.text_at(&["kind"]) {
            "Namespace" => object.text_at(&["metadata", "name"]),
            _ => object.text_at(&["metadata", "namespace"]),
        };
        let labels = self.values.namespaces.get(namespace).cloned().unwrap_or_default();
        let subresource = self
            .values
            .subresources
            .iter()
            .find(|s| s.kind == object.text_at(&["kind"]))
            .map_or(Str::from(""), |s| s.name.as_str().into());
        let parts = Parts {
            object,
            old_object: None,
            operation: operation.into(),
            subresource,
            user: self.user.clone(),
            namespace_labels: labels,
            values,
            dry_run: false,
            details: !matches!(self.output, Output::Plain | Output::Table),
        };
        Request::new(parts, self.profile, engine.functions())
    }

    /// Policies that have values of their own for a resource are evaluated with these.
    fn with_own_values(&self, i: usize, request: &Request, mut outcome: Outcome, engine: &Engine) -> Outcome {
        if self.values.resources.is_empty() {
            return outcome;
        }
        let name = self.resources.get(i).map_or("", |d| d.value.text_at(&["metadata", "name"]));
        if engine.set().has_phases() {
            // What a policy leaves is what the next one sees, so all of them run again.
            return engine.evaluate_phases(request, &|at, object| {
                let policy = &engine.set().policies().get(at)?.name;
                self.values.resources.get(&(policy.to_string(), name.to_string()))?;
                self.request_on(object.clone(), Some(policy), engine).ok()
            });
        }
        for (at, policy) in engine.set().policies().iter().enumerate() {
            if !self.values.resources.contains_key(&(policy.name.to_string(), name.to_string())) {
                continue;
            }
            if let Ok(request) = self.request(i, Some(&policy.name), engine) {
                outcome.replace(engine, at, engine.evaluate_policy(at, &request));
            }
        }
        outcome
    }

    fn colour(&self) -> bool {
        !self.parsed.on("remove-color")
            && std::io::stdout().is_terminal()
            && std::env::var_os("NO_COLOR").is_none()
            && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
    }

    /// The policies that the check refused, in the reference's two groups.
    fn refused(&self) -> String {
        let line = "-".repeat(70);
        let mut out = String::new();
        let is_invalid = |text: &str| text.starts_with("variable 'element.name'");
        for (title, invalid) in [("Policies Skipped:", false), ("Invalid Policies:", true)] {
            let group = self.policies.policies.iter().filter_map(|p| {
                p.refused.as_ref().filter(|text| is_invalid(text) == invalid).map(|text| (&p.name, text))
            });
            let lines: Vec<String> =
                group.enumerate().map(|(i, (name, text))| format!("{}. {name}: {text}\n", i + 1)).collect();
            if !lines.is_empty() {
                out.push_str(&format!("{line}\n{title}\n{}{line}\n", lines.concat()));
            }
        }
        out
    }

    fn take(&self, sink: &mut Sink, rendered: Rendered, changes: Changes, out: &mut impl Write) {
        let _ = out.write_all(changes.text.as_bytes());
        if let Err(text) = self.destination.append(&changes.files) {
            sink.failed = Some(text);
            return;
        }
        changes.warnings.iter().for_each(|text| warn(text));
        let out: &mut dyn Write = if sink.holds { &mut sink.held } else { out };
        sink.counts.merge(&rendered.counts);
        sink.reported.merge(&rendered.reported);
        match self.output {
            Output::Plain => {
                let _ = out.write_all(rendered.text.as_bytes());
            }
            Output::ReportYaml => {
                if !sink.started && !rendered.text.is_empty() {
                    sink.started = true;
                    let _ = out.write_all(policy_report::head("ClusterReport", "merged", "").as_bytes());
                }
                let _ = out.write_all(rendered.text.as_bytes());
            }
            Output::ReportJson => sink.entries.push_str(&rendered.text),
            Output::Table => sink.rows.extend(rendered.rows),
            Output::Exceptions | Output::Other => sink.records.extend(rendered.records),
        }
        for (key, text, counts) in rendered.namespaced {
            match sink.namespaced.iter_mut().find(|(k, ..)| *k == key) {
                Some((_, all, sum)) => {
                    all.push_str(&text);
                    sum.merge(&counts);
                }
                None => sink.namespaced.push((key, text, counts)),
            }
        }
    }

    fn finish(&self, mut sink: Sink, out: &mut impl Write) -> Summary {
        let text = match self.output {
            Output::Plain => format!(
                "\npass: {}, fail: {}, warn: {}, error: {}, skip: {} \n",
                sink.counts.of(Status::Pass),
                sink.counts.of(Status::Fail),
                sink.counts.of(Status::Warn),
                sink.counts.of(Status::Error),
                sink.counts.of(Status::Skip)
            ),
            Output::Table => {
                for (i, row) in sink.rows.iter_mut().enumerate() {
                    if let Some(first) = row.first_mut() {
                        *first = (i + 1).to_string();
                    }
                }
                let mut headers = vec!["ID", "POLICY", "RULE", "RESOURCE", "RESULT", "REASON"];
                if self.parsed.on("detailed-results") {
                    headers.push("MESSAGE");
                }
                table::render(&headers, &sink.rows, !self.parsed.on("remove-color"))
            }
            Output::ReportYaml => {
                let mut text = if sink.started { policy_report::tail(&sink.reported) } else { String::new() };
                for (key, entries, counts) in &sink.namespaced {
                    let (ns, name) = key.split_once('/').unwrap_or(("", key));
                    text.push_str("---\n");
                    text.push_str(&policy_report::head("PolicyReport", name, ns));
                    text.push_str(entries);
                    text.push_str(&policy_report::tail(counts));
                }
                text
            }
            Output::ReportJson => {
                let mut text = match sink.entries.strip_prefix(',') {
                    Some(entries) => {
                        policy_report::json("ClusterReport", "merged", "", &sink.reported, entries)
                    }
                    None => String::new(),
                };
                for (key, entries, counts) in &sink.namespaced {
                    let (ns, name) = key.split_once('/').unwrap_or(("", key));
                    let entries = entries.strip_prefix(',').unwrap_or(entries);
                    text.push_str("---\n");
                    text.push_str(&policy_report::json("PolicyReport", name, ns, counts, entries));
                }
                text
            }
            Output::Exceptions => self.exceptions_for(&sink.records),
            Output::Other => self.other_format(&sink.records),
        };
        let _ = out.write_all(text.as_bytes());
        sink.counts
    }

    fn exceptions_for(&self, records: &[Record]) -> String {
        let ttl = self.parsed.text("generated-exception-ttl");
        let ttl =
            crate::value::duration::parse(ttl).ok().filter(|ns| *ns > 0).map(crate::value::duration::format);
        let failed = records.iter().filter(|r| r.status == Status::Fail && !r.policy.contains('/'));
        failed
            .map(|r| {
                let resource = self.resources.get(r.index).map(|d| &d.value).unwrap_or(&Value::Null);
                exceptions::for_failure(r, resource, ttl.as_deref())
            })
            .collect()
    }

    fn other_format(&self, records: &[Record]) -> String {
        let findings: Vec<formats::Finding<'_>> = records
            .iter()
            .map(|r| {
                let document = self.resources.get(r.index);
                formats::Finding {
                    policy: &r.policy,
                    rule: &r.rule,
                    status: r.status,
                    message: &r.message,
                    resource: &r.resource,
                    file: document.map_or("", |d| &d.source),
                    line: document.map_or(1, |d| d.line),
                }
            })
            .collect();
        match self.parsed.text("output-format") {
            "sarif" => formats::sarif(&findings),
            "junit" => formats::junit(&findings),
            "github" => formats::github(&findings),
            _ => formats::markdown(&findings),
        }
    }

    fn exit_code(&self, counts: &Summary, out: &mut impl Write) -> i32 {
        if counts.of(Status::Fail) > 0 || counts.of(Status::Error) > 0 {
            return 1;
        }
        let code = i32::try_from(self.parsed.number("warn-exit-code")).unwrap_or(1);
        if counts.of(Status::Warn) > 0 && code != 0 {
            let _ = write!(out, "exit as warnExitCode is {code}");
            return code;
        }
        if counts.of(Status::Pass) == 0 && self.parsed.on("warn-no-pass") {
            let _ = writeln!(out, "exit as no objects satisfied policy");
            return code;
        }
        0
    }
}

/// A progress bar for long runs on a terminal.
fn progress(count: usize) -> Option<indicatif::ProgressBar> {
    const LONG: usize = 2_000;
    (count >= LONG && std::io::stderr().is_terminal() && !std::io::stdout().is_terminal()).then(|| {
        let bar = indicatif::ProgressBar::new(count as u64);
        bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        bar
    })
}
