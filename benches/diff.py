#!/usr/bin/env python3
"""Times of `ephor diff` and `ephor migrate` on public policies: `benches/diff.py [diff|migrate]…` (both by default).

In: the public policies in EPHOR_CONFORMANCE, EPHOR_BIN (a `dist` build by default), EPHOR_BEFORE, an older program to compare
with. `diff` compares each policy of a folder with those of the same name in CEL (`NAME-cel`, `NAME-vpol`, `NAME-mpol`),
`migrate` rewrites each ClusterPolicy file. Out: median, 99th percentile and longest time of a run of the program, as the clock
and as the processor counts it, the files that took longest, how many runs ended by their time limit, and all of it as JSON in
`benches/results/diff.json`. ROUNDS (1) is how often; the fastest counts.
"""
import os, pathlib, re, subprocess, sys, time
import machine

HERE = pathlib.Path(__file__).resolve().parent
DATA = pathlib.Path(os.environ.get("EPHOR_CONFORMANCE") or HERE.parent / "conformance/data") / "kyverno-policies"
ROUNDS = int(os.environ.get("ROUNDS", 1))


def policy_files():
    """Files of policies; what tests hold is in folders whose names begin with a dot."""
    for path in sorted(DATA.rglob("*.yaml")):
        if not any(part.startswith(".") for part in path.relative_to(DATA).parts) and re.search(r"^kind: (Cluster)?Policy$", path.read_text(), re.M):
            yield path


def commands(wanted):
    for path in policy_files():
        name = str(path.relative_to(DATA))
        if wanted == "migrate":
            yield name, ["migrate", str(path)]
            continue
        group, *folders, _ = path.relative_to(DATA).parts
        for form in ("cel", "vpol", "mpol"):
            for other in sorted(DATA.joinpath(f"{group}-{form}", *folders).glob("*.yaml")):
                yield f"{name} {form}", ["diff", str(path), str(other)]


def run(command):
    """Wall and processor seconds of a run, and whether it says that it ran out of time."""
    best, limited = None, False
    for _ in range(ROUNDS):
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output = child.stdout.read()
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
        now = (time.perf_counter() - start, usage.ru_utime + usage.ru_stime)
        best = now if best is None else tuple(map(min, best, now))
        limited |= "time limit" in output
    return *best, limited


def main():
    if not DATA.is_dir():
        return print(f"skipped: no {DATA}")
    programs = {"now": os.environ.get("EPHOR_BIN") or str(HERE.parent / "target/dist/ephor")}
    if os.environ.get("EPHOR_BEFORE"):
        programs["before"] = os.environ["EPHOR_BEFORE"]
    results = {"machine": machine.describe(), "command": "benches/diff.py", "runs": []}
    for wanted in sys.argv[1:] or ["diff", "migrate"]:
        for which, program in programs.items():
            times = [(*run([program, *command]), name) for name, command in commands(wanted)]
            line = {"command": wanted, "program": which, "runs": len(times), "beyond_time_limit": sum(t[2] for t in times)}
            for at, unit in ((0, "wall"), (1, "cpu")):
                ordered = sorted(t[at] for t in times)
                line |= {f"{unit}_median_ms": round(ordered[len(ordered) // 2] * 1000, 1), f"{unit}_p99_ms": round(ordered[int(len(ordered) * 0.99)] * 1000),
                         f"{unit}_longest_ms": round(ordered[-1] * 1000)}
            print(", ".join(f"{k} {v}" for k, v in line.items()))
            for wall, cpu, _, name in sorted(times, key=lambda t: -t[1])[:8]:
                print(f"  {wall:7.2f} s, {cpu:7.2f} s of processors: {name}")
            results["runs"].append(line)
    machine.keep("diff", results)


main()
