//! `ephor report OLD NEW`: what is new, and what is fixed.
//!
//! In: the results of runs, the oldest first. Out: a comparison as text, JSON, Markdown or a page,
//! and exit code 1 where a violation is new since the first run.

use std::fs::File;

use clap::{ValueEnum, ValueHint};
use ephor_report::compared::{ComparedError, ComparedRun, Comparison};
use ephor_report::compared_formats as formats;

use crate::cli::apply::conflict::ApplyConflict;
use crate::cli::arguments::{ConsoleFlags, given};
use crate::cli::outputs::write_whole;
use crate::cli::report_file::form_of_extension;
use crate::cli::{CommandError, console};

/// Exit code where results cannot be compared.
const CANNOT_COMPARE: i32 = 2;

/// Files with results, and how their comparison is shown.
#[derive(Debug, clap::Args)]
pub struct CompareArgs {
    /// files with the results of runs, the oldest first
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    files: Vec<String>,
    /// form of the comparison
    #[arg(long, short = 'o', alias = "output", value_name = "FORMAT")]
    output_format: Option<CompareFormat>,
    /// file for the comparison, in --output-format, else in the format of its extension
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    report_file: Option<String>,
    #[command(flatten)]
    console: ConsoleFlags,
}

/// The forms of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CompareFormat {
    /// Lines for people
    Text,
    /// An object
    Json,
    /// Tables for comments
    Markdown,
    /// A page
    Html,
}

/// Runs the command; the result is the exit code.
///
/// # Errors
/// The comparison cannot be written.
pub fn run(args: &CompareArgs) -> Result<i32, CommandError> {
    args.console.apply();
    let all = match compared(&args.files) {
        Ok(all) => all,
        Err(error) => {
            console::error(&format!("Error: {error}\n"));
            return Ok(CANNOT_COMPARE);
        }
    };
    let code = i32::from(!all.whole().new.is_empty());
    let Some(file) = given(&args.report_file) else {
        console::print(&shown(&all, args.output_format.unwrap_or(CompareFormat::Text)));
        return Ok(code);
    };
    let Some(format) = args.output_format.or_else(|| form_of_extension(file)) else {
        return Err(ApplyConflict::NoFormat { file: file.into() }.into());
    };
    write_whole(file, shown(&all, format))?;
    Ok(code)
}

fn shown(all: &Comparison, format: CompareFormat) -> String {
    match format {
        CompareFormat::Text => formats::text(all),
        CompareFormat::Json => formats::json(all),
        CompareFormat::Markdown => formats::markdown(all),
        CompareFormat::Html => formats::html(all),
    }
}

fn compared(files: &[String]) -> Result<Comparison, CommandError> {
    if files.len() < 2 {
        return Err(CommandError::TooFewRuns);
    }
    let mut all = Comparison::default();
    for name in files {
        let failed =
            |cause: std::io::Error| ComparedError::NoResults { file: name.clone(), cause: cause.to_string() };
        let file = File::open(name).map_err(failed)?;
        all.runs.push(ComparedRun::read(name, file)?);
    }
    Ok(all)
}
