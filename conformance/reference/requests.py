#!/usr/bin/env python3
"""Pairs of random policies about requests, the second with one token changed, for `ephor diff` to be tried on.

requests.py OUT SEED COUNT [KIND …]   writes what `expressions.py` writes, with requests in OUT/KIND.yaml

These policies read what surrounds an object, too: the former object of an update, the operation, who sends it, the labels of its namespace,
variables, exceptions, and several rules. Requests have an operation, both objects, a user with roles, and labels of the namespace.
"""
import copy
import sys

from expressions import CONTAINER, KINDS, POD, TEXTS, Writer, main

USERS = ["alice", "bob", "system:serviceaccount:a:b", "system:serviceaccount:default:a", "developer"]
GROUPS = ["a", "b", "system:authenticated", "system:masters"]
ROLES = ["a:view", "a:edit", "default:view"]
CLUSTER_ROLES = ["view", "edit", "cluster-admin"]
OPERATIONS = ["CREATE", "UPDATE", "DELETE"]

KINDS.update({
    "NetworkPolicy": ("networking.k8s.io/v1", "networkpolicies", {"metadata": {"name": "text", "labels": "map"}, "spec": {
        "podSelector": {"matchLabels": "map"}, "policyTypes": "texts", "ingress": [{"from": [{"podSelector": {"matchLabels": "map"}}]}]}}),
    "RoleBinding": ("rbac.authorization.k8s.io/v1", "rolebindings", {"metadata": {"name": "text", "labels": "map"}, "roleRef": {
        "kind": "text", "name": "text", "apiGroup": "text"}, "subjects": [{"kind": "text", "name": "text", "namespace": "text"}]}),
    "Role": ("rbac.authorization.k8s.io/v1", "roles", {"metadata": {"name": "text", "labels": "map"}, "rules": [
        {"verbs": "texts", "resources": "texts", "apiGroups": "texts", "resourceNames": "texts"}]}),
    "Secret": ("v1", "secrets", {"metadata": {"name": "text", "labels": "map", "annotations": "map"}, "stringData": "map", "immutable": "bool", "type": "text"}),
    "ServiceAccount": ("v1", "serviceaccounts", {"metadata": {"name": "text", "labels": "map"}, "automountServiceAccountToken": "bool",
                       "secrets": [{"name": "text"}], "imagePullSecrets": [{"name": "text"}]}),
    "Namespace": ("v1", "namespaces", {"metadata": {"name": "text", "labels": "map", "annotations": "map"}}),
    "PersistentVolumeClaim": ("v1", "persistentvolumeclaims", {"metadata": {"name": "text", "labels": "map"}, "spec": {
        "accessModes": "texts", "storageClassName": "text", "volumeName": "text", "resources": {"requests": {"storage": "quantity"}}}}),
    "CronJob": ("batch/v1", "cronjobs", {"metadata": {"name": "text", "labels": "map"}, "spec": {"schedule": "text", "suspend": "bool", "concurrencyPolicy": "text",
                "jobTemplate": {"spec": {"backoffLimit": "int", "template": {"spec": {"hostNetwork": "bool", "containers": [{"name": "text", "image": "text"}]}}}}}}),
    "PodDisruptionBudget": ("policy/v1", "poddisruptionbudgets", {"metadata": {"name": "text", "labels": "map"}, "spec": {
        "minAvailable": "int or text", "selector": {"matchLabels": "map"}}}),
})
# Ephemeral containers are in pods that are there.
ADDED = {key: value for key, value in CONTAINER.items() if key in ("name", "image", "imagePullPolicy", "command", "securityContext", "env")}
KINDS["Pod"][2]["spec"] = {**POD, "ephemeralContainers": [ADDED]}
FIXED_TEXTS = {"policyTypes": ["Ingress", "Egress"], "accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "concurrencyPolicy": ["Allow", "Forbid", "Replace"],
               "schedule": ["* * * * *", "1 * * * *"]}


class Sender(Writer):
    """Random policies and requests about objects of a kind."""

    def an(self, what, name=""):
        if name in FIXED_TEXTS:
            return self.pick.sample(FIXED_TEXTS[name], self.pick.randint(1, 2)) if what == "texts" else self.one(FIXED_TEXTS[name])
        return super().an(what, name)

    def object(self):
        made = super().object()
        spec = made.get("spec", {})
        if self.kind == "Namespace":
            made["metadata"].pop("namespace", None)
        elif self.kind == "RoleBinding":
            made["roleRef"] = {"apiGroup": "rbac.authorization.k8s.io", "kind": self.one(["Role", "ClusterRole"]), "name": self.one(TEXTS)}
            made["subjects"] = [{"kind": "ServiceAccount", "name": self.one(TEXTS), "namespace": self.one(TEXTS)} if self.chance(.5) else
                                {"kind": self.one(["User", "Group"]), "name": self.one(TEXTS), "apiGroup": "rbac.authorization.k8s.io"}
                                for _ in range(self.pick.randint(0, 2))]
        elif self.kind == "Role":
            for rule in made.get("rules", []):
                rule.setdefault("verbs", ["a"])
                rule.setdefault("resources", ["a"])
                rule.setdefault("apiGroups", [""])
        elif self.kind == "PersistentVolumeClaim":
            made["spec"] = {**spec, "accessModes": spec.get("accessModes", ["ReadWriteOnce"]), "resources": {"requests": {"storage": self.one(["1Gi", "2Gi", "1k"])}}}
        elif self.kind == "CronJob":
            made["spec"] = {**spec, "schedule": spec.get("schedule", "* * * * *"), "jobTemplate": spec.get("jobTemplate", {"spec": {}})}
            pod = made["spec"]["jobTemplate"].setdefault("spec", {}).setdefault("template", {}).setdefault("spec", {})
            pod.setdefault("containers", [{"name": "a", "image": "a"}])
            pod["restartPolicy"] = "Never"
        elif self.kind == "Secret":
            made.pop("type", None)
        elif self.kind == "Pod":
            for container in spec.get("ephemeralContainers", []):
                container["name"] = "e" + container["name"]
        return made

    def request(self):
        operation = self.one(["CREATE", "UPDATE", "UPDATE", "DELETE"])
        new = self.object()
        if operation == "CREATE":
            new.get("spec", {}).pop("ephemeralContainers", None)
        found = {"operation": operation, "object": new, "user": self.user(),
                 "roles": self.pick.sample(ROLES, self.pick.randint(0, 2)), "clusterRoles": self.pick.sample(CLUSTER_ROLES, self.pick.randint(0, 2)),
                 "namespaceLabels": {self.one(TEXTS[:3]): self.one(TEXTS[:3]) for _ in range(self.pick.randint(0, 2))}}
        if operation == "UPDATE":
            old = self.object()
            keep = {key: value for key, value in new.items() if key != "metadata" and self.chance(.5)}
            old = {**old, **keep}
            metadata = {**old["metadata"], **{key: value for key, value in new["metadata"].items() if key in ("name", "namespace") or self.chance(.5)}}
            if "namespace" not in new["metadata"]:
                metadata.pop("namespace", None)
            found["oldObject"] = {**old, "metadata": metadata}
        return {"request": found}

    def user(self):
        if self.chance(.05):
            return {"username": "system:anonymous", "groups": ["system:unauthenticated"]}
        own = self.pick.sample([group for group in GROUPS if group != "system:authenticated"], self.pick.randint(0, 3))
        return {"username": self.one(USERS), "groups": own + ["system:authenticated"]}

    # CEL

    def bases(self):
        """What conditions read: the object, and the former one where there is one."""
        return [("object", self.fields)]

    def around(self):
        """A condition about what surrounds the object."""
        user = "request.userInfo"
        name = self.one([f"{user}.username == '{self.one(USERS)}'", f"{user}.username.startsWith('system:serviceaccount:{self.one(['a', 'b', ''])}')",
                         f"'{self.one(GROUPS)}' in {user}.groups", f"{user}.groups.exists(g, g.startsWith('{self.one(['system:', 'a'])}'))",
                         f"request.operation == '{self.one(OPERATIONS)}'", f"request.operation in ['{self.one(OPERATIONS)}', '{self.one(OPERATIONS)}']",
                         f"request.namespace == '{self.one(['a', 'default'])}'", f"request.name.startsWith('{self.one(TEXTS)}')",
                         f"namespaceObject.metadata.?labels[?'{self.one(TEXTS[:3])}'].orValue('') {self.one(['==', '!='])} '{self.one(TEXTS[:3])}'",
                         "oldObject == null", "object == null"])
        return name

    def condition_of_request(self, depth):
        own = self.cel(self.bases(), depth)
        if self.chance(.4):
            own = self.one([f"({self.around()} {self.one(['&&', '||'])} {own})", f"({self.around()} ? {own} : {self.cel(self.bases(), 0)})", self.around()])
        if self.chance(.35):
            former = self.cel([("oldObject", self.fields)], 0)
            own = f"(oldObject == null || {self.one([former, '!(' + former + ')'])} {self.one(['||', '&&'])} {own})"
        if self.chance(.25):
            found = self.some(self.fields, ["text", "int", "bool", "map", "texts"])
            way = ".?".join(found[0])
            default = {"text": "''", "int": "0", "bool": "false", "map": "{}", "texts": "[]"}[found[1]]
            own = f"{own} {self.one(['&&', '||'])} (oldObject == null || object.?{way}.orValue({default}) {self.one(['==', '!='])} oldObject.?{way}.orValue({default}))"
        return own

    def cel_policy(self):
        operations = self.pick.sample(OPERATIONS[:2], self.pick.randint(1, 2)) if self.chance(.85) else OPERATIONS[:]
        guard = "object == null || " if "DELETE" in operations else ""
        validations = [{"expression": guard + self.condition_of_request(self.pick.randint(0, 1)), "message": "m"} for _ in range(self.one([1, 1, 2]))]
        constraints = {"resourceRules": [{"apiGroups": [self.version.rpartition("/")[0]], "apiVersions": ["v1"], "operations": operations,
                                          "resources": [self.resource]}]}
        if self.chance(.2):
            constraints[self.one(["namespaceSelector", "objectSelector"])] = {"matchLabels": {self.one(TEXTS[:3]): self.one(TEXTS[:3])}}
        spec = {"validationActions": ["Deny"], "matchConstraints": constraints, "validations": validations, "autogen": {"podControllers": {"controllers": []}}}
        if self.chance(.3):
            spec["matchConditions"] = [{"name": "c", "expression": self.one([self.around(), self.cel(self.bases(), 0) if "DELETE" not in operations else self.around()])}]
        if self.chance(.25):
            spec["variables"] = [{"name": "v", "expression": self.condition_of_request(0) if "DELETE" not in operations else self.around()}]
            validations[0]["expression"] = f"variables.v {self.one(['&&', '||'])} {validations[0]['expression']}"
        if self.chance(.15):
            spec["failurePolicy"] = "Ignore"
        if self.chance(.2):
            spec.pop("autogen")
            spec.pop("validationActions")
            return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": spec}
        if self.chance(.1):
            spec["validationActions"] = self.one([["Audit"], ["Warn"], ["Deny", "Audit"]])
        if self.chance(.15) and self.kind != "Namespace":
            return {"apiVersion": "policies.kyverno.io/v1", "kind": "NamespacedValidatingPolicy", "metadata": {"name": "p", "namespace": "a"}, "spec": spec}
        return {"apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy", "metadata": {"name": "p"}, "spec": spec}

    def binding(self):
        spec = {"policyName": "p", "validationActions": self.one([["Deny"], ["Deny"], ["Audit"]])}
        if self.chance(.4):
            spec["matchResources"] = {self.one(["namespaceSelector", "objectSelector"]): {"matchLabels": {self.one(TEXTS[:3]): self.one(TEXTS[:3])}}}
        return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "b"}, "spec": spec}

    # ClusterPolicies

    def condition(self, base, fields):
        if self.chance(.3):
            old = {"request.object": "request.oldObject"}.get(base, base)
            key, values = self.one([("request.operation", OPERATIONS), ("request.userInfo.username", USERS), ("request.userInfo.groups", GROUPS),
                                    ("serviceAccountName || ''", ["a", "b"]), ("request.namespace || ''", ["a", "default", "kube-*"]),
                                    ("request.name || ''", TEXTS), ("request.clusterRoles || `[]`", CLUSTER_ROLES), ("request.roles || `[]`", ROLES),
                                    (f"{old}.metadata.labels.a || ''", TEXTS), (f"{old}.metadata.annotations.b || ''", TEXTS)])
            if self.chance(.2) and old != base:
                found = self.some(self.fields, ["text", "int", "map", "texts"])
                way = ".".join(found[0])
                return {"key": "{{ " + f"request.object.{way}" + " || '' }}", "operator": self.one(["Equals", "NotEquals"]), "value": "{{ " + f"request.oldObject.{way}" + " || '' }}"}
            many = [self.one(values) for _ in range(self.pick.randint(1, 2))]
            return {"key": "{{ " + key + " }}", "operator": self.one(["AnyIn", "AllIn", "AnyNotIn", "AllNotIn", "Equals", "NotEquals"]), "value": self.one([many, many[0]])}
        return super().condition(base, fields)

    def selection(self):
        """Whom or where a rule selects."""
        found = {}
        if self.chance(.5):
            found["subjects"] = [self.one([{"kind": "User", "name": self.one(USERS)}, {"kind": "Group", "name": self.one(GROUPS)},
                                           {"kind": "ServiceAccount", "name": self.one(["a", "b"]), "namespace": self.one(["a", "default"])}])]
        if self.chance(.3):
            found["clusterRoles"] = [self.one(CLUSTER_ROLES)]
        if self.chance(.2):
            found["roles"] = [self.one(ROLES)]
        return found

    def resources(self):
        found = super().resources()
        if self.chance(.2) and self.kind != "Namespace":
            found["namespaceSelector"] = self.one([{"matchLabels": {self.one(TEXTS[:3]): self.one(TEXTS[:3])}}, {"matchExpressions": [
                {"key": self.one(TEXTS[:3]), "operator": self.one(["In", "NotIn"]), "values": [self.one(TEXTS[:3])]}]}])
        if self.chance(.6):
            found["operations"] = self.one([["UPDATE"], ["CREATE", "UPDATE"], ["DELETE"], OPERATIONS])
        if self.chance(.1):
            del found["operations"]
        return found

    def classic(self, body, before=None):
        policy = super().classic(body, before)
        rule = policy["spec"]["rules"][0]
        for part in (rule["match"], rule.get("exclude", {})):
            for blocks in part.values():
                for block in blocks:
                    if self.chance(.2):
                        block.update(self.selection())
        if "validate" in body and self.chance(.15):
            body["validate"]["failureAction"] = "Audit"
        if "validate" in body and self.chance(.15) and self.kind != "Namespace":
            override = {"action": self.one(["Audit", "Enforce"]), "namespaces": [self.one(["a", "a*", "default"])]}
            if self.chance(.3):
                override["namespaceSelector"] = {"matchLabels": {self.one(TEXTS[:3]): self.one(TEXTS[:3])}}
            body["validate"]["failureActionOverrides"] = [override]
        if self.chance(.1):
            policy["spec"]["failurePolicy"] = "Ignore"
        if self.chance(.1) and self.kind not in ("Namespace", "Widget"):
            policy["kind"] = "Policy"
            policy["metadata"]["namespace"] = self.one(["a", "default"])
        if self.chance(.25) and "validate" in body and "cel" not in body["validate"]:
            found = self.some(self.fields, ["text", "int"])
            rule["context"] = [{"name": "v", "variable": {"jmesPath": f"request.object.{'.'.join(found[0])}", "default": self.one(["a", "b", 1])}}]
            extra = {"key": "{{ v }}", "operator": self.one(["Equals", "NotEquals", "AnyIn"]), "value": self.one(["a", "b", 1, "a*"])}
            rule["preconditions"] = {self.one(["any", "all"]): [extra, *([self.condition("request.object", self.fields)] if self.chance(.5) else [])]}
        return policy

    def several(self):
        """A policy with two or three rules."""
        policy, rules = self.classic_one(), []
        for at in range(self.pick.randint(1, 2)):
            rules.append({**self.classic_one()["spec"]["rules"][0], "name": f"r{at}"})
        policy["spec"]["rules"].extend(rules)
        return policy

    def classic_one(self):
        before = self.conditions("request.object", self.fields) if self.chance(.3) else None
        body = self.one([lambda: {"deny": {"conditions": self.conditions("request.object", self.fields)}}, lambda: {"foreach": [self.loop()]},
                         lambda: {"pattern": self.patterns()}, lambda: {"cel": {"expressions": [{"expression": f"object == null || {self.condition_of_request(0)}"}]}}])()
        return self.classic(self.checks(body), before)

    def nested(self):
        """A loop in a loop."""
        found = self.some(self.fields, ["items"])
        if not found:
            return self.loop()
        fields = found[1][0]
        inner = self.some(fields, ["items", "texts"])
        if not inner:
            return {**self.loop(), "elementScope": False}
        below = inner[1][0] if isinstance(inner[1], list) else {}
        loop = {"list": f"element.{'.'.join(inner[0])}", "deny": {"conditions": self.conditions("element", below) if below else {
            self.one(["any", "all"]): [{"key": "{{ element }}", "operator": self.one(["AnyIn", "AllNotIn"]), "value": [self.one(TEXTS), self.one(TEXTS)]}]}}}
        return {"list": f"request.object.{'.'.join(found[0])}", "foreach": [loop]}

    def security(self):
        """A Pod Security rule."""
        body = {"level": self.one(["baseline", "restricted"]), "version": "latest"}
        if self.chance(.6):
            images = {"images": [self.one(["*", "a*", "b"])]}
            body["exclude"] = [self.one([{"controlName": "Host Namespaces"}, {"controlName": "Host Ports", **images}, {"controlName": "Capabilities", **images},
                                         {"controlName": "Privileged Containers", **images}, {"controlName": "HostPath Volumes"}, {"controlName": "Running as Non-root", **images},
                                         {"controlName": "Seccomp", **images}, {"controlName": "Running as Non-root user"}])]
        return {"podSecurity": body}

    def policy(self):
        kind = self.pick.randint(0, 11)
        if kind <= 3:
            made = self.cel_policy()
        elif kind <= 6:
            made = self.several()
        elif kind == 7:
            made = self.classic(self.checks({"foreach": [self.nested()]}))
        elif kind == 8 and self.kind in ("Pod", "Deployment", "CronJob"):
            made = self.classic(self.checks(self.security()))
        else:
            made = self.classic_one()
        if "rules" in made["spec"] and self.chance(.2) and self.kind in ("Pod", "Deployment", "CronJob"):
            del made["metadata"]["annotations"]
        if made["kind"] == "ValidatingAdmissionPolicy":
            made["exception"] = self.binding()
        elif self.chance(.3) and made["kind"] != "Policy":
            made["exception"] = self.exception(made)
        return made

    def exception(self, policy):
        if "rules" not in policy["spec"]:
            spec = {"policyRefs": [{"name": "p", "kind": policy["kind"]}]}
            if self.chance(.8):
                condition = self.around() if self.chance(.5) else "object == null || " + self.cel(self.bases(), 0)
                spec["matchConditions"] = [{"name": "c", "expression": condition}]
            return {"apiVersion": "policies.kyverno.io/v1", "kind": "PolicyException", "metadata": {"name": "e", "namespace": "default"}, "spec": spec}
        names = [rule["name"] for rule in policy["spec"]["rules"]]
        spec = {"exceptions": [{"policyName": self.one(["p", "p", "*"]), "ruleNames": [self.one(names + ["*", "never"])]}],
                "match": {self.one(["any", "all"]): [{"resources": self.resources(), **(self.selection() if self.chance(.3) else {})}]}}
        if self.chance(.3):
            spec["conditions"] = self.conditions("request.object", self.fields)
        return {"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": {"name": "e", "namespace": "default"}, "spec": spec}

    def besides(self, policy):
        own = policy.pop("exception", None)
        return [own] if own else []

    def changed(self, policy):
        own = policy.get("exception")
        if own and ("rules" in policy["spec"] or "policyName" in own["spec"]) and self.chance(.5):
            for _ in range(30):
                new = copy.deepcopy(own)
                self.change_tree(new["spec"])
                if new != own and new["spec"].get("policyName") == own["spec"].get("policyName"):
                    return {**policy, "exception": new}
        if own and "policyName" not in own["spec"] and self.chance(.1):
            return {key: value for key, value in policy.items() if key != "exception"}
        if "rules" not in policy["spec"] or self.chance(.3):
            return super().changed(policy)
        # Another rule than the first, or an exception.
        at = self.pick.randrange(len(policy["spec"]["rules"]))
        rules = policy["spec"]["rules"]
        first = {**policy, "spec": {**policy["spec"], "rules": rules[at:] + rules[:at]}}
        new = super().changed(first)
        if new is None:
            return None
        rules = new["spec"]["rules"]
        back = len(rules) - at
        return {**new, "spec": {**new["spec"], "rules": rules[back:] + rules[:back]}}


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:], writer_of=Sender, entry=Sender.request)
