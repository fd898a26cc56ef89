//! `ephor lint`: checks of policies before they run.
//!
//! - `fixing`: `--fix`: writing files with fixes, or showing what would be written

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use clap::{ValueEnum, ValueHint};

use ephor_inspect::annotations::{annotated, annotation};
use ephor_inspect::lint::{CHECKS, Linted, Roles, Severity, fix_all, lint_on};
use ephor_report::fix::FileFix;
use ephor_report::lint_formats::{self, Annotation};
use ephor_sources::files::{self, FileCause, SourceText};
use ephor_sources::kustomize::Patches;
use ephor_value::release::Release;

mod fixing;

use super::diff::why_unread;
use super::flags::{Record, fields};
use super::{CommandError, lint_deep};
use crate::cli::arguments::{ConsoleFlags, some_policies};
use crate::cli::config::ConfigFlag;
use crate::cli::config::file::Config;
use crate::cli::{console, policy_files, releases};

/// Checks policies before they run
///
/// Schemas, the policy check, what an API server refuses of its own policies and bindings,
/// expressions with their types, fields that the matched kinds do not have, rules that can never
/// match. Each finding comes with file, line and column, and what to write instead. A file that is
/// not YAML is an error; templates in folders are named, not checked. Documents that are no
/// policies, and parts of policies that kustomize merges, are counted. A comment
/// `# ephor-lint: ignore=ID` at a line or above it drops its findings,
/// `# ephor-lint: ignore-file=ID` those of the file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # check the policies of a folder
  ephor lint policies/

  # check types by definitions of custom resources too
  ephor lint policy.yaml --definition crds.yaml

  # rules that can end in errors, never deny or are redundant
  ephor lint policies/ --deep --notes

  # correct what can be corrected without a doubt, and show it first
  ephor lint policies/ --fix --dry-run
  ephor lint policies/ --fix

  # fail on warnings, and write a file for code scanning
  ephor lint policies/ --fail-on warning --output-format sarif > lint.sarif

Exit codes:
  0  no finding has the severity of --fail-on
  1  one has
  2  a file cannot be read, or there is no policy")]
pub struct LintArgs {
    /// files, folders, addresses, bundles (oci://…) or sets of the library (builtin://…) with
    /// policies, - for standard input
    #[arg(value_name = "POLICY", value_hint = ValueHint::AnyPath)]
    policies: Vec<String>,
    #[command(flatten)]
    config: ConfigFlag,
    /// files with CustomResourceDefinitions
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    definition: Vec<Record>,
    /// release of the clusters that the policies are for (default that of ephor.yaml, else 1.36)
    #[arg(long, value_name = "VERSION", value_parser = releases::parse)]
    kubernetes: Option<Release>,
    /// least severity with which the exit code is 1
    #[arg(long, value_name = "SEVERITY", default_value = "error")]
    fail_on: LintFailOn,
    /// list notes too (text)
    #[arg(long)]
    notes: bool,
    /// evaluate the rules on objects for all that they distinguish: errors, rules that never or
    /// always deny, redundant ones
    #[arg(long)]
    deep: bool,
    /// form of the findings (default that of ephor.yaml, else text)
    #[arg(long, short = 'o', alias = "output", value_name = "FORMAT")]
    output_format: Option<LintFormat>,
    /// change the files: apply the fixes that are what was meant as far as the policies show, then
    /// report what is left
    #[arg(long)]
    fix: bool,
    /// with --fix: also apply fixes that choose one of several meanings
    #[arg(long, requires = "fix")]
    unsafe_fixes: bool,
    /// with --fix: print the changes as a unified diff, and write nothing
    #[arg(long, requires = "fix")]
    dry_run: bool,
    #[command(flatten)]
    console: ConsoleFlags,
}

/// The severities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LintFailOn {
    /// The policy, or a part of it, cannot work
    Error,
    /// It probably does not do what was meant
    Warning,
    /// Good to know
    Note,
}

/// The forms of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LintFormat {
    /// Lines with carets, for people
    Text,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub workflows
    Github,
    /// A list of objects
    Json,
}

/// Runs the command.
///
/// # Errors
/// No policy, files that cannot be read.
pub fn run(mut args: LintArgs) -> Result<i32, CommandError> {
    args.console.apply();
    let config = args.config.find()?;
    if let Some(config) = config.as_ref().filter(|_| args.policies.is_empty()) {
        args.policies = config.texts("policies");
    }
    let args = &args;
    let of_config = |config: &Config| (config.release(), config.format());
    let (release, format) = config.as_ref().map(of_config).unwrap_or_default();
    let release = args.kubernetes.or(release).unwrap_or_default();
    let format = args.output_format.or(format).unwrap_or(LintFormat::Text);
    let arguments = some_policies(&args.policies)?;
    let definitions = policy_files::documents(&fields(&args.definition))?;
    let (mut sources, mut named, mut unread) = (Vec::new(), HashSet::new(), Vec::new());
    let mut is_unread = false;
    for argument in arguments {
        policy_files::exists(argument)?;
        let loaded = files::policies_with_json(std::slice::from_ref(argument));
        for notice in
            loaded.notices.iter().filter(|n| !matches!(n.cause, FileCause::Extension | FileCause::Empty))
        {
            console::warn(&notice.to_string());
        }
        is_unread |= loaded.notices.iter().any(|n| n.cause == FileCause::Unreadable);
        if !Path::new(argument).is_dir() {
            named.extend(loaded.sources.iter().map(|source| source.name.clone()));
        }
        unread.extend(loaded.notices.iter().filter_map(why_unread));
        sources.extend(loaded.sources);
    }
    let roles = Roles { patches: Patches::around(&sources), named };
    let find = |sources: &[SourceText]| lint_on(release, sources, &definitions, &roles);
    if args.fix {
        let fixed = fix_all(&sources, &|sources| find(sources).findings, args.unsafe_fixes);
        fixing::finish(&fixed, args.dry_run)?;
        if args.dry_run {
            return Ok(0);
        }
        fixing::replace(&mut sources, fixed);
    }
    let mut found = find(&sources);
    if args.deep {
        unread.extend(lint_deep::add(&sources, &mut found));
    }
    if args.deep && !unread.is_empty() {
        return Err(CommandError::SideUnread { path: arguments.join(", "), causes: unread });
    }
    templates(&found.templates);
    if found.policies + found.partial + found.findings.len() == 0 {
        return Err(CommandError::NoPolicyFound { arguments: arguments.join(", "), causes: Vec::new() });
    }
    let fixes: Vec<Vec<FileFix>> =
        found.findings.iter().map(|finding| annotated(finding, &sources)).collect();
    let annotations: Vec<Annotation<'_>> =
        found.findings.iter().zip(&fixes).map(|(finding, fixes)| annotation(finding, fixes)).collect();
    let roots = super::roots::here();
    match format {
        LintFormat::Sarif => {
            console::print(&console::whole(|out| lint_formats::sarif(&annotations, &CHECKS, &roots, out))?);
        }
        LintFormat::Github if annotations.is_empty() => console::print(&text(&found, args.notes)),
        LintFormat::Github => console::print(&lint_formats::github(&annotations, &roots)),
        LintFormat::Json => console::print(&lint_formats::json(&annotations)),
        LintFormat::Text => console::print_results(&text(&found, args.notes)),
    }
    let least = match args.fail_on {
        LintFailOn::Error => Severity::Error,
        LintFailOn::Warning => Severity::Warning,
        LintFailOn::Note => Severity::Note,
    };
    match is_unread {
        true => Ok(2),
        false => Ok(i32::from(found.findings.iter().any(|f| f.severity >= least))),
    }
}

/// Names files of folders that are not YAML before they are filled in.
fn templates(files: &[Arc<str>]) {
    let what = match files.len() {
        0 => return,
        1 => "1 file with a template is not checked".to_string(),
        n => format!("{n} files with templates are not checked"),
    };
    console::warn(&format!("{what}: {} (check what is filled in)", files.join(", ")));
}

/// The findings, and what was counted.
fn text(found: &Linted, notes: bool) -> String {
    let shown = found.findings.iter().filter(|f| notes || f.severity != Severity::Note);
    let mut out: String = shown.map(ToString::to_string).collect();
    let of = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let policies =
        if found.policies == 1 { "1 policy".into() } else { format!("{} policies", found.policies) };
    let counts = [Severity::Error, Severity::Warning, Severity::Note].map(|s| of(found.count(s), s.word()));
    let hint = if notes || found.count(Severity::Note) == 0 { "" } else { " (list them with --notes)" };
    out.push_str(&format!("{policies}: {}{hint}\n", counts.join(", ")));
    if found.partial > 0 {
        out.push_str(&format!("partial: {} (check what kustomize builds)\n", of(found.partial, "document")));
    }
    if found.others > 0 {
        let (documents, files) = (of(found.others, "document"), of(found.other_files, "file"));
        out.push_str(&format!("not checked: {documents} of other kinds, {files} without policies\n"));
    }
    out
}
