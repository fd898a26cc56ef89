"""Policies in groups of our own, in a cluster whose webhook denies every change to Kyverno's.

The server has an account with the rights that the manifests of `deploy/` give it, and no others.
"""

import json
import os
import subprocess

from hooks import Hooks
from serving import Serve, config_map

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
THEIRS = "/apis/kyverno.io/v1/clusterpolicies"
OURS = "/apis/ephor.dev/v1/clusterpolicies"
GROUPS = "/apis/policies.ephor.dev/v1/"
CEL = GROUPS + "validatingpolicies"
REPORTS = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/shop/policyreports"
EXCEPTIONS = "/apis/ephor.dev/v2/namespaces/shop/policyexceptions"


def policy(name, label, group="kyverno.io"):
    rule = {"name": "label", "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "namespaces": ["shop"]}}]},
            "validate": {"failureAction": "Enforce", "message": f"label {label} is needed", "pattern": {"metadata": {"labels": {label: "?*"}}}}}
    return {"apiVersion": f"{group}/v1", "kind": "ClusterPolicy", "metadata": {"name": name}, "spec": {"background": False, "rules": [rule]}}


TEAM = {"team": "a"}


def about(name, group="", resource="configmaps"):
    """What a policy with expressions is about: objects whose names begin so."""
    rules = [{"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": [resource]}]
    return {"matchConstraints": {"resourceRules": rules}, "matchConditions": [{"name": "name", "expression": f"object.metadata.name.startsWith('{name}')"}]}


def own(kind, name, spec, group="policies.ephor.dev/v1", namespace=None):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": group, "kind": kind, "metadata": metadata, "spec": spec}


def generating(kind, name, generated, namespace=None):
    """A policy whose rule generates a ConfigMap when `trigger` is created."""
    resources = {"kinds": ["ConfigMap"], "names": ["trigger"], **({} if namespace else {"namespaces": ["shop"]})}
    generate = {"apiVersion": "v1", "kind": "ConfigMap", "name": generated, "namespace": "shop", "synchronize": True,
                "data": {"metadata": {"labels": TEAM}, "data": {"a": "b"}}}
    rule = {"name": "copy", "match": {"any": [{"resources": resources}]}, "generate": generate}
    return own(kind, name, {"rules": [rule]}, "ephor.dev/v1", namespace)


def generated_by_expression(name, namespace="'shop', "):
    metadata = "dyn({'name': '%s', 'namespace': 'shop', 'labels': dyn({'team': 'a'})})" % name
    objects = "[{'apiVersion': dyn('v1'), 'kind': dyn('ConfigMap'), 'metadata': %s, 'data': dyn({'a': 'b'})}]" % metadata
    return {**about("trigger"), "evaluation": {"synchronize": {"enabled": True}}, "variables": [{"name": "objects", "expression": objects}],
            "generate": [{"expression": f"generator.Apply({namespace}variables.objects)"}]}


# What the policies do after a request: the path of the policy, the policy, and what is there then.
BACKGROUND = [
    (OURS, generating("ClusterPolicy", "generates", "generated"), "generated"),
    ("/apis/ephor.dev/v1/namespaces/shop/policies", generating("Policy", "generates-here", "generated-here", "shop"), "generated-here"),
    (GROUPS + "generatingpolicies", own("GeneratingPolicy", "expressed", generated_by_expression("from-expression")), "from-expression"),
    (GROUPS + "namespaces/shop/namespacedgeneratingpolicies",
     own("NamespacedGeneratingPolicy", "expressed-here", generated_by_expression("from-expression-here", ""), namespace="shop"), "from-expression-here"),
]
CHANGING = [
    (OURS, own("ClusterPolicy", "changes", {"rules": [{
        "name": "mark", "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["trigger"], "namespaces": ["shop"]}}]},
        "mutate": {"targets": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "existing", "namespace": "shop"}],
                   "patchStrategicMerge": {"metadata": {"labels": {"by-rule": "yes"}}}}}]}, "ephor.dev/v1"), "by-rule"),
    (GROUPS + "mutatingpolicies", own("MutatingPolicy", "changes-too", {
        **about("trigger"), "evaluation": {"mutateExisting": {"enabled": True}},
        "targetMatchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]},
        "targetMatchConditions": [{"name": "name", "expression": "object.metadata.name == 'existing'"}],
        "mutations": [{"patchType": "ApplyConfiguration",
                       "applyConfiguration": {"expression": "Object{metadata: Object.metadata{labels: {'by-expression': 'yes'}}}"}}]}), "by-expression"),
]
DELETING = [
    ("/apis/ephor.dev/v2/clustercleanuppolicies", own("ClusterCleanupPolicy", "cleans", {
        "schedule": "* * * * *", "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["old-rule"]}}]}}, "ephor.dev/v2"), "old-rule"),
    (GROUPS + "deletingpolicies", own("DeletingPolicy", "deletes", {
        "schedule": "* * * * *", "matchConstraints": about("")["matchConstraints"],
        "conditions": [{"name": "name", "expression": "object.metadata.name == 'old-expression'"}]}), "old-expression"),
]
# An entry over watched objects, and a rule that reads it.
ENTRY = own("GlobalContextEntry", "teams", {"kubernetesResource": {"version": "v1", "resource": "configmaps", "namespace": "counted"}}, "ephor.dev/v2beta1")
READING = own("ClusterPolicy", "reads", {"background": False, "rules": [{
    "name": "few", "match": {"any": [{"resources": {"kinds": ["Service"], "namespaces": ["shop"]}}]},
    "context": [{"name": "teams", "globalReference": {"name": "teams", "jmesPath": "length(@)"}}],
    "validate": {"failureAction": "Enforce", "message": "a ConfigMap in counted is needed",
                 "deny": {"conditions": {"all": [{"key": "{{ teams }}", "operator": "Equals", "value": 0}]}}}}]}, "ephor.dev/v1")
EXCEPTION = {
    "apiVersion": "ephor.dev/v2", "kind": "PolicyException", "metadata": {"name": "exempt", "namespace": "shop"},
    "spec": {"exceptions": [{"policyName": "stored", "ruleNames": ["label"]}],
             "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["exempt"]}}]}},
}
EXPRESSIONS = {
    "apiVersion": "policies.ephor.dev/v1", "kind": "ValidatingPolicy", "metadata": {"name": "expressions"},
    "spec": {"validationActions": ["Deny"],
             "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]},
             "validations": [{"expression": "object.metadata.name != 'no'", "message": "not this name"}]},
}


class OwnServe(Serve):
    """A server that reads policies of the cluster and writes its webhook configurations, with an account of its own."""

    def start(self):
        self.flags = ["--kubeconfig", self.kubeconfig(), "--kinds", "all", "--own-group", "--exceptions", "*", "--lease", "ephor/ephor",
                      "--url", f"https://127.0.0.1:{self.port}", "--ca-bundle", self.ca, "--service-namespace", "ephor", "--reports", "--events"]
        super().start()

    def kubeconfig(self):
        path = "/api/v1/namespaces/ephor/serviceaccounts/ephor/token"
        token = self.cluster.call("POST", path, {"spec": {"expirationSeconds": 7200}}).object["status"]["token"]
        with open(self.cluster.kubeconfig, encoding="utf-8") as f:
            config = json.load(f)
        config["users"] = [{"name": "admin", "user": {"token": token}}]
        written = self.cluster.path("own-kubeconfig")
        with open(written, "w", encoding="utf-8") as f:
            json.dump(config, f)
        return written


RBAC = "/apis/rbac.authorization.k8s.io/v1/"
PATHS = {
    "ServiceAccount": "/api/v1/namespaces/ephor/serviceaccounts",
    "Role": RBAC + "namespaces/ephor/roles",
    "RoleBinding": RBAC + "namespaces/ephor/rolebindings",
    "ClusterRole": RBAC + "clusterroles",
    "ClusterRoleBinding": RBAC + "clusterrolebindings",
}
AGGREGATED = "rbac.ephor.dev/aggregate-to-ephor"


def account(cluster):
    """The account of the manifest and its rights. No controller aggregates roles here: each that is part of another is bound."""
    assert cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": "ephor"}}).code in (201, 409)
    manifest = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/manifests/ephor-own-group.yaml")
    with open(manifest, encoding="utf-8") as f:
        documents = f.read().split("\n---\n")
    # What Kubernetes adds up to the role `view`.
    bind(cluster, "system:aggregate-to-view")
    for document in documents:
        kind = next(line.split()[1] for line in document.splitlines() if line.startswith("kind:"))
        if kind in PATHS:
            answer = cluster.call("POST", PATHS[kind], document, content_type="application/yaml")
            assert answer.code in (201, 409), answer.message
            if AGGREGATED in answer.object.get("metadata", {}).get("labels", {}):
                bind(cluster, answer.object["metadata"]["name"])


def bind(cluster, role):
    subject = {"kind": "ServiceAccount", "name": "ephor", "namespace": "ephor"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    binding = {"metadata": {"name": "test:" + role}, "roleRef": reference, "subjects": [subject]}
    assert cluster.call("POST", PATHS["ClusterRoleBinding"], binding).code in (201, 409)


def may(cluster, name, verbs):
    """A role for ConfigMaps, as the values `rbac.backgroundRules` and `rbac.cleanupRules` give it."""
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]
    assert cluster.call("POST", PATHS["ClusterRole"], {"metadata": {"name": name}, "rules": rules}).ok
    bind(cluster, name)


def definitions(cluster, ephor, *arguments):
    """Creates what `ephor crds` prints."""
    printed = subprocess.run([ephor, "crds", "-o", "json", *arguments], check=True, capture_output=True, text=True).stdout
    for definition in json.loads(printed)["items"]:
        answer = cluster.call("POST", DEFINITIONS, definition)
        assert answer.ok or answer.code == 409, answer.message


def emptied(cluster, ephor, *groups):
    """Deletes what other parts have stored of the groups."""
    printed = subprocess.run([ephor, "crds", "-o", "json", *groups], check=True, capture_output=True, text=True).stdout
    for definition in json.loads(printed)["items"]:
        spec = definition["spec"]
        for version in (v["name"] for v in spec["versions"] if v["storage"]):
            base = f"/apis/{spec['group']}/{version}"
            for found in cluster.call("GET", f"{base}/{spec['names']['plural']}").object.get("items", []):
                metadata = found["metadata"]
                within = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
                cluster.call("DELETE", f"{base}{within}/{spec['names']['plural']}/{metadata['name']}")


def served(cluster, path):
    cluster.until(f"{path} is served", lambda: cluster.call("GET", path).ok)


def own_group(cluster, checks, ephor):
    definitions(cluster, ephor, "kyverno.io", "policies.kyverno.io")
    served(cluster, THEIRS)
    emptied(cluster, ephor, "kyverno.io", "policies.kyverno.io")
    assert cluster.call("POST", THEIRS, policy("stored", "team")).ok
    hooks = Hooks(cluster.dir)
    hooks.answers["deny"] = {"response": {"allowed": False, "status": {"message": "the webhook denies this"}}}
    webhook = {"name": "deny.kyverno.test", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
               "clientConfig": {"url": hooks.url + "/deny", "caBundle": hooks.ca_bundle},
               "rules": [{"apiGroups": ["kyverno.io"], "apiVersions": ["*"], "resources": ["*"], "operations": ["CREATE", "UPDATE"]}]}
    denying = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "deny"}, "webhooks": [webhook]}
    assert cluster.call("POST", HOOKS, denying).ok
    server = None
    try:
        cluster.until("the webhook denies", lambda: not cluster.call("POST", THEIRS + "?dryRun=All", policy("new", "a")).ok)
        checks.denied("a policy of kyverno.io", cluster.call("POST", THEIRS, policy("new", "a")), "the webhook denies this")
        definitions(cluster, ephor, "--own-group")
        definitions(cluster, ephor, "wgpolicyk8s.io")
        account(cluster)
        served(cluster, OURS)
        served(cluster, CEL)
        served(cluster, REPORTS)
        command = [ephor, "convert", "--own-group", "--cluster", "--kubeconfig", cluster.kubeconfig]
        converted = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        checks.that("what is converted", converted.count("apiVersion: ephor.dev/v1\n") == 1 and "kyverno.io" not in converted, converted)
        checks.allowed("the converted policy", cluster.call("POST", OURS, converted, content_type="application/yaml"), [])
        server = OwnServe(cluster, ephor, "own", {})
        in_use(cluster, checks)
        reviewed(cluster, checks)
        written(cluster, checks)
        background(cluster, checks)
        context(cluster, checks)
        reported(cluster, checks)
        checks.that("nothing is wrong with the server", server.get("/readyz") == 200, server.page("/readyz"))
        theirs = cluster.call("GET", THEIRS + "/stored").object
        checks.that("Kyverno's policy is as it was", "status" not in theirs, theirs.get("status"))
        users = {call["review"]["request"]["userInfo"]["username"] for call in hooks.take_calls()}
        checks.that("the server has written nothing to kyverno.io", users == {"admin"}, users)
        with open(cluster.path("serve.log"), encoding="utf-8") as log:
            forbidden = [line.strip() for line in log if "orbidden" in line or "cannot" in line]
        checks.that("no right is missing", not forbidden, forbidden)
    finally:
        if server:
            server.stop()
        for found in cluster.call("GET", HOOKS).object.get("items", []):
            cluster.call("DELETE", HOOKS + "/" + found["metadata"]["name"])
        mutating = HOOKS.replace("validating", "mutating")
        for found in cluster.call("GET", mutating).object.get("items", []):
            cluster.call("DELETE", mutating + "/" + found["metadata"]["name"])
        hooks.close()


def in_use(cluster, checks):
    """The stored policies decide requests."""
    bad, good = config_map("own"), config_map("own", labels={"team": "a"})
    cluster.until("the policy is in force", lambda: not cluster.create(bad, dry_run=True).ok)
    checks.denied("a policy of our own group", cluster.create(bad, dry_run=True), "label team is needed")
    checks.allowed("what satisfies it", cluster.create(good, dry_run=True))
    checks.allowed("an exception", cluster.call("POST", EXCEPTIONS, EXCEPTION))
    cluster.until("the exception counts", lambda: cluster.create(config_map("exempt"), dry_run=True).ok)
    checks.allowed("a policy with expressions", cluster.call("POST", CEL, EXPRESSIONS))
    no = config_map("no", labels={"team": "a"})
    cluster.until("the expressions count", lambda: not cluster.create(no, dry_run=True).ok)
    checks.denied("expressions", cluster.create(no, dry_run=True), "not this name")


def reviewed(cluster, checks):
    """Policies of our own group are reviewed themselves."""
    broken = policy("broken", "a", "ephor.dev")
    broken["spec"]["rules"][0]["match"] = {"any": [{"resources": {"kinds": ["ConfigMap"]}}], "all": [{"resources": {"kinds": ["Pod"]}}]}
    checks.denied("a policy that cannot be used", cluster.call("POST", OURS, broken))


def ready(cluster, path):
    """The conditions of a policy that is ready."""
    status = cluster.call("GET", path).object.get("status", {})
    conditions = status.get("conditions") or status.get("conditionStatus", {}).get("conditions", [])
    return conditions and all(c["status"] == "True" for c in conditions) and conditions


def written(cluster, checks):
    """Statuses."""
    cluster.until("the policy is ready", lambda: ready(cluster, OURS + "/stored"))
    cluster.until("the one with expressions is ready", lambda: ready(cluster, CEL + "/expressions"))
    found = ready(cluster, OURS + "/stored")
    checks.that("conditions name their generation", [c.get("observedGeneration") for c in found] == [1], found)


def background(cluster, checks):
    """What policies generate, change and delete."""
    path, policy_that_generates, _ = BACKGROUND[0]
    refused = cluster.call("POST", path, policy_that_generates)
    checks.denied("a policy that generates what the account may not", refused, "requires permissions")
    may(cluster, "test:background", ["create", "update", "patch", "delete"])
    for name in ("existing", *(name for _, _, name in DELETING)):
        assert cluster.create(config_map(name, labels=TEAM)).ok
    for path, stored, _ in BACKGROUND + CHANGING + DELETING:
        cluster.until("the right counts", lambda p=path, s=stored: cluster.call("POST", p + "?dryRun=All", s).ok)
        checks.allowed(stored["metadata"]["name"], cluster.call("POST", path, stored))
    for path, stored, _ in BACKGROUND + CHANGING:
        cluster.until(f"{stored['metadata']['name']} is ready", lambda p=path, s=stored: ready(cluster, f"{p}/{s['metadata']['name']}"))
    checks.allowed("the trigger", cluster.create(config_map("trigger", labels=TEAM)))
    for _, stored, name in BACKGROUND:
        cluster.until(f"{stored['kind']} has generated", lambda n=name: cluster.get(config_map(n)).ok)
    for _, stored, label in CHANGING:
        cluster.until(f"{stored['kind']} has changed what exists",
                      lambda n=label: n in cluster.get(config_map("existing")).object["metadata"]["labels"])
    # Work that is done is gone, and was in our own group.
    requests = "/apis/%s/v2/namespaces/ephor/updaterequests"
    cluster.until("no work is left", lambda: not cluster.call("GET", requests % "ephor.dev").object["items"])
    checks.that("no work was in kyverno.io", cluster.call("GET", requests % "kyverno.io").object["items"] == [])
    for path, stored, name in BACKGROUND:
        assert cluster.call("DELETE", f"{path}/{stored['metadata']['name']}").ok
    for _, stored, name in BACKGROUND[:2]:
        cluster.until(f"what {stored['metadata']['name']} generated goes with it", lambda n=name: not cluster.get(config_map(n)).ok)
    for _, stored, name in DELETING:
        cluster.until(f"{stored['kind']} has deleted", lambda n=name: not cluster.get(config_map(n)).ok, 90)


def context(cluster, checks):
    """Global context entries of our own group."""
    # Other parts leave ConfigMaps in the namespaces that all have.
    assert cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "counted"}}).ok
    checks.allowed("an entry", cluster.call("POST", "/apis/ephor.dev/v2beta1/globalcontextentries", ENTRY))
    checks.allowed("a policy that reads it", cluster.call("POST", OURS, READING))
    cluster.until("it is ready", lambda: ready(cluster, OURS + "/reads"))
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "shop"}, "spec": {"ports": [{"port": 80}]}}
    cluster.until("the entry counts", lambda: "ConfigMap in counted" in cluster.create(service, dry_run=True).message)
    assert cluster.create(config_map("one", "counted")).ok
    cluster.until("a change of what it reads counts", lambda: cluster.create(service, dry_run=True).ok)


def reported(cluster, checks):
    """Reports and events name the policies."""
    def results():
        reports = cluster.call("GET", REPORTS).object.get("items", [])
        return {result["policy"] for report in reports for result in report.get("results", [])}

    cluster.until("a policy is in a report", lambda: "expressions" in results())
    def named():
        events = cluster.call("GET", "/apis/events.k8s.io/v1/events").object["items"]
        return {event["regarding"]["apiVersion"] for event in events if event["regarding"].get("name") in ("stored", "expressions")}

    for name in ("own", "no"):
        checks.that(f"{name} is denied", not cluster.create(config_map(name)).ok)
    cluster.until("there are events about both policies", lambda: len(named()) == 2)
    checks.that("events name policies of our own groups", {version.split("/")[0] for version in named()} == {"ephor.dev", "policies.ephor.dev"}, named())
