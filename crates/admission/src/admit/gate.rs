//! The gate: policies that are ready to answer AdmissionReviews.
//!
//! In: loaded policies and a cluster. Out: which of them count for a path and a request, and why
//! none may be answered; `answering` answers with them. A gate never changes; for new policies a
//! new one is built.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::background::{self, Class, RuleFacts, RuleWork, Trigger, Work, WorkKind};
use crate::settings::{Requester, Settings};
use ephor_engine::request::NoObjects;
use ephor_engine::{Profile, Request, RuleOutcome};
use ephor_external::ExternalData;
use ephor_ir::facts::Stage;
use ephor_ir::rule::RuleKind;
use ephor_ir::{Matcher, Policy, Rule};
use ephor_matching::Target;
use ephor_policies::load::{LoadedPolicy, Policies, Problem};
use ephor_policies::pitfalls::Remarks;
use ephor_policies::policy_set::{Engine, PolicySet, RuleValues};

use super::answer::Answer;
use super::decision::{Deadline, Decision, NAMED};
use super::incoming::Incoming;
use super::route::{Phase, Route};
use super::shadow::{self, Pair};
use super::{needs, subject};
use ephor_value::{Str, Value};

/// The kind of a policy with work for controllers, and its key.
type PolicyId = (Class, String);

/// A policy, and the facts about its rules.
type Background = (Arc<Policy>, Arc<[RuleFacts]>);

/// Policies that are ready to decide.
pub struct Gate {
    engine: Engine,
    cluster: Arc<dyn ExternalData>,
    broken: Vec<Finding>,
    /// The names of policies that can be evaluated, by the short name of their API.
    known: HashMap<Str, HashSet<Str>>,
    /// Kinds and names of policies that cannot be evaluated and say that their errors are ignored,
    /// and of those that are gone.
    ignored: HashSet<(String, String)>,
    /// Policies with rules that select the labels of namespaces.
    selecting: Vec<Arc<Policy>>,
    /// Policies whose rules have work for controllers, with what these are written as.
    background: HashMap<PolicyId, Background>,
    /// Keys of policies whose expressions also change what the controllers themselves send.
    taking_own: HashSet<String>,
    /// Policies with others in audit mode that may replace them.
    shadows: Vec<Pair>,
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
        let taking_own = usable.clone().filter_map(takes_own).collect();
        let background = usable.clone().filter_map(background_facts).collect();
        let policies = sorted(usable.filter_map(|p| p.policy.clone()).collect());
        let mut known: HashMap<Str, HashSet<Str>> = HashMap::new();
        for policy in &policies {
            known.entry(policy.short_name.clone()).or_default().insert(policy.name.clone());
        }
        let selecting = policies.iter().filter(|p| needs::selects_namespaces(p)).cloned().collect();
        let shadows = shadow::pairs(&policies);
        let set = PolicySet::new(policies, loaded.exceptions).with_cel_exceptions(loaded.cel_exceptions);
        let engine = Engine::new(set).with_profile(Profile::cluster()).with_external(cluster.clone());
        let lost = lost.first().cloned();
        let (usable, required) = (count, 0);
        Gate {
            engine,
            cluster,
            broken,
            known,
            selecting,
            background,
            ignored,
            taking_own,
            shadows,
            lost,
            usable,
            required,
            settings: None,
        }
    }

    /// The same gate, refusing requests while fewer policies than this can be evaluated.
    pub fn with_required(mut self, policies: usize) -> Gate {
        self.required = policies;
        self
    }

    /// The same gate, for paths that may name policies of these kinds and names which were deleted
    /// a moment ago.
    pub fn without(mut self, gone: impl IntoIterator<Item = (String, String)>) -> Gate {
        self.ignored.extend(gone);
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

    /// The same gate with a result cache of at most this many bytes, roughly; 0 = none.
    pub fn with_result_cache(mut self, bytes: u64) -> Gate {
        self.engine = self.engine.with_result_cache(bytes);
        self
    }

    /// The same gate with a place where functions say what they take for something else.
    pub fn with_remarks(mut self, remarks: Arc<Remarks>) -> Gate {
        self.engine = self.engine.with_remarks(remarks);
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
    pub(super) fn is_left_out(&self, settings: &Settings, incoming: &Incoming) -> bool {
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

    /// Policies with shadows.
    pub(super) fn shadows(&self) -> &[Pair] {
        &self.shadows
    }

    /// The engine with the policies.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The rules of a policy, `NAME` or `NAMESPACE/NAME`, that have work for controllers.
    pub fn background(&self, class: Class, policy: &str) -> Option<&[RuleFacts]> {
        self.background.get(&(class, policy.to_string())).map(|(_, facts)| &**facts)
    }

    /// All policies whose rules have work for controllers.
    pub fn all_background(&self) -> impl Iterator<Item = (Class, &str, &[RuleFacts])> {
        self.background.iter().map(|((class, policy), (_, facts))| (*class, &**policy, &**facts))
    }

    /// Whether policies that a path of the mutating webhook selects can have work because of
    /// deletions.
    pub(super) fn works_on_deletions(&self, route: &Route) -> bool {
        let mut all = self.background.iter();
        all.any(|((class, _), (policy, _))| phase_of(*class) == Phase::Mutate && route.selects(policy))
    }

    /// Whether a policy leaves out what the controllers themselves send.
    pub(super) fn skips_own(&self, policy: &Policy) -> bool {
        changes_by_expressions(policy) && !self.taking_own.contains(&policy.key())
    }

    /// Whether a path selects a policy of rules.
    pub fn takes(&self, key: &str, route: &Route) -> bool {
        self.policy_of(Class::Rules, key).is_some_and(|policy| self.serves(policy) && route.selects(policy))
    }

    /// A policy whose rules have work for controllers, by its kind and its key, `NAME` or
    /// `NAMESPACE/NAME`.
    pub fn policy_of(&self, class: Class, key: &str) -> Option<&Arc<Policy>> {
        self.background.get(&(class, key.to_string())).map(|(policy, _)| policy)
    }

    /// The work that an allowed request causes for controllers. `is_own`: the request is one of the
    /// controllers themselves.
    pub fn work(
        &self,
        route: &Route,
        incoming: &Incoming,
        request: &Request,
        is_own: bool,
        deadline: &Deadline,
    ) -> Vec<Work> {
        let mut all = Vec::new();
        for ((class, key), (policy, facts)) in &self.background {
            if phase_of(*class) != route.phase || !self.selects(policy, route, &request.target) {
                continue;
            }
            // Policies that generate by expressions refuse nothing.
            let required = policy.failure_policy.is_fail() && *class != Class::Generating;
            let work = deadline.within(|| match class {
                Class::Rules => self.work_of_rules(policy, facts, incoming, request, is_own),
                Class::Generating | Class::Mutating => {
                    self.work_of_expressions(policy, facts, incoming, request, is_own)
                }
            });
            let of = |kind, rules| Work { kind, policy: key.to_string(), rules, required };
            let (changes, generates): (Vec<_>, Vec<_>) = work
                .into_iter()
                .partition(|(kind, _)| matches!(kind, WorkKind::Mutate | WorkKind::CelMutate));
            let generates: Vec<RuleWork> = generates.into_iter().map(|(_, work)| work).collect();
            if !generates.is_empty() {
                let kind = if *class == Class::Rules { WorkKind::Generate } else { WorkKind::CelGenerate };
                all.push(of(kind, generates));
            }
            all.extend(changes.into_iter().map(|(kind, work)| of(kind, vec![work])));
        }
        all.sort_by(|a, b| a.policy.cmp(&b.policy));
        all
    }

    fn work_of_rules(
        &self,
        policy: &Policy,
        facts: &[RuleFacts],
        incoming: &Incoming,
        request: &Request,
        is_own: bool,
    ) -> Vec<(WorkKind, RuleWork)> {
        let operation = incoming.text(&["operation"]);
        let work = |result: &RuleOutcome| {
            let facts = RuleFacts::find(facts, &result.rule)?;
            let is_left_out = is_own && facts.skips_own_requests;
            let work = background::work(facts, result, operation, trigger_of(request));
            Some((facts.kind, work.filter(|_| !is_left_out)?))
        };
        self.engine.triggered(policy, request).iter().filter_map(work).collect()
    }

    /// Whether its conditions hold is found out when the work is done.
    fn work_of_expressions(
        &self,
        policy: &Policy,
        facts: &[RuleFacts],
        incoming: &Incoming,
        request: &Request,
        is_own: bool,
    ) -> Vec<(WorkKind, RuleWork)> {
        let Some(facts) = facts.first().filter(|facts| !(is_own && facts.skips_own_requests)) else {
            return Vec::new();
        };
        let is_deletion = incoming.text(&["operation"]) == "DELETE" && !facts.on_deletion;
        let deletes = is_deletion && facts.kind == WorkKind::CelGenerate && facts.synchronize;
        // A trigger that goes takes along what it generated, whichever operations the policy is
        // about.
        let concerns = match deletes {
            true => self.engine.concerned(policy, request),
            false => self.engine.concerns(policy, request),
        };
        if !concerns || (is_deletion && facts.kind == WorkKind::CelGenerate && !deletes) {
            return Vec::new();
        }
        let (rule, synchronize) = (policy.key().into(), facts.synchronize);
        vec![(facts.kind, RuleWork { rule, trigger: trigger_of(request), deletes, synchronize })]
    }

    /// A request of the past on its trigger as it is now: what rules with work for controllers are
    /// evaluated on.
    ///
    /// # Errors
    /// The data of rules cannot be built.
    pub fn request_on(&self, incoming: &Incoming, trigger: &Value) -> Result<Request, NoObjects> {
        let (engine, cluster) = (&self.engine, &*self.cluster);
        subject::request_on(incoming, trigger, cluster, engine.profile(), engine.functions())
    }

    /// The cluster.
    pub fn cluster(&self) -> &dyn ExternalData {
        &*self.cluster
    }

    /// The first policy with rules that awaits the labels of a namespace which are not known: it
    /// selects by them, and a rule that counts is for the kind of the target.
    pub(super) fn awaiting_namespace(
        &self,
        route: &Route,
        target: &Target,
        counts: impl Fn(&Policy, &Rule) -> bool,
    ) -> Option<&Policy> {
        if !target.unknown.namespace {
            return None;
        }
        let awaits = |p: &&Policy| {
            self.serves(p)
                && route.selects(p)
                && p.rules_for(&target.kind).iter().any(|r| {
                    !matches!(r.when, Matcher::Constraints(_))
                        && needs::is_for_kind(r, target)
                        && counts(p, r)
                })
        };
        self.selecting.iter().map(AsRef::as_ref).find(awaits)
    }

    /// Whether a policy is evaluated for a request on a path.
    pub(super) fn selects(&self, policy: &Policy, route: &Route, target: &Target) -> bool {
        self.serves(policy) && route.selects(policy) && needs::is_found_for(policy, target)
    }

    /// Whether a policy is evaluated at admission at all; those of Kubernetes are evaluated
    /// separately.
    pub(super) fn serves(&self, policy: &Policy) -> bool {
        policy.admission && !matches!(policy.stage, Stage::ApiServer | Stage::Payloads)
    }

    pub(super) fn request(&self, incoming: &Incoming) -> Result<Request, NoObjects> {
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
    pub(super) fn unanswerable(&self, route: &Route) -> Option<Decision> {
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
}

fn background_facts(loaded: &LoadedPolicy) -> Option<(PolicyId, Background)> {
    let policy = loaded.policy.as_ref()?;
    let facts = loaded.background_work();
    let class = facts.first()?.kind.class();
    Some(((class, policy.key()), (policy.clone(), facts.into())))
}

/// The key of a policy whose expressions also change what the controllers themselves send.
fn takes_own(loaded: &LoadedPolicy) -> Option<String> {
    let policy = loaded.policy.as_ref().filter(|policy| changes_by_expressions(policy))?;
    (!loaded.skips_own_requests()).then(|| policy.key())
}

/// Whether the expressions of a policy change the objects of requests.
fn changes_by_expressions(policy: &Policy) -> bool {
    policy.stage == Stage::Expressions && policy.rules.iter().any(|rule| rule.kind == RuleKind::Mutation)
}

/// The webhook whose requests have work: policies whose expressions change objects have no other
/// one.
fn phase_of(class: Class) -> Phase {
    match class {
        Class::Rules | Class::Generating => Phase::Validate,
        Class::Mutating => Phase::Mutate,
    }
}

/// The object of a request, as work finds it again.
fn trigger_of(request: &Request) -> Trigger {
    let shown = if request.object.is_null() { &request.old_object } else { &request.object };
    Trigger { name: request.target.name.to_string(), ..Trigger::of(shown) }
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
