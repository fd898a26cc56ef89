//! The flags of `apply` and what they may be together.
//!
//! In: arguments. Out: which output is asked for, or the reference's text for flags that exclude each
//! other (`docs/cli.md`, "apply").

use crate::cli::flags::{Flag, Parsed, Takes, flag};

use super::results::Output;

/// The flags.
pub(super) const FLAGS: &[Flag] = &[
    flag("resource", Takes::List, "path to resource files, - for standard input").short('r'),
    flag("resources", Takes::List, "").alias("resource"),
    flag("target-resource", Takes::List, "path to individual files containing target resources"),
    flag("target-resources", Takes::List, "").alias("target-resource"),
    flag("parameter-resource", Takes::List, "path to files with parameters of admission policies"),
    flag("json", Takes::List, "path to JSON payload files"),
    flag("http-payload", Takes::List, "path to HTTP check requests"),
    flag("envoy-payload", Takes::List, "path to Envoy check requests"),
    flag("cluster", Takes::Switch, "check resources of the current cluster").short('c'),
    flag("context", Takes::Text, "name of the kubeconfig context"),
    flag("namespace", Takes::Text, "namespace with --cluster").short('n'),
    flag("cluster-wide-resources", Takes::Switch, "only cluster-scoped objects with --cluster"),
    flag("concurrent", Takes::Number, "number of parallel workers with --cluster").default("1"),
    flag("batch-size", Takes::Number, "size of a batch with --cluster").default("100"),
    flag("continue-on-error", Takes::Switch, "go on when loading a kind fails").default("true"),
    flag("show-performance", Takes::Switch, "show how long loading takes"),
    flag("output", Takes::Text, "file or directory for mutated and generated resources").short('o'),
    flag("set", Takes::List, "variables as name=value").short('s'),
    flag("values-file", Takes::Text, "file with values for variables").short('f'),
    flag("userinfo", Takes::Text, "file with the user of the request").short('u'),
    flag("context-file", Takes::Text, "file with context data for CEL policies"),
    flag("exception", Takes::List, "path to policy exceptions").short('e'),
    flag("exceptions", Takes::List, "").alias("exception"),
    flag("exceptions-with-resources", Takes::Switch, "take exceptions from the resources"),
    flag("exceptions-within-resources", Takes::Switch, "").alias("exceptions-with-resources"),
    flag("exceptions-within-policies", Takes::Switch, "also take exceptions from the policies"),
    flag("generate-exceptions", Takes::Switch, "print exceptions for failures"),
    flag("generated-exception-ttl", Takes::Duration, "time to live of generated exceptions")
        .default("720h0m0s"),
    flag("policy-report", Takes::Switch, "print policy reports").short('p'),
    flag("output-format", Takes::Text, "format of reports: yaml, json, sarif, junit, markdown, github")
        .default("yaml"),
    flag("table", Takes::Switch, "print results as a table").short('t'),
    flag("detailed-results", Takes::Switch, "add messages to the table"),
    flag("remove-color", Takes::Switch, "no colours"),
    flag(
        "deletions",
        Takes::Switch,
        "tell in the end what cleanup policies and labels would delete, and when",
    ),
    flag("stdin", Takes::Switch, "no headers, so that mutated resources can be piped").short('i'),
    flag("audit-warn", Takes::Switch, "failures of audit policies count as warnings"),
    flag("warn-exit-code", Takes::Number, "exit code when there are warnings and no failures").default("0"),
    flag("warn-no-pass", Takes::Switch, "use that exit code when nothing passed"),
    flag("warnings-as-errors", Takes::Switch, "deprecation warnings are fatal"),
    flag("continue-on-fail", Takes::Switch, "go on when a resource cannot be processed"),
    flag("registry", Takes::Switch, "allow registry access"),
    flag("git-branch", Takes::Text, "branch of a git policy source").short('b'),
    flag("username", Takes::Text, "user of a git policy source"),
    flag("password", Takes::Text, "password of a git policy source"),
    flag("crd-paths", Takes::List, "path to custom resource definitions"),
    flag("crd-path", Takes::List, "").alias("crd-paths"),
    flag("as-cluster", Takes::Switch, "answer as a cluster would (profile `cluster`)"),
    flag("threads", Takes::Number, "number of threads; the output is the same for any").default("0"),
];

/// Checks arguments in the reference's order.
///
/// # Errors
/// The reference's text for what is missing or excludes each other.
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

/// The output that is asked for.
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
