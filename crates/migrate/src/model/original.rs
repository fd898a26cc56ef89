//! The policy as it was written: lines, comments, and its metadata as text.
//!
//! In: the text of a document and the file it is from. Out: places of paths (`old.yaml:31`), the
//! comments of a rule, and the metadata for policies that take its place, line by line as the
//! author wrote them.

use std::collections::BTreeSet;
use std::sync::Arc;

use ephor_document::locate;
use ephor_value::Value;
use ephor_value::place::{Path, PathPart, parse};

use crate::text::{Map, Node, write};
use ephor_policies::load::LoadedPolicy;

/// The annotation that selects pod controllers for ClusterPolicies; policies in CEL have a field
/// for it.
pub const AUTOGEN: &str = "pod-policies.kyverno.io/autogen-controllers";

/// Fields of metadata that an API server sets.
pub const OF_SERVERS: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The annotation in which `kubectl apply` keeps the former document.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A document and where it stands.
#[derive(Clone, Debug)]
pub struct Original {
    /// The file, as messages name it.
    pub file: Arc<str>,
    /// The line on which the document begins, from 1.
    pub line: usize,
    /// Its text.
    pub text: Arc<str>,
    /// What it says, without defaults.
    pub value: Value,
}

/// What policies that take the place of another one have for metadata.
#[derive(Clone, Debug)]
pub struct NewMetadata<'n> {
    /// The name.
    pub name: &'n str,
    /// The namespace; none for kinds of the cluster.
    pub namespace: Option<&'n str>,
    /// An annotation with what it is from, where its name does not say that.
    pub origin: Option<(&'static str, &'n str)>,
}

impl Original {
    /// A policy as it was loaded.
    pub fn of(loaded: &LoadedPolicy) -> Original {
        Original {
            file: loaded.source.clone(),
            line: loaded.line,
            text: loaded.text.clone(),
            value: ephor_document::yaml_value(&loaded.text).unwrap_or_else(|_| loaded.document.clone()),
        }
    }

    /// The line of the file on which the part at a path begins, or the nearest part around it.
    pub fn line_of(&self, path: &[PathPart]) -> usize {
        let found = (1..=path.len())
            .rev()
            .find_map(|n| locate::locate_key(&self.text, path.get(..n).unwrap_or_default()));
        self.line + found.map_or(0, |at| at.line.saturating_sub(1))
    }

    /// `file:line` of the part at a path that is written with dots.
    pub fn place(&self, path: &str) -> String {
        format!("{}:{}", self.file, self.line_of(&parse(path)))
    }

    /// The name of the file without its folders, with the line of the part at a path: for comments.
    pub fn short_place(&self, path: &str) -> String {
        let name = self.file.rsplit(['/', '\\']).next().unwrap_or_default();
        format!("{name}:{}", self.line_of(&parse(path)))
    }

    /// The comments above the document's first line.
    pub fn head(&self) -> Vec<String> {
        let lines = self.text.lines().take_while(|line| {
            let line = line.trim();
            line.is_empty() || line.starts_with('#') || line.starts_with("---")
        });
        lines.map(str::trim).filter(|line| line.starts_with('#')).map(Into::into).collect()
    }

    /// The comments between the beginning of the part at a path and the beginning of what follows
    /// it in its list.
    pub fn comments(&self, path: &str) -> Vec<String> {
        let Some((first, last)) = self.range(&parse(path)) else { return Vec::new() };
        let lines = self.text.lines().collect::<Vec<_>>();
        let comments = comments(&lines);
        let is_comment = |at: &usize| comments.contains(at);
        let above = (0..first).rev().take_while(is_comment).collect::<Vec<_>>();
        let own = lines.get(first..last).unwrap_or_default();
        // Comments at the end belong to what follows.
        let ends = own.iter().rposition(|line| !is_comment_or_blank(line)).map_or(0, |at| at + 1);
        let all = above.into_iter().rev().chain((first..first + ends).filter(is_comment));
        all.filter_map(|at| lines.get(at)).map(|line| line.trim().to_string()).collect()
    }

    /// The lines of a part, from 0: its first, and the one behind its last.
    fn range(&self, path: &Path) -> Option<(usize, usize)> {
        let first = locate::locate_key(&self.text, path)?.line.saturating_sub(1);
        let next = path.split_last().and_then(|(last, around)| match last {
            PathPart::Index(at) => {
                let mut next = around.to_vec();
                next.push(PathPart::Index(at + 1));
                locate::locate_key(&self.text, &next)
            }
            PathPart::Key(_) => None,
        });
        let count = self.text.lines().count();
        let indent = |line: &str| line.len() - line.trim_start().len();
        let own = self.text.lines().nth(first).map_or(0, indent);
        let ends = self
            .text
            .lines()
            .enumerate()
            .skip(first + 1)
            .find(|(_, line)| !is_comment_or_blank(line) && indent(line) < own);
        let last = next.map(|at| at.line.saturating_sub(1)).or(ends.map(|(at, _)| at)).unwrap_or(count);
        Some((first, last.min(count)))
    }

    /// The lines of `metadata`, as they were written where that is possible.
    pub fn metadata(&self, named: &NewMetadata<'_>) -> String {
        let as_text = self.written_metadata(named).filter(|text| {
            let read = ephor_document::yaml_value_strict(text).ok();
            let found = read.as_ref().and_then(|v| v.get("metadata"));
            found.is_some_and(|found| found.strict_eq(&self.expected(named)))
        });
        as_text.unwrap_or_else(|| {
            let mut top = Map::default();
            top.push("metadata", Node::of(&self.expected(named)));
            write(&top.into(), 0)
        })
    }

    /// The metadata as a value.
    fn expected(&self, named: &NewMetadata<'_>) -> Value {
        let mut out = ephor_value::Map::new();
        out.insert("name", Value::from(named.name));
        if let Some(namespace) = named.namespace.filter(|own| !own.is_empty()) {
            out.insert("namespace", Value::from(namespace));
        }
        let old = self.value.get("metadata").and_then(Value::as_map);
        for (key, value) in old.into_iter().flat_map(|old| old.iter()) {
            match &**key {
                "name" | "namespace" | "annotations" => {}
                key if OF_SERVERS.contains(&key) => {}
                _ => {
                    out.insert(key.clone(), value.clone());
                }
            }
        }
        let mut annotations =
            self.value.at(&["metadata", "annotations"]).and_then(Value::as_map).cloned().unwrap_or_default();
        annotations.remove(AUTOGEN);
        annotations.remove(LAST_APPLIED);
        if let Some((key, origin)) = named.origin {
            annotations.insert(key, Value::from(origin));
        }
        if !annotations.is_empty() {
            out.insert("annotations", Value::Map(annotations));
        }
        Value::Map(out)
    }

    /// The lines of `metadata` with other names; `None` when they are not written line by line.
    fn written_metadata(&self, named: &NewMetadata<'_>) -> Option<String> {
        let at = locate::locate_key(&self.text, &parse("metadata"))?;
        let lines: Vec<&str> = self.text.lines().collect();
        let from = at.line.saturating_sub(1);
        if lines.get(from)?.trim_end() != "metadata:" {
            return None;
        }
        let rest = lines.get(from + 1..)?;
        let ends = rest.iter().position(|line| !line.is_empty() && !line.starts_with([' ', '\t', '#']));
        let own = rest.get(..ends.unwrap_or(rest.len()))?;
        let ends = own.iter().rposition(|line| !is_comment_or_blank(line)).map_or(0, |at| at + 1);
        let own = own.get(..ends)?;
        let mut out = vec!["metadata:".to_string()];
        let mut fields = Lines { lines: own, indent: indent_of(own)? };
        let mut has_annotations = false;
        let mut has_namespace = false;
        while let Some((key, block)) = fields.next() {
            match key.as_deref() {
                Some("name") => out.push(format!("  name: {}", one_line(named.name))),
                Some("namespace") => {
                    has_namespace = true;
                    out.extend(
                        named.namespace.map(|namespace| format!("  namespace: {}", one_line(namespace))),
                    );
                }
                Some("annotations") => {
                    has_annotations = true;
                    out.extend(annotations(&block, named.origin)?);
                }
                Some(key) if OF_SERVERS.contains(&key) => {}
                _ => out.extend(moved(&block, fields.indent, 2)),
            }
        }
        if let Some(namespace) = named.namespace.filter(|own| !has_namespace && !own.is_empty()) {
            out.insert(2.min(out.len()), format!("  namespace: {}", one_line(namespace)));
        }
        if let Some((key, origin)) = named.origin.filter(|_| !has_annotations) {
            out.push("  annotations:".into());
            out.push(format!("    {key}: {}", one_line(origin)));
        }
        Some(out.join("\n") + "\n")
    }
}

/// The lines of `annotations` without those that have no meaning any more.
fn annotations(block: &[&str], origin: Option<(&str, &str)>) -> Option<Vec<String>> {
    let (head, own) = block.split_first()?;
    if head.trim() != "annotations:" {
        return None;
    }
    let mut out = Vec::new();
    if let Some(indent) = indent_of(own) {
        let mut fields = Lines { lines: own, indent };
        while let Some((key, block)) = fields.next() {
            let is_dropped = key.as_deref().is_some_and(|key| key == AUTOGEN || key == LAST_APPLIED);
            if !is_dropped {
                out.extend(moved(&block, indent, 4));
            }
        }
    }
    out.extend(origin.map(|(key, text)| format!("    {key}: {}", one_line(text))));
    if !out.is_empty() {
        out.insert(0, "  annotations:".into());
    }
    Some(out)
}

fn one_line(text: &str) -> String {
    write(&Node::map([("k", Node::text(text))]), 0).trim_start_matches("k: ").trim_end().to_string()
}

/// Lines with another indentation.
fn moved(block: &[&str], from: usize, to: usize) -> Vec<String> {
    let line = |line: &&str| match line.trim().is_empty() {
        true => String::new(),
        false => {
            format!("{}{}", " ".repeat(to), line.get(from..).unwrap_or_else(|| line.trim_start()).trim_end())
        }
    };
    block.iter().map(line).collect()
}

/// The members of a map that is written line by line.
struct Lines<'t> {
    lines: &'t [&'t str],
    indent: usize,
}

impl<'t> Lines<'t> {
    /// The next key, with its lines; comments have none.
    fn next(&mut self) -> Option<(Option<String>, Vec<&'t str>)> {
        let (first, rest) = self.lines.split_first()?;
        let is_comment = is_comment_or_blank(first);
        let indent = |line: &str| line.len() - line.trim_start().len();
        let belongs = |line: &&&str| !is_comment && (line.trim().is_empty() || indent(line) > self.indent);
        let more = rest.iter().take_while(belongs).count();
        let block = self.lines.get(..=more).unwrap_or_default().to_vec();
        self.lines = rest.get(more..).unwrap_or_default();
        let key = first.trim().split_once(':').map(|(key, _)| key.trim_matches(['"', '\'']).to_string());
        Some((key.filter(|_| !is_comment), block))
    }
}

fn indent_of(lines: &[&str]) -> Option<usize> {
    let first = lines.iter().find(|line| !is_comment_or_blank(line))?;
    Some(first.len() - first.trim_start().len())
}

fn is_comment_or_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// The lines that are comments, not text in a block.
fn comments(lines: &[&str]) -> BTreeSet<usize> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut out = BTreeSet::new();
    let mut text_below: Option<usize> = None;
    for (at, line) in lines.iter().enumerate() {
        if text_below.is_some_and(|head| indent(line) > head || line.trim().is_empty()) {
            continue;
        }
        text_below = None;
        if line.trim_start().starts_with('#') {
            out.insert(at);
        } else if line.trim_end().trim_end_matches(['-', '+']).ends_with(['|', '>']) {
            text_below = Some(indent(line));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn original(text: &str) -> Original {
        Original {
            file: "dir/old.yaml".into(),
            line: 1,
            text: text.into(),
            value: ephor_document::yaml_value(text).unwrap(),
        }
    }

    const POLICY: &str = "# about the policy
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
    name: old   # the name
    # why it exists
    annotations:
        pod-policies.kyverno.io/autogen-controllers: none
        policies.kyverno.io/description: >-
            Two lines
            of text.
    labels: {a: b}
spec:
  rules:
  # first rule
  - name: a
    # inside
    message: |
      # text
  # second rule
  - name: b
";

    #[test]
    fn metadata_stays_line_by_line_under_another_name() {
        let named =
            NewMetadata { name: "new", namespace: None, origin: Some((ephor_compare::REPLACES, "old")) };
        assert_eq!(
            original(POLICY).metadata(&named),
            "metadata:
  name: new
  # why it exists
  annotations:
    policies.kyverno.io/description: >-
        Two lines
        of text.
    ephor.dev/replaces: old
  labels: {a: b}
"
        );
    }

    #[test]
    fn metadata_on_one_line_and_fields_of_servers_are_written_anew() {
        let text = "metadata: {name: old, uid: x, annotations: {pod-policies.kyverno.io/autogen-controllers: none}}\n";
        let named = NewMetadata { name: "old", namespace: Some("ns"), origin: None };
        assert_eq!(original(text).metadata(&named), "metadata:\n  name: old\n  namespace: ns\n");
    }

    #[test]
    fn comments_belong_to_the_rule_below_them() {
        let original = original(POLICY);
        assert_eq!(original.head(), ["# about the policy"]);
        assert_eq!(original.comments("spec.rules[0]"), ["# first rule", "# inside"]);
        assert_eq!(original.comments("spec.rules[1]"), ["# second rule"]);
    }

    #[test]
    fn places_are_lines_of_the_file() {
        let at = Original { line: 11, ..original(POLICY) };
        assert_eq!(at.place("spec.rules[1].validate"), "dir/old.yaml:31");
        assert_eq!(at.short_place("spec.rules[0]"), "old.yaml:26");
    }
}
