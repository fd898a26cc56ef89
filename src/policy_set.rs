//! Policies of all kinds, read and checked.

use ephor_value::release::Release;
use std::path::Path;

use ephor_policies::load::{self, Policies, Reader};
use ephor_sources::files::{self, FileCause, SourceText};

use crate::{Problem, Problems};

/// Policies with their bindings and exceptions, checked and compiled: `kyverno.io`,
/// `policies.kyverno.io`, and Kubernetes' own.
///
/// All or nothing: what cannot be used is reported with its place, and there is no set.
///
/// ```
/// let refused = ephor::PolicySet::from_text("p.yaml", r#"
/// apiVersion: kyverno.io/v1
/// kind: ClusterPolicy
/// metadata: {name: no-latest}
/// spec:
///   rules:
///   - name: tag
///     match: {any: [{resources: {kinds: [Pod]}}]}
///     validate: {message: pin the tag, patern: {}}
/// "#).unwrap_err();
/// let problem = refused.iter().next().ok_or("no problem")?;
/// assert_eq!((&*problem.file, problem.line), ("p.yaml", 9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    pub(crate) loaded: Policies,
    pub(crate) kubernetes: Release,
}

/// A policy of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyInfo<'s> {
    /// Its kind, `ClusterPolicy`.
    pub kind: &'s str,
    /// Its name.
    pub name: &'s str,
    /// The file, or the name that was given for the text.
    pub file: &'s str,
    /// The line on which its document begins.
    pub line: usize,
    /// How many rules it has, generated ones included.
    pub rules: usize,
}

impl PolicySet {
    /// Reads the documents of a YAML or JSON text; `name` stands for the file in messages.
    ///
    /// # Errors
    /// Every problem of the text: documents that do not parse, break the schema, fail the policy
    /// check or do not compile. Documents of other kinds are ignored.
    pub fn from_text(name: &str, text: &str) -> Result<PolicySet, Problems> {
        PolicySet::from_text_on(Release::default(), name, text)
    }

    /// The same where Kubernetes' own policies are read and evaluated as the API server of a
    /// release does.
    ///
    /// ```
    /// use ephor::{Engine, PolicySet, Release, Request, Status};
    ///
    /// let policy = r#"
    /// apiVersion: admissionregistration.k8s.io/v1
    /// kind: ValidatingAdmissionPolicy
    /// metadata: {name: mixed}
    /// spec:
    ///   matchConstraints:
    ///     resourceRules:
    ///     - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
    ///   validations:
    ///   - expression: "!object.spec.containers.exists(c, c == 'x')"
    /// "#;
    /// let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}";
    /// let mut found = Vec::new();
    /// for release in [Release::V1_36, Release::V1_37] {
    ///     let engine = Engine::new(PolicySet::from_text_on(release, "p.yaml", policy)?);
    ///     let outcome = engine.check(Request::from_yaml(pod)?)?;
    ///     found.push(outcome.results.first().ok_or("no result")?.status);
    /// }
    /// assert_eq!(found, [Status::Pass, Status::Error]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`PolicySet::from_text`], and what that API server refuses.
    pub fn from_text_on(kubernetes: Release, name: &str, text: &str) -> Result<PolicySet, Problems> {
        let source = SourceText { name: name.into(), text: text.into() };
        PolicySet::from_sources(kubernetes, vec![source], Vec::new())
    }

    /// As [`PolicySet::from_text`] for a text without a name.
    ///
    /// # Errors
    /// As [`PolicySet::from_text`].
    pub fn from_yaml(text: &str) -> Result<PolicySet, Problems> {
        PolicySet::from_text("-", text)
    }

    /// Reads a file, or the `.yaml`, `.yml` and `.json` files of a folder and those below it, in
    /// the order of their names.
    ///
    /// # Errors
    /// Every problem: files that are missing or cannot be read, and what [`PolicySet::from_text`]
    /// reports.
    pub fn from_path(path: impl AsRef<Path>) -> Result<PolicySet, Problems> {
        PolicySet::from_path_on(Release::default(), path)
    }

    /// The same for a release, as [`PolicySet::from_text_on`].
    ///
    /// # Errors
    /// As [`PolicySet::from_path`].
    pub fn from_path_on(kubernetes: Release, path: impl AsRef<Path>) -> Result<PolicySet, Problems> {
        let path = path.as_ref().to_string_lossy();
        let files::Loaded { sources, notices, .. } = files::served_policies(&[&*path]);
        let unreadable =
            notices.iter().filter(|n| !matches!(n.cause, FileCause::Extension | FileCause::Superseded));
        let problem = |n: &files::Notice| Problem {
            file: n.place.clone(),
            line: 0,
            column: None,
            policy: None,
            message: n.text.clone(),
        };
        PolicySet::from_sources(kubernetes, sources, unreadable.map(problem).collect())
    }

    fn from_sources(
        kubernetes: Release,
        sources: Vec<SourceText>,
        mut problems: Vec<Problem>,
    ) -> Result<PolicySet, Problems> {
        let loaded = load::argument_for(&sources, Reader::Server(kubernetes));
        problems.extend(loaded.problems.iter().filter(|p| !p.foreign).map(Problem::from));
        for policy in &loaded.policies {
            let message = policy.refused.as_ref().or(policy.uncompiled.as_ref());
            problems.extend(message.map(|message| Problem {
                file: policy.source.to_string(),
                line: policy.line,
                column: None,
                policy: Some(policy.name.clone()),
                message: message.clone(),
            }));
        }
        if problems.is_empty() { Ok(PolicySet { loaded, kubernetes }) } else { Err(Problems(problems)) }
    }

    /// The set with the policies of another one behind its own.
    #[must_use]
    pub fn with(mut self, other: PolicySet) -> PolicySet {
        self.loaded.extend(other.loaded);
        self
    }

    /// The policies, in order.
    pub fn policies(&self) -> impl Iterator<Item = PolicyInfo<'_>> {
        self.loaded.policies.iter().map(|p| PolicyInfo {
            kind: p.document.text_at(&["kind"]),
            name: &p.name,
            file: &p.source,
            line: p.line,
            rules: p.rule_count,
        })
    }

    /// Whether there is no policy in it.
    pub fn is_empty(&self) -> bool {
        self.loaded.policies.is_empty()
    }
}
