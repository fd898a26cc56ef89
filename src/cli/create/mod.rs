//! `ephor create`: templates of files.
//!
//! The texts are Kyverno's, byte for byte; what it prints for tests, values and user information
//! is a form that its own commands refuse, so `--current` prints the form that they take. Values
//! are put in as they are. `create policy` and `create test --from-run` are not Kyverno's.
//! Semantics: `docs/reference/cli.md`.
//!
//! - `from_run`: `ephor create test --from-run`: the results that policies give today, as
//!   expected results of a test.
//! - `output`: where `create` writes.
//! - `policy`: `ephor create policy`: a policy that runs as it is written, to begin with.

pub(in crate::cli) mod from_run;
mod output;
mod policy;

use std::collections::BTreeMap;
use std::path::Path;

use clap::ValueHint;

use super::flags::{Record, fields};
use super::outputs::Outputs;
use super::usage::Usage;
use super::{CommandError, help};
use crate::cli::arguments::{given, only};
use crate::cli::console::{print, warn};
use crate::cli::create::output::OutputFile;
use crate::cli::help::Commands;
use crate::cli::program_name::{is_kyverno, program};

/// Prints templates of files: exceptions, tests, values and the like
#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    #[command(subcommand)]
    template: Option<Template>,
}

#[derive(Debug, clap::Subcommand)]
enum Template {
    ClusterRole(ClusterRole),
    Exception(Exception),
    MetricsConfig(MetricsConfig),
    Policy(policy::CreatePolicyArgs),
    Test(Test),
    UserInfo(UserInfo),
    Values(Values),
}

/// In which schema the text is, and where it goes.
#[derive(Debug, clap::Args)]
struct Form {
    /// current schema, which apply and test read
    #[arg(long)]
    current: bool,
    #[command(flatten)]
    output: OutputFile,
}

impl Form {
    /// Where the text goes; says so when `apply` and `test` refuse its schema.
    fn output(self) -> OutputFile {
        if !self.current {
            warn("this form is refused by `test`; --current prints the one that it takes");
        }
        self.output
    }
}

/// Creates a role that lets a controller handle more kinds of resources
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # allow the background controller to handle deployments
  ephor create cluster-role apps --api-groups apps --resources deployments --verbs all")]
struct ClusterRole {
    /// name of the role
    #[arg(value_name = "NAME", required = true)]
    name: Vec<String>,
    /// API group of the resources
    #[arg(long, short = 'g', value_name = "GROUP", required = true)]
    api_groups: String,
    /// verbs that the role allows; `all` for all
    #[arg(long, value_name = "VERB", required = true)]
    verbs: Vec<String>,
    /// resources that the role covers
    #[arg(long, value_name = "RESOURCE", required = true)]
    resources: Vec<String>,
    /// controllers that the role is aggregated to
    #[arg(long, value_name = "NAME", default_value = "background-controller")]
    controllers: Vec<String>,
    #[command(flatten)]
    output: OutputFile,
}

/// Creates an exception from rules
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # exempt the pods of a namespace
  ephor create exception legacy --policy-rules need-team,team --any kind=Pod,namespace=legacy")]
struct Exception {
    /// name of the exception
    #[arg(value_name = "NAME", required = true)]
    name: Vec<String>,
    /// policy and rules
    #[arg(long, value_name = "POLICY,RULE,…", required = true)]
    policy_rules: Vec<String>,
    /// namespace of the exception
    #[arg(long, value_name = "NAME", default_value = "default")]
    namespace: String,
    /// exceptions in background scans, too
    #[arg(long, short, default_value = "true")]
    background: bool,
    /// filters of which any must match: kind=K,name=N,namespace=S,operation=O
    #[arg(long, value_name = "FILTER")]
    any: Vec<String>,
    /// filters of which all must match, likewise
    #[arg(long, value_name = "FILTER")]
    all: Vec<String>,
    #[command(flatten)]
    output: OutputFile,
}

/// Creates a metrics configuration
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # count all namespaces but one
  ephor create metrics-config -e kube-system")]
struct MetricsConfig {
    /// name of the ConfigMap
    #[arg(long, short, value_name = "NAME", default_value = "kyverno-metrics")]
    name: String,
    /// namespace of the ConfigMap
    #[arg(long, value_name = "NAME", default_value = "kyverno")]
    namespace: String,
    /// namespaces that are counted
    #[arg(long, short, value_name = "NAME")]
    include: Vec<Record>,
    /// namespaces that are not counted
    #[arg(long, short, value_name = "NAME")]
    exclude: Vec<Record>,
    #[command(flatten)]
    output: OutputFile,
}

/// Creates a test file
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # a test that `ephor test` runs
  ephor create test --current -p policy.yaml -r resource.yaml --pass need-team,team,good,default,Pod

  # a test that expects what the policy decides today
  ephor create test --from-run -p policy.yaml -r resource.yaml -o kyverno-test.yaml")]
struct Test {
    /// name of the test
    #[arg(long, short, value_name = "NAME", default_value = "test-name")]
    name: String,
    /// policy files
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    policy: Vec<Record>,
    /// resource files
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    resource: Vec<Record>,
    /// values file
    #[arg(long, short = 'f', value_name = "FILE", value_hint = ValueHint::FilePath)]
    values: Option<String>,
    /// results that pass
    #[arg(long, value_name = "POLICY,RULE,RESOURCE,NAMESPACE,KIND")]
    pass: Vec<String>,
    /// results that fail, likewise
    #[arg(long, value_name = "RESULT")]
    fail: Vec<String>,
    /// results that are skipped, likewise
    #[arg(long, value_name = "RESULT")]
    skip: Vec<String>,
    /// the results that the policies give for the resources today, in the current schema
    #[arg(long)]
    from_run: bool,
    #[command(flatten)]
    form: Form,
}

/// Creates a user information file
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # a member of a group
  ephor create user-info --current -u eve -g dev")]
struct UserInfo {
    /// user name
    #[arg(long, short, value_name = "NAME", default_value = "", hide_default_value = true)]
    username: String,
    /// roles
    #[arg(long, short, value_name = "NAME")]
    role: Vec<Record>,
    /// cluster roles
    #[arg(long, short, value_name = "NAME")]
    cluster_role: Vec<Record>,
    /// groups
    #[arg(long, short, value_name = "NAME")]
    group: Vec<Record>,
    #[command(flatten)]
    form: Form,
}

/// Creates a values file
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # a value for one rule
  ephor create values --current --rule need-team,team,team=blue")]
struct Values {
    /// values for all policies
    #[arg(long, short, value_name = "NAME=VALUE")]
    global: Vec<Record>,
    /// labels of a namespace
    #[arg(long, short, value_name = "NAMESPACE,LABEL=VALUE,…")]
    ns_selector: Vec<String>,
    /// values for a rule
    #[arg(long, value_name = "POLICY,RULE,NAME=VALUE,…")]
    rule: Vec<String>,
    /// values for a resource
    #[arg(long, value_name = "POLICY,RESOURCE,NAME=VALUE,…")]
    resource: Vec<String>,
    #[command(flatten)]
    form: Form,
}

/// Runs the command.
///
/// # Errors
/// Bad arguments, a file that cannot be written.
pub fn run(args: CreateArgs, commands: Commands) -> Result<i32, CommandError> {
    let Some(template) = args.template else {
        help::print(commands, &format!("{} create", program()));
        return Ok(0);
    };
    let mut files = Vec::new();
    let (text, output) = match template {
        Template::ClusterRole(args) => (cluster_role(&args)?, args.output),
        Template::Exception(args) => (exception(&args)?, args.output),
        Template::MetricsConfig(args) => (metrics_config(&args), args.output),
        Template::Policy(args) => (policy::text(&args)?, args.output),
        Template::Test(mut args) => {
            args.form.current |= args.from_run;
            (test(&args, &mut files)?, args.form.output())
        }
        Template::UserInfo(args) => (user_info(&args), args.form.output()),
        Template::Values(args) => (values(&args), args.form.output()),
    };
    match given(&output.output) {
        None => print(&text),
        Some(path) => {
            let path = Path::new(path);
            let mut outputs = Outputs::default();
            for (name, text) in files {
                outputs.add(&path.with_file_name(&name), &name, text)?;
            }
            outputs.add(path, "--output", text)?;
            outputs.write()?;
        }
    }
    Ok(0)
}

/// Lines of a list, below a key of a column.
fn items(out: &mut String, column: usize, list: &[String]) {
    for item in list {
        out.push_str(&format!("{:column$}- {item}\n", ""));
    }
}

/// `name=value` pairs in the order of their names; others are ignored.
fn pairs<'s>(list: impl Iterator<Item = &'s str>) -> BTreeMap<&'s str, &'s str> {
    let pair = |item: &'s str| match item.split('=').collect::<Vec<_>>()[..] {
        [key, value] if !key.trim().is_empty() && !value.trim().is_empty() => {
            Some((key.trim(), value.trim()))
        }
        _ => None,
    };
    list.filter_map(pair).collect()
}

fn lines_of(out: &mut String, column: usize, pairs: &BTreeMap<&str, &str>) {
    for (key, value) in pairs {
        out.push_str(&format!("{:column$}{key}: {value}\n", ""));
    }
}

fn head(kind: &str, current: bool) -> String {
    match current {
        true => format!("apiVersion: cli.kyverno.io/v1alpha1\nkind: {kind}\n"),
        false => String::new(),
    }
}

fn user_info(args: &UserInfo) -> String {
    let mut out = head("UserInfo", args.form.current);
    out.push_str("# list of roles\nroles:\n");
    items(&mut out, 2, &fields(&args.role));
    out.push_str("\n# list of cluster roles\nclusterRoles:\n");
    items(&mut out, 2, &fields(&args.cluster_role));
    out.push_str(&format!("\nuserInfo:\n  # user name\n  username: {}\n", args.username));
    out.push_str("\n  # list of groups\n  groups:\n");
    items(&mut out, 4, &fields(&args.group));
    out
}

fn values(args: &Values) -> String {
    let mut out = head("Values", args.form.current);
    out.push_str("# list of policy values\npolicies:\n");
    for (list, group) in [(&args.rule, "rules"), (&args.resource, "resources")] {
        for item in list {
            let mut parts = item.split(',');
            let (Some(policy), Some(name)) = (parts.next(), parts.next()) else { continue };
            out.push_str(&format!(
                "  - name: {policy}\n    {group}:\n      - name: {name}\n        values:\n"
            ));
            lines_of(&mut out, 10, &pairs(parts));
        }
    }
    out.push_str("\n# list of global values\nglobalValues:\n");
    lines_of(&mut out, 2, &pairs(fields(&args.global).iter().map(String::as_str)));
    out.push_str("\n# list of namespace selectors\nnamespaceSelector:\n");
    for item in &args.ns_selector {
        let mut parts = item.split(',');
        let namespace = parts.next().unwrap_or_default();
        let mut parts = parts.peekable();
        if parts.peek().is_none() {
            continue;
        }
        out.push_str(&format!("  - name: {namespace}\n    labels:\n"));
        lines_of(&mut out, 6, &pairs(parts));
    }
    out
}

/// The text of a test; `files` gets those that it names and that do not exist yet.
fn test(args: &Test, files: &mut Vec<(String, String)>) -> Result<String, CommandError> {
    let current = args.form.current;
    let mut out = head("Test", current);
    match current {
        true => out.push_str(&format!("metadata:\n  name: {}\n", args.name)),
        false => out.push_str(&format!("# test name\nname: {}\n", args.name)),
    }
    out.push_str("\n# list of policy files\npolicies:\n");
    items(&mut out, 2, &fields(&args.policy));
    out.push_str("\n# list of resource files\nresources:\n");
    items(&mut out, 2, &fields(&args.resource));
    let variables = given(&args.values).unwrap_or_default();
    if !current || !variables.is_empty() {
        out.push_str(&format!("\n# variables file (optional)\nvariables: {variables}\n"));
    }
    let output = given(&args.form.output.output);
    let recorded = match args.from_run {
        true => {
            let path = Path::new(output.unwrap_or("kyverno-test.yaml"));
            // The test and what it reads stay as they are.
            let named = [fields(&args.policy), fields(&args.resource)].concat();
            let is_taken = |name: &str| {
                path.ends_with(name) || named.iter().any(|file| Path::new(file) == Path::new(name))
            };
            from_run::results(&out, &path.display().to_string(), &is_taken)?
        }
        false => from_run::Results::default(),
    };
    recorded.left_out.iter().for_each(|text| warn(text));
    out.push_str("\n# list of expected results\nresults:\n");
    out.push_str(&recorded.text);
    *files = recorded.files;
    if output.is_none() && !files.is_empty() {
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        warn(&format!(
            "the test names files that only `--output FILE` writes, next to it: {}",
            names.join(", ")
        ));
    }
    for (result, list) in [("pass", &args.pass), ("fail", &args.fail), ("skip", &args.skip)] {
        for item in list {
            let parts: Vec<&str> = item.split(',').collect();
            let ([policy, rule, resource, namespace, kind] | [policy, rule, resource, namespace, kind, _]) =
                parts[..]
            else {
                // Kyverno leaves it out without a word.
                if is_kyverno() {
                    continue;
                }
                return Err(CommandError::MalformedResult { flag: result, value: item.clone() });
            };
            out.push_str(&format!("  - policy: {policy}\n    rule: {rule}\n"));
            match current {
                true if namespace.is_empty() => {
                    out.push_str(&format!("    resources:\n      - {resource}\n    kind: {kind}\n"));
                }
                true => {
                    out.push_str(&format!(
                        "    resources:\n      - {namespace}/{resource}\n    kind: {kind}\n"
                    ));
                }
                false => out.push_str(&format!(
                    "    resource: {resource}\n    namespace: {namespace}\n    kind: {kind}\n"
                )),
            }
            out.push_str(&format!("    result: {result}\n"));
        }
    }
    Ok(out)
}

fn metrics_config(args: &MetricsConfig) -> String {
    let list = |(key, names): (&str, &[Record])| {
        let items: Vec<String> = fields(names)
            .iter()
            .map(|s| {
                let mut text = String::from("        ");
                ephor_value::print::write_json_string(&mut text, s);
                text
            })
            .collect();
        (!items.is_empty()).then(|| format!("      \"{key}\": [\n{}\n      ]", items.join(",\n")))
    };
    let parts: Vec<String> =
        [("include", &*args.include), ("exclude", &*args.exclude)].into_iter().filter_map(list).collect();
    let body = match parts.is_empty() {
        true => "    {}".to_owned(),
        false => format!("    {{\n{}\n    }}", parts.join(",\n")),
    };
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\n  namespace: {}\ndata:\n  namespaces: |\n{body}\n",
        args.name, args.namespace
    )
}

fn exception(args: &Exception) -> Result<String, Usage> {
    let mut out = format!(
        "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata:\n  name: {}\n  namespace: {}\nspec:\n  background: {}\n  match:\n",
        only(&args.name)?,
        args.namespace,
        args.background
    );
    for (group, filters) in [("any", &args.any), ("all", &args.all)] {
        if !filters.is_empty() {
            out.push_str(&format!("    {group}:\n"));
            filters.iter().for_each(|item| filter(&mut out, item));
        }
    }
    out.push_str("  exceptions:\n");
    for item in &args.policy_rules {
        let parts: Vec<String> = item.split(',').map(str::to_owned).collect();
        let Some((policy, rules)) = parts.split_first().filter(|(_, rules)| !rules.is_empty()) else {
            continue;
        };
        out.push_str(&format!("    - policyName: {policy}\n      ruleNames:\n"));
        items(&mut out, 8, rules);
    }
    Ok(out)
}

/// A filter; only its kinds begin an item of the list, as in Kyverno.
fn filter(out: &mut String, item: &str) {
    let parts: Vec<Vec<&str>> = item.split(',').map(|p| p.split('=').collect()).collect();
    if parts.iter().any(|p| p.len() != 2) {
        return;
    }
    let of = |key: &str| -> Vec<String> {
        let pairs = parts.iter().filter_map(|p| match p[..] {
            [k, v] if k.trim() == key => Some(v.trim().to_owned()),
            _ => None,
        });
        pairs.collect()
    };
    let fields = [
        ("kind", "    - kinds:"),
        ("name", "      names:"),
        ("namespace", "      namespaces:"),
        ("operation", "      operations:"),
    ];
    for (key, line) in fields {
        let list = of(key);
        if !list.is_empty() {
            out.push_str(line);
            out.push('\n');
            items(out, 8, &list);
        }
    }
}

fn cluster_role(args: &ClusterRole) -> Result<String, CommandError> {
    let controllers = &args.controllers;
    if controllers.iter().any(|c| c.trim().is_empty()) {
        return Err(CommandError::InvalidController);
    }
    let labels: String =
        controllers.iter().map(|c| format!("      rbac.kyverno.io/aggregate-to-{c}: \"true\"\n")).collect();
    let verbs: Vec<String> = match args.verbs.first().map(String::as_str) {
        Some("all") => ["create", "get", "update", "delete", "list", "watch"].map(str::to_owned).to_vec(),
        _ => args.verbs.clone(),
    };
    let verbs: Vec<String> = verbs.iter().map(|v| format!("\"{v}\"")).collect();
    Ok(format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: kyverno-{}-permission\n  labels:\n{labels}rules:\n  - apiGroups: [\"{}\"]\n    resources: [\"{}\"]\n    verbs: [{}]",
        only(&args.name)?,
        args.api_groups,
        args.resources.join(","),
        verbs.join(", ")
    ))
}
