#!/usr/bin/env python3
"""Compares ephor's CustomResourceDefinitions with those that a cluster serves.

usage: crds.py EPHOR DEFINITIONS.json      (of `kubectl get crd -o json` in a cluster with Kyverno 1.19.1)

Compared are names, scope, versions, columns, subresources and every path of the schemas: types, required fields, defaults,
enums, bounds, list types. Descriptions are not. Prints one line for each difference, a summary, and exits with 1 when
there are more than those in KNOWN."""
import json
import re
import subprocess
import sys

# What differs on purpose: (definition, version, path, what), as regular expressions.
KNOWN = [
    # The reference refuses both or none by an expression; the tables say the same with oneOf.
    (r"(namespaced)?generatingpolicies\.policies\.kyverno\.io", r".*", r".*\.generate\[\]", r"oneOf|x-kubernetes-validations"),
    # A version that is not served has no columns to show.
    (r"updaterequests\.kyverno\.io", r"v1beta1", r"", r"columns"),
]
IGNORED = {"description", "properties", "items", "additionalProperties"}


def paths(schema, path=""):
    """The paths of a schema, each with what it says besides what is below it."""
    said = {k: v for k, v in schema.items() if k not in IGNORED}
    if "required" in said:
        said["required"] = sorted(said["required"])
    yield path, said
    for name, below in schema.get("properties", {}).items():
        yield from paths(below, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from paths(schema["items"], path + "[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from paths(schema["additionalProperties"], path + "{}")


def facts(definition):
    """Everything that is compared: (version, path, what) -> value."""
    spec = definition["spec"]
    found = {("", "", "group"): spec["group"], ("", "", "scope"): spec["scope"]}
    for name, value in spec["names"].items():
        found[("", "names", name)] = value
    for version in spec["versions"]:
        name = version["name"]
        for what in ("served", "storage", "deprecated", "deprecationWarning", "subresources", "selectableFields"):
            found[(name, "", what)] = version.get(what) or None
        columns = version.get("additionalPrinterColumns", [])
        found[(name, "", "columns")] = [(c["name"], c["jsonPath"], c["type"], c.get("priority", 0)) for c in columns]
        for path, said in paths(version["schema"]["openAPIV3Schema"]):
            found[(name, path, "present")] = True
            for what, value in said.items():
                found[(name, path, what)] = value
    return found


def main():
    ephor, served = sys.argv[1:3]
    output = subprocess.run([ephor, "crds", "--output", "json"], check=True, capture_output=True, text=True).stdout
    own = {d["metadata"]["name"]: facts(d) for d in json.loads(output)["items"]}
    with open(served) as file:
        other = {d["metadata"]["name"]: facts(d) for d in json.load(file)["items"]}
    compared, differences, known = 0, [], 0
    for name in sorted(own.keys() & other.keys()):
        ours, theirs = own[name], other[name]
        for fact in sorted(ours.keys() | theirs.keys()):
            compared += 1
            if ours.get(fact) == theirs.get(fact):
                continue
            version, path, what = fact
            if any(all(re.fullmatch(p, text) for p, text in zip(k, (name, version, path, what))) for k in KNOWN):
                known += 1
            else:
                differences.append(f"{name} {version}{path}: {what}: {ours.get(fact)} instead of {theirs.get(fact)}")
    print("\n".join(differences))
    print(f"only ephor's: {', '.join(sorted(own.keys() - other.keys())) or 'none'}")
    print(f"only the cluster's: {', '.join(sorted(other.keys() - own.keys())) or 'none'}")
    print(f"{len(own.keys() & other.keys())} definitions, {compared} facts, {known} known differences, {len(differences)} others")
    return 1 if differences or not own.keys() & other.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
