#!/usr/bin/env python3
"""Writes audit logs of a real API server, for tests of `ephor replay`.

    audit-log.py BIN OUT

BIN is the folder that build.sh made. OUT gets request-response.jsonl and request.jsonl: the same requests, logged at the
levels RequestResponse and Request; requests of the server itself are left out.
"""

import json
import os
import sys

from cluster import Cluster
from serving import config_map

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}


def pod(name, image="nginx:1.27", **meta):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "web", **meta},
            "spec": {"containers": [{"name": "c", "image": image}]}}


def deployment(name, replicas=1):
    labels = {"app": name}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "web"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx:latest"}]}}}}


def requests(cluster):
    call = cluster.call
    pods, maps = "/api/v1/namespaces/web/pods", "/api/v1/namespaces/web/configmaps"
    assert cluster.create(NAMESPACE).ok

    assert call("POST", pods, pod("a", "nginx:latest")).ok
    assert call("POST", pods, pod("b")).ok
    assert call("POST", pods + "?dryRun=All", pod("dry", "nginx:latest")).ok
    assert not call("POST", pods, pod("a")).ok  # exists
    assert not call("POST", pods, pod("Bad Name")).ok  # invalid
    assert call("POST", maps, config_map("m", "web", data={"a": "1"})).ok
    assert call("PUT", maps + "/m", config_map("m", "web", data={"a": "2"})).ok
    merge = {"content_type": "application/merge-patch+json"}
    assert call("PATCH", maps + "/m", {"metadata": {"labels": {"team": "red"}}}, **merge).ok
    assert call("PATCH", maps + "/m", [{"op": "add", "path": "/data/b", "value": "3"}], content_type="application/json-patch+json").ok
    applied = config_map("applied", "web", data={"a": "1"})
    apply = {"content_type": "application/apply-patch+yaml"}
    assert call("PATCH", maps + "/applied?fieldManager=test&force=true", applied, **apply).ok
    applied["data"]["a"] = "2"
    assert call("PATCH", maps + "/applied?fieldManager=test&force=true", applied, **apply).ok
    deployments = "/apis/apps/v1/namespaces/web/deployments"
    assert call("POST", deployments, deployment("d")).ok
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d", "namespace": "web"}, "spec": {"replicas": 3}}
    assert call("PUT", deployments + "/d/scale", scale).ok
    assert call("PATCH", pods + "/b/status", {"status": {"message": "x"}}, **merge).ok
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "web"}, "stringData": {"password": "correct-horse"}}
    assert call("POST", "/api/v1/namespaces/web/secrets", secret).ok
    call("POST", pods + "/b/exec?command=sh&command=-c&container=c&stdin=true&stdout=true")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "b", "namespace": "web"}}
    assert call("POST", pods + "/b/eviction", eviction).ok
    assert call("DELETE", pods + "/a").ok
    assert call("DELETE", maps + "/m").ok
    assert call("DELETE", maps).ok  # all of them
    assert call("GET", pods).ok


def main():
    binaries, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    for level, name in [("RequestResponse", "request-response"), ("Request", "request")]:
        path = os.path.abspath(os.path.join(out, name + ".raw"))
        policy = os.path.abspath(os.path.join(out, name + ".policy.json"))
        with open(policy, "w", encoding="utf-8") as f:
            rules = [{"level": "None", "users": ["system:apiserver", "system:anonymous"]},
                     {"level": "None", "nonResourceURLs": ["*"]}, {"level": level}]
            json.dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}, f)
        flags = [f"--audit-policy-file={policy}", f"--audit-log-path={path}"]
        with Cluster(binaries, flags) as cluster:
            requests(cluster)
        with open(path, encoding="utf-8") as raw, open(os.path.join(out, name + ".jsonl"), "w", encoding="utf-8") as f:
            for line in raw:
                if '"namespace":"web"' in line or '"name":"web"' in line:
                    f.write(line)
        os.remove(path)
        os.remove(policy)


if __name__ == "__main__":
    main()
