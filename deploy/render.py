#!/usr/bin/env python3
"""Renders the manifests and the kustomize base from the chart, which is their only source.

usage: render.py [--check]      HELM: the program, if not on the PATH

Writes manifests/ephor.yaml (mode `replace`), manifests/ephor-alongside.yaml (mode `alongside`) and manifests/ephor-own-group.yaml
(the same with `ownGroup`), kustomize/base, and the patches of kustomize/overlays/alongside: the objects that differ; and scan/scan.yaml, the scan alone. --check writes nothing and ends with 1 when a file is not current."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HELM = os.environ.get("HELM") or "helm"
# The name that the manifests have for the image, which leads nowhere: kustomize replaces it (`kustomize edit set image`).
IMAGE = "ephor.invalid/ephor"
NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata:
  name: ephor
  labels:
    app.kubernetes.io/name: ephor
    pod-security.kubernetes.io/enforce: restricted
"""
# What Helm alone writes or needs.
OF_HELM = re.compile(r"^\s*(helm\.sh/chart: |app\.kubernetes\.io/managed-by: Helm|# Source: ).*\n", re.MULTILINE)


def rendered(mode, *values):
    """The objects of a mode, in the order of Helm."""
    command = [HELM, "template", "ephor", os.path.join(HERE, "helm/ephor"), "--namespace", "ephor", "--no-hooks", "--skip-tests",
               "--set", ",".join([f"mode={mode}", "webhooks.removeOnDelete=false", f"image.repository={IMAGE}", *values])]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    documents = OF_HELM.sub("", "\n" + text).split("\n---\n")
    return [document.strip() + "\n" for document in documents if re.search(r"^kind:", document, re.MULTILINE)]


def page(comment, documents):
    head = "".join(f"# {line}\n" for line in comment)
    return head + "---\n".join(documents)


def files():
    replace, alongside, own = rendered("replace"), rendered("alongside"), rendered("alongside", "ownGroup=true")
    made = "Rendered from the chart by deploy/render.py."
    crds = "The definitions come first: kubectl apply --server-side -f deploy/helm/ephor/crds"
    own_crds = "The definitions come first: ephor crds --own-group | kubectl apply --server-side -f -"
    removal = "Before it is deleted: ephor webhook-config --remove --scale-down ephor/ephor"
    for name, title, first, documents in [
        ("ephor", "ephor in a cluster without Kyverno.", crds, replace),
        ("ephor-alongside", "ephor alongside Kyverno 1.20 or later: policies of kyverno.io alone.", crds, alongside),
        ("ephor-own-group", "ephor alongside Kyverno: policies of ephor.dev and policies.ephor.dev alone.", own_crds, own),
    ]:
        flag = " --kyverno-names" if name == "ephor" else ""
        yield f"manifests/{name}.yaml", page([title, first, removal + flag, made], [NAMESPACE, *documents])
    scan = rendered("replace", "scanJob.enabled=true", "scanJob.policiesConfigMap=ephor-scan-policies")
    yield "scan/scan.yaml", page([made], [d for d in scan if d not in replace])
    yield "kustomize/base/ephor.yaml", page([made], replace)
    yield "kustomize/overlays/alongside/patches.yaml", page([made], [d for d in alongside if d not in replace])


def main():
    stale = []
    for name, text in files():
        path = os.path.join(HERE, name)
        if "--check" in sys.argv[1:]:
            with open(path, encoding="utf-8") as file:
                stale += [] if file.read() == text else [name]
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    for name in stale:
        print(f"deploy/{name} is not what the chart makes: run deploy/render.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
