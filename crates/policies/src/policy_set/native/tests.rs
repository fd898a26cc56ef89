#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use crate::load::manifests::ManifestFolder;
use crate::load::{self, Reader};
use crate::{Engine, PolicySet};
use ephor_document::yaml_value;
use ephor_engine::Profile;
use ephor_engine::admission::{AdmissionOutcome, Review};
use ephor_external::{Authorizer, ExternalData, NoData};
use ephor_sources::files::SourceText;
use ephor_value::Value;
use ephor_value::object::{Check, Decision};
use ephor_value::release::Release;

const CONFIG_MAPS: &str = "{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [configmaps]}";

/// A policy with a binding of the same name.
fn policy(name: &str, rules: &str, expression: &str, spec: &str, binding: &str) -> String {
    format!(
        "{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {{name: {name}}}, \
          spec: {{matchConstraints: {{resourceRules: [{rules}]}}, validations: [{{expression: \"{expression}\"}}]{spec}}}}}\n---\n\
         {{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {{name: {name}}}, \
          spec: {{policyName: {name}, validationActions: [Deny]{binding}}}}}\n---\n"
    )
}

fn engine(policies: &str, external: Arc<dyn ExternalData>) -> Engine {
    let source = SourceText { name: "policies.yaml".into(), text: policies.into() };
    let mut loaded = load::argument_for(&[source], Reader::Server(Release::default()));
    assert_eq!(loaded.problems.first().map(ToString::to_string), None);
    assert_eq!(loaded.policies.iter().find_map(|p| p.refused.clone()), None);
    loaded.bind_as_server();
    let mut policies: Vec<_> = loaded.policies.into_iter().filter_map(|p| p.policy).collect();
    policies.sort_by(|a, b| a.name.cmp(&b.name));
    let set = PolicySet::new(policies, Vec::new());
    Engine::new(set).with_profile(Profile::cluster()).with_external(external).with_result_cache(1 << 20)
}

fn review(more: &str) -> Review {
    let request = yaml_value(
        "{uid: u, kind: {group: '', version: v1, kind: ConfigMap}, operation: CREATE, name: a, namespace: shop, \
          resource: {group: '', version: v1, resource: configmaps}, userInfo: {username: anna}, oldObject: null, \
          object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {a: '1'}}}",
    )
    .unwrap();
    let mut request = request.as_map().unwrap().clone();
    for (key, value) in yaml_value(more).unwrap().as_map().unwrap().iter() {
        request.insert(key.clone(), value.clone());
    }
    Review::new(Value::Map(request))
}

fn denied(answer: &AdmissionOutcome) -> Option<&str> {
    answer.denial.as_ref().map(|denial| &*denial.message)
}

/// A cluster whose data may change between requests.
#[derive(Default)]
struct Changing {
    parameters: Mutex<Vec<Value>>,
    allows: Mutex<bool>,
    namespace: Mutex<Option<Value>>,
}

impl ExternalData for Changing {
    fn parameters(&self, _: &str, _: &str, _: &str) -> Option<Vec<Value>> {
        Some(self.parameters.lock().unwrap().clone())
    }

    fn authorizer(&self, _: &Value) -> Option<Arc<dyn Authorizer>> {
        Some(Arc::new(Right(*self.allows.lock().unwrap())))
    }

    fn namespace(&self, _: &str) -> Option<Value> {
        self.namespace.lock().unwrap().clone()
    }
}

struct Right(bool);

impl Authorizer for Right {
    fn decide(&self, _: &Check, _: &str) -> Decision {
        Decision { allowed: self.0, ..Decision::default() }
    }
}

#[test]
fn a_result_that_depends_on_the_request_alone_is_cached() {
    let engine = engine(&policy("p", CONFIG_MAPS, "object.data.a == '2'", "", ""), Arc::new(NoData));
    let is_cached = |more: &str| engine.native_verdicts(&review(more)).shares().iter().any(|s| s.is_cached);
    assert!(!is_cached("{}"));
    assert!(is_cached("{uid: other, name: b}"), "the policy reads neither");
    let data = |a: &str| format!("{{object: {{apiVersion: v1, kind: ConfigMap, data: {{a: '{a}'}}}}}}");
    assert!(!is_cached(&data("3")));
    assert!(is_cached(&data("3")));
    assert_eq!(denied(&engine.validate_as_server(&review(&data("2")))), None);
}

#[test]
fn a_result_that_depends_on_parameters_is_never_cached() {
    let spec = ", paramKind: {apiVersion: v1, kind: ConfigMap}";
    let binding = ", paramRef: {name: limits, parameterNotFoundAction: Allow}";
    let text = policy("p", CONFIG_MAPS, "object.data.a == params.data.a", spec, binding);
    let cluster = Arc::new(Changing::default());
    let engine = engine(&text, cluster.clone());
    let parameter = |a: &str| {
        let object =
            format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: limits}}, data: {{a: '{a}'}}}}");
        *cluster.parameters.lock().unwrap() = vec![yaml_value(&object).unwrap()];
    };
    let is_denied = || engine.validate_as_server(&review("{}")).denial.is_some();
    assert!(!is_denied(), "there are none");
    parameter("2");
    assert!(is_denied());
    parameter("1");
    assert!(!is_denied());
    parameter("2");
    assert!(is_denied());
}

#[test]
fn a_result_that_depends_on_rights_is_never_cached() {
    let expression = "authorizer.group('').resource('pods').check('get').allowed()";
    let cluster = Arc::new(Changing::default());
    let engine = engine(&policy("p", CONFIG_MAPS, expression, "", ""), cluster.clone());
    for allows in [true, false, true, false] {
        *cluster.allows.lock().unwrap() = allows;
        assert_eq!(engine.validate_as_server(&review("{}")).denial.is_none(), allows);
    }
}

#[test]
fn requests_in_other_namespaces_have_results_of_their_own() {
    let selector = ", matchResources: {namespaceSelector: {matchLabels: {env: prod}}}";
    let text = policy("labels", CONFIG_MAPS, "false", "", selector)
        + &policy("reads", CONFIG_MAPS, "namespaceObject.metadata.annotations.a != 'b'", "", "");
    let cluster = Arc::new(Changing::default());
    let engine = engine(&text, cluster.clone());
    let answer = |namespace: &str| {
        *cluster.namespace.lock().unwrap() = Some(yaml_value(namespace).unwrap());
        let answer = engine.validate_as_server(&review("{}"));
        denied(&answer).map(str::to_owned).unwrap_or_default()
    };
    let namespaces = [
        ("{metadata: {name: shop, labels: {env: lab}, annotations: {a: c}}}", ""),
        ("{metadata: {name: shop, labels: {env: prod}, annotations: {a: c}}}", "'labels'"),
        ("{metadata: {name: shop, labels: {env: lab}, annotations: {a: b}}}", "'reads'"),
    ];
    for (namespace, name) in namespaces.iter().chain(namespaces.iter().rev()) {
        let text = answer(namespace);
        assert!(text.contains(name) && text.is_empty() == name.is_empty(), "{namespace}: {text}");
    }
}

#[test]
fn results_are_those_of_the_object_as_it_was_sent() {
    // A server that evaluates Kyverno's policies completes objects; an API server's policies see
    // them as they are.
    let text = policy("p", CONFIG_MAPS, "has(object.metadata.namespace)", "", "");
    let engine = engine(&text, Arc::new(NoData));
    let object = |metadata: &str| {
        let object = format!("{{object: {{apiVersion: v1, kind: ConfigMap, metadata: {metadata}}}}}");
        engine.validate_as_server(&review(&object)).denial.is_some()
    };
    for _ in 0..2 {
        assert!(!object("{name: a, namespace: shop}"));
        assert!(object("{name: a}"));
    }
}

#[test]
fn an_object_in_another_version_is_not_taken_for_one_in_its_own() {
    let events = "{apiGroups: [events.k8s.io], apiVersions: [v1], operations: ['*'], resources: [events]}";
    let engine = engine(&policy("p", events, "object.note == 'good'", "", ""), Arc::new(NoData));
    let event = |fields: &str| {
        let request = format!(
            "{{kind: {{group: '', version: v1, kind: Event}}, resource: {{group: '', version: v1, resource: events}}, \
              object: {{apiVersion: v1, kind: Event, {fields}}}}}"
        );
        engine.validate_as_server(&review(&request)).denial.is_some()
    };
    for _ in 0..2 {
        assert!(!event("message: good"));
        assert!(event("message: bad"));
    }
}

#[test]
fn policies_are_found_by_the_resource_in_the_order_of_their_names() {
    let of = |resource: &str| {
        format!("{{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: [{resource}]}}")
    };
    let text = policy("d", &of("widgets"), "false", "", "")
        + &policy("c", &of("'*'"), "false", "", "")
        + &policy("b", &of("widgets/status"), "false", "", "")
        + &policy("a", &of("gadgets"), "false", "", "");
    let engine = engine(&text, Arc::new(NoData));
    let names = |more: &str| {
        let outcomes = engine.native_verdicts(&review(more));
        outcomes.policies().map(|p| p.policy.name.to_string()).collect::<Vec<_>>().join(" ")
    };
    // Nothing is known of such a kind.
    let widgets =
        "kind: {group: x.y, version: v7, kind: Odd}, resource: {group: x.y, version: v7, resource: widgets}";
    assert_eq!(names(&format!("{{{widgets}}}")), "c d");
    assert_eq!(names(&format!("{{{widgets}, subResource: status}}")), "b");
    assert_eq!(names("{}"), "c");
}

#[test]
fn a_policy_without_binding_does_nothing() {
    let text = policy("p", CONFIG_MAPS, "false", "", "");
    let (policy, _) = text.split_once("---").unwrap();
    let engine = engine(policy, Arc::new(NoData));
    assert_eq!(denied(&engine.validate_as_server(&review("{}"))), None);
    assert_eq!(engine.native().count(), 0);
}

#[test]
fn static_policies_come_first_and_see_requests_about_policies() {
    let any = "{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}";
    let own = policy("z.static.k8s.io", any, "false", "", "");
    let of_api = policy("a", any, "false", "", "") + &policy("m", any, "false", "", "");
    // A binding of the API does not bind a static policy.
    let of_api = of_api
        + "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: a2}, \
            spec: {policyName: z.static.k8s.io, validationActions: [Warn]}}\n";
    let folder = ManifestFolder {
        path: "static".into(),
        texts: Ok(vec![SourceText { name: "static/a.yaml".into(), text: own }]),
    };
    let mut loaded = load::manifests::of_folders(&[folder], Release::V1_37).unwrap();
    let source = SourceText { name: "policies.yaml".into(), text: of_api };
    loaded.extend(load::argument_for(&[source], Reader::Server(Release::V1_37)));
    loaded.bind_as_server();
    let mut policies: Vec<_> = loaded.policies.into_iter().filter_map(|p| p.policy).collect();
    policies.sort_by(|a, b| a.name.cmp(&b.name));
    let engine = Engine::new(PolicySet::new(policies, Vec::new())).with_profile(Profile::cluster());
    let names = |more: &str| {
        let outcomes = engine.native_verdicts(&review(more));
        let bindings = |rules: &[ephor_engine::RuleOutcome]| rules.len();
        let all = outcomes.policies().map(|p| format!("{}:{}", p.policy.name, bindings(&p.rules)));
        all.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("{}"), "z.static.k8s.io:1 a:1 m:1");
    let of = |group: &str, resource: &str, kind: &str| {
        format!(
            "{{kind: {{group: {group}, version: v1, kind: {kind}}}, resource: {{group: {group}, version: v1, resource: {resource}}}}}"
        )
    };
    let admission = "admissionregistration.k8s.io";
    for (resource, kind) in [
        ("validatingadmissionpolicies", "ValidatingAdmissionPolicy"),
        ("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"),
    ] {
        assert_eq!(names(&of(admission, resource, kind)), "z.static.k8s.io:1", "{resource}");
    }
    let webhooks = of(admission, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration");
    assert_eq!(names(&webhooks), "z.static.k8s.io:1 a:1 m:1");
    let rights = of("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview");
    assert_eq!(names(&rights), "", "no policy sees a question about rights");
}
