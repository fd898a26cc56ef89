//! The policies of `apply`: files, folders, addresses, repositories and bundles.
//!
//! In: arguments. Out: loaded policies. Which failures end the run is Kyverno's choice
//! (`docs/reference/cli.md`); the others are printed as warnings and change nothing.

use std::path::Path;
use std::sync::Arc;

use ephor_document::{Duplicates, parse_stream};
use ephor_policies::load::{self, Policies};
use ephor_report::run::Severity;
use ephor_sources::download::is_url;
use ephor_sources::files::{self, FileCause, Loaded, Notice, SourceText};
use ephor_sources::git::Access;
use ephor_value::Value;

use super::super::arguments::InputArguments;
use super::super::log::{Log, Use};
use super::super::options::Repository;
use crate::cli::CommandError;
use crate::cli::arguments::given;
use crate::cli::bundle::requirements;
use crate::cli::policy_files::helps;

/// The policies that the arguments mean; deprecated kinds of them are printed. `skips_others`: a
/// file of a folder that holds no policy leaves out itself alone.
///
/// # Errors
/// An address at which there are none; deprecation warnings that count as errors.
pub(super) fn load(
    args: &InputArguments<'_>,
    skips_others: bool,
    log: &Log,
) -> Result<Policies, CommandError> {
    let all = load_all(args, skips_others, log)?;
    if args.deprecations {
        deprecations(&all.deprecations, all.migrated(), args.warnings_as_errors, log)?;
    }
    Ok(all)
}

/// Gives policies the severities that a repository chose for them.
pub(super) fn set_severities(policies: &mut Policies, severities: &[(String, Severity)]) {
    for (name, severity) in severities {
        let named = policies.policies.iter_mut().filter(|policy| policy.name == *name);
        for policy in named.filter_map(|policy| policy.policy.as_mut()) {
            let annotations = &mut Arc::make_mut(policy).annotations;
            annotations.insert("policies.kyverno.io/severity", severity.name().into());
        }
    }
}

fn load_all(args: &InputArguments<'_>, skips_others: bool, log: &Log) -> Result<Policies, CommandError> {
    requirements::fetch(args.policies)?;
    let access = access(args.repository);
    let mut all = Policies::default();
    let mut lines: Vec<(String, Use)> = Vec::new();
    for argument in args.policies {
        let is_git = access.means_repository(argument);
        let Loaded { sources, notices, .. } = match is_git {
            true => access.policies(argument)?,
            false => files::policies(std::slice::from_ref(argument)),
        };
        if let Some(n) = notices.iter().find(|n| is_url(&n.place) && n.cause == FileCause::Unreadable) {
            log.left_out(&lines, "policies");
            return Err(CommandError::input(n.text.clone()));
        }
        lines.extend(notices.iter().filter_map(|n| Some((n.to_string(), use_of(n, argument, log)?))));
        if sources.is_empty() && notices.is_empty() {
            lines.push((format!("{argument}: no policy file"), Use::Missing));
        }
        // A bad file of a repository is skipped alone, other arguments are skipped as a whole by
        // Kyverno's choice.
        let by_file = is_git || (skips_others && Path::new(argument).is_dir());
        for part in sources.chunks(if by_file { 1 } else { sources.len().max(1) }) {
            let loaded = load::argument_as(part, load::Reader::Command, args.input.kubernetes);
            for p in &loaded.problems {
                let what = match (p.fatal, by_file) {
                    (true, false) => format!("all of `{argument}` is left out"),
                    (true, true) => "the file is left out".into(),
                    (false, _) => "left out".into(),
                };
                let is_other =
                    (p.foreign && !p.fatal) || (skips_others && by_file && part.iter().all(is_other));
                let usage = if is_other { Use::Foreign } else { Use::Missing };
                lines.push((format!("{p} ({what})"), usage));
            }
            lines.extend(helps(part, &loaded).into_iter().map(|text| (text, Use::Help)));
            all.extend(loaded);
        }
    }
    for p in &all.policies {
        for (line, text) in load::never_matching(p) {
            lines.push((format!("{}:{line}: {text}", p.source), Use::Notice));
        }
    }
    log.left_out(&lines, "policies");
    Ok(all)
}

/// Whether no document of a file is meant as a policy: tests, values and objects of other programs
/// stand next to policies.
fn is_other(source: &SourceText) -> bool {
    let documents = parse_stream(&source.name, &source.text, Duplicates::LastWins).unwrap_or_default();
    let is_of_tests = |value: &Value| value.text_at(&["apiVersion"]).starts_with("cli.kyverno.io/");
    documents.iter().all(|document| {
        document.as_ref().is_ok_and(|d| is_of_tests(&d.value) || !load::is_meant_as_policy(&d.value))
    }) && !documents.is_empty()
}

/// What a notice about a file of an argument means; none for one that is not worth a line.
fn use_of(notice: &Notice, argument: &str, log: &Log) -> Option<Use> {
    match notice.cause {
        // What is a policy is meant to be read, in whatever file.
        FileCause::Extension if is_policy_in_json(&notice.place) => Some(Use::Missing),
        // A folder of policies may hold a page about them.
        FileCause::Extension if notice.place != *argument && !log.is_verbose() => None,
        // A file that the argument itself names is meant to be one.
        FileCause::Extension if notice.place != *argument => Some(Use::Foreign),
        _ => Some(Use::Missing),
    }
}

/// Whether a file holds a policy as JSON, which Kyverno's commands do not read.
fn is_policy_in_json(path: &str) -> bool {
    let is_json = std::path::Path::new(path).extension().is_some_and(|e| e == "json");
    let loaded = if is_json { files::policies_with_json(&[path]) } else { Loaded::default() };
    let documents = loaded
        .sources
        .iter()
        .flat_map(|s| parse_stream(&s.name, &s.text, Duplicates::LastWins).unwrap_or_default());
    documents.flatten().any(|document| load::is_meant_as_policy(&document.value))
}

/// How repositories are read.
pub(super) fn access(repository: Option<&Repository>) -> Access {
    let text = |flag: Option<&Option<String>>| flag.and_then(given).unwrap_or_default().to_owned();
    Access {
        branch: text(repository.map(|r| &r.git_branch)),
        username: text(repository.map(|r| &r.username)),
        password: text(repository.map(|r| &r.password)),
    }
}

/// Prints deprecation warnings; `migrated` policies of them have a successor that is loaded as
/// well.
///
/// # Errors
/// Such warnings count as errors.
pub(super) fn deprecations(
    lines: &[String],
    migrated: usize,
    fatal: bool,
    log: &Log,
) -> Result<(), CommandError> {
    let warnings: Vec<&String> = lines.iter().filter(|l| !l.is_empty()).collect();
    log.deprecations(&warnings, migrated);
    match warnings.len() {
        count if count > 0 && fatal => Err(CommandError::Deprecated { count }),
        _ => Ok(()),
    }
}
