#!/usr/bin/env python3
"""Kyverno's own cluster tests with `ephor` in Kyverno's place: clusters, the tests, the comparison with what is known.

usage: cluster-tests.py EPHOR [--sample | --no-engine] [--clusters N] [--attempts N] [--folders FILE] [--out FILE]

The folders are those that the reference passes (`chainsaw/reference.jsonl` of the conformance folder). cluster-tests.toml
says which of them fail and why, which pass without any engine (these do not count), and which are the sample. Exit code 1:
a folder fails that is not listed, a listed one passes, the program ends or panics, or fewer pass than the scoreboard says.

`--sample` runs the sample, in a few minutes. `--no-engine` runs everything with nothing in Kyverno's place and prints what
passes all the same. Programs come from build.sh --cluster, clusters and tests from `chainsaw`
below EPHOR_ORACLE, the list from `chainsaw` below EPHOR_CONFORMANCE. Root is needed: Services
lead to port 443 of loopback addresses. What is missing is reported in a line `skipped: …`.
"""

import argparse
import collections
import json
import os
import sys
import tempfile
import threading
import time
import tomllib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from clusters import HERE, ROOT, Clusters, Skipped, needed, run  # noqa: E402

STANDARD = "standard"


def options():
    p = argparse.ArgumentParser()
    p.add_argument("ephor", type=os.path.abspath)
    p.add_argument("--sample", action="store_true", help="only the sample of cluster-tests.toml")
    p.add_argument("--no-engine", action="store_true", help="which folders pass with nothing in Kyverno's place")
    p.add_argument("--clusters", type=int, default=4)
    p.add_argument("--attempts", type=int, help="times a folder may fail; 2, in the sample 3")
    p.add_argument("--folders", help="file with the folders to run, one a line")
    p.add_argument("--out", help="results, one JSON object a line (default: cluster-tests.jsonl in the folder for results)")
    p.add_argument("--logs", help="folder for the output of what fails, and of the program")
    return p.parse_args()


class Known:
    """What cluster-tests.toml and the scoreboard say of the folders that the reference passes."""

    def __init__(self, reference):
        with open(os.path.join(HERE, "cluster-tests.toml"), "rb") as f:
            listed = tomllib.load(f)
        with open(os.path.join(ROOT, "conformance/scoreboard.toml"), "rb") as f:
            self.wanted = tomllib.load(f)["cluster"]["chainsaw"]
        self.config = {}
        if reference:
            with open(reference, encoding="utf-8") as f:
                lines = [json.loads(line) for line in f]
            lines = [line for line in lines if line["result"] == "pass"]
            # What takes long begins first.
            lines.sort(key=lambda line: -line["seconds"])
            self.config = {line["folder"]: line.get("config", STANDARD) for line in lines}
        self.without_engine = set(listed["passes-without-engine"])
        self.sample = listed["sample"]
        self.cause = {folder: cause["why"] for cause in listed["cause"] for folder in cause["folders"]}
        self.by_chance = {folder for cause in listed["cause"] if cause.get("by-chance") for folder in cause["folders"]}

    def check(self):
        """The lists fit together and with the reference."""
        wrong = [f"{f}: a folder of the sample, and listed as one that fails" for f in self.sample if f in self.cause]
        wrong += [f"{f}: a folder of the sample, and passes without engine" for f in self.sample if f in self.without_engine]
        if len(set(self.sample)) != len(self.sample) or len(self.sample) < 60:
            wrong.append(f"the sample has {len(set(self.sample))} different folders of {len(self.sample)}; 60 are wanted")
        if self.config:
            named = [*self.sample, *self.cause, *self.without_engine]
            wrong += [f"{f}: not among the folders that the reference passes" for f in named if f not in self.config]
            areas = {f.split("/")[0] for f in self.config if f not in self.without_engine and f not in self.cause}
            wrong += [f"{a}: no folder of this area is in the sample" for a in areas - {f.split("/")[0] for f in self.sample}]
            total = len(self.config) - len(self.without_engine)
            if self.wanted != total - len(set(self.cause) - self.without_engine):
                wrong.append(f"the scoreboard says {self.wanted} of {total} pass, {len(self.cause)} are listed as failing")
        return wrong


class Work:
    """The folders that are to run, by configuration. A configuration other than the standard one has one cluster."""

    def __init__(self, folders):
        self.left = collections.OrderedDict()
        for config, folder in folders:
            self.left.setdefault(config, collections.deque()).append(folder)
        self.taken, self.lock = set(), threading.Lock()

    def next(self, number, current):
        with self.lock:
            if self.left.get(current):
                return current, self.left[current].popleft()
            others = [c for c in self.left if c != STANDARD and self.left[c] and c not in self.taken]
            # The first cluster begins with the configurations that are few, the others with what is most.
            if others and (number == 0 or not self.left.get(STANDARD)):
                self.taken.add(others[0])
                return others[0], self.left[others[0]].popleft()
            if self.left.get(STANDARD):
                return STANDARD, self.left[STANDARD].popleft()
            return None


def run_all(clusters, known, folders, attempts, more, save):
    """Runs folders on all clusters, those that fail again; the last attempt counts."""
    results, lock, port = {}, threading.Lock(), threading.Lock()
    ended, errors = [], []
    todo = [(known.config[f], f) for f in folders]
    for attempt in range(1, attempts + 1):
        work = Work(todo)

        def worker(number):
            try:
                if attempt == 1:
                    clusters.start(number)
                current = clusters.config.get(number)
                while not errors and (item := work.next(number, current)):
                    current, folder = item
                    clusters.configure(number, current)
                    if clusters.uses_a_fixed_port(folder):
                        with port:
                            line = clusters.run(number, folder, current, attempt, more)
                    else:
                        line = clusters.run(number, folder, current, attempt, more)
                    if not clusters.lives(number):
                        ended.append(folder)
                    with lock:
                        results[folder] = line
                        save(results)
                        why = f"  ({line['why'][:160]})" if "why" in line else ""
                        print(f"{line['result']:4} {line['seconds']:6.1f} {folder}{why}", flush=True)
            except Exception as error:  # a thread has no other way to say it
                errors.append(error)

        threads = [threading.Thread(target=worker, args=(n,), daemon=True) for n in range(len(clusters.states))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        todo = [(known.config[f], f) for f in folders if results[f]["result"] == "fail" and f not in known.cause]
    return results, ended


def compare(known, results, everything):
    """What is not as the lists say."""
    wrong = []
    for folder, line in sorted(results.items()):
        passes = line["result"] == "pass"
        if not passes and folder not in known.cause:
            wrong.append(f"{folder} fails: {line.get('why', line['result'])}")
        elif passes and folder in known.cause and folder not in known.by_chance:
            wrong.append(f"{folder} passes, but is listed as failing: {known.cause[folder]}")
    if everything:
        count = sum(r["result"] == "pass" for f, r in results.items() if f not in known.without_engine and f not in known.by_chance)
        if count < known.wanted:
            wrong.append(f"{count} folders pass, the scoreboard says {known.wanted}")
    return wrong


def prepare():
    """The lists; `Skipped` with what is missing."""
    conformance = os.environ.get("EPHOR_CONFORMANCE") or os.path.join(ROOT, "conformance/data")
    reference = os.path.join(conformance, "chainsaw/reference.jsonl")
    known = Known(reference if os.path.exists(reference) else None)
    wrong = known.check()
    if wrong:
        sys.exit("cluster-tests.toml:\n  " + "\n  ".join(wrong))
    if not known.config:
        raise Skipped("the cluster tests need EPHOR_ORACLE and EPHOR_CONFORMANCE with `chainsaw`")
    needed()
    return known


def main():
    o = options()
    started = time.time()
    known = prepare()
    folders = list(known.config)
    if o.folders:
        with open(o.folders, encoding="utf-8") as f:
            folders = [line.strip() for line in f if line.strip()]
        unknown = [f for f in folders if f not in known.config]
        if unknown:
            sys.exit(f"the reference does not pass {unknown[0]}")
    elif o.sample:
        folders = [f for f in known.config if f in known.sample]
    everything = not (o.folders or o.sample or o.no_engine)
    more = ["--assert-timeout", "5s", "--limit", "120"] if o.no_engine else []
    if o.logs:
        more += ["--logs", os.path.abspath(o.logs)]
    out = o.out or os.path.join(tempfile.gettempdir(), "cluster-tests.jsonl")

    def save(results):
        with open(out + ".new", "w", encoding="utf-8") as f:
            f.writelines(json.dumps(results[folder]) + "\n" for folder in sorted(results))
        os.replace(out + ".new", out)

    clusters = None
    try:
        clusters = Clusters(o.ephor, o.clusters, not o.no_engine)
        attempts = o.attempts or (1 if o.no_engine else 3 if o.sample else 2)
        results, ended = run_all(clusters, known, folders, attempts, more, save)
        panics = clusters.panics()
    finally:
        if clusters:
            clusters.stop(o.logs)
    passed = [f for f, r in results.items() if r["result"] == "pass"]
    if o.no_engine:
        print("passes without any engine:", *sorted(passed), sep="\n  ")
        return 0
    wrong = compare(known, results, everything)
    wrong += [f"the program ended in {folder}" for folder in ended] + panics
    counted = [f for f in folders if f not in known.without_engine]
    repeated = sum(r["attempt"] > 1 for f, r in results.items() if r["result"] == "pass")
    print(f"cluster tests: {sum(f in counted for f in passed)} of {len(counted)} folders pass ({repeated} not at once; "
          f"{sum(f in known.cause for f in folders)} are listed as failing), {time.time() - started:.0f} s; {out}")
    for line in wrong:
        print(f"  wrong: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    run(main)
