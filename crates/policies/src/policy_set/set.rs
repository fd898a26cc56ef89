//! Policies, compiled and indexed.
//!
//! In: lowered policies and exceptions, or their documents. Out: a [`PolicySet`], immutable, which
//! threads share; a reload builds a new one.

use std::ops::Range;
use std::sync::Arc;

use crate::load;
use ephor_engine::run::Phase;
use ephor_ir::cel_exception::CelException;
use ephor_ir::facts::Stage;
use ephor_ir::{Exception, Policy};
use ephor_matching::index::Index;
use ephor_sources::files::SourceText;

use super::schedule::Schedule;

/// Why a policy document cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// Name of the policy, as far as it is known.
    pub policy: String,
    /// What is wrong.
    pub text: String,
}

impl std::fmt::Display for PolicyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.policy.is_empty() {
            return f.write_str(&self.text);
        }
        write!(f, "{}: {}", self.policy, self.text)
    }
}

impl std::error::Error for PolicyError {}

/// Policies, compiled and indexed.
///
/// ```
/// let policies = ephor_policies::PolicySet::from_yaml(r#"
/// apiVersion: kyverno.io/v1
/// kind: ClusterPolicy
/// metadata: {name: need-team}
/// spec:
///   rules:
///   - name: team
///     match: {any: [{resources: {kinds: [ConfigMap]}}]}
///     validate: {message: label team is needed, pattern: {metadata: {labels: {team: "?*"}}}}
/// "#)?;
/// assert_eq!(policies.policies().len(), 1);
/// # Ok::<(), ephor_policies::PolicyError>(())
/// ```
#[derive(Debug, Default)]
pub struct PolicySet {
    pub(super) policies: Vec<Arc<Policy>>,
    pub(super) exceptions: Vec<Exception>,
    pub(super) cel_exceptions: Vec<CelException>,
    pub(super) index: Index,
    pub(super) schedule: Schedule,
    /// The native policies, by position.
    pub(super) native: Range<u32>,
}

impl PolicySet {
    /// A set of lowered policies and exceptions, in the order in which they count.
    ///
    /// They are evaluated phase by phase, in each in the order given; native policies of static
    /// manifests come before others.
    pub fn new(mut policies: Vec<Arc<Policy>>, exceptions: Vec<Exception>) -> PolicySet {
        policies.sort_by_key(|p| (p.stage, !p.is_static()));
        let indexed = policies.iter().take_while(|p| p.stage.evaluates_resources());
        let index = Index::new(indexed.map(AsRef::as_ref));
        let schedule = Schedule::of(&policies);
        let before =
            |stage: Stage| u32::try_from(policies.partition_point(|p| p.stage < stage)).unwrap_or(u32::MAX);
        let native = before(Stage::ApiServer)..before(Stage::CheckRequests);
        PolicySet { policies, exceptions, cel_exceptions: Vec::new(), index, schedule, native }
    }

    /// Reads policies of all kinds, bindings of admission policies and exceptions from a YAML or
    /// JSON stream, all or nothing.
    ///
    /// # Errors
    /// The first document that does not parse, breaks its schema, fails the policy check, does not
    /// compile, or is none of these. Cleanup policies are not part of a set (see
    /// [`Engine::sweep`](super::Engine::sweep)).
    pub fn from_yaml(text: &str) -> Result<PolicySet, PolicyError> {
        let fail = |policy: &str, text: String| PolicyError { policy: policy.into(), text };
        let source = SourceText { name: "-".into(), text: text.into() };
        let mut loaded = load::argument_for(std::slice::from_ref(&source), load::Reader::AllExceptions);
        if let Some(problem) = loaded.problems.first() {
            return Err(fail("", problem.to_string()));
        }
        if let Some(cleanup) = loaded.cleanups.first() {
            let policy = &cleanup.policy;
            return Err(fail(&policy.name, format!("{} is not supported", policy.api.kind)));
        }
        for p in &loaded.policies {
            if let Some(why) = p.refused.as_ref().or(p.uncompiled.as_ref()) {
                return Err(fail(&p.name, why.clone()));
            }
        }
        loaded.bind(Vec::new());
        let policies = loaded.policies.into_iter().filter_map(|p| p.policy).collect();
        Ok(PolicySet::new(policies, loaded.exceptions).with_cel_exceptions(loaded.cel_exceptions))
    }

    /// With PolicyExceptions of `policies.kyverno.io`.
    #[must_use]
    pub fn with_cel_exceptions(mut self, cel_exceptions: Vec<CelException>) -> PolicySet {
        self.cel_exceptions = cel_exceptions;
        self
    }

    /// The policies, in order.
    pub fn policies(&self) -> &[Arc<Policy>] {
        &self.policies
    }

    /// The exceptions, in order.
    pub fn exceptions(&self) -> &[Exception] {
        &self.exceptions
    }

    /// Those of `policies.kyverno.io`, in order.
    pub fn cel_exceptions(&self) -> &[CelException] {
        &self.cel_exceptions
    }
}

impl PolicySet {
    /// Whether some rule mutates or generates objects.
    pub fn has_phases(&self) -> bool {
        self.schedule.has_phases()
    }

    /// The policies that change objects, in the order in which they do.
    pub fn mutating(&self) -> impl Iterator<Item = &Arc<Policy>> {
        self.schedule.doing(Phase::Mutate).filter_map(|(_, at)| self.policies.get(at as usize))
    }
}
