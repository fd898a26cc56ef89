//! Policies: rules and what they have in common.

use std::sync::{Arc, OnceLock};

use crate::value::{Str, Value};

use super::expressions::Source;
use super::review::{Deed, View};
use super::rule::{ActionOverride, Binding, Body};
use super::{Conditions, Matcher, Rule};
use crate::value::wildcard::Wildcard;

/// A policy, lowered.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Kind of the policy object, for reports.
    pub kind: Str,
    /// Its name.
    pub name: Str,
    /// Its namespace; `None` for cluster-wide policies.
    pub namespace: Option<Str>,
    /// Its annotations.
    pub annotations: crate::value::Map,
    /// Stop after the first rule that passes or fails.
    pub apply_one: bool,
    /// Whether it is evaluated in background scans.
    pub background: bool,
    /// Whether it is evaluated at admission.
    pub admission: bool,
    /// Failure action of rules that have none, as written.
    pub action: Str,
    /// Overrides of that action by namespace.
    pub overrides: Box<[ActionOverride]>,
    /// A rule that ends in an error blocks the request.
    pub fail_closed: bool,
    /// What else follows when a request comes in.
    pub follows: Follows,
    /// What must be true of a request, else no rule is asked.
    pub admit: Box<[Source]>,
    /// Rules for kinds that have none of their own in `by_kind`.
    pub rules: Arc<[Arc<Rule>]>,
    /// Rules for pod controllers, generated ones included.
    pub by_kind: Vec<(Str, Arc<[Arc<Rule>]>)>,
    /// How many rules there are, generated ones included.
    pub rule_count: usize,
    /// Names of all rules, generated ones included.
    pub rule_names: Box<[Str]>,
    /// What [`Policy::rank`] found; a run asks every policy for it.
    pub known_rank: OnceLock<u8>,
}

/// What follows from the results of a policy when a request comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follows {
    /// A violation of a policy without failure actions refuses the request.
    pub denies: bool,
    /// A violation that does not refuse the request warns its client.
    pub warns: bool,
}

impl Follows {
    /// Of a policy whose rules have failure actions: whether they warn.
    pub fn of_actions(warns: bool) -> Follows {
        Follows { denies: false, warns }
    }
}

/// The rank of Kyverno's policies with rules.
pub const KYVERNO: u8 = 0;
/// The rank of policies with reviews that are none of the others.
const REVIEW: u8 = 1;
/// The rank of policies that look at payloads.
const PAYLOAD: u8 = 2;
/// The rank of Kubernetes' own policies.
const KUBERNETES: u8 = 3;
/// The rank of policies that say what is to be deleted.
const DELETION: u8 = 5;
/// The rank of policies on check requests of proxies.
const CHECK: u8 = 4;

impl Policy {
    /// `name` or `namespace/name`.
    pub fn key(&self) -> String {
        match &self.namespace {
            Some(ns) => format!("{ns}/{}", self.name),
            None => self.name.to_string(),
        }
    }

    /// What tells it from all others: kind, namespace and name.
    pub fn id(&self) -> String {
        format!("{} {}", self.kind, self.key())
    }

    /// Whether its rules are reviews.
    pub fn is_review(&self) -> bool {
        matches!(self.rank(), REVIEW | PAYLOAD | CHECK | DELETION)
    }

    /// Whether it looks at data of any form.
    pub fn looks_at_payloads(&self) -> bool {
        self.rank() == PAYLOAD
    }

    /// Whether it is about images.
    pub fn looks_at_images(&self) -> bool {
        matches!(self.rules.first().map(|r| &r.body), Some(Body::Review(r)) if matches!(r.body, Deed::Images(_)))
    }

    /// Whether requests to the Kubernetes API, or data of any form, are what it is about.
    pub fn answers_requests(&self) -> bool {
        self.rank() < CHECK
    }

    /// Whether it is about check requests of proxies.
    pub fn answers_proxies(&self) -> bool {
        self.rank() == CHECK
    }

    /// Whether it says what is to be deleted, from time to time and not for requests.
    pub fn deletes(&self) -> bool {
        self.rank() == DELETION
    }

    /// Where it stands among policies of other kinds: policies with reviews come after Kyverno's own, of
    /// them those that look at payloads last, then those of Kubernetes.
    pub fn rank(&self) -> u8 {
        *self.known_rank.get_or_init(|| self.find_rank())
    }

    fn find_rank(&self) -> u8 {
        match self.rules.first().map(|r| &r.body) {
            Some(Body::Review(r)) if matches!(r.body, Deed::Deletion) => DELETION,
            Some(Body::Review(r)) if matches!(r.view, View::Check(_)) => CHECK,
            Some(Body::Review(r)) if r.view == View::Payload => PAYLOAD,
            Some(Body::Review(_)) => REVIEW,
            Some(Body::Admission(_)) => KUBERNETES,
            _ => KYVERNO,
        }
    }

    /// Whether it is an admission policy of Kubernetes.
    pub fn is_admission(&self) -> bool {
        self.rank() == KUBERNETES
    }

    /// The rules for objects of a kind.
    pub fn rules_for(&self, kind: &str) -> &[Arc<Rule>] {
        self.own_rules_for(kind).unwrap_or(&self.rules)
    }

    /// The rules that only objects of a kind have.
    pub fn own_rules_for(&self, kind: &str) -> Option<&[Arc<Rule>]> {
        self.by_kind.iter().find(|(k, _)| **k == *kind).map(|(_, rules)| &**rules)
    }
}

/// A cleanup policy, lowered: which objects its runs delete.
#[derive(Clone, Debug)]
pub struct Cleanup {
    /// What reports say about it; it has no rules.
    pub policy: Arc<Policy>,
    /// Objects it selects.
    pub when: Matcher,
    /// Objects it spares.
    pub unless: Option<Matcher>,
    /// It has an exclusion that says nothing, which spares every object.
    pub spares_all: bool,
    /// Data that the conditions may read.
    pub bindings: Box<[Arc<Binding>]>,
    /// Conditions that must hold, in the order in which they are asked.
    pub admit: Box<[Conditions]>,
    /// When it runs, as written.
    pub schedule: Str,
    /// When it ran last, as written.
    pub last_run: Str,
    /// When it was made, as written.
    pub created: Str,
}

/// An exception from rules.
#[derive(Clone, Debug)]
pub struct Exception {
    /// Its name.
    pub name: Str,
    /// `namespace/name`, or the name alone.
    pub key: Str,
    /// What it covers: policy keys with wildcards for rule names.
    pub covers: Box<[(Str, Box<[Wildcard]>)]>,
    /// Objects it applies to.
    pub when: Matcher,
    /// Conditions that must hold.
    pub admit: Option<Conditions>,
    /// Pod Security controls it excludes; null = the whole rule.
    pub pod_security: Value,
}

impl Exception {
    /// Whether it covers a rule.
    pub fn covers(&self, policy: &str, rule: &str) -> bool {
        self.covers.iter().any(|(key, rules)| **key == *policy && rules.iter().any(|r| r.matches(rule)))
    }
}
