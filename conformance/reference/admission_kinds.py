"""Kinds for random requests of admission: custom resources with every trait of a schema, schemas that a server publishes, random values, and CEL of them.

In: a server of `admission_server`, a random source. Out: `Schemas`, objects of a schema, and texts of CEL that give a value, most of them of the right type.
"""
import json
import re

TEXT, WHOLE, YES = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
OPEN = {"x-kubernetes-preserve-unknown-fields": True}
EITHER = {"x-kubernetes-int-or-string": True}


def struct(*required, **fields):
    out = {"type": "object", "properties": {name.replace("__", "-"): schema for name, schema in fields.items()}}
    return {**out, "required": list(required)} if required else out


def table(of, **more):
    return {"type": "object", "additionalProperties": of, **more}


def listed(of, kind=None, *keys):
    out = {"type": "array", "items": of}
    if kind:
        out["x-kubernetes-list-type"] = kind
    return {**out, "x-kubernetes-list-map-keys": list(keys)} if keys else out


def default(schema, value):
    return {**schema, "default": value}


def nullable(schema):
    return {**schema, "nullable": True}


INNER = struct("id", id=WHOLE, note=TEXT)
ENTRY = struct("name", name=TEXT, value=TEXT, count=default(WHOLE, 7), parts=struct(a=TEXT, marks=listed(TEXT, "set")), inner=listed(INNER, "map", "id"))
PORT = struct("port", "protocol", port=WHOLE, protocol=default(TEXT, "TCP"), name=TEXT)
SPEC = struct(
    replicas=WHOLE, whole=listed(TEXT), marks=listed(TEXT, "set"), numbers=listed(WHOLE, "set"), unit=listed(struct(a=TEXT, b=WHOLE), "atomic"),
    entries=listed(ENTRY, "map", "name"), ports=listed(PORT, "map", "port", "protocol"),
    flagged=listed(struct(on=default(YES, False), n=default(WHOLE, 0), v=TEXT), "map", "on", "n"),
    oneMap=table(TEXT, **{"x-kubernetes-map-type": "atomic"}), oneStruct={**struct(a=TEXT, b=WHOLE), "x-kubernetes-map-type": "atomic"},
    texts=table(TEXT), structs=table(struct(x=WHOLE, y=TEXT)), lists=table(listed(TEXT)), sets=table(listed(TEXT, "set")), tables=table(table(WHOLE)),
    free={"type": "object", **OPEN}, any=OPEN, known={**struct(known=TEXT, keyed=listed(struct("k", k=TEXT, v=TEXT), "map", "k")), **OPEN},
    freeItems=listed({"type": "object", **OPEN}), freeKeyed=listed({**struct("k", k=TEXT), **OPEN}, "map", "k"),
    either=EITHER, eithers=table(EITHER), eitherSet=listed(EITHER, "set"),
    embedded={"type": "object", "x-kubernetes-embedded-resource": True, **OPEN},
    nullText=nullable(TEXT), nullDefault=nullable(default(TEXT, "d")), textDefault=default(TEXT, "e"), nullStruct=nullable(struct(a=TEXT, b=default(WHOLE, 3))),
    nullList=nullable(listed(TEXT)), nullTable=table(nullable(TEXT)), nullNumber=nullable(WHOLE),
    ratio={"type": "number"}, small={**WHOLE, "format": "int32"}, moment={**TEXT, "format": "date-time"}, code={**TEXT, "format": "byte"}, flag=YES,
    mode={**TEXT, "enum": ["a", "b", "c"]}, filled=default(struct(p=default(TEXT, "q"), r=TEXT), {}), half=default(struct(p=TEXT, r=default(WHOLE, 5)), {"p": "z"}),
    deep=struct(one=struct(two=struct(marks=listed(TEXT, "set"), s=TEXT), n=WHOLE), n=WHOLE), namespace=TEXT, with__dash=TEXT, selector=TEXT,
)
SPEC["properties"]["in"] = SPEC["properties"]["x/y"] = TEXT
STATUS = struct(replicas=WHOLE, selector=TEXT, note=TEXT)
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}


def definition(kind, schema, scope="Namespaced", versions=("v1",), subresources=None):
    plural = kind.lower() + "s"
    more = {"subresources": subresources} if subresources else {}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": plural + ".random.test"},
        "spec": {
            "group": "random.test", "scope": scope, "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": kind + "List"},
            "versions": [{"name": v, "served": True, "storage": v == versions[0], "schema": {"openAPIV3Schema": schema}, **more} for v in versions],
        },
    }


DEFINITIONS = [
    definition("Part", struct(spec=SPEC, status=STATUS), versions=("v1", "v2"), subresources={"status": {}, "scale": SCALE}),
    definition("Setting", struct(spec=struct(n=WHOLE, s=TEXT, l=listed(TEXT), m=table(TEXT)))),
    definition("WideSetting", struct(spec=struct(n=WHOLE, s=TEXT)), scope="Cluster"),
    definition("Loose", {"type": "object", **OPEN}),
]
GROUPS = [
    "api/v1", "apis/apps/v1", "apis/batch/v1", "apis/networking.k8s.io/v1", "apis/rbac.authorization.k8s.io/v1", "apis/discovery.k8s.io/v1", "apis/autoscaling/v1",
    "apis/autoscaling/v2", "apis/policy/v1", "apis/storage.k8s.io/v1", "apis/coordination.k8s.io/v1", "apis/scheduling.k8s.io/v1", "apis/node.k8s.io/v1",
    "apis/flowcontrol.apiserver.k8s.io/v1", "apis/events.k8s.io/v1", "apis/resource.k8s.io/v1", "apis/random.test/v1",
]
# Kinds that are not created by themselves, or that another part of the server rewrites.
LEFT_OUT = {"Binding", "Namespace", "ComponentStatus", "PodTemplate", "Loose"}
FREQUENT = {"Pod", "Deployment", "Service", "Part", "NetworkPolicy", "Ingress", "StatefulSet", "CronJob", "EndpointSlice"}


class Schemas:
    """Schemas that a server publishes."""

    def __init__(self, server):
        self.by_name, self.of_kind = {}, {}
        for path in GROUPS:
            for name, schema in server.send("GET", "/openapi/v3/" + path).object["components"]["schemas"].items():
                self.by_name[name] = schema
                for k in schema.get("x-kubernetes-group-version-kind") or []:
                    version = f"{k['group']}/{k['version']}" if k["group"] else k["version"]
                    if (version, k["kind"]) in server.types and path.endswith(version):
                        self.of_kind[version, k["kind"]] = name
        self.kinds = sorted(k for k in self.of_kind if k[1] not in LEFT_OUT)

    def root(self, version, kind):
        return self.by_name[self.of_kind[version, kind]]

    def whole(self, schema):
        """A schema with what it refers to."""
        while True:
            if "$ref" in schema:
                name = schema["$ref"].rsplit("/", 1)[-1]
                schema = {**{k: v for k, v in schema.items() if k != "$ref"}, **self.by_name[name], "name": name}
            elif len(schema.get("allOf", [])) == 1:
                schema = {**{k: v for k, v in schema.items() if k != "allOf"}, **schema["allOf"][0]}
            else:
                return schema


def is_named(schema, *ends):
    return schema.get("name", "").endswith(ends)


def below(schema, key):
    """The schema of a member."""
    of_all = schema.get("additionalProperties")
    return (schema.get("properties") or {}).get(key) or (of_all if isinstance(of_all, dict) else None) or {}


class Values:
    """Random values of a schema, `density` says how many fields are there."""

    def __init__(self, schemas, rng):
        self.schemas, self.rng = schemas, rng

    def scalar(self, schema, key=""):
        r, kind, form = self.rng, schema.get("type"), schema.get("format")
        if is_named(schema, "Quantity"):
            return r.choice(["1", "2Gi", "100m", "0.5", "1e3", "1000m", "0", "-1", "1.5Gi", "1024Mi"])
        if is_named(schema, "IntOrString") or schema.get("x-kubernetes-int-or-string") or form == "int-or-string":
            return r.choice([1, 80, 0, "http", "25%", "80"])
        if kind == "string":
            if schema.get("enum"):
                return r.choice(schema["enum"])
            if form == "date-time":
                return "2024-01-02T03:04:05.000006Z" if is_named(schema, "MicroTime") else r.choice(["2024-01-02T03:04:05Z", "2020-12-31T23:59:59Z"])
            if form == "byte":
                return r.choice(["YQ==", "aGVsbG8=", ""])
            return "x" if key == "namespace" else r.choice("abc") if r.random() < 0.93 else r.choice(["", "ü", "x y", "a/b", "5", "true"])
        return {"integer": r.choice([0, 1, 2, 5, 80, 443]), "number": r.choice([0, 1, 1.5, 2, -3.25]), "boolean": r.random() < 0.5}.get(kind)

    def value(self, schema, depth, key="", density=0.3):
        """A value, `None` for nothing."""
        r, schema = self.rng, self.schemas.whole(schema)
        if key == "managedFields" or is_named(schema, "FieldsV1", "JSON", "JSONSchemaProps"):
            return None
        if is_named(schema, "Quantity", "IntOrString") or schema.get("x-kubernetes-int-or-string"):
            return self.scalar(schema, key)
        if schema.get("type") == "array":
            return self._list(schema, depth, key, density) if depth > 0 else None
        if schema.get("properties"):
            return self._struct(schema, depth, density) if depth > 0 else None
        if isinstance(schema.get("additionalProperties"), dict):
            pairs = [(r.choice(["a", "b", "c", "k-1", "x.y/z"]), self.value(schema["additionalProperties"], depth - 1, "", density)) for _ in range(r.randint(0, 2))]
            return {k: v for k, v in pairs if v is not None} if depth > 0 else {}
        if schema.get("x-kubernetes-embedded-resource"):
            return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "e"}, **({"data": {"a": "b"}} if r.random() < 0.5 else {})}
        if schema.get("type") == "object" or schema.get("x-kubernetes-preserve-unknown-fields"):
            tables = [{}, {"p": 1}, {"p": {"q": "s", "l": [1, 2]}}, {"l": ["a", "b"]}, {"l": [{"name": "a", "v": 1}]}, {"p": None}, {"f": 1.5, "b": True}]
            return r.choice(tables if schema.get("type") == "object" or r.random() < 0.6 else [1, "s", [1, 2], True, 1.5])
        return self.scalar(schema, key)

    def _struct(self, schema, depth, density):
        r, out = self.rng, {}
        likely = density / 2 if len(schema["properties"]) > 12 else density
        for key, of in schema["properties"].items():
            if r.random() < (0.65 if key in schema.get("required", []) else likely):
                value = self.value(of, depth - 1, key, density)
                if value is not None:
                    out[key] = value
        return out

    def _list(self, schema, depth, key, density):
        r, out = self.rng, []
        keys = schema.get("x-kubernetes-list-map-keys") or []
        for _ in range(r.choice([0, 1, 1, 2, 2, 3])):
            value = self.value(schema["items"], depth - 1, key, density)
            if value is None or schema.get("x-kubernetes-list-type") == "set" and value in out and r.random() < 0.85:
                continue
            if keys and isinstance(value, dict):
                fields = self.schemas.whole(schema["items"])["properties"]
                for k in keys:
                    of = self.schemas.whole(fields[k])
                    # A key may come from its default, or be missing by mistake.
                    if k not in value and r.random() > (0.6 if "default" in of else 0.04):
                        value[k] = self.scalar(of, k)
                if any(all(o.get(k) == value.get(k) for k in keys) for o in out) and r.random() < 0.8:
                    continue
            out.append(value)
        return out

    def without_units(self, value, schema, chance=0.03):
        """Without most of what is replaced as a whole, which ends a merge with an error."""
        schema = self.schemas.whole(schema) if schema else {}
        if isinstance(value, list):
            return [self.without_units(v, schema.get("items"), chance) for v in value]
        if not isinstance(value, dict):
            return value
        out = {}
        for key, v in value.items():
            of = self.schemas.whole(below(schema, key))
            is_free = isinstance(v, dict) and not any(of.get(k) for k in ("properties", "additionalProperties", "x-kubernetes-preserve-unknown-fields"))
            is_unit = isinstance(v, list) and of.get("x-kubernetes-list-type") not in ("map", "set")
            if not (is_free or is_unit or of.get("x-kubernetes-map-type") == "atomic") or self.rng.random() < chance:
                out[key] = self.without_units(v, of, chance)
        return out


RESERVED = set("as break const continue else for function if import let loop package namespace return var void while in true false null".split())
ODD = {
    "int": ["dyn({0})", "{1}u", "double({0})", "'{1}'", "{0} + 0", "null", "1.5"],
    "str": ["{0} + ''", "b'ab'", "timestamp('2024-01-01T00:00:00Z')", "duration('90s')", "null", "1", "string(5)", "{0}.lowerAscii()", "quantity('1Gi')", "ip('10.0.0.1')",
            "type(1)", "1.5", "true", "optional.of({0})", "optional.none()", "semver('1.2.3')", "url('http://a/b').getHost()"],
    "bool": ["!({0})", "'true'", "null", "1"], "float": ["{0}", "1", "3u", "'1.5'"], "NoneType": ["null", "dyn(null)", "optional.none()"],
}


def literal(value):
    if isinstance(value, str):
        return "'" + json.dumps(value, ensure_ascii=False)[1:-1].replace("'", "\\'") + "'"
    return json.dumps(value)


def literals(value):
    """CEL of a value of any types."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(k)}: dyn({literals(v)})" for k, v in value.items()) + "}"
    return "[" + ", ".join(f"dyn({literals(v)})" for v in value) + "]" if isinstance(value, list) else literal(value)


class Writer:
    """CEL of values as the expression of a merge; `oddity` is how often something is of another type or form."""

    def __init__(self, schemas, rng, oddity):
        self.schemas, self.rng, self.oddity = schemas, rng, oddity

    def is_odd(self, share=1.0):
        return self.rng.random() < self.oddity * share

    def field(self, key):
        if key in RESERVED:
            return f"`{key}`" if self.rng.random() < 0.8 else f"__{key}__"
        return key if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", key) else f"`{key}`" if re.fullmatch("[A-Za-z0-9_./ -]+", key) else None

    def text(self, value, schema, kind="Object", depth=0):
        schema = self.schemas.whole(schema) if schema else {}
        if isinstance(value, dict):
            return self._table(value, schema, kind, depth)
        if isinstance(value, list):
            return self._list(value, schema, kind, depth)
        if self.is_odd(0.6):
            return self.rng.choice(ODD[type(value).__name__]).format(literal(value), abs(value) if isinstance(value, (int, float)) else value)
        return literal(value)

    def _table(self, value, schema, kind, depth):
        r = self.rng
        if depth and self.is_odd(0.25):
            return r.choice(["null", "'x'", "1", "[]", "{}", kind + "{}"])
        is_struct = "properties" in schema or depth == 0
        members = [(k, self.text(v, below(schema, k), f"{kind}.{k}" if is_struct else kind, depth + 1)) for k, v in value.items()]
        if is_struct and not (depth and self.is_odd(0.6)) or not is_struct and r.random() < 0.15:
            return kind + "{" + ", ".join(self._member(self.field(k), text) for k, text in members if self.field(k)) + "}"
        is_mixed = len({type(v) for v in value.values()}) > 1 or len(members) > 1 and any("{" in text for _, text in members)
        return "{" + ", ".join(f"'{k}': dyn({text})" if is_mixed else f"'{k}': {text}" for k, text in members) + "}"

    def _member(self, name, text):
        if not self.is_odd(0.9):
            return f"{name}: {text}"
        return self.rng.choice([f"?{name}: optional.of({text})"] * 4 + [f"?{name}: optional.none()", f"{name}: optional.of({text})", f"{name}: true ? {text} : {text}"])

    def _list(self, value, schema, kind, depth):
        if self.is_odd(0.3):
            return self.rng.choice(["null", "'x'", "{}", "[null]", "[[]]", "['a', 'a']", "optional.none()", "[?optional.none()]"])
        items = [self.text(v, schema.get("items"), kind, depth + 1) for v in value]
        if len({type(v) for v in value}) > 1:
            items = [f"dyn({i})" for i in items]
        if items and self.is_odd(0.4):
            items[0] = f"?optional.of({items[0]})"
        return "[" + ", ".join(items) + "]"
