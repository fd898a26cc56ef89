//! Policies of Kubernetes that scans report on.
//!
//! In: the watched policies and bindings of the cluster. Out: the policies with the label
//! `reports.kyverno.io/enabled`, compiled and bound as Kyverno does outside of the API server: a
//! policy without bindings counts too.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ephor_cluster::cache::{Cache, OnChange};
use ephor_cluster::{Cluster, Failure};
use ephor_ir::Policy;
use ephor_kubernetes::{Kinds, Resource};
use ephor_policies::load;
use ephor_policies::load::Reader;
use ephor_sources::files::SourceText;
use ephor_value::{Value, print};

use crate::in_use::content;

const GROUP: &str = "admissionregistration.k8s.io";
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];
const VALIDATING: [&str; 2] = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"];
const MUTATING: [&str; 2] = ["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"];
/// The label of policies that have results in reports.
const LABEL: &str = "reports.kyverno.io/enabled";
/// How long the first list may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Which of them there are results of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Those that validate.
    pub validating: bool,
    /// Those that mutate.
    pub mutating: bool,
}

/// The policies that were compiled last, and of what.
#[derive(Default)]
struct Compiled {
    documents: Vec<Value>,
    policies: Vec<Arc<Policy>>,
}

/// See the module page.
pub struct Native {
    cluster: Arc<Cluster>,
    cache: Cache,
    reported: Reported,
    compiled: Mutex<Compiled>,
}

impl Native {
    /// Those of a cluster; `on_change` is called when one changes.
    pub fn new(cluster: Arc<Cluster>, reported: Reported, on_change: OnChange) -> Native {
        Native { cluster, cache: Cache::with_callback(on_change), reported, compiled: Mutex::default() }
    }

    fn kinds(&self) -> impl Iterator<Item = &'static str> {
        let of = |wanted: bool, kinds: [&'static str; 2]| kinds.into_iter().filter(move |_| wanted);
        of(self.reported.validating, VALIDATING).chain(of(self.reported.mutating, MUTATING))
    }

    /// The policies as they are now.
    ///
    /// # Errors
    /// The cluster does not answer. Kinds that may not be listed are left out.
    pub fn policies(&self) -> Result<Vec<Arc<Policy>>, Failure> {
        let served = self.cluster.kinds()?;
        let mut documents = Vec::new();
        for kind in self.kinds() {
            // An older API server may not have the kind.
            let Some(resource) = resource(&served, kind) else { continue };
            match self.cache.add(&self.cluster, resource, PATIENCE) {
                Ok(()) => {}
                Err(error) if error.code == 403 => {
                    tracing::debug!(kind, %error, "not scanned with: they may not be listed");
                    continue;
                }
                Err(error) => return Err(error),
            }
            let is_binding = kind.ends_with("Binding");
            let counts = |o: &Value| is_binding || o.text_at(&["metadata", "labels", LABEL]) == "true";
            documents.extend(self.cache.all(GROUP, kind).into_iter().filter(counts).map(|o| content(&o)));
        }
        let mut params = Vec::new();
        for kind in documents.iter().filter_map(|d| d.at(&["spec", "paramKind"])).filter(|k| !k.is_null()) {
            let api_version = kind.text_at(&["apiVersion"]);
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            if let Some(resource) = served.kind(group, version, kind.text_at(&["kind"])) {
                params.extend(self.cluster.list(resource, "")?.iter().map(content));
            }
        }
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let now: Vec<Value> = documents.iter().chain(&params).cloned().collect();
        if compiled.documents != now {
            *compiled = Compiled { policies: compile(&documents, params), documents: now };
        }
        Ok(compiled.policies.clone())
    }
}

fn resource<'k>(served: &'k Kinds, kind: &str) -> Option<&'k Resource> {
    VERSIONS.iter().find_map(|version| served.kind(GROUP, version, kind))
}

fn compile(documents: &[Value], params: Vec<Value>) -> Vec<Arc<Policy>> {
    let source = |o: &Value| SourceText {
        name: format!("{} {}", o.text_at(&["kind"]), o.text_at(&["metadata", "name"])),
        text: print::json(o),
    };
    let mut loaded = load::Policies::default();
    for source in documents.iter().map(source) {
        loaded.extend(load::argument_for(&[source], Reader::Scan));
    }
    for problem in &loaded.problems {
        tracing::warn!(problem = problem.to_string(), "not scanned with");
    }
    loaded.bind(params);
    let usable = loaded.policies.into_iter().filter(|p| p.refused.is_none() && p.uncompiled.is_none());
    usable.filter_map(|p| p.policy).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_document::yaml_value;

    use super::*;

    #[test]
    fn policies_in_all_versions_are_bound_to_their_bindings() {
        let policy = |kind: &str, version: &str, body: &str| {
            let text = format!(
                "{{apiVersion: {GROUP}/{version}, kind: {kind}, metadata: {{name: p}}, spec: {{matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}]}}, {body}}}}}"
            );
            yaml_value(&text).unwrap()
        };
        let binding = |kind: &str| {
            let text = format!(
                "{{apiVersion: {GROUP}/v1, kind: {kind}, metadata: {{name: b}}, spec: {{policyName: p}}}}"
            );
            yaml_value(&text).unwrap()
        };
        let patch =
            "mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]";
        let documents = [
            policy(VALIDATING[0], "v1", "validations: [{expression: 'true'}]"),
            policy(MUTATING[0], "v1beta1", patch),
            binding(MUTATING[1]),
        ];
        let all = compile(&documents, Vec::new());
        let bound =
            |policy: &Arc<Policy>| policy.rules.first().unwrap().bound.as_ref().unwrap().bindings.len();
        assert_eq!(all.iter().map(bound).collect::<Vec<_>>(), [0, 1]);
    }
}
