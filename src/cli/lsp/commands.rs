//! Commands of lenses, which run on threads of their own.
//!
//! What a command reads is taken out of the workspace first, so unsaved texts count; a test reads
//! the files that it names from the disk.

use std::sync::Arc;
use std::time::Duration;

use ephor_editor::{LensCommand, Workspace};
use ephor_engine::Profile;
use ephor_engine::request::Parts;
use ephor_inspect::explain::decisions;
use ephor_migrate::{Limits, TargetApi};
use ephor_policies::load::{Policies, Reader, argument_for};
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_sources::files::SourceText;
use ephor_testing::testing::file;
use ephor_testing::testing::format::{Format, Style, render};
use ephor_testing::testing::load::Strictness;
use ephor_testing::testing::rows::Verdict;
use ephor_testing::testing::run::{Options, run};
use ephor_value::Value;
use lsp_server::RequestId;
use serde::{Deserialize, Serialize};

use crate::cli::{diff, migrate};

/// What a command found.
#[derive(Debug)]
pub(super) struct CommandOutcome {
    /// The request that it answers.
    pub(super) id: RequestId,
    /// What the text is about.
    pub(super) title: String,
    /// The text, or why there is none.
    pub(super) text: Result<String, String>,
}

/// Work that needs no workspace any more: its inputs are taken out of it.
pub(super) type Work = Box<dyn FnOnce() -> Result<String, String> + Send>;

/// A command that can be run.
pub(super) struct Prepared {
    pub(super) title: String,
    pub(super) work: Work,
}

const TEST: &str = "ephor.test";
const EXPLAIN: &str = "ephor.explain";
const MIGRATE: &str = "ephor.migrate";
const COMPARE: &str = "ephor.compare";

/// The commands, by the names that lenses have.
pub(super) const COMMANDS: [&str; 4] = [TEST, EXPLAIN, MIGRATE, COMPARE];

/// How long a proof may take.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// What a command is about.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Arguments {
    /// The file of the policy or test.
    file: String,
    /// The name of the policy.
    #[serde(skip_serializing_if = "String::is_empty")]
    policy: String,
    /// The file of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    object_file: String,
    /// `KIND/NAME` of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    object: String,
    /// The file of the replacement.
    #[serde(skip_serializing_if = "String::is_empty")]
    other: String,
}

/// The name of a command of a lens and its arguments.
pub(super) fn named(command: &LensCommand) -> (&'static str, serde_json::Value) {
    let text = |name: &Arc<str>| name.to_string();
    let (name, arguments) = match command {
        LensCommand::Test { file } => (TEST, Arguments { file: text(file), ..Arguments::default() }),
        LensCommand::Explain { file, policy, object_file, object } => {
            let (policy, object) = (policy.clone(), object.clone());
            let object_file = text(object_file);
            (EXPLAIN, Arguments { file: text(file), policy, object_file, object, ..Arguments::default() })
        }
        LensCommand::Migrate { file, policy } => {
            (MIGRATE, Arguments { file: text(file), policy: policy.clone(), ..Arguments::default() })
        }
        LensCommand::Compare { file, other, policy } => {
            let (other, policy) = (text(other), policy.clone());
            (COMPARE, Arguments { file: text(file), other, policy, ..Arguments::default() })
        }
    };
    (name, serde_json::to_value(arguments).unwrap_or_default())
}

/// Takes what a command needs out of the workspace; `None` = there is no such command.
pub(super) fn prepare(
    workspace: &Workspace,
    command: &str,
    arguments: &[serde_json::Value],
) -> Option<Result<Prepared, String>> {
    if !COMMANDS.contains(&command) {
        return None;
    }
    let arguments = arguments.first().cloned().unwrap_or_default();
    let arguments: Arguments = match serde_json::from_value(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return Some(Err(error.to_string())),
    };
    Some(prepared(workspace, command, arguments))
}

fn prepared(workspace: &Workspace, command: &str, arguments: Arguments) -> Result<Prepared, String> {
    let source = source(workspace, &arguments.file)?;
    let policy = arguments.policy;
    Ok(match command {
        TEST => Prepared { title: format!("test {}", arguments.file), work: Box::new(move || test(&source)) },
        EXPLAIN => {
            let object = self::source(workspace, &arguments.object_file)?;
            let title = format!("{policy} on {}", arguments.object);
            let wanted = arguments.object;
            Prepared { title, work: Box::new(move || explain(&source, &policy, &object, &wanted)) }
        }
        MIGRATE => {
            let (kinds, types) = workspace.definitions_of_kinds();
            let options = ephor_migrate::Options {
                to: TargetApi::Kyverno,
                kinds,
                types,
                ..ephor_migrate::Options::default()
            };
            let limits = Limits { time: Some(TIME_LIMIT), ..Limits::default() };
            let work = move || {
                migrate::report(&source, &policy, &options, limits).map_err(|error| error.to_string())
            };
            Prepared { title: format!("{} in CEL", arguments.file), work: Box::new(work) }
        }
        _ => {
            let other = self::source(workspace, &arguments.other)?;
            let title = format!("{policy} and its replacement");
            let work = move || {
                let sides = [of_name(&source, &policy)?, of_name(&other, &policy)?];
                diff::text_of_pair(&policy, sides, Some(TIME_LIMIT)).map_err(|error| error.to_string())
            };
            Prepared { title, work: Box::new(work) }
        }
    })
}

fn source(workspace: &Workspace, name: &str) -> Result<SourceText, String> {
    let text = workspace.text(name).ok_or_else(|| format!("no file `{name}` in the workspace"))?;
    Ok(SourceText { name: name.into(), text: text.as_str().into() })
}

/// Runs the tests of a file.
fn test(source: &SourceText) -> Result<String, String> {
    let style = Style { format: Format::Table, detailed: true, colour: false, cells: false };
    let (mut out, mut failed, mut count) = (String::new(), 0, 0);
    for test in file::tests(source, None) {
        let test = test.map_err(|faulty| format!("{}: {}", faulty.path, faulty.text))?;
        let options = Options { strictness: Strictness::default(), ..Options::default() };
        let ran = run(&test, options);
        if let Some(text) = ran.failed {
            return Err(text);
        }
        failed += ran.rows.iter().filter(|row| row.verdict == Verdict::Fail).count();
        count += ran.rows.len();
        out.push_str(&render(&ran.rows, style));
        out.push('\n');
        for line in ran.vacuous.iter().chain(&ran.log.hints) {
            out.push_str(&format!("{line}\n"));
        }
    }
    Ok(format!("{} tests passed and {failed} failed\n\n{out}", count - failed))
}

/// The policies of a name in a file.
fn of_name(source: &SourceText, policy: &str) -> Result<Policies, String> {
    let mut all = argument_for(std::slice::from_ref(source), Reader::Scan);
    all.policies.retain(|loaded| loaded.name == policy);
    match all.policies.is_empty() {
        true => Err(format!("{} has no policy `{policy}`", source.name)),
        false => Ok(all),
    }
}

/// What a policy decides about an object, and why.
fn explain(source: &SourceText, policy: &str, objects: &SourceText, wanted: &str) -> Result<String, String> {
    let mut all = of_name(source, policy)?;
    let documents =
        ephor_document::resources(&objects.name, &objects.text, ephor_document::ResourceOptions::default());
    let documents = documents.map_err(|error| error.to_string())?;
    let name =
        |value: &Value| format!("{}/{}", value.text_at(&["kind"]), value.text_at(&["metadata", "name"]));
    let document = documents.iter().find(|document| name(&document.value) == wanted);
    let document = document.ok_or_else(|| format!("{} has no object `{wanted}`", objects.name))?;
    all.bind(Vec::new());
    let mut out = String::new();
    for loaded in &all.policies {
        let Some(lowered) = &loaded.policy else {
            return Err(loaded.refused.clone().unwrap_or_else(|| "the policy cannot be used".into()));
        };
        let set = PolicySet::new(vec![lowered.clone()], all.exceptions.clone())
            .with_cel_exceptions(all.cel_exceptions.clone());
        let engine = Engine::new(set).with_profile(Profile::as_cluster());
        let parts = Parts { object: document.value.clone(), ..Parts::default() };
        let request = ephor_engine::Request::new(parts, engine.profile(), engine.functions());
        let request = request.map_err(|error| error.to_string())?;
        let decided = decisions::decide(loaded, &engine, &request, document);
        if decided.is_empty() {
            out.push_str(&format!("{policy} has no rule that matches {wanted}\n"));
        }
        decided.iter().for_each(|one| out.push_str(&format!("{}\n", one.text(false, false))));
    }
    Ok(out)
}
