//! The table of `docs/reference/profiles.md` against a running server: what imitates Kyverno's
//! command line stays there.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::server::{get, post, review, start};

/// A ClusterPolicy that enforces one rule for Pods.
fn enforcing(name: &str, rule: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n{rule}\n---\n"
    )
}

/// A rule body of CEL.
fn cel(expression: &str) -> String {
    format!(
        "    validate: {{failureAction: Enforce, message: refused, cel: {{expressions: [{{expression: \"{expression}\"}}]}}}}"
    )
}

/// A ValidatingPolicy for Pods, with more members of `metadata` and `spec`.
fn reviewing(kind: &str, metadata: &str, more: &str, expression: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1\nkind: {kind}\nmetadata: {{name: v{metadata}}}\nspec:\n  matchConstraints: {{{more}resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  validations: [{{expression: \"{expression}\", message: refused}}]\n---\n"
    )
}

const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {env: prod}}\n---\n";

/// A server with policies and data; what it answers for a Pod in the namespace `shop`.
struct Case {
    policies: String,
    data: String,
}

struct Answered {
    allowed: bool,
    message: String,
    ready: String,
}

impl Case {
    fn of(policies: String) -> Case {
        Case { policies, data: String::new() }
    }

    fn with(self, data: &str) -> Case {
        Case { data: self.data + data, ..self }
    }

    fn answer(&self) -> Answered {
        self.answer_to(&review("u", "nginx:1"))
    }

    fn answer_to(&self, review: &Value) -> Answered {
        let dir = tempfile::tempdir().unwrap();
        let policies = dir.path().join("policies");
        std::fs::create_dir(&policies).unwrap();
        for (i, text) in self.policies.split("---\n").filter(|t| !t.trim().is_empty()).enumerate() {
            std::fs::write(policies.join(format!("{i}.yaml")), text).unwrap();
        }
        let data = dir.path().join("data.yaml");
        std::fs::write(&data, &self.data).unwrap();
        let more = match self.data.is_empty() {
            true => Vec::new(),
            false => vec!["--data", data.to_str().unwrap()],
        };
        let server = start(&policies, &more);
        let response = post(&server, "/validate", review);
        Answered {
            allowed: response["allowed"] == true,
            message: response["status"]["message"].as_str().unwrap_or_default().to_string(),
            ready: get(&server, "/readyz").body,
        }
    }

    fn allowed(&self) {
        let answer = self.answer();
        assert!(answer.allowed, "{}\n{}\n{}", self.policies, answer.message, answer.ready);
    }

    fn denied(&self, why: &str) {
        let answer = self.answer();
        assert!(!answer.allowed, "{}\n{}", self.policies, answer.ready);
        assert!(answer.message.contains(why), "{why}: {}", answer.message);
    }

    fn named_on_readyz(&self, what: &str) {
        let ready = self.answer().ready;
        assert!(ready.contains(what), "{what}: {ready}");
    }
}

fn numbers() {
    let mut review = review("u", "nginx:1");
    review["request"]["object"]["spec"]["priority"] = json!(5);
    let answer = Case::of(enforcing("ints", &cel("type(object.spec.priority) == int"))).answer_to(&review);
    assert!(answer.allowed, "{}", answer.message);
}

fn request() {
    let rule = "    validate: {failureAction: Enforce, message: refused, deny: {conditions: {any: [{key: \"{{ request.uid || '' }}\", operator: Equals, value: ''}]}}}";
    Case::of(enforcing("whole", rule)).allowed();
}

fn params() {
    let policy = |reference: &str, expression: &str| {
        enforcing(
            "limit",
            &format!(
                "    validate: {{failureAction: Enforce, message: refused, cel: {{paramKind: {{apiVersion: v1, kind: ConfigMap}}, paramRef: {reference}, expressions: [{{expression: \"{expression}\"}}]}}}}"
            ),
        )
    };
    let data = format!(
        "{NAMESPACE}apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: limits, namespace: shop, labels: {{for: limit}}}}\ndata: {{most: '0'}}\n"
    );
    let few = "object.spec.containers.size() <= int(params.data.most)";
    for reference in [
        "{selector: {matchLabels: {for: limit}}, parameterNotFoundAction: Allow}",
        "{selector: {matchLabels: {for: limit}}, parameterNotFoundAction: Deny}",
        "{name: limits, parameterNotFoundAction: Allow}",
        "{name: limits, namespace: shop, parameterNotFoundAction: Deny}",
    ] {
        Case::of(policy(reference, few)).with(&data).denied("refused");
        Case::of(policy(reference, "int(params.data.most) == 0")).with(&data).allowed();
    }
    let missing = "{name: others, parameterNotFoundAction: Allow}";
    let why = "error in parameterized resource: configmaps \"others\" not found";
    Case::of(policy(missing, few)).with(&data).denied(why);
    let none = "{selector: {matchLabels: {for: none}}, parameterNotFoundAction: Deny}";
    Case::of(policy(none, few)).with(&data).denied("error in parameterized resource: no params found");
    let none = "{selector: {matchLabels: {for: none}}, parameterNotFoundAction: Allow}";
    Case::of(policy(none, few)).with(&data).allowed();
    Case::of(policy(missing, few)).named_on_readyz("rules have parameters, which the server does not know");
    // A custom resource has the defaults of its schema, as an API server gives them.
    let custom = "    validate: {failureAction: Enforce, message: refused, cel: {paramKind: {apiVersion: acme.io/v1, kind: Limit}, paramRef: {name: a, parameterNotFoundAction: Deny}, expressions: [{expression: \"object.spec.containers.size() <= params.spec.most\"}]}}";
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: limits.acme.io}\nspec: {group: acme.io, scope: Namespaced, names: {kind: Limit, plural: limits}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {most: {type: integer, default: 0}}}}}}}]}\n---\napiVersion: acme.io/v1\nkind: Limit\nmetadata: {name: a, namespace: shop}\nspec: {}\n";
    Case::of(enforcing("custom", custom)).with(NAMESPACE).with(definition).denied("refused");
}

fn namespace_object() {
    let prod = enforcing(
        "prod",
        &cel("namespaceObject.metadata.?labels.?env.orValue('dev') != 'prod' || has(object.spec.nodeName)"),
    );
    Case::of(prod.clone()).with(NAMESPACE).denied("refused");
    let other = NAMESPACE.replace("shop", "other");
    Case::of(prod.clone()).with(&other).denied("namespaces \"shop\" not found");
    Case::of(prod).named_on_readyz("expressions of rules read namespaces, which the server does not know");
    Case::of(enforcing("blind", &cel("has(object.spec.containers)"))).allowed();
}

fn namespace_labels() {
    let rule = |block: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: nss}}\nspec:\n  rules:\n  - name: r\n{block}    validate: {{failureAction: Enforce, message: refused, deny: {{}}}}\n---\n"
        )
    };
    let select =
        |s: &str| format!("    match: {{any: [{{resources: {{kinds: [Pod], namespaceSelector: {s}}}}}]}}\n");
    let exclude = "    match: {any: [{resources: {kinds: [Pod]}}]}\n    exclude: {any: [{resources: {namespaceSelector: {matchExpressions: [{key: strict, operator: DoesNotExist}]}}}]}\n";
    let unknown = "failed to create policy context: namespace \"shop\" not found";
    for block in [
        select("{matchLabels: {env: prod}}"),
        select("{matchExpressions: [{key: env, operator: NotIn, values: [dev]}]}"),
        exclude.to_string(),
    ] {
        Case::of(rule(&block)).denied(unknown);
        Case::of(rule(&block)).with(&NAMESPACE.replace("shop", "other")).denied(unknown);
        Case::of(rule(&block)).named_on_readyz("rules match by the labels of namespaces");
    }
    Case::of(rule(&select("{matchLabels: {env: prod}}"))).with(NAMESPACE).denied("refused");
    Case::of(rule(&select("{matchLabels: {env: dev}}"))).with(NAMESPACE).allowed();
    let action = enforcing(
        "override",
        "    validate: {failureAction: Audit, failureActionOverrides: [{action: Enforce, namespaceSelector: {matchLabels: {env: prod}}}], message: refused, deny: {}}",
    );
    Case::of(action.clone()).denied("refused");
    Case::of(action).with(&NAMESPACE.replace("prod", "dev")).allowed();
    let selector = "namespaceSelector: {matchLabels: {env: prod}}, ";
    let cel = reviewing("ValidatingPolicy", "", selector, "false");
    Case::of(cel.clone()).denied("Policy v error: namespace \"shop\" not found");
    Case::of(cel).with(NAMESPACE).denied("Policy v failed: refused");
}

fn roles() {
    let rule = |block: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: roles}}\nspec:\n  background: false\n  rules:\n  - name: r\n{block}    validate: {{failureAction: Enforce, message: refused, deny: {{}}}}\n---\n"
        )
    };
    let matched = rule("    match: {any: [{resources: {kinds: [Pod]}, clusterRoles: [developer]}]}\n");
    let binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: developer}\nsubjects: [{kind: User, name: anna}]\n---\n";
    let unknown = "the role bindings of the cluster are not known";
    Case::of(matched.clone()).denied(unknown);
    Case::of(matched.clone()).with(NAMESPACE).denied(unknown);
    Case::of(matched.clone()).named_on_readyz("rules match by roles, which the server does not know");
    Case::of(matched.clone()).with(binding).denied("refused");
    Case::of(matched).with(&binding.replace("anna", "bert")).allowed();
    let excluded = "    match: {any: [{resources: {kinds: [Pod]}}]}\n    exclude: {any: [{clusterRoles: [developer]}]}\n";
    Case::of(rule(excluded)).denied(unknown);
    Case::of(rule(excluded)).with(binding).allowed();
    Case::of(rule("    match: {any: [{resources: {kinds: [Service]}, roles: ['a:b']}]}\n")).allowed();
}

fn namespaced_policies() {
    let of = |namespace: &str| {
        reviewing("NamespacedValidatingPolicy", &format!(", namespace: {namespace}"), "", "false")
    };
    Case::of(of("shop")).denied("Policy v failed: refused");
    Case::of(of("other")).allowed();
}

fn expired_exceptions() {
    let exception = |expires: &str| {
        format!(
            "{}apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {{name: e, namespace: shop}}\nspec: {{policyRefs: [{{name: v, kind: ValidatingPolicy}}]{expires}}}\n",
            reviewing("ValidatingPolicy", "", "", "false")
        )
    };
    Case::of(exception("")).allowed();
    Case::of(exception(", expiresAt: '2999-01-01T00:00:00Z'")).allowed();
    Case::of(exception(", expiresAt: '2020-01-01T00:00:00Z'")).denied("Policy v failed: refused");
}

/// A rule that is refused unless `found` has no value.
fn defaulting(name: &str, entry: &str, value: &str) -> Case {
    let rule = format!(
        "    context: [{{name: found, {entry}}}]\n    validate: {{failureAction: Enforce, message: refused, deny: {{conditions: {{any: [{{key: \"{{{{ {value} || 'none' }}}}\", operator: NotEquals, value: none}}]}}}}}}"
    );
    Case::of(enforcing(name, &rule))
}

fn context() {
    defaulting("global", "globalReference: {name: entry}", "found").denied("global context entries");
    defaulting("image", "imageRegistry: {reference: 'ghcr.io/a/b:1'}", "found")
        .denied("registry access is not enabled");
    defaulting("image", "imageRegistry: {reference: 'ghcr.io/a/b:1'}", "found").named_on_readyz(
        "rules query image registries, which the server does not know: give --registry (image)",
    );
    defaulting("map", "configMap: {name: a, namespace: b}", "found.data.x")
        .denied("configmaps \"a\" not found");
    defaulting("map", "configMap: {name: a, namespace: b}", "found.data.x").named_on_readyz(
        "rules read ConfigMaps, which the server does not know: give --data or --cluster (map)",
    );
}

fn api_lists() {
    let rule = "    context: [{name: found, apiCall: {urlPath: /apis/apps/v1/namespaces/shop/deployments, jmesPath: 'length(items)'}}]\n    validate: {failureAction: Enforce, message: refused, deny: {conditions: {any: [{key: \"{{ found }}\", operator: GreaterThan, value: 0}]}}}";
    let policy = enforcing("calls", rule);
    let other = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: other}\n---\n";
    Case::of(policy.clone()).denied("there is no data of deployments");
    Case::of(policy.clone()).named_on_readyz("rules call the Kubernetes API, which the server does not know");
    Case::of(policy.clone()).with(NAMESPACE).denied("there is no data of deployments");
    Case::of(policy.clone()).with(other).allowed();
    Case::of(policy).with(&other.replace("other", "shop")).denied("refused");
}

fn resource_lists() {
    let listing = |arguments: &str| {
        let text = format!("resource.list('v1', 'configmaps', {arguments}).items.size() == 1");
        Case::of(reviewing("ValidatingPolicy", "", "", &text))
    };
    let data = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop, labels: {x: blue}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: other}\n";
    listing("'', {'x': 'blue'}").with(data).allowed();
    listing("''").with(data).denied("refused");
    listing("'shop'").with(data).allowed();
    listing("'shop', {'x': 'red'}").with(data).denied("refused");
    listing("''").denied("there is no data of configmaps");
}

fn match_conditions() {
    let policy = |failure: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: mc}}\nspec:\n  failurePolicy: {failure}\n  webhookConfiguration: {{matchConditions: [{{name: a, expression: \"namespaceObject.metadata.labels.env == 'prod'\"}}]}}\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    validate: {{failureAction: Enforce, message: refused, deny: {{}}}}\n"
        )
    };
    Case::of(policy("Fail")).denied("failed to evaluate match conditions");
    Case::of(policy("Ignore")).allowed();
    // The name of an object that is deleted is in the request alone.
    let mut deletion = review("u", "nginx:1");
    let request = &mut deletion["request"];
    request["operation"] = json!("DELETE");
    request["oldObject"] = request["object"].take();
    let named = |name: &str| {
        let condition = format!("request.name == '{name}'");
        policy("Fail").replace("namespaceObject.metadata.labels.env == 'prod'", &condition)
    };
    let answer = |name: &str| Case::of(named(name)).answer_to(&deletion);
    assert_eq!((answer("cart").message.contains("refused"), answer("other").allowed), (true, true));
}

fn services() {
    let calling = |url: &str| {
        enforcing(
            "services",
            &format!(
                "    context: [{{name: x, apiCall: {{service: {{url: '{url}'}}}}}}]\n    validate: {{failureAction: Enforce, message: refused, deny: {{conditions: {{any: [{{key: '{{{{ to_string(x) }}}}', operator: Equals, value: a}}]}}}}}}"
            ),
        )
    };
    Case::of(calling("http://0.0.0.0:1/"))
        .denied("connection to 0.0.0.0:1 blocked: IP 0.0.0.0 falls in blocked range 0.0.0.0/8");
    Case::of(calling("http://[::]:1/"))
        .denied("connection to [::]:1 blocked: IP :: falls in blocked range ::/128");
}

fn native_policies() {
    let policy = |resource: &str| {
        format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: v}}\nspec: {{matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [{resource}]}}]}}, validations: [{{expression: 'false', message: refused}}]}}\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: b}}\nspec: {{policyName: v, validationActions: [Deny]}}\n"
        )
    };
    Case::of(policy("configmaps")).allowed();
    Case::of(policy("pods")).denied("denied request: refused");
}

fn image_action() {
    let policy = |spec: &str, entry: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: images}}\nspec:\n  {spec}\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    verifyImages: [{{imageReferences: ['*'], required: true, mutateDigest: false, verifyDigest: false{entry}, attestors: [{{entries: [{{keys: {{publicKeys: \"-----BEGIN PUBLIC KEY-----\\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8nXRh950IZbRj8Ra/N9sbqOPZrfM\\n5/KAQN0/KjHcorm/J5yctVd7iEcnessRQjU917hmKO6JWVGHpDguIyakZA==\\n-----END PUBLIC KEY-----\", rekor: {{url: 'http://127.0.0.1:1', ignoreTlog: true}}, ctlog: {{ignoreSCT: true}}}}}}]}}]}}]\n"
        )
    };
    let refused = "unverified image";
    Case::of(policy("background: false", ", failureAction: Enforce")).denied(refused);
    Case::of(policy("validationFailureAction: Audit", ", failureAction: Enforce")).denied(refused);
    Case::of(policy("validationFailureAction: Enforce", ", failureAction: Audit")).allowed();
    Case::of(policy("validationFailureAction: Enforce", "")).denied(refused);
}

/// A case for each row of the table.
const CASES: [(&str, fn()); 15] = [
    ("numbers", numbers),
    ("request", request),
    ("params", params),
    ("namespace-object", namespace_object),
    ("namespace-labels", namespace_labels),
    ("roles", roles),
    ("namespaced-policies", namespaced_policies),
    ("expired-exceptions", expired_exceptions),
    ("context", context),
    ("api-lists", api_lists),
    ("resource-lists", resource_lists),
    ("match-conditions", match_conditions),
    ("services", services),
    ("native-policies", native_policies),
    ("image-action", image_action),
];

#[test]
fn every_row_of_the_table_of_profiles_holds_in_the_server() {
    let page = include_str!("../../docs/reference/profiles.md");
    let rows: BTreeSet<&str> =
        page.lines().filter_map(|l| l.strip_prefix("| `")?.split('`').next()).collect();
    let cases: BTreeSet<&str> = CASES.iter().map(|(id, _)| *id).collect();
    assert_eq!(rows, cases, "each row has a case and each case a row");
    for (id, case) in CASES {
        eprintln!("{id}");
        case();
    }
}
