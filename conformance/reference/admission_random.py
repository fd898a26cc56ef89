#!/usr/bin/env python3
"""Compares random requests of admission: kube-apiserver and ephor, and servers of several releases.

usage: admission_random.py --ephor PROGRAM --server BIN… [--seed N] [--size N] [--batches N] [--area NAME…] [--shrink N]
       admission_random.py --ephor PROGRAM --server BIN… --record 500 [--out conformance/admission-random]

BIN is a folder with kube-apiserver and etcd (conformance/kube/build.sh); each server is started on loopback, gets the same requests, and ephor answers them
for the release of the server. A request differs when any part of the answer does: whether it is allowed, code, words and causes, warnings, audit
annotations, the changed object. Texts that the server gives in random order are compared without it. A difference is run again before it counts, and the
first ones of each area are shrunk to a small policy and object. Requests to which the servers answer differently are counted, and whether ephor does, too.

--record leaves a sample of requests of all areas, with the answers, in a file for each release; `cargo test` runs them without a server.
"""
import argparse
import collections
import contextlib
import gzip
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from admission_areas import Merges, Patches
from admission_kinds import DEFINITIONS
from admission_limits import Expressions, Limits, Orders
from admission_scopes import Parameters, Scopes
from admission_server import Server
from admission_shrink import shrunk
from admission_types import Types

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "conformance/admission-random"
AREAS = {
    "merges": Merges, "custom": lambda server: Merges(server, ("random.test/v1", "Part")), "patches": lambda server: Patches(server, False),
    "values": lambda server: Patches(server, True), "parameters": Parameters, "scopes": Scopes, "expressions": Expressions, "orders": Orders, "limits": Limits, "types": Types,
}
# Bytes of a case that is recorded: a few long ones would be half of a file.
LONGEST = 12_000
# The kinds that definitions declare, by the word that shows that a case needs one.
KINDS = {d["spec"]["names"]["kind"]: d for d in DEFINITIONS}


def cases(area, make, seed, batch, size):
    """The cases of a batch: the same for every server."""
    out = []
    for i in range(int(size * getattr(make, "share", 1))):
        case = make(random.Random(f"{area}-{seed}-{batch}-{i}"), f"r-{i}")
        out.append({**case, "id": f"{area}-{seed}-{batch}-{i}", "namespace": f"r-{i}"})
    return out


def line(record):
    """A record as it is written: definitions stand once in a file, as its first line, and are named."""
    text = json.dumps([record["setup"], record["requests"]], ensure_ascii=False)
    needed = [kind for kind, d in KINDS.items() if f'"{kind}"' in text or f'"{d["spec"]["names"]["plural"]}' in text]
    written = {key: value for key, value in record.items() if key != "case"}
    return json.dumps({**written, "definitions": needed}, ensure_ascii=False, separators=(",", ":"))


def write(path, records):
    head = json.dumps({"definitions": KINDS}, separators=(",", ":"))
    text = "\n".join([head, *map(line, records)]) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a time, so that the same records are the same bytes.
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def differing(program, release, records):
    """What ephor answers otherwise, by the number of the record."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / f"admission-random/{release}.jsonl.gz", [{**r, "id": str(i)} for i, r in enumerate(records)])
        failures = Path(folder) / "failures.jsonl"
        args = [program, "conformance", folder, "--suite", "admission-random", "--failures", str(failures), "--known", "/dev/null"]
        done = subprocess.run(args, capture_output=True, text=True, check=False)
        if records and f"/{len(records)}\n" not in done.stdout:
            sys.exit(f"ephor conformance: {done.stdout}{done.stderr}")
        found = map(json.loads, failures.read_text().splitlines()) if failures.exists() else ()
        return {int(f["id"]): f for f in found}


def unordered(value):
    """A value whose texts are the same for every order of their parts."""
    if isinstance(value, dict):
        return {k: unordered(v) for k, v in value.items()}
    if isinstance(value, list):
        return [unordered(v) for v in value]
    if not isinstance(value, str) or len(value) < 30:
        return value
    text = re.sub(r"0x[0-9a-f]+|\{:\(\*", "0x0", value)
    return sorted(re.split(r"[\s,:{}\[\]()&]+", text))


def is_known(failure, record):
    """Whether it is a custom resource whose kind a patch changed: webhooks get it under its own kind again, and the server refuses it afterwards."""
    kinds = {(obj["apiVersion"], obj["kind"]) for r in record["requests"] for obj in [r.get("object")] if obj}
    got = failure["got"].get("object") or {}
    return "object" in rest(failure) and "apiVersion" in got and (got["apiVersion"], got.get("kind")) not in kinds


def is_order(failure):
    """Whether an answer differs in nothing but the order of the parts of its texts; behind an undeclared field the server leaves some errors out."""
    expected, got = unordered(failure["expected"]), unordered(failure["got"])
    if expected == got:
        return True
    texts = [str(failure[side].get("message", "")) for side in ("expected", "got")]
    errors = [{line.strip() for line in text.split("typed object: ")[-1].split("\n")} for text in texts]
    return "field not declared in schema" in texts[0] and errors[0] - {"errors:"} <= errors[1]


def rest(failure):
    """The members of an answer that differ."""
    expected, got = failure["expected"], failure["got"]
    return {k: (expected.get(k), got.get(k)) for k in sorted({*expected, *got}) if expected.get(k) != got.get(k)}


def shown(value, most=400):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[:most] + " …"


def repeated(case):
    """A case to run once more: with the requests that a search found, and more orders of its policies."""
    return {**{k: v for k, v in case.items() if k != "probe"}, "turns": 2 * case.get("turns", 1)}


class Area:
    """What came of the requests of an area on one server."""

    def __init__(self):
        self.counts = collections.Counter()
        self.failures = []

    def add(self, program, server, records, size):
        found = differing(program, server.release, records)
        real = {i: f for i, f in found.items() if not is_order(f) and not is_known(f, records[i])}
        # A policy that was not in use yet differs once.
        again = server.batch([repeated(records[i]["case"]) for i in real])
        confirmed = {again[i]["id"]: f for i, f in differing(program, server.release, again).items() if not is_order(f)}
        self.counts.update(requests=sum(len(r["expected"]) or 1 for r in records), order=sum(map(is_order, found.values())), known=sum(is_known(f, records[i]) for i, f in found.items()), differ=len(confirmed), unsent=size - len(records))
        self.counts.update(objects=sum("object" in e for r in records for e in r["expected"]))
        self.counts.update({"objects that differ": sum("object" in rest(f) and f["expected"].get("allowed", False) for f in confirmed.values())})
        self.failures += [(r["case"], confirmed[r["id"]]) for r in again if r["id"] in confirmed]
        return set(confirmed)


def answers(record):
    """What a server says of a case, without what a release adds to objects before policies see them."""
    members = ("allowed", "code", "message", "warnings", "auditAnnotations")
    changed = [[e.get("object") is not None] + [e.get(k) for k in members] for e in record["expected"]]
    return unordered([changed, record.get("observedStatus"), [[e["code"], e["message"]] for e in record["setupErrors"]]])


def run(args, servers):
    areas = {s: {name: AREAS[name](s) for name in args.area} for s in servers}
    totals = collections.defaultdict(Area)
    for area in args.area:
        across = collections.Counter()
        for batch in range(args.batches):
            said, wrong = [], []
            for server in servers:
                made = cases(area, areas[server][area], args.seed, batch, args.size)
                records = server.batch(made)
                wrong.append(totals[server, area].add(args.ephor, server, records, len(made)))
                said.append({r["id"]: answers(r) for r in records})
            for other, bad in zip(said[1:], wrong[1:]):
                apart = [i for i in said[0] if i in other and said[0][i] != other[i]]
                across.update(apart=len(apart), agreed=sum(i not in bad and i not in wrong[0] for i in apart))
        for server in servers:
            print(f"{area} {server.release}: " + ", ".join(f"{k} {v}" for k, v in totals[server, area].counts.items()), flush=True)
        if len(servers) > 1:
            print(f"{area}: the servers differ on {across['apart']} requests, ephor agrees with both of them on {across['agreed']}", flush=True)
        for server in servers:
            for case, failure in totals[server, area].failures[:args.shrink]:
                if "probe" not in case:
                    case, failure = shrunk(case, failure, lambda c, s=server, keys=set(rest(failure)): first_difference(args.ephor, s, c, keys))
                print(f"  {server.release} {case['id']}")
                for obj in case["setup"]:
                    print(f"    {shown(obj, 1500)}")
                print(f"    request {shown(case['requests'], 1500)}")
                for key, (server_says, ephor_says) in rest(failure).items():
                    print(f"    {key}: server {shown(server_says)}\n    {' ' * len(key)}  ephor  {shown(ephor_says)}", flush=True)
    return any(total.counts["differ"] for total in totals.values())


def first_difference(program, server, candidates, keys):
    """The first of several cases that differs still, in the same members of the answer, with how."""
    records = server.batch(candidates)
    found = {i: f for i, f in differing(program, server.release, records).items() if not is_order(f) and set(rest(f)) == keys}
    numbers = {c["id"]: i for i, c in enumerate(candidates)}
    left = sorted((numbers[records[i]["id"]], f) for i, f in found.items())
    return left[0] if left else None


def record(args, servers):
    """Writes a sample with as many requests of every area; what the server does not answer in the same words twice is left out."""
    for server in servers:
        chosen = []
        for n, area in enumerate(args.area):
            wanted = args.record * (n + 1) // len(args.area) - args.record * n // len(args.area)
            make, batch = AREAS[area](server), 0
            while wanted > 0:
                first = server.batch(cases(area, make, args.seed, batch, args.size))
                again = {r["id"]: r for r in server.batch([repeated(r["case"]) for r in first])}
                for one in first:
                    # Orders of policies are random: the longer run shows which answers there are.
                    other = again.get(one["id"])
                    is_same = other is not None and ("turns" in one["case"] or words(one) == words(other))
                    count = max(1, len(one["expected"]))
                    if is_same and count <= wanted and len(line(other)) < LONGEST:
                        chosen.append(other)
                        wanted -= count
                batch += 1
            print(f"{area} {server.release}: recorded", flush=True)
        write(args.out / f"{server.release}.jsonl.gz", chosen)
        found = differing(args.ephor, server.release, chosen)
        print(f"{server.release}: {sum(len(r['expected']) or 1 for r in chosen)} requests in {len(chosen)} cases, {len(found)} differ")
        for i, failure in found.items():
            print(f"  {chosen[i]['id']} {shown(rest(failure))}")


def words(record):
    """The answers of a record, to the letter."""
    return json.dumps([record["expected"], record.get("observedStatus"), record["setupErrors"]], sort_keys=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--ephor", required=True)
    p.add_argument("--server", required=True, action="append", help="folder with kube-apiserver and etcd; several")
    p.add_argument("--seed", default="1")
    p.add_argument("--size", type=int, default=100, help="cases of a batch")
    p.add_argument("--batches", type=int, default=1)
    p.add_argument("--area", nargs="*", choices=AREAS, default=list(AREAS))
    p.add_argument("--shrink", type=int, default=3, help="how many differences of an area are shrunk")
    p.add_argument("--record", type=int, default=0, help="how many cases of each release to record")
    p.add_argument("--out", type=Path, default=OUT)
    args = p.parse_args()
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Server(folder, args.size, DEFINITIONS)) for folder in args.server]
        if args.record:
            record(args, servers)
        elif run(args, servers):
            sys.exit(1)


if __name__ == "__main__":
    main()
