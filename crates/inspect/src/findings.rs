//! What there is to say about policies before they run: documents that are left out, policies that are refused,
//! expressions that do not compile or whose types do not fit the kinds that they are about, rules that
//! can never match.
//!
//! In: loaded policies, definitions of custom kinds. Out: findings with their place in the user's file.

use crate::api::admission::{check, defaulted};
use crate::document::locate::locate;
use crate::ir::check::Check;
use crate::ir::rule::Body;
use crate::load::{self, LoadedPolicy, Policies};
use crate::lower::admission::{Judge, warnings};
use crate::value::Value;
use crate::value::place::{PathPart, parse};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The policy, or a part of it, cannot work.
    Error,
    /// It probably does not do what was meant.
    Warning,
}

/// Something to say about a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub source: String,
    /// The line in it, from 1.
    pub line: usize,
    /// The character of the line, from 1; 0 = only the line is known.
    pub column: usize,
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub text: String,
    /// The line as it stands in the file; empty when it is not at hand.
    pub excerpt: String,
}

impl std::fmt::Display for Finding {
    /// `file:line:column: error: text`, then the line with a caret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = if self.severity == Severity::Error { "error" } else { "warning" };
        write!(f, "{}:{}:", self.source, self.line)?;
        if self.column > 0 {
            write!(f, "{}:", self.column)?;
        }
        writeln!(f, " {word}: {}", self.text)?;
        if self.column > 0 && !self.excerpt.is_empty() {
            let number = self.line.to_string();
            let before: String = self
                .excerpt
                .chars()
                .take(self.column - 1)
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            writeln!(f, "  {number} | {}\n  {} | {before}^", self.excerpt, " ".repeat(number.len()))?;
        }
        Ok(())
    }
}

/// All findings, file by file as the policies were loaded.
pub fn findings(policies: &Policies, definitions: &[Value]) -> Vec<Finding> {
    let mut all: Vec<Finding> = policies
        .problems
        .iter()
        .map(|p| Finding {
            source: p.source.to_string(),
            line: p.line,
            column: 0,
            severity: Severity::Error,
            text: p.text.clone(),
            excerpt: String::new(),
        })
        .collect();
    for policy in &policies.policies {
        of_policy(policy, definitions, &mut all);
    }
    all
}

fn of_policy(policy: &LoadedPolicy, definitions: &[Value], all: &mut Vec<Finding>) {
    let kind = policy.document.text_at(&["kind"]);
    let is_native = matches!(kind, "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy");
    // What is wrong with those of Kubernetes is shown field by field.
    if let Some(why) = policy.refused.as_ref().filter(|_| !is_native) {
        all.push(at_line(
            policy,
            policy.line,
            Severity::Error,
            format!("policy `{}` is refused: {why}", policy.name),
        ));
    }
    for fault in &policy.faults {
        all.push(in_expression(policy, &fault.field, &fault.detail, Severity::Error));
    }
    for (field, text) in faults_of_rules(policy) {
        all.push(in_expression(policy, &field, &text, Severity::Error));
    }
    if is_native {
        let stored = defaulted(&policy.document);
        if let Err(refusal) = check(&stored, &mut Judge::new(&stored)) {
            if refusal.causes.is_empty() {
                all.push(at_line(policy, policy.line, Severity::Error, refusal.message));
            }
            for cause in &refusal.causes {
                all.push(in_expression(policy, &cause.field, &cause.message, Severity::Error));
            }
        } else {
            for warning in warnings(&stored, definitions) {
                all.push(in_expression(policy, &warning.field, warning.text.trim_end(), Severity::Warning));
            }
        }
    }
    for (line, text) in load::never_matching(policy) {
        all.push(at_line(policy, line, Severity::Warning, text));
    }
}

/// Expressions of `validate.cel` rules that do not compile: their path and what is wrong.
fn faults_of_rules(policy: &LoadedPolicy) -> Vec<(String, String)> {
    let Some(lowered) = &policy.policy else { return Vec::new() };
    let mut found = Vec::new();
    for (i, rule) in lowered.rules.iter().enumerate().filter(|(_, r)| r.generated.is_none()) {
        let (Some(e), Body::Validate { check: Check::Assert(validations), .. }) =
            (&rule.expressions, &rule.body)
        else {
            continue;
        };
        let cel = format!("spec.rules[{i}].validate.cel");
        for (j, validation) in validations.iter().enumerate() {
            if let Err(text) = &validation.check.program {
                found.push((format!("{cel}.expressions[{j}].expression"), text.to_string()));
            }
            if let Some(Err(text)) = &validation.message_program {
                found.push((format!("{cel}.expressions[{j}].messageExpression"), text.to_string()));
            }
        }
        for (j, variable) in e.variables.iter().enumerate() {
            if let Err(text) = &variable.program {
                found.push((format!("{cel}.variables[{j}].expression"), text.to_string()));
            }
        }
    }
    found
}

fn at_line(policy: &LoadedPolicy, line: usize, severity: Severity, text: String) -> Finding {
    Finding { source: policy.source.to_string(), line, column: 0, severity, text, excerpt: String::new() }
}

/// A finding about an expression: its text may begin with the place in the expression.
fn in_expression(policy: &LoadedPolicy, field: &str, text: &str, severity: Severity) -> Finding {
    let (inner, said) = inner_place(text);
    let path = parse(field);
    let Some((line, column)) = place(&policy.text, &path, inner) else {
        return at_line(policy, policy.line, severity, format!("{field}: {said}"));
    };
    let excerpt = policy.text.lines().nth(line - 1).unwrap_or_default().to_string();
    Finding {
        source: policy.source.to_string(),
        line: policy.line + line - 1,
        column,
        severity,
        text: format!("{field}: {said}"),
        excerpt,
    }
}

/// The first place `<input>:LINE:COLUMN: ` of a text on an expression, and the text without it and without
/// the excerpt of the expression.
fn inner_place(text: &str) -> ((usize, usize), String) {
    let Some((before, rest)) = text.split_once("ERROR: <input>:") else { return ((1, 1), text.to_string()) };
    let mut parts = rest.splitn(3, ':');
    let mut number = || parts.next().and_then(|n| n.trim().parse::<usize>().ok());
    let (Some(line), Some(column)) = (number(), number()) else { return ((1, 1), text.to_string()) };
    let said = parts.next().unwrap_or_default().lines().next().unwrap_or_default().trim();
    let before = before.trim().trim_end_matches("compilation failed:").trim();
    let said = if before.is_empty() { said.to_string() } else { format!("{before} {said}") };
    ((line, column), said)
}

/// The line and column of a document's text at which a place in an expression stands.
fn place(text: &str, path: &[PathPart], (line, column): (usize, usize)) -> Option<(usize, usize)> {
    let at = locate(text, path)?;
    let first: String = text.lines().nth(at.line - 1)?.chars().skip(at.col - 1).take(1).collect();
    match &*first {
        "|" | ">" => Some(in_block(text, at.line, &first, (line, column)).unwrap_or((at.line, at.col))),
        "\"" | "'" if line == 1 => Some((at.line, at.col + column)),
        _ if line == 1 => Some((at.line, at.col + column - 1)),
        _ => Some((at.line, at.col)),
    }
}

/// The same in a block, whose lines stay separate or, where it is folded, are one.
fn in_block(text: &str, head: usize, style: &str, (line, column): (usize, usize)) -> Option<(usize, usize)> {
    let content = || text.lines().enumerate().skip(head);
    let indent =
        content().find(|(_, l)| !l.trim().is_empty()).map(|(_, l)| l.len() - l.trim_start().len())?;
    if style == "|" {
        return content().nth(line - 1).map(|(i, _)| (i + 1, indent + column));
    }
    let mut left = column.checked_sub(1)?;
    for (i, l) in content() {
        let length = l.chars().count().saturating_sub(indent);
        if left < length {
            return Some((i + 1, indent + left + 1));
        }
        left = left.checked_sub(length + 1)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use ephor_sources::files::SourceText;

    fn lint(text: &str) -> Vec<String> {
        let source = SourceText { name: "p.yaml".into(), text: text.into() };
        findings(&load::argument(&[source]), &[]).iter().map(ToString::to_string).collect()
    }

    const HEAD: &str = "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations:
";

    #[test]
    fn expressions_that_do_not_compile_are_shown_with_a_caret() {
        assert_eq!(
            lint(&format!("{HEAD}  - expression: object.a + zz\n")),
            ["p.yaml:7:28: error: spec.validations[0].expression: undeclared reference to 'zz' (in container '')
  7 |   - expression: object.a + zz
    |                            ^
"]
        );
    }

    #[test]
    fn places_are_found_in_blocks() {
        let literal = lint(&format!("{HEAD}  - expression: |-\n      true &&\n      zz\n"));
        assert!(literal[0].starts_with("p.yaml:9:7: error: "), "{literal:?}");
        let folded = lint(&format!("{HEAD}  - expression: >-\n      true &&\n      zz\n"));
        assert!(folded[0].starts_with("p.yaml:9:7: error: "), "{folded:?}");
        let quoted = lint(&format!("{HEAD}  - expression: \"true && zz\"\n"));
        assert!(quoted[0].starts_with("p.yaml:7:26: error: "), "{quoted:?}");
    }

    #[test]
    fn types_that_do_not_fit_a_kind_are_warned_of() {
        let policy = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  validations:
  - expression: object.spec.replicaz > 1
";
        let found = lint(policy);
        assert!(found.len() == 1 && found[0].starts_with("p.yaml:7:"), "{found:?}");
        assert!(
            found[0].contains("warning: ") && found[0].contains("undefined field 'replicaz'"),
            "{found:?}"
        );
    }

    #[test]
    fn a_good_policy_gives_nothing_to_say() {
        assert!(lint(&format!("{HEAD}  - expression: has(object.spec)\n")).is_empty());
        assert_eq!(lint("a: [").len(), 1);
    }

    #[test]
    fn policies_and_bindings_that_an_api_server_refuses_are_errors() {
        let head = "apiVersion: admissionregistration.k8s.io/v1\n";
        for (text, field) in [
            (
                "kind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\nspec: {policyName: p, validationActions: [deny]}",
                "spec.validationActions[0]: Unsupported value",
            ),
            (
                "kind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\nspec: {validationActions: [Deny]}",
                "spec.policyName: Required value",
            ),
            (
                "kind: ValidatingAdmissionPolicy\nmetadata: {name: p}\nspec: {validations: [{expression: 'true'}], matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [Create], resources: [pods]}]}}",
                "operations[0]: Unsupported value",
            ),
        ] {
            let source = SourceText { name: "p.yaml".into(), text: format!("{head}{text}\n") };
            let loaded = load::argument_for(&[source], load::Reader::Server);
            let found = findings(&loaded, &[]);
            assert!(found.len() == 1 && found[0].severity == Severity::Error, "{found:?}");
            assert!(found[0].text.contains(field), "{found:?}");
        }
    }
}
