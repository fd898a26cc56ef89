//! `ephor webhook-config`: the webhook configurations that policies need, and what they do with a request.

use ephor_admission::registration::{self, Address, Names, Needs, Options};
use ephor_admission::settings::Settings;
use ephor_admission::webhooks::request::{generated, request};
use ephor_admission::webhooks::{Allowing, Event, Log, Server, in_order};
use ephor_api::admission::{check, defaulted};
use ephor_document::json::to_serde;
use ephor_document::write::{self as yaml, Style};
use ephor_engine::admission::ClusterView;
use ephor_kubernetes::Kinds;
use ephor_lower::admission as lower;
use ephor_policies::load::{self, Reader};
use ephor_server::cluster::Cluster;
use ephor_sources::files;
use ephor_sources::objects::{ClusterFacts, Objects};
use ephor_value::{Map, Str, Value};

use super::admission::documents;
use super::flags::{self, Flag, Parsed, Takes, flag};

const FLAGS: &[Flag] = &[
    flag("output", Takes::Text, "output format, yaml or json").short('o').default("yaml"),
    flag("service-namespace", Takes::Text, "namespace of the server's service").default("ephor"),
    flag("service-name", Takes::Text, "name of the server's service").default("ephor"),
    flag("service-port", Takes::Number, "port of the server's service").default("443"),
    flag("url", Takes::Text, "base URL of the server, https://HOST:PORT, instead of a service"),
    flag("ca-bundle", Takes::Text, "file with the CA bundle (PEM) that verifies the server's certificate"),
    flag(
        "webhook-timeout",
        Takes::Number,
        "timeout of the webhooks in seconds, unless a policy sets a longer one",
    )
    .default("10"),
    flag(
        "exclude-namespace",
        Takes::List,
        "namespaces whose objects are never sent, \"\" for none (default the server's own and kube-system)",
    ),
    flag(
        "force-failure-policy-ignore",
        Takes::Switch,
        "failurePolicy Ignore for all webhooks, whatever the policies set",
    ),
    flag(
        "exclude-bootstrap-resources",
        Takes::Switch,
        "exclusion of nodes and signing requests from webhooks with failurePolicy Fail, so that a cluster can start",
    ),
    flag(
        "config-map",
        Takes::Text,
        "file with the ConfigMap of settings: webhooks, webhookLabels, webhookAnnotations, matchConditions",
    ),
    flag("definition", Takes::List, "files with CustomResourceDefinitions"),
    flag("apply", Takes::Switch, "server-side apply to a cluster instead of output"),
    flag(
        "remove",
        Takes::Switch,
        "deletion of the configurations that ephor wrote to a cluster; without policies",
    ),
    flag(
        "take-over",
        Takes::Switch,
        "replacement of configurations of these names that another program owns, with --apply",
    ),
    flag(
        "kyverno-names",
        Takes::Switch,
        "Kyverno's names for configurations and webhooks, for clusters without Kyverno",
    ),
    flag("context", Takes::Text, "context of the kubeconfig file, for --apply"),
    flag(
        "simulate",
        Takes::Text,
        "file with a request: report of the webhooks that would be called, and why others would not",
    ),
    flag(
        "config",
        Takes::List,
        "files with configurations instead of those that policies need, with --simulate",
    ),
    flag(
        "objects",
        Takes::List,
        "files with objects of the cluster (namespaces, roles, bindings), with --simulate",
    ),
];

const ABOUT: &str = "Prints the MutatingWebhookConfiguration and the ValidatingWebhookConfiguration that send `ephor serve` what\n\
                     the policies are about: rules, selectors, match conditions and timeouts, in webhooks that block on\n\
                     failure and ones that do not, and one of its own for a policy with match conditions. With --simulate it\n\
                     reports which webhooks an API server would call for a request, in which order, and why it would not call\n\
                     the others.";

const EXAMPLES: &str = "  # for a server that runs as a service\n  ephor webhook-config policies/ --ca-bundle ca.crt | kubectl apply -f -\n\n  \
                        # for a server on this machine, written to the cluster\n  ephor webhook-config policies/ --url https://127.0.0.1:9443 --ca-bundle ca.crt --apply\n\n  \
                        # before the server is uninstalled\n  ephor webhook-config --remove\n\n  \
                        # which webhooks a request would meet\n  ephor webhook-config policies/ --simulate request.yaml\n\n  \
                        # the same for configurations of a cluster\n  kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml > hooks.yaml\n  ephor webhook-config --config hooks.yaml --simulate request.yaml\n";

pub(super) const PAGE: super::Page = super::Page {
    name: "webhook-config",
    arguments: "[POLICY...]",
    about: ABOUT,
    flags: FLAGS,
    examples: EXAMPLES,
};

/// Runs the command.
///
/// # Errors
/// Bad flags, files that cannot be read, a configuration that an API server would refuse, a cluster that does.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if parsed.on("help") {
        super::print(&super::command_help("webhook-config", PAGE.arguments, ABOUT, FLAGS, EXAMPLES));
        return Ok(0);
    }
    if parsed.on("remove") {
        return remove(&parsed).map(|()| 0);
    }
    let definitions = documents(parsed.list("definition"))?;
    let kinds = Kinds::with(&definitions);
    let configurations = match parsed.list("config") {
        [] if parsed.arguments.is_empty() => {
            return Err(
                "requires at least one policy: a file, a folder, an address, or - for standard input".into(),
            );
        }
        [] => generate(&parsed, &kinds)?,
        _ if parsed.text("simulate").is_empty() => return Err("--config goes with --simulate".into()),
        files => read_configurations(files)?,
    };
    let judged = |c: &Value| {
        let c = defaulted(c);
        check(&c, &mut lower::Judge::new(&c)).err().map(|refusal| refusal.message)
    };
    if let Some(refusal) = configurations.iter().find_map(judged) {
        return Err(format!("the API server refuses the configuration: {refusal}"));
    }
    match parsed.text("simulate") {
        "" if parsed.on("apply") => {
            let cluster =
                ephor_server::cluster::connect(&super::cluster_choice(&parsed)).map_err(|e| e.to_string())?;
            // Nothing is written unless everything may be.
            let current = configurations
                .iter()
                .map(|c| owned(&cluster, c, parsed.on("take-over")))
                .collect::<Result<Vec<_>, String>>()?;
            for (configuration, current) in configurations.iter().zip(&current) {
                cluster.write(configuration, current.as_ref(), MANAGER).map_err(|e| e.to_string())?;
                let name = configuration.text_at(&["metadata", "name"]);
                super::print(&format!("{} {name}\n", configuration.text_at(&["kind"])));
            }
        }
        "" => print(&parsed, &configurations)?,
        path => {
            let objects = objects(parsed.list("objects"))?;
            let all: Vec<Value> = definitions.into_iter().chain(objects).collect();
            simulate(path, &configurations, all)?;
        }
    }
    Ok(0)
}

/// The name under which fields are written.
const MANAGER: &str = "ephor";

/// The configuration that a cluster has under the name of one that is to be written.
///
/// # Errors
/// It belongs to another program, and may not be taken over.
fn owned(cluster: &Cluster, configuration: &Value, take_over: bool) -> Result<Option<Value>, String> {
    let Some(current) = cluster.current(configuration).map_err(|e| e.to_string())? else { return Ok(None) };
    if registration::is_own(&current) || take_over {
        return Ok(Some(current));
    }
    let (kind, name) = (configuration.text_at(&["kind"]), configuration.text_at(&["metadata", "name"]));
    let managers = current.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap_or_default();
    let mut managers: Vec<&str> = managers.iter().map(|m| m.text_at(&["manager"])).collect();
    managers.dedup();
    let by =
        if managers.is_empty() { String::new() } else { format!(" (written by {})", managers.join(", ")) };
    Err(format!(
        "{kind} `{name}` belongs to another program{by}: remove that program first, or give --take-over to replace it"
    ))
}

/// Deletes the configurations that ephor wrote; those of other programs stay.
fn remove(parsed: &Parsed) -> Result<(), String> {
    let cluster =
        ephor_server::cluster::connect(&super::cluster_choice(parsed)).map_err(|e| e.to_string())?;
    for (kind, name) in registration::KINDS.into_iter().zip(names(parsed).configurations()) {
        let wanted = registration::reference(kind, name);
        match cluster.current(&wanted).map_err(|e| e.to_string())? {
            None => {}
            Some(current) if registration::is_own(&current) => {
                cluster.delete(&current).map_err(|e| e.to_string())?;
                super::print(&format!("{kind} {name} deleted\n"));
            }
            Some(_) => super::warn(&format!("{kind} `{name}` belongs to another program and stays")),
        }
    }
    Ok(())
}

fn names(parsed: &Parsed) -> Names {
    if parsed.on("kyverno-names") { Names::Kyverno } else { Names::Ephor }
}

/// The configurations that the policies of the arguments need.
fn generate(parsed: &Parsed, kinds: &Kinds) -> Result<Vec<Value>, String> {
    let options = options(parsed)?;
    let loaded = files::served_policies(&parsed.arguments);
    let mut policies = Vec::new();
    for problem in &loaded.notices {
        super::warn(&problem.to_string());
    }
    for source in &loaded.sources {
        let read = load::argument_for(std::slice::from_ref(source), Reader::Server);
        for problem in &read.problems {
            super::warn(&problem.to_string());
        }
        for policy in read.policies {
            match &policy.refused {
                Some(why) => {
                    super::warn(&format!(
                        "{}:{}: policy `{}` is refused: {why}",
                        policy.source, policy.line, policy.name
                    ));
                }
                None => policies.push(policy.document),
            }
        }
    }
    let Needs { configurations, unknown } = registration::needs(&policies, kinds, &options);
    for kind in unknown {
        super::warn(&format!("kind `{kind}` is not known: give its definition with --definition"));
    }
    Ok(configurations)
}

fn options(parsed: &Parsed) -> Result<Options, String> {
    let number = |name: &str| parsed.text(name).parse::<i64>().unwrap_or(0);
    let namespace = parsed.text("service-namespace");
    let address = match parsed.text("url") {
        "" => Address::Service {
            namespace: namespace.into(),
            name: parsed.text("service-name").into(),
            port: u16::try_from(number("service-port"))
                .map_err(|_| "--service-port: expected 1 to 65535".to_string())?,
        },
        url => Address::Url(url.into()),
    };
    let ca_bundle = match parsed.text("ca-bundle") {
        "" => String::new(),
        path => ephor_functions::encode::base64_text(ephor_testing::inputs::read(path)?.as_bytes()),
    };
    let excluded: Vec<String> = match parsed.list("exclude-namespace") {
        [] => match &address {
            Address::Service { .. } => vec![namespace.into(), "kube-system".into()],
            Address::Url(_) => vec!["kube-system".into()],
        },
        given => given.iter().filter(|n| !n.is_empty()).cloned().collect(),
    };
    let settings = match parsed.text("config-map") {
        "" => Settings::default(),
        path => {
            let document = ephor_document::yaml_value(&ephor_testing::inputs::read(path)?);
            Settings::of(&document.map_err(|e| format!("{path}: {e}"))?)
        }
    };
    settings.problems.iter().for_each(|problem| super::warn(problem));
    Ok(Options {
        names: names(parsed),
        address,
        ca_bundle,
        timeout: number("webhook-timeout"),
        excluded_namespaces: excluded,
        ignore_failures: parsed.on("force-failure-policy-ignore"),
        exclude_bootstrap: parsed.on("exclude-bootstrap-resources"),
        selectors: settings.selectors,
        conditions: settings.conditions,
        labels: settings.labels,
        annotations: settings.annotations,
    })
}

/// The objects in files, also in Lists.
fn objects(files: &[String]) -> Result<Vec<Value>, String> {
    let mut found = Vec::new();
    for document in documents(files)? {
        let items = document.get("items").and_then(Value::as_list).map(<[Value]>::to_vec);
        found.extend(items.unwrap_or_else(|| vec![document]));
    }
    Ok(found)
}

/// The configurations in files.
fn read_configurations(files: &[String]) -> Result<Vec<Value>, String> {
    let mut found = objects(files)?;
    found.retain(|c| lower::webhook::KINDS.contains(&c.text_at(&["kind"])));
    if found.is_empty() {
        return Err(
            "--config: no ValidatingWebhookConfiguration or MutatingWebhookConfiguration found".into()
        );
    }
    Ok(found)
}

fn print(parsed: &Parsed, configurations: &[Value]) -> Result<(), String> {
    match parsed.text("output") {
        "yaml" => {
            for c in configurations {
                super::print(&format!("---\n{}", yaml::to_string(c, Style::Report)));
            }
        }
        "json" => {
            let mut list = Map::new();
            list.insert("apiVersion", "v1".into());
            list.insert("kind", "List".into());
            list.insert("items", Value::list(configurations.to_vec()));
            let text =
                serde_json::to_string_pretty(&to_serde(&Value::Map(list))).map_err(|e| e.to_string())?;
            super::print(&format!("{text}\n"));
        }
        other => return Err(format!("--output: `{other}` is no format: expected yaml or json")),
    }
    Ok(())
}

/// Prints the outcome of the requests in a file.
fn simulate(path: &str, configurations: &[Value], objects: Vec<Value>) -> Result<(), String> {
    let kinds = Kinds::with(&objects);
    let webhooks = in_order(configurations.iter().flat_map(|c| lower::webhooks(&defaulted(c))).collect());
    for document in documents(&[path.to_string()])? {
        let review = request(&document, &kinds).map_err(|why| format!("{path}: {why}"))?;
        let data = around(&objects, &review.attributes.namespace);
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
        super::print(&format!(
            "{} {}{sub} {place}{}\n",
            a.operation,
            review.resource_name(),
            review.shown_name()
        ));
        print_log(&log);
        if let Err(denial) = result {
            super::print(&format!("denied without a call: {}\n", denial.message));
        }
    }
    Ok(())
}

/// The cluster of the objects; the namespace of the request is there in any case.
fn around(objects: &[Value], own: &Str) -> Objects {
    let mut objects = objects.to_vec();
    let is_own =
        |o: &Value| o.text_at(&["kind"]) == "Namespace" && o.text_at(&["metadata", "name"]) == &**own;
    if !own.is_empty() && !objects.iter().any(is_own) {
        let metadata: Map = [(Str::from("name"), Value::Str(own.clone()))].into_iter().collect();
        let fields = [("kind", "Namespace".into()), ("metadata", Value::Map(metadata))];
        objects.push(Value::Map(fields.into_iter().map(|(k, v)| (Str::from(k), v)).collect()));
    }
    let known = ClusterFacts { all_namespaces: true, ..ClusterFacts::of(&objects, None) };
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
        super::print(&format!("{title}:{}\n", if calls.is_empty() { " none" } else { "" }));
        for (i, call) in calls.iter().enumerate() {
            super::print(&format!("  {}. {call}\n", i + 1));
        }
    }
    let skipped = log.steps.iter().filter_map(|step| match &step.event {
        Event::Skipped(why) => Some(format!("  {}/{}: {why}\n", step.configuration, step.webhook)),
        Event::Called(_) => None,
    });
    let skipped: Vec<String> = skipped.collect();
    if !skipped.is_empty() {
        super::print(&format!("not called:\n{}", skipped.concat()));
    }
}
