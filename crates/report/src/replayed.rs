//! What policies would have answered to the requests of a log, counted.
//!
//! In: requests and what would have happened, one after the other. Out: a [`Replayed`]: counts by
//! rule, user, namespace and hour, a few examples, and what the log does not hold. Memory grows
//! with the number of different rules, users, namespaces and hours, up to a limit, not with
//! requests.

use std::collections::BTreeMap;

/// How many different users or namespaces are counted apart; more are counted together.
const MAX_NAMES: usize = 2_000;
/// The name of what is counted together.
pub const OTHERS: &str = "(others)";
/// How many examples a rule has.
const EXAMPLES: usize = 3;

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId {
    /// The kind of its policy.
    pub kind: String,
    /// The policy, with its namespace if it has one.
    pub policy: String,
    /// Its name; empty for policies without named rules.
    pub rule: String,
}

impl RuleId {
    /// `ClusterPolicy policy/rule`.
    pub fn shown(&self) -> String {
        if self.rule.is_empty() || self.rule == self.policy {
            return format!("{} {}", self.kind, self.policy);
        }
        format!("{} {}/{}", self.kind, self.policy, self.rule)
    }
}

/// What a rule did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It denied the request.
    Denied,
    /// It reported a violation and denied nothing.
    Audited,
    /// It changed the object.
    Changed,
    /// It could not be evaluated, and denied nothing.
    Failed,
}

impl Effect {
    /// All, in the order in which they are shown.
    pub const ALL: [Effect; 4] = [Effect::Denied, Effect::Audited, Effect::Changed, Effect::Failed];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Denied => "denied",
            Effect::Audited => "audited",
            Effect::Changed => "changed",
            Effect::Failed => "error",
        }
    }
}

/// A request that shows what a rule did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// The log.
    pub log: String,
    /// The line of the log.
    pub line: u64,
    /// The identifier of the request.
    pub id: String,
    /// When it came.
    pub time: String,
    /// The user.
    pub user: String,
    /// The operation.
    pub operation: String,
    /// The object.
    pub object: String,
    /// The message of the rule.
    pub message: String,
}

/// What a rule did in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleTally {
    /// How often, in the order of [`Effect::ALL`].
    pub counts: [u64; 4],
    /// The first requests.
    pub examples: Vec<Example>,
}

/// What happened to requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// All that were evaluated.
    pub requests: u64,
    /// Those that would have been denied.
    pub denied: u64,
    /// Those that violate policies which only audit, and would not have been denied.
    pub audited: u64,
    /// Those whose client would have been warned.
    pub warned: u64,
    /// Those whose object would have been changed.
    pub changed: u64,
}

/// Why a request is not evaluated: what the log does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Missing {
    /// The level of the event has no objects.
    Level,
    /// The objects were cut away.
    Truncated,
    /// A patch whose result is not there.
    Patch,
    /// A deletion of an object that the log does not show.
    Deleted,
    /// A deletion of many objects at once.
    Collection,
    /// An event without objects for another reason.
    Object,
    /// A decision of `ephor serve` without its object.
    OwnObject,
    /// A line that cannot be read.
    Unreadable,
    /// A line that was cut off.
    CutOff,
}

impl Missing {
    /// The text about it.
    pub fn text(self) -> &'static str {
        match self {
            Missing::Level => "events without objects: their level is Metadata or less",
            Missing::Truncated => "events whose objects the API server cut away (audit.k8s.io/truncated)",
            Missing::Patch => "patches without the patched object: their level is Request",
            Missing::Deleted => "deletions of objects that the log does not show",
            Missing::Collection => {
                "deletions of collections whose objects are not in the log: their level is Request"
            }
            Missing::Object => "events without objects",
            Missing::OwnObject => "decisions without objects: `ephor serve --audit-log-objects` writes them",
            Missing::Unreadable => "lines that are none of an audit log",
            Missing::CutOff => "lines that were cut off",
        }
    }
}

/// What was not evaluated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// All lines.
    pub events: u64,
    /// Events of other stages of requests that count once.
    pub other_stages: u64,
    /// Requests that admission does not decide on.
    pub reads: u64,
    /// Updates that were evaluated without the object as it was before.
    pub without_before: u64,
    /// Requests that cannot be evaluated, by reason, with the first one.
    pub missing: BTreeMap<Missing, (u64, String)>,
}

impl LeftOut {
    /// Counts a request that cannot be evaluated.
    pub fn note(&mut self, why: Missing, example: impl FnOnce() -> String) {
        self.missing.entry(why).or_insert_with(|| (0, example())).0 += 1;
    }

    /// How many requests cannot be evaluated.
    pub fn total(&self) -> u64 {
        self.missing.values().map(|(count, _)| count).sum()
    }
}

/// How the answers of two sets of policies differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Requests that both deny.
    pub both: u64,
    /// Requests that only these policies deny.
    pub newly_denied: u64,
    /// Requests that only the other ones deny.
    pub no_longer_denied: u64,
    /// What rules of these policies did and those of the other ones did not.
    pub only_these: BTreeMap<RuleId, RuleTally>,
    /// What rules of the other policies did and those of these did not.
    pub only_others: BTreeMap<RuleId, RuleTally>,
}

/// See the module page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// The logs.
    pub logs: Vec<String>,
    /// The policies.
    pub policies: Vec<String>,
    /// The policies that they are compared with.
    pub others: Vec<String>,
    /// What is worth a note.
    pub notes: Vec<String>,
    /// The times of the first and of the last request.
    pub span: Option<(String, String)>,
    /// All requests.
    pub answers: Answers,
    /// Of those that would have been denied, how many were granted then.
    pub denied_then_admitted: u64,
    /// By rule.
    pub rules: BTreeMap<RuleId, RuleTally>,
    /// By user.
    pub users: BTreeMap<String, Answers>,
    /// By namespace; empty for objects without one.
    pub namespaces: BTreeMap<String, Answers>,
    /// By hour: `2026-11-30T16`.
    pub hours: BTreeMap<String, Answers>,
    /// Requests that were evaluated without data that rules need, and the first one.
    pub undecided: (u64, String),
    /// What was not evaluated.
    pub left_out: LeftOut,
    /// The differences to other policies, where there are some.
    pub difference: Option<Difference>,
}

impl Replayed {
    /// Notes the time of a request.
    pub fn request(&mut self, time: &str) {
        if time.is_empty() {
            return;
        }
        match &mut self.span {
            None => self.span = Some((time.into(), time.into())),
            Some((first, last)) => {
                if time < first.as_str() {
                    *first = time.into();
                }
                if time > last.as_str() {
                    *last = time.into();
                }
            }
        }
    }

    /// Counts a request, whose numbers are 0 or 1.
    pub fn answer(&mut self, user: &str, namespace: &str, time: &str, answer: Answers) {
        let add = |answers: &mut Answers| {
            answers.requests += answer.requests;
            answers.denied += answer.denied;
            answers.audited += answer.audited;
            answers.warned += answer.warned;
            answers.changed += answer.changed;
        };
        add(&mut self.answers);
        let hour = time.get(..13).unwrap_or_default();
        for (map, name) in
            [(&mut self.users, user), (&mut self.namespaces, namespace), (&mut self.hours, hour)]
        {
            let is_full = map.len() >= MAX_NAMES;
            match map.get_mut(name) {
                Some(answers) => add(answers),
                None => add(map.entry(if is_full { OTHERS } else { name }.into()).or_default()),
            }
        }
    }

    /// Counts a request that could not be decided on in whole.
    pub fn undecided(&mut self, object: &str) {
        if self.undecided.0 == 0 {
            self.undecided.1 = object.into();
        }
        self.undecided.0 += 1;
    }

    /// Counts what a rule did.
    pub fn rule(&mut self, id: &RuleId, effect: Effect, example: impl FnOnce() -> Example) {
        note(&mut self.rules, id, effect, example);
    }

    /// Counts a request that two sets of policies answered.
    pub fn compare(&mut self, these: bool, others: bool) {
        let difference = self.difference.get_or_insert_default();
        match (these, others) {
            (true, true) => difference.both += 1,
            (true, false) => difference.newly_denied += 1,
            (false, true) => difference.no_longer_denied += 1,
            (false, false) => {}
        }
    }

    /// Counts what a rule of one set of policies did and the other set did not.
    pub fn only(&mut self, these: bool, id: &RuleId, effect: Effect, example: impl FnOnce() -> Example) {
        let difference = self.difference.get_or_insert_default();
        let rules = if these { &mut difference.only_these } else { &mut difference.only_others };
        note(rules, id, effect, example);
    }
}

fn note(
    rules: &mut BTreeMap<RuleId, RuleTally>,
    id: &RuleId,
    effect: Effect,
    example: impl FnOnce() -> Example,
) {
    let tally = match rules.get_mut(id) {
        Some(tally) => tally,
        None => rules.entry(id.clone()).or_default(),
    };
    if let Some(count) = tally.counts.get_mut(effect as usize) {
        *count += 1;
    }
    if tally.examples.len() < EXAMPLES {
        tally.examples.push(example());
    }
}
