//! Workspaces of tests: files, with the cursor where `‖` stands in one of them.

#![allow(clippy::unwrap_used)]

use crate::cancel::Cancellation;
use crate::complete::CompletionItem;
use crate::diagnostic::Diagnostic;
use crate::settings::Settings;
use crate::span::{Location, TextEdit};
use crate::workspace::Workspace;

/// A policy of Kyverno about pods.
pub(crate) const POLICY: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: no-latest
spec:
  rules:
  - name: tag
    match:
      any:
      - resources:
          kinds: [Pod]
    context:
    - name: tags
      configMap: {name: tags, namespace: default}
    validate:
      failureAction: Enforce
      message: \"{{ tags.data.x }} pin\"
      pattern:
        spec:
          containers:
          - image: \"!*:latest\"
";

/// A policy in CEL about deployments.
pub(crate) const CEL_POLICY: &str = "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata:
  name: replicas
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [apps]
      apiVersions: [v1]
      operations: [CREATE]
      resources: [deployments]
  variables:
  - name: count
    expression: object.spec.replicas
  validations:
  - expression: variables.count > 1
    message: too few
";

/// A pod with a tag that the policy denies.
pub(crate) const POD: &str = "apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: c
    image: nginx:latest
";

/// A workspace, and where its cursor is.
pub(crate) struct Fixture {
    pub(crate) workspace: Workspace,
    pub(crate) file: String,
    pub(crate) offset: usize,
}

/// Of files.
pub(crate) fn fixture(files: &[(&str, &str)]) -> Fixture {
    let mut workspace = Workspace::new(Settings::default());
    let (mut file, mut offset) = (files[0].0.to_string(), 0);
    for (name, text) in files {
        if let Some(at) = text.find('‖') {
            (file, offset) = ((*name).to_string(), at);
        }
        workspace.open(name, Some(1), &text.replace('‖', ""));
    }
    Fixture { workspace, file, offset }
}

impl Fixture {
    pub(crate) fn completed(&self) -> Vec<CompletionItem> {
        self.workspace.complete(&self.file, self.offset, &Cancellation::default()).unwrap()
    }

    /// The labels of what is offered.
    pub(crate) fn labels(&self) -> Vec<String> {
        self.completed().into_iter().map(|item| item.label).collect()
    }

    /// `FILE: TEXT` of places.
    pub(crate) fn shown(&self, all: &[Location]) -> Vec<String> {
        let text = |at: &Location| self.workspace.text(&at.file).unwrap().slice(at.span).to_string();
        all.iter().map(|at| format!("{}: {}", at.file, text(at))).collect()
    }

    pub(crate) fn checked(&mut self, file: &str) -> Vec<Diagnostic> {
        self.workspace.check(file, &Cancellation::default()).unwrap().to_vec()
    }

    /// `CODE TEXT` of the diagnostics of a file.
    pub(crate) fn found(&mut self, file: &str) -> Vec<String> {
        let found = self.checked(file);
        let text = self.workspace.text(file).unwrap();
        found.iter().map(|d| format!("{} {}", d.code, text.slice(d.span))).collect()
    }

    /// The text of a file with edits.
    pub(crate) fn edited(&self, file: &str, edits: &[TextEdit]) -> String {
        let mut text = self.workspace.text(file).unwrap().clone();
        for edit in edits.iter().rev() {
            text = text.replaced(edit.span, &edit.text);
        }
        text.as_str().to_string()
    }
}

/// A text with a part of it replaced by another one.
pub(crate) fn with(text: &str, part: &str, by: &str) -> String {
    assert!(text.contains(part), "{part}");
    text.replacen(part, by, 1)
}
