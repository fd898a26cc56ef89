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

POLICIES = {policy["metadata"]["name"]: policy for policy in _POLICIES}
