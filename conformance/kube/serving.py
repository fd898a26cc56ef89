"""A running `ephor serve`, and what tests of it share."""

import base64
import http.server
import json
import os
import subprocess
import threading
import time
import urllib.error
import urllib.request

from cluster import free_ports
from hooks import certificates


def config_map(name, namespace="shop", labels=None, data=None, **more):
    meta = {"name": name, "namespace": namespace, **more}
    if labels:
        meta["labels"] = labels
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "1"} if data is None else data}


def deployment(name, replicas=1, image="registry.test/app:v1", labels=None):
    return {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop", "labels": labels or {"team": "a"}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": image}]}}},
    }


def pod(name, image="registry.test/app:v1", labels=None, namespace="shop"):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "labels": labels or {"team": "a"}},
            "spec": {"containers": [{"name": "c", "image": image}]}}


class Checks:
    """Counts the checks, and continues after a failed one."""

    def __init__(self):
        self.requests = 0
        self.failed = []

    def that(self, what, condition, details=""):
        self.requests += 1
        if not condition:
            self.failed.append(f"{what}: {details}")
            print(f"  WRONG {what}: {details}", flush=True)

    def allowed(self, what, answer, warnings=None):
        self.that(what, answer.ok, f"{answer.code} {answer.message}")
        if warnings is not None and answer.ok:
            self.that(what + " (warnings)", answer.warnings == warnings, answer.warnings)
        return answer

    def denied(self, what, answer, *parts):
        details = f"{answer.code} {answer.message!r}"
        self.that(what, not answer.ok and all(p in answer.message for p in parts), details)
        return answer


class Serve:
    """`ephor serve`. Without other flags it knows of the namespaces from files."""

    def __init__(self, cluster, ephor, name, policies, flags=None):
        self.cluster, self.ephor = cluster, ephor
        self.policies = cluster.path(name + "-policies")
        os.makedirs(self.policies)
        for policy in policies.values():
            self.write(policy["metadata"]["name"], policy)
        self.data = cluster.path(name + "-data")
        os.makedirs(self.data)
        self.flags = flags
        for namespace in () if flags else ("shop", "lab"):
            found = cluster.get({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}).object
            with open(os.path.join(self.data, namespace + ".json"), "w", encoding="utf-8") as f:
                json.dump(found, f)
        self.port, self.metrics = free_ports(2)
        self.crt, self.key, self.ca = certificates(cluster.dir)
        self.start()

    def write(self, name, policy):
        path = os.path.join(self.policies, name + ".yaml")
        with open(path + ".tmp", "w", encoding="utf-8") as f:
            json.dump(policy, f)
        os.replace(path + ".tmp", path)

    def start(self):
        self.process = self.cluster.run("serve", [
            self.ephor, "serve", "--policies", self.policies, "--listen", f"127.0.0.1:{self.port}",
            "--metrics-listen", f"127.0.0.1:{self.metrics}", "--data", self.data, "--tls-cert", self.crt, "--tls-key", self.key,
            "--shutdown-delay", "0s", "--grace-period", "5s", "--http-blocklist", "169.254.169.254/32", *(self.flags or []),
        ])
        self.cluster.until("ephor serve is ready", lambda: self.get("/readyz") == 200 or self.process.poll() is not None)
        assert self.process.poll() is None, self.cluster.log("serve")

    def get(self, path):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}{path}", timeout=5).status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def page(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}{path}", timeout=5) as answer:
            return answer.read().decode()

    def has(self, policy):
        """Whether a policy is in use."""
        lines = self.page("/metrics").splitlines()
        return any(line.startswith("kyverno_policy_rule_info_total{") and f'policy_name="{policy}"' in line for line in lines)

    def bundle(self):
        with open(self.ca, "rb") as f:
            return base64.b64encode(f.read()).decode()

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=20)

    def register(self, probe=None):
        """Registers the webhooks that the policies need; the probe is refused once they are in force."""
        args = [self.ephor, "webhook-config", self.policies, "--url", f"https://127.0.0.1:{self.port}", "--ca-bundle", self.ca,
                "--apply", "--kubeconfig", self.cluster.kubeconfig, "--webhook-timeout", "5"]
        ran = subprocess.run(args, capture_output=True, text=True, timeout=60, check=False)
        assert ran.returncode == 0, ran.stderr
        bad = probe or config_map("probe", labels={"deny": "yes"})
        self.cluster.until("the configuration is in force", lambda: not self.cluster.create(bad, dry_run=True).ok)

    def unregister(self):
        for kind, name in (("Mutating", "mutating"), ("Validating", "validating")):
            self.cluster.delete({"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration",
                                 "metadata": {"name": f"ephor-resource-{name}-webhook-cfg"}})


class SlowService:
    """Answers every GET with an empty object, after a while; a context manager."""

    def __init__(self, seconds):
        self.ends = threading.Event()
        ends = self.ends

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                ends.wait(seconds)
                try:
                    self.send_response(200)
                    self.end_headers()
                    self.wfile.write(b"{}")
                except OSError:
                    pass  # the client has given up

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.server.shutdown()
