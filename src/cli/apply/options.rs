//! The flags of `apply` and what they may be together.
//!
//! In: arguments. Out: the selected output, or Kyverno's text for flags that exclude each other
//! (`docs/cli.md`, "apply").

use crate::cli::flags::{Flag, Parsed, Takes, flag};

use super::results::Output;

/// The flags.
pub(super) const FLAGS: &[Flag] = &[
    flag("resource", Takes::List, "resource files, - for standard input").short('r'),
    flag("resources", Takes::List, "").alias("resource"),
    flag("target-resource", Takes::List, "files with target resources of mutate-existing rules"),
    flag("target-resources", Takes::List, "").alias("target-resource"),
    flag("parameter-resource", Takes::List, "files with parameters of admission policies"),
    flag("json", Takes::List, "JSON payload files"),
    flag("http-payload", Takes::List, "files with HTTP check requests"),
    flag("envoy-payload", Takes::List, "files with Envoy check requests"),
    flag("cluster", Takes::Switch, "resources of the current cluster").short('c'),
    flag("context", Takes::Text, "name of the kubeconfig context"),
    flag("namespace", Takes::Text, "namespace with --cluster").short('n'),
    flag("cluster-wide-resources", Takes::Switch, "only cluster-scoped objects with --cluster"),
    flag("concurrent", Takes::Number, "number of parallel workers with --cluster").default("1"),
    flag("batch-size", Takes::Number, "size of a batch with --cluster").default("100"),
    flag("continue-on-error", Takes::Switch, "no error when a kind cannot be loaded with --cluster")
        .default("true"),
    flag("show-performance", Takes::Switch, "time that loading takes"),
    flag("output", Takes::Text, "file or directory for mutated and generated resources").short('o'),
    flag("set", Takes::List, "values of variables as name=value").short('s'),
    flag("values-file", Takes::Text, "file with values for variables").short('f'),
    flag("userinfo", Takes::Text, "file with the user of the request").short('u'),
    flag("context-file", Takes::Text, "file with context data for CEL policies"),
    flag("exception", Takes::List, "files with PolicyExceptions").short('e'),
    flag("exceptions", Takes::List, "").alias("exception"),
    flag("exceptions-with-resources", Takes::Switch, "PolicyExceptions among the resources"),
    flag("exceptions-within-resources", Takes::Switch, "").alias("exceptions-with-resources"),
    flag("exceptions-within-policies", Takes::Switch, "additional PolicyExceptions among the policies"),
    flag("generate-exceptions", Takes::Switch, "PolicyExceptions for the failures instead of results"),
    flag("generated-exception-ttl", Takes::Duration, "time to live of generated exceptions")
        .default("720h0m0s"),
    flag("policy-report", Takes::Switch, "PolicyReports instead of results").short('p'),
    flag("output-format", Takes::Text, "format of reports: yaml, json, sarif, junit, markdown, github")
        .default("yaml"),
    flag("table", Takes::Switch, "results as a table").short('t'),
    flag("detailed-results", Takes::Switch, "messages in the table"),
    flag("remove-color", Takes::Switch, "output without colours"),
    flag("deletions", Takes::Switch, "list of what cleanup policies and labels would delete, and when"),
    flag("stdin", Takes::Switch, "output without headers, so that mutated resources can be piped").short('i'),
    flag("audit-warn", Takes::Switch, "failures of audit policies as warnings"),
    flag("warn-exit-code", Takes::Number, "exit code when there are warnings and no failures").default("0"),
    flag("warn-no-pass", Takes::Switch, "exit code --warn-exit-code also when nothing passed"),
    flag("warnings-as-errors", Takes::Switch, "deprecation warnings as errors"),
    flag("continue-on-fail", Takes::Switch, "no error when a resource cannot be processed"),
    flag("registry", Takes::Switch, "access to image registries"),
    flag("git-branch", Takes::Text, "branch of a git policy source").short('b'),
    flag("username", Takes::Text, "user of a git policy source"),
    flag("password", Takes::Text, "password of a git policy source"),
    flag("crd-paths", Takes::List, "files with CustomResourceDefinitions"),
    flag("crd-path", Takes::List, "").alias("crd-paths"),
    flag("as-cluster", Takes::Switch, "results of a cluster instead of the command line (profile `cluster`)"),
    flag("threads", Takes::Number, "number of threads, 0 for one per core; the output is the same for any")
        .default("0"),
];

/// Checks arguments in Kyverno's order.
///
/// # Errors
/// Kyverno's text for what is missing or excludes each other.
pub(super) fn check_arguments(parsed: &Parsed) -> Result<(), String> {
    let resources = parsed.list("resource");
    let has = |name: &str| !parsed.list(name).is_empty();
    if !parsed.text("values-file").is_empty() && has("set") {
        return Err("pass the values either using set flag or values_file flag".into());
    }
    if parsed.arguments.is_empty() {
        return Err("require policy".into());
    }
    if parsed.arguments.iter().any(|a| a == "-") && resources.iter().any(|a| a == "-") {
        return Err("a stdin pipe can be used for either policies or resources, not both".into());
    }
    if has("resource") && has("json") {
        return Err("both resource and json files can not be used together, use one or the other".into());
    }
    let payloads = has("json") || has("http-payload") || has("envoy-payload");
    if !has("resource") && !payloads && !parsed.on("cluster") {
        return Err("resource file(s) or cluster required".into());
    }
    if parsed.list("crd-paths").iter().any(|p| !p.trim().is_empty()) && !parsed.text("kubeconfig").is_empty()
    {
        return Err(
            "crd-paths and kubeconfig flags are mutually exclusive, please use only one of them".into()
        );
    }
    Ok(())
}

/// The selected output.
pub(super) fn output_of(parsed: &Parsed) -> Output {
    let format = parsed.text("output-format");
    if parsed.on("policy-report") {
        return match format {
            "json" => Output::ReportJson,
            "sarif" | "junit" | "markdown" | "github" => Output::Other,
            _ => Output::ReportYaml,
        };
    }
    if parsed.on("generate-exceptions") {
        return Output::Exceptions;
    }
    if matches!(format, "sarif" | "junit" | "markdown" | "github") {
        return Output::Other;
    }
    if parsed.on("table") { Output::Table } else { Output::Plain }
}
