//! ClusterPolicies, Policies and PolicyExceptions → the IR.

use std::sync::Arc;

use ephor_api::autogen::{Computed, Selection, computed, controllers, is_controller, written_rules};
use ephor_cel::library::Admission;
use ephor_cel::types::Type;
use ephor_ir::expressions::Source;
use ephor_ir::facts::{ActionModel, Api, FailurePolicy, NamespaceScope, Report, Stage};
use ephor_ir::policy::{Cleanup, KindRules};
use ephor_ir::{Conditions, Exception, Origin, Policy, Rule, optimise};
use ephor_value::wildcard::Wildcard;
use ephor_value::{Map, Str, Value};

use super::binding::bindings;
use super::compiler::Compiler;
use super::condition::conditions;
use super::matcher::matcher;
use super::rule::{overrides, rule};

/// The rules of a policy as they are before optimisation: those for objects of one kind, or all.
pub fn rules_as_lowered(doc: &Value, selection: Selection<'_>) -> Vec<Rule> {
    let all = computed(doc, Selection::All);
    computed(doc, selection).iter().map(|c| rule(shared(c, &all))).collect()
}

/// Lowers a ClusterPolicy or Policy whose defaults are filled in; its rules are optimised.
pub fn policy(doc: &Value) -> Policy {
    with_rules(doc, &|rule| optimise::rule(rule, super::LATE))
}

/// As [`policy`], with the rules as they are before optimisation.
pub fn policy_as_lowered(doc: &Value) -> Policy {
    with_rules(doc, &|rule| rule)
}

fn with_rules(doc: &Value, finish: &dyn Fn(Rule) -> Rule) -> Policy {
    let written = written_rules(doc);
    let finished = |c: &Computed| Arc::new(finish(rule(c)));
    let as_written = |(written, r): (usize, &Value)| Computed { rule: r.clone(), written, generated: None };
    let base: Vec<Arc<Rule>> = written.iter().enumerate().map(as_written).map(|c| finished(&c)).collect();
    let all = computed(doc, Selection::All);
    let by_kind = by_kind(doc, &base, &all, &finished);
    let text = |path: &[&str]| Str::from(doc.text_at(path));
    let is_cluster = doc.text_at(&["kind"]) == "ClusterPolicy";
    let namespace = (!is_cluster).then(|| text(&["metadata", "namespace"]));
    let flag = |key: &str| doc.at(&["spec", key]).and_then(Value::as_bool).unwrap_or(true);
    let failure_policy = match doc.text_at(&["spec", "webhookConfiguration", "failurePolicy"]) {
        "" => doc.text_at(&["spec", "failurePolicy"]),
        set => set,
    };
    Policy {
        api: api(doc),
        short_name: if is_cluster { "cpol" } else { "pol" }.into(),
        name: text(&["metadata", "name"]),
        namespace: namespace.clone(),
        annotations: annotations(doc),
        reported: is_reported(doc),
        apply_one: doc.text_at(&["spec", "applyRules"]) == "One",
        background: flag("background"),
        admission: flag("admission"),
        action: text(&["spec", "validationFailureAction"]),
        overrides: overrides(doc.at(&["spec", "validationFailureActionOverrides"])),
        failure_policy: FailurePolicy::of(failure_policy),
        actions: ActionModel::FailureActions {
            warn: doc.at(&["spec", "emitWarning"]).and_then(Value::as_bool).unwrap_or(false),
        },
        stage: Stage::Rules,
        scope: match namespace {
            None => NamespaceScope::All,
            Some(none) if none.is_empty() => NamespaceScope::Objects("default".into()),
            Some(namespace) => NamespaceScope::Objects(namespace),
        },
        report: Report { source: "kyverno".into(), names_rules: true },
        admit: conditions_of_requests(doc),
        rules: base.into(),
        by_kind,
        rule_count: all.len(),
        rule_names: all.iter().map(|c| Str::from(c.rule.text_at(&["name"]))).collect(),
    }
}

/// `webhookConfiguration.matchConditions`.
fn conditions_of_requests(doc: &Value) -> Box<[Source]> {
    let written = doc.at(&["spec", "webhookConfiguration", "matchConditions"]).and_then(Value::as_list);
    written.unwrap_or_default().iter().map(|c| condition_of_requests(c.text_at(&["expression"]))).collect()
}

/// Such an expression sees the request and its objects only.
pub fn condition_of_requests(text: &str) -> Source {
    let choice = Admission { backticks: true, ..Admission::default() };
    Compiler::without_variables(choice).source(text, Some(&Type::Bool))
}

/// The rules for pod controllers. All controllers but cron jobs share theirs: a generated rule
/// names every controller that it is for, so one of them does not match another one's objects. A
/// kind that is no controller has a rule of its own, which names it.
fn by_kind(
    doc: &Value,
    base: &[Arc<Rule>],
    all: &[Computed],
    finished: &dyn Fn(&Computed) -> Arc<Rule>,
) -> Vec<KindRules> {
    let kinds = controllers(doc, written_rules(doc));
    let mut by_kind = Vec::new();
    let (cron, others): (Vec<&str>, Vec<&str>) = kinds.into_iter().partition(|k| *k == "CronJob");
    let (known, unknown): (Vec<&str>, Vec<&str>) = others.into_iter().partition(|kind| is_controller(kind));
    let alone = unknown.into_iter().map(|kind| vec![kind]);
    for group in [cron, known].into_iter().chain(alone) {
        let Some(first) = group.first() else { continue };
        let computed = computed(doc, Selection::ForKind(first));
        if computed.len() == base.len() && computed.iter().all(|c| c.generated.is_none()) {
            continue;
        }
        let rules: Arc<[Arc<Rule>]> = computed
            .iter()
            .map(|c| match (c.generated, base.get(c.written)) {
                (None, Some(rule)) => rule.clone(),
                _ if is_controller(first) => finished(shared(c, all)),
                _ => finished(c),
            })
            .collect();
        by_kind.push(KindRules { kinds: group.into_iter().map(Str::from).collect(), rules });
    }
    by_kind
}

/// The rule of the same name that names all controllers.
fn shared<'c>(one: &'c Computed, all: &'c [Computed]) -> &'c Computed {
    let name = one.rule.text_at(&["name"]);
    all.iter().find(|c| c.rule.text_at(&["name"]) == name).unwrap_or(one)
}

/// Lowers a CleanupPolicy or ClusterCleanupPolicy.
pub fn cleanup(doc: &Value) -> Cleanup {
    let part = |key: &str| doc.at(&["spec", key]).filter(|v| !v.is_null());
    let text = |path: &[&str]| Str::from(doc.text_at(path));
    let none: Arc<[Str]> = Arc::from([]);
    let (bindings, names) = bindings(part("context"), &none, &Origin::new("spec.context"));
    let admit = conditions(part("conditions"), &names, Origin::new("spec.conditions"));
    // Unlike in rules, `all` is evaluated before `any`, and an empty `any` requires nothing.
    let admit = admit.into_iter().flat_map(|c| {
        let any = c.any.clone().filter(|any| !any.is_empty());
        let any = any.map(|any| Conditions { any: Some(any), all: Box::default(), ..c.clone() });
        [Some(Conditions { any: None, ..c }), any].into_iter().flatten()
    });
    let exclude = part("exclude");
    let says = |v: &Value| v.get("any").is_some() || v.get("all").is_some();
    let is_namespaced = doc.text_at(&["kind"]) == "CleanupPolicy";
    Cleanup {
        policy: Arc::new(Policy {
            api: api(doc),
            short_name: if is_namespaced { "cleanpol" } else { "ccleanpol" }.into(),
            name: text(&["metadata", "name"]),
            namespace: is_namespaced.then(|| text(&["metadata", "namespace"])),
            annotations: annotations(doc),
            reported: is_reported(doc),
            apply_one: false,
            background: false,
            admission: false,
            action: "".into(),
            overrides: Box::default(),
            failure_policy: FailurePolicy::Fail,
            actions: ActionModel::FailureActions { warn: false },
            stage: Stage::Schedule,
            scope: NamespaceScope::All,
            report: Report { source: "kyverno".into(), names_rules: false },
            admit: Box::default(),
            rules: Arc::from([]),
            by_kind: Vec::new(),
            rule_count: 0,
            rule_names: Box::default(),
        }),
        when: matcher(part("match"), &Origin::new("spec.match")),
        unless: exclude.map(|_| matcher(exclude, &Origin::new("spec.exclude"))),
        spares_all: exclude.is_some_and(|v| !says(v)),
        bindings,
        admit: admit.collect(),
        schedule: text(&["spec", "schedule"]),
        last_run: text(&["status", "lastExecutionTime"]),
        created: text(&["metadata", "creationTimestamp"]),
    }
}

/// The label of policies that are not reported, whatever it says.
pub const NO_REPORTS: &str = "reports.kyverno.io/disabled";

/// The API of a policy's document.
pub(super) fn api(doc: &Value) -> Api {
    let (group, _) = doc.text_at(&["apiVersion"]).split_once('/').unwrap_or_default();
    Api { group: group.into(), kind: doc.text_at(&["kind"]).into() }
}

pub(super) fn is_reported(doc: &Value) -> bool {
    doc.at(&["metadata", "labels", NO_REPORTS]).is_none()
}

pub(super) fn annotations(doc: &Value) -> Map {
    doc.at(&["metadata", "annotations"]).and_then(Value::as_map).cloned().unwrap_or_default()
}

/// Lowers a PolicyException of group `kyverno.io`.
pub fn exception(doc: &Value) -> Exception {
    let name = doc.text_at(&["metadata", "name"]);
    let namespace = doc.text_at(&["metadata", "namespace"]);
    let key = if namespace.is_empty() { name.into() } else { format!("{namespace}/{name}").into() };
    let entries = doc.at(&["spec", "exceptions"]).and_then(Value::as_list).unwrap_or_default();
    let covers = entries
        .iter()
        .map(|e| {
            let rules = e.get("ruleNames").and_then(Value::as_list).unwrap_or_default();
            let rules = rules.iter().filter_map(Value::as_str).map(Wildcard::new).collect();
            (Str::from(e.text_at(&["policyName"])), rules)
        })
        .collect();
    let none: Arc<[Str]> = Arc::from([]);
    let admit = conditions(doc.at(&["spec", "conditions"]), &none, Origin::new("spec.conditions")).map(|c| {
        Conditions {
            // Unlike in rules, an empty `any` requires nothing.
            any: c.any.filter(|any| !any.is_empty()),
            ..c
        }
    });
    Exception {
        name: name.into(),
        key,
        covers,
        when: matcher(doc.at(&["spec", "match"]), &Origin::new("spec.match")),
        admit,
        pod_security: doc
            .at(&["spec", "podSecurity"])
            .filter(|v| v.as_list().is_some_and(|l| !l.is_empty()))
            .cloned()
            .unwrap_or_default(),
    }
}
