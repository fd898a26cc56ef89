//! Policy checks: what is wrong with a ClusterPolicy or Policy that fits its schema.
//!
//! In: a policy with its defaults filled in. Out: warnings and at most one error, with the texts of
//! Kyverno 1.19.1. Semantics: section 5 of the policy object specification, offline: no cluster is
//! read, permissions count as granted, no kind is known to be cluster-scoped, CEL is not compiled.
//!
//! The steps run in this order and stop at the first error; each has a file:
//! the policy as a whole (`whole`), variables (`variables`), the structure (`structure`, which
//! collects all it finds), action overrides (`overrides`), kinds (`kinds`), then each computed rule
//! (`rules`). Exceptions have checks of their own ([`exception`]).

mod body;
pub mod cleanup;
mod conditions;
mod context;
mod elements;
mod empty_set;
pub mod exception;
mod generate;
mod images;
mod kinds;
pub use conditions::OPERATORS;
pub use images::decoding_problem as attestor_set_problem;
mod overrides;
mod patches;
mod rules;
mod selector;
mod structure;
mod substitute;
mod targets_metadata;
mod variables;
mod whole;

use super::autogen::{Selection, computed_rules, written_rules};
use super::schema::is_deeper;
use super::{MAX_DEPTH, read};
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

/// Checks a policy.
pub fn lint(policy: &Value, checks: &Checks) -> Findings {
    let mut warnings = Vec::new();
    if is_deeper(policy, MAX_DEPTH) {
        let error = Some(Finding::at("", "the policy is nested too deeply"));
        return Findings { warnings, error };
    }
    let subject = Subject::new(policy, checks);
    let error = run(&subject, &mut warnings).err();
    Findings { warnings, error }
}

/// Checks a policy like [`lint`] and gives every step's errors, also those behind the first one.
/// Steps that find more than one thing report the first of each rule.
pub fn all(policy: &Value, checks: &Checks) -> (Vec<Finding>, Vec<Finding>) {
    let mut warnings = Vec::new();
    if is_deeper(policy, MAX_DEPTH) {
        return (warnings, vec![Finding::at("", "the policy is nested too deeply")]);
    }
    let subject = Subject::new(policy, checks);
    let mut outcomes = vec![whole::namespace(&subject, &mut warnings)];
    whole::action_spellings(&subject, &mut warnings);
    outcomes.push(whole::match_conditions(&subject));
    outcomes.push(variables::check_users(&subject));
    outcomes.extend(subject.rules().map(|rule| variables::check_one(&subject, &rule)));
    outcomes.extend(structure::each(&subject, &mut warnings).into_iter().map(Err));
    outcomes.push(overrides::check(&subject));
    outcomes.push(whole::processing(&subject));
    outcomes.push(kinds::check(&subject));
    for rule in subject.rules() {
        outcomes.extend(rules::check_one(&subject, &rule, &mut warnings));
    }
    (warnings, outcomes.into_iter().filter_map(Result::err).collect())
}

fn run(subject: &Subject<'_>, warnings: &mut Vec<Finding>) -> Outcome {
    whole::namespace(subject, warnings)?;
    whole::action_spellings(subject, warnings);
    whole::match_conditions(subject)?;
    variables::check(subject)?;
    structure::check(subject, warnings)?;
    overrides::check(subject)?;
    whole::processing(subject)?;
    kinds::check(subject)?;
    rules::check(subject, warnings)
}

/// The end of a step.
type Outcome = Result<(), Finding>;

impl Finding {
    /// A finding at a place in dotted form.
    fn at(place: &str, text: impl Into<String>) -> Self {
        Finding { text: text.into(), path: place::parse(place) }
    }

    /// `path: <place>: <detail>`.
    fn path(place: &str, detail: impl AsRef<str>) -> Self {
        Finding::at(place, format!("path: {place}: {}", detail.as_ref()))
    }

    /// The finding with its place moved to the written rule that a computed one comes from.
    fn in_written(mut self, rule: &Rule<'_>) -> Self {
        if let Some(PathPart::Index(index)) = self.path.get_mut(2) {
            *index = rule.written;
        }
        self
    }
}

/// What is checked.
struct Subject<'a> {
    policy: &'a Value,
    checks: &'a Checks,
    written: &'a [Value],
    computed: Vec<Value>,
    /// The namespace of a Policy, `None` for a ClusterPolicy.
    namespace: Option<&'a str>,
    background: bool,
}

/// A computed rule.
#[derive(Clone, Copy)]
struct Rule<'a> {
    /// Its number among the computed rules.
    index: usize,
    /// The number of the written rule that it comes from.
    written: usize,
    value: &'a Value,
}

impl Rule<'_> {
    fn name(&self) -> &str {
        self.value.text_at(&["name"])
    }

    /// `spec.rules[i]`, with the number among the computed rules.
    fn place(&self) -> String {
        format!("spec.rules[{}]", self.index)
    }

    fn has(&self, body: read::Body) -> bool {
        read::has_body(self.value, body)
    }
}

impl<'a> Subject<'a> {
    fn new(policy: &'a Value, checks: &'a Checks) -> Self {
        let namespace = match policy.text_at(&["kind"]) {
            "Policy" => Some(policy.text_at(&["metadata", "namespace"])),
            _ => None,
        };
        Subject {
            policy,
            checks,
            written: written_rules(policy),
            computed: computed_rules(policy, Selection::All),
            namespace,
            background: policy.at(&["spec", "background"]).and_then(Value::as_bool).unwrap_or(true),
        }
    }

    fn spec(&self, name: &str) -> Option<&'a Value> {
        self.policy.at(&["spec", name]).filter(|v| !v.is_null())
    }

    fn is_set(&self, name: &str) -> bool {
        self.spec(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Whether a rule changes existing objects when its policy changes.
    fn updates_existing(&self, rule: &Value) -> bool {
        let own = rule.at(&["mutate", "mutateExistingOnPolicyUpdate"]).and_then(Value::as_bool);
        read::has_body(rule, read::Body::Mutate)
            && own.unwrap_or_else(|| self.is_set("mutateExistingOnPolicyUpdate"))
    }

    /// The computed rules; those that are written come first.
    fn rules(&self) -> impl Iterator<Item = Rule<'_>> {
        self.computed.iter().enumerate().map(|(index, value)| {
            let name = value.text_at(&["name"]);
            let origin = |candidate: &Value| {
                let written = candidate.text_at(&["name"]);
                written == name
                    || ["autogen-cronjob-", "autogen-"].iter().any(|prefix| {
                        let rest = name.strip_prefix(prefix);
                        rest.is_some_and(|rest| {
                            written == rest || name.len() == 63 && written.starts_with(rest)
                        })
                    })
            };
            let written = match self.written.get(index) {
                Some(rule) if rule.text_at(&["name"]) == name => index,
                _ => self.written.iter().position(origin).unwrap_or(0),
            };
            Rule { index, written, value }
        })
    }
}

#[cfg(test)]
mod tests;
