//! What the engine makes of a policy, as text for its author.
//!
//! In: a loaded policy. Out: for each of its rules, generated ones included, the IR as lowered and as
//! optimised, every piece with file and line of what it was made from. The texts are those of
//! [`ir::print`](crate::ir::print).

use crate::api::autogen::Selection;
use crate::document::locate::locate_key;
use crate::ir::facts::Stage;
use crate::ir::{Matcher, Rule, optimise, print};
use crate::kubernetes::Kinds;
use crate::load::LoadedPolicy;
use crate::lower::LATE;
use crate::lower::policy::rules_as_lowered;
use crate::matching::constraints;
use crate::value::place::{PathPart, dotted, parse};
use crate::value::{Str, Value};

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
    let rules = match policy.stage {
        Stage::Rules => rules_as_lowered(&loaded.document, kind.map_or(Selection::All, Selection::ForKind)),
        _ => policy.rules.iter().map(|r| (**r).clone()).collect(),
    };
    rules.into_iter().filter(|r| kind.is_none_or(|k| concerns(&r.when, k))).map(|r| one(loaded, r)).collect()
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
    let (name, origin, generated) = (rule.name.to_string(), rule.origin.path.to_string(), rule.generated.clone());
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
        .find_map(|n| locate_key(&loaded.text, path.get(..n).unwrap_or_default()))
        .map_or(loaded.line, |p| loaded.line + p.line.saturating_sub(1));
    format!("{}:{found}", loaded.source)
}

impl Explained {
    /// The rule under a headline: `before:` and `after:`, or `unchanged:`.
    pub fn text(&self) -> String {
        let generated = self.generated.as_ref().map(|what| format!(", generated for {what}")).unwrap_or_default();
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

    /// The same as a document.
    pub fn to_value(&self) -> Value {
        let text = |s: &str| Value::from(s);
        let optional = |s: Option<&str>| s.map_or(Value::Null, Value::from);
        let entries = [
            ("policy", text(&self.policy)),
            ("rule", text(&self.rule)),
            ("place", text(&self.place)),
            ("path", text(&self.path)),
            ("generatedFor", optional(self.generated.as_deref())),
            ("before", text(&self.before)),
            ("after", text(self.after.as_deref().unwrap_or(&self.before))),
            ("changed", Value::Bool(self.after.is_some())),
        ];
        Value::Map(entries.into_iter().map(|(k, v)| (k.into(), v)).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::load;
    use crate::sources::files::SourceText;

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
        load::argument(std::slice::from_ref(&source)).policies.remove(0)
    }

    #[test]
    fn pieces_of_generated_rules_point_at_the_lines_they_were_made_from() {
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
        assert!(after.contains("message: \"pin IT\"  # tags.yaml:10"), "{after}");
    }
}
