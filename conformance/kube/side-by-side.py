#!/usr/bin/env python3
"""The reference's controllers and `ephor` on the same inputs: times and memory.

usage: side-by-side.py ephor|reference EPHOR [--policies N] [--objects N] [--times N] [--parts first,generate,scan,restart]

A cluster of clusters.py with `ephor serve`, or with Kyverno's own controllers (built by `chainsaw/build.sh BIN TESTS
controllers` below EPHOR_ORACLE into the folder that EPHOR_KUBE_BIN names). Printed are, one a line of a table:

`first`     from the creation of a policy to the first request that it denies: median and longest of N
`generate`  from the creation of a trigger to the object of a generate rule: median and longest of N
`scan`      with N objects there and nothing in reports, from the creation of N policies until every object has its report with
            the results of all of its policies; then the memory of all controllers, and the requests to the API server
`restart`   (`ephor` only) from the start of the program until it is ready, with all of that there

Every policy of `scan` is about the ConfigMaps of one namespace of ten, so that an object has a tenth of them. Run both on the
same machine, one after the other, with nothing else running.
"""

import argparse
import json
import os
import re
import signal
import statistics
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from clusters import Clusters, needed, output, run  # noqa: E402
from faults import Api, until  # noqa: E402

NAMESPACES = 10
CLUSTER_POLICIES = "/apis/kyverno.io/v1/clusterpolicies"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def config_map(namespace, name, labels=None):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace, "labels": labels or {}}, "data": {"a": "b"}}


def matched(namespace):
    return {"any": [{"resources": {"kinds": ["ConfigMap"], "namespaces": [namespace]}}]}


def validating(name, namespace, background, action="Enforce"):
    rule = {"name": "check", "match": matched(namespace),
            "validate": {"failureAction": action, "message": name, "pattern": {"metadata": {"labels": {name: "?*"}}}}}
    return {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": name},
            "spec": {"background": background, "rules": [rule]}}


class Side:
    """One engine on one cluster."""

    def __init__(self, o, clusters):
        self.o, self.clusters = o, clusters
        self.index, self.state = clusters.states[0]
        self.api = Api(self.state, self.index)

    def create(self, path, body):
        code, answer = self.api.call("POST", path, body, timeout=60)
        if code != 201:
            raise RuntimeError(f"{body['kind']} {body['metadata']['name']}: {answer.get('message')}")

    def controllers(self):
        """Process ids of all controllers of the engine, with what they have started."""
        names = ["ephor"] if self.o.engine == "ephor" else ["admission-controller", "background-controller", "cleanup-controller", "reports-controller"]
        roots = []
        for name in names:
            with open(os.path.join(self.state, "pid", name + ".pid"), encoding="utf-8") as f:
                roots.append(int(f.read()))
        children = output(["ps", "-e", "-o", "pid=,ppid="]).splitlines()
        return roots + [int(pid) for pid, parent in (line.split() for line in children) if int(parent) in roots]

    def memory(self):
        """Resident and peak memory of all controllers, in MiB."""
        resident = peak = 0
        for pid in self.controllers():
            with open(f"/proc/{pid}/status", encoding="utf-8") as f:
                text = f.read()
            if "bash" not in text.splitlines()[0]:
                resident += int(re.search(r"VmRSS:\s+(\d+)", text)[1])
                peak += int(re.search(r"VmHWM:\s+(\d+)", text)[1])
        return resident / 1024, peak / 1024

    def requests(self):
        """Requests to the API server so far, as it counts them; a watch counts when it ends."""
        self.api.local.at = None
        at = self.api.connect(60)
        at.request("GET", "/metrics")
        text = at.getresponse().read().decode()
        return sum(float(m[1]) for m in re.finditer(r"^apiserver_request_total\{.*\} (\S+)$", text, re.M))

    def first(self):
        times = []
        self.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "first"}})
        for number in range(self.o.times):
            name = f"first-{number}"
            begin = time.time()
            self.create(CLUSTER_POLICIES, validating(name, "first", False))

            def denied():
                body = config_map("first", "x")
                return name in self.api.call("POST", "/api/v1/namespaces/first/configmaps?dryRun=All", body)[1].get("message", "")
            until(denied, 60, f"{name} denies", 0.01)
            times.append(time.time() - begin)
            self.api.call("DELETE", f"{CLUSTER_POLICIES}/{name}")
            time.sleep(1)
        yield "from the creation of a policy to its first denial", seconds(times)

    def generate(self):
        for name in ("triggers", "generated"):
            self.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        rule = {"name": "out", "match": matched("triggers"),
                "generate": {"apiVersion": "v1", "kind": "ConfigMap", "name": "{{ request.object.metadata.name }}", "namespace": "generated",
                             "synchronize": True, "data": {"data": {"a": "b"}}}}
        self.create(CLUSTER_POLICIES, {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "generate"}, "spec": {"rules": [rule]}})
        until(lambda: self.is_ready("generate"), 60, "the generate policy is ready")
        times = []
        for number in range(self.o.times):
            begin = time.time()
            self.create("/api/v1/namespaces/triggers/configmaps", config_map("triggers", f"t-{number}"))
            until(lambda: self.api.call("GET", f"/api/v1/namespaces/generated/configmaps/t-{number}")[0] == 200, 60, "the object is there", 0.01)
            times.append(time.time() - begin)
        self.api.call("DELETE", f"{CLUSTER_POLICIES}/generate")
        yield "from the creation of a trigger to the object", seconds(times)

    def is_ready(self, name):
        found = self.api.call("GET", f"{CLUSTER_POLICIES}/{name}")[1]
        return any(c["type"] == "Ready" and c["status"] == "True" for c in found.get("status", {}).get("conditions", []))

    def scan(self):
        for number in range(NAMESPACES):
            self.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"scan-{number}"}})

        def objects(thread):
            for number in range(thread, self.o.objects, 4):
                namespace = f"scan-{number % NAMESPACES}"
                self.create(f"/api/v1/namespaces/{namespace}/configmaps", config_map(namespace, f"o-{number}"))
        threads = [threading.Thread(target=objects, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        before, begin = self.requests(), time.time()
        for number in range(self.o.policies):
            self.create(CLUSTER_POLICIES, validating(f"scan-{number}", f"scan-{number % NAMESPACES}", True, "Audit"))
        created = time.time() - begin

        def complete():
            try:
                return self.all_reported()
            except OSError:
                return False  # An API server with much to do closes connections.
        until(complete, self.o.limit, "all reports are there", 2)
        took = time.time() - begin
        resident, peak = self.memory()
        yield f"creation of {self.o.policies} policies", f"{created:.1f} s"
        yield f"from there until all reports of {self.o.objects} objects are there", f"{took:.1f} s"
        yield "requests to the API server meanwhile", f"{self.requests() - before:.0f}"
        yield "memory of all controllers, at the end and at most", f"{resident:.0f} MiB, {peak:.0f} MiB"
        time.sleep(60)
        yield "memory a minute later", f"{self.memory()[0]:.0f} MiB"

    def all_reported(self):
        """Reports are counted first, which is cheap; then their columns are enough: with many results all reports would be larger than
        what is measured."""
        reports = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/scan-{}/policyreports"
        there = 0
        for number in range(NAMESPACES):
            first = self.api.call("GET", reports.format(number) + "?limit=1", timeout=120)[1]
            there += len(first.get("items", [])) + first.get("metadata", {}).get("remainingItemCount", 0)
        if there < self.o.objects:
            return False
        complete = 0
        for number in range(NAMESPACES):
            wanted = len(range(number, self.o.policies, NAMESPACES))
            path = reports.format(number) + "?includeObject=None&resourceVersion=0"
            table = self.api.call("GET", path, timeout=120, accept=TABLE)[1]
            columns = [column["name"] for column in table.get("columnDefinitions", [])]
            for row in table.get("rows") or []:
                cells = dict(zip(columns, row["cells"]))
                results = sum(cells.get(status) or 0 for status in ("Pass", "Fail", "Warn", "Error", "Skip"))
                complete += str(cells.get("Name")).startswith("o-") and results >= wanted
        return complete >= self.o.objects

    def restart(self):
        if self.o.engine != "ephor":
            return
        with open(os.path.join(self.state, "pid/ephor.pid"), encoding="utf-8") as f:
            pid = int(f.read())
        os.kill(pid, signal.SIGKILL)
        until(lambda: not os.path.exists(f"/proc/{pid}") or not self.clusters.lives(0), 10, "it has ended")
        before, begin = self.requests(), time.time()
        self.clusters.configure(0, "standard")
        yield "from the start until it is ready", f"{time.time() - begin:.1f} s"
        yield "requests to the API server meanwhile", f"{self.requests() - before:.0f}"
        yield "memory then", f"{self.memory()[0]:.0f} MiB"


def seconds(times):
    return f"median {statistics.median(times):.2f} s, longest {max(times):.2f} s of {len(times)}"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("engine", choices=["ephor", "reference"])
    p.add_argument("ephor", type=os.path.abspath)
    p.add_argument("--policies", type=int, default=100)
    p.add_argument("--objects", type=int, default=5000)
    p.add_argument("--times", type=int, default=20)
    p.add_argument("--limit", type=float, default=1800, help="seconds that a scan may take")
    p.add_argument("--parts", default="first,generate,scan,restart")
    o = p.parse_args()
    needed()
    clusters = None
    try:
        clusters = Clusters(o.ephor, 1, engine=o.engine == "ephor")
        clusters.start(0)
        if o.engine == "ephor":
            clusters.configure(0, "standard")
        else:
            index, state = clusters.states[0]
            output([clusters.script("reference.py"), clusters.bin, clusters.tests, state, str(index), "--configs", "standard"])
        side = Side(o, clusters)
        # The reference has its leases and configurations before its certificate.
        probe = validating("probe", "default", False)
        until(lambda: side.api.call("POST", CLUSTER_POLICIES + "?dryRun=All", probe)[0] == 201, 60, "policies are taken")
        print(f"| {o.engine} | |\n|---|---|\n| memory without policies | {side.memory()[0]:.0f} MiB |", flush=True)
        for part in o.parts.split(","):
            for what, figure in getattr(side, part)():
                print(f"| {what} | {figure} |", flush=True)
    finally:
        if clusters:
            clusters.stop(None)
    return 0


if __name__ == "__main__":
    run(main)
