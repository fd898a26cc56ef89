"""A server that takes the data of rules from the cluster, and writes to it."""

import json
import os
import subprocess

from policies import GLOBAL_ENTRY, LIVE, LIVE_BINDING, VIEWS_BINDING
from serving import Serve, config_map


def labelled(name, live, data=None, namespace="shop"):
    return config_map(name, namespace, labels={"live": live}, data=data)


def plain(kind, name, **more):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"}, **more}


def live(cluster, checks, ephor):
    """Data of rules comes from the cluster as it is now."""
    for found in cluster.call("GET", "/api/v1/namespaces/shop/secrets").object.get("items", []):
        cluster.delete({"apiVersion": "v1", "kind": "Secret", **found})
    assert cluster.create(config_map("teams", data={"all": '["red", "blue"]'})).ok
    assert cluster.create(config_map("limits", data={"most": "10"})).ok
    assert cluster.create(config_map("colors", data={"color": "green"})).ok
    definitions(cluster)
    settings = {"resourceFilters": "[Event,*,*][ConfigMap,shop,filtered-*]", "excludeUsernames": "no-such-user"}
    assert cluster.create(config_map("settings", data=settings)).ok
    flags = ["--kubeconfig", cluster.kubeconfig, "--config-map-name", "shop/settings", "--reports", "--events"]
    server = Serve(cluster, ephor, "live", LIVE, flags)
    try:
        server.write("binding", LIVE_BINDING)
        server.write("views-binding", VIEWS_BINDING)
        with open(os.path.join(server.data, "secrets.json"), "w", encoding="utf-8") as f:
            json.dump(GLOBAL_ENTRY, f)
        server.register()
        rules(cluster, checks)
        people(cluster, checks)
        kubernetes(cluster, checks, server)
        defined_later(cluster, checks, ephor)
        left_out(cluster, checks)
        reports(cluster, checks)
        events(cluster, checks)
        checks.that("nothing is wrong with the server", server.get("/readyz") == 200, server.page("/readyz"))
    finally:
        server.unregister()
        server.stop()


def rules(cluster, checks):
    labels = {"only-prod": "yes"}
    checks.denied("a rule for namespaces with a label", cluster.create(config_map("p", labels=labels), dry_run=True), "not in prod")
    checks.allowed("a namespace without it", cluster.create(config_map("p", "lab", labels=labels), dry_run=True))
    assert cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "newest", "labels": {"env": "prod"}}}).ok
    checks.denied("a namespace that was just created",
                  cluster.create(config_map("p", "newest", labels=labels), dry_run=True), "not in prod")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "newest"}}
    assert cluster.merge(namespace, {"metadata": {"labels": {"env": "test"}}}).ok
    cluster.until("another label of the namespace is seen",
                  lambda: cluster.create(config_map("p", "newest", labels=labels), dry_run=True).ok)
    # A ConfigMap and its change.
    green = labelled("t", "teams", {"team": "green"})
    checks.allowed("a known team", cluster.create(labelled("t", "teams", {"team": "red"}), dry_run=True))
    checks.denied("an unknown team", cluster.create(green, dry_run=True), "unknown team")
    assert cluster.merge(config_map("teams"), {"data": {"all": '["red", "green"]'}}).ok
    cluster.until("the change of the ConfigMap is seen", lambda: cluster.create(green, dry_run=True).ok)
    checks.denied("a team that is no more", cluster.create(labelled("t", "teams", {"team": "blue"}), dry_run=True), "unknown team")
    # Answers of the API.
    service = plain("Service", "one", spec={"ports": [{"port": 80}]})
    checks.allowed("few services", cluster.create(labelled("s", "services"), dry_run=True))
    for name in ("one", "two"):
        assert cluster.create({**service, "metadata": {"name": name, "namespace": "shop"}}).ok
    checks.denied("more services", cluster.create(labelled("s", "services"), dry_run=True), "too many services")
    # A global entry over watched objects.
    cluster.until("the global entry is known", lambda: cluster.create(labelled("g", "secrets"), dry_run=True).ok)
    for name in ("one", "two"):
        assert cluster.create(plain("Secret", name)).ok
    cluster.until("more secrets are seen", lambda: "too many secrets" in cluster.create(labelled("g", "secrets"), dry_run=True).message)
    # Expressions.
    checks.allowed("within limits", cluster.create(config_map("l", data={"size": "10"}), dry_run=True))
    checks.denied("over the limit", cluster.create(config_map("l", data={"size": "11"}), dry_run=True), "too large")


def definitions(cluster):
    """The kinds of reports."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "reports.yaml"), encoding="utf-8") as f:
        for document in f.read().split("---\n"):
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            answer = cluster.call("POST", path, document, content_type="application/yaml")
            assert answer.ok, answer.message
    cluster.until("reports are served", lambda: cluster.call("GET", REPORTS.format("lab")).ok)


REPORTS = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/{}/policyreports"
EVENTS = "/apis/events.k8s.io/v1/namespaces/{}/events"


def defined_later(cluster, checks, ephor):
    """A global entry whose kind is defined after the server has started."""
    request = labelled("g", "later")
    checks.denied("an entry that is not there", cluster.create(request, dry_run=True), "failed to fetch entry")
    printed = subprocess.run([ephor, "crds", "-o", "json", "kyverno.io"], check=True, capture_output=True, text=True).stdout
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for definition in json.loads(printed)["items"]:
        if definition["spec"]["names"]["kind"] == "GlobalContextEntry":
            assert cluster.call("POST", path, definition).ok
    entries = "/apis/kyverno.io/v2beta1/globalcontextentries"
    cluster.until("the kind is served", lambda: cluster.call("GET", entries).ok)
    assert cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}}).ok
    entry = {**GLOBAL_ENTRY, "metadata": {"name": "later"}, "spec": {"kubernetesResource": {"version": "v1", "resource": "configmaps", "namespace": "later"}}}
    assert cluster.call("POST", entries, entry).ok
    cluster.until("the entry is known", lambda: cluster.create(request, dry_run=True).ok)
    assert cluster.create(config_map("one", "later")).ok
    cluster.until("what it watches is seen", lambda: "ConfigMap in later" in cluster.create(request, dry_run=True).message)
    assert cluster.call("DELETE", entries + "/later").ok


def left_out(cluster, checks):
    """Requests that the settings leave out, and a change of the settings."""
    labels = {"deny": "yes"}
    checks.denied("an object that no filter covers", cluster.create(config_map("some", labels=labels), dry_run=True), "label deny is set")
    checks.allowed("a filtered object", cluster.create(config_map("filtered-1", labels=labels), dry_run=True))
    alice = {"dry_run": True, "user": "alice"}
    checks.denied("a user", cluster.create(config_map("some", labels=labels), **alice), "label deny is set")
    assert cluster.merge(config_map("settings"), {"data": {"excludeUsernames": "ali*", "resourceFilters": ""}}).ok
    cluster.until("an excluded user passes", lambda: cluster.create(config_map("some", labels=labels), **alice).ok)
    checks.denied("the filter is gone", cluster.create(config_map("filtered-1", labels=labels), dry_run=True), "label deny is set")


def reports(cluster, checks):
    made = cluster.create(config_map("reported", "lab", labels={"audit": "yes"}))
    uid = made.object["metadata"]["uid"]

    def result():
        report = cluster.call("GET", REPORTS.format("lab") + "/" + uid)
        found = [r for r in report.object.get("results", []) if r["policy"] == "audit-label"]
        return (found[0]["result"] if found else None), report.object

    cluster.until("a failure is reported", lambda: result()[0] == "fail")
    report = result()[1]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "reported", "uid": uid}
    checks.that("the report belongs to the object", report["metadata"].get("ownerReferences") == [owner], report["metadata"])
    checks.that("its scope", report["scope"] == {**owner, "namespace": "lab"}, report["scope"])
    found = next(r for r in report["results"] if r["policy"] == "audit-label")
    fields = (found["message"], found["rule"], found["source"], found["scored"])
    checks.that("the result", fields == ("label audit is set", "audit", "kyverno", True), found)
    results = [r["result"] for r in report["results"]]
    checks.that("the summary counts", all(report["summary"][s] == results.count(s) for s in ("pass", "fail", "skip")), report)
    assert cluster.merge(config_map("reported", "lab"), {"metadata": {"labels": {"audit": None}}}).ok
    cluster.until("the report changes with the object", lambda: result()[0] == "pass")
    checks.denied("an object that is refused", cluster.create(config_map("refused", "lab", labels={"deny": "yes"})), "label deny is set")
    checks.allowed("a dry run", cluster.create(config_map("dry-run", "lab", labels={"audit": "yes"}), dry_run=True))
    assert cluster.create(config_map("next", "lab")).ok

    def scopes():
        items = cluster.call("GET", REPORTS.format("lab")).object["items"]
        return {r["scope"]["name"]: {result["policy"] for result in r["results"]} for r in items}

    cluster.until("the next report", lambda: "next" in scopes())
    found = scopes()
    # Another webhook may have admitted the refused object; its report goes with the object that was never stored.
    checks.that("a dry run has no report", "dry-run" not in found, found)
    checks.that("a policy that is not to be reported is not", "silent-label" not in found["next"], found)
    checks.that("what was refused is not reported", "deny-label" not in found.get("refused", ()), found)


def events(cluster, checks):
    def notes(namespace):
        return {e.get("note", "") for e in cluster.call("GET", EVENTS.format(namespace)).object["items"]}

    blocked = "ConfigMap lab/refused: [deny] fail (blocked); label deny is set"
    cluster.until("an event of a refused request", lambda: blocked in notes("default"))
    violated = "policy audit-label/audit fail: label audit is set"
    cluster.until("an event of an object that violates a policy", lambda: violated in notes("lab"))
    event = next(e for e in cluster.call("GET", EVENTS.format("default")).object["items"] if e.get("note") == blocked)
    fields = (event["type"], event["reason"], event["action"], event["reportingController"], event["regarding"]["name"])
    checks.that("its fields", fields == ("Warning", "PolicyViolation", "Resource Blocked", "kyverno-admission", "deny-label"), event)


RBAC = "/apis/rbac.authorization.k8s.io/v1"


def people(cluster, checks):
    """Roles of users come from bindings of the cluster."""
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get"]}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "intern"}, "rules": [rule]}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "interns"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "intern"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    }
    assert cluster.call("POST", RBAC + "/clusterroles", role).ok
    assert cluster.call("POST", RBAC + "/clusterrolebindings", binding).ok
    cluster.until("alice may create", lambda: cluster.create(config_map("a"), dry_run=True, user="alice").ok)
    cluster.until("her role is known", lambda: "not for interns" in cluster.create(
        labelled("a", "roles"), dry_run=True, user="alice").message)
    checks.allowed("another user", cluster.create(labelled("a", "roles"), dry_run=True))


def kubernetes(cluster, checks, server):
    """Kubernetes' own policies: parameters, the authorizer, and the release of the API server."""
    release = ".".join(cluster.version().lstrip("v").split(".")[:2])
    checks.that("the release is the API server's", f"kubernetes {release}\n" in server.page("/readyz"), server.page("/readyz"))
    hook = {
        "name": "all.hooks.test", "clientConfig": {"url": f"https://127.0.0.1:{server.port}/validate", "caBundle": server.bundle()},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "objectSelector": {"matchExpressions": [{"key": "live", "operator": "In", "values": ["params", "views"]}]}, "sideEffects": "None", "admissionReviewVersions": ["v1"],
    }
    config = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
              "metadata": {"name": "all"}, "webhooks": [hook]}
    try:
        assert cluster.create(config).ok
        red = labelled("c", "params", {"color": "red"})
        cluster.until("the configuration is in force", lambda: "not green" in cluster.create(red, dry_run=True).message)
        green = labelled("c", "params", {"color": "green"})
        checks.allowed("the parameter's color", cluster.create(green, dry_run=True))
        seen = cluster.create(labelled("v", "views"), dry_run=True)
        if release == "1.36":
            checks.denied("a structure that is a tree", seen, "seen as a tree")
        else:
            checks.allowed("a structure of its type", seen)
        checks.denied("a user who may not", cluster.create(green, dry_run=True, user="alice"), "may not create secrets")
        assert cluster.merge(config_map("colors"), {"data": {"color": "red"}}).ok
        cluster.until("the change of the parameter is seen", lambda: cluster.create(red, dry_run=True).ok)
        checks.denied("the color before", cluster.create(green, dry_run=True), "not red")
    finally:
        cluster.delete(config)
