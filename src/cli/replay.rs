//! `ephor replay`: what policies would have answered to the requests of an audit log.
//!
//! In: audit logs of an API server or of `ephor serve`, and one or two sets of policies. Out:
//! counts as text, JSON or a page; exit code 1 where a request would have been denied. Semantics:
//! `docs/guides/audit-logs.md`.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use clap::{ValueEnum, ValueHint};
use ephor_audit::effects::Replayer;
use ephor_audit::reading::{LogError, LogReader, OpenLog};
use ephor_audit::replaying::replay;
use ephor_document::resource::ResourceOptions;
use ephor_external::ExternalData;
use ephor_policies::load::{self, Reader};
use ephor_report::replayed::Replayed;
use ephor_report::replayed_formats as formats;
use ephor_sources::files::inputs::{Input, Origin};
use ephor_sources::files::{self, FileCause};
use ephor_sources::objects::{ClusterFacts, Objects};
use ephor_value::release::Release;

use super::apply::conflict::ApplyConflict;
use super::arguments::{ConsoleFlags, use_threads};
use super::bundle::requirements;
use super::config::ConfigFlag;
use super::flags::{Record, fields, whole};
use super::outputs::write_whole;
use super::report_file::form_of_extension;
use super::usage::Usage;
use super::{CommandError, console, policy_files, releases};

/// Exit code where a log or policies cannot be used.
const CANNOT_REPLAY: i32 = 2;

/// Shows what policies would have answered to the requests of an audit log
///
/// The logs are those of an API server (levels Request and RequestResponse, a JSON event a line) or
/// of `ephor serve --audit-log`, plain, gzip or zstd, the oldest first. Nothing is sent anywhere.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # what would policies have denied last week?
  ephor replay audit-*.log.gz --policies policies/

  # what would change with the policies of a branch?
  ephor replay audit.log --policies branch/policies/ --compare policies/ --report-file replay.html

Exit codes:
  0  no request would have been denied; with --compare: none that the other policies admit
  1  one would have been
  2  a log or a policy cannot be used, or no request could be evaluated")]
pub struct ReplayArgs {
    /// audit logs, the oldest first, or folders with them; - for standard input
    #[arg(value_name = "LOG", value_hint = ValueHint::AnyPath)]
    logs: Vec<String>,
    /// files, folders or addresses with policies, exceptions and bindings
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    policies: Vec<Record>,
    /// other policies: what would change with --policies is shown
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    compare: Vec<Record>,
    /// files with objects that policies look up: namespaces, ConfigMaps, role bindings, parameters
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    data: Vec<Record>,
    /// release of the API server that wrote the log (default that of ephor.yaml, else 1.36)
    #[arg(long, value_name = "VERSION", value_parser = releases::parse)]
    kubernetes: Option<Release>,
    /// form of the result
    #[arg(long, short = 'o', alias = "output", value_name = "FORMAT")]
    output_format: Option<ReplayFormat>,
    #[command(flatten)]
    config: ConfigFlag,
    #[command(flatten)]
    console: ConsoleFlags,
    /// file for the result in the format of its extension, else in --output-format; several times
    /// for several files
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    report_file: Vec<String>,
    /// exit code 0 also when requests would have been denied
    #[arg(long)]
    exit_zero: bool,
    /// number of threads, 0 for one per core; the output is the same for any
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = whole)]
    threads: i64,
}

/// The forms of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReplayFormat {
    /// Tables for people
    Text,
    /// An object
    Json,
    /// A page
    Html,
}

/// Runs the command; the result is the exit code.
///
/// # Errors
/// No log, no policy, a file that cannot be written.
pub fn run(mut args: ReplayArgs) -> Result<i32, CommandError> {
    if let Some(config) = args.config.find()? {
        let policies = config.texts("policies");
        if args.policies.is_empty() && !policies.is_empty() {
            args.policies = vec![Record::from(policies)];
        }
        args.kubernetes = args.kubernetes.or(config.release());
    }
    let args = &args;
    args.console.apply();
    use_threads(args.threads);
    if args.logs.is_empty() {
        return Err(Usage::NoLog.into());
    }
    if args.policies.is_empty() {
        return Err(Usage::NoPolicy.into());
    }
    let formats = named(&args.report_file, args.output_format)?;
    let mut all = Replayed { policies: fields(&args.policies), ..Replayed::default() };
    let objects = objects(args)?;
    let policies = replayer(&all.policies, &objects, args, &mut all.notes)?;
    let others = match &fields(&args.compare)[..] {
        [] => None,
        paths => {
            all.others = paths.to_vec();
            all.difference = Some(Default::default());
            Some(replayer(paths, &objects, args, &mut all.notes)?)
        }
    };
    let done = replayed(&args.logs, &policies, others.as_ref(), &mut all);
    for (format, file) in formats {
        match file {
            None => console::print(&shown(&all, format)),
            Some(file) => write_whole(file, shown(&all, format))?,
        }
    }
    all.notes.iter().for_each(|note| console::warn(note));
    if let Err(error) = done {
        console::error(&format!("Error: {error}\n"));
        return Ok(CANNOT_REPLAY);
    }
    if all.answers.requests == 0 {
        console::error(
            "Error: no request of the log could be evaluated\nhelp: the audit policy of the API server needs the level RequestResponse, or Request, for what policies are about\n",
        );
        return Ok(CANNOT_REPLAY);
    }
    let counts = match &all.difference {
        Some(difference) => difference.newly_denied,
        None => all.answers.denied,
    };
    Ok(i32::from(counts > 0 && !args.exit_zero))
}

/// What is written where: each file, or standard output.
fn named(
    files: &[String],
    format: Option<ReplayFormat>,
) -> Result<Vec<(ReplayFormat, Option<&str>)>, ApplyConflict> {
    if files.is_empty() {
        return Ok(vec![(format.unwrap_or(ReplayFormat::Text), None)]);
    }
    let of = |file: &String| {
        form_of_extension(file)
            .or(format)
            .ok_or_else(|| ApplyConflict::NoFormat { file: file.as_str().into() })
    };
    files.iter().map(|file| Ok((of(file)?, Some(file.as_str())))).collect()
}

fn shown(all: &Replayed, format: ReplayFormat) -> String {
    match format {
        ReplayFormat::Text => formats::text(all),
        ReplayFormat::Json => formats::json(all),
        ReplayFormat::Html => formats::html(all),
    }
}

/// The objects that policies look up.
fn objects(args: &ReplayArgs) -> Result<Arc<Objects>, CommandError> {
    let mut objects = Vec::new();
    for path in fields(&args.data) {
        let loaded = files::served_data(&path);
        if let Some(notice) = loaded.notices.first() {
            return Err(CommandError::Data { text: notice.to_string().into() });
        }
        for source in &loaded.sources {
            let read = ephor_document::resources(
                &source.name,
                &source.text,
                ResourceOptions { float_numbers: false },
            )
            .map_err(|e| CommandError::Data { text: format!("{}:{}: {e}", source.name, e.line).into() })?;
            objects.extend(read.into_iter().map(|document| document.value));
        }
    }
    let facts = ClusterFacts::of_release(args.kubernetes.unwrap_or_default(), &objects, None);
    Ok(Arc::new(Objects::with(objects, facts)))
}

/// Policies that answer requests of logs.
fn replayer(
    paths: &[String],
    objects: &Arc<Objects>,
    args: &ReplayArgs,
    notes: &mut Vec<String>,
) -> Result<Replayer, CommandError> {
    requirements::fetch(paths)?;
    paths.iter().try_for_each(|path| policy_files::exists(path))?;
    let sources = files::served_policies(paths);
    let unread = |cause: FileCause| matches!(cause, FileCause::Missing | FileCause::Unreadable);
    if let Some(notice) = sources.notices.iter().find(|notice| unread(notice.cause)) {
        return Err(CommandError::Data { text: notice.to_string().into() });
    }
    let loaded = load::argument_for(&sources.sources, Reader::Server(args.kubernetes.unwrap_or_default()));
    let problems = loaded.problems.iter().filter(|problem| !problem.foreign);
    notes.extend(problems.map(ToString::to_string));
    let data: Arc<dyn ExternalData> = objects.clone();
    let policies = Replayer::new(loaded, &data);
    if let Some(broken) = policies.broken().find(|broken| broken.fail_closed) {
        return Err(CommandError::Data { text: broken.to_string().into() });
    }
    if policies.usable() == 0 {
        return Err(CommandError::Data { text: format!("{}: there is no policy", paths.join(", ")).into() });
    }
    notes.extend(policies.broken().map(ToString::to_string));
    // There is no cluster next to a log.
    let needs = policies.unmet_needs().into_iter();
    notes.extend(needs.map(|need| {
        need.replace(
            "which the server does not know: give --data or --cluster",
            "which no file of --data has",
        )
    }));
    notes.sort();
    notes.dedup();
    Ok(policies)
}

/// Replays all logs, one after the other.
fn replayed(
    logs: &[String],
    policies: &Replayer,
    others: Option<&Replayer>,
    all: &mut Replayed,
) -> Result<(), CommandError> {
    let mut reader = LogReader::default();
    for path in logs.iter().map(|log| files_of(log)).collect::<Result<Vec<_>, _>>()?.concat() {
        let origin = if path == "-" { Origin::Stdin } else { Origin::File(PathBuf::from(&path)) };
        let input = Input { name: path.clone(), origin };
        let broken = |cause| LogError::Bytes { file: path.as_str().into(), line: 1, cause };
        let mut texts = input.texts(&Arc::new(AtomicU64::new(0))).map_err(broken)?;
        while let Some(text) = texts.next_text().map_err(broken)? {
            all.logs.push(text.name.clone());
            let log = OpenLog::new(&text.name, BufReader::with_capacity(1 << 20, text.bytes));
            replay(&mut reader, log, policies, others, all)?;
        }
    }
    Ok(())
}

/// The logs of an argument: of a folder its files, by name.
fn files_of(argument: &str) -> Result<Vec<String>, CommandError> {
    let path = Path::new(argument);
    let failed = |cause: std::io::Error| CommandError::Data { text: format!("{argument}: {cause}").into() };
    if argument == "-" || !path.is_dir() {
        return Ok(vec![argument.into()]);
    }
    let mut all = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_file() {
            all.push(entry.path().to_string_lossy().into_owned());
        }
    }
    all.sort();
    Ok(all)
}
