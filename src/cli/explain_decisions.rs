//! `ephor explain POLICY -r RESOURCE`: what policies decide about resources, and why.

use std::sync::Arc;

use ephor_document::Document;
use ephor_engine::Profile;
use ephor_inspect::explain::decisions::{self, Decided};
use ephor_policies::load::Policies;
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_testing::inputs::requests::Requests;
use ephor_testing::inputs::values::Values;
use ephor_testing::inputs::{resources, user};
use ephor_value::Value;
use ephor_value::print::json;
use ephor_value::suggest::did_you_mean;

use super::flags::Parsed;
use super::{print, warn};

/// Prints what the policies decide about each resource.
///
/// # Errors
/// A resource, values or user file that cannot be read, or no rule of the name.
pub(super) fn run(parsed: &Parsed, policies: &Policies) -> Result<i32, String> {
    let profile = if parsed.on("as-cluster") { Profile::as_cluster() } else { Profile::kyverno_cli() };
    let loaded = resources::read(parsed.list("resource"), profile, "resources").map_err(|(text, _)| text)?;
    loaded.failed.iter().for_each(|text| warn(text.trim()));
    loaded.warnings.iter().for_each(|text| warn(text));
    let requests = requests(parsed, profile)?;
    let colour = !parsed.on("remove-color") && super::shows_colours();
    let verbose = parsed.on("tree") || !parsed.text("v").is_empty();
    let (mut texts, mut list) = (Vec::new(), Vec::new());
    for resource in &loaded.documents {
        let decided = about(policies, resource, &requests, parsed.text("rule"))?;
        if parsed.text("output") == "json" {
            let name = Value::from(&*headline(resource));
            let rules = Value::list(decided.iter().map(Decided::to_value).collect());
            list.push(Value::Map([("resource".into(), name), ("rules".into(), rules)].into_iter().collect()));
            continue;
        }
        let rules: Vec<String> = decided.iter().map(|d| d.text(colour, verbose)).collect();
        texts.push(format!("{}\n\n{}", headline(resource), rules.join("\n")));
    }
    match parsed.text("output") == "json" {
        true => print(&format!("{}\n", json(&Value::list(list)))),
        false => print(&texts.join("\n")),
    }
    Ok(0)
}

/// `pod.yaml:1 Pod dev/cart`
fn headline(resource: &Document) -> String {
    let text = |path: &[&str]| resource.value.text_at(path);
    let namespace = match text(&["metadata", "namespace"]) {
        "" => String::new(),
        namespace => format!("{namespace}/"),
    };
    let name = text(&["metadata", "name"]);
    format!("{}:{} {} {namespace}{name}", resource.source, resource.line, text(&["kind"]))
}

fn requests(parsed: &Parsed, profile: Profile) -> Result<Requests, String> {
    let mut requests = Requests { profile, ..Requests::default() };
    let file = parsed.text("values-file");
    if !file.is_empty() {
        requests.values = Arc::new(Values::read(file, file).map_err(|refused| refused.text)?);
    }
    let file = parsed.text("userinfo");
    if !file.is_empty() {
        requests.user = Some(user::read(file).map_err(|refused| refused.text)?.0);
    }
    Ok(requests)
}

/// The decisions of all policies about a resource, or those of the rules of a name.
fn about(
    policies: &Policies,
    resource: &Document,
    requests: &Requests,
    rule: &str,
) -> Result<Vec<Decided>, String> {
    let mut out = Vec::new();
    for loaded in &policies.policies {
        let Some(policy) = &loaded.policy else { continue };
        let set = PolicySet::new(vec![policy.clone()], policies.exceptions.clone())
            .with_cel_exceptions(policies.cel_exceptions.clone());
        let engine = Engine::new(set).with_profile(requests.profile).with_values(requests.values.clone());
        let request = requests.of(resource.value.clone(), Some(&policy.name), &engine)?;
        out.extend(decisions::decide(loaded, &engine, &request, resource));
    }
    if rule.is_empty() {
        return Ok(out);
    }
    let names: Vec<&str> = out.iter().map(|d| &*d.rule).collect();
    let close = did_you_mean(rule, &names).map(|name| format!("; did you mean `{name}`?"));
    out.retain(|d| d.rule == rule);
    match out.is_empty() {
        true => Err(format!("no rule `{rule}`{}", close.unwrap_or_default())),
        false => Ok(out),
    }
}
