//! Policies that are evaluated on requests.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ephor_admission::admit::{Deadline, Gate};
use ephor_kubernetes::Types;
use ephor_policies::load::Policies;
use ephor_policies::policy_set;

use crate::{Error, ExternalData, NoData, Outcome, PolicySet, Profile, Release, Request, outcome};

/// How long a review may take, unless [`Engine::with_time_limit`] says otherwise: the default
/// timeout of webhooks.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// A policy set with everything that it needs to decide. Threads share it; a change of policies is
/// another engine.
///
/// ```
/// use ephor::{Engine, PolicySet, Request, Status};
///
/// let engine = Engine::new(PolicySet::from_yaml(r#"
/// apiVersion: kyverno.io/v1
/// kind: ClusterPolicy
/// metadata: {name: no-latest, annotations: {policies.kyverno.io/severity: high}}
/// spec:
///   rules:
///   - name: tag
///     match: {any: [{resources: {kinds: [Pod]}}]}
///     validate: {failureAction: Enforce, message: pin the tag, pattern: {spec: {containers: [{image: "!*:latest"}]}}}
/// "#)?);
/// let outcome = engine.check(Request::from_yaml(r#"
/// apiVersion: v1
/// kind: Pod
/// metadata: {name: a}
/// spec:
///   containers:
///   - name: c
///     image: x:latest
/// "#)?)?;
/// let result = outcome.violations().next().ok_or("no violation")?;
/// assert_eq!((&*result.policy, &*result.rule, result.status), ("no-latest", "tag", Status::Fail));
/// let field = result.field.as_ref().ok_or("no field")?;
/// assert_eq!((&*field.path, field.line), ("spec.containers[0].image", Some(8)));
/// assert!(outcome.is_denied());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Engine {
    policies: Policies,
    engine: policy_set::Engine,
    external: Arc<dyn ExternalData>,
    kubernetes: Release,
    /// Built for the first review.
    gate: OnceLock<Gate>,
    time_limit: Duration,
}

impl Engine {
    /// An engine that decides as in a cluster, without external data: what needs some is an error.
    pub fn new(policies: PolicySet) -> Engine {
        let PolicySet { loaded: policies, kubernetes } = policies;
        let mut bound = policies.clone();
        bound.bind(Vec::new());
        let all = bound.policies.into_iter().filter_map(|p| p.policy).collect();
        let set = policy_set::PolicySet::new(all, bound.exceptions).with_cel_exceptions(bound.cel_exceptions);
        Engine {
            policies,
            engine: policy_set::Engine::new(set).with_profile(Profile::cluster()),
            external: Arc::new(OnRelease { inner: Arc::new(NoData), kubernetes }),
            kubernetes,
            gate: OnceLock::new(),
            time_limit: TIME_LIMIT,
        }
    }

    /// With what Kyverno's command line does differently from a cluster, for [`Engine::check`].
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Engine {
        self.engine = self.engine.with_profile(profile);
        self
    }

    /// With what policies look up: objects of the cluster, services, registries.
    #[must_use]
    pub fn with_external(mut self, external: Arc<dyn ExternalData>) -> Engine {
        self.engine = self.engine.with_external(external.clone());
        self.external = Arc::new(OnRelease { inner: external, kubernetes: self.kubernetes });
        self.gate = OnceLock::new();
        self
    }

    /// With another limit for the time that a review may take: 10 seconds by default. A policy that
    /// has no result by then denies the request, unless its failure policy is `Ignore`.
    #[must_use]
    pub fn with_time_limit(mut self, limit: Duration) -> Engine {
        self.time_limit = limit;
        self
    }

    /// Evaluates all policies on a request: first those that change the object, then those that
    /// validate it, then those that generate others.
    ///
    /// # Errors
    /// The data for rules cannot be built of the request.
    pub fn check(&self, request: Request) -> Result<Outcome, Error> {
        let mut parts = request.clone().into_parts();
        if self.engine.profile().float_resources {
            parts.object = parts.object.with_float_numbers();
        }
        let prepared = ephor_engine::Request::new(parts, self.engine.profile(), self.engine.functions());
        let prepared = prepared.map_err(|error| Error::Request(error.to_string()))?;
        let found = self.engine.evaluate(&prepared);
        Ok(outcome::of(&self.engine, &prepared, &request, found))
    }

    /// Answers an AdmissionReview of a validating webhook, JSON with JSON, as a cluster would.
    ///
    /// # Errors
    /// The text is no AdmissionReview.
    pub fn review(&self, review: &str) -> Result<String, Error> {
        self.answer("/validate", review)
    }

    /// Answers an AdmissionReview of a mutating webhook.
    ///
    /// # Errors
    /// The text is no AdmissionReview.
    pub fn review_mutating(&self, review: &str) -> Result<String, Error> {
        self.answer("/mutate", review)
    }

    fn answer(&self, path: &str, review: &str) -> Result<String, Error> {
        let deadline = match Instant::now().checked_add(self.time_limit) {
            Some(moment) => Deadline::at(moment),
            None => Deadline::never(),
        };
        let gate = self.gate.get_or_init(|| Gate::new(self.policies.clone(), self.external.clone(), &[]));
        let answer = gate.review(path, review, &deadline);
        answer.map_err(|e| Error::Review { status: e.status, message: e.text })
    }
}

/// External data in a cluster of a release, where they do not say what the cluster knows.
struct OnRelease {
    inner: Arc<dyn ExternalData>,
    kubernetes: Release,
}

impl ExternalData for OnRelease {
    fn inner(&self) -> Option<&dyn ExternalData> {
        Some(&*self.inner)
    }

    fn types(&self) -> Option<&Types> {
        Some(self.inner.types().unwrap_or_else(|| Types::of_release(self.kubernetes)))
    }
}
