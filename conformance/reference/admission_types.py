"""Random validations whose types an API server warns of.

In: a server with kube-controller-manager, a random source, a namespace. Out: cases without requests: policies about built-in kinds and custom resources, with
expressions about fields that are there, or nearly; what `status.typeChecking` says of them is the answer.
"""
import re

from admission_areas import validating
from admission_kinds import RESERVED, Schemas

OFTEN = {"Pod", "Deployment", "Service", "Part", "Ingress", "CronJob", "HorizontalPodAutoscaler", "Loose"}
# Tests by the type of what they test.
TESTS = {
    "string": ["{0} == 'a'", "{0}.startsWith('a')", "{0} in ['a', 'b']", "size({0}) > 1", "{0}.matches('^a')", "bytes({0}) == b'a'", "{0} + 'x' == 'y'", "{0} != ''"],
    "integer": ["{0} > 1", "{0} == 1", "{0} + 1 < 5", "{0} in [1, 2]", "{0} > 1.5", "double({0}) > 1.5", "{0} % 2 == 0", "string({0}) == '1'"],
    "boolean": ["{0}", "!{0}", "{0} == true", "{0} ? true : false"],
    "array": ["size({0}) > 0", "'a' in {0}", "{0} == []", "sets.contains({0}, ['a'])", "{0}.isSorted()", "{0}.sum() > 1", "{0}.map(x, x).size() > 0"],
    "map": ["'a' in {0}", "{0}.all(k, k.startsWith('a'))", "{0}['a'] == 'b'", "{0}.k == 'b'", "has({0}.k)", "size({0}) == 0", "{0}.all(k, v, v == 'a')"],
    "open": ["{0} == '1'", "{0} == 1", "quantity({0}).isGreaterThan(quantity('1'))", "{0} > 1", "{0}.startsWith('a')", "int({0}) > 1", "type({0}) == string", "has({0}.a)", "{0}.a == 1"],
}
ANY = ["{0} == 1", "{0} == 'x'", "{0} == true", "{0}.size() > 1", "{0} in ['a']", "{0} == null", "{0} > 1.5", "{0}.foo == 1", "{0} + 1 == 2", "{0}.matches('a')", "quantity({0}).isInteger()",
       "{0} == {0}", "type({0}) == int", "{0}.all(x, x == 1)", "duration({0}) > duration('1s')", "{0} > timestamp('2020-01-01T00:00:00Z')", "{0}"]
OTHERS = ["request.userInfo.username", "request.nope", "request.kind.kind", "namespaceObject.metadata.name", "namespaceObject.spec", "namespaceObject.nope", "request.object", "request.dryRun",
          "authorizer.group('').resource('pods').check('get').allowed()", "request.userInfo.extra", "variables.none", "params.x", "object", "request.options"]


def kind_of(schema):
    if schema.get("type") in ("string", "integer", "boolean", "array"):
        return schema["type"]
    return "integer" if schema.get("type") == "number" else "map" if isinstance(schema.get("additionalProperties"), dict) else "open"


class Types:
    """Expressions on fields of kinds, some with a mistake."""

    def __init__(self, server):
        self.server, self.schemas = server, Schemas(server)
        server.run_controllers()
        self.often = [k for k in self.schemas.kinds if k[1] in OFTEN]

    def __call__(self, rng, namespace):
        rules, kinds = [], [rng.choice(self.often if rng.random() < 0.5 else self.schemas.kinds) for _ in range(rng.choice([1, 1, 1, 2]))]
        for version, kind in kinds:
            group, _, plain_version = version.rpartition("/")
            rules.append({"apiGroups": [group], "apiVersions": [plain_version], "operations": ["CREATE"], "resources": [self.server.types[version, kind][1]]})
        if rng.random() < 0.1:
            rules[0]["resources"].append(rng.choice(["none", "*", "pods/status", rules[0]["resources"][0] + "/scale"]))
        if rng.random() < 0.1:
            rules[0]["apiVersions"].append(rng.choice(["v2", "v1beta1", "*"]))
        root = self.schemas.root(*kinds[0])
        spec, roots = {}, [("object", root), ("oldObject", root)]
        if rng.random() < 0.3:
            version, kind = rng.choice([("v1", "ConfigMap"), ("random.test/v1", "Setting"), ("v1", "Secret"), ("v1", "Nope"), ("random.test/v1", "Part")])
            spec["paramKind"] = {"apiVersion": version, "kind": kind}
            roots += [("params", self.schemas.root(version, kind))] * 2 if (version, kind) in self.schemas.of_kind else []
        if rng.random() < 0.35:
            found = [self._path(rng, *rng.choice(roots)) for _ in range(rng.choice([1, 2]))]
            spec["variables"] = [{"name": f"v{i}", "expression": text} for i, (text, _) in enumerate(found)]
            roots += [(f"variables.v{i}", schema) for i, (_, schema) in enumerate(found)]
        validations = []
        for _ in range(rng.choice([1, 2, 2, 3])):
            text, schema = (rng.choice(OTHERS), {}) if rng.random() < 0.1 else self._path(rng, *rng.choice(roots))
            one = {"expression": rng.choice(ANY if rng.random() < 0.15 else TESTS[kind_of(schema)]).format(text)}
            if rng.random() < 0.3:
                shown = self._path(rng, *roots[0])[0]
                one["messageExpression"] = rng.choice(["'m: ' + string({0})", "{0}", "'x' + {0}"]).format(shown)
            validations.append(one)
        return {"setup": [validating("p-" + namespace, {"resourceRules": rules}, validations, **spec)], "requests": [], "types": True}

    def _path(self, rng, text, schema):
        """An expression of something below a value, and its schema."""
        for _ in range(rng.randint(0, 4)):
            schema = self.schemas.whole(schema)
            if schema.get("properties"):
                key = rng.choice(list(schema["properties"]))
                schema = schema["properties"][key]
                if rng.random() < 0.06:
                    key, schema = rng.choice(["nope", key + "s", key.upper(), "x_y"]), {}
                if key in RESERVED:
                    text += f".__{key}__" if rng.random() < 0.8 else f".{key}"
                elif re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", key):
                    text += f".?{key}" if rng.random() < 0.06 else f".{key}"
                else:
                    text += f"['{key}']"
            elif schema.get("type") == "array":
                text, schema = text + (rng.choice(["[0]", "[1]"]) if rng.random() < 0.9 else "['x']"), schema["items"]
            elif isinstance(schema.get("additionalProperties"), dict):
                text, schema = text + rng.choice(["['k']", ".k"] if rng.random() < 0.9 else ["[0]"]), schema["additionalProperties"]
            elif rng.random() < 0.1:
                return text + rng.choice([".foo", "[0]", "['a']"]), {}
        return text, self.schemas.whole(schema)
