"""Random cases of admission that change objects: merges and JSON patches.

In: a server, a random source, a namespace. Out: cases, each with its objects, policies, bindings and requests.
"""
import copy
import re

from admission_kinds import FREQUENT, Schemas, Values, Writer, literal, literals
from admission_server import GROUP


def matching(server, namespace, version, kind, operations=("CREATE", "UPDATE"), subresource=""):
    """The constraints of a policy of a case: objects of a kind in its namespace, or with its label."""
    group, _, plain_version = version.rpartition("/")
    _, resource, namespaced = server.types[version, kind]
    rule = {"apiGroups": [group], "apiVersions": [plain_version], "operations": list(operations), "resources": [resource + (subresource and "/" + subresource)]}
    if namespaced:
        return {"resourceRules": [rule], "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    return {"resourceRules": [rule], "objectSelector": {"matchLabels": {"case": namespace}}}


def change(mutation):
    """A mutation: `("merge", expression)` or `("patch", expression)`."""
    how, text = mutation
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}} if how == "merge" else {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}


def changing(name, constraints, mutations, **spec):
    spec = {"matchConstraints": constraints, "reinvocationPolicy": "Never", **spec, "mutations": [change(m) for m in mutations]}
    return {"apiVersion": GROUP + "/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}


def validating(name, constraints, validations, **spec):
    spec = {"matchConstraints": constraints, **spec, "validations": validations}
    return {"apiVersion": GROUP + "/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}


def binding(policy, name=None, **spec):
    """The binding of a policy."""
    of = policy["metadata"]["name"]
    kind = policy["kind"] + "Binding"
    if kind.startswith("Validating"):
        spec.setdefault("validationActions", ["Deny"])
    return {"apiVersion": GROUP + "/v1", "kind": kind, "metadata": {"name": name or "b-" + of}, "spec": {"policyName": of, **spec}}


def create(obj):
    return {"name": "q", "verb": "create", "object": obj}


def update(obj):
    return {"name": "q", "verb": "update", "existing": obj, "object": copy.deepcopy(obj)}


class Merges:
    """One merge each, into an object of a kind that the server has, or of `only` one."""

    def __init__(self, server, only=None):
        self.server, self.schemas = server, Schemas(server)
        self.only = only
        self.frequent = [k for k in self.schemas.kinds if k[1] in FREQUENT]

    def __call__(self, rng, namespace):
        version, kind = self.only or rng.choice(self.frequent if rng.random() < 0.6 else self.schemas.kinds)
        values, root = Values(self.schemas, rng), self.schemas.root(version, kind)
        parts = [k for k in root["properties"] if k not in ("apiVersion", "kind", "metadata", "status")]
        density, depth = rng.choice([0.3, 0.5, 0.7]), rng.choice([3, 4, 6, 8])
        metadata = {"name": "o-" + namespace, **self._metadata(rng, "abc", "")}
        if self.server.types[version, kind][2]:
            metadata["namespace"] = namespace
        else:
            metadata["labels"] = {"case": namespace}
        obj = {"apiVersion": version, "kind": kind, "metadata": metadata}
        obj.update(self._some(values, root, [p for p in parts if rng.random() < 0.9], depth, density))
        merged = self._some(values, root, [p for p in parts if rng.random() < 0.8], rng.choice([2, 3, 5, 7]), rng.choice([0.1, 0.25, 0.4]))
        if rng.random() < 0.35:
            merged["metadata"] = self._metadata(rng, "abd", "2")
            if "labels" in merged["metadata"] and "labels" in metadata and rng.random() < 0.5:
                merged["metadata"]["labels"]["case"] = namespace
        if rng.random() < 0.85:
            merged = values.without_units(merged, root)
        text = Writer(self.schemas, rng, rng.choice([0.08, 0.01])).text(merged, root)
        policy = changing("p-" + namespace, matching(self.server, namespace, version, kind), [("merge", text)])
        return {"setup": [policy, binding(policy)], "requests": [create(obj)]}

    @staticmethod
    def _some(values, root, parts, depth, density):
        found = {k: values.value(root["properties"][k], depth, k, density) for k in parts}
        return {k: v for k, v in found.items() if v is not None}

    @staticmethod
    def _metadata(rng, names, suffix):
        out = {}
        if rng.random() < 0.3:
            out["annotations"] = {"a": "1" + suffix, "x.y/z": "q"}
        if rng.random() < 0.25:
            out["finalizers"] = ["x.y/" + n for n in rng.sample(names, 2)]
        if rng.random() < 0.25:
            out["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": n + suffix, "uid": "u-" + n} for n in rng.sample(names, 2)]
        if rng.random() < 0.25:
            out["labels"] = {"n": "v" + suffix}
        return out


POD = {
    "containers": [
        {"name": "a", "image": "i:1", "env": [{"name": "E", "value": "1"}, {"name": "F", "value": "2"}], "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
         "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}, "volumeMounts": [{"name": "v", "mountPath": "/m"}]},
        {"name": "b", "image": "j", "args": ["x", "y"]},
    ],
    "volumes": [{"name": "v", "emptyDir": {}}], "nodeSelector": {"d": "ssd"}, "tolerations": [{"key": "t", "operator": "Exists"}],
}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "i:1"}]}}
BASES = {
    "ConfigMap": ("v1", {"data": {"a": "b", "k-1": "", "n": "5"}, "binaryData": {"z": "YQ=="}}),
    "Pod": ("v1", {"spec": POD}),
    "Deployment": ("apps/v1", {"spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}}),
    "Service": ("v1", {"spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "name": "h"}, {"port": 80, "protocol": "UDP", "name": "u", "targetPort": "x"}]}}),
    "Part": ("random.test/v1", {"spec": {
        "replicas": 1, "whole": ["a", "b"], "marks": ["x", "y"], "entries": [{"name": "a", "value": "1"}, {"name": "b", "count": 2}], "ports": [{"port": 80}],
        "texts": {"a": "b", "x/y": "c"}, "free": {"p": {"q": [1, 2.5, "s", None, True]}, "f": 1.5}, "either": "25%", "ratio": 1.5, "nullText": None, "small": 7, "any": [1, {"a": 2}],
    }}),
    "Loose": ("random.test/v1", {"spec": {
        "a": [1, 2, [3, 4]], "m": {"": "empty", "~": 1, "/": 2, "é": 3, "0": "zero"}, "f": 2.5, "big": 9007199254740993, "s": "t", "n": None, "t": True, "neg": -1,
    }, "top": "x"}),
}


def base(kind, namespace):
    """An object with something in every part of it."""
    version, rest = BASES[kind]
    metadata = {"name": "o", "namespace": namespace, "labels": {"app": "web", "x.y/z": "2"}, "annotations": {"kt": "3", "a/b": "4", "e": ""}, "finalizers": ["x.y/a", "x.y/b"]}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **copy.deepcopy(rest)}


def pointers(value, at=""):
    """JSON pointers of all parts of a value, with the parts."""
    yield at, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from pointers(part, f"{at}/" + str(key).replace("~", "~0").replace("/", "~1"))


NUMBERS = ["0", "1", "-1", "7", "5u", "1.5", "2.0", "double(3)", "1e21", "0.1", "-0.0", "123456789012", "9007199254740991", "9007199254740993", "-9007199254740993",
           "9223372036854775807", "18446744073709551615u", "3 / 2", "3.0 / 2.0", "4.0 / 2.0", "int(2.9)", "math.greatest(1, 2)"]
TEXTS = ["'s'", "''", "'5'", "'ü€😀<>&'", "'a\\nb\\t\"q\"'", "'\\u2028'", "b'ab'", "b'\\xff\\x00'", "string(b'abc')", "'ab'.split('')", "'a'.find('a')",
         "timestamp('2024-01-02T03:04:05Z')", "timestamp('2024-01-02T03:04:05.120+02:00')", "duration('90s')", "duration('1h0.5s')", "duration('-5ns')", "duration('0s')",
         "string(quantity('1Gi').asInteger())", "type(1)", "type('a')"]
WHOLES = ["[]", "{}", "['a', 'b']", "[1, 2]", "[1.0, 2.5]", "[dyn(1), dyn('a'), dyn(null), dyn([dyn(2)])]", "{'a': 'b'}", "{'a': dyn(1), 'b': dyn('c')}", "{'k': {'l': ['m']}}",
          "{1: 'a'}", "{true: 'a'}", "{2u: 'a'}", "{'a': null}", "[null]", "{'x': 2.0}", "[3, 1].sort()", "{'a': 1}.transformMap(k, v, v + 1)", "[1].map(x, {'k': x})",
          "Object{}", "Object.spec{a: 1}", "Object.spec{}", "Object.spec.containers{name: 'n', image: 'x'}", "Object.x{y: Object.x.y{z: 1}}", "Object.x{y: [1, 2]}",
          "Object.x{y: {'a': 1}}", "Object.x{y: 5u}", "Object.x{y: b'a'}", "Object.x{?y: optional.none()}", "Object.x{y: optional.of(1)}", "Object.x{y: duration('5s')}"]
PARTS = ["object.metadata.name", "object.metadata", "object.metadata.?labels.orValue({})", "object.?spec", "object.spec.?a.orValue([])", "object.spec.?big.orValue(1)",
         "object.spec.?f.orValue(1.5)", "object.spec.?n.orValue('none')", "request.userInfo", "request.userInfo.groups", "request.?options", "namespaceObject.metadata.labels",
         "dyn(object).spec.?neg.orValue(1)", "size(object.metadata.name)"]
OPTIONALS = ["optional.of('o')", "optional.none()", "[optional.of(1)]", "optional.of([1])", "{'a': optional.none()}", "{?'a': optional.none()}", "{?'a': optional.of(1)}",
             "[?optional.none()]", "object.?spec.nothing", "object.metadata.?labels"]
WRONG = ["quantity('1.5Gi')", "ip('10.0.0.1')", "cidr('10.0.0.0/8')", "url('http://a/b?c=d')", "semver('1.2.3')", "format.dns1123Label()", "authorizer", "request", "object", "oldObject",
         "namespaceObject", "variables.v", "[Object.spec.containers{name: 'n'}]", "JSONPatch{op: 'add', path: '/x', value: 1}", "1 / 0", "object.nope", "'x' + 1", "int('x')",
         "cel.bind(x, 1, x)", "1 == 1 ? dyn('t') : dyn(2)", "sets.contains([1], [1])", "null", "true", "dyn(5)"]
STEPS = ["new", "-", "0", "1", "2", "-1", "99", "01", "+1", "1e0", "", "a~1b", "~0", "~2", "x y", "ü", "n~0m"]
PLACES = ["", "/", "spec", "//", "/spec/", "/nope/x/y", "/metadata", "/kind", "/apiVersion", "/metadata/namespace", "/metadata/name", "/metadata/uid", "/status", "/metadata/generateName"]


class Patches:
    """JSON patches of objects: `strict` ones mostly apply, others have all kinds of mistakes."""

    def __init__(self, server, strict):
        self.server, self.strict = server, strict

    def __call__(self, rng, namespace):
        kinds = list(BASES) if not self.strict else ["Loose"] * 4 + ["Part", "Part", "ConfigMap", "Pod", "Deployment", "Service"]
        kind = rng.choice(kinds)
        obj = base(kind, namespace)
        where = [(p, v) for p, v in pointers(obj) if not self.strict or re.match("/(spec|data|binaryData|top|metadata/(labels|annotations|finalizers))", p)]
        mutations = [("patch", self._operations(rng, kind, where)) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        if rng.random() < 0.08:
            merge = rng.choice(["Object{metadata: Object.metadata{labels: {'ap': 'q'}}}", "Object{}"])
            mutations.insert(rng.randint(0, len(mutations)), ("merge", merge))
        spec = {"failurePolicy": "Ignore"} if rng.random() < 0.08 else {}
        if any("variables.v" in text for _, text in mutations):
            spec["variables"] = [{"name": "v", "expression": rng.choice(["'var'", "object.metadata", "1 / 0", "[1, 2]", "object.metadata.labels"])}]
        policy = changing("p-" + namespace, matching(self.server, namespace, obj["apiVersion"], kind), mutations, **spec)
        is_update = rng.random() < 0.25 and kind in ("ConfigMap", "Part", "Loose")
        return {"setup": [policy, binding(policy)], "requests": [update(obj) if is_update else create(obj)]}

    def _operations(self, rng, kind, where):
        one = self._strict_operation if self.strict else self._operation
        text = "[" + ", ".join(one(rng, kind, where) for _ in range(rng.choice([1, 1, 1, 2, 3]))) + "]"
        if self.strict or rng.random() > 0.12:
            return text
        more = one(rng, kind, where)
        return rng.choice([f"{text} + [{more}]", f"has(object.metadata.labels) ? {text} : []", "[]", "null", "[null]", "'x'", "{}", "optional.none()", f"[?optional.of({more})]",
                           more, f"dyn({text})", f"[[{more}]]", "[?optional.none()]", "['p', 'q'].map(k, JSONPatch{op: 'add', path: '/metadata/labels/' + k, value: k})"])

    def _operation(self, rng, _, where):
        def path():
            at = rng.choice(where)[0]
            form = rng.random()
            if form < 0.35:
                at += "/" + rng.choice(STEPS)
            elif form < 0.42:
                at = re.sub(r"/\d+$", lambda _: "/" + rng.choice(["-", "-1", "-2", "2", "3", "00", " 1"]), at)
            elif form < 0.45:
                at = rng.choice(PLACES)
            head, _, last = at.rpartition("/")
            raw = last.replace("~1", "/").replace("~0", "~")
            return f"{literal(head)} + '/' + jsonpatch.escapeKey({literal(raw)})" if rng.random() < 0.1 and head else literal(at)
        op = rng.choice(["add"] * 6 + ["replace"] * 4 + ["remove"] * 3 + ["copy", "move"] * 2 + ["test"] * 2)
        fields = ["op: " + literal(op if rng.random() < 0.97 else rng.choice(["", "ADD", "increment"]))] if rng.random() < 0.99 else []
        if op == "test" and rng.random() < 0.5:
            at, value = rng.choice(where)
            return f"JSONPatch{{{', '.join(fields + [f'path: {literal(at)}', f'value: {literals(value)}'])}}}"
        if rng.random() < 0.99:
            fields.append("path: " + path())
        if op in ("copy", "move") and rng.random() < 0.96:
            fields.append("from: " + path())
        if op in ("add", "replace", "test") and rng.random() < 0.96 or rng.random() < 0.04:
            value = rng.choice(rng.choice([NUMBERS, TEXTS, WHOLES, PARTS, OPTIONALS, WRONG]))
            fields.append(rng.choice(["value: %s"] * 12 + ["?value: optional.of(%s)", "value: dyn(%s)", "?value: optional.none()"]).replace("%s", value))
        return "JSONPatch{" + ", ".join(fields) + "}"

    def _strict_operation(self, rng, kind, where):
        op = rng.choice(["add"] * 5 + ["replace"] * 3 + ["remove", "test", "copy", "move"])
        at, there = rng.choice(where)
        if op == "add" and isinstance(there, dict):
            at += "/" + rng.choice(["new", "n~0m", "a~1b", "", "0", "ü"])
        elif op == "add" and isinstance(there, list):
            at += "/" + rng.choice(["-", "0", "1", "-1", str(len(there)), str(len(there) + 1), "01"])
        fields = [f"op: {literal(op)}", f"path: {literal(at)}"]
        if op in ("copy", "move"):
            fields[1] = f"path: {literal(rng.choice([at, '/metadata/labels/cp', '/spec/cp']))}"
            fields.append(f"from: {literal(rng.choice(where)[0])}")
        if op in ("add", "replace"):
            takes_texts = kind == "ConfigMap" or at.startswith("/metadata")
            pools = [TEXTS] * 6 + [NUMBERS] if takes_texts else [NUMBERS, TEXTS, WHOLES, PARTS, OPTIONALS]
            fields.append("value: " + rng.choice(rng.choice(pools)))
        if op == "test":
            fields.append("value: " + (literals(there) if rng.random() < 0.8 else rng.choice(NUMBERS + TEXTS + WHOLES)))
        return "JSONPatch{" + ", ".join(fields) + "}"
