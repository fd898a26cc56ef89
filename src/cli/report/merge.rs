//! `ephor report merge`: one report of the results of shards.
//!
//! In: files that `ephor apply --output-format jsonl` wrote, one for each shard of a run. Out: the
//! report that one run on all objects would have written, and its exit code. Semantics:
//! `docs/reference/formats.md`, "JSON lines".

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::ValueHint;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ephor_report::formats::{Format, WriteError};
use ephor_report::run::Run;
use ephor_report::shards::{self, ShardFile, ShardsError};

use crate::cli::CommandError;
use crate::cli::arguments::ConsoleFlags;
use crate::cli::console::{self, StandardOutput};
use crate::cli::outputs::{self, absolute, write_with};
use crate::cli::report_file::report_file;

/// How the files of a folder end.
const EXTENSION: &str = "jsonl";

/// Exit code where results cannot be merged.
const CANNOT_MERGE: i32 = 2;

/// Merges the results of shards into one report
///
/// The files are those of `ephor apply --shard I/N --output-format jsonl`, one for each of the N
/// shards. The report is the one that a run on all objects would have written; so are the results
/// of a single run (without --shard) written in another format.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # on two machines
  ephor apply policies/ -r dump.json --shard 1/2 --report-file 1.jsonl
  ephor apply policies/ -r dump.json --shard 2/2 --report-file 2.jsonl

  # then
  ephor report merge 1.jsonl 2.jsonl --report-file report.html

Exit codes:
  0  no failure and no error; with --if-complete also when a shard is missing
  1  a failure or an error that counted in one of the runs
  2  a file is no whole file of results, or the files are not those of all shards of one run")]
pub struct MergeArgs {
    /// files with results, or folders with such files (`*.jsonl`)
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath, required = true)]
    files: Vec<String>,
    /// format of the report
    #[arg(long, short = 'o', alias = "output", value_name = "FORMAT", value_parser = formats())]
    output_format: Option<Format>,
    /// file for the report, in --output-format, else in the format of its extension; several times
    /// for several reports
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    report_file: Vec<String>,
    /// nothing is done, with exit code 0, while results of shards are missing
    #[arg(long)]
    if_complete: bool,
    /// exit code 0 also when there are failures and errors
    #[arg(long)]
    exit_zero: bool,
    #[command(flatten)]
    console: ConsoleFlags,
}

/// The names of formats.
fn formats() -> impl TypedValueParser<Value = Format> {
    let names = PossibleValuesParser::new(Format::ALL.iter().map(|(name, _)| *name));
    names.try_map(|name| Format::of(&name).ok_or("no format"))
}

/// Runs the command; the result is the exit code.
///
/// # Errors
/// A folder cannot be read, or the report cannot be written.
pub fn run(args: &MergeArgs) -> Result<i32, CommandError> {
    args.console.apply();
    let outputs = planned(args)?;
    let merged = match merged(args) {
        Ok(Some(run)) => run,
        Ok(None) => return Ok(0),
        Err(CommandError::Shards(error)) => {
            console::error(&format!("Error: {error}\n"));
            return Ok(CANNOT_MERGE);
        }
        Err(error) => return Err(error),
    };
    for (format, file) in &outputs {
        let left_out = write_with(file, |out| format.write(&merged, false, out))?;
        left_out.iter().for_each(|text| console::warn(text));
    }
    if outputs.is_empty() {
        let left_out = print(&merged, args.output_format.unwrap_or(Format::Text))?;
        left_out.iter().for_each(|text| console::warn(text));
    }
    Ok(i32::from(merged.fails && !args.exit_zero))
}

/// The files to write, with their formats.
///
/// # Errors
/// A file has no format, two are the same, or one is read as well.
fn planned(args: &MergeArgs) -> Result<Vec<(Format, String)>, CommandError> {
    let named = args.report_file.iter().map(|file| report_file(args.output_format, &Some(file.clone())));
    let outputs: Vec<(Format, String)> = named.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    outputs::distinct(outputs.iter().map(|(_, file)| ("--report-file", file.as_str())))?;
    let read: Vec<PathBuf> = paths(&args.files)?.iter().map(|path| absolute(path)).collect();
    match outputs.iter().find(|(_, file)| read.contains(&absolute(Path::new(file)))) {
        Some((_, file)) => Err(CommandError::OverwritesInput {
            path: file.clone(),
            input: "a file of results",
            flag: "--report-file",
        }),
        None => Ok(outputs),
    }
}

fn print(run: &Run, format: Format) -> Result<Option<String>, CommandError> {
    let mut out = StandardOutput::lock();
    let left_out: Result<_, WriteError> = format.write(run, console::shows_colours(), &mut out);
    let left_out = left_out?;
    out.finish()?;
    Ok(left_out)
}

/// The run of all files; none where it is to wait for others.
fn merged(args: &MergeArgs) -> Result<Option<Run>, CommandError> {
    let mut files = Vec::new();
    for path in paths(&args.files)? {
        let name = path.display().to_string();
        let file = File::open(&path).map_err(|cause| ShardsError::Read { file: name.clone(), cause })?;
        files.push(ShardFile::open(name, BufReader::with_capacity(1 << 16, file))?);
    }
    let waiting = match shards::missing(&files) {
        None if args.if_complete => Some("there are no results yet".to_string()),
        None => {
            let folder = args.files.join(", ");
            return Err(ShardsError::NoFile { folder }.into());
        }
        Some((missing, of)) if args.if_complete && !missing.is_empty() => {
            Some(format!("results of {} of {of} shards are missing", missing.len()))
        }
        Some(_) => None,
    };
    if let Some(text) = waiting {
        console::error(&format!("{text}: nothing is merged\n"));
        return Ok(None);
    }
    let run = shards::merge(files)?;
    Ok(Some(run))
}

/// The files that arguments name: files as they are, of folders those with results, by name.
fn paths(arguments: &[String]) -> Result<Vec<PathBuf>, CommandError> {
    let mut all = Vec::new();
    for argument in arguments {
        let path = Path::new(argument);
        if !path.is_dir() {
            all.push(path.to_path_buf());
            continue;
        }
        let failed = |cause| CommandError::from(ShardsError::Read { file: argument.clone(), cause });
        let mut found = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                found.push(path);
            }
        }
        found.sort();
        all.extend(found);
    }
    Ok(all)
}
