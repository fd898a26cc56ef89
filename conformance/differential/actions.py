#!/usr/bin/env python3
"""Records what Kyverno 1.19.1's own admission handlers make of failure actions and their overrides, in the format of `conformance/server/README.md`.

usage: actions.py HOOKGOLD > conformance/server/actions.jsonl"""
import sys
from cases import review_request, recorded

CONFIG_MAPS = {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}
DEV, PROD = {"matchLabels": {"env": "dev"}}, {"matchLabels": {"env": "prod"}}
# What a rule finds out, by the name of the object.
PATTERN = {"pattern": {"data": {"x": "2"}}}
ERROR = {"deny": {"conditions": {"any": [{"key": "{{ request.object.data.nope }}", "operator": "Equals", "value": "a"}]}}}
HOLDS = {"pattern": {"data": {"x": "*"}}}


def rule(name, body, **validate): return {"name": name, "match": CONFIG_MAPS, "validate": dict(body, message=name, **validate)}


def policy(name, rules, **spec):
    return {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": name}, "spec": dict({"background": False, "rules": rules}, **spec)}


def override(action, namespaces=None, selector=None):
    return {k: v for k, v in {"action": action, "namespaces": namespaces, "namespaceSelector": selector}.items() if v is not None}


OVERRIDES = {
    "namespace": (["default"], None), "pattern": (["def*"], None), "dev": (None, DEV), "prod": (None, PROD), "namespace-dev": (["default"], DEV),
    "namespace-prod": (["default"], PROD), "x-dev": (["x"], DEV), "none": (None, None), "nothing": ([], None),
}


def groups(body):
    other = {"Audit": "Enforce", "Enforce": "Audit"}
    for action in other:
        yield "policy-%s" % action, policy("p", [rule("r", body)], validationFailureAction=action)
        yield "rule-%s" % action, policy("p", [rule("r", body, failureAction=action)])
        yield "rule-%s-in-policy-%s" % (action, other[action]), policy("p", [rule("r", body, failureAction=action)], validationFailureAction=other[action])
        yield "rule-%s-and-other" % action, policy("p", [rule("r", body, failureAction=action), rule("s", HOLDS, failureAction=other[action])])
        yield "rule-%s-ignored" % action, policy("p", [rule("r", body, failureAction=action)], failurePolicy="Ignore")
        yield "policy-%s-warns" % action, policy("p", [rule("r", body)], validationFailureAction=action, emitWarning=True)
        for name, (namespaces, selector) in OVERRIDES.items():
            o = override(other[action], namespaces, selector)
            if name == "none" and selector is None: o = {"action": other[action]}
            yield "policy-%s-but-%s" % (action, name), policy("p", [rule("r", body)], validationFailureAction=action, validationFailureActionOverrides=[o])
            yield "rule-%s-but-%s" % (action, name), policy("p", [rule("r", body, failureAction=action, failureActionOverrides=[o])])
            yield "rule-%s-policy-but-%s" % (action, name), policy("p", [rule("r", body, failureAction=action)], validationFailureActionOverrides=[o])
            yield "rule-but-%s-and-%s" % (name, action), policy("p", [rule("r", body, failureAction=action, failureActionOverrides=[o]), rule("s", HOLDS, failureAction="Enforce")])


BLOCK = policy("zz", [rule("z", PATTERN)], validationFailureAction="Enforce")
NAMES = ("default", "x", "kube-system")


def objects():
    for namespace in NAMES:
        yield namespace, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm", "namespace": namespace}, "data": {"x": "1"}}


for kind, body in (("fails", PATTERN), ("error", ERROR)):
    for name, p in groups(body):
        for others in ([], [BLOCK]):
            requests = [review_request(namespace, "CREATE", o, None, namespace) for namespace, o in objects()]
            recorded(sys.argv[1], "%s %s%s" % (kind, name, " and another" if others else ""), [p] + others, [], requests)
