//! `ephor explain`: the lowered rules of policies, and why they decide as they do.

use ephor_inspect::explain::{self, Explained, Wanted};
use ephor_policies::load::{self, Policies};
use ephor_sources::files;
use ephor_value::suggest::did_you_mean;

use super::flags::{self, Flag, Takes, flag};

const FLAGS: &[Flag] = &[
    flag("rule", Takes::Text, "name of the only rule to print, written or generated"),
    flag("kind", Takes::Text, "kind of the only objects to print rules for"),
    flag("output", Takes::Text, "output format: text, or json for the IR (docs/ir-json.md)")
        .short('o')
        .default("text"),
    flag("as-lowered", Takes::Switch, "rules before optimisation, with --output json"),
    flag("resource", Takes::List, "resource files for which the decisions of the policies are explained")
        .short('r'),
    flag(
        "tree",
        Takes::Switch,
        "all decisions, also those without influence on the result, with -r (as -v 1)",
    ),
    flag("values-file", Takes::Text, "file with values of variables, with -r").short('f'),
    flag("userinfo", Takes::Text, "file with the user of the requests, with -r").short('u'),
    flag(
        "as-cluster",
        Takes::Switch,
        "decisions of a cluster instead of the command line, with -r (profile `cluster`)",
    ),
    flag("remove-color", Takes::Switch, "output without colours, with -r"),
];

const ABOUT: &str = "Shows each rule of policies as lowered and as optimised, generated rules included, with file and\nline of the source of every piece. docs/ir.md describes the nodes. With -r: what the rules decide about\nresources, with the place of every decision in the policy and of every value in the resource.";

const EXAMPLES: &str = "  # all rules of a policy\n  ephor explain policy.yaml\n\n  # the rule that is generated for cron jobs\n  ephor explain policy.yaml --kind CronJob\n\n  # the IR, which can be applied as a policy file\n  ephor explain policy.yaml --output json > policy.json\n  ephor apply policy.json --resource pod.yaml\n\n  # why a resource passes, fails or is not matched\n  ephor explain policy.yaml -r pod.yaml\n";

pub(super) const PAGE: super::Page =
    super::Page { name: "explain", arguments: "POLICY...", about: ABOUT, flags: FLAGS, examples: EXAMPLES };

/// Runs the command.
///
/// # Errors
/// Bad flags, no policy, no such rule.
pub fn run(args: &[String]) -> Result<i32, String> {
    let parsed = flags::parse(FLAGS, args)?;
    if parsed.on("help") {
        super::print(&super::command_help("explain", PAGE.arguments, ABOUT, FLAGS, EXAMPLES));
        return Ok(0);
    }
    if parsed.arguments.is_empty() {
        return Err(
            "requires at least one policy: a file, a folder, an address, or - for standard input".into()
        );
    }
    let is_json = match parsed.text("output") {
        "text" => false,
        "json" => true,
        other => return Err(format!("unknown output `{other}`; use `text` or `json`")),
    };
    let policies = policies(&parsed.arguments)?;
    if !parsed.list("resource").is_empty() {
        return super::explain_decisions::run(&parsed, &policies);
    }
    let kind = Some(parsed.text("kind")).filter(|k| !k.is_empty());
    let all: Vec<Explained> = policies.policies.iter().flat_map(|p| explain::rules(p, kind)).collect();
    let name = parsed.text("rule");
    let chosen: Vec<&Explained> = all.iter().filter(|r| name.is_empty() || r.rule == name).collect();
    if chosen.is_empty() {
        return Err(nothing(&all, name, kind));
    }
    for p in &policies.policies {
        if let Some(why) = &p.refused {
            eprintln!("warning: {}:{}: policy `{}` is refused: {why}", p.source, p.line, p.name);
        }
    }
    if is_json {
        let rule = Some(name).filter(|n| !n.is_empty());
        let wanted = Wanted { rule, kind, as_lowered: parsed.on("as-lowered") };
        let bundle = explain::bundle(&policies, wanted);
        super::print(&format!("{}\n", bundle.write().map_err(|e| e.to_string())?));
    } else {
        super::print(&chosen.iter().map(|r| r.text()).collect::<Vec<_>>().join("\n"));
    }
    Ok(0)
}

/// Loads the policies; what is skipped is printed as a warning, and is an error when nothing is left.
fn policies(arguments: &[String]) -> Result<Policies, String> {
    let mut all = Policies::default();
    let mut warnings = Vec::new();
    for argument in arguments {
        if let Some(text) = missing(argument) {
            return Err(text);
        }
        let loaded = files::policies(std::slice::from_ref(argument));
        warnings.extend(loaded.notices.iter().map(|n| format!("{}: {}", n.place, n.text)));
        all.extend(load::argument(&loaded.sources));
    }
    warnings.extend(all.problems.iter().map(ToString::to_string));
    warnings.extend(
        all.cleanups.iter().map(|c| format!("{} `{}` has no rules", c.policy.api.kind, c.policy.key())),
    );
    if all.policies.is_empty() {
        let causes: String = warnings.iter().map(|t| format!("\n  {t}")).collect();
        return Err(format!("no policy found in {}{causes}", arguments.join(", ")));
    }
    for text in warnings {
        eprintln!("warning: {text}");
    }
    Ok(all)
}

/// The error for a path that leads nowhere, with the file that was probably meant.
pub(super) fn missing(argument: &str) -> Option<String> {
    let path = std::path::Path::new(argument);
    if argument == "-" || argument.contains("://") || argument.contains(['*', '?', '[']) || path.exists() {
        return None;
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(std::path::Path::new("."));
    let siblings: Vec<String> = std::fs::read_dir(folder)
        .map(|entries| {
            entries.filter_map(|e| Some(e.ok()?.file_name().to_string_lossy().into_owned())).collect()
        })
        .unwrap_or_default();
    let siblings: Vec<&str> = siblings.iter().map(String::as_str).collect();
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let close = did_you_mean(&name, &siblings)
        .map(|c| format!("; did you mean `{}`?", path.with_file_name(c).display()));
    Some(format!("no such policy file `{argument}`{}", close.unwrap_or_default()))
}

fn nothing(all: &[Explained], name: &str, kind: Option<&str>) -> String {
    let of_kind = kind.map(|k| format!(" for objects of kind `{k}`")).unwrap_or_default();
    if name.is_empty() {
        return format!("no rule{of_kind}");
    }
    let names: Vec<&str> = all.iter().map(|r| &*r.rule).collect();
    let hint = match did_you_mean(name, &names) {
        Some(close) => format!("; did you mean `{close}`?"),
        None if names.is_empty() => String::new(),
        None => format!("; there are: {}", names.join(", ")),
    };
    format!("no rule `{name}`{of_kind}{hint}")
}
