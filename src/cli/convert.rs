//! `ephor convert`: policies in another group.
//!
//! In: files with policies, or a cluster that stores them. Out: the same policies in our own groups, or in Kyverno's again. Of
//! files only the group changes, so that comments and layout stay; semantics: `docs/guides/own-group.md`.

use clap::ValueHint;

use ephor_cluster::{Choice, connect};
use ephor_document::locate::locate;
use ephor_document::write::{Style, to_string};
use ephor_document::{Document, Duplicates, parse_stream};
use ephor_kubernetes::groups::Names;
use ephor_policies::kinds;
use ephor_sources::files;
use ephor_value::Value;
use ephor_value::place::PathPart;

use super::migrate::cluster::{as_written, list, place};
use super::{Error, Global, given};

/// Converts policies to ephor.dev and policies.ephor.dev, or back
///
/// The policies are the same: only their group changes. A webhook of Kyverno, which may deny changes to kyverno.io, is not
/// about these groups. What is in another group is printed as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # policies of a folder
  ephor convert --own-group policies/ > policies-of-our-own.yaml

  # those that a cluster stores in kyverno.io and policies.kyverno.io
  ephor convert --own-group --cluster | kubectl apply -f -

  # back again
  ephor convert --kyverno-group policies-of-our-own.yaml")]
pub struct Args {
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
}

/// Runs the command.
///
/// # Errors
/// A file or the cluster cannot be read, or there is no policy.
pub fn run(args: &Args, global: &Global) -> Result<i32, Error> {
    let names = if args.own_group { Names::Own } else { Names::Kyverno };
    let texts = match args.cluster {
        true => of_cluster(&super::cluster_choice(given(&args.context), global), names)?,
        false => of_files(&args.policies, names)?,
    };
    if texts.is_empty() {
        let arguments = if args.cluster { "the cluster".into() } else { args.policies.join(", ") };
        return Err(Error::NoPolicyFound { arguments, causes: Vec::new() });
    }
    for text in texts {
        super::print(&format!("---\n{}\n", text.trim_end()));
    }
    Ok(0)
}

fn of_files(arguments: &[String], names: Names) -> Result<Vec<String>, Error> {
    let loaded = files::policies(arguments);
    loaded.notices.iter().for_each(|notice| super::warn(&notice.to_string()));
    let mut texts = Vec::new();
    for source in &loaded.sources {
        for document in parse_stream(&source.name, &source.text, Duplicates::Error)? {
            let document = document?;
            // A list is given item by item, all with its text: it is printed once.
            if !document.value.is_null() && document.item.is_none_or(|item| item == 0) {
                texts.push(converted(&document, names));
            }
        }
    }
    Ok(texts)
}

/// The text of a document in the other group.
fn converted(document: &Document, names: Names) -> String {
    let of_text = || in_place(document, names);
    match document.item {
        None => of_text().unwrap_or_else(|| document.text.to_string()),
        Some(_) => to_string(&names.of_object(&document.value), Style::Block),
    }
}

/// The text with another group where the document says its own; `None` = it stays as it is.
fn in_place(document: &Document, names: Names) -> Option<String> {
    let api_version = document.value.text_at(&["apiVersion"]);
    let other = names.of_api_version(api_version)?;
    let at = locate(&document.text, &[PathPart::Key("apiVersion".into())])?;
    let mut lines: Vec<String> = document.text.split('\n').map(String::from).collect();
    let line = lines.get_mut(at.line.checked_sub(1)?)?;
    let from = line.find(api_version)?;
    line.replace_range(from..from + api_version.len(), &other);
    Some(lines.join("\n"))
}

fn of_cluster(choice: &Choice, names: Names) -> Result<Vec<String>, Error> {
    // The client gives Kyverno's names, whatever the cluster stores: those of the groups that are converted.
    let stored = if names == Names::Own { Names::Kyverno } else { Names::Own };
    let cluster = connect(&Choice { names: stored, ..choice.clone() })?;
    let served = cluster.kinds()?;
    let mut texts = Vec::new();
    for (group, kind) in kinds::all() {
        let mut found: Vec<Value> = list(&cluster, &served, group, kind)?;
        found.sort_by_cached_key(place);
        texts.extend(found.iter().map(|object| {
            let written = as_written(object);
            let named = if names == Names::Own { Names::Own.of_object(&written) } else { written };
            to_string(&named, Style::Block)
        }));
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn all(text: &str, names: Names) -> Vec<String> {
        let documents = parse_stream("-", text, Duplicates::Error).unwrap();
        documents.into_iter().map(|d| converted(&d.unwrap(), names)).collect()
    }

    #[test]
    fn only_the_group_of_a_document_changes() {
        let text = "# why\napiVersion: kyverno.io/v1   # ours\nkind: ClusterPolicy\nmetadata: {name: a, labels: {of: kyverno.io/v1}}\nspec:\n  rules:\n  - generate: {apiVersion: kyverno.io/v1, kind: Policy}\n";
        let own = all(text, Names::Own).remove(0);
        assert_eq!(own, text.replacen("apiVersion: kyverno.io/v1 ", "apiVersion: ephor.dev/v1 ", 1));
        assert_eq!(all(&own, Names::Kyverno), [text]);
    }

    #[test]
    fn what_is_in_another_group_stays() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
        assert_eq!(all(text, Names::Own), [text]);
    }
}
