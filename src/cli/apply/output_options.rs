//! What `apply` prints, where, and what of it counts: all flags about output, read in one place.
//!
//! In: parsed flags, and where the program runs. Out: [`OutputOptions`], or an error with a hint
//! for flags that exclude each other. Kyverno's flags select Kyverno's outputs, byte for byte; our
//! own formats are selected by name, and on a terminal the text format is the default
//! (`docs/reference/formats.md`).

use std::io::IsTerminal;
use std::sync::Arc;

use ephor_report::formats::Format;
use ephor_report::run::Severity;
use ephor_sources::files::changed::ChangedFiles;

use super::options::{ApplyArgs, Colour, InputFlags, OutputFlags};
use crate::cli::apply::conflict::ApplyConflict;
use crate::cli::apply::output::ApplyOutput;
use crate::cli::arguments::{Global, given};
use crate::cli::report_file::{extension, format_of_extension};
use crate::cli::{console, program_name};

/// Where the program runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutputContext {
    /// Standard output is a terminal.
    pub is_terminal: bool,
    /// The program was called by Kyverno's name.
    pub is_kyverno: bool,
    /// Whether the environment switches colours on or off (`NO_COLOR`, `FORCE_COLOR`,
    /// `CLICOLOR_FORCE`, `TERM`).
    pub colour: Option<bool>,
}

impl OutputContext {
    /// Those of this process.
    pub(super) fn here() -> OutputContext {
        OutputContext {
            is_terminal: std::io::stdout().is_terminal(),
            is_kyverno: program_name::program() == "kyverno",
            colour: console::colour_of_environment(),
        }
    }
}

/// The choices about output.
#[derive(Clone, Debug)]
pub(in crate::cli) struct OutputOptions {
    /// What is printed.
    pub output: ApplyOutput,
    /// The files of reports, and what each holds: one of our formats, or a document of Kyverno.
    pub report_files: Vec<(ApplyOutput, String)>,
    /// Whether standard output has colours.
    pub colour: bool,
    /// Whether tables have a coloured header; Kyverno's have one in pipes too.
    pub colour_of_header: bool,
    /// Only violations are shown.
    pub only_failures: bool,
    /// Nothing but errors goes to standard error.
    pub quiet: bool,
    /// All of what is summed up is listed.
    pub verbose: bool,
    /// What cannot be used ends in exit code 2.
    pub strict: bool,
    /// Folders are read with those below them.
    pub recursive: bool,
    /// Patterns of what is left out of folders.
    pub exclude: Vec<String>,
    /// Charts and kustomizations are rendered.
    pub renders: bool,
    /// Only files that changed count.
    pub changed: Option<Arc<ChangedFiles>>,
    /// The least severity of failures that count for the exit code.
    pub fail_on: Option<Severity>,
    /// The file of known violations.
    pub baseline: Option<String>,
    /// The baseline is written instead of read.
    pub writes_baseline: bool,
    /// Violations that do not come up are taken out of the baseline.
    pub prunes_baseline: bool,
    /// Whether errors and texts are Kyverno's where there is a choice.
    pub is_kyverno: bool,
}

impl OutputOptions {
    /// Reads the flags.
    ///
    /// # Errors
    /// Flags that exclude each other.
    pub(super) fn read(
        args: &ApplyArgs,
        global: &Global,
        at: OutputContext,
    ) -> Result<OutputOptions, ApplyConflict> {
        let (flags, exit) = (&args.output, &args.exit);
        let colour = match flags.color {
            _ if flags.remove_color => Some(false),
            Colour::Always => Some(true),
            Colour::Never => Some(false),
            Colour::Auto => None,
        };
        let by_environment = at.colour.filter(|on| !*on || !at.is_kyverno);
        let options = OutputOptions {
            output: output(flags, at),
            report_files: files_of(flags)?,
            colour: colour.or(by_environment).unwrap_or(at.is_terminal),
            colour_of_header: colour != Some(false),
            only_failures: flags.only_failures,
            quiet: flags.quiet,
            verbose: global.is_verbose(),
            strict: exit.strict,
            recursive: args.input.recursive,
            exclude: args.input.exclude.clone(),
            renders: args.input.render,
            changed: args.input.changed()?,
            fail_on: exit.fail_on,
            baseline: given(&exit.baseline).map(String::from),
            writes_baseline: exit.write_baseline,
            prunes_baseline: exit.prune_baseline,
            is_kyverno: at.is_kyverno,
        };
        options.check(flags)?;
        // What is in a file is not printed as well: the run is shown as text.
        Ok(if options.document_in_file().is_some() {
            OutputOptions { output: ApplyOutput::Own(Format::Text), ..options }
        } else {
            options
        })
    }

    /// Those of a command that explains what `apply` decides.
    pub(in crate::cli) fn of_explanation(input: &InputFlags, verbose: bool, colour: bool) -> OutputOptions {
        OutputOptions {
            output: ApplyOutput::Own(Format::Text),
            report_files: Vec::new(),
            colour,
            colour_of_header: colour,
            only_failures: false,
            quiet: false,
            verbose,
            strict: false,
            recursive: input.recursive,
            exclude: input.exclude.clone(),
            renders: input.render,
            changed: None,
            fail_on: None,
            baseline: None,
            writes_baseline: false,
            prunes_baseline: false,
            is_kyverno: false,
        }
    }

    fn check(&self, flags: &OutputFlags) -> Result<(), ApplyConflict> {
        match self.baseline {
            None if self.writes_baseline => {
                return Err(ApplyConflict::NoBaseline { flag: "--write-baseline" });
            }
            None if self.prunes_baseline => {
                return Err(ApplyConflict::NoBaseline { flag: "--prune-baseline" });
            }
            Some(_) if self.writes_baseline && self.prunes_baseline => {
                return Err(ApplyConflict::TwoBaselines);
            }
            _ => {}
        }
        if self.only_failures && self.output.is_document_of_kyverno() {
            return Err(ApplyConflict::FailuresOfReport);
        }
        let is_document = matches!(self.output, ApplyOutput::Own(format) if format != Format::Text);
        if is_document && flags.deletions {
            return Err(ApplyConflict::DeletionsInDocument);
        }
        let target = given(&flags.output).unwrap_or_default();
        if (self.is_own() || !self.report_files.is_empty()) && format_of_extension(target).is_some() {
            return Err(ApplyConflict::OutputOfReport { target: target.into() });
        }
        let mut documents = self.report_files.iter().filter(|(output, _)| output.is_document_of_kyverno());
        let first = documents.next();
        match documents.find(|(output, _)| first.is_some_and(|(first, _)| first != output)) {
            Some((_, second)) => {
                let first = first.map(|(_, file)| file.clone()).unwrap_or_default();
                Err(ApplyConflict::TwoDocuments { first, second: second.clone() })
            }
            None => Ok(()),
        }
    }

    /// The document of Kyverno that a file holds.
    fn document_in_file(&self) -> Option<ApplyOutput> {
        self.report_files.iter().map(|(output, _)| *output).find(|output| output.is_document_of_kyverno())
    }

    /// Whether the output is one of our own, so that standard output holds nothing else.
    pub(super) fn is_own(&self) -> bool {
        matches!(self.output, ApplyOutput::Own(_))
    }

    /// What is rendered of each resource: what the file of the report holds where that is a
    /// document of Kyverno, else what is printed.
    pub(super) fn rendered(&self) -> ApplyOutput {
        self.document_in_file().unwrap_or(self.output)
    }

    /// Whether this format is printed, or written to the file of the report.
    pub(super) fn writes(&self, format: Format) -> bool {
        let files = self.report_files.iter().map(|(output, _)| *output);
        files.chain([self.output]).any(|output| output == ApplyOutput::Own(format))
    }

    /// Whether violations are needed with everything that is known of them.
    pub(super) fn needs_findings(&self) -> bool {
        self.is_own() || !self.report_files.is_empty() || self.baseline.is_some() || self.fail_on.is_some()
    }

    /// Whether documents that are no objects are left out instead of ending the run.
    pub(super) fn skips_others(&self) -> bool {
        !self.is_kyverno && (self.is_own() || self.recursive || self.renders || self.changed.is_some())
    }
}

/// The selected output.
fn output(flags: &OutputFlags, at: OutputContext) -> ApplyOutput {
    let (report, exceptions) = (flags.policy_report, flags.generate_exceptions);
    let format = flags.output_format.0;
    // Kyverno has none but its own; JSON is Kyverno's where Kyverno has some.
    let own = format.filter(|format| !at.is_kyverno && (*format != Format::Json || !(report || exceptions)));
    match own {
        Some(format) if report || !exceptions => ApplyOutput::Own(format),
        _ if report && format == Some(Format::Json) => ApplyOutput::ReportJson,
        _ if report => ApplyOutput::ReportYaml,
        _ if exceptions && format == Some(Format::Json) => ApplyOutput::ExceptionsJson,
        _ if exceptions => ApplyOutput::ExceptionsYaml,
        _ if flags.table => ApplyOutput::Table,
        _ if at.is_kyverno || flags.detailed_results || flags.stdin => ApplyOutput::Plain,
        _ if flags.configured.is_some() => flags.configured.map_or(ApplyOutput::Plain, ApplyOutput::Own),
        // A run whose report is in a file looks the same in a terminal and in a pipe.
        _ if at.is_terminal || !flags.report_file.is_empty() => ApplyOutput::Own(Format::Text),
        _ => ApplyOutput::Plain,
    }
}

/// The files of reports, and what each holds. Reports and exceptions of Kyverno are YAML, unless
/// JSON is selected or the file is named so.
///
/// # Errors
/// Neither a flag nor the name of a file names a format.
fn files_of(flags: &OutputFlags) -> Result<Vec<(ApplyOutput, String)>, ApplyConflict> {
    let named = flags.report_file.iter().filter(|file| !file.is_empty());
    named.map(|file| file_of(flags, file)).collect()
}

fn file_of(flags: &OutputFlags, file: &str) -> Result<(ApplyOutput, String), ApplyConflict> {
    let is_yaml = matches!(extension(file), Some("yaml" | "yml"));
    // Of several files each has the format of its name, where that has one.
    let is_alone = flags.report_file.len() == 1;
    let by_name = if is_yaml { None } else { format_of_extension(file) };
    let format = match flags.output_format.0 {
        Some(format) if is_alone || (by_name.is_none() && !is_yaml) => Some(format),
        _ => by_name,
    };
    let output = match format {
        None if flags.policy_report => ApplyOutput::ReportYaml,
        Some(Format::Json) if flags.policy_report => ApplyOutput::ReportJson,
        None if flags.generate_exceptions => ApplyOutput::ExceptionsYaml,
        Some(Format::Json) if flags.generate_exceptions => ApplyOutput::ExceptionsJson,
        Some(format) => ApplyOutput::Own(format),
        None if is_yaml => return Err(ApplyConflict::YamlOfResults { file: file.into() }),
        None => return Err(ApplyConflict::NoFormat { file: file.into() }),
    };
    Ok((output, file.into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Apply {
        #[command(flatten)]
        args: ApplyArgs,
        #[command(flatten)]
        global: Global,
    }

    fn options(arguments: &str, at: OutputContext) -> Result<OutputOptions, ApplyConflict> {
        let Apply { args, global } =
            Apply::parse_from(["apply"].into_iter().chain(arguments.split_whitespace()));
        OutputOptions::read(&args, &global, at)
    }

    const TERMINAL: OutputContext = OutputContext { is_terminal: true, is_kyverno: false, colour: None };
    const PIPE: OutputContext = OutputContext { is_terminal: false, is_kyverno: false, colour: None };
    const KYVERNO: OutputContext = OutputContext { is_terminal: true, is_kyverno: true, colour: None };

    #[test]
    fn text_is_the_default_on_a_terminal_unless_kyverno_is_meant() {
        let output = |arguments, at| options(arguments, at).unwrap().output;
        assert_eq!(output("", TERMINAL), ApplyOutput::Own(Format::Text));
        assert_eq!(output("", PIPE), ApplyOutput::Plain);
        assert_eq!(output("", KYVERNO), ApplyOutput::Plain);
        for (flag, expected) in [
            ("-t", ApplyOutput::Table),
            ("-p", ApplyOutput::ReportYaml),
            ("-p --output-format json", ApplyOutput::ReportJson),
            ("--generate-exceptions", ApplyOutput::ExceptionsYaml),
            ("-i", ApplyOutput::Plain),
            ("--detailed-results", ApplyOutput::Plain),
        ] {
            assert_eq!(output(flag, TERMINAL), expected, "{flag}");
        }
        assert_eq!(output("--output-format json", PIPE), ApplyOutput::Own(Format::Json));
        assert_eq!(output("--output-format json", KYVERNO), ApplyOutput::Plain);
        assert_eq!(output("-p --output-format sarif", PIPE), ApplyOutput::Own(Format::Sarif));
    }

    #[test]
    fn flags_decide_about_colours_before_the_environment_and_that_before_the_terminal() {
        let forced = OutputContext { colour: Some(true), ..PIPE };
        let colour = |arguments, at| options(arguments, at).unwrap().colour;
        assert!(colour("", TERMINAL) && colour("", forced) && colour("--color always", PIPE));
        assert!(!colour("", PIPE) && !colour("--color never", forced) && !colour("--remove-color", TERMINAL));
        assert!(!colour("", OutputContext { colour: Some(false), ..TERMINAL }));
        // Kyverno knows only how to switch them off.
        assert!(!colour("", OutputContext { is_kyverno: true, ..forced }));
    }

    #[test]
    fn flags_that_exclude_each_other_are_errors_with_a_hint() {
        let error = |arguments| options(arguments, PIPE).unwrap_err().to_string();
        assert!(error("--output-format sarif -o r.sarif").contains("--report-file r.sarif"));
        assert!(error("--report-file r.dat").contains("--output-format"));
        assert!(error("--report-file r.yaml").contains("add --policy-report"));
        assert!(error("--write-baseline").contains("--baseline FILE"));
        assert!(error("--prune-baseline").contains("--baseline FILE"));
        assert!(error("--baseline b --write-baseline --prune-baseline").contains("leave out"));
        assert!(error("-p --only-failures").contains("--output-format json"));
        assert!(error("--output-format html --deletions").contains("leave out"));
        assert!(error("-p --report-file r.yaml --report-file r.json").contains("r.json"));
        let files = |arguments| options(arguments, PIPE).unwrap().report_files;
        assert_eq!(files("--report-file r.xml"), [(ApplyOutput::Own(Format::Junit), "r.xml".into())]);
        assert_eq!(
            files("--report-file r.json --output-format sarif"),
            [(ApplyOutput::Own(Format::Sarif), "r.json".into())]
        );
    }

    #[test]
    fn several_files_have_the_formats_of_their_names_each() {
        let files = |arguments| {
            let options = options(arguments, PIPE).unwrap();
            assert_eq!(options.output, ApplyOutput::Own(Format::Text), "{arguments}");
            options.report_files.into_iter().map(|(output, _)| output).collect::<Vec<_>>()
        };
        let own =
            |formats: &[Format]| formats.iter().map(|format| ApplyOutput::Own(*format)).collect::<Vec<_>>();
        let two = "--report-file r.sarif --report-file gl-code-quality-report.json";
        assert_eq!(files(two), own(&[Format::Sarif, Format::Gitlab]));
        let named = "--report-file a.html --report-file b.dat --output-format junit";
        // What is printed is the format that is named.
        let named = options(named, PIPE).unwrap().report_files;
        assert_eq!(
            named.into_iter().map(|(output, _)| output).collect::<Vec<_>>(),
            own(&[Format::Html, Format::Junit])
        );
    }

    #[test]
    fn a_file_holds_reports_of_kyverno_where_these_are_selected_and_the_run_is_shown_as_text() {
        let of = |arguments| {
            let options = options(arguments, PIPE).unwrap();
            (options.report_files.first().map(|(output, _)| *output).unwrap(), options.output)
        };
        let text = ApplyOutput::Own(Format::Text);
        for (arguments, expected) in [
            ("-p --report-file r.yaml", ApplyOutput::ReportYaml),
            ("-p --report-file r.yml --output-format yaml", ApplyOutput::ReportYaml),
            ("-p --report-file r", ApplyOutput::ReportYaml),
            ("-p --report-file r.json", ApplyOutput::ReportJson),
            ("-p --report-file r.yaml --output-format json", ApplyOutput::ReportJson),
            ("--generate-exceptions --report-file r.yaml", ApplyOutput::ExceptionsYaml),
            ("--generate-exceptions --report-file r.json", ApplyOutput::ExceptionsJson),
        ] {
            assert_eq!(of(arguments), (expected, text), "{arguments}");
        }
        // Formats of our own are written in addition to what Kyverno prints.
        assert_eq!(
            of("-p --report-file r.sarif"),
            (ApplyOutput::Own(Format::Sarif), ApplyOutput::ReportYaml)
        );
        assert_eq!(of("-p --report-file r.json --output-format sarif").0, ApplyOutput::Own(Format::Sarif));
    }
}
