#!/usr/bin/env python3
"""Compares `ephor serve` with Kyverno 1.19.1's own admission handlers on random AdmissionReviews of real policies.

usage: server.py --ephor BIN --hookgold BIN --seed N [--groups 40] [--requests 300] [--out FILE] [--record FILE] ROOT…

Each group loads about 25 policies found below the ROOTs (YAML files, and JSON lines with `policy` and `resource`) into both programs, with namespaces, role bindings,
ConfigMaps and PolicyExceptions, and sends both the same requests: resources of the same places, changed at random, created, updated, deleted, through subresources, by
several users, in several namespaces. Compared are, path by path: whether a request is allowed, the whole message, the warnings, and the patched object. The
reference runs policies in an order of its own; where it does not answer the same twice, it is run up to eight times and any of its answers counts.

Prints running counts: `same`, `FAIL-OPEN` (the reference refuses, ephor allows), `over-deny`, `message`, `warnings`, `patch`. Each difference is a line of --out;
--record writes cases that agree, in the format of `conformance/server/README.md`. Exit code 1 when anything but `same` was counted. Needs PyYAML."""
import argparse, base64, collections, copy, http.client, json, os, random, re, shutil, socket, subprocess, sys, tempfile, time
import yaml

KINDS = {"ClusterPolicy", "Policy", "ValidatingPolicy"}
PLURALS = {"Pod": "pods", "Deployment": "deployments", "ConfigMap": "configmaps", "Secret": "secrets", "Service": "services", "Namespace": "namespaces", "Ingress": "ingresses",
           "StatefulSet": "statefulsets", "DaemonSet": "daemonsets", "Job": "jobs", "CronJob": "cronjobs", "ReplicaSet": "replicasets", "ServiceAccount": "serviceaccounts",
           "Role": "roles", "RoleBinding": "rolebindings", "ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings",
           "PersistentVolumeClaim": "persistentvolumeclaims", "PersistentVolume": "persistentvolumes", "NetworkPolicy": "networkpolicies", "Node": "nodes",
           "StorageClass": "storageclasses", "Widget": "widgets"}
CLUSTER = {"Namespace", "ClusterRole", "ClusterRoleBinding", "PersistentVolume", "Node", "StorageClass"}
VERSIONS = {"Pod": "v1", "Deployment": "apps/v1", "ConfigMap": "v1", "Secret": "v1", "Service": "v1", "Namespace": "v1", "Ingress": "networking.k8s.io/v1", "StatefulSet": "apps/v1",
            "DaemonSet": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1", "ReplicaSet": "apps/v1", "ServiceAccount": "v1", "Role": "rbac.authorization.k8s.io/v1",
            "RoleBinding": "rbac.authorization.k8s.io/v1", "ClusterRole": "rbac.authorization.k8s.io/v1", "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
            "PersistentVolumeClaim": "v1", "PersistentVolume": "v1", "NetworkPolicy": "networking.k8s.io/v1", "Node": "v1", "StorageClass": "storage.k8s.io/v1", "Widget": "example.com/v1"}
# What needs a network, a clock or chance, or writes to the cluster: neither program can answer it alike here.
UNFIT = ("verifyImages", "apiCall", "globalReference", "imageRegistry", "image.Get", "image.get", "getImageData", "resource.", "http.", "globalContext", "time_", "random(", "x509",
         "manifests", "authorizer", "image(", "images.", '"images"', "parseImageReference", "now()", "jwt", "generator.")
NAMESPACES = [{"apiVersion": "v1", "kind": "Namespace", "metadata": m} for m in (
    {"name": "default", "labels": {"env": "prod", "pod-security.kubernetes.io/enforce": "baseline", "a": "b", "kubernetes.io/metadata.name": "default"}},
    {"name": "kube-system", "labels": {"kubernetes.io/metadata.name": "kube-system"}}, {"name": "x", "labels": {"kubernetes.io/metadata.name": "x", "env": "dev", "team": "red"}})]
RBAC = "rbac.authorization.k8s.io"
BINDINGS = [
    {"apiVersion": RBAC + "/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "ca"}, "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
     "subjects": [{"kind": "User", "name": "kubernetes-admin", "apiGroup": RBAC}, {"kind": "Group", "name": "system:masters", "apiGroup": RBAC}]},
    {"apiVersion": RBAC + "/v1", "kind": "RoleBinding", "metadata": {"name": "rb", "namespace": "default"}, "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "edit"},
     "subjects": [{"kind": "ServiceAccount", "name": "sa", "namespace": "default"}]},
    {"apiVersion": RBAC + "/v1", "kind": "RoleBinding", "metadata": {"name": "rb2", "namespace": "default"}, "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "dev"},
     "subjects": [{"kind": "User", "name": "alice", "apiGroup": RBAC}]}]
USERS = [{"username": "alice", "groups": ["system:authenticated"]},
         {"username": "system:serviceaccount:default:sa", "groups": ["system:serviceaccounts", "system:authenticated"], "extra": {"a": ["b"]}},
         {"username": "kubernetes-admin", "groups": ["system:masters"]},
         {"username": "system:serviceaccount:kyverno:kyverno-background-controller", "groups": ["system:serviceaccounts"]},
         {"username": "system:node:n1", "groups": ["system:nodes"]}]
TEXTS = ["a", "x", "latest", "nginx", "nginx:latest", "ghcr.io/x/y:1", "docker.io/library/nginx", "root", "default", "kube-system", "Always", "NET_ADMIN", "ALL", "Unconfined",
         "RuntimeDefault", "/var/run/docker.sock", "/", "runtime/default", "true", "false", "100m", "1Gi", "0", "1", "65535", "", "team-a", "*", "app", "LoadBalancer", "NodePort",
         "ClusterIP", "system:masters", "cluster-admin", "get", "secrets", "foo.com", "*.foo.com", "a/b", "{{ x }}", "1.2.3.4", "Größe", "two\nlines", "a: b", "- x", "no"]

LABEL = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")


def documents(roots):
    """(place, policy or resource) of all files; a line of JSON lines is a place of its own."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for root in roots:
        if os.path.isfile(root):
            walk = [(os.path.dirname(root), [], [os.path.basename(root)])]
        else:
            walk = os.walk(root)
        for d, dirs, files in walk:
            dirs.sort()
            for f in sorted(files):
                path = os.path.join(d, f)
                try:
                    if f.endswith((".yaml", ".yml")):
                        for x in yaml.load_all(open(path, encoding="utf8"), Loader=loader):
                            if isinstance(x, dict) and isinstance(x.get("kind"), str):
                                yield d, json.loads(json.dumps(x, default=str))
                    elif f.endswith(".jsonl"):
                        for i, line in enumerate(open(path, encoding="utf8")):
                            case = json.loads(line)
                            if isinstance(case.get("policy"), dict) and isinstance(case.get("resource"), dict):
                                policy = copy.deepcopy(case["policy"])
                                if not isinstance(policy.get("metadata"), dict): continue
                                policy["metadata"]["name"] = re.sub(r"[^a-z0-9-]", "-", "%s-%s" % (f[:-6], case.get("id", i))).strip("-").lower()
                                yield "%s:%d" % (path, i), policy
                                yield "%s:%d" % (path, i), case["resource"]
                                if isinstance(case.get("old"), dict): yield "%s:%d" % (path, i), case["old"]
                except Exception:
                    continue


class Reference:
    def __init__(self, program, policies, objects, exceptions):
        self.given = (program, policies, objects, exceptions)
        self.start()

    def start(self):
        program, policies, objects, exceptions = self.given
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.setup = self.send({"setup": {"policies": policies, "objects": objects, "exceptions": exceptions}})

    def send(self, line):
        try:
            self.process.stdin.write(json.dumps(line).encode() + b"\n"); self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except OSError:
            answer = b""
        return json.loads(answer) if answer else {"error": "died"}

    def review(self, request):
        answer = self.send({"request": request})
        if answer.get("error") == "died":
            self.close(); self.start()
        return answer

    def close(self):
        self.process.kill(); self.process.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, program, files, objects):
        self.dir = tempfile.mkdtemp(prefix="server-diff-")
        policies = os.path.join(self.dir, "policies"); os.mkdir(policies)
        for name, text in files.items():
            open(os.path.join(policies, name), "w").write(text)
        data = os.path.join(self.dir, "data.yaml")
        open(data, "w").write("\n---\n".join(json.dumps(o) for o in objects))
        # Another program can take a free port before the server does: it ends then, and is started on other ports.
        if not any(self.start(program, policies, data) for _ in range(5)):
            raise RuntimeError(f"{program} serve does not start with the policies in {policies}")
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def start(self, program, policies, data):
        """Whether the server runs."""
        self.port, self.health = free_port(), free_port()
        self.process = subprocess.Popen([program, "serve", "--policies", policies, "--data", data, "--plain-http", "--listen", f"127.0.0.1:{self.port}",
                                         "--metrics-listen", f"127.0.0.1:{self.health}", "--log-level", "error"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while self.process.poll() is None and time.monotonic() < deadline:
            try: self.get("/livez"); return True
            except OSError: time.sleep(0.05)
        self.process.kill(); self.process.wait()
        return False

    def get(self, path):
        c = http.client.HTTPConnection("127.0.0.1", self.health, timeout=20); c.request("GET", path)
        r = c.getresponse(); body = r.read(); c.close()
        return r.status, body.decode("utf8", "replace")

    def review(self, path, request):
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
        self.connection.request("POST", path, body, {"Content-Type": "application/json"})
        r = self.connection.getresponse(); text = r.read()
        return json.loads(text)["response"] if r.status == 200 else {"allowed": f"http {r.status}", "status": {"message": text.decode()}}

    def answer(self, request, reviews):
        """Its answers on the paths that hookgold calls, joined in the same way."""
        out = {"allowed": True, "warnings": []}
        messages = []
        for path in ["/validate/fail", "/validate/ignore"] + (["/vpol/" + "/".join(reviews)] if reviews else []):
            r = self.review(path, request)
            out["warnings"] += r.get("warnings") or []
            if r["allowed"] is not True:
                out["allowed"] = r["allowed"]
                messages.append((r.get("status") or {}).get("message", ""))
        out["message"] = "\n".join(messages)
        if request["operation"] != "DELETE":
            r = self.review("/mutate", request)
            out["mutate"], out["mutmsg"] = r["allowed"], (r.get("status") or {}).get("message", "")
            out["patch"] = base64.b64decode(r["patch"]).decode() if r.get("patch") else ""
        else:
            out["mutate"], out["mutmsg"], out["patch"] = True, "", ""
        return out

    def stop(self):
        self.process.kill(); self.process.wait(); shutil.rmtree(self.dir, ignore_errors=True)


def apply_patch(document, text):
    """RFC 6902, as far as both programs use it."""
    box = {"": copy.deepcopy(document)}
    def split(path): return [p.replace("~1", "/").replace("~0", "~") for p in path.split("/")]
    for op in json.loads(text or "[]"):
        keys = split(op["path"]); parent = box
        for k in keys[:-1]:
            parent = parent[int(k)] if isinstance(parent, list) else parent[k]
        k = keys[-1]
        if isinstance(parent, list):
            at = len(parent) if k == "-" else int(k)
            if op["op"] == "add": parent.insert(at, op["value"])
            elif op["op"] == "replace": parent[at] = op["value"]
            elif op["op"] == "remove": parent.pop(at)
        elif op["op"] in ("add", "replace"): parent[k] = op["value"]
        elif op["op"] == "remove": parent.pop(k)
    return box[""]


def request(rnd, number, obj=None, old=None, op=None, sub=None, user=None, ns="default"):
    o = obj if obj is not None else old
    group, _, version = o["apiVersion"].rpartition("/")
    kind = o["kind"]
    r = {"uid": f"u{number}", "kind": {"group": group, "version": version, "kind": kind}, "resource": {"group": group, "version": version, "resource": PLURALS[kind]},
         "operation": op, "userInfo": user, "object": obj, "oldObject": old, "dryRun": False, "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}}
    r["name"] = o["metadata"].get("name", "")
    if kind not in CLUSTER: r["namespace"] = ns
    elif kind == "Namespace": r["namespace"] = r["name"]
    if sub: r["subResource"] = sub
    r["requestKind"], r["requestResource"] = r["kind"], r["resource"]
    if sub == "scale":
        scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": r["name"], "namespace": ns}, "spec": {"replicas": rnd.choice([1, 5])}}
        r["kind"] = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
        r["object"], r["oldObject"] = scale if obj else None, scale if old else None
    return r


def paths(o, pre=()):
    out = []
    if isinstance(o, dict):
        for k, v in o.items(): out.append(pre + (k,)); out += paths(v, pre + (k,))
    elif isinstance(o, list):
        for i, v in enumerate(o): out.append(pre + (i,)); out += paths(v, pre + (i,))
    return out


def at(o, path):
    for k in path: o = o[k]
    return o


def changed(o, rnd, times):
    """Changes that a typed API would accept."""
    o = copy.deepcopy(o)
    for _ in range(times):
        found = [p for p in paths(o) if p[0] not in ("apiVersion", "kind") and p not in (("metadata",), ("metadata", "name"), ("spec",))]
        if not found: return o
        p = rnd.choice(found); parent = at(o, p[:-1]); k = p[-1]; v = parent[k]; dice = rnd.random()
        try:
            if dice < 0.25 and k not in ("name", "containers", "image"): del parent[k]
            elif isinstance(v, bool): parent[k] = not v
            elif isinstance(v, str):
                others = [x for x in found if isinstance(at(o, x), str)]
                parent[k] = rnd.choice(TEXTS) if rnd.random() < .6 else (at(o, rnd.choice(others)) if rnd.random() < .5 else v + rnd.choice(["x", "1", "-x", ":1"]))
                if k == "name" and parent[k] == "": parent[k] = v
            elif isinstance(v, (int, float)): parent[k] = rnd.choice([0, 1, 2, 3, 5, 80, 1000, 65534, v + 1])
            elif isinstance(v, list):
                b = rnd.random()
                if v and b < .4: v.append(copy.deepcopy(rnd.choice(v)))
                elif v and b < .8: v.pop(rnd.randrange(len(v)))
                else: rnd.shuffle(v)
            elif isinstance(v, dict):
                if k in ("labels", "annotations", "matchLabels", "nodeSelector"): v[rnd.choice(["app", "team", "a.b/c", "app.kubernetes.io/name", "owner"])] = rnd.choice(TEXTS)
                elif "containers" in v:
                    v[rnd.choice(["hostNetwork", "hostPID", "hostIPC", "automountServiceAccountToken"])] = rnd.choice([True, False])
                    if rnd.random() < .3: v["initContainers"] = copy.deepcopy(v["containers"])
                    if rnd.random() < .2: v["ephemeralContainers"] = copy.deepcopy(v["containers"])
                    if rnd.random() < .3: v["securityContext"] = {"runAsNonRoot": rnd.choice([True, False]), "runAsUser": rnd.choice([0, 1000])}
                    if rnd.random() < .3: v["volumes"] = [{"name": "v", "hostPath": {"path": rnd.choice(["/", "/var/run/docker.sock", "/etc"])}}]
                elif "image" in v:
                    v["securityContext"] = {rnd.choice(["privileged", "allowPrivilegeEscalation", "readOnlyRootFilesystem", "runAsNonRoot"]): rnd.choice([True, False]),
                                            "capabilities": {rnd.choice(["add", "drop"]): [rnd.choice(["ALL", "NET_ADMIN", "CHOWN", "all"])]}}
                    if rnd.random() < .3: v["resources"] = {rnd.choice(["limits", "requests"]): {rnd.choice(["cpu", "memory"]): rnd.choice(["100m", "1", "1Gi", "500Mi", "0"])}}
                    if rnd.random() < .2: v["ports"] = [{"containerPort": 80, "hostPort": rnd.choice([0, 80])}]
        except Exception:
            pass
    return o


def sent(o):
    """What an API server would still send: metadata an object with a text for a name, labels of texts."""
    m = o.get("metadata")
    if not isinstance(m, dict): o["metadata"] = m = {"name": "n"}
    for k in ("name", "namespace", "generateName"):
        if k in m and not isinstance(m[k], str): m.pop(k)
    for k in ("labels", "annotations"):
        if k in m:
            if not isinstance(m[k], dict): m.pop(k)
            else: m[k] = {a: b for a, b in m[k].items() if isinstance(b, str) and (k == "annotations" or LABEL.fullmatch(b))}
    for k in list(m):
        if k not in ("name", "namespace", "generateName", "labels", "annotations", "ownerReferences", "finalizers", "uid"): m.pop(k)
    for k in ("ownerReferences", "finalizers"):
        if not isinstance(m.get(k, []), list): m.pop(k)
    return o


def acting(policy, rnd):
    """The policy, enforcing, warning or as its author left it."""
    d = copy.deepcopy(policy); s = d["spec"]; dice = rnd.random()
    if d["kind"] == "ValidatingPolicy":
        if dice < .8: s["validationActions"] = ["Deny"]
        elif dice < .9: s["validationActions"] = ["Warn"]
    elif dice < .8:
        s["validationFailureAction"] = "Enforce"; s.pop("validationFailureActionOverrides", None)
        for r in s.get("rules") or []:
            if isinstance(r, dict) and isinstance(r.get("validate"), dict): r["validate"].pop("failureAction", None); r["validate"].pop("failureActionOverrides", None)
    elif dice < .9:
        s["emitWarning"] = True
    if d["kind"] != "ValidatingPolicy" and rnd.random() < .1: s["failurePolicy"] = "Ignore"
    return d


def fit(d):
    text = json.dumps(d)
    if any(word in text for word in UNFIT): return False
    rules = d["spec"].get("rules") or []
    # Controllers mutate existing objects and generate objects, after the request.
    return not any(isinstance(r, dict) and (r.get("generate") or (isinstance(r.get("mutate"), dict) and r["mutate"].get("targets"))) for r in rules)


def exception(policy, rnd):
    """A PolicyException for a policy, or none."""
    name = policy["metadata"]["name"]
    if policy["kind"] == "ValidatingPolicy":
        spec = {"policyRefs": [{"name": name, "kind": "ValidatingPolicy"}], "matchConditions": [{"name": "a", "expression": rnd.choice(
            ["object.metadata.name.size() % 2 == 0", "has(object.metadata.labels)", "request.operation == 'UPDATE'", "object.metadata.?namespace.orValue('') == 'x'"])}]}
        return {"apiVersion": "policies.kyverno.io/v1", "kind": "PolicyException", "metadata": {"name": "e-" + name, "namespace": "default"}, "spec": spec}
    key = name if policy["kind"] == "ClusterPolicy" else policy["metadata"].get("namespace", "default") + "/" + name
    rules = [r.get("name") for r in policy["spec"].get("rules") or [] if isinstance(r, dict) and isinstance(r.get("name"), str)]
    if not rules: return None
    block = rnd.choice([{"kinds": ["Pod"]}, {"kinds": ["Pod", "Deployment"], "namespaces": ["x"]}, {"kinds": ["*"], "names": ["*a*"]}, {"kinds": ["Pod"], "namespaceSelector": {"matchLabels": {"env": "prod"}}},
                        {"kinds": ["Deployment", "Pod"], "selector": {"matchLabels": {"app": "*"}}}])
    spec = {"exceptions": [{"policyName": key, "ruleNames": rnd.choice([["*"], rules[:1], [rules[0], "autogen-" + rules[0]]])}], "match": {"any": [{"resources": block}]}}
    if rnd.random() < .3:
        spec["conditions"] = {"any": [{"key": "{{ request.operation }}", "operator": "Equals", "value": "CREATE"}]}
    return {"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": {"name": "e-" + name, "namespace": "default"}, "spec": spec}


def doubles(v):
    """The reference rounds integers beyond 2^53 when it computes a patch; ephor keeps them."""
    if isinstance(v, dict): return {k: doubles(x) for k, x in v.items()}
    if isinstance(v, list): return [doubles(x) for x in v]
    return float(v) if isinstance(v, int) and not isinstance(v, bool) else v


def expected(want, obj):
    """An answer of the reference as `conformance/server` keeps it."""
    warnings = [w for w in want.get("warnings") or [] if not re.search(r"[\x00-\x1f\x7f]", w)]
    out = {"allowed": want["allowed"], "message": want.get("message") or "", "warnings": sorted(warnings, key=lambda w: json.dumps(w, ensure_ascii=False))}
    if obj is not None:
        out["mutate"], out["mutmsg"] = want.get("mutate"), want.get("mutmsg") or ""
        if want.get("patch"):
            out["object"] = apply_patch(obj, want["patch"])
    return out


def ordered(message):
    """The reference lists the violated controls of Pod Security in the order of a map."""
    return [sorted(part.rstrip("')") for part in line.split("(Forbidden reason: ")) if "(Forbidden reason: " in line else line for line in message.split("\n")]


FAILED_CONDITIONS = re.compile(r"^[^\s:][^:\n]*:\n(?:  .*failed to evaluate match conditions: .*\n)+", re.M)


def without_failed_conditions(got):
    """An API server refuses requests on which match conditions of a webhook fail; the reference's handlers leave the policy out."""
    message, found = FAILED_CONDITIONS.subn("", got["message"])
    if not found: return got
    return dict(got, message=message, allowed=False) if re.search(r"^  ", message, re.M) else dict(got, message="", allowed=True)


def differs(want, got, obj):
    """The first way in which two answers differ; None when they agree."""
    got = without_failed_conditions(got)
    if want["allowed"] != got["allowed"]:
        return "FAIL-OPEN" if want["allowed"] is False and got["allowed"] is True else "over-deny"
    if want.get("mutate") != got["mutate"]:
        return "FAIL-OPEN (mutate)" if want.get("mutate") is False else "over-deny (mutate)"
    if ordered(want.get("message") or "") != ordered(got["message"]): return "message"
    if (want.get("mutmsg") or "") != got["mutmsg"]: return "message (mutate)"
    # An API server drops warnings with control characters, and so does ephor.
    shown = [w for w in want.get("warnings") or [] if not re.search(r"[\x00-\x1f\x7f]", w)]
    # Many warnings are cut by both in the same way.
    if sum(map(len, shown)) <= 4096 and sorted(shown) != sorted(got["warnings"]): return "warnings"
    if (want.get("patch") or "") != got["patch"]:
        try:
            if doubles(apply_patch(obj, want.get("patch"))) == doubles(apply_patch(obj, got["patch"])): return None
        except Exception: pass
        return "patch"
    return None


def main():
    p = argparse.ArgumentParser()
    for name in ("ephor", "hookgold"): p.add_argument("--" + name, required=True)
    p.add_argument("--seed", type=int, required=True); p.add_argument("--groups", type=int, default=40); p.add_argument("--requests", type=int, default=300)
    p.add_argument("--policies", type=int, default=25); p.add_argument("--out", default="server-diff.jsonl"); p.add_argument("--record"); p.add_argument("--record-each", type=int, default=5)
    p.add_argument("roots", nargs="+")
    o = p.parse_args(); rnd = random.Random(o.seed)
    policies, resources, seen = [], [], set()
    for place, d in documents(o.roots):
        if d["kind"] in KINDS:
            meta = d.get("metadata") if isinstance(d.get("metadata"), dict) else {}
            key = (d["kind"], meta.get("name"), meta.get("namespace"))
            if isinstance(d.get("spec"), dict) and isinstance(meta.get("name"), str) and key not in seen and fit(d):
                seen.add(key); policies.append((place, d))
        elif d.get("apiVersion") and d["kind"] in PLURALS and isinstance(d.get("metadata"), dict):
            resources.append((place, d))
    pool = [d for _, d in resources if d["apiVersion"] == VERSIONS[d["kind"]]]
    print(len(policies), "policies,", len(resources), "resources", flush=True)
    counts, kinds, total = collections.Counter(), collections.Counter(), 0
    out = open(o.out, "w"); record = open(o.record, "w") if o.record else None
    for group in range(o.groups):
        # Cases of the engine are far more than policies of libraries: a third of a group are cases.
        cases = [c for c in policies if ".jsonl:" in c[0]]; library = [c for c in policies if ".jsonl:" not in c[0]]
        share = o.policies // 3 if cases and library else (o.policies if cases else 0)
        chosen = rnd.sample(library, min(o.policies - share, len(library))) + rnd.sample(cases, min(share, len(cases)))
        # The reference changes objects by policies in the order of a map: one that changes objects is enough.
        changing = [c for c in chosen if any(isinstance(r, dict) and r.get("mutate") for r in c[1]["spec"].get("rules") or [])]
        chosen = [c for c in chosen if c not in changing[1:]]
        # An API server lists policies in the order of their names; hookgold runs CEL policies as they are given.
        docs = sorted((acting(d, rnd) for _, d in chosen), key=lambda d: (d["metadata"].get("namespace", ""), d["metadata"]["name"]))
        exceptions = [e for e in (exception(d, rnd) for d in docs if rnd.random() < .15) if e]
        places = {place for place, _ in chosen}
        # The fake cluster of the reference takes each object once.
        maps = {}
        for place, d in resources:
            if place in places and d["kind"] == "ConfigMap":
                d = sent(copy.deepcopy(d)); d["metadata"].setdefault("namespace", "default")
                if isinstance(d["metadata"].get("name"), str) and all(isinstance(v, str) for v in (d.get("data") or {}).values()):
                    maps[(d["metadata"]["namespace"], d["metadata"]["name"])] = d
        objects = NAMESPACES + BINDINGS + list(maps.values())
        gold = Reference(o.hookgold, docs, objects, exceptions)
        refused = gold.setup.get("refused") or {}
        docs = [d for d in docs if d["metadata"]["name"] not in refused]
        # What ephor refuses is no difference of a server when the reference's API server would have refused it too: it is counted.
        files = {"p%03d.yaml" % i: json.dumps(d) for i, d in enumerate(docs)}
        probe = Server(o.ephor, files, objects); _, text = probe.get("/readyz"); probe.stop()
        for name in set(re.findall(r"/(p\d+\.yaml):", text)) & set(files):
            counts["refused by ephor only"] += 1
            out.write(json.dumps({"refused": [l for l in text.splitlines() if name in l], "policy": json.loads(files[name])}) + "\n"); files.pop(name)
        docs = [json.loads(t) for t in files.values()]
        gold.close()
        exceptions = [e for e in exceptions if any(e["metadata"]["name"] == "e-" + d["metadata"]["name"] for d in docs)]
        gold = Reference(o.hookgold, docs, objects, exceptions)
        if gold.setup.get("refused", {}).get("exception"):
            gold.close(); exceptions = []; gold = Reference(o.hookgold, docs, objects, [])
        for i, e in enumerate(exceptions): files["x%03d.yaml" % i] = json.dumps(e)
        server = Server(o.ephor, files, objects)
        reviews = [d["metadata"]["name"] for d in docs if d["kind"] == "ValidatingPolicy"]
        near = [d for place, d in resources if place in places]
        deaths, agreed = 0, []
        for i in range(o.requests):
            base = copy.deepcopy(rnd.choice(near if near and rnd.random() < .75 else pool)); base["apiVersion"] = VERSIONS[base["kind"]]
            ns = rnd.choice(["default"] * 6 + ["kube-system", "x"])
            def placed(x):
                if base["kind"] in CLUSTER: x["metadata"].pop("namespace", None)
                else: x["metadata"]["namespace"] = ns
                return x
            obj = placed(sent(changed(base, rnd, rnd.choice([0, 1, 1, 2, 3, 4])))); old = None
            op = rnd.choice(["CREATE"] * 6 + ["UPDATE"] * 4 + ["DELETE"])
            if op == "UPDATE": old = placed(sent(changed(base, rnd, rnd.choice([0, 1, 2, 3]))))
            if op == "DELETE": obj, old = None, obj
            sub = {"Pod": rnd.choice(["status", "ephemeralcontainers", "eviction"]), "Deployment": "scale"}.get(base["kind"]) if rnd.random() < .06 else None
            r = request(rnd, total, obj, old, op, sub, rnd.choice([USERS[0]] * 4 + USERS), ns)
            if rnd.random() < .03: r["dryRun"] = True
            want, got = gold.review(r), server.answer(r, reviews); total += 1
            if "error" in want:
                counts["error of the reference"] += 1
                if want["error"] == "died":
                    deaths += 1
                    out.write(json.dumps({"died": r, "policies": docs}) + "\n"); out.flush()
                    if deaths == 3: break
                continue
            how = differs(want, got, r["object"])
            for _ in range(8 if how else 0):
                again = gold.review(r)
                if "error" not in again and differs(again, got, r["object"]) is None: how = None; break
            if how:
                counts[how] += 1
                names = lambda t: set(re.findall(r"^([a-z0-9][^\s:]*):$", t or "", re.M)) | set(re.findall(r"Policy (\S+) (?:failed|error)", t or ""))
                about = names(want.get("message")) ^ names(got["message"])
                kinds[(how, tuple(sorted(about))[:3], op, sub)] += 1
                out.write(json.dumps({"how": how, "request": r, "reference": want, "ephor": got, "about": sorted(about), "policies": [d for d in docs if d["metadata"]["name"] in about] or docs,
                                      "exceptions": exceptions, "objects": objects}) + "\n"); out.flush()
            else:
                counts["same, allowed %s" % want["allowed"]] += 1
                # An answer of the reference that varies is not recorded.
                if record and i % o.record_each == 0 and sum(map(len, want.get("warnings") or [])) <= 4096 and differs(gold.review(r), got, r["object"]) is None:
                    agreed.append({"request": r, "expected": expected(want, r["object"])})
        if record and agreed:
            record.write(json.dumps({"group": "seed %d group %d" % (o.seed, group), "policies": docs, "exceptions": exceptions, "objects": objects, "requests": agreed}, ensure_ascii=False) + "\n")
        gold.close(); server.stop(); print(group + 1, total, dict(counts), flush=True)
    for k, v in kinds.most_common(40): print(v, *k)
    sys.exit(1 if any(not k.startswith(("same", "error of", "refused by")) for k in counts) else 0)


if __name__ == "__main__":
    main()
