#!/usr/bin/env python3
"""Records which objects a kube-apiserver admits and in which form, and compares with what ephor says.

usage: admitted.py record FILE.jsonl.gz          records a server
       admitted.py compare PROGRAM FILE          compares a recording with ephor
       admitted.py changes OLD NEW               shows in what two recordings differ
       admitted.py fuzz PROGRAM N SEED           compares N random objects with ephor

The programs of kube-apiserver and etcd come from conformance/kube/build.sh, or from the folder that EPHOR_KUBE_BIN names; with
EPHOR_API_SERVER=URL a running server is used, whose token is admin-token. The tables of the server's release choose the variants.
PROGRAM is `cargo build -p ephor-kubernetes --example admitted`. Everything is sent as a dry run.

The first line of a recording is {"release"}. There is a line for each base object, {"base", "object", "form"}, and for each variant of
it, {"edits", and "form" or "refused"}: an edit is a path and a value, or a path alone, which is removed; a form is written as edits of
the base's form; "refused" is the first field that the server names, and its reason. Values that the server chooses are left out or are
those of ephor's examples. A base that the server refuses stands alone.
"""
import collections
import concurrent.futures
import contextlib
import copy
import gzip
import http.client
import json
import os
import random
import re
import ssl
import subprocess
import sys
import threading
from pathlib import Path

from admitted_bases import BASES, META

ROOT = Path(__file__).resolve().parents[2]
FACTS = ROOT / "crates/kubernetes/src"
OUT = FACTS / "admitted"
UID = "00000000-0000-0000-0000-000000000000"
TEXTS = ["", "a", "A_b", "a/b", "a.b", "a:b", "..", "../a", "/a", " a", "x" * 64, "x" * 254, "1", "-a", "a b", "10.0.0.1", "50%", "101%", "metadata.name"]
NUMBERS = [-1, 0, 1, 2, 255, 256, 511, 512, 65535, 65536, 2147483647, 2147483648, 4294967297]
AMOUNTS = ["", "0", "1", "-1", "1Gi", "1.5", "0.1m", "1500m", "a", 1, 1e3]


TYPES, TOPS, RESOURCES, ENUMS = {}, {}, {}, {}


def read_tables(release):
    """The tables of a release: types, which kind has which, resources, and the words of fields."""
    for table in (TYPES, TOPS, RESOURCES, ENUMS):
        table.clear()
    read_schema((FACTS / f"schema-{release}.txt").read_text())
    for row in (FACTS / f"kinds-{release}.txt").read_text().splitlines():
        if not row.startswith("#"):
            version, kind, plural, scope = row.split()[:4]
            RESOURCES[f"{version}/{kind}"] = (plural, scope == "N")
    read_enums((OUT / "rules.txt").read_text())


def read_schema(text):
    current = None
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if line.startswith(" "):
            name, rest = line[1:].split(" ", 1)
            current["fields"][name.rstrip("!")] = (rest.split("=", 1)[0].replace("!", ""), name.endswith("!"))
            continue
        words = line.split()
        current = TYPES.setdefault(words[0], {"fields": {}, "is": None})
        for word in words[1:]:
            key, _, value = word.partition("=")
            if key == "kind":
                TOPS[value] = words[0]
            elif key == "is":
                current["is"] = value


def read_enums(text):
    """The words that a table of rules lists for a field, by type and field."""
    names = []
    for line in text.splitlines():
        if line and not line.startswith((" ", "#")):
            names = line.split(",")
        for part in line.strip().split("; "):
            if " enum " in f" {part} ":
                words = part.split("enum ", 1)[1].split()
                for field in line.strip().split(" ")[0].split(","):
                    for name in names:
                        ENUMS[(name, field)] = words


read_tables("1.36")


class Server:
    """An API server: one that runs, or one that is started."""

    def __init__(self, url):
        self.host = url.split("//")[1]
        self.local = threading.local()
        version = self.send("GET", "/version")[1]
        self.release = f"{version['major']}.{version['minor'].rstrip('+')}"
        read_tables(self.release)

    def path(self, obj):
        """Where objects of this kind are created, in the namespace that an object names."""
        plural, namespaced = RESOURCES[f"{obj['apiVersion']}/{obj['kind']}"]
        version = obj["apiVersion"]
        base = "/api/v1" if version == "v1" else "/apis/" + version
        metadata = obj.get("metadata")
        namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
        if not isinstance(namespace, str) or not re.fullmatch(r"[a-z0-9.-]+", namespace):
            namespace = "default"
        return base + (f"/namespaces/{namespace}" if namespaced else "") + f"/{plural}"

    def create(self, obj):
        """Code and answer of a dry run."""
        return self.send("POST", self.path(obj) + "?dryRun=All", obj)

    def send(self, method, path, obj=None):
        """Code and answer of a request. PATCH: changes of some fields."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": "Bearer admin-token", "Content-Type": kind}
        for again in (True, False):
            try:
                if getattr(self.local, "connection", None) is None:
                    self.local.connection = http.client.HTTPSConnection(self.host, context=ssl._create_unverified_context())
                self.local.connection.request(method, path, None if obj is None else json.dumps(obj), headers)
                answer = self.local.connection.getresponse()
                return answer.status, json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                self.local.connection = None
                if not again:
                    raise
        return None


@contextlib.contextmanager
def server():
    running = os.environ.get("EPHOR_API_SERVER")
    if running:
        yield Server(running)
        return
    sys.path.insert(0, str(ROOT / "conformance/kube"))
    from cluster import Cluster

    programs = subprocess.run([ROOT / "conformance/kube/build.sh"], check=True, capture_output=True, text=True).stdout.strip()
    with Cluster(programs, ["--allow-privileged=true", "--advertise-address=10.99.0.1", "--endpoint-reconciler-type=none"]) as cluster:
        yield Server(cluster.url)


def parts(written):
    """List, map or neither, and the type inside."""
    for pattern, form in ((r"\[[^\]]*\](.*)", list), (r"\{[^}]*\}(.*)", dict)):
        found = re.fullmatch(pattern, written)
        if found:
            return form, found.group(1)
    return None, written


# Variants of objects.

def variants(written, value, path, holder=("", "")):
    """Edits of a value, each a path and a new value or a path alone."""
    form, inner = parts(written)
    if path and value is not None:
        yield [path]
    if path:
        for other in others(written, value, holder):
            if other != value or type(other) is not type(value):
                yield [path, other]
    if form is list and isinstance(value, list):
        for i, item in enumerate(value):
            yield from variants(inner, item, path + [i], holder)
    elif form is dict and isinstance(value, dict):
        for key, item in value.items():
            yield from variants(inner, item, path + [key], holder)
        for key in ("A_b", "a/b", "a b", "", "-", "cpu", "a.b/c", "a.kubernetes.io/b", "hugepages-2Mi", "x" * 64, "é"):
            if value:
                yield [path + [key], next(iter(value.values()))]
    elif inner in TYPES and not TYPES[inner]["is"] and isinstance(value, dict):
        for field, (of, _) in TYPES[inner]["fields"].items():
            if (not path and field in ("apiVersion", "kind")) or field in ("managedFields", "status"):
                continue
            yield from variants(of, value.get(field), path + [field], (inner, field))


def others(written, value, holder):
    """Other values of a type."""
    form, inner = parts(written)
    yield None
    if form is list:
        yield []
        yield {}
        if value:
            yield value + [value[0]]
            yield value[::-1]
        yield from ([item] for item in others(inner, None, holder) if item is not None)
    elif form is dict:
        yield {}
        yield []
        yield {"a": "1"}
        yield {"cpu": "1"}
    elif inner in TYPES and not TYPES[inner]["is"]:
        yield {}
        yield "a"
        for field, (of, _) in TYPES[inner]["fields"].items() if value is None else ():
            for some in {"string": ["a"], "int32": [1], "int64": [1], "bool": [True], "int-or-string": [1]}.get(of, [{}] if of in TYPES else []):
                yield {field: some}
    elif inner in ("string", "bytes", "time", "int-or-string"):
        yield from TEXTS
        yield from ENUMS.get(holder, [])
        yield from (NUMBERS if inner == "int-or-string" else [0])
    elif inner in ("int32", "int64", "double"):
        yield from NUMBERS
        yield "1"
        yield 1.5
    elif inner == "quantity":
        yield from AMOUNTS
    elif inner == "bool":
        yield from (True, False, "true")


def edited(obj, edits):
    out = copy.deepcopy(obj)
    for edit in edits:
        path, at = edit[0], out
        try:
            for step in path[:-1]:
                if isinstance(at, dict) and at.get(step) is None and not isinstance(step, int):
                    at[step] = {}
                at = at[step]
            if len(edit) == 1:
                del at[path[-1]]
            elif isinstance(at, list) and path[-1] == len(at):
                at.append(copy.deepcopy(edit[1]))
            else:
                at[path[-1]] = copy.deepcopy(edit[1])
        except (KeyError, IndexError, TypeError):
            pass
    return out


def differences(old, new, path=()):
    """The edits that change one value into the other."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(set(old) | set(new)):
            if key not in new:
                yield [[*path, key]]
            elif key not in old:
                yield [[*path, key], new[key]]
            else:
                yield from differences(old[key], new[key], (*path, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new)):
            yield from differences(a, b, (*path, i))
    elif old != new or type(old) is not type(new):
        yield [list(path), new]


# Answers.

def normal(obj, sent):
    """The form without what the server chooses."""
    metadata = obj["metadata"]
    uid = metadata.get("uid", "")
    for field in ("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields"):
        metadata.pop(field, None)
    if obj["kind"] == "Job":
        obj = json.loads(json.dumps(obj).replace(uid, UID))
    for condition in obj.get("status", {}).get("conditions", []) if obj["kind"] == "Pod" else []:
        condition.pop("lastTransitionTime", None)
    if obj["kind"] == "PersistentVolume":
        obj["status"].pop("lastPhaseTransitionTime", None)
    if obj["kind"] == "Service":
        spec, given = obj["spec"], sent.get("spec") or {}
        if "clusterIP" in spec and not given.get("clusterIP") and not given.get("clusterIPs"):
            spec["clusterIP"], spec["clusterIPs"] = "10.0.0.1", ["10.0.0.1"]
        for i, port in enumerate(spec.get("ports", [])):
            if "nodePort" in port and not given["ports"][i].get("nodePort"):
                port["nodePort"] = 32700 + i
    return obj


def answer(api, obj):
    """The form, or the field and the reason of a refusal."""
    status, found = api.create(obj)
    if status == 201:
        return normal(found, obj), None
    if status >= 500:
        return None, "no answer"
    causes = (found.get("details") or {}).get("causes") or [{}]
    return None, f"{causes[0].get('field', '')}: {causes[0].get('message') or found.get('message', '')}"[:120]


def shortened(refused):
    return re.sub(r"0x[0-9a-f]+", "0x", refused)[:80]


def record(path):
    counts = collections.Counter()
    with server() as api, concurrent.futures.ThreadPoolExecutor(8) as pool:
        lines = [{"release": api.release}]
        for name, obj in BASES:
            kind = f"{obj['apiVersion']}/{obj['kind']}"
            form, refused = answer(api, obj) if kind in TOPS else (None, "no such kind")
            if refused:
                lines.append({"base": name, "object": obj, "refused": shortened(refused)})
                continue
            lines.append({"base": name, "object": obj, "form": form})
            edits = {}
            for edit in variants(TOPS[kind], obj, []):
                if not skipped(name, edit[0]):
                    edits.setdefault(json.dumps(edited(obj, [edit]), sort_keys=True), edit)
            answers = pool.map(lambda edit: answer(api, edited(obj, [edit])), edits.values())
            for edit, (got, refused) in zip(edits.values(), answers):
                counts["accepted" if got else "refused"] += 1
                lines.append({"edits": [edit], **({"form": list(differences(form, got))} if got else {"refused": shortened(refused)})})
            print(name, len(edits), dict(counts), file=sys.stderr, flush=True)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    with open(path, "wb") as out, gzip.GzipFile("", "wb", 9, out, 0) as packed:
        packed.write(text.encode())
    print(len(lines), "lines", dict(counts))


def recording(path):
    """Release, and the lines of a recording: name, edits, what was sent, its form or the refusal."""
    with gzip.open(path, "rt") as lines:
        release, found = json.loads(next(lines))["release"], []
        for line in map(json.loads, lines):
            if "base" in line:
                base = line
                obj, answered = base["object"], (base.get("form"), base.get("refused"))
            else:
                obj = edited(base["object"], line["edits"])
                answered = (edited(base["form"], line["form"]), None) if "form" in line else (None, line["refused"])
            found.append((base["base"], line.get("edits", []), obj, answered))
    return release, found


def changes(old, new):
    """What two recordings answer differently to the same objects, and how many only one of them has."""
    (first, before), (second, after) = recording(old), recording(new)
    key = lambda line: (line[0], json.dumps(line[1], sort_keys=True))
    known = {key(line): line for line in before}
    counts = collections.Counter()
    for line in after:
        same = known.pop(key(line), None)
        if same is None:
            counts[f"only {second}"] += 1
            continue
        (form, refused), (then, why) = line[3], same[3]
        kind = f"{'refused' if then is None else 'admitted'}, {'refused' if form is None else 'admitted'}"
        if (form is None) != (then is None):
            print(f"{line[0]} {json.dumps(line[1])[:200]}: {kind}: {refused or why}")
        elif form != then:
            kind = "other form"
            print(f"{line[0]} {json.dumps(line[1])[:200]}: {json.dumps(list(differences(then, form)))[:300]}")
        elif refused != why:
            kind = "other words"
        else:
            kind = "the same"
        counts[kind] += 1
    counts[f"only {first}"] = len(known)
    print(dict(counts))


def skipped(name, path):
    """Pod specifications and metadata are varied in full in one object; in the others the outer fields are."""
    if path == ["metadata", "namespace"]:
        return True  # Whether a namespace exists is another question.
    if name in ("pod", "pod-plain", "pod-host", "pod-windows", "pod-gated"):
        return path[0] == "metadata" and name != "pod"
    if name in ("pod-volumes",):
        return path[:2] != ["spec", "volumes"]
    if path[0] == "metadata":
        return path[1:2] not in (["name"], ["namespace"], ["labels"], ["generateName"]) or name not in FIRST
    if name in ("deployment-pod", "job-pod"):
        # Which fields of a template differ from those of a Pod.
        return path[:4] != ["spec", "template", "spec"][:3] + path[3:4] or len(path) > 4
    return "template" in path and "spec" in path[path.index("template"):] and path[-1] != "spec"


FIRST = list({o["kind"]: n for n, o in reversed(BASES)}.values())


def ours(program, objects, release):
    text = "".join(json.dumps(o) + "\n" for o in objects)
    done = subprocess.run([program, release], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def report(names, objects, servers, program, release):
    details = int(os.environ.get("DETAILS", "60"))
    counts, causes, shown = collections.Counter(), collections.Counter(), 0
    for name, (form, refused), mine in zip(names, servers, ours(program, objects, release)):
        got = mine.get("form")
        for condition in got.get("status", {}).get("conditions", []) if got and got["kind"] == "Pod" else []:
            condition.pop("lastTransitionTime", None)
        if form is not None and got is not None:
            same = form == got
            counts["same form" if same else "other form"] += 1
            problem = None if same else json.dumps(list(differences(form, got)))[:300]
        elif form is None and got is not None:
            counts["accepted, refused by the server"] += 1
            problem = "server: " + refused
        elif form is None:
            counts["both refuse"] += 1
            continue
        else:
            counts["refused, accepted by the server"] += 1
            causes[re.sub(r"\[[^\]]*\]", "[]", mine["path"]) + ": " + mine["reason"]] += 1
            continue
        if problem and shown < details:
            shown += 1
            print(f"{name} {problem}")
    print(dict(counts))
    for cause, count in causes.most_common(details):
        print(f"  {count} {cause}")
    return counts


def compare(program, path):
    release, lines = recording(path)
    names = [f"{name} {json.dumps(edits)[:160]}" for name, edits, _, _ in lines]
    report(names, [line[2] for line in lines], [line[3] for line in lines], program, release)


def fuzz(program, count, seed):
    dice, names, objects, servers = random.Random(seed), [], [], []
    with server() as api:
        mutations = {name: list(variants(TOPS[f"{o['apiVersion']}/{o['kind']}"], o, [])) for name, o in BASES}
        for _ in range(count):
            name, obj = dice.choice(BASES)
            if dice.random() < 0.3:
                obj = edited(obj, [[["metadata"], {**META, **obj["metadata"]}]])
            # Edits that drop something keep an object admissible more often than others.
            gentle = [e for e in mutations[name] if len(e) == 1 and e[0] != ["metadata", "namespace"]]
            mutants = [e for e in mutations[name] if e[0] != ["metadata", "namespace"]]
            edits = [dice.choice(gentle if dice.random() < 0.4 else mutants) for _ in range(dice.randint(1, 4))]
            sent = edited(obj, edits)
            names.append(f"{name} {json.dumps(edits)[:300]}")
            objects.append(sent)
            servers.append(answer(api, sent))
        release = api.release
    report(names, objects, servers, program, release)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["record", path]:
            record(path)
        case ["compare", program, path]:
            compare(program, path)
        case ["changes", old, new]:
            changes(old, new)
        case ["fuzz", program, count, seed]:
            fuzz(program, int(count), seed)
        case _:
            sys.exit(__doc__)
