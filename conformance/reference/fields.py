#!/usr/bin/env python3
"""Pairs of policies about each field of built-in kinds, for `ephor diff` to be tried on.

fields.py OUT [DEPTH] [KIND …]     writes OUT/fields.pairs (lines `OLD NEW`): "the field is there" and "it is not there", against a policy that is always true
fields.py --report OUT ANSWERS     lists the fields of which the answers say that they are always there, never there, or not known

Fields that are proved to be always or never there are to be few, and each has to be one that an API server fills in, or takes away:
`cargo run --release -p ephor-compare --example pairs < OUT/fields.pairs > ANSWERS`. What is proved wrongly is what other fields of an object decide
(`crates/kubernetes/src/admitted/alternatives.txt`).
"""
import os
import re
import sys

import yaml

SCHEMA = os.path.join(os.path.dirname(__file__), "../../crates/kubernetes/src/schema-1.36.txt")
KINDS = {"Pod": "pods", "Deployment": "deployments", "CronJob": "cronjobs", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets", "Job": "jobs",
         "ReplicationController": "replicationcontrollers", "Service": "services", "Ingress": "ingresses", "NetworkPolicy": "networkpolicies",
         "Namespace": "namespaces", "ConfigMap": "configmaps", "Secret": "secrets", "ServiceAccount": "serviceaccounts", "Role": "roles",
         "ClusterRole": "clusterroles", "RoleBinding": "rolebindings", "PersistentVolumeClaim": "persistentvolumeclaims",
         "PersistentVolume": "persistentvolumes", "StorageClass": "storageclasses", "PodDisruptionBudget": "poddisruptionbudgets",
         "HorizontalPodAutoscaler": "horizontalpodautoscalers", "Node": "nodes", "ResourceQuota": "resourcequotas", "LimitRange": "limitranges"}
SAID = {"is": "always there", "not": "never there"}


def schema():
    """The fields of each type with their types, and the type of each kind with its group and version."""
    types, kinds, own = {}, {}, None
    with open(SCHEMA) as file:
        for line in file.read().splitlines():
            if not line or line.startswith("#"):
                continue
            if line.startswith(" "):
                name, _, rest = line.strip().partition(" ")
                own[name.rstrip("!")] = rest.partition("=")[0]
                continue
            name, *more = line.split()
            own = types.setdefault(name, {})
            for word in more:
                if word.startswith("kind="):
                    kinds[word.rpartition("/")[2]] = (name, word[len("kind="):].split("/"))
    return types, kinds


def ways(types, name, depth, before=(), seen=()):
    """The ways to all fields: names with what they are."""
    for field, kind in types[name].items():
        if not before and field in ("apiVersion", "kind", "status"):
            continue
        outer, inner = re.match(r"^(\[[^\]]*\]|\{\})?(.*?)(?: atomic)?$", kind).groups()
        way = (*before, (field, "list" if (outer or "").startswith("[") else "map" if outer else "object"))
        yield way
        if len(way) < depth and types.get(inner) and inner not in seen and outer != "{}":
            yield from ways(types, inner, depth, way, (*seen, inner))


def expression(way, last, base="object", at=0):
    """For each item on the way: the statement about the last field, where there is what it is in."""
    field, kind = way[at]
    own = f"{base}.{field}" if field == "namespace" or re.fullmatch(r"[A-Za-z_]\w*", field) else f"{base}.__{field}__"
    if at == len(way) - 1:
        return last.format(f"has({own})")
    if kind == "list":
        return f"(!has({own}) || {own}.all(v{at}, {expression(way, last, f'v{at}', at + 1)}))"
    return f"(!has({own}) || {expression(way, last, own, at + 1)})"


def policy(group, version, resource, condition):
    spec = {"validationActions": ["Deny"], "autogen": {"podControllers": {"controllers": []}}, "validations": [{"expression": condition, "message": "m"}],
            "matchConstraints": {"resourceRules": [{"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": [resource]}]}}
    return {"apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy", "metadata": {"name": "p"}, "spec": spec}


def write(out, depth=6, *chosen):
    os.makedirs(out, exist_ok=True)
    types, kinds = schema()
    lines = []
    for kind in chosen or KINDS:
        name, where = kinds[kind]
        group = "" if where[0] == "core" or len(where) == 2 else where[0]

        def put(label, condition):
            path = f"{out}/{kind}~{label}.yaml"
            with open(path, "w") as file:
                yaml.safe_dump(policy(group, where[-2], KINDS[kind], condition), file, sort_keys=False)
            return path
        always = put("true", "true")
        for way in ways(types, name, int(depth)):
            field = ".".join(step for step, _ in way).replace("$", "")
            lines += [f"{put(f'is~{field}', expression(way, '{}'))} {always}\n", f"{put(f'not~{field}', expression(way, '!{}'))} {always}\n"]
    with open(f"{out}/fields.pairs", "w") as file:
        file.writelines(lines)


def report(_, answers):
    found = {}
    with open(answers) as file:
        for line in file:
            pair, *rest = line.rstrip("\n").split("\t")
            if not rest or rest[0] == "differs":
                continue
            kind, word, field = os.path.basename(pair.split()[0])[:-len(".yaml")].split("~")
            if not field.startswith("metadata"):
                found.setdefault(SAID[word] if rest[0].startswith("proved") else f"{rest[0]}, {SAID[word]}: {rest[-1]}", []).append(f"{kind} {field}")
    for said, fields in sorted(found.items()):
        print(f"{said}: {len(fields)}\n  " + "\n  ".join(fields))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    report(*sys.argv[2:]) if sys.argv[1] == "--report" else write(*sys.argv[1:])
