#!/usr/bin/env python3
"""Records what Kyverno's command line says of `apiCall` paths to objects that are not there.

usage: api_paths.py KYVERNO > crates/sources/src/api-paths.txt

For each kind of `crates/kubernetes/src/kinds-1.36.txt` a policy about a Secret calls the path of an object `x`: once with no object of the kind among the
resources, once with another one. A line has the kind, its case and the text; runs without one are left out.
"""

import os
import re
import subprocess
import sys
import tempfile

HEAD = """# What Kyverno's command line 1.19.1 says of `apiCall` paths to objects that are not there, for each kind of Kubernetes 1.36: with no object of the kind,
# and with another one of it. Written by conformance/reference/api_paths.py; `PATH<tab>none|one<tab>TEXT`."""
POLICY = """apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: calls}}
spec:
  rules:
  - name: call
    match: {{any: [{{resources: {{kinds: [Secret], names: [trigger]}}}}]}}
    context: [{{name: found, apiCall: {{urlPath: "{path}"}}}}]
    validate: {{message: m, deny: {{conditions: {{all: [{{key: "{{{{ found }}}}", operator: Equals, value: x}}]}}}}}}
"""
TRIGGER = "apiVersion: v1\nkind: Secret\nmetadata: {name: trigger, namespace: shop}\n"
KINDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../crates/kubernetes/src/kinds-1.36.txt")


def text(kyverno, folder, path, objects):
    with open(os.path.join(folder, "policy.yaml"), "w") as file:
        file.write(POLICY.format(path=path))
    with open(os.path.join(folder, "objects.yaml"), "w") as file:
        file.write("---\n".join(objects))
    command = [kyverno, "apply", "policy.yaml", "-r", "objects.yaml", "--policy-report"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    message = re.search(r"message: '?(.*?)'?\n  policy:", ran.stdout, re.S)
    said = " ".join(message.group(1).split()) if message else ""
    return said.split(f"raw url: {path}: ", 1)[1] if f"raw url: {path}: " in said else None


def main():
    kyverno = os.path.abspath(sys.argv[1])
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder, open(KINDS) as kinds:
        for line in kinds:
            if line.startswith("#") or not line.strip():
                continue
            version, kind, plural, scope = line.split()[:4]
            where = "/namespaces/shop" if scope == "N" else ""
            path = f"/{'apis' if '/' in version else 'api'}/{version}{where}/{plural}/x"
            space = ", namespace: shop" if scope == "N" else ""
            other = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: other{space}}}\n"
            for case, objects in (("none", [TRIGGER]), ("one", [TRIGGER, other])):
                # The trigger itself is an object of its kind.
                if kind == "Secret" and case == "none":
                    continue
                said = text(kyverno, folder, path, objects)
                if said:
                    print(f"{version} {kind} {plural}\t{case}\t{said}", flush=True)


if __name__ == "__main__":
    main()
