#!/usr/bin/env python3
"""Random CEL expressions, answered by the reference and by ephor.

Makes expressions from a seed: mostly well-typed, some with an argument of a wrong type, some damaged as
text. Every function that ephor declares (crates/functions/src/cel/library/*.txt) is called. The reference is a program that
reads cases as lines of JSON and writes them with their results, one for each level of the runtime.

  CELGOLD=PATH CELGOLD_LATER=PATH conformance/reference/cel.py --seed 1 --cases 10000 --work DIR
  ... --record 2000 --work conformance/cel-random

The first leaves cases and inputs in DIR/cel-random, for `ephor conformance DIR`. The second keeps that many.
"""
import argparse
import json
import os
import pathlib
import random
import re
import resource
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "crates/functions/src/cel/library"
TABLES = ["standard", "extensions", "optional", "kubernetes", "network", "authorizer"]

INT, UINT, DOUBLE, STRING, BYTES = "int", "uint", "double", "string", "bytes"
BOOL, NULL, DURATION, TIMESTAMP, DYN = "bool", "null", "duration", "timestamp", "dyn"
SCALARS = [INT, UINT, DOUBLE, STRING, BYTES, BOOL, DURATION, TIMESTAMP]


def split(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "<") - (c == ">")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return parts + ([last] if last else [])


def parse_type(text):
    text = text.strip()
    if "<" in text:
        name, rest = text.split("<", 1)
        return (name,) + tuple(parse_type(p) for p in split(rest[:-1]))
    return text


def declared():
    """(name, receiver or None, parameters, result) of every function."""
    out = []
    for table in TABLES:
        for line in (LIBRARY / f"{table}.txt").read_text().splitlines():
            line = line.strip()
            if not line or line.startswith("#") or "@" in line or line.startswith("_"):
                continue
            head, rest = line.split("(", 1)
            params, result = rest.rsplit(")", 1)
            params = [parse_type(p) for p in split(params)]
            receiver = None
            if head.endswith(":"):
                name = head[:-1]
            else:
                depth, at = 0, None
                for i, c in enumerate(head):
                    depth += (c == "<") - (c == ">")
                    if c == "." and depth == 0:
                        at = i
                name = head if at is None else head[at + 1:]
                receiver = None if at is None else parse_type(head[:at])
            out.append((name, receiver, params, parse_type(result)))
    return out


MOST_MEMORY = 4 << 30
FUNCTIONS = declared()


def bind(pattern, wanted, found):
    """Whether a declared type can be the wanted one."""
    if isinstance(pattern, str):
        if len(pattern) == 1:
            if found.setdefault(pattern, wanted) != wanted:
                return False
            return True
        return pattern == wanted
    if isinstance(wanted, str) or pattern[0] != wanted[0] or len(pattern) != len(wanted):
        return False
    return all(bind(p, w, found) for p, w in zip(pattern[1:], wanted[1:]))


def fill(pattern, found, rng):
    if isinstance(pattern, str):
        if len(pattern) == 1:
            return found.setdefault(pattern, rng.choice([INT, STRING, BOOL, DOUBLE]))
        return pattern
    return (pattern[0],) + tuple(fill(p, found, rng) for p in pattern[1:])


OBJECT = {
    "metadata": {"name": "web-1", "namespace": "prod", "labels": {"app": "web", "tier": "front"}},
    "spec": {
        "n": 3, "big": 9007199254740993, "neg": -7, "zero": 0, "rate": 2.5, "whole": 4.0, "yes": True, "no": False,
        "text": "Grüße, 世界 🌍", "empty": "", "name": "web", "long": "ab" * 60, "nil": None,
        "ints": [3, 1, 2], "doubles": [0.5, 2.0], "strs": ["b", "a", "c", "a"], "none": [], "mixed": [1, "a", None, 2.5, True],
        "map": {"a": 1, "b": 2}, "names": {"x": "one", "y": "two"}, "nothing": {}, "nested": {"list": [[1, 2], [3], []]},
        "objs": [{"v": 1, "name": "a"}, {"v": 2, "name": "b"}, {"name": "c"}],
        "ip": "10.1.2.3", "cidr": "10.0.0.0/8", "quantity": "1500m", "version": "1.2.3-rc.1", "url": "https://h.example:8080/a/b?q=1&q=2#f",
        "time": "2024-02-29T12:30:00Z", "span": "1h30m", "if": "reserved", "a-b": 1,
    },
}
FIELDS = {
    INT: ["n", "big", "neg", "zero"], DOUBLE: ["rate", "whole"], BOOL: ["yes", "no"],
    STRING: ["text", "empty", "name", "long", "ip", "cidr", "quantity", "version", "url", "time", "span", "if"],
    ("list", INT): ["ints", "none"], ("list", STRING): ["strs", "none"], ("list", DOUBLE): ["doubles"],
    ("list", DYN): ["mixed", "objs", "none"], ("map", STRING, INT): ["map", "nothing"], ("map", STRING, STRING): ["names"],
    NULL: ["nil", "absent"],
}
REQUEST = {
    "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
    "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
    "operation": "UPDATE", "name": "web-1", "namespace": "prod",
    "userInfo": {"username": "ann", "groups": ["dev", "ops"], "extra": {"k": ["v"]}},
}
INPUTS = {
    "full": {
        "object": OBJECT,
        "oldObject": {"metadata": {"name": "web-1"}, "spec": {"n": 2, "name": "web", "ints": [1, 2, 3], "strs": ["a"], "map": {"a": 1}}},
        "params": {"limit": 5, "names": ["web", "api"], "spec": {"max": 10}},
        "request": REQUEST,
        "namespaceObject": {"metadata": {"name": "prod", "labels": {"env": "prod"}}, "status": {"phase": "Active"}},
        "authorizer": [
            {"verb": "get", "resource": "pods", "decision": "allow", "reason": "because"},
            {"verb": "list", "decision": "deny", "reason": "", "error": "down"},
            {"path": "/healthz", "decision": "allow", "echo": True},
        ],
    },
    "bare": {"object": {"spec": {"n": 1, "strs": ["x"]}}, "request": REQUEST},
    "rich": {
        "object": {"spec": {"n": 3, "rate": 0.5, "yes": False, "text": "Grüße", "ints": [1, 2], "strs": ["a", "b"],
                            "ports": [{"port": 80, "protocol": "TCP", "name": "http"}, {"port": 53, "protocol": "UDP"}],
                            "deep": {"in": "x", "a-b": 2, "list": [[1], [2, 3]]}, "either": "50%", "open": {"a": 1, "l": [1, "x", {"b": 2.5}], "n": None}, "maybe": None, "marks": None, "free": {"p": {"q": [1]}}, "level": "low", "code": "aGFsbG8=",
                            "day": "2024-02-29", "map": {"a": 1}, "ranks": {"x": ["a", "b"]}, "time": "2024-02-29T12:30:00Z", "span": "90s"},
                   "metadata": {"name": "web-1"}},
        "oldObject": {"spec": {"n": 2, "ints": [2, 1], "strs": ["b", "a"], "ports": [{"port": 53, "protocol": "UDP"}, {"port": 80, "protocol": "TCP", "name": "http"}],
                               "either": 5, "deep": {"list": []}, "map": {"a": 1}}},
    },
    "typed": {
        "object": {"spec": {k: OBJECT["spec"][k] for k in ["n", "rate", "yes", "text", "ints", "strs", "map", "names", "objs", "time", "span"]},
                   "metadata": {"name": "web-1"}},
        "oldObject": {"spec": {"n": 2, "ints": [2, 1, 3], "strs": ["a"], "objs": [{"name": "b", "v": 5}]}},
    },
}
S = {"type": "string"}
PORT = {"type": "object", "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "maxLength": 8}, "name": S}}
SCHEMAS = {
    "rich": {"root": True, "schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "n": {"type": "integer"}, "rate": {"type": "number"}, "yes": {"type": "boolean"}, "text": S,
        "ints": {"type": "array", "items": {"type": "integer"}},
        "strs": {"type": "array", "maxItems": 6, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 10}},
        "ports": {"type": "array", "maxItems": 3, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "items": PORT},
        "deep": {"type": "object", "properties": {"in": S, "a-b": {"type": "integer"}, "list": {"type": "array", "maxItems": 4, "items": {
            "type": "array", "maxItems": 3, "items": {"type": "integer"}}}}},
        "either": {"x-kubernetes-int-or-string": True}, "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "level": {"type": "string", "enum": ["low", "middle", "high"]}, "code": {"type": "string", "format": "byte"},
        "day": {"type": "string", "format": "date"}, "maybe": {"type": "string", "nullable": True}, "marks": {"type": "array", "nullable": True, "items": S}, "free": {"x-kubernetes-preserve-unknown-fields": True},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "ranks": {"type": "object", "maxProperties": 2, "additionalProperties": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 5}}},
        "time": {"type": "string", "format": "date-time"}, "span": {"type": "string", "format": "duration"},
    }}}}},
    "plain": {"root": True, "schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "n": {"type": "integer"}, "rate": {"type": "number"}, "yes": {"type": "boolean"}, "text": {"type": "string", "maxLength": 30},
        "ints": {"type": "array", "maxItems": 5, "items": {"type": "integer"}},
        "strs": {"type": "array", "maxItems": 4, "x-kubernetes-list-type": "atomic", "items": {"type": "string", "maxLength": 10}},
        "map": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "integer"}},
        "names": {"type": "object", "additionalProperties": S},
        "objs": {"type": "array", "items": {"type": "object", "properties": {"name": S, "v": {"type": "integer"}}}},
        "time": {"type": "string", "format": "date-time"}, "span": {"type": "string", "format": "duration"},
    }}}}},
}
TYPED = {INT: ["n"], DOUBLE: ["rate"], BOOL: ["yes"], STRING: ["text"], ("list", INT): ["ints"], ("list", STRING): ["strs"],
         ("map", STRING, INT): ["map"], ("map", STRING, STRING): ["names"], TIMESTAMP: ["time"], DURATION: ["span"]}

RICH = {**{k: v for k, v in TYPED.items() if k != ("map", STRING, STRING)}, STRING: ["text", "level", "deep.__in__", "maybe", "ports[0].name"],
        BYTES: ["code"], TIMESTAMP: ["time", "day"], INT: ["n", "deep.a__dash__b", "ports[1].port"], DYN: ["either", "ports", "deep", "ranks", "open", "free", "maybe", "marks", "free.p", "open.a", "maybe", "marks", "?maybe", "?marks.orValue([])"],
        ("list", DYN): ["ports", "strs", "ints"], ("list", ("list", INT)): ["deep.list"], ("list", STRING): ["strs", "ranks.x", "ranks['x']"],
        ("map", STRING, DYN): ["ranks"]}
# What only policies see.
OUTSIDE = {
    STRING: ["request.operation", "request.name", "request.userInfo.username", "request.kind.kind", "request.resource.group", "namespaceObject.metadata.name",
             "request.subResource", "namespaceObject.status.phase", "request.requestKind.version", "request.userInfo.uid", "namespaceObject.metadata.generateName"],
    BOOL: ["request.dryRun"], ("list", STRING): ["request.userInfo.groups", "namespaceObject.metadata.finalizers", "request.userInfo.extra['k']"],
    ("map", STRING, STRING): ["namespaceObject.metadata.labels", "namespaceObject.metadata.annotations"], INT: ["params.limit", "params.spec.max", "namespaceObject.metadata.generation"],
    DYN: ["params", "params.names", "request.options", "params.spec", "object.metadata", "object.spec.nested"], TIMESTAMP: ["namespaceObject.metadata.creationTimestamp"],
    ("list", DYN): ["params.names", "object.spec.nested.list"], ("map", STRING, ("list", STRING)): ["request.userInfo.extra"],
}
# Arguments that functions understand.
QUANTITIES = ["0", "1", "-5", "1Ki", "1.5Gi", "100m", "0.001", "1e3", "2E2", "1E", "500n", "3u", "12345678901234567890", "1.", ".5", "1Kii", "9223372036854775807", "0.5Mi", "-0", "1e-9", "4P"]
ADDRESSES = ["10.0.0.1", "::1", "fe80::1", "::ffff:1.2.3.4", "1.2.3", "224.0.0.1", "FE80::1", "0.0.0.0", "10.0.0.01", "fe80::1%eth0", "2001:db8::1", "169.254.1.1", "ff02::1"]
NETWORKS = ["10.0.0.0/8", "10.0.0.1/24", "::1/128", "fe80::/10", "10.0.0.0/33", "10.0.0.0", "2001:db8::/32", "0.0.0.0/0", "::ffff:1.2.3.4/120", "10.0.0.0/08"]
VERSIONS = ["1.2.3", "v1.2.3", "1.2", "01.2.3", "1.2.3-rc.1", "1.2.3-rc.1+b5", "1.2.3+b", "1", "", "1.2.3.4", "v01.01", "1.0.0-alpha.beta", "99999999999999999999.0.0"]
LINKS = ["https://h:80/p?k=v&k=w", "http://[::1]:8080/a%20b", "/a/b?x", "ftp://u@h", "https://", "h", "http://h/p#f", "http://h:p", "", "mailto:a@b", "https://h?a=%zz"]
PATTERNS = ["[a-z]+", "^a.*", "(", "a|b", "\\\\d+", "(?i)A", "x*", "(a)(b)?", "[[:alpha:]]", ".", "\\\\bweb\\\\b", "a{2,3}", "(?P<n>a)", "[^/]+$"]
ZONES = ["UTC", "+05:30", "-08:00", "America/New_York", "Europe/Berlin", "Nowhere", "", "2:00", "+5:30", "Asia/Kolkata"]
TIMES = ["2024-02-29T12:30:00Z", "1970-01-01T00:00:00+02:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2024-02-30T00:00:00Z",
         "2024-01-01T00:00:60Z", "2024-01-01", "2024-06-30T23:59:59.123-07:00"]
SPANS = ["1s", "-90m", "0s", "1h30m5.25s", "1.5h", "100ns", "3us", "5d", "", "9223372036854775807ns", "-2562047h47m16.854775808s", "1h1h", "+5s", ".5s"]
FORMATS = ["dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue",
           "uri", "uuid", "byte", "date", "datetime", "none"]
FITTING = {"quantity": QUANTITIES, "isQuantity": QUANTITIES, "ip": ADDRESSES, "isIP": ADDRESSES, "ip.isCanonical": ADDRESSES, "containsIP": ADDRESSES,
           "cidr": NETWORKS, "isCIDR": NETWORKS, "containsCIDR": NETWORKS, "semver": VERSIONS, "isSemver": VERSIONS, "url": LINKS, "isURL": LINKS,
           "matches": PATTERNS, "find": PATTERNS, "findAll": PATTERNS, "format.named": FORMATS, "timestamp": TIMES, "duration": SPANS,
           "validate": ["a", "A_b", "a.b", "2024-02-29", "2024-02-29T12:30:00Z", "YQ==", "a-", "https://h", "x" * 70, "", "550e8400-e29b-41d4-a716-446655440000", "a/b", "é"]}
PRESENT = ["request.name", "request.options", "request.userInfo.extra", "namespaceObject.metadata.labels", "params.limit", "params.none", "object.metadata.labels.app",
           "request.userInfo.uid", "namespaceObject.status", "object.spec.nested.list", "object.spec.map.a", "object.spec.absent.b", "object.spec.ints.a", "object.spec.if",
           "object.spec.objs[0].v", "object.?spec.map", "object.spec.map['a'].b", "object.spec.text.a", "optional.of(object).spec"]
WORDS = ["%s", "%d", "%f", "%e", "%x", "%X", "%o", "%b", "%.2f", "%.3e", "%%", "%", "%5d", "a", " ", "%.0f", "%q"]
SPELLINGS = [r"r'\n'", "'''a'b'''", '"""a"b"""', r"'\u00e9'", r"'\x41'", r"'\101'", r"'\U0001F30D'", r"'a\nb'", r'R"\d"', "'%s-%d'", r"'\?'"]

STRINGS = ["", "a", "abc", "Grüße", "🌍x", "a,b,c", "10.0.0.1", "::1", "10.0.0.0/8", "1.2.3", "v1.2", "1Gi", "500m", "/a/b", "https://h/p?k=v",
           "[a-z]+", "^a.*", "(", "get", "list", "pods", "/healthz", "web", "2024-01-01T00:00:00Z", "5s", "true", "42", "%d %s", "a=b", "dns1123Label", "-x"]


class Gen:
    def __init__(self, rng, env):
        self.rng = rng
        self.env = env
        self.rich = False
        self.scope = []
        self.fresh = 0

    def pick(self, *options):
        return self.rng.choice(options)

    def literal(self, t):
        r = self.rng
        if t == INT:
            if r.random() < 0.1:
                return r.choice(["253402300799", "253402300800", "-62135596800", "-62135596801", "9223372036", "9223372037", "-0", "0x7FFFFFFFFFFFFFFF", "-0x10"])
            return r.choice(["0", "1", "2", "3", "5", "10", "-1", "-4", "100", "9223372036854775807", "-9223372036854775808", "0x1F"])
        if t == UINT:
            return r.choice(["0u", "1u", "2u", "7u", "18446744073709551615u"])
        if t == DOUBLE:
            return r.choice(["0.0", "1.0", "1.5", "-2.25", "1e10", "3.0", ".5", "1e-3"])
        if t == STRING and r.random() < 0.1:
            return r.choice(SPELLINGS)
        if t == STRING:
            return json.dumps(r.choice(STRINGS), ensure_ascii=False) if r.random() < 0.5 else "'" + r.choice(STRINGS) + "'"
        if t == BYTES:
            return r.choice(["b''", "b'a'", "b'\\xff\\x00'", "b'gr\\303\\274n'", "bytes('é')"])
        if t == BOOL:
            return r.choice(["true", "false"])
        if t == NULL:
            return "null"
        if t == DURATION:
            return r.choice(["duration('1s')", "duration('-90m')", "duration('0s')", "duration('1h30m5.25s')"])
        if t == TIMESTAMP:
            return r.choice(["timestamp('2024-02-29T12:30:00Z')", "timestamp('1970-01-01T00:00:00+02:00')", "timestamp(0)"])
        if t == DYN:
            return f"dyn({self.literal(r.choice(SCALARS))})"
        return None

    def field(self, t):
        r = self.rng
        if self.env == "typed":
            fields = RICH if self.rich else TYPED
            if t in fields:
                return f"{r.choice(['object', 'object', 'oldObject'])}.spec.{r.choice(fields[t])}"
            return None
        if t in OUTSIDE and r.random() < 0.2:
            return r.choice(OUTSIDE[t])
        if t == DYN:
            t = r.choice(list(FIELDS))
        if t not in FIELDS:
            return None
        name = r.choice(FIELDS[t])
        base = r.choice(["object"] * 6 + ["oldObject"])
        form = r.random()
        if form < 0.7 or name == "if":
            return f"{base}.spec.{name}"
        if form < 0.8:
            return f"{base}.spec['{name}']"
        if form < 0.9:
            return f"{base}.?spec.?{name}.orValue({self.gen(t, 0)})"
        return f"{base}['spec'].{name}"

    def variable(self, t):
        fits = [n for n, v in self.scope if v == t or v == DYN]
        return self.rng.choice(fits) if fits else None

    def leaf(self, t):
        r = self.rng
        if r.random() < 0.45:
            v = self.variable(t)
            if v:
                return v
        if r.random() < 0.5:
            f = self.field(t)
            if f:
                return f
        v = self.literal(t)
        if v:
            return v
        if isinstance(t, tuple):
            if t[0] == "list":
                if r.random() < 0.04:
                    return f"[?{self.leaf(('optional', t[1]))}, {self.gen(t[1], 0)}]"
                return "[" + ", ".join(self.gen(t[1], 0) for _ in range(r.randint(0, 3))) + "]"
            if t[0] == "map":
                keys = r.sample({STRING: ["'a'", "'b'", "'x'"], INT: ["1", "2", "3"]}.get(t[1], ["true", "false"]), r.randint(0, 2))
                if r.random() < 0.04:
                    return f"{{?'a': {self.leaf(('optional', t[2]))}}}"
                return "{" + ", ".join(f"{k}: {self.gen(t[2], 0)}" for k in keys) + "}"
            if t[0] == "optional":
                return r.choice([f"optional.of({self.gen(t[1], 0)})", "optional.none()", f"optional.ofNonZeroValue({self.gen(t[1], 0)})"])
            if t[0] == "type":
                return f"type({self.gen(t[1], 0)})"
        simple = {
            "kubernetes.URL": "url('https://h:80/p?k=v')", "kubernetes.Quantity": "quantity('1Gi')", "kubernetes.Semver": "semver('1.2.3')",
            "kubernetes.NamedFormat": "format.dns1123Label()", "net.IP": "ip('10.0.0.1')", "net.CIDR": "cidr('10.0.0.0/8')",
            "kubernetes.authorization.Authorizer": "authorizer", "kubernetes.authorization.PathCheck": "authorizer.path('/healthz')",
            "kubernetes.authorization.GroupCheck": "authorizer.group('')", "kubernetes.authorization.ResourceCheck": "authorizer.requestResource",
            "kubernetes.authorization.Decision": "authorizer.path('/healthz').check('get')",
        }
        return simple.get(t, "null")

    def arg(self, t, depth):
        if self.rng.random() < 0.03:
            t = self.rng.choice(SCALARS + [NULL, DYN, ("list", INT), ("map", STRING, INT), ("optional", INT)])
        if self.rng.random() < 0.06:
            return f"dyn({self.gen(t, depth)})"
        return self.gen(t, depth)

    def call(self, t, depth):
        r = self.rng
        fits = []
        for name, receiver, params, result in FUNCTIONS:
            if "authorization" in str((receiver, params, result)) and self.env != "policy-authorizer":
                continue
            found = {}
            if bind(result, t, found):
                fits.append((name, receiver, params, found))
        if not fits:
            return None
        names = sorted({f[0] for f in fits})
        name = r.choice(names)
        name, receiver, params, found = r.choice([f for f in fits if f[0] == name])
        if name == "lists.range":
            # A long list costs the reference more memory than there is.
            return f"lists.range({r.choice(['0', '1', '3', '-1', '7', 'object.spec.zero', 'dyn(2)', 'size([1, 2])'])})"
        args = [self.arg(fill(p, found, r), depth - 1) for p in params]
        if name in FITTING and STRING in params and r.random() < 0.6:
            args[params.index(STRING)] = "'" + r.choice(FITTING[name]) + "'"
        if name.startswith("get") and receiver == TIMESTAMP and args and r.random() < 0.8:
            args[0] = "'" + r.choice(ZONES) + "'"
        if name == "format" and receiver == STRING and r.random() < 0.8:
            words = [r.choice(WORDS) for _ in range(r.randint(0, 3))]
            count = sum(w.startswith("%") and w not in ("%%", "%") for w in words) + r.choice([0] * 8 + [1, -1])
            items = [self.gen(r.choice(SCALARS + [DYN, ("list", INT), ("map", STRING, INT), NULL, ("type", INT)]), r.choice([0, 0, 1])) for _ in range(count)]
            items = [f"dyn({i})" for i in items] if r.random() < 0.5 else items
            return f"'{''.join(words)}'.format([{', '.join(items)}])"
        if receiver is None:
            return f"{name}({', '.join(args)})"
        target = self.arg(fill(receiver, found, r), depth - 1)
        if re.match(r"^-|.* [-+*/%<>=&|?:]|.* in ", target) and not target.startswith("("):
            target = f"({target})"
        return f"{target}.{name}({', '.join(args)})"

    def with_vars(self, vars_, make):
        self.scope += vars_
        out = make()
        del self.scope[len(self.scope) - len(vars_):]
        return out

    def name(self):
        self.fresh += 1
        return self.rng.choice("xyzkvi") if self.rng.random() < 0.8 else f"v{self.fresh}"

    def macro(self, t, depth):
        r = self.rng
        item = r.choice([INT, STRING, DYN])
        over_map = r.random() < 0.3
        source_type = ("map", STRING, r.choice([INT, STRING])) if over_map else ("list", item)
        source = self.gen(source_type, depth - 1)
        if re.match(r"^-|.* [-+*/%<>=&|?:]", source) and not source.startswith(("[", "{", "(")):
            source = f"({source})"
        one, two = self.name(), self.name()
        first = STRING if over_map else item
        pair = [(one, STRING if over_map else INT), (two, source_type[2] if over_map else item)]
        body = lambda kind, vars_: self.with_vars(vars_, lambda: self.gen(kind, depth - 1))
        if t == BOOL:
            m = r.choice(["all", "exists", "exists_one", "all2", "exists2", "existsOne", "has"])
            if m == "has":
                fields = ["n", "absent", "nil", "map"]
                if self.env == "typed":
                    fields = ["text", "strs", "n", "map", "absent"]
                elif r.random() < 0.3:
                    return f"has({r.choice(PRESENT)})"
                return f"has({r.choice(['object', 'oldObject'])}.spec.{r.choice(fields)})"
            if m in ("all2", "exists2"):
                return f"{source}.{m[:-1]}({one}, {two}, {body(BOOL, pair)})"
            if m == "existsOne":
                return f"{source}.existsOne({one}, {two}, {body(BOOL, pair)})"
            return f"{source}.{m}({one}, {body(BOOL, [(one, first)])})"
        if isinstance(t, tuple) and t[0] == "list":
            m = r.choice(["map", "map3", "filter", "transformList", "transformList4", "sortBy"])
            if m == "map":
                return f"{source}.map({one}, {body(t[1], [(one, first)])})"
            if m == "map3":
                return f"{source}.map({one}, {body(BOOL, [(one, first)])}, {body(t[1], [(one, first)])})"
            if m == "transformList":
                return f"{source}.transformList({one}, {two}, {body(t[1], pair)})"
            if m == "transformList4":
                return f"{source}.transformList({one}, {two}, {body(BOOL, pair)}, {body(t[1], pair)})"
            source = self.gen(t, depth - 1)
            if " " in source and source[0] not in "[({":
                source = f"({source})"
            if m == "sortBy" and r.random() < 0.3:
                # Equal keys in a list that is too long for the simplest way of sorting.
                return f"lists.range({r.randint(13, 150)}).sortBy({one}, {one} * {r.randint(1, 40)} / {r.randint(1, 9)} % {r.randint(1, 9)})"
            if m == "sortBy" and not source.startswith("{"):
                return f"{source}.sortBy({one}, {body(r.choice([INT, STRING]), [(one, t[1])])})"
            return f"{source}.filter({one}, {body(BOOL, [(one, t[1])])})"
        if isinstance(t, tuple) and t[0] == "map":
            m = r.choice(["transformMap", "transformMap4", "transformMapEntry"])
            if m == "transformMap":
                return f"{source}.transformMap({one}, {two}, {body(t[2], pair)})"
            if m == "transformMap4":
                return f"{source}.transformMap({one}, {two}, {body(BOOL, pair)}, {body(t[2], pair)})"
            return f"{source}.transformMapEntry({one}, {two}, {{{body(t[1], pair)}: {body(t[2], pair)}}})"
        if isinstance(t, tuple) and t[0] == "optional":
            inner = r.choice([INT, STRING])
            source = self.gen(("optional", inner), depth - 1)
            m = r.choice(["optMap", "optFlatMap"])
            return f"{source}.{m}({one}, {body(t[1] if m == 'optMap' else t, [(one, inner)])})"
        return None

    def operator(self, t, depth):
        r = self.rng
        sub = lambda k: self.arg(k, depth - 1)
        wrap = lambda s: f"({s})" if " " in s and s[0] not in "[({'\"" or s.startswith("-") else s
        both = lambda op, a, b: f"{wrap(sub(a))} {op} {wrap(sub(b))}"
        if t == BOOL:
            form = r.randint(0, 7)
            if form == 0:
                return f"!{wrap(sub(BOOL))}"
            if form in (1, 2):
                return both(r.choice(["&&", "||"]), BOOL, BOOL)
            k = r.choice(SCALARS + [DYN])
            if form == 3:
                return both(r.choice(["<", "<=", ">", ">="]), k, r.choice([k, k, k, INT, DOUBLE]))
            if form == 4:
                k = r.choice([INT, STRING])
                return both("in", k, r.choice([("list", k), ("map", k, INT) if k == STRING else ("list", k)]))
            k = r.choice(SCALARS + [DYN, DYN, ("list", INT), ("map", STRING, INT), NULL])
            return both(r.choice(["==", "!="]), k, r.choice([k, k, DYN]))
        if t in (INT, UINT, DOUBLE):
            if r.random() < 0.1 and t != UINT:
                return f"-{wrap(sub(t))}"
            ops = ["+", "-", "*", "/"] + ([] if t == DOUBLE else ["%"])
            return both(r.choice(ops), t, t)
        if t in (STRING, BYTES) or isinstance(t, tuple) and t[0] == "list":
            return both("+", t, t)
        if t == DURATION:
            return both(r.choice(["+", "-"]), DURATION, DURATION) if r.random() < 0.6 else both("-", TIMESTAMP, TIMESTAMP)
        if t == TIMESTAMP:
            return both(r.choice(["+", "-"]), TIMESTAMP, DURATION)
        return None

    def gen(self, t, depth):
        r = self.rng
        if depth <= 0:
            return self.leaf(t)
        form = r.random()
        out = None
        if form < 0.25:
            out = self.operator(t, depth)
        elif form < 0.5:
            out = self.call(t, depth)
        elif form < 0.68:
            out = self.macro(t, depth)
        elif form < 0.74:
            c = [self.gen(BOOL, depth - 1), self.gen(t, depth - 1), self.gen(t, depth - 1)]
            out = f"({c[0]} ? {c[1]} : {c[2]})"
        elif form < 0.8:
            if r.random() < 0.5:
                index = self.gen(INT, 0)
                source = self.gen(("list", t), depth - 1)
            else:
                index = r.choice(["'a'", "'b'", "'x'", "'zz'"])
                source = self.gen(("map", STRING, t), depth - 1)
            if " " in source and source[0] not in "[({":
                source = f"({source})"
            out = f"{source}[{index}]" if r.random() < 0.8 else f"{source}[?{index}].orValue({self.gen(t, depth - 1)})"
        return out if out is not None else self.leaf(t)


def damage(text, rng):
    tokens = re.findall(r"\w+|'[^']*'|\"[^\"]*\"|\s+|.", text)
    for _ in range(rng.randint(1, 2)):
        i = rng.randrange(len(tokens)) if tokens else 0
        what = rng.random()
        junk = rng.choice(["(", ")", "[", "]", "{", "}", ".", ",", "?", ":", "+", "-", "!", "in", "&&", "&", "=", "==", "'", "#", "if", "1.", "true", "`a`", "null", "@", "\n", "0x", "''' "])
        if what < 0.35 and tokens:
            del tokens[i]
        elif what < 0.7:
            tokens.insert(i, junk)
        elif tokens:
            tokens[i] = junk
    return "".join(tokens)


RESULTS = [BOOL, BOOL, BOOL, INT, STRING, DOUBLE, UINT, BYTES, DURATION, TIMESTAMP, DYN, ("list", INT), ("list", STRING), ("list", DYN),
           ("map", STRING, INT), ("map", INT, STRING), ("optional", INT), ("optional", STRING), "kubernetes.Quantity", "net.IP", "net.CIDR",
           "kubernetes.URL", "kubernetes.Semver", ("type", INT), ("list", DOUBLE), ("list", ("list", INT))]


def case(seed, i):
    rng = random.Random(f"{seed}-{i}")
    env = rng.choice(["policy"] * 5 + ["policy-authorizer", "typed", "typed", "mutation"])
    gen = Gen(rng, env)
    gen.rich = env == "typed" and rng.random() < 0.5
    t = rng.choice(RESULTS)
    text = gen.gen(t, rng.choice([1, 2, 2, 3, 3, 4]))
    if env == "mutation" and rng.random() < 0.5:
        text = rng.choice([
            f"Object{{spec: Object.spec{{a: {text}}}}}", f"Object{{spec: Object.spec{{a: {text}}}}}",
            f"[JSONPatch{{op: 'add', path: '/spec/' + jsonpatch.escapeKey('a/b'), value: {text}}}]",
            f"[JSONPatch{{op: 'replace', path: '/a', value: {text}}}, JSONPatch{{op: 'copy', from: string(dyn('/b')), path: '/c'}}]",
            f"Object{{spec: Object.spec{{b: {gen.gen(INT, 1)}, l: [Object.spec.l{{v: {text}}}], c: Object.spec.c{{?d: optional.of({text})}}}}}}",
            f"Object{{spec: Object.{rng.choice(['spec', 'other'])}{{a: {{'k': {text}}}}}}}",
            f"has(Object{{spec: {text}}}.spec) ? JSONPatch{{op: 'remove', path: '/a'}}.path : ''",
        ])
    if rng.random() < 0.125:
        text = damage(text, rng)
    out = {"id": f"{seed}-{i}", "topic": "random", "env": env, "expression": text}
    if rng.random() < 0.05:
        out["want"] = "annotation" if t == STRING else "bool"
    if env == "typed":
        out.update(schema="rich", input="rich") if gen.rich else out.update(schema="plain", input="typed")
    else:
        out["input"] = rng.choice(["full", "full", "full", "bare"])
    return out


def answers(program, cases, folder):
    text = "".join(json.dumps(c) + "\n" for c in cases)
    args = [program, "-inputs", str(folder / "inputs.json"), "-schemas", str(folder / "schemas.json"), "-repeat", "4"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    done = subprocess.run(args, input=text, capture_output=True, text=True, check=False, preexec_fn=limit)
    if not done.returncode:
        return [json.loads(line) for line in done.stdout.splitlines()]
    if len(cases) == 1:
        return [{**cases[0], "result": {"unstable": True}}]
    half = len(cases) // 2
    return answers(program, cases[:half], folder) + answers(program, cases[half:], folder)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--seed", default="1")
    p.add_argument("--cases", type=int, default=1000)
    p.add_argument("--record", type=int, default=0, help="keep no more than this many cases")
    p.add_argument("--work", type=pathlib.Path, required=True)
    args = p.parse_args()
    folder = args.work if args.work.name == "cel-random" else args.work / "cel-random"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "inputs.json").write_text(json.dumps(INPUTS, ensure_ascii=False, separators=(",", ":")) + "\n")
    (folder / "schemas.json").write_text(json.dumps(SCHEMAS, separators=(",", ":")) + "\n")
    cases = [c for c in (case(args.seed, i) for i in range(args.cases)) if len(c["expression"]) < 3000]
    now = answers(os.environ["CELGOLD"], cases, folder)
    later = answers(os.environ["CELGOLD_LATER"], cases, folder)
    stable = []
    for a, b in zip(now, later):
        ra, rb = a.get("result", {}), b.get("result", {})
        # What differs from run to run is no answer.
        if any(r.get("unstable") or str(r.get("runtimeError", "")).startswith("PANIC") for r in (ra, rb)):
            continue
        if rb != ra:
            a["later"] = rb
        stable.append(a)
    if args.record:
        stable = stable[:args.record]
    (folder / "cases.jsonl").write_text("".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) + "\n" for c in stable))
    print(f"{len(stable)} of {len(cases)} cases recorded")


if __name__ == "__main__":
    main()
