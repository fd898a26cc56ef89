#!/usr/bin/env python3
"""Compares mutate and generate rules with the reference on random policies and objects.

usage: ENGINEGOLD=PATH [EPHOR=PATH] fuzz_mutate.py [--seed N] [--batches N] [--cases N] [--topics a,b] [--out DIR]

As fuzz.py, for rules that mutate or generate objects: the object after all rules and the objects that were
made are compared as well. Topics: merge, anchors, lists, json-patch, foreach, cascade, generate.
"""
import json
import sys

import fuzz
from fuzz import Random

# ---------------------------------------------------------------------------- comparing

recorded_rules = fuzz.recorded
kinds_of_rules = fuzz.kinds_of
document_of_rules = fuzz.as_document
fuzz.COMPARED = fuzz.COMPARED + ("generated",)


def recorded(case, answer):
    expected = recorded_rules(case, answer)
    for key in ("patched", "generateError"):
        if key in answer:
            expected[key] = answer[key]
    # As text, because 0 and false are equal here.
    if json.dumps(expected.get("patched"), sort_keys=True) == json.dumps(case.get("resource"), sort_keys=True):
        expected["patched"] = "unchanged"
    expected.pop("ruleNames", None)
    return expected


def kinds_of(case, expected, got):
    kinds = kinds_of_rules(case, expected, got)
    if expected.get("patched") != got.get("patched") and all(k[0] == "other" for k in kinds):
        about = case["id"].split("-")[0]
        return {(about, "patched", json.dumps(got.get("differs")), type(expected.get("patched")).__name__)}
    return kinds


def as_document(case, expected, name):
    document = document_of_rules(case, expected, name)
    one = document["cases"][0]
    for key in ("patched", "generateError"):
        if key in expected and expected[key] != "unchanged":
            one[key] = expected[key]
    for short, rule in zip(one.get("expect", []), expected.get("rules", [])):
        if "generated" in rule:
            short["generated"] = rule["generated"]
    one["expect"] = one.pop("expect", [])
    return document


fuzz.recorded, fuzz.kinds_of, fuzz.as_document = recorded, kinds_of, as_document

# ---------------------------------------------------------------------------- objects

SCALARS = ["a", "b", "x", "5", "true", "1.5", "1h", "2Gi", "", "a b", "yes", "null", "<&>", "\u00e9", "a*", 0, 1, 5, 1.5, 2.0, 80,
           True, False, None, 1000000, 1e21]
NAMES = ["a", "b", "c", "d"]
PORTS = [80, 81, 53]


def scalar(r):
    return r.choice(SCALARS)


def tree(r, depth=2):
    if depth == 0 or r.chance(0.5):
        return scalar(r)
    if r.chance(0.4):
        return [tree(r, depth - 1) for _ in range(r.randint(0, 3))]
    return {r.choice(["a", "b", "name", "k", "q/z"]): tree(r, depth - 1) for _ in range(r.randint(0, 3))}


def container(r, name=None):
    c = {}
    if r.chance(0.95):
        c["name"] = name or r.choice(NAMES)
    if r.chance(0.8):
        c["image"] = r.choice(["a:1", "b", "reg.io/a:latest", "x@sha256:1"])
    if r.chance(0.4):
        c["env"] = [dict({"name": r.choice(NAMES)} if r.chance(0.95) else {}, **({"value": r.choice(["1", "x", "true"])} if r.chance(0.8) else {"valueFrom": {"k": "v"}}))
                    for _ in range(r.randint(0, 3))]
    if r.chance(0.4):
        c["ports"] = [port(r) for _ in range(r.randint(0, 3))]
    if r.chance(0.2):
        c["args"] = r.sample(["x", "y", "z"], r.randint(0, 2))
    if r.chance(0.2):
        c["securityContext"] = {r.choice(["runAsUser", "privileged"]): r.choice([0, 1, True])}
    if r.chance(0.2):
        c["imagePullPolicy"] = r.choice(["Always", "Never"])
    if r.chance(0.2):
        c["volumeMounts"] = [{"name": r.choice(NAMES), "mountPath": r.choice(["/a", "/b"])} for _ in range(r.randint(0, 2))]
    return c


def port(r):
    p = {"containerPort": r.choice(PORTS)} if r.chance(0.95) else {}
    if r.chance(0.6):
        p["protocol"] = r.choice(["TCP", "UDP"])
    if r.chance(0.3):
        p["name"] = r.choice(NAMES)
    return p


def containers(r):
    names = r.sample(NAMES, r.randint(0, 3))
    return [container(r, n) for n in names] if r.chance(0.85) else [container(r) for _ in range(r.randint(0, 3))]


def metadata(r):
    m = {"name": r.choice(["w", "pod-1"])}
    if r.chance(0.8):
        m["namespace"] = "default"
    if r.chance(0.6):
        m["labels"] = {k: r.choice(["a", "b", "5"]) for k in r.sample(["app", "team", "x/y"], r.randint(0, 3))}
    if r.chance(0.3):
        m["annotations"] = {"note": "n", "a/b": "c"}
    if r.chance(0.3):
        m["finalizers"] = r.sample(["a/b", "c/d", "e/f"], r.randint(0, 3))
    if r.chance(0.15):
        m["ownerReferences"] = [{"uid": u, "kind": "X"} for u in r.sample(["1", "2", "3"], r.randint(1, 2))]
    return m


def pod_spec(r):
    s = {"containers": containers(r)}
    if r.chance(0.2):
        s["initContainers"] = containers(r)
    if r.chance(0.3):
        s["volumes"] = [{"name": n, r.choice(["emptyDir", "hostPath"]): {"a": "b"} if r.chance(0.5) else {}} for n in r.sample(NAMES, r.randint(0, 2))]
    if r.chance(0.2):
        s["tolerations"] = [{"key": r.choice(NAMES), "operator": "Exists"} for _ in range(r.randint(0, 2))]
    if r.chance(0.2):
        s["hostAliases"] = [{"ip": i, "hostnames": ["h"]} for i in r.sample(["1", "2"], r.randint(1, 2))]
    if r.chance(0.2):
        s["topologySpreadConstraints"] = [{"topologyKey": r.choice(["z", "n"]), "whenUnsatisfiable": r.choice(["A", "B"]), "maxSkew": 1} for _ in range(r.randint(1, 2))]
    if r.chance(0.2):
        s["imagePullSecrets"] = [{"name": n} for n in r.sample(NAMES, r.randint(1, 2))]
    for key in ("hostNetwork", "priority", "nodeSelector", "securityContext"):
        if r.chance(0.2):
            s[key] = {"hostNetwork": True, "priority": 5, "nodeSelector": {"a": "b"}, "securityContext": {"runAsUser": 5, "fsGroup": 2}}[key]
    return s


def resource(r, kind=None):
    kind = kind or r.choice(["Pod", "Pod", "Pod", "ConfigMap", "Widget", "Deployment", "Service", "CronJob"])
    m = metadata(r)
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": "Pod", "metadata": m, "spec": pod_spec(r)}
    if kind == "Deployment":
        return {"apiVersion": "apps/v1", "kind": kind, "metadata": m, "spec": {"replicas": r.choice([0, 1, 3]), "template": {"metadata": {"labels": {"app": "a"}}, "spec": pod_spec(r)}}}
    if kind == "CronJob":
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": m, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": pod_spec(r)}}}}}
    if kind == "Service":
        ports = [dict({"port": r.choice(PORTS)}, **({"protocol": r.choice(["TCP", "UDP"])} if r.chance(0.5) else {}), **({"name": r.choice(NAMES)} if r.chance(0.5) else {})) for _ in range(r.randint(0, 3))]
        return {"apiVersion": "v1", "kind": kind, "metadata": m, "spec": {"ports": ports, "type": "ClusterIP", "selector": {"app": "a"}}}
    if kind == "ConfigMap":
        return {"apiVersion": "v1", "kind": kind, "metadata": m, "data": {k: r.choice(["1", "x", "true", "a: b\n", ""]) for k in r.sample(["a", "b", "k.x", "q/z"], r.randint(0, 4))}}
    spec = {k: tree(r) for k in r.sample(["s", "n", "m", "l", "lm", "e"], r.randint(1, 5))}
    if r.chance(0.2):
        spec["template"] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "t"}, "spec": pod_spec(r)}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": m, "spec": spec}


# ---------------------------------------------------------------------------- patches


def leaf_like(r, v):
    if r.chance(0.3):
        return v
    if isinstance(v, str):
        return r.choice([v, "new", v + "x", "a", 7, True])
    return r.choice([v, scalar(r)])


def condition_for(r, v):
    """A value that a condition may compare with."""
    if isinstance(v, str):
        return r.choice([v, v, v[:1] + "*", "*", "?*", "!" + v, "zz", v + " | zz"])
    if isinstance(v, bool):
        return r.choice([v, v, not v, "true"])
    if isinstance(v, (int, float)):
        return r.choice([v, v, ">0", "<1", "0-100", v + 1])
    if isinstance(v, dict):
        if not v:
            return {}
        key = r.choice(sorted(v))
        inner = condition_for(r, v[key])
        return {r.choice([key, f"({key})", f"={'('}{key})", f"+({r.choice(['new', key])})"]): inner}
    if isinstance(v, list):
        return [condition_for(r, v[0])] if v else r.choice([[], ["x"]])
    return r.choice(["*", None, "x", "null"])


def overlay(r, v, anchors, depth=0, directives=True):
    """A patch that fits a value more or less."""
    if r.chance(0.02):
        return tree(r, 1)
    if isinstance(v, dict):
        out = {}
        for key in r.sample(sorted(v), min(len(v), r.choice([1, 1, 1, 2, 3]))) if v else []:
            if r.chance(0.04):
                out[key] = None
            elif r.chance(anchors):
                out[r.choice(["({})", "({})", "<({})", "+({})", "+({})", "=({})"]).format(key)] = condition_for(r, v[key]) if r.chance(0.7) else overlay(r, v[key], anchors, depth + 1)
            else:
                out[key] = overlay(r, v[key], anchors, depth + 1)
        if r.chance(0.35):
            key = r.choice(["new", "name", "k", "imagePullPolicy", "hostNetwork", "labels"])
            out[r.choice(["{}", "{}", "+({})"]).format(key) if anchors else key] = tree(r, 1)
        if directives and r.chance(0.03):
            out["$patch"] = r.choice(["delete", "replace", "merge", "bogus"])
        return out
    if isinstance(v, list):
        out = []
        for item in r.sample(v, min(len(v), r.randint(0, 2))):
            made = overlay(r, item, anchors, depth + 1)
            if isinstance(item, dict) and isinstance(made, dict):
                for key in ("name", "containerPort", "protocol", "port", "mountPath", "ip", "uid", "topologyKey", "whenUnsatisfiable"):
                    if key in item and r.chance(0.8) and f"({key})" not in made:
                        if r.chance(anchors):
                            made[f"({key})"] = condition_for(r, item[key])
                            made.pop(key, None)
                        else:
                            made[key] = item[key]
            out.append(made)
        if r.chance(0.3):
            out.append(r.choice([{"name": r.choice(NAMES + ["z"]), "image": "n"}, {"containerPort": r.choice(PORTS + [99])}, tree(r, 1), "a/b"]))
        if directives and r.chance(0.03):
            out.insert(0, {"$patch": r.choice(["delete", "replace", "merge"])})
        r.shuffle(out)
        return out
    return leaf_like(r, v)


def merge_patch(r, target, anchors):
    body = {k: v for k, v in target.items() if k not in ("apiVersion", "kind")}
    patch = overlay(r, body, anchors, directives=False)
    if isinstance(patch, dict):
        patch.pop("name", None)
    # An empty text counts as no patch when the policy is checked.
    return patch if patch != "" else {}


def paths(node, at=""):
    yield at
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in items:
        yield from paths(inner, f"{at}/{str(key).replace('~', '~0').replace('/', '~1')}")


def pointer(r, known):
    path = r.choice(known)
    if r.chance(0.25):
        path += r.choice(["/new", "/-", "/0", "/5", "/-1", "/-3", "/x/y", "/q~1z", "/2/a", "/-/z", "//z", "/"])
    elif r.chance(0.05):
        path = path.rsplit("/", 1)[0] + r.choice(["/-", "/-1", "/9", "/1", "/+1", "/01"])
    return path if path or r.chance(0.1) else "/spec"


def operation(r, known):
    op = r.choice(["add", "add", "add", "replace", "replace", "remove", "test", "move", "copy"])
    made = {"op": op, "path": pointer(r, known)}
    if op in ("add", "replace", "test"):
        made["value"] = tree(r, 1)
    if op in ("move", "copy"):
        made["from"] = pointer(r, known)
    return made


def json_patch(r, target):
    known = [p for p in paths(target) if not p.startswith(("/apiVersion", "/kind"))] or [""]
    ops = [operation(r, known) for _ in range(r.randint(1, 3))]
    return json.dumps(ops) if r.chance(0.5) else fuzz.yaml.safe_dump(ops, sort_keys=False)


# ---------------------------------------------------------------------------- rules


def matched(kind):
    return {"any": [{"resources": {"kinds": [kind]}}]}


def foreach(r, target):
    lists = ["request.object.spec.containers", "request.object.metadata.labels", "request.object.metadata.finalizers", "keys(request.object)",
             "request.object.spec.ports", "request.object.spec.template.spec.containers", "request.object.spec.*", "`[1, null, \"a\"]`", "request.object.spec.priority",
             "request.object.spec.containers[?name=='a']", "items(request.object.metadata.labels, 'k', 'v')"]
    one = {"list": r.choice(lists)}
    if r.chance(0.3):
        one["order"] = r.choice(["Ascending", "Descending"])
    if r.chance(0.3):
        one["context"] = [{"name": "own", "variable": {"value": r.choice(["{{ elementIndex }}", "{{ element }}", "{{ element.name }}", "c"])}}]
    own = "{{ own }}" if "context" in one else "v"
    if r.chance(0.3):
        one["preconditions"] = {"all": [{"key": r.choice(["{{ element.name }}", "{{ elementIndex }}", "{{ element }}", "{{ element.image || '' }}"]), "operator": r.choice(["Equals", "NotEquals", "AnyIn"]), "value": r.choice(["a", 0, 1, ["a", "b"]])}]}
    if r.chance(0.15) and set(one) == {"list"}:
        one["foreach"] = [dict(foreach(r, target))]
        one["foreach"][0]["list"] = r.choice([one["foreach"][0]["list"], "element.env", "element0.ports", "element"])
        return one
    if r.chance(0.5):
        choices = [
            {"spec": {"containers": [{"(name)": "{{ element.name }}", "tag": own}]}},
            {"spec": {"containers": [{"name": "{{ element.name }}", "i": "{{ elementIndex }}"}]}},
            {"spec": {"containers": [{"(name)": "{{ element.name }}", "+(imagePullPolicy)": "Always", "<(image)": "*"}]}},
            {"metadata": {"labels": {"k{{ elementIndex }}": own}}},
            {"metadata": {"labels": {"+(k{{ elementIndex }})": "{{ request.object.metadata.name }}"}}},
            {"metadata": {"annotations": {"l": "{{ element }}"}}},
            {"data": {"{{ element }}": own}},
        ]
        one["patchStrategicMerge"] = r.choice(choices)
    else:
        choices = [
            "- {op: add, path: /metadata/labels/k{{ elementIndex }}, value: '" + own + "'}",
            "- op: replace\n  path: /spec/containers/{{ elementIndex }}/image\n  value: 'n/{{ element.image }}'",
            "- {op: remove, path: /metadata/labels/{{ element }}}",
            "- {op: add, path: /spec/containers/{{ elementIndex }}/env/-, value: {name: '{{ element.name }}', value: '" + own + "'}}",
            "[{\"op\": \"add\", \"path\": \"/metadata/annotations/x\", \"value\": \"{{ elementIndex }}\"}]",
        ]
        one["patchesJson6902"] = r.choice(choices)
    return one


def mutate_rule(r, topic, target, n):
    rule = {"name": f"r{n}", "match": matched(target["kind"])}
    if topic == "json-patch":
        rule["mutate"] = {"patchesJson6902": json_patch(r, target)}
    elif topic == "foreach":
        rule["mutate"] = {"foreach": [foreach(r, target) for _ in range(r.choice([1, 1, 2]))]}
    else:
        rule["mutate"] = {"patchStrategicMerge": merge_patch(r, target, {"merge": 0, "lists": 0, "anchors": 0.35}[topic])}
    return rule


VARIABLES = ["{{ request.object.metadata.name }}", "{{ request.object.spec }}", "x-{{ request.object.metadata.labels.app || 'none' }}", "{{ request.object.metadata.labels.k0 || 'none' }}",
             "{{ request.namespace }}", "{{ request.object.spec.priority || `1` }}", "{{ images.containers.a.tag || '' }}", "{{ v }}", "{{ request.object.nope }}", "{{ length(request.object.spec.containers) }}"]


def cascade(r, target):
    rules = []
    for n in range(r.randint(2, 4)):
        rule = mutate_rule(r, r.choice(["json-patch", "foreach", "merge", "anchors"]), target, n)
        if r.chance(0.6):
            rule["mutate"] = {"patchStrategicMerge": {"metadata": {r.choice(["labels", "annotations"]): {f"k{r.randint(0, 2)}": r.choice(VARIABLES)}}}}
        if r.chance(0.3):
            rule["context"] = [{"name": "v", "variable": {"jmesPath": r.choice(["request.object.metadata.name", "request.object.metadata.labels.k1", "to_string(request.object.spec)"])}}]
        if r.chance(0.3):
            rule["preconditions"] = {"all": [{"key": "{{ request.object.metadata.labels.k1 || 'none' }}", "operator": r.choice(["Equals", "NotEquals"]), "value": r.choice(["none", "w"])}]}
        if r.chance(0.2):
            rule["match"] = {"any": [{"resources": {"kinds": [target["kind"]], "selector": {"matchLabels": {"k1": "w"}}}}]}
        rules.append(rule)
    if r.chance(0.4):
        rules.append({"name": "check", "match": matched(target["kind"]), "validate": {"message": "m {{ request.object.metadata.labels }}", "pattern": {"metadata": {"labels": {"k1": r.choice(["?*", "w", "5"])}}}}})
    return rules


def generation(r):
    def described():
        made = {"apiVersion": "v1", "kind": r.choice(["ConfigMap", "Secret"]), "name": r.choice(["g", "g-{{ request.object.metadata.name }}", "src"]),
                "namespace": r.choice(["default", "{{ request.object.metadata.name }}", "n"])}
        if r.chance(0.65):
            made["data"] = r.choice([{"data": {"a": r.choice(VARIABLES)}}, {"spec": tree(r)}, {"metadata": {"labels": {"x": "y"}, "name": "o"}, "data": {"n": 1}}, {"kind": "Secret", "data": {}}])
        else:
            made["clone"] = {"namespace": "default", "name": r.choice(["src", "src2", "nope"])}
        return made
    if r.chance(0.3):
        body = {"foreach": [dict(described(), list=r.choice(["request.object.spec.l", "keys(request.object.metadata.labels)", "`[\"a\", null, \"b\"]`"]), name="g-{{ element }}")]}
        if r.chance(0.3):
            body["foreach"][0]["preconditions"] = {"all": [{"key": "{{ elementIndex }}", "operator": "NotEquals", "value": 0}]}
    elif r.chance(0.2):
        body = {"namespace": r.choice(["n", "default"]), "cloneList": {"namespace": "default", "kinds": r.sample(["v1/ConfigMap", "v1/Secret"], r.randint(1, 2))}}
        if r.chance(0.5):
            body["cloneList"]["selector"] = {"matchLabels": {"s": "t"}}
    else:
        body = described()
    if r.chance(0.3):
        body["synchronize"] = True
    return body


SOURCES = [{"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default", "labels": {"s": s}, "uid": "u", "resourceVersion": "1"}, "data": {"x": "1"}}
           for kind in ("ConfigMap", "Secret") for name, s in (("src", "t"), ("src2", "u"))]


def generate_case(r):
    target = resource(r, r.choice(["Widget", "ConfigMap"]))
    rules = []
    for n in range(r.randint(1, 3)):
        rule = {"name": f"r{n}", "match": matched(target["kind"]), "generate": generation(r)}
        if r.chance(0.2):
            rule["context"] = [{"name": "v", "variable": {"jmesPath": "request.object.metadata.name"}}]
        if r.chance(0.2):
            rule["preconditions"] = {"all": [{"key": "{{ request.object.metadata.labels.app || 'none' }}", "operator": "Equals", "value": r.choice(["none", "a"])}]}
        rules.append(rule)
    return {"policy": policy(rules), "resource": target, "cloneSources": SOURCES}


def policy(rules, autogen=False):
    metadata = {"name": "p"}
    if not autogen:
        metadata["annotations"] = {"pod-policies.kyverno.io/autogen-controllers": "none"}
    return {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": metadata, "spec": {"background": False, "rules": rules}}


def case(r, topic, name):
    if topic == "generate":
        made = generate_case(r)
    else:
        kind = r.choice(["Pod", "Pod", "Deployment", "Service"]) if topic == "lists" else None
        target = resource(r, kind)
        if topic == "lists":
            target = dict(target, metadata={"name": "w"})
        rules = cascade(r, target) if topic == "cascade" else [mutate_rule(r, topic, target, 0)]
        autogen = target["kind"] == "Pod" and r.chance(0.2)
        made = {"policy": policy(rules, autogen), "resource": resource(r, "Deployment") if autogen and r.chance(0.5) else target}
        if r.chance(0.1):
            made["entry"] = "admission"
        if r.chance(0.05):
            made.update(operation="UPDATE", oldResource=resource(r, target["kind"]))
    made["id"] = name
    return made


fuzz.case = case
fuzz.TOPICS = ("merge", "anchors", "lists", "json-patch", "foreach", "cascade", "generate")

if __name__ == "__main__":
    sys.exit(fuzz.main())
