"""Objects as terms: part of smt.py.

A node stands for a field: whether it is there, of which type it is, and its text, number or boolean are variables; its fields and items are
nodes that exist once they are read. Types come from crates/kubernetes/src/schema-1.36.txt, which kubernetes.py recorded from an API
server. Lists have at most `bound` items, maps with any keys the keys that are read and `bound` others.
"""
import re
from pathlib import Path

import smt_terms as t
from smt_measures import QUANTITY

SOURCES = Path(__file__).resolve().parents[2] / "crates/kubernetes/src"
SCALARS = {"string", "bytes", "time", "micro-time", "quantity", "int-or-string", "int32", "int64", "double", "bool", "any", "object"}
# Fields that an API server shows as null to webhooks where they are empty.
NULLABLE = {("rbac/v1.Role", "rules"), ("rbac/v1.ClusterRole", "rules")}


def read_schema():
    types, kinds, current = {}, {}, None
    for line in (SOURCES / "schema-1.36.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            name, *rest = line.split(" ")
            current = types.setdefault(name, {"fields": {}, "is": None, "structs": set()})
            for one in rest:
                if one.startswith("kind="):
                    group, version, kind = ([""] + one[5:].split("/"))[-3:]
                    kinds[group, version, kind] = name
                if one.startswith("is="):
                    current["is"] = one[3:]
            continue
        name, rest = line[1:].split(" ", 1)
        kind, _, default = rest.partition("=")
        current["fields"][name.rstrip("!")] = (kind.strip(), name.endswith("!"))
        if default == "{}":
            current["structs"].add(name.rstrip("!"))
    return types, kinds


def read_required():
    """Fields that an API server requires, and not empty: by type."""
    found, current = {}, []
    for line in (SOURCES / "admitted/rules.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            current = line.split(" ")[0].split(",")
        elif not line.startswith(" *"):
            names, rest = line[1:].split(" ", 1)
            if "required" in [word.strip() for word in rest.split(";")]:
                for one in current:
                    found.setdefault(one, set()).update(names.split(","))
    return found


def read_resources():
    """Kinds by name: group, version, plural, whether they are in namespaces."""
    found = []
    for line in (SOURCES / "kinds-1.36.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        api, kind, plural, scope, *_ = line.split()
        group, version = ([""] + api.split("/"))[-2:]
        found.append({"group": group, "version": version, "kind": kind, "plural": plural, "namespaced": scope == "N"})
    return found


TYPES, KINDS = read_schema()
RESOURCES = read_resources()
REQUIRED = read_required()


def read_defaults():
    """Fields that an API server fills in: by type."""
    rows = [line.split(" ") for line in (SOURCES / "defaults.txt").read_text().splitlines() if line and not line.startswith("#")]
    return {row[0]: {part.split("=")[0] for part in row[1:] if "=" in part} for row in rows}


DEFAULTS = read_defaults()


def needs(kind):
    """Whether an API server refuses an object of a type when it is empty."""
    own = TYPES.get(kind.lstrip("!"))
    return own is not None and (bool(REQUIRED.get(kind.lstrip("!"))) or any(needs(own["fields"][name][0]) for name in own["structs"]))


class World:
    """All statements about the object of one comparison.

    `narrow`: fields are there that an API server fills in, and fields without a schema that rules read parts of have these parts, the others are no lists.
    """

    def __init__(self, bound, keys, narrow=False):
        self.bound, self.keys, self.narrow = bound, keys, narrow
        self.constraints, self.others, self.untyped = [], [], []

    def say(self, formula):
        if formula is not True:
            self.constraints.append(formula)

    def finish(self):
        """Statements at the end, when all keys are known: the keys of a map are different."""
        for node in self.untyped if self.narrow else ():
            tag = node.variables["type"]
            has_parts = any(row.children for row in node.rows)
            self.say(t.eq(tag, 4) if node.children else t.eq(tag, 3) if has_parts else t.less(tag, 3))
        for node in self.others:
            names = [name for name, _, _ in node.extra]
            for at, name in enumerate(names):
                self.constraints += [t.not_(t.eq(name, key)) for key in sorted(node.children)]
                self.constraints += [t.not_(t.eq(name, other)) for other in names[:at]]


class Node:
    def __init__(self, world, path, kind, required=False, fixed=None, nullable=False, filled=False):
        self.filled = filled
        self.world, self.path, self.kind, self.fixed = world, path, kind.lstrip("!"), fixed
        self.present = True if required else t.fresh(f"has {path}", "boolean")
        self.is_null = t.fresh(f"null {path}", "boolean") if nullable else False
        self.children, self.rows, self.extra, self.made, self.variables = {}, None, None, None, {}

    def variable(self, name, sort):
        if name not in self.variables:
            self.variables[name] = t.fresh(f"{name} {self.path}", sort)
        return self.variables[name]

    @property
    def definition(self):
        return TYPES.get(self.kind)

    def shape(self):
        """`scalar`, `list`, `map` (any keys), `fields` or `any`."""
        if self.kind in SCALARS:
            return {"any": "any", "object": "map"}.get(self.kind, "scalar")
        if self.kind.startswith("["):
            return "list"
        if self.kind.startswith("{"):
            return "map"
        inner = self.definition["is"] if self.definition else "any"
        return {"any": "any", "object": "map"}.get(inner, "fields")

    def values(self):
        """The alternatives of its value where it is present: guards and values."""
        if self.made is None:
            self.made = [(self.is_null, ("null",))] if self.is_null is not False else []
            self.made += [(t.and_(t.not_(self.is_null), guard), value) for guard, value in self.some()]
        return self.made

    def some(self):
        if self.fixed is not None:
            return [(True, ("str", self.fixed))]
        shape = self.shape()
        if shape == "list":
            return [(True, ("list", self.items()))]
        if shape in ("map", "fields"):
            return [(True, ("map", self))]
        if shape == "any":
            return self.any_type()
        if self.kind == "bool":
            return [(True, ("bool", self.variable("bool", "boolean")))]
        if self.kind in ("int32", "int64"):
            number = self.variable("int", "integer")
            self.world.say(t.and_(t.less(-2**31, number), t.less(number, 2**31)))
            return [(True, ("int", number))]
        if self.kind == "int-or-string":
            is_int = self.variable("is int", "boolean")
            return [(is_int, ("int", self.variable("int", "integer"))), (t.not_(is_int), ("str", self.variable("str", "string")))]
        if self.kind == "double":
            raise t.OutOfReach("fields of type double")
        text = self.variable("str", "string")
        if self.filled:
            self.world.say(t.not_(t.eq(text, "")))
        if self.kind == "quantity":
            self.world.say(t.in_language(text, QUANTITY))
            self.world.say(t.not_(t.eq(text, "")))
        return [(True, ("str", text))]

    def any_type(self):
        """A field without a schema: of any type but null and fractions."""
        tag = self.variable("type", "integer")
        self.world.untyped.append(self)
        self.world.say(t.and_(t.less(-1, tag), t.less(tag, 5)))
        made = {"bool": lambda: ("bool", self.variable("bool", "boolean")), "int": lambda: ("int", self.variable("int", "integer")),
                "str": lambda: ("str", self.variable("str", "string")), "list": lambda: ("list", self.items()), "map": lambda: ("map", self)}
        return [(t.eq(tag, at), value()) for at, value in enumerate(made.values())]

    def items(self):
        if self.rows is None:
            self.rows = []
            kind = self.kind[self.kind.index("]") + 1:] if self.kind.startswith("[") else "any"
            # An API server leaves empty lists out, but for the few that it shows as null.
            is_never_empty = self.world.narrow and self.kind.startswith("[") and self.is_null is False
            for at in range(self.world.bound):
                row = Node(self.world, f"{self.path}[{at}]", kind, required=at == 0 and (self.filled or is_never_empty))
                if self.rows:
                    self.world.say(t.or_(t.not_(row.present), self.rows[-1].present))
                self.rows.append(row)
        return [(row.present, row) for row in self.rows]

    def child(self, key):
        """The field of a name; `None` when the schema has none."""
        if key in self.children:
            return self.children[key]
        shape, kind, required, nullable, is_filled = self.shape(), "any", False, False, False
        if shape == "fields":
            if key not in self.definition["fields"]:
                return None
            kind, required = self.definition["fields"][key]
            nullable = (self.kind, key) in NULLABLE
            is_filled = key in REQUIRED.get(self.kind, ())
            is_given = key in self.definition["structs"] or key in DEFAULTS.get(self.kind, ())
            required = required or is_filled or (self.world.narrow and is_given) or (key in self.definition["structs"] and needs(kind))
        elif shape == "map" and self.kind.startswith("{"):
            kind = self.kind[self.kind.index("}") + 1:]
        self.world.keys.setdefault(self.path, set()).add(key)
        self.children[key] = Node(self.world, f"{self.path}.{key}", kind, required, nullable=nullable, filled=is_filled)
        return self.children[key]

    def entries(self):
        """All entries: name, whether it is there, node."""
        if self.shape() == "fields":
            return [(key, self.child(key).present, self.child(key)) for key in sorted(self.definition["fields"])]
        for key in sorted(self.world.keys.get(self.path, ())):
            self.child(key)
        if self.extra is None:
            self.extra = []
            for at in range(self.world.bound):
                kind = self.kind[self.kind.index("}") + 1:] if self.kind.startswith("{") else "any"
                node = Node(self.world, f"{self.path}.<{at}>", kind)
                name = t.fresh(f"name {self.path}<{at}>", "string")
                if self.extra:
                    self.world.say(t.or_(t.not_(node.present), self.extra[-1][1]))
                self.extra.append((name, node.present, node))
            self.world.others.append(self)
        return [(key, node.present, node) for key, node in sorted(self.children.items())] + self.extra


def decoded(node, model):
    """The object of a model."""
    if node.fixed is not None:
        return node.fixed
    if node.is_null is not False and model(node.is_null):
        return None
    shape, which = node.shape(), None
    if shape == "any":
        which = model(node.variables["type"]) if "type" in node.variables else 4
        shape = "list" if which == 3 else "map" if which == 4 else "scalar"
    if shape == "list":
        return [decoded(row, model) for row in node.rows or () if model(row.present)]
    if shape in ("map", "fields"):
        found = {key: decoded(child, model) for key, child in node.children.items() if model(child.present)}
        for name, present, child in node.extra or ():
            if model(present):
                found[model(name)] = decoded(child, model)
        if node.shape() == "fields":
            for key, (kind, required) in node.definition["fields"].items():
                if key not in found and (required or key in REQUIRED.get(node.kind, ()) or (key in node.definition["structs"] and needs(kind))):
                    found[key] = smallest(kind, key in REQUIRED.get(node.kind, ()))
        return found
    if node.kind == "bool" or which == 0:
        return model(node.variable("bool", "boolean"))
    if node.kind in ("int32", "int64") or which == 1 or (node.kind == "int-or-string" and model(node.variable("is int", "boolean"))):
        return model(node.variable("int", "integer"))
    return model(node.variables["str"]) if "str" in node.variables else smallest(node.kind)


def smallest(kind, is_filled=False):
    """A value of a type that nothing reads."""
    kind = kind.lstrip("!")
    if kind.startswith("["):
        return [smallest(kind[kind.index("]") + 1:], True)] if is_filled else []
    if kind.startswith("{"):
        return {}
    if kind in SCALARS:
        return {"bool": False, "int32": 1, "int64": 1, "quantity": "1", "int-or-string": 1, "time": "2026-01-01T00:00:00Z", "any": {}, "object": {}}.get(kind, "x")
    own = TYPES.get(kind, {"fields": {}, "structs": set()})
    wanted = lambda name, inner, required: required or name in REQUIRED.get(kind, ()) or (name in own["structs"] and needs(inner))
    return {name: smallest(inner, name in REQUIRED.get(kind, ())) for name, (inner, required) in own["fields"].items() if wanted(name, inner, required)}


def resource_object(world, resource):
    """The object of a request."""
    api = "/".join(part for part in (resource["group"], resource["version"]) if part)
    kind = KINDS.get((resource["group"], resource["version"], resource["kind"]), "any")
    root = Node(world, "", kind if kind != "any" else "object", required=True)
    for name, text in (("apiVersion", api), ("kind", resource["kind"])):
        root.children[name] = Node(world, f".{name}", "string", required=True, fixed=text)
    metadata = root.children["metadata"] = Node(world, ".metadata", "meta/v1.ObjectMeta", required=True)
    metadata.children["name"] = Node(world, ".metadata.name", "string", required=True)
    names = ["name"]
    if resource["namespaced"]:
        metadata.children["namespace"] = Node(world, ".metadata.namespace", "string", required=True)
        names.append("namespace")
    for name in names:
        world.say(t.in_language(metadata.children[name].values()[0][1][1], r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"))
    return root
