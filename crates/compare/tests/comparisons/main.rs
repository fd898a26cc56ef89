//! Comparisons of policies, from their texts to the answer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ephor_compare::{Comparison, Options, Side, compare};
use ephor_policies::load::{Policies, Reader, argument_for};
use ephor_sources::files::SourceText;

mod admitted;
mod atoms;
mod changes;
mod clones;
mod clusters;
mod copies;
mod exceptions;
mod fields;
mod guides;
mod lists;
mod numbers;
mod outside;
mod pairs;
mod positions;
mod questions;
mod soundness;
mod texts;
mod untyped;
mod users;
mod wholes;

fn load(text: &str) -> Policies {
    argument_for(&[SourceText { name: "p.yaml".into(), text: text.into() }], Reader::Scan)
}

fn side(text: &str) -> Side {
    Side::new(load(text), "p.yaml").unwrap()
}

fn compared(old: &str, new: &str) -> Comparison {
    compare(&side(old), &side(new), Options::default())
}

/// A ClusterPolicy that checks new objects of a kind; `check`: the parts of `validate`.
fn checking(kind: &str, check: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p}}
spec:
  background: false
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [{kind}], operations: [CREATE]}}}}]}}
    validate: {{failureAction: Enforce, message: m, {check}}}
"
    )
}

/// A ClusterPolicy that denies new objects of a kind on any of some conditions.
fn denying(kind: &str, conditions: &str) -> String {
    checking(kind, &format!("deny: {{conditions: {{any: [{conditions}]}}}}"))
}

/// A ValidatingPolicy that denies new objects of a resource of which an expression is false.
fn requiring(resource: &str, expression: &str) -> String {
    let group = if resource == "deployments" { "apps" } else { "" };
    format!(
        "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {{name: p}}
spec:
  validationActions: [Deny]
  matchConstraints:
    resourceRules: [{{apiGroups: ['{group}'], apiVersions: [v1], operations: [CREATE], resources: [{resource}]}}]
  validations:
  - expression: \"{expression}\"
    message: m
"
    )
}
