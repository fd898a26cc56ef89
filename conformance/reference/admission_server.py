"""An API server that answers random requests of admission.

In: a folder with kube-apiserver and etcd, and cases: objects, policies and bindings of a namespace each, and requests. Out: for each case what admission
saw of its requests, what the API said of its policies, and the answers. All cases of a batch are there at once; a policy selects the namespace of its case.

Requests are sent as dry runs twice: without policies, while a webhook takes down what admission sees, and with them, while it takes down what they left.
"""
import base64
import collections
import concurrent.futures
import copy
import http.client
import json
import re
import sys
import threading
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kube"))
from cluster import Cluster  # noqa: E402
from hooks import Hooks  # noqa: E402

GROUP = "admissionregistration.k8s.io"
ZEROS = "00000000-0000-0000-0000-000000000000"
MOMENT = "2026-01-01T00:00:00Z"
UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CLOCKS = {"creationTimestamp", "deletionTimestamp", "lastTransitionTime", "startTime", "time", "timeAdded"}
# What other parts of the server write into the audit log.
OTHERS = ("authorization.k8s.io/", "authentication.k8s.io/", "authentication.kubernetes.io/", "pod-security.kubernetes.io/", "apiserver.latency.k8s.io/", "k8s.io/deprecated", "k8s.io/removed-release")
# The server has heard of a policy, but does not use it yet.
NOT_READY = ("not yet synced", "There can be a delay", "failed to find resource referenced by paramKind")
BY_POLICY = re.compile(r"AdmissionPolicy '|denied request: |failed to configure (policy|binding)|not yet ready to handle|denied the request")
AUDIT = """apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, users: ["system:apiserver"]}
- {level: Metadata, verbs: [create, update, patch, delete, deletecollection, get]}
"""


def is_policy(obj):
    return obj["apiVersion"].startswith(GROUP + "/")


def plain(value, generated=(), key=None):
    """A value of the server without what differs from run to run."""
    if isinstance(value, dict):
        return {k: plain(value[k], generated, k) for k in sorted(value) if k != "managedFields"}
    if isinstance(value, list):
        return [plain(v, generated) for v in value]
    if not isinstance(value, str):
        return value
    if key == "resourceVersion" and value.isdigit():
        return "1"
    if key in CLOCKS and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", value) and abs(int(value[:4]) - time.gmtime().tm_year) <= 1:
        return MOMENT
    text = UID.sub(ZEROS, value)
    text = re.sub(r"\b([A-Z][A-Za-z]*?)\d{12,}\b", r"\1<N>", text)
    for prefix in generated:
        text = re.sub(re.escape(prefix) + "[bcdfghjklmnpqrstvwxz2456789]{5}\\b", prefix + "XXXXX", text)
    return text


def changes(before, after):
    """A JSON merge patch."""
    out = {}
    for key in sorted(set(before) | set(after)):
        if key not in after:
            out[key] = None
        elif key not in before:
            out[key] = after[key]
        elif before[key] != after[key]:
            both = isinstance(before[key], dict) and isinstance(after[key], dict)
            out[key] = changes(before[key], after[key]) if both else after[key]
    return out


class Observer(Hooks):
    """Webhooks that allow everything and take down what they are sent, by case."""

    def __init__(self, folder):
        super().__init__(folder)
        self.seen = collections.defaultdict(list)
        # A small answer in two packets waits for its acknowledgement.
        self.server.RequestHandlerClass.wbufsize = 65536
        self.server.RequestHandlerClass.disable_nagle_algorithm = True
        self.server.daemon_threads = True

    def answer(self, name, path, review):
        request = review["request"]
        obj = request.get("object") or request.get("oldObject") or {}
        case = request.get("namespace") or (obj.get("metadata") or {}).get("labels", {}).get("case") or request.get("name")
        self.seen[name, case].append(request)
        response = {"uid": request["uid"], "allowed": True}
        return 200, json.dumps({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response})

    def take(self, name, case):
        return self.seen.pop((name, case), [])


class Reply:
    def __init__(self, answer, body):
        self.code = answer.status
        self.headers = answer.headers
        try:
            self.object = json.loads(body)
        except ValueError:
            self.object = {"message": body.decode(errors="replace")}

    @property
    def message(self):
        return self.object.get("message", "") if self.code >= 400 else ""

    def status(self, generated=()):
        """Code, reason, words and causes of an answer."""
        out = {"code": self.code}
        if self.code < 400:
            return out
        details = self.object.get("details") or {}
        if self.object.get("reason"):
            out["reason"] = self.object["reason"]
        out["message"] = self.object.get("message", "")
        about = {k: details[k] for k in ("group", "kind", "name", "retryAfterSeconds") if details.get(k)}
        if about:
            out["details"] = about
        if details.get("causes"):
            out["causes"] = [{k: c[k] for k in ("field", "reason", "message") if k in c} for c in details["causes"]]
        return {k: plain(v, generated) for k, v in out.items()}

    def warnings(self):
        """What policies warn of, and unknown fields."""
        texts = []
        for text in self.headers.get_all("Warning") or []:
            try:
                text = text.encode("latin-1").decode()
            except UnicodeError:
                pass
            text = re.sub(r"\\(.)", r"\1", text.split('"', 1)[1][:-1])
            if text.startswith(("unknown field", "Validation failed")):
                texts.append(plain(text))
        return texts


class Server(Cluster):
    """An API server with a namespace for each case of a batch, and the definitions of custom resources that they need."""

    def __init__(self, bin_dir, size, definitions):
        super().__init__(bin_dir, [
            "--audit-policy-file=audit.yaml", "--audit-log-path=audit.log", "--audit-log-mode=blocking",
            "--enable-priority-and-fairness=false", "--endpoint-reconciler-type=none",
        ])
        Path(self.path("audit.yaml")).write_text(AUDIT)
        self.size, self.definitions = size, definitions
        self.local = threading.local()
        self.pool = concurrent.futures.ThreadPoolExecutor(10)
        self.turn, self.namespaces = 0, {}

    def send(self, method, path, body=None, headers=None, query=None):
        """Sends a request over the connection of this thread."""
        head = {"Authorization": "Bearer admin-token", "Accept": "application/json", "Content-Type": "application/json", **(headers or {})}
        path += "?" + urllib.parse.urlencode(query, doseq=True) if query else ""
        data = body if body is None or isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        for last in (False, True):
            try:
                if not hasattr(self.local, "http"):
                    self.local.http = http.client.HTTPSConnection(self.url.split("//")[1], context=self.tls, timeout=60)
                self.local.http.request(method, path, None if data is None else data.encode(), head)
                answer = self.local.http.getresponse()
                body = answer.read()
                if answer.will_close or answer.status == 101:
                    self.local.http.close()
                    del self.local.http
                return Reply(answer, body)
            except (OSError, http.client.HTTPException):
                self.local.__dict__.pop("http", None)
                if last:
                    raise

    def __enter__(self):
        super().__enter__()
        try:
            self._prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _prepare(self):
        self.release = re.match(r"v(\d+\.\d+)", self.send("GET", "/version").object["gitVersion"]).group(1)
        self.observer = Observer(self.dir)
        self.discover()
        for definition in self.definitions:
            self.create(definition)
        self.until("kinds of the definitions", self._knows_definitions)
        for kind in ("Mutating", "Validating"):
            self.create(self._webhook(kind))
        self._create_signals()

        def namespace(i):
            labels, notes = {"env": ("prod", "dev", "test")[i % 3], "n": str(i)}, {"owner": f"team-{i % 5}"}
            made = self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"r-{i}", "labels": labels, "annotations": notes}})
            self.namespaces[f"r-{i}"] = plain(made)
        self.each(namespace, range(self.size))
        # Until every part of the server knows the new kinds.
        time.sleep(8)
        self.audit = open(self.path("audit.log"), encoding="utf-8")

    def _knows_definitions(self):
        self.discover()
        return all((f"{d['spec']['group']}/{v['name']}", d["spec"]["names"]["kind"]) in self.types for d in self.definitions for v in d["spec"]["versions"])

    def _webhook(self, kind):
        own = "request.userInfo.username != 'system:apiserver' && !request.resource.group.startsWith('apiextensions') && request.?namespace.orValue('') != 'signals'"
        hook = {
            "name": "observe.zzz.test", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore", "timeoutSeconds": 10,
            "clientConfig": {"url": f"{self.observer.url}/{kind}", "caBundle": self.observer.ca_bundle}, "matchConditions": [{"name": "own", "expression": own}],
            "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}],
        }
        if kind == "Mutating":
            hook["reinvocationPolicy"] = "IfNeeded"
        return {"apiVersion": GROUP + "/v1", "kind": kind + "WebhookConfiguration", "metadata": {"name": "zzz-observe"}, "webhooks": [hook]}

    def discover(self):
        """Where objects of a kind lie: the path of the version, the resource, whether it has namespaces."""
        versions = [("/api/v1", "v1")]
        for group in self.send("GET", "/apis").object["groups"]:
            versions += [("/apis/" + v["groupVersion"], v["groupVersion"]) for v in group["versions"]]
        self.types = {}
        for path, version in versions:
            for r in self.send("GET", path).object.get("resources", []):
                if "/" not in r["name"]:
                    self.types[version, r["kind"]] = (path, r["name"], r["namespaced"])

    def paths(self, obj):
        """The paths of the collection and of the object."""
        path, resource, namespaced = self.types[obj["apiVersion"], obj["kind"]]
        metadata = obj.get("metadata") or {}
        path += f"/namespaces/{metadata.get('namespace') or 'default'}" if namespaced else ""
        return f"{path}/{resource}", f"{path}/{resource}/{urllib.parse.quote(metadata.get('name', ''), safe='')}"

    def create(self, obj):
        """Creates an object that others need."""
        for _ in range(30):
            reply = self.send("POST", self.paths(obj)[0], obj)
            if reply.code < 300:
                return reply.object
            if reply.code not in (404, 409, 429, 500, 503):
                break
            time.sleep(0.1)
        raise RuntimeError(f"{obj['kind']} {obj['metadata'].get('name')}: {reply.code} {reply.message[:300]}")

    def remove(self, obj):
        """Deletes an object, whatever holds it."""
        path = self.paths(obj)[1]
        for _ in range(20):
            reply = self.send("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
            if reply.code >= 400 and reply.code not in (409, 429, 500):
                return
            now = self.send("GET", path)
            if now.code == 200 and now.object["metadata"].get("finalizers"):
                now.object["metadata"]["finalizers"] = []
                self.send("PUT", path, now.object)

    def each(self, act, items):
        """Acts on all items at once; an exception is a result."""
        def guarded(item):
            try:
                return act(item)
            except Exception as error:  # pylint: disable=broad-except
                return error
        return list(self.pool.map(guarded, items))

    # When a change of policies has reached admission, a pair of policies that was changed after it shows.

    def _create_signals(self):
        """Policies that show their turn, and policies that hold kinds of parameters: without them the server stops to watch these."""
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "signals", "labels": {"signals": "yes"}}})
        where = {"namespaceSelector": {"matchLabels": {"signals": "yes"}}, "resourceRules": [{"apiGroups": ["coordination.k8s.io"], "apiVersions": ["v1"], "resources": ["leases"], "operations": ["CREATE"]}]}
        nowhere = {"resourceRules": [{"apiGroups": ["hold.test"], "apiVersions": ["v1"], "resources": ["holds"], "operations": ["CREATE"]}]}
        change = [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'m': '0'}}]"}}]

        def both(kind, name, spec, bound):
            head = {"apiVersion": GROUP + "/v1", "metadata": {"name": name}}
            self.create({**head, "kind": kind + "AdmissionPolicy", "spec": spec})
            self.create({**head, "kind": kind + "AdmissionPolicyBinding", "spec": {"policyName": name, **bound}})
        both("Validating", "zzz-signal", {"matchConstraints": where, "validations": [{"expression": "false"}]}, {"validationActions": ["Warn"]})
        both("Mutating", "zzz-signal", {"matchConstraints": where, "reinvocationPolicy": "Never", "mutations": change}, {})
        custom = [(f"{d['spec']['group']}/{d['spec']['versions'][0]['name']}", d["spec"]["names"]["kind"]) for d in self.definitions]
        for version, kind in [("v1", "ConfigMap"), ("v1", "Secret"), *custom]:
            spec = {"paramKind": {"apiVersion": version, "kind": kind}, "validations": [{"expression": "true"}], "matchConstraints": nowhere}
            both("Validating", "zzz-hold-" + kind.lower(), spec, {"validationActions": ["Deny"], "paramRef": {"name": "none", "parameterNotFoundAction": "Allow"}})

    def settle(self):
        """Waits until all changes of policies are used."""
        self.turn += 1
        shown = f"turn {self.turn} {self.turn}"
        for kind, spec in [
            ("validating", {"validations": [{"expression": "false", "messageExpression": f"'turn {self.turn} ' + object.metadata.?labels[?'m'].orValue('-')"}]}),
            ("mutating", {"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": f"[JSONPatch{{op: 'add', path: '/metadata/labels', value: {{'m': '{self.turn}'}}}}]"}}]}),
        ]:
            path = f"/apis/{GROUP}/v1/{kind}admissionpolicies/zzz-signal"
            self.send("PATCH", path, {"spec": spec}, {"Content-Type": "application/merge-patch+json"})
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "s", "namespace": "signals"}}
        self.until("policies that are used", lambda: any(shown in w for w in self.send("POST", self.paths(lease)[0], lease, query={"dryRun": "All"}).warnings()))
        time.sleep(0.3)

    # A batch of cases.

    def request(self, request, live):
        """Sends a request of a case."""
        obj, verb, sub = request.get("object"), request["verb"], request.get("subresource")
        whole, one = self.paths(obj if verb == "create" and not sub else request.get("existing") or obj)
        query, head = {"dryRun": "All", **request.get("query", {})}, {}
        if "as" in request:
            user = request["as"]
            head = {"Impersonate-User": user["user"], "Impersonate-Group": user["groups"][0]}
            head.update({"Impersonate-Uid": user["uid"]} if "uid" in user else {})
            head.update({"Impersonate-Extra-" + k: v for k, v in user.get("extra", {}).items()})
        path, body = (f"{one}/{sub}" if sub else one), copy.deepcopy(obj)
        if verb == "update":
            if sub in (None, "status") and one in live:
                body["metadata"]["resourceVersion"] = live[one]
            return self.send("PUT", path, body, head, query)
        if verb == "create":
            return self.send("POST", path if sub else whole, body, head, query)
        if verb == "patch":
            return self.send("PATCH", path, request["patch"], {**head, "Content-Type": request.get("patchType", "application/merge-patch+json")}, query)
        if verb in ("delete", "deletecollection"):
            return self.send("DELETE", one if verb == "delete" else whole, None, head, query)
        query.pop("dryRun")
        upgrade = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"} if sub in ("exec", "attach", "portforward") else {}
        return self.send("POST", path, None, {**head, **upgrade}, query)

    def batch(self, cases):
        """Answers of all cases; those that the server refuses before admission have none."""
        self.each(self._first, cases)
        sent = [c for c in cases if c["reviews"] or c.get("types")]
        policies = [(c, o) for c in sent for o in c["setup"] if is_policy(o)]
        for are_bindings in (True, False):
            pairs = [(c, o) for c, o in policies if o["kind"].endswith("Binding") == are_bindings]
            for (case, _), created in zip(pairs, self.each(self._create_policy, pairs)):
                case["broken"] |= isinstance(created, Exception)
        self.settle()
        for case, probed in zip(sent, self.each(self._probe, sent)):
            case["broken"] |= isinstance(probed, Exception)
        self.each(self._observe, [c for c in sent if c.get("types")])
        whole = [c for c in sent if not c["broken"]]
        results = [[] for _ in whole]
        # Policies come in another order after every change of them.
        for turn in range(max([c.get("turns", 1) for c in whole], default=1)):
            if turn:
                self.settle()
            wanted = [i for i, c in enumerate(whole) if turn < c.get("turns", 1)]
            for i, answers in zip(wanted, self.each(self._answers, [whole[i] for i in wanted])):
                results[i].append(answers)
        self._read_audit(results)
        self.each(self._clean, cases)
        self.settle()
        return [self._record(case, answers) for case, answers in zip(whole, results) if not any(isinstance(a, Exception) for a in answers)]

    def _first(self, case):
        """Creates what is there before, and takes down what admission sees."""
        case.update(made=[], live={}, reviews=[], refused=[], stored=[], broken=False)
        for obj in case["setup"]:
            if not is_policy(obj) and obj["kind"] != "CustomResourceDefinition":
                case["made"].append(obj)
                self.create(obj)
        for request in case["requests"]:
            existing = request.get("existing")
            if existing and self.paths(existing)[1] not in case["live"]:
                case["made"].append(existing)
                case["live"][self.paths(existing)[1]] = self.create(existing)["metadata"]["resourceVersion"]
        reviews = []
        for request in case["requests"]:
            self.observer.take("Mutating", case["namespace"]), self.observer.take("Validating", case["namespace"])
            self.request(request, case["live"])
            first, last = self.observer.take("Mutating", case["namespace"]), self.observer.take("Validating", case["namespace"])
            if not first:
                return
            seen = plain(first[0], generated(request))
            seen["uid"] = ZEROS
            stored = plain(last[0], generated(request)).get("object") if last else seen.get("object")
            more = changes(seen["object"], stored) if stored and seen.get("object") and stored != seen["object"] else None
            reviews.append((seen, more))
        case["reviews"] = reviews

    def _create_policy(self, pair):
        case, obj = pair
        reply = self.send("POST", self.paths(obj)[0], obj)
        if reply.code < 300:
            case["stored"].append(obj)
            return
        # The place of each part is that in the list of the case.
        index = next(i for i, other in enumerate(case["setup"]) if other is obj)
        case["refused"].append({"index": index, "kind": obj["kind"], "name": obj["metadata"]["name"], **reply.status()})

    def _probe(self, case):
        """Finds the requests of a case whose requests depend on what its policies answer."""
        if "probe" in case and not case["refused"]:
            base, (seen, more) = case["requests"][0], case["reviews"][0]
            case["requests"] = case["probe"](lambda request: self._until_ready(case, request))
            case["reviews"] = []
            for request in case["requests"]:
                obj = copy.deepcopy(seen["object"])
                obj["spec"] = request["object"]["spec"]
                case["reviews"].append(({**seen, "object": obj}, more))
            assert all(r["object"].keys() == base["object"].keys() for r in case["requests"])

    def run_controllers(self):
        """Starts what writes warnings about types into policies."""
        args = ["--controllers=validatingadmissionpolicy-status-controller", "--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=1000"]
        self.run("controllers", [f"{self.bin}/kube-controller-manager", "--kubeconfig", self.kubeconfig, *args])

    def _observe(self, case):
        """Waits for the warnings of a policy."""
        for obj in case["stored"]:
            for _ in range(200):
                status = self.send("GET", self.paths(obj)[1]).object.get("status") or {}
                if status.get("observedGeneration"):
                    break
                time.sleep(0.1)
            case["observed"] = plain(status)

    def _until_ready(self, case, request):
        for _ in range(12):
            self.observer.take("Mutating", case["namespace"]), self.observer.take("Validating", case["namespace"])
            reply = self.request(request, case["live"])
            if not any(text in reply.message for text in NOT_READY):
                break
            time.sleep(0.5)
        return reply

    def _answers(self, case):
        return [self._answer(case, request, *review) for request, review in zip(case["requests"], case["reviews"])]

    def _answer(self, case, request, seen, more):
        reply = self._until_ready(case, request)
        left = self.observer.take("Mutating", case["namespace"])
        out = {"name": request["name"], "request": seen, "allowed": reply.code < 400}
        if not out["allowed"]:
            out["by"] = "policy" if BY_POLICY.search(reply.message) else "server" if left else "mutation"
            # What the server refuses after the phases of admission was allowed there.
            out["allowed"] = out["by"] == "server"
        out.update(reply.status(generated(request)))
        if out.get("by") == "server" and not case.get("validates") and not reply.message.startswith("the namespace of the provided"):
            for key in ("reason", "details", "causes"):
                out.pop(key, None)
            out.update(code=299, message=f"server: {reply.code}")
        if reply.warnings():
            out["warnings"] = reply.warnings()
        if case.get("audited"):
            out["_audit"] = reply.headers.get("Audit-Id")
        if more:
            out["completion"] = more
        changed = plain(left[-1], generated(request)).get("object") if left else None
        if changed is not None and changed != seen.get("object") and out["allowed"]:
            out["object"] = changed
        return out

    def _read_audit(self, results):
        time.sleep(0.2)
        notes = {}
        for line in self.audit:
            event = json.loads(line) if line.endswith("\n") else {}
            notes[event.get("auditID")] = event.get("annotations") or {}
        for answers in results:
            for one in (a for turn in answers if isinstance(turn, list) for a in turn):
                found = notes.get(one.pop("_audit", None)) or {}
                own = {k: plain(v) for k, v in sorted(found.items()) if not k.startswith(OTHERS) and "webhook" not in k}
                if own:
                    one["auditAnnotations"] = own

    def _clean(self, case):
        for obj in sorted(case["stored"], key=lambda o: not o["kind"].endswith("Binding")):
            self.send("DELETE", self.paths(obj)[1])
        for obj in reversed(case["made"]):
            self.remove(obj)

    def _record(self, case, turns):
        """A case as `crates/conformance` reads it, with the case itself: other answers that the server gave in another order of policies stand with the first."""
        answers = turns[0]
        for i, first in enumerate(answers):
            others = []
            for turn in turns[1:]:
                if turn[i] != first and turn[i] not in others:
                    others.append(turn[i])
            if others:
                first["others"] = others
        more = {"observedStatus": {"policy": case["observed"]}} if case.get("types") and case["stored"] else {}
        return {
            **more, "id": case["id"], "setup": case["setup"], "requests": case["requests"], "setupErrors": sorted(case["refused"], key=lambda e: e["index"]),
            "namespaces": {case["namespace"]: self.namespaces[case["namespace"]]}, "expected": answers, "case": case,
        }


def generated(request):
    """The beginning of the name that the server generates for a request."""
    prefix = ((request.get("object") or {}).get("metadata") or {}).get("generateName")
    return [prefix] if prefix else []
