//! Events about generated and changed objects, and the state of requests.
//!
//! In: what a rule has generated for a trigger or changed, or why not. Out: a result in the report
//! of the object, and events. What cannot be written is logged, and the work counts as done all the
//! same. Semantics: `docs/reference/cluster.md`, "Reports and events".

use std::sync::Arc;
use std::time::SystemTime;

use ephor_cluster::Cluster;
use ephor_engine::{RuleOutcome, Status};
use ephor_ir::Policy;
use ephor_value::Value;

use crate::background::apply::Done;
use crate::events::{Event, Journal, about_policy, wants};
use crate::reports::results::merged;
use crate::reports::{ReportOptions, Reports, object, text};
use ephor_admission::redact::Redactor;
use ephor_admission::settings::Settings;

/// What rules did in the background, in the words of reports and events.
struct Action {
    /// Whether it generated objects; it changed them otherwise.
    generates: bool,
    /// The action of events.
    action: &'static str,
    /// The note of an event about a success.
    success: &'static str,
    /// The property of results that names the objects.
    property: &'static str,
}

/// The action of events about the generated object itself, and of those about failures.
const NO_ACTION: &str = "None";

const GENERATION: Action = Action {
    generates: true,
    action: "Resource Generated",
    success: "resource generated",
    property: "generated-resources",
};
const CHANGE: Action = Action {
    generates: false,
    action: "Resource Mutated",
    success: "resource mutated",
    property: "patched-target",
};

/// What a rule has changed of objects that exist.
#[derive(Clone, Copy, Debug)]
pub struct Changed<'c> {
    /// The result that the report has.
    pub result: &'c RuleOutcome,
    /// The objects as they are now.
    pub objects: &'c [Value],
    /// What could not be changed, in the words of events.
    pub failure: Option<&'c str>,
}

/// What is reported: a result, what was done to objects, and what is in its place in events.
struct Said<'s> {
    result: &'s RuleOutcome,
    done: &'s [Done],
    failure: Option<&'s str>,
}

/// Where it is written.
#[derive(Clone, Debug)]
pub struct EventSink {
    cluster: Arc<Cluster>,
    reports: Option<Reports>,
    /// Who writes events about generated objects, and about changed ones.
    journals: [Option<Journal>; 2],
}

impl EventSink {
    /// With the account that writes reports; `None` = there are no reports, or no events. The
    /// journals are those of generated objects and of changed ones.
    pub fn new(
        cluster: Arc<Cluster>,
        reports: Option<ReportOptions>,
        journals: [Option<Journal>; 2],
    ) -> EventSink {
        let reports = reports.map(|options| Reports::new(cluster.clone(), options));
        EventSink { cluster, reports, journals }
    }

    /// Says what a rule has generated for a trigger.
    pub fn generated(
        &self,
        policy: &Policy,
        settings: Option<&Settings>,
        trigger: &Value,
        result: &RuleOutcome,
        done: &[Done],
    ) {
        self.say(&GENERATION, policy, settings, trigger, &Said { result, done, failure: None });
    }

    /// Says what a rule has changed: of a rule with targets in the report of its trigger, else in
    /// that of the object.
    pub fn changed(
        &self,
        policy: &Policy,
        settings: Option<&Settings>,
        subject: &Value,
        changed: &Changed<'_>,
    ) {
        let done: Vec<Done> = changed.objects.iter().cloned().map(Done::Updated).collect();
        let said = Said { result: changed.result, done: &done, failure: changed.failure };
        self.say(&CHANGE, policy, settings, subject, &said);
    }

    fn say(
        &self,
        of: &Action,
        policy: &Policy,
        settings: Option<&Settings>,
        subject: &Value,
        said: &Said<'_>,
    ) {
        let Said { result, done, failure } = *said;
        let scope = scope(subject);
        if scope.text_at(&["uid"]).is_empty() || scope.text_at(&["name"]).is_empty() {
            return;
        }
        let redacted = |result: &RuleOutcome| match Redactor::of_object(subject) {
            Some(redactor) => redactor.result(result),
            None => result.clone(),
        };
        let mut result = redacted(result);
        let noted = failure.map(|text| redacted(&RuleOutcome { message: text.into(), ..result.clone() }));
        let [generation, change] = &self.journals;
        if let Some(journal) = if of.generates { generation } else { change } {
            for event in events(of, policy, settings, &scope, noted.as_ref().unwrap_or(&result), done) {
                if let Err(error) = journal.write(&self.cluster, &event) {
                    tracing::warn!(%error, "an event cannot be written");
                }
            }
        }
        // A rule with targets names them all, also its own trigger.
        let is_named = |object: &&Value| policy.report.names_rules || !is_same(object, subject);
        let others: Vec<String> = done.iter().map(Done::object).filter(is_named).map(named).collect();
        if !others.is_empty() {
            result.properties.push((of.property.into(), others.join("; ").into()));
        }
        let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let Some(reports) = &self.reports else { return };
        let mut new = match of.generates {
            true => reports.entries(policy, &[result], seconds),
            false => reports.entries_of_existing(policy, &[result], seconds),
        };
        if !policy.report.names_rules && of.generates {
            // Only requests make policies of expressions generate.
            new.iter_mut().for_each(|entry| *entry = of_requests(entry));
        }
        if new.is_empty() {
            return;
        }
        if let Err(error) = reports.update(&scope, &|before| merged(before, &new)) {
            tracing::warn!(%error, "a report cannot be written");
        }
    }
}

/// Whether two objects are one.
fn is_same(a: &Value, b: &Value) -> bool {
    let uid = |object: &Value| object.text_at(&["metadata", "uid"]).to_string();
    uid(a) == uid(b)
}

fn of_requests(entry: &Value) -> Value {
    let properties = entry.get("properties").cloned().unwrap_or_default();
    entry.with("properties", properties.with("process", "admission review".into()))
}

/// A trigger as its report and events name it.
fn scope(trigger: &Value) -> Value {
    let at = |path: &[&str]| text(trigger.text_at(path));
    object([
        ("apiVersion", at(&["apiVersion"])),
        ("kind", at(&["kind"])),
        ("namespace", at(&["metadata", "namespace"])),
        ("name", at(&["metadata", "name"])),
        ("uid", at(&["metadata", "uid"])),
    ])
}

/// A generated object as results name it: group and version, kind, name and namespace.
fn named(object: &Value) -> String {
    let api_version = object.text_at(&["apiVersion"]);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let (kind, name) = (object.text_at(&["kind"]), object.text_at(&["metadata", "name"]));
    let namespace = match object.text_at(&["metadata", "namespace"]) {
        "" => String::new(),
        namespace => format!(" Namespace={namespace}"),
    };
    format!("{group}/{version}, Kind={kind} Name={name}{namespace}")
}

/// The events about what a rule has done.
fn events(
    of: &Action,
    policy: &Policy,
    settings: Option<&Settings>,
    trigger: &Value,
    result: &RuleOutcome,
    done: &[Done],
) -> Vec<Event> {
    let rule = match policy.report.names_rules {
        true => format!("/{}", result.rule),
        false => String::new(),
    };
    let (key, action) = (policy.key(), of.action);
    if matches!(result.status, Status::Error | Status::Fail) {
        let note = format!("policy {key}{rule} error: {}", result.message);
        let (regarding, related) = (about_policy(policy), trigger.clone());
        return vec![Event { regarding, related, action: NO_ACTION, reason: "PolicyError", note }];
    }
    let is_wanted = |event: &Event| settings.is_some_and(|settings| wants(settings, event.action));
    let mut all = Vec::new();
    for done in done {
        let target = scope(done.object());
        let event = |action: &'static str, regarding: &Value, related: &Value, note: String| Event {
            regarding: regarding.clone(),
            related: related.clone(),
            action,
            reason: "PolicyApplied",
            note,
        };
        if matches!(done, Done::Created(_)) {
            let at = |key: &str| target.text_at(&[key]);
            let (kind, name) = (at("kind"), at("name"));
            // The one rule of a policy of expressions has its name.
            let rule = if policy.report.names_rules { &result.rule } else { &policy.name };
            let note = format!("Created {kind} {name} as a result of applying policy {key}/{rule}");
            all.push(event(NO_ACTION, &target, &Value::Null, note));
        }
        all.push(event(action, &about_policy(policy), &target, of.success.into()));
    }
    all.retain(is_wanted);
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_document::yaml_value;
    use ephor_ir::rule::RuleKind;
    use ephor_policies::PolicySet;

    use super::*;

    const POLICY: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Namespace]}}]}, generate: {apiVersion: v1, kind: ConfigMap, name: a, namespace: shop, data: {data: {a: b}}}}]}}";

    fn noted(status: Status, settings: &str) -> Vec<String> {
        let set = PolicySet::from_yaml(POLICY).unwrap();
        let policy = set.policies().first().unwrap();
        let result = RuleOutcome::new(&"r".into(), RuleKind::Generation, status, "no quota");
        let settings = Settings::of(&yaml_value(&format!("{{data: {settings}}}")).unwrap());
        let trigger =
            scope(&yaml_value("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}").unwrap());
        let made =
            yaml_value("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}").unwrap();
        let done = [Done::Created(made)];
        let all = events(&GENERATION, policy, Some(&settings), &trigger, &result, &done);
        let shown =
            |e: &Event| format!("{} {} {}: {}", e.regarding.text_at(&["kind"]), e.reason, e.action, e.note);
        all.iter().map(shown).collect()
    }

    #[test]
    fn failures_are_noted_always_and_successes_when_operators_want_them() {
        assert_eq!(
            noted(Status::Error, "{}"),
            ["ClusterPolicy PolicyError None: policy p/r error: no quota"]
        );
        assert!(noted(Status::Pass, "{}").is_empty());
        assert_eq!(
            noted(Status::Pass, "{generateSuccessEvents: 'true'}"),
            [
                "ConfigMap PolicyApplied None: Created ConfigMap a as a result of applying policy p/r",
                "ClusterPolicy PolicyApplied Resource Generated: resource generated"
            ]
        );
        assert_eq!(
            noted(Status::Pass, "{generateSuccessEvents: 'true', successEventActions: Resource Generated}"),
            ["ClusterPolicy PolicyApplied Resource Generated: resource generated"]
        );
    }

    #[test]
    fn generated_objects_are_named_with_group_version_kind_name_and_namespace() {
        let of = |text: &str| named(&yaml_value(text).unwrap());
        assert_eq!(
            of("{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}}"),
            "/v1, Kind=Secret Name=a Namespace=shop"
        );
        assert_eq!(of("{apiVersion: apps/v1, kind: X, metadata: {name: a}}"), "apps/v1, Kind=X Name=a");
    }
}
