//! Flags of `apply` that are missing or exclude each other.

/// Flags of `apply` that are missing or exclude each other; those that Kyverno has, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyConflict {
    /// It is not known which files changed.
    #[error(transparent)]
    Changed(#[from] ephor_sources::files::changed::ChangedError),
    /// Values in a file and as flags.
    #[error("pass the values either using set flag or values_file flag")]
    Values,
    /// No policy.
    #[error("require policy")]
    NoPolicy,
    /// Standard input is to be both.
    #[error("a stdin pipe can be used for either policies or resources, not both")]
    StandardInput,
    /// Resources and payloads.
    #[error("both resource and json files can not be used together, use one or the other")]
    Payloads,
    /// A part of what is not divided.
    #[error("--shard divides objects, not payloads\nhelp: evaluate the payloads in a run of their own")]
    ShardOfPayloads,
    /// Neither resources nor a cluster.
    #[error("resource file(s) or cluster required")]
    NoResource,
    /// Definitions in files and in a cluster.
    #[error("crd-paths and kubeconfig flags are mutually exclusive, please use only one of them")]
    Definitions,
    /// A baseline without a file.
    #[error("{flag} needs a file\nhelp: name it with `--baseline FILE`")]
    NoBaseline {
        /// The flag that needs one.
        flag: &'static str,
    },
    /// A baseline that is written, and changed.
    #[error(
        "--write-baseline writes a new baseline, --prune-baseline changes one\nhelp: leave out one of them"
    )]
    TwoBaselines,
    /// Reports of Kyverno without passed results.
    #[error(
        "--only-failures does not change the reports of Kyverno\nhelp: add `--output-format json`, without --policy-report and --generate-exceptions"
    )]
    FailuresOfReport,
    /// A list in a document of another program.
    #[error("--deletions prints text, which no other format can hold\nhelp: leave out --output-format")]
    DeletionsInDocument,
    /// The flag of another file.
    #[error(
        "--output names the file of changed objects, not that of the report\nhelp: write the report with `--report-file {target}`"
    )]
    OutputOfReport {
        /// The value of `--output`.
        target: String,
    },
    /// A file of YAML without a report of Kyverno.
    #[error(
        "no format is known for `{file}`: results as YAML are reports of Kyverno\nhelp: add --policy-report, or name a format with --output-format, for example `--output-format json`"
    )]
    YamlOfResults {
        /// The file.
        file: String,
    },
    /// Two files for two of Kyverno's documents, of which a run renders one.
    #[error(
        "{first} and {second} would hold two forms of Kyverno's documents\nhelp: run twice, or name one of them"
    )]
    TwoDocuments {
        /// The first file.
        first: String,
        /// The second one.
        second: String,
    },
    /// A file whose name has no format.
    #[error(
        "no format is known for `{file}`\nhelp: name one with --output-format, for example `--output-format sarif`"
    )]
    NoFormat {
        /// The file.
        file: String,
    },
}
