//! `ephor convert`: policies in another group.
//!
//! In: files with policies, or a cluster that stores them. Out: the same policies in our own
//! groups, or in Kyverno's again. Of files only the group changes, in lists too, so that comments
//! and layout stay; semantics: `docs/guides/own-group.md`.

use std::collections::{BTreeMap, BTreeSet};

use clap::ValueHint;

use ephor_cluster::{Choice, connect};
use ephor_document::locate::locate;
use ephor_document::split::split;
use ephor_document::write::{Style, to_string};
use ephor_document::{Duplicates, LoadError, yaml};
use ephor_kubernetes::groups::PolicyNames;
use ephor_policies::kinds;
use ephor_sources::files;
use ephor_value::Value;
use ephor_value::place::PathPart;

use super::CommandError;
use super::migrate::cluster::{as_written, list, place};
use crate::cli::arguments::{ConsoleFlags, Global, given};
use crate::cli::{arguments, console, policy_files};

/// How deep lists of objects may be in each other.
const MAX_LISTS: usize = 8;

/// Converts policies to ephor.dev and policies.ephor.dev, or back
///
/// The policies are the same: only their group changes. A webhook of Kyverno, which may deny
/// changes to kyverno.io, is not about these groups. What is in another group is printed as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # policies of a folder
  ephor convert --own-group policies/ > policies-of-our-own.yaml

  # those that a cluster stores in kyverno.io and policies.kyverno.io
  ephor convert --own-group --cluster | kubectl apply -f -

  # back again
  ephor convert --kyverno-group policies-of-our-own.yaml")]
pub struct ConvertArgs {
    /// files and folders with policies, `-` for standard input
    #[arg(value_name = "POLICY", value_hint = ValueHint::AnyPath, required_unless_present = "cluster", conflicts_with = "cluster")]
    policies: Vec<String>,
    /// to ephor.dev and policies.ephor.dev
    #[arg(long, required_unless_present = "kyverno_group", conflicts_with = "kyverno_group")]
    own_group: bool,
    /// to kyverno.io and policies.kyverno.io
    #[arg(long)]
    kyverno_group: bool,
    /// policies and exceptions that the cluster stores in the other groups
    #[arg(long)]
    cluster: bool,
    /// context of the kubeconfig file
    #[arg(long, value_name = "NAME", requires = "cluster")]
    context: Option<String>,
    #[command(flatten)]
    console: ConsoleFlags,
}

/// Runs the command.
///
/// # Errors
/// A file or the cluster cannot be read, there is no policy, or two would be one.
pub fn run(args: &ConvertArgs, global: &Global) -> Result<i32, CommandError> {
    args.console.apply();
    let names = if args.own_group { PolicyNames::Own } else { PolicyNames::Kyverno };
    let texts = match args.cluster {
        true => of_cluster(&arguments::cluster_choice(given(&args.context), global), names)?,
        false => of_files(&args.policies, names)?,
    };
    if texts.is_empty() {
        let arguments = if args.cluster { "the cluster".into() } else { args.policies.join(", ") };
        return Err(CommandError::NoPolicyFound { arguments, causes: Vec::new() });
    }
    for text in texts {
        let separator = if text.starts_with("---") { "" } else { "---\n" };
        console::print(&format!("{separator}{}\n", text.trim_end()));
    }
    Ok(0)
}

fn of_files(arguments: &[String], names: PolicyNames) -> Result<Vec<String>, CommandError> {
    arguments.iter().try_for_each(|argument| policy_files::exists(argument))?;
    let mut loaded = files::policies(arguments);
    loaded.notices.iter().for_each(|notice| console::warn(&notice.to_string()));
    // A link to a file is that file.
    let mut known = BTreeSet::new();
    loaded
        .sources
        .retain(|source| std::fs::canonicalize(&source.name).map_or(true, |path| known.insert(path)));
    let (mut texts, mut all) = (Vec::new(), Vec::new());
    for source in &loaded.sources {
        let Renamed { text, objects } = renamed(&source.name, &source.text, names)?;
        texts.push(text);
        all.extend(objects);
    }
    distinct(&all)?;
    let count = all.iter().filter(|object| object.is_renamed).count();
    match (count, all.len() - count) {
        (_, 0) => {}
        (0, _) => console::warn("nothing is converted: no document is in the other group"),
        (_, others) => console::warn(&format!("{count} converted, {others} in another group as they are")),
    }
    Ok(texts)
}

/// A file in the other group.
pub(super) struct Renamed {
    /// Its text.
    pub(super) text: String,
    /// Its objects, those of lists one by one.
    pub(super) objects: Vec<Object>,
}

/// An object that is printed.
pub(super) struct Object {
    /// Group, kind, namespace and name.
    key: [String; 4],
    /// `file:line` of its document.
    place: String,
    /// Whether its group has changed.
    pub(super) is_renamed: bool,
}

/// The text of a file with other groups where objects say their own: nothing else in it changes.
///
/// # Errors
/// A document cannot be read, or says its group somewhere else, as with an alias.
pub(super) fn renamed(source: &str, text: &str, names: PolicyNames) -> Result<Renamed, CommandError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let refused = |line, problem| CommandError::from(LoadError { source: source.into(), line, problem });
    let mut lines: Vec<String> = text.split('\n').map(String::from).collect();
    let (mut objects, mut edits) = (Vec::new(), Vec::new());
    for part in split(text).map_err(|e| refused(e.line, e.into()))? {
        let value = yaml::parse(part.text, Duplicates::Error).map_err(|e| refused(part.line, e.into()))?;
        let mut found = Vec::new();
        collect(&value, &mut Vec::new(), &mut found);
        for (path, object) in found {
            let (old, place) = (object.text_at(&["apiVersion"]), format!("{source}:{}", part.line));
            let new = names.of_api_version(old);
            if let Some(new) = &new {
                let edit = locate(part.text, &path).and_then(|at| {
                    let index = (part.line + at.line).checked_sub(2)?;
                    let line = lines.get(index)?;
                    let from = line.char_indices().nth(at.col.checked_sub(1)?)?.0;
                    // Quotes may be before it, and nothing else.
                    let quote = line.get(from..)?.find(old).filter(|skipped| *skipped <= 1)?;
                    Some((index, from + quote, old.len(), new.clone()))
                });
                let refusal = || CommandError::GroupElsewhere { place: place.clone(), group: old.into() };
                edits.push(edit.ok_or_else(refusal)?);
            }
            let group = new.as_deref().unwrap_or(old).split_once('/').map_or("", |(group, _)| group);
            let at = |path: &[&str]| object.text_at(path).to_string();
            let key =
                [group.into(), at(&["kind"]), at(&["metadata", "namespace"]), at(&["metadata", "name"])];
            objects.push(Object { key, place, is_renamed: new.is_some() });
        }
    }
    // From the end, so that those before it in a line stay where they are.
    edits.sort();
    for (line, from, length, new) in edits.into_iter().rev() {
        if let Some(line) = lines.get_mut(line) {
            line.replace_range(from..from + length, &new);
        }
    }
    Ok(Renamed { text: lines.join("\n"), objects })
}

/// The objects of a document, each with the path of its group.
fn collect<'v>(value: &'v Value, path: &mut Vec<PathPart>, found: &mut Vec<(Vec<PathPart>, &'v Value)>) {
    if path.len() > 2 * MAX_LISTS {
        return;
    }
    if value.get("apiVersion").is_some() {
        found.push(([&path[..], &[PathPart::Key("apiVersion".into())]].concat(), value));
    }
    let is_list = value.text_at(&["kind"]).ends_with("List");
    let items = if is_list { value.get("items").and_then(Value::as_list) } else { value.as_list() };
    let depth = path.len();
    if is_list {
        path.push(PathPart::Key("items".into()));
    }
    for (index, item) in items.unwrap_or_default().iter().enumerate() {
        path.push(PathPart::Index(index));
        collect(item, path, found);
        path.pop();
    }
    path.truncate(depth);
}

/// Two objects that were of two groups are not one now. Those that were of one group are what they
/// were: the policy and a patch of kustomize, for example.
fn distinct(objects: &[Object]) -> Result<(), CommandError> {
    let mut known: BTreeMap<&[String; 4], &Object> = BTreeMap::new();
    for object in objects.iter().filter(|object| !object.key[3].is_empty()) {
        let Some(first) = known.insert(&object.key, object) else { continue };
        let [_, kind, namespace, name] = &object.key;
        let name = if namespace.is_empty() { name.clone() } else { format!("{namespace}/{name}") };
        let (twice, at, second) = (format!("{kind} {name}"), first.place.clone(), object.place.clone());
        if first.is_renamed != object.is_renamed {
            return Err(CommandError::OneObject { object: twice, first: at, second });
        }
        if first.is_renamed {
            console::warn(&format!("{second}: {twice} is printed twice, as it is in {at}, too"));
        }
    }
    Ok(())
}

fn of_cluster(choice: &Choice, names: PolicyNames) -> Result<Vec<String>, CommandError> {
    // The client gives Kyverno's names, whatever the cluster stores: those of the groups that are
    // converted.
    let stored = if names == PolicyNames::Own { PolicyNames::Kyverno } else { PolicyNames::Own };
    let cluster = connect(&Choice { names: stored, ..choice.clone() })?;
    let served = cluster.kinds()?;
    let mut texts = Vec::new();
    for (group, kind) in kinds::all() {
        let mut found: Vec<Value> = list(&cluster, &served, group, kind)?;
        found.sort_by_cached_key(place);
        texts.extend(found.iter().map(|object| {
            let written = as_written(object);
            let named =
                if names == PolicyNames::Own { PolicyNames::Own.of_object(&written) } else { written };
            to_string(&named, Style::Block)
        }));
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn of(text: &str, names: PolicyNames) -> String {
        renamed("p.yaml", text, names).unwrap().text
    }

    #[test]
    fn only_the_group_of_a_document_changes() {
        let text = "# why\napiVersion: kyverno.io/v1   # ours\nkind: ClusterPolicy\nmetadata: {name: a, labels: {of: kyverno.io/v1}}\nspec:\n  rules:\n  - generate: {apiVersion: kyverno.io/v1, kind: Policy}\n";
        let own = of(text, PolicyNames::Own);
        assert_eq!(own, text.replacen("apiVersion: kyverno.io/v1 ", "apiVersion: ephor.dev/v1 ", 1));
        assert_eq!(of(&own, PolicyNames::Kyverno), text);
        assert_eq!(of(&own, PolicyNames::Own), own);
    }

    #[test]
    fn what_is_in_another_group_stays() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
        let converted = renamed("p.yaml", text, PolicyNames::Own).unwrap();
        assert_eq!(converted.text, text);
        assert!(!converted.objects[0].is_renamed);
    }

    #[test]
    fn items_of_lists_change_in_each_layout() {
        let json = r#"[{"kind": "Policy", "apiVersion": "kyverno.io/v1"}, {"apiVersion":"policies.kyverno.io/v1"}, {"apiVersion": "v1"}]"#;
        for (text, count) in [
            (
                "apiVersion: v1\nkind: List\nitems:\n# first\n- apiVersion: 'kyverno.io/v1'\n  kind: Policy\n-\n  kind: PolicyException\n  apiVersion: kyverno.io/v2 # e\n",
                2,
            ),
            (
                "items: [{apiVersion: kyverno.io/v1}, {apiVersion: \"kyverno.io/v2\"}]\nkind: ClusterPolicyList\napiVersion: kyverno.io/v1\n",
                3,
            ),
            (
                "kind: List\napiVersion: v1\nitems:\n- kind: List\n  apiVersion: v1\n  items:\n  - {apiVersion: kyverno.io/v1, kind: ClusterPolicy}\n",
                1,
            ),
            (json, 2),
        ] {
            let own = of(text, PolicyNames::Own);
            assert_eq!(own, text.replace("kyverno.io/", "ephor.dev/"), "{text}");
            assert_eq!(
                renamed("p", text, PolicyNames::Own).unwrap().objects.iter().filter(|o| o.is_renamed).count(),
                count
            );
            assert_eq!(of(&own, PolicyNames::Kyverno), text);
        }
    }

    #[test]
    fn a_group_that_an_alias_says_is_refused_with_its_place() {
        let text = "a: 1\n---\nmetadata: {name: &v kyverno.io/v1}\nkind: Policy\napiVersion: *v\n";
        let error = renamed("p.yaml", text, PolicyNames::Own).err().unwrap().to_string();
        assert!(error.starts_with("p.yaml:3: ") && error.contains("`kyverno.io/v1`"), "{error}");
    }
}
