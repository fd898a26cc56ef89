#!/usr/bin/env python3
"""Pairs of random policies, the second with one token changed, for `ephor diff` to be tried on.

expressions.py OUT SEED COUNT [KIND …]   writes for each kind of object OUT/KIND.pairs (COUNT lines `OLD NEW`) and OUT/KIND.yaml, random objects

The policies of real libraries say much the same things. These say anything that both languages can say about the fields of a kind: CEL in
ValidatingPolicies and in ClusterPolicies, conditions, loops and patterns of ClusterPolicies, and changes by constants. Names and values are few, so that random objects
meet them. What `cargo run --release -p ephor-compare --example pairs -- --check OUT/KIND.yaml < OUT/KIND.pairs` says with `!! false proof` is a
defect of the comparison.
"""
import copy
import json
import os
import random
import re
import sys

import yaml

TEXTS = ["a", "b", "c", "ab", "ba", "abc", "a-b"]
WILDCARDS = TEXTS + ["a*", "*b", "?", "a?", "*", "?*", ""]
QUANTITIES = ["1", "2", "1Gi", "1024Mi", "100m", "0.1", "2Gi", "1k", "0"]
REGEXES = ["^a", "b$", "^[ab]+$", "a.*b", "^.{2}$", "-"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
IN = ["AnyIn", "AllIn", "AnyNotIn", "AllNotIn", "Equals", "NotEquals", "In", "NotIn"]
ORDER = ["GreaterThan", "LessThan", "GreaterThanOrEquals", "LessThanOrEquals", "Equals", "NotEquals"]

# A field is `text`, `int`, `bool`, `quantity`, `int or text`, `texts` (a list), `map` (of texts), [fields of an item], or {fields}. Where an API
# server takes only some texts or integers, CHOICES and LEAST say so.
CHOICES = {"imagePullPolicy": ["Always", "IfNotPresent", "Never"], "operator": ["Exists", "Equal"], "effect": ["NoSchedule", "NoExecute"],
           "priorityClassName": ["a", "b"], "restartPolicy": ["Always"]}
TYPES = {"Service": ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"], "Deployment": ["Recreate", "RollingUpdate"]}
LEAST = {"containerPort": 1, "hostPort": 1, "port": 1, "nodePort": 30000}
CONTAINER = {"name": "text", "image": "text", "imagePullPolicy": "text", "command": "texts",
             "securityContext": {"privileged": "bool", "runAsUser": "int", "capabilities": {"add": "texts", "drop": "texts"}},
             "resources": {"limits": "quantities", "requests": "quantities"}, "ports": [{"containerPort": "int", "hostPort": "int", "name": "text"}],
             "env": [{"name": "text", "value": "text"}]}
POD = {"hostNetwork": "bool", "priorityClassName": "text", "serviceAccountName": "text", "nodeSelector": "map",
       "securityContext": {"runAsUser": "int", "runAsNonRoot": "bool", "supplementalGroups": "ints"}, "containers": [CONTAINER],
       "initContainers": [CONTAINER], "volumes": [{"name": "text", "hostPath": {"path": "text"}, "emptyDir": {"sizeLimit": "quantity"}}],
       "tolerations": [{"key": "text", "operator": "text", "effect": "text"}]}
METADATA = {"name": "text", "labels": "map", "annotations": "map"}
KINDS = {
    "Ingress": ("networking.k8s.io/v1", "ingresses", {"metadata": METADATA, "spec": {"ingressClassName": "text", "rules": [{"host": "text"}],
                "tls": [{"secretName": "text", "hosts": "texts"}]}}),
    "Pod": ("v1", "pods", {"metadata": METADATA, "spec": POD}),
    "Deployment": ("apps/v1", "deployments", {"metadata": METADATA, "spec": {"replicas": "int", "strategy": {"type": "text"}, "template": {
                   "metadata": {"labels": "map"}, "spec": POD}}}),
    "ConfigMap": ("v1", "configmaps", {"metadata": METADATA, "data": "map", "immutable": "bool"}),
    "Service": ("v1", "services", {"metadata": METADATA, "spec": {"type": "text", "selector": "map", "externalIPs": "texts", "externalName": "text", "ports": [
                {"name": "text", "port": "int", "nodePort": "int", "targetPort": "int or text"}], "healthCheckNodePort": "int"}}),
    "Widget": ("example.com/v1", "widgets", {"metadata": METADATA, "spec": {"size": "quantity", "count": "int", "mode": "text", "on": "bool", "names": "texts",
               "items": [{"name": "text", "count": "int", "size": "quantity", "names": "texts", "on": "bool"}], "entries": "map"}}),
}
FIXED = {"key", "value", "values", "operator", "operations", "deny", "validate", "mutate", "pattern", "anyPattern", "conditions", "cel", "foreach", "metadata", "spec",
         "match", "exclude", "resources", "names", "namespaces", "selector", "annotations", "matchLabels", "matchExpressions", "preconditions", "patchStrategicMerge"}
NEEDED = {"name", "image", "containers", "template", "host", "containerPort", "port"}


class Writer:
    """Random policies and objects of a kind."""

    def __init__(self, kind, pick):
        self.kind, self.pick = kind, pick
        self.version, self.resource, self.fields = KINDS[kind]
        self.names = 0
        self.texts = TEXTS * 2 + (["Always", "Exists", "NoSchedule"] if kind in ("Pod", "Deployment") else []) + TYPES.get(kind, [])
        self.wildcards = WILDCARDS[:-1] + self.texts[len(TEXTS) * 2:]

    def chance(self, share):
        return self.pick.random() < share

    def one(self, entries):
        return self.pick.choice(entries)

    def some(self, fields, types, way=()):
        """A random way to a field of one of the types below some fields, not through a list; None without one."""
        found = []

        def walk(fields, way):
            for name, what in fields.items():
                kind = "items" if isinstance(what, list) else what
                if isinstance(what, dict):
                    walk(what, way + (name,))
                elif kind in types:
                    found.append((way + (name,), what))
        walk(fields, way)
        return self.one(found) if found else None

    # CEL

    def at(self, base, way, default):
        """A field as CEL: with a default, or as it is."""
        if self.chance(.75):
            return f"{base}.?{'.?'.join(way)}.orValue({default})"
        return f"{base}.{'.'.join(way)}"

    def text(self, base, fields):
        kind = self.pick.randint(0, 4)
        if kind == 0 and (found := self.some(fields, ["map"])):
            return f"{base}.?{'.?'.join(found[0])}[?'{self.one(TEXTS)}'].orValue('')"
        found = self.some(fields, ["text"]) or (("name",), "text")
        return self.at(base, found[0], "''")

    def constant(self):
        return f"'{self.one(self.texts)}'"

    def constants(self):
        return f"[{', '.join(self.constant() for _ in range(self.pick.randint(1, 4)))}]"

    def of_text(self, value, scope):
        kind = self.pick.randint(0, 10)
        if kind <= 2:
            return f"{value} {self.one(['==', '!='])} {self.constant()}"
        if kind <= 5:
            return f"{value}.{self.one(['startsWith', 'endsWith', 'contains'])}({self.constant()})"
        if kind == 6:
            return f"{value}.matches('{self.one(REGEXES)}')"
        if kind == 7:
            return f"{value} in {self.constants()}"
        if kind == 8:
            return f"size({value}) {self.one(COMPARISONS)} {self.pick.randint(0, 3)}"
        base, fields = self.one(scope)
        if kind == 9 and (found := self.some(fields, ["texts"])):
            return f"{value} in {self.at(base, found[0], '[]')}"
        return f"{value} {self.one(['==', '!='])} {self.text(base, fields)}"

    def number(self):
        return self.pick.randint(0, 4) + (30000 if self.kind == "Service" and self.chance(.3) else 0)

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def cel(self, scope, depth):
        """A random condition; `scope` are the objects in reach with their fields, the last the nearest."""
        if depth > 0:
            kind = self.pick.randint(0, 9)
            if kind <= 2:
                return f"({self.cel(scope, depth - 1)} {self.one(['&&', '||'])} {self.cel(scope, depth - 1)})"
            if kind == 3:
                return f"!({self.cel(scope, depth - 1)})"
            if kind == 4:
                return f"({self.cel(scope, depth - 1)} ? {self.cel(scope, depth - 1)} : {self.cel(scope, depth - 1)})"
        base, fields = self.one(scope[-1:] * 3 + scope)
        kind = self.pick.randint(0, 15)
        if kind <= 4 and (found := self.some(fields, ["items"])):
            below = self.at(base, found[0], "[]")
            if depth > 0 and self.chance(.2):
                below = f"{below}.filter(x, {self.cel(scope + [('x', found[1][0])], 0)})"
            name = self.name()
            inner = self.cel(scope + [(name, found[1][0])], max(depth - 1, 0))
            form = self.one(["exists", "all", "exists_one", "filter", "map", "size"])
            if form == "size":
                return f"{below}.size() {self.one(COMPARISONS)} {self.pick.randint(0, 3)}"
            if form == "filter":
                return f"{below}.filter({name}, {inner}).size() {self.one(COMPARISONS)} {self.pick.randint(0, 3)}"
            if form == "map":
                values = f"{below}.map({name}, {self.text(name, found[1][0])})"
                return self.one([f"{self.constant()} in {values}", f"{values}.exists(x, {self.of_text('x', scope)})", f"{values} == {self.constants()}",
                                 f"{values}.all(x, {self.of_text('x', scope)})", f"{values}.size() == {self.pick.randint(0, 2)}"])
            return f"{below}.{form}({name}, {inner})"
        if kind <= 6 and (found := self.some(fields, ["texts"])):
            below, name = self.at(base, found[0], "[]"), self.name()
            return self.one([f"{below}.{self.one(['exists', 'all', 'exists_one'])}({name}, {self.of_text(name, scope)})", f"{self.constant()} in {below}",
                             f"{below}.size() {self.one(COMPARISONS)} {self.pick.randint(0, 3)}", f"{below} == {self.constants()}"])
        if kind <= 8 and (found := self.some(fields, ["map"])):
            below, name = self.at(base, found[0], "{}"), self.name()
            return self.one([f"{below}.{self.one(['exists', 'all'])}({name}, {self.of_text(name, scope)})",
                             f"{below}.{self.one(['exists', 'all'])}({name}, {self.of_text(f'{below}[{name}]', scope)})", f"{self.constant()} in {below}",
                             f"{below}.size() {self.one(COMPARISONS)} {self.pick.randint(0, 3)}"])
        if kind <= 10 and (found := self.some(fields, ["int", "bool", "quantity", "quantities"])):
            way, what = found
            if what == "int":
                if self.chance(.3) and (other := self.some(fields, ["int"])):
                    return f"{self.at(base, way, 0)} {self.one(COMPARISONS)} {self.at(base, other[0], 0)}"
                return f"{self.at(base, way, self.pick.randint(0, 2))} {self.one(COMPARISONS)} {self.number()}"
            if what == "bool":
                return f"{self.at(base, way, self.one(['true', 'false']))} {self.one(['==', '!='])} {self.one(['true', 'false'])}"
            if what == "quantities":
                way += (self.one(["cpu", "memory"]),)
            value = f"{base}.?{'.?'.join(way)}.orValue('{self.one(QUANTITIES)}')"
            if self.chance(.4):
                return f"{value} {self.one(['==', '!='])} '{self.one(QUANTITIES)}'"
            return f"quantity({value}).{self.one(['isLessThan', 'isGreaterThan'])}(quantity('{self.one(QUANTITIES)}'))"
        if kind == 11:
            found = self.some(fields, ["text", "int", "bool", "texts", "map", "items"])
            *before, last = found[0]
            return f"has({'.'.join([base, *before, last])})" if not before or self.chance(.3) else f"{base}.?{'.?'.join(found[0])}.hasValue()"
        return self.of_text(self.text(base, fields), scope)

    # JMESPath

    def jmes(self, base, fields, types):
        """A field as JMESPath, with its type: of the object, or of the items of a list."""
        found = self.some(fields, types + ["items"])
        if found is None:
            return f"{base}.name", "text"
        way, what = found
        start = f"{base}.{'.'.join(way)}"
        if isinstance(what, list):
            inner = self.some(what[0], ["text", "texts", "int"])
            if inner is None:
                return f"length({start} || `[]`)", "int"
            filtered = ""
            if self.chance(.3):
                filtered = self.one([f"?name == '{self.one(TEXTS)}'", f"?name != '{self.one(TEXTS)}'", "?name"])
            below = f"{start}[{filtered}].{'.'.join(inner[0])}{'[]' if inner[1] == 'texts' else ''} || `[]`"
            return (f"length({below})", "int") if self.chance(.2) else (below, "texts")
        if what == "map":
            return self.one([(f"{start}.{self.one(TEXTS[:6])} || ''", "text"), (f"keys({start} || `{{}}`)", "texts"), (f"values({start} || `{{}}`)", "texts"),
                             (f"length({start} || `{{}}`)", "int")])
        if what == "texts":
            return self.one([(f"{start} || `[]`", "texts"), (f"length({start} || `[]`)", "int")])
        if what == "quantities":
            return f"{start}.{self.one(['cpu', 'memory'])} || '{self.one(QUANTITIES)}'", "quantity"
        if self.chance(.15):
            return start, what
        return f"{start} || {dict(text=chr(39) * 2, int='`0`', bool='`false`', quantity=chr(39) + '1' + chr(39)).get(what, '`null`')}", what

    def condition(self, base, fields):
        value, what = self.jmes(base, fields, ["text", "int", "bool", "quantity", "quantities", "map", "texts"])
        key = "{{ " + value + " }}"
        if what in ("int", "int or text"):
            return {"key": key, "operator": self.one(ORDER), "value": self.number()}
        if what == "quantity":
            return {"key": key, "operator": self.one(ORDER), "value": self.one(QUANTITIES)}
        if what == "bool":
            return {"key": key, "operator": self.one(["Equals", "NotEquals"]), "value": self.chance(.5)}
        kind = self.pick.randint(0, 6)
        if kind == 0:
            other = self.jmes("request.object", self.fields, ["text", "texts"])[0]
            return {"key": key, "operator": self.one(IN), "value": "{{ " + other + " }}"}
        if kind == 1 and what == "texts":
            return {"key": self.one(self.wildcards), "operator": self.one(IN), "value": key}
        if kind == 2:
            return {"key": "{{ contains(" + value + f", '{self.one(self.texts)}') }}}}", "operator": self.one(["Equals", "NotEquals"]), "value": self.chance(.5)}
        if kind == 3 and what == "text":
            return {"key": "{{ regex_match('" + self.one(REGEXES) + "', " + value + ") }}", "operator": "Equals", "value": self.chance(.5)}
        if kind == 4 and what == "text":
            return {"key": key, "operator": self.one(IN), "value": self.one(self.wildcards + [""])}
        return {"key": key, "operator": self.one(IN), "value": [self.one(self.wildcards) for _ in range(self.pick.randint(1, 4))]}

    def conditions(self, base, fields):
        return {self.one(["any", "all"]): [self.condition(base, fields) for _ in range(self.pick.randint(1, 3))]}

    def loop(self):
        way, what = self.some(self.fields, ["items"]) or (("metadata", "labels"), None)
        base, fields = f"request.object.{'.'.join(way)}", what[0] if what else {}
        loop = {"list": base if what else f"keys({base} || `{{}}`)", "deny": {"conditions": self.conditions("element", fields)}}
        if self.chance(.4):
            loop["preconditions"] = self.conditions("element", fields)
        return loop

    # Patterns

    def value(self, what):
        if what == "text":
            return self.one(self.wildcards + ["!a", "!a*", "a | b", "a* | *b", "!a & !b", None])
        if what in ("int", "int or text"):
            return self.one([0, 1, 2, 3, ">1", "<=2", "1-3", "!1-2", "!2", "1 | 3", ">0 & <3", "?*"])
        if what == "bool":
            return self.one([True, False, "!true", "?*"])
        return self.one(QUANTITIES + [">1", "<=1Gi", ">100m", "!1", "?*", "1-2"])

    def pattern(self, fields, depth, share=.3):
        made = {}
        for name, what in fields.items():
            if not self.chance(share):
                continue
            anchor = self.one(["{}"] * 5 + ["=({})"] * 5 + ["({})"] * 3 + ["X({})"])
            if anchor.startswith("X"):
                made[anchor.format(name)] = "null"
            elif isinstance(what, dict):
                if (inner := self.pattern(what, depth, max(share, .4))):
                    made[anchor.format(name)] = inner
            elif isinstance(what, list):
                if depth > 0 and (inner := self.pattern(what[0], depth - 1, max(share, .35))):
                    made[self.one(["{}"] * 3 + ["=({})"] * 3 + ["^({})"]).format(name)] = [inner]
            elif what in ("map", "quantities"):
                keys = TEXTS[:3] + ["a*", "*"] if what == "map" else ["cpu", "memory"]
                kind = "text" if what == "map" else "quantity"
                made[anchor.format(name)] = {self.one(["{}", "=({})", "({})"]).format(self.one(keys)): self.value(kind) for _ in range(self.pick.randint(1, 2))}
            elif what in ("texts", "ints"):
                made[anchor.format(name)] = [self.value("text" if what == "texts" else "int") for _ in range(self.pick.randint(1, 2))]
            else:
                made[anchor.format(name)] = self.value(what)
        return made

    def patterns(self):
        for _ in range(50):
            if (made := self.pattern(self.fields, 2)):
                return made
        return {"metadata": {"name": "a*"}}

    # Policies

    def resources(self):
        """What a rule selects objects by."""
        found = {"kinds": [self.matched()], "operations": self.pick.sample(["CREATE", "UPDATE", "DELETE"], self.one([1, 1, 2, 3]))}
        if self.chance(.5):
            return {**found, "operations": ["CREATE"]}
        if self.chance(.3):
            found["names"] = [self.one(WILDCARDS[:-2]) for _ in range(self.pick.randint(1, 2))]
        if self.chance(.3):
            found["namespaces"] = [self.one(["default", "kube-*", "a", "a*"]) for _ in range(self.pick.randint(1, 2))]
        if self.chance(.3):
            found["selector"] = self.one([{"matchLabels": {self.one(["a", "b", "a*"]): self.one(["a", "b", "*", "a*"])}}, {"matchExpressions": [
                self.one([{"key": "a", "operator": self.one(["In", "NotIn"]), "values": [self.one(TEXTS), self.one(TEXTS)]},
                          {"key": self.one(["a", "b"]), "operator": self.one(["Exists", "DoesNotExist"])}])]}])
        if self.chance(.2):
            found["annotations"] = {self.one(["a", "b", "a*"]): self.one(["a", "b", "*", "a*"])}
        return found

    def classic(self, body, before=None):
        rule = {"name": "r", "match": {self.one(["any", "any", "all"]): [{"resources": self.resources()} for _ in range(self.one([1, 1, 1, 2]))]}, **body}
        if self.chance(.2):
            rule["exclude"] = {self.one(["any", "all"]): [{"resources": self.resources()} for _ in range(self.one([1, 1, 2]))]}
        if before:
            rule["preconditions"] = before
        return {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "p", "annotations": {
                "pod-policies.kyverno.io/autogen-controllers": "none"}}, "spec": {"background": False, "rules": [rule]}}

    def matched(self):
        return f"{self.version}/{self.kind}" if self.kind == "Widget" else self.kind

    def checks(self, body):
        return {"validate": {"failureAction": "Enforce", "message": "m", **body}}

    def policy(self):
        before = self.conditions("request.object", self.fields) if self.chance(.25) else None
        kind = self.pick.randint(0, 9)
        scope = [("object", self.fields)]
        if kind <= 2:
            spec = {"validationActions": ["Deny"], "matchConstraints": {"resourceRules": [{"apiGroups": [self.version.rpartition("/")[0]], "apiVersions": ["v1"],
                    "operations": ["CREATE"], "resources": [self.resource]}]}, "validations": [{"expression": self.cel(scope, self.pick.randint(0, 2)), "message": "m"}]}
            if self.chance(.2):
                spec["matchConditions"] = [{"name": "c", "expression": self.cel(scope, self.pick.randint(0, 1))}]
            return {"apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy", "metadata": {"name": "p"}, "spec": {**spec, "autogen": {
                    "podControllers": {"controllers": []}}}}
        if kind == 3:
            return self.classic(self.checks({"cel": {"expressions": [{"expression": self.cel(scope, self.pick.randint(0, 2))}]}}))
        if kind <= 5:
            return self.classic(self.checks({"deny": {"conditions": self.conditions("request.object", self.fields)}}), before)
        if kind == 6:
            return self.classic(self.checks({"foreach": [self.loop()]}), before)
        if kind == 7:
            return self.classic(self.checks({"pattern": self.patterns()}), before)
        if kind == 8:
            return self.classic(self.checks({"anyPattern": [self.patterns(), self.patterns()]}), before)
        change = self.one([{self.one(["+(a)", "a", "b"]): self.one(TEXTS)}, {"+(a)": "b", "b": "a"}])
        body = {"patchStrategicMerge": {"metadata": {self.one(["labels", "annotations"]): change}}}
        if self.chance(.3):
            body["patchStrategicMerge"]["metadata"]["(name)"] = self.one(WILDCARDS[:-1])
        return self.classic({"mutate": body}, before)

    def besides(self, policy):
        """The documents that belong to a policy."""
        return []

    # One token of a policy changed

    def other(self, text, swaps):
        spots = [(found.start(), found.end(), new) for old, new in swaps for found in re.finditer(old, text)]
        if not spots:
            return text
        start, end, new = self.one(spots)
        return text[:start] + new + text[end:]

    def changed_cel(self, text):
        swaps = [(f"'{old}'", f"'{new}'") for old in TEXTS + QUANTITIES for new in self.pick.sample(TEXTS if old in TEXTS else QUANTITIES, 2) if new != old]
        swaps += [(f" {a} ", f" {b} ") for a, b in [("==", "!="), ("!=", "=="), ("<=", "<"), ("<", "<="), (">=", ">"), (">", ">="), ("&&", r"||"), (r"\|\|", "&&")]]
        swaps += [(rf"\.{a}\(", f".{b}(") for a, b in [("exists", "all"), ("all", "exists"), ("exists_one", "exists"), ("startsWith", "endsWith"), ("endsWith", "contains"),
                  ("contains", "startsWith"), ("isLessThan", "isGreaterThan")]]
        swaps += [(rf" {n}(?!\d)", f" {n + 1}") for n in range(4)] + [("true", "false"), ("false", "true"), (r"!\(", "("), (r"\.\?", "."), ("labels", "annotations"),
                  ("annotations", "labels"), ("initContainers", "containers"), ("rules", "tls"), ("cpu", "memory"), ("hostPort", "containerPort"), ("add", "drop")]
        return self.other(text, swaps)

    def changed(self, policy):
        text = json.dumps(policy)
        for _ in range(30):
            new = copy.deepcopy(policy)
            spec = new["spec"]
            if "validations" in spec or "cel" in spec["rules"][0].get("validate", {}):
                body = spec.get("validations") or spec["rules"][0]["validate"]["cel"]["expressions"]
                body = self.one([body, spec["matchConditions"]]) if "matchConditions" in spec else body
                body[0]["expression"] = self.changed_cel(body[0]["expression"])
            else:
                self.change_tree(spec["rules"][0])
            if json.dumps(new) != text:
                return new
        return None

    def change_tree(self, rule):
        spots = []

        def walk(node):
            for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
                if key in ("name", "message", "list", "failureAction", "kinds") and node is not rule.get("preconditions"):
                    continue
                spots.append((node, key, value))
                if isinstance(value, (dict, list)):
                    walk(value)
        walk(rule)
        node, key, value = self.one(spots)
        if isinstance(key, str) and self.chance(.4) and key not in FIXED:
            bare = key.strip("=()X^+<")
            new = {"any": "all", "all": "any"}.get(key) or self.one(["{}", "=({})", "({})"]).format(bare)
            items = list(node.items())
            node.clear()
            node.update({new if name == key else name: inner for name, inner in items})
        elif key == "operator":
            node[key] = self.one(IN if value in IN else ORDER)
        elif isinstance(value, bool):
            node[key] = not value
        elif isinstance(value, int):
            node[key] = value + self.one([-1, 1])
        elif isinstance(value, str) and "{{" in value:
            node[key] = self.other(value, [(f"'{a}'", f"'{b}'") for a in TEXTS for b in TEXTS if a != b] + [("labels", "annotations"), ("==", "!="), ("!=", "=="), (r"\[\]\.", "[0].")])
        elif isinstance(value, str) and value in ("CREATE", "UPDATE", "DELETE"):
            node[key] = self.one(["CREATE", "UPDATE", "DELETE"])
        elif isinstance(value, str):
            node[key] = self.one(QUANTITIES if value in QUANTITIES else WILDCARDS)

    # Objects

    def an(self, what, name=""):
        if isinstance(what, list):
            items = [self.an(what[0]) for _ in range(self.pick.randint(1, 3))]
            names = self.pick.sample(TEXTS, 3)
            return [{**item, "name": names.pop()} if "name" in what[0] else item for item in items]
        if isinstance(what, dict):
            return {name: self.an(inner, name) for name, inner in what.items() if name in NEEDED or self.chance(.45)}
        choices = TYPES.get(self.kind, TEXTS) if name == "type" else CHOICES.get(name, TEXTS)
        least = LEAST.get(name, 0)
        return {"text": lambda: self.one(choices), "int": lambda: least + self.pick.randint(0, 4), "bool": lambda: self.chance(.5), "quantity": lambda: self.one(QUANTITIES),
                "texts": lambda: [self.one(TEXTS) for _ in range(self.pick.randint(1, 3))], "ints": lambda: [self.pick.randint(0, 3)],
                "int or text": lambda: self.one([1, 2, "a", "b"]), "map": lambda: {self.one(TEXTS): self.one(TEXTS + [""]) for _ in range(self.pick.randint(1, 3))},
                "quantities": lambda: {name: self.one(QUANTITIES) for name in ["cpu", "memory"] if self.chance(.6)}}[what]()

    def object(self):
        made = {"apiVersion": self.version, "kind": self.kind, **self.an(self.fields)}
        made.setdefault("metadata", {})["name"] = self.one(TEXTS)
        if self.chance(.5):
            made["metadata"]["namespace"] = self.one(["default", "kube-system", "a", "ab"])
        if self.kind == "Ingress":
            made.setdefault("spec", {})["defaultBackend"] = {"service": {"name": "a", "port": {"number": 1}}}
        elif self.kind in ("Pod", "Deployment"):
            spec = made.setdefault("spec", {}) if self.kind == "Pod" else made.setdefault("spec", {}).setdefault("template", {}).setdefault("spec", {})
            spec.setdefault("containers", [{"name": "a", "image": "a"}])
        return made


def main(out, seed, count, *kinds, writer_of=Writer, entry=Writer.object):
    os.makedirs(out, exist_ok=True)
    for kind in kinds or KINDS:
        writer = writer_of(kind, random.Random(f"{seed} {kind}"))
        lines = []
        while len(lines) < int(count):
            old = writer.policy()
            new = writer.changed(old)
            if new is None:
                continue
            names = [f"{out}/{kind}-{len(lines):05}-{side}.yaml" for side in ("old", "new")]
            for name, policy in zip(names, (old, new)):
                with open(name, "w") as file:
                    yaml.safe_dump_all([policy, *writer.besides(policy)], file, sort_keys=False)
            lines.append(" ".join(names) + "\n")
        with open(f"{out}/{kind}.pairs", "w") as file:
            file.writelines(lines)
        with open(f"{out}/{kind}.yaml", "w") as file:
            for _ in range(400):
                file.write("---\n" + yaml.safe_dump(entry(writer), sort_keys=False))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
