#!/usr/bin/env python3
"""Records what Kyverno 1.19.1's own admission handlers answer to updates of objects that violated a rule before, in the format of `conformance/server/README.md`.

usage: cases.py HOOKGOLD > conformance/server/updates.jsonl"""
import copy, json, random, sys
from server import NAMESPACES, USERS, Reference, expected, request

BASELINE = {"podSecurity": {"level": "baseline", "version": "latest"}}
BAD_IMAGE = {"pattern": {"spec": {"containers": [{"image": "!bad"}]}}}
HOLDS = {"key": "a", "operator": "Equals", "value": "a"}
CONTAINERS = "request.object.spec.containers"
IMAGE = CONTAINERS + "[0].image"


def variable(name, query): return {"name": name, "variable": {"jmesPath": query}}


def deny(key, value="bad", operator="Equals"): return {"deny": {"conditions": {"any": [{"key": key, "operator": operator, "value": value}]}}}


def pods(**attributes): return {"match": {"any": [{"resources": dict({"kinds": ["Pod"]}, **attributes)}]}}


def each(body, items=CONTAINERS, **more): return {"foreach": [dict({"list": items}, **body, **more)]}


NEW = "{{ request.object.metadata.labels.new }}"
# name: (validate, more of the rule)
RULES = {
    "plain": (BAD_IMAGE, {}),
    "preconditions-empty-map": (BAD_IMAGE, {"preconditions": {}}),
    "preconditions-empty-list": (BAD_IMAGE, {"preconditions": []}),
    "preconditions-all-empty": (BAD_IMAGE, {"preconditions": {"all": []}}),
    "preconditions-any-empty": (BAD_IMAGE, {"preconditions": {"any": []}}),
    "preconditions-list": (BAD_IMAGE, {"preconditions": [HOLDS]}),
    "preconditions-any": (BAD_IMAGE, {"preconditions": {"any": [HOLDS]}}),
    "preconditions-operation": (BAD_IMAGE, {"preconditions": {"all": [{"key": "{{ request.operation || 'BACKGROUND' }}", "operator": "NotEquals", "value": "DELETE"}]}}),
    "context-unused": (BAD_IMAGE, {"context": [{"name": "x", "variable": {"value": 1}}]}),
    "subject": (BAD_IMAGE, {"match": {"any": [{"resources": {"kinds": ["Pod"]}, "subjects": [{"kind": "User", "name": "alice"}]}]}}),
    "excluded-subject": (BAD_IMAGE, {"exclude": {"any": [{"subjects": [{"kind": "User", "name": "bob"}]}]}}),
    "operation-update": (BAD_IMAGE, pods(operations=["UPDATE"])),
    "operation-both": (BAD_IMAGE, pods(operations=["CREATE", "UPDATE"])),
    "namespace-selector": (BAD_IMAGE, pods(namespaceSelector={"matchLabels": {"env": "prod"}})),
    "label-of-new": (BAD_IMAGE, pods(selector={"matchLabels": {"new": "1"}})),
    "label-of-old": (BAD_IMAGE, pods(selector={"matchLabels": {"old": "1"}})),
    "excluded-label-of-old": (BAD_IMAGE, {"exclude": pods(selector={"matchLabels": {"old": "1"}})["match"]}),
    "not-allowed": (dict(BAD_IMAGE, allowExistingViolations=False), {}),
    "override": (dict(BAD_IMAGE, failureAction="Audit", failureActionOverrides=[{"action": "Enforce", "namespaces": ["default"]}]), {}),
    "images": (deny("{{ images.containers.*.name }}", ["bad"], "AnyIn"), {}),
    "images-and-object": ({"deny": {"conditions": {"all": [{"key": "{{ images.containers.c.name }}", "operator": "Equals", "value": "bad"}, {"key": "{{ %s }}" % IMAGE, "operator": "Equals", "value": "bad"}]}}}, {}),
    "images-of-each": (each(deny('{{ images.containers."{{element.name}}".name }}')), {}),
    "message-of-old": (dict(BAD_IMAGE, message="{{ request.oldObject.metadata.name }}"), {}),
    "context": (deny("{{ x }}"), {"context": [variable("x", IMAGE)]}),
    "context-chain": (deny("{{ y }}"), {"context": [variable("x", IMAGE), variable("y", "x")]}),
    "context-and-object": ({"deny": {"conditions": {"all": [{"key": "{{ x }}", "operator": "Equals", "value": "bad"}, {"key": "{{ %s }}" % IMAGE, "operator": "Equals", "value": "bad"}]}}}, {"context": [variable("x", IMAGE)]}),
    "context-of-operation": (deny("{{ x }}", "UPDATE"), {"context": [variable("x", "request.operation")]}),
    "context-of-old": (deny("{{ x }}"), {"context": [variable("x", "request.oldObject.spec.containers[0].image")]}),
    "context-in-message": (dict(BAD_IMAGE, message="{{ x }}"), {"context": [variable("x", IMAGE)]}),
    "each": (each(deny("{{ element.image }}")), {}),
    "each-context": (each(deny("{{ y }}"), context=[variable("y", "element.image")]), {}),
    "each-rule-context": (each(deny("{{ x }}")), {"context": [variable("x", IMAGE)]}),
    "each-list-of-context": (each(deny("{{ element.image }}"), "x"), {"context": [variable("x", CONTAINERS)]}),
    "each-preconditions": (each({"deny": {}}, preconditions={"all": [{"key": "{{ element.image }}", "operator": "Equals", "value": "bad"}]}), {}),
    "each-pattern": (each({"pattern": {"image": "!bad"}}), {}),
    "each-any-pattern": (each({"anyPattern": [{"image": "good"}, {"image": "ok"}]}), {}),
    "each-pattern-error": (each({"pattern": {"name": NEW + "0"}}), {}),
    "each-deny-error": (each(deny(NEW, "1")), {}),
    "each-of-each": ({"foreach": [{"list": CONTAINERS, "foreach": [dict({"list": "element.ports"}, **deny("{{ element.hostPort || `0` }}", 0, "GreaterThan"))]}]}, {}),
    "pattern-of-object": ({"pattern": {"spec": {"containers": [{"image": "!{{ %s }}" % IMAGE}]}}}, {}),
    "pattern-of-context": ({"pattern": {"spec": {"containers": [{"image": "!{{ x }}"}]}}}, {"context": [variable("x", IMAGE)]}),
    "pattern-error": ({"pattern": {"metadata": {"labels": {"new": NEW + "0"}}}}, {}),
    "pattern-of-reference": ({"pattern": {"metadata": {"annotations": {"a": "{{ request.object.metadata.annotations.b }}"}}}}, {}),
    "pattern-escaped-reference": ({"pattern": {"spec": {"containers": [{"image": "\\$(/metadata/annotations/b)"}]}, "metadata": {"annotations": {"b": "*"}}}}, {}),
    "pattern-escaped-reference-alone": ({"pattern": {"metadata": {"annotations": {"b": "\\$(x)"}}}}, {}),
    "pattern-escaped-reference-to-nothing": ({"pattern": {"spec": {"containers": [{"image": "\\$(/metadata/nope)"}]}}}, {}),
    "pattern-escaped-variable-of-both": ({"pattern": {"spec": {"containers": [{"image": "\\{{ request.object.spec.containers[0].image }}"}]}}}, {}),
    "pattern-escaped-variable-of-new": ({"pattern": {"metadata": {"labels": {"old": "!\\{{ request.object.metadata.labels.new }}"}}}}, {}),
    "pattern-escaped-variable-of-old": ({"pattern": {"spec": {"containers": [{"image": "!\\{{ request.oldObject.spec.containers[0].image }}"}]}}}, {}),
    "pattern-escaped-twice": ({"pattern": {"spec": {"containers": [{"image": "\\\\{{ request.object.spec.containers[0].image }}"}]}}}, {}),
    "pattern-escaped-context": ({"pattern": {"spec": {"containers": [{"image": "\\{{ x }}"}]}}}, {"context": [variable("x", IMAGE)]}),
    "pattern-mixed-escape": ({"pattern": {"spec": {"containers": [{"image": "\\{{ request.object.spec.containers[0].image }}|{{ request.name }}"}]}}}, {}),
    "any-pattern-escaped-reference": ({"anyPattern": [{"spec": {"containers": [{"image": "\\$(/0/metadata/annotations/b)"}]}, "metadata": {"annotations": {"b": "*"}}}]}, {}),
    "any-pattern-escaped-variable": ({"anyPattern": [{"spec": {"containers": [{"image": "\\{{ request.object.spec.containers[0].image }}"}]}}]}, {}),
    "each-pattern-escaped": (each({"pattern": {"image": "\\{{ element.image }}"}}), {}),
    "deny-escaped-reference-of-object": (deny("\\$(x)", "{{ request.object.metadata.annotations.b }}"), {}),
    "deny-escaped": (deny("\\{{ request.object.spec.containers[0].image }}", "\\{{ request.object.spec.containers[0].image }}"), {}),
    "message-escaped": (dict(BAD_IMAGE, message="\\{{ request.object.metadata.nope }}"), {}),
    "any-pattern": ({"anyPattern": [{"spec": {"containers": [{"image": "good"}]}}]}, {}),
    "any-pattern-of-object": ({"anyPattern": [{"spec": {"containers": [{"image": "!{{ %s }}" % IMAGE}]}}]}, {}),
    "any-pattern-error": ({"anyPattern": [{"metadata": {"labels": {"new": NEW + "0"}}}]}, {}),
    "deny-error": (deny(NEW, "1"), {}),
    "deny-value-error": (deny("1", NEW), {}),
    "deny-missing": (deny("{{ request.object.spec.nope }}", "p"), {}),
    "conditional": ({"pattern": {"metadata": {"labels": {"(new)": "1"}}, "spec": {"containers": [{"image": "!bad"}]}}}, {}),
    "global": ({"pattern": {"metadata": {"labels": {"<(new)": "1"}}, "spec": {"containers": [{"image": "!bad"}]}}}, {}),
    "user": (deny("{{ request.userInfo.username }}", "alice"), {}),
    "name": (deny("{{ request.name }}", "p"), {}),
    "cel": ({"cel": {"expressions": [{"expression": 'object.spec.containers.all(c, c.image != "bad")'}]}}, {}),
    "pod-security": (BASELINE, {}),
}
# name: (validate, more of the PolicyException)
EXCEPTED = {
    "of-create": {"conditions": {"any": [{"key": "{{ request.operation }}", "operator": "Equals", "value": "CREATE"}]}},
    "of-update": {"conditions": {"any": [{"key": "{{ request.operation }}", "operator": "Equals", "value": "UPDATE"}]}},
    "match-create": {"match": pods(operations=["CREATE"])["match"]},
    "match-update": {"match": pods(operations=["UPDATE"])["match"]},
    "label-of-old": {"match": pods(selector={"matchLabels": {"old": "1"}})["match"]},
    "label-of-new": {"match": pods(selector={"matchLabels": {"new": "1"}})["match"]},
    "image-of-object": {"conditions": {"any": [{"key": "{{ %s }}" % IMAGE, "operator": "Equals", "value": "good"}]}},
    "object-of-old": {"conditions": {"any": [{"key": "{{ request.object.metadata.labels.old || '' }}", "operator": "Equals", "value": "1"}]}},
    "user": {"match": {"any": [{"resources": {"kinds": ["Pod"]}, "subjects": [{"kind": "User", "name": "alice"}]}]}},
    "not-user": {"match": {"any": [{"resources": {"kinds": ["Pod"]}, "subjects": [{"kind": "User", "name": "bob"}]}]}},
    "namespace-labels": {"match": pods(namespaceSelector={"matchLabels": {"env": "prod"}})["match"]},
    "error": {"conditions": {"any": [{"key": "{{ request.oldObject.metadata.labels.old }}", "operator": "Equals", "value": "1"}]}},
}
CONTROL = {"podSecurity": [{"controlName": "Host Ports", "images": ["*"]}]}
OTHER_CONTROL = {"podSecurity": [{"controlName": "Capabilities", "images": ["*"]}]}
EXCEPTIONS = {}
for body, validate in (("pattern", BAD_IMAGE), ("deny", deny("{{ %s }}" % IMAGE)), ("each", each(deny("{{ element.image }}"))), ("pod-security", BASELINE)):
    for name, more in EXCEPTED.items():
        EXCEPTIONS["excepted-%s-%s" % (body, name)] = (validate, more)
for name in ("of-create", "of-update", "label-of-old", "label-of-new", "match-create"):
    EXCEPTIONS["excepted-control-" + name] = (BASELINE, dict(EXCEPTED[name], **CONTROL))
    EXCEPTIONS["excepted-other-control-" + name] = (BASELINE, dict(EXCEPTED[name], **OTHER_CONTROL))
RULES.update({name: (validate, {}) for name, (validate, _) in EXCEPTIONS.items()})


def exceptions(name):
    if name not in EXCEPTIONS: return []
    spec = dict({"exceptions": [{"policyName": name, "ruleNames": ["r"]}], "match": pods()["match"]}, **EXCEPTIONS[name][1])
    return [{"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": {"name": "e", "namespace": "default"}, "spec": spec}]


def policy(name):
    validate, more = RULES[name]
    rule = {"name": "r", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, "validate": dict({"failureAction": "Enforce", "message": "m"}, **validate)}
    rule.update(more)
    return {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": name}, "spec": {"background": False, "rules": [rule]}}


def pod(image, labels=None, **spec):
    metadata = {"name": "p", "namespace": "default", "annotations": {"b": "$(x)"}}
    if labels: metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": dict({"containers": [{"name": "c", "image": image, "ports": [{"containerPort": 5, "hostPort": 5}] if image == "bad" else []}]}, **spec)}


bad, good, tenth = pod("bad", {"old": "1"}), pod("good"), pod("good", {"new": "10"})
PAIRS = [("bad-to-bad", bad, pod("bad", {"new": "1"})), ("good-to-bad", good, pod("bad", {"new": "1"})), ("tenth-to-bad", tenth, pod("bad", {"new": "1"})), ("bad-to-good", bad, good)]


def recorded(hookgold, group, policies, exceptions, requests):
    """A group with what the reference answers; it must answer five times alike."""
    gold = Reference(hookgold, policies, NAMESPACES, exceptions)
    if gold.setup.get("refused"): sys.exit("%s: %s" % (group, gold.setup))
    agreed = []
    for r in requests:
        answers = [expected(gold.review(r), r["object"]) for _ in range(5)]
        if any(a != answers[0] for a in answers): sys.exit("%s %s: %s" % (group, r["uid"], answers))
        agreed.append({"request": r, "expected": answers[0]})
    gold.close()
    print(json.dumps({"group": group, "policies": policies, "exceptions": exceptions, "objects": NAMESPACES, "requests": agreed}, ensure_ascii=False))


def review_request(uid, operation, new, old, namespace="default"):
    r = request(random.Random(0), 0, copy.deepcopy(new), copy.deepcopy(old), operation, None, USERS[0], namespace); r["uid"] = uid
    return r


if __name__ == "__main__":
    for name in RULES:
        recorded(sys.argv[1], name, [policy(name)], exceptions(name), [review_request(uid, "UPDATE", new, old) for uid, old, new in PAIRS])
