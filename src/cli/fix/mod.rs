//! `ephor fix`: repairs tests and policies with deprecated syntax.
//!
//! Only `--save` writes; what a file loses is a warning. Texts on standard output are Kyverno
//! 1.19.1's.
//!
//! - `output`: repaired files: how they are written, and what is reported of them.
//! - `policies`: `ephor fix policy`: repairs policies with deprecated syntax.

mod output;
mod policies;

use std::path::Path;

use ephor_document::Duplicates;
use ephor_testing::inputs::strict::InJson;
use ephor_testing::testing::find::find;
use ephor_testing::testing::repair::{self as repair_test, Repaired};
use ephor_value::Value;

use super::usage::Usage;
use super::{CommandError, help};
use crate::cli::console::{print, warn};
use crate::cli::fix::output::{save, warnings, yaml_of};
use crate::cli::help::Commands;
use crate::cli::program_name::{is_kyverno, program};

/// Repairs files with deprecated syntax
#[derive(Debug, clap::Args)]
pub struct FixArgs {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Policy(Policies),
    Test(Tests),
}

/// Repairs policies with deprecated syntax
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # see what would be repaired
  ephor fix policy policies/

  # repair; documents that need none stay as they are
  ephor fix policy policies/ --save")]
struct Policies {
    /// files and folders with policies
    #[arg(value_name = "POLICY", value_hint = clap::ValueHint::AnyPath)]
    policies: Vec<String>,
    /// in-place repair of the files
    #[arg(long)]
    save: bool,
}

/// Repairs test files with deprecated syntax
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # repair all tests below this folder
  ephor fix test . --save")]
struct Tests {
    /// folders with tests
    #[arg(value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    folders: Vec<String>,
    /// name of test files
    #[arg(long, short, value_name = "NAME", default_value = "kyverno-test.yaml")]
    file_name: String,
    /// in-place repair of the files
    #[arg(long)]
    save: bool,
    /// in-place rewrite of well-formed files, too
    #[arg(long)]
    force: bool,
    /// one result for results that differ in their resources alone
    #[arg(long)]
    compress: bool,
}

/// Runs the command.
///
/// # Errors
/// Bad arguments, a missing folder.
pub fn run(args: FixArgs, commands: Commands) -> Result<i32, CommandError> {
    let unrepaired = match args.what {
        None => {
            help::print(commands, &format!("{} fix", program()));
            return Ok(0);
        }
        Some(What::Policy(args)) => policies::run(&args.policies, args.save).map(|()| 0)?,
        Some(What::Test(args)) => tests(&args)?,
    };
    print("Done.\n");
    if unrepaired > 0 && !is_kyverno() {
        return Err(CommandError::NotRepaired { count: unrepaired });
    }
    Ok(0)
}

/// Repairs tests; returns how many documents it could not.
fn tests(args: &Tests) -> Result<usize, CommandError> {
    if args.folders.is_empty() {
        return Err(Usage::NoArguments.into());
    }
    if args.file_name.is_empty() {
        return Err(CommandError::NoFileName);
    }
    let found = find(&args.folders, &args.file_name, "").map_err(CommandError::input)?;
    let mut unrepaired = 0;
    for source in &found.sources {
        let mut texts = Vec::new();
        let mut repaired_any = false;
        let documents = ephor_document::parse_stream(&source.name, &source.text, Duplicates::Error);
        for document in documents? {
            print(&format!("Processing test file ({})...\n", source.name));
            let base = Path::new(&source.name).file_name().map(|n| n.to_string_lossy().into_owned());
            let repaired =
                document.map_err(|e| format!("error converting YAML to JSON: {e}")).and_then(|d| {
                    let repaired = repair_test::test(&d.value, &base.unwrap_or_default(), args.compress);
                    repaired.map_err(|error| error.to_string())
                });
            match repaired {
                Ok(repaired) => {
                    warnings("  ", &repaired.warnings);
                    auxiliary(&source.name, &repaired.value, args);
                    repaired_any |= !repaired.warnings.is_empty();
                    texts.push(yaml_of(&repaired.value));
                    print("\n");
                }
                Err(e) => {
                    print(&format!("  ERROR: loading test file ({}): {e}\n", source.name));
                    unrepaired += 1;
                }
            }
        }
        let whole = texts.len() == document_count(&source.text);
        if args.save && !texts.is_empty() && (repaired_any || args.force) {
            if whole {
                save("test ", &source.name, &texts.join("---\n"));
                lost_comments(&source.name, &source.text);
            } else {
                warn(&format!("{}: not saved: a document of it would be lost", source.name));
            }
        }
    }
    Ok(unrepaired)
}

fn document_count(text: &str) -> usize {
    ephor_document::split::split(text).map_or(0, |parts| parts.len())
}

/// Says how many comments of a text are not in the file that was printed anew.
fn lost_comments(path: &str, text: &str) {
    match ephor_document::comments::comments(text).len() {
        0 => {}
        1 => warn(&format!("{path}: 1 comment is not in the repaired file")),
        n => warn(&format!("{path}: {n} comments are not in the repaired file")),
    }
}

/// Repairs the files that a test names.
fn auxiliary(test: &str, value: &Value, args: &Tests) {
    type Repair = fn(&Value) -> Result<Repaired, InJson>;
    let files: [(&str, &str, &str, Repair); 2] = [
        ("userinfo", "user info", "user info", repair_test::user_info),
        ("variables", "values", "values", repair_test::values),
    ];
    for (key, what, error, repair) in files {
        let named = value.text_at(&[key]);
        if named.is_empty() {
            continue;
        }
        let path = Path::new(test).parent().unwrap_or(Path::new("")).join(named);
        let path = ephor_testing::testing::file::clean(&path);
        print(&format!("  Processing {what} file ({named})...\n"));
        let mut written = String::new();
        let repaired = ephor_testing::inputs::read(&path)
            .map_err(|error| error.to_string())
            .and_then(|text| {
                let value = ephor_document::yaml_value_strict(&text).map_err(|e| e.to_string());
                written = text;
                value
            })
            .and_then(|document| repair(&document).map_err(|error| error.to_string()));
        match repaired {
            Err(e) => print(&format!("    ERROR: failed to load {error}: {e}\n")),
            Ok(repaired) => {
                warnings("  ", &repaired.warnings);
                if args.save && (!repaired.warnings.is_empty() || args.force) {
                    save(&format!("{what} "), &path, &yaml_of(&repaired.value));
                    lost_comments(&path, &written);
                }
            }
        }
    }
}
