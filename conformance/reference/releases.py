#!/usr/bin/env python3
"""Whether two API servers differ on the objects on which `ephor diff P P --kubernetes A,B` says that they do.

releases.py --ephor PROGRAM --kubernetes A,B --servers DIR,DIR [--time-limit DURATION] POLICY…

Each POLICY is a file with policies of Kubernetes and their bindings. The two folders have the programs of both servers, as conformance/kube/build.sh
makes them. For each difference in clusters the policies of the file are stored in both servers, with a binding that denies where the file has none,
and the object is sent as a dry run; before an update its former object is stored. A server agrees when it denies exactly where that side has the
verdict `fail` or `error`. The last line counts; the exit code is 1 when a server does not agree.
"""
import argparse
import copy
import json
import subprocess
import sys
import time
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kube"))
from cluster import Cluster  # noqa: E402

GROUP = "/apis/admissionregistration.k8s.io/v1/"
PLURALS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
}
# Servers from 1.37 on refuse to advertise a loopback address.
FLAGS = ["--advertise-address=10.99.0.1", "--endpoint-reconciler-type=none"]
CANARY = "ephor-canary"


def differences(args, path):
    """Policies of a file, each with its differences in clusters."""
    command = [args.ephor, "diff", path, path, "--kubernetes", args.kubernetes, "--output-format", "json", "--time-limit", args.time_limit]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode == 2:
        print(f"{path}: {answer.stderr.strip().splitlines()[-1]}")
        return []
    found = []
    for policy in json.loads(answer.stdout)["policies"]:
        found += [(policy["name"], one) for one in policy["differences"] if one["universe"] == "in clusters"]
    return found


def documents(path, name):
    """A policy of a file with a binding that denies."""
    with open(path, encoding="utf-8") as f:
        policy = next(one for one in yaml.load_all(f, yaml.CSafeLoader)
                      if one and one["kind"] in PLURALS and not one["kind"].endswith("Binding") and one["metadata"]["name"] == name)
    policy = copy.deepcopy(policy)
    policy["apiVersion"] = "admissionregistration.k8s.io/v1"
    binding = {"apiVersion": policy["apiVersion"], "kind": policy["kind"] + "Binding", "metadata": {"name": name}, "spec": {"policyName": name}}
    if policy["kind"].startswith("Validating"):
        binding["spec"]["validationActions"] = ["Deny"]
    return [policy, binding]


def canary():
    """A policy whose denial shows that the policies stored before it are in force."""
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": CANARY},
        "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]},
                 "validations": [{"expression": f"object.metadata.name != '{CANARY}'"}]}}
    binding = {"apiVersion": policy["apiVersion"], "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": CANARY},
               "spec": {"policyName": CANARY, "validationActions": ["Deny"]}}
    return [policy, binding]


def store(cluster, objects):
    for one in objects:
        answer = cluster.call("POST", GROUP + PLURALS[one["kind"]], one)
        if not answer.ok:
            return answer.message
    return None


def remove(cluster, objects):
    for one in objects:
        cluster.call("DELETE", f"{GROUP}{PLURALS[one['kind']]}/{one['metadata']['name']}")


def in_force(cluster):
    """Waits until what was stored denies."""
    one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CANARY}}
    for _ in range(200):
        if cluster.call("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", one).code >= 400:
            # Policies are taken over one after the other.
            time.sleep(1.5)
            return
        time.sleep(0.2)
    raise RuntimeError("policies do not get into force")


def collection(cluster, one):
    """The path of the objects of a kind."""
    group, _, version = one["apiVersion"].rpartition("/")
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    resources = cluster.call("GET", base).object["resources"]
    resource = next(r for r in resources if r["kind"] == one["kind"] and "/" not in r["name"])
    namespace = one.get("metadata", {}).get("namespace") or "default"
    return f"{base}/namespaces/{namespace}/{resource['name']}" if resource["namespaced"] else f"{base}/{resource['name']}"


def sent(cluster, difference, objects):
    """What a server says of an object: whether it is admitted, and its words."""
    where = collection(cluster, difference["object"])
    name = difference["object"]["metadata"]["name"]
    namespace = difference["object"]["metadata"].get("namespace", "default")
    if namespace != "default":
        cluster.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    before = difference["oldObject"] or difference["object"]
    if difference["operation"] != "CREATE":
        stored = cluster.call("POST", where, before)
        if not stored.ok:
            return None, stored.message
    why = store(cluster, objects + canary())
    try:
        if why is not None:
            return None, why
        in_force(cluster)
        match difference["operation"]:
            case "CREATE":
                answer = cluster.call("POST", f"{where}?dryRun=All", difference["object"])
            case "UPDATE":
                answer = cluster.call("PUT", f"{where}/{name}?dryRun=All", difference["object"])
            case _:
                answer = cluster.call("DELETE", f"{where}/{name}?dryRun=All")
        return answer.ok, answer.message
    finally:
        remove(cluster, objects + canary())
        if difference["operation"] != "CREATE":
            cluster.call("DELETE", f"{where}/{name}?gracePeriodSeconds=0")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ephor", required=True)
    parser.add_argument("--kubernetes", required=True)
    parser.add_argument("--servers", required=True)
    parser.add_argument("--time-limit", default="60s")
    parser.add_argument("policies", nargs="+")
    args = parser.parse_args()
    found = [(path, name, one) for path in args.policies for name, one in differences(args, path)]
    releases = args.kubernetes.split(",")
    counts = {True: 0, False: 0}
    for side, programs in enumerate(args.servers.split(",")):
        with Cluster(programs, FLAGS) as cluster:
            for path, name, one in found:
                said = one["new" if side else "old"]
                admits, words = sent(cluster, one, documents(path, name))
                agrees = admits is not None and admits == (said["verdict"] not in ("fail", "error"))
                counts[agrees] += 1
                mark = "agrees" if agrees else "DIFFERS"
                print(f"{mark}: {path}: {name}: {one['operation']} {one['resource']}: {said['verdict']} on {releases[side]}: {words or 'admitted'}", flush=True)
    print(f"{len(found)} differences, {counts[True]} answers of servers agree, {counts[False]} do not")
    return int(counts[False] > 0)


if __name__ == "__main__":
    sys.exit(main())
