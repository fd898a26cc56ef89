"""The cases that `ephor conformance` runs as `reviews/admission`, with a server and a real API server.

In: the folder `admission` of the recorded suites, a cluster and a server of library.py. Out: for each case the recorded and the
given answers. What an API server makes of an answer (its own annotations, the text around a webhook's message) is left out.
"""

import base64
import copy
import json
import os
import re

# Topics that are about something else than one decision of policies: those that `reviews/admission` leaves out.
LEFT_OUT = {"patch-numbers", "names", "identity", "defaults", "invalid-binding", "invalid-map", "invalid-vap", "invalid-webhook",
            "typecheck", "webhook-answer", "webhook-match", "webhook-order"}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLURALS = {"ClusterPolicy": "clusterpolicies", "Policy": "policies", "NetworkPolicy": "networkpolicies"}
# Kubernetes' clients make an object of these where the text has none.
TEXT_MAPS = {"annotations", "labels", "matchLabels", "nodeSelector", "data", "stringData"}


def loader():
    """Reads YAML as Kubernetes' clients do: `yes`, dates and `1:30` are texts."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        pass
    left_out = {"tag:yaml.org,2002:" + name for name in ("bool", "int", "timestamp")}
    others = {first: [(tag, what) for tag, what in all_of if tag not in left_out] for first, all_of in Loader.yaml_implicit_resolvers.items()}
    Loader.yaml_implicit_resolvers = others
    Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
    Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0x[0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$"), list("-+0123456789"))
    return Loader


def documents(text):
    import yaml
    return list(yaml.load_all(text, Loader=loader()))


class Kinds:
    """What an API server serves."""

    def __init__(self, cluster):
        self.found = {}
        versions = ["/api/v1"]
        for group in cluster.call("GET", "/apis").object["groups"]:
            versions += ["/apis/" + v["groupVersion"] for v in group["versions"]]
        for path in versions:
            for r in cluster.call("GET", path).object.get("resources", []):
                if "/" not in r["name"]:
                    self.found[(path.split("/", 2)[2], r["kind"])] = (r["name"], r["namespaced"])

    def of(self, obj):
        """Plural of the object's kind, and whether it has a namespace; those of kinds that are not served have one."""
        kind = obj["kind"]
        return self.found.get((obj["apiVersion"], kind), (PLURALS.get(kind, kind.lower() + "s"), True))

    def path(self, obj, name=""):
        plural, namespaced = self.of(obj)
        version = obj["apiVersion"]
        path = ("/apis/" if "/" in version else "/api/") + version
        if namespaced:
            path += "/namespaces/" + obj["metadata"].get("namespace", "default")
        return f"{path}/{plural}" + (f"/{name}" if name else "")


def cases(folder):
    for topic in sorted(os.listdir(folder)):
        path = os.path.join(folder, topic)
        if topic in LEFT_OUT or not os.path.isdir(path):
            continue
        for name in sorted(os.listdir(path)):
            with open(os.path.join(path, name), encoding="utf-8") as f:
                case = documents(f.read())[0]
            if case.get("expected") and not case.get("webhooks"):
                yield f"{topic}/{name.removesuffix('.yaml')}", case


class Setup:
    """The objects of a case in the cluster; they are removed in the end."""

    def __init__(self, cluster, case):
        self.cluster, self.made = cluster, []
        refused = {e["index"] for e in case.get("setupErrors") or []}
        objects = [o for i, o in enumerate(case["setup"]) if i not in refused]
        self.policies = [o for o in objects if o["apiVersion"].startswith("admissionregistration.k8s.io/")]
        namespaces = dict(case.get("namespaces") or {})
        for request in case["requests"]:
            existing = request.get("existing") or {}
            if existing.get("kind") == "Namespace":
                namespaces[existing["metadata"]["name"]] = existing
        for name, namespace in namespaces.items():
            self.namespace(name, namespace["metadata"])
        others = [o for o in objects if o not in self.policies and o["kind"] != "Namespace"]
        definitions = [o for o in others if o["kind"] == "CustomResourceDefinition"]
        for definition in definitions:
            self.create(DEFINITIONS, definition)
        for definition in definitions:
            path = f"{DEFINITIONS}/{definition['metadata']['name']}"
            cluster.until("a definition is established", lambda: any(
                c["type"] == "Established" and c["status"] == "True"
                for c in cluster.call("GET", path).object.get("status", {}).get("conditions") or []))
        self.kinds = Kinds(cluster)
        for o in others:
            if o not in definitions:
                self.create(self.kinds.path(o), o)

    def namespace(self, name, metadata):
        """A namespace with the labels and annotations of the case; without controllers none can be deleted."""
        wanted = {k: metadata.get(k) or {} for k in ("labels", "annotations")}
        wanted["labels"] = {**wanted["labels"], "kubernetes.io/metadata.name": name}
        found = self.cluster.call("GET", f"/api/v1/namespaces/{name}")
        if found.code == 404:
            answer = self.cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": name, **wanted}})
        else:
            rest = {k: v for k, v in found.object["metadata"].items() if k not in wanted}
            answer = self.cluster.call("PUT", f"/api/v1/namespaces/{name}", {"apiVersion": "v1", "kind": "Namespace", **found.object,
                                                                             "metadata": {**rest, **wanted}})
        assert answer.ok, answer.message

    def create(self, path, body):
        def made():
            answer = self.cluster.call("POST", path, body)
            # One of a former case is still being deleted, or a kind is served only in a moment.
            assert answer.ok or answer.code in (404, 409, 429), answer.message
            return answer.ok
        self.cluster.until(f"{path} {body['metadata']['name']} is created", made)
        self.made.append(f"{path}/{body['metadata']['name']}")

    def remove(self):
        for path in reversed(self.made):
            self.cluster.call("DELETE", path)
        for path in self.made:
            self.cluster.until("it is gone", lambda: self.cluster.call("GET", path).code == 404)


def merged(into, patch):
    """A JSON merge patch."""
    if not isinstance(patch, dict):
        return patch
    into = dict(into) if isinstance(into, dict) else {}
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        else:
            into[key] = merged(into.get(key), value)
    return into


def patched(obj, operations):
    """A JSON patch of the operations that the server writes."""
    obj = copy.deepcopy(obj)
    for operation in operations:
        steps = [s.replace("~1", "/").replace("~0", "~") for s in operation["path"].split("/")[1:]]
        parent = obj
        for step in steps[:-1]:
            parent = parent[int(step) if isinstance(parent, list) else step]
        last, what = steps[-1], operation["op"]
        if isinstance(parent, list):
            at = len(parent) if last == "-" else int(last)
            if what == "add":
                parent.insert(at, operation["value"])
            elif what == "replace":
                parent[at] = operation["value"]
            else:
                del parent[at]
        elif what in ("add", "replace"):
            parent[last] = operation["value"]
        elif what == "remove":
            del parent[last]
        else:
            raise ValueError(f"the server patches with {what}")
    return obj


def with_tolerations(obj):
    """A pod with those that the API server's own admission adds."""
    if not isinstance(obj, dict) or obj.get("kind") != "Pod" or not isinstance(obj.get("spec"), dict):
        return obj
    found = list(obj["spec"].get("tolerations") or [])
    for taint in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(t.get("key", "") in ("", "*", taint) for t in found):
            found.append({"effect": "NoExecute", "key": taint, "operator": "Exists", "tolerationSeconds": 300})
    return {**obj, "spec": {**obj["spec"], "tolerations": found}}


def with_doubles(recorded, sent):
    """Whole doubles of a custom resource, which the recording holds as integers, as they were sent."""
    if isinstance(recorded, int) and isinstance(sent, float) and recorded == sent:
        return sent
    if isinstance(recorded, list) and isinstance(sent, list) and len(recorded) == len(sent):
        return [with_doubles(a, b) for a, b in zip(recorded, sent)]
    if isinstance(recorded, dict) and isinstance(sent, dict):
        return {k: with_doubles(v, sent[k]) if k in sent else v for k, v in recorded.items()}
    return recorded


def expected(wanted):
    """The recorded answer, without what the API server adds to that of a webhook."""
    found = {"allowed": wanted["allowed"]}
    if not wanted["allowed"]:
        causes = [c["message"] for c in wanted.get("causes") or []]
        whole = not causes or wanted.get("by") == "mutation"
        found["message"] = wanted["message"] if whole else "; ".join(causes)
        found.update(code=wanted.get("code"), reason=wanted.get("reason"))
    warnings = [w for w in wanted.get("warnings") or [] if not w.startswith("unknown field ")]
    if warnings:
        found["warnings"] = warnings
    if "auditAnnotations" in wanted:
        found["auditAnnotations"] = {k.replace("/", "."): v for k, v in wanted["auditAnnotations"].items()}
    if "object" in wanted:
        found["object"] = copy.deepcopy(wanted["object"])
        # The class of a pod is computed when it is stored.
        if isinstance(found["object"], dict) and isinstance(found["object"].get("status"), dict):
            found["object"]["status"].pop("qosClass", None)
    return found


def given(server, wanted, sent):
    """The answers to a request: first /mutate, then /validate with the object as it was left."""
    request = dict(wanted["request"], uid="00000000-0000-0000-0000-000000000001")
    if sent is not None and request.get("object") is not None:
        request["object"] = with_doubles(request["object"], sent)
    first = last = server.review("/mutate", request)
    left = request.get("object")
    if first.get("patch"):
        left = patched(left, json.loads(base64.b64decode(first["patch"])))
    if first["allowed"]:
        if left is not None:
            completed = with_tolerations(left)
            request = dict(request, object=merged(completed, wanted["completion"]) if "completion" in wanted else completed)
        last = server.review("/validate", request)
    # Where the API server rejects an object itself, policies do not validate it.
    unvalidated = wanted.get("by") == "server" and wanted.get("code") == 422
    allowed = last["allowed"] is True
    passes = allowed or (unvalidated and first["allowed"] is True)
    found = {"allowed": passes}
    if not passes:
        status = last.get("status") or {}
        found.update(message=status.get("message", ""), code=status.get("code"), reason=status.get("reason"))
    warnings = (first.get("warnings") or []) + (last.get("warnings") or [] if last is not first else [])
    if warnings and not unvalidated:
        found["warnings"] = warnings
    if last.get("auditAnnotations") and not unvalidated:
        found["auditAnnotations"] = last["auditAnnotations"]
    after = with_tolerations(left)
    if allowed and not unvalidated and wanted["request"].get("object") is not None and wanted["request"]["object"] != after:
        found["object"] = after
    return found


def admission(library, differences, only):
    """All cases; each starts the server anew, since policies of files settle before they count."""
    cluster, server = library.cluster, library.server
    for name, case in cases(os.path.join(library.folder, "admission")):
        if not re.search(only, name):
            continue
        setup = Setup(cluster, case)
        file = cluster.path("case.yaml")
        with open(file, "w", encoding="utf-8") as f:
            f.write("\n---\n".join(json.dumps(p) for p in setup.policies))
        server.start("--policies", file)
        try:
            pairs = []
            for wanted in case["expected"]:
                sent = next((r.get("object") for r in case["requests"] if r["name"] == wanted["name"]), None)
                pairs.append((expected(wanted), given(server, wanted, sent)))
            wrong = next((p for p in pairs if p[0] != p[1]), pairs[-1])
            differences.count("admission", "reviews/admission", name, *wrong)
        finally:
            server.stop()
            setup.remove()
    differences.say("admission")
