"""Compares `ephor webhook-config --simulate` with a real API server: who is called, in which order."""

import json
import os
import random
import subprocess

RULES = [
    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]},
    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE", "DELETE"], "resources": ["configmaps", "secrets"]},
    {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"], "scope": "Namespaced"},
    {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]},
    {"apiGroups": ["", "apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["namespaces", "deployments"]},
    {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["deployments/scale"]},
    {"apiGroups": ["autoscaling"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["horizontalpodautoscalers"]},
    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["namespaces"], "scope": "Cluster"},
]
SELECTORS = [
    None,
    {"matchLabels": {"env": "prod"}},
    {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["test"]}]},
    {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
    {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["lab"]}]},
]
CONDITIONS = [
    "true",
    "request.operation != 'DELETE'",
    "object.metadata.name.startsWith('a')",
    "has(object.data) && object.data.size() > 0",
    "request.userInfo.username == 'alice'",
    "oldObject == null",
    "authorizer.group('').resource('pods').check('create').allowed()",
]


def configurations(rng, url, ca_bundle):
    """Random webhook configurations whose webhooks allow everything."""
    created = []
    for i in range(rng.randint(1, 3)):
        kind = rng.choice(["Mutating", "Validating"])
        webhooks = []
        for j in range(rng.randint(1, 3)):
            name = f"{rng.choice('abc')}{i}{j}.hooks.test"
            hook = {
                "name": name,
                "clientConfig": {"url": f"{url}/{name}", "caBundle": ca_bundle},
                "rules": [rng.choice(RULES) for _ in range(rng.randint(1, 2))],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "matchPolicy": rng.choice(["Equivalent", "Exact"]),
                "failurePolicy": "Ignore",
            }
            for key in ("namespaceSelector", "objectSelector"):
                selector = rng.choice(SELECTORS) if rng.random() < 0.5 else None
                if selector:
                    hook[key] = selector
            if rng.random() < 0.4:
                chosen = rng.sample(CONDITIONS, rng.randint(1, 2))
                hook["matchConditions"] = [{"name": f"c{k}", "expression": e} for k, e in enumerate(chosen)]
            webhooks.append(hook)
        created.append({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": f"random-{'xyz'[i] if i else rng.choice('xyz')}{i}", "labels": {"test": "random"}},
            "webhooks": webhooks,
        })
    return created


def requests(rng):
    """Requests as the API sees them, with the call that makes each."""
    labels = rng.choice([{}, {"env": "prod"}, {"env": "test", "team": "a"}])
    namespace = rng.choice(["shop", "lab"])
    name = rng.choice(["alpha", "beta"])
    meta = {"name": name, "namespace": namespace, "labels": labels}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "1"}}
    if rng.random() < 0.3:
        del config_map["data"]
    deployment = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta,
        "spec": {"selector": {"matchLabels": {"x": "y"}}, "template": {
            "metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}},
    }
    autoscaler = {
        "apiVersion": rng.choice(["autoscaling/v1", "autoscaling/v2"]), "kind": "HorizontalPodAutoscaler", "metadata": meta,
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}},
    }
    namespace_object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new", "labels": labels}}
    # Webhooks see reviews of access up to 1.36.
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "metadata": {"namespace": namespace},
              "spec": {"user": "alice", "resourceAttributes": {"namespace": namespace, "verb": "get", "resource": "pods"}}}
    return [config_map, deployment, autoscaler, namespace_object, review]


def simulated(ephor, cluster, configs, review, objects):
    """The calls that the simulator prints: mutating ones in order, validating ones."""
    files = {"configs.json": configs, "request.json": [review], "objects.json": objects}
    for name, documents in files.items():
        with open(cluster.path(name), "w", encoding="utf-8") as f:
            f.write("\n---\n".join(json.dumps(d) for d in documents))
    args = [ephor, "webhook-config", "--config", cluster.path("configs.json"), "--simulate", cluster.path("request.json"),
            "--kubernetes", cluster.version()]
    if objects:
        args += ["--objects", cluster.path("objects.json")]
    ran = subprocess.run(args, capture_output=True, text=True, timeout=60, check=False)
    if ran.returncode:
        raise AssertionError(f"ephor failed: {ran.stderr}\n{json.dumps(configs)}")
    mutating, validating, now = [], [], None
    for line in ran.stdout.splitlines():
        if line.startswith("mutating webhooks"):
            now = mutating
        elif line.startswith("validating webhooks"):
            now = validating
        elif line.startswith("not called"):
            now = None
        elif now is not None and line.startswith("  "):
            now.append(line.split(" at ")[0].split("/", 1)[1])
    return mutating, sorted(validating), ran.stdout


def run(ephor, cluster, hooks, rounds, seed=1):
    """Compares; gives how many requests were compared."""
    rng = random.Random(seed)
    namespaces = [cluster.get({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}}).object for n in ("shop", "lab")]
    compared = 0
    for number in range(rounds):
        configs = configurations(rng, hooks.url, hooks.ca_bundle)
        probe = f"probe-{number}"
        # A configuration is in force once its probe is called; the probe sees nothing else.
        marker = {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": f"zz-marker-{number}"},
            "webhooks": [{
                "name": f"{probe}.hooks.test", "clientConfig": {"url": f"{hooks.url}/{probe}", "caBundle": hooks.ca_bundle},
                "rules": [RULES[0]], "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
                "objectSelector": {"matchLabels": {"probe": str(number)}},
            }],
        }
        created = []
        try:
            for config in configs:
                answer = cluster.create(config)
                assert answer.ok, answer.message
                created.append(config)
            for kind in ("Validating", "Mutating"):
                # Each kind has a cache of its own.
                extra = json.loads(json.dumps(marker))
                extra["kind"] = kind + "WebhookConfiguration"
                extra["webhooks"][0]["clientConfig"]["url"] += "-" + kind
                answer = cluster.create(extra)
                assert answer.ok, answer.message
                created.append(extra)
            seen = set()

            def in_force():
                cluster.create({"apiVersion": "v1", "kind": "ConfigMap",
                                "metadata": {"name": "probe", "namespace": "shop", "labels": {"probe": str(number)}}}, dry_run=True)
                seen.update(c["name"] for c in hooks.take_calls() if c["name"].startswith(probe))
                return len(seen) == 2

            cluster.until("the configurations are in force", in_force)
            for obj in requests(rng):
                user = rng.choice(["admin", "alice"])
                user = "admin" if user == "alice" and rng.random() < 0.5 else user
                hooks.take_calls()
                answer = cluster.create(obj, dry_run=True, user="admin")
                # A call for the object before may come in late when the machine is busy.
                calls = [c for c in hooks.take_calls() if not c["name"].startswith("probe-")
                         and c["review"]["request"]["object"]["kind"] == obj["kind"]]
                config_kind = {h["name"]: c["kind"] for c in created for h in c["webhooks"]}
                mutating = [c["name"] for c in calls if config_kind.get(c["name"], "").startswith("Mutating")]
                validating = sorted(c["name"] for c in calls if config_kind.get(c["name"], "").startswith("Validating"))
                # The simulator is run on what a webhook is sent, else on the object itself.
                own = [c for c in created if not c["metadata"]["name"].startswith("zz-marker")]
                calls_of_simulator = simulated(ephor, cluster, own, obj, namespaces)
                assert (mutating, validating) == calls_of_simulator[:2], (
                    f"seed {seed}, round {number}: the API server called {mutating} and {validating}, the simulator prints\n{calls_of_simulator[2]}\n"
                    f"object {json.dumps(obj)}\nconfigurations {json.dumps(own)}\nanswer {answer.code} {answer.message}")
                compared += 1
        finally:
            for config in created:
                cluster.delete(config)
    return compared


if __name__ == "__main__":
    from cluster import Cluster
    from hooks import Hooks
    with Cluster(os.environ["EPHOR_KUBE_BIN"]) as c:
        for n, env in (("shop", "prod"), ("lab", "test")):
            c.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n, "labels": {"env": env}}})
        h = Hooks(c.dir)
        print(run(os.environ["EPHOR"], c, h, int(os.environ.get("ROUNDS", "25"))), "requests compared")
