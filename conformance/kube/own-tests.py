#!/usr/bin/env python3
"""Cases of our own on a cluster with `ephor` in Kyverno's place; what is expected was recorded from Kyverno 1.19.1's controllers.

usage: own-tests.py [--reference] EPHOR [CASE...]

The cluster is one of clusters.py. `--reference` runs Kyverno's controllers instead (built by `chainsaw/build.sh BIN TESTS
controllers` below EPHOR_ORACLE into the folder that EPHOR_KUBE_BIN names), which checks what is expected here. Without a case all run.
Exit code 1 when one fails; what is missing is reported in a line `skipped: …`.
"""

import argparse
import copy
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from clusters import Clusters, needed, output, run  # noqa: E402
from faults import Api  # noqa: E402

PATHS = {
    "ClusterPolicy": "/apis/kyverno.io/v1/clusterpolicies",
    "MutatingPolicy": "/apis/policies.kyverno.io/v1/mutatingpolicies",
    "GeneratingPolicy": "/apis/policies.kyverno.io/v1/generatingpolicies",
    "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps",
    "Secret": "/api/v1/namespaces/{namespace}/secrets",
    "Pod": "/api/v1/namespaces/{namespace}/pods",
    "Namespace": "/api/v1/namespaces",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
}
PATIENCE = 60


class Failed(Exception):
    """Something is not as it should be."""


class Cluster:
    """A cluster as the cases see it."""

    def __init__(self, state, index):
        self.api = Api(state, index)

    def create(self, kind, name, namespace=None, **more):
        """Creates an object; code, message and warnings of the answer."""
        group = {"ClusterPolicy": "kyverno.io/v1", "GeneratingPolicy": "policies.kyverno.io/v1", "MutatingPolicy": "policies.kyverno.io/v1",
                 "ClusterRole": "rbac.authorization.k8s.io/v1"}.get(kind, "v1")
        metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **more.pop("metadata", {})}
        body = {"apiVersion": group, "kind": kind, "metadata": metadata, **more}
        at = self.api.connect(30)
        at.request("POST", PATHS[kind].format(namespace=namespace), json.dumps(body), {"Content-Type": "application/json"})
        answer = at.getresponse()
        warnings = [w.split('"', 1)[1].rsplit('"', 1)[0].replace('\\"', '"') for w in answer.headers.get_all("Warning") or []]
        text = json.loads(answer.read())
        return answer.status, text.get("message", ""), warnings

    def made(self, kind, name, namespace=None, **more):
        # A server that has just started may not have its certificate yet.
        for _ in range(20):
            code, message, _ = self.create(kind, name, namespace, **copy.deepcopy(more))
            if code != 500:
                break
            time.sleep(1)
        expect(code == 201, f"{kind} {name} is created: {code} {message}")

    def delete(self, path):
        self.api.call("DELETE", path)

    def get(self, path):
        code, found = self.api.call("GET", path)
        return found if code == 200 else None

    def names(self, kind, namespace, selector=""):
        found = self.get(PATHS[kind].format(namespace=namespace) + f"?labelSelector={selector}")
        return sorted(o["metadata"]["name"] for o in found["items"])

    def ready(self, kind, name):
        def is_ready():
            status = (self.get(f"{PATHS[kind]}/{name}") or {}).get("status", {})
            all_of = status.get("conditions") or status.get("conditionStatus", {}).get("conditions") or []
            return bool(all_of) and all(c["status"] == "True" for c in all_of)
        self.until(f"{kind} {name} is ready", is_ready)
        time.sleep(2)

    def until(self, what, holds):
        end = time.time() + PATIENCE
        while not holds():
            expect(time.time() < end, what)
            time.sleep(0.3)


def expect(holds, what):
    if not holds:
        raise Failed(what)


def rule(name, kind, prefix, **body):
    return {"name": name, "match": {"any": [{"resources": {"kinds": [kind], "names": [f"{prefix}*"]}}]}, **body}


def account(cluster, controller, name, resources, verbs, names=None):
    labels = {f"rbac.kyverno.io/aggregate-to-{c}-controller": "true" for c in controller}
    rules = [{"apiGroups": [""], "resources": resources, "verbs": verbs, **({"resourceNames": names} if names else {})}]
    cluster.made("ClusterRole", name, metadata={"labels": labels}, rules=rules)


def deleted_triggers(cluster):
    """A trigger that is deleted takes along what a GeneratingPolicy generated from a list; what another one generated stays."""
    account(cluster, ["background", "admission"], "own:secrets", ["secrets", "configmaps"], ["*"])
    for name in ("a", "b"):
        cluster.made("Secret", name, "own", metadata={"labels": {"pick": "me"}})
    secret = '{"apiVersion": dyn("v1"), "kind": dyn("Secret"), "metadata": dyn({"name": object.metadata.name, "namespace": "own"})}'
    for policy, expression in (("copies", "generator.Apply(\"own-copies\", [variables.all])"), ("data", f"generator.Apply(\"own\", [{secret}])")):
        cluster.made("GeneratingPolicy", policy, spec={
            "evaluation": {"synchronize": {"enabled": True}},
            "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]},
            "matchConditions": [{"name": "c", "expression": f'object.metadata.name.startsWith("{policy}")'}],
            "variables": [{"name": "all", "expression": 'resource.List("v1", "secrets", "own", {"pick": "me"})'}],
            "generate": [{"expression": expression}]})
        cluster.ready("GeneratingPolicy", policy)

    def of(policy, namespace="own"):
        return cluster.names("Secret", namespace, f"generate.kyverno.io/policy-name%3D{policy}")
    cluster.made("ConfigMap", "copies-trigger", "own")
    cluster.until("both copies are there", lambda: of("copies", "own-copies") == ["a", "b"])
    cluster.delete("/api/v1/namespaces/own/configmaps/copies-trigger")
    cluster.until("the copies are gone", lambda: not of("copies", "own-copies"))
    for name in ("data-1", "data-2"):
        cluster.made("ConfigMap", name, "own")
    cluster.until("both triggers have an object", lambda: of("data") == ["data-1", "data-2"])
    cluster.delete("/api/v1/namespaces/own/configmaps/data-1")
    cluster.until("one is left", lambda: of("data") == ["data-2"])


def resource_filters(cluster):
    """A resource filter that is removed from Kyverno's ConfigMap counts for the next request, also for `Pod/binding`."""
    path = "/api/v1/namespaces/kyverno/configmaps/kyverno"
    before = cluster.get(path)["data"]["resourceFilters"]
    patch = {"patchStrategicMerge": {"metadata": {"annotations": {"seen": "yes"}}}}
    cluster.made("ClusterPolicy", "binding", spec={"background": False, "rules": [
        {"name": "r", "match": {"any": [{"resources": {"kinds": ["Pod/binding"], "namespaces": ["own"]}}]}, "mutate": patch}]})
    cluster.ready("ClusterPolicy", "binding")

    def bound(name):
        cluster.made("Pod", name, "own", spec={"containers": [{"name": "a", "image": "ghcr.io/a/b:1"}]})
        pod = f"/api/v1/namespaces/own/pods/{name}"
        cluster.until(f"{name} is bound", lambda: cluster.get(pod)["spec"].get("nodeName"))
        return cluster.get(pod)["metadata"].get("annotations", {}).get("seen")
    try:
        expect(bound("filtered") is None, "a binding is left out")
        cluster.api.call("PATCH", path, {"data": {"resourceFilters": before.replace("[Pod/binding,*,*]", "")}}, kind="application/merge-patch+json")
        expect(bound("seen") == "yes", "the next binding is not left out")
    finally:
        cluster.api.call("PATCH", path, {"data": {"resourceFilters": before}}, kind="application/merge-patch+json")


def rights(cluster):
    """A right to one object by its name is enough for a target of that name, and for no other."""
    def applied(name, target):
        cluster.delete(f"{PATHS['ClusterPolicy']}/targets")
        targets = [{"apiVersion": "v1", "kind": "ServiceAccount", "namespace": "own", **target}]
        mutate = {"targets": targets, "patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}}
        return cluster.create("ClusterPolicy", "targets", spec={"rules": [rule("r", "ConfigMap", name, mutate=mutate)]})
    account(cluster, ["background"], "own:named", ["serviceaccounts"], ["get", "update"], ["one"])
    cluster.until("the right is known", lambda: applied("x", {"name": "one"})[0] == 201)
    for target in ({"name": "two"}, {"name": "o*"}, {}):
        code, message, _ = applied("x", target)
        expect(code == 400 and "path: spec.rules[0].mutate.targets.: auth check fails" in message, f"{target}: {code} {message}")
    cluster.delete(f"{PATHS['ClusterPolicy']}/targets")


def warnings(cluster):
    """Policy admission warns of deprecated operators, and of CEL that does not fit the types."""
    deny = {"message": "m", "deny": {"conditions": {"all": [{"key": "{{request.object.metadata.name}}", "operator": "In", "value": ["a"]}]}}}
    _, _, found = cluster.create("ClusterPolicy", "operators", spec={"rules": [rule("r", "ConfigMap", "x", validate=deny)]})
    text = 'Operator In has been deprecated and will be removed soon. Use these instead: ["AllIn" "AnyIn"]'
    expect(text in found, found)
    cel = {"cel": {"expressions": [{"expression": "object.spec.replicaz > 1", "message": "m"}]}}
    _, _, found = cluster.create("ClusterPolicy", "types", spec={"rules": [
        {"name": "r", "match": {"any": [{"resources": {"kinds": ["Deployment"]}}]}, "validate": cel}]})
    text = ("spec.rules[0].validate.cel.expressions[0].expression:apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replicaz'; "
            "| object.spec.replicaz > 1; | ...........^;")
    expect(text in found, found)


def reports(cluster):
    """A change of an existing object is a result in the report of its trigger, with message, process and target."""
    mutate = {"targets": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "target", "namespace": "own"}],
              "patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}}
    account(cluster, ["background"], "own:maps", ["configmaps"], ["*"])
    cluster.made("ClusterPolicy", "existing", spec={"rules": [rule("r", "ConfigMap", "go", mutate=mutate)]})
    cluster.ready("ClusterPolicy", "existing")
    cluster.made("ConfigMap", "target", "own")
    cluster.made("ConfigMap", "go", "own")
    uid = cluster.get("/api/v1/namespaces/own/configmaps/go")["metadata"]["uid"]

    def entry():
        report = cluster.get(f"/apis/wgpolicyk8s.io/v1alpha2/namespaces/own/policyreports/{uid}") or {}
        return next((r for r in report.get("results", []) if r["policy"] == "existing"), None)
    cluster.until("there is a result", entry)
    found = entry()
    expect((found["result"], found["message"]) == ("pass", "mutated ConfigMap/target in namespace own"), found)
    expect(found["properties"] == {"patched-target": "/v1, Kind=ConfigMap Name=target Namespace=own", "process": "background scan"}, found)


def targets(cluster):
    """What a MutatingPolicy changes of existing objects is a result in their reports, and none in that of the trigger."""
    account(cluster, ["background"], "own:targets", ["configmaps"], ["*"])
    maps = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]}
    label = 'Object{metadata: Object.metadata{labels: Object.metadata.labels{x: "y"}}}'
    cluster.made("MutatingPolicy", "mark", spec={
        "evaluation": {"mutateExisting": {"enabled": True}}, "matchConstraints": maps,
        "matchConditions": [{"name": "c", "expression": 'object.metadata.name.startsWith("mark-go")'}],
        "targetMatchConstraints": {**maps, "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "own"}}},
        "targetMatchConditions": [{"name": "t", "expression": 'object.metadata.name == "mark-target"'}],
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": label}}]})
    cluster.ready("MutatingPolicy", "mark")
    for name in ("mark-target", "mark-other"):
        cluster.made("ConfigMap", name, "own")

    def result(name):
        uid = cluster.get(f"/api/v1/namespaces/own/configmaps/{name}")["metadata"]["uid"]
        report = cluster.get(f"/apis/wgpolicyk8s.io/v1alpha2/namespaces/own/policyreports/{uid}") or {}
        found = [(r["result"], r["message"]) for r in report.get("results", []) if r["policy"] == "mark"]
        return found[0] if found else None
    cluster.until("an object that is no trigger is skipped", lambda: result("mark-other") == ("skip", "skip"))
    cluster.made("ConfigMap", "mark-go", "own")
    cluster.until("the changed object passes", lambda: result("mark-target") == ("pass", "success"))
    expect(result("mark-go") is None, result("mark-go"))


def configurations(cluster):
    """An installation has all webhook configurations of Kyverno, with its names of webhooks."""
    base = "/apis/admissionregistration.k8s.io/v1"
    found = {}
    for kind in ("mutating", "validating"):
        for item in cluster.get(f"{base}/{kind}webhookconfigurations")["items"]:
            found[item["metadata"]["name"]] = [w["name"] for w in item.get("webhooks", [])]
    wanted = {"kyverno-policy-mutating-webhook-cfg": "mutate-policy.kyverno.svc", "kyverno-verify-mutating-webhook-cfg": "monitor-webhooks.kyverno.svc",
              "kyverno-policy-validating-webhook-cfg": "validate-policy.kyverno.svc", "kyverno-exception-validating-webhook-cfg": "kyverno-svc.kyverno.svc",
              "kyverno-cel-exception-validating-webhook-cfg": "kyverno-svc.kyverno.svc",
              "kyverno-global-context-validating-webhook-cfg": "kyverno-svc.kyverno.svc",
              "kyverno-cleanup-validating-webhook-cfg": "kyverno-cleanup-controller.kyverno.svc",
              "kyverno-ttl-validating-webhook-cfg": "kyverno-cleanup-controller.kyverno.svc"}
    for name, webhook in wanted.items():
        expect(found.get(name) == [webhook], f"{name}: {found.get(name)}")
    for name in ("mutating", "validating"):
        expect(f"kyverno-resource-{name}-webhook-cfg" in found, found)


CASES = [configurations, warnings, rights, resource_filters, reports, targets, deleted_triggers]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("ephor", type=os.path.abspath)
    p.add_argument("cases", nargs="*", help=", ".join(case.__name__ for case in CASES))
    p.add_argument("--reference", action="store_true", help="Kyverno's own controllers")
    o = p.parse_args()
    needed()
    clusters, failed = None, 0
    try:
        clusters = Clusters(o.ephor, 1, engine=not o.reference)
        index, state = clusters.states[0]
        clusters.start(0)
        if o.reference:
            output([clusters.script("reference.py"), clusters.bin, clusters.tests, state, str(index), "--configs", "standard"])
        else:
            clusters.configure(0, "standard")
        cluster = Cluster(state, index)
        for name in ("own", "own-copies"):
            cluster.made("Namespace", name)
        for case in [c for c in CASES if not o.cases or c.__name__ in o.cases]:
            try:
                case(cluster)
                print(f"pass {case.__name__}", flush=True)
            except Failed as why:
                failed += 1
                print(f"FAIL {case.__name__}: {why}", flush=True)
        failed += len(clusters.panics())
    finally:
        if clusters:
            clusters.stop(None)
    return 1 if failed else 0


if __name__ == "__main__":
    run(main)
