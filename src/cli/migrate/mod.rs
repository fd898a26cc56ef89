//! `ephor migrate`: ClusterPolicies as policies in CEL, each compared with its origin.
//!
//! The conversion and the proofs are `ephor_migrate`'s; here are files, reports and the exit code.
//! Without `--out` the migrated policies are printed, and what came of them goes to standard error;
//! with it, or with another format, the report is printed.
//!
//! - `boundary`: tests (`kyverno-test.yaml`) for migrated policies that no test names.
//! - `carried`: tests (`kyverno-test.yaml`) of migrated policies.
//! - [`cluster`]: `--cluster`: policies and exceptions that are stored in a cluster.
//! - `html`: the report as a page: a table, then each policy with old and new side by side.
//! - `left_out`: `ephor-diff.yaml`: what the new policies leave out.
//! - `out`: `--out`: where the migrated files stand in the folder, laid out as the old ones.
//! - `own`: policies of our own groups: they move as Kyverno's do, and what takes their place is
//!   in our own groups again.
//! - `stored`: `kyverno migrate`: objects of custom resources in the version in which they are
//!   stored.
//! - `stored_error`: why definitions of custom resources are not migrated.
//! - `text`: the report as lines, and as Markdown for a merge request.

mod boundary;
mod carried;
pub mod cluster;
mod html;
mod left_out;
mod out;
mod own;
mod stored;
pub(super) mod stored_error;
mod text;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use clap::{ValueEnum, ValueHint};

use ephor_kubernetes::{Kinds, Types};
use ephor_migrate::report::{self, MigrateRow, rows};
use ephor_migrate::{File, Limits, Options, file};
use ephor_sources::files::{self, SourceText};
use ephor_value::release::Release;
use ephor_value::{Value, parallel};

use super::outputs::{Outputs, absolute};
use super::{CommandError, diff, progress};
use crate::cli::arguments::{ConsoleFlags, Global, cluster_choice, given, use_threads};
use crate::cli::config::ConfigFlag;
use crate::cli::console::{self, print, warn};
use crate::cli::flag_values::time;
use crate::cli::policy_files;
use crate::cli::program_name::is_kyverno;
use crate::cli::releases;
pub(super) use out::Layout;
pub(super) use stored::with_flags_of_kyverno;

/// Writes policies in CEL for ClusterPolicies, and proves that they mean the same
///
/// Each rule becomes a policy of `policies.kyverno.io` that validates, mutates or generates, or
/// part of one where rules match the same objects; cleanup policies and exceptions become those of
/// CEL. Match and exclude become matchConstraints and matchConditions, patterns and conditions
/// become CEL, expressions that are CEL already stay as they are, like metadata and comments. The
/// result is compared with its origin as `ephor diff` does: it is proved to mean the same for every
/// object, tested, or shown with the object on which both differ. What cannot be expressed in CEL
/// is refused with its place and the nearest rewrite, and the policy stays as it is. Other
/// documents stay as they are, so a second run changes nothing. Tests (`kyverno-test.yaml`) are
/// carried over; a policy without one gets a test with objects that the comparison found. Called as
/// `kyverno` the command is Kyverno's, which writes objects of custom resources in their stored
/// version.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # print the policy in CEL, and what its proof says
  ephor migrate policy.yaml

  # a folder, with a report for the merge request
  ephor migrate policies/ --out migrated/ --output-format markdown > report.md

  # a page with old and new side by side
  ephor migrate policies/ --output-format html > report.html

  # policies of Kubernetes, which need no Kyverno
  ephor migrate policies/ --to vap --out migrated/

  # the policies of a cluster, in audit mode next to the old ones
  ephor migrate --cluster --shadow --out shadows/

Exit codes:
  0  every policy moved, and is proved or tested to mean the same
  1  some differ, or are refused
  2  policies cannot be read, or the files cannot be written")]
pub struct MigrateArgs {
    /// files and folders with policies; - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath)]
    paths: Vec<String>,
    /// policies and exceptions of the current cluster
    #[arg(long)]
    cluster: bool,
    /// name of the kubeconfig context
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// kinds of policies that are written
    #[arg(long, value_name = "KIND", default_value = "vpol")]
    to: To,
    /// with --to vap the first release of the API servers that evaluate what is written: the proof
    /// is for this release and those after it (default as Kyverno evaluates it)
    #[arg(long, value_name = "VERSION", value_parser = releases::parse)]
    kubernetes: Option<Release>,
    /// what the new policies need not be about; `.ephor/ephor-diff.yaml` in the folder of --out
    /// says so to `ephor diff`
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    leave_out: Vec<LeftOut>,
    /// policies in audit mode next to the old ones, whose decisions `ephor serve` compares with
    /// theirs
    #[arg(long)]
    shadow: bool,
    /// folder for the migrated files, laid out as the old ones
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<String>,
    /// form of the report
    #[arg(long, short = 'o', aliases = ["format", "output"], value_name = "FORMAT", default_value = "text")]
    output_format: MigrateFormat,
    /// longest time for the proof of one policy, after which it counts as tested
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = time)]
    time_limit: Duration,
    /// most objects that are evaluated for one rule
    #[arg(long, value_name = "NUMBER", default_value_t = Limits::default().objects)]
    objects: usize,
    /// number of threads, 0 for one per core; the output is the same for any
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    threads: i64,
    #[command(flatten)]
    config: ConfigFlag,
    #[command(flatten)]
    console: ConsoleFlags,
    /// names of CustomResourceDefinitions; called as `kyverno` only
    #[arg(long, value_name = "NAME", value_delimiter = ',', hide = true)]
    resource: Vec<String>,
}

/// Kinds of policies that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// Those of policies.kyverno.io
    Vpol,
    /// ValidatingAdmissionPolicies of Kubernetes with their bindings
    Vap,
}

/// What new policies may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LeftOut {
    /// ReplicationControllers, for which policies in CEL generate no rules
    ReplicationControllers,
}

/// Forms of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MigrateFormat {
    /// Lines, for people
    Text,
    /// One object
    Json,
    /// For pull requests
    Markdown,
    /// A page with old and new side by side
    Html,
}

/// Runs the command.
///
/// # Errors
/// A file cannot be read or written, the cluster does not answer, or there is no policy.
pub fn run(mut args: MigrateArgs, global: &Global) -> Result<i32, CommandError> {
    if is_kyverno() {
        return stored::run(&args.resource, given(&args.context), global);
    }
    if let Some(config) = args.config.find()? {
        if args.paths.is_empty() && !args.cluster {
            args.paths = config.texts("policies");
        }
        if args.to == To::Vap {
            args.kubernetes = args.kubernetes.or(config.release());
        }
    }
    let args = &args;
    let context = given(&args.context);
    if args.shadow && args.to == To::Vap {
        return Err(CommandError::ShadowsOfKyverno);
    }
    if args.paths.is_empty() && !args.cluster {
        return Err(CommandError::NothingToMigrate);
    }
    args.console.apply();
    use_threads(args.threads);
    for path in args.paths.iter().filter(|path| *path != "-") {
        policy_files::exists(path)?;
    }
    let mut sources = match args.paths.is_empty() {
        true => Vec::new(),
        false => files::policies(&args.paths).sources,
    };
    // A file below two arguments is one file.
    let mut known = BTreeSet::new();
    sources.retain(|source| known.insert(absolute(Path::new(&source.name))));
    let (mut arguments, mut definitions) = (args.paths.clone(), Vec::new());
    if args.cluster {
        let read = cluster::read(&cluster_choice(context, global))?;
        sources.extend(read.sources);
        definitions = read.definitions;
        arguments.push(cluster::ROOT.into());
    }
    if args.kubernetes.is_some() && args.to != To::Vap {
        warn("--kubernetes has no effect without --to vap: Kyverno evaluates what is written");
    }
    let own = own::as_kyverno(&mut sources);
    let options = options(args, &sources, definitions);
    let limits = Limits {
        time: Some(args.time_limit),
        objects: args.objects,
        boundary: args.out.is_some() && !args.shadow,
        kubernetes: args.kubernetes,
    };
    let mut migrated = migrated(&sources, &options, limits)?;
    ephor_migrate::exceptions(&mut migrated, &options, limits);
    if args.shadow {
        ephor_migrate::shadows(&mut migrated);
    }
    own::as_own(&mut migrated, &own)?;
    if !migrated.iter().any(File::has_policies) {
        return Err(CommandError::NoPolicyFound { arguments: arguments.join(", "), causes: Vec::new() });
    }
    let rows: Vec<MigrateRow> = migrated.iter().flat_map(rows).collect();
    let mut tests = Vec::new();
    if let Some(folder) = &args.out {
        let layout = Layout::of(folder, &arguments);
        let mut outputs = Outputs::staged(layout.folder())?;
        let (own, others): (Vec<&File>, Vec<&File>) = migrated.iter().partition(|file| file.has_policies());
        if !others.is_empty() {
            let names: Vec<&str> = others.iter().map(|file| &*file.name).collect();
            warn(&format!("files without policies are not written: {}", names.join(", ")));
        }
        for file in own {
            outputs.add(&layout.target(&file.name), &file.name, file.migrated())?;
        }
        if let Some(text) = left_out::text(&rows).filter(|_| !args.shadow) {
            let path = layout.folder().join(diff::OWN_FOLDER).join(diff::CONFIG);
            outputs.add(&path, "what is left out", text)?;
        }
        // Shadows are applied as they are, without tests between them.
        if !args.shadow {
            let carried = carried::carry(&layout, &args.paths, &migrated, &rows, &mut outputs)?;
            tests = carried.lines;
            tests.extend(boundary::write(&layout, &migrated, &carried.policies, &mut outputs)?);
        }
        let read: Vec<&Path> = sources.iter().map(|source| Path::new(&source.name)).collect();
        let replaced: Vec<String> =
            outputs.replaced(&read).iter().map(|path| path.display().to_string()).collect();
        if !replaced.is_empty() {
            warn(&format!("files that were there with another text are replaced: {}", replaced.join(", ")));
        }
        outputs.write()?;
    }
    for (file, part) in migrated.iter().flat_map(|file| file.parts.iter().map(move |part| (file, part))) {
        if part.is_patch() {
            let (kind, name) = &part.id;
            warn(&format!(
                "{}:{}: {kind} {name} has no rules and stays as it is: a patch (of kustomize) has to be written for what takes the place of the policy",
                file.name, part.line
            ));
        }
    }
    match args.output_format {
        MigrateFormat::Text if args.out.is_none() => {
            let texts: Vec<String> =
                migrated.iter().filter(|file| file.has_policies()).map(File::migrated).collect();
            print(&texts.join("---\n"));
            console::error(&text::lines(&rows, &tests));
        }
        MigrateFormat::Text => console::print_results(&text::lines(&rows, &tests)),
        MigrateFormat::Markdown => print(&text::markdown(&rows, &tests)),
        MigrateFormat::Json => print(&(serde_json::to_string_pretty(&report::json(&rows, &tests))? + "\n")),
        MigrateFormat::Html => print(&html::page(&rows)),
    }
    Ok(if rows.iter().all(MigrateRow::is_good) { 0 } else { 1 })
}

/// The policy of a name as it is in CEL, and what its proof says, as comments before it.
///
/// # Errors
/// The file cannot be cut into documents, or has no such policy.
pub fn report(
    source: &SourceText,
    policy: &str,
    options: &Options,
    limits: Limits,
) -> Result<String, CommandError> {
    let failed = |cause| CommandError::Migrate { path: source.name.clone(), cause };
    let migrated = file(&source.name, &source.text, options, limits).map_err(failed)?;
    let rows: Vec<MigrateRow> = rows(&migrated).into_iter().filter(|row| row.name == policy).collect();
    if rows.is_empty() {
        return Err(CommandError::NoPolicyFound { arguments: source.name.clone(), causes: Vec::new() });
    }
    let comments: String = text::lines(&rows, &[]).lines().map(|line| format!("# {line}\n")).collect();
    let texts: Vec<&str> = rows.iter().map(|row| row.new_text.as_str()).collect();
    Ok(comments + &texts.join("---\n"))
}

/// The kinds that clusters have: those that the files or the cluster define, too.
fn options(args: &MigrateArgs, sources: &[SourceText], definitions: Vec<Value>) -> Options {
    let of_files = sources
        .iter()
        .filter(|source| source.text.contains("CustomResourceDefinition"))
        .filter_map(|source| {
            ephor_document::parse_stream(&source.name, &source.text, ephor_document::Duplicates::LastWins)
                .ok()
        })
        .flatten()
        .flatten()
        .map(|document| document.value);
    let documents: Vec<Value> = of_files.chain(definitions).collect();
    Options {
        to: match args.to {
            To::Vpol => ephor_migrate::TargetApi::Kyverno,
            To::Vap => ephor_migrate::TargetApi::Kubernetes,
        },
        kinds: Kinds::of_release_with(args.kubernetes.unwrap_or_default(), &documents),
        types: Types::of_release_with(args.kubernetes.unwrap_or_default(), &documents),
        replication_controllers: !args.leave_out.contains(&LeftOut::ReplicationControllers),
        shadows: args.shadow,
        apart: false,
    }
}

/// Migrates files, with a progress bar.
fn migrated(sources: &[SourceText], options: &Options, limits: Limits) -> Result<Vec<File>, CommandError> {
    let bar = (sources.len() > 1).then(|| progress::bar(sources.len(), "files")).flatten();
    let one = |source: &SourceText| {
        let found = file(&source.name, &source.text, options, limits);
        if let Some(bar) = &bar {
            bar.set_message(source.name.clone());
            bar.inc(1);
        }
        found.map_err(|cause| CommandError::Migrate { path: source.name.clone(), cause })
    };
    let found = parallel::map(sources, one);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let mut out = Vec::new();
    for found in found {
        match found {
            Ok(file) => out.push(file),
            Err(error) if sources.len() > 1 => warn(&error.to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok(out)
}
