#!/usr/bin/env python3
"""Whether the reference program gives a migrated policy the verdicts of its origin on objects as files have them.

migrated_files.py --ephor PROGRAM --kyverno PROGRAM --work DIR --objects POOL.yaml [--each N] FOLDER…

As `migrated.py`, for policies that validate and are proved; nothing is left out because an API server would refuse it or fill it in. The objects are those of the pool, N of a kind, and for each:
the same in other API versions that Kubernetes has served; without `metadata`, and without labels and annotations in the template of its pods; without `initContainers`, `volumes` and `securityContext`, and with
containers that lack fields: what the schema of a kind requires is there. Prints how many pairs are the same, and a line for each policy with pairs that are not; the exit code is 1 then. DIR keeps `files.jsonl`, a line for each such pair.
"""
import collections
import copy
import json
import os
import random
import sys

from migrated import OTHERS, TEMPLATES, VALIDATING, arguments, distinct, is_outside, kind_of, migrated, pool, template_of
from reference_cli import is_violated, key, verdicts, written

# Versions of kinds that API servers have served, besides the present ones.
VERSIONS = {
    "CronJob": ["batch/v1beta1", "batch/v2alpha1"], "DaemonSet": ["apps/v1beta2"], "Deployment": ["apps/v1beta1", "apps/v1beta2"],
    "ReplicaSet": ["apps/v1beta2"], "StatefulSet": ["apps/v1beta1", "apps/v1beta2"], "Ingress": ["networking.k8s.io/v1beta1"],
    "NetworkPolicy": [], "HorizontalPodAutoscaler": ["autoscaling/v1", "autoscaling/v2beta1", "autoscaling/v2beta2"],
    "PodDisruptionBudget": ["policy/v1beta1"], "ClusterRole": ["rbac.authorization.k8s.io/v1beta1"], "ClusterRoleBinding": ["rbac.authorization.k8s.io/v1beta1"],
    "Role": ["rbac.authorization.k8s.io/v1beta1"], "RoleBinding": ["rbac.authorization.k8s.io/v1beta1"], "StorageClass": ["storage.k8s.io/v1beta1"],
}
PROVED = ("proved", "proved relative")


def variants(one):
    """The object, and others of its kind that only files have."""
    yield one
    for version in VERSIONS.get(one["kind"], []):
        if version != one["apiVersion"]:
            yield {**one, "apiVersion": version}
    if one["kind"] != "Pod" and one["kind"] not in TEMPLATES:
        return
    for change in [lambda t: t.pop("metadata", None), lambda t: t.setdefault("metadata", {}).clear() if one["kind"] != "Pod" else None,
                   *[lambda t, name=name: (t.get("spec") or {}).pop(name, None) for name in ["initContainers", "volumes", "securityContext"]],
                   *[lambda t, name=name: [c.pop(name, None) for c in (t.get("spec") or {}).get("containers") or []] for name in ["image", "resources", "securityContext"]]]:
        other = copy.deepcopy(one)
        template = template_of(other)
        if not isinstance(template, dict) or not isinstance(template.get("spec", {}), dict):
            continue
        head = copy.deepcopy(other["metadata"])
        change(template)
        # A pod has a name.
        other["metadata"] = head
        if other != one:
            yield other


def of_files(objects):
    """The objects with their variants, each with a name of its own."""
    out = distinct([other for one in objects if isinstance(one.get("metadata"), dict) for other in variants(one)])
    # That an API server shows templates with metadata is taken back.
    for one in out:
        template = template_of(one)
        if template is not one and isinstance(template, dict) and template.get("metadata") == {}:
            del template["metadata"]
    return out


def main():
    flags = arguments()
    os.makedirs(flags.work, exist_ok=True)
    rows = [row for row in migrated(flags) if row["status"] in PROVED and row["kinds"] <= VALIDATING]
    objects = of_files(pool(flags))
    path = written(flags, "files", objects)
    old, errors = verdicts(flags, rows, 0, path)
    same, outside, differ = 0, 0, collections.defaultdict(list)
    for row in rows:
        known = {kind_of(name) for at, name in old if at == row["id"]}
        own = [one for one in objects if kind_of(key(one)) in known]
        others = [one for one in objects if kind_of(key(one)) not in known]
        own += random.Random(row["id"]).sample(others, min(OTHERS, len(others)))
        new, more = verdicts(flags, [row], 1, written(flags, f"{row['id']:03}-files", own))
        if row["id"] in errors or more:
            print(f"not evaluated: {row['policy']}: {errors.get(row['id']) or more}", file=sys.stderr)
            continue
        for pair in sorted({at for at in [*old, *new] if at[0] == row["id"]}):
            both = old.get(pair, []), new.get(pair, [])
            if is_violated(both[0]) == is_violated(both[1]):
                same += 1
            elif any(result == "error" and is_outside(row, message) for result, message in [*both[0], *both[1]]):
                outside += 1
            else:
                differ[row["policy"], row["status"], tuple(row["butFor"])].append((pair[1], both))
    by_name = {key(one): one for one in objects}
    with open(os.path.join(flags.work, "files.jsonl"), "w") as file:
        for (policy, status, but_for), pairs in differ.items():
            for name, both in pairs:
                file.write(json.dumps({"policy": policy, "status": status, "butFor": but_for, "object": name, "old": both[0], "new": both[1], "manifest": by_name.get(name)}) + "\n")
    print(f"{len(rows)} policies, {len(objects)} objects: {same} pairs are the same, {sum(map(len, differ.values()))} are not; external data is missing for {outside}")
    for (policy, status, but_for), pairs in sorted(differ.items()):
        print(f"{policy}: {status} but for {list(but_for)}: {len(pairs)}: {', '.join(name for name, _ in pairs[:4])}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
