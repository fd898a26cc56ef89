//! A run of policies on resources, as every output format reads it.
//!
//! In: what a command evaluated. Out: [`Run`]: each result with its policy, its resource, the place
//! of the field that decided and the place in the policy, all with names of files, lines and
//! columns. [`crate::formats`] writes it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::about::About;
pub use crate::findings::Findings;
use crate::fix::FileFix;
pub use crate::roots::Roots;
use crate::spool::SpoolError;
use ephor_engine::Status;
pub use ephor_ir::facts::Severity;
use ephor_value::Value;
pub use ephor_value::shard::Shard;

/// The arguments of a run on which its results depend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// Files, folders and addresses with policies.
    pub policies: Vec<String>,
    /// Files and folders with resources.
    pub resources: Vec<String>,
    /// The other flags with their values, each a word.
    pub flags: Vec<String>,
    /// Whether something is read once: a repository, which is checked out for the run.
    pub is_read_once: bool,
    /// Names of the policies that decide the same about an object when nothing else is loaded.
    pub alone: BTreeSet<String>,
}

/// A place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file as the user named it, `-` for standard input.
    pub file: String,
    /// The line, from 1; 0 when no line is known.
    pub line: usize,
    /// The column, from 1 in characters; 0 when none is known.
    pub column: usize,
    /// How many characters from there the place has; 0 when no column is known.
    pub length: usize,
    /// The text of the line.
    pub text: String,
}

impl Place {
    /// `FILE:LINE:COLUMN`, without what is not known.
    pub fn display(&self) -> String {
        match (self.line, self.column) {
            (0, _) => self.file.clone(),
            (line, 0) => format!("{}:{line}", self.file),
            (line, column) => format!("{}:{line}:{column}", self.file),
        }
    }

    /// The column behind the place; 0 when none is known.
    pub fn end_column(&self) -> usize {
        self.column + self.length
    }
}

/// A policy that gave results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PolicyInfo {
    /// `name`, or `namespace/name` of one in a namespace.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Its title (`policies.kyverno.io/title`).
    pub title: String,
    /// What it is for (`policies.kyverno.io/description`).
    pub description: String,
    /// What its violations mean, where the description does not say it; empty for policies of
    /// users.
    pub help: String,
    /// What it is about (`policies.kyverno.io/category`).
    pub category: String,
    /// The kinds that it is about (`policies.kyverno.io/subject`).
    pub subject: String,
    /// How much a violation matters.
    pub severity: Option<Severity>,
}

impl PolicyInfo {
    /// The first address in the description, which is where policies name their documentation.
    pub fn address(&self) -> Option<&str> {
        let at = self.description.find("https://")?;
        let rest = self.description.get(at..)?;
        let is_end = |c: char| c.is_whitespace() || c.is_control() || "<>\"'`()[]{}|\\^,".contains(c);
        let end = rest.find(is_end).unwrap_or(rest.len());
        rest.get(..end).map(|address| address.trim_end_matches(['.', ';', ':'])).filter(|a| a.len() > 8)
    }
}

/// The object of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ResourceName {
    /// Group and version.
    pub api_version: String,
    /// Kind; empty for data that is no object.
    pub kind: String,
    /// Namespace; empty for cluster-wide objects.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// What an API server begins the name with, of an object without one.
    pub generate_name: String,
}

impl ResourceName {
    /// Of an object.
    pub fn of(object: &Value) -> ResourceName {
        let text = |path: &[&str]| object.text_at(path).to_string();
        ResourceName {
            api_version: text(&["apiVersion"]),
            kind: text(&["kind"]),
            namespace: text(&["metadata", "namespace"]),
            name: text(&["metadata", "name"]),
            generate_name: text(&["metadata", "generateName"]),
        }
    }

    /// `Kind namespace/name`; `Kind namespace/prefix…` of an object that gets its name from an API
    /// server.
    pub fn display(&self) -> String {
        let name = match (self.name.as_str(), self.generate_name.as_str()) {
            ("", "") => "(without a name)".to_string(),
            ("", prefix) => format!("{prefix}…"),
            (name, _) => name.to_string(),
        };
        match (self.kind.as_str(), self.namespace.as_str()) {
            ("", _) if self.name.is_empty() => "data".into(),
            (kind, "") => format!("{kind} {name}"),
            (kind, namespace) => format!("{kind} {namespace}/{name}"),
        }
    }

    /// `Kind/namespace/name`, or `Kind/name`, as commands name an object.
    pub fn kind_and_name(&self) -> String {
        match self.namespace.as_str() {
            "" => format!("{}/{}", self.kind, self.name),
            namespace => format!("{}/{namespace}/{}", self.kind, self.name),
        }
    }

    /// `namespace/Kind/name`, as Kyverno prints it.
    pub fn path(&self) -> String {
        format!("{}/{}/{}", self.namespace, self.kind, self.name)
    }
}

/// Where a result stands in its run, whatever part of the run gave it. Results of one place are in
/// the order in which they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order {
    /// What is done: 0 = policies are loaded, 1 = objects are evaluated, from 2 on = a policy that
    /// deletes sweeps the objects.
    pub stage: u32,
    /// The position of the object among all objects of the run, from 0.
    pub object: u64,
}

/// The result of a rule on a resource.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its place in the run.
    pub order: Order,
    /// The policy.
    pub policy: Arc<PolicyInfo>,
    /// The rule; empty for policies whose rules have no names.
    pub rule: String,
    /// The status.
    pub status: Status,
    /// The message.
    pub message: String,
    /// The object; `None` for a policy that cannot be evaluated at all.
    pub resource: Option<ResourceName>,
    /// The path of the field that decided, `spec.containers[0].image`.
    pub field: Option<String>,
    /// Where that field stands, or the resource when no field decided.
    pub place: Option<Place>,
    /// The file of a Helm chart that the resource was rendered from.
    pub template: Option<String>,
    /// Where the policy decided: an expression, a part of a pattern, a condition, or the rule.
    pub decision: Option<Place>,
    /// A change of the file that mends it, where the policy says it.
    pub fix: Option<Box<FileFix>>,
    /// Whether the baseline has it.
    pub is_known: bool,
}

impl Finding {
    /// Whether the rule failed, as a warning too, or could not be evaluated.
    pub fn is_violation(&self) -> bool {
        matches!(self.status, Status::Fail | Status::Warn | Status::Error)
    }

    /// `policy/rule`, or the policy alone where rules have no names.
    pub fn rule_id(&self) -> String {
        match self.rule.as_str() {
            "" => self.policy.name.clone(),
            rule => format!("{}/{rule}", self.policy.name),
        }
    }

    /// The name of the rule, or of its policy.
    pub fn rule_name(&self) -> &str {
        if self.rule.is_empty() { &self.policy.name } else { &self.rule }
    }

    /// What identifies the violation from run to run: rule and resource, without places and
    /// messages.
    pub fn identity(&self) -> [String; 3] {
        let resource = self.resource.as_ref().map(ResourceName::path).unwrap_or_default();
        [self.policy.kind.clone(), self.rule_id(), resource]
    }

    /// The file to show: the template of a chart, or the file that was read.
    pub fn file(&self) -> &str {
        let read = self.place.as_ref().or(self.decision.as_ref()).map(|place| place.file.as_str());
        self.template.as_deref().or(read).unwrap_or_default()
    }
}

/// Something that the run could not use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// One line, with its place.
    pub text: String,
    /// Whether results are missing because of it.
    pub is_error: bool,
}

/// How many results there are of each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Passed rules.
    pub pass: usize,
    /// Failed rules.
    pub fail: usize,
    /// Failed rules that count as warnings.
    pub warn: usize,
    /// Rules that could not be evaluated.
    pub error: usize,
    /// Rules that do not apply.
    pub skip: usize,
    /// Of the violations those in the baseline.
    pub known: usize,
}

impl Counts {
    /// The counts of some results.
    pub fn of<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Counts {
        let mut counts = Counts::default();
        findings.into_iter().for_each(|finding| counts.add(finding));
        counts
    }

    /// Counts a result.
    pub fn add(&mut self, finding: &Finding) {
        match finding.status {
            Status::Pass => self.pass += 1,
            Status::Fail => self.fail += 1,
            Status::Warn => self.warn += 1,
            Status::Error => self.error += 1,
            Status::Skip => self.skip += 1,
        }
        self.known += usize::from(finding.is_known && finding.is_violation());
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: &Counts) {
        self.pass += other.pass;
        self.fail += other.fail;
        self.warn += other.warn;
        self.error += other.error;
        self.skip += other.skip;
        self.known += other.known;
    }
}

/// A run.
#[derive(Debug, Default)]
pub struct Run {
    /// The results, in the order of the resources.
    pub findings: Findings,
    /// Whether only violations are shown; the counts are those of all results.
    pub violations_only: bool,
    /// How many resources were read.
    pub resources: usize,
    /// How many policies were loaded.
    pub policies: usize,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What was left out.
    pub notes: Vec<Note>,
    /// The folders that names of files begin in.
    pub roots: Roots,
    /// The arguments, for commands that read a part of the run.
    pub invocation: Invocation,
    /// When it was, of which commit, with which policies.
    pub about: About,
    /// Whether the results end in exit code 1.
    pub fails: bool,
    /// Which objects the run has.
    pub shard: Shard,
    /// What the results depend on, objects aside, as a digest: shards of one run have the same.
    pub id: String,
}

impl Run {
    /// How many results there are of each status, also of those that are not shown.
    pub fn counts(&self) -> Counts {
        self.findings.counts()
    }

    /// The results that are shown.
    pub fn shown(&self) -> impl Iterator<Item = Result<Cow<'_, Finding>, SpoolError>> {
        let is_shown = |finding: &Finding| !self.violations_only || finding.is_violation();
        self.findings.iter().filter(move |read| read.as_ref().map_or(true, |finding| is_shown(finding)))
    }

    /// The results that are violations.
    pub fn violations(&self) -> impl Iterator<Item = Result<Cow<'_, Finding>, SpoolError>> {
        self.findings.iter().filter(|read| read.as_ref().map_or(true, |finding| finding.is_violation()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_without_a_name_is_shown_with_what_its_name_begins_with() {
        let of = |metadata: &str| {
            let text = format!("{{apiVersion: v1, kind: Pod, metadata: {metadata}}}");
            ResourceName::of(&ephor_document::yaml_value(&text).unwrap_or_default())
        };
        assert_eq!(of("{generateName: gg-, namespace: a}").display(), "Pod a/gg-…");
        assert_eq!(of("{generateName: gg-, name: b}").display(), "Pod b");
        assert_eq!(of("{namespace: a}").display(), "Pod a/(without a name)");
        // Kyverno's outputs have nothing there.
        assert_eq!(of("{generateName: gg-, namespace: a}").path(), "a/Pod/");
    }
}
