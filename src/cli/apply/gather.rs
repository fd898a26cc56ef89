//! What `apply` reads: policies, resources and exceptions, with everything worth a line on standard
//! error.
//!
//! In: arguments and flags. Out: loaded policies, resource documents and exceptions. Which failures
//! end the run is Kyverno's choice (`docs/reference/cli.md`); the others are printed as warnings
//! and change nothing.

use ephor_document::Document;
use ephor_engine::Profile;
use ephor_inspect::lint::{Finding, Roles, Severity, lint};
use ephor_policies::load::{self, Policies};
use ephor_sources::download::is_url;
use ephor_sources::files::{self, FileCause, Loaded, Reading, SourceText};
use ephor_sources::git::Access;
use ephor_testing::inputs::exceptions::{self, Exceptions};
use ephor_testing::inputs::resources;
use ephor_value::Value;

use ephor_testing::inputs::resources::Choice;

use crate::cli::{Error, given};

use super::inputs::Arguments;
use super::log::{Log, Use};
use super::options::Repository;
use super::output_options::OutputOptions;
use super::results::{self, Output};

/// The policies that the arguments mean.
///
/// # Errors
/// An address at which there are none.
pub(super) fn load_policies(args: &Arguments<'_>, log: &Log) -> Result<Policies, Error> {
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
            return Err(Error::input(n.text.clone()));
        }
        for n in &notices {
            let usage = match n.cause {
                // What is a policy is meant to be read, in whatever file.
                FileCause::Extension if is_policy_in_json(&n.place) => Use::Missing,
                // A folder of policies may hold a page about them.
                FileCause::Extension if n.place != *argument && !log.is_verbose() => continue,
                // A file that the argument itself names is meant to be one.
                FileCause::Extension if n.place != *argument => Use::Foreign,
                _ => Use::Missing,
            };
            lines.push((n.to_string(), usage));
        }
        if sources.is_empty() && notices.is_empty() {
            lines.push((format!("{argument}: no policy file"), Use::Missing));
        }
        // A bad file of a repository is skipped alone, other arguments are skipped as a whole.
        for part in sources.chunks(if is_git { 1 } else { sources.len().max(1) }) {
            let loaded = load::argument(part);
            for p in &loaded.problems {
                let what = match (p.fatal, is_git) {
                    (true, false) => format!("all of `{argument}` is left out"),
                    (true, true) => "the file is left out".into(),
                    (false, _) => "left out".into(),
                };
                let usage = if p.foreign && !p.fatal { Use::Foreign } else { Use::Missing };
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

/// Whether a file holds a policy as JSON, which Kyverno's commands do not read.
fn is_policy_in_json(path: &str) -> bool {
    let is_json = std::path::Path::new(path).extension().is_some_and(|e| e == "json");
    let loaded = if is_json { files::policies_with_json(&[path]) } else { Loaded::default() };
    let documents = loaded.sources.iter().flat_map(|s| {
        ephor_document::parse_stream(&s.name, &s.text, ephor_document::Duplicates::LastWins)
            .unwrap_or_default()
    });
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

/// The most that is said of what is wrong with one file.
const HELPS: usize = 3;

/// What `lint` says is wrong with files of which a policy cannot be used: places and what was
/// probably meant, which Kyverno's texts do not have.
pub fn helps(sources: &[SourceText], loaded: &Policies) -> Vec<String> {
    let is_bad = |file: &str| {
        loaded.problems.iter().any(|p| !p.foreign && *p.source == *file)
            || loaded
                .policies
                .iter()
                .any(|p| *p.source == *file && (p.refused.is_some() || p.uncompiled.is_some()))
    };
    let mut out = Vec::new();
    let definition = loaded.problems.iter().find(|p| p.text.contains(load::NO_DEFINITIONS));
    out.extend(definition.map(|p| {
        format!(
            "{}:{}: a CustomResourceDefinition is no policy; name its file with --crd-paths",
            p.source, p.line
        )
    }));
    for source in sources.iter().filter(|source| is_bad(&source.name)) {
        let one = std::slice::from_ref(source);
        let found = lint(one, &[], &Roles::default()).findings;
        // What the loader said is not said again.
        let is_said =
            |finding: &Finding| loaded.problems.iter().any(|problem| problem.text.contains(&finding.message));
        let errors = found.into_iter().filter(|f| f.severity == Severity::Error && !is_said(f));
        out.extend(errors.take(HELPS).map(|Finding { file, line, column, message, help, .. }| {
            let column = if column > 0 { format!(":{column}") } else { String::new() };
            let meant = help.map(|help| format!("; {help}")).unwrap_or_default();
            format!("{file}:{line}{column}: {message}{meant}")
        }));
    }
    out
}

/// Prints deprecation warnings; `migrated` policies of them have a successor that is loaded as
/// well.
///
/// # Errors
/// Such warnings count as errors.
pub(super) fn deprecations(lines: &[String], migrated: usize, fatal: bool, log: &Log) -> Result<(), Error> {
    let warnings: Vec<&String> = lines.iter().filter(|l| !l.is_empty()).collect();
    log.deprecations(&warnings, migrated);
    match warnings.len() {
        count if count > 0 && fatal => Err(Error::Deprecated { count }),
        _ => Ok(()),
    }
}

/// The resources that the arguments mean.
///
/// # Errors
/// The first argument cannot be read, or a document is no Kubernetes object.
pub(super) fn load_resources(
    arguments: &[String],
    profile: Profile,
    output: &OutputOptions,
    log: &Log,
) -> Result<Vec<Document>, Error> {
    let reading = Reading { recursive: output.recursive, patterns: !output.is_kyverno };
    let choice = Choice { reading, skips_others: output.skips_others() };
    let loaded = resources::read(arguments, profile, "resources", choice).map_err(|(text, place)| {
        place.iter().for_each(|place| log.warn(place));
        Error::input(text)
    })?;
    if !matches!(output.output, Output::ReportYaml | Output::ReportJson) {
        loaded.failed.iter().for_each(|block| log.notice(block));
    }
    loaded.failed.iter().for_each(|block| log.note(block.trim_matches(['\n', '-'])));
    let warnings = loaded.warnings.into_iter().map(|text| (text, Use::Notice));
    let others = loaded.others.into_iter().map(|text| (text, Use::Foreign));
    log.left_out(&warnings.chain(others).collect::<Vec<_>>(), "resources");
    Ok(loaded.documents)
}

/// Whether an object is a global context entry.
pub(super) fn is_global(v: &Value) -> bool {
    v.text_at(&["kind"]) == "GlobalContextEntry" && v.text_at(&["apiVersion"]).starts_with("kyverno.io/")
}

/// Of two objects of one identity the first one counts.
pub(super) fn without_duplicates(documents: Vec<Document>, log: &Log) -> Vec<Document> {
    let (unique, duplicates) = resources::without_duplicates(documents);
    for d in duplicates {
        log.warn(&format!("{}:{}: duplicate of {}: left out", d.source, d.line, results::path(&d.value)));
    }
    unique
}

/// The exceptions from all the places that flags name.
///
/// # Errors
/// A file that cannot be read, or holds something else.
pub(super) fn load_exceptions(
    args: &Arguments<'_>,
    policies: &Policies,
    resources: &[Document],
    log: &Log,
) -> Result<Exceptions, Error> {
    let mut all = Exceptions::default();
    if args.input.exceptions_with_resources {
        resources.iter().for_each(|d| all.take(&d.value));
    } else {
        for path in args.input.exceptions() {
            let loaded = exceptions::read(&path).map_err(|error| Error::Exceptions(error.into()))?;
            if args.deprecations {
                deprecations(&loaded.deprecations, 0, args.warnings_as_errors, log)?;
            }
            all.extend(loaded);
        }
    }
    if args.input.exceptions_within_policies {
        all.exceptions.extend(policies.exceptions.iter().cloned());
        all.cel_exceptions.extend(policies.cel_exceptions.iter().cloned());
    }
    Ok(all)
}
