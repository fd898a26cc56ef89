//! `ephor create`: templates of files.
//!
//! The texts are Kyverno's, byte for byte; what it prints for tests, values and user information
//! is a form that its own commands refuse, so `--current` prints the form that they take. Values are
//! put in as they are. Semantics: `docs/cli.md`.

use std::collections::BTreeMap;

use super::flags::{self, Flag, Parsed, Takes, flag};
use super::{Page, command_help, print, program, unknown_below, warn};

const OUTPUT: Flag = flag("output", Takes::Text, "output file instead of standard output").short('o');
const CURRENT: Flag = flag("current", Takes::Switch, "current schema, which apply and test read");

/// The commands below `create`.
pub(super) const PAGES: &[Page] = &[
    Page {
        name: "create cluster-role",
        arguments: "NAME",
        about: "Creates a role that lets a controller handle more kinds of resources.",
        flags: &[
            flag("api-groups", Takes::Text, "API group of the resources").short('g'),
            flag("verbs", Takes::Array, "verbs that the role allows; `all` for all"),
            flag("resources", Takes::Array, "resources that the role covers"),
            flag("controllers", Takes::Array, "controllers that the role is aggregated to")
                .default("background-controller"),
            OUTPUT,
        ],
        examples: "  # allow the background controller to handle deployments\n  ephor create cluster-role apps --api-groups apps --resources deployments --verbs all\n",
    },
    Page {
        name: "create exception",
        arguments: "NAME",
        about: "Creates an exception from rules.",
        flags: &[
            flag("policy-rules", Takes::Array, "policy and rules: policy,rule1,rule2"),
            flag("namespace", Takes::Text, "namespace of the exception").default("default"),
            flag("background", Takes::Switch, "exceptions in background scans, too")
                .short('b')
                .default("true"),
            flag(
                "any",
                Takes::Array,
                "filters of which any must match: kind=K,name=N,namespace=S,operation=O",
            ),
            flag("all", Takes::Array, "filters of which all must match, likewise"),
            OUTPUT,
        ],
        examples: "  # exempt the pods of a namespace\n  ephor create exception legacy --policy-rules need-team,team --any kind=Pod,namespace=legacy\n",
    },
    Page {
        name: "create metrics-config",
        arguments: "",
        about: "Creates a metrics configuration.",
        flags: &[
            flag("name", Takes::Text, "name of the ConfigMap").short('n').default("kyverno-metrics"),
            flag("namespace", Takes::Text, "namespace of the ConfigMap").default("kyverno"),
            flag("include", Takes::List, "namespaces that are counted").short('i'),
            flag("exclude", Takes::List, "namespaces that are not counted").short('e'),
            OUTPUT,
        ],
        examples: "  # count all namespaces but one\n  ephor create metrics-config -e kube-system\n",
    },
    Page {
        name: "create test",
        arguments: "",
        about: "Creates a test file.",
        flags: &[
            flag("name", Takes::Text, "name of the test").short('n').default("test-name"),
            flag("policy", Takes::List, "policy files").short('p'),
            flag("resource", Takes::List, "resource files").short('r'),
            flag("values", Takes::Text, "values file").short('f'),
            flag("pass", Takes::Array, "results that pass: policy,rule,resource,namespace,kind"),
            flag("fail", Takes::Array, "results that fail, likewise"),
            flag("skip", Takes::Array, "results that are skipped, likewise"),
            CURRENT,
            OUTPUT,
        ],
        examples: "  # a test that `ephor test` runs\n  ephor create test --current -p policy.yaml -r resource.yaml --pass need-team,team,good,default,Pod\n",
    },
    Page {
        name: "create user-info",
        arguments: "",
        about: "Creates a user information file.",
        flags: &[
            flag("username", Takes::Text, "user name").short('u'),
            flag("role", Takes::List, "roles").short('r'),
            flag("cluster-role", Takes::List, "cluster roles").short('c'),
            flag("group", Takes::List, "groups").short('g'),
            CURRENT,
            OUTPUT,
        ],
        examples: "  # a member of a group\n  ephor create user-info --current -u eve -g dev\n",
    },
    Page {
        name: "create values",
        arguments: "",
        about: "Creates a values file.",
        flags: &[
            flag("global", Takes::List, "values for all policies: name=value").short('g'),
            flag("ns-selector", Takes::Array, "labels of a namespace: namespace,label=value").short('n'),
            flag("rule", Takes::Array, "values for a rule: policy,rule,name=value"),
            flag("resource", Takes::Array, "values for a resource: policy,resource,name=value"),
            CURRENT,
            OUTPUT,
        ],
        examples: "  # a value for one rule\n  ephor create values --current --rule need-team,team,team=blue\n",
    },
];

const ABOUT: &str = "Prints templates of files: exceptions, tests, values and the like.";

/// Runs the command.
///
/// # Errors
/// Bad flags and arguments, a file that cannot be written.
pub fn run(args: &[String]) -> Result<i32, String> {
    let Some((name, rest)) = args.split_first().filter(|(name, _)| !name.starts_with('-')) else {
        flags::parse(&[], args)?;
        print(&super::group_help("create", ABOUT, PAGES));
        return Ok(0);
    };
    let full = format!("create {name}");
    let Some(page) = PAGES.iter().find(|p| p.name == full) else {
        return Err(unknown_below("create", name, PAGES));
    };
    let parsed = flags::parse(page.flags, rest)?;
    if parsed.on("help") {
        print(&command_help(page.name, page.arguments, page.about, page.flags, page.examples));
        return Ok(0);
    }
    if page.arguments.is_empty()
        && let Some(extra) = parsed.arguments.first()
    {
        return Err(format!("unknown command \"{extra}\" for \"{} {full}\"", program()));
    }
    if !page.arguments.is_empty() && parsed.arguments.len() != 1 {
        return Err(format!("accepts 1 arg(s), received {}", parsed.arguments.len()));
    }
    let current = parsed.on("current");
    let text = match name.as_str() {
        "cluster-role" => cluster_role(&parsed)?,
        "exception" => exception(&parsed)?,
        "metrics-config" => metrics_config(&parsed),
        "test" => test(&parsed, current),
        "user-info" => user_info(&parsed, current),
        _ => values(&parsed, current),
    };
    if matches!(name.as_str(), "test" | "user-info" | "values") && !current {
        warn("this form is refused by `test`; --current prints the one that it takes");
    }
    match parsed.text("output") {
        "" => print(&text),
        path => super::write_whole(path, &text).map_err(|e| format!("failed to write {path} ({e})"))?,
    }
    Ok(0)
}

fn required(parsed: &Parsed, names: &[&str]) -> Result<(), String> {
    let mut missing: Vec<String> =
        names.iter().filter(|n| !parsed.given(n)).map(|n| format!("\"{n}\"")).collect();
    missing.sort();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!("required flag(s) {} not set", missing.join(", "))),
    }
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

fn user_info(parsed: &Parsed, current: bool) -> String {
    let mut out = head("UserInfo", current);
    out.push_str("# list of roles\nroles:\n");
    items(&mut out, 2, parsed.list("role"));
    out.push_str("\n# list of cluster roles\nclusterRoles:\n");
    items(&mut out, 2, parsed.list("cluster-role"));
    out.push_str(&format!("\nuserInfo:\n  # user name\n  username: {}\n", parsed.text("username")));
    out.push_str("\n  # list of groups\n  groups:\n");
    items(&mut out, 4, parsed.list("group"));
    out
}

fn values(parsed: &Parsed, current: bool) -> String {
    let mut out = head("Values", current);
    out.push_str("# list of policy values\npolicies:\n");
    for (flag, group) in [("rule", "rules"), ("resource", "resources")] {
        for item in parsed.list(flag) {
            let mut parts = item.split(',');
            let (Some(policy), Some(name)) = (parts.next(), parts.next()) else { continue };
            out.push_str(&format!(
                "  - name: {policy}\n    {group}:\n      - name: {name}\n        values:\n"
            ));
            lines_of(&mut out, 10, &pairs(parts));
        }
    }
    out.push_str("\n# list of global values\nglobalValues:\n");
    lines_of(&mut out, 2, &pairs(parsed.list("global").iter().map(String::as_str)));
    out.push_str("\n# list of namespace selectors\nnamespaceSelector:\n");
    for item in parsed.list("ns-selector") {
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

fn test(parsed: &Parsed, current: bool) -> String {
    let mut out = head("Test", current);
    match current {
        true => out.push_str(&format!("metadata:\n  name: {}\n", parsed.text("name"))),
        false => out.push_str(&format!("# test name\nname: {}\n", parsed.text("name"))),
    }
    out.push_str("\n# list of policy files\npolicies:\n");
    items(&mut out, 2, parsed.list("policy"));
    out.push_str("\n# list of resource files\nresources:\n");
    items(&mut out, 2, parsed.list("resource"));
    let variables = parsed.text("values");
    if !current || !variables.is_empty() {
        out.push_str(&format!("\n# variables file (optional)\nvariables: {variables}\n"));
    }
    out.push_str("\n# list of expected results\nresults:\n");
    for result in ["pass", "fail", "skip"] {
        for item in parsed.list(result) {
            let parts: Vec<&str> = item.split(',').collect();
            let ([policy, rule, resource, namespace, kind] | [policy, rule, resource, namespace, kind, _]) =
                parts[..]
            else {
                continue;
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
    out
}

fn metrics_config(parsed: &Parsed) -> String {
    let list = |key: &str| {
        let items: Vec<String> = parsed
            .list(key)
            .iter()
            .map(|s| {
                let mut text = String::from("        ");
                ephor_value::print::write_json_string(&mut text, s);
                text
            })
            .collect();
        (!items.is_empty()).then(|| format!("      \"{key}\": [\n{}\n      ]", items.join(",\n")))
    };
    let parts: Vec<String> = ["include", "exclude"].into_iter().filter_map(list).collect();
    let body = match parts.is_empty() {
        true => "    {}".to_owned(),
        false => format!("    {{\n{}\n    }}", parts.join(",\n")),
    };
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\n  namespace: {}\ndata:\n  namespaces: |\n{body}\n",
        parsed.text("name"),
        parsed.text("namespace")
    )
}

fn exception(parsed: &Parsed) -> Result<String, String> {
    required(parsed, &["policy-rules"])?;
    let mut out = format!(
        "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata:\n  name: {}\n  namespace: {}\nspec:\n  background: {}\n  match:\n",
        parsed.arguments.concat(),
        parsed.text("namespace"),
        parsed.on("background")
    );
    for group in ["any", "all"] {
        if !parsed.list(group).is_empty() {
            out.push_str(&format!("    {group}:\n"));
            parsed.list(group).iter().for_each(|item| filter(&mut out, item));
        }
    }
    out.push_str("  exceptions:\n");
    for item in parsed.list("policy-rules") {
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

fn cluster_role(parsed: &Parsed) -> Result<String, String> {
    required(parsed, &["api-groups", "resources", "verbs"])?;
    let controllers = parsed.list("controllers");
    if controllers.iter().any(|c| c.trim().is_empty()) {
        return Err("invalid controller provided".into());
    }
    let labels: String =
        controllers.iter().map(|c| format!("      rbac.kyverno.io/aggregate-to-{c}: \"true\"\n")).collect();
    let verbs = parsed.list("verbs");
    let verbs: Vec<String> = match verbs.first().map(String::as_str) {
        Some("all") => ["create", "get", "update", "delete", "list", "watch"].map(str::to_owned).to_vec(),
        _ => verbs.to_vec(),
    };
    let verbs: Vec<String> = verbs.iter().map(|v| format!("\"{v}\"")).collect();
    Ok(format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: kyverno-{}-permission\n  labels:\n{labels}rules:\n  - apiGroups: [\"{}\"]\n    resources: [\"{}\"]\n    verbs: [{}]",
        parsed.arguments.concat(),
        parsed.text("api-groups"),
        parsed.list("resources").join(","),
        verbs.join(", ")
    ))
}
