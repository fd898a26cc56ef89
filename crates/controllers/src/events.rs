//! Events: what policies did with objects, for those who read the objects or the policies.
//!
//! In: results of a policy about an object. Out: events of `events.k8s.io/v1` about the policy and
//! about the object. Each occurrence is an event of its own. Semantics:
//! `docs/reference/cluster.md`, "Reports and events".

use ephor_cluster::{Cluster, Failure};
use ephor_engine::{RuleOutcome, Status};
use ephor_ir::rule::RuleKind;
use ephor_ir::{Exception, Policy};
use ephor_value::Value;

use crate::reports::{object, text};
use ephor_admission::settings::Settings;

/// The longest text of an event.
const LONGEST_NOTE: usize = 1024;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The object that it is about: `apiVersion`, `kind`, `namespace`, `name` and `uid`, as far as
    /// they are known.
    pub regarding: Value,
    /// Another object that has to do with it, or null.
    pub related: Value,
    /// What was done.
    pub action: &'static str,
    /// Why.
    pub reason: &'static str,
    /// A text for people.
    pub note: String,
}

/// Writes events.
#[derive(Clone, Debug)]
pub struct Journal {
    /// What observed them.
    pub source: &'static str,
    /// On which host.
    pub host: String,
    /// Reasons of events that are not written.
    pub omitted: Vec<String>,
}

impl Journal {
    /// Writes an event, unless its reason is left out.
    ///
    /// # Errors
    /// The cluster refuses it.
    pub fn write(&self, cluster: &Cluster, event: &Event) -> Result<(), Failure> {
        if self.omitted.iter().any(|omitted| omitted == event.reason) {
            return Ok(());
        }
        let namespace = match event.regarding.text_at(&["namespace"]) {
            "" => "default",
            namespace => namespace,
        };
        let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        let body = self.written(event, namespace);
        cluster.request("POST", &path, "application/json", Some(&body)).map(drop)
    }

    fn written(&self, event: &Event, namespace: &str) -> Value {
        let now = jiff::Timestamp::now();
        let name = event_name(event.regarding.text_at(&["name"]), now.as_nanosecond());
        let note = match event.note.len() > LONGEST_NOTE {
            true => {
                let mut ends = (0..=LONGEST_NOTE - 3).rev();
                let end = ends.find(|at| event.note.is_char_boundary(*at)).unwrap_or(0);
                format!("{}...", event.note.get(..end).unwrap_or_default())
            }
            false => event.note.clone(),
        };
        let normal = matches!(event.reason, "PolicyApplied" | "PolicySkipped");
        object([
            ("apiVersion", "events.k8s.io/v1".into()),
            ("kind", "Event".into()),
            ("metadata", object([("name", name.into()), ("namespace", namespace.into())])),
            ("eventTime", now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string().into()),
            ("reportingController", self.source.into()),
            ("reportingInstance", format!("{}-{}", self.source, self.host).into()),
            ("action", event.action.into()),
            ("reason", event.reason.into()),
            ("type", if normal { "Normal" } else { "Warning" }.into()),
            ("regarding", event.regarding.clone()),
            ("related", event.related.clone()),
            ("note", note.into()),
        ])
    }
}

/// A name of what an event is about, made one for an object, with the moment.
fn event_name(about: &str, nanoseconds: i128) -> String {
    let fits = |c: char| {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-') { c } else { '-' }
    };
    let mut name: String = about.to_lowercase().chars().map(fits).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        name.insert(0, 'a');
    }
    if !name.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        name.push('z');
    }
    format!("{name}.{nanoseconds:x}")
}

/// When policies were evaluated on an object.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'o> {
    /// The object, as [`Event::regarding`] names it.
    pub object: &'o Value,
    /// Whether the request for it was denied.
    pub blocked: bool,
    /// What operators set.
    pub settings: Option<&'o Settings>,
    /// The exceptions that count.
    pub exceptions: &'o [Exception],
}

impl Occasion<'_> {
    /// The object as notes name it: kind, namespace and name.
    fn named(&self) -> String {
        let at = |key: &str| self.object.text_at(&[key]);
        match at("namespace") {
            "" => format!("{} {}", at("kind"), at("name")),
            namespace => format!("{} {namespace}/{}", at("kind"), at("name")),
        }
    }

    /// The events of the results of a policy; none for an object without a name.
    pub fn events(&self, policy: &Policy, rules: &[RuleOutcome]) -> Vec<Event> {
        if self.object.text_at(&["name"]).is_empty() {
            return Vec::new();
        }
        let about = about_policy(policy);
        let mut all = Vec::new();
        let violated = |r: &&RuleOutcome| matches!(r.status, Status::Fail | Status::Error);
        for rule in rules.iter().filter(violated) {
            self.violation(policy, &about, rule, &mut all);
        }
        for rule in rules.iter().filter(|r| r.status == Status::Skip && policy.report.names_rules) {
            self.exception(policy, &about, rule, &mut all);
        }
        let passed = !rules.is_empty() && rules.iter().all(|r| r.status == Status::Pass);
        let changed = rules.iter().all(|r| r.kind == RuleKind::Mutation);
        let (action, what) = match changed {
            true => ("Resource Mutated", "is successfully mutated"),
            false => ("Resource Passed", "pass"),
        };
        if passed && !self.blocked && self.settings.is_some_and(|s| wants(s, action)) {
            let note = match changed {
                true => format!("{} {what}", self.named()),
                false => format!("{}: {what}", self.named()),
            };
            let (regarding, related) = (about, self.object.clone());
            all.push(Event { regarding, related, action, reason: "PolicyApplied", note });
        }
        all
    }

    /// A rule that is violated, or could not be evaluated.
    fn violation(&self, policy: &Policy, about: &Value, rule: &RuleOutcome, all: &mut Vec<Event>) {
        let status = rule.status.name();
        let named = if rule.rule.is_empty() { String::new() } else { format!("[{}] ", rule.rule) };
        let blocked = if self.blocked { " (blocked)" } else { "" };
        let message = if rule.message.is_empty() { String::new() } else { format!("; {}", rule.message) };
        all.push(Event {
            regarding: about.clone(),
            related: self.object.clone(),
            action: if self.blocked { "Resource Blocked" } else { "Resource Passed" },
            reason: "PolicyViolation",
            note: format!("{}: {named}{status}{blocked}{message}", self.named()),
        });
        if !self.blocked {
            all.push(Event {
                regarding: self.object.clone(),
                related: Value::Null,
                action: "Resource Passed",
                reason: "PolicyViolation",
                // Rules of policies of expressions have no name.
                note: format!("policy {}/{} {status}: {}", policy.key(), rule.rule, rule.message),
            });
        }
    }

    /// A rule that exceptions exempt the object from.
    fn exception(&self, policy: &Policy, about: &Value, rule: &RuleOutcome, all: &mut Vec<Event>) {
        let key = policy.key();
        let of_result = |e: &&Exception| rule.exceptions.contains(&e.name) && e.covers(&key, &rule.rule);
        let exceptions: Vec<&Exception> = self.exceptions.iter().filter(of_result).collect();
        if exceptions.is_empty() {
            return;
        }
        let at = |key: &str| self.object.text_at(&[key]);
        let named = format!("{}/{}/{}", at("kind"), at("namespace"), at("name"));
        let skipped = |regarding: Value, note: String| Event {
            regarding,
            related: self.object.clone(),
            action: "Resource Passed",
            reason: "PolicySkipped",
            note,
        };
        for exception in &exceptions {
            let namespace = exception.key.rsplit_once('/').map_or("", |(namespace, _)| namespace);
            let regarding = object([
                ("apiVersion", "kyverno.io/v2".into()),
                ("kind", "PolicyException".into()),
                ("namespace", text(namespace)),
                ("name", Value::Str(exception.name.clone())),
            ]);
            let rule = &rule.rule;
            all.push(skipped(
                regarding,
                format!("resource {named} was skipped from policy rule {key}/{rule}"),
            ));
        }
        let keys: Vec<&str> = exceptions.iter().map(|e| &*e.key).collect();
        let (rule, keys) = (&rule.rule, keys.join(", "));
        all.push(skipped(
            about.clone(),
            format!("resource {named} was skipped from rule {rule} due to policy exceptions {keys}"),
        ));
    }
}

/// A policy as [`Event::regarding`] names it.
pub(crate) fn about_policy(policy: &Policy) -> Value {
    // The version in which Kyverno reads policies with expressions.
    let version = if &*policy.api.group == "policies.kyverno.io" { "v1beta1" } else { "v1" };
    object([
        ("apiVersion", format!("{}/{version}", policy.api.group).into()),
        ("kind", Value::Str(policy.api.kind.clone())),
        ("namespace", policy.namespace.clone().map_or(Value::Null, Value::Str)),
        ("name", Value::Str(policy.name.clone())),
    ])
}

/// Whether events are written for what passed with an action.
pub(crate) fn wants(settings: &Settings, action: &str) -> bool {
    settings.success_events
        && (settings.success_actions.is_empty() || settings.success_actions.iter().any(|a| a == action))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_document::yaml_value;
    use ephor_policies::{Engine, PolicySet};

    use super::*;

    #[test]
    fn names_of_events_are_names_of_objects() {
        assert_eq!(event_name("Web_1", 255), "web-1.ff");
        assert_eq!(event_name("-a-", 1), "a-a-z.1");
    }

    #[test]
    fn long_texts_of_events_are_cut_between_characters() {
        let event = Event {
            regarding: Value::Null,
            related: Value::Null,
            action: "Resource Passed",
            reason: "PolicyViolation",
            note: "ä".repeat(1000),
        };
        let journal = Journal { source: "kyverno-scan", host: "h".into(), omitted: Vec::new() };
        let written = journal.written(&event, "shop");
        let note = written.text_at(&["note"]);
        assert!(note.len() <= LONGEST_NOTE && note.ends_with("ä..."));
        assert_eq!(written.text_at(&["type"]), "Warning");
        assert_eq!(written.text_at(&["reportingInstance"]), "kyverno-scan-h");
    }

    const POLICY: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: need-team}, spec: {rules: [{name: team, match: {any: [{resources: {kinds: [ConfigMap]}}]}, validate: {message: no team, pattern: {metadata: {labels: {team: '?*'}}}}}]}}";
    const EXCEPTION: &str = "{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: e, namespace: shop}, spec: {exceptions: [{policyName: need-team, ruleNames: [team]}], match: {any: [{resources: {kinds: [ConfigMap]}}]}}}";

    /// What the events of a ConfigMap without labels say: kind, reason, note.
    fn noted(policies: &str, blocked: bool) -> Vec<[String; 3]> {
        let engine = Engine::new(PolicySet::from_yaml(policies).unwrap());
        let outcome = engine
            .check_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}")
            .unwrap();
        let about = yaml_value("{apiVersion: v1, kind: ConfigMap, namespace: shop, name: a}").unwrap();
        let exceptions = engine.set().exceptions();
        let occasion = Occasion { object: &about, blocked, settings: None, exceptions };
        let events = outcome.policies.iter().flat_map(|p| occasion.events(&p.policy, &p.rules));
        let shown =
            |e: Event| [e.regarding.text_at(&["kind"]).to_string(), e.reason.to_string(), e.note.clone()];
        events.map(shown).collect()
    }

    #[test]
    fn a_violation_is_noted_at_the_policy_and_unless_it_was_denied_at_the_object() {
        let message = "validation error: no team. rule team failed at path /metadata/labels/";
        let all = noted(POLICY, false);
        assert_eq!(
            all,
            [
                ["ClusterPolicy", "PolicyViolation", &format!("ConfigMap shop/a: [team] fail; {message}")],
                ["ConfigMap", "PolicyViolation", &format!("policy need-team/team fail: {message}")]
            ]
        );
        assert_eq!(noted(POLICY, true).len(), 1);
    }

    #[test]
    fn an_exception_is_noted_at_itself_and_at_the_policy() {
        let all = noted(&format!("{POLICY}\n---\n{EXCEPTION}"), false);
        assert_eq!(
            all,
            [
                [
                    "PolicyException",
                    "PolicySkipped",
                    "resource ConfigMap/shop/a was skipped from policy rule need-team/team"
                ],
                [
                    "ClusterPolicy",
                    "PolicySkipped",
                    "resource ConfigMap/shop/a was skipped from rule team due to policy exceptions shop/e"
                ]
            ]
        );
    }
}
