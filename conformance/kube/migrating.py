"""Policies that are stored in a cluster, migrated, and their shadows next to them.

In: a cluster and `ephor`. What is checked: `ephor migrate --cluster` writes each stored policy and exception as a file, the API server
takes what it writes, and `ephor serve` counts the requests on which old and new policies decide differently.
"""

import json
import os
import re
import subprocess

from serving import Serve, config_map

GROUP = "/apis/kyverno.io/v1/clusterpolicies"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def policy(name, pattern, **more):
    rule = {
        "name": "r", "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "operations": ["CREATE", "UPDATE"]}}]},
        "validate": {"failureAction": "Enforce", "message": f"{name} is wrong", "pattern": pattern},
    }
    return {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": name, "annotations": {"team": "a"}, **more}, "spec": {"rules": [rule]}}


STORED = {
    "color": policy("color", {"metadata": {"=(labels)": {"=(color)": "red | green"}}}),
    "owner": policy("owner", {"metadata": {"labels": {"owner": "?*"}}}),
}
EXCEPTION = {
    "apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": {"name": "unowned", "namespace": "shop"},
    "spec": {"match": {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["unowned"]}}]}, "exceptions": [{"policyName": "owner", "ruleNames": ["r"]}]},
}


def policies(folder):
    """The texts of all files below a folder, without those of tests."""
    for path, _, names in sorted(os.walk(folder)):
        if "/." in path:
            continue
        for name in sorted(names):
            with open(os.path.join(path, name), encoding="utf-8") as file:
                yield os.path.relpath(os.path.join(path, name), folder), file.read()


def migrate(cluster, checks, ephor):
    """What a cluster has, migrated; then shadows next to it."""
    definitions(cluster, ephor)
    for one in STORED.values():
        assert cluster.call("POST", GROUP, one).ok
    assert cluster.call("POST", "/apis/kyverno.io/v2/namespaces/shop/policyexceptions", EXCEPTION).ok
    moved = written(cluster, ephor, "moved")
    names = sorted(name for name, _ in moved)
    wanted = ["clusterpolicy/color.yaml", "clusterpolicy/owner.yaml", "policyexception/shop/unowned.yaml"]
    checks.that("each object is a file", names == wanted, str(names))
    for name, text in moved:
        kind, plural, version = ("PolicyException", "policyexceptions", "v1beta1") if "exception" in name else ("ValidatingPolicy", "validatingpolicies", "v1")
        checks.that(f"{name} is of the new kind", f"kind: {kind}" in text and f"policies.kyverno.io/{version}\n" in text, text)
        checks.that(f"{name} has nothing that a server adds", not re.search("resourceVersion|managedFields|uid:", text), text)
        where = "/namespaces/shop" if kind == "PolicyException" else ""
        answer = cluster.call("POST", f"/apis/policies.kyverno.io/{version}{where}/{plural}?dryRun=All&fieldValidation=Strict", text, content_type="application/yaml")
        checks.allowed(f"the API server takes {name}", answer)
    shadows(cluster, checks, ephor)


def written(cluster, ephor, name, *flags):
    out = cluster.path(name)
    args = [ephor, "migrate", "--cluster", "--kubeconfig", cluster.kubeconfig, "--out", out, *flags]
    ran = subprocess.run(args, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    return list(policies(out))


def shadows(cluster, checks, ephor):
    """The shadow of `color` is changed by hand: it allows another color, and so is weaker for one request of three."""
    found = dict(written(cluster, ephor, "shadows", "--shadow"))
    color = found["clusterpolicy/color.yaml"]
    checks.that("a shadow only reports", "validationActions: [Audit]" in color and "ephor.dev/shadow-of: color" in color, color)
    server = Serve(cluster, ephor, "shadows", STORED, ["--kubeconfig", cluster.kubeconfig])
    try:
        for name, text in found.items():
            if "exception" not in name:
                changed = text.replace("['red', ", "['red', 'blue', ")
                checks.that("the shadow of color is changed", name != "clusterpolicy/color.yaml" or changed != text, text)
                with open(os.path.join(server.policies, "shadow-" + os.path.basename(name)), "w", encoding="utf-8") as file:
                    file.write(changed)
        with open(os.path.join(server.policies, "exception.yaml"), "w", encoding="utf-8") as file:
            json.dump(EXCEPTION, file)
        server.stop()
        server.start()
        server.register(probe=config_map("probe", labels={"color": "black"}))
        before = counted(server)
        owned = lambda name, color: config_map(name, labels={"color": color, "owner": "a"})  # noqa: E731
        checks.allowed("both allow it", cluster.create(owned("one", "red"), dry_run=True))
        checks.denied("both deny it", cluster.create(owned("two", "black"), dry_run=True), "color is wrong")
        checks.denied("the old policy denies it, as long as it is there", cluster.create(owned("three", "blue"), dry_run=True), "color is wrong")
        cluster.until("the requests are counted", lambda: sum(counted(server).values()) >= sum(before.values()) + 6)
        after = counted(server)
        new = {key: number - before.get(key, 0) for key, number in after.items() if number > before.get(key, 0)}
        wanted = {("color", "same"): 2, ("color", "weaker"): 1, ("owner", "same"): 3}
        checks.that("old and new policies are compared on each request", new == wanted, str(new))
        log = cluster.log("serve", 200)
        line = next((line for line in log.splitlines() if "a shadow decides differently" in line), "")
        checks.that("the log names what differs", all(part in line for part in ("color", "three", "CREATE")), log)
    finally:
        server.unregister()
        server.stop()


def counted(server):
    """How many requests old and new policies decided alike, and not."""
    found = re.findall(r'ephor_shadow_decisions_total\{policy="([^"]*)",result="([^"]*)"\} (\d+)', server.page("/metrics"))
    return {(policy, result): int(number) for policy, result, number in found}


def definitions(cluster, ephor):
    ran = subprocess.run([ephor, "crds", "--output", "json", "kyverno.io", "policies.kyverno.io"], capture_output=True, text=True, check=True)
    for one in json.loads(ran.stdout)["items"]:
        answer = cluster.call("POST", DEFINITIONS, one)
        assert answer.ok or answer.code == 409, answer.message
    for path in (GROUP, "/apis/kyverno.io/v2/policyexceptions", "/apis/policies.kyverno.io/v1/validatingpolicies"):
        cluster.until(f"{path} is served", lambda path=path: cluster.call("GET", path).ok)
