//! The policies that scans evaluate.
//!
//! In: the policies in use, and those of Kubernetes with the label for reports. Out: engines that
//! evaluate them on stored objects, and which results scans answer for. Left out are policies
//! without `background`, those that are evaluated by the API server in their place, and rules that
//! change or generate objects. Semantics: `docs/reference/cluster.md`, "Background scans".

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ephor_ir::facts::Stage;
use ephor_ir::policy::KindRules;
use ephor_ir::rule::RuleKind;
use ephor_ir::{Exception, Policy, Rule};
use ephor_kubernetes::Resource;
use ephor_policies::{Engine, PolicySet, subjects};
use ephor_value::{Str, Value};

use crate::in_use::InUse;
use crate::reports::result_owner::ResultOwners;

/// See the module page.
pub struct Policies {
    /// Those that give verdicts.
    pub verdicts: Engine,
    /// Those that change objects, each alone: they say whether they would.
    pub changes: Vec<Engine>,
    /// Which policies may have results.
    pub alive: ResultOwners,
    /// The rules that are evaluated, by source and key of their policy; `None` = all.
    domain: HashMap<(Str, String), Option<HashSet<Str>>>,
}

impl Policies {
    /// The policies to scan with; `native` are those of Kubernetes.
    pub fn of(in_use: &dyn InUse, native: &[Arc<Policy>]) -> Policies {
        let set = in_use.engine().set();
        let replaced = replaced(in_use);
        let own = set.policies().iter().filter(|p| p.background);
        let own = own.filter(|p| matches!(p.stage, Stage::Rules | Stage::Expressions));
        let mut all: Vec<Arc<Policy>> = own.filter_map(scanned).chain(native.iter().cloned()).collect();
        // What scans said before the API server took over goes.
        let domain = all.iter().map(|policy| {
            let names = || policy.all_rules().map(|rule| rule.name.clone()).collect();
            let key = (policy.report.source.clone(), policy.key());
            (key, policy.report.names_rules.then(names))
        });
        let domain = domain.collect();
        all.retain(|policy| policy.stage == Stage::ApiServer || !replaced.contains(&policy.id()));
        let foreground = foreground(in_use);
        let is_for_scans = |exception: &&Exception| !foreground.contains(&exception.key);
        let exceptions: Vec<Exception> = set.exceptions().iter().filter(is_for_scans).cloned().collect();
        let engine = |policies: Vec<Arc<Policy>>| {
            let set = PolicySet::new(policies, exceptions.clone());
            in_use.engine().with_set(set.with_cel_exceptions(in_use.engine().set().cel_exceptions().to_vec()))
        };
        let (changes, verdicts): (Vec<_>, Vec<_>) = all.into_iter().partition(|policy| changes(policy));
        Policies {
            verdicts: engine(verdicts),
            changes: changes.into_iter().map(|policy| engine(vec![policy])).collect(),
            alive: ResultOwners::of(set).with_native(native.iter().map(AsRef::as_ref)),
            domain,
        }
    }

    /// All policies.
    pub fn all(&self) -> impl Iterator<Item = &Policy> {
        let engines = std::iter::once(&self.verdicts).chain(&self.changes);
        engines.flat_map(|engine| engine.set().policies()).map(AsRef::as_ref)
    }

    /// Whether some policy is about objects of a resource.
    pub fn are_about(&self, resource: &Resource) -> bool {
        self.all().any(|policy| is_about(policy, resource))
    }

    /// Identifies what is evaluated on the objects of a resource.
    pub fn digest(&self, resource: &Resource) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.all().filter(|policy| is_about(policy, resource)).for_each(|policy| policy.hash(&mut hasher));
        self.verdicts.set().exceptions().hash(&mut hasher);
        self.verdicts.set().cel_exceptions().hash(&mut hasher);
        hasher.finish()
    }

    /// Whether a result is that of a rule which scans evaluate.
    pub fn answer_for(&self, entry: &Value) -> bool {
        let key = (entry.text_at(&["source"]).into(), entry.text_at(&["policy"]).to_string());
        match self.domain.get(&key) {
            None => false,
            Some(None) => true,
            Some(Some(rules)) => rules.contains(entry.text_at(&["rule"])),
        }
    }
}

fn is_about(policy: &Policy, resource: &Resource) -> bool {
    policy.all_rules().any(|rule| subjects::is_about(rule, resource))
}

/// Whether a policy changes objects.
fn changes(policy: &Policy) -> bool {
    policy.all_rules().any(|rule| rule.kind == RuleKind::Mutation)
}

/// A policy with the rules of it that scans evaluate, if there are some.
fn scanned(policy: &Arc<Policy>) -> Option<Arc<Policy>> {
    // Of policies with expressions those that change objects say whether they would.
    let is_scanned = |rule: &Rule| match rule.kind {
        RuleKind::Validation | RuleKind::ImageVerification => true,
        RuleKind::Mutation => policy.stage == Stage::Expressions,
        RuleKind::Generation => false,
    };
    if policy.all_rules().all(|rule| is_scanned(rule)) {
        return policy.all_rules().next().is_some().then(|| policy.clone());
    }
    let of = |rules: &[Arc<Rule>]| rules.iter().filter(|rule| is_scanned(rule)).cloned().collect();
    let own = |own: &KindRules| KindRules { kinds: own.kinds.clone(), rules: of(&own.rules) };
    let rules: Arc<[Arc<Rule>]> = of(&policy.rules);
    let by_kind: Vec<KindRules> = policy.by_kind.iter().map(own).collect();
    let policy = Policy { rules, by_kind, ..(**policy).clone() };
    let has_rules = policy.all_rules().next().is_some();
    has_rules.then(|| Arc::new(policy))
}

/// The policies that the API server evaluates in their place, as [`Policy::id`] names them.
fn replaced(in_use: &dyn InUse) -> HashSet<String> {
    let is_replaced = |document: &Value| {
        let flags = [&["status", "validatingadmissionpolicy", "generated"][..], &["status", "generated"]];
        flags.into_iter().any(|path| document.at(path).and_then(Value::as_bool) == Some(true))
    };
    let stored = in_use.stored().iter().map(|policy| &policy.document).filter(|d| is_replaced(d));
    let id = |document: &Value| {
        let at = |key: &str| document.text_at(&["metadata", key]);
        let kind = document.text_at(&["kind"]);
        match at("namespace") {
            "" => format!("{kind} {}", at("name")),
            namespace => format!("{kind} {namespace}/{}", at("name")),
        }
    };
    stored.map(id).collect()
}

/// The keys of exceptions that do not count in scans.
fn foreground(in_use: &dyn InUse) -> HashSet<Str> {
    let is_foreground = |e: &&Value| e.at(&["spec", "background"]).and_then(Value::as_bool) == Some(false);
    let key = |e: &Value| {
        let at = |key: &str| e.text_at(&["metadata", key]);
        Str::from(format!("{}/{}", at("namespace"), at("name")))
    };
    in_use.exceptions().iter().filter(is_foreground).map(key).collect()
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_document::yaml_value;
    use ephor_external::NoData;
    use ephor_ir::policy::Cleanup;
    use ephor_kubernetes::Kinds;
    use ephor_policies::load::{Reader, argument_for};
    use ephor_sources::files::SourceText;
    use ephor_value::release::Release;

    use super::*;
    use crate::in_use::StoredPolicy;
    use crate::reports::object;
    use ephor_admission::admit::Gate;
    use ephor_admission::settings::Settings;

    /// Policies as a server has loaded them.
    pub struct Served {
        gate: Gate,
        stored: Vec<StoredPolicy>,
        exceptions: Vec<Value>,
    }

    impl Served {
        /// Those of a text.
        pub fn of(policies: &str) -> Served {
            let source = SourceText { name: "policies".into(), text: policies.into() };
            let loaded = argument_for(&[source], Reader::Server(Release::default()));
            assert_eq!(loaded.problems, []);
            let gate = Gate::new(loaded, Arc::new(NoData), &[]);
            Served { gate, stored: Vec::new(), exceptions: Vec::new() }
        }
    }

    impl InUse for Served {
        fn stored(&self) -> &[StoredPolicy] {
            &self.stored
        }

        fn exceptions(&self) -> &[Value] {
            &self.exceptions
        }

        fn cleanups(&self) -> &[Cleanup] {
            &[]
        }

        fn settings(&self) -> Option<&Settings> {
            None
        }

        fn gate(&self) -> &Gate {
            &self.gate
        }
    }

    fn policy(name: &str, background: bool, rules: &str) -> String {
        format!(
            "---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  background: {background}\n  rules:\n{rules}"
        )
    }

    fn rule(name: &str, kind: &str, body: &str) -> String {
        format!("  - name: {name}\n    match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}\n    {body}\n")
    }

    const CHECK: &str = "validate: {message: m, pattern: {metadata: {labels: {a: b}}}}";
    const CHANGE: &str = "mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}";

    fn entry(policy: &str, rule: &str) -> Value {
        object([("source", "kyverno".into()), ("policy", policy.into()), ("rule", rule.into())])
    }

    #[test]
    fn rules_that_check_are_scanned_with_unless_their_policy_is_for_requests_alone() {
        let both = rule("check", "ConfigMap", CHECK) + &rule("change", "ConfigMap", CHANGE);
        let text = policy("p", true, &both)
            + &policy("q", false, &rule("r", "ConfigMap", CHECK))
            + &policy("c", true, &rule("r", "Secret", CHANGE));
        let policies = Policies::of(&Served::of(&text), &[]);
        let names: Vec<&str> = policies.all().flat_map(|p| p.all_rules().map(|rule| &*rule.name)).collect();
        assert_eq!(names, ["check"]);
        let answers =
            [("p", "check"), ("p", "change"), ("q", "r")].map(|(p, r)| policies.answer_for(&entry(p, r)));
        assert_eq!(answers, [true, false, false]);
        assert!(policies.alive.has(&entry("q", "r")));
        let kinds = Kinds::built_in();
        let about = |plural: &str| policies.are_about(kinds.resource("", "v1", plural).unwrap());
        assert_eq!((about("configmaps"), about("secrets")), (true, false));
    }

    #[test]
    fn generated_rules_are_for_controllers_of_pods() {
        let check = "validate: {message: m, pattern: {spec: {hostNetwork: false}}}";
        let policies = Policies::of(&Served::of(&policy("p", true, &rule("r", "Pod", check))), &[]);
        let deployments = Kinds::built_in().resource("apps", "v1", "deployments").unwrap();
        assert!(policies.are_about(deployments) && policies.answer_for(&entry("p", "autogen-r")));
    }

    #[test]
    fn a_policy_that_the_api_server_evaluates_is_not_scanned_with_and_its_old_results_go() {
        let text = policy("p", true, &rule("r", "ConfigMap", CHECK));
        let mut served = Served::of(&text);
        let document = yaml_value(&text).unwrap();
        let status = yaml_value("{validatingadmissionpolicy: {generated: true}}").unwrap();
        served.stored = vec![StoredPolicy { document: document.with("status", status), problem: None }];
        let policies = Policies::of(&served, &[]);
        assert_eq!(policies.all().count(), 0);
        assert!(policies.answer_for(&entry("p", "r")));
    }

    #[test]
    fn the_digest_of_a_kind_changes_with_the_policies_about_it_alone() {
        let digests = |text: &str| {
            let policies = Policies::of(&Served::of(text), &[]);
            ["configmaps", "secrets"]
                .map(|plural| policies.digest(Kinds::built_in().resource("", "v1", plural).unwrap()))
        };
        let one = policy("p", true, &rule("r", "ConfigMap", CHECK));
        let (before, after) =
            (digests(&one), digests(&(one.clone() + &policy("q", true, &rule("r", "Secret", CHECK)))));
        assert_eq!(before[0], after[0]);
        assert_ne!(before[1], after[1]);
    }
}
