"""What an API server says of policies of Kubernetes that `ephor migrate --to vap` writes.

In: texts, each of ValidatingAdmissionPolicies and their bindings. Out: for each text why the server refuses it as a dry run with strict fields, and what
its type check (of the controller manager) says of its expressions once it is stored.
"""
import os
import subprocess
import sys
import time
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kube"))
from cluster import Cluster  # noqa: E402

BASE = "/apis/admissionregistration.k8s.io/v1/"
PLURALS = {"ValidatingAdmissionPolicy": "validatingadmissionpolicies", "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings"}
CONTROLLER = "validatingadmissionpolicy-status-controller"
# The published schemas of these fields have no type, so the type check knows no such field, whatever is written.
UNTYPED = ["requests", "limits", "sizeLimit"]


def checked(texts):
    """For each text: why it is refused, or none; and the warnings of the type check, each with the field that it is about."""
    programs = os.environ.get("EPHOR_KUBE_BIN") or subprocess.run(
        [Path(__file__).resolve().parents[1] / "kube/build.sh", "--cluster"], check=True, capture_output=True, text=True).stdout.strip()
    with Cluster(programs) as cluster:
        cluster.run("controllers", [os.path.join(programs, "kube-controller-manager"), "--kubeconfig", cluster.kubeconfig,
                                    f"--controllers={CONTROLLER}", "--leader-elect=false", "--secure-port=0"])
        refused = [refusals(cluster, text) for text in texts]
        names = [stored(cluster, at, text) for at, text in enumerate(texts)]
        policies = typed(cluster, [name for some in names for name in some])
        return [(why, [one for name in some for one in warnings(policies[name])]) for why, some in zip(refused, names)]


def refusals(cluster, text):
    """Why the server refuses or warns of a document; none when it accepts all."""
    for one in yaml.load_all(text, yaml.CSafeLoader):
        answer = cluster.call("POST", f"{BASE}{PLURALS[one['kind']]}?dryRun=All&fieldValidation=Strict", one)
        if not answer.ok or answer.warnings:
            return answer.message or "; ".join(answer.warnings)
    return None


def stored(cluster, at, text):
    """Stores the policies of a text, each under a name of its own, and returns the names."""
    names = []
    for one in yaml.load_all(text, yaml.CSafeLoader):
        if one["kind"] == "ValidatingAdmissionPolicy":
            one["metadata"] = {"name": f"policy-{at}-{len(names)}"}
            if cluster.call("POST", BASE + PLURALS[one["kind"]], one).ok:
                names.append(one["metadata"]["name"])
    return names


def typed(cluster, names):
    """The policies when all of them have been checked."""
    deadline = time.monotonic() + 300
    while True:
        items = cluster.call("GET", BASE + PLURALS["ValidatingAdmissionPolicy"]).object["items"]
        found = {one["metadata"]["name"]: one for one in items}
        if all((found[name].get("status") or {}).get("observedGeneration") == found[name]["metadata"]["generation"] for name in names):
            return found
        if time.monotonic() > deadline:
            raise RuntimeError("policies are not type-checked within 300 seconds:\n" + cluster.log("controllers"))
        time.sleep(0.5)


def warnings(policy):
    """(field, text) for each error that the type check reports."""
    checking = (policy.get("status") or {}).get("typeChecking") or {}
    for one in checking.get("expressionWarnings") or []:
        for line in one["warning"].split("\n"):
            if "ERROR: " in line:
                yield one["fieldRef"], line.split("ERROR: ", 1)[1].split(": ", 1)[1]


def is_untyped(text):
    """Whether a warning is about a field whose published schema has no type."""
    return text in [f"undefined field '{name}'" for name in UNTYPED]
