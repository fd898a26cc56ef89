#!/usr/bin/env python3
"""Faults under load: replicas killed, the API server stopped, etcd slow, watches expired – and what becomes of requests.

usage: faults.py EPHOR [--replicas N] [--only PHASE,...]

A cluster of clusters.py with several replicas of `ephor serve` in Kyverno's place, behind a forwarder that passes
connections to replicas that say on /readyz that they are ready, as a Service does. A client that knows the answer sends
requests: objects that every form of the policy denies, that every form allows, and that one of two forms denies, between
which the policy changes all the time. Triggers of a generate rule are created meanwhile; a watch counts what is created
for them. After each fault the table says what was wrongly allowed (0), wrongly denied other than by the failure policy (0),
and which triggers have no object, more than one, or another one than theirs. Exit code 1 when one of these is not 0, or
when requests are not answered rightly again within a minute.
"""

import argparse
import collections
import http.client
import json
import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from clusters import Clusters, needed, run  # noqa: E402

# A change of a policy may take so long until all replicas have it, from the moment that the API server can be reached.
SETTLE = 5.0
# After an outage a watch is restarted within 5 s and then lists.
RECOVERY = 10.0
PHASES = ["quiet", "replicas", "api-server-restarted", "api-server-stopped", "etcd-slow", "watch-expired"]


class Api:
    """Requests to the API server of a cluster as system:masters; one connection a thread."""

    def __init__(self, state, index):
        self.host, self.local = f"127.0.{index}.1", threading.local()
        self.tls = ssl.create_default_context(cafile=os.path.join(state, "pki/ca.crt"))
        self.tls.load_cert_chain(os.path.join(state, "pki/boot.crt"), os.path.join(state, "pki/boot.key"))

    def connect(self, timeout):
        return http.client.HTTPSConnection(self.host, 6443, context=self.tls, timeout=timeout)

    def call(self, method, path, body=None, timeout=20, kind="application/json", accept="application/json"):
        """Code and object; OSError when there is no answer."""
        if getattr(self.local, "at", None) is None:
            self.local.at = self.connect(timeout)
        try:
            self.local.at.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": kind, "Accept": accept})
            answer = self.local.at.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text[:1] == b"{" else {}
        except (OSError, http.client.HTTPException) as error:
            self.local.at.close()
            self.local.at = None
            raise OSError(str(error)) from error


class Forwarder:
    """Passes connections round robin to the replicas that are ready."""

    def __init__(self, address, replicas):
        self.replicas, self.ready, self.turn = replicas, set(), 0
        self.socket = socket.create_server((address, 443), backlog=512)
        threading.Thread(target=self._probe, daemon=True).start()
        threading.Thread(target=self._accept, daemon=True).start()

    def _probe(self):
        while True:
            for replica in self.replicas:
                (self.ready.add if replica.is_ready() else self.ready.discard)(replica)
            time.sleep(0.25)

    def _accept(self):
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self._pass_on, args=(connection,), daemon=True).start()

    def _pass_on(self, connection):
        for _ in range(len(self.replicas)):
            ready = [r for r in self.replicas if r in self.ready]
            if not ready:
                break
            self.turn += 1
            try:
                to = socket.create_connection((ready[self.turn % len(ready)].address, 8443), timeout=2)
            except OSError:
                continue
            to.settimeout(None)
            threading.Thread(target=copy, args=(to, connection), daemon=True).start()
            copy(connection, to)
            return
        connection.close()


def copy(source, to):
    try:
        while data := source.recv(65536):
            to.sendall(data)
    except OSError:
        pass
    for end in (source, to):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Replica:
    """One `ephor serve` on a loopback address of its own."""

    def __init__(self, ephor, state, index, number, common):
        self.address, self.state, self.number = f"127.0.{index}.{10 + number}", state, number
        self.args = [ephor, "serve", *common, "--listen", f"{self.address}:8443", "--metrics-listen", f"{self.address}:8000"]
        self.process = None

    def start(self):
        with open(os.path.join(self.state, f"log/ephor-{self.number}.log"), "ab") as log:
            env = dict(os.environ, POD_NAME=f"ephor-{self.number}")
            self.process = subprocess.Popen(self.args, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env)

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://{self.address}:8000/readyz", timeout=1) as answer:
                return answer.status == 200
        except OSError:
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()


POLICY = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "faults-validate"},
          "spec": {"background": False, "rules": []}}
FORMS = ("a", "b")


def policy(form):
    """Denies ConfigMaps of the load that say `never` or the form."""
    rule = {"name": "check", "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "namespaces": ["faults"]}}]},
            "validate": {"failureAction": "Enforce", "message": f"form {form}",
                         "deny": {"conditions": {"any": [{"key": "{{ request.object.data.say }}", "operator": "AnyIn", "value": ["never", form]}]}}}}
    return {**POLICY, "spec": {**POLICY["spec"], "rules": [rule]}}


GENERATE = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "faults-generate"}, "spec": {"rules": [{
    "name": "out", "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "namespaces": ["faults-triggers"]}}]},
    "generate": {"apiVersion": "v1", "kind": "ConfigMap", "name": "{{ request.object.metadata.name }}", "namespace": "faults-out",
                 "synchronize": True, "data": {"data": {"of": "{{ request.object.metadata.name }}"}}}}]}}


class Load:
    """The client that knows the answer."""

    def __init__(self, api):
        self.api, self.lock = api, threading.Lock()
        self.counts, self.wrong = collections.Counter(), []
        self.windows = [(0.0, {"a"})]  # from when on which forms may be in force
        self.triggers, self.unsure, self.created, self.version = [], set(), collections.defaultdict(set), 0
        self.ends, self.pause, self.outage = False, 0.05, False
        self.last = time.time()

    def start(self):
        for target, count in ((self.request, 4), (self.change, 1), (self.trigger, 2), (self.watch, 1)):
            for number in range(count):
                threading.Thread(target=target, args=(number,), daemon=True).start()

    def forms(self, begin, end):
        """Forms that may have been in force between two moments."""
        with self.lock:
            windows = list(self.windows)
        found = set()
        for number, (at, forms) in enumerate(windows):
            until = windows[number + 1][0] if number + 1 < len(windows) else end + 1
            if at <= end and until >= begin:
                found |= forms
        return found

    def request(self, _number):
        while not self.ends:
            say = random.choice(["never", "never", "always", "a", "b"])
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "load-"}, "data": {"say": say}}
            begin = time.time()
            try:
                code, answer = self.api.call("POST", "/api/v1/namespaces/faults/configmaps?dryRun=All", body)
            except OSError:
                self.count("no answer")
                time.sleep(0.2)
                continue
            self.judge(say, code, answer.get("message", ""), begin, time.time())
            time.sleep(self.pause)

    def judge(self, say, code, message, begin, end):
        allowed = code < 300
        if not allowed and "failed calling webhook" in message:
            return self.count("denied by failure policy")
        if not allowed and "denied the request" not in message:
            return self.count("error of the API server")
        forms = self.forms(begin, end)
        right = {"never": {False}, "always": {True}}.get(say) or {say != form for form in forms}
        if allowed in right:
            return self.count("allowed" if allowed else "denied")
        what = "WRONGLY allowed" if allowed else "WRONGLY denied"
        with self.lock:
            self.wrong.append((what, say, sorted(forms), round(end - self.windows[-1][0], 2), " ".join(message.split())[:160]))
        return self.count(what)

    def count(self, what):
        with self.lock:
            self.counts[what] += 1
            if what in ("allowed", "denied"):
                self.last = time.time()

    def change(self, _number):
        form = "a"
        path = "/apis/kyverno.io/v1/clusterpolicies/faults-validate"
        while not self.ends:
            time.sleep(2)
            new = FORMS[1 - FORMS.index(form)]
            with self.lock:
                self.windows.append((time.time(), {"a", "b"}))
            while not self.ends:
                try:
                    code, answer = self.api.call("PATCH", path, {"spec": policy(new)["spec"]}, kind="application/merge-patch+json")
                    if code == 200:
                        break
                except OSError:
                    pass
                time.sleep(0.5)
            form = new
            time.sleep(SETTLE)
            while self.outage and not self.ends:
                time.sleep(0.2)
            with self.lock:
                self.counts["policy changes"] += 1
                self.windows.append((time.time(), {form}))

    def trigger(self, number):
        made = 0
        while not self.ends:
            name, made = f"t-{number}-{made}", made + 1
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
            try:
                code, _ = self.api.call("POST", "/api/v1/namespaces/faults-triggers/configmaps", body)
                if code == 201:
                    with self.lock:
                        self.triggers.append(name)
            except OSError:
                with self.lock:
                    self.unsure.add(name)  # it may have been created
            time.sleep(0.4)

    def watch(self, _number):
        """Every object that is created for a trigger, by its uid. A gap of the watch is closed by a list."""
        path = "/api/v1/namespaces/faults-out/configmaps"
        while not self.ends:
            try:
                _, found = self.api.call("GET", path)
                for item in found.get("items", []):
                    self.see(item)
                version = found["metadata"]["resourceVersion"]
                at = self.api.connect(30)
                at.request("GET", f"{path}?watch=1&resourceVersion={version}&timeoutSeconds=25")
                for line in at.getresponse():
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        break
                    if event["type"] == "ADDED":
                        self.see(event["object"])
            except (OSError, ValueError, KeyError, http.client.HTTPException):
                time.sleep(0.2)

    def see(self, item):
        meta = item["metadata"]
        if meta["name"] != "kube-root-ca.crt":
            with self.lock:
                self.created[meta["name"]].add(meta["uid"])

    def take(self):
        with self.lock:
            counts, self.counts = self.counts, collections.Counter()
        return counts


class Faults:
    """The phases: each breaks something, and returns when all is repaired."""

    def __init__(self, clusters, api, load, replicas):
        self.clusters, self.api, self.load, self.replicas = clusters, api, load, replicas
        self.index, self.state = clusters.states[0]

    def pid(self, name):
        with open(os.path.join(self.state, "pid", name + ".pid"), encoding="utf-8") as f:
            return int(f.read())

    def quiet(self):
        time.sleep(15)

    def replicas_killed(self):
        for replica in self.replicas:
            replica.kill()
            time.sleep(4)
            replica.start()
            until(replica.is_ready, 60, "a replica is ready after its restart")
            time.sleep(4)

    def api_server_restarted(self):
        """Killed, and started 20 seconds later."""
        pid = self.pid("apiserver")
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            args = [part.decode() for part in f.read().split(b"\0")[:-1]]
        os.kill(pid, signal.SIGKILL)
        time.sleep(20)
        self.start_api_server(args)

    def start_api_server(self, args):
        with open(os.path.join(self.state, "log/apiserver.log"), "ab") as log:
            process = subprocess.Popen(args, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.state, start_new_session=True)
        with open(os.path.join(self.state, "pid/apiserver.pid"), "w", encoding="utf-8") as f:
            f.write(str(process.pid))
        until(self.api_is_ready, 180, "the API server is ready")

    def api_is_ready(self):
        try:
            return self.api.call("GET", "/readyz", timeout=5)[0] == 200
        except OSError:
            return False

    def stopped(self, name, seconds):
        pid = self.pid(name)
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(pid, signal.SIGCONT)
        until(self.api_is_ready, 180, "the API server is ready")

    def api_server_stopped(self):
        self.stopped("apiserver", 20)

    def etcd_slow(self):
        for _ in range(3):
            self.stopped("etcd", 4)
            time.sleep(3)

    def watch_expired(self):
        """What a replica has watched is compacted while it is stopped, and the API server starts without it."""
        replica = self.replicas[0]
        replica.process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(8)
            with open(f"/proc/{self.pid('apiserver')}/cmdline", "rb") as f:
                args = [part.decode() for part in f.read().split(b"\0")[:-1]]
            _, found = self.api.call("GET", "/api/v1/namespaces/faults/configmaps")
            os.kill(self.pid("apiserver"), signal.SIGKILL)
            body = json.dumps({"revision": found["metadata"]["resourceVersion"], "physical": True}).encode()
            urllib.request.urlopen(f"http://127.0.{self.index}.1:2379/v3/kv/compaction", data=body, timeout=20).read()
            self.start_api_server(args)
        finally:
            replica.process.send_signal(signal.SIGCONT)

    def run(self, phase):
        self.load.outage = phase not in ("quiet", "replicas")
        {"quiet": self.quiet, "replicas": self.replicas_killed, "api-server-restarted": self.api_server_restarted,
         "api-server-stopped": self.api_server_stopped, "etcd-slow": self.etcd_slow, "watch-expired": self.watch_expired}[phase]()
        repaired = time.time()
        until(lambda: self.load.last > repaired, 60, "requests are answered again")
        until(lambda: all(r.is_ready() for r in self.replicas), 60, "all replicas are ready")
        recovered = time.time() - repaired
        time.sleep(RECOVERY)
        self.load.outage = False
        time.sleep(2 * SETTLE)
        return recovered


def until(holds, seconds, what, every=0.2):
    end = time.time() + seconds
    while not holds():
        if time.time() > end:
            raise RuntimeError(f"not within {seconds} s: {what}")
        time.sleep(every)


def settled(api, load):
    """Every trigger that is there has its object, and no request waits: the triggers without one, those with several."""
    def lost():
        _, triggers = api.call("GET", "/api/v1/namespaces/faults-triggers/configmaps")
        _, found = api.call("GET", "/api/v1/namespaces/faults-out/configmaps")
        there = {i["metadata"]["name"]: i.get("data", {}) for i in found["items"]}
        names = {i["metadata"]["name"] for i in triggers["items"]} - {"kube-root-ca.crt"}
        return names, {n for n in names if there.get(n) != {"of": n}}, set(there) - names - {"kube-root-ca.crt"}
    end = time.time() + 60
    while time.time() < end and lost()[1]:
        time.sleep(1)
    names, without, foreign = lost()
    missing = set(load.triggers) - names
    twice = {n: len(u) for n, u in load.created.items() if len(u) > 1}
    return names, without, foreign, missing, twice


def certificate(state):
    """One certificate for all replicas, as a Secret has it."""
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, cwd=state, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "hook-ca.key", "-out", "hook-ca.crt", "-days", "30", "-subj", "/CN=faults")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "hook.key", "-out", "hook.csr", "-subj", "/CN=kyverno-svc.kyverno.svc")
    with open(os.path.join(state, "hook.ext"), "w", encoding="utf-8") as f:
        f.write("subjectAltName=DNS:kyverno-svc.kyverno.svc\n")
    openssl("x509", "-req", "-in", "hook.csr", "-CA", "hook-ca.crt", "-CAkey", "hook-ca.key", "-CAcreateserial", "-days", "30", "-out", "hook.crt", "-extfile", "hook.ext")


def flags(state):
    """The flags of start-engine.sh, with one certificate for all replicas."""
    kubeconfig = {name: os.path.join(state, f"kyverno-{name}-controller.kubeconfig") for name in ("admission", "reports", "background", "cleanup")}
    return ["--kubeconfig", kubeconfig["admission"], "--reports-kubeconfig", kubeconfig["reports"], "--background-kubeconfig", kubeconfig["background"],
            "--cleanup-kubeconfig", kubeconfig["cleanup"], "--kinds", "all", "--kyverno-names", "--take-over", "--exclude-namespace", "",
            "--service-namespace", "kyverno", "--service-name", "kyverno-svc", "--lease", "kyverno/kyverno", "--native-policies", "none",
            "--tls-cert", os.path.join(state, "hook.crt"), "--tls-key", os.path.join(state, "hook.key"), "--ca-bundle", os.path.join(state, "hook-ca.crt"),
            "--shutdown-delay", "0s", "--reports", "--events"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("ephor", type=os.path.abspath)
    p.add_argument("--replicas", type=int, default=3)
    p.add_argument("--only", default=",".join(PHASES))
    p.add_argument("--logs", help="folder for the logs of the replicas")
    o = p.parse_args()
    needed()
    clusters, replicas = None, []
    try:
        clusters = Clusters(o.ephor, 1, engine=False)
        clusters.start(0)
        clusters.configure(0, "standard")
        index, state = clusters.states[0]
        api = Api(state, index)
        certificate(state)
        replicas = [Replica(o.ephor, state, index, n, flags(state)) for n in range(o.replicas)]
        for replica in replicas:
            replica.start()
        forwarder = Forwarder(f"127.0.{index}.2", replicas)
        until(lambda: len(forwarder.ready) == len(replicas), 90, "the replicas are ready")
        until(lambda: create(api, policy("a")) and create(api, GENERATE), 60, "the policies are created")
        for namespace in ("faults", "faults-triggers", "faults-out"):
            create(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        until(lambda: all(is_ready(api, name) for name in ("faults-validate", "faults-generate")), 60, "the policies are ready")
        return phases(o, clusters, api, replicas)
    finally:
        for replica in replicas:
            if replica.process:
                replica.kill()
        if clusters:
            if o.logs:
                os.makedirs(o.logs, exist_ok=True)
                for replica in replicas:
                    name = f"log/ephor-{replica.number}.log"
                    os.replace(os.path.join(state, name), os.path.join(o.logs, os.path.basename(name)))
            clusters.stop(None)


def create(api, item):
    paths = {"Namespace": "/api/v1/namespaces", "ClusterPolicy": "/apis/kyverno.io/v1/clusterpolicies"}
    code, answer = api.call("POST", paths[item["kind"]], item)
    if code not in (201, 409):
        print("create:", answer.get("message"), file=sys.stderr)
    return code in (201, 409)


def is_ready(api, name):
    _, found = api.call("GET", f"/apis/kyverno.io/v1/clusterpolicies/{name}")
    return any(c["type"] == "Ready" and c["status"] == "True" for c in found.get("status", {}).get("conditions", []))


def phases(o, clusters, api, replicas):
    load = Load(api)
    faults = Faults(clusters, api, load, replicas)
    load.start()
    bad = 0
    columns = ["allowed", "denied", "WRONGLY allowed", "WRONGLY denied", "denied by failure policy", "error of the API server", "no answer", "policy changes"]
    print("| fault | " + " | ".join(columns) + " | recovered after |", "|" + "---|" * (len(columns) + 2), sep="\n", flush=True)
    for phase in o.only.split(","):
        recovered = faults.run(phase)
        counts = load.take()
        bad += counts["WRONGLY allowed"] + counts["WRONGLY denied"]
        print(f"| {phase} | " + " | ".join(str(counts[c]) for c in columns) + f" | {recovered:.1f} s |", flush=True)
    load.ends = True
    time.sleep(3)
    names, without, foreign, missing, twice = settled(api, load)
    print(f"\ntriggers: {len(load.triggers)} accepted, {len(names)} there; without their object: {len(without)}, created more than once: {len(twice)}, "
          f"objects of no trigger: {len(foreign)}, accepted and not there: {len(missing)}")
    for what, found in (("without", without), ("more than once", twice), ("of no trigger", foreign), ("not there", missing)):
        for name in sorted(found)[:10]:
            print(f"  {what}: {name}")
    for line in load.wrong[:20]:
        print("  wrong:", *line)
    ended = [r.number for r in replicas if r.process.poll() is not None]
    if ended:
        print(f"  wrong: replicas {ended} have ended")
    return 1 if bad or without or foreign or missing or twice or ended else 0


if __name__ == "__main__":
    run(main)
