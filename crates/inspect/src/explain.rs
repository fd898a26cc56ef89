//! What the engine makes of a policy, as text for its author.
//!
//! In: a loaded policy. Out: for each of its rules, generated ones included, the IR as lowered and
//! as optimised, every piece with file and line of its source; or the IR of all policies as JSON.
//! The texts are those of [`mod@print`].
//!
//! - [`decisions`]: what a policy decides about a resource, and why.
//! - [`run`]: what the policies of a run decide about an object, each on the object as it sees it.

pub mod decisions;
pub mod run;

use std::collections::BTreeSet;
use std::sync::Arc;

use ephor_analysis::print;
use ephor_api::autogen::Selection;
use ephor_document::locate::locate_key;
use ephor_ir::facts::Stage;
use ephor_ir::json::Bundle;
use ephor_ir::{Matcher, Policy, Rule, optimise};
use ephor_kubernetes::Kinds;
use ephor_lower::LATE;
use ephor_lower::policy::{policy_as_lowered, rules_as_lowered};
use ephor_matching::constraints;
use ephor_policies::load::{LoadedPolicy, Policies};
use ephor_value::Str;
use ephor_value::place::{PathPart, dotted, parse};

/// A rule, explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The policy's name.
    pub policy: String,
    /// The rule's name.
    pub rule: String,
    /// Where the rule is written, or the one that it was generated from: `FILE:LINE`.
    pub place: String,
    /// The path of that rule in the policy document.
    pub path: String,
    /// For what it was generated, if it is not written.
    pub generated: Option<Str>,
    /// The rule as lowered.
    pub before: String,
    /// The rule as the engine runs it; `None` = the same.
    pub after: Option<String>,
}

/// Explains the rules of a policy: all of them, or those that objects of a kind can meet.
pub fn rules(loaded: &LoadedPolicy, kind: Option<&str>) -> Vec<Explained> {
    let Some(policy) = &loaded.policy else { return Vec::new() };
    let rules = match kind {
        _ if has_written_rules(loaded) => {
            rules_as_lowered(&loaded.document, kind.map_or(Selection::All, Selection::ForKind))
        }
        Some(kind) => policy.rules_for(kind).iter().map(|r| (**r).clone()).collect(),
        None => {
            let mut all: Vec<&Arc<Rule>> = Vec::new();
            policy.all_rules().for_each(|r| {
                if !all.contains(&r) {
                    all.push(r)
                }
            });
            all.into_iter().map(|r| (**r).clone()).collect()
        }
    };
    rules.into_iter().filter(|r| kind.is_none_or(|k| concerns(&r.when, k))).map(|r| one(loaded, r)).collect()
}

/// Whether the rules of a policy can be lowered anew, from a document that has them.
fn has_written_rules(loaded: &LoadedPolicy) -> bool {
    let stage = loaded.policy.as_ref().map(|p| p.stage);
    stage == Some(Stage::Rules) && loaded.document.at(&["spec", "rules"]).is_some()
}

/// Which rules of policies are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The rule of this name.
    pub rule: Option<&'a str>,
    /// Rules that objects of this kind can meet, as they are for it.
    pub kind: Option<&'a str>,
    /// As they are before optimisation.
    pub as_lowered: bool,
}

/// The IR of loaded policies and of all that was loaded with them. Policies without a wanted rule
/// are left out.
pub fn bundle(all: &Policies, wanted: Wanted<'_>) -> Bundle {
    Bundle {
        policies: all.policies.iter().filter_map(|p| chosen(p, wanted)).collect(),
        exceptions: all.exceptions.clone(),
        cel_exceptions: all.cel_exceptions.clone(),
        bindings: all.bindings.clone(),
        cleanups: all.cleanups.clone(),
        ..Bundle::default()
    }
}

fn chosen(loaded: &LoadedPolicy, wanted: Wanted<'_>) -> Option<Arc<Policy>> {
    let mut policy = Arc::unwrap_or_clone(loaded.policy.clone()?);
    if wanted.as_lowered && has_written_rules(loaded) {
        policy = policy_as_lowered(&loaded.document);
    }
    if wanted.rule.is_none() && wanted.kind.is_none() {
        return Some(Arc::new(policy));
    }
    if let Some(kind) = wanted.kind {
        policy.rules = policy.rules_for(kind).into();
        policy.by_kind.clear();
    }
    let is_wanted = |r: &Rule| {
        wanted.rule.is_none_or(|name| *r.name == *name)
            && wanted.kind.is_none_or(|kind| concerns(&r.when, kind))
    };
    let keep = |rules: &[Arc<Rule>]| rules.iter().filter(|r| is_wanted(r)).cloned().collect::<Arc<[_]>>();
    policy.rules = keep(&policy.rules);
    for own in &mut policy.by_kind {
        own.rules = keep(&own.rules);
    }
    policy.rule_names =
        policy.all_rules().map(|r| r.name.clone()).collect::<BTreeSet<_>>().into_iter().collect();
    policy.rule_count = policy.rule_names.len();
    (policy.rule_count > 0).then(|| Arc::new(policy))
}

/// Whether some filter of a matcher names the kind, or names none.
fn concerns(when: &Matcher, kind: &str) -> bool {
    if let Matcher::Constraints(c) = when {
        let kinds = constraints::kinds_of(c, Kinds::built_in());
        return kinds.is_none_or(|kinds| kinds.iter().any(|k| **k == *kind));
    }
    when.filters().iter().any(|f| f.kinds.is_empty() || f.kinds.iter().any(|k| k.kind.matches(kind)))
}

fn one(loaded: &LoadedPolicy, rule: Rule) -> Explained {
    let show = |path: &[PathPart]| format!("{} ({})", place(loaded, path), dotted(path));
    let before = print::rule(&rule).text(&show);
    let (name, origin, generated) =
        (rule.name.to_string(), rule.origin.path.to_string(), rule.generated.clone());
    let after = print::rule(&optimise::rule(rule, LATE)).text(&show);
    Explained {
        policy: loaded.name.clone(),
        rule: name,
        place: place(loaded, &parse(&origin)),
        path: origin,
        generated,
        after: (after != before).then_some(after),
        before,
    }
}

/// `FILE:LINE` of the part at `path`, or of the nearest part around it that is written.
pub fn place(loaded: &LoadedPolicy, path: &[PathPart]) -> String {
    let found = (0..=path.len())
        .rev()
        .find_map(|n| locate_key(&loaded.text, &loaded.path_in_text(path.get(..n).unwrap_or_default())))
        .map_or(loaded.line, |p| loaded.line + p.line.saturating_sub(1));
    format!("{}:{found}", loaded.source)
}

impl Explained {
    /// The rule under a headline: `before:` and `after:`, or `unchanged:`.
    pub fn text(&self) -> String {
        let generated =
            self.generated.as_ref().map(|what| format!(", generated for {what}")).unwrap_or_default();
        // Rules of some kinds have no name of their own.
        let slash = if self.rule.is_empty() { "" } else { "/" };
        let mut out = format!("{}{slash}{} at {}{generated}\n", self.policy, self.rule, self.place);
        let mut section = |name: &str, text: &str| {
            out.push_str(&format!("{name}:\n"));
            for line in text.lines() {
                out.push_str(&format!("  {line}\n"));
            }
        };
        match &self.after {
            None => section("unchanged", &self.before),
            Some(after) => {
                section("before", &self.before);
                section("after", after);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_sources::files::SourceText;

    const POLICY: &str = "\
# a comment
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tags}
spec:
  rules:
  - name: pinned
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: pin {{ to_upper('it') }}
      pattern:
        spec:
          containers:
          - image: '!*:latest'
";

    fn loaded() -> LoadedPolicy {
        let source = SourceText { name: "tags.yaml".into(), text: POLICY.into() };
        ephor_policies::load::argument(std::slice::from_ref(&source)).policies.remove(0)
    }

    #[test]
    fn pieces_of_generated_rules_point_at_the_lines_of_their_sources() {
        let rules = rules(&loaded(), Some("CronJob"));
        let [only] = &rules[..] else { unreachable!("{rules:?}") };
        assert_eq!((&*only.rule, &*only.place), ("autogen-cronjob-pinned", "tags.yaml:7"));
        let line = only.before.lines().find(|l| l.contains("\"image\"")).unwrap();
        assert!(
            line.contains("# tags.yaml:14 (spec.rules[0].validate.pattern.spec.containers[0].image)"),
            "{line}"
        );
    }

    #[test]
    fn shows_rules_before_and_after_optimisation() {
        let rules = rules(&loaded(), None);
        let names: Vec<&str> = rules.iter().map(|r| &*r.rule).collect();
        assert_eq!(names, ["pinned", "autogen-pinned", "autogen-cronjob-pinned"]);
        let text = rules[0].text();
        assert!(text.starts_with("tags/pinned at tags.yaml:7\nbefore:\n"), "{text}");
        let (before, after) = text.split_once("after:\n").unwrap();
        assert!(before.contains("call[to_upper](\"it\")"), "{before}");
        assert!(after.contains("message  # tags.yaml:10"), "{after}");
        assert!(after.contains("template: \"pin IT\"\n"), "{after}");
    }
}
