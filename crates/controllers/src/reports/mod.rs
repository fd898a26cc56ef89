//! Reports: one object of the cluster for each object that policies were evaluated on.
//!
//! In: the object, and what becomes of the results that its report has. Out: a PolicyReport
//! (ClusterPolicyReport without namespace) under the object's uid and owned by it. Several programs
//! may write one report: each changes the results that it read, and reads again when another one
//! was faster. Nothing is written when only times differ, and a report without results is deleted.
//! Reports of other programs are never changed. Semantics: `docs/reference/cluster.md`, "Reports
//! and events".
//!
//! - [`result_owner`]: which results still have their policy.
//! - [`results`]: results as reports hold them.

pub mod result_owner;
pub mod results;

use std::sync::Arc;

use ephor_cluster::{Cluster, Failure, Page};
use ephor_engine::{RuleOutcome, Status};
use ephor_ir::Policy;
use ephor_ir::rule::RuleKind;
use ephor_value::{Str, Value};
use results::{entries, order, without_time};

use crate::field_manager::MANAGER;

/// How often a report is written again because another program changed it in between. When all fail
/// the results come with the next scan; a larger number delays the other reports.
const MAX_WRITES: usize = 8;
/// The label of Kyverno's own objects.
const OWN: (&str, &str) = ("app.kubernetes.io/managed-by", "kyverno");

/// Which API reports are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// `wgpolicyk8s.io/v1alpha2`.
    #[default]
    PolicyReports,
    /// `openreports.io/v1alpha1`.
    OpenReports,
}

impl Form {
    /// Group and version.
    pub fn api(self) -> (&'static str, &'static str) {
        match self {
            Form::PolicyReports => ("wgpolicyk8s.io", "v1alpha2"),
            Form::OpenReports => ("openreports.io", "v1alpha1"),
        }
    }

    /// The kinds: with namespace, without.
    pub fn kinds(self) -> [&'static str; 2] {
        match self {
            Form::PolicyReports => ["PolicyReport", "ClusterPolicyReport"],
            Form::OpenReports => ["Report", "ClusterReport"],
        }
    }

    /// The form that reports had before they were switched to this one.
    fn other(self) -> Form {
        match self {
            Form::PolicyReports => Form::OpenReports,
            Form::OpenReports => Form::PolicyReports,
        }
    }

    fn kind(self, namespace: &str) -> &'static str {
        let [namespaced, whole] = self.kinds();
        if namespace.is_empty() { whole } else { namespaced }
    }
}

/// What reports hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportOptions {
    /// Which API they are written in.
    pub form: Form,
    /// Results that are left out.
    pub without_results: Vec<Status>,
    /// What of policies has no results.
    pub without_rules: Vec<Subject>,
}

impl From<Form> for ReportOptions {
    fn from(form: Form) -> ReportOptions {
        ReportOptions { form, ..ReportOptions::default() }
    }
}

/// What results are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Verdicts.
    Validate,
    /// Changes of the object of a request.
    Mutate,
    /// Changes of objects that exist.
    MutateExisting,
    /// Objects that are generated.
    Generate,
    /// Verdicts about images.
    VerifyImages,
}

impl Subject {
    /// What the results of a rule are about, unless it changes objects that exist.
    fn of(kind: RuleKind) -> Subject {
        match kind {
            RuleKind::Validation => Subject::Validate,
            RuleKind::Mutation => Subject::Mutate,
            RuleKind::Generation => Subject::Generate,
            RuleKind::ImageVerification => Subject::VerifyImages,
        }
    }
}

/// Why a report is not written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The cluster refuses.
    #[error(transparent)]
    Cluster(#[from] Failure),
    /// The cluster has no reports of this kind.
    #[error("the cluster has no {kind}s of {group}/{version}")]
    NoKind {
        /// The kind.
        kind: &'static str,
        /// Its group.
        group: &'static str,
        /// Its version.
        version: &'static str,
    },
    /// Others write the same report.
    #[error("other programs changed it {MAX_WRITES} times in a row")]
    Changed,
}

/// The reports of a cluster.
#[derive(Clone, Debug)]
pub struct Reports {
    cluster: Arc<Cluster>,
    form: Form,
    options: Arc<ReportOptions>,
}

impl Reports {
    /// Those that an account writes.
    pub fn new(cluster: Arc<Cluster>, options: impl Into<ReportOptions>) -> Reports {
        let options = Arc::new(options.into());
        Reports { cluster, form: options.form, options }
    }

    /// The entries of results that are part of reports, made at a moment (seconds since 1970).
    pub fn entries(&self, policy: &Policy, rules: &[RuleOutcome], seconds: u64) -> Vec<Value> {
        self.entries_about(Subject::of, policy, rules, seconds)
    }

    /// The entries of results on objects that exist and that a policy changes.
    pub fn entries_of_existing(&self, policy: &Policy, rules: &[RuleOutcome], seconds: u64) -> Vec<Value> {
        self.entries_about(|_| Subject::MutateExisting, policy, rules, seconds)
    }

    fn entries_about(
        &self,
        subject: impl Fn(RuleKind) -> Subject,
        policy: &Policy,
        rules: &[RuleOutcome],
        seconds: u64,
    ) -> Vec<Value> {
        let ReportOptions { without_results, without_rules, .. } = &*self.options;
        let is_left_out = |rule: &RuleOutcome| {
            without_results.contains(&rule.status) || without_rules.contains(&subject(rule.kind))
        };
        if !rules.iter().any(is_left_out) {
            return entries(policy, rules, seconds);
        }
        let rules: Vec<RuleOutcome> = rules.iter().filter(|rule| !is_left_out(rule)).cloned().collect();
        entries(policy, &rules, seconds)
    }

    /// Whether the cluster has reports of this form.
    ///
    /// # Errors
    /// Its kinds are not known.
    pub fn are_served(&self) -> Result<bool, ReportError> {
        let (kinds, (group, version)) = (self.cluster.kinds()?, self.form.api());
        Ok(self.form.kinds().into_iter().all(|kind| kinds.kind(group, version, kind).is_some()))
    }

    /// Changes the results about an object: `scope` names it, `change` makes the new results of the
    /// present ones. Returns whether something was written.
    ///
    /// # Errors
    /// The cluster refuses, or others write the same report all the time.
    pub fn update(
        &self,
        scope: &Value,
        change: &dyn Fn(Vec<Value>) -> Vec<Value>,
    ) -> Result<bool, ReportError> {
        let (namespace, uid) = (scope.text_at(&["namespace"]), scope.text_at(&["uid"]));
        let kind = self.form.kind(namespace);
        let kinds = self.cluster.kinds()?;
        let (group, version) = self.form.api();
        let resource =
            kinds.kind(group, version, kind).ok_or(ReportError::NoKind { kind, group, version })?;
        for _ in 0..MAX_WRITES {
            let current = match self.cluster.object(resource, namespace, uid) {
                Ok(report) => Some(report),
                Err(e) if e.is_not_found() => None,
                Err(e) => return Err(e.into()),
            };
            if current.as_ref().is_some_and(|report| !is_own(report)) {
                tracing::debug!(uid, kind, "the report belongs to another program and stays as it is");
                return Ok(false);
            }
            let before = current.as_ref().map(results_of).unwrap_or_default();
            let mut after = change(before.clone());
            after.sort_by_cached_key(order);
            if are_same(&before, &after) {
                return Ok(false);
            }
            let written = match &current {
                Some(current) if after.is_empty() => self.cluster.delete(current),
                current => {
                    let report = written(self.form, scope, after);
                    self.cluster.write(&report, current.as_ref(), MANAGER).map(drop)
                }
            };
            match written {
                Ok(()) => return Ok(true),
                Err(e) if e.is_conflict() => {}
                // The namespace goes, and the object with it.
                Err(e) if e.code == 403 && e.text.contains("being terminated") => return Ok(false),
                // It went away meanwhile: what should have been deleted is gone, what should have
                // been written is new.
                Err(e) if e.is_not_found() && current.is_some() => {}
                Err(e) => return Err(e.into()),
            }
        }
        Err(ReportError::Changed)
    }

    /// Shows the objects that Kyverno's reports are about, each with the results; the lists are
    /// never whole in memory.
    ///
    /// # Errors
    /// Reports cannot be listed.
    pub fn each(&self, see: &mut dyn FnMut(&Value, Vec<Value>)) -> Result<(), ReportError> {
        let kinds = self.cluster.kinds()?;
        let (group, version) = self.form.api();
        for kind in self.form.kinds() {
            let Some(resource) = kinds.kind(group, version, kind) else { continue };
            self.cluster.pages(resource, "", &format!("{}={}", OWN.0, OWN.1), &mut |page| {
                let Page::Next(reports) = page else { return };
                for report in &reports {
                    let scope = report.get("scope");
                    // Reports of another form are another program's.
                    let own =
                        |scope: &&Value| scope.text_at(&["uid"]) == report.text_at(&["metadata", "name"]);
                    if let Some(scope) = scope.filter(own) {
                        see(scope, results_of(report));
                    }
                }
            })?;
        }
        Ok(())
    }

    /// Deletes the reports that this program has written in the other form, which are updated no
    /// more: programs that read both would show old results. Those that another program has written
    /// to as well stay. Returns how many it deleted.
    ///
    /// # Errors
    /// Reports cannot be listed, or one cannot be deleted; the others are.
    pub fn remove_other_form(&self) -> Result<usize, ReportError> {
        let kinds = self.cluster.kinds()?;
        let (group, version) = self.form.other().api();
        let (mut failed, mut count) = (None, 0);
        for kind in self.form.other().kinds() {
            let Some(resource) = kinds.kind(group, version, kind) else { continue };
            self.cluster.pages(resource, "", &format!("{}={}", OWN.0, OWN.1), &mut |page| {
                let Page::Next(reports) = page else { return };
                for report in reports.iter().filter(|report| is_written_here_alone(report)) {
                    match self.cluster.delete(report) {
                        Ok(()) => count += 1,
                        // It is gone, or another program writes it after all.
                        Err(e) if e.is_not_found() || e.is_conflict() => {}
                        Err(e) => failed = Some(e),
                    }
                }
            })?;
        }
        failed.map_or(Ok(count), |error| Err(error.into()))
    }
}

fn is_own(report: &Value) -> bool {
    report.text_at(&["metadata", "labels", OWN.0]) == OWN.1
}

/// Whether a report about an object was written by this program, and by no other.
fn is_written_here_alone(report: &Value) -> bool {
    let managed = report.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap_or_default();
    is_own(report)
        && report.text_at(&["scope", "uid"]) == report.text_at(&["metadata", "name"])
        && !managed.is_empty()
        && managed.iter().all(|entry| entry.text_at(&["manager"]) == MANAGER)
}

fn results_of(report: &Value) -> Vec<Value> {
    report.get("results").and_then(Value::as_list).unwrap_or_default().to_vec()
}

/// Whether results differ in their times alone.
fn are_same(before: &[Value], after: &[Value]) -> bool {
    before.len() == after.len()
        && before.iter().zip(after).all(|(a, b)| without_time(a).strict_eq(&without_time(b)))
}

/// A report.
fn written(form: Form, scope: &Value, results: Vec<Value>) -> Value {
    let count = |status: &str| {
        let n = results.iter().filter(|r| r.text_at(&["result"]) == status).count();
        Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
    };
    let summary = ["error", "fail", "pass", "skip", "warn"].map(|status| (Str::from(status), count(status)));
    let mut owner = scope.as_map().cloned().unwrap_or_default();
    owner.remove("namespace");
    let (group, version) = form.api();
    let namespace = scope.text_at(&["namespace"]);
    let metadata = object([
        ("name", scope.text_at(&["uid"]).into()),
        ("namespace", text(namespace)),
        ("labels", object([(OWN.0, OWN.1.into())])),
        ("ownerReferences", Value::list(vec![Value::Map(owner)])),
    ]);
    object([
        ("apiVersion", format!("{group}/{version}").into()),
        ("kind", form.kind(namespace).into()),
        ("metadata", metadata),
        // Kyverno leaves it empty; the API requires it.
        ("source", if form == Form::OpenReports { "".into() } else { Value::Null }),
        ("scope", scope.clone()),
        ("summary", Value::Map(summary.into_iter().collect())),
        ("results", Value::list(results)),
    ])
}

/// An object of the members that are not null.
pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Map(members.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (Str::from(k), v)).collect())
}

/// A text, null if it is empty.
pub fn text(s: &str) -> Value {
    if s.is_empty() { Value::Null } else { s.into() }
}

#[cfg(test)]
mod tests {
    use ephor_value::print::json as printed;

    use super::*;

    fn scope() -> Value {
        object([
            ("apiVersion", "v1".into()),
            ("kind", "Pod".into()),
            ("namespace", "shop".into()),
            ("name", "cart".into()),
            ("uid", "u1".into()),
        ])
    }

    fn result(policy: &str, result: &str) -> Value {
        object([("policy", policy.into()), ("result", result.into())])
    }

    #[test]
    fn a_report_is_named_by_its_object_and_counts_results() {
        let made = written(Form::PolicyReports, &scope(), vec![result("a", "pass"), result("b", "fail")]);
        assert_eq!(
            printed(&made),
            r#"{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"labels":{"app.kubernetes.io/managed-by":"kyverno"},"name":"u1","namespace":"shop","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"cart","uid":"u1"}]},"results":[{"policy":"a","result":"pass"},{"policy":"b","result":"fail"}],"scope":{"apiVersion":"v1","kind":"Pod","name":"cart","namespace":"shop","uid":"u1"},"summary":{"error":0,"fail":1,"pass":1,"skip":0,"warn":0}}"#
        );
    }

    #[test]
    fn an_open_report_has_another_kind_and_an_empty_source() {
        let made = written(Form::OpenReports, &scope(), vec![result("a", "pass")]);
        assert_eq!(made.text_at(&["apiVersion"]), "openreports.io/v1alpha1");
        assert_eq!((made.text_at(&["kind"]), made.get("source")), ("Report", Some(&Value::from(""))));
    }

    #[test]
    fn a_report_that_another_program_has_written_to_is_not_written_here_alone() {
        let of = |label: &str, name: &str, managers: &[&str]| {
            let managers = managers.iter().map(|m| object([("manager", (*m).into())])).collect();
            let report = written(Form::PolicyReports, &scope(), vec![result("a", "pass")]);
            let metadata = object([
                ("name", name.into()),
                ("labels", object([(OWN.0, label.into())])),
                ("managedFields", Value::list(managers)),
            ]);
            is_written_here_alone(&report.with("metadata", metadata))
        };
        assert!(of("kyverno", "u1", &[MANAGER]));
        assert!(!of("kyverno", "u1", &[MANAGER, "kyverno"]));
        assert!(!of("kyverno", "u1", &["trivy-operator"]));
        assert!(!of("kyverno", "u1", &[]));
        assert!(!of("trivy", "u1", &[MANAGER]));
        assert!(!of("kyverno", "cluster-summary", &[MANAGER]));
    }

    #[test]
    fn results_with_another_time_alone_are_the_same() {
        let at = |seconds| result("a", "pass").with("timestamp", object([("seconds", Value::Int(seconds))]));
        assert!(are_same(&[at(1)], &[at(2)]));
        assert!(!are_same(&[at(1)], &[result("a", "fail")]));
        assert!(!are_same(&[at(1)], &[]));
    }
}
