//! Background scans on an API server in memory.

use std::num::NonZero;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ephor_admission::admit::Gate;
use ephor_cluster::Cluster;
use ephor_controllers::events::Journal;
use ephor_controllers::in_use::{InUse, Source};
use ephor_controllers::reports::{Form, ReportOptions, Reports, Subject};
use ephor_controllers::scan::native::Reported;
use ephor_controllers::scan::work::ScanWork;
use ephor_controllers::scan::{ScanSetup, Scans};
use ephor_controllers::shards::assigned::Assigned;
use ephor_document::yaml_value;
use ephor_engine::{RuleOutcome, Status};
use ephor_external::{ExternalData, NoData};
use ephor_ir::rule::RuleKind;
use ephor_policies::load::{Reader, argument_for};
use ephor_sources::files::SourceText;
use ephor_sources::objects::Objects;
use ephor_value::Value;
use ephor_value::release::Release;

use super::api::Api;
use super::{State, until};

const MAP: &str = "/api/v1/namespaces/shop/configmaps/cart";

/// A ClusterPolicy that wants a label.
pub(super) fn policy(name: &str, label: &str, more: &str) -> String {
    format!(
        "---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  {more}\n  rules:\n  - name: {label}\n    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n    validate: {{message: no {label}, pattern: {{metadata: {{labels: {{{label}: '?*'}}}}}}}}\n"
    )
}

pub(super) fn state(policies: &str) -> Arc<State> {
    state_with(policies, Arc::new(NoData))
}

fn state_with(policies: &str, data: Arc<dyn ExternalData>) -> Arc<State> {
    let source = SourceText { name: "policies".into(), text: policies.into() };
    let loaded = argument_for(&[source], Reader::Server(Release::default()));
    assert_eq!(loaded.problems, []);
    let gate = Gate::new(loaded, data, &[]);
    Arc::new(State { stored: Vec::new(), exceptions: Vec::new(), gate })
}

/// A replica that leads, with policies that may change.
struct Replica {
    in_use: Arc<Mutex<Arc<State>>>,
    scans: Scans,
}

impl Replica {
    fn start(cluster: &Arc<Cluster>, policies: &str, reported: Reported) -> Replica {
        Replica::writing(Form::PolicyReports, cluster, policies, reported)
    }

    fn writing(form: Form, cluster: &Arc<Cluster>, policies: &str, reported: Reported) -> Replica {
        let in_use = Arc::new(Mutex::new(state(policies)));
        let of = in_use.clone();
        let source: Source = Arc::new(move || -> Arc<dyn InUse> { of.lock().unwrap().clone() });
        let journal = Journal { source: "kyverno-scan", host: "h".into(), omitted: Vec::new() };
        let setup = ScanSetup {
            interval: Duration::from_secs(3600),
            native: reported,
            shards: NonZero::<u32>::MIN,
            reports: form.into(),
            journal: Some(journal),
        };
        let queue = Arc::new(ephor_controllers::scan::queue());
        queue.add(ScanWork::Policies);
        let scans =
            Scans::start(setup, cluster.clone(), source, queue, Arc::new(Assigned::everything())).unwrap();
        Replica { in_use, scans }
    }

    fn serve(&self, policies: &str) {
        *self.in_use.lock().unwrap() = state(policies);
        self.scans.notify();
    }
}

pub(super) const NONE: Reported = Reported { validating: false, mutating: false };

fn config_map(api: &Api, labels: &str) -> Value {
    let text = format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: cart, namespace: shop, labels: {labels}}}}}"
    );
    api.put(MAP, &yaml_value(&text).unwrap())
}

pub(super) fn path_of_report(object: &Value) -> String {
    let uid = object.text_at(&["metadata", "uid"]);
    format!("/apis/wgpolicyk8s.io/v1alpha2/namespaces/shop/policyreports/{uid}")
}

/// Policy, rule and result of each entry.
pub(super) fn entries(api: &Api, path: &str) -> Vec<String> {
    let report = api.object(path).unwrap_or_default();
    let all = report.get("results").and_then(Value::as_list).unwrap_or_default();
    let shown = |e: &Value| ["policy", "rule", "result"].map(|key| e.text_at(&[key]).to_string()).join(" ");
    all.iter().map(shown).collect()
}

#[test]
fn an_object_that_was_there_before_the_policy_gets_a_report_under_its_identity() {
    let api = Api::start();
    let map = config_map(&api, "{team: a}");
    let report = path_of_report(&map);
    let _replica = Replica::start(&api.cluster, &(policy("p", "team", "") + &policy("q", "cost", "")), NONE);
    until("it has a report", || !entries(&api, &report).is_empty());
    assert_eq!(entries(&api, &report), ["p team pass", "q cost fail"]);
    let written = api.object(&report).unwrap();
    let owners = written.at(&["metadata", "ownerReferences"]).and_then(Value::as_list).unwrap();
    assert_eq!(owners[0].get("uid"), map.at(&["metadata", "uid"]));
    assert_eq!(written.text_at(&["scope", "name"]), "cart");
    assert_eq!(written.at(&["summary", "fail"]).and_then(Value::as_int), Some(1));
    let first = written.get("results").and_then(Value::as_list).unwrap().first().unwrap();
    assert_eq!(first.text_at(&["properties", "process"]), "background scan");
}

#[test]
fn objects_are_scanned_again_when_the_labels_of_their_namespace_change() {
    let api = Api::start();
    let report = path_of_report(&config_map(&api, "{}"));
    let policies = policy("p", "team", "")
        .replace("kinds: [ConfigMap]", "kinds: [ConfigMap], namespaceSelector: {matchLabels: {tier: web}}");
    assert!(policies.contains("namespaceSelector"));
    let labelled = |tier: &str| -> Arc<dyn ExternalData> {
        let namespace = format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: shop, labels: {{tier: {tier}}}}}}}"
        );
        Arc::new(Objects::new(vec![yaml_value(&namespace).unwrap()]))
    };
    let both = policies + &policy("q", "cost", "");
    let replica = Replica::start(&api.cluster, &both, NONE);
    *replica.in_use.lock().unwrap() = state_with(&both, labelled("db"));
    replica.scans.notify();
    until("it has a report", || entries(&api, &report) == ["q cost fail"]);
    *replica.in_use.lock().unwrap() = state_with(&both, labelled("web"));
    replica.scans.notify();
    until("it was scanned again", || entries(&api, &report) == ["p team fail", "q cost fail"]);
}

#[test]
fn results_that_reports_shall_not_hold_are_left_out() {
    let api = Api::start();
    let set = state(&(policy("p", "team", "") + &policy("q", "cost", "")));
    let set = set.gate.engine().set();
    let (policy, results) = (
        &set.policies()[0],
        [Status::Pass, Status::Fail]
            .map(|status| RuleOutcome::new(&"r".into(), RuleKind::Validation, status, "")),
    );
    let entries = |options: ReportOptions| {
        let reports = Reports::new(api.cluster.clone(), options);
        (reports.entries(policy, &results, 1).len(), reports.entries_of_existing(policy, &results, 1).len())
    };
    assert_eq!(entries(ReportOptions::default()), (2, 2));
    let without_passes = ReportOptions { without_results: vec![Status::Pass], ..ReportOptions::default() };
    assert_eq!(entries(without_passes), (1, 1));
    let without_checks = ReportOptions { without_rules: vec![Subject::Validate], ..ReportOptions::default() };
    assert_eq!(entries(without_checks), (0, 2));
    let without_existing =
        ReportOptions { without_rules: vec![Subject::MutateExisting], ..ReportOptions::default() };
    assert_eq!(entries(without_existing), (2, 0));
}

#[test]
fn a_violation_is_noted_once_at_the_object_and_once_at_the_policy() {
    let api = Api::start();
    config_map(&api, "{}");
    let _replica = Replica::start(&api.cluster, &policy("p", "team", ""), NONE);
    let events = || api.below("/apis/events.k8s.io/v1/");
    until("there are events", || events().len() == 2);
    let all = events();
    let mut about: Vec<&str> = all.iter().map(|e| e.text_at(&["regarding", "kind"])).collect();
    about.sort_unstable();
    assert_eq!(about, ["ClusterPolicy", "ConfigMap"]);
    assert!(all.iter().all(|e| e.text_at(&["reportingController"]) == "kyverno-scan"));
}

#[test]
fn results_of_policies_that_are_gone_go_and_a_report_without_results_goes_too() {
    let api = Api::start();
    let report = path_of_report(&config_map(&api, "{team: a}"));
    let both = policy("p", "team", "") + &policy("q", "cost", "");
    let replica = Replica::start(&api.cluster, &both, NONE);
    until("there are two results", || entries(&api, &report).len() == 2);
    replica.serve(&policy("q", "cost", ""));
    until("one is left", || entries(&api, &report) == ["q cost fail"]);
    replica.serve(&policy("r", "cost", "background: false"));
    until("the report is gone", || api.object(&report).is_none());
}

const MUTATION: &str = "---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: m}
spec:
  rules:
  - name: add
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}
";

#[test]
fn results_of_admission_stay_as_long_as_their_policy_does() {
    let api = Api::start();
    let map = config_map(&api, "{team: a}");
    let (uid, report) = (map.text_at(&["metadata", "uid"]), path_of_report(&map));
    let before = format!(
        "{{apiVersion: wgpolicyk8s.io/v1alpha2, kind: PolicyReport, metadata: {{name: {uid}, namespace: shop, labels: {{app.kubernetes.io/managed-by: kyverno}}}}, scope: {{apiVersion: v1, kind: ConfigMap, namespace: shop, name: cart, uid: {uid}}}, results: [{{source: kyverno, policy: gone, rule: r, result: pass}}, {{source: kyverno, policy: m, rule: add, result: pass}}]}}"
    );
    api.put(&report, &yaml_value(&before).unwrap());
    let replica = Replica::start(&api.cluster, &(policy("p", "team", "") + MUTATION), NONE);
    until("it has been scanned", || entries(&api, &report) == ["m add pass", "p team pass"]);
    replica.serve(MUTATION);
    until("the scan's result is gone", || entries(&api, &report) == ["m add pass"]);
}

#[test]
fn results_that_differ_in_time_alone_are_not_written() {
    let api = Api::start();
    let reports = Reports::new(api.cluster.clone(), Form::PolicyReports);
    let scope = yaml_value("{apiVersion: v1, kind: ConfigMap, namespace: shop, name: cart, uid: u}").unwrap();
    let at = |seconds: i64, result: &str| {
        let time = Value::map([("seconds", Value::Int(seconds))]);
        vec![Value::map([("policy", "p".into()), ("result", result.into()), ("timestamp", time)])]
    };
    assert!(reports.update(&scope, &|_| at(1, "pass")).unwrap());
    api.writes();
    assert!(!reports.update(&scope, &|_| at(2, "pass")).unwrap());
    assert_eq!(api.writes(), Vec::<String>::new());
    assert!(reports.update(&scope, &|_| at(2, "fail")).unwrap());
    assert!(reports.update(&scope, &|_| Vec::new()).unwrap());
    assert_eq!(api.below("/apis/wgpolicyk8s.io/"), Vec::<Value>::new());
}

#[test]
fn reports_of_the_other_group_go_when_this_program_alone_has_written_them() {
    let api = Api::start();
    let map = config_map(&api, "{}");
    let uid = map.text_at(&["metadata", "uid"]);
    let path = |name: &str| format!("/apis/wgpolicyk8s.io/v1alpha2/namespaces/shop/policyreports/{name}");
    let put = |name: &str, managers: &str| {
        let report = format!(
            "{{apiVersion: wgpolicyk8s.io/v1alpha2, kind: PolicyReport, metadata: {{name: {name}, namespace: shop, labels: {{app.kubernetes.io/managed-by: kyverno}}, managedFields: {managers}}}, scope: {{apiVersion: v1, kind: ConfigMap, namespace: shop, name: cart, uid: {name}}}, results: [{{source: kyverno, policy: p, rule: team, result: pass}}]}}"
        );
        api.put(&path(name), &yaml_value(&report).unwrap());
    };
    put(uid, "[{manager: ephor}]");
    put("shared", "[{manager: ephor}, {manager: reports-controller}]");
    put("foreign", "[{manager: reports-controller}]");
    let _replica = Replica::writing(Form::OpenReports, &api.cluster, &policy("p", "team", ""), NONE);
    until("the old one is gone", || api.object(&path(uid)).is_none());
    let new = format!("/apis/openreports.io/v1alpha1/namespaces/shop/reports/{uid}");
    until("the new one is there", || entries(&api, &new) == ["p team fail"]);
    assert!(["shared", "foreign"].into_iter().all(|name| api.object(&path(name)).is_some()));
}

#[test]
fn a_report_of_another_program_is_never_changed() {
    let api = Api::start();
    let map = config_map(&api, "{}");
    let (uid, report) = (map.text_at(&["metadata", "uid"]), path_of_report(&map));
    let foreign = format!(
        "{{apiVersion: wgpolicyk8s.io/v1alpha2, kind: PolicyReport, metadata: {{name: {uid}, namespace: shop}}, results: []}}"
    );
    let before = api.put(&report, &yaml_value(&foreign).unwrap());
    let _replica = Replica::start(&api.cluster, &policy("p", "team", ""), NONE);
    // Events are written after the report would have been.
    until("it has been scanned", || api.below("/apis/events.k8s.io/v1/").len() == 2);
    assert_eq!(api.object(&report), Some(before));
}

#[test]
fn a_policy_of_kubernetes_with_the_label_has_results_with_and_without_bindings() {
    let api = Api::start();
    let report = path_of_report(&config_map(&api, "{}"));
    let put = |kind: &str, plural: &str, name: &str, rest: &str| {
        let text = format!(
            "{{apiVersion: admissionregistration.k8s.io/v1, kind: {kind}, metadata: {{name: {name}, labels: {{reports.kyverno.io/enabled: 'true'}}}}, spec: {rest}}}"
        );
        let path = format!("/apis/admissionregistration.k8s.io/v1/{plural}/{name}");
        api.put(&path, &yaml_value(&text).unwrap());
    };
    let about = "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}";
    let validating =
        format!("{{{about}, validations: [{{expression: 'has(object.data)', message: no data}}]}}");
    put("ValidatingAdmissionPolicy", "validatingadmissionpolicies", "v", &validating);
    let patch = "Object{metadata: Object.metadata{labels: {\"a\": \"b\"}}}";
    let mutating = format!(
        "{{{about}, mutations: [{{patchType: ApplyConfiguration, applyConfiguration: {{expression: '{patch}'}}}}]}}"
    );
    put("MutatingAdmissionPolicy", "mutatingadmissionpolicies", "m", &mutating);
    put("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", "b", "{policyName: m}");
    let both = Reported { validating: true, mutating: true };
    let _replica = Replica::start(&api.cluster, "", both);
    until("it has a report", || !entries(&api, &report).is_empty());
    assert_eq!(entries(&api, &report), ["m m fail", "v v fail"]);
    let results = api.object(&report).unwrap();
    let results = results.get("results").and_then(Value::as_list).unwrap();
    assert_eq!(results[0].text_at(&["message"]), "mutation is not applied");
    assert_eq!(results[0].text_at(&["properties", "mapBinding"]), "b");
    assert_eq!(results[1].text_at(&["source"]), "ValidatingAdmissionPolicy");
}

#[test]
fn a_change_of_an_object_is_seen_and_a_deleted_one_has_no_report_any_more() {
    let api = Api::start();
    let report = path_of_report(&config_map(&api, "{}"));
    let replica = Replica::start(&api.cluster, &policy("p", "team", ""), NONE);
    until("it violates", || entries(&api, &report) == ["p team fail"]);
    config_map(&api, "{team: a}");
    until("it does not any more", || entries(&api, &report) == ["p team pass"]);
    api.remove(MAP);
    api.remove(&report);
    replica.serve(&policy("p", "cost", ""));
    let new = path_of_report(&config_map(&api, "{}"));
    until("the new one has a report", || entries(&api, &new) == ["p cost fail"]);
    assert_eq!(api.object(&report), None);
}

#[test]
fn two_writers_of_one_report_lose_no_result() {
    let api = Api::start();
    let scope = yaml_value("{apiVersion: v1, kind: ConfigMap, namespace: shop, name: cart, uid: u}").unwrap();
    let entry = |policy: String| Value::map([("policy", policy.as_str().into()), ("result", "pass".into())]);
    std::thread::scope(|threads| {
        for writer in ["a", "b"] {
            let (reports, scope) = (Reports::new(api.cluster.clone(), Form::PolicyReports), &scope);
            threads.spawn(move || {
                for i in 0..10 {
                    let add = |mut before: Vec<Value>| {
                        before.push(entry(format!("{writer}{i}")));
                        before
                    };
                    // Another one may be faster several times in a row: then this one tries again,
                    // as a queue would.
                    while reports.update(scope, &add).is_err() {}
                }
            });
        }
    });
    assert_eq!(entries(&api, "/apis/wgpolicyk8s.io/v1alpha2/namespaces/shop/policyreports/u").len(), 20);
}
