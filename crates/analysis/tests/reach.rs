//! External data that a policy reads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use ephor_analysis::reach::*;
use ephor_policies::PolicySet;

const NOTHING: Reach =
    Reach { services: false, cluster: false, config_maps: false, params: false, registry: false };
const SERVICES: Reach = Reach { services: true, ..NOTHING };
const CLUSTER: Reach = Reach { cluster: true, ..NOTHING };
const REGISTRY: Reach = Reach { registry: true, ..NOTHING };

fn of(policy: &str) -> Reach {
    of_policy(&PolicySet::from_yaml(policy).unwrap().policies()[0])
}

fn cel(expression: &str, more: &str) -> Reach {
    of(&format!(
        "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: p}}\nspec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}}]}}\n  validations: [{{expression: \"{expression}\", message: 'http.Get( resource.List( \\\"service\\\":'}}]\n{more}"
    ))
}

fn rule(body: &str) -> Reach {
    of(&format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  background: false\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n{body}"
    ))
}

#[test]
fn calls_of_expressions_are_found_however_they_are_written() {
    assert_eq!(cel("http.Get('http://a/').a == 1", ""), SERVICES);
    assert_eq!(cel("http . Get ( 'http://a/' ).a == 1", ""), SERVICES);
    assert_eq!(cel("[1].all(x, http.Post('http://a/', {'x': x}).a == x)", ""), SERVICES);
    assert_eq!(
        cel("variables.v == 1", "  variables: [{name: v, expression: \"http.Get ('http://a/').a\"}]\n"),
        SERVICES
    );
    assert_eq!(
        cel("true", "  matchConditions: [{name: c, expression: \"http.Get('http://a/').a == 1\"}]\n"),
        SERVICES
    );
    assert_eq!(cel("resource . List('v1', 'pods', '').items.size() > 0", ""), CLUSTER);
    let authorizer = "    validate: {cel: {expressions: [{expression: \"authorizer.group('').resource('pods').check('get').allowed()\", message: m}]}}";
    assert_eq!(rule(authorizer), CLUSTER);
    assert_eq!(cel("dyn(globalContext.Get('x', '')) == null", ""), CLUSTER);
    assert!(cel("http.Client('').Get('http://a/').a == 1", "").services);
    assert_eq!(cel("object.metadata.name != 'http.Get('", ""), NOTHING);
}

#[test]
fn context_entries_are_found_and_words_in_messages_are_not() {
    let context = |entry: &str| {
        rule(&format!(
            "    context: [{{name: x, {entry}}}]\n    validate: {{message: m, deny: {{conditions: {{any: [{{key: '{{{{ to_string(x) }}}}', operator: Equals, value: a}}]}}}}}}"
        ))
    };
    assert_eq!(context("apiCall: {service: {url: 'http://a/'}}"), SERVICES);
    assert_eq!(context("apiCall: {urlPath: /api/v1/pods}"), CLUSTER);
    assert_eq!(context("configMap: {name: a, namespace: b}"), Reach { config_maps: true, ..NOTHING });
    assert_eq!(context("globalReference: {name: a}"), CLUSTER);
    assert_eq!(context("imageRegistry: {reference: 'a/b'}"), REGISTRY);
    assert_eq!(context("variable: {jmesPath: \"is_external_url('http://a')\"}"), SERVICES);
    assert_eq!(context("variable: {value: 'apiCall: service: http.Get('}"), NOTHING);
    let words = "    validate: {message: 'apiCall service http.Get( resource.Get( verifyImages', pattern: {spec: {hostNetwork: false}}}";
    assert_eq!(rule(words), NOTHING);
    let looped = "    validate:\n      message: m\n      foreach:\n      - list: request.object.spec.containers\n        context: [{name: x, apiCall: {service: {url: 'http://a/'}}}]\n        deny: {conditions: {any: [{key: '{{ x }}', operator: Equals, value: a}]}}";
    assert_eq!(rule(looped), SERVICES);
    let images = "    verifyImages: [{imageReferences: ['*'], mutateDigest: false, attestors: [{entries: [{keys: {publicKeys: k}}]}]}]";
    assert_eq!(rule(images), REGISTRY);
}
