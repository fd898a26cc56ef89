//! A finding: what it is, how bad, and where it stands.
//!
//! Every finding has an id of the table [`CHECKS`], which does not change between releases;
//! comments in policies and code scanners name it.

use std::fmt;
use std::sync::Arc;

use super::fix::Fix;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know: the policy works.
    Note,
    /// It probably does not do what was meant.
    Warning,
    /// The policy, or a part of it, cannot work.
    Error,
}

impl Severity {
    /// The word in texts.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A check: its id, what it finds, and what to do about a finding.
pub type Check = (&'static str, &'static str, &'static str);

/// All checks.
pub const CHECKS: [Check; 40] = [
    (
        "yaml-syntax",
        "The document is not YAML, or a key comes twice.",
        "Correct the line; of a key that comes twice Kyverno reads one and ignores the other.",
    ),
    (
        "unknown-policy-kind",
        "The group or version of policies has no such kind.",
        "Write a kind and an apiVersion that exist; `ephor crds` lists them.",
    ),
    (
        "unknown-field",
        "The schema of the policy has no such field.",
        "Correct the name of the field, or move it to where the schema has it: an API server drops it, and Kyverno's command line ignores it.",
    ),
    (
        "wrong-type",
        "A value is of another type than its field.",
        "Write a value of the type that the field has; a text that looks like a number or a boolean needs quotes.",
    ),
    (
        "schema",
        "A value that the schema of the policy refuses.",
        "Write one of the values that the schema allows.",
    ),
    (
        "policy-check",
        "Kyverno's policy check refuses the policy.",
        "Correct what the message names; the policy cannot be created in a cluster.",
    ),
    (
        "policy-warning",
        "Kyverno's policy check warns of it.",
        "Read the warning; the policy can be created in a cluster.",
    ),
    (
        "admission-validation",
        "The API server refuses the policy.",
        "Correct what the message names; the policy cannot be created in a cluster.",
    ),
    (
        "unknown-operator",
        "A condition with an operator that does not exist.",
        "Write one of the operators of conditions, for example `Equals` or `AnyIn`.",
    ),
    (
        "jmespath-syntax",
        "A variable or query that is no JMESPath expression.",
        "Correct the expression; `ephor jp parse` shows how it is read.",
    ),
    (
        "jmespath-literal",
        "A JMESPath comparison with the name of a field where a value is meant.",
        "Write texts in single quotes and other values in backticks: a name in double quotes is that of a field.",
    ),
    (
        "unknown-function",
        "A JMESPath function that does not exist.",
        "Write a function that exists; `ephor jp function` lists them.",
    ),
    ("unclosed-variable", "`{{` without `}}`: the text is not a variable.", "Close the variable with `}}`."),
    (
        "unknown-variable",
        "A variable that is not defined where it is used.",
        "Define it in `context` before it is used, or correct its name.",
    ),
    (
        "cel-expression",
        "A CEL expression that does not compile.",
        "Correct the expression where the message points at it.",
    ),
    (
        "cel-type",
        "A CEL expression that does not fit the kinds that the policy is about.",
        "Read a field that these kinds have, with a value of its type, or match other kinds.",
    ),
    (
        "may-be-absent",
        "A CEL expression reads a field that an object of the kind need not have, without a guard.",
        "Test the field with `has()`, or read it as an optional: `object.spec.?volumes.orValue([])`.",
    ),
    (
        "never-equal",
        "A CEL expression compares values of which none equals the other.",
        "Compare values of one type; an absent field is tested with `has()`, not compared with null.",
    ),
    (
        "other-release",
        "A part of an expression means something else on a later release of Kubernetes.",
        "Write it so that it means the same: compare scalars with scalars, read optional fields with `.?field`; `ephor cluster-check --kubernetes VERSION` shows an object.",
    ),
    (
        "unknown-kind",
        "A kind or resource that no API server has, spelt almost like one that exists.",
        "Correct the name; of a custom kind name its definition with `--definition`.",
    ),
    (
        "selects-nothing",
        "A group, version, operation, name or namespace in a match that no request has.",
        "Write what requests have: the core group is `\"\"`, operations are in upper case, names in lower case.",
    ),
    (
        "unknown-resource-field",
        "A field in a pattern, an overlay or a path that the kinds of the rule do not have.",
        "Correct the name of the field; a pattern about it never holds as it was meant.",
    ),
    (
        "value-type",
        "A value of a pattern or overlay that no value of its field matches, or that the field cannot have.",
        "Write a value of the type that the field has.",
    ),
    (
        "invalid-argument",
        "A constant argument that its function cannot read: a version, pattern, time or quantity.",
        "Correct the argument; `ephor jp function NAME` shows examples.",
    ),
    (
        "never-matches",
        "A rule that no request can match.",
        "Correct `match` and `exclude`; as it is the rule has no effect.",
    ),
    (
        "duplicate-rule-name",
        "Two rules of a policy have one name.",
        "Give each rule a name of its own; results and exceptions know rules by name.",
    ),
    (
        "unused-variable",
        "A variable or context entry that nothing reads.",
        "Remove it, or read it where it was meant to be read.",
    ),
    (
        "constant-condition",
        "A condition that is always true or always false.",
        "Compare something of the request, or remove the condition.",
    ),
    (
        "deprecated-field",
        "A field or operator that a newer one replaces.",
        "Write the newer one; `ephor fix policy` does so.",
    ),
    (
        "merge-removes-items",
        "An overlay with several items under conditions in one list, which removes what it does not name.",
        "Write a rule for each item, or `foreach` over the list.",
    ),
    (
        "variant-type-name",
        "A mutation in CEL whose variant for controllers of pods cannot be evaluated.",
        "Leave variants out with `autogen.podControllers.controllers: []`, and write a policy for controllers of its own.",
    ),
    (
        "variant-message",
        "A message in CEL whose variant for controllers of pods reads what their templates do not have.",
        "Read the field as an optional: `object.?metadata.?name.orValue('')` is the name of the controller.",
    ),
    (
        "pods-only",
        "A mutation of pods with JSON patches, which has no variants for controllers of pods.",
        "Write `patchStrategicMerge`, or a rule of its own for controllers.",
    ),
    (
        "unknown-rule",
        "An exception that names a rule which its policy does not have.",
        "Correct the name of the rule; `ephor explain` lists those of a policy.",
    ),
    (
        "variant-not-excepted",
        "An exception about controllers of pods that does not name the variants of its rules for them.",
        "Name `autogen-RULE`, and `autogen-cronjob-RULE` for CronJobs, too.",
    ),
    (
        "may-error",
        "A rule that cannot be evaluated on some object (`--deep`).",
        "Test that the field exists before it is read; an error counts as a violation, or is ignored, by the failure policy.",
    ),
    (
        "never-denies",
        "A rule that allows every request (`--deep`).",
        "Correct what the rule checks; as it is it denies nothing.",
    ),
    (
        "always-denies",
        "A rule that denies every request that it matches, whatever its check says (`--deep`).",
        "Correct what the rule checks, or deny without a check if that is what is meant.",
    ),
    (
        "redundant-rule",
        "A rule that denies only what other rules of its policy deny (`--deep`).",
        "Remove it, or correct what it checks.",
    ),
    (
        "redundant-condition",
        "A condition or validation without which the policy denies the same (`--deep`).",
        "Remove it, or correct what it checks.",
    ),
];

/// Something to say about a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The check, of [`CHECKS`].
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The name of the policy; empty when it is not known.
    pub policy: String,
    /// The file.
    pub file: Arc<str>,
    /// The line in it, from 1.
    pub line: usize,
    /// The character of the line, from 1; 0 = only the line is known.
    pub column: usize,
    /// The character behind the last one that it is about, on the same line; 0 = not known.
    pub end: usize,
    /// What it is.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// Changes that mend it, the likeliest first.
    pub fixes: Vec<Fix>,
    /// The line as it stands in the file; empty when it is not at hand.
    pub excerpt: String,
}

impl fmt::Display for Finding {
    /// `file:line:column: error: text [id]`, then the line with carets and what to write instead.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:", self.file, self.line)?;
        if self.column > 0 {
            write!(f, "{}:", self.column)?;
        }
        writeln!(f, " {}: {} [{}]", self.severity.word(), self.message, self.id)?;
        if self.column == 0 || self.excerpt.is_empty() {
            return match &self.help {
                Some(help) => writeln!(f, "  help: {help}"),
                None => Ok(()),
            };
        }
        let number = self.line.to_string();
        let before: String =
            self.excerpt.chars().take(self.column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let most = self.excerpt.chars().count().saturating_sub(self.column - 1).max(1);
        let carets = "^".repeat(self.end.saturating_sub(self.column).clamp(1, most));
        let blanks = " ".repeat(number.len());
        write!(f, "  {number} | {}\n  {blanks} | {before}{carets}", self.excerpt)?;
        match &self.help {
            Some(help) => writeln!(f, " {help}"),
            None => writeln!(f),
        }
    }
}
