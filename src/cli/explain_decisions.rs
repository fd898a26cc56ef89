//! `ephor explain POLICY -r RESOURCE`: what policies decide about resources, and why.

use std::sync::Arc;

use ephor_document::Document;
use ephor_engine::Profile;
use ephor_inspect::explain::decisions::{self, Decided};
use ephor_policies::load::Policies;
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_sources::files::Reading;
use ephor_testing::inputs::requests::Requests;
use ephor_testing::inputs::resources::Choice;
use ephor_testing::inputs::values::Values;
use ephor_testing::inputs::{resources, user};
use ephor_value::Value;
use ephor_value::print::json;
use ephor_value::suggest::did_you_mean;

use super::explain::{Args, Decisions, Output};
use super::{Error, Global, given, print, warn};

/// Prints what the policies decide about each resource.
///
/// # Errors
/// A resource, values or user file that cannot be read, or no rule of the name.
pub(super) fn run(args: &Args, global: &Global, policies: &Policies) -> Result<i32, Error> {
    let options = &args.decisions;
    let profile = if options.as_cluster { Profile::as_cluster() } else { Profile::kyverno_cli() };
    let reading = Reading { patterns: true, recursive: false };
    let choice = Choice { reading, skips_others: false };
    let loaded = resources::read(&options.resources(), profile, "resources", choice);
    let loaded = loaded.map_err(|(text, _)| Error::input(text))?;
    loaded.failed.iter().for_each(|text| warn(text.trim()));
    loaded.warnings.iter().for_each(|text| warn(text));
    let requests = requests(options, profile)?;
    let colour = !args.remove_color && super::shows_colours();
    let verbose = options.tree || given(&global.verbosity).is_some();
    let rule = given(&args.rule);
    if args.output != Output::Json {
        print(&text(policies, &loaded.documents, &requests, (rule, colour, verbose))?);
        return Ok(0);
    }
    let mut list = Vec::new();
    for resource in &loaded.documents {
        let decided = about(policies, resource, &requests, rule)?;
        let name = Value::from(&*headline(resource));
        let rules = Value::list(decided.iter().map(Decided::to_value).collect());
        list.push(Value::Map([("resource".into(), name), ("rules".into(), rules)].into_iter().collect()));
    }
    print(&format!("{}\n", json(&Value::list(list))));
    Ok(0)
}

/// What the policies, or the rules of a name, decide about each resource, with colours and with all details or without.
///
/// # Errors
/// An object that gives no request, or no rule of the name.
pub(super) fn text(
    policies: &Policies,
    resources: &[Document],
    requests: &Requests,
    (rule, colour, verbose): (Option<&str>, bool, bool),
) -> Result<String, Error> {
    let one = |resource| {
        let decided = about(policies, resource, requests, rule)?;
        let rules: Vec<String> = decided.iter().map(|d| d.text(colour, verbose)).collect();
        Ok(format!("{}\n\n{}", headline(resource), rules.join("\n")))
    };
    let texts: Result<Vec<String>, Error> = resources.iter().map(one).collect();
    Ok(texts?.join("\n"))
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

fn requests(options: &Decisions, profile: Profile) -> Result<Requests, Error> {
    let mut requests = Requests { profile, ..Requests::default() };
    if let Some(file) = given(&options.values_file) {
        requests.values = Arc::new(Values::read(file, file).map_err(|refused| Error::input(refused.text))?);
    }
    if let Some(file) = given(&options.userinfo) {
        requests.user = Some(user::read(file).map_err(|refused| Error::input(refused.text))?.0);
    }
    Ok(requests)
}

/// The decisions of all policies about a resource, or those of the rules of a name.
fn about(
    policies: &Policies,
    resource: &Document,
    requests: &Requests,
    rule: Option<&str>,
) -> Result<Vec<Decided>, Error> {
    let mut out = Vec::new();
    for loaded in &policies.policies {
        let Some(policy) = &loaded.policy else { continue };
        let set = PolicySet::new(vec![policy.clone()], policies.exceptions.clone())
            .with_cel_exceptions(policies.cel_exceptions.clone());
        let engine = Engine::new(set).with_profile(requests.profile).with_values(requests.values.clone());
        let request =
            requests.of(resource.value.clone(), Some(&policy.name), &engine).map_err(Error::input)?;
        out.extend(decisions::decide(loaded, &engine, &request, resource));
    }
    let Some(rule) = rule else { return Ok(out) };
    let names: Vec<&str> = out.iter().map(|d| &*d.rule).collect();
    let meant = did_you_mean(rule, &names).map(String::from);
    out.retain(|d| d.rule == rule);
    match out.is_empty() {
        true => Err(Error::NoRule { rule: rule.into(), kind: None, meant, names: Vec::new() }),
        false => Ok(out),
    }
}
