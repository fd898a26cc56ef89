#!/usr/bin/env python3
"""Webhooks in front of a real API server.

usage: run.py EPHOR BIN_DIR [fixed|simulator|deploy|serve|live|migrate|own]...

`fixed` sends requests to a server with fixed answers, which tests the harness itself; `simulator` compares
`ephor webhook-config --simulate` with the API server on random configurations; `deploy` hands it the manifests of
`deploy/` and, where there is helm, what the chart makes; `serve` registers `ephor serve` with `ephor webhook-config
--apply` and sends requests that its policies decide; `live` has a server that takes data of rules from the cluster
and writes to it; `migrate` migrates what the cluster has, with shadows that `ephor serve` compares; `own` has policies in groups of our own, where a
webhook denies changes to Kyverno's. Without a name all are run; `serve` is left out, with a line that says so, by a program that has no
such command.
"""

import copy
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import simulator  # noqa: E402
from cluster import Cluster  # noqa: E402
from hooks import Hooks  # noqa: E402
from live import live  # noqa: E402
from migrating import migrate as migrated  # noqa: E402
from own_group import own_group  # noqa: E402
from policies import POLICIES, SLOW  # noqa: E402
from serving import Checks, Serve, SlowService, config_map, deployment, pod  # noqa: E402


def fixed(cluster, checks, _ephor):
    """A server with fixed answers: what the harness itself can see."""
    hooks = Hooks(cluster.dir)

    def webhook(name, **more):
        return {
            "name": f"{name}.hooks.test", "clientConfig": {"url": f"{hooks.url}/{name}", "caBundle": hooks.ca_bundle},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}],
            "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 2, **more,
        }

    def configuration(kind, *webhooks):
        return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration",
                "metadata": {"name": f"fixed-{kind.lower()}"}, "webhooks": list(webhooks)}

    made = [
        configuration("Mutating", webhook("first", reinvocationPolicy="IfNeeded"), webhook("second")),
        configuration("Validating", webhook("check"), webhook("ignore", failurePolicy="Ignore")),
    ]
    try:
        for config in made:
            assert cluster.create(config).ok

        def in_force():
            hooks.take_calls()
            cluster.create(config_map("probe"), dry_run=True)
            return {"first", "check"} <= {c["name"] for c in hooks.take_calls()}

        cluster.until("the configurations are in force", in_force)
        hooks.answers = {"second": {"patch": [{"op": "add", "path": "/data/second", "value": "2"}]}}
        answer = checks.allowed("a patch is applied", cluster.create(config_map("a"), dry_run=True))
        checks.that("the patch is in the object", answer.object.get("data", {}).get("second") == "2", answer.object)
        order = [c["name"] for c in hooks.take_calls()]
        checks.that("a webhook is called again after a change", order[:3] == ["first", "second", "first"], order)
        hooks.answers = {"check": {"response": {"allowed": False, "warnings": ["careful"], "status": {"message": "no"}}}}
        answer = cluster.create(config_map("a"), dry_run=True)
        checks.denied("a denial", answer, 'admission webhook "check.hooks.test" denied the request: no')
        checks.that("warnings come with a denial", answer.warnings == ["careful"], answer.warnings)
        hooks.answers = {"check": {"delay": 3}}
        checks.denied("a timeout", cluster.create(config_map("a"), dry_run=True), "failed calling webhook", "deadline exceeded")
        hooks.answers = {"ignore": {"code": 500, "raw": "broken"}}
        checks.allowed("a failure with failurePolicy Ignore", cluster.create(config_map("a"), dry_run=True))
        # The texts of the simulator for invalid answers.
        for what, reply, text in [
            ("a field of a wrong type", {"response": {"allowed": "yes"}},
             "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool"),
            ("a review without kind", {"review": {"kind": ""}}, "got admission.k8s.io/v1, Kind="),
            ("a status of another kind", {"code": 404, "raw": "x"}, "the server could not find the requested resource"),
        ]:
            hooks.answers = {"check": reply}
            checks.denied(what, cluster.create(config_map("a"), dry_run=True), text)
    finally:
        for config in made:
            cluster.delete(config)
        hooks.close()


def compare(cluster, checks, ephor):
    """The simulator says what the API server does."""
    hooks = Hooks(cluster.dir)
    try:
        checks.requests += simulator.run(ephor, cluster, hooks, int(os.environ.get("ROUNDS", "12")))
    finally:
        hooks.close()


def serve(cluster, checks, ephor):
    """Policies of all kinds decide over requests."""
    known = subprocess.run([ephor, "serve", "--help"], capture_output=True, text=True, check=False)
    if known.returncode:
        print("  left out: the program has no command `serve`")
        return
    server = Serve(cluster, ephor, "serve", POLICIES)
    try:
        server.register()
        decide(cluster, checks)
        mutate(cluster, checks)
        subresources(cluster, checks)
        late(cluster, checks, server)
        again(cluster, checks)
        reload(cluster, checks, server)
        unavailable(cluster, checks, server)
    finally:
        server.unregister()


def decide(cluster, checks):
    block = "\n\nresource ConfigMap/shop/bad was blocked due to the following policies \n\ndeny-label:\n  deny: label deny is set\n"
    bad = config_map("bad", labels={"deny": "yes"})
    checks.denied("the text of a denial", cluster.create(bad), 'admission webhook "validate.ephor.svc-fail" denied the request: ' + block)
    checks.denied("a denial of a dry run", cluster.create(bad, dry_run=True), "label deny is set")
    for namespace in ("shop", "lab"):
        checks.allowed(f"a good object in {namespace}", cluster.create(config_map("good", namespace)))
    good = cluster.get(config_map("good")).object
    good["metadata"]["labels"] = {"deny": "yes"}
    checks.denied("an update", cluster.update(good), "label deny is set")
    checks.denied("a merge patch", cluster.merge(config_map("good"), {"metadata": {"labels": {"deny": "yes"}}}), "label deny is set")
    checks.allowed("an update of something else", cluster.merge(config_map("good"), {"data": {"b": "2"}}))
    checks.denied("another user", cluster.create(bad, user="alice"), "cannot create resource")
    # Namespace selectors of rules.
    prod = config_map("selector", "shop", labels={"only-prod": "yes"})
    lab = config_map("selector", "lab", labels={"only-prod": "yes"})
    checks.denied("a rule for namespaces with a label", cluster.create(prod), "not in prod")
    checks.allowed("a namespace without the label", cluster.create(lab))
    # Deletions.
    keep = config_map("keep", labels={"keep": "yes"})
    checks.allowed("an object that must stay", cluster.create(keep))
    checks.denied("its deletion", cluster.delete(keep), "must stay")
    checks.allowed("the deletion of another one", cluster.delete(config_map("selector", "lab")))
    # Audit: allowed, with warnings only when the policy emits them.
    checks.allowed("an audit failure", cluster.create(config_map("audit", labels={"audit": "yes"})), [])
    checks.allowed("an audit failure that warns", cluster.create(config_map("warn", labels={"warn": "yes"})),
                   ["policy warn-label.warn: label warn is set"])
    # Policies in CEL.
    checks.denied("a ValidatingPolicy", cluster.create(config_map("cel", data={"forbidden": "x"})), "Policy no-forbidden failed: key forbidden")
    checks.allowed("what it does not mind", cluster.create(config_map("cel", data={"fine": "x"})))
    checks.denied("its match condition lets others through", cluster.create(config_map("cond", data={"conditional": "x"})), "conditional")
    checks.allowed("who is left out by the condition", cluster.create(config_map("skip-cond", data={"conditional": "x"})))
    checks.allowed("a ValidatingPolicy that warns", cluster.create(config_map("celwarn", data={"soft": "x"})), ["Policy soft failed: key soft"])
    # Many objects, each decided on its own.
    for i in range(12):
        labels = {"deny": "yes"} if i % 3 == 0 else {"n": str(i)}
        answer = cluster.create(config_map(f"many-{i}", labels=labels))
        checks.that(f"object {i} of many", answer.ok == (i % 3 != 0), answer.message)


def mutate(cluster, checks):
    made = checks.allowed("a mutated object", cluster.create(config_map("mutated", labels={"mutate": "yes"}))).object
    checks.that("a label is added", made.get("metadata", {}).get("labels", {}).get("added") == "by-policy", made)
    made = checks.allowed("a mutation in a dry run", cluster.create(config_map("dry", labels={"mutate": "yes"}), dry_run=True)).object
    checks.that("the label is added", made.get("metadata", {}).get("labels", {}).get("added") == "by-policy", made)
    again = checks.allowed("a mutation that changes nothing", cluster.merge(config_map("mutated"), {"data": {"c": "3"}})).object
    checks.that("the label stays", again.get("metadata", {}).get("labels", {}).get("added") == "by-policy", again)
    both = cluster.create(config_map("both", labels={"mutate": "deny"}))
    checks.denied("validation sees what mutation made", both, "label deny is set")
    cel = checks.allowed("a MutatingPolicy", cluster.create(config_map("mcel", labels={"mcel": "yes"}))).object
    checks.that("its change is in the object", cel.get("data", {}).get("cel") == "yes", cel)


def subresources(cluster, checks):
    checks.denied("a pod", cluster.create(pod("latest", image="registry.test/app:latest")), "use a tag")
    checks.denied("a controller of pods", cluster.create(deployment("latest", image="registry.test/app:latest")), "use a tag")
    checks.allowed("a pod with a tag", cluster.create(pod("tagged")))
    web = deployment("web")
    checks.allowed("a deployment", cluster.create(web))
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 50}}
    path = "/apis/apps/v1/namespaces/shop/deployments/web/scale"
    checks.denied("scaling too far", cluster.call("PUT", path, scale), "too many replicas")
    scale["spec"]["replicas"] = 3
    checks.allowed("scaling", cluster.call("PUT", path, scale))
    status = cluster.get(pod("tagged")).object
    status["status"]["message"] = "x"
    checks.allowed("status, which no rule names", cluster.call("PUT", "/api/v1/namespaces/shop/pods/tagged/status", status))
    ephemeral = cluster.get(pod("tagged")).object
    ephemeral["spec"]["ephemeralContainers"] = [{"name": "e", "image": "registry.test/debug:latest"}]
    checks.denied("ephemeral containers", cluster.call("PUT", "/api/v1/namespaces/shop/pods/tagged/ephemeralcontainers", ephemeral), "use a tag")
    checks.denied("exec", cluster.call("POST", "/api/v1/namespaces/shop/pods/tagged/exec?command=ls"), "no exec")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "tagged", "namespace": "shop"}}
    checks.allowed("eviction, which no rule names", cluster.call("POST", "/api/v1/namespaces/shop/pods/tagged/eviction", eviction))
    checks.allowed("a namespace", cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fresh"}}))


def late(cluster, checks, server):
    """A policy that needs longer than its webhook has time is answered by its failure policy."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "slow", "namespace": "shop"}}
    with SlowService(6) as slow:
        for name, failure in (("closed", "Fail"), ("open", "Ignore")):
            policy = copy.deepcopy(SLOW)
            policy["metadata"]["name"] = f"slow-{name}"
            policy["spec"]["webhookConfiguration"]["failurePolicy"] = failure
            rule = policy["spec"]["rules"][0]
            rule["context"][0]["apiCall"]["service"]["url"] = slow.url
            rule["match"]["any"][0]["resources"]["selector"] = {"matchLabels": {"slow": name}}
            server.write(f"slow-{name}", policy)
        cluster.until("the slow policies are in use", lambda: server.has("slow-open"))
        server.register()
        secret["metadata"]["labels"] = {"slow": "closed"}
        answer = cluster.create(secret, dry_run=True)
        checks.denied("a policy over its time", answer, "there was no time to evaluate policies that must not be left out")
        checks.that("its code", answer.code == 504, answer.code)
        secret["metadata"]["labels"] = {"slow": "open"}
        checks.allowed("one that fails open", cluster.create(secret, dry_run=True))
        checks.allowed("others are decided meanwhile", cluster.create(config_map("meanwhile"), dry_run=True))
    for name in ("closed", "open"):
        os.remove(os.path.join(server.policies, f"slow-{name}.yaml"))
    cluster.until("the slow policies are gone", lambda: not server.has("slow-open"))
    server.register()


def again(cluster, checks):
    """The server mutates again when a webhook after it changed the object."""
    folder = cluster.path("second")
    os.makedirs(folder)
    hooks = Hooks(folder)  # with an authority of its own
    config = {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": "zz-second"},
        "webhooks": [{
            "name": "second.hooks.test", "clientConfig": {"url": f"{hooks.url}/second", "caBundle": hooks.ca_bundle},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
            "objectSelector": {"matchLabels": {"again": "yes"}}, "sideEffects": "None", "admissionReviewVersions": ["v1"],
        }],
    }
    hooks.answers = {"second": {"patch": [{"op": "add", "path": "/data/second", "value": "2"}]}}
    try:
        assert cluster.create(config).ok
        probe = config_map("again", labels={"again": "yes"})
        cluster.until("the second webhook is called", lambda: cluster.create(probe, dry_run=True).object.get("data", {}).get("second"))
        made = checks.allowed("two mutators", cluster.create(probe, dry_run=True)).object
        labels = made.get("metadata", {}).get("labels", {})
        checks.that("the policy saw what came after it", labels.get("seen") == "2", labels)
    finally:
        cluster.delete(config)
        hooks.close()


def reload(cluster, checks, server):
    """Policies change while requests come in: each is decided by the old or the new set, none fails."""
    stop, wrong, count = threading.Event(), [], [0]

    def traffic():
        while not stop.is_set():
            answer = cluster.create(config_map("traffic", labels={"deny": "yes"}), dry_run=True)
            count[0] += 1
            if answer.ok or "label deny is" not in answer.message:
                wrong.append(f"{answer.code} {answer.message}")

    threads = [threading.Thread(target=traffic) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for n in range(5):
            changed = copy.deepcopy(POLICIES["deny-label"])
            changed["spec"]["rules"][0]["validate"]["message"] = f"label deny is set, says version {n}"
            server.write("deny-label", changed)
            cluster.until("the new policy is in force", lambda: f"version {n}" in cluster.create(
                config_map("new", labels={"deny": "yes"}), dry_run=True).message)
        with open(os.path.join(server.policies, "broken.yaml"), "w", encoding="utf-8") as f:
            f.write("{broken")
        time.sleep(1)
        answer = cluster.create(config_map("new", labels={"deny": "yes"}), dry_run=True)
        checks.denied("a broken file leaves the others in force", answer, "version 4")
        os.remove(os.path.join(server.policies, "broken.yaml"))
        server.write("deny-label", POLICIES["deny-label"])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    checks.that(f"{count[0]} requests during reloads", count[0] > 0 and not wrong, wrong[:3])


def unavailable(cluster, checks, server):
    """Without a server, failure policies decide."""
    server.process.terminate()
    checks.that("the server ends on SIGTERM", server.process.wait(timeout=20) == 0, server.process.returncode)
    checks.denied("a policy that fails closed", cluster.create(config_map("down"), dry_run=True), "failed calling webhook")
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "shop"}, "spec": {"ports": [{"port": 80}]}}
    checks.allowed("a policy that fails open", cluster.create(service, dry_run=True))
    server.start()
    cluster.until("the server is back", lambda: cluster.create(config_map("up"), dry_run=True).ok)
    checks.denied("a policy that failed open", cluster.create(service, dry_run=True), "no services")


def deploy(cluster, checks, ephor):
    """The API server takes the manifests of `deploy/` to the letter."""
    manifests = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/manifests")
    documents = []
    for name in ("ephor.yaml", "ephor-alongside.yaml"):
        with open(os.path.join(manifests, name), encoding="utf-8") as f:
            documents += f.read().split("\n---\n")
    for document in documents:
        kind = next(line.split()[1] for line in document.splitlines() if line.startswith("kind:"))
        if kind == "Namespace":
            # The others are in it.
            assert cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": "ephor"}}).code in (201, 409)
            continue
        taken(cluster, checks, kind, document)
    helm = os.environ.get("HELM") or shutil.which("helm")
    if not helm:
        print("  skipped: the chart, as there is no helm")
        return
    charts = os.path.join(manifests, "../helm")
    for values in sorted(os.listdir(charts + "/values")):
        command = [helm, "template", "ephor", charts + "/ephor", "--namespace", "ephor", "-f", f"{charts}/values/{values}",
                   "--set", "image.repository=registry.invalid/ephor"]
        rendered = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for document in rendered.split("\n---\n"):
            kinds = [line.split()[1] for line in document.splitlines() if line.startswith("kind:")]
            # Those of other programs are not served here.
            if kinds and not re.search(r"^apiVersion: (monitoring\.coreos\.com|cert-manager\.io)/", document, re.MULTILINE):
                taken(cluster, checks, kinds[0], document, f"{values}: {kinds[0]}")


def taken(cluster, checks, kind, document, name=None):
    path = PATHS[kind] + "?dryRun=All&fieldValidation=Strict"
    answer = cluster.call("POST", path, document, content_type="application/yaml")
    checks.allowed(name or kind, answer, [])


PATHS = {
    "ServiceAccount": "/api/v1/namespaces/ephor/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/ephor/configmaps",
    "Secret": "/api/v1/namespaces/ephor/secrets",
    "Pod": "/api/v1/namespaces/ephor/pods",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/ephor/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/ephor/rolebindings",
    "Job": "/apis/batch/v1/namespaces/ephor/jobs",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Service": "/api/v1/namespaces/ephor/services",
    "Deployment": "/apis/apps/v1/namespaces/ephor/deployments",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/ephor/poddisruptionbudgets",
    "HorizontalPodAutoscaler": "/apis/autoscaling/v2/namespaces/ephor/horizontalpodautoscalers",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/ephor/networkpolicies",
}
PARTS = {"fixed": fixed, "simulator": compare, "deploy": deploy, "serve": serve, "live": live, "migrate": migrated, "own": own_group}


def main():
    ephor, bin_dir, *names = sys.argv[1:]
    ephor = os.path.abspath(ephor)
    failed = False
    with Cluster(bin_dir) as cluster:
        print(f"kube-apiserver {cluster.version()}", flush=True)
        for name, env in (("shop", "prod"), ("lab", "test")):
            assert cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"env": env}}}).ok
        for name in names or PARTS:
            checks, begin = Checks(), time.monotonic()
            print(f"{name}:", flush=True)
            try:
                PARTS[name](cluster, checks, ephor)
            except Exception:  # the other parts still run
                traceback.print_exc()
                checks.failed.append("ended early")
                if name in ("serve", "live", "migrate", "own"):
                    print(cluster.log("serve") if os.path.exists(cluster.path("serve.log")) else "")
            failed |= bool(checks.failed)
            print(f"  {checks.requests} checks, {len(checks.failed)} wrong, {time.monotonic() - begin:.1f} s", flush=True)
    return int(failed)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main())
