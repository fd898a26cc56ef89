#!/usr/bin/env python3
"""Writes what an API server says about its kinds into crates/kubernetes/src.

usage: kubernetes.py URL TOKEN

Reads the resources and the OpenAPI documents of the API server at URL (the certificate is not checked),
and writes, for its release R, crates/kubernetes/src/kinds-R.txt (a resource a line) and crates/kubernetes/src/schema-R.txt
(a type, and below it a field a line). The formats are described in kinds.rs and schema.rs. Only facts are taken: names, types,
list types, keys, defaults.
"""
import json
import ssl
import sys
import urllib.request
from pathlib import Path

OUT = Path(__file__).resolve().parents[2] / "crates/kubernetes/src"
HEAD = "# Kubernetes {}. Written by conformance/reference/kubernetes.py; the format is described in {}.\n"
LEAVES = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "micro-time",
}
# Merges replace them as a whole, which no server publishes (conformance/admission).
ATOMIC = {"io.k8s.apimachinery.pkg.runtime.RawExtension"}


def client(url, token):
    """What answers a path."""
    context = ssl._create_unverified_context()

    def get(path):
        request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {token}", "Accept": "application/json"})
        return json.load(urllib.request.urlopen(request, context=context))

    return get


def write(get):
    """Writes both tables; gives the release."""
    version = get("/version")
    release = f"{version['major']}.{version['minor'].rstrip('+')}"
    lists = [("v1", get("/api/v1"))]
    for group in get("/apis")["groups"]:
        for version in group["versions"]:
            lists.append((version["groupVersion"], get("/apis/" + version["groupVersion"])))
    kinds = sorted(line for group_version, found in lists for line in resources(group_version, found["resources"]))
    (OUT / f"kinds-{release}.txt").write_text(HEAD.format(release, "kinds.rs") + "".join(kinds))

    types, tops = {}, {}
    for path, where in get("/openapi/v3")["paths"].items():
        if path.startswith("api"):
            for name, schema in get(where["serverRelativeURL"]).get("components", {}).get("schemas", {}).items():
                types[name] = schema
                for gvk in schema.get("x-kubernetes-group-version-kind", []):
                    if len(schema["x-kubernetes-group-version-kind"]) == 1:
                        tops[name] = f"{gvk['group']}/{gvk['version']}/{gvk['kind']}".lstrip("/")
    named = {name for name in tops if not name.endswith("List")}
    queue = list(named)
    while queue:
        for name in references(types[queue.pop()]):
            if name not in named and name not in LEAVES:
                named.add(name)
                queue.append(name)
    lines = []
    for name in sorted(named, key=short):
        schema = types[name]
        flags = ["atomic"] if name in ATOMIC or schema.get("x-kubernetes-map-type") == "atomic" else []
        if name in tops:
            flags.append("kind=" + tops[name])
        if "properties" not in schema:
            of_object = "object" if name.endswith((".RawExtension", ".FieldsV1")) else "empty"
            form = {"string": "string", "object": of_object}.get(schema.get("type"), "any")
            flags.append("is=" + LEAVES.get(name, form))
        lines.append(" ".join([short(name)] + flags) + "\n")
        for field, inner in sorted(schema.get("properties", {}).items()):
            default = inner.get("default")
            mark = "" if default is None else "=" + json.dumps(default, separators=(",", ":"))
            must = "!" if field in schema.get("required", []) else ""
            lines.append(f" {field}{must} {written(inner)}{mark}\n")
    (OUT / f"schema-{release}.txt").write_text(HEAD.format(release, "schema.rs") + "".join(lines))
    return release


def resources(group_version, found):
    whole = {r["name"]: r for r in found if "/" not in r["name"]}
    for name, r in whole.items():
        subresources = []
        for sub in found:
            if sub["name"].startswith(name + "/"):
                kind = "/".join(p for p in (sub.get("group", ""), sub.get("version", ""), sub["kind"]) if p)
                own = f"{group_version}/{r['kind']}"
                if "version" not in sub:
                    kind = f"{group_version}/{sub['kind']}"
                short = sub["name"].split("/", 1)[1]
                subresources.append(short if kind == own else f"{short}={kind}")
        scope = "N" if r["namespaced"] else "C"
        yield " ".join([group_version, r["kind"], name, scope] + sorted(subresources)) + "\n"


def references(schema):
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value.rsplit("/", 1)[1]
            else:
                yield from references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


def short(name):
    """`io.k8s.api.core.v1.Pod` is `core/v1.Pod`."""
    *package, kind = name.split(".")
    for start in ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apiextensions-apiserver.pkg.apis.", "io.k8s.kube-aggregator.pkg.apis.", "io.k8s.apimachinery.pkg."):
        if name.startswith(start):
            package = name[len(start):].split(".")[:-1]
            break
    return "/".join(package) + "." + kind


def written(schema):
    inner = schema
    if "allOf" in schema:
        inner = schema["allOf"][0]
    if "$ref" in inner:
        name = inner["$ref"].rsplit("/", 1)[1]
        mark = "!" if schema.get("x-kubernetes-map-type") == "atomic" else ""
        return LEAVES.get(name) or mark + short(name)
    kind, form = schema.get("type"), schema.get("format")
    if kind == "array":
        relation = schema.get("x-kubernetes-list-type")
        keys = ",".join(schema.get("x-kubernetes-list-map-keys", []))
        if relation is None and "merge" in schema.get("x-kubernetes-patch-strategy", "").split(","):
            keys = schema.get("x-kubernetes-patch-merge-key", "")
            relation = "map" if keys else "set"
        inside = {"map": keys, "set": "set"}.get(relation, "")
        return f"[{inside}]{written(schema['items'])}"
    if kind == "object" and "additionalProperties" in schema:
        mark = "atomic" if schema.get("x-kubernetes-map-type") == "atomic" else ""
        values = schema["additionalProperties"]
        return "{%s}%s" % (mark, written(values) if isinstance(values, dict) else "any")
    if kind == "string":
        return {"byte": "bytes", "date-time": "time"}.get(form, "string")
    if kind == "integer":
        return form or "int64"
    return {"boolean": "bool", "number": "double"}.get(kind, "any")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(client(*sys.argv[1:]))
