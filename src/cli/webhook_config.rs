//! `ephor webhook-config`: the webhook configurations that policies need, and what they do with a
//! request.

use std::time::Duration;

use ephor_admission::registration::{self, Needs, Options};
use ephor_admission::settings::Settings;
use ephor_admission::webhooks::request::{generated, request};
use ephor_admission::webhooks::{Allowing, Event, Log, Server, in_order};
use ephor_api::admission::{check, defaulted};
use ephor_cluster::Cluster;
use ephor_controllers::removal;
use ephor_document::json::to_serde;
use ephor_document::write::{self as yaml, Style};
use ephor_engine::admission::ClusterView;
use ephor_kubernetes::Kinds;
use ephor_lower::admission as lower;
use ephor_policies::load::{self, Reader};
use ephor_sources::files;
use ephor_sources::objects::{ClusterFacts, Objects};
use ephor_value::release::Release;
use ephor_value::{Map, Str, Value};

use clap::{ValueEnum, ValueHint};

use super::CommandError;
use super::flags::{Record, fields};
use super::releases;
use super::usage::Usage;
use super::webhook_options::{self, ServerOptions, WebhookOptions};
use crate::cli::arguments::{ConsoleFlags, Global, given};
use crate::cli::flag_values::{Namespaced, namespaced};
use crate::cli::policy_files::documents;
use crate::cli::{arguments, console, policy_files};

/// Prints the webhook configurations that policies need, and simulates them
///
/// The MutatingWebhookConfiguration and the ValidatingWebhookConfiguration send `ephor serve` what
/// the policies are about: rules, selectors, match conditions and timeouts, in webhooks that block
/// on failure and ones that do not, and one of its own for a policy with match conditions. With
/// --simulate it reports which webhooks an API server would call for a request, in which order, and
/// why it would not call the others.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # for a server that runs as a service
  ephor webhook-config policies/ --ca-bundle ca.crt | kubectl apply -f -

  # for a server on this machine, written to the cluster
  ephor webhook-config policies/ --url https://127.0.0.1:9443 --ca-bundle ca.crt --apply

  # before the server is uninstalled
  ephor webhook-config --remove

  # which webhooks a request would meet
  ephor webhook-config policies/ --simulate request.yaml

  # the same for configurations of a cluster
  kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml > hooks.yaml
  ephor webhook-config --config hooks.yaml --simulate request.yaml")]
pub struct WebhookConfigArgs {
    /// files, folders, addresses, bundles (oci://…) or sets of the library (builtin://…) with
    /// policies, - for standard input
    #[arg(value_name = "POLICY", value_hint = ValueHint::AnyPath)]
    policies: Vec<String>,
    /// output format
    #[arg(long, short = 'o', alias = "output", value_name = "FORMAT", default_value = "yaml")]
    output_format: WebhookConfigFormat,
    /// files with CustomResourceDefinitions
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    definition: Vec<Record>,
    /// file with the ConfigMap of settings: webhooks, webhookLabels, webhookAnnotations,
    /// matchConditions
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config_map: Option<String>,
    /// release of Kubernetes whose API servers read the configurations [default: with --apply that
    /// of the cluster, else 1.36]
    #[arg(long, value_name = "VERSION", value_parser = releases::parse)]
    kubernetes: Option<Release>,
    #[command(flatten)]
    server: ServerOptions,
    #[command(flatten)]
    webhooks: WebhookOptions,
    #[command(flatten)]
    cluster: WebhookClusterOptions,
    #[command(flatten)]
    simulation: Simulation,
    #[command(flatten)]
    console: ConsoleFlags,
}

/// What is written to a cluster.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cluster")]
struct WebhookClusterOptions {
    /// server-side apply to a cluster instead of output
    #[arg(long)]
    apply: bool,
    /// deletion of the configurations that ephor wrote to a cluster; without policies
    #[arg(long)]
    remove: bool,
    /// Deployment of servers that is scaled to zero first, with --remove, so that none writes the
    /// configurations again
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = namespaced, requires = "remove")]
    scale_down: Option<Namespaced>,
    /// replacement of configurations of these names that another program owns, with --apply
    #[arg(long)]
    take_over: bool,
    /// context of the kubeconfig file, for --apply
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// A request that an API server would get.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Simulation")]
struct Simulation {
    /// file with a request: report of the webhooks that would be called, and why others would not
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    simulate: Option<String>,
    /// files with configurations instead of those that policies need
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Vec<Record>,
    /// files with objects of the cluster (namespaces, roles, bindings)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    objects: Vec<Record>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WebhookConfigFormat {
    Yaml,
    Json,
}

/// Runs the command.
///
/// # Errors
/// Files that cannot be read, a configuration that an API server would refuse, a cluster that does.
pub fn run(args: &WebhookConfigArgs, global: &Global) -> Result<i32, CommandError> {
    args.console.apply();
    if args.cluster.remove {
        return remove(args, global).map(|()| 0);
    }
    let definitions = documents(&fields(&args.definition))?;
    let simulated = given(&args.simulation.simulate);
    if args.policies.is_empty() && args.simulation.config.is_empty() {
        return Err(Usage::NoPolicy.into());
    }
    args.policies.iter().try_for_each(|argument| policy_files::exists(argument))?;
    let cluster = match simulated {
        None if args.cluster.apply => Some(connect(args, global)?),
        _ => None,
    };
    let of_cluster = || cluster.as_ref().map(releases::of_cluster);
    let release = args.kubernetes.or_else(of_cluster).unwrap_or_default();
    let kinds = Kinds::of_release_with(release, &definitions);
    let configurations = match &fields(&args.simulation.config)[..] {
        [] => generate(args, &kinds, release)?,
        _ if simulated.is_none() => return Err(CommandError::ConfigWithoutSimulation),
        files => read_configurations(files)?,
    };
    let judged = |c: &Value| {
        let c = defaulted(c);
        check(&c, &mut lower::Judge::new(&c, release)).err().map(|refusal| refusal.message)
    };
    if let Some(refusal) = configurations.iter().find_map(judged) {
        return Err(CommandError::RefusedConfiguration(refusal.to_string()));
    }
    match (simulated, &cluster) {
        (None, Some(cluster)) => {
            // Nothing is written unless everything may be.
            let current = configurations
                .iter()
                .map(|c| owned(cluster, c, args.cluster.take_over))
                .collect::<Result<Vec<_>, CommandError>>()?;
            for (configuration, current) in configurations.iter().zip(&current) {
                cluster.write(configuration, current.as_ref(), MANAGER)?;
                let name = configuration.text_at(&["metadata", "name"]);
                console::print(&format!("{} {name}\n", configuration.text_at(&["kind"])));
            }
        }
        (None, None) => print(args.output_format, &configurations)?,
        (Some(path), _) => {
            let objects = objects(&fields(&args.simulation.objects))?;
            let all: Vec<Value> = definitions.into_iter().chain(objects).collect();
            simulate(path, &configurations, all, release)?;
        }
    }
    Ok(0)
}

fn connect(args: &WebhookConfigArgs, global: &Global) -> Result<Cluster, CommandError> {
    Ok(ephor_cluster::connect(&arguments::cluster_choice(given(&args.cluster.context), global))?)
}

/// The name under which fields are written.
const MANAGER: &str = "ephor";

/// The configuration that a cluster has under the name of one that is to be written.
///
/// # Errors
/// It belongs to another program, and may not be taken over.
fn owned(cluster: &Cluster, configuration: &Value, take_over: bool) -> Result<Option<Value>, CommandError> {
    let Some(current) = cluster.current(configuration)? else { return Ok(None) };
    if registration::is_own(&current) || take_over {
        return Ok(Some(current));
    }
    let (kind, name) = (configuration.text_at(&["kind"]), configuration.text_at(&["metadata", "name"]));
    let managers = current.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap_or_default();
    let mut managers: Vec<&str> = managers.iter().map(|m| m.text_at(&["manager"])).collect();
    managers.dedup();
    let managers = managers.into_iter().map(String::from).collect();
    Err(CommandError::ForeignConfiguration { kind: kind.into(), name: name.into(), managers })
}

/// How long servers have to end: the grace period of their Pods, and some time to be scheduled.
const PATIENCE: Duration = Duration::from_secs(90);

/// Deletes the configurations that ephor wrote; those of other programs stay.
fn remove(args: &WebhookConfigArgs, global: &Global) -> Result<(), CommandError> {
    let cluster = connect(args, global)?;
    if let Some(Namespaced(namespace, name)) = &args.cluster.scale_down
        && !removal::scale_down(&cluster, namespace, name, PATIENCE)?
    {
        console::warn(&format!(
            "Pods of {namespace}/{name} still run, and may write the configurations again"
        ));
    }
    let options = webhook_options::options(&args.server, &args.webhooks);
    for found in removal::remove(&cluster, &options)? {
        let removal::Found { kind, name, is_deleted } = found;
        if is_deleted {
            console::print(&format!("{kind} {name} deleted\n"));
        } else {
            console::warn(&format!("{kind} `{name}` belongs to another program and stays"));
        }
    }
    Ok(())
}

/// The configurations that the policies of the arguments need.
///
/// # Errors
/// No policy that a server uses.
fn generate(args: &WebhookConfigArgs, kinds: &Kinds, release: Release) -> Result<Vec<Value>, CommandError> {
    let options = Options { release, ..options(args)? };
    let loaded = files::served_policies(&args.policies);
    let (mut policies, mut has_cleanup) = (Vec::new(), false);
    for problem in &loaded.notices {
        console::warn(&problem.to_string());
    }
    for source in &loaded.sources {
        let read = load::argument_for(std::slice::from_ref(source), Reader::Server(release));
        for problem in &read.problems {
            console::warn(&problem.to_string());
        }
        // They need no webhook.
        has_cleanup |= !read.cleanups.is_empty();
        for policy in read.policies {
            match &policy.refused {
                Some(why) => {
                    console::warn(&format!(
                        "{}:{}: policy `{}` is refused: {why}",
                        policy.source, policy.line, policy.name
                    ));
                }
                None => policies.push(policy.document),
            }
        }
    }
    // Configurations without webhooks would take those of a server out of the cluster.
    if policies.is_empty() && !has_cleanup {
        return Err(CommandError::NoPolicyFound { arguments: args.policies.join(", "), causes: Vec::new() });
    }
    let Needs { configurations, unknown } = registration::needs(&policies, kinds, &options);
    for kind in unknown {
        console::warn(&format!("kind `{kind}` is not known: give its definition with --definition"));
    }
    Ok(configurations)
}

fn options(args: &WebhookConfigArgs) -> Result<Options, CommandError> {
    let ca_bundle = match given(&args.server.ca_bundle) {
        None => String::new(),
        Some(path) => ephor_functions::encode::base64_text(read(path)?.as_bytes()),
    };
    let settings = match given(&args.config_map) {
        None => Settings::default(),
        Some(path) => {
            let document = ephor_document::yaml_value(&read(path)?);
            Settings::of(&document.map_err(|cause| CommandError::Yaml { path: path.into(), cause })?)
        }
    };
    settings.problems.iter().for_each(|problem| console::warn(problem));
    Ok(Options {
        ca_bundle,
        selectors: settings.selectors,
        conditions: settings.conditions,
        labels: settings.labels,
        annotations: settings.annotations,
        ..webhook_options::options(&args.server, &args.webhooks)
    })
}

fn read(path: &str) -> Result<String, CommandError> {
    ephor_testing::inputs::read(path).map_err(CommandError::input)
}

/// The objects in files, also in Lists.
fn objects(files: &[String]) -> Result<Vec<Value>, CommandError> {
    let mut found = Vec::new();
    for document in documents(files)? {
        let items = document.get("items").and_then(Value::as_list).map(<[Value]>::to_vec);
        found.extend(items.unwrap_or_else(|| vec![document]));
    }
    Ok(found)
}

/// The configurations in files.
fn read_configurations(files: &[String]) -> Result<Vec<Value>, CommandError> {
    let mut found = objects(files)?;
    found.retain(|c| lower::webhook::KINDS.contains(&c.text_at(&["kind"])));
    if found.is_empty() {
        return Err(CommandError::NoConfiguration);
    }
    Ok(found)
}

fn print(output: WebhookConfigFormat, configurations: &[Value]) -> Result<(), CommandError> {
    match output {
        WebhookConfigFormat::Yaml => {
            for c in configurations {
                console::print(&format!("---\n{}", yaml::to_string(c, Style::Report)));
            }
        }
        WebhookConfigFormat::Json => {
            let mut list = Map::new();
            list.insert("apiVersion", "v1".into());
            list.insert("kind", "List".into());
            list.insert("items", Value::list(configurations.to_vec()));
            let text = serde_json::to_string_pretty(&to_serde(&Value::Map(list)))?;
            console::print(&format!("{text}\n"));
        }
    }
    Ok(())
}

/// Prints the outcome of the requests in a file.
fn simulate(
    path: &str,
    configurations: &[Value],
    objects: Vec<Value>,
    release: Release,
) -> Result<(), CommandError> {
    let kinds = Kinds::of_release_with(release, &objects);
    let webhooks =
        in_order(configurations.iter().flat_map(|c| lower::webhooks(&defaulted(c), release)).collect());
    for document in documents(&[path.to_string()])? {
        let review = request(&document, &kinds)
            .map_err(|cause| CommandError::Request { path: path.into(), cause: cause.to_string() })?;
        let data = around(&objects, &review.attributes.namespace, release);
        let server = Server {
            policies: &[],
            webhooks: &webhooks,
            cluster: &ClusterView::of(&data),
            answers: &Allowing,
            own: |object| object,
        };
        let mut log = Log::default();
        let mutated = server.mutate(&review, &mut log);
        let result =
            mutated.and_then(|object| server.validate(&review.with_object(generated(object)), &mut log));
        let a = &review.attributes;
        let place = if a.namespace.is_empty() { String::new() } else { format!("{}/", a.namespace) };
        let sub = if a.subresource.is_empty() { String::new() } else { format!("/{}", a.subresource) };
        console::print(&format!(
            "{} {}{sub} {place}{}\n",
            a.operation,
            review.resource_name(),
            review.shown_name()
        ));
        print_log(&log);
        if let Err(denial) = result {
            console::print(&format!("denied without a call: {}\n", denial.message));
        }
    }
    Ok(())
}

/// The cluster of the objects, in a release; the namespace of the request is there in any case.
fn around(objects: &[Value], own: &Str, release: Release) -> Objects {
    let mut objects = objects.to_vec();
    let is_own =
        |o: &Value| o.text_at(&["kind"]) == "Namespace" && o.text_at(&["metadata", "name"]) == &**own;
    if !own.is_empty() && !objects.iter().any(is_own) {
        let metadata: Map = [(Str::from("name"), Value::Str(own.clone()))].into_iter().collect();
        let fields = [("kind", "Namespace".into()), ("metadata", Value::Map(metadata))];
        objects.push(Value::Map(fields.into_iter().map(|(k, v)| (Str::from(k), v)).collect()));
    }
    let known = ClusterFacts { all_namespaces: true, ..ClusterFacts::of_release(release, &objects, None) };
    Objects::with(objects, known)
}

fn print_log(log: &Log) {
    for (mutating, title) in
        [(true, "mutating webhooks, one after the other"), (false, "validating webhooks, together")]
    {
        let calls: Vec<String> = log
            .steps
            .iter()
            .filter(|step| step.mutating == mutating)
            .filter_map(|step| match &step.event {
                Event::Called(call) => {
                    Some(format!("{}/{} at {}", step.configuration, step.webhook, call.address()))
                }
                Event::Skipped(_) => None,
            })
            .collect();
        console::print(&format!("{title}:{}\n", if calls.is_empty() { " none" } else { "" }));
        for (i, call) in calls.iter().enumerate() {
            console::print(&format!("  {}. {call}\n", i + 1));
        }
    }
    let skipped = log.steps.iter().filter_map(|step| match &step.event {
        Event::Skipped(why) => Some(format!("  {}/{}: {why}\n", step.configuration, step.webhook)),
        Event::Called(_) => None,
    });
    let skipped: Vec<String> = skipped.collect();
    if !skipped.is_empty() {
        console::print(&format!("not called:\n{}", skipped.concat()));
    }
}
