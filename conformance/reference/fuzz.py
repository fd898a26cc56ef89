#!/usr/bin/env python3
"""Compares the engine with the reference on random policies and objects.

usage: ENGINEGOLD=PATH [EPHOR=PATH] fuzz.py [--seed N] [--batches N] [--cases N] [--topics a,b] [--out DIR]

Each batch generates --cases cases of several rules, runs both programs, prints every kind of
difference once, shrinks it and writes it to DIR/TOPIC-SEED-N.yaml in the form of conformance/cases
(by default nothing is written). EPHOR defaults to target/release/ephor. Exit code 1: differences.
"""
import argparse
import copy
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
GOLD = os.environ.get("ENGINEGOLD", "enginegold")
EPHOR = os.environ.get("EPHOR", str(ROOT / "target/release/ephor"))

# ---------------------------------------------------------------------------- running

COMPARED = ("rule", "type", "status", "message", "policy", "properties", "exceptions")


def run_reference(cases):
    """Answers of the reference by id; cases without one are missing."""
    answers, todo = {}, [cases[at:at + 300] for at in range(0, len(cases), 300)]
    while todo:
        part = todo.pop()
        text = "".join(json.dumps(c) + "\n" for c in part)
        # Much more than it needs.
        try:
            run = subprocess.run([GOLD], input=text, capture_output=True, text=True, timeout=40)
            out, ended = run.stdout, run.returncode == 0
        except subprocess.TimeoutExpired as stopped:
            out, ended = (stopped.stdout or b"").decode(), False
        lines = out.split("\n")[:-1]
        for line in lines:
            answer = json.loads(line)
            if "crash" not in answer and "panic" not in answer:
                answers[answer["id"]] = answer
        # It answers in order: the first case without an answer ended it.
        if not ended and len(part) > len(lines) + 1:
            todo.append(part[len(lines) + 1:])
    return answers


def recorded(case, answer):
    """The answer in the form of an engine suite."""
    expected = {}
    several = len(case.get("policies", [])) > 1
    if "policyError" in answer:
        expected["policyError"] = answer["policyError"]
    if "contextError" in answer:
        expected["contextError"] = answer["contextError"]
    rules = []
    for rule in answer.get("rules") or []:
        shown = {k: rule[k] for k in COMPARED + ("podSecurity",) if k in rule}
        if not several:
            shown.pop("policy", None)
        rules.append(shown)
    if "contextError" not in answer:
        expected["rules"] = rules
    if "ruleNames" in answer:
        expected["ruleNames"] = answer["ruleNames"]
    return expected


def run_ephor(folder, failures):
    subprocess.run([EPHOR, "conformance", str(folder), "--suite", "engine/fuzz", "--failures", str(failures)],
                   capture_output=True, text=True)


def differences(cases, expected):
    """What differs: id to what came out."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "engine").mkdir()
        with open(Path(folder) / "engine/fuzz.jsonl", "w") as out:
            for case in cases:
                out.write(json.dumps({**case, "expected": expected[case["id"]]}) + "\n")
        failures = Path(folder) / "failures.jsonl"
        run_ephor(folder, failures)
        found = [json.loads(line) for line in failures.read_text().splitlines()]
    return {f["id"]: f["got"] for f in found}


def refused(case, answer):
    return answer is None or "loadError" in answer or "error" in answer


def topic_of(case):
    return re.match(r"[a-z-]*[a-z]", case["id"]).group()


def compare(cases, times=30, seen=None):
    """Cases that differ, as (case, expected, got), and the reference's answers.

    `seen` counts by topic what was compared: pairs of a policy and an object, and outcomes of rules.
    """
    answers = run_reference(cases)
    usable = [c for c in cases if not refused(c, answers.get(c["id"]))]
    expected = {c["id"]: recorded(c, answers[c["id"]]) for c in usable}
    wrong = differences(usable, expected)
    for c in usable if seen is not None else ():
        e = expected[c["id"]]
        pairs, outcomes = seen.get(topic_of(c), (0, 0))
        seen[topic_of(c)] = (pairs + 1, outcomes + (0 if "policyError" in e else len(e.get("rules", []))))
    suspects = [c for c in usable if c["id"] in wrong]
    # The order of keys is random in the reference: an answer counts when it comes every time.
    again = run_reference([{**c, "id": f"{c['id']}~{n}"} for c in suspects for n in range(times)])
    same = lambda c, n: recorded(c, again.get(f"{c['id']}~{n}", {})) == expected[c["id"]]
    suspects = [c for c in suspects if all(same(c, n) for n in range(times))]
    return [(c, expected[c["id"]], wrong[c["id"]]) for c in suspects], answers


# ---------------------------------------------------------------------------- generating

# No text ends in a character of several bytes: the reference cannot read a variable right behind one.
TEXTS = ["", "abc", "ABC", "a*", "?b", "b", "ab", "5", "10", "-3", "05", "1.5", "10.0", "1e3", "1h", "30m", "90s", "60m",
         "1d", "1Gi", "1024Mi", "500m", "0.5", "true", "false", "null", "1.2.3", "v1.2.3", "1.10.0", ">=1.2.3",
         "5-10", "1-5", "10-20", "1h-2h", "1Mi-1Gi", "5!-10", "!5", "!abc", ">5", "<10", ">=5", "<=1Gi", "a|b", "a | abc",
         "> 4 & < 11", "a&b", "*", "?*", "**", " abc ", "2024-05-01T00:00:00Z", "h\u00e9\u00e9x", "x y", "a.b", "a-b",
         "0", "0s", "-1h", "+5", "1k", "1000", "5Mi", ".5", "5.", "0x10", "1_000", "a\nb", "\u00e9a", "nginx:1.25",
         "1E3", "1Ki", "100m-1", "> 5 | < 1", ">= 1h", "!10-20", "1h30m", "1d12h", "~1.2", "^1.2.0", "1.x", "<2.0.0", "v1", "2024-05-01",
         "yes", "0.1s", "1us", "5e-1", "-0", "1.50", "!", "!!a", ">", "|", "&", "10Mi-5Gi", "1h!-2h", "*b*", "a?*", "\\*", "[a]", "(a)"]
NUMBERS = [0, 1, 5, 10, -3, 7, 100, 1.5, 2.25, -0.5, 1000000, 1500000, 3600, 9007199254740993, 12345678, 0.00001]
OPERATORS = ["Equal", "Equals", "NotEqual", "NotEquals", "In", "AnyIn", "AllIn", "NotIn", "AnyNotIn", "AllNotIn",
             "GreaterThan", "GreaterThanOrEquals", "LessThan", "LessThanOrEquals", "DurationGreaterThan",
             "DurationGreaterThanOrEquals", "DurationLessThan", "DurationLessThanOrEquals"]
MATCHED = {"any": [{"resources": {"kinds": ["Widget"]}}]}


class Random(random.Random):
    def chance(self, p):
        return self.random() < p

    def scalar(self):
        return self.choice([self.choice(TEXTS), self.choice(TEXTS), self.choice(NUMBERS), self.choice([True, False, None])])

    def value(self, depth=2):
        if depth == 0 or self.chance(0.6):
            return self.scalar()
        if self.chance(0.6):
            if self.chance(0.5):
                kind = self.choice([TEXTS, NUMBERS])
                return [self.choice(kind) for _ in range(self.randint(0, 4))]
            return [self.value(depth - 1) for _ in range(self.randint(0, 3))]
        return {k: self.value(depth - 1) for k in self.sample(["a", "b", "name", "x-y"], self.randint(0, 3))}


def widget(r):
    """An object with values of every type."""
    spec = {k: r.value() for k in ("a", "b", "c", "d")}
    spec["items"] = [{k: v for k, v in (("name", r.choice(["one", "two", "abc"])), ("port", r.choice([80, 443, "80", 8080])),
                                        ("tag", r.scalar()), ("sub", {"x": r.scalar(), "y": r.scalar()}),
                                        ("ports", [{"port": r.choice([80, 443]), "proto": r.choice(["TCP", "UDP"])}
                                                   for _ in range(r.randint(0, 2))]))
                      if r.chance(0.8)} for _ in range(r.randint(0, 3))]
    spec["texts"] = [r.choice(TEXTS) for _ in range(r.randint(0, 3))]
    spec["ptr"] = r.choice(["a", "b", "c", "zz"])
    spec["obj"] = {"k1": r.scalar(), "k-2": r.scalar(), "deep": {"n": r.choice(NUMBERS), "s": r.choice(TEXTS)}}
    labels = {k: r.choice(["x", "web", "5", "", "gold"]) for k in r.sample(["app", "tier", "acme.io/tier", "acme.io/team"], r.randint(0, 3))}
    meta = {"name": r.choice(["w1", "web-1", "abc"]), "namespace": r.choice(["default", "shop", "team-a"])}
    if labels or r.chance(0.5):
        meta["labels"] = labels
    if r.chance(0.4):
        meta["annotations"] = {k: r.choice(TEXTS) for k in r.sample(["note", "acme.io/note", "zz"], r.randint(0, 2))}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta, "spec": spec}


PATHS = ["a", "b", "c", "d", "items", "texts", "ptr", "obj", "obj.k1", 'obj."k-2"', "obj.deep.n", "obj.deep.s", "obj.deep", "items[0]",
         "items[0].name", "items[].name", "items[*].port", "items[?name=='one']", "items[].ports[].port", "texts[0]", "texts[-1]", "zz",
         "items[0].sub.x", "a.b", "texts[1:]", "items[0].ports", "zz.yy", "obj.zz"]


def query(r, roots):
    root = r.choice(roots)
    path = root + "." + r.choice(PATHS) if root == "request.object.spec" else root
    form = r.randint(0, 22)
    return {
        0: lambda: f"{path} || 'none'", 1: lambda: f"length({path})", 2: lambda: f"to_string({path})",
        3: lambda: f"{path} || `5`", 4: lambda: f"keys({path})", 5: lambda: f"[{path}, `1`]",
        6: lambda: f"{{x: {path}, y: 'b'}}", 7: lambda: f"{path} == 'abc'", 8: lambda: f"type({path})",
        9: lambda: f"to_number({path})", 10: lambda: f"not_null({path}, `null`)", 11: lambda: f"to_upper('{r.choice(['a', 'b c'])}')",
    }.get(form, lambda: path)()


def reference(r, roots):
    text = "{{" + r.choice(["", " "]) + query(r, roots) + r.choice(["", " "]) + "}}"
    if r.chance(0.07):
        text = "{{ request.object.spec.{{ request.object.spec.ptr }} }}"
    elif r.chance(0.04) and "request." in text:
        text = "\\" + text
    if r.chance(0.2):
        text = r.choice(["pre-", "", "x "]) + text + r.choice(["-post", " y", "*", "{{ request.object.metadata.name }}"])
    return text


ROOTS = ["request.object.spec"] * 6 + ["request.operation", "request.object.metadata.name", "request.namespace", "request.object.kind"]


def operand(r, roots):
    if r.chance(0.45):
        return reference(r, roots)
    value = r.value()
    if isinstance(value, list) and value and r.chance(0.2):
        value[r.randrange(len(value))] = reference(r, roots)
    return value


def condition(r, roots=ROOTS):
    made = {"key": operand(r, roots), "operator": r.choice(OPERATORS), "value": operand(r, roots)}
    if r.chance(0.25):
        made["message"] = r.choice(["m1", "m2; x", reference(r, roots), "k={{ request.object.metadata.name }}"])
    return made


def conditions(r, roots=ROOTS, typed=False):
    some = lambda n: [condition(r, roots) for _ in range(r.randint(1, n))]
    form = r.random()
    if form < 0.35:
        return {"any": some(2)}
    if form < 0.6:
        return {"all": some(2)}
    if form < 0.75 or typed:
        return {"any": some(2), "all": some(2)}
    return some(2)


def leaf(r, value):
    """A pattern for a scalar, near its value."""
    form = r.random()
    if form < 0.25:
        return value
    if form < 0.6 or value is None or isinstance(value, (list, dict)):
        return r.choice([r.scalar(), r.choice(TEXTS), "*", "?*", "!" + r.choice(TEXTS), None, 0, "{{ request.object.spec.a }}"])
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return r.choice([text, "!" + text, text + "*", "*" + text, text + " | zz", "zz | " + text, ">=" + text, "<" + text, "<=" + text, ">" + text,
                     text + "-" + text, text + " & ?*", "> 4 & < 11", "0-10", "1!-5", text.upper(), "?" + text[1:], "$(./../a)", "$(<=./../b)"])


ANCHORS = ["({})", "=({})", "<({})", "X({})", "^({})"]


def overlay(r, value, depth=0, anchored=0.35):
    """A pattern near a value."""
    if r.chance(0.06):
        return r.choice([r.scalar(), {}, [], {"zz": 1}, [{"zz": 1}], "*", None])
    if isinstance(value, dict):
        keys = r.sample(sorted(value), min(len(value), r.randint(1, 2 if depth else 3)))
        if r.chance(0.12):
            keys.append(r.choice(["zz", "name", "a"]))
        out = {}
        for key in keys:
            inner = overlay(r, value.get(key), depth + 1, anchored)
            if r.chance(anchored):
                anchor = r.choice(ANCHORS)
                if anchor[0] == "^" and not (isinstance(inner, list) and inner):
                    inner = [inner if isinstance(inner, dict) else {"name": "one"}]
                key = anchor.format(key)
            out[key] = inner
        # For a reference to an object the reference program takes any of its keys.
        objects = {k.strip("^<=X()") for k, v in out.items() if isinstance(v, dict)}
        return {k: "?*" if isinstance(v, str) and any(f"./../{o})" in v for o in objects) else v for k, v in out.items()}
    if isinstance(value, list):
        if r.chance(0.15):
            return leaf(r, value[0]) if value and not isinstance(value[0], (dict, list)) else r.choice(["*", "?*", "!abc"])
        return [overlay(r, v, depth + 1, anchored) for v in (r.sample(value, min(len(value), r.randint(1, 2))) or [r.scalar()])]
    return leaf(r, value)


def pattern_for(r, thing):
    made = overlay(r, {"spec": thing["spec"], "metadata": {"name": thing["metadata"]["name"]}, "kind": "Widget"})
    if r.chance(0.3) and isinstance(made, dict):
        labels = {r.choice(["app", "acme.io/*", "*", "?ier", "tier", "=(acme.io/*)", "X(tier)", "(app)", "=(zz*)", "<(app)"]):
                  r.choice(["x", "?*", "web | x", "!5", "*", "gold"]) for _ in range(r.randint(1, 2))}
        # With two forms of the key the reference takes any of them for the wildcards.
        made = {k: v for k, v in made.items() if "metadata" not in k}
        made[r.choice(["metadata", "=(metadata)", "metadata"])] = {r.choice(["labels", "labels", "annotations", "=(labels)", "(labels)"]): labels}
    return made if isinstance(made, dict) else {"spec": made}


MESSAGES = [None, "m", "m.", "msg {{ request.object.metadata.name }}", "n {{ request.object.spec.zz }}", "{{ request.object.metadata.name }}",
            "o={{ request.object.spec.obj }}", "t {{ to_upper('x') }} {{ request.object.spec.texts }}", "esc \\{{ x }}", "n {{ request.object.spec.obj.deep.n }}"]


def with_message(r, validate):
    message = r.choice(MESSAGES)
    return {**({"message": message} if message is not None else {}), **validate}


def rule(r, name, validate, **more):
    return {"name": name, "match": more.pop("match", MATCHED), **more, "validate": with_message(r, validate)}


def deny(r, roots=ROOTS):
    return {"deny": {"conditions": conditions(r, roots)}}


def t_conditions(r, thing):
    def one(i):
        made = rule(r, f"r{i}", deny(r))
        if r.chance(0.3):
            made["preconditions"] = conditions(r)
        return made
    return [one(i) for i in range(16)]


def t_operators(r, thing):
    """One condition for a rule, literals only, so that every outcome is seen."""
    key, literal = r.value(), r.chance(0.5)
    thing["spec"]["a"] = copy.deepcopy(key)
    made = []
    for i in range(24):
        one = {"key": key if literal else "{{ request.object.spec.a }}", "operator": r.choice(OPERATORS), "value": r.value()}
        made.append({"name": f"r{i}", "match": MATCHED, "validate": {"deny": {"conditions": {"all": [one]}}}})
    return made


def t_patterns(r, thing):
    return [rule(r, f"r{i}", {"pattern": pattern_for(r, thing)}) for i in range(14)]


def t_leaves(r, thing):
    """One leaf pattern for a rule."""
    value = thing["spec"]["a"] = r.value()
    made = []
    for i in range(24):
        pattern = {"spec": {r.choice(["a", "a", "a", "(a)", "=(a)", "zz"]): leaf(r, value) if r.chance(0.6) else r.value()}}
        made.append({"name": f"r{i}", "match": MATCHED, "validate": r.choice([{"pattern": pattern}, {"anyPattern": [pattern]}])})
    return made


def t_any_pattern(r, thing):
    return [rule(r, f"r{i}", {"anyPattern": [pattern_for(r, thing) for _ in range(r.randint(1, 3))]}) for i in range(10)]


def entry(r, name, roots):
    source = r.random()
    variable = {}
    if source < 0.45:
        variable["value"] = r.choice([r.value(), reference(r, roots), {"k": reference(r, roots), "n": 1}, [reference(r, roots), "abc"]])
        if r.chance(0.3):
            variable["jmesPath"] = r.choice(["@", "k", "[0]", "length(@)", "to_string(@)", "zz"])
    else:
        variable["jmesPath"] = query(r, roots)
    if r.chance(0.35):
        variable["default"] = r.value()
    return {"name": name, "variable": variable}


def t_variables(r, thing):
    made = []
    for i in range(10):
        context, roots = [], list(ROOTS)
        for j in range(r.randint(1, 3)):
            name = r.choice(["v0", "v1", "v2", "v1.k"])
            context.append(entry(r, name, roots))
            roots += [name] * 3 + [name + ".k"]
        if r.chance(0.6):
            validate = deny(r, roots)
        else:
            validate = {"pattern": {"spec": {"a": reference(r, roots), "=(b)": leaf(r, thing["spec"]["b"])}}}
        one = rule(r, f"r{i}", validate, context=context)
        if r.chance(0.3):
            one["preconditions"] = conditions(r, roots)
        if r.chance(0.3):
            one["validate"]["message"] = "m " + reference(r, roots)
        made.append(one)
    return made


LISTS = ["request.object.spec.items", "request.object.spec.texts", "request.object.spec.items[].ports[]", "request.object.spec.zz", "request.object.spec.obj",
         "request.object.spec.a", "request.object.spec.items[?name=='one']", "request.object.spec.[items, zz][]", "keys(request.object.spec.obj)",
         "sum(request.object.spec.texts)", "request.object.spec.b", "range"]
ELEMENT = ["element", "element.name", "element.port", "element.tag", "element.sub.x", "elementIndex", "element0", "element0.name", "element.ports[].port",
           "element.zz", "elementIndex0", "request.object.metadata.name"]


def loop(r, thing, depth=0):
    made = {"list": r.choice(LISTS)}
    if depth:
        made["list"] = r.choice(["element.ports", "element", "request.object.spec.texts", "element.sub", "element.zz", "element0.ports"])
    if made["list"] == "range":
        made["list"] = "request.object.spec.items[0].ports"
    roots = ELEMENT + (["element1", "element1.port", "elementIndex1"] if depth else [])
    if r.chance(0.25):
        made["context"] = [entry(r, "loc", roots)]
        roots = roots + ["loc"] * 4
    if r.chance(0.25):
        made["preconditions"] = conditions(r, roots, typed=True)
    if r.chance(0.2):
        made["elementScope"] = r.chance(0.5)
    form = r.random()
    near = r.choice(thing["spec"]["items"] or [{"name": "one", "port": 80}])
    if form < 0.4:
        made["deny"] = {"conditions": conditions(r, roots)}
    elif form < 0.65:
        made["pattern"] = overlay(r, near or {"name": "one"}, 1)
    elif form < 0.8 or depth > 1:
        made["anyPattern"] = [overlay(r, near or {"name": "one"}, 1) for _ in range(r.randint(1, 2))]
    else:
        made["foreach"] = [loop(r, thing, depth + 1)]
    return made


def t_foreach(r, thing):
    return [rule(r, f"r{i}", {"foreach": [loop(r, thing) for _ in range(1 if r.chance(0.75) else 2)]}) for i in range(10)]


def kind_filter(r, kinds=("Widget", "*", "example.com/v1/Widget", "*/Widget", "v1/Widget", "Wid*", "Pod", "Widget/status", "example.com/*/Widget", "*/*", "widget", "?idget")):
    made = {}
    some = lambda options, n=2: r.sample(options, r.randint(1, n))
    if r.chance(0.85):
        # The policy check lets a wildcard kind stand only alone.
        chosen = some(list(kinds))
        made["kinds"] = [k for k in chosen if set(k) <= set("*/")][:1] or chosen
    if r.chance(0.25):
        made["names"] = some(["w1", "w*", "*-1", "abc", "?", "zz"])
    if r.chance(0.25):
        made["namespaces"] = some(["default", "shop", "team-*", "?*", "*", "zz"])
    if r.chance(0.2):
        made["annotations"] = {r.choice(["note", "*", "acme.io/*"]): r.choice(["*", "?*", "abc"])}
    if r.chance(0.3):
        made["selector"] = selector(r, ["app", "tier", "acme.io/tier", "*", "acme.io/*", "t?er"])
    if r.chance(0.2):
        made["namespaceSelector"] = selector(r, ["env", "team", "*"])
    if r.chance(0.25):
        made["operations"] = some(["CREATE", "UPDATE", "DELETE", "CONNECT"])
    out = {"resources": made} if made or r.chance(0.5) else {}
    if r.chance(0.15):
        out["subjects"] = [r.choice([{"kind": "User", "name": r.choice(["alice", "al*", "bob"])}, {"kind": "Group", "name": r.choice(["devs", "system:*"])},
                                     {"kind": "ServiceAccount", "name": "bot", "namespace": "ci"}])]
    if r.chance(0.1):
        out["clusterRoles"] = some(["admin", "view", "ad*"])
    if r.chance(0.1):
        out["roles"] = some(["shop:dev", "shop:*"])
    return out


def selector(r, keys):
    chosen = {}
    if r.chance(0.6):
        chosen["matchLabels"] = {r.choice(keys): r.choice(["x", "web", "*", "?*", "prod", "gold"])}
    if not chosen or r.chance(0.5):
        operator = r.choice(["In", "NotIn", "Exists", "DoesNotExist"])
        one = {"key": r.choice([k for k in keys if "*" not in k and "?" not in k]), "operator": operator}
        if operator in ("In", "NotIn"):
            one["values"] = r.sample(["x", "web", "prod", "5", "gold"], r.randint(1, 2))
        chosen["matchExpressions"] = [one]
    return chosen


def t_match(r, thing):
    def block():
        filters = [kind_filter(r) for _ in range(r.randint(1, 2))]
        return r.choice([{"any": filters}, {"any": filters}, {"all": filters}, filters[0] or {"any": [{}]}])
    made = []
    for i in range(12):
        one = rule(r, f"r{i}", {"deny": {}}, match=block())
        if r.chance(0.5):
            one["exclude"] = block()
        made.append(one)
    return made


def pod_spec(r):
    one = lambda n: {k: v for k, v in (("name", n), ("image", r.choice(["nginx:1.25", "nginx", "ghcr.io/a/b:latest"])), ("securityContext", {"privileged": r.chance(0.5)}),
                                       ("ports", [{"containerPort": 80}])) if k in ("name", "image") or r.chance(0.5)}
    made = {"containers": [one(n) for n in ("c1", "c2")[:r.randint(1, 2)]]}
    if r.chance(0.4):
        made["initContainers"] = [one("i1")]
    if r.chance(0.4):
        made["hostNetwork"] = r.chance(0.5)
    return made


def pod_like(r):
    spec, labels = pod_spec(r), {"app": r.choice(["x", "web"])}
    meta = {"name": "w1", "namespace": "shop", "labels": dict(labels)}
    template = {"metadata": {"labels": labels}, "spec": spec}
    kind = r.choice(["Pod", "Deployment", "CronJob", "Job", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController"])
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": kind, "metadata": meta, "spec": spec}
    if kind == "CronJob":
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": meta, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}}
    version = {"Job": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template}}


def t_autogen(r, thing):
    thing.clear()
    thing.update(pod_like(r))
    roots = ["request.object.spec.containers[].image", "request.object.spec.hostNetwork", "request.object.metadata.labels.app", "request.object.metadata.name",
             "request.object.spec.initContainers[].name", "request.object.spec.[initContainers, containers][].name", "images.containers.*.tag", "request.object.spec"]
    fake = {"metadata": {"labels": {"app": "x"}, "name": "w1"}, "spec": pod_spec(r)}
    made = []
    for i in range(6):
        form = r.random()
        if form < 0.35:
            validate = {"pattern": overlay(r, fake, 0, 0.3)}
        elif form < 0.5:
            validate = {"anyPattern": [overlay(r, fake, 0, 0.3) for _ in range(2)]}
        elif form < 0.75:
            validate = deny(r, roots)
        else:
            validate = {"foreach": [{"list": r.choice(["request.object.spec.containers", "request.object.spec.[initContainers, containers][]"]),
                                     r.choice(["pattern", "pattern"]): overlay(r, {"image": "nginx:1.25", "name": "c1"}, 1, 0.3)}]}
        kinds = r.choice([["Pod"], ["Pod"], ["Pod"], ["v1/Pod"], ["Pod", "Deployment"], ["Pod*"], ["*"], ["Pod", "CronJob"]])
        resources = {"kinds": kinds}
        if r.chance(0.2):
            resources["namespaces"] = ["shop"]
        if r.chance(0.1):
            resources["selector"] = {"matchLabels": {"app": "x"}}
        one = rule(r, f"r{i}", validate, match=r.choice([{"any": [{"resources": resources}]}, {"all": [{"resources": resources}]}, {"resources": resources}]))
        if r.chance(0.2):
            one["preconditions"] = conditions(r, roots)
        if r.chance(0.15):
            one["exclude"] = {"any": [{"resources": r.choice([{"names": ["zz*"]}, {"kinds": ["Job"]}, {"namespaces": ["zz"]}])}]}
        if r.chance(0.2):
            one["context"] = [entry(r, "v0", roots)]
        made.append(one)
    return made


TOPICS = {n[2:].replace("_", "-"): f for n, f in list(globals().items()) if n.startswith("t_")}


def exception(r, name, rules):
    made = {"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": {"name": name, "namespace": "ex"},
            "spec": {"exceptions": [{"policyName": r.choice(["p", "p", "q"]), "ruleNames": r.sample(rules + ["r*", "r1*"], 2)}],
                     "match": {r.choice(["any", "all"]): [kind_filter(r)]}}}
    if r.chance(0.3):
        made["spec"]["conditions"] = conditions(r, typed=True)
    return made


def case(r, topic, name):
    thing = widget(r)
    rules = TOPICS[topic](r, thing)
    annotations = {} if topic == "autogen" else {"pod-policies.kyverno.io/autogen-controllers": "none"}
    if topic == "autogen" and r.chance(0.3):
        annotations = {"pod-policies.kyverno.io/autogen-controllers": r.choice(["Deployment", "CronJob,Job", "none", "DaemonSet,Deployment,Job"])}
    spec = {"background": False, "rules": rules}
    if r.chance(0.05):
        spec["applyRules"] = r.choice(["One", "All"])
    made = {"id": name, "policy": {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "p", "annotations": annotations}, "spec": spec},
            "resource": thing}
    if r.chance(0.15):
        made["entry"] = "admission"
    if r.chance(0.15):
        # The reference program does not build admission requests that delete as a server does.
        made["operation"] = r.choice(["CREATE", "UPDATE"] if "entry" in made else ["CREATE", "UPDATE", "DELETE"])
        if made["operation"] == "UPDATE" and r.chance(0.6):
            made["oldResource"] = {**widget(r), "metadata": thing["metadata"]} if topic != "autogen" else copy.deepcopy(thing)
    if topic == "match":
        if r.chance(0.6):
            made["userInfo"] = {"userInfo": {"username": r.choice(["alice", "bob", "system:serviceaccount:ci:bot"]), "groups": ["devs", "system:authenticated"]},
                                "roles": ["shop:dev"], "clusterRoles": ["view"]}
        if r.chance(0.6):
            made["namespaceLabels"] = {"env": r.choice(["prod", "x"])}
        if r.chance(0.2):
            made["policy"]["kind"] = "Policy"
            made["policy"]["metadata"]["namespace"] = r.choice(["shop", "default"])
    if r.chance(0.06) and topic != "autogen":
        made["exceptions"] = [exception(r, f"e{i}", [x["name"] for x in rules]) for i in range(r.randint(1, 2))]
    return made


# ---------------------------------------------------------------------------- shrinking

FIXED = {("policy", "apiVersion"), ("policy", "kind"), ("policy", "metadata"), ("resource", "apiVersion"), ("resource", "kind")}


def places(node, at=()):
    """Every place of a value, inner ones last."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in items:
        yield at + (key,)
        yield from places(inner, at + (key,))


def without(case, place):
    copied = copy.deepcopy(case)
    node = copied
    for key in place[:-1]:
        node = node[key]
    del node[place[-1]]
    return copied


def smaller(case):
    for place in places(case):
        if place == ("id",) or place[:2] in FIXED or place in (("policy",), ("resource",)):
            continue
        if place[:3] == ("policy", "spec", "rules") and len(place) == 3:
            continue
        yield without(case, place)


def kinds_of(case, expected, got):
    """What differs, with names and values made equal: differences of one kind are shown once."""
    blur = lambda text: re.sub(r"'[^']*'|\"[^\"]*\"|/[^ ]*|[0-9]+|map\[.*|\[.*", "~", text or "")[:90]
    if "policyError" in got or "policyError" in expected:
        return {("policyError", blur(str(expected.get("policyError"))), blur(str(got.get("policyError"))))}
    ours = {x["rule"]: x for x in got.get("rules", [])}
    theirs = {x["rule"]: x for x in expected.get("rules", [])}
    kinds = set()
    for name in sorted(set(ours) | set(theirs)):
        a, b = theirs.get(name, {}), ours.get(name, {})
        if a != b:
            kinds.add((a.get("status"), b.get("status"), blur(a.get("message")), blur(b.get("message"))))
    return kinds or {("other", "other", json.dumps(sorted(expected)), json.dumps(sorted(got)))}


def single_rules(case):
    """The case for each of its rules alone."""
    for i, one in enumerate(case["policy"]["spec"]["rules"]):
        made = copy.deepcopy(case)
        made["id"] = f"{case['id']}-{i}"
        made["policy"]["spec"]["rules"] = [one]
        yield made


def shrink(differing, rounds=40):
    """The smallest case that still differs, for each."""
    best, open_ = list(differing), set(range(len(differing)))

    def still(tries):
        """Tries that differ as before, by their origin; an answer that varies shows in the end."""
        cases = [{**made, "id": f"{n}.{i}"} for n, (i, made) in enumerate(tries)]
        by_id = {c["id"]: i for c, (i, _) in zip(cases, tries)}
        for one in compare(cases, times=4)[0]:
            i = by_id[one[0]["id"]]
            if kinds_of(*one) & kinds_of(*best[i]):
                yield i, one

    size = lambda one: len(json.dumps(one[0]))
    for _ in range(rounds):
        # What can go alone, largest first; then as much of it at once as possible.
        single = {}
        for i, one in still([(i, less) for i in open_ for less in smaller(best[i][0])]):
            single.setdefault(i, []).append(one)
        open_ = set(single)
        if not open_:
            break
        together = []
        for i, ones in single.items():
            ones.sort(key=size)
            for share in (len(ones), len(ones) // 2, len(ones) // 4, len(ones) // 8):
                if share > 1:
                    least = best[i][0]
                    for one in ones[:share]:
                        least = common(least, one[0])
                    together.append((i, least))
            best[i] = ones[0]
        for i, one in still(together):
            if size(one) < size(best[i]):
                best[i] = one
    return [(was, one) for was, one in zip(differing, best) if compare([one[0]])[0]]


def common(a, b):
    """What two shrunk cases have in common."""
    if isinstance(a, dict) and isinstance(b, dict):
        return {k: common(v, b[k]) for k, v in a.items() if k in b}
    if isinstance(a, list) and isinstance(b, list) and len(a) != len(b):
        return min(a, b, key=len)
    if isinstance(a, list) and isinstance(b, list):
        return [common(x, y) for x, y in zip(a, b)]
    return a


def as_document(case, expected, name):
    one = {"name": name}
    one.update({k: v for k, v in case.items() if k not in ("id", "policy")})
    if "policyError" in expected:
        one["policyError"] = expected["policyError"]
    else:
        one["expect"] = [{k: x[k] for k in ("rule", "status", "message", "properties", "exceptions") if k in x} for x in expected["rules"]]
    return {"policy": case["policy"], "cases": [one]}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batches", type=int, default=1)
    parser.add_argument("--cases", type=int, default=400, help="cases in a batch")
    parser.add_argument("--topics", default=",".join(TOPICS))
    parser.add_argument("--out")
    parser.add_argument("--show", type=int, default=12, help="how many kinds of differences to shrink in a batch")
    options = parser.parse_args()
    topics, counted, seen = options.topics.split(","), {}, set()
    for batch in range(options.batches):
        seed = options.seed + batch
        r = Random(seed)
        cases = [case(r, topics[i % len(topics)], f"{topics[i % len(topics)]}-{seed}-{i}") for i in range(options.cases)]
        found, answers = compare(cases, seen=counted)
        # A policy that is refused hides its rules: they are evaluated one by one.
        hidden = [c for c in cases if "policyError" in answers.get(c["id"], {}) or c["id"] not in answers]
        alone = [x for c in hidden for x in single_rules(c)]
        more = compare(alone, seen=counted)[0] if alone else []
        split = [x for c, _, _ in found for x in single_rules(c)]
        differing = more + (compare(split)[0] if split else [])
        lone = {x[0]["id"].rsplit("-", 1)[0] for x in differing}
        differing += [x for x in found if x[0]["id"] not in lone]
        fresh = []
        for one in differing:
            kinds = kinds_of(*one)
            if not kinds <= seen:
                seen |= kinds
                fresh.append(one)
        pairs, outcomes = (sum(n[i] for n in counted.values()) for i in (0, 1))
        print(f"seed {seed}: {len(differing)} differ, {len(fresh)} in a new way; {pairs} pairs, {outcomes} outcomes so far", flush=True)
        for was, (c, e, g) in shrink(fresh[:options.show]):
            name = was[0]["id"]
            print(f"--- {name}")
            print(json.dumps({k: v for k, v in c.items() if k != "id"}, ensure_ascii=False))
            print("  expected", json.dumps({k: v for k, v in e.items() if k != "ruleNames"}, ensure_ascii=False)[:600])
            print("  got     ", json.dumps({k: v for k, v in g.items() if k in ("rules", "policyError", "stopped", "contextError", "differs")}, ensure_ascii=False)[:600], flush=True)
            if options.out:
                text = yaml.safe_dump(as_document(c, e, name), sort_keys=False, allow_unicode=True, width=120)
                (Path(options.out) / f"{name}.yaml").write_text(text)
    for topic, (pairs, outcomes) in sorted(counted.items()):
        print(f"{topic}: {pairs} pairs, {outcomes} outcomes")
    pairs, outcomes = (sum(n[i] for n in counted.values()) for i in (0, 1))
    print(f"total: {pairs} pairs, {outcomes} outcomes, {len(seen)} kinds of differences")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
