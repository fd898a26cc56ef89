//! What checks read and give: the policy, its computed rules, findings.

use std::collections::HashMap;

use crate::autogen::{Selection, computed_rules, written_rules};
use crate::read;
use ephor_value::Value;
use ephor_value::place::{self, Path, PathPart};

/// One thing to say about a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The text.
    pub text: String,
    /// The place in the document, as near as it is known.
    pub path: Path,
}

/// What the check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What the author should know; the policy is usable.
    pub warnings: Vec<Finding>,
    /// Why the policy is refused.
    pub error: Option<Finding>,
}

/// What a language inside of policies says of a text.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The languages inside policies, as far as the check needs them.
#[derive(Clone, Copy)]
pub struct Checks {
    /// Parses a JMESPath expression; the text of the error begins with its class, `SyntaxError: `.
    pub parse_jmespath: fn(&str) -> Result<(), Cause>,
    /// What is wrong with a condition on requests.
    pub condition: fn(&str) -> Result<(), Cause>,
    /// Parses a YAML or JSON text.
    pub parse_yaml: fn(&str) -> Result<Value, Cause>,
    /// Where the objects of an `apiVersion` and a kind live.
    pub scope: fn(&str, &str) -> Scope,
}

/// Where the objects of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In namespaces.
    Namespaced,
    /// In the cluster as a whole.
    Cluster,
    /// That is not known, so both are taken.
    Unknown,
}

/// The end of a step.
pub(super) type Outcome = Result<(), Finding>;

impl Finding {
    /// A finding at a place in dotted form.
    pub(super) fn at(place: &str, text: impl Into<String>) -> Self {
        Finding { text: text.into(), path: place::parse(place) }
    }

    /// `path: <place>: <detail>`.
    pub(super) fn path(place: &str, detail: impl AsRef<str>) -> Self {
        Finding::at(place, format!("path: {place}: {}", detail.as_ref()))
    }

    /// The finding with its place moved to the written rule that a computed one comes from.
    pub(super) fn in_written(mut self, rule: &ComputedRule<'_>) -> Self {
        if let Some(PathPart::Index(index)) = self.path.get_mut(2) {
            *index = rule.written;
        }
        self
    }
}

/// What is checked.
pub(super) struct Subject<'a> {
    pub(super) policy: &'a Value,
    pub(super) checks: &'a Checks,
    pub(super) written: &'a [Value],
    pub(super) computed: Vec<Value>,
    /// The number of the written rule that each computed one comes from.
    origins: Vec<usize>,
    /// The number of the first written rule of each name.
    first_of_name: HashMap<&'a str, usize>,
    /// The namespace of a Policy, `None` for a ClusterPolicy.
    pub(super) namespace: Option<&'a str>,
    pub(super) background: bool,
}

/// A computed rule.
#[derive(Clone, Copy)]
pub(super) struct ComputedRule<'a> {
    /// Its number among the computed rules.
    pub(super) index: usize,
    /// The number of the written rule that it comes from.
    pub(super) written: usize,
    pub(super) value: &'a Value,
}

impl ComputedRule<'_> {
    pub(super) fn name(&self) -> &str {
        self.value.text_at(&["name"])
    }

    /// `spec.rules[i]`, with the number among the computed rules.
    pub(super) fn place(&self) -> String {
        format!("spec.rules[{}]", self.index)
    }

    pub(super) fn has(&self, body: read::Body) -> bool {
        read::has_body(self.value, body)
    }
}

impl<'a> Subject<'a> {
    pub(super) fn new(policy: &'a Value, checks: &'a Checks) -> Self {
        let namespace = match policy.text_at(&["kind"]) {
            "Policy" => Some(policy.text_at(&["metadata", "namespace"])),
            _ => None,
        };
        let written = written_rules(policy);
        let computed = computed_rules(policy, Selection::All);
        let first_of_name = first_of_name(written);
        Subject {
            policy,
            checks,
            written,
            origins: origins(written, &computed, &first_of_name),
            computed,
            first_of_name,
            namespace,
            background: policy.at(&["spec", "background"]).and_then(Value::as_bool).unwrap_or(true),
        }
    }

    pub(super) fn spec(&self, name: &str) -> Option<&'a Value> {
        self.policy.at(&["spec", name]).filter(|v| !v.is_null())
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.spec(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Whether a rule changes existing objects when its policy changes.
    pub(super) fn updates_existing(&self, rule: &Value) -> bool {
        let own = rule.at(&["mutate", "mutateExistingOnPolicyUpdate"]).and_then(Value::as_bool);
        read::has_body(rule, read::Body::Mutate)
            && own.unwrap_or_else(|| self.is_set("mutateExistingOnPolicyUpdate"))
    }

    /// The computed rules; those that are written come first.
    pub(super) fn rules(&self) -> impl Iterator<Item = ComputedRule<'_>> {
        let all = self.computed.iter().zip(&self.origins).enumerate();
        all.map(|(index, (value, written))| ComputedRule { index, written: *written, value })
    }

    /// Whether a written rule before another one has its name.
    pub(super) fn repeats(&self, index: usize, name: &str) -> bool {
        self.first_of_name.get(name).is_some_and(|first| *first < index)
    }
}

/// The numbers of the first written rules of each name.
fn first_of_name(written: &[Value]) -> HashMap<&str, usize> {
    let mut out = HashMap::with_capacity(written.len());
    for (index, rule) in written.iter().enumerate() {
        out.entry(rule.text_at(&["name"])).or_insert(index);
    }
    out
}

/// The written rule that each computed one comes from: policies may have thousands, so they are
/// looked up by their names.
fn origins(written: &[Value], computed: &[Value], first: &HashMap<&str, usize>) -> Vec<usize> {
    let origin = |(index, value): (usize, &Value)| {
        let name = value.text_at(&["name"]);
        if written.get(index).is_some_and(|rule| rule.text_at(&["name"]) == name) {
            return index;
        }
        let rests = || ["autogen-cronjob-", "autogen-"].into_iter().filter_map(|p| name.strip_prefix(p));
        let exact = std::iter::once(name).chain(rests()).filter_map(|name| first.get(name).copied()).min();
        // Names of generated rules are cut at 63 bytes.
        let cut = || {
            let begins = |rule: &Value| rests().any(|rest| rule.text_at(&["name"]).starts_with(rest));
            written.iter().take(exact.unwrap_or(written.len())).position(begins)
        };
        let cut = if name.len() == 63 { cut() } else { None };
        cut.or(exact).unwrap_or(0)
    };
    computed.iter().enumerate().map(origin).collect()
}
