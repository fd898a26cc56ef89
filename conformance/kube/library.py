#!/usr/bin/env python3
"""A library of policies in a cluster: recorded requests and objects get the recorded verdicts.

usage: library.py EPHOR [BIN_DIR] [--parts pool,admission] [--out FILE.jsonl] [--only REGEX]

An API server of cluster.py (BIN_DIR holds what build.sh makes; it is built where it is missing) with the definitions of
`ephor crds`, and `ephor serve --kinds all`, which reads the policies from there and writes its webhooks.

`pool`       the policies of `kyverno-policies` for which verdicts were recorded are stored as they are written, and once more so
             that they refuse. Each object of `verdicts/pool.yaml` is sent as the AdmissionReviews that the API server would send:
             to /validate/fail, /validate/ignore and /vpol/NAMES. Whether it is refused, by which rules and with which
             messages is what `verdicts/kyverno-policies.jsonl` says. A unit is a policy file and an object that it has results for.
`admission`  the cases of `admission` that the suite `reviews/admission` takes, with the classic policies of the library in the
             cluster, set to audit. Their own policies of Kubernetes come from a file, all other objects are created. The requests are
             sent to /mutate and, as they were left, to /validate: recorded.py compares the answers.

Third-party files are read where they are (EPHOR_CONFORMANCE or `conformance/data`). What differs is
counted by its cause (`conformance/failing.toml`, CAUSES); what has none is printed, and the exit code is 1.
"""

import argparse
import collections
import http.client
import json
import os
import re
import ssl
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cluster import Cluster, free_ports  # noqa: E402
from clusters import HERE, ROOT, Skipped, has_yaml, output, run  # noqa: E402
from recorded import TEXT_MAPS, Kinds, admission, documents  # noqa: E402

# Differences that are no faults: a regular expression for the id, the recorded and the given answer (as JSON, a line each), and why.
# The recordings of the pool come from the command line, whose cluster is the pool and which knows of no namespace and no user.
# Of the pool's objects this cluster has those of STORED, as far as an API server takes them.
CAUSES = [
    (r"registry access is not enabled", "access to image registries is off, and was off in another way when this was recorded"),
    (r'get configmap default/allowed-pod-priorities|^other-vpol/allowed-pod-priorities/', "a ConfigMap that this cluster does not have"),
    (r"^best-practices-vpol/disallow-default-namespace/.*\n.*no such key: metadata", "this cluster has the namespace"),
    (r"^other-vpol/limit-configmap-for-sa/.*\n.*no such key: username", "this request has a user"),
    (r"^other-vpol/check-hpa-exists/.*\n.*resource not found", "the recorded cluster did not serve HorizontalPodAutoscalers"),
    (r"^other/restrict-secrets-by-label/.*\n.*failed to get resource v1/Secret", "an API server says in other words that a Secret is missing"),
]

STORED = {"NetworkPolicy", "PodDisruptionBudget", "Secret", "Service"}

# Nothing has this label: the API server calls no webhook for objects, since the reviews are sent by hand.
NEVER = json.dumps({"objectSelector": {"matchLabels": {"conformance.test/never": "called"}}})


def conformance():
    for folder in (os.environ.get("EPHOR_CONFORMANCE"), os.path.join(ROOT, "conformance/data")):
        if folder and os.path.isdir(folder):
            return os.path.abspath(folder)
    raise Skipped("there is no folder with recorded suites")


class Server:
    """`ephor serve` with the policies of a cluster, and those of a file if there is one."""

    def __init__(self, cluster, ephor, ports):
        self.cluster, self.ephor, (self.port, self.metrics) = cluster, ephor, ports
        self.tls = ssl.create_default_context()
        self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE
        self.at = self.process = None

    def start(self, *files):
        self.process = self.cluster.run("serve", [
            self.ephor, "serve", *files, "--kubeconfig", self.cluster.kubeconfig, "--kinds", "all", "--background-scan", "off",
            "--listen", f"127.0.0.1:{self.port}", "--metrics-listen", f"127.0.0.1:{self.metrics}", "--shutdown-delay", "0s",
            "--tls-self-signed", self.cluster.path("tls"), "--url", f"https://127.0.0.1:{self.port}"])
        self.at = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=60)
        self.cluster.until("ephor serve is ready", lambda: self.is_ready() or self.process.poll() is not None, 60)
        assert self.process.poll() is None, self.cluster.log("serve")

    def get(self, path):
        at = http.client.HTTPConnection("127.0.0.1", self.metrics, timeout=10)
        at.request("GET", path)
        answer = at.getresponse()
        return answer.status, answer.read().decode()

    def is_ready(self):
        try:
            return self.get("/readyz")[0] == 200
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.at.close()
        self.cluster.processes.remove(self.process)

    def review(self, path, request):
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        self.at.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = self.at.getresponse()
        text = answer.read().decode()
        if answer.status != 200:
            return {"allowed": None, "status": {"message": f"{answer.status} {text}"}}
        return json.loads(text)["response"]


class Differences:
    """Counts units, and prints what differs without a cause."""

    def __init__(self, folder, out):
        import tomllib
        with open(os.path.join(ROOT, "conformance/failing.toml"), "rb") as f:
            causes = tomllib.load(f)["cause"]
        self.known = {(c["suite"], case): c["why"] for c in causes if "kubernetes" not in c for case in c["cases"]}
        self.folder, self.out = folder, open(out, "w", encoding="utf-8") if out else None
        self.units, self.found, self.new = collections.Counter(), collections.Counter(), 0

    def count(self, part, suite, name, expected, got):
        self.units[part] += 1
        if expected == got:
            return
        said = "\n".join([name, json.dumps(expected), json.dumps(got)])
        why = self.known.get((suite, name)) or next((why for pattern, why in CAUSES if re.search(pattern, said)), None)
        self.found[part, why] += 1
        if not why:
            self.new += 1
            if self.new <= 40:
                print(f"  DIFFERS {part} {name}\n    recorded {json.dumps(expected)[:600]}\n    answered {json.dumps(got)[:600]}", flush=True)
        if self.out:
            self.out.write(json.dumps({"part": part, "id": name, "expected": expected, "got": got, "known": why}) + "\n")

    def say(self, part):
        differ = {why: n for (of, why), n in self.found.items() if of == part}
        print(f"{part} {self.units[part] - sum(differ.values())}/{self.units[part]}", flush=True)
        for why, n in differ.items():
            print(f"  {n}: {why or 'no known cause'}", flush=True)


class PolicyFile:
    """A policy file of the library with the verdicts that were recorded for it."""

    def __init__(self, folder, line):
        self.file, self.verdicts = line["file"], collections.defaultdict(dict)
        with open(os.path.join(folder, "kyverno-policies", self.file), encoding="utf-8") as f:
            self.text = f.read()
        self.policies = [d for d in documents(self.text) if d]
        self.names = {p["metadata"]["name"] for p in self.policies}
        self.classic = all(p["kind"] in ("ClusterPolicy", "Policy") for p in self.policies)
        for rule in line["rules"]:
            for status, messages in rule["results"].items():
                for message, places in messages.items():
                    for at in places:
                        self.verdicts[at][rule["policy"], rule["rule"]] = (status, message)

    def stored(self, refuses):
        text = self.text
        if refuses:
            for audits, other in (("Action: Audit", "Action: Enforce"), ("Action: audit", "Action: Enforce"),
                                  ("Actions: [Audit]", "Actions: [Deny]"), ("- Audit\n", "- Deny\n")):
                text = text.replace(audits, other)
        return [d for d in documents(text) if d]


def refusing(policy, rule, namespace):
    """Whether what a rule of a ClusterPolicy finds is refused, as the policy is stored."""
    spec = policy["spec"]
    # Generated rules are called after theirs.
    written = next((r for r in spec["rules"] if r["name"] == re.sub("^autogen-(cronjob-)?", "", rule)), None)
    if written is None or "validate" not in written:
        return False
    action = written["validate"].get("failureAction") or spec.get("validationFailureAction") or "Audit"
    for other in written["validate"].get("failureActionOverrides") or spec.get("validationFailureActionOverrides") or []:
        if any(re.fullmatch(n.replace("*", ".*").replace("?", "."), namespace) for n in other.get("namespaces", [])):
            action = other["action"]
    return action.lower() == "enforce"


def expected_refusals(of_file, stored, at, namespace):
    """Policy -> what it says when it refuses the object, as recorded; with rules for ClusterPolicies."""
    found = collections.defaultdict(dict)
    blocks = set()
    for (name, rule), (status, message) in of_file.verdicts.get(at, {}).items():
        policy = stored.get(name)
        if policy is None or status in ("pass", "skip"):
            continue
        if policy["kind"] not in ("ClusterPolicy", "Policy"):
            if "Deny" in (policy["spec"].get("validationActions") or ["Deny"]):
                found[name] = f"Policy {name} {'error' if status == 'error' else 'failed'}: {message}"
        elif refusing(policy, rule, namespace):
            found[name][rule] = message
            if status != "error" or policy["spec"].get("failurePolicy") != "Ignore":
                blocks.add(name)
    return dict(found), blocks


def answered(answers):
    """Policy -> what it says, of the answers of all webhooks."""
    said = {}
    for kind, answer in answers:
        if answer["allowed"] is True:
            continue
        message = answer["status"]["message"]
        if kind == "classic":
            head, _, tail = message.partition("was blocked due to the following policies")
            if not tail:
                return {"": message}
            said.update(documents(tail)[0])
        else:
            for text in re.split(r"; (?=Policy \S+ (?:failed|error): )", message):
                found = re.match(r"Policy (\S+) (?:failed|error): ", text)
                said[found[1] if found else ""] = text
    return said


def finished(value):
    """Null maps of text are empty ones, as Kubernetes' clients send them."""
    if isinstance(value, dict):
        return {k: {} if v is None and k in TEXT_MAPS else finished(v) for k, v in value.items()}
    return [finished(v) for v in value] if isinstance(value, list) else value


def request_for(obj, kinds):
    """The request of an administrator who creates an object of the pool."""
    group, _, version = obj["apiVersion"].rpartition("/")
    plural, namespaced = kinds.of(obj)
    metadata = obj.setdefault("metadata", {})
    if namespaced and not metadata.get("namespace"):
        metadata["namespace"] = "default"
    kind = {"group": group, "version": version, "kind": obj["kind"]}
    resource = {"group": group, "version": version, "resource": plural}
    namespace = metadata.get("name", "") if obj["kind"] == "Namespace" else metadata.get("namespace", "")
    return {"uid": "00000000-0000-0000-0000-000000000001", "kind": kind, "resource": resource, "requestKind": kind,
            "requestResource": resource, "name": metadata.get("name", ""), "namespace": namespace, "operation": "CREATE",
            "userInfo": {"username": "pool", "groups": ["system:authenticated"]}, "object": obj, "oldObject": None, "dryRun": True,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}}


class Library:
    """The policies of the library in a cluster."""

    def __init__(self, cluster, server, folder):
        self.cluster, self.server, self.folder = cluster, server, folder
        with open(os.path.join(folder, "verdicts/kyverno-policies.jsonl"), encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        files = [PolicyFile(folder, line) for line in lines if not line.get("error")]
        print(f"{len(files)} policy files, {len(lines) - len(files)} left out for which Kyverno made no report", flush=True)
        # Of policies of one name the cluster holds one at a time; the first batch is the classic library.
        self.batches = []
        for of_file in sorted(files, key=lambda f: (not f.classic, "-cel" in f.file, f.file)):
            batch = next((b for b in self.batches if not any(of_file.names & other.names for other in b)), None)
            if batch is None:
                self.batches.append(batch := [])
            batch.append(of_file)
        self.there = {}

    def store(self, batch, refuses, audits=False):
        """Replaces what is stored, and waits until the server says that all of it is ready."""
        kinds = Kinds(self.cluster)
        for policy in self.there.values():
            assert self.cluster.call("DELETE", kinds.path(policy, policy["metadata"]["name"])).ok
        self.there = {}
        for of_file in batch:
            for policy in of_file.stored(refuses):
                if audits:
                    policy = json.loads(json.dumps(policy).replace('"Enforce"', '"Audit"').replace('"enforce"', '"Audit"'))
                answer = self.cluster.call("POST", kinds.path(policy), policy)
                if not answer.ok:
                    print(f"  REFUSED {of_file.file}: {answer.message}", flush=True)
                    continue
                self.there[policy["metadata"]["name"]] = policy

        def ready(policy):
            status = self.cluster.call("GET", kinds.path(policy, policy["metadata"]["name"])).object.get("status") or {}
            conditions = (status.get("conditionStatus") or status).get("conditions") or []
            return any(c["type"] in ("Ready", "WebhookConfigured") and c["status"] == "True" for c in conditions)
        waiting = list(self.there.values())
        deadline = time.monotonic() + 60
        while waiting and time.monotonic() < deadline:
            waiting = [p for p in waiting if not ready(p)]
            time.sleep(0.2)
        for policy in waiting:
            print(f"  NOT READY {policy['metadata']['name']}", flush=True)

    def routes(self):
        """The paths to which the API server would send objects, and the kind of their answers."""
        own = [p for p in self.there.values() if p["kind"] == "ClusterPolicy"]
        fails = {p["spec"].get("failurePolicy", "Fail") for p in own}
        found = [("classic", "/validate/" + f.lower()) for f in sorted(fails)]
        names = sorted(p["metadata"]["name"] for p in self.there.values() if p["kind"] == "ValidatingPolicy")
        return found + ([("cel", "/vpol/" + "/".join(names))] if names else [])


def pool(library, differences, only):
    """The objects of the pool."""
    cluster, server = library.cluster, library.server
    with open(os.path.join(library.folder, "verdicts/pool.yaml"), encoding="utf-8") as f:
        objects = [finished(o) for o in documents(f.read())]
    kinds = Kinds(cluster)
    requests = [request_for(o, kinds) for o in objects]
    for name in sorted({r["namespace"] for r, o in zip(requests, objects) if r["namespace"] and o["kind"] != "Namespace"}):
        answer = cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        assert answer.code in (201, 409), answer.message
    for obj in objects:
        if obj["kind"] in STORED:
            cluster.call("POST", kinds.path(obj), obj)
    server.start()
    for number, batch in enumerate(library.batches):
        batch = [f for f in batch if re.search(only, f.file)]
        for refuses in (True, False):
            part = "pool, made to refuse" if refuses else "pool, as written"
            library.store(batch, refuses)
            routes = library.routes()
            print(f"batch {number}: {len(library.there)} policies, {part}", flush=True)
            for at, request in enumerate(requests):
                answers = [(kind, server.review(path, request)) for kind, path in routes]
                compare(part, batch, library.there, at, request["namespace"], answers, differences)
    server.stop()
    for part in ("pool, made to refuse", "pool, as written"):
        differences.say(part)


def compare(part, batch, stored, at, namespace, answers, differences):
    """The answers to an object, file by file."""
    got = answered(answers)
    refused = any(answer["allowed"] is not True for _, answer in answers)
    blocks, seen, same = set(), set(), True
    for of_file in batch:
        expected, blocking = expected_refusals(of_file, stored, at, namespace)
        blocks |= blocking | {n for n, what in expected.items() if isinstance(what, str)}
        mine = {name: said for name, said in got.items() if name in of_file.names}
        seen |= set(mine)
        if not blocking and not mine:
            # What is no reason to refuse is reported only together with one.
            expected = {n: what for n, what in expected.items() if isinstance(what, str)}
        same = same and expected == mine
        if of_file.verdicts.get(at) or mine:
            differences.count(part, "reviews/pool", f"{of_file.file} {at}", expected, mine)
    rest = {name: said for name, said in got.items() if name not in seen}
    if rest or (same and refused != bool(blocks)):
        differences.count(part, "reviews/pool", f"object {at}", {"refused": bool(blocks)}, {"refused": refused, **rest})


def prepare(cluster, ephor):
    """Definitions and settings."""
    definitions = output([ephor, "crds"])
    for document in definitions.split("\n---\n"):
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        answer = cluster.call("POST", path, document, content_type="application/yaml")
        assert answer.ok, answer.message
    cluster.until("policies are served", lambda: cluster.call("GET", "/apis/policies.kyverno.io/v1/validatingpolicies").ok
                  and cluster.call("GET", "/apis/kyverno.io/v1/clusterpolicies").ok, 60)
    for name in ("ephor", "kyverno"):
        assert cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}}).ok
    settings = {"metadata": {"name": "kyverno"}, "data": {"resourceFilters": "", "excludeGroups": "", "webhooks": NEVER}}
    assert cluster.call("POST", "/api/v1/namespaces/kyverno/configmaps", settings).ok


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("ephor", type=os.path.abspath)
    p.add_argument("bin", nargs="?")
    p.add_argument("--parts", default="pool,admission")
    p.add_argument("--out", help="a line of JSON for each difference")
    p.add_argument("--only", default="", help="only policy files or cases of whose names this regular expression is a part")
    o = p.parse_args()
    folder = conformance()
    if not has_yaml():
        raise Skipped("this needs PyYAML")
    sys.path += os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if not os.path.exists(os.path.join(folder, "verdicts/pool.yaml")):
        raise Skipped("this needs the recorded verdicts on a pool of objects, which are not public")
    bin_dir = o.bin or output(["bash", os.path.join(HERE, "build.sh")])
    differences = Differences(folder, o.out)
    with Cluster(bin_dir) as cluster:
        prepare(cluster, o.ephor)
        server = Server(cluster, o.ephor, free_ports(2))
        library = Library(cluster, server, folder)
        if "pool" in o.parts:
            pool(library, differences, o.only)
        if "admission" in o.parts:
            server.start()
            library.store([f for f in library.batches[0] if f.classic], False, audits=True)
            server.stop()
            admission(library, differences, o.only)
    return int(differences.new > 0)


if __name__ == "__main__":
    run(main)
