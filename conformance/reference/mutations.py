#!/usr/bin/env python3
"""Pairs of random policies that change objects, the second with one token changed, for `ephor diff` to be tried on.

mutations.py OUT SEED COUNT [KIND …]   writes what `expressions.py` writes

Overlays with anchors, JSON patches and loops of ClusterPolicies, `ApplyConfiguration` and `JSONPatch` of MutatingPolicies, each with conditions.
"""
import copy
import json
import sys

from expressions import TEXTS, WILDCARDS, Writer, main

CHANGED = {"Pod": (), "Deployment": ("spec", "template")}


def under(way, below):
    """An object that has something at the end of a way."""
    for step in reversed(way):
        below = {step: below}
    return below


class Changer(Writer):
    """Random policies that change objects of a kind."""

    def texts_of(self):
        return {self.one(["{}"] * 3 + ["+({})"]).format(self.one(TEXTS[:3])): self.one(TEXTS) for _ in range(self.pick.randint(1, 2))}

    def of_container(self):
        made = {self.one(["name", "(name)"]): self.one(["a", "b", "a*"])}
        if "(name)" not in made and self.chance(.5):
            made = {"(name)": self.one(["*", "a", "?*"])}
        if self.chance(.3):
            made["(image)"] = self.one(WILDCARDS[:-1])
        key = self.one(["imagePullPolicy", "+(imagePullPolicy)"])
        return {**made, **self.one([{key: self.one(["Always", "Never"])}, {"securityContext": {self.one(["privileged", "+(privileged)"]): self.chance(.5)}},
                                    {"securityContext": {self.one(["runAsUser", "+(runAsUser)"]): self.pick.randint(1, 3)}}])}

    def overlay(self):
        if self.kind in CHANGED and self.chance(.6):
            spec = self.one([{self.one(["hostNetwork", "+(hostNetwork)"]): self.chance(.5)}, {"containers": [self.of_container()]},
                             {self.one(["serviceAccountName", "+(serviceAccountName)"]): self.one(TEXTS[:3])}, {"initContainers": [self.of_container()]},
                             {"nodeSelector": self.texts_of()}, {"containers": [self.of_container()], "hostNetwork": self.chance(.5)}])
            if self.chance(.25):
                spec["(hostNetwork)"] = self.chance(.5)
                spec.pop("hostNetwork", None)
            made = under(CHANGED[self.kind], {"spec": spec})
        elif self.kind == "ConfigMap" and self.chance(.6):
            made = {"data": self.texts_of()}
        elif self.kind == "Widget" and self.chance(.6):
            made = {"spec": self.one([{self.one(["mode", "+(mode)"]): self.one(TEXTS)}, {self.one(["count", "+(count)"]): self.pick.randint(0, 3)}, {"entries": self.texts_of()},
                                      {"(mode)": self.one(WILDCARDS[:-1]), "on": self.chance(.5)}])}
        else:
            made = {"metadata": {self.one(["labels", "annotations"]): self.texts_of()}}
        if self.chance(.2):
            made.setdefault("metadata", {})["(name)"] = self.one(WILDCARDS[:-1])
        return made

    def operations(self):
        where = self.one(["labels", "annotations"])
        ways = [f"/metadata/{where}/{self.one(TEXTS[:3])}"]
        if self.kind in CHANGED:
            ways += ["/" + "/".join((*CHANGED[self.kind], "spec", self.one(["hostNetwork", "serviceAccountName", "containers/0/image"])))]
        if self.kind == "ConfigMap":
            ways += [f"/data/{self.one(TEXTS[:3])}"]
        found = []
        for _ in range(self.pick.randint(1, 2)):
            way = self.one(ways)
            value = self.chance(.5) if way.endswith("hostNetwork") else self.one(TEXTS)
            operation = self.one(["add", "add", "replace", "remove"])
            found.append({"path": way, "op": operation, **({} if operation == "remove" else {"value": value})})
        return found

    def before(self):
        return self.conditions("request.object", self.fields) if self.chance(.5) else None

    def overlaid(self):
        return self.classic({"mutate": {"patchStrategicMerge": self.overlay()}}, self.before())

    def patched(self):
        return self.classic({"mutate": {"patchesJson6902": json.dumps(self.operations())}}, self.before())

    def looped(self):
        if self.kind not in CHANGED:
            return self.overlaid()
        spec = {"containers": [{"name": "{{ element.name }}", **self.one([{"imagePullPolicy": self.one(["Always", "Never"])}, {"securityContext": {
            self.one(["privileged", "+(privileged)"]): self.chance(.5)}}])}]}
        loop = {"list": f"request.object.{'.'.join((*CHANGED[self.kind], 'spec', 'containers'))}",
                "patchStrategicMerge": under(CHANGED[self.kind], {"spec": spec})}
        if self.chance(.6):
            loop["preconditions"] = {self.one(["any", "all"]): [{"key": "{{ element.image }}", "operator": self.one(["AnyIn", "AnyNotIn", "Equals"]),
                                                                "value": self.one(WILDCARDS[:-1])}]}
        return self.classic({"mutate": {"foreach": [loop]}}, self.before())

    def configured(self):
        where = self.one(["labels", "annotations"])
        texts = ", ".join(f"'{self.one(TEXTS[:3])}': '{self.one(TEXTS)}'" for _ in range(1))
        made = f"Object{{metadata: Object.metadata{{{where}: {{{texts}}}}}}}"
        if self.kind == "Pod" and self.chance(.5):
            made = self.one([f"Object{{spec: Object.spec{{hostNetwork: {self.one(['true', 'false'])}}}}}",
                             "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, imagePullPolicy: "
                             f"'{self.one(['Always', 'Never'])}'}})}}}}"])
        if self.chance(.4):
            made = f"{self.cel([('object', self.fields)], 0)} ? {made} : Object{{}}"
        return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": made}}

    def listed(self):
        way = f"/metadata/labels/{self.one(TEXTS[:3])}"
        made = f"[JSONPatch{{op: '{self.one(['add', 'replace'])}', path: '{way}', value: '{self.one(TEXTS)}'}}]"
        if self.chance(.5):
            made = f"{self.cel([('object', self.fields)], 0)} ? {made} : []"
        return {"patchType": "JSONPatch", "jsonPatch": {"expression": made}}

    def mutating(self):
        spec = {"matchConstraints": {"resourceRules": [{"apiGroups": [self.version.rpartition("/")[0]], "apiVersions": ["v1"], "operations": ["CREATE"],
                                                        "resources": [self.resource]}]}, "mutations": [self.one([self.configured, self.listed])()]}
        if self.chance(.4):
            spec["matchConditions"] = [{"name": "c", "expression": self.cel([("object", self.fields)], 0)}]
        return {"apiVersion": "policies.kyverno.io/v1", "kind": "MutatingPolicy", "metadata": {"name": "p"}, "spec": spec}

    def policy(self):
        return self.one([self.overlaid, self.overlaid, self.patched, self.looped, self.mutating, self.mutating])()

    def changed(self, policy):
        text = json.dumps(policy)
        for _ in range(40):
            new = copy.deepcopy(policy)
            spec = new["spec"]
            if "mutations" in spec:
                change = spec["mutations"][0]
                body = self.one([next(value for value in change.values() if isinstance(value, dict)), *spec.get("matchConditions", [])])
                body["expression"] = self.other(self.changed_cel(body["expression"]) if self.chance(.7) else body["expression"],
                                                [("'add'", "'replace'"), ("'Always'", "'Never'"), ("'Never'", "'Always'"), ("true", "false")])
            else:
                mutate = spec["rules"][0]["mutate"]
                if "patchesJson6902" in mutate and self.chance(.6):
                    operations = json.loads(mutate["patchesJson6902"])
                    one = self.one(operations)
                    key = self.one(list(one))
                    one[key] = {"op": self.one(["add", "replace", "remove"]), "path": self.one(self.operations())["path"]}.get(key, self.one([*TEXTS, True]))
                    if one["op"] != "remove":
                        one.setdefault("value", "a")
                    mutate["patchesJson6902"] = json.dumps(operations)
                else:
                    self.change_tree(spec["rules"][0])
            if json.dumps(new) != text:
                return new
        return None


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:], writer_of=Changer)
