//! Exceptions against the policies of the same run: rules that a policy does not have, and variants
//! for controllers of pods that an exception about controllers does not name.
//!
//! In: all sources, and an exception. Out: findings at its entries. Policies that are not among the
//! sources are not known, and nothing is reported of them.

use std::collections::HashMap;

use ephor_api::read::{filters, kinds_of, listed};
use ephor_matching::kinds::parse as parse_kind;
use ephor_policies::load::{LoadedPolicy, Reader, argument_for};
use ephor_sources::files::SourceText;
use ephor_value::place::parse;
use ephor_value::release::Release;
use ephor_value::suggest::did_you_mean;
use ephor_value::{Value, wildcard};

use super::finding::Severity;
use super::subject::{Remedy, Spot, Subject, item};

/// The rules of policies by the policies' names, `NAMESPACE/NAME` for those in namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(HashMap<String, Vec<String>>);

impl Rules {
    /// Those of all policies in sources; none when no source has an exception.
    pub(super) fn of(sources: &[SourceText]) -> Rules {
        if !sources.iter().any(|source| source.text.contains("PolicyException")) {
            return Rules::default();
        }
        let named: Vec<SourceText> =
            sources.iter().filter(|source| source.text.contains("rules:")).cloned().collect();
        let loaded = argument_for(&named, Reader::Server(Release::default()));
        Rules::of_policies(&loaded.policies)
    }

    /// Those of policies that are loaded.
    pub fn of_policies<'p>(policies: impl IntoIterator<Item = &'p LoadedPolicy>) -> Rules {
        let mut found = HashMap::new();
        for loaded in policies {
            let Some(policy) = &loaded.policy else { continue };
            let metadata = loaded.document.get("metadata").cloned().unwrap_or_default();
            let name = match metadata.text_at(&["namespace"]) {
                "" => metadata.text_at(&["name"]).to_string(),
                namespace => format!("{namespace}/{}", metadata.text_at(&["name"])),
            };
            // Folders may have several of one name.
            let names = policy.rule_names.iter().map(ToString::to_string);
            found.entry(name).or_insert_with(Vec::new).extend(names);
        }
        Rules(found)
    }
}

/// The kinds of controllers, and the prefix of the variants that are for them.
const CONTROLLERS: [(&str, &str); 7] = [
    ("Deployment", "autogen-"),
    ("DaemonSet", "autogen-"),
    ("StatefulSet", "autogen-"),
    ("ReplicaSet", "autogen-"),
    ("ReplicationController", "autogen-"),
    ("Job", "autogen-"),
    ("CronJob", "autogen-cronjob-"),
];

/// Checks an exception of `kyverno.io`.
pub(super) fn check(subject: &mut Subject<'_>, rules: &Rules, exception: &Value) {
    let Some(spec) = exception.get("spec") else { return };
    let mut prefixes: Vec<&str> = Vec::new();
    for (_, filter) in filters(spec.get("match")) {
        for entry in kinds_of(filter) {
            let kind = parse_kind(entry).kind;
            if let Some((_, prefix)) = CONTROLLERS.iter().find(|(name, _)| *name == &*kind)
                && !prefixes.contains(prefix)
            {
                prefixes.push(prefix);
            }
        }
    }
    for (i, entry) in listed(spec, "exceptions").iter().enumerate() {
        let Some(known) = rules.0.get(entry.text_at(&["policyName"])) else { continue };
        let named: Vec<(usize, &str)> = listed(entry, "ruleNames")
            .iter()
            .enumerate()
            .filter_map(|(j, name)| Some((j, name.as_str()?)))
            .collect();
        let at = item(&parse("spec"), "exceptions", i);
        for (j, name) in &named {
            let path = item(&at, "ruleNames", *j);
            if !known.iter().any(|rule| wildcard::matches(name, rule)) {
                let names: Vec<&str> = known.iter().map(String::as_str).collect();
                let message = format!(
                    "the policy `{}` has no rule `{name}`: the exception is for none",
                    entry.text_at(&["policyName"])
                );
                let remedy = subject.meant(&path, Spot::Value, did_you_mean(name, &names));
                subject.report("unknown-rule", Severity::Warning, &path, Spot::Value, message, remedy);
                continue;
            }
            let missing: Vec<String> = prefixes
                .iter()
                .map(|prefix| format!("{prefix}{name}"))
                .filter(|variant| known.contains(variant))
                .filter(|variant| !named.iter().any(|(_, name)| wildcard::matches(name, variant)))
                .collect();
            if missing.is_empty() {
                continue;
            }
            let quoted: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
            let message = format!(
                "the exception is about controllers of pods and does not name {}, the variants of `{name}` that check them",
                quoted.join(" and ")
            );
            let title = format!("name {}, too", quoted.join(" and "));
            let fix = subject.insert_items(&path, &missing, title.clone(), true);
            let remedy = Remedy { help: Some(title), fixes: fix.into_iter().collect() };
            subject.report("variant-not-excepted", Severity::Warning, &path, Spot::Value, message, remedy);
        }
    }
}
