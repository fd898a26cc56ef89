//! The gate: policies that are ready to answer AdmissionReviews.
//!
//! In: loaded policies and a cluster. Out: for each review an [`Answer`] with what led to it. A gate never
//! changes; for new policies a new one is built.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use crate::engine::{Profile, Request};
use crate::external::ExternalData;
use crate::ir::Policy;
use crate::ir::facts::Stage;
use crate::load::{LoadedPolicy, Policies, Problem};
use crate::matching::Target;
use crate::policy_set::outcomes::Outcomes;
use crate::policy_set::verdicts::PreparedRequest;
use crate::policy_set::{Engine, PolicySet, RuleValues};
use crate::settings::{Requester, Settings};

use super::answer::{Answer, Refusal};
use super::incoming::{Incoming, Undecodable, decode};
use super::route::{Phase, Route};
use super::{needs, subject};
use crate::value::{Str, Value, budget};

/// Policies that are ready to decide.
pub struct Gate {
    engine: Engine,
    cluster: Arc<dyn ExternalData>,
    broken: Vec<Finding>,
    /// The names of policies that can be evaluated, by the short name of their API.
    known: HashMap<Str, HashSet<Str>>,
    /// Kinds and names of policies that cannot be evaluated and say that their errors are ignored.
    ignored: HashSet<(String, String)>,
    /// Policies with rules that select the labels of namespaces.
    selecting: Vec<Arc<Policy>>,
    lost: Option<String>,
    /// How many policies can be evaluated, and how many have to be.
    usable: usize,
    required: usize,
    settings: Option<Arc<Settings>>,
}

/// A policy that cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub source: Arc<str>,
    /// The line on which its document begins.
    pub line: usize,
    /// Its kind and name.
    pub policy: String,
    /// Why.
    pub text: String,
    /// Whether requests are refused while it cannot be evaluated.
    pub fail_closed: bool,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}: {}", self.source, self.line, self.policy, self.text)
    }
}

/// When an answer is due.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// At a moment.
    pub fn at(moment: Instant) -> Deadline {
        Deadline(Some(moment))
    }

    /// Whenever it is ready.
    pub fn never() -> Deadline {
        Deadline(None)
    }

    /// Whether it has passed.
    pub fn is_over(&self) -> bool {
        self.0.is_some_and(|at| Instant::now() >= at)
    }

    /// Does something that is interrupted when the answer is due.
    pub(super) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        budget::until(self.0, work)
    }

    /// What follows for policies that there was no time for.
    pub(super) fn refusal(&self, left: &[Arc<Policy>]) -> Option<Refusal> {
        out_of_time(left.iter().filter(|p| p.failure_policy.is_fail()).map(|p| &*p.name))
    }
}

/// How many policies a text names.
const NAMED: usize = 10;

/// Policies that fail closed, and that there was no time for, refuse the request.
fn out_of_time<'p>(closed: impl Iterator<Item = &'p str>) -> Option<Refusal> {
    let closed: Vec<&str> = closed.collect();
    let more = if closed.len() > NAMED { " and others" } else { "" };
    (!closed.is_empty()).then(|| Refusal {
        message: format!(
            "there was no time to evaluate policies that must not be left out: {}{more}",
            closed.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ")
        ),
        code: 504,
        reason: "Timeout".into(),
    })
}

/// An answer and what led to it.
#[derive(Debug, Default)]
pub struct Decision {
    /// The answer.
    pub answer: Answer,
    /// Results of the rules that were evaluated.
    pub outcomes: Outcomes,
    /// The request that they were evaluated on; `None` = none was.
    pub prepared: Option<PreparedRequest>,
    /// Whether there may be rules that only audit, which the answer did not wait for.
    pub audits: bool,
    /// Which policies the path names that are not known; the request is refused because of them.
    pub unknown: Option<String>,
}

impl Decision {
    pub(super) fn of(answer: Answer) -> Decision {
        Decision { answer, ..Decision::default() }
    }
}

/// The order of policies: by kind of policy, then by namespace and name.
fn sorted(mut policies: Vec<Arc<Policy>>) -> Vec<Arc<Policy>> {
    policies.sort_by(|a, b| {
        (a.stage, a.namespace.as_deref(), &a.name).cmp(&(b.stage, b.namespace.as_deref(), &b.name))
    });
    policies
}

impl Gate {
    /// Prepares policies. Those that cannot be evaluated are listed by [`Gate::broken`].
    /// `lost` are sources whose policies cannot be read; all requests are denied because of them.
    pub fn new(mut loaded: Policies, cluster: Arc<dyn ExternalData>, lost: &[String]) -> Gate {
        loaded.bind_as_server();
        let broken: Vec<Finding> = loaded.policies.iter().filter_map(finding).collect();
        let closed = broken.iter().any(|b| b.fail_closed);
        let of_problem = |p: &Problem| (!p.fail_closed).then(|| p.policy.clone()).flatten();
        let unread = loaded.problems.iter().filter_map(of_problem);
        let refused = loaded.policies.iter().filter(|p| !closed && finding(p).is_some());
        let refused = refused.map(|p| (p.document.text_at(&["kind"]).to_string(), p.name.clone()));
        let ignored = unread.chain(refused).collect();
        let usable = loaded.policies.iter().filter(|p| p.refused.is_none() && p.uncompiled.is_none());
        let count = usable.clone().count();
        let policies = sorted(usable.filter_map(|p| p.policy.clone()).collect());
        let mut known: HashMap<Str, HashSet<Str>> = HashMap::new();
        for policy in &policies {
            known.entry(policy.short_name.clone()).or_default().insert(policy.name.clone());
        }
        let selecting = policies.iter().filter(|p| needs::selects_namespaces(p)).cloned().collect();
        let set = PolicySet::new(policies, loaded.exceptions).with_cel_exceptions(loaded.cel_exceptions);
        let engine = Engine::new(set).with_profile(Profile::cluster()).with_external(cluster.clone());
        let lost = lost.first().cloned();
        let (usable, required) = (count, 0);
        Gate { engine, cluster, broken, known, selecting, ignored, lost, usable, required, settings: None }
    }

    /// The same gate, refusing requests while fewer policies than this can be evaluated.
    pub fn with_required(mut self, policies: usize) -> Gate {
        self.required = policies;
        self
    }

    /// Why there are too few policies, if there are.
    pub fn shortage(&self) -> Option<String> {
        let Gate { usable, required, .. } = self;
        (usable < required).then(|| format!("{usable} policies can be evaluated, {required} are required"))
    }

    /// How many policies can be evaluated.
    pub fn usable(&self) -> usize {
        self.usable
    }

    /// The same gate with another profile, for requests that were recorded without a cluster.
    pub fn with_profile(mut self, profile: Profile) -> Gate {
        self.engine = self.engine.with_profile(profile);
        self
    }

    /// The same gate with values that rules get in place of their data.
    pub fn with_values(mut self, values: Arc<dyn RuleValues>) -> Gate {
        self.engine = self.engine.with_values(values);
        self
    }

    /// The same gate with a result cache of at most so many bytes, roughly; 0 = none.
    pub fn with_result_cache(mut self, bytes: u64) -> Gate {
        self.engine = self.engine.with_result_cache(bytes);
        self
    }

    /// The same gate with what operators set.
    pub fn with_settings(mut self, settings: Arc<Settings>) -> Gate {
        let mut functions = self.engine.functions().clone();
        if let Some(registry) = &settings.default_registry {
            functions.default_registry = registry.clone();
        }
        functions.mutate_registry = settings.mutate_registry.unwrap_or(functions.mutate_registry);
        self.engine = self.engine.with_functions(functions);
        self.settings = Some(settings);
        self
    }

    /// What operators set, if anything.
    pub fn settings(&self) -> Option<&Settings> {
        self.settings.as_deref()
    }

    /// Whether the settings exclude a request from all policies.
    fn is_left_out(&self, settings: &Settings, incoming: &Incoming) -> bool {
        let user = incoming.object("userInfo");
        let groups = user.get("groups").and_then(Value::as_list).unwrap_or_default();
        let namespace = incoming.text(&["namespace"]);
        let (roles, cluster_roles) = match settings.needs_roles() {
            // Roles that are not known exclude no user.
            true => self.cluster.roles(&user, namespace).unwrap_or_default(),
            false => Default::default(),
        };
        let who = Requester {
            user: user.text_at(&["username"]),
            groups: groups.iter().filter_map(Value::as_str).collect(),
            roles,
            cluster_roles,
        };
        let kinds = self.cluster.known_kinds();
        settings.excludes(&who, &subject::filtered(incoming, &kinds))
    }

    /// The policies that cannot be evaluated.
    pub fn broken(&self) -> &[Finding] {
        &self.broken
    }

    /// What policies need to know of the cluster and the server does not, a line each.
    pub fn unmet_needs(&self) -> Vec<String> {
        let served = self.engine.set().policies().iter().map(AsRef::as_ref).filter(|p| self.serves(p));
        needs::unmet(served, self.cluster.offers())
    }

    /// The engine with the policies.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The cluster.
    pub fn cluster(&self) -> &dyn ExternalData {
        &*self.cluster
    }

    /// Policies with rules that select the labels of namespaces.
    pub(super) fn selecting_namespaces(&self) -> &[Arc<Policy>] {
        &self.selecting
    }

    /// Whether a policy is evaluated for a request on a path.
    pub(super) fn selects(&self, policy: &Policy, route: &Route, target: &Target) -> bool {
        self.serves(policy) && route.selects(policy) && needs::is_found_for(policy, target)
    }

    /// Whether a policy is evaluated at admission at all; those of Kubernetes are evaluated separately.
    pub(super) fn serves(&self, policy: &Policy) -> bool {
        policy.admission && !matches!(policy.stage, Stage::ApiServer | Stage::Payloads)
    }

    pub(super) fn request(&self, incoming: &Incoming) -> Result<Request, String> {
        subject::request(incoming, &*self.cluster, self.engine.profile(), self.engine.functions())
    }

    /// Which policies that a path names are not known; their failure policy is not known either.
    pub fn unknown(&self, route: &Route) -> Option<String> {
        let (api, names) = route.named()?;
        let (kind, known) = (api.kind, self.known.get(api.short_name));
        let is_known = |name: &str| known.is_some_and(|names| names.contains(name));
        let is_ignored = |name: &str| self.ignored.iter().any(|(of, n)| of == kind && n == name);
        let unknown: Vec<&str> =
            names.iter().map(|n| &**n).filter(|name| !is_known(name) && !is_ignored(name)).collect();
        match unknown.get(..NAMED.min(unknown.len())).unwrap_or_default() {
            [] if names.is_empty() => Some(format!("the path names no {kind}")),
            [] => None,
            some => Some(format!("the path names a {kind} that is not known: {}", some.join(", "))),
        }
    }

    /// The decision on all requests of a path because policies that must be evaluated cannot be.
    fn unanswerable(&self, route: &Route) -> Option<Decision> {
        let unknown = self.unknown(route);
        let text = self.unusable().or_else(|| unknown.clone()).or_else(|| self.absent(route))?;
        Some(Decision { unknown, ..Decision::of(Answer::denied(text)) })
    }

    /// Why no request is answered at all.
    fn unusable(&self) -> Option<String> {
        let broken = self.broken.iter().find(|b| b.fail_closed);
        let broken = broken.map(|b| format!("policy {} cannot be evaluated: {}", b.policy, b.text));
        let lost = || self.lost.as_ref().map(|place| format!("policies of {place} cannot be read"));
        broken.or_else(lost).or_else(|| self.shortage())
    }

    /// Kyverno's message when the one policy of a path is not there.
    fn absent(&self, route: &Route) -> Option<String> {
        let (namespace, name) = route.single()?;
        let kind = if namespace.is_some() { "Policy" } else { "ClusterPolicy" };
        let is_ignored = || self.ignored.iter().any(|(of, n)| of == kind && n == name);
        if self.engine.set().policies().iter().any(|p| route.selects(p)) || is_ignored() {
            return None;
        }
        let key = format!("{}/{name}", namespace.unwrap_or_default());
        let resource = if namespace.is_some() { "policies" } else { "clusterpolicies" };
        Some(format!(
            "failed to fetch policy with key: key {key}: {resource}.kyverno.io \"{name}\" not found"
        ))
    }

    /// Answers a review that a client sent to a path: JSON in, JSON out. Results of rules that only audit are not among what
    /// is answered ([`Gate::audit`]).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use ephor_admission::admit::Gate;
    /// use ephor_external::NoData;
    /// use ephor_policies::load::{self, Reader};
    /// use ephor_sources::files::SourceText;
    ///
    /// let policy = SourceText {
    ///     name: "policy.yaml".into(),
    ///     text: r#"
    /// apiVersion: kyverno.io/v1
    /// kind: ClusterPolicy
    /// metadata: {name: need-team}
    /// spec:
    ///   rules:
    ///   - name: team
    ///     match: {any: [{resources: {kinds: [ConfigMap]}}]}
    ///     validate: {failureAction: Enforce, message: label team is needed, pattern: {metadata: {labels: {team: "?*"}}}}
    /// "#.into(),
    /// };
    /// let gate = Gate::new(load::argument_for(&[policy], Reader::Server), Arc::new(NoData), &[]);
    /// let review = r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
    ///   "uid": "1", "operation": "CREATE", "name": "a", "namespace": "shop",
    ///   "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
    ///   "resource": {"group": "", "version": "v1", "resource": "configmaps"},
    ///   "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}}}}"#;
    /// let answer = gate.review("/validate", review)?;
    /// assert!(answer.contains(r#""allowed":false"#) && answer.contains("label team is needed"));
    /// # Ok::<(), ephor_admission::admit::incoming::Undecodable>(())
    /// ```
    ///
    /// # Errors
    /// The text is no review, or there is no such path: the HTTP status and the text of the response.
    pub fn review(&self, path: &str, review: &str) -> Result<String, Undecodable> {
        let route = Route::parse(path).ok_or_else(|| Undecodable::new(404, "404 page not found"))?;
        let incoming = decode("application/json", review.as_bytes())?;
        Ok(self.answer(&route, &incoming, &Deadline::never()).answer.to_json(&incoming))
    }

    /// Answers a review.
    pub fn answer(&self, route: &Route, incoming: &Incoming, deadline: &Deadline) -> Decision {
        let settings = self.settings.as_deref().filter(|s| s.leaves_out());
        if settings.is_some_and(|settings| self.is_left_out(settings, incoming)) {
            return Decision::default();
        }
        if let Some(denied) = self.unanswerable(route) {
            return denied;
        }
        match route.phase {
            Phase::Validate => super::verdict::decide(self, route, incoming, deadline),
            Phase::Mutate => super::changing::decide(self, route, incoming, deadline),
        }
    }

    /// The decision when time ran out before the policies of a path were ready.
    pub fn late(&self, route: &Route) -> Decision {
        if let Some(denied) = self.unanswerable(route) {
            return denied;
        }
        let selected = self.engine.set().policies().iter().filter(|p| self.serves(p) && route.selects(p));
        let closed = selected.filter(|p| p.failure_policy.is_fail()).map(|p| &*p.name);
        let mutates = route.phase == Phase::Mutate;
        let native = self.engine.native().filter(|p| route.selects_native() && p.mutates() == mutates);
        let native = native.filter(|p| p.failure_policy().is_fail()).map(|p| &**p.name());
        let denial = out_of_time(closed.chain(native));
        Decision::of(Answer { denial, ..Answer::default() })
    }

    /// The results of rules that only audit, which an answer does not wait for.
    pub fn audit(&self, route: &Route, prepared: &PreparedRequest, deadline: &Deadline) -> Outcomes {
        match route.phase {
            Phase::Validate => super::verdict::later(self, route, prepared, deadline),
            Phase::Mutate => Outcomes::default(),
        }
    }
}

fn finding(loaded: &LoadedPolicy) -> Option<Finding> {
    let text = loaded.refused.as_ref().or(loaded.uncompiled.as_ref())?;
    let document = &loaded.document;
    Some(Finding {
        source: loaded.source.clone(),
        line: loaded.line,
        policy: format!("{} {}", document.text_at(&["kind"]), loaded.name),
        text: text.clone(),
        fail_closed: document.text_at(&["spec", "failurePolicy"]) != "Ignore"
            && document.text_at(&["spec", "webhookConfiguration", "failurePolicy"]) != "Ignore",
    })
}
