"""A kube-apiserver with its etcd on loopback, and the requests that tests make of it.

Needs the programs that build.sh makes, and openssl. Ports are free ones; everything is in one folder, which is
removed in the end. There are no nodes and no controllers: objects are stored, and nothing becomes of them.
"""

import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

TOKENS = {"admin": "system:masters", "alice": "developers"}


def free_ports(count):
    """Free ports on loopback."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Answer:
    """The answer to a request: code, object, warnings."""

    def __init__(self, code, body, headers):
        self.code = code
        try:
            self.object = json.loads(body) if body.strip() else {}
        except ValueError:
            self.object = {"text": body}
        self.warnings = [text.split('"', 1)[1][:-1].replace('\\"', '"') for text in headers.get_all("Warning") or []]

    @property
    def ok(self):
        return self.code < 300

    @property
    def message(self):
        return "" if self.ok else self.object.get("message", "")


class Cluster:
    """Starts an API server, with more flags if there are any; a context manager."""

    def __init__(self, bin_dir, flags=()):
        self.bin = bin_dir
        self.flags = list(flags)
        self.dir = tempfile.mkdtemp(prefix="ephor-kube-")
        self.processes = []
        self.tls = ssl.create_default_context()
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE

    def path(self, name):
        return os.path.join(self.dir, name)

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def run(self, name, args):
        """Starts a program whose output goes to a file of the folder."""
        with open(self.path(name + ".log"), "wb") as log:
            process = subprocess.Popen(args, stdout=log, stderr=log, cwd=self.dir)
        self.processes.append(process)
        return process

    def log(self, name, lines=15):
        with open(self.path(name + ".log"), encoding="utf-8", errors="replace") as f:
            return "".join(f.readlines()[-lines:])

    def _start(self):
        etcd, peer, secure = free_ports(3)
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.dir}
        subprocess.run(["openssl", "genrsa", "-out", "sa.key", "2048"], **quiet)
        subprocess.run(["openssl", "rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub"], **quiet)
        with open(self.path("tokens.csv"), "w", encoding="utf-8") as f:
            for user, group in TOKENS.items():
                f.write(f'{user}-token,{user},{user},"{group}"\n')
        self.run("etcd", [
            os.path.join(self.bin, "etcd"), "--data-dir", self.path("etcd"),
            "--listen-client-urls", f"http://127.0.0.1:{etcd}", "--advertise-client-urls", f"http://127.0.0.1:{etcd}",
            "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
            "--initial-cluster", f"default=http://127.0.0.1:{peer}", "--unsafe-no-fsync", "--log-level", "error",
        ])
        self.server = self.run("apiserver", [
            os.path.join(self.bin, "kube-apiserver"), f"--etcd-servers=http://127.0.0.1:{etcd}",
            "--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=sa.pub",
            "--service-account-signing-key-file=sa.key", f"--secure-port={secure}", "--bind-address=127.0.0.1",
            # From 1.37 on no server is announced on loopback; nothing is announced here.
            "--advertise-address=10.99.0.1", "--endpoint-reconciler-type=none",
            "--cert-dir=" + self.path("certs"), "--authorization-mode=RBAC",
            "--token-auth-file=tokens.csv", "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount", *self.flags,
        ])
        self.url = f"https://127.0.0.1:{secure}"
        for _ in range(600):
            if self.server.poll() is not None:
                break
            try:
                if self.call("GET", "/readyz").code == 200:
                    self._write_kubeconfig()
                    return
            except OSError:
                pass
            time.sleep(0.2)
        raise RuntimeError("kube-apiserver does not get ready:\n" + self.log("apiserver"))

    def _write_kubeconfig(self):
        self.kubeconfig = self.path("kubeconfig")
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": self.url, "insecure-skip-tls-verify": True}}],
            "users": [{"name": user, "user": {"token": user + "-token"}} for user in TOKENS],
            "contexts": [{"name": user, "context": {"cluster": "test", "user": user}} for user in TOKENS],
            "current-context": "admin",
        }
        with open(self.kubeconfig, "w", encoding="utf-8") as f:
            json.dump(config, f)

    def call(self, method, path, body=None, user="admin", content_type="application/json"):
        """Sends a request."""
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        data = None if text is None else text.encode()
        headers = {"Authorization": f"Bearer {user}-token", "Content-Type": content_type, "Accept": "application/json"}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, context=self.tls, timeout=60) as answer:
                return Answer(answer.status, answer.read().decode(), answer.headers)
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.read().decode(), error.headers)

    def version(self):
        """What the API server says that it is: `v1.37.2`."""
        return self.call("GET", "/version").object["gitVersion"]

    def create(self, obj, dry_run=False, user="admin", subresource="", name=""):
        path = path_of(obj, subresource, name)
        return self.call("POST", path + ("?dryRun=All" if dry_run else ""), obj, user)

    def update(self, obj, dry_run=False, user="admin", subresource=""):
        path = path_of(obj, subresource, obj["metadata"]["name"])
        return self.call("PUT", path + ("?dryRun=All" if dry_run else ""), obj, user)

    def merge(self, obj, patch, user="admin"):
        path = path_of(obj, "", obj["metadata"]["name"])
        return self.call("PATCH", path, patch, user, "application/merge-patch+json")

    def get(self, obj):
        return self.call("GET", path_of(obj, "", obj["metadata"]["name"]))

    def delete(self, obj, user="admin"):
        return self.call("DELETE", path_of(obj, "", obj["metadata"]["name"]), user=user)

    def until(self, what, condition, seconds=30):
        """Waits until a condition holds."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.05)
        raise AssertionError(f"{what}: not within {seconds} seconds")


PLURALS = {
    "Namespace": ("namespaces", False),
    "ConfigMap": ("configmaps", True),
    "Secret": ("secrets", True),
    "Service": ("services", True),
    "Pod": ("pods", True),
    "Node": ("nodes", False),
    "Deployment": ("deployments", True),
    "ClusterRole": ("clusterroles", False),
    "NetworkPolicy": ("networkpolicies", True),
    "HorizontalPodAutoscaler": ("horizontalpodautoscalers", True),
    "ValidatingWebhookConfiguration": ("validatingwebhookconfigurations", False),
    "MutatingWebhookConfiguration": ("mutatingwebhookconfigurations", False),
    "LocalSubjectAccessReview": ("localsubjectaccessreviews", True),
}


def path_of(obj, subresource="", name=""):
    plural, namespaced = PLURALS[obj["kind"]]
    version = obj["apiVersion"]
    path = ("/apis/" if "/" in version else "/api/") + version
    if namespaced:
        path += "/namespaces/" + obj["metadata"].get("namespace", "default")
    path += "/" + plural
    if name:
        path += "/" + urllib.parse.quote(name)
    if subresource:
        path += "/" + subresource
    return path
