"""The policies that `run.py serve` registers: of all kinds, each for something of its own."""


def cluster_policy(name, rule, **spec):
    return {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": name},
            "spec": {"background": False, "validationFailureAction": "Enforce", **spec, "rules": [rule]}}


def rule(name, resources, **body):
    return {"name": name, "match": {"any": [{"resources": resources}]}, **body}


def deny(message, key, value="yes"):
    condition = {"key": "{{ request.object.metadata.labels.\"%s\" || '' }}" % key, "operator": "Equals", "value": value}
    return {"message": message, "deny": {"conditions": {"any": [condition]}}}


def written(kinds, **more):
    return {"kinds": kinds, "operations": ["CREATE", "UPDATE"], **more}


def validating(name, expression, message, actions=None, conditions=None):
    spec = {
        "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                                                "resources": ["configmaps"]}]},
        "validations": [{"expression": expression, "message": message}],
    }
    if actions:
        spec["validationActions"] = actions
    if conditions:
        spec["matchConditions"] = conditions
    return {"apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy", "metadata": {"name": name}, "spec": spec}


def without(key):
    return f"!has(object.data) || !('{key}' in object.data)"


_POLICIES = [
    cluster_policy("deny-label", rule("deny", written(["ConfigMap"]), validate=deny("label deny is set", "deny"))),
    cluster_policy("only-prod", rule("prod", written(["ConfigMap"], namespaceSelector={"matchLabels": {"env": "prod"}}),
                                     validate=deny("not in prod", "only-prod"))),
    cluster_policy("keep", rule("keep", {"kinds": ["ConfigMap"], "operations": ["DELETE"]}, validate={
        "message": "must stay", "deny": {"conditions": {"any": [
            {"key": "{{ request.oldObject.metadata.labels.keep || '' }}", "operator": "Equals", "value": "yes"}]}}})),
    cluster_policy("audit-label", rule("audit", written(["ConfigMap"]), validate=deny("label audit is set", "audit")),
                   validationFailureAction="Audit"),
    {**(silent := cluster_policy("silent-label", rule("silent", written(["ConfigMap"]), validate=deny("label silent is set", "silent")),
                                 validationFailureAction="Audit")),
     "metadata": {**silent["metadata"], "labels": {"reports.kyverno.io/disabled": ""}}},
    cluster_policy("warn-label", rule("warn", written(["ConfigMap"]), validate=deny("label warn is set", "warn")),
                   validationFailureAction="Audit", emitWarning=True),
    cluster_policy("no-services", rule("none", written(["Service"]), validate={"message": "no services", "deny": {}}),
                   failurePolicy="Ignore"),
    cluster_policy("tags", rule("tag", written(["Pod"]), validate={"message": "use a tag", "pattern": {"spec": {
        "containers": [{"image": "!*:latest"}], "=(ephemeralContainers)": [{"image": "!*:latest"}]}}})),
    cluster_policy("replicas", rule("most", written(["Deployment/scale"]), validate={
        "message": "too many replicas", "pattern": {"spec": {"replicas": "<=10"}}})),
    cluster_policy("exec", rule("none", {"kinds": ["Pod/exec"], "operations": ["CONNECT"]},
                                validate={"message": "no exec", "deny": {}})),
    cluster_policy("add-label", rule("add", written(["ConfigMap"], selector={"matchLabels": {"mutate": "?*"}}), mutate={
        "patchStrategicMerge": {"metadata": {"labels": {"+(added)": "by-policy"}}}})),
    cluster_policy("see-second", rule("see", written(["ConfigMap"], selector={"matchLabels": {"again": "yes"}}), preconditions={
        "all": [{"key": "{{ request.object.data.second || '' }}", "operator": "NotEquals", "value": ""}]}, mutate={
            "patchStrategicMerge": {"metadata": {"labels": {"seen": "{{ request.object.data.second }}"}}}})),
    cluster_policy("add-deny", rule("add", written(["ConfigMap"], selector={"matchLabels": {"mutate": "deny"}}), mutate={
        "patchStrategicMerge": {"metadata": {"labels": {"deny": "yes"}}}})),
    validating("no-forbidden", without("forbidden"), "key forbidden"),
    validating("conditional", without("conditional"), "key conditional",
               conditions=[{"name": "names", "expression": "!object.metadata.name.startsWith('skip-')"}]),
    validating("soft", without("soft"), "key soft", actions=["Warn"]),
    {"apiVersion": "policies.kyverno.io/v1", "kind": "MutatingPolicy", "metadata": {"name": "mcel"}, "spec": {
        "matchConstraints": {
            "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
            "objectSelector": {"matchLabels": {"mcel": "yes"}}},
        "mutations": [{"patchType": "ApplyConfiguration",
                       "applyConfiguration": {"expression": "Object{data: {\"cel\": \"yes\"}}"}}]}},
]

# Put to use while the tests run, with the address of a service that is slow to answer.
SLOW = cluster_policy("slow", rule("slow", {"kinds": ["Secret"], "operations": ["CREATE"]}, context=[
    {"name": "answer", "apiCall": {"service": {"url": ""}}}],
    validate={"message": "the answer came", "deny": {"conditions": {"any": [
        {"key": "{{ answer }}", "operator": "Equals", "value": {}}]}}}), webhookConfiguration={"timeoutSeconds": 3})


def by_name(policies):
    return {policy["metadata"]["name"]: policy for policy in policies}


POLICIES = by_name(_POLICIES)


def _in(place, name, message, context, condition, **resources):
    """A rule on ConfigMaps with the label `live: NAME`, with data from the cluster."""
    return cluster_policy(place, rule(place, written(["ConfigMap"], selector={"matchLabels": {"live": name}}, **resources),
                                      context=context, validate={"message": message, "deny": {"conditions": {"any": [condition]}}}))


# What `run.py live` registers: policies that need data from the cluster.
LIVE = by_name([
    cluster_policy("deny-label", rule("deny", written(["ConfigMap"]), validate=deny("label deny is set", "deny"))),
    cluster_policy("only-prod", rule("prod", written(["ConfigMap"], namespaceSelector={"matchLabels": {"env": "prod"}}),
                                     validate=deny("not in prod", "only-prod"))),
    cluster_policy("audit-label", rule("audit", written(["ConfigMap"]), validate=deny("label audit is set", "audit")),
                   validationFailureAction="Audit", background=True),
    _in("teams", "teams", "unknown team", [{"name": "known", "configMap": {"name": "teams", "namespace": "shop"}}],
        {"key": "{{ request.object.data.team }}", "operator": "AnyNotIn", "value": "{{ known.data.all || '' }}"}),
    _in("few-services", "services", "too many services", [
        {"name": "count", "apiCall": {"urlPath": "/api/v1/namespaces/{{ request.namespace }}/services", "jmesPath": "length(items)"}}],
        {"key": "{{ count }}", "operator": "GreaterThan", "value": 1}),
    _in("few-secrets", "secrets", "too many secrets", [
        {"name": "count", "globalReference": {"name": "secrets", "jmesPath": "length(@)"}}],
        {"key": "{{ count }}", "operator": "GreaterThan", "value": 1}),
    _in("few-later", "later", "a ConfigMap in later", [
        {"name": "count", "globalReference": {"name": "later", "jmesPath": "length(@)"}}],
        {"key": "{{ count }}", "operator": "GreaterThan", "value": 0}),
    cluster_policy("no-interns", {"name": "none", "match": {"all": [{
        "resources": written(["ConfigMap"], selector={"matchLabels": {"live": "roles"}}), "clusterRoles": ["intern"]}]},
        "validate": {"message": "not for interns", "deny": {}}}),
    validating("limits", "!has(object.data) || !('size' in object.data) || int(object.data.size) <= "
               "int(resource.Get('v1', 'configmaps', 'shop', 'limits').data.most)", "too large"),
    {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "params"}, "spec": {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]},
        "matchConditions": [{"name": "mine", "expression": "'live' in object.metadata.?labels.orValue({}) "
                             "&& object.metadata.labels.live == 'params'"}],
        "validations": [
            {"expression": "object.data.color == params.data.color", "messageExpression": "'not ' + params.data.color"},
            {"expression": "authorizer.group('').resource('secrets').namespace('shop').check('create').allowed()",
             "message": "may not create secrets"}]}},
    # From 1.37 on a structure inside of a list equals what it cannot be compared with.
    {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "views"}, "spec": {
        "matchConstraints": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]},
        "matchConditions": [{"name": "mine", "expression": "object.metadata.?labels['live'].orValue('') == 'views'"}],
        "validations": [{"expression": "[object.metadata] == [1]", "message": "seen as a tree"}]}},
])
LIVE_BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "params"},
    "spec": {"policyName": "params", "validationActions": ["Deny"],
             "paramRef": {"name": "colors", "namespace": "shop", "parameterNotFoundAction": "Deny"}}}
VIEWS_BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "views"},
    "spec": {"policyName": "views", "validationActions": ["Deny"]}}
GLOBAL_ENTRY = {"apiVersion": "kyverno.io/v2beta1", "kind": "GlobalContextEntry", "metadata": {"name": "secrets"},
                "spec": {"kubernetesResource": {"group": "", "version": "v1", "resource": "secrets", "namespace": "shop"}}}
