//! Why a command ends without a result.
//!
//! In: errors of the crates, and what a command finds wrong itself. Out: a [`CommandError`], which
//! the program prints as `Error: TEXT` on standard error, and its exit code. Where Kyverno 1.19.1
//! has a text for it, that is the text.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::config::file::ConfigError;
use ephor_report::compared::ComparedError;
use ephor_report::formats::WriteError;
use ephor_report::shards::ShardsError;
use ephor_report::spool::SpoolError;
use ephor_search::Problem;
use ephor_sources::files::repository::PatternError;
use ephor_value::release::Release;

use super::apply::conflict::ApplyConflict;
use super::migrate::stored_error::StoredVersionError;
use super::serve::conflict::ServeConflict;
use super::usage::Usage;

/// The error of a crate, whose text is shown.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a command ends without a result.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The command line cannot be run.
    #[error(transparent)]
    Usage(#[from] Usage),
    /// Flags of `apply` that are missing or exclude each other.
    #[error(transparent)]
    Apply(#[from] ApplyConflict),
    /// Flags of `serve` that are missing or exclude each other.
    #[error(transparent)]
    Serve(#[from] ServeConflict),

    /// A recording cannot be written or read.
    #[error(transparent)]
    Recording(#[from] ephor_recording::RecordingError),

    /// `play` listens on loopback only.
    #[error("`{address}` is not on loopback: the page is for this machine, for example --address 127.0.0.1:{}", .address.port())]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// `play` cannot listen.
    #[error("cannot listen at {address}: {}", reason(.cause))]
    PlayAddress {
        /// The address.
        address: SocketAddr,
        /// Why not.
        cause: io::Error,
    },
    /// The program has no page.
    #[error(
        "this program was built without the page; `npm ci && npm run build -- --scripts` in the folder web/ builds it, and cargo then takes it into the program"
    )]
    NoPage,

    /// `cluster-check` cannot read its input.
    #[error(transparent)]
    ClusterCheck(Box<CommandError>),
    /// `diff` cannot compare: a side cannot be read or used.
    #[error(transparent)]
    Diff(Box<CommandError>),
    /// A file that maps old to new policies cannot be used.
    #[error("{path}: {cause}")]
    Mapping {
        /// The file.
        path: String,
        /// Why.
        cause: ephor_compare::MappingError,
    },
    /// A file with accepted differences cannot be used.
    #[error(transparent)]
    Ignored(#[from] ephor_compare::IgnoredError),
    /// A certificate cannot be written or read.
    #[error("{path}: {cause}")]
    Certificate {
        /// The file.
        path: String,
        /// Why.
        cause: ephor_compare::CertificateError,
    },
    /// A file cannot be migrated.
    #[error("{path}:{}: {cause}", cause.line)]
    Migrate {
        /// The file.
        path: String,
        /// Why.
        cause: ephor_document::split::SeparatorError,
    },
    /// Definitions of custom resources are not migrated.
    #[error(transparent)]
    Stored(#[from] StoredVersionError),
    /// `migrate` has neither a file nor a cluster.
    #[error("requires at least one file or folder, or --cluster")]
    NothingToMigrate,
    /// Only policies of Kyverno have a form in audit mode next to the old one.
    #[error("--shadow goes with --to vpol")]
    ShadowsOfKyverno,
    /// Only a run on resources explains an object.
    #[error("--object goes with --resource")]
    ObjectWithoutResources,
    /// Policies of a side of a comparison cannot be used.
    #[error(transparent)]
    Side(#[from] ephor_compare::SideError),
    /// An input of a run cannot be used, in Kyverno's words.
    #[error(transparent)]
    Input(Cause),
    /// A file cannot be read.
    #[error("{path}: {cause}")]
    File {
        /// The file.
        path: String,
        /// Why.
        cause: io::Error,
    },
    /// A file cannot be opened.
    #[error("failed open file {path}: open {path}: {}", reason(cause))]
    Open {
        /// The file.
        path: String,
        /// Why.
        cause: io::Error,
    },
    /// A file cannot be read after it has been opened.
    #[error("failed to read file {path}: read {path}: {}", reason(cause))]
    Read {
        /// The file.
        path: String,
        /// Why.
        cause: io::Error,
    },
    /// Standard input cannot be read.
    #[error("failed to read from stdin: {0}")]
    StandardInput(io::Error),
    /// A file or folder cannot be written.
    #[error("failed to write {path} ({cause})")]
    Write {
        /// The file.
        path: String,
        /// Why.
        cause: io::Error,
    },
    /// No policy has a name.
    #[error("no policy `{name}`{}", suggestion(meant))]
    NoPolicyOfName {
        /// The name.
        name: String,
        /// The one that was probably meant.
        meant: Option<String>,
    },
    /// No object has a name.
    #[error("no object `{object}`{}", suggestion(meant))]
    NoObjectOfName {
        /// Kind, namespace and name.
        object: String,
        /// The one that was probably meant.
        meant: Option<String>,
    },
    /// Documents that a repair could not read.
    #[error("{count} test file(s) or documents could not be repaired")]
    NotRepaired {
        /// How many.
        count: usize,
    },
    /// Two files that a command writes have one path.
    #[error(
        "`{}` would be written twice, of `{first}` and of `{second}`; nothing is written\nhelp: run the command once for each, or name another file",
        path.display()
    )]
    TwoOutputs {
        /// The path.
        path: PathBuf,
        /// What the first file is of.
        first: String,
        /// What the second one is of.
        second: String,
    },
    /// A file that a command reads would be overwritten before it is read.
    #[error(
        "`{path}` is {input} and would be overwritten by {flag}; nothing is written\nhelp: name another file with {flag}"
    )]
    OverwritesInput {
        /// The file.
        path: String,
        /// What it is read as.
        input: &'static str,
        /// The flag that names it.
        flag: &'static str,
    },
    /// There is no baseline.
    #[error(
        "cannot read the baseline `{path}`: {cause}\nhelp: write it with `--baseline {path} --write-baseline`"
    )]
    NoBaselineFile {
        /// The file.
        path: String,
        /// Why.
        cause: io::Error,
    },
    /// A file is no baseline.
    #[error("cannot read the baseline `{path}`: {cause}")]
    Baseline {
        /// The file.
        path: String,
        /// Why.
        cause: String,
    },
    /// The target of `--output` cannot be created.
    #[error("failed to create file/folder ({cause})")]
    Create {
        /// Why.
        cause: io::Error,
    },
    /// The target of `--output` cannot be emptied.
    #[error("failed to truncate the existing file at {path} ({cause})")]
    Truncate {
        /// The file.
        path: String,
        /// Why.
        cause: io::Error,
    },
    /// An object cannot be written to the target of `--output`.
    #[error("failed to write {}: {cause}", path.display())]
    Append {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The configuration of the repository cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A pattern of what is left out is none.
    #[error("{0}\nhelp: --exclude takes patterns as .gitignore has them")]
    Pattern(#[from] PatternError),
    /// A rule has looked up objects that its policy does not name.
    #[error(
        "a path that a rule calls leads to `{resource}`, since a value in it has a slash\nhelp: with --explain all objects are in memory"
    )]
    OtherLookup {
        /// The name of the resource.
        resource: String,
    },
    /// There is nothing to compare.
    #[error(
        "a comparison needs the results of two runs\nhelp: `ephor report OLD NEW`; `ephor report merge` merges shards"
    )]
    TooFewRuns,
    /// A log cannot be read.
    #[error(transparent)]
    AuditLog(#[from] ephor_audit::reading::LogError),
    /// Policies or objects that a command needs cannot be used.
    #[error("{text}")]
    Data {
        /// Which, and why.
        text: Box<str>,
    },
    /// The results of runs cannot be compared.
    #[error(transparent)]
    Compared(#[from] ComparedError),
    /// Results of shards cannot be merged.
    #[error(transparent)]
    Shards(#[from] ShardsError),
    /// A file that a flag names does not exist.
    #[error("stat {path}: no such file or directory")]
    NoFile {
        /// The file.
        path: String,
    },
    /// A path that an argument names does not exist.
    #[error("lstat {path}: no such file or directory")]
    NoPath {
        /// The path.
        path: String,
    },
    /// A folder does not exist.
    #[error("open {}: no such file or directory", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The first resource file does not exist.
    #[error("failed to load resources (stat {path}: no such file or directory)")]
    NoResourceFile {
        /// The file.
        path: String,
    },
    /// A policy file does not exist.
    #[error("no such policy file `{path}`{}", suggestion(meant))]
    NoPolicyFile {
        /// The file.
        path: String,
        /// The file of the same folder that was probably meant.
        meant: Option<String>,
    },
    /// A name of the policy library means nothing.
    #[error(transparent)]
    Library(#[from] ephor_library::LibraryError),
    /// A file would be lost.
    #[error("{path} is there with another content: give --force to replace it")]
    WouldReplace {
        /// The file.
        path: String,
    },
    /// Documents cannot be read.
    #[error(transparent)]
    Load(#[from] ephor_document::LoadError),
    /// A file is no YAML.
    #[error("{path}: {cause}")]
    Yaml {
        /// The file.
        path: String,
        /// Why.
        cause: ephor_document::yaml::YamlError,
    },
    /// What is too large for the memory has no room on the disk.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// JSON cannot be written.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The IR cannot be written as JSON.
    #[error(transparent)]
    Ir(#[from] ephor_ir::json::JsonError),
    /// A bundle may not be used.
    #[error(transparent)]
    Bundle(#[from] ephor_sources::bundle::BundleError),
    /// A repository cannot be used.
    #[error(transparent)]
    Git(#[from] ephor_sources::git::GitError),
    /// A payload cannot be used.
    #[error(transparent)]
    Payload(#[from] ephor_sources::payload::PayloadError),
    /// A check request cannot be used.
    #[error(transparent)]
    Check(#[from] ephor_sources::payload::CheckError),
    /// A file with context data cannot be used.
    #[error(transparent)]
    Context(#[from] ephor_sources::context::ContextFileError),
    /// A file with exceptions cannot be used.
    #[error("Error: {0}")]
    Exceptions(Cause),

    /// A file has no Kubernetes object.
    #[error("{path}: no Kubernetes object")]
    NoObject {
        /// The file.
        path: String,
    },
    /// An upgrade from a release to itself.
    #[error(
        "nothing changes from Kubernetes {release} to {release}; hint: name both releases, as `--kubernetes 1.36,1.37`"
    )]
    SameRelease {
        /// The release.
        release: Release,
    },
    /// A part of a side of a comparison cannot be read.
    #[error("{path} cannot be read as a whole, and an answer would leave out{}", causes.iter().map(|c| format!("\n  {c}")).collect::<String>())]
    SideUnread {
        /// The side.
        path: String,
        /// The parts, and what is wrong with them.
        causes: Vec<String>,
    },
    /// No argument has a policy.
    #[error("no policy found in {arguments}{}", causes.iter().map(|c| format!("\n  {c}")).collect::<String>())]
    NoPolicyFound {
        /// The arguments.
        arguments: String,
        /// What is wrong with them.
        causes: Vec<String>,
    },
    /// An object does not say its group where it can be replaced.
    #[error(
        "{place}: the group `{group}` is not written out at `apiVersion`: write it there instead of an alias"
    )]
    GroupElsewhere {
        /// `file:line` of the document.
        place: String,
        /// What it says.
        group: String,
    },
    /// Two objects of two groups would be one.
    #[error(
        "{second}: {object} would be there twice, as it is in {first} already: convert one of them, or delete it"
    )]
    OneObject {
        /// Kind and name.
        object: String,
        /// `file:line` of the first.
        first: String,
        /// That of the second.
        second: String,
    },
    /// No policy can have an equivalent of Kubernetes.
    #[error("no policy of kind ClusterPolicy, ValidatingPolicy or MutatingPolicy found")]
    NoCandidate,
    /// A policy does not compile.
    #[error("{0}")]
    Policy(String),
    /// Policies have no rule.
    #[error("no rule{}", of_kind(kind))]
    NoRules {
        /// The kind that rules should match.
        kind: Option<String>,
    },
    /// Policies have no rule of a name.
    #[error("no rule `{rule}`{}{}", of_kind(kind), rules(meant, names))]
    NoRule {
        /// The name.
        rule: String,
        /// The kind that the rule should match.
        kind: Option<String>,
        /// The rule that was probably meant.
        meant: Option<String>,
        /// All rules.
        names: Vec<String>,
    },
    /// Deprecation warnings count as errors.
    #[error("found {count} deprecation warning(s) and --warnings-as-errors is set")]
    Deprecated {
        /// How many.
        count: usize,
    },
    /// A resource cannot be processed.
    #[error("failed to apply policies on resource {name} ({cause})")]
    Resource {
        /// Its name.
        name: String,
        /// Why.
        cause: Box<CommandError>,
    },
    /// A deleting policy fails.
    #[error("failed to apply deleting policies on {what}: {cause}")]
    Deletion {
        /// `resource` or `json`.
        what: &'static str,
        /// Why.
        cause: String,
    },

    /// A cluster does not answer, or refuses.
    #[error(transparent)]
    Cluster(#[from] ephor_cluster::Failure),
    /// No kind of this name has a schema.
    #[error("there is no schema of `{kind}`{}", suggestion(meant))]
    NoSchema {
        /// The name.
        kind: String,
        /// The kind that was probably meant.
        meant: Option<String>,
    },
    /// `cluster-check` has neither files nor a cluster.
    #[error("{cause}\nhint: name a kubeconfig with `--kubeconfig`, or the files of a dump of the cluster")]
    NoClusterToCheck {
        /// Why there is no cluster.
        cause: ephor_cluster::Failure,
    },
    /// The resources of a cluster cannot be read.
    #[error("failed to load resources ({cause})")]
    ClusterResources {
        /// Why.
        cause: ephor_cluster::Failure,
    },
    /// A cluster has no resource of a name.
    #[error("failed to load resources ({name} not found in cluster)")]
    NotInCluster {
        /// The name.
        name: String,
    },
    /// A kubeconfig file has no such context.
    #[error("context \"{context}\" does not exist")]
    NoContext {
        /// The context.
        context: String,
    },
    /// Something listens where Kyverno looks for a cluster that nothing names.
    #[error("no kubeconfig file: name one with --kubeconfig to use what listens on {address}")]
    NoKubeconfig {
        /// The address.
        address: SocketAddr,
    },
    /// An API server would refuse a webhook configuration.
    #[error("the API server refuses the configuration: {0}")]
    RefusedConfiguration(String),
    /// A webhook configuration is another program's.
    #[error(
        "{kind} `{name}` belongs to another program{}: remove that program first, or give --take-over to replace it",
        written_by(managers)
    )]
    ForeignConfiguration {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// Who wrote it.
        managers: Vec<String>,
    },
    /// Files have no webhook configuration.
    #[error("--config: no ValidatingWebhookConfiguration or MutatingWebhookConfiguration found")]
    NoConfiguration,
    /// Configurations without a request.
    #[error("--config goes with --simulate")]
    ConfigWithoutSimulation,
    /// A file has no request.
    #[error("{path}: {cause}")]
    Request {
        /// The file.
        path: String,
        /// Why.
        cause: String,
    },
    /// A word that names no kinds of policies.
    #[error(transparent)]
    Kinds(#[from] ephor_server::serve::kind_filter::KindError),
    /// The server ends.
    #[error(transparent)]
    Server(#[from] ephor_server::serve::Error),
    /// The log cannot be started.
    #[error("{0}")]
    Log(Cause),
    /// An entry of `--http-blocklist` or `--http-allowlist`.
    #[error("--http-blocklist, --http-allowlist: {0}")]
    Guard(#[from] ephor_sources::http::guard::EntryError),
    /// A file of `--ca-file`.
    #[error("--ca-file: {0}")]
    Authority(#[from] ephor_sources::http::roots::RootsError),

    /// Test files are faulty.
    #[error("found {count} errors after loading tests")]
    FaultyTests {
        /// How many.
        count: usize,
    },
    /// There is no test.
    #[error("no tests found")]
    NoTests,
    /// There is no test in a folder, or in another place that an argument names.
    #[error("no {name} found in {places} and --strict is set")]
    PlacesWithoutTests {
        /// The name of test files.
        name: String,
        /// The places, in backticks.
        places: String,
    },
    /// No result of a test was compared.
    #[error(
        "no result was compared and --strict is set\nhelp: add `results` to the tests, or select others with --test-case-selector"
    )]
    NoResults,
    /// Tests fail.
    #[error("{count} tests failed")]
    FailedTests {
        /// How many.
        count: usize,
    },
    /// Expected results are vacuous.
    #[error("{count} expected result(s) are vacuous and --strict is set")]
    VacuousResults {
        /// How many.
        count: usize,
    },
    /// Tests reach less than they should.
    #[error(
        "tests reach {reached:.1} % of rules, conditions and pattern leaves, and --coverage-min is {min} %"
    )]
    Coverage {
        /// The share that they reach, in percent.
        reached: f64,
        /// The share that they should reach.
        min: f64,
    },
    /// Files cannot be watched.
    #[error("cannot watch files: {0}")]
    Watch(#[from] notify::Error),
    /// Files are no longer watched.
    #[error("cannot watch files: {0}")]
    Watched(#[from] std::sync::mpsc::RecvError),
    /// The name of test files is empty.
    #[error("file-name must not be set to an empty string")]
    NoFileName,
    /// An expected result has another form.
    #[error("--{flag} `{value}`: expected POLICY,RULE,RESOURCE,NAMESPACE,KIND")]
    MalformedResult {
        /// The flag.
        flag: &'static str,
        /// The value.
        value: String,
    },
    /// A controller without a name.
    #[error("invalid controller provided")]
    InvalidController,

    /// Neither an expression nor a document.
    #[error("at least one query or input object is required")]
    NothingToQuery,
    /// A document is neither JSON nor YAML.
    #[error("error parsing input json: {0}")]
    Document(Cause),
    /// A text is no JMESPath expression.
    #[error("{}", problem.caret.as_ref().unwrap_or(&problem.text))]
    NoExpression {
        /// Why.
        problem: Box<Problem>,
    },
    /// A query is no JMESPath expression.
    #[error("{}", marked_text(&format!("failed to compile JMESPath: {query}, error: {problem}"), marked))]
    Query {
        /// The query.
        query: String,
        /// Why.
        problem: Box<Problem>,
        /// The line of the query with a caret.
        marked: String,
    },
    /// A query has no result.
    #[error("{}", marked_text(&format!("error evaluating JMESPath expression: {problem}"), marked))]
    Search {
        /// Why.
        problem: Box<Problem>,
        /// The line of the query with a caret.
        marked: String,
    },
    /// A result has no form in JSON.
    #[error("error marshalling result to JSON: {0}")]
    Marshal(Cause),
    /// More than one document.
    #[error("accepts one document")]
    Documents,
    /// No expression.
    #[error("an expression is required")]
    NoExpressionGiven,
    /// The document of a prompt was all of standard input, which is no terminal.
    #[error(
        "an expression is required: `-` reads all of standard input as the document, and no line is left\nhelp: name the file of the document, or evaluate one expression with `cel eval -i -`"
    )]
    NoLines,
    /// More than one expression.
    #[error("accepts one expression; quote it for the shell")]
    ManyExpressions,
    /// A CEL expression does not compile, or has no value.
    #[error(transparent)]
    Expression(Cause),
    /// A variable without a value.
    #[error("--set {text}: expected name=JSON")]
    NoVariable {
        /// What was given.
        text: String,
    },
    /// The value of a variable is neither JSON nor YAML.
    #[error("--set {name}: {cause}")]
    Variable {
        /// The variable.
        name: String,
        /// Why.
        cause: Cause,
    },
    /// A command of a prompt stands alone.
    #[error("write an expression behind `:{name}`, such as `:{name} object.metadata.name`")]
    NoPromptExpression {
        /// The command.
        name: String,
    },
    /// A prompt has no such command.
    #[error("no command `:{name}`; `:help` shows all")]
    NoPromptCommand {
        /// The command.
        name: String,
    },
    /// A terminal cannot be used.
    #[error(transparent)]
    Prompt(#[from] rustyline::error::ReadlineError),

    /// A recorded suite cannot be run.
    #[error(transparent)]
    Suite(#[from] io::Error),
    /// A folder has no recorded suite.
    #[error("no suite found in {}", path.display())]
    NoSuite {
        /// The folder.
        path: PathBuf,
    },
    /// A script of completion cannot be written.
    #[error("{0}")]
    Completion(io::Error),
}

impl From<WriteError> for CommandError {
    /// Of a document on standard output.
    fn from(error: WriteError) -> CommandError {
        CommandError::of_output("standard output", error)
    }
}

impl CommandError {
    /// A document cannot be written to a file, or to what has this name.
    pub(super) fn of_output(path: &str, error: WriteError) -> CommandError {
        match error {
            WriteError::Spool(error) => CommandError::Spool(error),
            WriteError::Output(cause) => CommandError::Write { path: path.into(), cause },
        }
    }

    /// An input that cannot be used.
    pub fn input(cause: impl Into<Cause>) -> CommandError {
        CommandError::Input(cause.into())
    }

    /// An expression that cannot be compiled or has no value.
    pub fn expression(cause: impl Into<Cause>) -> CommandError {
        CommandError::Expression(cause.into())
    }

    /// Whether the page of the command says what is missing.
    pub(super) fn is_about_arguments(&self) -> bool {
        match self {
            CommandError::Usage(usage) => usage.is_about_arguments(),
            CommandError::Apply(conflict) => matches!(conflict, ApplyConflict::NoPolicy),
            _ => false,
        }
    }

    /// Whether it is what a command found, and not that it cannot run.
    pub fn is_finding(&self) -> bool {
        matches!(self, CommandError::NoCandidate | CommandError::Expression { .. })
    }

    /// The exit code of the program, but for commands of our own.
    pub fn exit_code(&self) -> i32 {
        if matches!(
            self,
            CommandError::Bundle(_)
                | CommandError::ClusterCheck(_)
                | CommandError::Diff(_)
                | CommandError::NoPage
                | CommandError::SideUnread { .. }
        ) {
            2
        } else {
            1
        }
    }
}

fn reason(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::NotFound => "no such file or directory".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::IsADirectory => "is a directory".into(),
        _ => cause.to_string(),
    }
}

fn of_kind(kind: &Option<String>) -> String {
    kind.as_ref().map(|k| format!(" for objects of kind `{k}`")).unwrap_or_default()
}

/// What was probably meant, as the end of a message.
fn suggestion(meant: &Option<String>) -> String {
    meant.as_ref().map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
}

fn rules(meant: &Option<String>, names: &[String]) -> String {
    match meant {
        Some(close) => format!("; did you mean `{close}`?"),
        None if names.is_empty() => String::new(),
        None => format!("; there are: {}", names.join(", ")),
    }
}

fn written_by(managers: &[String]) -> String {
    if managers.is_empty() { String::new() } else { format!(" (written by {})", managers.join(", ")) }
}

/// Kyverno's text, then where it happened.
fn marked_text(text: &str, marked: &str) -> String {
    format!("{text}\n{marked}").trim_end().to_string()
}
